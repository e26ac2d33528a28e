//! Foreign command lines and their translations.

use super::*;
use crate::catalogue;
use crate::cli::Cli;
use clap::Parser as _;
use comet_report::suite::{imb as imb_suite, osu as osu_suite};

fn split(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn translated(line: &str) -> Translation {
    translate(&split(line), &Surroundings::default()).unwrap()
}

/// Translation of `line` without a launcher.
fn check(line: &str, expected: &str) {
    let Translation { words, notes } = translated(line);
    assert_eq!((words.join(" ").as_str(), notes), (expected, vec![]), "{line}");
    assert!(Cli::try_parse_from(["comet-run".into()].iter().chain(&words)).is_ok(), "{line}");
}

fn check_wrong(line: &str, sentence: &str) {
    let stop = translate(&split(line), &Surroundings::default()).unwrap_err();
    assert_eq!(stop, Stop::Wrong(sentence.into()), "{line}");
}

fn check_note(line: &str, note: &str) {
    let notes = translated(line).notes;
    assert!(notes.iter().any(|found| found.starts_with(note)), "{line}: {notes:?}");
}

const LATENCY: &str = "run OSU:osu_latency --rules osu --format osu --hops 1 --ranks 2";

#[test]
fn a_foreign_command_line_starts_with_its_program() {
    let check = |line: &str, expected: Option<&str>| {
        let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        assert_eq!(foreign(&args), expected.map(split), "{line}");
    };
    check("comet-run osu_latency -m 8", Some("osu_latency -m 8"));
    check("bin/osu_bw -c", Some("osu_bw -c"));
    check("/opt/IMB-MPI1 PingPong", Some("IMB-MPI1 PingPong"));
    check("comet-run echo -n 2", None);
    check("comet-run osu/bw", None);
    check("comet-run show osu_latency.jsonl", None);
    check("comet-run", None);
}

#[test]
fn latency_is_a_sweep_between_two_ranks() {
    check("osu_latency", &format!("{LATENCY} --sizes 1..4194304*2 --out none"));
    check("osu_latency -m 8", &format!("{LATENCY} --sizes 1..8*2 --out none"));
    check("osu_latency -m 8:64", &format!("{LATENCY} --sizes 8..64*2 --out none"));
    let counted = format!("{LATENCY} --sizes 1..1*2 --repetitions 1000 --samples 1 --out none");
    check("osu_latency -m1 -i1000", &counted);
}

#[test]
fn columns_on_request_are_a_label() {
    let columns = format!(
        "{LATENCY} --sizes 0,1..8*2 --repetitions 1 --samples 50 \
         --label osu_columns=validation,p50,p90,p99 --out none"
    );
    check("osu_latency -m 0:8 -c -z -i 50", &columns);
    let some = columns.replace("validation,p50,p90,p99", "p75");
    check("osu_latency -m 0:8 -z75 -i 50", &some);
}

#[test]
fn collectives_have_as_many_ranks_as_there_are() {
    check(
        "osu_bcast -m 4:64 -i 100 -c -f",
        "run OSU:osu_bcast --rules osu --format osu --sizes 4..64*2 --repetitions 1 \
         --samples 100 --label osu_columns=full,validation --out none",
    );
    check(
        "osu_bcast -m 64 --ranks=4",
        "run OSU:osu_bcast --rules osu --format osu --sizes 1..64*2 --ranks=4 --out none",
    );
    check(
        "osu_barrier -x 10 -i 20",
        "run OSU:osu_barrier --rules osu --format osu --warm-up 10 --repetitions 1 --samples 20 \
         --out none",
    );
    check("osu_barrier", "run OSU:osu_barrier --rules osu --format osu --out none");
}

#[test]
fn bandwidth_has_windows_of_64() {
    check(
        "osu_bw -m 8 -W 64",
        "run OSU:osu_bw --rules osu --format osu --ranks 2 --sizes 1..8*2 --out none",
    );
    let wrong = "osu_bw: -W 32 is not supported: windows have 64 messages (leave it out)";
    check_wrong("osu_bw -W 32", wrong);
}

#[test]
fn what_has_no_effect_is_noted() {
    check_note("osu_latency D D", "D D has no effect: buffers are in host memory");
    check_note("osu_latency -d cuda", "-d cuda has no effect: buffers are in host memory");
    check_note("osu_latency -u 5", "-u 5 has no effect: ");
    check_note("IMB-MPI1 Bcast -red_data_type int", "-red_data_type int has no effect: ");
    check_note("IMB-MPI1 PingPong -time 5", "-time 5 has no effect: a length takes at most 10 s");
}

#[test]
fn an_option_that_would_change_the_operation_is_refused() {
    let check = |line: &str, words: &str| {
        let stop = translate(&split(line), &Surroundings::default());
        let Err(Stop::Wrong(sentence)) = stop else { panic!("{line} is not refused") };
        assert!(sentence.contains(words), "{sentence}");
    };
    check("osu_latency -T mpi_int", "-T mpi_int is not supported: messages are MPI_CHAR");
    check("osu_bw -b multiple", "-b multiple is not supported: messages are sent from one buffer");
    check("osu_bcast --ddt=cont", "-D cont is not supported: messages are contiguous");
    check("IMB-MPI1 Bcast -sync off", "-sync off is not supported: a barrier is behind");
    check("IMB-MPI1 PingPong -off_cache 2.5", "one buffer is sent again and again");
    for line in ["osu_latency -T mpi_char", "osu_bw -b single", "IMB-MPI1 PingPong -sync on"] {
        assert_eq!(translated(line).notes, [""; 0], "{line}");
    }
}

#[test]
fn long_options_are_the_short_ones() {
    for line in [
        "osu_latency -m 1:8 -i 10 -c -z50",
        "osu_latency --message-size 1:8 --iterations 10 --validation --tail-lat=50",
        "osu_latency --message-size=1:8 --iterations=10 --validation --tail-lat=50",
    ] {
        let columns = "--label osu_columns=validation,p50";
        let rest = format!("--sizes 1..8*2 --repetitions 1 --samples 10 {columns} --out none");
        check(line, &format!("{LATENCY} {rest}"));
    }
    let bcast = "run OSU:osu_bcast --rules osu --format osu --mem 1000 --sizes 4..1048576*2";
    check("osu_bcast -m 4: --mem-limit 1000", &format!("{bcast} --out none"));
}

#[test]
fn any_percentile_is_a_column() {
    let line = translated("osu_latency -m 1:8 -z37,5").words.join(" ");
    assert!(line.contains("osu_columns=p37,p5"), "{line}");
    let wrong = "osu_latency: '0' for -z: percentiles lie between 1 and 99 (write -z50,99)";
    check_wrong("osu_latency -z0", wrong);
}

#[test]
fn lengths_of_imb_come_in_three_ways() {
    let run = "run IMB:PingPong --rules imb --format imb --hops 1";
    let end = "--ranks 2 --out none";
    let expected = format!("{run} --sizes 3,1024 {end}");
    check("IMB-MPI1 PingPong -msgsize 3,1024", &expected);
    let path = std::env::temp_dir().join(format!("comet-lengths-{}", std::process::id()));
    std::fs::write(&path, "# lengths\n3\n\n1k\n2 M\n").unwrap();
    let line = format!("IMB-MPI1 PingPong -msglen {}", path.display());
    check(&line, &format!("{run} --sizes 3,1024,2097152 {end}"));
    std::fs::remove_file(&path).unwrap();
    let line = "IMB-MPI1 PingPong -msglog 2 -zero_size off";
    check(line, &format!("{run} --sizes 1..4*2 {end}"));
}

#[test]
fn a_thread_level_is_that_of_mpi() {
    let run = "run IMB:Barrier --rules imb --format imb";
    let check_level = |level: &str, word: &str| {
        let line = format!("IMB-MPI1 Barrier -npmin 2 -thread_level {level}");
        check(&line, &format!("{run}{word} --ranks 2 --out none"));
    };
    check_level("single", "");
    check_level("multiple", " --thread-level multiple");
}

#[test]
fn benchmarks_can_be_left_out_and_added() {
    let stop = translate(&split("IMB-MPI1 -list"), &Surroundings::default());
    assert_eq!(stop, Err(Stop::Help("PingPong\nBcast\nBarrier\n".into())));
    let line = "IMB-MPI1 Barrier -include PingPong,Bcast -exclude bcast -npmin 2 -msglog 0";
    let sizes = "--hops 1 --sizes 0,1..1*2 --ranks 2 --out none";
    let run = "run IMB:Barrier IMB:PingPong --rules imb --format imb";
    check(line, &format!("{run} {sizes}"));
    let all = translated("IMB-MPI1 -exclude Barrier -npmin 2");
    assert!(all.words.starts_with(&["run".into(), "IMB:PingPong".into(), "IMB:Bcast".into()]));
    assert!(all.notes[0].starts_with("benchmarks without a kernel are left out: "), "{all:?}");
}

#[test]
fn what_is_not_here_is_refused_with_what_is() {
    check_wrong(
        "osu_alltoall -m 8",
        "osu_alltoall is not here, but osu_latency, osu_bw, osu_bcast and osu_barrier are \
         (comet-run list shows all kernels)",
    );
    check_wrong(
        "osu_latency -G png",
        "osu_latency: -G png is not supported: comet-run plot draws a result file, which --out \
         names (leave it out)",
    );
    check_wrong(
        "osu_barrier -k",
        "osu_barrier: -k is unknown, but -m -i -x -f -z -M -u -d -a -G -P -I -v are known, and \
         options of comet-run as --name=value (see osu_barrier -h)",
    );
    check_wrong("osu_latency -m", "osu_latency: -m needs a value (see osu_latency -h)");
    check_wrong("osu_latency X", "osu_latency: 'X' is no place of a buffer (write D or H)");
    check_wrong("osu_latency -i 0", "osu_latency: '0' for -i: it is a number above 0 (write 100)");
    check_wrong(
        "osu_latency -m 9:8",
        "osu_latency: '9:8' for -m: lengths are [MIN:][MAX] in bytes (write 1:4194304)",
    );
    check_wrong(
        "IMB-MPI1 Alltoall",
        "IMB-MPI1: Alltoall is not here, but PingPong, Bcast and Barrier are (comet-run list \
         shows all kernels)",
    );
    check_wrong("IMB-RMA", "IMB-RMA is not here, but IMB-MPI1 is (write IMB-MPI1)");
}

#[test]
fn imb_runs_its_benchmarks_by_its_rules() {
    check(
        "IMB-MPI1 pingpong -npmin 2 -msglog 0:22 -iter 1000 -time 10 -mem 1 -multi -1",
        "run IMB:PingPong --rules imb --format imb --mem 1073741824 --hops 1 --sizes \
         0,1..4194304*2 --ranks 2 --out none",
    );
    check(
        "IMB-MPI1 Bcast Barrier -msglog 3:5 -iter 50 -npmin 4",
        "run IMB:Bcast IMB:Barrier --rules imb --format imb --repetitions 50 --sizes 0,8..32*2 \
         --ranks 4 --out none",
    );
}

#[test]
fn a_name_that_stands_for_another_operation_is_refused() {
    let check = |line: &str, words: &str| {
        let stop = translate(&split(line), &Surroundings::default());
        let Err(Stop::Wrong(sentence)) = stop else { panic!("{line} is not refused") };
        assert!(sentence.contains(words) && sentence.contains("is not here ("), "{sentence}");
    };
    check("IMB-MPI1 Sendrecv -npmin 4", "comet-run exchange");
    check("IMB-MPI1 PingPong pingping", "comet-run exchange");
    check("IMB-MPI1 Allreduce", "comet-run reduction");
    check("osu_allreduce -m 8", "comet-run reduction");
}

#[test]
fn benchmarks_of_all_ranks_run_on_more_and_more_of_them() {
    let check = |line: &str, n_ranks: Option<u64>, procs: Option<&str>| {
        let around = Surroundings { is_launched: true, n_ranks, out: None };
        let Translation { words, notes } = translate(&split(line), &around).unwrap();
        let axis = words.iter().position(|word| word == "--axis").map(|at| &*words[at + 1]);
        assert_eq!((axis, &notes[..]), (procs, &[] as &[String]), "{line}");
    };
    check("IMB-MPI1 Bcast Barrier", Some(8), Some("procs=2..max*2,max"));
    check("IMB-MPI1 Barrier -npmin 4", Some(8), Some("procs=4..max*2,max"));
    check("IMB-MPI1 Barrier -npmin 4", None, Some("procs=4..max*2,max"));
    check("IMB-MPI1 Barrier -npmin 8", Some(8), None);
    check("IMB-MPI1 PingPong -npmin 2", Some(8), None);
    check("IMB-MPI1 PingPong Barrier -npmin 8", Some(8), None);
    let around = Surroundings { is_launched: true, n_ranks: Some(4), out: None };
    let translate = |line: &str| translate(&split(line), &around);
    let refused = "IMB-MPI1: -npmin 2 asks for runs on fewer than all ranks, which pairs do not \
                   need (write -npmin 4, or name PingPong in a command of its own)";
    let stop = translate("IMB-MPI1 PingPong Barrier -npmin 2").unwrap_err();
    assert_eq!(stop, Stop::Wrong(refused.into()));
    let note = "collectives run on all ranks alone beside PingPong, as with -npmin of so many";
    assert_eq!(translate("IMB-MPI1 PingPong Barrier").unwrap().notes, [note]);
}

#[test]
fn options_of_ours_take_the_place_of_translated_ones() {
    check(
        "IMB-MPI1 PingPong --sizes=8,1Ki --ranks=4",
        "run IMB:PingPong --rules imb --format imb --hops 1 --sizes=8,1Ki --ranks=4 --out none",
    );
}

#[test]
fn a_launcher_decides_how_many_ranks_there_are() {
    let around = Surroundings { is_launched: true, n_ranks: None, out: Some("r.jsonl".into()) };
    for line in ["osu_latency -m 8", "IMB-MPI1 PingPong -npmin 2"] {
        let words = translate(&split(line), &around).unwrap().words;
        assert!(!words.contains(&"--ranks".to_owned()), "{words:?}");
        assert!(words.ends_with(&["--out".into(), "r.jsonl".into()]), "{words:?}");
    }
}

#[test]
fn the_result_file_can_be_named() {
    let words = translated("osu_latency -m 8 --out r.jsonl").words;
    assert_eq!(words.last().map(String::as_str), Some("--out=r.jsonl"));
}

#[test]
fn help_names_what_is_understood() {
    for (program, option) in
        [("osu_latency", "-m, --message-size [MIN:][MAX]"), ("IMB-MPI1", "-msglog")]
    {
        let stop = translate(&split(&format!("{program} -h")), &Surroundings::default());
        let Err(Stop::Help(text)) = stop else { panic!("no help for {program}") };
        assert!(text.contains(option) && text.contains("--out FILE"), "{text}");
    }
}

#[test]
fn every_program_here_is_an_alias_of_a_kernel() {
    let infos = catalogue::infos();
    let check = |alias: String, kernel: Option<&str>| {
        let info = infos.iter().find(|info| Some(&*info.id()) == kernel).expect("a kernel");
        assert!(info.aliases.contains(&&*alias), "{alias}");
    };
    for program in osu_suite::SUITE.here() {
        check(format!("OSU:{}", program.name), program.kernel());
    }
    for benchmark in imb_suite::SUITE.here() {
        check(format!("IMB:{}", benchmark.name), benchmark.kernel());
    }
}
