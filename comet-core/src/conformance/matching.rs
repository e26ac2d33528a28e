//! Matching: the message that a receive takes, and the result of a probe.

use super::Check;
use super::toolkit::{
    Envelope, Found, OTHER, TAG, buffers, checks, finish, next, poll_until, previous, receive,
    round_the_ring, while_sending,
};
use crate::error::{Result, TransportErrorKind};
use crate::transport::{PreparedSends, SendMode, Source, Status, Tag, Transport};

/// Number of messages from each rank to each in the checks with many senders.
const N_PER_PAIR: usize = 5;

pub(super) fn checks<T: Transport>() -> Vec<Check<T>> {
    checks![
        a_receive_takes_the_message_with_its_tag,
        a_receive_of_any_tag_takes_the_earliest_message,
        a_posted_receive_of_any_tag_takes_the_next_message,
        a_probe_of_any_tag_sees_the_earliest_message,
        any_tag_from_any_source_is_refused,
        sends_of_any_tag_are_refused,
        hundreds_of_unexpected_messages_are_kept,
        a_receive_takes_the_message_of_its_source,
        messages_of_any_rank_arrive_once_and_in_order,
        probe_sees_a_message_before_it_is_received,
        probe_sees_what_a_receive_would_take,
        probing_until_a_message_is_there_leaves_it_there,
    ]
}

fn a_receive_takes_the_message_with_its_tag<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let lengths_bytes = [0, 48, 4096, 200_000, 1, 49, 4097, 0];
    let tags = [0, 1, 2, 3, 4, 5, Tag::MAX - 1, Tag::MAX].map(Tag::new);
    for index in 0..4 {
        let messages = tags.into_iter().zip(lengths_bytes);
        let (outgoing, incoming) = round_the_ring(t, index, messages);
        // The last message is taken first: all before it have arrived unexpected.
        while_sending(t, &outgoing, || {
            incoming.iter().rev().try_for_each(|from| receive(t, found, from, from.from()))
        })?;
    }
    Ok(())
}

/// Messages with tags and lengths of many kinds.
fn of_many_tags<T: Transport>(t: &T) -> (Vec<Envelope>, Vec<Envelope>) {
    let lengths_bytes = [8, 0, 49, 200_000, 1, 4097];
    let tags = [7, 2, Tag::MAX, 0, 2, 7].map(Tag::new);
    round_the_ring(t, 0, tags.into_iter().zip(lengths_bytes))
}

fn a_receive_of_any_tag_takes_the_earliest_message<T: Transport>(
    t: &T,
    found: &Found,
) -> Result<()> {
    let (outgoing, incoming) = of_many_tags(t);
    while_sending(t, &outgoing, || {
        // One that is named leaves the order of the others alone.
        receive(t, found, &incoming[3], incoming[3].from())?;
        for from in incoming.iter().filter(|from| from.index != 3) {
            let mut buffer = from.buffer(t)?;
            let result = t.blocked_recv(from.from(), Tag::ANY, &mut buffer);
            found.require_arrival(from, result, &buffer)?;
        }
        Ok(())
    })
}

fn a_posted_receive_of_any_tag_takes_the_next_message<T: Transport>(
    t: &T,
    found: &Found,
) -> Result<()> {
    let (outgoing, incoming) = of_many_tags(t);
    let mut buffers = buffers(t, &incoming)?;
    t.scope(|s| {
        let mut receives = Vec::new();
        for (from, buffer) in incoming.iter().zip(&mut buffers) {
            // Both kinds stand in one line.
            let tag = if from.index % 2 == 0 { Tag::ANY } else { from.tag };
            receives.push(s.unblocked_recv(from.from(), tag, buffer)?);
        }
        while_sending(t, &outgoing, || {
            let mut pairs = incoming.iter().zip(receives);
            pairs.try_for_each(|(from, request)| finish(found, from, request))
        })
    })
}

fn a_probe_of_any_tag_sees_the_earliest_message<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let (outgoing, incoming) = of_many_tags(t);
    while_sending(t, &outgoing, || {
        for from in &incoming {
            let arrived = poll_until(|| Ok(t.probe(from.from(), Tag::ANY)?.is_some()))?;
            found.require(arrived, "a probe of any tag never saw a message that was sent");
            if arrived {
                let seen = t.probe(from.from(), Tag::ANY)?;
                found.require_eq("what a probe of any tag saw", seen, Some(from.status()));
            }
            receive(t, found, from, from.from())?;
        }
        Ok(())
    })
}

fn any_tag_from_any_source_is_refused<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let received = t.blocked_recv(Source::Any, Tag::ANY, &mut [0]).map(drop);
    let probed = t.probe(Source::Any, Tag::ANY).map(drop);
    for (call, result) in [("a receive", received), ("a probe", probed)] {
        let kind = result.err().map(|error| error.kind);
        found.require_eq(call, kind, Some(TransportErrorKind::InvalidArgument));
    }
    Ok(())
}

fn sends_of_any_tag_are_refused<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let (to, message, mut buffer) = (next(t), [1; 8], [0; 8]);
    let refuse = |call: &str, result: Result<()>| {
        let text = result.err().map_or_else(|| "nothing".into(), |error| error.to_string());
        let is_refused = text.contains("a send names its tag");
        found.require(is_refused, &format!("{call} of any tag is refused, not {text}"));
    };
    refuse("blocked_send", t.blocked_send(to, Tag::ANY, &message));
    for mode in SendMode::ALL {
        refuse(&format!("{mode:?} send"), t.blocked_send_in(mode, to, Tag::ANY, &message));
    }
    let from = Source::Rank(previous(t));
    let exchanged = t.blocked_exchange(to, &message, from, &mut buffer, Tag::ANY);
    refuse("blocked_exchange", exchanged.map(drop));
    let started = t.scope(|s| s.unblocked_send(to, Tag::ANY, &message)?.wait());
    refuse("unblocked_send", started);
    refuse("prepared sends", PreparedSends::new(t, to, Tag::ANY, &message, 1).map(drop));
    t.barrier()
}

fn hundreds_of_unexpected_messages_are_kept<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let unexpected = (0..600).map(|i| (TAG, (i * 7) % 300));
    let (outgoing, incoming) = round_the_ring(t, 0, unexpected.chain([(OTHER, 8)]));
    while_sending(t, &outgoing, || {
        let (last, rest) = incoming.split_last().expect("the list above is not empty");
        receive(t, found, last, last.from())?;
        rest.iter().try_for_each(|from| receive(t, found, from, from.from()))
    })
}

/// Every rank sends to every rank, itself included; the order of arrival is anybody's guess.
fn a_receive_takes_the_message_of_its_source<T: Transport>(t: &T, found: &Found) -> Result<()> {
    while_sending(t, &all_to_all(t), || {
        for source in (0..t.n_ranks()).rev() {
            for index in 0..N_PER_PAIR {
                let from = among_all(source, t.rank(), index);
                receive(t, found, &from, from.from())?;
            }
        }
        Ok(())
    })
}

fn messages_of_any_rank_arrive_once_and_in_order<T: Transport>(t: &T, found: &Found) -> Result<()> {
    while_sending(t, &all_to_all(t), || {
        let mut n_seen = vec![0; t.n_ranks()];
        for _ in 0..n_seen.len() * N_PER_PAIR {
            receive_from_any(t, found, &mut n_seen)?;
        }
        Ok(())
    })
}

/// Receives the next message of whichever rank, of which `n_seen` were received so far.
fn receive_from_any<T: Transport>(t: &T, found: &Found, n_seen: &mut [usize]) -> Result<()> {
    let mut buffer = vec![0; longest_among_all()];
    let status = match t.blocked_recv(Source::Any, TAG, &mut buffer) {
        Ok(status) => status,
        Err(error) => return found.survive("a receive from any rank", error),
    };
    let Some(index) = n_seen.get_mut(status.source) else {
        found.note(format!("a message arrived from rank {}, which does not exist", status.source));
        return Ok(());
    };
    let from = among_all(status.source, t.rank(), *index);
    *index += 1;
    let length_bytes = status.length_bytes.min(buffer.len());
    found.require_arrival(&from, Ok(status), &buffer[..length_bytes])
}

/// All messages that this rank sends when every rank sends to every rank.
fn all_to_all<T: Transport>(t: &T) -> Vec<Envelope> {
    let to_rank =
        |destination| (0..N_PER_PAIR).map(move |index| among_all(t.rank(), destination, index));
    (0..t.n_ranks()).flat_map(to_rank).collect()
}

/// Length of the longest message among all, in bytes.
fn longest_among_all() -> usize {
    5000
}

/// One message of the many; their lengths depend on sender and index.
fn among_all(source: usize, destination: usize, index: usize) -> Envelope {
    let lengths_bytes = [48, 0, 8, longest_among_all(), 100, 64];
    let length_bytes = lengths_bytes[(source + index) % lengths_bytes.len()];
    Envelope { source, destination, tag: TAG, length_bytes, index }
}

fn probe_sees_a_message_before_it_is_received<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let lengths_bytes = [0, 1, 48, 49, 4096, 4097, 200_000];
    for (index, length_bytes) in lengths_bytes.into_iter().enumerate() {
        let (outgoing, incoming) = round_the_ring(t, index, [(TAG, length_bytes)]);
        // No rank sends before all have looked, and none sends again before the next barrier.
        nothing_is_there(t, found, "before anything was sent")?;
        t.barrier()?;
        while_sending(t, &outgoing, || {
            let from = &incoming[0];
            await_probe(t, found, from.from(), from.status())?;
            await_probe(t, found, Source::Any, from.status())?;
            only_that_is_there(t, found)?;
            receive(t, found, from, from.from())
        })?;
        nothing_is_there(t, found, "after the message was received")?;
    }
    Ok(())
}

/// Probes until something is there, and once more; it must be `expected`.
fn await_probe<T: Transport>(t: &T, found: &Found, source: Source, expected: Status) -> Result<()> {
    let arrived = poll_until(|| Ok(t.probe(source, expected.tag)?.is_some()))?;
    found.require(arrived, "a probe never saw a message that was sent");
    if arrived {
        let seen = t.probe(source, expected.tag)?;
        found.require_eq(format!("what a probe from {source:?} saw"), seen, Some(expected));
    }
    Ok(())
}

fn nothing_is_there<T: Transport>(t: &T, found: &Found, when: &str) -> Result<()> {
    for source in [Source::Any, Source::Rank(previous(t))] {
        let seen = t.probe(source, TAG)?;
        found.require_eq(format!("what a probe from {source:?} saw {when}"), seen, None);
    }
    Ok(())
}

/// Probes for the message with a wrong tag, and from a wrong rank.
fn only_that_is_there<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let with_other_tag = t.probe(Source::Any, OTHER)?;
    found.require_eq("what a probe with another tag saw", with_other_tag, None);
    if t.n_ranks() > 1 {
        let from_oneself = t.probe(Source::Rank(t.rank()), TAG)?;
        found.require_eq("what a probe from another rank saw", from_oneself, None);
    }
    Ok(())
}

fn probing_until_a_message_is_there_leaves_it_there<T: Transport>(
    t: &T,
    found: &Found,
) -> Result<()> {
    let (outgoing, incoming) = of_many_tags(t);
    while_sending(t, &outgoing, || {
        for from in &incoming {
            let tag = if from.index % 2 == 0 { Tag::ANY } else { from.tag };
            let seen = t.probe_until(from.from(), tag)?;
            found.require_eq("what probes until a message is there saw", seen, from.status());
            receive(t, found, from, from.from())?;
        }
        Ok(())
    })
}

fn probe_sees_what_a_receive_would_take<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let messages = [(OTHER, 5), (TAG, 100), (TAG, 70_000), (TAG, 0), (TAG, 8)];
    let (outgoing, incoming) = round_the_ring(t, 0, messages);
    while_sending(t, &outgoing, || {
        let (other, rest) = incoming.split_first().expect("the list above is not empty");
        for from in rest {
            await_probe(t, found, from.from(), from.status())?;
            receive(t, found, from, Source::Any)?;
        }
        await_probe(t, found, Source::Any, other.status())?;
        receive(t, found, other, other.from())
    })
}
