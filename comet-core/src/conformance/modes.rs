//! Modes of sends: contents in each, and the end of a send with or without its receive.

use super::Check;
use super::toolkit::{
    Envelope, Found, LENGTHS_BYTES, OTHER, TAG, buffers, checks, finish, messages, post_receives,
    ready, receive, round_the_ring, while_sending,
};
use crate::error::{Result, TransportErrorKind};
use crate::pattern;
use crate::transport::{Request, Scope, SendMode, Tag, Transport};

/// Lengths that take different ways through a transport, in bytes.
const MIXED_BYTES: [usize; 7] = [0, 8, 49, 4097, 70_000, 200_000, 1_048_577];

/// Tests of a request that must not have ended.
const N_TESTS: usize = 200;
/// Tests of a request that needs no other rank to end.
const MAX_TESTS: usize = 10_000;

/// Messages in flight, more than most transports have places for.
const N_MANY: usize = 40;

pub(super) fn checks<T: Transport>() -> Vec<Check<T>> {
    checks![
        messages_of_every_mode_arrive_unchanged,
        blocked_sends_of_every_mode_arrive_unchanged,
        a_synchronous_send_does_not_end_before_its_receive,
        a_buffered_send_ends_without_its_receive,
        buffered_messages_have_as_much_room_as_was_asked_for,
        synchronous_sends_hold_up_no_other_message,
        messages_of_mixed_modes_do_not_overtake,
        sends_of_every_mode_to_strangers_are_refused,
    ]
}

/// Starts to send `outgoing` in `mode`, in order.
fn start_sends_in<'scope, 'env, T: Transport>(
    s: &'scope Scope<'scope, 'env, T>,
    mode: SendMode,
    outgoing: &[Envelope],
    messages: &'scope [impl std::ops::Deref<Target = [u8]>],
) -> Result<Vec<Request<'scope, 'env, T, T::SendOp<'scope>>>> {
    let pairs = outgoing.iter().zip(messages);
    pairs.map(|(to, message)| s.unblocked_send_in(mode, to.destination, to.tag, message)).collect()
}

/// Room for all of `outgoing` at once.
fn attach<T: Transport>(t: &T, outgoing: &[Envelope]) -> Result<()> {
    let longest = outgoing.iter().map(|to| to.length_bytes).max().unwrap_or(0);
    t.attach_buffer(outgoing.len(), longest)
}

fn messages_of_every_mode_arrive_unchanged<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for mode in SendMode::ALL {
        let (outgoing, incoming) =
            round_the_ring(t, 0, LENGTHS_BYTES.map(|length_bytes| (TAG, length_bytes)));
        attach(t, &outgoing)?;
        let (messages, mut buffers) = (messages(t, &outgoing)?, buffers(t, &incoming)?);
        t.scope(|s| {
            let receives = post_receives(s, &incoming, &mut buffers)?;
            // So that a ready message finds its receive.
            ready(t)?;
            let sends = start_sends_in(s, mode, &outgoing, &messages)?;
            let mut pairs = incoming.iter().zip(receives);
            pairs.try_for_each(|(from, request)| finish(found, from, request))?;
            sends.into_iter().try_for_each(Request::wait)
        })?;
    }
    Ok(())
}

fn blocked_sends_of_every_mode_arrive_unchanged<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for mode in SendMode::ALL {
        for (index, length_bytes) in LENGTHS_BYTES.into_iter().enumerate() {
            let (outgoing, incoming) = round_the_ring(t, index, [(TAG, length_bytes)]);
            attach(t, &outgoing)?;
            let (to, message, mut buffers) =
                (outgoing[0], outgoing[0].message(t)?, buffers(t, &incoming)?);
            t.scope(|s| {
                // Its receive is posted, so that no mode waits for another rank.
                let receives = post_receives(s, &incoming, &mut buffers)?;
                ready(t)?;
                t.blocked_send_in(mode, to.destination, to.tag, &message)?;
                let mut pairs = incoming.iter().zip(receives);
                pairs.try_for_each(|(from, request)| finish(found, from, request))
            })?;
        }
    }
    Ok(())
}

fn a_synchronous_send_does_not_end_before_its_receive<T: Transport>(
    t: &T,
    found: &Found,
) -> Result<()> {
    let (outgoing, incoming) =
        round_the_ring(t, 0, MIXED_BYTES.map(|length_bytes| (TAG, length_bytes)));
    let (messages, mut buffers) = (messages(t, &outgoing)?, buffers(t, &incoming)?);
    t.scope(|s| {
        let mut sends = start_sends_in(s, SendMode::Synchronous, &outgoing, &messages)?;
        for _ in 0..N_TESTS {
            for (to, send) in outgoing.iter().zip(&mut sends) {
                found.require(!send.test(), &format!("{to} had no receive, and its send ended"));
            }
        }
        // No rank posts a receive before all have tested their sends.
        t.barrier()?;
        let receives = post_receives(s, &incoming, &mut buffers)?;
        let mut pairs = incoming.iter().zip(receives);
        pairs.try_for_each(|(from, request)| finish(found, from, request))?;
        sends.into_iter().try_for_each(Request::wait)
    })
}

/// The message may be changed at once, and none of the receives is posted before all sends have ended.
fn a_buffered_send_ends_without_its_receive<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let (outgoing, incoming) =
        round_the_ring(t, 0, MIXED_BYTES.map(|length_bytes| (TAG, length_bytes)));
    attach(t, &outgoing)?;
    let mut messages = messages(t, &outgoing)?;
    t.scope(|s| {
        let mut sends = start_sends_in(s, SendMode::Buffered, &outgoing, &messages)?;
        for (to, send) in outgoing.iter().zip(&mut sends) {
            let has_ended = (0..MAX_TESTS).any(|_| send.test());
            found.require(has_ended, &format!("{to} is buffered, and its send did not end"));
        }
        t.barrier()?;
        incoming.iter().try_for_each(|from| receive(t, found, from, from.from()))?;
        sends.into_iter().try_for_each(Request::wait)
    })?;
    for (to, message) in outgoing.iter().zip(&mut messages) {
        t.blocked_send_in(SendMode::Buffered, to.destination, to.tag, message)?;
        pattern::spoil(message, to.seed());
    }
    t.barrier()?;
    incoming.iter().try_for_each(|from| receive(t, found, from, from.from()))
}

fn buffered_messages_have_as_much_room_as_was_asked_for<T: Transport>(
    t: &T,
    found: &Found,
) -> Result<()> {
    for (n_messages, length_bytes) in [(3, 0), (8, 100_000), (64, 64), (2, 1_048_577)] {
        let (outgoing, incoming) = round_the_ring(t, 0, vec![(TAG, length_bytes); n_messages]);
        attach(t, &outgoing)?;
        for (to, message) in outgoing.iter().zip(messages(t, &outgoing)?) {
            t.blocked_send_in(SendMode::Buffered, to.destination, to.tag, &message)?;
        }
        // No rank receives before all have sent.
        t.barrier()?;
        incoming.iter().try_for_each(|from| receive(t, found, from, from.from()))?;
        t.barrier()?;
        t.detach_buffer()?;
    }
    Ok(())
}

fn synchronous_sends_hold_up_no_other_message<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let many = (0..N_MANY).map(|i| (TAG, MIXED_BYTES[i % MIXED_BYTES.len()].min(70_000)));
    let (outgoing, incoming) = round_the_ring(t, 0, many);
    let (others_out, others_in) = round_the_ring(t, 0, MIXED_BYTES.map(|bytes| (OTHER, bytes)));
    let messages = messages(t, &outgoing)?;
    t.scope(|s| {
        let sends = start_sends_in(s, SendMode::Synchronous, &outgoing, &messages)?;
        // Received before any of those that were sent before.
        while_sending(t, &others_out, || {
            others_in.iter().try_for_each(|from| receive(t, found, from, from.from()))
        })?;
        incoming.iter().try_for_each(|from| receive(t, found, from, from.from()))?;
        sends.into_iter().try_for_each(Request::wait)
    })
}

fn messages_of_mixed_modes_do_not_overtake<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let modes = [SendMode::Buffered, SendMode::Standard, SendMode::Synchronous];
    let many = (0..N_MANY).map(|i| (TAG, MIXED_BYTES[(i / 3) % MIXED_BYTES.len()]));
    let (outgoing, incoming) = round_the_ring(t, 0, many);
    attach(t, &outgoing)?;
    let messages = messages(t, &outgoing)?;
    t.scope(|s| {
        let mut sends = Vec::new();
        for ((to, message), mode) in outgoing.iter().zip(&messages).zip(modes.iter().cycle()) {
            sends.push(s.unblocked_send_in(*mode, to.destination, to.tag, message)?);
        }
        incoming.iter().try_for_each(|from| receive(t, found, from, from.from()))?;
        sends.into_iter().try_for_each(Request::wait)
    })
}

fn sends_of_every_mode_to_strangers_are_refused<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for mode in SendMode::ALL {
        let result = t.blocked_send_in(mode, t.n_ranks(), Tag::new(1), &[1]);
        let kind = result.err().map(|error| error.kind);
        let what = format!("a {mode:?} send to a rank that does not exist");
        found.require_eq(what, kind, Some(TransportErrorKind::InvalidArgument));
    }
    Ok(())
}
