//! Commands beside `run` and `compare`: `check`, `calibrate`, `health`, `report` and `reproduce`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{Folder, machine};

#[test]
fn the_checks_pass_on_any_number_of_ranks() {
    for n_ranks in [1, 4] {
        let output = Folder::new().run(&format!("check -n {n_ranks}")).success();
        let lines: Vec<&str> = output.stdout.lines().collect();
        let n_of = |start: &str| lines.iter().filter(|line| line.starts_with(start)).count();
        assert!(n_of("ok       transport: ") > 30, "{output:#?}");
        let n_kernels = n_of("ok       kernel ") + n_of("skipped  kernel ");
        assert_eq!((n_kernels, n_of("FAILED")), (12, 0), "{output:#?}");
    }
}

#[test]
fn a_check_that_sees_spoiled_data_fails() {
    let output = Folder::new().run("check echo barrier -n 2 --inject corrupt:echo").code(3);
    let output =
        output.prints("FAILED   case comet/echo hops=1 length_bytes=8: rank 0: byte 7 of 8");
    output.prints("FAILED   kernel comet/echo: ").prints("ok       kernel comet/barrier: ");
}

#[test]
fn every_injected_fault_is_noticed_over_each_transport() {
    let folder = Folder::new();
    let refusal = folder.run("echo --inject none:echo").code(2).stderr;
    let names = refusal.split_once("(faults are ").and_then(|(_, list)| list.split_once(')'));
    let (names, _) = names.expect("a refusal lists the faults");
    for fault in names.split(", ") {
        let (kernel, what) = match fault {
            "swapped" => ("imb/alltoall", "byte 0 of 64 of "),
            "doubled" => ("imb-ext/accumulate", "the sum"),
            "barrier" => {
                ("imb/allreduce", "the rounds in which a rank left the barrier before a sample")
            }
            "lost" => ("comet/echo", "found none from the expected rank"),
            _ => ("comet/echo", "of 64 of the "),
        };
        for transport in ["shm", "sim"] {
            let counts = "--profile quick --samples 30 --repetitions 2 --sync barrier --format jsonl --out none";
            let line = format!("{kernel} -n 4 -s 64 -t {transport} {counts}");
            folder.run(&line).success();
            folder.run(&format!("{line} --inject {fault}:{kernel}")).code(3).prints(what);
        }
    }
}

#[test]
fn what_these_ranks_do_not_admit_is_skipped_with_the_reason() {
    let folder = Folder::new();
    let output = folder.run("check contention -n 2").success();
    output.prints("skipped  kernel comet/contention: needs at least 4 ranks, there are 2");
    assert_eq!(folder.names(), [""; 0], "a check leaves no file");
}

#[test]
fn a_known_machine_is_written_down_as_it_is() {
    let folder = Folder::new();
    let line = "calibrate -t sim --machine ipsc860 -n 2 -o m.toml --simgrid m.xml";
    let report = folder.run(line).success().stdout;
    assert!(report.contains("comet/exchange               11     0.0 %"), "{report}");
    assert_eq!(folder.names(), ["m.jsonl", "m.toml", "m.xml"]);
    folder.run("validate m.jsonl").success();
    let machine = folder.read("m.toml");
    for number in ["79000.000 ns", "630000.000 ps/B", "156000.000 ns", "410000.000 ps/B"] {
        let entry = format!("{{ value = \"{number}\", source = \"measured\" }}");
        assert!(machine.contains(&entry), "{entry} is not in\n{machine}");
    }
    assert!(folder.read("m.xml").contains("radical=\"0-1\""));
    folder.run("echo -t sim --machine m.toml -n 2 --hops 1 --profile quick --out none").success();
}

#[test]
fn ranks_in_other_processes_can_be_calibrated() {
    let folder = Folder::new();
    let report = folder.run("calibrate -t shm -n 2 --profile quick").success().stdout;
    for kernel in ["comet/echo", "comet/exchange", "naive/broadcast", "naive/reduction"] {
        assert!(report.contains(kernel), "{kernel} is not in\n{report}");
    }
    assert_eq!(folder.names(), ["host.jsonl", "host.toml"]);
}

#[test]
fn nothing_stands_out_on_a_healthy_machine() {
    let folder = Folder::new();
    let line = "health --machine dahu-opa -n 9 -s 8,4Ki --profile quick -o a.jsonl";
    let output = folder.run(line).success().prints("# 9 ranks: 36 pairs in 9 rounds\n");
    let output = output.prints("0 of 36 pairs slow").prints("\nverdict: no outliers\n");
    assert_eq!(output.stderr, "results: a.jsonl\n");
    folder.run("validate a.jsonl").success();
}

#[test]
fn distances_are_told_from_faults() {
    let folder = Folder::new();
    for (name, class) in [("ipsc860", "3 hops"), ("t3e", "3 hops"), ("cm5", "3 hops")] {
        let line = format!("health --machine {name} -n 8 -s 8 --profile quick -o {name}.jsonl");
        folder.run(&line).success().prints(class);
    }
}

#[test]
fn pairs_that_share_links_are_noticed_and_not_blamed() {
    let folder = Folder::new();
    let output = folder.run("health --machine redstorm -n 16 -s 64Ki --profile quick -o a.jsonl");
    let output = output.success();
    output.prints("\nnoticed: link of ranks ").prints("\nverdict: no outliers but ");
}

#[test]
fn a_slow_rank_is_named_and_ends_with_code_10() {
    let folder = Folder::new();
    // Ranks take time for messages and for work.
    let slow = "split = { o_send = \"500 ns\", o_recv = \"500 ns\" }\n[node]\ndaxpy = \"1 ns\"\n\
                [fault]\nslow_rank = [{ rank = 5, factor = 3.0 }]\n";
    folder.write("slow.toml", &machine(1.0, slow));
    let output =
        folder.run("health --machine ./slow.toml -n 8 -s 8 --profile quick -o a.jsonl").code(10);
    let reasons = "\nsuspicious: rank 5: 8 B: 7 of 7 pairs take more than 1.10 times the median, \
                   up to 1.50; computes 3.00 times as long as others\n\
                   verdict: rank 5 is an outlier\n";
    let measured = output.prints(reasons).stdout;
    // A stored run gets the same verdict, and another one where more is tolerated.
    assert_eq!(folder.run("health a.jsonl").code(10).stdout, measured);
    folder.run("health a.jsonl --factor 4").success().prints("no outliers");
}

#[test]
fn two_ranks_are_described_and_not_compared() {
    let folder = Folder::new();
    let output = folder.run("health -n 2 -s 8 --bind none --profile quick -o a.jsonl").success();
    output.prints("# 2 ranks on 1 host: 1 pair in 1 round\n").prints("too few to compare");
    let kernels: Vec<String> = folder
        .records("a.jsonl")
        .points()
        .map(|point| format!("{}/{}", point["suite"], point["kernel"]).replace('"', ""))
        .collect();
    for id in ["health/pairs", "comet/barrier", "health/noise"] {
        assert!(kernels.iter().any(|kernel| kernel == id), "no {id} among {kernels:?}");
    }
}

#[test]
fn runs_become_a_page() {
    let folder = Folder::new();
    folder.run("echo -t sim -n 2..4*2 --profile quick --out run.jsonl --quiet").success();
    folder.run("report run.jsonl --title Title").success().prints("report: report.html (");
    let page = folder.read("report.html");
    assert!(page.starts_with("<!doctype html>") && page.contains("<h1>Title</h1>"), "{page}");
    let n_figures = page.matches("<figure class=\"plot\"").count();
    assert!(n_figures > 0, "the page has no figure");
    assert!(page.contains("id=\"figure-5.1\""), "the machine is that of the thesis");
    folder.run("echo -t sim -n 2..4*2 --profile quick --out b.jsonl --quiet").success();
    folder.run("report run.jsonl b.jsonl -o two.html").success().prints("4 runs)");
    folder.run("report run.jsonl --to b.jsonl -o sets.html").success().prints("4 runs)");
    assert!(folder.read("sets.html").contains("<section id=\"comparison\">"));
    folder.run("report run.jsonl --to run.jsonl").code(2).notes("hold the same run");
    folder.run("echo -t sim --machine t3e -n 4 --profile quick --out t3e.jsonl --quiet").success();
    folder.run("report run.jsonl --to t3e.jsonl").code(2).notes("under different conditions");
    folder.run("report run.jsonl --to t3e.jsonl --allow-env-diff -o all.html").success();
    for (option, has_thesis) in [("", false), ("--thesis", true)] {
        folder.run(&format!("report t3e.jsonl {option} -o t3e.html")).success();
        assert_eq!(folder.read("t3e.html").contains("id=\"figure-5.1\""), has_thesis, "{option}");
    }
    folder.run("report run.jsonl --title Title -o equal.html").success();
    assert_eq!(folder.read("equal.html"), page);
}

#[test]
fn records_of_no_run_are_noted() {
    let folder = Folder::new();
    folder.run("barrier -t sim -n 2 --out run.jsonl --quiet").success();
    let text = folder.read("run.jsonl");
    folder.write("cut.jsonl", text.split_once('\n').expect("there are several lines").1);
    for command in ["fit cut.jsonl", "export fom cut.jsonl", "report cut.jsonl"] {
        let note = "note: line 1 of cut.jsonl: there is no run record before this line";
        folder.run(command).success().notes(note);
    }
}

fn ipsc860() -> String {
    let path = "../comet-sim/machines/ipsc860-fit.toml";
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("it is there")
}

/// The whole output, with `COMET_BLESS=1` written to the golden file first.
#[test]
fn the_thesis_is_regenerated_as_it_was() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/reproduce-thesis.txt");
    let folder = Folder::new();
    let text = folder.run("reproduce thesis --csv curves").success().stdout;
    if std::env::var_os("COMET_BLESS").is_some() {
        fs::write(&path, &text).expect("the golden file can be written");
    }
    let golden = fs::read_to_string(&path).expect("there is a golden file");
    assert_eq!(golden, text, "the output differs: look, then COMET_BLESS=1 cargo test");
    for figure in 1..=16 {
        let curves = folder.read(&format!("curves/figure-5.{figure}.csv"));
        assert!(curves.lines().count() > 3, "figure 5.{figure}: {curves}");
    }
}

#[test]
fn a_machine_with_another_startup_time_is_off() {
    let folder = Folder::new();
    let slower = ipsc860().replace("t0 = { value = \"79 us\"", "t0 = { value = \"89 us\"");
    folder.write("slower.toml", &slower);
    let text = folder.run("reproduce thesis --machine ./slower.toml").code(10).stdout;
    let line = text.lines().find(|line| line.contains("startup time up to 100 B"));
    let line = line.expect("the line is there whether it holds or not");
    assert!(line.contains("79 us") && line.contains("89.00 us") && line.ends_with("OFF"), "{line}");
    assert!(text.contains("startup time above 100 B") && text.contains("marked OFF"), "{text}");
}

#[test]
fn what_makes_no_sense_is_refused_in_a_sentence_and_no_file_is_overwritten() {
    let folder = Folder::new();
    folder.write("host.toml", "mine");
    folder.write("empty.jsonl", "");
    folder.write("text.jsonl", "text\n");
    folder.run("barrier -t sim -n 2 --out run.jsonl --quiet").success();
    folder.run("echo -n 2 --profile quick -s 8 --format none -o echo.jsonl").success();
    folder.refuses(include_str!("rows/senseless.txt"));
    assert_eq!(folder.read("host.toml"), "mine");
    folder.run("report run.jsonl -o -").success().prints("<!doctype html>");
    assert!(!folder.names().contains(&"-".to_owned()));
    folder.run("report run.jsonl -o no/page.html").code(1).notes("cannot write no/page.html (");
}

#[test]
fn algorithms_of_barriers_are_measured_too() {
    let folder = Folder::new();
    let line = "algorithms barrier --machine dahu-opa -n 4 --out r.jsonl";
    folder.run(line).success().prints("\ndissemination ").prints("\nnative is the fastest at 0 B");
    folder.run("algorithms barrier --from r.jsonl").success().prints("\ntree ");
}

#[test]
fn another_algorithm_takes_over_within_a_factor_of_two() {
    let folder = Folder::new();
    let line = "algorithms allreduce --machine dahu-opa -n 8 --profile quick --out r.jsonl";
    folder.run(&format!("{line} --quiet")).success();
    let output = folder.run("algorithms --from r.jsonl --format json").success();
    let contests: Value = serde_json::from_str(&output.stdout).expect("it is JSON");
    let ranges = contests[0]["fastest"].as_array().expect("there are ranges");
    assert!(ranges.len() > 2, "{ranges:?}");
    for pair in ranges.windows(2) {
        let bytes = |range: &Value, name: &str| range[name].as_u64().expect("a length");
        let (below, above) = (bytes(&pair[0], "to_bytes"), bytes(&pair[1], "from_bytes"));
        assert!(below < above && above <= 2 * below, "{below} {above}");
    }
    // All algorithms at the lengths between those of the sweep, which has a factor of 8.
    let n_at = |wanted: u64| {
        let points = contests[0]["times"].as_array().expect("there are times");
        points.iter().filter(|point| point["bytes"] == wanted).count()
    };
    assert_eq!((n_at(4096), n_at(2048)), (7, 7));
    let selection = folder.run("algorithms --from r.jsonl --format mpich").success();
    let name = "\"algorithm=MPIR_Allreduce_intra_reduce_scatter_allgather\": {}";
    // Whoever lets a library obey the rules is told what speaks against them.
    selection.prints(name).notes("measured over sim, not over MPI");
    let rules = folder.run("algorithms allreduce --from r.jsonl --format openmpi").success();
    assert!(rules.stdout.starts_with("# quotable: "), "{}", rules.stdout);
    rules.prints("\n# measured over sim, not over MPI\n1 # number of collectives\n2 # allreduce\n");
    folder.run("algorithms scan --from r.jsonl").code(2).notes("r.jsonl holds no scan with two");
    let unknown = folder.run("algorithms bcast --algorithm binomial,ring -n 3 --out new.jsonl");
    unknown.code(2).notes("bcast has no algorithm 'ring' (it has linear, binomial,");
    assert!(!folder.names().contains(&"new.jsonl".to_owned()));
}
