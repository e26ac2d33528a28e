//! `ab`: two commands in turn, several launches each, and what they measured held against each
//! other.
//!
//! Launches go A B B A A B …, so that each has a neighbour of the other side, and what slowly
//! changes on the machine falls on both. Launches are added until every point is decided, or up to
//! a limit. Points that seem to have changed are looked for again in as many fresh launches, and only
//! what shows twice is a change.
//!
//! Both launches of a pair get the same seed, and each pair its own (`COMET_SEED`).

use std::cell::Cell;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use comet_core::words::count;
use comet_report::compare::{Comparison, Options, compare};
use comet_report::runs::RunRecords;

use super::compare::{conclude, refuse_twins};
use super::job::{self, Ended};
use crate::cli::AbArgs;
use crate::exit;
use crate::launcher::Launcher;
use crate::signals::Signals;
use crate::terminal;

/// Folder of results that the user does not name; a number follows.
const FOLDER: &str = "comet-results/ab-";

/// Runs both commands and compares them; returns the exit code.
pub(crate) fn ab(args: &AbArgs, launcher: Option<&Launcher>) -> anyhow::Result<u8> {
    job::refuse_launcher(launcher, "ab")?;
    let [base, new] = split(&args.commands)?;
    let signals = Signals::catch().context("cannot catch signals")?;
    let folder = make_folder(args.out.as_deref())?;
    let n_launches = Cell::new(0);
    let commands = [base, new];
    let bench = Bench { args, commands, folder: &folder, signals: &signals, n_launches };
    let (mut comparison, n_pairs) = bench.round("", args.launches, Options::default())?;
    let changes = comparison.changes();
    if !changes.is_empty() && !args.no_confirm {
        let n = count(changes.len(), "point");
        terminal::note(&format!("looking again for what may have changed: {n}"));
        let options = Options { changes: Some(changes), ..Options::default() };
        let (again, _) = bench.round("again: ", n_pairs, options)?;
        comparison.confirm(&again);
    }
    args.judgement.keep(&bench.files()?)?;
    let code = conclude(&comparison, &args.judgement)?;
    terminal::note(&format!("results: {}", folder.display()));
    Ok(code)
}

/// The two commands, each at least one word.
fn split(words: &[String]) -> anyhow::Result<[&[String]; 2]> {
    let commands: Vec<&[String]> = words.split(|word| word == "--").collect();
    match commands[..] {
        [base, new] if !base.is_empty() && !new.is_empty() => Ok([base, new]),
        _ => Err(exit::usage(format!(
            "ab takes two commands, got {} (write ab -- COMMAND_A -- COMMAND_B)",
            commands.iter().filter(|command| !command.is_empty()).count()
        ))),
    }
}

/// Makes the folder `wanted`, or one with the next free number.
fn make_folder(wanted: Option<&Path>) -> anyhow::Result<PathBuf> {
    let is_empty = |path: &Path| path.read_dir().is_ok_and(|mut entries| entries.next().is_none());
    if let Some(path) = wanted.filter(|path| path.exists() && !is_empty(path)) {
        let path = path.display();
        return Err(exit::usage(format!(
            "{path} holds something already (name a new folder with --out)"
        )));
    }
    let mut numbered = (1..).map(|number: u32| PathBuf::from(format!("{FOLDER}{number}")));
    let next = || numbered.find(|path| !path.exists()).expect("numbers do not end");
    let path = wanted.map_or_else(next, Path::to_owned);
    let cannot = || format!("cannot make the folder {} (name another with --out)", path.display());
    std::fs::create_dir_all(&path).with_context(cannot)?;
    // Commands may change their folder.
    std::path::absolute(&path).with_context(cannot)
}

/// Two commands that take turns.
struct Bench<'a> {
    args: &'a AbArgs,
    commands: [&'a [String]; 2],
    folder: &'a Path,
    signals: &'a Signals,
    /// Launches so far, of both commands.
    n_launches: Cell<u32>,
}

impl Bench<'_> {
    /// Launches each command `n_first` times and compares what they measured, and then as often again
    /// until every point is decided or the limit is reached, which is twice as far where launches at
    /// another line time do not count, and `n_first` at the least. Returns the number of launches of
    /// each.
    fn round(
        &self,
        title: &str,
        n_first: u32,
        options: Options,
    ) -> anyhow::Result<(Comparison, u32)> {
        let options = Options { margin: self.args.judgement.margin, is_paired: true, ..options };
        let most = self.args.max_launches;
        let mut sides: [Vec<RunRecords>; 2] = Default::default();
        let (mut n_done, mut n_pairs) = (0, n_first);
        loop {
            for index in 2 * n_done..2 * n_pairs {
                let (number, letter) = (index + 1, ["a", "b"][side(index)]);
                terminal::note(&format!("{title}launch {number} of {}: {letter}", 2 * n_pairs));
                sides[side(index)].extend(self.launch(side(index))?);
            }
            let [base, new] = &sides;
            // A command that hands out a stored file does not measure.
            refuse_twins(base.iter().chain(new))?;
            let comparison = compare(base, new, &options);
            let n_open = comparison.n_undecided();
            let lacks_launches = comparison.lacks_launches();
            let limit = if lacks_launches { 2 * most } else { most }.max(n_first);
            if n_open == 0 || n_pairs >= limit {
                return Ok((comparison, n_pairs));
            }
            n_done = n_pairs;
            n_pairs = (2 * n_pairs).min(limit);
            terminal::note(&format!(
                "{n_open} of {} inconclusive after {n_done} launches of each command: \
                 going on to {n_pairs}, and to {limit} at most ({}--max-launches)",
                count(comparison.points.len(), "point"),
                if limit > most { "launches at other line times do not count: twice " } else { "" }
            ));
        }
    }

    /// The result files and logs so far.
    fn files(&self) -> anyhow::Result<Vec<PathBuf>> {
        let entries = self.folder.read_dir().context("cannot read the folder of the results")?;
        Ok(entries.flatten().map(|entry| entry.path()).collect())
    }

    fn launch(&self, side: usize) -> anyhow::Result<Vec<RunRecords>> {
        let n_before = self.n_launches.replace(self.n_launches.get() + 1);
        let name = format!("{:02}-{}", n_before + 1, ["a", "b"][side]);
        let file = |ending: &str| self.folder.join(format!("{name}.{ending}"));
        let launch = job::Launch {
            words: self.commands[side],
            out: &file("jsonl"),
            log: &file("log"),
            seed: u64::from(n_before / 2 + 1),
            timeout: self.args.timeout,
            signals: self.signals,
        };
        match launch.run()? {
            Ended::Alone(_) => launch.read(),
            Ended::Signal(name) => {
                let (code, folder) = (exit::code_of_signal(name), self.folder.display());
                Err(exit::refuse(code, format!("ended by {name}; files are in {folder}")))
            }
        }
    }
}

/// Side of launch `index`, as in A B B A A B B A: the base (0) or the other (1).
fn side(index: u32) -> usize {
    usize::from(index % 4 == 1 || index % 4 == 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_launch_has_a_neighbour_of_the_other_side() {
        let sides: Vec<usize> = (0..8).map(side).collect();
        assert_eq!(sides, [0, 1, 1, 0, 0, 1, 1, 0]);
        assert!(sides.chunks(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn two_commands_stand_between_dashes() {
        let words = |line: &str| -> Vec<String> { line.split(' ').map(Into::into).collect() };
        let both = words("one -n 2 -- two");
        let [base, new] = split(&both).unwrap();
        assert_eq!((base, new), (&words("one -n 2")[..], &words("two")[..]));
        for line in ["one", "one --", "-- two", "one -- two -- three"] {
            let error = split(&words(line)).unwrap_err();
            assert_eq!(exit::code_of(&error), exit::USAGE, "{line}");
        }
    }
}
