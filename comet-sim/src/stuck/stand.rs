//! State of each rank: its call, and the operation that it waits for.

use std::panic::Location;

use comet_core::transport::{Rank, Source, Tag};

use super::words;
use crate::engine::{Block, Collective, Engine, Poll};

/// Kind of wanted operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
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
}

/// Operation that a rank waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Want {
    pub(super) kind: Kind,
    pub(super) peer: Source,
    pub(super) tag: Tag,
    /// Of the message, or of the buffer; 0 for a probe.
    pub(super) length_bytes: usize,
}

/// State of a rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stand<'e> {
    pub(super) rank: Rank,
    /// Operation that it waits for, if any.
    pub(super) want: Option<Want>,
    pub(super) collective: Option<Collective>,
    pub(super) site: Option<&'static Location<'static>>,
    pub(super) clock_ps: u64,
    pub(super) activity: &'e str,
}

/// The ranks that have not returned.
pub(super) fn all(engine: &Engine) -> Vec<Stand<'_>> {
    let is_there = |rank: &Rank| !engine.ranks[*rank].is_finished;
    (0..engine.ranks.len()).filter(is_there).map(|rank| of(engine, rank)).collect()
}

/// One rank.
pub(super) fn of(engine: &Engine, rank: Rank) -> Stand<'_> {
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
    let receive = |kind, id| {
        let receive = engine.receives.get(id as usize).filter(|receive| receive.rank == rank)?;
        let (peer, tag, length_bytes) = (receive.source, receive.tag, receive.capacity_bytes);
        Some(Want { kind, peer, tag, length_bytes })
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
        (_, Some(Poll::Receive(id))) => receive(Kind::TestReceive, id),
        (_, Some(Poll::Send(id))) => send(Kind::TestSend, id),
        (_, Some(Poll::Probe(peer, tag))) => {
            Some(Want { kind: Kind::Probe, peer, tag, length_bytes: 0 })
        }
        (_, None) => None,
    }
}

impl Stand<'_> {
    /// Predicate of a sentence about the rank: `waits for up to 8 bytes from rank 1 (tag 3)`.
    pub(super) fn sentence(&self) -> String {
        let Some(want) = self.want else { return self.phrase(false, "", "", "") };
        let peer = match want.peer {
            Source::Rank(peer) => format!("rank {peer}"),
            Source::Any => "any rank".into(),
        };
        self.phrase(false, &want.length_bytes.to_string(), &peer, &words::tag(want.tag))
    }

    /// Predicate of a sentence about one rank, or several in the same state.
    pub(super) fn phrase(&self, many: bool, lengths: &str, peers: &str, tags: &str) -> String {
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
        }
    }
}
