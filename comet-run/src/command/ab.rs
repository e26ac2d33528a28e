//! `ab`: two commands in turn, several launches each, and what they measured held against each
//! other.
//!
//! Launches go A B B A A B …, so that each has a neighbour of the other side, and what slowly
//! changes on the machine falls on both. Launches are added until every point is decided, or up to
//! a limit. Points that seem to have changed are looked for again in as many fresh launches, and only
//! what shows twice is a change.
//!
//! Both launches of a pair get the same seed, and each pair its own (`COMET_SEED`).
//!
//! Each launch is a process group of its own, which ends with the launch.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, bail};
use comet_report::compare::{Comparison, Options, compare};
use comet_report::runs::{RunRecords, read_runs};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::compare::{conclude, refuse_twins};
use crate::cli::AbArgs;
use crate::exit;
use crate::launcher::Launcher;
use crate::signals::Signals;
use crate::terminal;

/// Folder of results that the user does not name; a number follows.
const FOLDER: &str = "comet-results/ab-";
/// Time between two checks.
const STEP: Duration = Duration::from_millis(20);
/// Time from a signal to the kill, for processes that do not end.
const PATIENCE: Duration = Duration::from_secs(10);
/// Number of last output lines quoted in an error about a command.
const N_LAST_LINES: usize = 3;

/// Runs both commands and compares them; returns the exit code.
pub(crate) fn ab(args: &AbArgs, launcher: Option<&Launcher>) -> anyhow::Result<u8> {
    if let Some(Launcher { name, .. }) = launcher {
        return Err(exit::refuse(
            exit::TRANSPORT,
            format!("{name} started ab, which starts jobs itself (write {name} into its commands)"),
        ));
    }
    let [base, new] = split(&args.commands)?;
    let signals = Signals::catch().context("cannot catch signals")?;
    let folder = make_folder(args.out.as_deref())?;
    let n_launches = Cell::new(0);
    let commands = [base, new];
    let bench = Bench { args, commands, folder: &folder, signals: &signals, n_launches };
    let (mut comparison, n_pairs) = bench.round("", args.launches, Options::default())?;
    let keys = comparison.changed_keys();
    if !keys.is_empty() && !args.no_confirm {
        terminal::note(&format!("{} points seem to have changed: looking again", keys.len()));
        let keys = Some(keys);
        let options = Options { keys, ..Options::default() };
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
    /// until every point is decided or the limit is reached. Returns the number of launches of each.
    fn round(
        &self,
        title: &str,
        n_first: u32,
        options: Options,
    ) -> anyhow::Result<(Comparison, u32)> {
        let options = Options { margin: self.args.judgement.margin, is_paired: true, ..options };
        let limit = self.args.max_launches.max(n_first);
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
            if n_open == 0 || n_pairs >= limit {
                return Ok((comparison, n_pairs));
            }
            n_done = n_pairs;
            n_pairs = (2 * n_pairs).min(limit);
            terminal::note(&format!(
                "{n_open} of {} points are inconclusive after {n_done} launches of each command: \
                 going on to {n_pairs} (--max-launches {limit})",
                comparison.points.len()
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
        let launch = Launch {
            words: self.commands[side],
            out: &file("jsonl"),
            log: &file("log"),
            seed: n_before / 2 + 1,
            timeout: self.args.timeout,
            signals: self.signals,
        };
        launch.run()
    }
}

/// Side of launch `index`, as in A B B A A B B A: the base (0) or the other (1).
fn side(index: u32) -> usize {
    usize::from(index % 4 == 1 || index % 4 == 2)
}

/// A command that is to be launched once.
struct Launch<'a> {
    /// The program and its arguments; `{out}` in them stands for the result file.
    words: &'a [String],
    /// The result file.
    out: &'a Path,
    /// File for all output of the command.
    log: &'a Path,
    /// The seed of the pair.
    seed: u32,
    /// Time limit of the launch.
    timeout: Duration,
    /// Signals that end it early.
    signals: &'a Signals,
}

impl Launch<'_> {
    /// Runs the command to its end, and reads what it measured.
    fn run(&self) -> anyhow::Result<Vec<RunRecords>> {
        let mut group = self.start()?;
        match group.wait(self.timeout, self.signals)? {
            Ended::Alone(status) => self.check(status)?,
            Ended::Signal(name) => {
                let folder = self.log.parent().unwrap_or(self.log).display();
                let code = exit::code_of_signal(name);
                return Err(exit::refuse(code, format!("ended by {name}; files are in {folder}")));
            }
            Ended::Late => bail!(
                "'{}' took longer than {} and was killed (give it more time with --timeout){}",
                self.words.join(" "),
                humantime::format_duration(self.timeout),
                self.last_words()
            ),
        }
        self.read()
    }

    fn start(&self) -> anyhow::Result<Group> {
        let out = self.out.to_string_lossy();
        let mut words = self.words.iter().map(|word| word.replace("{out}", &out));
        let program = words.next().unwrap_or_default();
        let cannot = || format!("cannot write {}", self.log.display());
        let log = File::create(self.log).with_context(cannot)?;
        let mut command = Command::new(&program);
        command.args(words).process_group(0);
        command.env("COMET_OUT", self.out).env("COMET_SEED", self.seed.to_string());
        command.env("COMET_LAUNCHES", "1");
        command.stdin(Stdio::null()).stdout(log.try_clone().with_context(cannot)?).stderr(log);
        // Or a job would outlive an `ab` that is killed.
        comet_shm::bind_to_this_process(&mut command);
        let child = command.spawn();
        let child = child.with_context(|| format!("cannot start '{program}' (is it in PATH?)"))?;
        Ok(Group(child))
    }

    /// Succeeds if the command measured anything. Cases that failed or were not reached are in its
    /// results, and matter to the comparison.
    fn check(&self, status: ExitStatus) -> anyhow::Result<()> {
        let of_cases = [exit::CHECK_FAILED, exit::PARTIAL].map(i32::from);
        if status.success() || status.code().is_some_and(|code| of_cases.contains(&code)) {
            return Ok(());
        }
        bail!("'{}' failed with {status}{}", self.words.join(" "), self.last_words())
    }

    fn read(&self) -> anyhow::Result<Vec<RunRecords>> {
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
enum Ended {
    /// By itself.
    Alone(ExitStatus),
    /// Because this signal arrived here.
    Signal(&'static str),
    /// Because its time was over.
    Late,
}

/// A child with all of its processes, none of which stays when this value goes.
struct Group(Child);

impl Group {
    /// Waits for the end of the child, at most for `timeout`, or until a signal arrives.
    fn wait(&mut self, timeout: Duration, signals: &Signals) -> io::Result<Ended> {
        for _ in 0..n_steps(timeout) {
            if let Some(status) = self.0.try_wait()? {
                return Ok(Ended::Alone(status));
            }
            if let Some(name) = signals.arrived() {
                self.end(name.parse().unwrap_or(Signal::SIGTERM))?;
                return Ok(Ended::Signal(name));
            }
            thread::sleep(STEP);
        }
        self.end(Signal::SIGTERM)?;
        Ok(Ended::Late)
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
