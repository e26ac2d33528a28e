//! Oddities of constructed points; those of simulated machines are in the tests of the program.

use std::sync::Arc;

use super::*;
use crate::fixture;
use crate::import::tests::imported_alone;
use crate::record::KernelFacts;

/// A collective among two ranks that takes `ns` nanoseconds, with half of `width_ns` on both sides.
fn collective(suite: &'static str, ns: f64, width_ns: f64) -> Point {
    let records = fixture::records();
    let mut point = fixture::points(&records).find(|of| of.numbers().is_some()).unwrap().clone();
    let baseline_for = (suite == "naive").then(|| "comet/sum".to_owned());
    let class = Class::Collective.as_str().to_owned();
    let facts = KernelFacts { baseline_for, class, ..(*point.facts).clone() };
    (point.suite, point.kernel, point.facts) = (suite.into(), "sum".into(), Arc::new(facts));
    point.key = format!("{suite} {ns}");
    let numbers = &mut point.measured_mut().unwrap().numbers;
    numbers.quoted_ns = Some(ns);
    numbers.time_ns.ci95 = Some([ns - width_ns / 2.0, ns + width_ns / 2.0]);
    point
}

#[test]
fn a_collective_is_slower_than_its_naive_form_beyond_both_intervals() {
    let found = |points: &[Point]| slower_than_naive(&points.iter().collect::<Vec<_>>(), false);
    let naive = collective("naive", 100.0, 10.0);
    let [slower] = &found(&[collective("comet", 150.0, 10.0), naive.clone()])[..] else { panic!() };
    let expected = "takes 1.50 times as long as naive/sum (1 of 1 case slower)";
    assert!(slower.what.starts_with("comet/sum"), "{}", slower.what);
    assert!(slower.what.ends_with(expected), "{}", slower.what);
    assert_eq!(slower.keys, ["comet 150", "naive 100"]);
    assert_eq!(found(&[collective("comet", 150.0, 90.0), naive.clone()]), []);
    assert_eq!(found(&[collective("comet", 90.0, 1.0), naive.clone()]), []);
    assert_eq!(found(&[naive]), []);
}

#[test]
fn cases_are_named_up_to_three() {
    let of = |n: usize| named((0..n).map(|i| format!("{i} B")), "more");
    assert_eq!(of(0), "");
    assert_eq!(of(1), ": 0 B");
    assert_eq!(of(3), ": 0 B; 1 B; 2 B");
    assert_eq!(of(5), ": 0 B; 1 B; 2 B; 2 more");
}

/// From an issue of IMB: behind 512 KiB the rate of Sendrecv falls to a sixth.
#[test]
fn a_rate_that_falls_to_less_than_half_at_both_longest_lengths_is_named() {
    let row = |bytes: u32, us: f64| {
        format!("{bytes} 80 {us} {us} {us} {:.2}\n", 2.0 * f64::from(bytes) / us)
    };
    let found = |times_us: [f64; 4]| -> Vec<String> {
        let rows: String = (0_u32..).zip(times_us).map(|(n, us)| row(262_144 << n, us)).collect();
        let text = format!(
            "# Benchmarking Sendrecv\n# #processes = 2\n#bytes #repetitions t_min[usec] t_max[usec] \
             t_avg[usec] Mbytes/sec\n{rows}# All processes entering MPI_Finalize\n"
        );
        let records = imported_alone(&crate::suite::imb::SUITE, &text);
        odd(None, &fixture::points(&records).cloned().collect::<Vec<_>>())
            .into_iter()
            .map(|oddity| oddity.what)
            .collect()
    };
    assert_eq!(
        found([32.0, 59.0, 258.0, 936.0]),
        [
            "imb/Sendrecv among 2: the rate falls from 17.77 GB/s at 512 KiB to 4.481 GB/s at 2 MiB (beyond a \
          cache? --buffers rotate measures all lengths there)"
        ]
    );
    assert_eq!(found([32.0, 59.0, 118.0, 936.0]), [""; 0], "one length may stand out");
    assert_eq!(found([32.0, 59.0, 200.0, 400.0]), [""; 0], "more than half is left");
}
