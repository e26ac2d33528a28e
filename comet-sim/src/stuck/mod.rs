//! Explanation of a job that cannot go on: one sentence, and below it one line for each fact.
//!
//! ```text
//!   stand      what each rank waits for
//!   cycle      the shortest chain of ranks that wait for each other
//!   group      ranks at the same line of the kernel, in one line
//!   suspect    what may be wrong: messages that almost match, ranks that have returned, …
//!   words      ranks, tags and times for people
//! ```
//!
//! A report has at most 60 lines, however many ranks there are.

mod cycle;
mod group;
mod stand;
mod suspect;
mod words;

use comet_core::transport::{Rank, Source};

use crate::JobFailure;
use crate::engine::Engine;
use cycle::Cycle;
use stand::Stand;

/// All ranks that have not returned wait for each other, or for ranks that have.
pub(crate) fn deadlock(engine: &Engine) -> JobFailure {
    let stands = stand::all(engine);
    let cycle = cycle::shortest(&stands, engine.ranks.len());
    let (activity, first_line) = match &cycle {
        Some(cycle) => (cycle.first().activity, cycle.sentence()),
        None => dead_end(engine, &stands),
    };
    let mut lines = vec![first_line + &words::during(activity)];
    lines.extend(cycle.as_ref().map(Cycle::line));
    lines.extend(cycle.as_ref().and_then(|cycle| unbuffered(engine, cycle)));
    lines.extend(group::lines(&stands, engine.ranks.len(), activity));
    lines.extend(suspect::lines(&stands, engine));
    JobFailure { rank: None, code: "deadlock", signal: None, message: report(&lines) }
}

/// A rank that probes and tests in vain for ever.
pub(crate) fn livelock(engine: &Engine, rank: Rank) -> String {
    let (stands, stand) = (stand::all(engine), stand::of(engine, rank));
    let (does, during) = (stand.sentence(), words::during(stand.activity));
    let mut lines = vec![format!("rank {rank} {does} in vain for ever{during}")];
    lines.extend(group::lines(&stands, engine.ranks.len(), stand.activity));
    lines.extend(suspect::lines(&stands, engine));
    report(&lines)
}

/// A rank that an injected fault has ended.
pub(crate) fn death(engine: &Engine, rank: Rank, now_ps: u64) -> String {
    let stand = stand::of(engine, rank);
    let (at, during) = (words::time(now_ps), words::during(stand.activity));
    let mut lines = vec![format!("rank {rank} died at t = {at} (injected){during}")];
    let waits = |other: &Stand<'_>| other.want.is_some_and(|want| want.peer == Source::Rank(rank));
    let is_near = |other: &Stand<'_>| other.rank == rank || waits(other);
    let stands: Vec<_> = stand::all(engine).into_iter().filter(is_near).collect();
    lines.extend(group::lines(&stands, engine.ranks.len(), stand.activity));
    report(&lines)
}

/// A job that goes on after a signal.
pub(crate) fn interruption(engine: &Engine, signal: &str) -> String {
    let mut lines = vec![format!("the ranks were ended because they went on after {signal}")];
    lines.extend(group::lines(&stand::all(engine), engine.ranks.len(), ""));
    report(&lines)
}

/// A rank that has ended by itself: it `panicked`, or `gave up`.
pub(crate) fn ended(engine: &Engine, rank: Rank, how: &str, why: &str) -> String {
    let stand = stand::of(engine, rank);
    let (at, during) = (words::time(stand.clock_ps), words::during(stand.activity));
    let last_call = stand.site.map(|site| format!("its last call is at {}", words::site(site)));
    let first_line = format!("rank {rank} {how} at t = {at}{during}: {why}");
    report(&[Some(first_line), last_call].into_iter().flatten().collect::<Vec<_>>())
}

/// The first rank whose wait nobody can end, and during what it waits: without a cycle there is a
/// rank that waits for one that has returned, or for any.
fn dead_end<'e>(engine: &Engine, stands: &[Stand<'e>]) -> (&'e str, String) {
    let is_dead_end = |stand: &&Stand<'_>| match stand.want.map(|want| want.peer) {
        Some(Source::Rank(peer)) => engine.ranks[peer].is_finished,
        _ => true,
    };
    let stand = stands.iter().find(is_dead_end).expect("ranks that wait in no cycle have an end");
    let whom = match stand.want.map(|want| want.peer) {
        Some(Source::Rank(peer)) => format!("rank {peer}, which has returned,"),
        _ => "a message that no rank sends".into(),
    };
    (stand.activity, format!("rank {} waits for ever for {whom}", stand.rank))
}

/// Sentence about a cycle that may be none on another machine.
fn unbuffered(engine: &Engine, cycle: &Cycle<'_, '_>) -> Option<String> {
    let (length_bytes, name) = (cycle.unbuffered_bytes()?, &engine.machine.name);
    Some(format!(
        "a send waits for its receive, because {name} does not buffer {length_bytes} bytes; other \
         machines may"
    ))
}

/// The first line, and the others below it.
fn report(lines: &[String]) -> String {
    lines.join("\n  ")
}
