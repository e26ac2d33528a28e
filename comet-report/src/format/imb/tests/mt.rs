//! Text of IMB-MT: its head, its tables, and what an import makes of them.

use super::{of_windows, run_of};
use crate::fixture::{check_golden, points, render};
use crate::import::tests::imported_alone;
use crate::record::{Failure, Outcome, Param, PointStatus, Record};
use crate::suite::{self, imb::MT};
use comet_core::definition::Definition;

/// A point of `kernel` with two threads of each of two ranks.
fn point(kernel: &str, divisor: u32) -> Record {
    let definition = if kernel == "bcast" { Definition::CallMean } else { Definition::LoopMean };
    let Some(Record::Point(mut point)) = of_windows("imb-mt", kernel, definition, &[]).pop() else {
        unreachable!()
    };
    point.params.0.retain(|(name, _)| !["procs", "algorithm"].contains(&&**name));
    let counts = [("threads", 2), ("procs", 2)];
    point.params.0.extend(counts.map(|(name, n)| (name.to_owned(), Param::Number(n))));
    if kernel.ends_with("band") {
        point.params.0.push(("window".into(), Param::Number(64)));
    }
    let measured = point.measured_mut().unwrap();
    measured.numbers.value.divisor = divisor;
    let samples = measured.samples.as_mut().unwrap();
    let n_samples = samples.shape[1];
    (samples.ranks, samples.shape) = (vec![0, 0, 1, 1], [4, n_samples]);
    let of_lane = |ns: u64| vec![ns; n_samples];
    samples.data = [200_000, 400_000, 600_000, 800_000].map(of_lane).concat();
    Record::Point(point)
}

#[test]
fn it_looks_as_it_did() {
    let Record::Point(mut refused) = point("pingping", 1) else { unreachable!() };
    let (status, message) =
        (PointStatus::Skipped, "needs at least 2 ranks, there is 1 (ask for -n 2)".to_owned());
    refused.outcome = Outcome::Failed(Failure { status, message });
    let text = render(
        "imb",
        &[
            run_of(&[
                "IMB-MT:PingPongMT",
                "IMB-MT:PingPingMT",
                "IMB-MT:BiBandMT",
                "IMB-MT:BcastMT",
            ]),
            point("pingpong", 2),
            Record::Point(refused),
            point("biband", 1),
            point("bcast", 1),
        ],
    );
    check_golden("format-imb-mt.txt", &text);
}

#[test]
fn tables_of_the_real_program_come_back_as_they_were() {
    // From the output of IMB-MT 2021.11 over Open MPI 4.1 with OMP_NUM_THREADS=2.
    let rule = format!("#{}\n", "-".repeat(66));
    let of_table = format!("#{}\n", "-".repeat(77));
    let table = |name: &str, window: &str, head: &str, rows: &str| {
        format!(
            "\n{of_table}# Benchmarking {name}\n# #processes = 2 (threads: 2)\n{window}{of_table}{head}\n{rows}"
        )
    };
    let with_rate =
        "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec";
    let text = [
        format!("{rule}#    Intel(R) MPI Benchmarks 2021.11, MT part    \n{rule}#\n"),
        table(
            "PingPongMT",
            "",
            with_rate,
            "            8           20         1.50         2.00         1.75         4.00\n",
        ),
        table(
            "ExchangeMT",
            "",
            with_rate,
            "           64           20         1.50         2.00         1.75       128.00\n",
        ),
        table(
            "UniBandMT",
            "# window_size = 64\n",
            "       #bytes #repetitions  t_avg[usec]   Mbytes/sec      Msg/sec",
            "           16           20         1.81         5.16      1103836\n",
        ),
        table(
            "BarrierMT",
            "",
            " #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]",
            "           20      4166.86      4198.60      4182.78\n",
        ),
        "\n".into(),
    ]
    .concat();
    assert_eq!(suite::of_text(&text).unwrap().id, MT.id);
    let records = imported_alone(&suite::imb::SUITE, &text);
    let Record::Run(run) = &records[0] else { unreachable!() };
    assert_eq!((&*run.suite.name, &*run.suite.version), ("imb-mt", "2021.11"));
    let points: Vec<_> = points(&records).collect();
    let names: Vec<&str> = points.iter().map(|point| &*point.kernel).collect();
    assert_eq!(names, ["PingPongMT", "ExchangeMT", "UniBandMT", "BarrierMT"]);
    for point in &points {
        assert_eq!([("threads"), ("procs")].map(|name| point.params.number(name)), [Some(2); 2]);
    }
    let lengths: Vec<_> = points.iter().map(|point| point.params.number("length_bytes")).collect();
    assert_eq!(lengths, [Some(4), Some(32), Some(8), None]);
    assert_eq!(points[0].value().unwrap().quantity, "one_way_time");
    assert_eq!(points[1].value().unwrap().bytes_per_op, Some(4 * 2 * 32));
    assert_eq!(points[2].params.number("window"), Some(64));
    let again = render("imb", &records);
    for line in text.lines().filter(|line| !line.contains("Intel") && !line.is_empty()) {
        assert!(again.contains(line), "{line} in {again}");
    }
}
