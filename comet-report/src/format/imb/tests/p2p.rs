//! Text of IMB-P2P: its head, its tables, and what an import makes of them.

use super::{of_windows, run_of};
use crate::fixture::{check_golden, render};
use crate::import::tests::imported_alone;
use crate::record::{Failure, NamedRate, Outcome, Param, PointStatus, Record};
use crate::suite::{self, imb::P2P};
use comet_core::definition::Definition;
use comet_core::kernel::RateKind;

/// A point of `kernel` on `n_ranks`, whose operation moves `per_op` messages of 1024 bytes.
fn point(kernel: &str, n_ranks: u64, per_op: u32) -> Record {
    let Some(Record::Point(mut point)) =
        of_windows("imb-p2p", kernel, Definition::LoopMean, &[]).pop()
    else {
        unreachable!()
    };
    for (name, value) in &mut point.params.0 {
        if name == "procs" {
            *value = Param::Number(n_ranks);
        }
    }
    let numbers = &mut point.measured_mut().unwrap().numbers;
    numbers.value.bytes_per_op = Some(1024 * u64::from(per_op));
    numbers.value.divisor = if kernel == "pingpong" { 2 } else { 1 };
    let (name, formula) = (RateKind::Messages.name().into(), "messages / time".into());
    numbers.rates = vec![NamedRate { name, formula, per_op: per_op.into(), value: None }];
    Record::Point(point)
}

/// The same point, left out with the reason `message`.
fn left_out(record: Record, message: &str) -> Record {
    let Record::Point(mut point) = record else { unreachable!() };
    let (status, message) = (PointStatus::Skipped, message.to_owned());
    point.outcome = Outcome::Failed(Failure { status, message });
    Record::Point(point)
}

fn records() -> Vec<Record> {
    let refused = left_out(point("stencil3d", 4, 24), "4 ranks make no torus (ask for -n 8)");
    vec![
        run_of(&["IMB-P2P:PingPong", "IMB-P2P:Birandom", "IMB-P2P:Stencil2D", "IMB-P2P:Stencil3D"]),
        point("pingpong", 4, 2),
        point("birandom", 4, 8),
        point("stencil2d", 4, 16),
        refused.clone(),
        refused,
    ]
}

#[test]
fn it_looks_as_it_did() {
    check_golden("format-imb-p2p.txt", &render("imb", &records()));
}

#[test]
fn times_are_the_mean_of_the_ranks_and_rates_those_of_the_slowest() {
    let text = render("imb", &records());
    let rows = text.lines().filter(|line| line.starts_with("         1024 "));
    let cells = rows.map(|row| -> Vec<f64> {
        row.split_whitespace().map(|cell| cell.parse().unwrap()).collect()
    });
    // Ten operations in each sample of two ranks.
    let least = (4050.0 + 4100.0 + 4200.0) / 3e4;
    let most = (4000.0 + 4100.0 + 4300.0) / 3e4;
    let mean = f64::midpoint(least, most);
    for (cells, (divisor, per_op)) in cells.zip([(2.0, 4.0), (2.0, 8.0), (4.0, 16.0)]) {
        let [_, _, time_us, megabytes, messages] = cells[..] else { panic!("{text}") };
        assert!((time_us - mean / divisor).abs() < 0.006, "{text}");
        // A round trip has two messages of each pair.
        assert!((messages - per_op / most * 1e6).abs() < 1.0, "{text}");
        assert!((megabytes - 1024.0 * per_op / most).abs() < 0.01, "{text}");
    }
}

#[test]
fn a_benchmark_that_ranks_cannot_run_has_one_line_and_a_length_without_memory_a_row() {
    let text = render("imb", &records());
    let line = "\n# !! Benchmark Stencil3D is invalid for 4 processes !!\n";
    assert_eq!(text.matches(line).count(), 1, "{text}");
    assert!(!text.contains("# Benchmarking Stencil3D"), "{text}");
    let memory = comet_core::kernel::refusal::of_memory(8, 4);
    let all = [records().swap_remove(0), left_out(point("corandom", 4, 4), &memory)];
    let text = render("imb", &all);
    assert!(text.contains("# Benchmarking Corandom\n"), "{text}");
    assert!(text.contains("\n         1024 out-of-mem.;"), "{text}");
}

#[test]
fn tables_of_the_real_program_come_back_as_they_were() {
    // From the output of IMB-P2P 2021.11 over Open MPI.
    let head = "       #bytes #repetitions      t[usec]   Mbytes/sec      Msg/sec\n";
    let rule = "#----------------------------------------------------------------\n";
    let table = |name: &str, rows: &str| {
        format!("\n{rule}# Benchmarking {name}\n# #processes = 4\n{rule}{head}{rows}")
    };
    let text = [
        format!("{rule}#    Intel(R) MPI Benchmarks 2021.11, IMB-P2P part\n{rule}\n"),
        table("PingPong", "            0           10         0.50         0.00      4000000\n"),
        table(
            "Stencil2D (2 x 2)",
            "         1024           10         1.00      4000.00      3906250\n",
        ),
        "\n# !! Benchmark Stencil3D is invalid for 4 processes !!\n".into(),
    ]
    .concat();
    assert_eq!(suite::of_text(&text).unwrap().id, P2P.id);
    let records = imported_alone(&suite::imb::SUITE, &text);
    let Record::Run(run) = &records[0] else { unreachable!() };
    assert_eq!((&*run.suite.name, &*run.suite.version), ("imb-p2p", "2021.11"));
    let points: Vec<_> = crate::fixture::points(&records).collect();
    let names: Vec<&str> = points.iter().map(|point| &*point.kernel).collect();
    assert_eq!(names, ["PingPong", "Stencil2D"]);
    assert!(points.iter().all(|point| point.params.number("procs") == Some(4)));
    assert_eq!(points[0].rates()[0].value, Some(4e6));
    assert_eq!(points[1].bytes_per_s(), Some(4e9));
    assert_eq!(points[1].value().unwrap().bytes_per_op, Some(4096));
    let again = render("imb", &records);
    for line in text.lines().filter(|line| line.starts_with("   ") || line.contains("ing S")) {
        assert!(again.contains(line), "{line} in {again}");
    }
}
