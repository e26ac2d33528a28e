//! Requests in flight: their order, their buffers, and progress without waiting.

use super::Check;
use super::toolkit::{
    Envelope, Found, LENGTHS_BYTES, OTHER, TAG, buffers, checks, finish, messages, poll_until,
    post_receives, ready, receive, round_the_ring, start_sends, while_sending,
};
use crate::error::Result;
use crate::transport::{Request, Source, Tag, Transport, Work};

/// Lengths that take different ways through a transport, in bytes.
const MIXED_BYTES: [usize; 8] = [0, 48, 4097, 200_000, 8, 49, 70_000, 1];

pub(super) fn checks<T: Transport>() -> Vec<Check<T>> {
    checks![
        requests_may_be_waited_for_in_reverse_order,
        posted_receives_match_in_posting_order,
        test_becomes_true_without_a_wait,
        a_dropped_request_is_waited_for,
        a_receive_gives_its_buffer_back_in_its_scope,
        one_message_may_be_in_two_sends_at_once,
        long_sends_cross_while_both_ranks_compute,
        blocked_calls_work_beside_open_requests,
        testing_completes_what_waits_behind_many,
    ]
}

fn requests_may_be_waited_for_in_reverse_order<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let tags = (0..).map(|i| if i % 3 == 0 { OTHER } else { TAG });
    let lengths_bytes = MIXED_BYTES.into_iter().chain(MIXED_BYTES);
    let (outgoing, incoming) = round_the_ring(t, 0, tags.zip(lengths_bytes));
    let (messages, mut buffers) = (messages(t, &outgoing)?, buffers(t, &incoming)?);
    t.scope(|s| {
        let receives = post_receives(s, &incoming, &mut buffers)?;
        let sends = start_sends(s, &outgoing, &messages)?;
        for (from, request) in incoming.iter().zip(receives).rev() {
            finish(found, from, request)?;
        }
        sends.into_iter().rev().try_for_each(Request::wait)
    })
}

/// The last message has another tag, and is tested for while nobody asks for those before it.
fn testing_completes_what_waits_behind_many<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let others = std::iter::repeat_n((TAG, 20_000), 20);
    let (outgoing, incoming) = round_the_ring(t, 0, others.chain([(OTHER, 8)]));
    let (messages, mut buffers) = (messages(t, &outgoing)?, buffers(t, &incoming)?);
    t.scope(|s| {
        let sends = start_sends(s, &outgoing, &messages)?;
        let (wanted, others) = buffers.split_last_mut().expect("there are messages");
        let (last, before) = incoming.split_last().expect("there are messages");
        let mut receive = s.unblocked_recv(last.from(), OTHER, wanted)?;
        found.require(poll_until(|| Ok(receive.test()))?, "a receive never tested true");
        finish(found, last, receive)?;
        for (from, request) in before.iter().zip(post_receives(s, before, others)?) {
            finish(found, from, request)?;
        }
        sends.into_iter().try_for_each(Request::wait)
    })
}

fn posted_receives_match_in_posting_order<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let messages = (0..32).map(|i| (TAG, 8 + MIXED_BYTES[i % MIXED_BYTES.len()]));
    let (outgoing, incoming) = round_the_ring(t, 0, messages);
    let mut buffers = buffers(t, &incoming)?;
    t.scope(|s| {
        let mut receives = Vec::new();
        for (from, buffer) in incoming.iter().zip(&mut buffers) {
            // Only the previous rank sends here, so both kinds stand in one line.
            let source = if from.index % 3 == 0 { Source::Any } else { from.from() };
            receives.push(s.unblocked_recv(source, TAG, buffer)?);
        }
        ready(t)?;
        while_sending(t, &outgoing, || {
            let mut pairs = incoming.iter().zip(receives);
            pairs.try_for_each(|(from, request)| finish(found, from, request))
        })
    })
}

fn test_becomes_true_without_a_wait<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for index in 0..MIXED_BYTES.len() * 2 {
        let length_bytes = MIXED_BYTES[index % MIXED_BYTES.len()];
        let (outgoing, incoming) = round_the_ring(t, index, [(TAG, length_bytes)]);
        let (to, from) = (&outgoing[0], &incoming[0]);
        let (message, mut buffer) = (to.message(t)?, from.buffer(t)?);
        t.scope(|s| {
            let mut receive = s.unblocked_recv(from.from(), TAG, &mut buffer)?;
            found.require(!receive.test(), "a receive tested true before its send");
            // No rank sends before all have tested.
            t.barrier()?;
            let mut send = s.unblocked_send(to.destination, TAG, &message)?;
            let both = poll_until(|| Ok(send.test() & receive.test()))?;
            found.require(both, "a send or a receive never tested true");
            let again = !both || (send.test() && receive.test());
            found.require(again, "a request that had ended tested false");
            finish(found, from, receive)?;
            send.wait()
        })?;
    }
    Ok(())
}

fn a_dropped_request_is_waited_for<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let lengths_bytes = LENGTHS_BYTES.map(|length_bytes| (TAG, length_bytes));
    let (outgoing, incoming) = round_the_ring(t, 0, lengths_bytes);
    let (messages, mut buffers) = (messages(t, &outgoing)?, buffers(t, &incoming)?);
    t.scope(|s| {
        let receives = post_receives(s, &incoming, &mut buffers)?;
        let sends = start_sends(s, &outgoing, &messages)?;
        drop(receives);
        drop(sends);
        Ok(())
    })?;
    for (from, buffer) in incoming.iter().zip(&buffers) {
        found.require_content(from, buffer);
    }
    Ok(())
}

fn a_receive_gives_its_buffer_back_in_its_scope<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for length_bytes in [1, 48, 49, 5000, 100_000] {
        let (outgoing, incoming) = round_the_ring(t, 0, [(TAG, length_bytes); 4]);
        while_sending(t, &outgoing, || {
            let mut buffer = incoming[0].buffer(t)?;
            t.scope(|s| {
                let mut lent: &mut [u8] = &mut buffer;
                for from in &incoming {
                    let request = s.unblocked_recv(from.from(), TAG, lent)?;
                    let (status, returned) = request.wait()?;
                    found.require_arrival(from, Ok(status), returned)?;
                    lent = returned;
                }
                Ok(())
            })
        })?;
    }
    Ok(())
}

fn one_message_may_be_in_two_sends_at_once<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for (index, length_bytes) in MIXED_BYTES.into_iter().enumerate() {
        let (outgoing, incoming) = round_the_ring(t, index, [(TAG, length_bytes)]);
        let (to, from) = (&outgoing[0], &incoming[0]);
        let message = to.message(t)?;
        t.scope(|s| {
            let first = s.unblocked_send(to.destination, TAG, &message)?;
            let second = s.unblocked_send(to.destination, OTHER, &message)?;
            for tag in [OTHER, TAG] {
                let mut buffer = from.buffer(t)?;
                let result = t.blocked_recv(from.from(), tag, &mut buffer);
                // The contents are those of one envelope, the tags differ.
                let result = result.map(|status| {
                    found.require_eq("tag of a message", status.tag, tag);
                    from.status()
                });
                found.require_arrival(from, result, &buffer)?;
            }
            first.wait()?;
            second.wait()
        })?;
    }
    Ok(())
}

fn long_sends_cross_while_both_ranks_compute<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for index in [0, 3] {
        let (outgoing, incoming) = round_the_ring(t, index, [(TAG, 2_000_003)]);
        let (messages, mut buffers) = (messages(t, &outgoing)?, buffers(t, &incoming)?);
        t.scope(|s| {
            let receives = post_receives(s, &incoming, &mut buffers)?;
            let sends = start_sends(s, &outgoing, &messages)?;
            compute(t, 20_000);
            let mut pairs = incoming.iter().zip(receives);
            pairs.try_for_each(|(from, request)| finish(found, from, request))?;
            sends.into_iter().try_for_each(Request::wait)
        })?;
    }
    Ok(())
}

/// Some computation that the compiler does not remove.
fn compute<T: Transport>(t: &T, n: usize) {
    let (x, mut y) = (vec![1.0; n], vec![2.0; n]);
    t.compute(Work::Daxpy { n }, || {
        for (y, x) in y.iter_mut().zip(&x) {
            *y += 3.0 * *x;
        }
        std::hint::black_box(&mut y);
    });
}

fn blocked_calls_work_beside_open_requests<T: Transport>(t: &T, found: &Found) -> Result<()> {
    const LATE: Tag = Tag::new(9);
    let (late_out, late_in) = round_the_ring(t, 100, MIXED_BYTES.map(|bytes| (LATE, bytes)));
    let (messages, mut buffers) = (messages(t, &late_out)?, buffers(t, &late_in)?);
    t.scope(|s| {
        let receives = post_receives(s, &late_in, &mut buffers)?;
        for (index, length_bytes) in MIXED_BYTES.into_iter().enumerate() {
            let (outgoing, incoming) = round_the_ring(t, index, [(TAG, length_bytes)]);
            let source = Source::Any;
            while_sending(t, &outgoing, || receive(t, found, &incoming[0], source))?;
        }
        let sends = start_sends(s, &late_out, &messages)?;
        let mut pairs: Vec<(&Envelope, _)> = late_in.iter().zip(receives).collect();
        // Any order of waiting will do: the odd ones first.
        pairs.sort_by_key(|(from, _)| (from.index.is_multiple_of(2), from.index));
        pairs.into_iter().try_for_each(|(from, request)| finish(found, from, request))?;
        sends.into_iter().try_for_each(Request::wait)
    })
}
