//! Suite files of `SKaMPI` as those of CoMet: scripts of version 5 (`.ski`) and parameter files of the
//! first version (`.skm`, `.skampi`).

mod expression;
mod functions;
mod ski;
mod skm;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use comet_core::driver::StopRule;

use crate::backend;
use crate::cli::values::RankCounts;
use crate::exit;
use crate::prepare;

/// A suite file in the making.
#[derive(Debug, Default)]
pub(crate) struct Imported {
    /// Labels of `[machine]`.
    labels: Vec<(String, String)>,
    /// Keys of `[defaults]` beside the rules.
    defaults: Vec<(&'static str, String)>,
    /// Keys of `[stop]`.
    stop: Vec<(&'static str, String)>,
    entries: Vec<Translated>,
    /// File and line of the statements that became keys above the entries.
    places: BTreeMap<&'static str, String>,
    /// Parts without an equal, each with its file and line.
    pub(crate) notes: Vec<String>,
}

/// An entry in the making.
#[derive(Debug)]
struct Translated {
    /// File and line of its statement.
    place: String,
    id: String,
    kernel: String,
    keys: Vec<(&'static str, String)>,
}

/// The bounds of repetitions and the standard error at which a measurement ends, where they are set.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Bounds {
    samples: [Option<f64>; 2],
    /// Relative to the mean.
    error: Option<f64>,
}

impl Bounds {
    /// The values of `samples` and of the standard error in percent that a suite file has for them, under
    /// the names of their keys.
    fn keys(self, of_error: &'static str) -> Vec<(&'static str, String)> {
        let mut keys = Vec::new();
        if self.samples != [None; 2] {
            let [least, most] = StopRule::SKAMPI.samples.map(f64::from);
            let least = self.samples[0].unwrap_or(least.min(self.samples[1].unwrap_or(least)));
            let most = self.samples[1].unwrap_or(most).max(least);
            keys.push(("samples", format!("{least:.0}..{most:.0}")));
        }
        keys.extend(self.error.map(|error| (of_error, format!("{}", 100.0 * error))));
        keys
    }
}

impl Imported {
    /// Notes that `what` stands in `line` of `file` and is not translated.
    fn note(&mut self, file: &str, line: usize, what: impl std::fmt::Display) {
        let note = format!("{file}:{line}: {what}");
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Adds an entry under a name that no other has.
    fn push(&mut self, mut entry: Translated) {
        let name = entry.id.clone();
        let mut n = 1;
        while self.entries.iter().any(|other| other.id == entry.id) {
            n += 1;
            entry.id = format!("{name}-{n}");
        }
        self.entries.push(entry);
    }

    /// Number of entries.
    pub(crate) fn n_entries(&self) -> usize {
        self.entries.len()
    }

    /// The text of a suite file that is called `name`, and that `suite plan` reads.
    ///
    /// # Errors
    /// One sentence with the statement that became what the reader of suite files refuses on any number of
    /// ranks.
    pub(crate) fn suite_file(&self, name: &str) -> anyhow::Result<String> {
        let text = self.toml(name);
        let Err(error) = require_readable(&text) else { return Ok(text) };
        let error = format!("{error:#}");
        let of_line = error.strip_prefix(':').and_then(|rest| rest.split_once(": "));
        let of_statement = |(line, reason): (&str, &str)| {
            let place = self.place(text.lines().take(line.parse().ok()?))?;
            Some(format!("{place}: {reason}"))
        };
        Err(exit::usage(of_line.and_then(of_statement).unwrap_or(error)))
    }

    /// File and line of the statement that became the last of these `lines` of the suite file.
    fn place<'a>(&self, lines: impl Iterator<Item = &'a str> + Clone) -> Option<&String> {
        let n_entries = lines.clone().filter(|line| *line == ENTRY).count();
        let of_entry = n_entries.checked_sub(1).and_then(|index| self.entries.get(index));
        let key = lines.last()?.split(' ').next()?;
        of_entry.map(|entry| &entry.place).or(self.places.get(key))
    }

    /// The text of a suite file that is called `name`.
    fn toml(&self, name: &str) -> String {
        let mut text = format!("format = 1\nname = {}\n", toml::Value::from(name));
        let mut table = |title: &str, keys: &mut dyn Iterator<Item = (&str, &str)>| {
            let mut keys = keys.peekable();
            if keys.peek().is_some() {
                write!(text, "\n{title}\n").expect("a string takes any text");
            }
            for (key, value) in keys {
                let value = toml::Value::from(value);
                writeln!(text, "{key} = {value}").expect("a string takes any text");
            }
        };
        table("[machine]", &mut self.labels.iter().map(|(key, value)| (&**key, &**value)));
        let defaults = self.defaults.iter().map(|(key, value)| (*key, &**value));
        table("[defaults]", &mut [("rules", "skampi")].into_iter().chain(defaults));
        table("[stop]", &mut self.stop.iter().map(|(key, value)| (*key, &**value)));
        for entry in &self.entries {
            let keys = entry.keys.iter().map(|(key, value)| (*key, &**value));
            let head = [("id", &*entry.id), ("kernel", &*entry.kernel)];
            table(ENTRY, &mut head.into_iter().chain(keys));
        }
        text
    }
}

/// Head of an entry.
const ENTRY: &str = "[[measure]]";
/// Numbers of ranks, for one of which an entry has a plan.
const RANKS: [usize; 5] = [4, 16, 128, 1024, 16_384];

/// Reads and plans `text`, a suite file without a name, on simulated ranks.
fn require_readable(text: &str) -> anyhow::Result<()> {
    let flags = ["-t", "sim"].map(OsString::from);
    let suite = super::read_opened("", (String::new(), PathBuf::new(), text.to_owned()), &flags)?;
    for mut entry in suite.entries {
        let mut planned = Ok(());
        for n_ranks in RANKS {
            let args = &mut entry.args.plan;
            args.world.ranks = Some(RankCounts(vec![n_ranks]));
            let origin = backend::find(&args.world, None)?.origin(&args.world, None)?;
            planned = prepare::prepare(args, &origin).map(drop);
            if planned.is_ok() {
                break;
            }
        }
        planned.map_err(|error| entry.explain(&error))?;
    }
    Ok(())
}

/// Ends of the names of parameter files; SKaMPI reads `.skampi` by default.
const PARAMETERS: [&str; 2] = [".skm", ".skampi"];

/// The entries of the file `path`, which is a script unless its name ends in `.skm` or `.skampi`.
///
/// # Errors
/// If the file or one that it includes cannot be read, or is no such file.
pub(crate) fn import(path: &Path) -> anyhow::Result<Imported> {
    let is_old = PARAMETERS.iter().any(|end| path.to_string_lossy().ends_with(end));
    let imported = if is_old { skm::import(path) } else { ski::import(path) }?;
    if imported.entries.is_empty() {
        let reasons: String = imported.notes.iter().map(|note| format!("\n{note}")).collect();
        let path = path.display();
        return Err(exit::usage(format!(
            "{path} has nothing that a kernel measures (is it a suite of SKaMPI?){reasons}"
        )));
    }
    Ok(imported)
}

#[cfg(test)]
mod tests;
