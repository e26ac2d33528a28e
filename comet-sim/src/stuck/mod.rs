//! Explanation of a job that cannot go on: one sentence, and below it one line for each fact.
//!
//! ```text
//!   cycle      the shortest chain of ranks that wait for each other
//!   group      ranks at the same line of the kernel, in one line
//!   suspect    what may be wrong: messages that almost match, ranks that have returned, …
//!   words      ranks, tags and times for people
//! ```
//!
//! A report has at most 60 lines, however many ranks there are.

mod cycle;
mod group;
mod suspect;
mod words;

use std::panic::Location;

use comet_core::transport::{Rank, Source, Tag};

use crate::JobFailure;
use crate::engine::{Block, Collective, Engine, Epoch, Poll, TransferId, WindowId, epoch_of};
use cycle::Cycle;

/// Between a report's first line and those below it.
const BELOW: &str = "\n  ";

/// All ranks that have not returned wait for each other, or for ranks that have.
pub(crate) fn deadlock(engine: &Engine) -> JobFailure {
    let stands = all_stands(engine);
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
    JobFailure { rank: None, code: "deadlock", signal: None, message: lines.join(BELOW) }
}

/// A rank that probes and tests in vain for ever.
pub(crate) fn livelock(engine: &Engine, rank: Rank) -> String {
    let (stands, stand) = (all_stands(engine), stand_of(engine, rank));
    let (does, during) = (stand.sentence(), words::during(stand.activity));
    let mut lines = vec![format!("rank {rank} {does} in vain for ever{during}")];
    lines.extend(group::lines(&stands, engine.ranks.len(), stand.activity));
    lines.extend(suspect::lines(&stands, engine));
    lines.join(BELOW)
}

/// A rank that an injected fault has ended.
pub(crate) fn death(engine: &Engine, rank: Rank, now_ps: u64) -> String {
    let stand = stand_of(engine, rank);
    let (at, during) = (words::time(now_ps), words::during(stand.activity));
    let mut lines = vec![format!("rank {rank} died at t = {at} (injected){during}")];
    let waits = |other: &Stand<'_>| other.want.is_some_and(|want| want.peer == Source::Rank(rank));
    let is_near = |other: &Stand<'_>| other.rank == rank || waits(other);
    let stands: Vec<_> = all_stands(engine).into_iter().filter(is_near).collect();
    lines.extend(group::lines(&stands, engine.ranks.len(), stand.activity));
    lines.join(BELOW)
}

/// A job that goes on after a signal.
pub(crate) fn interruption(engine: &Engine, signal: &str) -> String {
    let mut lines = vec![format!("the ranks were ended because they went on after {signal}")];
    lines.extend(group::lines(&all_stands(engine), engine.ranks.len(), ""));
    lines.join(BELOW)
}

/// A rank that has ended by itself: it `panicked`, or `gave up`.
pub(crate) fn ended(engine: &Engine, rank: Rank, how: &str, why: &str) -> String {
    let stand = stand_of(engine, rank);
    let (at, during) = (words::time(stand.clock_ps), words::during(stand.activity));
    let last_call = stand.site.map(|site| format!("its last call is at {}", words::site(site)));
    let first_line = format!("rank {rank} {how} at t = {at}{during}: {why}");
    [Some(first_line), last_call].into_iter().flatten().collect::<Vec<_>>().join(BELOW)
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    /// It waits for a message.
    Receive,
    /// It waits for the network to take a message.
    Send,
    /// It looks again and again for a message.
    Probe,
    /// It looks again and again for the end of a receive.
    TestReceive,
    /// It looks again and again for the end of a send.
    TestSend,
    /// It waits until it may access a part that another rank posts.
    Post,
    /// It waits until another rank has completed its access.
    Complete,
    /// It waits for the lock of a rank, which its peer has, or for those of all ranks.
    Lock(Option<Rank>, Option<&'static Location<'static>>),
    /// It waits for the end of transfers.
    Transfers,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Want {
    kind: Kind,
    peer: Source,
    tag: Tag,
    /// Of the message, or of the buffer; 0 for a probe.
    length_bytes: usize,
}

#[derive(Clone, Copy, Debug)]
struct Stand<'e> {
    rank: Rank,
    want: Option<Want>,
    collective: Option<Collective>,
    site: Option<&'static Location<'static>>,
    clock_ps: u64,
    activity: &'e str,
}

/// The ranks that have not returned.
fn all_stands(engine: &Engine) -> Vec<Stand<'_>> {
    let is_there = |rank: &Rank| !engine.ranks[*rank].is_finished;
    (0..engine.ranks.len()).filter(is_there).map(|rank| stand_of(engine, rank)).collect()
}

fn stand_of(engine: &Engine, rank: Rank) -> Stand<'_> {
    let state = &engine.ranks[rank];
    Stand {
        rank,
        want: want(engine, rank),
        collective: state.collective(),
        site: state.site,
        clock_ps: state.clock_ps,
        activity: state.activity.as_deref().unwrap_or_default(),
    }
}

fn want(engine: &Engine, rank: Rank) -> Option<Want> {
    let state = &engine.ranks[rank];
    let message = |kind, peer, tag, length_bytes| {
        let kind = match epoch_of(tag) {
            None => kind,
            Some(Epoch::Post) => Kind::Post,
            Some(Epoch::Complete) => Kind::Complete,
        };
        Some(Want { kind, peer, tag, length_bytes })
    };
    let receive = |kind, id| {
        let receive = engine.receives.get(id as usize).filter(|receive| receive.rank == rank)?;
        message(kind, receive.source, receive.tag, receive.capacity_bytes)
    };
    let send = |kind, id| {
        let send = engine.sends.get(id as usize).filter(|send| send.way.source() == rank)?;
        let (peer, tag, length_bytes) =
            (Source::Rank(send.way.destination()), send.way.tag, send.length_bytes);
        Some(Want { kind, peer, tag, length_bytes })
    };
    match (state.block, state.poll) {
        (Some(Block::Receive(id)), _) => receive(Kind::Receive, id),
        (Some(Block::Send(id)), _) => send(Kind::Send, id),
        (Some(Block::Lock(id)), _) => lock(engine, id),
        (Some(Block::Transfers(id)), _) => transfers(engine, rank, id),
        (_, Some(Poll::Receive(id))) => receive(Kind::TestReceive, id),
        (_, Some(Poll::Send(id))) => send(Kind::TestSend, id),
        (_, Some(Poll::Probe(peer, tag))) => message(Kind::Probe, peer, tag, 0),
        (_, None) => None,
    }
}

/// The lock that a rank waits for, and who has it.
fn lock(engine: &Engine, id: TransferId) -> Option<Want> {
    let request = engine.transfers.get(id as usize)?;
    let window = engine.windows.get(request.window);
    let target = (!request.is_of_all()).then(|| window.ranks[request.target as usize]);
    // One whose request is under way waits for its target.
    let in_the_way = window.locks.in_the_way(request).map(|holder| (holder.rank, holder.site));
    let (peer, site) = in_the_way.unwrap_or((window.ranks[request.target as usize], None));
    let (tag, length_bytes) = (Tag::new(0), 0);
    Some(Want { kind: Kind::Lock(target, site), peer: Source::Rank(peer), tag, length_bytes })
}

/// A target whose transfers `rank` waits for.
fn transfers(engine: &Engine, rank: Rank, id: WindowId) -> Option<Want> {
    let target = engine.awaited_target(rank, id)?;
    let (peer, tag, length_bytes) = (Source::Rank(target), Tag::new(0), 0);
    Some(Want { kind: Kind::Transfers, peer, tag, length_bytes })
}

impl Stand<'_> {
    /// Predicate of a sentence about the rank: `waits for up to 8 bytes from rank 1 (tag 3)`.
    fn sentence(&self) -> String {
        let Some(want) = self.want else { return self.phrase(false, "", "", "") };
        let peer = match want.peer {
            Source::Rank(peer) => format!("rank {peer}"),
            Source::Any => "any rank".into(),
        };
        self.phrase(false, &want.length_bytes.to_string(), &peer, &words::tag(want.tag))
    }

    /// Predicate of a sentence about one rank, or several in the same state.
    fn phrase(&self, many: bool, lengths: &str, peers: &str, tags: &str) -> String {
        let (s, its) = if many { ("", "their") } else { ("s", "its") };
        let within = self.collective.map_or(String::new(), |Collective { name, number }| {
            format!(" in {name}, {its} {} collective", words::ordinal(number))
        });
        let Some(Want { kind, .. }) = self.want else { return format!("run{s}{within}") };
        if !within.is_empty() {
            return format!("wait{s}{within}, for {peers}");
        }
        match kind {
            Kind::Receive => format!("wait{s} for up to {lengths} bytes from {peers} ({tags})"),
            Kind::Send => format!("wait{s} to send {lengths} bytes to {peers} ({tags})"),
            Kind::Probe => format!("probe{s} for a message from {peers} ({tags})"),
            Kind::TestReceive => {
                format!("test{s} a receive of up to {lengths} bytes from {peers} ({tags})")
            }
            Kind::TestSend => format!("test{s} a send of {lengths} bytes to {peers} ({tags})"),
            Kind::Post => format!("wait{s} for {peers} to post the part of a window"),
            Kind::Complete => format!("wait{s} for {peers} to complete the access to {its} part"),
            Kind::Lock(Some(target), _) => format!("wait{s} to lock rank {target}"),
            Kind::Lock(None, _) => format!("wait{s} to lock all ranks"),
            Kind::Transfers => format!("wait{s} for the end of transfers to {peers}"),
        }
    }

    /// Clause on those who have the lock that the rank waits for.
    fn cause(&self, peers: &str) -> String {
        match self.want.map(|want| want.kind) {
            Some(Kind::Lock(target, Some(site))) => {
                let one = if target.is_some() { "" } else { " one of" };
                format!(",{one} which {peers} has locked at {}", words::site(site))
            }
            _ => String::new(),
        }
    }
}
