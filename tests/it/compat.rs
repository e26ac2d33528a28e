//! In place of other benchmarks: their command lines, what the programs that start them look for in
//! the output, and their output as result files.

use crate::support::{Folder, Output, Running, forget_launcher, rows_of};

fn rows(output: &Output) -> Vec<&str> {
    output.stdout.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

/// Words of the rows that start with a number; the others are heads.
fn numbers(output: &Output) -> Vec<Vec<&str>> {
    let rows = rows(output).into_iter().map(|row| row.split_whitespace().collect());
    rows.filter(|row: &Vec<&str>| row[0].parse::<f64>().is_ok()).collect()
}

/// The first word after `size` on the line that starts with it, as `^SIZE\s+(\S+)` finds it.
fn extracted(output: &Output, size: &str) -> Option<f64> {
    let rest = output.stdout.lines().find_map(|line| line.strip_prefix(size))?;
    if !rest.starts_with(' ') {
        return None;
    }
    rest.split_whitespace().next()?.parse().ok()
}

/// True if a line starts with `size` and has `Pass` after it, as `^SIZE.*Pass` asks.
fn passes(output: &Output, size: &str) -> bool {
    let after = output.stdout.lines().filter_map(|line| line.strip_prefix(size));
    after.into_iter().any(|rest| rest.contains("Pass"))
}

#[test]
fn reframe_finds_what_it_looks_for() {
    // What hpctestlib passes, with fewer operations of long messages, and the length whose line it
    // reads by `^SIZE.*Pass` and `^SIZE\s+(\S+)`.
    for (line, size) in [
        ("osu_latency -m 8 -x 10 -i 1000 -c H H", "8"),
        ("osu_bw -m 65536 -x 10 -i 10 -c H H", "65536"),
        ("osu_bcast -m 8 -x 10 -i 100 -c --ranks=2", "8"),
    ] {
        let output = Folder::new().run(line).success();
        assert!(passes(&output, size), "{output:#?}");
        assert!(extracted(&output, size).is_some_and(|value| value > 0.0), "{output:#?}");
    }
}

#[test]
fn spoiled_data_does_not_pass() {
    let output = Folder::new().run("osu_latency -m 8 -i 10 -c --inject=corrupt:echo").code(3);
    assert!(!passes(&output, "8") && extracted(&output, "8").is_none(), "{output:#?}");
    output
        .prints("8                          -              Fail\n")
        .prints("# check_failed: 8 bytes: ");
}

#[test]
fn only_rows_start_with_a_digit() {
    for line in ["osu_latency -m 8 -i 10 -c -z37,99 H H", "osu_bw -m 8 -i 10 -z"] {
        let output = Folder::new().run(line).success();
        for line in
            output.stdout.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit()))
        {
            let numbers = line.split_whitespace().filter(|word| word.parse::<f64>().is_ok());
            assert!(numbers.count() >= 2, "{line}");
        }
        assert!(rows(&output).iter().all(|row| row.starts_with(|c: char| c.is_ascii_digit())));
    }
}

/// Lines of a table of OSU without figures and notes: all that a reader goes by.
fn shape(output: &Output) -> Vec<String> {
    let lines = output.stdout.lines().filter(|line| !line.starts_with("# note"));
    let size = |line: &str| line.split_whitespace().next().map(str::to_owned);
    let shape = |line: &str| match line.starts_with(|c: char| c.is_ascii_digit()) {
        true => size(line).unwrap_or_default(),
        false => line.to_owned(),
    };
    lines.map(shape).collect()
}

#[test]
fn several_pairs_of_osu_have_their_tables() {
    let folder = Folder::new();
    let line = "osu_mbw_mr -m 4:8 -i 5 -x 1 -p 2 --transport=sim --out r.jsonl";
    let output = folder.run(line).success();
    let head = [
        "# OSU MPI Multiple Bandwidth / Message Rate Test v7.4",
        "# [ pairs: 2 ] [ window size: 64 ]",
        "# Datatype: MPI_CHAR.",
        "# Size                  MB/s        Messages/s",
    ];
    assert_eq!(shape(&output), [&head[..], &["4", "8"]].concat());
    for row in numbers(&output) {
        let [size, rate, messages] = [0, 1, 2].map(|at| row[at].parse::<f64>().expect("a number"));
        assert!((messages * size / 1e6 / rate - 1.0).abs() < 0.01, "{row:?}");
    }
    let records = folder.records("r.jsonl");
    let point = records.points().next().expect("a point");
    let value = &point["value"];
    assert_eq!(
        (&value["definition"], &value["bytes_per_op"]),
        (&"D6 call_mean".into(), &512.into())
    );
    assert_eq!((&point["reps"]["n"], &point["samples"]["ranks"]), (&5.into(), &[0, 1].into()));
    let varied = folder.run("osu_mbw_mr -m 4:8 -i 5 -V --ranks=4 --transport=sim").success();
    let windows = "#                 1           2           4           8          16          32          \
                   64         128";
    let expected = [
        head[0],
        "# [ pairs: 2 ] [ window size: varied ]",
        "",
        "# Uni-directional Bandwidth (MB/sec)",
        head[2],
        windows,
        "4",
        "8",
        "",
        "# Message Rate Profile",
        windows,
        "4",
        "8",
    ];
    assert_eq!(shape(&varied), expected);
    assert!(numbers(&varied).iter().all(|row| row.len() == 9), "{varied:#?}");
    for (name, text) in [("one", &output), ("varied", &varied)] {
        folder.write("printed.txt", &text.stdout);
        folder.run(&format!("import osu printed.txt -o {name}.jsonl")).success();
        let again = folder.run(&format!("show {name}.jsonl --format osu")).success();
        let found = numbers(&again);
        // Of a variation each rate stands in a table of its own window; message rates come second.
        let n = if name == "one" { 1 } else { 8 };
        let printed = numbers(if name == "one" { &output } else { &varied });
        for row in &printed[..2] {
            let of_size = found.iter().filter(|other| other[0] == row[0]);
            let rates: Vec<&str> = of_size.map(|other| other[1]).collect();
            assert_eq!(rates, row[1..=n], "{again:#?}");
        }
    }
    let latency = folder.run("osu_multi_lat -m 4:8 -i 5 --ranks=4 --out l.jsonl").success();
    let head = ["", "# OSU MPI Multi Latency Test v7.4", head[2], "# Size       Avg Latency(us)"];
    assert_eq!(shape(&latency), [&head[..], &["4", "8"]].concat());
    let records = folder.records("l.jsonl");
    let value = &records.points().next().expect("a point")["value"];
    assert_eq!((&value["divisor"], &value["rank_stat"]), (&2.into(), &"mean".into()));
}

#[test]
fn neighbours_of_osu_have_their_tables() {
    let folder = Folder::new();
    let line = "osu_neighbor_alltoallw -N cart:2:1 -m 4:8 -i 5 -c --ranks=9 --transport=sim";
    let output = folder.run(&format!("{line} --out r.jsonl")).success();
    let title = "# OSU MPI All-to-Allw Personalized Exchange Latency Test v7.4";
    let table =
        ["# Datatype: MPI_CHAR.", "# Size       Avg Latency(us)        Validation", "4", "8"];
    // No transport but MPI makes a graph.
    let time = "Time took to create topology graph:- us.";
    assert_eq!(shape(&output), [&["Dimensions size = 3 3 ", time, "", title][..], &table].concat());
    assert!(passes(&output, "8"), "{output:#?}");
    let output =
        output.prints("# note: no graph is made, as messages need none on this transport\n");
    let records = folder.records("r.jsonl");
    let point = records.points().next().expect("a point");
    let figure = &point["figures"][0];
    assert_eq!((&figure["name"], &figure["value"]), (&"graph_ns".into(), &serde_json::Value::Null));
    // Text of the original is read with the time of its graph.
    folder.write("printed.txt", &output.stdout.replace("graph:-", "graph:12.50"));
    folder.run("import osu printed.txt -o i.jsonl").success();
    let again = folder.run("show i.jsonl --format osu").success();
    let printed = time.replace('-', "12.50");
    let head =
        ["Dimensions size = 3 3 ", &printed, "", title, table[0], "# Size       Avg Latency(us)"];
    assert_eq!(shape(&again)[..6], head);
    assert_eq!(numbers(&again)[0][..2], numbers(&output)[0][..2]);
    let point = folder.records("i.jsonl").points().next().expect("a point").clone();
    assert_eq!(
        (&point["kernel"], &point["figures"][0]["value"], &point["params"]["procs"]),
        (&"osu_neighbor_alltoallw".into(), &12_500.0.into(), &9.into())
    );
}

#[test]
fn a_file_may_name_the_neighbours_of_osu() {
    let folder = Folder::new();
    folder.write("graph", "# Source, Destination\n2, 0\n0, 1\n1, 2\n2, 3\n1,3\n0,3\n");
    for name in ["allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"] {
        let line = format!("osu_neighbor_{name} -N graph:graph -m 4:8 -i 5 -c");
        let output = folder.run(&format!("{line} --ranks=5 --out {name}.jsonl")).success();
        assert!(passes(&output, "4") && passes(&output, "8"), "{output:#?}");
        let lines = shape(&output);
        assert_eq!(lines[..2], ["Time took to create topology graph:- us.", ""], "{lines:?}");
    }
    let records = folder.records("allgather.jsonl");
    let edges = serde_json::json!([[2, 0], [0, 1], [1, 2], [2, 3], [1, 3], [0, 3]]);
    assert_eq!(records.run()["config"]["graph"], edges);
    let params = &records.points().next().expect("a point")["params"];
    assert_eq!((&params["dimensions"], &params["radius"]), (&0.into(), &0.into()));
    assert_eq!(params["graph"].as_str().map(str::len), Some(8), "{params}");
    folder.write("broken", "0,1\n1;2\n");
    let line = "osu_neighbor_allgather -m 8 -N graph:";
    let rows = [
        (
            "graph --ranks=3",
            "--graph has an edge of rank 3, which is not among 3 ranks (start 4, or leave",
        ),
        ("broken --ranks=3", "line 2: '1;2' is no edge (write 0,1)"),
        (
            "absent --ranks=3",
            "cannot be read: No such file or directory (os error 2) (name a file of",
        ),
    ];
    for (rest, sentence) in rows {
        let output = folder.run(&format!("{line}{rest}")).code(2).notes(sentence);
        assert_eq!(output.stdout, "", "{rest}");
    }
    // A torus whose sides are too short has no rows.
    let output = folder.run("osu_neighbor_allgather -m 8 --ranks=2 --transport=sim").code(6);
    assert!(numbers(&output).is_empty(), "{output:#?}");
}

#[test]
fn each_datatype_of_a_reduction_has_a_table() {
    let line = "osu_reduce_scatter_block -m 2:8 -i 5 -T all -l -c --ranks=2";
    let output = Folder::new().run(line).success();
    let head = "# Size       Avg Latency(us)        Validation";
    let mut expected = vec!["", "# OSU MPI Reduce_scatter_block Latency Test v7.4"];
    expected.extend(["# Datatype: MPI_CHAR.", head, "2", "4", "8"]);
    for datatype in ["# Datatype: MPI_INT.", "# Datatype: MPI_FLOAT."] {
        expected.extend([datatype, head, "4", "8"]);
    }
    assert_eq!(shape(&output), expected);
    assert!(numbers(&output).iter().all(|row| row[2] == "Pass"), "{output:#?}");
}

#[test]
fn each_datatype_of_messages_has_a_table() {
    let folder = Folder::new();
    let table = |name: &str, lengths: &[&str], head: &str| -> Vec<String> {
        let own = [format!("# Datatype: MPI_{name}."), head.to_owned()];
        own.into_iter().chain(lengths.iter().map(|length| (*length).to_owned())).collect()
    };
    for (n, program) in ["latency", "bw", "bcast", "gatherv", "alltoallw", "neighbor_alltoallw"]
        .into_iter()
        .enumerate()
    {
        let ranks = if n < 2 { 2 } else { 3 };
        let line = format!("osu_{program} -m 2:8 -i 5 -T all -c --ranks={ranks} --out {n}.jsonl");
        let output = folder.run(&line).success();
        let head = match program {
            "bw" => "# Size      Bandwidth (MB/s)        Validation",
            _ => "# Size       Avg Latency(us)        Validation",
        };
        let whole = ["2", "4", "8"];
        let tables = [("CHAR", &whole[..]), ("INT", &whole[1..]), ("FLOAT", &whole[1..])];
        let tables: Vec<_> =
            tables.into_iter().flat_map(|(name, lengths)| table(name, lengths, head)).collect();
        let lines = shape(&output);
        assert!(lines.ends_with(&tables), "{lines:#?}");
        assert!(numbers(&output).iter().all(|row| row[2] == "Pass"), "{output:#?}");
        let records = folder.records(&format!("{n}.jsonl"));
        let datatypes: Vec<_> =
            records.points().map(|point| point["params"]["datatype"].clone()).collect();
        assert_eq!(datatypes, ["char", "char", "char", "int", "int", "float", "float"]);
        folder.run(&format!("validate {n}.jsonl")).success();
        folder.write("printed.txt", &output.stdout);
        folder.run(&format!("import osu printed.txt -n {ranks} -o i{n}.jsonl")).success();
        let again = folder.run(&format!("show i{n}.jsonl --format osu")).success();
        let first = |output: &Output| -> Vec<String> {
            numbers(output).into_iter().map(|row| row[..2].join(" ")).collect()
        };
        assert_eq!(first(&again), first(&output));
    }
    // Lengths that are no whole number of elements have no row, and alone they are a reason.
    let line = "osu_latency -m 3:12 -i 5 -T mpi_int --transport=sim";
    let output = folder.run(line).success();
    assert_eq!(shape(&output).last().map(String::as_str), Some("12"), "{output:#?}");
    assert_eq!(numbers(&output).len(), 1, "{output:#?}");
    let output = folder.run("osu_latency -m 3:6 -i 5 -T mpi_int --transport=sim").success();
    assert!(output.stdout.contains("3 bytes are no whole number of int elements"), "{output:#?}");
    folder.run("osu_latency -T mpi_long").code(2).notes("'mpi_long' for -T: types are mpi_char");
    folder.write("blocks", "# start, length\n0,3\n8,2\n");
    for (layout, word) in
        [("cont", "cont"), ("vect:8:4", "vect:8:4"), ("indx:blocks", "indx:0,3:8,2")]
    {
        let sentence = format!(
            "--layout {word} needs derived datatypes, which only MPI has (start the ranks under MPI, or \
             leave it out)"
        );
        folder.run(&format!("osu_bw_persistent -D {layout}")).code(2).notes(&sentence);
        // Windows of messages and collectives in flight are packed.
        for program in ["osu_bw", "osu_ialltoall"] {
            let line = format!("{program} -D {layout} -m 64:64 -i 5 -x 0 --transport=sim");
            let columns = folder.run(&line).success().stdout;
            assert!(columns.contains("Transmit Size"), "{columns}");
        }
    }
    // A kernel whose messages have no layouts says that over every transport.
    for (number, transport) in ["-t shm", "--machine dahu-opa"].iter().enumerate() {
        let line = "imb/allreduce --layout vector:8:16 -n 2 -s 64 --out";
        let output = folder.run(&format!("{line} l{number}.jsonl {transport}"));
        let reason = folder.read(&format!("l{number}.jsonl"));
        let sentence =
            "imb/allreduce has no messages of the layout vector:8:16 (leave --layout out)";
        assert!(reason.contains(sentence), "{output:?}: {reason}");
    }
    folder
        .run("osu_latency -D indx:none")
        .code(2)
        .notes("(name a file with a block START,LENGTH a line)");
}

#[test]
fn options_of_osu_are_parameters_of_the_kernels() {
    let folder = Folder::new();
    for (n, line, part) in [
        (0, "osu_reduce_scatter", "osu/reduce_scatter place=separate"),
        (1, "osu_reduce_scatter_block -l", "osu/reduce_scatter_block place=in_place"),
        (2, "osu_gather -k fixed:2", "imb/gather root=first first_root=2 place=separate"),
        (3, "osu_scatterv -k rotate -l", "imb/scatterv root=rotate first_root=0 place=in_place"),
        (4, "osu_bibw -b multiple", "osu/bibw window=64 window_buffers=multiple"),
        (5, "osu_mbw_mr -p 1", "osu/mbw_mr window_buffers=single window=64 length_bytes=4 procs=2"),
    ] {
        let ranks = if line.starts_with("osu_bibw") { 2 } else { 4 };
        let out = format!("{n}.jsonl");
        let line = format!("{line} -m 4:4 -i 2 -c --ranks={ranks} --out {out}");
        let output = folder.run(&line).success();
        assert!(passes(&output, "4"), "{output:#?}");
        let records = folder.records(&out);
        let point = records.points().next().expect("a point");
        let params = point["params"].as_object().expect("parameters").iter();
        let text = |value: &serde_json::Value| value.to_string().replace('"', "");
        let has = |word: &str| {
            let (name, value) = word.split_once('=').expect("a parameter");
            params.clone().any(|(own, found)| own == name && text(found) == value)
        };
        let (id, words) = part.split_once(' ').expect("a kernel and its parameters");
        let found = [&point["suite"], &point["kernel"]].map(text).join("/");
        assert_eq!(found, id, "{line}");
        assert!(words.split(' ').all(has), "{line}: {}", point["params"]);
    }
    let output = folder.run("osu_mbw_mr -p 1 -m 4:4 -i 2 --ranks=4").success();
    output.prints("# [ pairs: 1 ] [ window size: 64 ]\n").prints("# note: -p 1 is obeyed: OSU 7.4");
}

#[test]
fn a_link_is_called_like_the_program_that_it_stands_for() {
    let folder = Folder::new();
    for (link, line, title) in [
        ("osu_latency", "-m 8 -i 10", "# OSU MPI Latency Test v7.4\n"),
        ("IMB-MPI1", "pingpong -msglog 2", "# Benchmarking PingPong \n"),
    ] {
        let link = folder.path.join(link);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_comet-run"), &link).expect("a new link");
        let mut command = std::process::Command::new(&link);
        command.args(line.split_whitespace()).current_dir(&folder.path);
        forget_launcher(&mut command);
        Running::new(command).wait().success().prints(title);
    }
    assert_eq!(folder.names(), ["IMB-MPI1", "osu_latency"], "no file is written");
}

#[test]
fn imb_has_its_blocks_and_its_last_line() {
    let line = "IMB-MPI1 PingPong Bcast Barrier -npmin 2 -msglog 3:4 -mem 1";
    let output = Folder::new().run(line).success();
    // Columns are 13 characters wide.
    let widths = [4, 5, 4];
    let mut heads = output.stdout.lines().filter(|line| line.contains("#repetitions"));
    for n_columns in widths {
        assert_eq!(heads.next().map(str::len), Some(13 * n_columns), "{}", output.stdout);
    }
    let output = output.prints("# Benchmarking Bcast \n# #processes = 2 \n#---");
    assert!(output.stdout.ends_with("\n\n# All processes entering MPI_Finalize\n\n"));
}

#[test]
fn each_call_of_a_collective_is_timed_by_the_rules_of_imb() {
    let folder = Folder::new();
    let line = "IMB-MPI1 Bcast Barrier -npmin 2 -msglog 3:3 -iter 50 --out r.jsonl";
    let output = folder.run(line).success();
    let repetitions: Vec<_> =
        numbers(&output).iter().map(|row| row[row.len() - 4].to_owned()).collect();
    assert_eq!(repetitions, ["50"; 3], "{}", output.stdout);
    let records = folder.records("r.jsonl");
    let definitions: Vec<_> =
        records.points().map(|point| point["value"]["definition"].clone()).collect();
    assert_eq!(definitions, ["D6 call_mean", "D6 call_mean", "D5 loop_mean"]);
    let mut broadcasts = records.points().filter(|point| point["kernel"] == "bcast");
    assert!(broadcasts.all(|point| point["plan"]["sync"] == "barrier"));
}

#[test]
fn a_name_is_printed_over_what_it_names_alone() {
    let folder = Folder::new();
    for line in ["IMB-MPI1 Ibcast", "osu_latency_mt -m 8"] {
        assert_eq!(folder.run(line).code(2).stdout, "", "{line}");
    }
    let output = folder.run("IMB-MPI1 PingPong --sizes=8,1Ki").success();
    let sizes: Vec<_> = numbers(&output).iter().map(|row| row[0].to_owned()).collect();
    assert_eq!(sizes, ["8", "1024"]);
}

#[test]
fn a_collective_of_imb_runs_on_two_ranks_on_four_and_on_all() {
    let output = Folder::new().run("IMB-MPI1 Barrier --ranks=6 --transport=sim").success();
    let is_processes = |line: &&str| line.starts_with("# #processes") || line.starts_with("# ( ");
    let lines: Vec<_> = output.stdout.lines().filter(is_processes).map(str::trim_end).collect();
    let expected = ["# #processes = 2", "# #processes = 4", "# #processes = 6"];
    assert_eq!(lines, expected, "{output:#?}");
}

#[test]
fn two_names_of_one_operation_have_a_table_each() {
    let folder = Folder::new();
    let line = "IMB-MPI1 PingPingSpecificSource PingPing -include PingPong,PingPongSpecificSource \
                -msglog 2:2 -iter 5 --transport=sim --out r.jsonl";
    let output = folder.run(line).success();
    let titles = output.stdout.lines().filter_map(|line| line.strip_prefix("# Benchmarking "));
    let titles: Vec<_> = titles.map(str::trim_end).collect();
    let expected = ["PingPong", "PingPongSpecificSource", "PingPingSpecificSource", "PingPing"];
    assert_eq!(titles, expected, "{output:#?}");
    assert_eq!(numbers(&output).len(), 8, "{output:#?}");
    folder.run("validate r.jsonl").success();
}

#[test]
fn barriers_alone_have_the_head_and_the_last_row_of_the_original() {
    let output = Folder::new().run("IMB-MPI1 Barrier -msglog 2:3 --transport=sim").success();
    let lengths =
        "# Minimum message length in bytes:   0\n# Maximum message length in bytes:   8\n#\n";
    let output = output.prints(lengths);
    assert_eq!(numbers(&output).len(), 1, "{output:#?}");
    let line = "IMB-MPI1 Bcast Barrier -time 0.00000001 -msglog 2:3 --transport=sim --ranks=2";
    Folder::new().run(line).prints("\n            8 time-out.; Time limit (secs_per_sample");
}

#[test]
fn limits_that_leave_out_all_lengths_are_no_failure_of_another_program() {
    let folder = Folder::new();
    let nothing = "note: nothing that was asked for was measured: ";
    for (line, row) in [
        ("IMB-MPI1 Bcast -msgsize 64 -mem 0.000000001", "64 out-of-mem."),
        ("IMB-MPI1 PingPong -time 0.00000001", "0 time-out."),
        ("osu_latency -m 1:2 -T mpi_int", "# Size       Avg Latency(us)"),
    ] {
        let line = format!("{line} --ranks=2");
        folder.run(&line).success().notes(nothing).prints(row);
    }
    folder
        .run("IMB-MPI1 Bcast -exclude Bcast")
        .success()
        .prints("# note: nothing is measured: -ex");
    let line = "run echo -n 2 --hops 1 -s 8 --mem 1 --profile quick --out none --format none";
    folder
        .run(line)
        .code(6)
        .notes("error: nothing that was asked for was measured: needs 16 bytes");
}

#[test]
fn ranks_without_a_part_wait_in_a_barrier() {
    let line = "run echo -n 4 -s 8 --profile quick --samples 2 --format imb --out none";
    let output = Folder::new().run(line).success();
    let output =
        output.prints("# #processes = 2 \n# ( 2 additional processes waiting in MPI_Barrier)\n");
    output.prints("# note: comet/echo at hops=0 is left out: IMB has no such case\n");
}

/// Kernels that have layouts, in virtual time, where no rate is so small that it is printed as 0.00.
const RUN: &str = "run -t sim echo barrier imb/bcast osu/bw -n 2 --hops 1 --profile quick --samples 3 \
                   --repetitions 10";

/// Layouts, which are also rules, and the suites as which their texts are read.
const LAYOUTS: [(&str, &str); 3] = [("osu", "osu"), ("imb", "imb"), ("imb-3.2", "imb")];

#[test]
fn what_is_printed_can_be_shown_again_and_imported_with_the_same_numbers() {
    for (format, suite) in LAYOUTS {
        let folder = Folder::new();
        let line = format!("{RUN} --rules {format} --format {format} --out r.jsonl");
        let printed = folder.run(&line).success();
        assert!(rows(&printed).len() > 8, "{printed:#?}");
        let shown = folder.run(&format!("show r.jsonl --format {format}")).success();
        assert_eq!(printed.stdout, shown.stdout, "{format}");
        folder.write("printed.txt", &printed.stdout);
        for suite in [suite, "auto"] {
            let out = format!("{format}-{suite}.jsonl");
            folder.run(&format!("import {suite} printed.txt -n 2 -o {out}")).success();
            folder.run(&format!("validate {out}")).success();
            let again = folder.run(&format!("show {out} --format {format}")).success();
            assert_eq!(rows(&again), rows(&printed), "{format}");
        }
        let models = folder.run(&format!("fit {format}-{suite}.jsonl")).success();
        assert!(models.stdout.contains("r_inf_MB/s"), "{models:#?}");
    }
}

#[test]
fn an_import_goes_to_standard_output_unless_a_file_is_named() {
    let folder = Folder::new();
    folder.write("osu.txt", "# OSU MPI Latency Test v5.9\n# Size  Latency (us)\n8  1.51\n");
    let output = folder.run("import osu osu.txt").success();
    let dashed = folder.run("import osu osu.txt -o -").success();
    assert_eq!(
        (output.stdout.lines().count(), folder.names()),
        (dashed.stdout.lines().count(), vec!["osu.txt".into()])
    );
    assert!(dashed.stdout.starts_with("{\"type\":\"run\""), "{dashed:#?}");
    folder.write("r.jsonl", &output.stdout);
    let records = folder.records("r.jsonl");
    assert_eq!(records.run()["suite"]["version"], "5.9");
    assert_eq!(records.points().next().expect("a point")["quoted_ns"], 1510.0);
    folder.run("import osu osu.txt -o r.jsonl").code(2).notes("r.jsonl is there already");
}

#[test]
fn what_is_wrong_is_one_sentence() {
    let folder = Folder::new();
    folder.write("poem.txt", "roses are red\n");
    folder.write("cut.txt", "# OSU MPI Latency Test v7.4\n# Size  Avg Latency(us)\n8\n");
    let rows = "
        osu_latencyy -m 8              => osu_latencyy is not supported; did you mean osu_latency? (comet-run list shows all kernels)
        import imb poem.txt            => poem.txt: there is no table of imb in the text (is this what the benchmark printed?)
        import auto poem.txt           => poem.txt: there is no title of osu, imb or skampi in the text (their names stand above each table; results of other programs are not read)
        import osu cut.txt             => cut.txt: line 3: the row has 1 columns, the head of its table 2 (is it cut off?)
    ";
    for (line, sentence) in rows_of(rows) {
        let output = folder.run(line).code(2);
        assert_eq!(output.stderr, format!("error: {sentence}\n"), "{line}");
        assert_eq!(output.stdout, "", "{line}");
    }
}

#[test]
fn help_of_another_program_is_its_own() {
    let output = Folder::new().run("osu_latency -h").success();
    let head = "osu_latency, as comet-run understands it:\n";
    assert!(output.stdout.starts_with(head), "{output:#?}");
    output.prints("-m, --message-size [MIN:][MAX]");
}
