//! Options of IMB: laws of loops, elements, the order of ranks, and values that it does not have.

use super::*;

#[test]
fn laws_of_loops_of_imb_are_limits_and_multiples() {
    let pingpong = |rest: &str| format!("IMB:PingPong --rules imb --format imb{rest}");
    for (line, expected) in [
        (
            "IMB-MPI1 PingPong -msgsize 8 -iter 20 -iter_policy off",
            pingpong(" --repetitions 20 --hops 1 --loop-limits none,none,210s --sizes 8 --ranks 2"),
        ),
        (
            "IMB-MPI1 Bcast -npmin 2 -iter_policy auto",
            "IMB:Bcast --rules imb --format imb --loop-multiples 4194304,rooted --sizes \
             0,1..4194304*2 --ranks 2"
                .into(),
        ),
        (
            "IMB-MPI1 PingPong -msgsize 8 -iter 1000,80,100 -time 2.5",
            pingpong(" --hops 1 --loop-limits 80Mi,2.5s,52.5s --sizes 8 --ranks 2"),
        ),
        // No barrier is of IMB where none is between calls.
        (
            "IMB-MPI1 Bcast -npmin 2 -sync off -imb_barrier on -msgsize 8",
            "IMB:Bcast --rules imb --format imb --sync none --sizes 8 --ranks 2".into(),
        ),
        (
            "IMB-MPI1 Bcast -npmin 2 -sync off -sync on -msgsize 8",
            "IMB:Bcast --rules imb --format imb --sizes 8 --ranks 2".into(),
        ),
        (
            "IMB-MPI1 Uniband -npmin 2 -msgsize 8 -window_size 32 -imb_barrier on",
            "IMB:Uniband --rules imb --format imb --sync dissemination --axis window=32 --sizes 8 \
             --ranks 2"
                .into(),
        ),
    ] {
        check(line, &format!("run {expected}"));
    }
}

#[test]
fn datatypes_of_imb_are_units_of_lengths() {
    let run = |names: &str, rest: &str| format!("run {names} --rules imb --format imb {rest}");
    for (line, expected) in [
        (
            "IMB-MPI1 Bcast -npmin 2 -msgsize 3,8 -data_type int",
            run("IMB:Bcast", "--unit 4 --sizes 3,8 --axis datatype=int --ranks 2"),
        ),
        (
            "IMB-MPI1 Bcast Reduce -npmin 2 -data_type double -red_data_type char",
            run(
                "IMB:Bcast IMB:Reduce",
                "--unit 8 --sizes 0,1..4194304*2 --axis datatype=double --axis element=char \
                 --ranks 2",
            ),
        ),
        // A list has lengths that are no whole number of floats, the powers of two have none.
        ("IMB-MPI1 Reduce -npmin 2 -msgsize 3", run("IMB:Reduce", "--unit 1 --sizes 3 --ranks 2")),
        ("IMB-MPI1 Reduce -npmin 2", run("IMB:Reduce", "--sizes 0,1..4194304*2 --ranks 2")),
        (
            "IMB-MPI1 Bcast -npmin 2 -msgsize 8 -data_type byte",
            run("IMB:Bcast", "--sizes 8 --ranks 2"),
        ),
    ] {
        check(line, &expected);
    }
    for (line, sizes, note) in [
        (
            "IMB-MPI1 Bcast -npmin 2 -msgsize 8,5000000",
            "8,4194304",
            "lengths end at 4194304 bytes, which 5000000 becomes, unless -msglog says otherwise",
        ),
        (
            "IMB-MPI1 Bcast -npmin 2 -msgsize 8,5000000 -msglog 2",
            "4,4",
            "lengths end at 4 bytes, which 8 becomes, unless -msglog says otherwise",
        ),
        (
            "IMB-MPI1 Reduce -npmin 2 -msgsize 8 -data_type int",
            "8",
            "-data_type int has no effect: only reductions are named",
        ),
        (
            "IMB-MPI1 Reduce -npmin 2 -msgsize 8,64k",
            "8,65536",
            "-msgsize 8,64k is obeyed: IMB takes the numbers in it without k and M",
        ),
    ] {
        let Translation { words, notes } = translated(line).unwrap();
        let at = words.iter().position(|word| word == "--sizes").unwrap();
        assert_eq!((&*words[at + 1], &notes[..]), (sizes, &[note.to_owned()][..]), "{line}");
    }
}

#[test]
fn ranks_in_another_order_are_those_of_one_job() {
    let run = |rest: &str| format!("run IMB:PingPong {rest}");
    check(
        "IMB-MPI1 PingPong Bcast -map 2x3 -msglog 3:3 -zero_size off -msg_pause on",
        &run("IMB:Bcast --rules imb --format imb --pause 100ms --hops 1 --loop-limits \
              40Mi,10s,10s --sizes 8..8*2 --map 2x3 --ranks 6 --axis procs=2..max*2,max"),
    );
    // One column keeps the order.
    check(
        "IMB-MPI1 PingPong -map 4x1 -msg_pause off -msgsize 8",
        &run("--rules imb --format imb --hops 1 --sizes 8 --ranks 2"),
    );
    let sentence = refusal("IMB-MPI1 PingPong -map 2");
    assert!(sentence.contains("'2' for -map: not a grid of ranks PxQ (write 2x4"), "{sentence}");
}

#[test]
fn values_that_imb_does_not_have_are_refused_with_those_that_it_has() {
    for (line, sentence) in [
        (
            "IMB-MPI1 PingPong -iter 10,abc",
            "IMB-MPI1: '10,abc' for -iter: it is N[,VOLUME[,N[,POLICY]]] (write 1000,40)",
        ),
        (
            "IMB-MPI1 PingPong -iter_policy static",
            "IMB-MPI1: 'static' for -iter_policy: operations are limited by length and time, a \
             multiple of the number of ranks, one or the other, or not limited (write dynamic, \
             multiple_np, auto or off)",
        ),
        (
            "IMB-MPI1 Reduce -red_data_type bfloat16",
            "IMB-MPI1: 'bfloat16' for -red_data_type: IMB has it over MPICH alone, and float in its \
             place elsewhere; elements are char, int, float, double (write float)",
        ),
        (
            "IMB-MPI1 Reduce -red_data_type byte",
            "IMB-MPI1: 'byte' for -red_data_type: elements are char, int, float, double (write float)",
        ),
        (
            "IMB-MPI1 Bcast -data_type long",
            "IMB-MPI1: 'long' for -data_type: elements are byte, char, int, float, double (write \
             float)",
        ),
        (
            "IMB-MPI1 Bcast -time 0",
            "IMB-MPI1: '0' for -time: it is a number of seconds, at least 1e-9 (write 10)",
        ),
        ("IMB-MPI1 Bcast -mem inf", "IMB-MPI1: 'inf' for -mem: it is a number of GB (write 1)"),
        (
            "IMB-MPI1 Bcast -iter 10,9999999999",
            "IMB-MPI1: '10,9999999999' for -iter: it is N[,VOLUME[,N[,POLICY]]] (write 1000,40)",
        ),
        ("IMB-MPI1 Bcast -mem none", "IMB-MPI1: 'none' for -mem: it is a number of GB (write 1)"),
        (
            "IMB-MPI1 Bcast -msg_pause 100",
            "IMB-MPI1: '100' for -msg_pause: it is a switch (write on or off)",
        ),
        (
            "IMB-MPI1 Bcast -npmin 0",
            "IMB-MPI1: '0' for -npmin: it is a number above 0 (write 1 or more)",
        ),
    ] {
        assert_eq!(refusal(line), sentence, "{line}");
    }
}

#[test]
fn programs_of_windows_have_lengths_counts_and_ranks_of_their_own() {
    let run = |names: &str, rest: &str| format!("run {names} --rules imb --format imb{rest}");
    let sizes = " --sizes 0,4..4194304*2";
    for (line, expected) in [
        ("IMB-EXT unidir_put", run("IMB-EXT:Unidir_Put", &format!("{sizes} --ranks 2"))),
        (
            "IMB-EXT Window -npmin 4 --ranks=8",
            run("IMB-EXT:Window", &format!("{sizes} --axis procs=4..max*2,max --ranks=8")),
        ),
        // The least length is a float, whatever the powers of two.
        (
            "IMB-EXT Accumulate Bidir_Get -msglog 3:4 -multi 0 --ranks=4",
            run(
                "IMB-EXT:Accumulate IMB-EXT:Bidir_Get",
                " --loop-limits 40Mi,10s,10s --sizes 0,4..16*2 --axis procs=2..max*2,max --axis \
                 groups=max --label imb_multi=0 --ranks=4",
            ),
        ),
        (
            "IMB-EXT Unidir_Get -msglog 1",
            run("IMB-EXT:Unidir_Get", " --loop-limits 40Mi,10s,10s --sizes 0 --ranks 2"),
        ),
        (
            "IMB-RMA Put_local -msglog 3:4 -aggregate_mode non_aggregate",
            run(
                "IMB-RMA:Put_local",
                " --loop-limits 40Mi,10s,10s --sizes 0,8..16*2 --axis aggregate=non_aggregate \
                 --ranks 2",
            ),
        ),
        // A row of one element has no lengths, but the head has.
        (
            "IMB-RMA Fetch_and_op -iter 20",
            run(
                "IMB-RMA:Fetch_and_op",
                " --repetitions 20 --label imb_lengths=0,1..4194304*2 --ranks 2",
            ),
        ),
        (
            "IMB-RMA Unidir_put -iter 500 -root_shift off -sync on",
            run(
                "IMB-RMA:Unidir_put",
                " --repetitions 500 --loop-completed 100 --sizes 0,1..4194304*2 --ranks 2",
            ),
        ),
        (
            "IMB-RMA Unidir_put -iter 1000,20,150",
            run(
                "IMB-RMA:Unidir_put",
                " --loop-completed 150 --loop-limits 20Mi,10s,210s --sizes 0,1..4194304*2 --ranks 2",
            ),
        ),
        (
            "IMB-RMA Unidir_put -iter_policy off",
            run(
                "IMB-RMA:Unidir_put",
                " --loop-completed 1000 --loop-limits none,none,210s --sizes 0,1..4194304*2 --ranks 2",
            ),
        ),
    ] {
        check(line, &expected);
    }
}

#[test]
fn lengths_of_a_list_have_the_unit_of_their_program_and_counts_of_their_own() {
    let path = std::env::temp_dir().join(format!("comet-windows-{}", std::process::id()));
    std::fs::write(&path, "3\n8\n").unwrap();
    for (program, unit, benchmark) in [("IMB-EXT", 4, "Window"), ("IMB-RMA", 1, "Accumulate")] {
        let line = format!("{program} {benchmark} -iter 10 -msglen {} --ranks=2", path.display());
        let words = translated(&line).unwrap().words.join(" ");
        let part = format!("--repetitions 10 --loop-completed 100 --unit {unit} --sizes 3,8");
        assert!(words.contains(&part), "{words}");
    }
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn programs_of_windows_list_their_benchmarks_and_refuse_others() {
    let Err(Stop::Help(listed)) = translated("IMB-RMA -list") else { panic!("-list measures") };
    assert!(listed.starts_with("List of benchmarks:\nIMB-RMA:\n    Accumulate\n"), "{listed}");
    for lines in [
        "    Compare_and_swap\n        Uses MPI_INT data type\n    Exchange_get\n",
        "    Get_all_local (non-default)\n    Get_local (non-default)\n",
        "    Truly_passive_put\n        The benchmark measures execution time of MPI_Put for 2 cases:\n        1) ",
    ] {
        assert!(listed.contains(lines), "{listed}");
    }
    let all = translated("IMB-RMA").unwrap();
    assert!(!all.words.contains(&"IMB-RMA:Get_local".into()), "{all:?}");
    assert!(all.words.contains(&"IMB-RMA:Truly_passive_put".into()), "{all:?}");
    for line in ["IMB-RMA", "IMB-EXT", "IMB-RMA Put_local -exclude truly_passive_put"] {
        assert_eq!(translated(line).unwrap().notes, [""; 0], "{line}");
    }
    let notes = translated("IMB-RMA One_put_all -aggregate_mode aggregate -root_shift on").unwrap();
    assert_eq!(
        notes.notes,
        [
            "-root_shift on has no effect: no operation has a root",
            "-aggregate_mode aggregate has no effect: transfers of what is named end in one way"
        ]
    );
    for (line, part) in [
        ("IMB-EXT Unidir_Puts", "IMB-EXT: Unidir_Puts is not supported; did you mean Unidir_Put"),
        ("IMB-RMA -off_cache 1", "-off_cache 1 is not supported: all transfers of a window"),
        ("IMB-EXT -data_type int", "IMB-EXT: -data_type is unknown"),
        ("IMB-MPI1 -aggregate_mode multi", "IMB-MPI1: -aggregate_mode is unknown"),
        (
            "IMB-RMA -aggregate_mode both",
            "'both' for -aggregate_mode: it is aggregate, non_aggregate or multi, which is both \
             (write multi)",
        ),
        ("IMB-EXT Unidir_Put --ranks=1", "IMB-EXT: --ranks=1 is too few for a pair"),
    ] {
        let sentence = refusal(line);
        assert!(sentence.contains(part), "{line}: {sentence}");
    }
}

#[test]
fn programs_of_files_have_counts_ranks_and_a_folder_of_their_own() {
    let run = |names: &str, rest: &str| format!("run {names} --rules imb --format imb{rest}");
    let (sizes, ranks) = (" --sizes 0,1..4194304*2", " --axis procs=1..max*2,max");
    for (line, expected) in [
        (
            "IMB-IO s_write_indv --io-dir=. --ranks=4",
            run("IMB-IO:S_Write_Indv", &format!("{sizes}{ranks} --io-dir=. --ranks=4")),
        ),
        (
            "IMB-IO C_Read_Expl P_IWrite_Priv -iter 50,16,10 -msglog 24 -multi 0 --io-dir=.",
            run(
                "IMB-IO:C_Read_Expl IMB-IO:P_IWrite_Priv",
                &format!(
                    " --repetitions 50 --loop-completed 10 --loop-limits 16Mi,10s,230s --sizes \
                     0,1..16777216*2{ranks} --axis groups=max --label imb_multi=0 --io-dir=."
                ),
            ),
        ),
        (
            "IMB-IO P_Write_Expl -npmin 2 -aggregate_mode non_aggregate --io-dir=. --ranks=2",
            run(
                "IMB-IO:P_Write_Expl",
                &format!("{sizes} --axis aggregate=non_aggregate --io-dir=. --ranks=2"),
            ),
        ),
        (
            "IMB-IO Open_Close --io-dir=. --ranks=2",
            run(
                "IMB-IO:Open_Close",
                &format!(" --label imb_lengths=0,1..4194304*2{ranks} --io-dir=. --ranks=2"),
            ),
        ),
    ] {
        check(line, &expected);
    }
    assert_eq!(refusal("IMB-IO"), "IMB-IO: no folder is named for its files (add --io-dir=FOLDER)");
    let noted = translated("IMB-IO P_Read_Expl -aggregate_mode aggregate -off_cache 1 --io-dir=.");
    let notes = noted.unwrap().notes;
    assert_eq!(notes.len(), 2, "{notes:?}");
    for (line, part) in [
        (
            "IMB-IO S_Writes_Indv --io-dir=.",
            "S_Writes_Indv is not supported; did you mean S_Write_Indv",
        ),
        ("IMB-IO -root_shift on --io-dir=.", "IMB-IO: -root_shift is unknown"),
    ] {
        let sentence = refusal(line);
        assert!(sentence.contains(part), "{line}: {sentence}");
    }
}

#[test]
fn a_benchmark_that_is_named_again_is_measured_once_and_noted() {
    let once = translated("IMB-MPI1 PingPing -msgsize 8").unwrap();
    let again = translated("IMB-MPI1 PingPing PingPing -include pingping -msgsize 8").unwrap();
    assert_eq!(again.words, once.words);
    let note = "PingPing is measured once, where IMB prints a table for each mention";
    assert_eq!((once.notes, again.notes), (vec![], vec![note.to_owned()]));
}

#[test]
fn collectives_in_flight_have_the_options_of_blocked_ones_but_for_types() {
    let run = |names: &str, rest: &str| format!("run {names} --rules imb --format imb{rest}");
    for (line, expected) in [
        (
            "IMB-NBC ibcast -npmin 4 --ranks=4",
            run("IMB-NBC:Ibcast", " --sizes 0,1..4194304*2 --ranks=4"),
        ),
        (
            "IMB-NBC Ireduce_pure Ibcast -root_shift on -npmin 2 -msglog 3 --ranks=2",
            run(
                "IMB-NBC:Ireduce_pure IMB-NBC:Ibcast",
                " --loop-limits 40Mi,10s,20s --sizes 0,1..8*2 --axis root=rotate --ranks=2",
            ),
        ),
        (
            "IMB-NBC Ibarrier -npmin 2 --ranks=2",
            run("IMB-NBC:Ibarrier", " --label imb_lengths=0,1..4194304*2 --ranks=2"),
        ),
    ] {
        check(line, &expected);
    }
    let notes = translated("IMB-NBC Iallreduce Ibarrier -root_shift on").unwrap().notes;
    assert_eq!(notes, ["-root_shift on has no effect: no root is there"]);
    let Err(Stop::Help(listed)) = translated("IMB-NBC -list") else { panic!("-list measures") };
    let start =
        "List of benchmarks:\nIMB-NBC:\n    Iallgather\n    Iallgather_pure (non-default)\n";
    assert!(listed.starts_with(start), "{listed}");
    for (line, part) in [
        ("IMB-NBC Ibcasts", "IMB-NBC: Ibcasts is not supported; did you mean Ibcast"),
        ("IMB-NBC -data_type int", "IMB-NBC: -data_type is unknown"),
        ("IMB-NBC -msgsize 8", "IMB-NBC: -msgsize is unknown"),
        ("IMB-NBC -aggregate_mode multi", "IMB-NBC: -aggregate_mode is unknown"),
    ] {
        let sentence = refusal(line);
        assert!(sentence.contains(part), "{line}: {sentence}");
    }
}

#[test]
fn benchmarks_of_all_ranks_run_on_more_and_more_of_them() {
    let translate = |line: &str, n_ranks| {
        translate(
            &split(line),
            &Surroundings { is_launched: true, n_ranks, out: None, n_threads: 2 },
        )
    };
    for (line, n_ranks, procs) in [
        ("IMB-MPI1 Bcast Barrier", Some(8), Some("procs=2..max*2,max")),
        ("IMB-MPI1 Barrier -npmin 4", Some(8), Some("procs=4..max*2,max")),
        ("IMB-MPI1 Barrier -npmin 4", None, Some("procs=4..max*2,max")),
        ("IMB-MPI1 Barrier -npmin 8", Some(8), None),
        ("IMB-MPI1 PingPong -npmin 2", Some(8), None),
        ("IMB-MPI1 PingPong Barrier -npmin 8", Some(8), None),
        ("IMB-MPI1 PingPong Barrier", Some(8), Some("procs=2..max*2,max")),
        ("IMB-MPI1 PingPong -multi 0", Some(8), Some("procs=2")),
        ("IMB-MPI1 Bcast -multi 1 -sync off", Some(8), Some("procs=2..max*2,max")),
        // Two halves of the ranks are as long as each other.
        ("IMB-MPI1 Uniband Biband", Some(3), None),
        ("IMB-MPI1 Biband", Some(7), Some("procs=2..max*2,max")),
        ("IMB-MPI1 Biband -npmin 3", Some(8), Some("procs=4..max*2,max")),
        ("IMB-MPI1 Biband Bcast", Some(7), Some("procs=2..max*2,max")),
    ] {
        let Translation { words, notes } = translate(line, n_ranks).unwrap();
        let axis = words.iter().position(|word| word == "--axis").map(|at| &*words[at + 1]);
        assert_eq!((axis, &notes[..]), (procs, &[] as &[String]), "{line}");
    }
    let refused = "IMB-MPI1: -npmin 2 asks for runs on fewer than all ranks, which pairs do not \
                   need (write -npmin 4, or name PingPong in a command of its own)";
    assert_eq!(refusal("IMB-MPI1 PingPong Barrier -npmin 2 --ranks=4"), refused);
    let note = "collectives run on all ranks alone beside PingPong, as with -npmin of so many";
    assert_eq!(translated("IMB-MPI1 PingPong Barrier --ranks=4").unwrap().notes, [note]);
    let alone = "osu_bw: 1 process was started, too few for a pair (start 2)";
    assert_eq!(translate("osu_bw", Some(1)), Err(Stop::Wrong(alone.into())));
}
