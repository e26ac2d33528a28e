//! IMB-P2P: its tables over shared memory and in simulation, what an import makes of them, and its counts.

use crate::support::{Folder, Output};

/// The titles of tables, and the rows of numbers.
fn titles_and_rows(output: &Output) -> Vec<&str> {
    let is_such = |line: &&str| line.starts_with("# Benchmarking") || line.starts_with("   ");
    output.stdout.lines().filter(is_such).collect()
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
            let shown = folder.run("show r.jsonl --format imb").success();
            assert!(output.stdout.ends_with(&shown.stdout), "{}", shown.stdout);
            folder.write("printed.txt", &output.stdout);
            folder.run("import auto printed.txt -o again.jsonl").success();
            folder.run("validate again.jsonl").success();
            let again = folder.run("show again.jsonl --format imb").success();
            assert_eq!(titles_and_rows(&again), titles_and_rows(&output));
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
