//! The conformance suite: what every transport must do, checked over the transport itself.
//!
//! ```text
//!   a backend's tests   ─┐
//!   comet-run check     ─┴─► run_all ─► point_to_point  contents, order, exchanges
//!                               │       matching        tags, sources, unexpected messages, probe
//!                               │       errors          truncation, arguments out of range
//!                               │       unblocked       requests in flight
//!                               │       sets            all, any and some of many requests
//!                               │       groups          parts of the ranks
//!                               │       collective      barrier, broadcast, global sum
//!                               │       calls           all collectives, and all algorithms
//!                               │       local_side      message buffers, clock, topology
//!                               │       windows         epochs, transfers and accumulations
//!   the same     ─────► run_files ──► files           pointers, forms and views
//!                               ▼
//!                            every rank's problem reaches rank 0
//! ```
//!
//! All ranks call a check together, with any number of ranks from 1 up: a rank that is alone sends
//! to itself. A check keeps the first error that it finds and goes on to end its communication, so
//! that a failure is a sentence and not a job that hangs. Guarantees of some transports only
//! ([`Promises`]) are checked on those.

mod calls;
mod collective;
mod errors;
mod files;
mod groups;
mod local_side;
mod matching;
mod point_to_point;
mod sets;
mod toolkit;
mod unblocked;
mod windows;

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod twisted;

use std::path::Path;

use crate::collective as naive;
use crate::error::Result;
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
    run: fn(&T, &Path, &Found) -> Result<()>,
}

/// The checks that hold on every transport, in reading order.
fn checks<T: Transport>() -> Vec<Check<T>> {
    let groups = [
        local_side::checks(),
        point_to_point::checks(),
        matching::checks(),
        errors::checks(),
        unblocked::checks(),
        sets::checks(),
        groups::checks(),
        collective::checks(),
        calls::checks(),
    ];
    groups.into_iter().flatten().collect()
}

/// The checks of guarantees that only some transports give.
fn promised_checks<T: Transport>(promises: Promises) -> Vec<Check<T>> {
    let Promises { buffers_sends, survives_truncation, has_windows } = promises;
    let buffered = buffers_sends.then(point_to_point::buffered_checks);
    let truncated = survives_truncation.then(errors::truncation_checks);
    let windows = has_windows.then(windows::checks);
    [buffered, truncated, windows].into_iter().flatten().flatten().collect()
}

/// Runs all checks that apply to `t`; returns the number of failures, on every rank. All ranks call
/// it together.
///
/// `report` is called on rank 0 alone, after each check, with its name and the problems of all
/// ranks in one sentence. Should the transport fail so that the ranks cannot agree on the outcome,
/// that check counts as failed and the remaining ones are not run.
pub fn run_all<T: Transport>(t: &T, report: &mut Report<'_>) -> usize {
    run(t, checks().into_iter().chain(promised_checks(t.promises())), Path::new(""), report)
}

/// Runs the checks of files, which lie in `folder` meanwhile, as [`run_all`] does; for transports that have
/// files.
pub fn run_files<T: Transport>(t: &T, folder: &Path, report: &mut Report<'_>) -> usize {
    run(t, files::checks(), folder, report)
}

/// Called with the name of a check and its outcome.
pub type Report<'a> = dyn FnMut(&str, &Result<(), String>) + 'a;

fn run<T: Transport>(
    t: &T,
    checks: impl IntoIterator<Item = Check<T>>,
    folder: &Path,
    report: &mut Report<'_>,
) -> usize {
    let mut n_failed = 0;
    for check in checks {
        let verdict = run_one(t, &check, folder);
        let can_go_on = verdict.is_ok();
        let outcome = verdict.unwrap_or_else(|error| Err(error.to_string()));
        n_failed += usize::from(outcome.is_err());
        if t.rank() == 0 {
            report(check.name, &outcome);
        }
        if !can_go_on {
            break;
        }
    }
    n_failed
}

/// Runs `check`, and lets all ranks agree on its outcome. The naive collectives are used for that:
/// the transport's own are among what is checked.
fn run_one<T: Transport>(t: &T, check: &Check<T>, folder: &Path) -> Result<Outcome> {
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
