//! Command lines of the foreign suites OSU and IMB, as command lines of comet-run.
//!
//! ```text
//!   comet-run osu_latency -m 8 -x 10 -i 1000 -c        by the first word,
//!   osu_latency -m 8 -x 10 -i 1000 -c                  or through a link of that name
//!   comet-run IMB-MPI1 PingPong -msglog 0:22
//! ```
//!
//! The run follows the rules of the suite and prints in its layout, and no file is written unless
//! `--out` or `COMET_OUT` names one. Each option is obeyed, noted or refused by the table of its
//! suite in `comet_report::suite`.

mod imb;
mod osu;

use std::ffi::OsString;
use std::io;
use std::path::Path;

use clap::error::ErrorKind;
use clap::{Arg, Command, CommandFactory as _};
use comet_report::suite::{Effect, Flag, FlagValue, Suite};

use crate::cli::Cli;
use crate::launcher::Launcher;
use crate::selection;
use crate::terminal;

/// Variable that names the result file where the command line cannot.
const OUT_VARIABLE: &str = "COMET_OUT";

/// Facts about the process that a command line depends on.
#[derive(Clone, Debug, Default)]
struct Surroundings {
    /// True where a launcher decides the number of ranks.
    is_launched: bool,
    /// Number of ranks that it started, where it is known.
    n_ranks: Option<u64>,
    /// The result file, if [`OUT_VARIABLE`] names one.
    out: Option<String>,
    /// Threads of each rank, where the program has several: as OpenMP chooses them.
    n_threads: u64,
}

/// A command line of comet-run.
#[derive(Debug, Default, PartialEq, Eq)]
struct Translation {
    /// The words after the name of the program.
    words: Vec<String>,
    /// One sentence for each foreign word without an effect.
    notes: Vec<String>,
}

/// End of a translation.
#[derive(Debug, PartialEq, Eq)]
enum Stop {
    /// A text that the user asked for.
    Help(String),
    /// One sentence about a fault.
    Wrong(String),
}

impl From<Stop> for clap::Error {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Help(text) => clap::Command::new("comet-run")
                .override_help(text)
                .try_get_matches_from(["comet-run", "--help"])
                .expect_err("--help always ends the parse"),
            Stop::Wrong(sentence) => Self::raw(ErrorKind::InvalidValue, sentence + "\n"),
        }
    }
}

/// The command line of this process, translated if it is a foreign one. Words without an effect are
/// printed as notes.
pub(crate) fn arguments(launcher: Option<&Launcher>) -> Result<Vec<OsString>, clap::Error> {
    let args: Vec<OsString> = std::env::args_os().collect();
    let Some(foreign) = foreign(&args) else { return Ok(args) };
    let around = Surroundings {
        is_launched: launcher.is_some(),
        n_ranks: launcher.and_then(|launcher| launcher.size).map(|size| size as u64),
        out: std::env::var(OUT_VARIABLE).ok(),
        n_threads: n_threads(std::env::var(THREADS_VARIABLE).ok().as_deref()),
    };
    let Translation { words, notes } = translate(&foreign, &around)?;
    let notes: String = notes.iter().map(|note| format!("# note: {note}\n")).collect();
    terminal::print(&notes).map_err(|error: io::Error| Stop::Wrong(error.to_string()))?;
    Ok(std::iter::once("comet-run".to_owned()).chain(words).map(Into::into).collect())
}

/// Name of the environment variable with the number of threads of OpenMP.
const THREADS_VARIABLE: &str = "OMP_NUM_THREADS";

/// Number of threads of a parallel region of OpenMP: the first in the `list` of the user, or else as many as
/// CPUs.
fn n_threads(list: Option<&str>) -> u64 {
    let first = list.and_then(|list| list.split(',').next()?.trim().parse().ok());
    let n_cpus = || std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    first.filter(|n| *n > 0).unwrap_or_else(n_cpus)
}

/// The foreign command line in `args`, from the name of its program on.
fn foreign(args: &[OsString]) -> Option<Vec<String>> {
    let name = |arg: &OsString| Path::new(arg).file_name()?.to_str().map(str::to_owned);
    let is_foreign = |name: &String| name.starts_with("osu_") || name.starts_with("IMB-");
    let start = args.iter().take(2).position(|arg| name(arg).as_ref().is_some_and(is_foreign))?;
    let program = name(&args[start])?;
    let rest = args[start + 1..].iter().map(|arg| arg.to_string_lossy().into_owned());
    Some(std::iter::once(program).chain(rest).collect())
}

/// The words of `foreign` as words of comet-run.
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

/// The words of a foreign command line, understood.
#[derive(Debug, Default)]
struct Reading {
    /// Options that are obeyed, by their first names, with their values if they have any.
    options: Vec<(&'static str, String)>,
    /// Options of comet-run.
    ours: Vec<String>,
    /// Other words.
    plain: Vec<String>,
    notes: Vec<String>,
}

/// Options of one foreign program.
#[derive(Debug)]
struct Options<'a> {
    program: &'a str,
    flags: Vec<&'static Flag>,
}

impl<'a> Options<'a> {
    /// The options among `flags` that programs of one of `kinds` have.
    fn of(program: &'a str, flags: &'static [Flag], kinds: &str) -> Self {
        let has = |flag: &&Flag| {
            flag.programs.is_empty() || flag.programs.contains(|kind| kinds.contains(kind))
        };
        Self { program, flags: flags.iter().filter(has).collect() }
    }

    /// Reads `words`. Words with two dashes that the table does not have are options of comet-run,
    /// `--out` with the word after it.
    fn read(&self, words: &[String]) -> Result<Reading, Stop> {
        let mut reading = Reading::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if ["-h", "-help", "--help"].contains(&&**word) {
                return Err(Stop::Help(self.help()));
            }
            let found = self.find(word);
            if let Some((flag, attached)) = found {
                let value = match (flag.value, attached) {
                    (FlagValue::Needed(_), None) => self.value(word, words.next())?,
                    (_, attached) => attached.unwrap_or_default().to_owned(),
                };
                self.take(flag, value, &mut reading)?;
            } else if word == "--out" {
                let value = self.value(word, words.next())?;
                reading.ours.push(format!("--out={value}"));
            } else if word.starts_with("--") && !self.is_mistyped(word) {
                reading.ours.push(word.clone());
            } else if word.starts_with('-') {
                return Err(self.unknown(word));
            } else {
                reading.plain.push(word.clone());
            }
        }
        Ok(reading)
    }

    /// The option that `word` is, and the value in the same word: `-m8`, `--message-size=8`.
    fn find<'w>(&self, word: &'w str) -> Option<(&'static Flag, Option<&'w str>)> {
        let of_name = |name: &str| {
            let rest = word.strip_prefix(name)?;
            match rest.strip_prefix('=') {
                _ if rest.is_empty() => Some(None),
                Some(value) if name.starts_with("--") => Some(Some(value)),
                _ => (name.len() == 2).then_some(Some(rest)),
            }
        };
        let of_flag = |flag: &&'static Flag| {
            let value = flag.names.iter().find_map(|name| of_name(name))?;
            let fits = value.is_none() || flag.value != FlagValue::No;
            fits.then_some((*flag, value))
        };
        self.flags.iter().find_map(of_flag)
    }

    /// Takes in an option by its effect.
    fn take(&self, flag: &'static Flag, value: String, reading: &mut Reading) -> Result<(), Stop> {
        let (name, meaning) = (flag.names[0], flag.meaning);
        let shown = format!("{name} {value}");
        let shown = shown.trim_end();
        match flag.effect {
            Effect::Obeyed => reading.options.push((name, value)),
            Effect::Only(values) | Effect::Noted(values) if values.contains(&&*value) => (),
            Effect::Noted(_) => reading.notes.push(format!("{shown} has no effect: {meaning}")),
            Effect::Only(_) => {
                let program = self.program;
                return Err(Stop::Wrong(format!(
                    "{program}: {shown} is not supported: {meaning} (leave it out)"
                )));
            }
        }
        Ok(())
    }

    fn value(&self, option: &str, word: Option<&String>) -> Result<String, Stop> {
        let program = self.program;
        let missing =
            || Stop::Wrong(format!("{program}: {option} needs a value (see {program} -h)"));
        word.cloned().ok_or_else(missing)
    }

    /// True if `word` is near an option of the program, and none of comet-run.
    fn is_mistyped(&self, word: &str) -> bool {
        let name = word.split('=').next().unwrap_or(word);
        let command = Cli::command();
        let run = command.find_subcommand("run").into_iter().flat_map(Command::get_arguments);
        let mut options = command.get_arguments().chain(run).filter_map(Arg::get_long);
        !options.any(|long| Some(long) == name.strip_prefix("--")) && !self.guess(name).is_empty()
    }

    /// The options that are near `word`, as part of a sentence.
    fn guess(&self, word: &str) -> String {
        selection::guess(word, self.flags.iter().flat_map(|flag| flag.names).copied())
    }

    fn unknown(&self, word: &str) -> Stop {
        let program = self.program;
        let guess = self.guess(word);
        Stop::Wrong(format!(
            "{program}: {word} is unknown{guess} ({program} -h shows all options; those of \
             comet-run are written --name=value)"
        ))
    }

    /// The options and what becomes of them.
    fn help(&self) -> String {
        let line = |flag: &&Flag| {
            let value = match flag.value {
                FlagValue::No => "",
                FlagValue::Needed(value) | FlagValue::Attached(value) => value,
            };
            let option = format!("{} {value}", flag.names.join(", "));
            let meaning = match flag.effect {
                Effect::Obeyed => flag.meaning.to_owned(),
                Effect::Noted(_) => format!("no effect: {}", flag.meaning),
                Effect::Only([]) => format!("refused: {}", flag.meaning),
                Effect::Only([value, ..]) => format!("{value} alone: {}", flag.meaning),
            };
            format!("  {option:<33} {meaning}\n")
        };
        let lines: String = self.flags.iter().map(line).collect();
        format!(
            "{}, as comet-run understands it:\n{lines}  {:<33} result file\n  {:<33} any option of \
             comet-run\n",
            self.program, "--out FILE", "--name=value"
        )
    }
}

/// The refusal of `name`, which is no benchmark of `suite`, in the words of `whose`; `list` shows those that are.
fn not_here(suite: &Suite, whose: &str, name: &str, list: &str) -> Stop {
    let guess = selection::guess(name, suite.benchmarks.iter().map(|benchmark| benchmark.name));
    Stop::Wrong(format!("{whose}{name} is not supported{guess} ({list})"))
}

/// The refusal of the value of an option.
fn wrong(program: &str, option: &str, value: &str, expected: &str) -> Stop {
    Stop::Wrong(format!("{program}: '{value}' for {option}: {expected}"))
}

/// Refuses a single rank, which the user asks for in `words` or a launcher started, for `what`.
fn require_two(
    program: &str,
    what: &str,
    words: &Words,
    around: &Surroundings,
) -> Result<(), Stop> {
    let sentence = match (words.value("--ranks"), around.n_ranks) {
        (Some("1"), _) => {
            format!("--ranks=1 is too few for {what} (write --ranks=2, or leave it out)")
        }
        (_, Some(1)) => format!("1 process was started, too few for {what} (start 2)"),
        _ => return Ok(()),
    };
    Err(Stop::Wrong(format!("{program}: {sentence}")))
}

/// A positive number in the value of `option`.
fn count(program: &str, option: &str, text: &str) -> Result<u64, Stop> {
    let n = text.parse().ok().filter(|n| *n > 0);
    n.ok_or_else(|| wrong(program, option, text, "it is a number above 0 (write 1 or more)"))
}

/// Lengths in bytes from `min` to `max`, each twice the one before; 0 stands alone.
fn doubling(min: u64, max: u64) -> String {
    match (min, max) {
        (0, 0) => "0".into(),
        (0, _) => format!("0,{}", doubling(1, max)),
        _ => format!("{min}..{max}*2"),
    }
}

/// A command line of comet-run in the making. Options that the user adds take the place of the
/// translated ones.
#[derive(Debug, Default)]
struct Words {
    options: Vec<(&'static str, String)>,
    ours: Vec<String>,
}

impl Words {
    /// Sets `option`, unless the user did.
    fn set(&mut self, option: &'static str, value: impl ToString) {
        self.options.retain(|(known, _)| *known != option);
        if self.value(option).is_none() {
            self.options.push((option, value.to_string()));
        }
    }

    /// Sets `option` in place of the user's value.
    fn replace(&mut self, option: &'static str, value: impl ToString) {
        self.ours.retain(|word| word.split('=').next() != Some(option));
        self.set(option, value);
    }

    /// Adds values of an axis.
    fn axis(&mut self, values: String) {
        self.options.push(("--axis", values));
    }

    /// Adds a label beside those of the user.
    fn label(&mut self, label: String) {
        self.options.push(("--label", label));
    }

    /// Value of `option` among the user's own.
    fn value(&self, option: &str) -> Option<&str> {
        self.ours.iter().find_map(|word| word.strip_prefix(option)?.strip_prefix('='))
    }

    /// A command line that measures what `names` select by the rules and in the layout of `suite`,
    /// with the user's own options behind.
    fn run(self, suite: &Suite, names: impl Iterator<Item = &'static str>) -> Vec<String> {
        let mut words = vec!["run".to_owned(), "--accept-limits".to_owned()];
        words.extend(names.map(|name| format!("{}:{name}", suite.prefix())));
        let of_suite = [("--rules", suite.rules), ("--format", suite.family)];
        let of_suite = of_suite.map(|(option, name)| (option, name.to_owned()));
        let is_free = |option: &str| self.value(option).is_none();
        let of_suite = of_suite.into_iter().filter(|(option, _)| is_free(option));
        let options = of_suite.chain(self.options.iter().cloned());
        words.extend(options.flat_map(|(option, value)| [option.to_owned(), value]));
        words.extend(self.ours);
        words
    }
}

#[cfg(test)]
mod tests;
