//! Suspected causes of a stuck job: collectives in different order, messages that were lost, ranks
//! that have returned, messages that almost match, messages that did not fit.

use std::collections::BTreeMap;

use comet_core::transport::{Rank, Source, Tag};

use super::group::grouped;
use super::{Kind, Stand, words};
use crate::engine::{Block, Engine, Lost, Message, Poll};

/// The most lines on one kind of suspicion.
const MAX_LINES: usize = 6;
/// The most open receives of one rank that are looked at.
const MAX_ASKS: usize = 16;

pub(super) fn lines(stands: &[Stand<'_>], engine: &Engine) -> Vec<String> {
    let kinds = [
        (collectives_that_differ(engine), "collectives that differ"),
        (lost(stands, engine), "lost messages"),
        (returned(stands, engine), "ranks that have returned"),
        (near_misses(engine), "near misses"),
        (truncated(engine), "ranks with truncated messages"),
    ];
    kinds.into_iter().flat_map(|(lines, things)| words::capped(lines, MAX_LINES, things)).collect()
}

/// Collectives that are not the same on all ranks that have got as far and no farther.
fn collectives_that_differ(engine: &Engine) -> Vec<String> {
    let mut ranks_of = BTreeMap::<u32, BTreeMap<&str, Vec<Rank>>>::new();
    for (rank, state) in
        engine.ranks.iter().enumerate().filter(|(_, s)| s.last_collective.number > 0)
    {
        let names = ranks_of.entry(state.last_collective.number).or_default();
        names.entry(state.last_collective.name).or_default().push(rank);
    }
    let differing = ranks_of.into_iter().filter(|(_, names)| names.len() > 1);
    let line = |(number, names): (u32, BTreeMap<&str, Vec<Rank>>)| {
        let place = |(name, ranks): (_, &Vec<_>)| format!("{name} on {}", words::ranks(ranks));
        let places: Vec<_> = names.iter().map(place).collect();
        format!("collectives differ: the {} is {}", words::ordinal(number), places.join(", "))
    };
    differing.map(line).collect()
}

/// Messages that a fault has lost and that a rank waits for.
fn lost(stands: &[Stand<'_>], engine: &Engine) -> Vec<String> {
    let mut wants = vec![None; engine.ranks.len()];
    stands.iter().for_each(|stand| wants[stand.rank] = stand.want);
    let is_missed = |lost: &&Lost| {
        wants[lost.way.destination()].is_some_and(|want| {
            let is_receive = !matches!(want.kind, Kind::Send | Kind::TestSend);
            is_receive && want.tag == lost.way.tag && want.peer.accepts(lost.way.source())
        })
    };
    let line = |Lost { way, length_bytes, sent_ps }: &Lost| {
        let (source, destination, tag) = (way.source(), way.destination(), words::tag(way.tag));
        format!(
            "lost (injected): the message of {length_bytes} bytes from rank {source} to rank \
             {destination} ({tag}), sent at t = {}",
            words::time(*sent_ps)
        )
    };
    engine.lost.iter().filter(is_missed).map(line).collect()
}

/// Ranks that have returned although others wait for them.
fn returned(stands: &[Stand<'_>], engine: &Engine) -> Vec<String> {
    let missed = |stand: &&Stand<'_>| match stand.want?.peer {
        Source::Rank(peer) => engine.ranks[peer].is_finished.then_some(peer),
        Source::Any => None,
    };
    let line = |group: &Vec<&Stand<'_>>| {
        let peer = missed(&group[0])?;
        let ranks: Vec<_> = group.iter().map(|stand| stand.rank).collect();
        let (ranks, at) = (words::ranks(&ranks), words::time(engine.ranks[peer].clock_ps));
        let s = if group.len() == 1 { "s" } else { "" };
        let count = match (group[0].collective, engine.ranks[peer].last_collective.number) {
            (None, _) => String::new(),
            (Some(_), 1) => ", after 1 collective".into(),
            (Some(_), n) => format!(", after {n} collectives"),
        };
        Some(format!("rank {peer}, for which {ranks} wait{s}, has returned at t = {at}{count}"))
    };
    let waiting = stands.iter().filter(|stand| missed(stand).is_some());
    grouped(waiting, missed).iter().filter_map(line).collect()
}

/// A receive that has no message yet, or a probe.
struct Ask {
    rank: Rank,
    source: Source,
    tag: Tag,
    /// True if the rank can do nothing else before.
    is_awaited: bool,
}

/// Messages that differ in their tag or in their sender alone from what a rank wants.
fn near_misses(engine: &Engine) -> Vec<String> {
    let is_kept = |m: &&Message| {
        m.receive.is_none() && m.transfer.is_none() && !words::is_reserved(m.way.tag)
    };
    let mut kept: Vec<_> = engine.messages.iter().map(|(_, m)| m).filter(is_kept).collect();
    kept.sort_by_key(|m| (m.way.destination(), m.sent_ps, m.way.source()));
    let held_by = |rank: Rank| {
        let start = kept.partition_point(|m| m.way.destination() < rank);
        let end = kept.partition_point(|m| m.way.destination() <= rank);
        &kept[start..end]
    };
    let asks = asks(engine);
    let few = asks.chunk_by(|a, b| a.rank == b.rank).flat_map(|asks| asks.iter().take(MAX_ASKS));
    few.filter_map(|ask| near_miss(ask, held_by(ask.rank))).collect()
}

/// Wanted operations of all ranks, rank by rank, the awaited ones first.
fn asks(engine: &Engine) -> Vec<Ask> {
    let open = engine.receives.iter().filter(|(_, receive)| receive.message.is_none());
    let receives = open.map(|(id, receive)| {
        let state = &engine.ranks[receive.rank];
        let is_this = |other: u32| other as usize == id;
        let is_awaited = matches!(state.block, Some(Block::Receive(id)) if is_this(id))
            || matches!(state.poll, Some(Poll::Receive(id)) if is_this(id));
        Ask { rank: receive.rank, source: receive.source, tag: receive.tag, is_awaited }
    });
    let probes = engine.ranks.iter().enumerate().filter_map(|(rank, state)| match state.poll? {
        Poll::Probe(source, tag) => Some(Ask { rank, source, tag, is_awaited: true }),
        Poll::Receive(_) | Poll::Send(_) => None,
    });
    let mut asks: Vec<_> = receives.chain(probes).collect();
    asks.retain(|ask| !engine.ranks[ask.rank].is_finished && !words::is_reserved(ask.tag));
    asks.sort_by_key(|ask| (ask.rank, !ask.is_awaited));
    asks
}

/// First message that `ask` almost accepts, or whose sender waits, if the rank does not.
fn near_miss(ask: &Ask, messages: &[&Message]) -> Option<String> {
    let waits = |m: &Message| m.send.is_some() && !m.is_started;
    let first = |is_near: &dyn Fn(&Message) -> bool| {
        messages.iter().find(|m| (ask.is_awaited || waits(m)) && is_near(m))
    };
    let is_from = |m: &Message| ask.source.accepts(m.way.source());
    let other_tag = first(&|m| is_from(m) && m.way.tag != ask.tag);
    let message = other_tag.or_else(|| first(&|m| !is_from(m) && m.way.tag == ask.tag))?;
    let source = match ask.source {
        Source::Rank(source) => format!("rank {source}"),
        Source::Any => "any rank".into(),
    };
    let wants = if ask.is_awaited { "waits for a message" } else { "has posted a receive" };
    let how = if waits(message) { ", by a send that waits" } else { "" };
    Some(format!(
        "near miss: rank {} {wants} from {source} (tag {}), and there is one from rank {} (tag {}) \
         of {} bytes, sent at t = {}{how}",
        ask.rank,
        ask.tag,
        message.way.source(),
        message.way.tag,
        message.body.len(),
        words::time(message.sent_ps),
    ))
}

/// Messages that were longer than their buffers.
fn truncated(engine: &Engine) -> Vec<String> {
    let truncated = engine.ranks.iter().enumerate().filter_map(|(rank, state)| {
        let truncation = state.truncation.as_ref()?;
        let status = truncation.status;
        let place = truncation.site.map_or(String::new(), |at| format!(" at {}", words::site(at)));
        Some(format!(
            "truncated: rank {rank} received {} bytes from rank {} ({}) into {} bytes{place}, t = {}",
            status.length_bytes,
            status.source,
            words::tag(status.tag),
            truncation.capacity_bytes,
            words::time(truncation.at_ps),
        ))
    });
    truncated.collect()
}
