//! Foreign command lines and their translations.

use super::*;
use crate::catalogue;
use crate::cli::Cli;
use clap::Parser as _;
use comet_report::suite::{imb as imb_suite, osu as osu_suite};

mod halo;
mod imb;
mod mt;
mod p2p;
mod persistent;
mod remote;
mod unblocked;

fn split(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// Translation of `line` without a launcher.
fn translated(line: &str) -> Result<Translation, Stop> {
    translate(&split(line), &Surroundings::default())
}

/// Holds the translation of `line` against `expected`, which `--out none` follows, with the exit code
/// of the original.
fn check(line: &str, expected: &str) {
    let Translation { words, notes } = translated(line).unwrap();
    let expected = expected.replacen("run", "run --accept-limits", 1) + " --out none";
    assert_eq!((words.join(" "), notes), (expected, vec![]), "{line}");
    assert!(Cli::try_parse_from(["comet-run".into()].iter().chain(&words)).is_ok(), "{line}");
}

/// The sentence by which `line` is refused.
fn refusal(line: &str) -> String {
    let Err(Stop::Wrong(sentence)) = translated(line) else { panic!("{line} is not refused") };
    sentence
}

/// Command lines in `text`, each with the line below it: the words that it becomes, or the sentence by
/// which it is refused.
fn rows(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    std::iter::from_fn(move || Some((lines.next()?, lines.next()?.trim_start())))
}

/// Checks each of the [`rows`] of `text`. ` ...` stands for any end of a sentence, `... ` for any start.
fn check_rows(text: &str) {
    for (line, expected) in rows(text) {
        if expected.starts_with("run ") {
            check(line, expected);
            continue;
        }
        let sentence = refusal(line);
        let part = expected.trim_start_matches("... ").trim_end_matches(" ...");
        let is_it = match (expected.starts_with("... "), expected.ends_with(" ...")) {
            (true, _) => sentence.contains(part),
            (false, true) => sentence.starts_with(part),
            (false, false) => sentence == part,
        };
        assert!(is_it, "{line}: {sentence}");
    }
}

#[test]
fn a_foreign_command_line_starts_with_its_program() {
    for (line, expected) in [
        ("comet-run osu_latency -m 8", Some("osu_latency -m 8")),
        ("bin/osu_bw -c", Some("osu_bw -c")),
        ("/opt/IMB-MPI1 PingPong", Some("IMB-MPI1 PingPong")),
        ("comet-run echo -n 2", None),
        ("comet-run osu/bw", None),
        ("comet-run show osu_latency.jsonl", None),
        ("comet-run", None),
    ] {
        let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        assert_eq!(foreign(&args), expected.map(split), "{line}");
    }
}

#[test]
fn a_command_line_of_osu_becomes_one_of_ours() {
    check_rows(include_str!("tests/osu.txt"));
    let line = translated("osu_latency -m 1:8 -z37,5").unwrap().words.join(" ");
    assert!(line.contains("osu_columns=p37,p5"), "{line}");
    let words = translated("osu_latency -m 8 --out r.jsonl").unwrap().words;
    assert_eq!(words.last().map(String::as_str), Some("--out=r.jsonl"));
}

#[test]
fn neighbours_of_osu_are_those_of_a_file() {
    let path = std::env::temp_dir().join(format!("comet-graph-{}", std::process::id()));
    std::fs::write(&path, "# Source, Destination\n0,1\n1, 0\n").unwrap();
    let path = path.display();
    let expected = format!("--rules osu --format osu --graph {path} --sizes 1..8*2");
    check(
        &format!("osu_neighbor_alltoallw -m 8 -N graph:{path}"),
        &format!("run OSU:osu_neighbor_alltoallw {expected}"),
    );
    std::fs::remove_file(path.to_string()).unwrap();
}

#[test]
fn lengths_and_benchmarks_of_imb_are_those_that_are_named() {
    let path = std::env::temp_dir().join(format!("comet-lengths-{}", std::process::id()));
    std::fs::write(&path, "# lengths\n3\n\n1k\n2 M\n").unwrap();
    let of_file = format!("IMB-MPI1 PingPong -msglen {}", path.display());
    let options = "--rules imb --format imb --hops 1 --sizes 3,1024,2097152 --ranks 2";
    check(&of_file, &format!("run IMB:PingPong {options}"));
    std::fs::remove_file(&path).unwrap();
    let Err(Stop::Help(listed)) = translated("IMB-MPI1 -list") else { panic!("-list measures") };
    assert!(listed.starts_with("List of benchmarks:\nIMB-MPI1:\n    Allgather\n"), "{listed}");
    assert!(listed.ends_with("    Sendrecv\n    Uniband (non-default)\n"), "{listed}");
    let included = translated("IMB-MPI1 -include Uniband,Bcast -npmin 2").unwrap();
    let names = included.words.iter().filter(|word| word.starts_with("IMB:")).collect::<Vec<_>>();
    assert_eq!((&names[..2], names.len()), (&[&"IMB:Uniband".into(), &"IMB:Bcast".into()][..], 20));
    let all = translated("IMB-MPI1 -exclude Barrier -npmin 2").unwrap();
    assert!(all.words[2..].starts_with(&["IMB:PingPong".into(), "IMB:PingPing".into()]));
    assert!(!all.words.contains(&"IMB:Uniband".into()) && all.notes.is_empty(), "{all:?}");
}

#[test]
fn an_option_without_an_effect_is_noted_unless_it_asks_for_what_is_done() {
    for (line, note) in [
        ("osu_latency -u 5", "-u 5 has no effect: "),
        ("IMB-MPI1 Bcast -red_data_type int", "-red_data_type int has no effect: "),
        ("IMB-MPI1 PingPong -window_size 8", "-window_size 8 has no effect: neither Uniband"),
    ] {
        let notes = translated(line).unwrap().notes;
        assert!(notes.iter().any(|found| found.starts_with(note)), "{line}: {notes:?}");
    }
    for line in [
        "osu_latency H H",
        "osu_latency -T mpi_char",
        "osu_bw -b single",
        "IMB-MPI1 PingPong -sync on",
    ] {
        assert_eq!(translated(line).unwrap().notes, [""; 0], "{line}");
    }
}

#[test]
fn what_cannot_be_done_is_refused_with_a_reason_and_a_remedy() {
    check_rows(include_str!("tests/refused.txt"));
}

#[test]
fn reductions_have_elements_and_rooted_collectives_a_root() {
    let words = |line: &str| translated(line).unwrap().words.join(" ");
    let check = |line: &str, part: &str| {
        let words = words(line);
        assert!(words.contains(part), "{line}: {words}");
    };
    check("IMB-MPI1 Allreduce -red_data_type int", "--axis element=int");
    check("IMB-MPI1 Reduce -root_shift on", "--axis root=rotate");
    check("osu_reduce_scatter -m 4:64", "--axis element=char");
    let notes = translated("IMB-MPI1 Alltoall -root_shift on -red_data_type int").unwrap().notes;
    assert_eq!(
        notes[..2],
        [
            "-red_data_type int has no effect: no reduction is named",
            "-root_shift on has no effect: no root is there"
        ]
    );
}

#[test]
fn lengths_and_pairs_of_osu_follow_the_ranks() {
    let on = |line: &str, n_ranks| {
        let around =
            Surroundings { is_launched: true, n_ranks: Some(n_ranks), out: None, n_threads: 2 };
        let Translation { words, notes } = translate(&split(line), &around).unwrap();
        (words.join(" "), notes)
    };
    let check = |line: &str, n_ranks, part: &str, expected: &[&str]| {
        let (words, notes) = on(line, n_ranks);
        assert!(words.contains(part), "{line}: {words}");
        assert_eq!(notes, expected, "{line}");
    };
    // 512 MiB hold a part of 1 MiB for each of 512 ranks.
    check("osu_gather", 512, "--sizes 1..1048576*2", &[]);
    let note = "lengths end at 524288 bytes: 536870912 bytes of memory hold no more (raise -M)";
    check("osu_alltoallv", 1024, "--sizes 1..524288*2", &[note]);
    check("osu_allreduce", 1024, "--sizes 1..1048576*2", &[]);
    let notes = [
        "-M 1000 is too low: 1048576 in its place",
        "lengths end at 262144 bytes: 1048576 bytes of memory hold no more (raise -M)",
    ];
    check("osu_gather -M 1000", 4, "--sizes 1..262144*2", &notes);
    check("osu_bcast -M 1000", 4, "--sizes 1..1048576*2", &notes[..1]);
    let note = "-p 1 is obeyed: OSU 7.4 measures 2 pairs whatever it says";
    check("osu_mbw_mr -p 1", 4, "--axis procs=2", &[note]);
    check("osu_mbw_mr -p 1", 3, "--axis procs=2", &[]);
    let (words, notes) = on("osu_mbw_mr -p 2", 4);
    assert!(!words.contains("procs") && notes.is_empty(), "{words}");
}

#[test]
fn a_launcher_decides_how_many_ranks_there_are() {
    let around = Surroundings {
        is_launched: true,
        n_ranks: None,
        out: Some("r.jsonl".into()),
        n_threads: 2,
    };
    for line in ["osu_latency -m 8", "IMB-MPI1 PingPong -npmin 2"] {
        let words = translate(&split(line), &around).unwrap().words;
        assert!(!words.contains(&"--ranks".to_owned()), "{words:?}");
        assert!(words.ends_with(&["--out".into(), "r.jsonl".into()]), "{words:?}");
    }
}

#[test]
fn help_names_what_is_understood() {
    for (line, option) in
        [("osu_latency -h", "-m, --message-size [MIN:][MAX]"), ("IMB-MPI1 -h", "-msglog")]
    {
        let Err(Stop::Help(text)) = translated(line) else { panic!("no help for {line}") };
        assert!(text.contains(option) && text.contains("--out FILE"), "{text}");
    }
    let Err(Stop::Help(text)) = translated("osu_allreduce -v") else { panic!("no version") };
    let ours = format!("comet-run {}, in the layout of OSU 7.4", env!("CARGO_PKG_VERSION"));
    assert_eq!(text, format!("# OSU MPI Allreduce Latency Test v7.4\n# note: {ours}\n"));
}

#[test]
fn every_program_here_is_an_alias_of_a_kernel() {
    let infos = catalogue::infos();
    for suite in [&osu_suite::SUITE, &imb_suite::SUITE, &imb_suite::EXT, &imb_suite::RMA] {
        for benchmark in suite.benchmarks {
            let info = infos.iter().find(|info| info.id() == benchmark.kernel);
            let alias = format!("{}:{}", suite.name, benchmark.name);
            assert!(info.expect("a kernel").aliases.contains(&&*alias), "{alias}");
        }
    }
}
