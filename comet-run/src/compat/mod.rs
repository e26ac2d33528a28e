//! Command lines of other benchmarks: what a harness passes to a program of theirs, as options of
//! ours, so that it can start this program in its place.
//!
//! ```text
//!   comet-run osu_latency -m 8 -x 10 -i 1000 -c        by the first word,
//!   osu_latency -m 8 -x 10 -i 1000 -c                  or through a link of that name
//!   comet-run IMB-MPI1 PingPong -msglog 0:22
//! ```
//!
//! Rules and layout are those of the other benchmark then, and no file is written unless `--out` or
//! `COMET_OUT` names one.

mod imb;
mod osu;

use std::ffi::OsString;
use std::io;
use std::path::Path;

use clap::error::ErrorKind;

use crate::launcher::Launcher;
use crate::terminal;

/// Variable that names the result file where the command line of a harness cannot.
const OUT_VARIABLE: &str = "COMET_OUT";

/// What the surroundings of a command line add to it.
#[derive(Clone, Debug, Default)]
struct Surroundings {
    /// Whether a launcher decides how many ranks there are.
    is_launched: bool,
    /// How many it started, where it says so.
    n_ranks: Option<u64>,
    /// The result file, if [`OUT_VARIABLE`] names one.
    out: Option<String>,
}

/// A command line of ours.
#[derive(Debug, Default, PartialEq, Eq)]
struct Translation {
    /// The words after the name of the program.
    words: Vec<String>,
    /// What of the other one has no effect, one sentence each.
    notes: Vec<String>,
}

/// Why there is no translation.
#[derive(Debug, PartialEq, Eq)]
enum Stop {
    /// The user asks what is understood: the answer.
    Help(String),
    /// One sentence about what is wrong.
    Wrong(String),
}

impl From<Stop> for clap::Error {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Help(text) => clap::Command::new("comet-run")
                .override_help(text)
                .try_get_matches_from(["comet-run", "--help"])
                .expect_err("who asks for help gets nothing else"),
            Stop::Wrong(sentence) => Self::raw(ErrorKind::InvalidValue, sentence + "\n"),
        }
    }
}

/// The command line of this process, translated if it is one of another benchmark. Says what has no
/// effect.
///
/// # Errors
/// If the other one would not understand it, if it asks for what is not here, or for help.
pub(crate) fn arguments(launcher: Option<&Launcher>) -> Result<Vec<OsString>, clap::Error> {
    let args: Vec<OsString> = std::env::args_os().collect();
    let Some(foreign) = foreign(&args) else { return Ok(args) };
    let around = Surroundings {
        is_launched: launcher.is_some(),
        n_ranks: launcher.and_then(|launcher| launcher.size).map(|size| size as u64),
        out: std::env::var(OUT_VARIABLE).ok(),
    };
    let Translation { words, notes } = translate(&foreign, &around)?;
    let notes: String = notes.iter().map(|note| format!("# note: {note}\n")).collect();
    terminal::print(&notes).map_err(|error: io::Error| Stop::Wrong(error.to_string()))?;
    Ok(std::iter::once("comet-run".to_owned()).chain(words).map(Into::into).collect())
}

/// The command line of another benchmark in `args`, from the name of its program on.
fn foreign(args: &[OsString]) -> Option<Vec<String>> {
    let name = |arg: &OsString| Path::new(arg).file_name()?.to_str().map(str::to_owned);
    let is_foreign = |name: &String| name.starts_with("osu_") || name.starts_with("IMB-");
    let start = args.iter().take(2).position(|arg| name(arg).as_ref().is_some_and(is_foreign))?;
    let program = name(&args[start])?;
    let rest = args[start + 1..].iter().map(|arg| arg.to_string_lossy().into_owned());
    Some(std::iter::once(program).chain(rest).collect())
}

/// The words of `foreign` in ours.
fn translate(foreign: &[String], around: &Surroundings) -> Result<Translation, Stop> {
    let Some((program, words)) = foreign.split_first() else {
        return Ok(Translation::default());
    };
    let mut translation = if program.starts_with("osu_") {
        osu::translate(program, words, around)?
    } else {
        imb::translate(program, words, around)?
    };
    if !translation.words.iter().any(|word| word.starts_with("--out")) {
        let out = around.out.clone().unwrap_or_else(|| "none".into());
        translation.words.extend(["--out".into(), out]);
    }
    Ok(translation)
}

/// An option of another benchmark.
#[derive(Debug)]
struct Flag {
    /// With its dash.
    name: &'static str,
    /// What its value is called, or nothing if it has none.
    value: &'static str,
    /// What becomes of it, for help.
    meaning: &'static str,
}

const fn flag(name: &'static str, value: &'static str, meaning: &'static str) -> Flag {
    Flag { name, value, meaning }
}

/// A word of a command line, understood.
#[derive(Debug, PartialEq, Eq)]
enum Word {
    /// An option, with its value if it has one.
    Option(&'static str, String),
    /// An option of ours.
    Ours(String),
    /// Something else.
    Plain(String),
}

/// Reads `words` by the table `flags`. What starts with two dashes is ours and goes through as it
/// is, `--out` with the word after it.
fn read(program: &str, words: &[String], flags: &'static [Flag]) -> Result<Vec<Word>, Stop> {
    let mut found = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if ["-h", "-help", "--help"].contains(&&**word) {
            return Err(Stop::Help(help(program, flags)));
        }
        if word == "--out" {
            found.push(Word::Ours(format!("--out={}", value(program, word, words.next())?)));
        } else if word.starts_with("--") {
            found.push(Word::Ours(word.clone()));
        } else if let Some(flag) = flags.iter().find(|flag| flag.name == word) {
            let needs_value = !flag.value.is_empty();
            let value =
                if needs_value { value(program, word, words.next())? } else { String::new() };
            found.push(Word::Option(flag.name, value));
        } else if let Some((flag, value)) = attached(word, flags) {
            found.push(Word::Option(flag.name, value.to_owned()));
        } else if word.starts_with('-') {
            return Err(unknown(program, word, flags));
        } else {
            found.push(Word::Plain(word.clone()));
        }
    }
    Ok(found)
}

/// An option of one letter with its value behind it, as in `-m8`.
fn attached<'a>(word: &'a str, flags: &'static [Flag]) -> Option<(&'static Flag, &'a str)> {
    let is_short = |flag: &&Flag| flag.name.len() == 2;
    let mut short = flags.iter().filter(is_short);
    short.find_map(|flag| Some((flag, word.strip_prefix(flag.name)?)))
}

fn value(program: &str, option: &str, word: Option<&String>) -> Result<String, Stop> {
    let missing = || Stop::Wrong(format!("{program}: {option} needs a value (see {program} -h)"));
    word.cloned().ok_or_else(missing)
}

fn unknown(program: &str, word: &str, flags: &[Flag]) -> Stop {
    let known: Vec<&str> = flags.iter().map(|flag| flag.name).collect();
    Stop::Wrong(format!(
        "{program}: {word} is not understood, but {} are, and options of comet-run as \
         --name=value (see {program} -h)",
        known.join(" ")
    ))
}

/// What is understood.
fn help(program: &str, flags: &[Flag]) -> String {
    let line = |flag: &Flag| {
        let option = format!("{} {}", flag.name, flag.value);
        format!("  {option:<18} {}\n", flag.meaning)
    };
    let lines: String = flags.iter().map(line).collect();
    format!(
        "{program}, as comet-run understands it:\n{lines}  --out FILE         result file\n  \
         --name=value       any option of comet-run\n"
    )
}

/// A positive number in the value of `option`.
fn count(program: &str, option: &str, text: &str) -> Result<u64, Stop> {
    let wrong = || {
        Stop::Wrong(format!("{program}: '{text}' for {option}: it is a number above 0 (write 100)"))
    };
    text.parse().ok().filter(|n| *n > 0).ok_or_else(wrong)
}

/// Lengths in bytes from `min` to `max`, each twice the one before; 0 stands alone.
fn doubling(min: u64, max: u64) -> String {
    match (min, max) {
        (0, 0) => "0".into(),
        (0, _) => format!("0,{}", doubling(1, max)),
        _ => format!("{min}..{max}*2"),
    }
}

/// Options of ours in the making: those that the user adds take the place of the translated ones.
#[derive(Debug)]
struct Words {
    words: Vec<String>,
    ours: Vec<String>,
}

impl Words {
    /// A command line that measures what `names` select, with the user's own options behind.
    fn new(names: Vec<String>, ours: Vec<String>) -> Self {
        let words = std::iter::once("run".to_owned()).chain(names).collect();
        Self { words, ours }
    }

    /// Adds `option`, unless the user did. Labels add up.
    fn add(&mut self, option: &str, value: impl ToString) {
        if option == "--label" || self.value(option).is_none() {
            self.words.extend([option.to_owned(), value.to_string()]);
        }
    }

    /// Value of `option` among the user's own.
    fn value(&self, option: &str) -> Option<&str> {
        self.ours.iter().find_map(|word| word.strip_prefix(option)?.strip_prefix('='))
    }

    fn all(mut self) -> Vec<String> {
        self.words.append(&mut self.ours);
        self.words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;
    use crate::cli::Cli;
    use clap::Parser as _;

    fn split(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    fn translated(line: &str) -> Translation {
        translate(&split(line), &Surroundings::default()).unwrap()
    }

    /// What `line` becomes without a launcher.
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
             --label osu_columns=full,validation,p50,p90,p99 --out none"
        );
        check("osu_latency -m 0:8 -f -c -z -i 50", &columns);
        let some = columns.replace("full,validation,p50,p90,p99", "p75");
        check("osu_latency -m 0:8 -z75 -i 50", &some);
    }

    #[test]
    fn collectives_have_as_many_ranks_as_there_are() {
        check(
            "osu_bcast -m 4:64 -i 100 -c",
            "run OSU:osu_bcast --rules osu --format osu --sizes 4..64*2 --repetitions 1 \
             --samples 100 --label osu_columns=validation --out none",
        );
        check(
            "osu_bcast -m 64 --ranks=4",
            "run OSU:osu_bcast --rules osu --format osu --sizes 1..64*2 --ranks=4 --out none",
        );
        check("osu_barrier", "run OSU:osu_barrier --rules osu --format osu --out none");
    }

    #[test]
    fn bandwidth_has_windows_of_64() {
        check(
            "osu_bw -m 8 -W 64",
            "run OSU:osu_bw --rules osu --format osu --ranks 2 --sizes 1..8*2 --out none",
        );
        let wrong = "osu_bw: '32' for -W: windows have 64 messages here (leave it out)";
        check_wrong("osu_bw -W 32", wrong);
    }

    #[test]
    fn what_has_no_effect_is_noted() {
        check_note("osu_latency D D", "D D is not taken over: buffers are in host memory");
        check_note("osu_latency -d cuda", "-d cuda is not taken over: buffers are in host memory");
        check_note("osu_latency -x 10", "-x 10 is not taken over: ");
        check_note("osu_latency -T mpi_int", "-T mpi_int is not taken over: ");
        check_note("osu_latency -u 5", "-u 5 is not taken over: ");
        check_note("IMB-MPI1 PingPong -time 5", "-time 5 is not taken over: ");
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
            "osu_latency: -G is not understood, but -m -i -x -c -f -W -d -T -u -z are, and \
             options of comet-run as --name=value (see osu_latency -h)",
        );
        check_wrong("osu_latency -m", "osu_latency: -m needs a value (see osu_latency -h)");
        check_wrong("osu_latency X", "osu_latency: 'X' is no place of a buffer (write D or H)");
        check_wrong(
            "osu_latency -i 0",
            "osu_latency: '0' for -i: it is a number above 0 (write 100)",
        );
        check_wrong(
            "osu_latency -m 9:8",
            "osu_latency: '9:8' for -m: lengths are [MIN:]MAX in bytes (write 1:4194304)",
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
            "IMB-MPI1 pingpong -npmin 2 -msglog 0:22 -iter 1000 -time 10 -mem 1",
            "run IMB:PingPong --rules imb --format imb --hops 1 --sizes 0,1..4194304*2 --ranks 2 \
             --mem 1073741824 --out none",
        );
        check(
            "IMB-MPI1 Bcast Barrier -msglog 3:5 -iter 50 -npmin 4",
            "run IMB:Bcast IMB:Barrier --rules imb --format imb --sizes 0,8..32*2 --ranks 4 \
             --repetitions 50 --out none",
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
    fn npmin_is_all_ranks_or_refused() {
        let around = Surroundings { is_launched: true, n_ranks: Some(4), out: None };
        let translate = |line: &str| translate(&split(line), &around);
        let refused = "IMB-MPI1: -npmin 2 asks for runs on fewer than all 4 ranks (write -npmin 4, \
                       and start again on fewer ranks)";
        let stop = translate("IMB-MPI1 Barrier -npmin 2").unwrap_err();
        assert_eq!(stop, Stop::Wrong(refused.into()));
        assert_eq!(translate("IMB-MPI1 Barrier -npmin 4").unwrap().notes, [""; 0]);
        assert_eq!(translate("IMB-MPI1 PingPong -npmin 2").unwrap().notes, [""; 0]);
        let note = "collectives run on all ranks alone, as IMB does with -npmin of so many";
        assert_eq!(translate("IMB-MPI1 Barrier").unwrap().notes, [note]);
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
        for (program, option) in [("osu_latency", "-m [MIN:]MAX"), ("IMB-MPI1", "-msglog")] {
            let stop = translate(&split(&format!("{program} -h")), &Surroundings::default());
            let Err(Stop::Help(text)) = stop else { panic!("no help for {program}") };
            assert!(text.contains(option) && text.contains("--out FILE"), "{text}");
        }
    }

    #[test]
    fn every_program_here_is_an_alias_of_a_kernel() {
        let infos = catalogue::infos();
        let names = osu::programs().map(|name| format!("OSU:{name}"));
        for alias in names.chain(imb::benchmarks().map(|name| format!("IMB:{name}"))) {
            assert!(infos.iter().any(|info| info.aliases.contains(&&*alias)), "{alias}");
        }
    }
}
