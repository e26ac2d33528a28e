//! Several launches of one run: what is in the file, what is printed, and what is left of a run that
//! ends between two of them.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::{Folder, eventually, send, try_send};

#[test]
fn ranks_are_started_as_often_as_the_profile_says_and_make_one_point() {
    let folder = Folder::new();
    let output = folder.run("echo -n 2 --hops 1 -s 8,1Ki --profile quick -o r.jsonl").success();
    output.prints("median_us    +-%").prints("\ndone: 2 ok, ");
    folder.assert_three_launches("r.jsonl");
    let records = folder.records("r.jsonl");
    assert_eq!(records.of_type("run").count(), 1);
    for point in records.points() {
        let of_launches = &point["launches"];
        assert!(of_launches["variance_between"].is_f64() && point["samples"].is_null());
        assert_eq!(point["quality"]["interval_ns"]["method"], "student_t_of_logarithms");
        assert_eq!(point["launch"], Value::Null);
    }
    let time = |line: &Value| line["t_rel_s"].as_f64().expect("a time");
    let times: Vec<f64> = records.of_type("launch").map(time).collect();
    assert!(times.is_sorted(), "{times:?} since the start of the run");
    folder.run("validate r.jsonl").success().prints(": complete (2 points ok");
    folder.run("show r.jsonl").success().prints("median_us    +-%");
}

#[test]
fn exports_hold_the_launches_and_the_period_of_an_interval() {
    let folder = Folder::new();
    let line = "echo --machine ipsc860 -n 2 --hops 1 -s 8,1Ki --unsteady 2 --profile quick";
    let in_words = "from launch to launch, 5 launches in ";
    folder.run(&format!("{line} -o r.jsonl")).success().prints(in_words);
    folder.run("show r.jsonl").success().prints(in_words);
    let csv = folder.run("export csv r.jsonl").success().stdout;
    let mut rows = csv::Reader::from_reader(csv.as_bytes());
    let titles = rows.headers().expect("titles").clone();
    let at = |title| titles.iter().position(|other| other == title).expect("a column");
    let [n, period, samples] = ["launches", "launches_period_s", "n"].map(at);
    let records = folder.records("r.jsonl");
    for (row, point) in rows.records().map(|row| row.expect("a row")).zip(records.points()) {
        assert_eq!(&row[n], "5");
        let of_point = point["launches"]["period_s"].as_f64().expect("a period");
        assert_eq!(row[period].parse::<f64>().expect("a number"), of_point);
        let of_launches = records.of_type("launch").filter(|of| of["key"] == point["key"]);
        let n_samples: u64 = of_launches.map(|of| of["reps"]["n"].as_u64().expect("it")).sum();
        assert_eq!(row[samples].parse::<u64>().expect("a number"), n_samples);
    }
    let values = folder.run("export extrap r.jsonl").success().stdout;
    for (line, point) in values.lines().zip(records.points()) {
        let line: Value = serde_json::from_str(line).expect("it is JSON");
        assert_eq!(line["value"], point["launches"]["quoted_ns"]);
    }
    let bmf: Value = serde_json::from_str(&folder.run("export bmf r.jsonl").success().stdout)
        .expect("it is JSON");
    for point in records.points() {
        let length = &point["params"]["length_bytes"];
        let name = format!("comet/echo/hops=1/length_bytes={length}/procs=2/transport=sim");
        let latency = &bmf[name]["latency"];
        assert_eq!(latency["lower_value"], point["quality"]["interval_ns"]["low"]);
    }
    let copy = folder.run("export jsonl r.jsonl").success().stdout;
    let file = std::fs::read_to_string(folder.path.join("r.jsonl")).expect("a file");
    assert_eq!(copy.lines().count(), file.lines().count());
    assert_eq!(copy.len(), file.len(), "samples stand with their launches alone");
    // What is printed as a run goes on is what its file says later.
    let rows = |text: String| -> Vec<String> {
        text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
    };
    let live = folder.run(&format!("{line} --format imb -q -o i.jsonl")).success().stdout;
    assert_eq!(rows(live), rows(folder.run("export imb i.jsonl").success().stdout));
    folder.run("report r.jsonl -o r.html").success();
    let page = std::fs::read_to_string(folder.path.join("r.html")).expect("a page");
    for words in ["5 launches in", "from one launch to the next", ">Launches<", in_words] {
        assert!(page.contains(words), "{words}");
    }
    folder.run("plot r.jsonl -o plots").success();
}

#[test]
fn the_load_that_a_launch_found_is_that_of_all() {
    let folder = Folder::new();
    let line = "contention --machine ipsc860 -n 8 --profile quick --unsteady 10 -q";
    folder.run(&format!("{line} --format none -o r.jsonl")).success();
    let records = folder.records("r.jsonl");
    let of_contention = records.points().filter(|point| point["kernel"] == "contention");
    let n_launches: Vec<usize> = of_contention
        .filter_map(|point| Some(point["launches"]["quoted_ns"].as_array()?.len()))
        .collect();
    assert!(!n_launches.is_empty() && n_launches.iter().all(|n| *n == 5), "{n_launches:?}");
}

#[test]
fn one_launch_says_so_above_its_intervals() {
    let folder = Folder::new();
    for line in ["--launches 1", "--samples 20"] {
        let line = format!("echo -n 2 -s 8 {line} -o none");
        folder.run(&line).success().prints("median_us this launch");
    }
}

#[test]
fn a_simulated_launch_has_a_seed_of_its_own_and_intervals_hold_the_truth() {
    let folder = Folder::new();
    let quoted = |name: &str| {
        let records = folder.records(name);
        let point = records.points().next().expect("a point").clone();
        let bound = |end: &str| point["quality"]["interval_ns"][end].as_f64();
        (point["quoted_ns"].as_f64().expect("a figure"), bound("low"), bound("high"), point)
    };
    let line = "echo --machine ipsc860 -n 2 --hops 1 -s 8 --format none -q";
    folder.run(&format!("{line} -o truth.jsonl")).success();
    let (truth_ns, ..) = quoted("truth.jsonl");
    let mut n_held = 0;
    for seed in 1..=40 {
        let name = format!("{}.jsonl", 100 * seed);
        folder.run(&format!("{line} --unsteady 1 --seed {} -o {name}", 100 * seed)).success();
        let (_, low, high, point) = quoted(&name);
        let figures = point["launches"]["quoted_ns"].as_array().expect("figures");
        assert_eq!(figures.len(), 12);
        let others: BTreeSet<String> = figures.iter().map(ToString::to_string).collect();
        assert!(others.len() > 9, "{figures:?}");
        n_held += u32::from(low <= Some(truth_ns) && Some(truth_ns) <= high);
    }
    assert!((36..=40).contains(&n_held), "{n_held} of 40 intervals hold {truth_ns} ns");
}

#[test]
fn launches_are_added_until_intervals_are_narrow() {
    let folder = Folder::new();
    let line = "echo --machine ipsc860 -n 2 --hops 1 -s 8 --unsteady 50 --launches 3";
    folder.run(&format!("{line} --target 20 -o narrow.jsonl")).success();
    let records = folder.records("narrow.jsonl");
    let point = records.points().next().expect("a point");
    assert_eq!(point["quality"]["converged"], true);
    assert_eq!(folder.launches("narrow.jsonl").len(), 3, "they suffice");
    folder
        .run(&format!("{line} --target 0.01 -o wide.jsonl"))
        .success()
        .prints("1 point short of --target");
    assert_eq!(folder.launches("wide.jsonl").len(), 12, "four times as many at the most");
}

#[test]
fn a_signal_between_two_launches_ends_the_run_with_what_there_is() {
    let folder = Folder::new();
    let running = folder.start("barrier -n 2 --profile quick --over 1h -o r.jsonl");
    folder.await_launch("r.jsonl");
    send("INT", running.pid());
    running.wait().code(130).prints("stopped early: SIGINT");
    let records = folder.records("r.jsonl");
    assert_eq!(records.end()["reason"], "SIGINT");
    assert_eq!(records.points().count(), 1);
    folder.run("validate r.jsonl").code(4).prints(": partial (1 point ok");
}

#[test]
fn a_run_that_is_killed_between_two_launches_has_the_points_of_those_before() {
    let folder = Folder::new();
    let running = folder.start("barrier -n 2 --profile quick --over 1h -o r.jsonl");
    folder.await_launch("r.jsonl");
    send("KILL", running.pid());
    running.wait();
    folder.run("validate r.jsonl").code(4);
    folder.run("show r.jsonl").success().prints("# comet/barrier").prints("# no end: ");
}

#[test]
fn a_rank_that_dies_in_a_launch_leaves_the_points_of_those_before() {
    let folder = Folder::new();
    let line = "echo -n 2 --hops 1 -s 8 --launches 20 --time 20s --target 50 -o r.jsonl";
    let running = folder.start(line);
    folder.await_launch("r.jsonl");
    let launcher = crate::support::Process::find(running.pid()).expect("it is there");
    let children = || launcher.children().iter().map(|rank| rank.pid).collect::<Vec<u32>>();
    let earlier = children();
    eventually("the end by a rank of a later one", || {
        let ranks = children();
        // Processes that find out what the machine can do are gone at once.
        std::thread::sleep(std::time::Duration::from_millis(100));
        let are_later = !ranks.iter().any(|pid| earlier.contains(pid));
        if ranks.len() == 2 && ranks == children() && are_later {
            // Its launch may be over by now; then one of the next dies.
            try_send("KILL", ranks[1]);
        }
        !launcher.is_alive()
    });
    let output = running.wait().code(1);
    let output = output.notes("error: ").prints("# comet/echo, 2 ranks");
    let output = output.prints("\nthe run failed: 1 ok, ");
    assert!(!output.stdout.contains("no end"), "{}", output.stdout);
    let records = folder.records("r.jsonl");
    assert_eq!(records.end()["status"], "failed");
    assert_eq!(records.points().count(), 1, "the launches before make a point");
    folder.run("validate r.jsonl").code(4);
}

#[test]
fn launches_of_one_run_are_compared_with_those_of_another() {
    let folder = Folder::new();
    folder.write("slower.toml", &crate::support::machine(1.5, ""));
    folder.write("base.toml", &crate::support::machine(1.0, ""));
    for name in ["base", "slower"] {
        let line = format!("echo --machine ./{name}.toml -n 2 --hops 1 -s 64Ki --unsteady 2 -q");
        folder.run(&format!("{line} --seed 7 --format none -o {name}.jsonl")).success();
    }
    let line = "compare base.jsonl --to slower.jsonl --allow-env-diff";
    folder.run(line).code(10).prints("slower");
    // A launch of a command that ab alternates is one.
    let program = env!("CARGO_BIN_EXE_comet-run");
    let echo = format!("{program} echo -t sim -n 2 --hops 1 -s 8 --unsteady 2");
    folder.run(&format!("ab --launches 3 --no-confirm --out ab -- {echo} -- {echo}")).success();
    assert_eq!(folder.records("ab/01-a.jsonl").of_type("launch").count(), 0);
}
