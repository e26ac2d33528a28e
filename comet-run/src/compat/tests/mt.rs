//! Command lines of IMB-MT.

use super::*;

/// The words of a run of `names` with `rest` behind the operations.
fn run(names: &str, rest: &str) -> String {
    let names = names.split(' ').map(|name| format!("IMB-MT:{name}"));
    let names = Vec::from_iter(names).join(" ");
    format!("run --accept-limits {names} --rules imb --format imb {rest} --out none")
}

#[test]
fn threads_counts_and_loops_are_options_of_ours() {
    let loops = "--repetitions 1000 --warm-up 100";
    let sizes = "--sizes 4,8,16,32 --loop-limits none";
    let typed = format!("{sizes} --axis datatype=int");
    for (line, expected) in [
        ("IMB-MT PingPongMT", run("PingPongMT", &format!("{loops} {typed}"))),
        (
            "IMB-MT pingpongmt -thread_level multiple -stride 1",
            run(
                "PingPongMT",
                &format!("--axis stride=1 {loops} {typed} --threads 2 --thread-level multiple"),
            ),
        ),
        (
            "IMB-MT BarrierMT -thread_level multiple --threads=4",
            run(
                "BarrierMT",
                &format!("{loops} --loop-limits none --thread-level multiple --threads=4"),
            ),
        ),
        (
            "IMB-MT BcastMT,ReduceMT -barrier special -datatype char -count 8 -repeat 20 -warmup 0",
            run(
                "BcastMT ReduceMT",
                "--sync dissemination --repetitions 20 --warm-up 0 --sizes 8 --loop-limits none \
                 --axis datatype=char --axis element=char",
            ),
        ),
        (
            "IMB-MT UniBandMT -window_size 8 -barrier off -thread_level funneled",
            run(
                "UniBandMT",
                &format!("{loops} --sync none {typed} --thread-level funneled --axis window=8"),
            ),
        ),
    ] {
        let words = with_threads(line).unwrap().words;
        assert!(Cli::try_parse_from(["comet-run".into()].iter().chain(&words)).is_ok(), "{line}");
        // The order of options means nothing.
        let [mut found, mut wanted] = [words, split(&expected)];
        found.sort();
        wanted.sort();
        assert_eq!(found, wanted, "{line}");
    }
    let all = with_threads("IMB-MT").unwrap();
    assert_eq!(all.words.iter().filter(|word| word.starts_with("IMB-MT:")).count(), 10);
    let noted =
        with_threads("IMB-MT BarrierMT -malloc_algo serial -window_size 2 -stride 1 -noheader")
            .unwrap()
            .notes;
    assert_eq!(
        noted,
        [
            "-malloc_algo serial has no effect: each thread makes its buffers itself",
            "-noheader has no effect: the head says what measured",
            "-stride 1 has no effect: no benchmark between partners is named",
            "-window_size 2 has no effect: neither UniBandMT nor BiBandMT is named",
        ]
    );
}

/// The translation of `line` where OpenMP has two threads.
fn with_threads(line: &str) -> Result<Translation, Stop> {
    translate(&split(line), &Surroundings { n_threads: 2, ..Surroundings::default() })
}

#[test]
fn threads_are_those_of_openmp() {
    assert_eq!([Some("3"), Some("4,2"), Some(" 2 ")].map(n_threads), [3, 4, 2]);
    for none in [None, Some("0"), Some("many")] {
        assert!(n_threads(none) > 0);
    }
}

#[test]
fn it_lists_its_benchmarks_and_refuses_what_it_does_not_have() {
    let Err(Stop::Help(listed)) = translated("IMB-MT -list") else { panic!("it measures") };
    assert!(
        listed.starts_with("List of benchmarks:\nIMB-MT:\n    AllReduceMT\n    BarrierMT\n"),
        "{listed}"
    );
    for (line, sentence) in [
        (
            "IMB-MT PingPongMP",
            "IMB-MT: PingPongMP is not supported; did you mean PingPongMT or PingPingMT? (IMB-MT -list shows all)",
        ),
        (
            "IMB-MT -barrier none",
            "IMB-MT: 'none' for -barrier: it is on, off or special (write on)",
        ),
        (
            "IMB-MT -stride far",
            "IMB-MT: 'far' for -stride: it is a number of ranks (write 0 for half)",
        ),
        (
            "IMB-MT PingPongMT --ranks=1",
            "IMB-MT: --ranks=1 is too few for a pair (write --ranks=2, or leave it out)",
        ),
    ] {
        match translated(line) {
            Err(Stop::Wrong(found)) => assert_eq!(found, sentence),
            other => panic!("{line}: {other:?}"),
        }
    }
}
