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
        ("IMB-MPI1 Bcast -npmin 0", "IMB-MPI1: '0' for -npmin: it is a number above 0 (write 100)"),
    ] {
        assert_eq!(refusal(line), sentence, "{line}");
    }
}
