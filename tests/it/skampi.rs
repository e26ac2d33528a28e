//! Requirements of the SKaMPI paper by their numbers, each with a command line and with what shows that it is
//! met.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::Folder;

/// A value of a record as a word.
fn text(value: &serde_json::Value) -> &str {
    value.as_str().expect("a word")
}

/// SK-20: the ping-pong of SKaMPI in its ten modes (section 3.2 of the paper); SK-21: master and workers in seven
/// types, and their waits by themselves; SK-22 and SK-25: compounds and gathers by hand; SK-23: calls of one rank;
/// SK-95: the construction of datatypes; SK-93: one-sided epochs, call by call.
#[test]
fn the_patterns_of_skampi_have_kernels_that_verify_on_every_transport() {
    let folder = Folder::new();
    let options = "-n 3 --sizes 16,1Ki,128Ki";
    folder.check_suite("skampi", include_str!("rows/skampi-pages.txt"), options, 51);
}

/// SK-22 and SK-24: the numbers of the paper's types select their kernels, those that other suites have among them.
#[test]
fn each_type_of_the_paper_is_a_name() {
    let folder = Folder::new();
    for (number, id) in [
        (10, "skampi/master_worker_waitsome"),
        (12, "skampi/master_worker_recv_any"),
        (13, "skampi/master_worker_recv_any"),
        (16, "skampi/master_worker_bsend"),
        (17, "imb/bcast"),
        (18, "comet/barrier"),
        (22, "skampi/comm_split"),
        (23, "model/memcpy"),
        (36, "imb/allreduce"),
        (37, "skampi/reduce_bcast"),
        (46, "skampi/gatherv_isend_irecv"),
    ] {
        let page = folder.run(&format!("help SKaMPI:{number}")).code(0).stdout;
        assert!(page.starts_with(id), "{number}: {page}");
    }
}

/// SK-07, and SK-30 to SK-33: any layout of either side, as datatypes of a suite file and packed on purpose, verified.
#[test]
fn a_suite_file_measures_messages_of_its_own_datatypes() {
    let folder = Folder::new();
    folder.write(
        "own.toml",
        "[layout]\ncolumn = 'vector(4,1,4,double)'\nhalf = 'vector:1:2'\n[defaults]\nsamples = 3\nlength_bytes = 96\n\
         launches = 1\nprofile = 'quick'\n[[measure]]\nkernel = ['skampi/pingpong_isend_recv', 'imb/alltoall']\n\
         layout = ['contiguous', 'column', 'packed:struct']\n[[measure]]\nkernel = 'comet/echo'\nhops = 1\n\
         layout = [['column', 'indexed'], 'half:to:column']\n",
    );
    let names = |transport: &str| {
        let line = format!("suite run own.toml -t {transport} -n 2 -q --out {transport}.jsonl");
        let output = folder.run(&line).code(0);
        let records = folder.records(&format!("{transport}.jsonl"));
        assert!(records.points().all(|point| point["status"] == "ok"), "{output:#?}");
        let of = records.points().map(|point| text(&point["params"]["layout"]).to_owned());
        of.collect::<Vec<_>>()
    };
    let expected = [
        ["contiguous", "column", "packed:struct"].repeat(2),
        vec!["column:to:indexed", "half:to:column"],
    ];
    for transport in ["sim", "shm"] {
        assert_eq!(names(transport), expected.concat());
    }
    // The file tells what they are without that of the suite.
    let records = folder.records("sim.jsonl");
    let last = records.of_type("run").last().unwrap()["config"]["layout_definitions"].clone();
    assert_eq!(last, serde_json::json!({"column": "vector(4,1,4,double)", "half": "vector:1:2"}));
}

/// A layout is packed for a kernel that can, and no reason for another one beside it, in either order.
#[test]
fn a_kernel_that_packs_is_measured_beside_one_that_does_not() {
    let folder = Folder::new();
    for (number, kernels) in
        ["osu/bw osu/bw_persistent", "osu/bw_persistent osu/bw"].iter().enumerate()
    {
        let line = format!("{kernels} -t shm -n 2 --layout vector:1:2 -s 1Ki --samples 3");
        folder.run(&format!("{line} --launches 1 --quiet --out {number}.jsonl"));
        let records = folder.records(&format!("{number}.jsonl"));
        let outcome =
            |point: &Value| (text(&point["kernel"]).to_owned(), text(&point["status"]).to_owned());
        let mut outcomes: Vec<_> = records.points().map(outcome).collect();
        outcomes.sort();
        let expected = [("bw", "ok"), ("bw_persistent", "skipped")];
        assert_eq!(outcomes, expected.map(|(a, b)| (a.to_owned(), b.to_owned())), "{kernels}");
    }
}

/// SK-01 and SK-12: results in the layout of `SKaMPI` itself, with the times of the nodes, which come back from an
/// import.
#[test]
fn results_are_printed_in_its_layout() {
    let folder = Folder::new();
    let line = "skampi/pingpong_send_recv imb/bcast -t sim -n 2 -s 8,64 --rules skampi --quiet";
    let printed = folder.run(&format!("{line} --format skampi --out r.jsonl")).success();
    let printed = printed.prints("# begin result \"Pingpong_Send_Recv\"\ncount= 8        8 ");
    let rows = |text: &str| -> Vec<String> {
        let lines =
            text.lines().filter(|line| line.contains("result") || line.starts_with("count="));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(rows(&printed.stdout).len(), 8, "{}", printed.stdout);
    let shown = folder.run("show r.jsonl --format skampi").success();
    assert_eq!(rows(&shown.stdout), rows(&printed.stdout));
    folder.write("r.sko", &printed.stdout);
    // Times of a rank alone do not tell how many there are.
    folder.run("import auto r.sko -n 2 -o again.jsonl").success();
    folder.run("validate again.jsonl").success();
    let again = folder.run("show again.jsonl --format skampi").success();
    assert_eq!(rows(&again.stdout), rows(&printed.stdout));
}

/// SK-70 and SK-96: questions that the output answers in words.
#[test]
fn sk_96_questions_are_answered_in_words() {
    let folder = Folder::new();
    let modes = "skampi/pingpong_send_recv skampi/pingpong_ssend_recv --machine dahu-opa -n 2 -s 8";
    folder.run(&format!("{modes} --quiet --out r.jsonl")).success();
    let shown = folder.run("show r.jsonl --questions").success();
    shown
        .prints("\n# Which mode of a message is the fastest? (over sim on dahu-opa)\npingpong_send_recv is the fastest at 8 B, on 2 ranks\n")
        .prints("pingpong_ssend_recv against pingpong_send_recv, on 2 ranks: slower (");
    folder.run("report r.jsonl -o page.html").success();
    assert!(
        folder
            .read("page.html")
            .contains("<h3>Which mode of a message is the fastest? (over sim on dahu-opa)</h3>")
    );
    // SK-33
    let layouts = "skampi/pingpong_send_recv --layout vector:8:16,packed:vector:8:16";
    folder.run(&format!("{layouts} --machine dahu-opa -n 2 -s 64 --quiet --out l.jsonl"));
    let shown = folder.run("show l.jsonl --questions").success();
    shown.prints("\n# Does a datatype beat packing? (over sim on dahu-opa)\npingpong_send_recv packed:vector:8:16 against pingpong_send_recv vector:8:16, on 2 ranks: ");
    folder.run("show r.jsonl --questions --format csv").code(2).notes("--questions goes with");
}

/// The numbers of samples of each point in `file`, and whether its error was met.
fn samples(folder: &Folder, file: &str) -> Vec<(u64, bool)> {
    let of = |point: &Value| {
        let n = point["time_ns"]["n"].as_u64().expect("a number of samples");
        (n, point["quality"]["converged"] == true)
    };
    folder.records(file).points().map(of).collect()
}

/// SK-42 and SK-45: each point has its own samples, within the bounds, until the standard error is small.
#[test]
fn a_case_is_done_once_its_standard_error_is_small() {
    let folder = Folder::new();
    let measured = |file: &str, options: &str| {
        let line = "skampi/pingpong_send_recv -t sim -n 2 -s 8..1Ki*2 --rules skampi";
        folder.run(&format!("{line} {options} --quiet --out {file}")).success();
        samples(&folder, file)
    };
    let steady = measured("a.jsonl", "--samples 8..32 --unsteady 0.01");
    assert!(steady.iter().all(|point| *point == (8, true)), "{steady:?}");
    let never = measured("b.jsonl", "--samples 4..12 --standard-error 0.01 --unsteady 40");
    assert!(never.iter().all(|point| *point == (12, false)), "{never:?}");
    let some = measured("c.jsonl", "--samples 4..40 --standard-error 5 --unsteady 40");
    let numbers: BTreeSet<u64> = some.iter().map(|(n, _)| *n).collect();
    assert!(numbers.len() > 1 && numbers.iter().all(|n| (4..=40).contains(n)), "{some:?}");
    let refused = folder.run("echo -t sim -n 2 -s 8 --standard-error 3").code(2);
    refused.notes("--standard-error 3 is a rule of --rules skampi, and the rules are comet");
}

/// The bounds are met exactly, whatever their divisors, also where the machine repeats its times to the last bit.
#[test]
fn the_bounds_of_samples_are_kept() {
    let folder = Folder::new();
    for (bounds, expected) in [("5..5", 5), ("9..9", 9), ("2..5", 2), ("8..32", 8)] {
        let line = "skampi/pingpong_send_recv imb/bcast -t sim -n 2 -s 8 --rules skampi --quiet";
        folder.run(&format!("{line} --samples {bounds} --out {expected}.jsonl")).success();
        let found = samples(&folder, &format!("{expected}.jsonl"));
        assert_eq!(found, [(expected, true); 2], "{bounds}");
        let records = folder.records(&format!("{expected}.jsonl"));
        let run = records.of_type("run").next().expect("a run");
        assert!(!run["config"]["stop"].is_null(), "{run}");
    }
}

/// SK-93: the call that ends an access does not wait for targets that are busy, and the time is that of rank 0.
#[test]
fn the_end_of_an_access_is_timed_on_its_own_rank() {
    let folder = Folder::new();
    let line = "skampi/win_complete --axis delay_us=0,5000 -t sim -n 3 --rules skampi";
    folder.run(&format!("{line} --sizes 0,4 --quiet --out r.jsonl")).success();
    let records = folder.records("r.jsonl");
    let of = |point: &Value| {
        let axis = |name: &str| point["params"][name].as_u64().expect("a number");
        let time_ns = point["quoted_ns"].as_f64().expect("a time");
        ((axis("length_bytes"), axis("delay_us")), time_ns)
    };
    let times: BTreeMap<(u64, u64), f64> = records.points().map(of).collect();
    assert_eq!(times[&(0, 0)], times[&(0, 5000)], "{times:?}");
    assert!(times[&(4, 5000)] < 1e6, "{times:?}");
    // A definition that would time what goes before is not taken.
    let output = folder.run(&format!("{line} --sizes 0 --definition D5 --out d.jsonl")).success();
    let output = output
        .notes("note: skampi/win_complete is not measured by D5 loop_mean, but by D1 completion");
    let records = folder.records("d.jsonl");
    assert!(
        records.points().all(|point| point["value"]["definition"] == "D1 completion"),
        "{output:#?}"
    );
}

/// SK-83: one instance on several machines, in one plot.
#[test]
fn a_plot_shows_one_instance_on_several_machines() {
    let folder = Folder::new();
    for machine in ["ipsc860", "dahu-opa"] {
        let line = format!("skampi/pingpong_sendrecv --machine {machine} -n 2 -s 8,64,1Ki,16Ki");
        folder.run(&format!("{line} --quiet --out {machine}.jsonl")).success();
    }
    folder.run("report ipsc860.jsonl dahu-opa.jsonl -o page.html").success();
    let page = folder.read("page.html");
    for text in ["ipsc860", "dahu-opa", "skampi/pingpong_sendrecv"] {
        assert!(page.contains(text), "{text}");
    }
}

/// Rows of the paper that are to be met, and those of its result database, which are not.
fn rows() -> impl Iterator<Item = u32> {
    let ranges = [1..=16, 20..=26, 30..=33, 40..=45, 50..=54, 60..=63, 70..=71, 83..=85, 90..=96];
    ranges.into_iter().flatten()
}

/// Texts of the Rust sources below `folder`.
fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(fs::read_to_string(&path).expect("a text"));
        }
    }
}

/// Lines of `text` that name a test: its comment, up to `#[test]`, and its name.
fn lines_of_tests(text: &str) -> Vec<&str> {
    let (mut found, mut above, mut is_test) = (Vec::new(), Vec::new(), false);
    for line in text.lines().map(str::trim_start) {
        match line {
            "#[test]" => is_test = true,
            _ if line.starts_with("//") => above.push(line),
            // Other attributes may stand between them.
            _ if line.starts_with("#[") => (),
            _ => {
                if std::mem::take(&mut is_test) {
                    found.append(&mut above);
                    found.push(line);
                }
                above.clear();
            }
        }
    }
    found
}

#[test]
fn a_comment_of_no_test_names_no_row() {
    let text = "/// of a test\n#[test]\nfn first() {\n    // within\n    let x = 1;\n}\n\n/// of none\nfn sk_02() {}\n\n\
                // apart\n\n#[test]\nfn second() {}\n";
    assert_eq!(lines_of_tests(text), ["/// of a test", "fn first() {", "fn second() {}"]);
}

/// Each row is named above a test or in its name, alone or by a range that it is in.
#[test]
fn every_row_of_the_paper_is_named_by_a_test() {
    let mut texts = Vec::new();
    sources(Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace"), &mut texts);
    let mut named = BTreeSet::new();
    for text in &texts {
        for line in lines_of_tests(text) {
            let line = line.to_uppercase().replace('_', "-");
            let numbers: Vec<(usize, u32)> = line
                .match_indices("SK-")
                .filter_map(|(at, _)| Some((at, line.get(at + 3..at + 5)?.parse().ok()?)))
                .collect();
            named.extend(numbers.iter().map(|(_, number)| *number));
            for pair in numbers.windows(2) {
                if line[pair[0].0..pair[1].0].ends_with(" TO ") {
                    named.extend(pair[0].1..=pair[1].1);
                }
            }
        }
    }
    let missing: Vec<u32> = rows().filter(|row| !named.contains(row)).collect();
    assert!(missing.is_empty(), "no test names {missing:?}");
}
