//! Command lines of IMB-MT.

use super::*;

#[test]
fn command_lines_become_ours_or_are_refused() {
    for (line, expected) in rows(include_str!("mt.txt")) {
        if !expected.starts_with("run ") {
            assert_eq!(refusal(line), expected);
            continue;
        }
        let words = with_threads(line).unwrap().words;
        assert!(Cli::try_parse_from(["comet-run".into()].iter().chain(&words)).is_ok(), "{line}");
        // The order of options means nothing.
        let [mut found, mut wanted] =
            [words, split(&format!("{expected} --accept-limits --out none"))];
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
fn it_lists_its_benchmarks() {
    let Err(Stop::Help(listed)) = translated("IMB-MT -list") else { panic!("it measures") };
    assert!(
        listed.starts_with("List of benchmarks:\nIMB-MT:\n    AllReduceMT\n    BarrierMT\n"),
        "{listed}"
    );
}
