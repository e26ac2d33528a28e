//! Texts of both suites, of several versions, as points.

use std::time::UNIX_EPOCH;

use super::*;
use crate::fixture::{self, Folder, render};
use crate::format::foreign::tests as foreign;
use crate::format::foreign::{RANKS_AVG_NS, RANKS_MAX_NS, RANKS_MIN_NS, REPETITIONS};
use crate::models::models;
use crate::read::{read_records, validate};
use crate::record::{CheckStatus, Failure, PointStatus};

mod logs;
mod tables;

/// The suites.
const OSU: &Suite = &suite::osu::SUITE;
const IMB: &Suite = &suite::imb::SUITE;

fn around(n_ranks: Option<u64>) -> Surroundings {
    let argv = vec!["comet-run".into()];
    let (imported_at, text_sha256) = (UNIX_EPOCH, String::new());
    Surroundings { n_ranks, argv, imported_at, text_sha256, started_at: None, labels: [].into() }
}

/// Titles of the columns of IMB, by the start of its versions.
const TRANSFER: &str = "       #bytes #repetitions      t[usec]   Mbytes/sec\n";

fn block(name: &str, lines: &str) -> String {
    format!(
        "#----\n# Benchmarking {name} \n# #processes = 2 \n#----\n{lines}\n\n\
         # All processes entering MPI_Finalize\n"
    )
}

fn points(records: &[Record]) -> Vec<&Point> {
    crate::fixture::points(records).collect()
}

fn imported(origin: &'static Suite, text: &str) -> Vec<Record> {
    import(origin, text, &around(Some(2))).unwrap().records
}

/// The records of a text that says how many ranks there were.
pub(crate) fn imported_alone(origin: &'static Suite, text: &str) -> Vec<Record> {
    import(origin, text, &around(None)).unwrap().records
}

/// A text of `osu_latency` with these rows.
fn latency(rows: &str) -> String {
    format!("# OSU MPI Latency Test v7.4\n# Size       Avg Latency(us)\n{rows}")
}

/// The rows in `text`.
fn rows(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

#[test]
fn what_a_layout_prints_comes_back_with_the_same_numbers() {
    for (name, origin) in [("osu", OSU), ("imb", IMB), ("imb-3.2", IMB)] {
        let text = render(name, &foreign::records(name));
        assert_eq!(suite::of_text(&text).unwrap().id, origin.id);
        let again = render(name, &imported(origin, &text));
        assert_eq!(rows(&again), rows(&text), "{name}");
        assert!(rows(&text).len() > 3, "{text}");
    }
}

#[test]
fn a_text_of_files_has_modes_and_the_times_of_transfers_beside_work() {
    // From the output of IMB-IO 2021.11, whose first two lines are one.
    let text = "#    Intel(R) MPI Benchmarks 2021.11, MPI-IO partn#-----\n\
                # Benchmarking S_Write_Indv \n# #processes = 1 \n#\n#    MODE: NON-AGGREGATE \n#\n\
                #bytes #repetitions      t[usec]   Mbytes/sec\n\
                8            2         1.55         5.15\n\
                # Benchmarking C_IRead_Expl \n# #processes = 2 \n#\n#    MODE: AGGREGATE \n#\n\
                #bytes #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]\n\
                16            2     10940.59         3.09     10884.14         0.00\n";
    let records = imported(IMB, text);
    let points = points(&records);
    let of = |point: &Point| {
        let mode = point.params.get("aggregate").map(ToString::to_string);
        let value = point.value().unwrap();
        (point.suite.to_string(), point.params.ranks(), mode, value.definition.to_string())
    };
    let (suite, [each, all]) = ("imb-io".to_owned(), ["non_aggregate", "aggregate"]);
    let expected = [
        (suite.clone(), Some(1), Some(each.to_owned()), "D3 test_node".to_owned()),
        (suite, Some(2), Some(all.to_owned()), "D5 loop_mean".to_owned()),
    ];
    assert_eq!(points.iter().map(|point| of(point)).collect::<Vec<_>>(), expected);
    assert!((points[1].time_ns().unwrap().mean - 3090.0).abs() < 1e-6);
    let figure = |name: &str| points[1].figures.iter().find(|of| of.name == name)?.value;
    assert_eq!(figure("overlap_percent"), Some(0.0));
    assert!((figure("compute_ns").unwrap() - 10_884_140.0).abs() < 1e-3);
    let again = render("imb", &records);
    assert!(again.contains("     10940.59         3.09     10884.14         0.00\n"), "{again}");
}

#[test]
fn a_text_of_collectives_in_flight_has_the_times_of_one_rank_in_a_row() {
    // From the output of IMB-NBC 2021.11.
    let text = "#    Intel(R) MPI Benchmarks 2021.11, MPI-NBC part\n\
                # Benchmarking Iallgather \n# #processes = 2 \n\
                #bytes #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]\n\
                8           10         1.32         1.00         0.68        35.88\n\
                # Benchmarking Ibarrier \n# #processes = 2 \n\
                #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]\n\
                10         1.10         0.75         0.70        46.67\n\
                # Benchmarking Ibarrier_pure \n# #processes = 2 \n\
                #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n\
                10         0.75         0.75         0.75\n";
    let records = imported(IMB, text);
    let points = points(&records);
    let ids = points.iter().map(|point| format!("{}/{}", point.suite, point.kernel));
    let expected = ["imb-nbc/Iallgather", "imb-nbc/Ibarrier", "imb-nbc/Ibarrier_pure"];
    assert_eq!(ids.collect::<Vec<_>>(), expected);
    let figure = |name: &str| points[0].figures.iter().find(|of| of.name == name)?.value;
    assert_eq!(figure("overlap_percent"), Some(35.88));
    assert!((points[0].time_ns().unwrap().mean - 1000.0).abs() < 1e-6);
    assert!((figure("overlapped_ns").unwrap() - 1320.0).abs() < 1e-6);
    let again = render("imb", &records);
    for row in [
        "            8           10         1.32         1.00         0.68        35.88\n",
        "           10         1.10         0.75         0.70        46.67\n",
        "           10         0.75         0.75         0.75\n",
    ] {
        assert!(again.contains(row), "{again}");
    }
}

#[test]
fn transport_and_clock_of_a_layout_of_comet_are_unknown() {
    let check = |text: &str, expected: [Option<&str>; 2]| {
        let records = imported(OSU, text);
        let Record::Run(run) = &records[0] else { unreachable!() };
        let found = [&run.transport.backend, &run.clock.source];
        assert_eq!(found.map(|fact| fact.as_deref()), expected);
    };
    check(&render("osu", &foreign::records("osu")), [None; 2]);
    check(&latency("8 1.50\n"), [Some("mpi"), Some("MPI_Wtime")]);
}

#[test]
fn an_import_is_a_valid_file() {
    let text = latency("8 1.50\n16 1.60\n");
    let folder = Folder::new();
    let path = folder.path().join("osu.jsonl");
    let records = imported(OSU, &text.repeat(2));
    write(&records, &mut std::fs::File::create(&path).unwrap()).unwrap();
    let validation = validate(&path).unwrap();
    assert_eq!((validation.runs.len(), validation.problems), (2, vec![]));
    assert_eq!(read_records(&path).unwrap().records, records);
}

#[test]
fn an_imported_sweep_has_models() {
    let rows: String = (0..8).map(|i| format!("{} {}.00\n", 1000 * i, 10 + 2 * i)).collect();
    let records = imported(OSU, &latency(&rows));
    let models = models(&points(&records), &[]);
    let startup = models[0].fits[0].parameters[0].value.unwrap();
    assert!((startup - 10.0).abs() < 1e-6, "{startup}");
}

#[test]
fn a_table_says_that_an_import_was_not_verified() {
    let table = render("table", &imported(OSU, &latency("8 1.50\n")));
    assert!(table.starts_with("# osu 7.4, mpi, nodes: -, run "), "{table}");
    assert!(table.contains("; quote the mean; not verified\n"), "{table}");
    assert!(table.contains("           8        -        -      1.5000"), "{table}");
}

#[test]
fn what_is_not_finite_is_missing() {
    let records = imported(OSU, &latency("8 nan\n16 1.50\n"));
    let statuses: Vec<_> = points(&records).iter().map(|point| point.status()).collect();
    assert_eq!(statuses, [PointStatus::Failed, PointStatus::Ok]);
    let text = "# Benchmarking PingPong\n# #processes = 99999999999\n\
                #bytes #repetitions t[usec] Mbytes/sec\n 0 1000 0.50 -nan\n";
    let records = imported(IMB, text);
    assert_eq!(points(&records)[0].bytes_per_s(), None);
    let Record::Run(run) = &records[0] else { unreachable!() };
    assert_eq!(run.world.size, 2);
}

#[test]
fn a_number_that_cannot_have_been_measured_is_refused_with_its_line() {
    let osu = latency("8 1.50\n2 ");
    let imb = "# Benchmarking PingPong\n#processes = 2\n#bytes #repetitions t[usec] Mbytes/sec\n\
               2 1000 ";
    let check = |origin, text: String, word: &str| {
        let error = import(origin, &text, &around(None)).unwrap_err().to_string();
        let expected = format!("line 4: '{word}' was not measured, expected 0 to 1e18 (");
        assert!(error.starts_with(&expected), "{error}");
    };
    for word in ["1e308", "-1.50", "inf"] {
        check(OSU, format!("{osu}{word}\n"), word);
        check(IMB, format!("{imb}{word} 3.0\n"), word);
    }
}

#[test]
fn what_cannot_be_imported_is_told_in_a_sentence() {
    let check = |origin, text: &str, expected: &str| {
        let error = import(origin, text, &around(None)).unwrap_err().to_string();
        assert_eq!(error, expected);
    };
    let cut = "line 6: the row has 3 columns, the head of its table 4 (is it cut off?)";
    check(IMB, &block("PingPong", &format!("{TRANSFER} 8 1000 1.00")), cut);
    let cut = "line 4: the row has 1 columns, the head of its table 2 (is it cut off?)";
    check(OSU, &latency("8      1.5\n16\n"), cut);
    // Whole columns, and perhaps not all digits of the last.
    let end =
        "the text ends within the row (is it cut off? A whole row has an end of line behind it)";
    check(OSU, &latency("8      1.5\n16     2.0"), &format!("line 4: {end}"));
    let whole = block("PingPong", &format!("{TRANSFER} 8 1000 1.00 8.0"));
    check(IMB, whole.split("\n\n").next().unwrap(), &format!("line 6: {end}"));
    let nothing = "there is no table of imb in the text (is this what the benchmark printed?)";
    check(IMB, "roses are red\n", nothing);
    let text = &latency("8 1.50\n").replace("MPI", "MPI Allreduce");
    let other = "the text is of osu, not of imb (write import osu, or import auto)";
    check(IMB, text, other);
    let other = "the text is of imb, not of osu (write import imb, or import auto)";
    check(OSU, &block("PingPong", TRANSFER), other);
    let ranks = "the text does not say on how many ranks osu_allreduce ran (add --ranks N)";
    check(OSU, text, ranks);
}

/// Output of `SKaMPI` 6.0.0 over Open MPI 4.1.4 on two ranks.
const OF_SKAMPI: &str = include_str!("../../../tests/golden/skampi-small.sko");

fn of_skampi(text: &str) -> Result<Vec<Record>, ImportError> {
    import_skampi(text, &around(None)).map(|imported| imported.records)
}

#[test]
fn skampi_comes_back_row_by_row() {
    let records = of_skampi(OF_SKAMPI).unwrap();
    let point = fixture::points(&records).nth(9).unwrap();
    assert_eq!((&*point.kernel, point.params.number("count")), ("MPI_Bcast-nodes-short", Some(16)));
    assert_eq!((point.params.number("length_bytes"), point.params.ranks()), (Some(64), Some(2)));
    assert_eq!((point.quoted_ns(), &*point.class), (Some(500.0), "collective"));
    let barrier = fixture::points(&records).last().unwrap();
    assert_eq!((&*barrier.class, barrier.params.number("length_bytes")), ("sync", None));
    let results = |text: &str| -> Vec<String> {
        let is_of_time = |line: &&str| line.starts_with("# duration") || line.is_empty();
        let lines = text
            .lines()
            .skip_while(|line| !line.starts_with("# begin"))
            .take_while(|line| !line.starts_with("# Finished"));
        lines.filter(|line| !is_of_time(line)).map(str::to_owned).collect()
    };
    let again = fixture::render("skampi", &records);
    assert_eq!(results(&again), results(OF_SKAMPI));
    assert!(!is_skampi("# OSU MPI Latency Test") && is_skampi(&again));
    // The layout of this program is read as that of the original.
    let twice = of_skampi(&again).unwrap();
    let keys =
        |records: &[Record]| fixture::points(records).map(|of| of.key.clone()).collect::<Vec<_>>();
    assert_eq!(keys(&twice), keys(&records));
}

#[test]
fn an_error_that_skampi_did_not_print_is_missing() {
    let text = "# begin result \"x\"\ncount= 1  4  0.8  ---  1  0.8  0.8\n# end result \"x\"\n";
    let records = of_skampi(text).unwrap();
    let again = fixture::render("skampi", &records);
    assert!(again.contains("count= 1        4       0.8       ---        1 "), "{again}");
}

#[test]
fn rows_of_skampi_that_cannot_be_are_refused() {
    let check = |row: &str, expected: &str| {
        let text = format!("# begin result \"x\"\n{row}\n# end result \"x\"\n");
        let error = of_skampi(&text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    };
    check("count= 1  4 0.8 0.0", "line 2: there are 3 numbers, expected bytes, time");
    check("count= a  4 0.8 0.0 16", "line 2: 'a' is no value of count=");
    check("count= 1  4 x 0.0 16", "line 2: 'x' is no number");
    check("count= 1  4 -1 0.0 16", "line 2: '-1' was not measured");
    check("count= 1  4 --- 0.0 16", "line 2: '---' is no number");
    check("count= 1  4.5 1 0.0 16", "line 2: '4.5' is no length in bytes");
    check("count= 1  4 0.8 0.0 16", "the text does not say on how many ranks x ran");
    assert!(of_skampi("").is_err());
}
