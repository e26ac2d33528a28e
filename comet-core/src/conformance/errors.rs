//! Messages that do not fit their buffer, and arguments that make no sense: what is reported, and
//! that the transport works afterwards.

use super::Check;
use super::toolkit::{
    Envelope, Found, OTHER, TAG, checks, next, ready, receive, round_the_ring, while_sending,
};
use crate::collective::{Collective, Kind, Parts};
use crate::error::{Result, TransportErrorKind};
use crate::pattern;
use crate::transport::{Rank, Source, Status, Transport};

/// Lengths of messages and of the shorter buffers that they meet, in bytes.
const CUTS_BYTES: [(usize, usize); 9] = [
    (1, 0),
    (48, 47),
    (49, 8),
    (64, 1),
    (4096, 48),
    (4097, 4096),
    (20_000, 0),
    (200_000, 5),
    (300_001, 65_536),
];

pub(super) fn checks<T: Transport>() -> Vec<Check<T>> {
    checks![
        a_short_message_leaves_the_rest_of_a_buffer,
        ranks_that_do_not_exist_are_refused,
        other_lengths_to_oneself_than_from_oneself_are_refused,
    ]
}

pub(super) fn truncation_checks<T: Transport>() -> Vec<Check<T>> {
    checks![
        an_unexpected_message_is_cut_to_its_buffer,
        an_expected_message_is_cut_to_its_buffer,
        a_dropped_receive_tells_its_scope_of_a_cut,
    ]
}

fn other_lengths_to_oneself_than_from_oneself_are_refused<T: Transport>(
    t: &T,
    found: &Found,
) -> Result<()> {
    let (n, rank) = (t.n_ranks(), t.rank());
    let parts = |own| Parts::packed((0..n).map(|to| if to == rank { own } else { 8 }).collect());
    let call = Collective::new(Kind::Alltoall, parts(8)).with_sent(parts(4));
    let result = t.collective(&call, &vec![0; 8 * n], &mut vec![0; 8 * n]);
    let is_refused = result.is_err_and(|error| error.kind == TransportErrorKind::InvalidArgument);
    found
        .require(is_refused, "an all-to-all with 4 bytes to oneself and 8 from oneself is refused");
    t.barrier()
}

fn an_unexpected_message_is_cut_to_its_buffer<T: Transport>(t: &T, found: &Found) -> Result<()> {
    each_cut(|index, (length_bytes, capacity_bytes)| {
        let messages = [(TAG, length_bytes), (OTHER, 0), (TAG, 100)];
        let (outgoing, incoming) = round_the_ring(t, index, messages);
        while_sending(t, &outgoing, || {
            let [cut, marker, after] = &incoming[..] else { unreachable!("three messages") };
            // What was sent before the marker has arrived before it.
            receive(t, found, marker, marker.from())?;
            let mut memory = cut.buffer(t)?;
            let result = t.blocked_recv(cut.from(), TAG, &mut memory[..capacity_bytes]);
            require_truncated(found, cut, capacity_bytes, result, &memory)?;
            receive(t, found, after, after.from())
        })
    })
}

fn an_expected_message_is_cut_to_its_buffer<T: Transport>(t: &T, found: &Found) -> Result<()> {
    each_cut(|index, (length_bytes, capacity_bytes)| {
        let (outgoing, incoming) = round_the_ring(t, index, [(TAG, length_bytes), (TAG, 100)]);
        let cut = &incoming[0];
        let mut memory = cut.buffer(t)?;
        let mut result = None;
        t.scope(|s| {
            let request = s.unblocked_recv(cut.from(), TAG, &mut memory[..capacity_bytes])?;
            ready(t)?;
            while_sending(t, &outgoing, || {
                result = Some(request.wait().map(|(status, _)| status));
                receive(t, found, &incoming[1], incoming[1].from())
            })
        })?;
        let result = result.expect("the scope has waited for the receive");
        require_truncated(found, cut, capacity_bytes, result, &memory)
    })
}

fn a_dropped_receive_tells_its_scope_of_a_cut<T: Transport>(t: &T, found: &Found) -> Result<()> {
    each_cut(|index, (length_bytes, capacity_bytes)| {
        let (outgoing, incoming) = round_the_ring(t, index, [(TAG, length_bytes), (OTHER, 8)]);
        let cut = &incoming[0];
        let mut memory = cut.buffer(t)?;
        while_sending(t, &outgoing, || {
            let result = t.scope(|s| {
                drop(s.unblocked_recv(cut.from(), TAG, &mut memory[..capacity_bytes])?);
                Ok(cut.status())
            });
            require_truncated(found, cut, capacity_bytes, result, &memory)?;
            receive(t, found, &incoming[1], Source::Any)
        })
    })
}

/// Runs `body` with every cut in every combination of memories.
fn each_cut(mut body: impl FnMut(usize, (usize, usize)) -> Result<()>) -> Result<()> {
    let mut each = |cut| (0..4).try_for_each(|index| body(index, cut));
    CUTS_BYTES.into_iter().try_for_each(&mut each)
}

/// Checks that the receive of `cut` into the front of `memory` was reported as truncated, with all
/// its details, and that the front arrived and nothing beyond it.
fn require_truncated(
    found: &Found,
    cut: &Envelope,
    capacity_bytes: usize,
    result: Result<Status>,
    memory: &[u8],
) -> Result<()> {
    let error = match result {
        Err(error) if error.is_truncated() => error,
        Err(error) => return Err(error),
        Ok(_) => {
            found.note(format!("{cut} was accepted into a buffer of {capacity_bytes} bytes"));
            return Ok(());
        }
    };
    let what = |detail| format!("{detail} in the error for {cut}");
    found.require_eq(what("length_bytes"), error.length_bytes, Some(cut.length_bytes));
    found.require_eq(what("capacity_bytes"), error.capacity_bytes, Some(capacity_bytes));
    found.require_eq(what("rank"), error.rank, Some(cut.destination));
    found.require_eq(what("peer"), error.peer, Some(cut.from()));
    found.require_eq(what("tag"), error.tag, Some(cut.tag));
    found.require_content(cut, &memory[..capacity_bytes]);
    require_untouched(found, cut, memory, capacity_bytes);
    Ok(())
}

/// Checks that the receive of `envelope` wrote nothing into `memory` from `start` on.
fn require_untouched(found: &Found, envelope: &Envelope, memory: &[u8], start: usize) {
    let mut before = vec![0; memory.len()];
    pattern::spoil(&mut before, envelope.seed());
    if let Some(place) = (start..memory.len()).find(|place| memory[*place] != before[*place]) {
        found.note(format!(
            "the receive of {envelope} has written to byte {place}, outside of its {start} bytes"
        ));
    }
}

fn a_short_message_leaves_the_rest_of_a_buffer<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for length_bytes in [0, 1, 47, 48, 49, 65, 4095, 4097, 100_000] {
        let (outgoing, incoming) = round_the_ring(t, 0, [(TAG, length_bytes); 4]);
        while_sending(t, &outgoing, || {
            incoming.iter().try_for_each(|from| receive_into_more(t, found, from))
        })?;
    }
    Ok(())
}

/// Receives `from` into a buffer that is longer than the message.
fn receive_into_more<T: Transport>(t: &T, found: &Found, from: &Envelope) -> Result<()> {
    let mut buffer = from.buffer_of(t, from.length_bytes + 100)?;
    let result = t.blocked_recv(from.from(), from.tag, &mut buffer);
    found.require_arrival(from, result, &buffer[..from.length_bytes])?;
    require_untouched(found, from, &buffer, from.length_bytes);
    Ok(())
}

fn ranks_that_do_not_exist_are_refused<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for stranger in [t.n_ranks(), t.n_ranks() + 1000, usize::MAX] {
        refuse_stranger(t, found, stranger)?;
        let (outgoing, incoming) = round_the_ring(t, 0, [(TAG, 0), (TAG, 100), (TAG, 9000)]);
        while_sending(t, &outgoing, || {
            incoming.iter().try_for_each(|from| receive(t, found, from, from.from()))
        })?;
        t.barrier()?;
    }
    Ok(())
}

/// Names `stranger`, which is no rank, in every call that takes one.
fn refuse_stranger<T: Transport>(t: &T, found: &Found, stranger: Rank) -> Result<()> {
    let (message, mut buffer, mut unblocked_buffer) = ([0; 8], [0; 8], [0; 8]);
    let from = Source::Rank(stranger);
    let refuse = |call: &str, result: Result<()>| {
        require_refused(found, t.rank(), &format!("{call} rank {stranger}"), result);
    };
    refuse("blocked_send to", t.blocked_send(stranger, TAG, &message));
    refuse("blocked_recv from", t.blocked_recv(from, TAG, &mut buffer).map(drop));
    refuse(
        "blocked_exchange from",
        t.blocked_exchange(next(t), &message, from, &mut buffer, TAG).map(drop),
    );
    refuse("probe from", t.probe(from, TAG).map(drop));
    refuse("blocked_broadcast from", t.blocked_broadcast(stranger, &mut buffer));
    t.scope(|s| {
        refuse("unblocked_send to", s.unblocked_send(stranger, TAG, &message).map(drop));
        let receive = s.unblocked_recv(from, TAG, &mut unblocked_buffer);
        refuse("unblocked_recv from", receive.map(drop));
        Ok(())
    })
}

fn require_refused(found: &Found, rank: Rank, call: &str, result: Result<()>) {
    let Err(error) = result else {
        found.note(format!("{call} was accepted"));
        return;
    };
    let kind = format!("kind of the error of {call}");
    found.require_eq(kind, error.kind, TransportErrorKind::InvalidArgument);
    found.require_eq(format!("rank in the error of {call}"), error.rank, Some(rank));
}
