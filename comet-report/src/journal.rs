//! The journal of a suite: the `unit` lines of its result file, which say where to go on, and which of
//! several attempts counts.
//!
//! ```text
//!   unit a begun · run … end · unit a done          counts
//!   unit b begun · run …                            cut off, and replaced by what follows
//!   unit b begun · run … end · unit b stopped       counts, as what it is: partial
//! ```

pub(crate) mod conditions;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;
use std::time::SystemTime;

use crate::abandoned::{CloseError, lines_of};
use crate::fingerprint::sha256_of_text;
use crate::read::{ReadError, parse_lines};
use crate::record::{
    End, EndStatus, Level, OfSuite, PointCounts, Record, Run, Unit, UnitState, timestamp,
};

pub use conditions::{Difference, differences};

/// Start of every record of a result file.
const RECORD: &[u8] = b"{\"type\":";
/// Start of the reasons of runs that a signal has ended.
const SIGNAL: &str = "SIG";

/// The journal of one result file.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    /// True if the file holds no record.
    pub is_empty: bool,
    /// SHA-256 of the texts of the suites whose units it has.
    pub suites: BTreeSet<String>,
    /// Its last run that is an attempt of a unit.
    pub run: Option<Box<Run>>,
    /// The past of each unit, by its name.
    pub units: BTreeMap<String, Past>,
    /// Number of steps.
    pub n_steps: usize,
    /// The last step.
    pub last: Option<UnitState>,
    /// The unit of the last step.
    unit: String,
}

/// Past of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Past {
    /// Its last step.
    pub state: UnitState,
    /// Number of attempts.
    pub n_begun: u32,
    /// Those of them that were cut off, neither done nor stopped.
    pub n_failed: u32,
    /// Failure of the last attempt, as far as its run tells, or the reason of the last step.
    pub reason: Option<String>,
    /// Status and points of its last run, where that has an end.
    pub end: Option<(EndStatus, PointCounts)>,
    /// Id of the run of its last attempt.
    pub run_id: String,
    /// Id of the run of an attempt that may still be cut off.
    open: Option<String>,
}

impl Journal {
    /// The journal in `file`, open for reading and appending, whose partial last line is cut off if the file is
    /// one of a suite. Errors name the file by its `path`.
    ///
    /// # Errors
    /// If the file cannot be read or written, or is no result file.
    pub fn resume(file: &File, path: &Path) -> Result<Self, CloseError> {
        let io_error = |source| CloseError::Io { path: path.into(), source };
        let [text, partial] = lines_of(file).map_err(io_error)?;
        let journal = Self::of(&parse_lines(&text).map_err(|error| error.of_file(path))?.records);
        let is_record = partial.starts_with(RECORD) || RECORD.starts_with(&partial);
        let is_empty = journal.is_empty && is_record;
        if !partial.is_empty() && (is_empty || journal.n_steps > 0) {
            file.set_len(text.len() as u64).map_err(io_error)?;
        }
        Ok(Self { is_empty, ..journal })
    }

    /// The journal of the file `path`, which another process may be writing.
    ///
    /// # Errors
    /// If the file cannot be read, or is no result file.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        let text =
            std::fs::read(path).map_err(|source| ReadError::Io { path: path.into(), source })?;
        Ok(Self::of(&parse_lines(&text).map_err(|error| error.of_file(path))?.records))
    }

    fn of(records: &[Record]) -> Self {
        let mut journal = Self { is_empty: records.is_empty(), ..Self::default() };
        records.iter().for_each(|record| journal.note(record));
        journal
    }

    /// Takes note of the next `record` of the file.
    pub fn note(&mut self, record: &Record) {
        match record {
            Record::Unit(step) => {
                self.unit.clone_from(&step.unit);
                self.step(step);
            }
            Record::Run(run) if run.of_suite.is_some() => self.run = Some(run.clone()),
            Record::Event(event) if event.level == Level::Error => {
                self.fail(event.run_id.as_deref(), &event.message);
            }
            Record::End(end) => {
                if let Some(past) = self.attempt(end.run_id.as_deref()) {
                    past.ended(end);
                }
            }
            _ => (),
        }
    }

    /// Notes that the attempt with the run `run_id` has failed for this `reason`.
    pub fn fail(&mut self, run_id: Option<&str>, reason: &str) {
        if let Some(past) = self.attempt(run_id) {
            past.reason = Some(reason.into());
        }
    }

    /// The unit of the last step, if the run `run_id` is its attempt.
    fn attempt(&mut self, run_id: Option<&str>) -> Option<&mut Past> {
        self.units.get_mut(&self.unit).filter(|past| past.open.as_deref() == run_id)
    }

    fn step(&mut self, step: &Unit) {
        self.suites.insert(step.suite_sha256.clone());
        self.n_steps += 1;
        self.last = Some(step.state);
        let past = self.units.entry(step.unit.clone()).or_insert(Past {
            state: step.state,
            n_begun: 0,
            n_failed: 0,
            reason: None,
            end: None,
            run_id: String::new(),
            open: None,
        });
        past.state = step.state;
        match step.state {
            UnitState::Begun => {
                past.n_begun += 1;
                past.n_failed += 1;
                (past.reason, past.end) = (None, None);
                past.run_id.clone_from(&step.run_id);
                past.open = Some(step.run_id.clone());
            }
            UnitState::Done | UnitState::Stopped => past.forgive(),
            UnitState::Gone => (),
        }
        if step.state != UnitState::Begun && step.reason.is_some() {
            past.reason.clone_from(&step.reason);
        }
    }
}

impl Past {
    /// Takes the attempt out of those that were cut off.
    fn forgive(&mut self) {
        self.n_failed -= u32::from(self.open.take().is_some());
    }

    fn ended(&mut self, end: &End) {
        self.end = Some((end.status, end.points));
        let is_signal = |reason: &String| reason.starts_with(SIGNAL);
        // The process that would have written the step has ended too, by itself or by its guard.
        if end.reason.as_ref().is_some_and(is_signal) {
            self.forgive();
        }
    }
}

/// The step `state` of the unit of `of` whose attempt has the run `run_id`, at the time `at`.
pub fn step(
    of: &OfSuite,
    run_id: &str,
    state: UnitState,
    reason: Option<String>,
    at: SystemTime,
) -> Record {
    Record::Unit(Box::new(Unit {
        run_id: run_id.into(),
        suite_sha256: of.sha256.clone(),
        unit: of.unit.clone(),
        attempt: of.attempt,
        state,
        at: timestamp(at),
        reason,
    }))
}

/// SHA-256 of the text of `lines`, each with its newline, in hex digits.
pub fn sha256_of_lines(lines: &[String]) -> String {
    let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
    sha256_of_text(&text)
}

/// `records` with the runs that count, without steps: of each unit the attempt that is done, or else the
/// last one.
pub(crate) fn counted(mut records: Vec<Record>) -> Vec<Record> {
    let mut attempts = Attempts::default();
    for record in &records {
        // Problems are those of the reader.
        let _ = attempts.record(record);
    }
    let mut is_replaced = false;
    records.retain(|record| {
        if let Record::Run(run) = record {
            is_replaced = attempts.replaced.contains(&run.run_id);
        }
        !is_replaced && !matches!(record, Record::Unit(_))
    });
    records
}

/// Attempts at the units of a file, in the order of its lines.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    /// Ids of the runs that another attempt replaces.
    pub(crate) replaced: BTreeSet<String>,
    /// The last attempt begun at each unit, by suite and name.
    begun: BTreeMap<(String, String), String>,
    /// The last run of each unit.
    runs: BTreeMap<(String, String), String>,
    /// Ids of the runs of attempts; a run of units that files were merged to is none.
    attempts: BTreeSet<String>,
    done: BTreeSet<String>,
}

impl Attempts {
    /// Takes note of `record`; returns what is wrong with it, if it is a step that cannot follow.
    pub(crate) fn record(&mut self, record: &Record) -> Option<String> {
        match record {
            Record::Run(run) => {
                let of = run.of_suite.as_ref()?;
                let key = (of.sha256.clone(), of.unit.clone());
                let earlier = self.runs.insert(key, run.run_id.clone());
                let is_cut_off =
                    |id: &String| self.attempts.contains(id) && !self.done.contains(id);
                self.replaced.extend(earlier.filter(is_cut_off));
                None
            }
            Record::Unit(step) => {
                let Unit { run_id, unit, .. } = &**step;
                let key = (step.suite_sha256.clone(), unit.clone());
                let last = self.begun.get(&key);
                let is_done = last.is_some_and(|last| self.done.contains(last));
                let is_begun = last == Some(run_id);
                let problem = match step.state {
                    UnitState::Begun if is_done && step.attempt > 1 => {
                        Some(format!("the unit {unit} is begun again, but it is done"))
                    }
                    UnitState::Done if is_done => Some(format!("the unit {unit} is done twice")),
                    UnitState::Done | UnitState::Stopped if !is_begun => {
                        Some(format!("the unit {unit} ends, but was not begun"))
                    }
                    UnitState::Done if self.runs.get(&key) != Some(run_id) => {
                        Some(format!("the unit {unit} is done, but there is no run of it"))
                    }
                    _ => None,
                };
                match step.state {
                    UnitState::Begun => {
                        self.attempts.insert(run_id.clone());
                        self.begun.insert(key, run_id.clone());
                    }
                    UnitState::Done => drop(self.done.insert(run_id.clone())),
                    UnitState::Stopped | UnitState::Gone => (),
                }
                problem
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
