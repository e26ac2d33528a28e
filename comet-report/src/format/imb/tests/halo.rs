//! Text of IMB-HALO: its title, its rows, and what an import makes of those of the original.

use super::{of_windows, run_of};
use crate::fixture::{check_golden, render};
use crate::import::tests::imported_alone;
use crate::record::{Param, Point, Record};
use crate::suite::{self, imb::HALO};
use comet_core::definition::Definition;

/// Rows of version 2021.11 on two ranks and on four of a square.
const OF_ORIGINAL: &str = "
# Benchmarking simple_halo (processes: 2; threads: 1; dimensions: 1)
4(x4)(bytes) 1.01385(usec) 15.7814(Mb/s)
8(x4)(bytes) 1.01739(usec) 31.453(Mb/s)

# Benchmarking simple_halo (processes: 4; threads: 1; dimensions: 2)
4096(x8)(bytes) 41.7847(usec) 784.211(Mb/s)
";

/// A point on a square.
fn point() -> Record {
    let Some(Record::Point(mut point)) =
        of_windows("imb-p2p", "halo", Definition::LoopMean, &[]).pop()
    else {
        unreachable!()
    };
    let topo = ["topo_1", "topo_2", "topo_3", "topo_4"].map(str::to_owned).into_iter();
    let topo = topo.zip([2, 2, 0, 0].map(Param::Number));
    point.params.0.splice(0..0, topo);
    point.measured_mut().unwrap().numbers.value.bytes_per_op = Some(8 * 1024);
    Record::Point(point)
}

#[test]
fn it_looks_as_it_did() {
    let text = render("imb", &[run_of(&["IMB-HALO:simple_halo"]), point()]);
    check_golden("format-imb-halo.txt", &text);
    let means = [4050.0 + 4100.0 + 4200.0, 4000.0 + 4100.0 + 4300.0].map(|sum| sum / 3e4);
    let mean = f64::midpoint(means[0], means[1]);
    let row = text.lines().find(|line| line.starts_with("1024(x8)(bytes) ")).expect("a row");
    let numbers: Vec<f64> = row
        .split(|c: char| !(c.is_ascii_digit() || c == '.'))
        .filter_map(|word| word.parse().ok())
        .collect();
    let [_, _, time_us, rate] = numbers[..] else { panic!("{row}") };
    assert!((time_us - mean).abs() < 1e-5, "{row}");
    assert!((rate - 8.0 * 1024.0 / mean).abs() < 0.1, "{row}");
}

#[test]
fn rows_of_the_original_come_back() {
    assert_eq!(suite::of_text(OF_ORIGINAL).map(|suite| suite.id), Some(HALO.id));
    let records = imported_alone(&HALO, OF_ORIGINAL);
    let points: Vec<&Point> = records
        .iter()
        .filter_map(|record| match record {
            Record::Point(point) => Some(&**point),
            _ => None,
        })
        .collect();
    let found: Vec<_> = points
        .iter()
        .map(|point| {
            let bytes_per_op = point.value().and_then(|value| value.bytes_per_op);
            (point.params.number("procs"), point.params.number("dimensions"), bytes_per_op)
        })
        .collect();
    let expected = [(2, 1, 16), (2, 1, 32), (4, 2, 8 * 4096)];
    assert_eq!(found, expected.map(|(a, b, c)| (Some(a), Some(b), Some(c))));
    let shown = render("imb", &records);
    let rows = |text: &str| -> Vec<String> {
        let is_row = |line: &&str| line.contains("(bytes)") || line.contains("Benchmarking");
        text.lines().filter(is_row).map(str::to_owned).collect()
    };
    assert_eq!(rows(&shown), rows(OF_ORIGINAL));
}
