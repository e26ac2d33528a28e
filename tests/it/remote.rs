//! One-sided programs of OSU (BO-08): tables of every memory with every synchronisation, times against
//! closed forms, and what is printed where data arrived wrong.

use std::collections::BTreeSet;

use crate::support::{FLAT, Folder, RDMA};

const MEMORIES: [(&str, &str); 3] = [
    ("create", "MPI_Win_create"),
    ("allocate", "MPI_Win_allocate"),
    ("dynamic", "MPI_Win_create_dynamic"),
];
const SYNCS: [(&str, &str); 6] = [
    ("lock", "MPI_Win_lock/unlock"),
    ("flush", "MPI_Win_flush"),
    ("flush_local", "MPI_Win_flush_local"),
    ("lock_all", "MPI_Win_lock_all/unlock_all"),
    ("pscw", "MPI_Win_post/start/complete/wait"),
    ("fence", "MPI_Win_fence"),
];
/// The last of these, in which the target takes part.
const N_ACTIVE: usize = 2;

const LATENCY: &str = "# Size          Latency (us)";
const BANDWIDTH: &str = "# Size      Bandwidth (MB/s)";

/// Programs with the calls in their titles, the heads of their columns, and their lengths.
const PROGRAMS: [(&str, &str, &str, &[&str]); 9] = [
    ("osu_put_latency", "Put Latency Test", LATENCY, &["4", "8"]),
    ("osu_get_latency", "Get latency Test", LATENCY, &["4", "8"]),
    ("osu_acc_latency", "Accumulate latency Test", LATENCY, &["4", "8"]),
    ("osu_get_acc_latency", "Get_accumulate latency Test", LATENCY, &["4", "8"]),
    ("osu_fop_latency", "Fetch_and_op latency Test", LATENCY, &["1"]),
    ("osu_cas_latency", "Compare_and_swap latency Test", LATENCY, &["1"]),
    ("osu_put_bw", "Put Bandwidth Test", BANDWIDTH, &["4", "8"]),
    ("osu_get_bw", "Get Bandwidth Test", BANDWIDTH, &["4", "8"]),
    ("osu_put_bibw", "Put Bi-directional Bandwidth Test", BANDWIDTH, &["4", "8"]),
];

/// The table of a program for one memory and synchronisation, without figures.
fn table(title: &str, [memory, sync]: [&str; 2], head: &str, sizes: &[&str]) -> Vec<String> {
    let mut lines = vec![
        format!("# OSU MPI_{title} v7.4"),
        format!("# Window creation: {memory}"),
        format!("# Synchronization: {sync}"),
    ];
    // This program of OSU prints no datatype.
    lines.extend((!title.starts_with("Get_acc")).then(|| "# Datatype: MPI_CHAR.".to_owned()));
    lines.push(head.into());
    lines.extend(sizes.iter().map(|size| (*size).to_owned()));
    lines
}

/// Lines of `text` without notes and without figures.
fn shape(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.starts_with("# note"));
    let shape = |line: &str| match line.starts_with('#') {
        true => line.to_owned(),
        false => line.split_whitespace().next().unwrap_or_default().to_owned(),
    };
    lines.map(shape).collect()
}

#[test]
fn bo_08_every_memory_and_synchronisation_has_its_table() {
    let words = |words: &[(&'static str, &str)]| -> String {
        words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(",")
    };
    for (program, title, head, sizes) in PROGRAMS {
        let syncs = match program {
            "osu_put_bibw" => &SYNCS[SYNCS.len() - N_ACTIVE..],
            _ => &SYNCS[..],
        };
        let axes = format!("--axis=memory={} --axis=sync={}", words(&MEMORIES), words(syncs));
        let line = format!("{program} -m 4:8 -i 5 -x 1 --transport=shm {axes}");
        let output = Folder::new().run(&line).success();
        let of_memory = |(_, memory): (&str, &'static str)| {
            syncs.iter().flat_map(move |(_, sync)| table(title, [memory, sync], head, sizes))
        };
        let expected: Vec<String> = MEMORIES.into_iter().flat_map(of_memory).collect();
        assert_eq!(shape(&output.stdout), expected, "{program}");
    }
}

#[test]
fn bo_08_memory_and_synchronisation_are_those_of_the_original_unless_they_are_chosen() {
    for (line, memory, sync) in [
        ("osu_put_latency -m 8", "MPI_Win_allocate", "MPI_Win_flush"),
        ("osu_get_acc_latency -m 8", "MPI_Win_create", "MPI_Win_lock/unlock"),
        ("osu_put_bibw -m 8", "MPI_Win_allocate", "MPI_Win_post/start/complete/wait"),
        ("osu_fop_latency -w DYNAMIC -s fence", "MPI_Win_create_dynamic", "MPI_Win_fence"),
        (
            "osu_get_bw -m 8 -W 2 -w create -s lock_all",
            "MPI_Win_create",
            "MPI_Win_lock_all/unlock_all",
        ),
    ] {
        let output = Folder::new().run(&format!("{line} -i 5 -x 1 --transport=sim")).success();
        let calls = format!("# Window creation: {memory}\n# Synchronization: {sync}\n");
        assert!(output.stdout.contains(&calls), "{line}: {}", output.stdout);
    }
}

#[test]
fn bo_08_elements_have_tables_with_their_lengths() {
    for (line, sizes) in [
        ("osu_fop_latency -T all", vec!["1", "4", "4"]),
        ("osu_cas_latency -T mpi_char,mpi_int", vec!["1", "4"]),
        ("osu_acc_latency -m 2:8 -T all", vec!["2", "4", "8", "4", "8", "4", "8"]),
    ] {
        let folder = Folder::new();
        let line = format!("{line} -c -i 5 -x 1 --transport=shm --out r.jsonl");
        let output = folder.run(&line).success();
        let rows = output.stdout.lines().filter(|line| line.ends_with(" passed"));
        let found: Vec<&str> = rows.filter_map(|row| row.split_whitespace().next()).collect();
        assert_eq!(found, sizes, "{}", output.stdout);
        let again = folder.run("show r.jsonl --format osu").success();
        assert_eq!(shape(&again.stdout), shape(&output.stdout), "{line}");
    }
    // A swap of floats is no call of MPI.
    let line = "osu_cas_latency -T mpi_float -i 5 --transport=shm";
    let sentence = "a swap compares whole numbers, not float (use element=int)";
    Folder::new().run(line).code(6).prints(sentence).notes(sentence);
}

#[test]
fn bo_08_data_that_arrived_wrong_has_no_time() {
    for (line, kernel) in [
        ("osu_acc_latency -m 8:8 -c", "acc_latency"),
        ("osu_put_latency -m 8:8", "put_latency"),
        ("osu_put_bibw -m 8:8 -W 4", "put_bibw"),
    ] {
        let line = format!("{line} -i 5 --transport=shm --inject=corrupt:{kernel}");
        let output = Folder::new().run(&line).code(3).prints("# check_failed: 8 bytes: ");
        if line.contains("-c ") {
            output.prints("8                          -            failed\n");
        }
    }
}

#[test]
fn bo_08_times_and_rates_follow_the_laws_of_the_machine() {
    /// Start of a transfer, and a way there and back.
    const START: u64 = 3000;
    const TRIP: u64 = 10_000;
    /// A message of no bytes, and the part of its sender.
    const MESSAGE: u64 = 10_000;
    const SEND: u64 = 3000;
    let check = |line: &str, expected_ns: u64| {
        let folder = Folder::new();
        folder.write("flat.toml", &format!("{FLAT}{RDMA}atomic = \"7 ns\"\n"));
        let line = format!("{line} -i 20 -x 2 --machine=./flat.toml --out r.jsonl");
        folder.run(&line).success();
        let records = folder.records("r.jsonl");
        let times: Vec<_> =
            records.points().map(|point| point["time_ns"]["mean"].clone()).collect();
        assert_eq!(times, [expected_ns as f64], "{line}");
    };
    for n in [1, 1000, 4096] {
        let of = |program: &str, rest: &str| format!("{program} -m {n}:{n} {rest}");
        check(&of("osu_put_latency", "-s flush"), START + TRIP + n);
        check(&of("osu_put_latency", "-s flush_local"), START + n);
        check(&of("osu_put_latency", "-s lock"), 2 * (START + TRIP) + n);
        // Rank 0 itself grants it. By pscw a complete and a post follow, one after the other.
        check(&of("osu_put_latency", "-s lock_all"), 2 * START + TRIP + n);
        check(&of("osu_put_latency", "-s pscw"), START + TRIP + n + SEND + MESSAGE);
        check(&of("osu_get_latency", "-s flush"), START + TRIP + n);
        check(&of("osu_acc_latency", "-s flush"), START + TRIP + n + 7 * n);
        check(&of("osu_get_acc_latency", "-s flush"), START + TRIP + 2 * n + 7 * n);
        // The interface sends one after the other.
        let window = START + 3 * START.max(n) + TRIP + n;
        check(&of("osu_put_bw", "-W 4"), window);
    }
    check("osu_fop_latency", START + TRIP + 7);
    check("osu_cas_latency", START + TRIP + 7);
}

#[test]
fn bo_08_a_time_is_half_of_a_round_where_both_ranks_transfer_in_turn() {
    let folder = Folder::new();
    let axes = "--axis sync=lock,flush,pscw,fence";
    let kernels = "osu/put_latency osu/cas_latency osu/put_bw";
    let line =
        format!("run {kernels} {axes} -n 2 -s 8 --transport sim --profile quick --out r.jsonl");
    folder.run(&line).success();
    let records = folder.records("r.jsonl");
    let of_point = |point: &serde_json::Value| {
        let word = |name: &str| point["params"][name].as_str().unwrap_or_default().to_owned();
        let kernel = point["kernel"].as_str().unwrap_or_default().to_owned();
        (kernel, word("sync"), point["value"]["divisor"].as_u64().unwrap_or_default())
    };
    let found: BTreeSet<_> = records.points().map(of_point).collect();
    let expected = ["put_latency", "cas_latency", "put_bw"].into_iter().flat_map(|kernel| {
        ["lock", "flush", "pscw", "fence"].map(|sync| {
            let is_halved = kernel != "put_bw" && ["pscw", "fence"].contains(&sync);
            (kernel.to_owned(), sync.to_owned(), 1 + u64::from(is_halved))
        })
    });
    assert_eq!(found, expected.collect());
    for point in records.points() {
        let of = |value: &serde_json::Value| value.as_f64().expect("a number");
        let elapsed = point["samples"]["data"].as_array().expect("samples");
        let elapsed_ns: f64 = elapsed.iter().map(of).sum::<f64>() / elapsed.len() as f64;
        let n_values = of(&point["reps"]["inner"]) * of(&point["value"]["divisor"]);
        let mean_ns = of(&point["time_ns"]["mean"]);
        assert!((elapsed_ns / n_values / mean_ns - 1.0).abs() < 1e-6, "{point}");
    }
}
