//! The keys of entries and defaults: options of `run` and axes of kernels, which the command line and
//! the kernels describe.

use std::collections::BTreeMap;
use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{Arg, Args as _, Command, CommandFactory as _, FromArgMatches as _};
use comet_core::kernel::{Axis, HOPS, KernelInfo, LENGTH_BYTES, LOCAL_N, THREADS, VECTOR_LENGTH};

use super::effective::Flags;
use super::table::{Item, Table};
use crate::catalogue;
use crate::cli::{self, Cli, RunArgs};
use crate::prepare;
use crate::selection;

/// The key that says whether axes vary by turns.
pub(super) const VARY: &str = "vary";
/// Keys of an entry that are no option and no axis.
pub(super) const OF_ENTRY: [&str; 3] = ["id", "kernel", VARY];
/// Keys of entries that `[defaults]` may have too.
pub(super) const OF_DEFAULTS: [&str; 1] = [VARY];
/// Keys of `[stop]`, with the options that they are; `run` is the time of all entries.
pub(super) const OF_STOP: [(&str, &str); 7] = [
    ("samples", "samples"),
    ("error", "standard_error"),
    ("target", "target"),
    ("launches", "launches"),
    ("case", "time"),
    ("entry", "budget"),
    ("run", "run"),
];
/// Options that are another way to write an axis.
const OF_AXES: [(&str, &Axis); 5] = [
    ("sizes", &LENGTH_BYTES),
    ("vector_lengths", &VECTOR_LENGTH),
    ("local_n", &LOCAL_N),
    ("hops", &HOPS),
    ("threads", &THREADS),
];
/// Headings of the options that a suite file has; the others are of one call of the program.
const HEADINGS: [&str; 4] = ["Ranks", "Cases", "Effort", "Method"];

/// The keys that a suite file may have.
pub(crate) struct Keys {
    /// The command line with `run`, whose later options take the place of earlier ones.
    command: Command,
    axes: BTreeMap<&'static str, &'static Axis>,
}

impl Keys {
    pub(crate) fn new() -> Self {
        // Those of the journal are no keys, but stand among the options of the user.
        let command = Cli::command().mut_subcommand("run", |run| {
            cli::JournalArgs::augment_args(run).args_override_self(true)
        });
        Self { command, axes: catalogue::axes() }
    }

    /// The options of `run` that are keys, by these.
    pub(crate) fn options(&self) -> BTreeMap<String, &Arg> {
        let run = self.command.find_subcommand("run").into_iter().flat_map(Command::get_arguments);
        let is_shared =
            |arg: &&Arg| arg.get_help_heading().is_some_and(|heading| HEADINGS.contains(&heading));
        let keyed = run.filter(is_shared).filter_map(|arg| {
            let key = arg.get_long()?.replace('-', "_");
            let is_of_axes = key == "axis" || OF_AXES.iter().any(|(id, _)| *id == key);
            (!is_of_axes).then_some((key, arg))
        });
        keyed.collect()
    }

    /// The axes of `kernels`, with those that are not declared.
    pub(super) fn axes_of(&self, kernels: &[&'static KernelInfo]) -> Vec<&'static str> {
        let varied = prepare::varied(kernels);
        self.axes.keys().copied().filter(|name| varied.contains(name)).collect()
    }

    /// True if any kernel has the axis `name`.
    pub(super) fn is_axis(&self, name: &str) -> bool {
        self.axes.contains_key(name)
    }

    /// Refuses keys of `table` that nothing is called, and values that their option does not have.
    /// `others` are further keys, and `axes` those that may stand in it.
    pub(super) fn admit(
        &mut self,
        table: &Table,
        others: &[&str],
        axes: &[&str],
        of: &str,
    ) -> anyhow::Result<()> {
        let options: Vec<String> = self.options().into_keys().collect();
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        for (key, item) in table {
            let key = &**key;
            if others.contains(&key) || axes.contains(&key) {
                continue;
            }
            if !options.contains(&key) {
                let known = || others.iter().chain(axes).chain(&options).copied();
                let guess = selection::guess(key, known());
                return Err(item.place.refuse(format_args!(
                    "'{key}' is no key of {of}{guess} (it has {}; axes {}; options {})",
                    others.join(", "),
                    axes.join(", "),
                    options.join(", ")
                )));
            }
            self.admit_option(key, item)?;
        }
        Ok(())
    }

    /// Refuses a value that the option `key` does not have.
    pub(super) fn admit_option(&mut self, key: &str, item: &Item) -> anyhow::Result<()> {
        let word = option(key, item);
        self.parse(&["comet".to_owned(), word], &[])
            .map(|_| ())
            .map_err(|error| item.place.refuse(sentence(&error, key, &item.key)))
    }

    /// The keys that `flags` of the user give, and those that the environment gives.
    pub(super) fn given(&mut self, flags: &[OsString]) -> Result<Flags, clap::Error> {
        let words = ["comet-run", "run"].into_iter().map(OsString::from);
        let matches = self.command.try_get_matches_from_mut(words.chain(flags.iter().cloned()))?;
        let Some(matches) = matches.subcommand_matches("run") else { return Ok(Flags::default()) };
        let raw = |id: &str| -> Vec<String> {
            let raw = matches.get_raw(id).into_iter().flatten();
            raw.map(|value| value.to_string_lossy().into_owned()).collect()
        };
        let mut found = Flags::default();
        for (key, arg) in self.options() {
            let id = arg.get_id().as_str();
            let of = match matches.value_source(id) {
                Some(ValueSource::CommandLine) => &mut found.options,
                Some(ValueSource::EnvVariable) => &mut found.variables,
                _ => continue,
            };
            of.insert(key, raw(id).join(","));
        }
        let named = raw("axis").into_iter();
        let named = named.filter_map(|word| {
            let (name, values) = word.split_once('=')?;
            Some((name.to_owned(), values.to_owned()))
        });
        let short =
            OF_AXES.iter().filter_map(|(id, axis)| Some((axis.name.to_owned(), raw(id).pop()?)));
        found.axes = named.chain(short).collect();
        Ok(found)
    }

    /// The arguments of `run` in `words`, and behind them in `flags` of the user.
    pub(super) fn parse(
        &mut self,
        words: &[String],
        flags: &[OsString],
    ) -> Result<RunArgs, clap::Error> {
        let all = ["comet-run", "run"].into_iter().map(OsString::from);
        let all = all.chain(words.iter().map(OsString::from)).chain(flags.iter().cloned());
        let matches = self.command.try_get_matches_from_mut(all)?;
        match Cli::from_arg_matches(&matches)?.command {
            Some(cli::Command::Run(args)) => Ok(args),
            _ => unreachable!("the words begin with run"),
        }
    }
}

/// The option `key` with its value, as a word of the command line.
pub(super) fn option(key: &str, item: &Item) -> String {
    format!("--{}={}", key.replace('_', "-"), item.word())
}

/// The `error` about the option `key` as one sentence, in which the option is called `name`, as it is written.
pub(super) fn sentence(error: &clap::Error, key: &str, name: &str) -> String {
    let text = error.to_string();
    let text = text.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
    let text = Vec::from_iter(text.lines().map(str::trim)).join(" ");
    let long = format!("'--{} <", key.replace('_', "-"));
    match text.split_once(&long).and_then(|(start, rest)| Some((start, rest.split_once('\'')?.1))) {
        Some((start, end)) => format!("{start}{name}{end}"),
        None => text,
    }
}
