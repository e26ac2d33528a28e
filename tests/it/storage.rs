//! Files of kernels: where they lie, what is left of them, and file systems that refuse.

use std::path::PathBuf;

use crate::support::{Folder, OBEYS, Running, eventually, send, through_env};

/// A folder for files beside those of the run.
fn io_dir(folder: &Folder) -> PathBuf {
    let path = folder.path.join("io");
    std::fs::create_dir(&path).expect("the folder is new");
    path
}

/// Names of what is left in it.
fn left(path: &PathBuf) -> Vec<String> {
    let entries = std::fs::read_dir(path).expect("the folder is there");
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into()).collect()
}

#[test]
fn every_kernel_of_files_verifies_over_shared_memory_and_leaves_none() {
    for (n_ranks, sizes, n_lengths) in [(1, "17", 1), (3, "0,17,4Ki", 3)] {
        let folder = Folder::new();
        let io = io_dir(&folder);
        let line = format!(
            "imb-io -t shm -n {n_ranks} -s {sizes} --axis work_us=20 --io-dir io --samples 3 --launches 1 \
             -q --out r.jsonl"
        );
        let output = folder.run(&line);
        let records = folder.records("r.jsonl");
        let n_ok = records.points().filter(|point| point["status"] == "ok").count();
        // Of each length nine reads, and nine writes in two modes; and three series of each beside work.
        assert_eq!(n_ok, 1 + n_lengths * (9 + 9 * 2 + 18 * 3), "{output:#?}");
        assert_eq!(left(&io), [""; 0], "{output:#?}");
        assert_eq!(records.run()["config"]["io_cache"], "keep");
    }
}

#[test]
fn a_check_has_a_folder_for_files_and_leaves_none_there() {
    let folder = Folder::new();
    let io = io_dir(&folder);
    let output = folder.run("check imb-io -t shm -n 2 --io-dir io --io-hint cb_nodes=1").code(0);
    for line in [
        "ok       transport: private files are apart",
        "ok       kernel imb-io/c_write_shared: ",
        "ok       kernel imb-io/p_iread_priv: ",
    ] {
        assert!(output.stdout.contains(line), "{line}: {output:#?}");
    }
    // Shared memory has no library that takes hints.
    let note = "note: files over -t shm take no hints (leave --io-hint out, or write -t mpi)";
    assert_eq!(output.stderr.matches(note).count(), 1, "{output:#?}");
    assert_eq!(left(&io), [""; 0], "{output:#?}");
}

/// Bytes of a path to which no name can be added.
const MAX_PATH: usize = 4090;

#[test]
fn files_that_fail_their_checks_switch_their_kernels_off_and_no_others() {
    let folder = Folder::new();
    // A folder whose path is as long as paths may be: its files have none.
    let mut path = io_dir(&folder);
    while path.as_os_str().len() < MAX_PATH {
        let left = MAX_PATH + 1 - path.as_os_str().len();
        path.push("d".repeat(left.clamp(2, 200) - 1));
    }
    std::fs::create_dir_all(&path).expect("the path is not too long");
    let line = format!("check echo imb-io/open_close -t shm -n 2 --io-dir {}", path.display());
    let output = folder.run(&line).code(3);
    let line = "FAILED   transport: private files are apart: rank 0: cannot open ";
    assert!(output.stdout.contains(line), "{output:#?}");
    let line = "skipped  kernel imb-io/open_close: needs files, in which this transport fails: blocks of each \
                form are read back by another rank: rank 0: cannot open ";
    assert!(output.stdout.contains(line), "{output:#?}");
    assert!(output.stdout.contains("ok       kernel comet/echo: "), "{output:#?}");
}

#[test]
fn work_beside_a_transfer_has_a_series_of_its_own_and_a_share() {
    let folder = Folder::new();
    let io = io_dir(&folder);
    let line = "imb-io/p_iwrite_priv -t shm -n 1 -s 4Ki --axis work_us=300 --io-dir io --samples 5 \
                --launches 1 -q --out r.jsonl";
    let output = folder.run(line).code(0);
    let records = folder.records("r.jsonl");
    let series: Vec<_> = records.points().map(|point| point["variant"].clone()).collect();
    assert_eq!(series, ["overlapped", "pure", "compute"], "{output:#?}");
    assert!(records.points().any(|point| point.to_string().contains("overlap_share")));
    assert_eq!(left(&io), [""; 0]);
}

#[test]
fn without_a_folder_or_room_in_it_files_are_left_out() {
    let folder = Folder::new();
    let refused = folder.run("imb-io/p_write_expl -t shm -n 2 -s 8 -q --out none").code(6);
    assert!(refused.stderr.contains("(name one with --io-dir)"), "{refused:#?}");
    let none = folder.run("imb-io -t shm -n 2 --io-dir none").code(2);
    assert!(none.stderr.contains("there is no such folder"), "{none:#?}");
    // A file system without files of its own has no free bytes either.
    let line = "imb-io/p_write_expl -t shm -n 2 -s 8 --io-dir /proc -q --out none";
    let full = folder.run(line).code(6);
    assert!(full.stderr.contains("bytes in /proc, 0 are free"), "{full:#?}");
}

#[test]
fn direct_transfers_have_whole_pages() {
    let folder = Folder::on_disk();
    let io = io_dir(&folder);
    let run = |kernel: &str, length: &str| {
        let line = format!(
            "imb-io/{kernel} -t shm -n 3 -s {length} --io-dir io --io-cache direct --samples 3 --launches 1 \
             --out none"
        );
        folder.run(&line)
    };
    for (kernel, length, n) in [("p_write_expl", "4Ki", 1368), ("open_close", "12Ki", 1)] {
        let refused = run(kernel, length).code(6);
        let reason =
            format!("has transfers of {n} bytes, and direct ones have multiples of 4096 (name ");
        assert!(refused.stderr.contains(&reason), "{refused:#?}");
    }
    for kernel in ["p_write_expl", "p_read_shared", "c_iread_indv --axis work_us=300"] {
        let output = run(kernel, "12Ki");
        // Not all file systems have such transfers.
        let is_without = output.stdout.contains("(os error 22)");
        assert!(is_without || output.code == Some(0), "{output:#?}");
    }
    assert_eq!(left(&io), [""; 0]);
}

#[test]
fn reads_of_a_dropped_file_come_to_no_place_twice_and_a_refused_case_leaves_no_file() {
    let folder = Folder::on_disk();
    let io = io_dir(&folder);
    let line = "imb-io/p_read_expl -t shm -n 2 -s 4Ki --io-dir io --io-cache drop --launches 1 -q";
    folder.run(&format!("{line} --samples 3 --repetitions 2 --out none")).code(0);
    folder.run(&format!("{line} --samples 3 --repetitions 5000 --out r.jsonl")).code(6);
    let failed = folder.records("r.jsonl").points().next().expect("there is a point").to_string();
    assert!(failed.contains("reads of a file with 4096 places come to "), "{failed}");
    assert_eq!(left(&io), [""; 0]);
}

#[test]
fn a_file_system_that_refuses_fails_the_case_and_the_run_goes_on() {
    let folder = Folder::new();
    let line = "imb-io/p_write_expl echo -t shm -n 2 -s 0 --hops 1 --io-dir /proc --samples 3 -q \
                --out r.jsonl";
    let output = folder.run(line).code(4);
    let records = folder.records("r.jsonl");
    let failed: Vec<_> = records.points().filter(|point| point["status"] == "failed").collect();
    assert_eq!(failed.len(), 2, "{output:#?}");
    let reason = failed[0].to_string();
    assert!(reason.contains("cannot open /proc/comet-io-"), "{reason}");
    // The rank is named once.
    assert!(!reason.contains("on rank"), "{reason}");
    assert!(records.points().any(|point| point["status"] == "ok"), "{output:#?}");
}

#[test]
fn a_rank_that_is_killed_leaves_no_file() {
    let folder = Folder::new();
    let io = io_dir(&folder);
    let line = "imb-io/p_write_expl -t shm -n 2 -s 4Ki --io-dir io --samples 1000000 --watchdog 0 \
                --progress plain --out r.jsonl";
    let mut running = Running::new(through_env(&folder.command(line), OBEYS));
    eventually("a file", || {
        assert_eq!(running.status(), None, "{}", running.stderr());
        !left(&io).is_empty()
    });
    let pid = *folder.records("r.jsonl").pids().last().expect("there are ranks");
    send("KILL", pid);
    let output = running.wait().code(1);
    assert!(output.stderr.contains("was killed by SIGKILL"), "{output:#?}");
    assert_eq!(left(&io), [""; 0], "{output:#?}");
    folder.run("validate r.jsonl").well_formed();
}

/// A launcher that is killed takes its ranks with it, and none of them removes the file.
#[test]
fn the_next_run_removes_the_files_of_one_that_was_killed_and_no_others() {
    let folder = Folder::new();
    let io = io_dir(&folder);
    let line = "imb-io/p_write_expl -t shm -n 2 -s 4Ki --io-dir io -q --out";
    let mut running = folder.start(&format!("{line} r.jsonl --samples 1000000 --watchdog 0"));
    eventually("a file", || {
        assert_eq!(running.status(), None, "{}", running.stderr());
        !left(&io).is_empty()
    });
    send("KILL", running.pid());
    running.wait();
    assert_eq!(left(&io).len(), 1);
    let others = ["comet-io-0000000000000008-0", "comet-io-mine"];
    for name in others {
        std::fs::write(io.join(name), "").expect("a file");
    }
    folder.run(&format!("{line} none --samples 3 --launches 1")).success();
    let mut names = left(&io);
    names.sort();
    assert_eq!(names, others);
}
