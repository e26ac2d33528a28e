//! Text of IMB: heads, rows, and the words where a length is left out.

mod halo;
mod mt;
mod p2p;

use super::super::foreign::tests::records;
use super::*;
use crate::fixture::{check_golden, render};
use crate::record::{Failure, Machine, Outcome, Param, PointStatus, Record};
use comet_core::definition::Definition;

#[test]
fn it_looks_as_it_did() {
    check_golden("format-imb.txt", &render("imb", &records("imb")));
    check_golden("format-imb-3.2.txt", &render("imb-3.2", &records("imb-3.2")));
}

/// Points of `kernel` of `suite` by `definition`, one for each value of the axis with the ends of
/// transfers, or one without; of 1024 bytes if it has lengths.
fn of_windows(suite: &str, kernel: &str, definition: Definition, modes: &[&str]) -> Vec<Record> {
    let records = records("imb");
    let is_call = |record: &&Record| matches!(record, Record::Point(of) if of.kernel == "bcast");
    let Some(Record::Point(call)) = records.iter().find(is_call) else { unreachable!() };
    let of_mode = |mode: Option<&str>| {
        let mut point = call.clone();
        point.measured_mut().unwrap().numbers.value.definition = definition.name().into();
        (point.suite, point.kernel) = (suite.to_owned().into(), kernel.to_owned().into());
        let mode = mode.map(|mode| ("aggregate".to_owned(), Param::Label(mode.into())));
        let has_length = !["fetch_and_op", "compare_and_swap"].contains(&kernel);
        point.params.0.retain(|(name, _)| name != "length_bytes" || has_length);
        point.params.0.splice(0..0, mode);
        Record::Point(point)
    };
    match modes {
        [] => vec![of_mode(None)],
        modes => modes.iter().map(|mode| of_mode(Some(*mode))).collect(),
    }
}

#[test]
fn windows_look_as_they_did() {
    let (first, last) = (["aggregate", "non_aggregate"], ["non_aggregate", "aggregate"]);
    let (of_loop, of_one) = (Definition::LoopMean, Definition::TestNode);
    let run = |names: &[&str]| {
        let mut run = records("imb").swap_remove(0);
        let Record::Run(of) = &mut run else { unreachable!() };
        of.config.insert("select".into(), serde_json::json!(names));
        of.config.insert("sizes".into(), "0,4..4194304*2".into());
        vec![run]
    };
    let text = render(
        "imb",
        &[
            run(&["IMB-EXT:Window", "IMB-EXT:Unidir_Put", "IMB-EXT:Accumulate"]),
            of_windows("imb-ext", "window", of_loop, &[]),
            of_windows("imb-ext", "unidir_put", of_loop, &first),
            of_windows("imb-ext", "accumulate", of_loop, &first),
        ]
        .concat(),
    );
    check_golden("format-imb-ext.txt", &text);
    let text = render(
        "imb",
        &[
            run(&["IMB-RMA:Put_local", "IMB-RMA:One_put_all", "IMB-RMA:Compare_and_swap"]),
            of_windows("imb-rma", "put_local", of_one, &last),
            of_windows("imb-rma", "one_put_all", of_one, &[]),
            of_windows("imb-rma", "exchange_put", of_loop, &[]),
            of_windows("imb-rma", "compare_and_swap", of_one, &last),
        ]
        .concat(),
    );
    check_golden("format-imb-rma.txt", &text);
}

/// Points of the series `variants` of one case of `kernel` of `suite`, on `procs` ranks.
fn of_series(suite: &str, kernel: &str, variants: &[&str]) -> Vec<Record> {
    let of_one = kernel.starts_with("s_") || kernel == "truly_passive_put";
    let definition = if of_one { Definition::TestNode } else { Definition::LoopMean };
    let Some(Record::Point(point)) = of_windows(suite, kernel, definition, &[]).pop() else {
        unreachable!()
    };
    let of_variant = |variant: &&str| {
        let mut point = point.clone();
        point.variant = Some((*variant).to_owned().into());
        let samples = &mut point.measured_mut().unwrap().samples;
        let n_times = if *variant == "pure" { 2 } else { 3 };
        samples.iter_mut().flat_map(|of| &mut of.data).for_each(|ns| *ns *= n_times);
        Record::Point(point)
    };
    variants.iter().map(of_variant).collect()
}

/// A run of the benchmarks `names` with lengths of the standard mode.
fn run_of(names: &[&str]) -> Record {
    let mut run = records("imb").swap_remove(0);
    let Record::Run(of) = &mut run else { unreachable!() };
    of.config.insert("select".into(), serde_json::json!(names));
    of.config.insert("sizes".into(), "0,1..4194304*2".into());
    run
}

#[test]
fn files_look_as_they_did() {
    const BESIDE: [&str; 3] = ["overlapped", "pure", "compute"];
    let of_loop = Definition::LoopMean;
    let modes = ["aggregate", "non_aggregate"];
    let names = ["S_Write_Indv", "P_IWrite_Priv", "C_Read_Expl", "Open_Close"];
    let text = render(
        "imb",
        &[
            vec![run_of(
                &names.map(|name| format!("IMB-IO:{name}")).each_ref().map(|name| &**name),
            )],
            of_windows("imb-io", "s_write_indv", Definition::TestNode, &modes),
            of_series("imb-io", "p_iwrite_priv", &BESIDE),
            of_windows("imb-io", "c_read_expl", of_loop, &[]),
            of_windows("imb-io", "open_close", of_loop, &[]),
        ]
        .concat(),
    );
    check_golden("format-imb-io.txt", &text);
}

/// A point of `kernel` of imb-nbc in each series, with these times of two ranks, in ns.
fn in_flight(kernel: &str, definition: Definition, times_ns: [[u64; 2]; 3]) -> Vec<Record> {
    let points = of_series("imb-nbc", kernel, &["pure", "overlapped", "compute"]);
    let with_times = |(record, times_ns): (Record, [u64; 2])| {
        let Record::Point(mut point) = record else { unreachable!() };
        point.params.0.retain(|(name, _)| kernel != "ibarrier" || name != "length_bytes");
        let measured = point.measured_mut().unwrap();
        measured.numbers.value.definition = definition.name().into();
        (measured.reps.inner, measured.reps.n) = (1, 1);
        let samples = measured.samples.as_mut().unwrap();
        (samples.ranks, samples.shape) = (vec![0, 1], [2, 1]);
        samples.data = times_ns.to_vec();
        Record::Point(point)
    };
    points.into_iter().zip(times_ns).map(with_times).collect()
}

#[test]
fn collectives_in_flight_look_as_they_did() {
    let of_call = Definition::CallMean;
    let names = ["Ibcast", "Ireduce_pure", "Ibarrier"];
    let names = names.map(|name| format!("IMB-NBC:{name}"));
    let times_ns = [[4000, 9000], [14_000, 12_000], [10_000, 8000]];
    let text = render(
        "imb",
        &[
            vec![run_of(&names.each_ref().map(|name| &**name))],
            in_flight("ibcast", of_call, times_ns),
            of_windows("imb-nbc", "ireduce_pure", of_call, &[]),
            in_flight("ibarrier", Definition::LoopMean, times_ns),
        ]
        .concat(),
    );
    // Rank 0 takes longest beside work: none of its 4 us is hidden, though rank 1 hides 5 of 9.
    let row = "            1        14.00         4.00        10.00         0.00\n";
    assert_eq!(text.matches(&format!("         1024{row}")).count(), 1, "{text}");
    assert_eq!(text.matches(&format!("\n{row}")).count(), 1, "{text}");
    check_golden("format-imb-nbc.txt", &text);
}

#[test]
fn a_row_of_several_series_comes_with_the_last_and_groups_have_one_each() {
    let points = of_series("imb-rma", "truly_passive_put", &["pure", "overlapped"]);
    let run = run_of(&["IMB-RMA:Truly_passive_put"]);
    let text = render("imb", &[vec![run.clone()], points[..1].to_vec()].concat());
    assert!(text.ends_with("       #bytes #repetitions t_pure[usec] t_ovrl[usec]\n"), "{text}");
    let text = render("imb", &[vec![run.clone()], points.clone()].concat());
    let row = text.lines().last().unwrap();
    let cells: Vec<f64> = row.split_whitespace().map(|cell| cell.parse().unwrap()).collect();
    let [bytes, _, pure, overlapped] = cells[..] else { panic!("{text}") };
    assert!(bytes == 1024.0 && (overlapped - 1.5 * pure).abs() < 0.02, "{text}");
    // Two ranks that are a group each.
    let mut all = vec![run];
    let Record::Run(of) = &mut all[0] else { unreachable!() };
    of.labels.insert(ROWS_LABEL.into(), "1".into());
    for record in of_series("imb-io", "s_iread_expl", &["pure", "compute", "overlapped"]) {
        let Record::Point(mut point) = record else { unreachable!() };
        point.params.0.retain(|(name, _)| name != "procs");
        let numbers = [("procs", 1), (comet_core::kernel::GROUPS.name, 2)];
        let numbers = numbers.map(|(name, n)| (name.to_owned(), Param::Number(n)));
        point.params.0.extend(numbers);
        all.push(Record::Point(point));
    }
    let text = render("imb", &all);
    for group in ["\n\n            0         1024 ", "\n            1         1024 "] {
        assert_eq!(text.matches(group).count(), 1, "{text}");
    }
}

#[test]
fn each_mode_of_a_benchmark_has_a_row_where_a_length_is_left_out() {
    let memory = refusal::of_memory(8, 4);
    let points = of_windows("imb-ext", "unidir_put", Definition::LoopMean, &["aggregate"; 2]);
    let mut all = vec![records("imb").swap_remove(0)];
    for (index, record) in points.iter().cycle().take(4).cloned().enumerate() {
        let Record::Point(mut point) = record else { unreachable!() };
        let mode = if index < 2 { "aggregate" } else { "non_aggregate" };
        point.params.0[0].1 = Param::Label(mode.into());
        let (status, message) = (PointStatus::Skipped, memory.clone());
        point.outcome = Outcome::Failed(Failure { status, message });
        all.push(Record::Point(point));
    }
    let text = render("imb", &all);
    assert_eq!(text.matches("\n         1024 out-of-mem.;").count(), 2, "{text}");
    assert_eq!(text.matches("#    MODE: ").count(), 2, "{text}");
}

#[test]
fn the_head_has_the_lines_of_the_real_program() {
    let mut records = records("imb");
    let Record::Run(run) = &mut records[0] else { unreachable!() };
    let mut machine = Machine::default();
    machine.cpu.arch = "x86_64".into();
    machine.os.kernel = Some("6.18.44-fc-v595".into());
    machine.kernel.build = Some("#1 SMP PREEMPT_DYNAMIC @0".into());
    run.machines = vec![machine];
    let facts = serde_json::json!({"standard": "MPI 3.1", "thread_level": "funneled"});
    run.transport.facts = [("mpi".to_owned(), facts)].into();
    run.config.insert("sizes".into(), "0,1..4194304*2".into());
    run.config.insert("select".into(), serde_json::json!(["imb:pingpong", "IMB:Barrier"]));
    let text = render("imb", &records);
    // From the output of IMB-MPI1 2021.11, but for the level, which it names on request.
    for lines in [
        "# Machine               : x86_64\n# System                : Linux\n\
         # Release               : 6.18.44-fc-v595\n\
         # Version               : #1 SMP PREEMPT_DYNAMIC @0\n\
         # MPI Version           : 3.1\n# MPI Thread Environment: MPI_THREAD_FUNNELED\n\n\n",
        "# Minimum message length in bytes:   0\n\
         # Maximum message length in bytes:   4194304\n#\n\
         # MPI_Datatype                   :   MPI_BYTE \n",
        "\n# List of Benchmarks to run:\n\n# PingPong\n# Barrier\n",
    ] {
        assert!(text.contains(lines), "{text}");
    }
}

#[test]
fn the_last_of_an_odd_number_of_ranks_does_not_wait_beside_two_halves() {
    let mut records = records("imb");
    let Record::Run(run) = &mut records[0] else { unreachable!() };
    run.world.size = 5;
    let text = render("imb", &records);
    assert!(text.contains("# Benchmarking Uniband \n# #processes = 4 \n#--"), "{text}");
    let waiting = "# Benchmarking Bcast \n# #processes = 2 \n# ( 3 additional processes waiting";
    assert!(text.contains(waiting), "{text}");
}

/// The first point of `kernel` at `length_bytes`, left out with the reason `message`.
fn refused(records: &[Record], kernel: &str, length_bytes: u64, message: &str) -> Record {
    let points = records.iter().filter_map(|record| match record {
        Record::Point(point) if point.kernel == kernel => Some(point.clone()),
        _ => None,
    });
    let mut point = points.into_iter().next().unwrap();
    let (name, length) = ("length_bytes".to_owned(), Param::Number(length_bytes));
    point.params.0.retain(|(known, _)| *known != name);
    point.params.0.push((name, length));
    let (status, message) = (PointStatus::Skipped, message.to_owned());
    point.outcome = Outcome::Failed(Failure { status, message });
    Record::Point(point)
}

#[test]
fn the_first_length_without_memory_or_time_has_a_row_and_longer_ones_have_none() {
    let records = records("imb");
    let memory = refusal::of_memory(3 << 30, 1 << 30);
    let time = refusal::of_time(2e9, 1e9);
    let of_mem = " out-of-mem.; needed X=   3.001 GB; use flag \"-mem X\" or MAX_MEM_USAGE>=X \
                  (IMB_mem_info.h)\n";
    let time_out = " time-out.; Time limit (secs_per_sample * msg_sizes_list_len) is over; use \
                    \"-time X\" or SECS_PER_SAMPLE=X (IMB_settings.h) to increase time limit.\n";
    let no_ranks = "needs 4 ranks, there are 2";
    for (kernel, message, length, row) in [
        ("bcast", &*memory, 2048, format!("\n         2048{of_mem}")),
        ("uniband", &*time, 2048, format!("\n         2048{time_out}")),
        ("barrier", &*time, 0, format!("\n      4194304{time_out}")),
        ("bcast", no_ranks, 2048, format!("\n# skipped: 2048 bytes: {no_ranks}\n")),
        // As import has them.
        ("bcast", of_mem.trim(), 2048, format!("\n         2048{of_mem}")),
    ] {
        let points = [length, 4096].map(|length| refused(&records, kernel, length, message));
        let text = render("imb", &[&records[..1], &points].concat());
        assert!(text.contains(&row), "{kernel}: {text}");
        assert_eq!(text.contains("4096"), message == no_ranks, "{kernel}: {text}");
    }
}

#[test]
fn each_group_has_a_row_without_memory_where_each_has_one_with_numbers() {
    let mut records = records("imb");
    let Record::Run(run) = &mut records[0] else { unreachable!() };
    run.labels.insert(ROWS_LABEL.into(), "1".into());
    let memory = refusal::of_memory(8, 4);
    let Record::Point(mut point) = refused(&records, "bcast", 8, &memory) else { unreachable!() };
    point.params.0.push((comet_core::kernel::GROUPS.name.into(), Param::Number(2)));
    let text = render("imb", &[records.swap_remove(0), Record::Point(point)]);
    for group in ["\n\n            0            8 out-of-mem.;", "\n            1            8 out"]
    {
        assert!(text.contains(group), "{text}");
    }
}

#[test]
fn the_head_names_the_mode_and_the_types() {
    let mut records = records("imb");
    let Record::Run(run) = &mut records[0] else { unreachable!() };
    let limits = serde_json::json!({"bytes": 41_943_040, "s": 10.0, "all_lengths_s": 210.0});
    run.config.insert("rules".into(), "imb".into());
    run.config.insert("loop_limits".into(), limits);
    run.config.insert("sizes".into(), "0,1..4194304*2".into());
    let standard = "# note: standard mode: lengths, operations and limits are those of IMB\n";
    assert!(render("imb", &records).contains(standard));
    let Record::Run(run) = &mut records[0] else { unreachable!() };
    run.config.insert("repetitions".into(), 5.into());
    run.config.insert("sizes".into(), "8".into());
    run.config.insert("axis".into(), serde_json::json!({"datatype": "int"}));
    let text = render("imb", &records);
    for line in [
        "# note: optional mode: other lengths, operations than those of IMB\n",
        "# MPI_Datatype                   :   MPI_INT \n\
         # MPI_Datatype for reductions    :   MPI_FLOAT \n",
    ] {
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn a_megabyte_depends_on_the_version() {
    assert_eq!(Imb::NEW.rate(1, 1 << 20, 1.0), 1_048_576.0);
    assert_eq!(Imb::V3_2.rate(1, 1 << 20, 1.0), 1e6);
    assert_eq!(Imb::NEW.rate(2, 0, 1.0), 0.0);
}

#[test]
fn without_time_rates_are_0() {
    assert_eq!([per_s(3.0, 0.0), per_s(3.0, 1.5), Imb::NEW.rate(1, 8, 0.0)], [0.0, 2e6, 0.0]);
}

#[test]
fn a_rule_is_as_long_as_its_columns() {
    assert_eq!(rule(4).len(), 52);
}
