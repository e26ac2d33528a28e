//! Formats of standard output: every one live, from a file, into a pipe, and to a reader who goes
//! away. Records of older minor versions: what they lack is missing, and the rest is read as before.

use std::path::Path;

use serde_json::Value;

use crate::support::{Folder, Output, eventually};

/// The formats that print something.
const FORMATS: [&str; 3] = ["table", "csv", "jsonl"];

/// A run with numbers, figures, and a case that is skipped with a comma in its reason.
const RUN: &str = "echo overlap row_broadcast -n 2 --profile quick --samples 2";

/// Prints a run in `format` and keeps it in `r.jsonl`.
fn print(folder: &Folder, format: &str) -> String {
    folder.run(&format!("{RUN} --format {format} --out r.jsonl")).success().stdout
}

fn show(folder: &Folder, format: &str) -> String {
    folder.run(&format!("show r.jsonl --format {format}")).success().stdout
}

#[test]
fn a_file_shows_what_was_printed_live() {
    for format in ["csv", "jsonl"] {
        let folder = Folder::new();
        assert_eq!(print(&folder, format), show(&folder, format), "{format}");
    }
}

#[test]
fn a_table_of_a_file_adds_the_run_and_its_warnings_and_begins_with_what_it_comes_to() {
    let folder = Folder::new();
    let live = print(&folder, "table");
    let shown = show(&folder, "table");
    let verdict = live.lines().last().expect("a table has lines");
    assert!(verdict.contains("a single launch"), "{verdict}");
    let at = shown.find("# comet ").expect("the run has a line");
    let (first, shown) = shown.split_at(at);
    assert!(first.starts_with(&format!("# {verdict}\n#   latency of 8 B, ")), "{first}");
    let is_head = |line: &&str| line.starts_with("# comet ");
    let is_warning = |line: &&str| line.starts_with("# warning: ");
    let rest = |table: &str| -> Vec<String> {
        table
            .lines()
            .filter(|line| !is_head(line) && !is_warning(line))
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(rest(shown), rest(&live));
    for warning in live.lines().filter(is_warning) {
        assert!(shown.contains(warning), "{warning} is missing in {shown}");
    }
}

#[test]
fn json_lines_are_the_file() {
    let folder = Folder::new();
    assert_eq!(print(&folder, "jsonl"), folder.read("r.jsonl"));
}

#[test]
fn csv_has_a_head_and_a_row_for_each_point() {
    let folder = Folder::new();
    let text = print(&folder, "csv");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let head = reader.headers().expect("there is a head").clone();
    let rows: Vec<csv::StringRecord> =
        reader.records().collect::<Result<_, _>>().expect("all rows are as long as the head");
    let cell = |row: &csv::StringRecord, name: &str| {
        let column = head.iter().position(|other| other == name).expect("there is such a column");
        row[column].to_owned()
    };
    let records = folder.records("r.jsonl");
    assert_eq!(rows.len(), records.points().count());
    for (row, point) in rows.iter().zip(records.points()) {
        for name in ["key", "suite", "kernel", "variant", "status", "message"] {
            assert_eq!(cell(row, name), point[name].as_str().unwrap_or_default(), "{name}");
        }
        let median_ns = cell(row, "t_median_ns").parse().ok();
        assert_eq!(median_ns, point["time_ns"]["median"].as_f64(), "what is missing is empty");
    }
}

#[test]
fn a_stored_sweep_is_fitted_with_all_four_parameters() {
    let folder = Folder::new();
    let sweep = "echo -n 2 --hops 1 -s 0,64..64Ki*2 --profile quick --samples 2";
    folder.run(&format!("{sweep} --format none --out r.jsonl")).success();
    let fitted = folder.run("fit r.jsonl").success().stdout;
    for name in ["t0_us", "r_inf_MB/s", "n_half_B", "pi0_kHz", "two of t0, r_inf, n_half and pi0"] {
        assert!(fitted.contains(name), "{name} is missing in {fitted}");
    }
    let stored = folder.read("r.jsonl");
    let is_model = |line: &&str| line.starts_with("{\"type\":\"model\"");
    let models: String = stored.lines().filter(is_model).map(|line| format!("{line}\n")).collect();
    assert_eq!(folder.run("fit r.jsonl --format jsonl").success().stdout, models);
    let cut = folder.run("fit r.jsonl --breakpoints 1Ki").success().stdout;
    assert!(cut.contains("# 2 segments, break after 1024 B, given"), "{cut}");
}

#[test]
fn no_escape_sequence_goes_into_a_pipe() {
    for format in FORMATS {
        let folder = Folder::new();
        for output in [
            folder.run(&format!("{RUN} --format {format} --out r.jsonl")),
            folder.run(&format!("show r.jsonl --format {format}")),
            folder.run("--help"),
            folder.run("list"),
            folder.run("echo --frobnicate"),
        ] {
            assert!(
                !output.stdout.contains('\x1b') && !output.stderr.contains('\x1b'),
                "{output:?}"
            );
        }
    }
}

/// Runs `line` in a pipeline of the shell; adds its exit code to standard error.
fn run_in_shell(folder: &Folder, line: &str, pipeline: &str) -> Output {
    let script = format!("{{ \"$0\" {line}; echo \"code $?\" >&2; }} {pipeline}");
    folder.start_shell(&script).wait()
}

#[test]
fn a_reader_may_go_away() {
    let folder = Folder::new();
    let check = |line: &str| {
        let output = run_in_shell(&folder, line, "| head -n 1").notes("code 0");
        assert_eq!(output.stdout.lines().count(), 1, "{output:#?}");
        assert!(!output.stderr.contains("panicked"), "{output:#?}");
    };
    for format in FORMATS {
        check(&format!("{RUN} --format {format} --out {format}.jsonl"));
        check(&format!("show {format}.jsonl --format {format}"));
        assert_eq!(folder.records(&format!("{format}.jsonl")).end()["status"], "complete");
    }
    check("list");
    check("schema");
    check("check barrier -n 2");
}

#[test]
fn a_full_disk_is_told_in_a_sentence() {
    let folder = Folder::new();
    let line = "barrier -n 2 --samples 2 --out /dev/full";
    let output = folder.run(line).code(1);
    let output = output.notes("error: cannot keep the results: cannot write /dev/full (");
    assert!(!output.stderr.contains("results: /dev/full"), "{output:#?}");
    for line in ["barrier -n 2 --samples 2 --out r.jsonl", "show r.jsonl", "list", "schema"] {
        let output = run_in_shell(&folder, line, "> /dev/full").notes("code 1");
        output.notes("cannot write to standard output: ");
    }
    folder.run("validate r.jsonl").code(4).prints(": failed (0 points ok");
}

#[test]
fn the_schema_is_the_committed_one() {
    let path = "../comet-report/schema/comet.record-1.schema.json";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let committed = std::fs::read_to_string(path).expect("the schema is committed");
    assert_eq!(Folder::new().run("schema").success().stdout, committed);
}

#[test]
fn a_row_is_printed_before_the_run_is_over() {
    // The second kernel takes seconds, and the run is ended as soon as the row of the first is there.
    let line =
        "echo overlap -n 2 -s 8 --hops 1 --vector-lengths 1000000 --samples 5000 --out r.jsonl";
    let first_rows = [
        ("table", "\n         1            8     5000 "),
        ("csv", ",comet,echo,echo,p2p,"),
        ("jsonl", "\"params\":{\"hops\":1,\"length_bytes\":8,"),
    ];
    for (format, row) in first_rows {
        let folder = Folder::new();
        let mut running = folder.start(&format!("{line} --format {format}"));
        eventually("the first row", || running.stdout().contains(row));
        assert_eq!(running.status(), None, "{format}: {}", running.stdout());
    }
}

/// Names that a record has since a minor version of its schema.
const SINCE: &[(u32, &str)] = &[
    (2, "interfaces late_ns memory p10 p999 quality quoted_ns skew_ns target_features window_ns"),
    (3, "cores_moved line_ns"),
    (4, "is_refined"),
    (5, "kernels"),
    (6, "evaluation"),
    (8, "discarded warm_up_ns"),
];

/// Takes all names out of `value` that are younger than `minor`.
fn age(value: &mut Value, minor: u32) {
    match value {
        Value::Object(fields) => {
            let younger = SINCE.iter().filter(|(since, _)| *since > minor);
            let younger = younger.flat_map(|(_, names)| names.split(' '));
            fields.retain(|name, _| !younger.clone().any(|young| young == name));
            if fields.contains_key("schema_minor") {
                fields.insert("schema_minor".into(), minor.into());
            }
            fields.values_mut().for_each(|value| age(value, minor));
        }
        // Kinds of axes that were sizes and counts.
        Value::String(kind) if minor < 6 && kind == "side" => *kind = "size".into(),
        Value::String(kind) if minor < 6 && ["distance", "pairs", "round"].contains(&&**kind) => {
            *kind = "count".into();
        }
        Value::Array(values) => values.iter_mut().for_each(|value| age(value, minor)),
        _ => (),
    }
}

#[test]
fn records_of_every_minor_version_are_read() {
    let folder = Folder::new();
    folder.run("echo barrier -t sim -n 4 --sizes 0,1..64Ki*2 -q --out now.jsonl").success();
    let text = folder.read("now.jsonl");
    let fit = folder.run("fit now.jsonl").success().prints("r_inf").stdout;
    for minor in 0..=7 {
        let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        // Models came with minor version 2, whole.
        let known = records.filter(|record| minor >= 2 || record["type"] != "model");
        let aged = known.map(|mut record| {
            age(&mut record, minor);
            format!("{record}\n")
        });
        folder.write("old.jsonl", &String::from_iter(aged));
        folder.run("validate old.jsonl").success();
        folder.run("show old.jsonl").success().prints("65536");
        assert_eq!(folder.run("fit old.jsonl").success().stdout, fit, "minor version {minor}");
        folder.run("report old.jsonl -o old.html").success();
        folder.run("plot old.jsonl -o figures").success();
    }
}
