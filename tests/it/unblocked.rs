//! Unblocked collectives of OSU beside work (BO-05), those among neighbours (BO-06) among them: their tables,
//! the parts of their times, and hidden shares against closed forms.

use serde_json::Value;

use crate::support::{FLAT, Folder, Output};

/// The programs of BO-05, with the title of each.
const PROGRAMS: [(&str, &str); 15] = [
    ("iallgather", "Non-blocking Allgather"),
    ("iallgatherv", "Non-blocking Allgatherv"),
    ("iallreduce", "Non-blocking Allreduce"),
    ("ialltoall", "Non-blocking All-to-All"),
    ("ialltoallv", "Non-blocking All-to-Allv Personalized Exchange"),
    ("ialltoallw", "Non-blocking All-to-Allw Personalized Exchange"),
    ("ibarrier", "Non-blocking Barrier"),
    ("ibcast", "Non-Blocking Broadcast"),
    ("igather", "Non-blocking Gather"),
    ("igatherv", "Non-blocking Gatherv"),
    ("ireduce", "Non-blocking Reduce"),
    ("ireduce_scatter", "Non-blocking Reduce_scatter"),
    ("ireduce_scatter_block", "Non-blocking Reduce_scatter_block"),
    ("iscatter", "Non-blocking Scatter"),
    ("iscatterv", "Non-blocking Scatterv"),
];
/// Those of BO-06.
const AMONG: [(&str, &str); 5] = [
    ("ineighbor_allgather", "Non-blocking Neighborhood Allgather"),
    ("ineighbor_allgatherv", "Non-blocking Neighborhood Allgatherv"),
    ("ineighbor_alltoall", "Non-blocking Neighborhood Alltoall"),
    ("ineighbor_alltoallv", "Non-blocking Neighborhood Alltoallv"),
    ("ineighbor_alltoallw", "Non-blocking Neighborhood Alltoallw"),
];

/// Columns with `-f`, and without.
const FULL: &str = "       Compute(us)    Coll. Init(us)      MPI_Test(us)      MPI_Wait(us)    Pure Comm.(us)     \
                    Min Comm.(us)     Max Comm.(us)        Overlap(%)";
const LEAST: &str = "       Compute(us)    Pure Comm.(us)        Overlap(%)";

/// Rows of numbers in the output.
fn rows(output: &Output) -> Vec<Vec<f64>> {
    let lines = output.stdout.lines().filter(|line| !line.starts_with(['#', 'T', 'D']));
    let numbers = |line: &str| {
        let words = line.split_whitespace().filter(|word| *word != "Pass");
        words.map(|word| word.parse().expect("cells are numbers")).collect::<Vec<f64>>()
    };
    lines.filter(|line| !line.is_empty()).map(numbers).collect()
}

/// Runs `osu_NAME` with all columns, and checks its head and its rows.
#[track_caller]
fn check_table((name, title): (&str, &str), transport: &str) {
    let folder = Folder::new();
    let validation = if name == "ibarrier" { "" } else { "-c" };
    let line = format!(
        "osu_{name} -m 8:16 -i 4 -x 1 -t 3 -f {validation} --ranks=4 --transport={transport} --out r.jsonl"
    );
    let output = folder.run(&line).success();
    let legend = "# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait\n\n";
    let output = output.prints(&format!("\n# OSU MPI {title} Latency Test v7.4\n{legend}"));
    let (size, n_rows, validation) = match validation {
        "" => ("# Overall(us)", 1, ""),
        _ => ("# Size           Overall(us)", 2, "        Validation"),
    };
    let output = output.prints(&format!("\n{size}{FULL}{validation}\n"));
    let rows = rows(&output);
    assert_eq!(rows.len(), n_rows, "{output:#?}");
    for row in &rows {
        let [overall, compute, init, test, wait, pure, least, most, percent] = row[row.len() - 9..]
        else {
            panic!("{row:?}")
        };
        // Each is rounded to two digits; clocks are read between laps, but take no time in simulation.
        let parts = init + compute + test + wait;
        assert!(parts <= overall + 0.03, "laps are parts of the whole: {row:?}");
        assert!(transport != "sim" || parts >= overall - 0.03, "and all of it: {row:?}");
        assert!(least <= pure && pure <= most, "{row:?}");
        let expected = (100.0 - (overall - compute) / pure * 100.0).max(0.0);
        let rounding = 0.006 + 3.0 / pure.max(0.01);
        assert!((percent - expected).abs() <= rounding, "{row:?}: {expected}");
    }
    let records = folder.records("r.jsonl");
    assert!(records.points().all(|point| point["check"]["status"] == "pass"), "{name}");
    let variants: Vec<_> = records.points().map(|point| point["variant"].clone()).collect();
    let series = ["pure", "overlapped", "init", "compute", "test", "wait"];
    assert_eq!(variants, series.repeat(n_rows), "{name}");
    // What was printed is read, and printed again with the same numbers.
    folder.write("printed.txt", &output.stdout);
    folder.run("import osu printed.txt --ranks 4 -o i.jsonl").success();
    let again = folder.run("show i.jsonl --format osu").success();
    let (found, kept) = (self::rows(&again), [0, 1, 5, 8]);
    for (found, row) in found.iter().zip(&rows) {
        let n_sizes = row.len() - 9;
        let kept: Vec<f64> =
            row[..n_sizes].iter().copied().chain(kept.map(|at| row[n_sizes + at])).collect();
        assert_eq!(found, &kept, "{again:#?}");
    }
    assert_eq!(found.len(), rows.len());
}

#[test]
fn bo_05_each_unblocked_collective_has_a_table_with_the_parts_of_its_time() {
    for transport in ["sim", "shm"] {
        PROGRAMS.into_iter().for_each(|program| check_table(program, transport));
    }
}

#[test]
fn bo_06_unblocked_collectives_among_neighbours_have_such_tables() {
    for transport in ["sim", "shm"] {
        AMONG.into_iter().for_each(|program| check_table(program, transport));
    }
}

#[test]
fn bo_06_the_graph_stands_above_the_title_of_an_unblocked_collective() {
    let line = "osu_ineighbor_alltoallw -N cart:2:1 -m 4:8 -i 5 -c --ranks=9 --transport=sim";
    let output = Folder::new().run(line).success();
    let start = "Dimensions size = 3 3 \nTime took to create topology graph:- us.\n\n# OSU MPI \
                 Non-blocking Neighborhood Alltoallw Latency Test v7.4\n# Overall = ";
    assert!(output.stdout.contains(start), "{output:#?}");
    output.prints(&format!("# Size           Overall(us){LEAST}        Validation\n"));
}

#[test]
fn bo_25_to_bo_27_an_unblocked_collective_has_roots_places_types_and_tests() {
    let folder = Folder::new();
    let line = "osu_ireduce -m 8:8 -i 4 -t 2 -T all -k fixed:1 -l --ranks=3 --out r.jsonl";
    let output = folder.run(line).success();
    for name in ["CHAR", "INT", "FLOAT"] {
        assert!(output.stdout.contains(&format!("\n# Datatype: MPI_{name}.\n")), "{output:#?}");
    }
    assert_eq!(rows(&output).len(), 3, "{output:#?}");
    let records = folder.records("r.jsonl");
    for point in records.points() {
        let params = &point["params"];
        assert_eq!((&params["test_calls"], &params["first_root"]), (&2.into(), &1.into()));
        assert_eq!((&params["place"], &params["work_us"]), (&"in_place".into(), &0.into()));
    }
}

/// The figure `name` of the records in `r.jsonl`.
fn figure(folder: &Folder, name: &str) -> Option<f64> {
    let records = folder.records("r.jsonl");
    let figures = records.points().filter_map(|point| point["figures"].as_array());
    let found = figures.flatten().find(|figure| figure["name"] == name)?;
    found["value"].as_f64()
}

#[test]
fn bo_05_in_simulation_the_hidden_share_of_a_broadcast_is_its_closed_form() {
    // On two ranks, from starts at one time; means of both ranks.
    let (length, work) = (1000.0, 100_000.0);
    let [send, way, receive]: [f64; 3] = [3000.0, 5000.0 + 8.0 * length, 2000.0];
    let pure_of_each = [send, send + way + receive];
    let look = 50.0;
    let mean = |[root, other]: [f64; 2]| f64::midpoint(root, other);
    for (options, compute_of_each, tests) in [
        ("--axis work_us=100", [work; 2], 0.0),
        // The first test ends the one message of a rank, which is looked at once; the wait is for nothing.
        ("--axis work_us=100 --axis test_calls=2", [work; 2], 1.0),
        // Work as long as the operation takes a rank alone.
        ("", pure_of_each, 0.0),
    ] {
        let folder = Folder::new();
        folder.write("flat.toml", FLAT);
        let line = format!(
            "osu/ibcast -t sim --machine ./flat.toml -n 2 -s 1000 {options} --samples 3 --launches 1 -q \
             --out r.jsonl"
        );
        folder.run(&line).success();
        let records = folder.records("r.jsonl");
        let of = |point: &Value| point["time_ns"]["mean"].as_f64();
        let times: Vec<_> = records.points().map(of).collect();
        // The start is hidden on no rank, the receipt neither; the way is, as the work is longer.
        let [pure, compute] = [pure_of_each, compute_of_each].map(mean);
        let [init, receipt] = [[send, 0.0], [0.0, receive]].map(mean);
        let (test, wait) = (tests * (receipt + look), (1.0 - tests) * receipt);
        let overlapped = init + compute + test + wait;
        let expected = [pure, overlapped, init, compute, test, wait].map(Some);
        assert_eq!(times, expected, "{options}");
        let share = 1.0 - (overlapped - compute) / pure;
        let hidden = pure + compute - overlapped;
        for (name, expected) in [
            ("overlap_share_osu", share),
            ("overlap_share", hidden / pure.min(compute)),
            ("overlap_share_imb_nbc", hidden / pure.max(compute)),
        ] {
            let found = figure(&folder, name).expect("the figure has a value");
            assert!((found - expected).abs() < 1e-12, "{options}: {name}: {found}, not {expected}");
        }
        // 76.19 % in the layout of OSU.
        let output = folder.run("show r.jsonl --format osu").success();
        let percent = *rows(&output)[0].last().expect("a row has cells");
        assert!((percent - 100.0 * share).abs() < 0.1, "{percent} is not {share}");
    }
}

#[test]
fn bo_09_the_start_of_all_ranks_has_whole_milliseconds_and_exact_ones_in_the_record() {
    let folder = Folder::new();
    let output = folder.run("osu_init --ranks=3 --transport=shm --out r.jsonl").success();
    let lines: Vec<&str> =
        output.stdout.lines().filter(|line| !line.starts_with("# note")).collect();
    let [title, times] = lines[..] else { panic!("{output:#?}") };
    assert_eq!(title, "# OSU MPI Init Test v7.4");
    let records = folder.records("r.jsonl");
    let points: Vec<&Value> = records.points().collect();
    let [point] = points[..] else { panic!("one point") };
    assert_eq!((&point["status"], &point["reps"]["n"]), (&"ok".into(), &1.into()));
    let exact = point["samples"]["data"].as_array().expect("samples").iter();
    let exact: Vec<u64> = exact.map(|ns| ns.as_u64().expect("a time")).collect();
    assert!(exact.len() == 3 && exact.iter().all(|ns| *ns > 0), "{exact:?}");
    let whole: Vec<u64> = exact.iter().map(|ns| ns / 1_000_000).collect();
    let [min, max] = [whole.iter().min(), whole.iter().max()].map(|ms| ms.expect("three"));
    let mean = whole.iter().sum::<u64>() / 3;
    assert_eq!(times, format!("nprocs: 3, min: {min} ms, max: {max} ms, avg: {mean} ms"));
    let hello = folder.run("osu_hello --ranks=3 --transport=shm").success();
    let hello = hello.prints("# OSU MPI Hello World Test v7.4\n");
    hello.prints("This is a test with 3 processes\n");
    // Nobody starts simulated ranks.
    let line = "osu/init -n 2 -t sim --launches 1 --out s.jsonl";
    folder
        .run(line)
        .code(6)
        .prints("needs the time of the start, which this transport does not take");
}
