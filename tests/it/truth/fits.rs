//! Fits: the numbers of the machine come back from what is measured on it, and the length at which
//! its protocols change, to the byte.

use std::iter::successors;

use comet_core::driver::Settings;
use comet_core::event::Measurement;
use comet_core::kernel::{Case, HOPS, LENGTH_BYTES};
use comet_sim::machine::{Machine, NoiseSource};
use comet_stats::fit::{Bounds, HopLine, Line, Weights, segments};

use super::bench::{Bench, settings};
use super::machines;

/// Length, hops, and the median and the mean of one message in microseconds.
type Point = (f64, f64, [f64; 2]);

/// Echoes of these lengths over these distances, on the smallest hypercube that has them.
fn echoes(machine: &Machine, lengths: &[u64], hops: &[u64], settings: &Settings) -> Vec<Point> {
    let bench = Bench::new(machine, hops.iter().map(|h| 1 << h).max().unwrap_or(1));
    let at = |h: &u64| lengths.iter().map(move |n| [*h, *n]).collect::<Vec<_>>();
    let cases = hops.iter().flat_map(at).filter_map(|values| bench.case("comet/echo", &values));
    let point = |Measurement { case, series, .. }: &Measurement| {
        let summary = series[0].summary;
        let [n, h] = [&LENGTH_BYTES, &HOPS].map(|axis| case.value(axis) as f64);
        (n, h, [summary.median / 1000.0, summary.mean / 1000.0])
    };
    bench.measure(&cases.collect::<Vec<Case>>(), settings).iter().map(point).collect()
}

#[track_caller]
fn check_near(found: f64, expected: f64, share: f64) {
    assert!((found / expected - 1.0).abs() <= share, "{found} instead of {expected}");
}

/// Checks what the lengths between two breaks give: startup in microseconds, time for a byte, time
/// for a hop.
#[track_caller]
fn check_law(lengths: &[u64], [t0, per_byte, hop]: [f64; 3]) {
    let points = echoes(&machines::ipsc860(), lengths, &[1, 2, 3, 4], &settings(3, 1));
    let with_hops: Vec<_> = points.iter().map(|(n, h, t)| (*n, *h, t[0])).collect();
    let fit = HopLine::fit(&with_hops, Weights::Relative).expect("there are points enough");
    check_near(fit.t0, t0, 1e-6);
    check_near(fit.per_unit, per_byte, 1e-6);
    check_near(fit.per_hop, hop, 1e-6);

    let at_one_hop: Vec<_> =
        with_hops.iter().filter(|point| point.1 == 1.0).map(|(n, _, t)| (*n, *t)).collect();
    let line = Line::fit(&at_one_hop, Weights::Relative).expect("there are points enough");
    check_near(line.r_inf().expect("bytes take time"), 1.0 / per_byte, 1e-6);
    check_near(line.n_half().expect("a startup takes time"), t0 / per_byte, 1e-6);
}

#[test]
fn the_numbers_of_the_machine_come_back() {
    check_law(&[0, 1, 8, 37, 64, 100], [79.0, 0.63, 8.333]);
    check_law(&[101, 300, 1024, 4096, 20_000, 100_000], [156.0, 0.41, 25.0]);
}

/// The longest message of the first protocol, from echoes alone: between two lengths of a coarse
/// sweep that lie on different lines, by halves.
fn found_break(machine: &Machine) -> u64 {
    let time_us = |n: u64| echoes(machine, &[n], &[1], &settings(3, 1))[0].2[0];
    let lengths: Vec<u64> = successors(Some(1), |n| Some(n * 3 / 2 + 1)).take(30).collect();
    let sweep = echoes(machine, &lengths, &[1], &settings(3, 1));
    let points: Vec<_> = sweep.iter().map(|(n, _, t)| (*n, t[0])).collect();
    let found = segments(&points, &Bounds::default()).expect("there are points enough");
    assert_eq!(found.len(), 2, "{found:?}");
    let n_below = lengths.iter().filter(|n| **n as f64 <= found[0].to).count();
    let (mut low, mut high) = (lengths[n_below - 1], lengths[n_below]);
    while high - low > 1 {
        let middle = low.midpoint(high);
        let is_on = |line: &Line| (line.at(middle as f64) / time_us(middle) - 1.0).abs() < 1e-6;
        assert_ne!(is_on(&found[0].line), is_on(&found[1].line), "{middle} bytes");
        *(if is_on(&found[0].line) { &mut low } else { &mut high }) = middle;
    }
    low
}

#[test]
fn the_switch_of_protocols_is_found_to_the_byte() {
    for (machine, limits) in
        [(machines::ipsc860(), [100, 333, 8192]), (machines::rendezvous(), [64, 1000, 65_535])]
    {
        for limit_bytes in limits {
            let mut machine = machine.clone();
            machine.segments[0].up_to_bytes = Some(limit_bytes);
            assert_eq!(found_break(&machine), limit_bytes);
        }
    }
}

#[test]
fn medians_and_fits_to_them_withstand_spikes_and_means_do_not() {
    for (probability, mean_ps, share) in [(0.02, 50_000_000, 0.002), (0.05, 200_000_000, 0.005)] {
        let spikes = NoiseSource::Spike { probability, mean_ps };
        let machine = machines::noisy(machines::ipsc860(), 42, &[spikes]);
        let lengths = [0, 64, 101, 300, 1024, 4096, 20_000];
        let points = echoes(&machine, &lengths, &[1], &settings(1000, 1));
        for (n, _, [median, mean]) in &points {
            let true_us = if *n <= 100.0 { 79.0 + 0.63 * n } else { 156.0 + 0.41 * n };
            check_near(*median, true_us, share);
            assert!(mean - true_us > (median - true_us).abs(), "{mean} {median} {true_us} us");
        }
        assert!(points[0].2[1] > 79.0 * 1.002, "{points:?}");
        let [by_median, by_mean] = [0, 1].map(|i| {
            let points: Vec<_> = points[2..].iter().map(|(n, _, t)| (*n, t[i])).collect();
            Line::fit(&points, Weights::Relative).expect("there are points enough").t0
        });
        check_near(by_median, 156.0, share);
        assert!((by_mean / 156.0 - 1.0).abs() > share, "{by_mean} us by means");
    }
}
