//! The conformance suite: what every transport must do, checked over the transport itself.
//!
//! ```text
//!   a backend's tests ─► run_all ─┐
//!   comet-run check   ─► run ─────┴──► point_to_point  contents, order, exchanges
//!                               │       matching        tags, sources, unexpected messages, probe
//!                               │       errors          truncation, arguments out of range
//!                               │       unblocked       requests in flight
//!                               │       modes           synchronous, buffered and ready sends
//!                               │       sets            all, any and some of many requests
//!                               │       groups          parts of the ranks
//!                               │       collective      barrier, broadcast, global sum
//!                               │       calls           all collectives, and all algorithms
//!                               │       started         collectives in flight
//!                               │       prepared        operations that are started again and again
//!                               │       lanes           threads of a rank, where it has several
//!                               │       local_side      message buffers, clock, topology
//!                               │       windows         epochs, transfers and accumulations
//!                               │       files           pointers, forms and views, in a folder
//!                               ▼
//!                            every rank's problem reaches rank 0
//! ```
//!
//! All ranks call a check together, with any number of ranks from 1 up: a rank that is alone sends
//! to itself. A check keeps the first error that it finds and goes on to end its communication, so
//! that a failure is a sentence and not a job that hangs. Guarantees of some transports only
//! ([`Promises`]) are checked on those. Windows and files are each a capability of its own: what fails
//! in one of them is [`Broken`], and says nothing about the rest.

mod calls;
mod collective;
mod errors;
mod files;
mod groups;
mod lanes;
mod layouts;
mod local_side;
mod matching;
mod modes;
mod point_to_point;
mod prepared;
mod sets;
mod started;
mod toolkit;
mod unblocked;
mod windows;

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod twisted;

use crate::collective as naive;
use crate::error::Result;
use crate::file::Folder;
use crate::transport::{Promises, Transport};
use toolkit::{Found, Outcome, collect};

/// Number of ranks whose sentences a failure quotes.
const MAX_SENTENCES: usize = 3;

/// One duty of a transport.
#[derive(Debug)]
struct Check<T: Transport> {
    /// Name of the fact that is checked (`messages_of_a_pair_do_not_overtake`).
    name: &'static str,
    /// Checks it, with all ranks and in a folder where it is about files; an error is one that ended the job.
    run: fn(&T, Option<&Folder>, &Found) -> Result<()>,
}

/// The checks that hold on every transport, in reading order.
fn checks<T: Transport>() -> Vec<Check<T>> {
    let groups = [
        local_side::checks(),
        point_to_point::checks(),
        matching::checks(),
        errors::checks(),
        unblocked::checks(),
        modes::checks(),
        sets::checks(),
        groups::checks(),
        collective::checks(),
        calls::checks(),
        started::checks(),
        prepared::checks(),
        lanes::checks(),
        layouts::checks(),
    ];
    groups.into_iter().flatten().collect()
}

/// The checks of guarantees that only some transports give.
fn promised_checks<T: Transport>(promises: Promises) -> Vec<Check<T>> {
    let Promises { buffers_sends, survives_truncation, .. } = promises;
    let buffered = buffers_sends.then(point_to_point::buffered_checks);
    let truncated = survives_truncation.then(errors::truncation_checks);
    [buffered, truncated].into_iter().flatten().flatten().collect()
}

/// Outcome of the checks of a transport, the same on all ranks but for the words.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Number of checks that failed.
    pub n_failed: usize,
    /// The capabilities among them.
    pub broken: Broken,
}

/// Capabilities that a transport promises and does not have, by the sentence of the first check that
/// failed.
#[derive(Clone, Debug, Default)]
pub struct Broken {
    /// Failure of windows.
    pub windows: Option<String>,
    /// Failure of files.
    pub files: Option<String>,
}

/// Runs all checks that apply to `t` without files; returns the number of failures, on every rank. All
/// ranks call it together.
///
/// `report` is called on rank 0 alone, after each check, with its name and the problems of all
/// ranks in one sentence. Should the transport fail so that the ranks cannot agree on the outcome,
/// that check counts as failed and the remaining ones are not run.
pub fn run_all<T: Transport>(t: &T, report: &mut Report<'_>) -> usize {
    run(t, None, report).n_failed
}

/// Runs all checks that apply to `t`, as [`run_all`] does, and those of files in `folder`, if there is one.
pub fn run<T: Transport>(t: &T, folder: Option<&Folder>, report: &mut Report<'_>) -> Verdict {
    let mut session = Session::new(t, report);
    let promises = t.promises();
    session.take(checks());
    session.take(promised_checks(promises));
    let windows = if promises.has_windows { session.take(windows::checks()) } else { None };
    let files = folder.filter(|_| promises.has_files).and_then(|folder| session.take_in(folder));
    Verdict { n_failed: session.n_failed, broken: Broken { windows, files } }
}

/// Runs the checks of files alone, for transports that have files: number of failures, on every rank.
pub fn run_files<T: Transport>(t: &T, folder: &Folder, report: &mut Report<'_>) -> usize {
    let mut session = Session::new(t, report);
    session.take_in(folder);
    session.n_failed
}

/// Called with the name of a check and its outcome.
pub type Report<'a> = dyn FnMut(&str, &Result<(), String>) + 'a;

/// Checks one after the other, until the ranks cannot agree any more.
struct Session<'a, 'r, T: Transport> {
    t: &'a T,
    folder: Option<Folder>,
    report: &'a mut Report<'r>,
    n_failed: usize,
    is_over: bool,
}

impl<'a, 'r, T: Transport> Session<'a, 'r, T> {
    fn new(t: &'a T, report: &'a mut Report<'r>) -> Self {
        Self { t, folder: None, report, n_failed: 0, is_over: false }
    }

    /// Runs the checks of files in `folder`, with one number for all ranks; the first failure.
    fn take_in(&mut self, folder: &Folder) -> Option<String> {
        if self.is_over {
            return None;
        }
        match folder.agree(self.t) {
            Ok(folder) => self.folder = Some(folder),
            Err(error) => return Some(error.to_string()),
        }
        self.take(files::checks())
    }

    /// Runs `checks`; the first failure.
    fn take(&mut self, checks: Vec<Check<T>>) -> Option<String> {
        let mut first = None;
        for check in checks {
            if self.is_over {
                break;
            }
            let verdict = run_one(self.t, &check, self.folder.as_ref());
            self.is_over = verdict.is_err();
            let outcome = verdict.unwrap_or_else(|error| Err(error.to_string()));
            if self.t.rank() == 0 {
                (self.report)(check.name, &outcome);
            }
            if let Err(problem) = outcome {
                self.n_failed += 1;
                first.get_or_insert(format!("{}: {problem}", check.name.replace('_', " ")));
            }
        }
        first
    }
}

/// Runs `check`, and lets all ranks agree on its outcome. The naive collectives are used for that:
/// the transport's own are among what is checked.
fn run_one<T: Transport>(t: &T, check: &Check<T>, folder: Option<&Folder>) -> Result<Outcome> {
    t.annotate(check.name, 0);
    naive::barrier(t)?;
    let outcome = gather(t, collect(|found| (check.run)(t, folder, found)))?;
    let mut failed = [u8::from(outcome.is_err())];
    naive::broadcast(t, 0, &mut failed)?;
    match failed {
        [0] => Ok(Ok(())),
        _ => Ok(outcome.and(Err("failed on another rank".into()))),
    }
}

/// The outcome of all ranks on rank 0; on the others, their own.
fn gather<T: Transport>(t: &T, own: Outcome) -> Result<Outcome> {
    let sentence = own.clone().err().unwrap_or_default();
    let gathered = naive::gather(t, sentence.into_bytes())?;
    if t.rank() != 0 {
        return Ok(own);
    }
    let sentences = gathered.iter().enumerate().filter(|(_, bytes)| !bytes.is_empty());
    let quote =
        |(rank, bytes): (_, &Vec<_>)| format!("rank {rank}: {}", String::from_utf8_lossy(bytes));
    Ok(join(sentences.map(quote).collect()))
}

/// The first few of `sentences` and how many there are beyond them.
fn join(mut sentences: Vec<String>) -> Outcome {
    if sentences.is_empty() {
        return Ok(());
    }
    let n_more = sentences.len().saturating_sub(MAX_SENTENCES);
    sentences.truncate(MAX_SENTENCES);
    let more = if n_more > 0 { format!("; and {n_more} more rank(s)") } else { String::new() };
    Err(sentences.join("; ") + &more)
}
