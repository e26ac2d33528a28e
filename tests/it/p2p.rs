//! IMB-P2P and IMB-HALO: their tables over shared memory and in simulation, what an import makes of them, and its counts.

use crate::support::{Folder, Output, Requirement, require_met};

/// Each benchmark once, on eight ranks.
const ALL: &str =
    "IMB-P2P -msglog 3:3 -iter 5 -pause 0 --ranks=8 --machine=./flat.toml --out r.jsonl";
/// One of them, to which the options of a row are added.
const ONE: &str = "IMB-P2P PingPing -pause 0 --ranks=2 --machine=./flat.toml --out r.jsonl";

/// A square of four ranks.
const GRID: &str = "IMB-HALO -topo 2.2 -count 1,1024 -repeat 5 -warmup 2 --ranks=4 --machine=./flat.toml \
                    --out r.jsonl";

const HEAD: &str = "\n       #bytes #repetitions      t[usec]   Mbytes/sec      Msg/sec\n";

#[rustfmt::skip] // One requirement a line.
const ROWS: &[Requirement] = &[
    (&["BI-01", "BI-12"], "IMB-P2P -list", "", &["# List of Benchmarks to run:\n#\n# PingPong\n"]),
    (&["BI-09"], ALL, "", &["# Benchmarking PingPong\n# #processes = 8\n#---", HEAD]),
    (&["BI-09"], ALL, "", &["# Benchmarking PingPing\n", "# Benchmarking Unirandom\n", "# Benchmarking Birandom\n", "# Benchmarking Corandom\n"]),
    (&["BI-09"], ALL, "", &["# Benchmarking Stencil2D (2 x 4)\n", "# Benchmarking Stencil3D (2 x 2 x 2)\n", "# Benchmarking SendRecv_Replace\n"]),
    // All ranks send a message in 10.064 us; copies and reads take no time on this machine. An exact
    // simulation takes two samples.
    (&["BI-09"], ALL, "", &["            8           10        10.06         6.36       794913\n", "messages_per_s"]),
    (&["BI-01", "BI-10"], "IMB-HALO -list", "", &["List of benchmarks:\nndim_halo_benchmark:\n    simple_halo\n"]),
    (&["BI-10"], GRID, "", &["\n# Benchmarking simple_halo (processes: 4; threads: 1; dimensions: 2)\n4(x8)(bytes) "]),
    (&["BI-10"], GRID, "", &["\"topo_1\":2,\"topo_2\":2,\"topo_3\":0", "\"warmup\":2,", "\"inner\":5", "\"datatype\":\"int\""]),
    (&["BI-10"], "IMB-HALO -repeat 5 --ranks=3 --machine=./flat.toml", "", &["(processes: 3; threads: 1; dimensions: 1)\n4(x4)(bytes) ", "\n32(x4)(bytes) "]),
    // Three ranks are in no pair, and one is in no square.
    (&["BI-10"], "IMB-HALO -topo 2.1 -repeat 5 -datatype char --ranks=3 --machine=./flat.toml", "", &["(processes: 2; threads: 1; dimensions: 2)\n1(x4)(bytes) "]),
    (&["BI-31"], ONE, "-msgsz 4097 -msgsz 5k", &["# Minimum message length in bytes:   4097\n", "\n         5120 "]),
    (&["BI-31"], ONE, "-msglog 2:3", &["\n            4 ", "\n            8 "]),
    (&["BI-31"], ONE, "-msglog 1", &["\n            0 ", "\n            1 ", "\n            2 "]),
    (&["BI-31"], ONE, "-msglen lengths.txt", &["\n            3 ", "\n         2048 "]),
    (&["BI-31"], ONE, "-msgsz 8 -iter 7,2", &["\"bytes\":2097152", "\"repetitions\":7"]),
    (&["BI-31"], ONE, "-msgsz 8 -msgwr off", &["\"buffer_mode\":\"touched:received\""]),
    (&["BI-31"], ONE, "-msgsz 8 -msgrd 0", &["\"buffer_mode\":\"touched:sent\""]),
    (&["BI-31"], ONE, "-msgsz 8 -msgwr NO -msgrd false", &["\"buffer_mode\":\"same\""]),
    (&["BI-31"], ONE, "-msgsz 8 -pause 100", &["\"pause_ns\":100000"]),
];

#[test]
fn requirements_are_met_by_what_it_prints_and_records() {
    require_met(ROWS, &[("lengths.txt", "3\n2k\n")]);
}

/// The numbers of each row.
fn numbers(output: &Output) -> Vec<Vec<&str>> {
    let rows = output.stdout.lines().map(|row| Vec::from_iter(row.split_whitespace()));
    rows.filter(|row| row.first().is_some_and(|cell| cell.parse::<f64>().is_ok())).collect()
}

#[test]
fn it_prints_what_can_be_shown_and_imported_again() {
    for (n_ranks, n_tables) in [(2, 6), (4, 7), (8, 8)] {
        for transport in ["shm", "sim"] {
            if transport == "shm" && n_ranks == 8 {
                continue;
            }
            let folder = Folder::new();
            let line = format!(
                "IMB-P2P -msglog 3:4 -iter 20 -pause 0 --ranks={n_ranks} --transport={transport}"
            );
            let output = folder.run(&format!("{line} --out r.jsonl")).success();
            let n = output.stdout.matches("# Benchmarking ").count();
            assert_eq!(n, n_tables, "{}", output.stdout);
            let n = output.stdout.matches("# !! Benchmark Stencil").count();
            assert_eq!(n, 8 - n_tables, "{}", output.stdout);
            let records = folder.records("r.jsonl");
            let is_sound = |point: &serde_json::Value| {
                point["status"] == "ok" && point["check"]["status"] == "pass"
                    || point["kernel"].as_str().is_some_and(|name| name.starts_with("stencil"))
            };
            assert!(records.points().all(is_sound), "{}", output.stdout);
            folder.assert_imb_comes_back(&output, "auto");
        }
    }
}

#[test]
fn a_grid_has_rows_that_can_be_shown_and_imported_again() {
    for (n_ranks, topo) in [(2, "1"), (4, "2.2"), (8, "1.1.1")] {
        for transport in ["shm", "sim"] {
            if transport == "shm" && n_ranks == 8 {
                continue;
            }
            let folder = Folder::new();
            let line = format!(
                "IMB-HALO -topo {topo} -repeat 20 -count 1,8,1000 --ranks={n_ranks} \
                 --transport={transport}"
            );
            let output = folder.run(&format!("{line} --out r.jsonl")).success();
            let records = folder.records("r.jsonl");
            let is_sound = |point: &serde_json::Value| {
                point["status"] == "ok" && point["check"]["status"] == "pass"
            };
            assert!(records.points().all(is_sound) && records.points().count() == 3, "{output:#?}");
            folder.assert_imb_comes_back(&output, "auto");
            let n_messages = 4 * topo.split('.').count();
            let row = output.stdout.lines().find(|line| line.starts_with("4000(")).expect("a row");
            let numbers: Vec<f64> = row
                .split(|c: char| !(c.is_ascii_digit() || c == '.'))
                .filter_map(|word| word.parse().ok())
                .collect();
            let [bytes, n, us, rate] = numbers[..] else { panic!("{row}") };
            assert_eq!((bytes, n), (4000.0, n_messages as f64), "{row}");
            assert!((rate / (n * bytes / us) - 1.0).abs() < 1e-4, "{row}");
        }
    }
}

#[test]
fn loops_have_the_counts_of_the_original_and_touch_messages() {
    let folder = Folder::new();
    let line = "IMB-P2P PingPong SendRecv_Replace -msgsz 1m -msgsz 3000000 -iter 10,8 -pause 0 \
                --ranks=2 --transport=shm --out r.jsonl";
    let output = folder.run(line).success();
    let counts: Vec<_> = numbers(&output).iter().map(|row| row[1].to_owned()).collect();
    // 8 MiB of data, to the nearest.
    assert_eq!(counts, ["8", "3"].repeat(2), "{}", output.stdout);
    let records = folder.records("r.jsonl");
    assert_eq!(records.run()["config"]["buffer_mode"], "touched:lines");
    assert_eq!(records.run()["config"]["rules"], "imb-p2p");
    assert!(records.points().all(|point| point["value"]["definition"] == "D5 loop_mean"));
    let limits = &records.run()["config"]["loop_limits"];
    assert_eq!(limits, &serde_json::json!({"bytes": 8 << 20, "s": null, "all_lengths_s": null}));
}

#[test]
fn buffers_that_leave_the_cache_have_tables_of_imb() {
    let line = "IMB-MPI1 PingPong -off_cache 1 -msgsize 8 -iter 10 --transport=shm --ranks=2";
    let output = Folder::new().run(line).success().prints("# Benchmarking PingPong \n");
    assert_eq!(numbers(&output).len(), 1, "{output:?}");
}
