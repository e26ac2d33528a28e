//! Blocked calls: contents, order, exchanges, and messages to oneself.

use super::Check;
use super::toolkit::{
    Envelope, Found, LENGTHS_BYTES, OTHER, TAG, buffers, checks, finish, messages, next,
    post_receives, previous, receive, round_the_ring, start_sends, while_sending,
};
use crate::error::Result;
use crate::transport::{Request, Tag, Transport};

/// Longer than what any transport keeps between two ranks, in bytes.
const LONG_BYTES: usize = 4 * 1024 * 1024 + 3;

/// Length of the messages that all ranks send before any receives, in bytes.
const EXCHANGED_BYTES: usize = 1024 * 1024;

pub(super) fn checks<T: Transport>() -> Vec<Check<T>> {
    checks![
        messages_of_every_length_arrive_unchanged,
        messages_beyond_any_ring_arrive_unchanged,
        messages_of_a_pair_do_not_overtake,
        messages_of_one_of_several_tags_keep_order,
        both_ends_of_an_exchange_get_their_message,
        an_exchange_in_place_leaves_what_arrived,
        a_rank_receives_what_it_sends_to_itself,
        a_rank_receives_from_itself_as_it_has_asked,
    ]
}

pub(super) fn buffered_checks<T: Transport>() -> Vec<Check<T>> {
    checks![both_ranks_of_a_pair_may_send_first, all_ranks_of_a_ring_may_send_first,]
}

fn messages_of_every_length_arrive_unchanged<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for length_bytes in LENGTHS_BYTES {
        pass_round(t, found, 4, length_bytes)?;
    }
    Ok(())
}

fn messages_beyond_any_ring_arrive_unchanged<T: Transport>(t: &T, found: &Found) -> Result<()> {
    pass_round(t, found, 2, LONG_BYTES)
}

/// Passes `n_messages` round the ring with blocked calls: even ranks send first.
fn pass_round<T: Transport>(
    t: &T,
    found: &Found,
    n_messages: usize,
    length_bytes: usize,
) -> Result<()> {
    let (outgoing, incoming) = round_the_ring(t, 0, vec![(TAG, length_bytes); n_messages]);
    for (to, from) in outgoing.iter().zip(&incoming) {
        if t.n_ranks() == 1 {
            while_sending(t, &[*to], || receive(t, found, from, from.from()))?;
        } else if t.rank().is_multiple_of(2) {
            send(t, to)?;
            receive(t, found, from, from.from())?;
        } else {
            receive(t, found, from, from.from())?;
            send(t, to)?;
        }
    }
    Ok(())
}

fn send<T: Transport>(t: &T, to: &Envelope) -> Result<()> {
    t.blocked_send(to.destination, to.tag, &to.message(t)?)
}

fn messages_of_a_pair_do_not_overtake<T: Transport>(t: &T, found: &Found) -> Result<()> {
    // Short messages between long ones take other ways through a transport.
    let lengths_bytes = [8, 3000, 16, 48, 70_000, 49, 64, 9000, 24, 4096, 8, 4097];
    let messages = (0..120).map(|i| (TAG, lengths_bytes[i % lengths_bytes.len()]));
    let (outgoing, incoming) = round_the_ring(t, 0, messages);
    while_sending(t, &outgoing, || {
        incoming.iter().try_for_each(|from| receive(t, found, from, from.from()))
    })
}

fn messages_of_one_of_several_tags_keep_order<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let messages = (0..200).map(|i| (Tag::new(1 + i % 3), 8 + usize::from(i % 7) * 8));
    let (outgoing, incoming) = round_the_ring(t, 0, messages);
    while_sending(t, &outgoing, || {
        for tag in [3, 1, 2].map(Tag::new) {
            let of_tag = incoming.iter().filter(|from| from.tag == tag);
            of_tag.into_iter().try_for_each(|from| receive(t, found, from, from.from()))?;
        }
        Ok(())
    })
}

fn both_ends_of_an_exchange_get_their_message<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for (index, length_bytes) in [0, 1, 48, 49, 4097, 70_000, 1_048_577].into_iter().enumerate() {
        // Every rank sends another length than it receives.
        let to = Envelope {
            source: t.rank(),
            destination: next(t),
            tag: TAG,
            length_bytes: length_bytes + t.rank(),
            index,
        };
        let source = previous(t);
        let from =
            Envelope { source, destination: t.rank(), length_bytes: length_bytes + source, ..to };
        let (message, mut buffer) = (to.message(t)?, from.buffer(t)?);
        let result = t.blocked_exchange(to.destination, &message, from.from(), &mut buffer, TAG);
        found.require_arrival(&from, result, &buffer)?;
        found.require_content(&to, &message);
    }
    Ok(())
}

fn an_exchange_in_place_leaves_what_arrived<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for (index, length_bytes) in LENGTHS_BYTES.into_iter().chain([LONG_BYTES]).enumerate() {
        let (source, destination) = (previous(t), t.rank());
        let from = Envelope { source, destination, tag: TAG, length_bytes, index };
        let to = Envelope { source: t.rank(), destination: next(t), ..from };
        let (mut message, mut room) = (to.message(t)?, t.room_in_place(length_bytes)?);
        let result =
            t.blocked_exchange_in_place(to.destination, from.from(), TAG, &mut message, &mut room);
        found.require_arrival(&from, result, &message)?;
    }
    Ok(())
}

fn a_rank_receives_what_it_sends_to_itself<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for envelope in to_oneself(t) {
        while_sending(t, &[envelope], || receive(t, found, &envelope, envelope.from()))?;
    }
    Ok(())
}

fn a_rank_receives_from_itself_as_it_has_asked<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for envelope in to_oneself(t) {
        let envelopes = [envelope];
        let (messages, mut buffers) = (messages(t, &envelopes)?, buffers(t, &envelopes)?);
        t.scope(|s| {
            let receives = post_receives(s, &envelopes, &mut buffers)?;
            let sends = start_sends(s, &envelopes, &messages)?;
            receives.into_iter().try_for_each(|request| finish(found, &envelope, request))?;
            sends.into_iter().try_for_each(Request::wait)
        })?;
    }
    Ok(())
}

/// One message of every length to this rank itself.
fn to_oneself<T: Transport>(t: &T) -> impl Iterator<Item = Envelope> {
    let rank = t.rank();
    LENGTHS_BYTES.into_iter().enumerate().map(move |(index, length_bytes)| Envelope {
        source: rank,
        destination: rank,
        tag: OTHER,
        length_bytes,
        index,
    })
}

fn both_ranks_of_a_pair_may_send_first<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let partner = t.rank() ^ 1;
    if partner >= t.n_ranks() {
        return Ok(());
    }
    for index in 0..4 {
        let to = Envelope {
            source: t.rank(),
            destination: partner,
            tag: TAG,
            length_bytes: EXCHANGED_BYTES,
            index,
        };
        let from = Envelope { source: partner, destination: t.rank(), ..to };
        send(t, &to)?;
        receive(t, found, &from, from.from())?;
    }
    Ok(())
}

fn all_ranks_of_a_ring_may_send_first<T: Transport>(t: &T, found: &Found) -> Result<()> {
    // A rank that is alone would wait for itself.
    if t.n_ranks() == 1 {
        return Ok(());
    }
    let (outgoing, incoming) = round_the_ring(t, 0, [(TAG, EXCHANGED_BYTES); 4]);
    for (to, from) in outgoing.iter().zip(&incoming) {
        send(t, to)?;
        receive(t, found, from, from.from())?;
    }
    Ok(())
}
