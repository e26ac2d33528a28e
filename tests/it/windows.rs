//! Programs of windows and of files of IMB, over shared memory, those of windows also in simulation.

use std::collections::BTreeSet;

use crate::support::{FLAT, Folder, Output, RDMA};

/// Each program with so many tables on four ranks: one of each number of ranks and of either end of
/// transfers.
const PROGRAMS: [(&str, usize); 2] =
    [("IMB-EXT", 2 + 4 * 2 + 4), ("IMB-RMA", 5 * 2 + 7 * 2 + 4 * 2 + 1)];

#[test]
fn programs_of_windows_print_what_can_be_shown_and_imported_again() {
    for (program, n_tables) in PROGRAMS {
        for transport in ["shm", "sim"] {
            let folder = Folder::new();
            let line = format!("{program} -msglog 3:4 -iter 3 --ranks=4 --transport={transport}");
            let output = folder.run(&format!("{line} --out r.jsonl")).success();
            let n = output.stdout.matches("# Benchmarking ").count();
            assert_eq!(n, n_tables, "{program} over {transport}: {}", output.stdout);
            assert!(output.stdout.contains(&format!("in the layout of {program} 2021")));
            let records = folder.records("r.jsonl");
            assert!(records.points().all(|point| point["status"] == "ok"), "{}", output.stdout);
            folder.assert_imb_comes_back(&output, "imb");
        }
    }
}

#[test]
fn pairs_have_a_window_of_two_ranks_and_others_of_more_and_more() {
    let folder = Folder::new();
    let line = "IMB-RMA Unidir_put One_put_all Compare_and_swap -msglog 3:3 -iter 3 --ranks=5 \
                --transport=sim --out r.jsonl";
    let output = folder.run(line).success();
    let ranks = |kernel: &str| -> BTreeSet<u64> {
        let records = folder.records("r.jsonl");
        let points = records.points_of(kernel);
        points.map(|point| point["params"]["procs"].as_u64().expect("a number")).collect()
    };
    assert_eq!(ranks("imb-rma/unidir_put"), [2].into());
    assert_eq!(ranks("imb-rma/compare_and_swap"), [2].into());
    assert_eq!(ranks("imb-rma/one_put_all"), [2, 4, 5].into());
    let others = "# ( 3 additional processes waiting in MPI_Barrier)";
    let pair = output.imb_table("Unidir_put");
    assert_eq!(pair[..2], ["# #processes = 2 ", others], "{pair:?}");
    let folder = Folder::new();
    let line = "run imb-ext/unidir_put -n 4 -s 8 --profile quick --transport sim --out r.jsonl";
    folder.run(line).success();
    let records = folder.records("r.jsonl");
    assert!(records.points().all(|point| point["params"]["procs"] == 2), "{records:?}");
}

#[test]
fn an_element_has_one_row_and_one_to_all_the_rate_of_one_transfer() {
    let line = "IMB-RMA One_put_all Fetch_and_op Compare_and_swap -npmin 4 -msglog 12:12 -iter 4 \
                --ranks=4 --transport=sim";
    let output = Folder::new().run(line).success();
    let output = output.prints("# Maximum message length in bytes:   4096\n");
    let output = output.prints("# Compare_and_swap\n#     Uses MPI_INT data type\n");
    for name in ["Fetch_and_op", "Compare_and_swap"] {
        let of_name = output.imb_table(name);
        // An exact simulation takes two samples.
        let (last, before) = of_name.split_last().expect("it has lines");
        assert!(last.starts_with("            4            8 "), "{name}: {of_name:?}");
        assert!(before.contains(&"#    MODE: NON-AGGREGATE "), "{name}: {of_name:?}");
    }
    let last = output.imb_table("One_put_all").pop().expect("it has rows");
    let cells: Vec<f64> = last.split_whitespace().map(|cell| cell.parse().unwrap()).collect();
    let [bytes, _, time_us, rate] = cells[..] else { panic!("{last}") };
    assert!((rate - bytes / time_us).abs() < 0.01 * rate, "of 3 transfers: {last}");
}

#[test]
fn loops_have_fewer_operations_where_each_is_complete() {
    let folder = Folder::new();
    let line = "IMB-EXT Window Unidir_Put -msglog 2:2 --ranks=2 --transport=shm --out r.jsonl";
    let output = folder.run(line).success();
    let n_of = |lines: &[&str]| lines[lines.len() - 1].split_whitespace().nth(1).map(str::to_owned);
    assert_eq!(n_of(&output.imb_table("Window")).as_deref(), Some("100"));
    assert_eq!(n_of(&output.imb_table("Unidir_Put")).as_deref(), Some("1000"));
    let (_, second) = output.stdout.rsplit_once("# Benchmarking ").expect("two tables");
    assert!(second.contains("NON-AGGREGATE") && second.contains("\n            4          100 "));
    let records = folder.records("r.jsonl");
    let definitions: BTreeSet<_> =
        records.points().map(|point| point["definition"].to_string()).collect();
    assert_eq!(definitions.len(), 1, "{definitions:?}");
    // A loop, where single calls could be timed too.
    let line = "IMB-RMA Exchange_put All_get_all -msglog 2:2 -iter 50 -iter_policy off --ranks=2 \
                --transport=shm --out loops.jsonl";
    let output = folder.run(line).success();
    assert_eq!(output.stdout.matches("           50 ").count(), 2 * 2, "{output:?}");
    assert!(!folder.read("loops.jsonl").contains("call_mean"));
}

#[test]
fn groups_of_windows_run_at_once() {
    let line = "IMB-RMA Unidir_get Exchange_get -multi 1 -msglog 2:2 -iter 3 --ranks=4 \
                --transport=shm";
    let output = Folder::new().run(line).success();
    let groups =
        "# ( 2 groups of 2 processes each running simultaneous ) \n# Group  0:     0    1\n";
    let output = output.prints(&format!("# Benchmarking Multi-Unidir_get \n{groups}"));
    let output = output.prints("#    MODE: NON-AGGREGATE \n#\n        Group       #bytes");
    output.prints("# Benchmarking Exchange_get \n# #processes = 4 \n");
}

#[test]
fn a_put_waits_for_a_target_that_works_where_transfers_are_messages() {
    let line = "run imb-rma/truly_passive_put -n 2 -s 100000 --repetitions 10 --transport sim \
                --machine ./flat.toml --out r.jsonl";
    // Start, bytes, a way there and back, and the part of rank 0 in the barrier.
    let pure = 3000. + 100_000. + 10_000. + 5000.;
    // Of two rounds one waits for a message of the barrier, the other for its parts. A target that works
    // serves the put at the end of its work; an answer and a message follow.
    for (emulated, overlapped) in [(false, pure + 7500.), (true, pure + 5000. + 10_000.)] {
        let folder = Folder::new();
        folder.write("flat.toml", &format!("{FLAT}{RDMA}emulated = {emulated}\n"));
        folder.run(line).success();
        let records = folder.records("r.jsonl");
        let of = |point: &serde_json::Value| point["time_ns"]["mean"].as_f64();
        let times: Vec<_> = records.points().map(of).collect();
        assert_eq!(times, [Some(pure), Some(overlapped)], "emulated: {emulated}");
    }
}

/// Cells of a row as numbers.
fn cells(row: &str) -> Vec<f64> {
    row.split_whitespace().map(|cell| cell.parse().expect("cells are numbers")).collect()
}

#[test]
fn the_program_of_files_prints_what_can_be_shown_and_imported_again() {
    let folder = Folder::new();
    let line = "IMB-IO -msglog 3:3 -iter 2 --axis=work_us=50 --ranks=3 --transport=shm --io-dir=. \
                --out r.jsonl";
    let output = folder.run(line).success();
    // On one rank two write in either mode and two read, on 1, 2 and 3 ranks 7 and 7; each of them also
    // beside work, in one mode; and Open_Close.
    let (single, all, beside) = (2 * 2 + 2, 3 * (7 * 2 + 7), 4 + 3 * 14);
    let n = output.stdout.matches("# Benchmarking ").count();
    assert_eq!(n, single + all + beside + 3, "{}", output.stdout);
    for text in [
        "in the layout of IMB-IO 2021",
        "# Minimum io portion in bytes:   0\n# Maximum io portion in bytes:   8\n#\n#\n#\n",
        "# Benchmarking S_Read_Expl \n# #processes = 1 \n# ( 2 additional processes waiting in",
    ] {
        assert!(output.stdout.contains(text), "{}", output.stdout);
    }
    let is_ok = |point: &serde_json::Value| point["status"] == "ok";
    assert!(folder.records("r.jsonl").points().all(is_ok), "{}", output.stdout);
    folder.assert_imb_comes_back(&output, "imb");
    for name in ["S_IWrite_Indv", "C_IRead_Shared"] {
        let of_name = output.imb_table(name);
        assert!(of_name.contains(&"#    MODE: AGGREGATE "), "{of_name:?}");
        for row in &of_name[of_name.len() - 2..] {
            let [_, _, overlapped, pure, compute, percent] = cells(row)[..] else {
                panic!("{row}")
            };
            let share = (pure + compute - overlapped) / pure.min(compute);
            let is_near =
                (percent - 100.0 * share.clamp(0.0, 1.0)).abs() <= 2.0 / pure.min(compute);
            // Times have two digits.
            assert!(is_near || pure.min(compute) < 0.02, "{name}: {row}");
        }
    }
    assert!(folder.names().iter().all(|name| !name.starts_with("comet-io-")), "files are left");
}

#[test]
fn groups_of_ranks_with_files_have_a_row_each_or_one_for_all() {
    let line = "IMB-IO S_Write_Indv P_IRead_Priv Open_Close -msglog 3:3 -iter 2 --axis=work_us=50 \
                --ranks=2 --transport=shm --io-dir=.";
    let output = Folder::new().run(&format!("{line} -multi 1")).success();
    let groups =
        "# ( 2 groups of 1 processes each running simultaneous ) \n# Group  0:     0\n# \n";
    let output = output.prints(&format!("# Benchmarking Multi-S_Write_Indv \n{groups}"));
    let of_pairs = output.imb_table("Multi-P_IRead_Priv");
    assert!(of_pairs.contains(&"        Group       #bytes #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]"), "{of_pairs:?}");
    output.prints("\n            1            8            2 ");
    let output = Folder::new().run(&format!("{line} -multi 0")).success();
    let output = output.prints(&format!("# Benchmarking Multi-P_IRead_Priv \n{groups}"));
    let of_one = output.imb_table("Multi-S_Write_Indv");
    let head = "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec";
    assert!(of_one.contains(&head), "{of_one:?}");
    assert_eq!(cells(output.imb_table("Multi-P_IRead_Priv").pop().expect("it has rows")).len(), 6);
}

#[test]
fn loops_with_files_have_the_counts_of_the_program() {
    let folder = Folder::new();
    folder.write("lengths", "8\n");
    let count = |output: &Output, name: &str| {
        let row = output.imb_table(name).pop().expect("it has rows");
        row.split_whitespace().filter_map(|cell| cell.parse().ok()).find(|n: &u64| *n > 8)
    };
    let line = "IMB-IO S_Write_Indv P_Read_Priv Open_Close -msglen lengths --ranks=1 \
                --transport=shm --io-dir=.";
    for (more, [aggregate, each, life]) in [("", [1000, 100, 100]), (" -iter 20", [20, 100, 20])] {
        let output = folder.run(&format!("{line}{more}")).success();
        assert_eq!(count(&output, "S_Write_Indv"), Some(aggregate), "{}", output.stdout);
        assert_eq!(count(&output, "P_Read_Priv"), Some(aggregate), "{}", output.stdout);
        let (_, rest) = output.stdout.split_once("NON-AGGREGATE").expect("either mode");
        assert!(rest.contains(&format!("\n            8 {each:>12} ")), "{}", output.stdout);
        let (_, rest) = output.stdout.split_once("Open_Close \n# #pro").expect("it has a table");
        assert!(rest.contains(&format!("\n{life:>13} ")), "{}", output.stdout);
    }
}

#[test]
fn a_put_into_a_rank_that_works_has_two_times_in_one_row() {
    let line = "IMB-RMA Truly_passive_put -msglog 12:12 -iter 4 --ranks=4 --transport=sim";
    let output = Folder::new().run(line).success();
    let of_name = output.imb_table("Truly_passive_put");
    assert_eq!(of_name[3], "       #bytes #repetitions t_pure[usec] t_ovrl[usec]", "{of_name:?}");
    assert_eq!(of_name.len(), 4 + 2, "{of_name:?}");
    let [bytes, _, pure, overlapped] = cells(of_name[5])[..] else { panic!("{of_name:?}") };
    assert!(bytes == 4096.0 && pure > 0.0 && overlapped > 0.0, "{of_name:?}");
    output
        .prints("# Truly_passive_put\n#     The benchmark measures execution time of MPI_Put for");
}
