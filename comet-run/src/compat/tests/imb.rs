//! Options of IMB: laws of loops, elements, the order of ranks, and values that it does not have.

use super::*;

#[test]
fn command_lines_become_ours_or_are_refused() {
    check_rows(include_str!("imb.txt"));
}

#[test]
fn lengths_that_are_not_as_written_are_noted() {
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
fn programs_of_windows_list_their_benchmarks() {
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
}

#[test]
fn programs_of_files_need_a_folder() {
    assert_eq!(refusal("IMB-IO"), "IMB-IO: no folder is named for its files (add --io-dir=FOLDER)");
    let noted = translated("IMB-IO P_Read_Expl -aggregate_mode aggregate -off_cache 1 --io-dir=.");
    let notes = noted.unwrap().notes;
    assert_eq!(notes.len(), 2, "{notes:?}");
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
fn collectives_in_flight_note_options_without_an_effect_and_are_listed() {
    let notes = translated("IMB-NBC Iallreduce Ibarrier -root_shift on").unwrap().notes;
    assert_eq!(notes, ["-root_shift on has no effect: no root is there"]);
    let Err(Stop::Help(listed)) = translated("IMB-NBC -list") else { panic!("-list measures") };
    let start =
        "List of benchmarks:\nIMB-NBC:\n    Iallgather\n    Iallgather_pure (non-default)\n";
    assert!(listed.starts_with(start), "{listed}");
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
