//! Why a job cannot go on, in words.

use comet_core::transport::{Rank, Source};
use comet_core::waiting::Waiting;

use crate::JobFailure;
use crate::engine::{Block, Engine, Lost};

/// All ranks that have not returned wait for each other.
pub(crate) fn deadlock(engine: &Engine) -> JobFailure {
    let stuck: Vec<Rank> =
        (0..engine.ranks.len()).filter(|r| !engine.ranks[*r].is_finished).collect();
    let mut message =
        format!("{} of {} ranks wait for each other", stuck.len(), engine.ranks.len());
    for rank in stuck.iter().take(16) {
        message += &format!("; {}", stand(engine, *rank));
    }
    for lost in &engine.lost {
        let Lost { way, length_bytes, sent_ps } = lost;
        let (source, destination, tag) = (way.source(), way.destination(), way.tag);
        message += &format!(
            "; a message of {length_bytes} bytes from rank {source} to rank {destination} (tag {tag}), sent at t = {}, was lost",
            time(*sent_ps)
        );
    }
    for (_, held) in engine.messages.iter().filter(|(_, m)| m.receive.is_none()).take(16) {
        message += &format!(
            "; rank {} holds a message from rank {} (tag {}) sent at t = {}",
            held.way.destination(),
            held.way.source(),
            held.way.tag,
            time(held.sent_ps)
        );
    }
    JobFailure { rank: None, code: "deadlock", signal: None, message }
}

/// A rank that probes in vain for ever.
pub(crate) fn livelock(engine: &Engine, rank: Rank) -> String {
    format!("{}: it probes and tests in vain for ever", stand(engine, rank))
}

/// A rank that an injected fault has ended.
pub(crate) fn death(engine: &Engine, rank: Rank, now_ps: u64) -> String {
    format!("rank {rank} died at t = {} (injected) {}", time(now_ps), stand(engine, rank))
}

/// A rank that panicked.
pub(crate) fn panic(engine: &Engine, rank: Rank, text: &str) -> String {
    format!("rank {rank} panicked at t = {}: {text}", time(engine.ranks[rank].clock_ps))
}

/// A rank that gave up.
pub(crate) fn gave_up(engine: &Engine, rank: Rank, reason: &str) -> String {
    format!("rank {rank} gave up at t = {}: {reason}", time(engine.ranks[rank].clock_ps))
}

/// A job that goes on after a signal.
pub(crate) fn interruption(_engine: &Engine, signal: &str) -> String {
    format!("the ranks were ended because they went on after {signal}")
}

/// Where a rank is, and what it waits for.
fn stand(engine: &Engine, rank: Rank) -> String {
    let state = &engine.ranks[rank];
    let mut text = format!("rank {rank}");
    match waiting(engine, rank) {
        Some(waiting) => text += &format!(" {waiting}"),
        None => text += " runs",
    }
    if let Some(site) = state.site {
        text += &format!(" at {site}");
    }
    if !state.activity.is_empty() {
        text += &format!(" during {}", state.activity);
    }
    text + &format!(", t = {}", time(state.clock_ps))
}

/// What a rank waits for.
fn waiting(engine: &Engine, rank: Rank) -> Option<Waiting> {
    let state = &engine.ranks[rank];
    match state.block? {
        Block::Receive(id) => {
            let receive = engine.receives.get(id as usize)?;
            Some(Waiting::Recv(receive.source, receive.tag, receive.capacity_bytes))
        }
        Block::Send(id) => {
            let send = engine.sends.get(id as usize)?;
            Some(Waiting::Send(send.way.destination(), send.way.tag, send.length_bytes))
        }
        Block::Turn => Some(Waiting::Rest(Source::Any)),
    }
}

/// A virtual time for people.
#[expect(clippy::cast_precision_loss, reason = "it is rounded anyway")]
fn time(at_ps: u64) -> String {
    format!("{:.3} us", at_ps as f64 / 1e6)
}
