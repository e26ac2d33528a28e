//! Exports for other programs: figures of merit, Bencher's JSON, OpenMetrics, JUnit and Extra-P,
//! from one launch and from several.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::Folder;

/// A run in virtual time, in which every number is the same each time.
const RUN: &str = "echo barrier contention --machine ipsc860 -n 8 --profile quick";

/// Keeps [`RUN`] in `r.jsonl`, and returns what `export` makes of it.
fn export(folder: &Folder, format: &str) -> String {
    folder.run(&format!("{RUN} --format none --out r.jsonl")).success();
    folder.run(&format!("export {format} r.jsonl")).success().stdout
}

/// The lines of figures of merit in `text`, in words.
fn figures(text: &str) -> Vec<Vec<&str>> {
    let lines = text.lines().filter(|line| line.starts_with("comet.fom "));
    lines.map(|line| line.split(' ').collect()).collect()
}

#[test]
fn figures_of_merit_are_printed_live_and_their_last_line_is_the_verdict() {
    let folder = Folder::new();
    let live = folder.run(&format!("{RUN} --format fom --out r.jsonl")).success().stdout;
    assert_eq!(live, folder.run("show r.jsonl --format fom").success().stdout);
    let last = live.lines().last().expect("there are lines");
    assert!(last.starts_with("comet.status pass points="), "{last}");
    let figures = figures(&live);
    assert_eq!(figures.len() + 1, live.lines().count());
    for words in &figures {
        let [_, case, _, value, _, better] = words[..] else { panic!("{words:?}") };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_/=.-".contains(c);
        assert!(case.chars().all(is_plain), "{case}");
        assert!(value.parse::<f64>().is_ok_and(|value| value > 0.0), "{words:?}");
        assert!(["lower", "higher"].contains(&better), "{words:?}");
    }
    let names: BTreeSet<_> = figures.iter().map(|words| (words[1], words[2])).collect();
    assert_eq!(names.len(), figures.len(), "each name is there once");
    assert!(names.contains(&("comet/echo/hops=1/length_bytes=4096/procs=8", "bandwidth")));
    assert!(names.contains(&("comet/echo/hops=0/procs=8/fit", "t0")));
    assert!(!names.contains(&("comet/echo/hops=1/procs=8/fit", "t0")), "its law is poor");
}

#[test]
fn refinement_changes_no_name() {
    let folder = Folder::new();
    let sweep = "echo --machine ipsc860 -n 2 --hops 1 -s 0,4,10,64,128,256,1Ki,8Ki --profile quick";
    let names = |options: &str| -> BTreeSet<String> {
        let text = folder.run(&format!("{sweep} {options} --format fom")).success().stdout;
        figures(&text).iter().map(|words| words[1..3].join(" ")).collect()
    };
    assert_eq!(names("--out plan.jsonl"), names("--refine verified --out refined.jsonl"));
    let is_refined = |name: &str| {
        let records = folder.records(name);
        records.points().filter(|point| point["plan"]["is_refined"] == true).count()
    };
    assert_eq!(is_refined("plan.jsonl"), 0);
    assert!(is_refined("refined.jsonl") > 0);
}

#[test]
fn wrong_data_fails_the_verdict_and_the_test_of_its_kernel() {
    let folder = Folder::new();
    let run = "echo barrier --machine ipsc860 -n 2 --profile quick --inject corrupt:barrier";
    let printed = folder.run(&format!("{run} --format fom --out r.jsonl")).code(3);
    assert!(printed.stdout.contains("\ncomet.status fail points="), "{}", printed.stdout);
    let junit = folder.run("export junit r.jsonl").success().stdout;
    assert!(junit.contains("<testsuites tests=\"3\" failures=\"1\" errors=\"0\""), "{junit}");
    assert!(junit.contains("name=\"barrier on 2 ranks over sim\""), "{junit}");
}

#[test]
fn a_document_is_not_printed_while_a_run_goes_on() {
    let folder = Folder::new();
    for format in ["bmf", "openmetrics", "junit", "extrap"] {
        let output = folder.run(&format!("{RUN} --format {format} --out r.jsonl")).code(2);
        assert!(output.notes(&format!("comet-run export {format} FILE")).stdout.is_empty());
    }
    assert!(folder.names().is_empty(), "nothing was started");
}

#[test]
fn launches_of_a_command_are_one_benchmark_with_bounds() {
    let folder = Folder::new();
    for (name, machine) in [("a", "ipsc860"), ("b", "paragon-osf"), ("c", "t3e")] {
        let run = format!("echo --machine {machine} -n 2 --hops 1 -s 8,1Ki --profile quick");
        folder.run(&format!("{run} --format none --out {name}.jsonl")).success();
    }
    let text = folder.run("export bmf a.jsonl b.jsonl c.jsonl").success().stdout;
    let benchmarks: Value = serde_json::from_str(&text).expect("it is JSON");
    let name = "comet/echo/hops=1/length_bytes=8/procs=2/transport=sim";
    let latency = &benchmarks[name]["latency"];
    let [low, middle, high] = ["lower_value", "value", "upper_value"]
        .map(|name| latency[name].as_f64().expect("a number"));
    assert!(low < middle && middle < high, "{latency}");
    assert!(benchmarks[name]["bandwidth"]["value"].as_f64().is_some_and(|rate| rate > 0.0));
    assert_eq!(benchmarks.as_object().map(serde_json::Map::len), Some(2));
}

#[test]
fn metrics_end_with_their_last_line_and_have_each_sample_once() {
    let text = export(&Folder::new(), "openmetrics");
    assert!(text.ends_with("\n# EOF\n"), "{text}");
    assert_eq!(text.matches("# EOF").count(), 1);
    let names: Vec<&str> = text.lines().filter_map(|line| line.split("} ").next()).collect();
    let once: BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(once.len(), names.len());
    assert!(!text.contains("load_50_bytes"), "it differs from run to run");
}

#[test]
fn extra_p_gets_every_call_path_on_every_number_of_ranks() {
    let folder = Folder::new();
    let run = "echo barrier reduction --machine ipsc860 -n 2..32*2 --profile quick";
    folder.run(&format!("{run} --format none --out r.jsonl")).success();
    let text = folder.run("export extrap r.jsonl").success().stdout;
    let lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    let ranks_of = |callpath: &Value| -> Vec<u64> {
        let own = lines.iter().filter(|line| line["callpath"] == *callpath);
        own.filter_map(|line| line["params"]["p"].as_u64()).collect()
    };
    for line in &lines {
        assert_eq!(ranks_of(&line["callpath"]), [2, 4, 8, 16, 32], "{line}");
        assert!(line["value"].as_array().is_some_and(|values| !values.is_empty()), "{line}");
    }
    assert_eq!(ranks_of(&"comet->barrier".into()).len(), 5);
}

#[test]
fn an_export_goes_into_a_file_that_is_no_result_file() {
    let folder = Folder::new();
    let text = export(&folder, "csv");
    let line = "export csv r.jsonl --out points.csv";
    folder.run(line).success();
    assert_eq!(folder.run(line).success().stdout, "", "also if it is there");
    assert_eq!(folder.read("points.csv"), text);
    assert_eq!(folder.run("show r.jsonl --format csv").success().stdout, text);
    folder.run("export csv r.jsonl --out ./r.jsonl").code(2).notes("would be overwritten");
    folder.run("export csv r.jsonl --out no/r.csv").code(1).notes("cannot write no/r.csv");
    folder.run("export csv points.csv").code(2).notes("is this a file that comet-run wrote?");
    folder.run("export xml r.jsonl").code(2).notes("openmetrics");
}
