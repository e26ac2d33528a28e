//! Programs of OSU whose operations are prepared: messages (BO-02) and collectives (BO-07): their tables, contents,
//! import, and times against closed forms.

use serde_json::Value;

use crate::support::{FLAT, Folder, Output};

/// The programs of BO-07, with the title of each.
const COLLECTIVES: [(&str, &str); 14] = [
    ("allgather", "Allgather"),
    ("allgatherv", "Allgatherv"),
    ("allreduce", "Allreduce"),
    ("alltoall", "All-to-All Personalized Exchange"),
    ("alltoallv", "All-to-Allv Personalized Exchange"),
    ("alltoallw", "All-to-Allw Personalized Exchange"),
    ("barrier", "Barrier"),
    ("bcast", "Broadcast"),
    ("gather", "Gather"),
    ("gatherv", "Gatherv"),
    ("reduce", "Reduce"),
    ("reduce_scatter", "Reduce_scatter"),
    ("scatter", "Scatter"),
    ("scatterv", "Scatterv"),
];
/// Those of BO-02, with the title and the columns of each.
const MESSAGES: [(&str, &str, &str); 3] = [
    ("latency", "Latency Persistent Test", "# Size       Avg Latency(us)        Validation"),
    ("bw", "Bandwidth Persistent Test", "# Size      Bandwidth (MB/s)        Validation"),
    (
        "bibw",
        "Bi-Directional Bandwidth Persistent Test",
        "# Size      Bandwidth (MB/s)        Validation",
    ),
];

/// Rows of numbers in the output.
fn rows(output: &Output) -> Vec<Vec<&str>> {
    let lines = output.stdout.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(|line| line.split_whitespace().collect()).collect()
}

/// Runs `osu_NAME_persistent` with `options` on so many ranks of `transport`, checks its heads and that all passed,
/// and reads the text again; the records are those of the run.
#[track_caller]
fn check_table(name: &str, options: &str, heads: [&str; 2], (n_ranks, transport): (usize, &str)) {
    let folder = Folder::new();
    let program = format!("osu_{name}_persistent");
    let line =
        format!("{program} {options} --ranks={n_ranks} --transport={transport} --out r.jsonl");
    let output = folder.run(&line).success();
    let output = heads.into_iter().fold(output, |output, head| output.prints(head));
    let rows = rows(&output);
    assert!(
        !rows.is_empty() && rows.iter().all(|row| row[0].starts_with(|c: char| c.is_ascii_digit()))
    );
    let records = folder.records("r.jsonl");
    let all: Vec<&Value> = records.points().collect();
    assert_eq!(all.len(), rows.len(), "{output:#?}");
    for point in all {
        let kernel = format!("{name}_persistent");
        assert_eq!((&point["suite"], &point["kernel"]), (&"osu".into(), &kernel.into()));
        assert_eq!(point["check"]["status"], "pass", "{line}: {point}");
    }
    // What was printed is read, and printed again with the same numbers.
    folder.write("printed.txt", &output.stdout);
    folder.run(&format!("import osu printed.txt --ranks {n_ranks} -o i.jsonl")).success();
    let again = folder.run("show i.jsonl --format osu").success();
    let n_kept = if name == "barrier" { 1 } else { 2 };
    let kept = |rows: &[Vec<&str>]| -> Vec<Vec<String>> {
        rows.iter().map(|row| row[..n_kept].iter().map(|&word| word.into()).collect()).collect()
    };
    assert_eq!(kept(&self::rows(&again)), kept(&rows), "{again:#?}");
    let read = folder.records("i.jsonl");
    assert!(read.points().all(|point| point["kernel"] == program.as_str()), "{program}");
}

#[test]
fn bo_02_each_program_of_prepared_messages_has_its_table() {
    for transport in ["sim", "shm"] {
        for (name, title, columns) in MESSAGES {
            let head = format!("\n# OSU MPI {title} v7.4\n# Datatype: MPI_CHAR.\n");
            let windows = if name == "latency" { &[""][..] } else { &["", "-W 5 -b multiple"] };
            for options in windows {
                let options = format!("-m 4:65536 -i 5 -x 1 -c {options}");
                let heads = [head.as_str(), &format!("\n{columns}\n")];
                check_table(name, &options, heads, (2, transport));
            }
        }
    }
}

#[test]
fn bo_07_each_prepared_collective_has_its_table() {
    let full = "   Min Latency(us)   Max Latency(us)  Iterations";
    for transport in ["sim", "shm"] {
        for (name, title) in COLLECTIVES {
            let title = format!("\n# OSU MPI {title} Persistent Latency Test v7.4\n");
            let (options, columns) = match name {
                "barrier" => ("-i 5 -x 1 -f", format!("\n# Avg Latency(us){full}\n")),
                _ => (
                    "-m 4:16384 -i 5 -x 1 -c -f",
                    format!("\n# Size       Avg Latency(us){full}        Validation\n"),
                ),
            };
            check_table(name, options, [&title, &columns], (3, transport));
        }
    }
}

#[test]
fn bo_07_prepared_collectives_have_places_types_and_algorithms() {
    let folder = Folder::new();
    let line = "osu_reduce_scatter_persistent -m 64:64 -i 4 -T all -l -c --axis=algorithm=native,ring \
                --ranks=3 --out r.jsonl";
    let output = folder.run(line).success();
    for name in ["CHAR", "INT", "FLOAT"] {
        assert!(output.stdout.contains(&format!("\n# Datatype: MPI_{name}.\n")), "{output:#?}");
    }
    let records = folder.records("r.jsonl");
    let (mut n, mut elements) = (0, std::collections::BTreeSet::new());
    for point in records.points() {
        let params = &point["params"];
        assert_eq!(
            (&params["place"], &point["check"]["status"]),
            (&"in_place".into(), &"pass".into())
        );
        elements.insert(params["element"].to_string());
        n += 1;
    }
    assert_eq!((n, elements.len()), (6, 3));
}

#[test]
fn bo_02_data_that_arrived_wrong_has_no_rate() {
    for name in ["latency", "bw", "bibw"] {
        let kernel = format!("{name}_persistent");
        let line = format!("osu_{kernel} -m 8:8 -i 10 -c --ranks=2 --inject=corrupt:{kernel}");
        let output = Folder::new().run(&line).code(3);
        assert_eq!(rows(&output), [["8", "-", "Fail"]], "{output:#?}");
    }
}

/// Mean times of the kernel `name` on a flat machine, in nanoseconds: one message takes 3 us to send, 5 us and
/// 8 ns for each byte on its way, and 2 us to receive.
fn times_of(name: &str, options: &str) -> Vec<f64> {
    let folder = Folder::new();
    folder.write("flat.toml", FLAT);
    let line = format!(
        "{name} -t sim --machine ./flat.toml -n 2 -s 1000 {options} --repetitions 1 --samples 3 --launches \
         1 -q --out r.jsonl"
    );
    folder.run(&line).success();
    let records = folder.records("r.jsonl");
    records.points().filter_map(|point| point["time_ns"]["mean"].as_f64()).collect()
}

const SEND: f64 = 3000.0;
const WAY: f64 = 5000.0 + 8.0 * 1000.0;
const RECEIVE: f64 = 2000.0;

#[test]
fn bo_02_in_simulation_prepared_messages_take_their_closed_forms() {
    // Half of the way out and back.
    let trip = SEND + WAY + RECEIVE;
    let found = times_of("osu/latency_persistent", "--hops 1");
    assert_eq!(found, [trip]);
    // Prepared ones are plain ones there.
    for (name, options) in [("bw", ""), ("bw", "--axis window=5"), ("bibw", "--axis window=5")] {
        for buffers in ["single", "multiple"] {
            let options = format!("{options} --axis window_buffers={buffers}");
            let prepared = times_of(&format!("osu/{name}_persistent"), &options);
            assert_eq!(prepared, times_of(&format!("osu/{name}"), &options), "{name} {options}");
        }
    }
}

#[test]
fn bo_07_in_simulation_a_prepared_broadcast_takes_its_closed_form() {
    // On two ranks, from starts at one time; the mean of both.
    let expected = f64::midpoint(SEND, SEND + WAY + RECEIVE);
    assert_eq!(times_of("osu/bcast_persistent", ""), [expected]);
}

#[test]
fn in_simulation_parts_of_a_message_leave_as_they_get_ready() {
    for n in [1.0, 2.0, 4.0, 5.0] {
        // The link is free for the next part after this time, and each send takes the rank its own.
        let on_link = 8.0 * 1000.0 / n;
        let last_leaves = (n * SEND).max(SEND + (n - 1.0) * on_link);
        let expected = last_leaves + 5000.0 + on_link + RECEIVE;
        let found = times_of("patterns/partitioned", &format!("--hops 1 --axis parts={n}"));
        assert_eq!(found, [expected], "{n} parts");
    }
}
