//! The journal of a suite while it is measured: the next unit, and the outcome of each.
//!
//! ```text
//!   r.jsonl ──► lock ──► Journal: done  suspects  gone ──► next: never begun, then fewest failures
//!                          ▲                                  │
//!                          └── done, stopped, gone ◄── run ◄── begun
//! ```
//!
//! Only the first process of a job has the file. Its lock belongs to the open file, which forked ranks
//! share, so that nobody else writes before the last of them is gone.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use comet_core::words::count;
use comet_report::journal::{
    self, Journal as Past, Past as PastOfUnit, differences, sha256_of_lines,
};
use comet_report::record::{EndStatus, OfSuite, PointCounts, UnitState};
use comet_report::recorder::RunDescription;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use super::Suite;
use crate::exit;
use crate::results::{self, ResultFile};
use crate::terminal;

/// Time in which the ranks of a launcher that was killed end, and leave its file.
const PATIENCE: Duration = Duration::from_secs(3);
/// Time between two tries.
const STEP: Duration = Duration::from_millis(20);

/// Opens the result file of a suite, and locks it: the one that the user asks for with `out`, which may
/// hold units of it already, or another one beside that if the suite is to be begun `again`.
pub(crate) fn open(
    out: Option<&Path>,
    again: bool,
    run_id: &str,
    started_at: SystemTime,
) -> anyhow::Result<(Option<ResultFile>, Past)> {
    let path = match out {
        Some(path) if path == Path::new("none") => return Ok((None, Past::default())),
        Some(path) if again => unused(path),
        Some(path) => path.to_owned(),
        None => results::default_path(run_id, started_at),
    };
    if path.metadata().is_ok_and(|data| !data.is_file()) {
        return Ok((Some(ResultFile::at(path)?), Past::default()));
    }
    let file = ResultFile::kept_at(path)?;
    lock(file.file(), file.path())?;
    let past = Past::resume(file.file(), file.path()).map_err(exit::bad_input)?;
    if !past.is_empty && past.n_steps == 0 {
        return Err(exit::usage(format!(
            "{} is there already, and holds no suite that can go on (name another file with --out)",
            file.path().display()
        )));
    }
    Ok((Some(file), past))
}

/// The first name like `path` that no file has: `r-2.jsonl` for `r.jsonl`.
pub(crate) fn unused(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (stem, ending) = name
        .rsplit_once('.')
        .map_or((&*name, String::new()), |(stem, ending)| (stem, format!(".{ending}")));
    let others = (2_u32..).map(|n| path.with_file_name(format!("{stem}-{n}{ending}")));
    let mut names = std::iter::once(path.to_owned()).chain(others);
    names.find(|name| name.symlink_metadata().is_err()).expect("there are more numbers than files")
}

/// Locks `file`, called `path`, until all processes that have it open have ended.
fn lock(file: &File, path: &Path) -> anyhow::Result<()> {
    let cannot = || format!("cannot lock {} (is its file system able to?)", path.display());
    for _ in 0..=PATIENCE.as_millis() / STEP.as_millis() {
        let own = file.try_clone().with_context(cannot)?;
        match Flock::lock(own, FlockArg::LockExclusiveNonblock) {
            // Dropped, it would unlock the file for the ranks too.
            Ok(lock) => {
                std::mem::forget(lock);
                return Ok(());
            }
            Err((_, Errno::EWOULDBLOCK)) => thread::sleep(STEP),
            Err((_, Errno::ENOSYS | Errno::ENOLCK | Errno::EOPNOTSUPP)) => {
                terminal::note(&format!(
                    "note: {}: nothing keeps others from writing it",
                    cannot()
                ));
                return Ok(());
            }
            Err((_, errno)) => return Err(io::Error::from(errno)).with_context(cannot),
        }
    }
    let holder = holder(file).map_or_else(
        || "another process".into(),
        |(pid, command)| format!("process {pid} ({command})"),
    );
    Err(exit::usage(format!(
        "{} is being written by {holder} (wait for its end, or name another file with --out)",
        path.display()
    )))
}

/// The process that has locked `file`, and its command line.
fn holder(file: &File) -> Option<(u32, String)> {
    let inode = file.metadata().ok()?.ino().to_string();
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    let pid: u32 = locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, "FLOCK", _, _, pid, place, ..] = words[..] else { return None };
        (place.rsplit(':').next() == Some(&*inode)).then(|| pid.parse().ok())?
    })?;
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let command = String::from_utf8_lossy(&command).replace('\0', " ");
    Some((pid, terminal::one_line(command.trim_end())))
}

/// A unit of the plan.
#[derive(Debug)]
struct Unit {
    name: String,
    /// Exit code of the attempt that is done.
    code: u8,
}

/// Outcome of an attempt.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It went through, and ended with this code.
    Done(u8),
    /// It was ended early, for this reason.
    Stopped(String),
    /// Ranks died or hung, as this sentence says.
    Failed(String),
}

/// The units of a suite, each with its past.
#[derive(Debug)]
pub(crate) struct Journal<'a> {
    name: &'a str,
    lines: &'a [String],
    sha256: String,
    /// The file, on the process that writes it, if it can be read again.
    file: Option<ResultFile>,
    /// Attempts that may fail before a unit is gone.
    attempts: u32,
    /// The environment that differs from that of earlier runs.
    difference: Option<String>,
    units: Vec<Unit>,
    /// Steps of the units so far.
    past: Past,
}

impl<'a> Journal<'a> {
    /// The journal of `suite` in `file`, with its `past`. Its units are called `names`, in their order.
    /// `describe` describes the unit with a number of these here; another environment than in the past is
    /// allowed if `allows_difference`.
    ///
    /// # Errors
    /// If the past is that of another plan, or was measured under other conditions.
    pub(crate) fn new(
        suite: &'a Suite,
        names: Vec<String>,
        (file, past): (Option<&ResultFile>, &Past),
        attempts: u32,
        allows_difference: bool,
        describe: impl FnOnce(usize) -> RunDescription,
    ) -> anyhow::Result<Self> {
        let file = file.filter(|file| file.is_regular()).map(ResultFile::once_more).transpose()?;
        let sha256 = sha256_of_lines(&suite.lines);
        let path = file.as_ref().map(|file| file.path().display().to_string()).unwrap_or_default();
        let refuse = |difference: &str| {
            let remedy = "measure as before, or into another file with --again";
            exit::usage(format!("cannot go on with {path}: {difference} ({remedy})"))
        };
        if past.suites.iter().any(|other| *other != sha256) {
            let before = past.run.as_ref().and_then(|run| run.of_suite.as_ref());
            let before = before.map_or(&[][..], |of| &of.lines);
            return Err(refuse(&other_plan(before, &suite.lines)));
        }
        // Of another number of ranks some facts are others.
        let last = past.run.as_ref().and_then(|run| {
            let unit = &run.of_suite.as_ref()?.unit;
            Some((run, names.iter().position(|name| name == unit)?))
        });
        let found = last.map(|(run, index)| differences(run, &describe(index))).unwrap_or_default();
        let (surrounding, own): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|difference| difference.is_environment);
        if let Some(difference) = own.first() {
            return Err(refuse(&difference.to_string()));
        }
        if let Some(name) = past.units.keys().find(|name| !names.contains(name)) {
            return Err(refuse(&format!("its unit '{name}' is none of these ranks")));
        }
        if let Some(difference) = surrounding.first().filter(|_| !allows_difference) {
            let remedy = "or allow it with --allow-env-diff";
            return Err(refuse(&format!("{difference}; {remedy}")));
        }
        let code = |name: &String| past.units.get(name).map_or(exit::NOTHING, code_of);
        let units = names.into_iter().map(|name| Unit { code: code(&name), name }).collect();
        let difference = surrounding.first().map(ToString::to_string);
        let (name, lines) = (&*suite.name, &*suite.lines);
        let past = past.clone();
        Ok(Self { name, lines, sha256, file, attempts, difference, units, past })
    }

    /// The units that are left, and all.
    pub(crate) fn n_left(&self) -> (usize, usize) {
        let left = self.units.iter().filter(|unit| !self.is_over(unit));
        (left.count(), self.units.len())
    }

    /// The past of `unit`; `None` if it was never begun.
    fn past(&self, unit: &Unit) -> Option<&PastOfUnit> {
        self.past.units.get(&unit.name)
    }

    /// The next unit by its place in the order, if one is left; those that have failed too often are
    /// given up first.
    pub(crate) fn next(&mut self) -> anyhow::Result<Option<usize>> {
        for index in 0..self.units.len() {
            let unit = &self.units[index];
            let Some(past) = self.past(unit) else { continue };
            let is_suspect = matches!(past.state, UnitState::Begun | UnitState::Stopped);
            if is_suspect && past.n_failed >= self.attempts {
                let reason = past.reason.clone();
                let reason = reason.unwrap_or_else(|| "the job ended without a report".into());
                let failures = count(past.n_failed as usize, "failed attempt");
                let name = &unit.name;
                terminal::note(&format!(
                    "note: unit {name} is given up after {failures}: {reason}"
                ));
                self.step(index, UnitState::Gone, Some(reason))?;
            }
        }
        let open = (0..self.units.len()).filter(|index| !self.is_over(&self.units[*index]));
        Ok(open.min_by_key(|index| {
            let past = self.past(&self.units[*index]);
            (past.is_some(), past.map_or(0, |past| past.n_failed), *index)
        }))
    }

    /// Begins the unit at `index` with the run `run_id`; returns what its record says.
    pub(crate) fn begin(&mut self, index: usize, run_id: &str) -> anyhow::Result<OfSuite> {
        let attempt = self.attempt(index) + 1;
        let reason = self.difference.clone();
        self.step_of((index, attempt, run_id), UnitState::Begun, reason)?;
        Ok(self.of_suite(index, attempt))
    }

    /// Ends the attempt at the unit at `index`.
    pub(crate) fn end(&mut self, index: usize, outcome: Outcome) -> anyhow::Result<()> {
        match outcome {
            Outcome::Done(code) => {
                self.units[index].code = code;
                // What is done is on the disk.
                self.file.as_ref().map_or(Ok(()), |file| file.file().sync_data())?;
                self.step(index, UnitState::Done, None)
            }
            Outcome::Stopped(reason) => self.step(index, UnitState::Stopped, Some(reason)),
            Outcome::Failed(reason) => {
                let run_id = self.run_id(index);
                self.past.fail(Some(&run_id), &reason);
                Ok(())
            }
        }
    }

    /// Number of the last attempt at the unit at `index`.
    pub(crate) fn attempt(&self, index: usize) -> u32 {
        self.past(&self.units[index]).map_or(0, |past| past.n_begun)
    }

    /// Id of the run of that attempt.
    fn run_id(&self, index: usize) -> String {
        self.past(&self.units[index]).map(|past| past.run_id.clone()).unwrap_or_default()
    }

    /// The exit code for all units that are over.
    pub(crate) fn code(&self) -> u8 {
        let over = self.units.iter().filter(|unit| self.is_over(unit));
        over.map(|unit| unit.code).fold(exit::NOTHING, exit::worse)
    }

    fn is_over(&self, unit: &Unit) -> bool {
        self.past(unit).is_some_and(|past| match past.state {
            UnitState::Done => true,
            // With more attempts it is a suspect again.
            UnitState::Gone => past.n_failed >= self.attempts,
            _ => false,
        })
    }

    fn of_suite(&self, index: usize, attempt: u32) -> OfSuite {
        OfSuite {
            name: self.name.to_owned(),
            sha256: self.sha256.clone(),
            lines: self.lines.to_vec(),
            unit: self.units[index].name.clone(),
            attempt,
        }
    }

    /// Notes that the unit at `index` is in `state` now.
    fn step(
        &mut self,
        index: usize,
        state: UnitState,
        reason: Option<String>,
    ) -> anyhow::Result<()> {
        let run_id = self.run_id(index);
        self.step_of((index, self.attempt(index), &run_id), state, reason)
    }

    /// The same of an attempt with its run.
    fn step_of(
        &mut self,
        (index, attempt, run_id): (usize, u32, &str),
        state: UnitState,
        reason: Option<String>,
    ) -> anyhow::Result<()> {
        if state == UnitState::Gone {
            self.units[index].code = exit::PARTIAL;
        }
        let of = self.of_suite(index, attempt);
        let record = journal::step(&of, run_id, state, reason, SystemTime::now());
        self.past.note(&record);
        self.file.as_ref().map_or(Ok(()), |file| file.append(&[record]))
    }
}

/// The exit code of a unit with this past, whose run ended in an earlier process.
fn code_of(past: &PastOfUnit) -> u8 {
    match (past.state, past.end) {
        (UnitState::Gone, _) => exit::PARTIAL,
        (_, None) => exit::NOTHING,
        (_, Some((_, PointCounts { check_failed: 1.., .. }))) => exit::CHECK_FAILED,
        (_, Some((EndStatus::Complete, PointCounts { ok: 0, .. }))) => exit::NOTHING,
        (_, Some((EndStatus::Complete, PointCounts { failed: 0, .. }))) => exit::OK,
        _ => exit::PARTIAL,
    }
}

/// The first difference between the suite of `before` and that of `here`, in words.
fn other_plan(before: &[String], here: &[String]) -> String {
    let at = |lines: &[String], index: usize| {
        lines.get(index).map_or("nothing".into(), |line| format!("'{line}'"))
    };
    let n = before.len().max(here.len());
    match (0..n).find(|index| before.get(*index) != here.get(*index)).filter(|_| !before.is_empty())
    {
        Some(index) => format!(
            "it is of another plan, which has {} in line {} where this one has {}",
            at(before, index),
            index + 1,
            at(here, index)
        ),
        None => "it is of another plan".into(),
    }
}
