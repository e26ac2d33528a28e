//! Jobs that `ab`, `launches` and `suite run --launch` start: commands that measure.
//!
//! Each launch is a process group of its own, which ends with the launch.

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, bail};
use comet_report::runs::{RunRecords, read_runs};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::exit;
use crate::launcher::Launcher;
use crate::signals::Signals;

/// Time between two checks.
const STEP: Duration = Duration::from_millis(20);
/// Time from a signal to the kill, for processes that do not end.
const PATIENCE: Duration = Duration::from_secs(10);
/// Number of last output lines quoted in an error about a command.
const N_LAST_LINES: usize = 3;
/// Word of a command that stands for this program with its arguments.
const COMET: &str = "{comet}";

/// The words that start `command`, in which `own`, this program with its arguments, stands for `{comet}`, or behind
/// it. Variables may stand before the command, and words in quotes.
///
/// # Errors
/// If it is none, or more than one.
pub(super) fn around(command: &str, own: Vec<String>) -> anyhow::Result<Vec<String>> {
    if command.trim().is_empty() {
        return Err(exit::usage(format!(
            "--launch names no command (write --launch 'mpirun -n 4', or 'mpirun -n 4 {COMET}')"
        )));
    }
    if command.contains([';', '&', '|', '\n']) {
        return Err(exit::usage(format!(
            "--launch '{command}' is more than one command (write them into a file, and --launch 'sh FILE {COMET}')"
        )));
    }
    const OWN: &str = "\"$@\"";
    let line = match command.contains(COMET) {
        true => command.replace(COMET, OWN),
        false => format!("{command} {OWN}"),
    };
    // The shell becomes the command, and its own name is that of this program.
    let shell = ["/bin/sh", "-c", &format!("exec env {line}"), "comet-run"].map(str::to_owned);
    Ok(shell.into_iter().chain(own).collect())
}

/// Refuses a `launcher` that has started the command `name`, which starts jobs itself.
pub(super) fn refuse_launcher(launcher: Option<&Launcher>, name: &str) -> anyhow::Result<()> {
    let Some(Launcher { name: launcher, .. }) = launcher else { return Ok(()) };
    Err(exit::refuse(
        exit::TRANSPORT,
        format!("{launcher} started {name}, which starts jobs itself (write {launcher} behind --)"),
    ))
}

/// A command that is to be launched once.
pub(super) struct Launch<'a> {
    /// The program and its arguments; `{out}` in them stands for the result file.
    pub(super) words: &'a [String],
    /// The result file.
    pub(super) out: &'a Path,
    /// File for all output of the command.
    pub(super) log: &'a Path,
    /// Its seed.
    pub(super) seed: u64,
    /// Time limit of the launch.
    pub(super) timeout: Duration,
    /// Signals that end it early.
    pub(super) signals: &'a Signals,
}

impl Launch<'_> {
    /// Runs the command to its end.
    ///
    /// # Errors
    /// If it cannot be started, takes too long, or ends with a code that says that nothing was
    /// measured. Cases that failed or were not reached are in its results.
    pub(super) fn run(&self) -> anyhow::Result<Ended> {
        let mut group = self.start()?;
        let Some(ended) = group.wait(self.timeout, self.signals)? else {
            bail!(
                "'{}' took longer than {} and was killed (give it more time with --timeout){}",
                self.words.join(" "),
                humantime::format_duration(self.timeout),
                self.last_words()
            )
        };
        if let Ended::Alone(status) = ended {
            let allowed = [exit::OK, exit::CHECK_FAILED, exit::PARTIAL].map(i32::from);
            if !status.code().is_some_and(|code| allowed.contains(&code)) {
                bail!("'{}' failed with {status}{}", self.words.join(" "), self.last_words())
            }
        }
        Ok(ended)
    }

    fn start(&self) -> anyhow::Result<Group> {
        let out = self.out.to_string_lossy();
        let mut words = self.words.iter().map(|word| word.replace("{out}", &out));
        let program = words.next().unwrap_or_default();
        let cannot = || format!("cannot write {}", self.log.display());
        let log = File::create(self.log).with_context(cannot)?;
        let mut command = Command::new(&program);
        command.args(words);
        command.env("COMET_OUT", self.out).env("COMET_SEED", self.seed.to_string());
        command.env("COMET_LAUNCHES", "1");
        command.stdout(log.try_clone().with_context(cannot)?).stderr(log);
        Group::start(command, &program)
    }

    /// The runs in its result file.
    ///
    /// # Errors
    /// If there is none.
    pub(super) fn read(&self) -> anyhow::Result<Vec<RunRecords>> {
        let runs = read_runs(self.out).ok().filter(|runs| !runs.is_empty());
        runs.with_context(|| {
            format!(
                "'{}' left no results in {} (let it write the file that COMET_OUT names, or write \
                 {{out}} in the command)",
                self.words.join(" "),
                self.out.display()
            )
        })
    }

    /// The end of what it said, and where the rest is.
    fn last_words(&self) -> String {
        let said = std::fs::read(self.log).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = lines[lines.len().saturating_sub(N_LAST_LINES)..].join(" | ");
        let log = self.log.display();
        if last.is_empty() { String::new() } else { format!(", and said last: {last} ({log})") }
    }
}

/// Outcome of a launch.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ended {
    /// By itself.
    Alone(ExitStatus),
    /// Because this signal arrived here.
    Signal(&'static str),
}

/// A child with all of its processes, none of which stays when this value goes.
pub(super) struct Group(Child);

impl Group {
    /// Starts `command`, called `name`, in a group of its own, without an input.
    pub(super) fn start(mut command: Command, name: &str) -> anyhow::Result<Self> {
        command.stdin(Stdio::null()).process_group(0);
        // Or a job would outlive this process, if that is killed.
        comet_shm::bind_to_this_process(&mut command);
        let child = command.spawn();
        Ok(Self(child.with_context(|| format!("cannot start '{name}' (is it in PATH?)"))?))
    }

    /// Waits for the end of the child, or until a signal arrives; `None` if `timeout` is over first.
    pub(super) fn wait(
        &mut self,
        timeout: Duration,
        signals: &Signals,
    ) -> io::Result<Option<Ended>> {
        for _ in 0..n_steps(timeout) {
            if let Some(status) = self.0.try_wait()? {
                return Ok(Some(Ended::Alone(status)));
            }
            if let Some(name) = signals.arrived() {
                self.end(name.parse().unwrap_or(Signal::SIGTERM))?;
                return Ok(Some(Ended::Signal(name)));
            }
            thread::sleep(STEP);
        }
        self.end(Signal::SIGTERM)?;
        Ok(None)
    }

    /// Passes `signal` on to all processes, and waits a moment for the child.
    fn end(&mut self, signal: Signal) -> io::Result<()> {
        self.send(signal);
        for _ in 0..n_steps(PATIENCE) {
            if self.0.try_wait()?.is_some() {
                break;
            }
            thread::sleep(STEP);
        }
        Ok(())
    }

    fn send(&self, signal: Signal) {
        let pid = i32::try_from(self.0.id()).expect("the system gives process numbers as i32");
        // A group that has ended needs no signal.
        let _ = killpg(Pid::from_raw(pid), signal);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.send(Signal::SIGKILL);
        // What was killed ends, and one that has ended already is no error.
        drop(self.0.wait());
    }
}

/// Number of checks within `time`. No clock is read here: only transports do that.
fn n_steps(time: Duration) -> u128 {
    time.as_nanos().div_ceil(STEP.as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_stands_in_its_place_or_behind_the_command() {
        let started = |command: &str| {
            let own = ["printf", "%s|", "it's", "a b", "{out}"].map(str::to_owned).to_vec();
            let words = around(command, own)?;
            let output = Command::new(&words[0]).args(&words[1..]).output()?;
            anyhow::Ok(String::from_utf8(output.stdout)?)
        };
        let check = |command, expected: &str| assert_eq!(started(command).unwrap(), expected);
        check("{comet}", "it's|a b|{out}|");
        check("A=1 {comet} : 'c d'", "it's|a b|{out}|:|c d|");
        check("A=1 env", "it's|a b|{out}|");
        for (command, expected) in [(" ", "names no command"), ("a; {comet}", "is more than one")] {
            let error = around(command, Vec::new()).unwrap_err();
            assert_eq!(exit::code_of(&error), exit::USAGE);
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
}
