//! Command lines of IMB-P2P.

use super::*;

/// The words of a run of `names`, with `touch` as the mode of the buffers.
fn run(names: &str, rest: &str) -> String {
    format!("run {names} --rules imb-p2p --format imb {rest}")
}

#[test]
fn lengths_loops_touches_and_pauses_are_options_of_ours() {
    let standard = "--buffers touched:lines --pause 100000us --sizes 0,1..4194304*2";
    let of = |rest: &str| run("IMB-P2P:PingPong", rest);
    for (line, expected) in [
        ("IMB-P2P pingpong", of(standard)),
        (
            "IMB-P2P SENDRECV_REPLACE,Stencil2D Corandom --ranks=4",
            run(
                "IMB-P2P:SendRecv_Replace IMB-P2P:Stencil2D IMB-P2P:Corandom",
                &format!("{standard} --ranks=4"),
            ),
        ),
        (
            "IMB-P2P PingPong -iter 20,7 -pause 0 -msglog 2:4 -msgwr OFF",
            of(
                "--repetitions 20 --loop-limits 7Mi,none,none --buffers touched:received --sizes 4..16*2",
            ),
        ),
        (
            "IMB-P2P PingPong -iter 50 -pause 5 -msglog 3 -msgrd no",
            of("--repetitions 50 --buffers touched:sent --pause 5us --sizes 0,1..8*2"),
        ),
        // Lengths behind those of -msglog are added to them, and those before are gone.
        (
            "IMB-P2P PingPong -pause 0 -msgsz 1 -msglog 0:1 -msgsz 4097 -msgsz 5k -msgwr 0 -msgrd false",
            of("--buffers same --sizes 1..2*2,4097,5120"),
        ),
        (
            "IMB-P2P PingPong -pause 0 -msgsz 2m -msgsz 1G -msglog 0 -msgsz 3M -msgrd TRUE",
            of("--buffers touched:lines --sizes 0,1..1*2,3145728"),
        ),
    ] {
        check(line, &expected);
    }
    let all = translated("IMB-P2P").unwrap();
    assert_eq!(all.words.iter().filter(|word| word.starts_with("IMB-P2P:")).count(), 8);
    assert_eq!(all.notes, [""; 0]);
    let again = translated("IMB-P2P PingPong,Corandom pingpong").unwrap();
    assert_eq!(again.words.iter().filter(|word| word.starts_with("IMB-P2P:")).count(), 2);
    assert_eq!(
        again.notes,
        ["PingPong is measured once, where IMB prints a table for each mention"]
    );
}

#[test]
fn lengths_of_a_file_have_units() {
    let path = std::env::temp_dir().join(format!("comet-p2p-{}", std::process::id()));
    std::fs::write(&path, "# bytes\n0\n3\n2k\n").unwrap();
    let line = format!("IMB-P2P Birandom -msgsz 9 -msglen {} -pause 0", path.display());
    check(&line, &run("IMB-P2P:Birandom", "--buffers touched:lines --sizes 0,3,2048"));
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn it_lists_its_benchmarks_and_refuses_what_it_does_not_have() {
    for line in ["IMB-P2P -list", "IMB-P2P PingPong -l"] {
        let Err(Stop::Help(listed)) = translated(line) else { panic!("{line} measures") };
        assert!(listed.starts_with("# List of Benchmarks to run:\n#\n# PingPong\n"), "{listed}");
        assert!(listed.ends_with("# Stencil3D\n# SendRecv_Replace\n#\n"), "{listed}");
    }
    for (line, sentence) in [
        (
            "IMB-P2P Pingpongs",
            "IMB-P2P: Pingpongs is not supported; did you mean PingPong or PingPing? (IMB-P2P -list shows \
             all)",
        ),
        ("IMB-P2P -msgwr maybe", "IMB-P2P: 'maybe' for -msgwr: it is a switch (write on or off)"),
        (
            "IMB-P2P -iter 10,0",
            "IMB-P2P: '10,0' for -iter: it is N[,VOLUME], both above 0 (write 100000,800)",
        ),
        (
            "IMB-P2P -pause soon",
            "IMB-P2P: 'soon' for -pause: it is a number of microseconds (write 100000)",
        ),
        (
            "IMB-P2P -msglog 4:2",
            "IMB-P2P: '4:2' for -msglog: powers of two are [MIN:]MAX up to 47 (write 22, or 0:22 \
             without a length of 0)",
        ),
        (
            "IMB-P2P -msgsz 8t",
            "IMB-P2P: '8t' for -msgsz: a length is a number of bytes up to 128T, with k, m or g behind \
             (write 64k)",
        ),
        (
            "IMB-P2P -npmin 2",
            "IMB-P2P: -npmin is unknown (IMB-P2P -h shows all options; those of comet-run are written \
             --name=value)",
        ),
        ("IMB-P2P -pause", "IMB-P2P: -pause needs a value (see IMB-P2P -h)"),
    ] {
        assert_eq!(refusal(line), sentence, "{line}");
    }
}
