//! Collectives in flight: the suites imb-nbc and imb-mpi4, and the programs IMB-NBC and IMB-MPI4, whose
//! requirements are BI-04, BI-05 and BI-33.

use crate::support::{FLAT, Folder};

/// The benchmarks of BI-04, each of which has a form without work, with `_pure` behind its name.
const NAMES: [&str; 13] = [
    "Ibcast",
    "Iallgather",
    "Iallgatherv",
    "Igather",
    "Igatherv",
    "Iscatter",
    "Iscatterv",
    "Ialltoall",
    "Ialltoallv",
    "Ireduce",
    "Ireduce_scatter",
    "Iallreduce",
    "Ibarrier",
];

/// Cells of a row as numbers.
fn cells(row: &str) -> Vec<f64> {
    row.split_whitespace().map(|cell| cell.parse().expect("cells are numbers")).collect()
}

/// The part of the longer of both times that is hidden, in percent.
fn hidden_percent([overlapped, pure, compute]: [f64; 3]) -> f64 {
    100.0 * ((pure + compute - overlapped) / pure.max(compute)).clamp(0.0, 1.0)
}

#[test]
fn bi_04_each_collective_has_a_table_beside_work_and_one_alone() {
    has_both_tables("IMB-NBC", &NAMES.map(String::from));
}

#[test]
fn bi_05_each_prepared_collective_has_a_table_beside_work_and_one_alone() {
    has_both_tables("IMB-MPI4", &prepared());
}

/// The benchmarks of BI-05, in the order of those of BI-04.
fn prepared() -> [String; 13] {
    NAMES.map(|name| format!("{}{}_persist", name[1..2].to_uppercase(), &name[2..]))
}

/// Checks the tables of the benchmarks `names` of `program`, each beside work and alone.
fn has_both_tables(program: &str, names: &[String]) {
    let all: Vec<String> =
        names.iter().flat_map(|name| [name.clone(), format!("{name}_pure")]).collect();
    for transport in ["shm", "sim"] {
        let folder = Folder::new();
        let line = format!(
            "{program} {} -npmin 4 -msglog 2:3 -iter 4 --ranks=4 --transport={transport} --out r.jsonl",
            all.join(" ")
        );
        let output = folder.run(&line).success();
        let records = folder.records("r.jsonl");
        assert!(records.points().all(|point| point["status"] == "ok"), "{}", output.stdout);
        assert!(records.points().all(|point| point["check"]["status"] == "pass"));
        for name in names {
            let is_barrier = name.to_lowercase().contains("barrier");
            let lines = output.imb_table(name);
            let head = " #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]";
            assert!(lines[2].ends_with(head), "{lines:?}");
            let rows: Vec<_> = lines[3..].iter().map(|row| cells(row)).collect();
            assert_eq!(rows.len(), if is_barrier { 1 } else { 3 }, "{lines:?}");
            for row in rows {
                let [overlapped, pure, compute, percent] = row[row.len() - 4..] else { panic!() };
                // Times and shares have two digits.
                let is_near = (percent - hidden_percent([overlapped, pure, compute])).abs()
                    <= 0.006 + 2.0 / pure.max(compute).max(0.01);
                assert!(is_near && (0.0..=100.0).contains(&percent), "BI-33: {name}: {row:?}");
            }
            let alone = output.imb_table(&format!("{name}_pure"));
            let head = " #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]";
            assert!(alone[2].ends_with(head), "{alone:?}");
        }
        folder.assert_imb_comes_back(&output, "imb");
    }
}

#[test]
fn bi_04_without_names_the_forms_beside_work_run_in_the_order_of_the_original() {
    let line = "IMB-NBC -npmin 2 -msglog 2:2 -iter 2 --ranks=2 --transport=sim";
    let output = Folder::new().run(line).success();
    let titles = output.stdout.lines().filter_map(|line| line.strip_prefix("# Benchmarking "));
    assert_eq!(titles.map(str::trim_end).collect::<Vec<_>>(), NAMES);
    for part in [
        "in the layout of IMB-NBC 2021",
        "# MPI_Datatype for reductions    :   MPI_FLOAT \n",
        "# List of Benchmarks to run:\n\n# Ibcast\n# Iallgather\n",
    ] {
        assert!(output.stdout.contains(part), "{}", output.stdout);
    }
}

#[test]
fn bi_05_without_names_those_beside_work_run_but_for_the_even_allgather() {
    let line = "IMB-MPI4 -npmin 2 -msglog 2:2 -iter 2 --ranks=2 --transport=sim";
    let output = Folder::new().run(line).success();
    let titles = output.stdout.lines().filter_map(|line| line.strip_prefix("# Benchmarking "));
    let all = prepared();
    let expected = all.iter().filter(|name| *name != "Allgather_persist");
    assert_eq!(titles.map(str::trim_end).collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    output
        .prints("in the layout of IMB-MPI4 2021")
        .prints("# Bcast_persist\n# Allgatherv_persist\n");
}

#[test]
fn a_prepared_collective_keeps_its_root() {
    let line = "IMB-MPI4 Bcast_persist -root_shift on -npmin 2 -msglog 2:2 -iter 2 --ranks=2 \
                --transport=sim";
    let output = Folder::new().run(line).success();
    output.prints("# note: -root_shift on has no effect: a prepared collective keeps its root\n");
}

#[test]
fn groups_have_a_row_each_and_roots_take_turns() {
    let folder = Folder::new();
    let line = "IMB-NBC Ibcast Igather_pure -multi 1 -npmin 2 -root_shift on -msglog 3:3 -iter 4 \
                --ranks=4 --transport=shm --out r.jsonl";
    let output = folder.run(line).success();
    output
        .prints("# Benchmarking Multi-Ibcast \n# ( 2 groups of 2 processes each running simultaneous ) \n")
        .prints("        Group       #bytes #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]\n")
        .prints("\n            1            8            4 ");
    let records = folder.records("r.jsonl");
    assert!(records.points().all(|point| point["params"]["root"] == "rotate"));
}

#[test]
fn roots_of_ireduce_take_turns_beside_work_alone() {
    let folder = Folder::new();
    folder.write("flat.toml", FLAT);
    // A start takes 3 us, a receipt 2 us, and a message 10 us: alone to rank 0, beside work from there too.
    let row = "            0            2        12.50        10.00        10.00        75.00\n";
    folder
        .run("IMB-NBC Ireduce -npmin 2 -msglog 3:3 -iter 4 --ranks=2 --transport=sim --machine=./flat.toml")
        .success()
        .prints(row);
}

#[test]
fn in_simulation_the_hidden_share_of_a_broadcast_is_its_closed_form() {
    // From the first start to the last finish; work of 100 us.
    let (length, work) = (1000.0, 100_000.0);
    let [send, way, receive]: [f64; 3] = [3000.0, 5000.0 + 8.0 * length, 2000.0];
    for (n_ranks, pure, overlapped) in [
        // All but the start and the receipt is hidden.
        (2, send + way + receive, work + send.max(receive)),
        // The second stage begins when the rank between has done its work.
        (4, 2.0 * (send + way + receive), work + receive + send + way + receive),
    ] {
        let folder = Folder::new();
        folder.write("flat.toml", FLAT);
        let line = format!(
            "imb-nbc/ibcast -t sim --machine ./flat.toml -n {n_ranks} -s 1000 --axis work_us=100 \
             --samples 3 --launches 1 -q --out r.jsonl"
        );
        folder.run(&line).success();
        let records = folder.records("r.jsonl");
        let of = |point: &serde_json::Value| point["time_ns"]["mean"].as_f64();
        let times: Vec<_> = records.points().map(of).collect();
        assert_eq!(times, [pure, overlapped, work].map(Some), "{n_ranks} ranks");
        let hidden = pure + work - overlapped;
        let figure = |name: &str| {
            let points = records.points();
            let figures = points.filter_map(|point| point["figures"].as_array());
            let of_name = figures.flatten().find(|figure| figure["name"] == name);
            of_name.and_then(|figure| figure["value"].as_f64())
        };
        for (name, part) in
            [("overlap_share", pure), ("overlap_share_imb_nbc", work), ("overlap_share_osu", pure)]
        {
            let found = figure(name).expect("the figure has a value");
            assert!((found - hidden / part).abs() < 1e-12, "{name} on {n_ranks} ranks: {found}");
        }
    }
}
