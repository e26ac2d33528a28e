//! Texts as people keep them: several programs in one, prefixes, encodings, lines of others, early ends.

use super::*;
use crate::compare::{Options, compare};
use crate::runs::{RunRecords, split};

const PLAIN: &str =
    "# OSU MPI Latency Test v5.9\n# Size          Latency (us)\n0       1.31\n8       1.36\n";

fn all(text: &str) -> Imported {
    import_all(&clean(text.as_bytes()), &around(Some(4))).unwrap()
}

fn runs(text: &str) -> Vec<RunRecords> {
    split(all(text).records)
}

/// Key and time of the points in `text`.
fn rows_of(text: &[u8]) -> Vec<(String, Option<f64>)> {
    let found = import_all(&clean(text), &around(Some(2))).unwrap().records;
    points(&found).iter().map(|point| (point.key.clone(), point.quoted_ns())).collect()
}

#[test]
fn model_and_buffers_of_a_title_are_in_the_key_and_stand_in_the_layout_again() {
    let mut keys = BTreeSet::new();
    let titles = [
        ("MPI", ""),
        ("MPI-CUDA", ""),
        ("MPI-CUDA", "# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)\n"),
        ("MPI-CUDA", "# Send Buffer on HOST (H) and Receive Buffer on DEVICE (D)\n"),
        ("NCCL-CUDA", ""),
        ("OpenSHMEM", ""),
        ("UPC++", ""),
    ];
    for (model, line) in titles {
        let title = format!("# OSU {model} Allreduce Latency Test v7.5\n{line}");
        let records = all(&format!("{title}# Size Avg Latency(us)\n8 1.50\n")).records;
        assert_eq!(points(&records)[0].kernel, "osu_allreduce");
        assert!(keys.insert(points(&records)[0].key.clone()), "{title}");
        let again = render("osu", &records);
        assert!(again.contains(&title.replace("v7.5", "v7.4")), "{again}");
        let Record::Run(run) = &records[0] else { unreachable!() };
        assert_eq!(run.transport.backend.is_some(), model.starts_with("MPI"), "{model}");
    }
    let of_part = |part: &str| {
        let table = block("PingPong", &format!("{TRANSFER} 8 1000 1.00 8.00"));
        all(&format!("#    Intel(R) MPI Benchmarks 2021.10, MPI-1 part{part}\n{table}")).records
    };
    let [host, gpu] = ["", " (GPU)"].map(of_part);
    assert_ne!(points(&host)[0].key, points(&gpu)[0].key);
    assert!(render("imb", &gpu).contains(" (GPU)\n") && !render("imb", &host).contains("(GPU)"));
}

#[test]
fn each_program_in_a_log_is_a_run_as_it_is_alone() {
    let of_part = |part: &str, name: &str, rows: &str| {
        format!("#    Intel(R) MPI Benchmarks 2021.11, {part} part\n{}", block(name, rows))
    };
    let texts = [
        PLAIN.to_owned(),
        of_part("MPI-1", "PingPong", &format!("{TRANSFER} 8 1000 1.00 8.00")),
        PLAIN.replace("5.9", "7.5"),
        of_part("MPI-RMA", "Accumulate", &format!("{TRANSFER} 8 1000 2.00 4.00")),
        "# begin result \"x\"\ncount= 1  4  0.8  0.0  1  0.8\n# end result \"x\"\n".to_owned(),
    ];
    let facts = |run: &RunRecords| {
        let of = run.run.as_ref().unwrap();
        let of_point = |point: &Point| (point.key.clone(), point.quoted_ns());
        let points = run.points.iter().map(of_point).collect::<Vec<_>>();
        (of.suite.name.clone(), of.suite.version.clone(), points)
    };
    let alone = texts.iter().flat_map(|text| runs(text));
    let alone: Vec<_> = alone.map(|run| facts(&run)).collect();
    let together: Vec<_> = runs(&texts.concat()).iter().map(facts).collect();
    assert_eq!((alone.len(), together), (5, alone));
}

/// Titles from the sources of IMB 2018 to 2021.11, and from logs of 3.2 and 4.0.
#[test]
fn titles_of_all_versions_of_imb_have_one_suite_and_one_name_each() {
    let table = |name: &str| block(name, &format!("{TRANSFER} 8 1000 1.00 8.00"));
    for (title, name, expected) in [
        ("Intel (R) MPI Benchmark Suite V3.2.3, MPI-1 part    ", "PingPong", "imb 3.2.3 PingPong"),
        (
            "Intel (R) MPI Benchmark Suite V3.2, MPI-IO part   ",
            "S_Write_indv",
            "imb-io 3.2 S_Write_Indv",
        ),
        (
            "Intel (R) MPI Benchmarks 4.0 Update 2, MPI-RMA part",
            "Unidir_Put",
            "imb-rma 4.0 Update 2 Unidir_put",
        ),
        (
            "Intel (R) MPI Benchmarks 2017 update 1, MPI-2 part    ",
            "Unidir_Put",
            "imb-ext 2017 Update 1 Unidir_Put",
        ),
        (
            "Intel(R) MPI Benchmarks 2019 Update 6, MPI-1 part    ",
            "PingPong",
            "imb 2019 Update 6 PingPong",
        ),
        (
            "Intel(R) MPI Benchmarks 2021.11, MPI-IO partn#----",
            "S_Read_Indv",
            "imb-io 2021.11 S_Read_Indv",
        ),
        (
            "Intel(R) MPI Benchmarks 2021.11, RMA part (GPU), Technical preview",
            "Unidir_put",
            "imb-rma 2021.11 Unidir_put",
        ),
    ] {
        let found = runs(&format!("#    {title}\n{}", table(name)));
        let run = found[0].run.as_ref().unwrap();
        let point = &found[0].points[0];
        let text = format!("{} {} {}", run.suite.name, run.suite.version, point.kernel);
        assert_eq!(text, expected);
    }
}

#[test]
fn a_log_is_asked_only_for_the_ranks_of_the_suite_that_is_imported() {
    let osu = "# OSU MPI Allreduce Latency Test v7.5\n# Size Avg Latency(us)\n8 1.50\n";
    let text = format!("{osu}{}", block("PingPong", &format!("{TRANSFER} 8 1000 1.00 8.00")));
    assert_eq!(points(&imported_alone(IMB, &text)).len(), 1);
    assert!(matches!(import(OSU, &text, &around(None)), Err(ImportError::Ranks { .. })));
}

#[test]
fn prefixes_encodings_and_lines_of_others_change_no_row() {
    let expected = rows_of(PLAIN.as_bytes());
    let prefixes = [
        "0: ",
        " 0: ",
        "[0] ",
        "[1,0]<stdout>:",
        "[1,0]<stdout>: ",
        "[prterun-node-17@1,0]<stdout>:",
        "Sun Nov 15 22:45:41 2020[1,0]<stdout>:",
        "[2024-05-06T07:08:09.123Z] ",
        "2024-05-06T07:08:09.1234567Z ",
        "00:55:22  ",
        "> ",
        "> > ",
        "node-1  | ",
    ];
    for prefix in prefixes {
        let number = std::cell::Cell::new(10);
        let line = |line: &str| {
            number.set(number.get() + 1);
            format!("{}{line}\n", prefix.replace(":22", &format!(":{}", number.get())))
        };
        let text: String = PLAIN.lines().map(line).collect();
        let others = prefix.replace("0: ", "1: ").replace("[0]", "[1]").replace("1,0", "1,1");
        let text = if others == prefix { text } else { text + &others + "9 9.99\n" };
        assert_eq!(rows_of(text.as_bytes()), expected, "{prefix}");
    }
    let utf16 = |order: fn(u16) -> [u8; 2]| -> Vec<u8> {
        std::iter::once('\u{feff}').chain(PLAIN.chars()).flat_map(|c| order(c as u16)).collect()
    };
    let texts: [Vec<u8>; 6] = [
        utf16(u16::to_le_bytes),
        utf16(u16::to_be_bytes),
        format!("\u{feff}{PLAIN}").into(),
        PLAIN.replace('\n', "\r\n").into(),
        PLAIN.replace('\n', "\r").into(),
        PLAIN.replace("# ", "").replace("0  ", "\u{1b}[31m0\u{1b}[0m  ").into(),
    ];
    for text in texts {
        assert_eq!(rows_of(&text), expected, "{text:?}");
    }
    let others = "2 more processes have sent help message help-mpi-btl-base.txt\n15: a warning\n \
                  10:20:30 up 12 days,  1:02,  3 users\n11.31user 3.20system 0:11.31elapsed\n";
    let found = all(&(PLAIN.to_owned() + others));
    assert_eq!(points(&found.records).len(), 2);
    assert_eq!(found.notes, ["left out as no rows of a table: 4 lines with a digit first"]);
    for row in ["64 1,31", "64 12,236.50", "64 8.2[node:169]", "64 1.40 2.0", "64"] {
        let cut = PLAIN.to_owned() + row + "\n";
        assert!(import(OSU, &cut, &around(None)).is_err(), "{row}");
    }
    let headless = "# OSU MPI Latency Test v5.9\n8 1.50\n";
    let error = import(OSU, headless, &around(None)).unwrap_err().to_string();
    assert!(error.starts_with("line 2: the row stands below no head"), "{error}");
    let types = "# Datatype: MPI_CHAR.\n4 5.10\n# Datatype: MPI_INT.\n4 5.20\n";
    let found = all(&format!("# OSU MPI Bandwidth Test v7.1\n# Size Bandwidth (MB/s)\n{types}"));
    assert_eq!(points(&found.records).len(), 2, "the second table goes on below the head");
}

#[test]
fn an_output_without_its_end_or_with_a_crash_is_partial_and_says_why() {
    let check = |text: &str, expected: Option<&str>| {
        let found = all(text);
        let Some(Record::End(end)) = found.records.last() else { unreachable!() };
        let is_partial = end.status == EndStatus::Partial;
        assert_eq!(is_partial, expected.is_some(), "{text}");
        let reason = end.reason.clone().unwrap_or_default();
        assert!(reason.contains(expected.unwrap_or_default()), "{reason}");
        assert_eq!(
            found.notes.iter().filter(|note| **note == reason).count(),
            usize::from(is_partial)
        );
    };
    check(PLAIN, None);
    check(&(PLAIN.to_owned() + "slurmstepd: error: *** STEP 1 CANCELLED ***\n"), Some("line 5 of"));
    check(&(PLAIN.to_owned() + "=   BAD TERMINATION OF ONE OF YOUR\n"), Some("BAD TERMINATION"));
    let empty = PLAIN.split("0   ").next().unwrap();
    check(&(PLAIN.to_owned() + empty), Some("the table below line 5 of the text has no rows"));
    let whole = block("PingPong", &format!("{TRANSFER} 8 1000 1.00 8.00"));
    check(&whole, None);
    check(
        whole.split("\n\n# All").next().map(|text| text.to_owned() + "\n").as_deref().unwrap(),
        Some("lacks its last line"),
    );
    let cut = "# begin result \"x\"\ncount= 1 4 6.6 0.1 54 3.1 6.6\ncount= 2 4 6.6 0.1 54 3.1\n";
    check(cut, Some("lacks the end of the result 'x'"));
    assert_eq!(points(&all(cut).records).len(), 1, "a row that is cut off is no row");
}

#[test]
fn rows_of_imb_below_its_lines_about_wrong_data_are_failed_checks() {
    let rows = "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n 0 10 0.15 0.27 0.19\n\
                15: Error Reduce_scatter,size = 4,sample #0\nBuffer entry: 13.6\n 4 10 1.57 4.66 2.41\n \
                8 10 1.57 4.66 2.41";
    let records = all(&block("Reduce_scatter", rows)).records;
    let statuses: Vec<_> = points(&records).iter().map(|point| point.status()).collect();
    assert_eq!(statuses, [PointStatus::Ok, PointStatus::CheckFailed, PointStatus::Ok]);
}

#[test]
fn titles_of_all_versions_have_the_names_of_their_programs() {
    for (title, name) in [
        ("MPI Latency Test (Version 2.2)", "osu_latency"),
        ("MPI Bidirectional Bandwidth Test (Version 2.1)", "osu_bibw"),
        ("MPI Bi-Directional Bandwidth Test v3.3", "osu_bibw"),
        ("One Sided MPI_Put latency Test v3.1.1", "osu_put_latency"),
        ("MPI_Put Latency Test v7.4", "osu_put_latency"),
        ("MPI Latency Test Test v7.5", "osu_latency"),
        ("MPI Latency Test Persistent v7.5", "osu_latency_persistent"),
        ("MPI Multi Latency Test Test v7.5", "osu_multi_lat"),
        ("MPI Non-blocking Broadcast v7.5", "osu_ibcast"),
        ("MPI All-to-All Personalized ExchangeLatency Test v7.5", "osu_alltoall"),
        ("MPI Multi-threaded Latency Test v5.6.3", "osu_latency_mt"),
    ] {
        let head = if title.contains("Band") { "Bi-Bandwidth (MB/s)" } else { "Latency (us)" };
        let records = all(&format!("# OSU {title}\n# Size     {head}\n8 1.50\n")).records;
        assert_eq!(points(&records)[0].kernel, name, "{title}");
        let Record::Run(run) = &records[0] else { unreachable!() };
        assert!(title.contains(&run.suite.version) && !run.suite.version.is_empty(), "{title}");
    }
}

#[test]
fn the_start_of_an_import_is_its_date_or_unknown() {
    let start = |text: &str| {
        let Record::Run(run) = all(text).records.remove(0) else { unreachable!() };
        (run.started_at.clone(), json!(run)["started_at"].clone())
    };
    assert_eq!(start(PLAIN), (String::new(), Json::Null));
    let title = "#    Intel(R) MPI Benchmarks 2021.3, MPI-1 part\n";
    let date = "# Date                  : Mon Jan  4 10:00:00 2021\n";
    let table = block("PingPong", &format!("{TRANSFER} 8 1000 1.00 8.00"));
    assert_eq!(start(&[title, date, &table].concat()).0, "2021-01-04T10:00:00.000Z");
}

#[test]
fn equal_texts_are_one_launch_and_no_interval_is_narrower_than_the_printed_digits() {
    let side = |times: &[&str]| -> Vec<RunRecords> {
        times.iter().flat_map(|time| runs(&latency(&format!("8 {time}\n16 {time}\n")))).collect()
    };
    let row = |base: &[&str], new: &[&str]| {
        let options = Options { allows_single: true, ..Options::default() };
        let found = compare(&side(base), &side(new), &options);
        (found.points[0].clone(), found.notes)
    };
    let (same, notes) = row(&["1.00", "1.00", "1.00"], &["1.08", "1.08", "1.08"]);
    assert_eq!((same.n_base, same.n_new, same.n_repeated, same.low), (1, 1, 4, None));
    assert!(same.why.unwrap().ends_with("(import five outputs of each side)"));
    assert!(notes[0].starts_with("4 imported outputs have all numbers of another"), "{notes:?}");
    let two = |a: &str, b: &str| {
        let text = |time: &str, other| latency(&format!("8 {time}\n16 {other}\n"));
        [runs(&text(a, "2.00")), runs(&text(b, "2.01"))].concat()
    };
    let found = compare(&two("0.10", "0.10"), &two("0.20", "0.20"), &Options::default());
    let row = &found.points[0];
    let width = (row.high.unwrap() / row.low.unwrap()).ln();
    assert!((width - 2.0 * (0.05 + 0.025)).abs() < 1e-6, "{width}");
    assert_eq!(row.method, Some("welch"), "starts are unknown, and pair nothing");
}
