//! A command that measures a suite, started again and again until nothing is left to measure.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use comet_report::journal::Journal;
use comet_report::record::UnitState;
use comet_report::recorder::new_run_id;

use crate::cli::SuiteRunArgs;
use crate::command::job::{self, Ended, Group};
use crate::exit;
use crate::launcher::Launcher;
use crate::results;
use crate::signals::Signals;
use crate::suite::journal::unused;
use crate::terminal;

/// Starts of words with the command and the file of all starts.
const REPLACED: [&str; 3] = ["--launch=", "--out=", "-o"];

/// True if a program that ended with `code` went through what it had to do, or will never begin.
fn ends(code: u8) -> bool {
    matches!(
        code,
        exit::OK
            | exit::CHECK_FAILED
            | exit::PARTIAL
            | exit::NOTHING
            | exit::USAGE
            | exit::TRANSPORT
    ) || exit::signal_of(code).is_some()
}

/// Starts the `command` of `args` until no unit is left; returns its last exit code.
pub(super) fn supervise(
    command: &str,
    args: &SuiteRunArgs,
    launcher: Option<&Launcher>,
) -> anyhow::Result<u8> {
    job::refuse_launcher(launcher, "suite run --launch")?;
    let out = path(args)?;
    let own = words(std::env::args_os(), &out).context("cannot find this program")?;
    let words = job::around(command, own)?;
    let signals = Signals::catch().context("cannot catch signals")?;
    let mut n_idle = 0;
    loop {
        let n_before = journal(&out)?.n_steps;
        let mut shell = Command::new(&words[0]);
        shell.args(&words[1..]);
        let mut group = Group::start(shell, command)?;
        let ended = group.wait(Duration::MAX, &signals)?;
        // Before the next one none of its processes may be left.
        drop(group);
        let status = match ended {
            Some(Ended::Signal(name)) => return Ok(exit::code_of_signal(name)),
            Some(Ended::Alone(status)) => status,
            None => continue,
        };
        let Journal { n_steps, last, .. } = journal(&out)?;
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        let has_moved = n_steps > n_before;
        if has_moved && last == Some(UnitState::Stopped) {
            return Ok(code.unwrap_or(exit::PARTIAL));
        }
        let is_cut_off = has_moved && last == Some(UnitState::Begun);
        if let Some(code) = code.filter(|code| ends(*code) && !is_cut_off) {
            return Ok(code);
        }
        n_idle = if has_moved { 0 } else { n_idle + 1 };
        if n_idle >= args.journal.attempts {
            return Err(exit::refuse(
                exit::TRANSPORT,
                format!("'{command}' ended with {} before it began a unit", words_of(status)),
            ));
        }
        terminal::note(&format!(
            "note: '{command}' ended with {}: started again",
            words_of(status)
        ));
    }
}

fn words_of(status: ExitStatus) -> String {
    status.to_string()
}

/// The result file of all starts, which a file must be.
fn path(args: &SuiteRunArgs) -> anyhow::Result<PathBuf> {
    let started_at = SystemTime::now();
    let default = || results::default_path(&new_run_id(started_at), started_at);
    let path = args.run.output.out.clone().unwrap_or_else(default);
    let is_special = path.metadata().is_ok_and(|data| !data.is_file());
    if is_special || path == Path::new("none") {
        return Err(exit::usage(format!(
            "--launch goes on with the units that its result file lacks, and {} is no file (name one \
             with --out)",
            path.display()
        )));
    }
    Ok(if args.journal.again { unused(&path) } else { path })
}

/// The journal of the file `path`; an empty one if there is none yet.
fn journal(path: &Path) -> anyhow::Result<Journal> {
    if path.symlink_metadata().is_err() {
        return Ok(Journal::default());
    }
    Journal::read(path).map_err(exit::bad_input)
}

/// This program with its own `arguments`, but for those of its starts, and with the result file `out`.
fn words(arguments: impl Iterator<Item = OsString>, out: &Path) -> anyhow::Result<Vec<String>> {
    let mut words = vec![std::env::current_exe()?.to_string_lossy().into_owned()];
    let mut arguments = arguments.skip(1);
    while let Some(argument) = arguments.next() {
        let text = argument.to_string_lossy();
        if ["--launch", "--out", "-o"].contains(&&*text) {
            arguments.next();
        } else if text != "--again" && !REPLACED.iter().any(|start| text.starts_with(start)) {
            words.push(text.into_owned());
        }
    }
    words.push(format!("--out={}", out.display()));
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_gets_the_arguments_of_this_program_but_for_those_of_its_starts() {
        let line =
            ["comet-run", "suite", "run", "it's.toml", "--launch", "mpirun {comet}", "--again"];
        let words = words(line.into_iter().map(OsString::from), Path::new("r.jsonl")).unwrap();
        assert_eq!(words[1..], ["suite", "run", "it's.toml", "--out=r.jsonl"]);
        let line =
            ["comet-run", "--launch=x {comet}", "-o", "a", "-ob", "--out=c", "--out", "d", "-q"];
        let words = super::words(line.into_iter().map(OsString::from), Path::new("r")).unwrap();
        assert_eq!(words[1..], ["-q", "--out=r"]);
    }
}
