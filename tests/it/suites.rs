//! Suite files: one file of selections and settings, one result file.

use crate::support::Folder;

/// Two entries, the second of which varies one axis at a time.
const SMALL: &str = include_str!("suites/small.toml");

/// SK-16: one result file of the whole list.
#[test]
fn a_suite_file_is_measured_into_one_file_whose_runs_name_their_entries() {
    let folder = Folder::new();
    folder.write("a.toml", SMALL);
    let output = folder.run("suite run a.toml -o r.jsonl --label user=me").success();
    output.notes("entry lengths (1 of 3)").notes("entry collective (3 of 3, varied: procs)");
    folder.run("validate r.jsonl").success();
    let records = folder.records("r.jsonl");
    let label = |run: &serde_json::Value, name: &str| {
        run["labels"][name].as_str().unwrap_or("-").to_owned()
    };
    let runs = records.of_type("run").map(|run| {
        assert_eq!((&*label(run, "network"), &*label(run, "user")), ("cube", "me"));
        assert_eq!(run["config"]["rules"], "thesis");
        ["suite", "entry", "varied"].map(|name| label(run, name)).join(" ")
    });
    let expected = ["small lengths -", "small collective length_bytes", "small collective procs"];
    assert_eq!(Vec::from_iter(runs), expected);
    assert_eq!(records.points_of("comet/echo").count(), 2);
    assert_eq!(records.points_of("imb/bcast").count(), 4);
}

#[test]
fn options_win_over_a_suite_file_and_its_plan_has_a_row_for_each_kernel() {
    let folder = Folder::new();
    folder.write("a.toml", SMALL);
    let plan = folder.run("suite plan a.toml -n 2 --machine t3e").success().stdout;
    let row = |entry: &str| {
        let line = plan.lines().find(|line| line.starts_with(entry)).expect("a row");
        line.split_whitespace().take(4).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        [row("lengths"), row("collective")],
        ["lengths 2 comet/echo 2", "collective 2 imb/bcast 2"]
    );
    assert!(plan.contains("\nin all 5 cases of 3 runs, "), "{plan}");
    assert_eq!(folder.names(), ["a.toml"]);
}

#[test]
fn a_fault_of_a_suite_file_is_found_before_anything_is_measured() {
    let folder = Folder::new();
    folder.write("a.toml", &format!("{SMALL}[[measure]]\nkernel = 'barrier'\nsync = 'soon'\n"));
    let stderr = folder.run("suite run a.toml -o r.jsonl").code(2).stderr;
    assert!(stderr.starts_with("error: a.toml:23: invalid value 'soon' for sync: "), "{stderr}");
    assert_eq!(folder.names(), ["a.toml"]);
}

/// SK-13
#[test]
fn entries_after_the_time_of_a_suite_are_not_begun() {
    let folder = Folder::new();
    folder.write("a.toml", &format!("{SMALL}[stop]\nrun = '1ns'\n"));
    let output = folder.run("suite run a.toml -o r.jsonl").code(4);
    output.notes("note: entry lengths (1 of 3): not begun: the time of the suite is over");
}

#[test]
fn built_in_files_are_listed_and_shown() {
    let folder = Folder::new();
    let list = folder.run("suite list").success().stdout;
    let names: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.contains(&"builtin:thesis") && names.contains(&"builtin:skampi-1998"), "{list}");
    let text = folder.run("suite show builtin:thesis").success().stdout;
    folder.write("mine.toml", &text);
    folder.run("suite plan mine.toml -t sim -n 4").success().prints("matrix/transpose");
}

/// Statements whose numbers no suite file has are named by their lines, and nothing is written.
#[test]
fn a_suite_is_imported_only_if_it_can_be_read_again() {
    let loops = |of: &str| {
        format!(
            "for n = {of} do\n  measure comm(4) : Bcast(n, MPI_CHAR, 0)\nod\nmeasure comm(8) : Barrier()\n"
        )
    };
    let suite = |keys: &str| {
        format!("@MEASUREMENTS\nbcast {{ Type = 17; }}\nlate {{ Type = 17; {keys} }}\n")
    };
    let folder = Folder::new();
    for (name, text, start) in [
        (
            "a.ski",
            loops("0 to 1MB step 4"),
            "a.ski:2: length_bytes: '0..1048576+4' has more than 10000 values",
        ),
        (
            "a.ski",
            "measure comm(4) : Bcast(0/0, MPI_CHAR, 0)\n".to_owned(),
            "a.ski:1: length_bytes: 'NaN'",
        ),
        (
            "a.ski",
            format!(
                "set_min_repetitions(4)\nset_max_relative_standard_error(9000000000)\n{}",
                loops("1 to 8")
            ),
            "a.ski:2: invalid value '900000000000' for error",
        ),
        ("a.skm", suite("Min_Repetition = -0.0;"), "a.skm:3: invalid value '-0.."),
        ("a.skm", suite("") + "@MEMORY much\n", "a.skm:4: invalid value 'muchKi' for mem"),
    ] {
        folder.write(name, &text);
        let stderr = folder.run(&format!("suite import {name} -o a.toml")).code(2).stderr;
        let error = stderr.lines().last().unwrap_or_default();
        assert!(error.starts_with(&format!("error: {start}")), "{stderr}");
        assert!(!folder.names().contains(&"a.toml".to_owned()));
    }
    folder.write("a.ski", &loops("1 to 8"));
    folder.run("suite import a.ski -o a.toml").success();
    folder.run("suite plan a.toml -t sim -n 8").success();
}

const CYCLING: &str = include_str!("suites/cycling.ski");

/// Repetitions that go through a buffer say so on each transport, and take as long as others in simulation.
#[test]
fn an_imported_suite_goes_through_its_buffer_in_simulation_too() {
    let folder = Folder::new();
    folder.write("a.ski", CYCLING);
    folder.run("suite import a.ski -o a.toml").success();
    let line = "suite run a.toml -t sim --machine ipsc860 -n 4 -o r.jsonl";
    folder.run(line).success();
    let records = folder.records("r.jsonl");
    let modes = records.of_type("run").map(|run| run["config"]["buffer_mode"].as_str().unwrap());
    assert_eq!(Vec::from_iter(modes), ["cycle:65536", "same", "same"]);
    let [cycled, kept] = Vec::from_iter(records.points_of("imb/bcast"))[..] else { panic!() };
    assert_eq!(cycled["params"]["buffers"], "cycle:65536");
    assert_ne!(cycled["key"], kept["key"]);
    assert_eq!(cycled["time_ns"], kept["time_ns"]);
    folder.run(line).success().notes("3 of 3 units are over already");
    let text = folder.run("show r.jsonl --format skampi").success().stdout;
    assert!(text.contains("# begin result \"Bcast-2\""), "{text}");
}
