//! Sets of requests: all of them, the first, and some.

use super::Check;
use super::toolkit::{
    Envelope, Found, Memory, TAG, buffers, checks, messages, poll_until, post_receives,
    round_the_ring, start_sends, while_sending,
};
use crate::error::Result;
use crate::transport::{Landing, Requests, Scope, Tag, Transport};

/// Lengths that take different ways through a transport, in bytes.
const MIXED_BYTES: [usize; 6] = [8, 200_000, 0, 4097, 70_000, 1];

/// An order in which messages are sent to receives that were posted in another.
const TURNS: [usize; 6] = [3, 0, 5, 1, 4, 2];

pub(super) fn checks<T: Transport>() -> Vec<Check<T>> {
    checks![
        waiting_for_all_of_a_set_completes_it,
        waiting_for_two_sets_at_once_completes_both,
        waiting_for_any_of_a_set_finds_what_ended,
        waiting_for_some_of_a_set_finds_each_once,
        a_set_tests_true_when_all_have_ended,
        a_dropped_set_is_waited_for,
        a_window_of_receives_may_share_one_landing,
        an_empty_set_is_over_at_once,
    ]
}

/// Receives of `incoming` as a set.
fn set_of_receives<'scope, 'env, T: Transport>(
    s: &'scope Scope<'scope, 'env, T>,
    incoming: &[Envelope],
    buffers: &'scope mut [Memory<T>],
) -> Result<Requests<'scope, 'env, T, T::RecvOp<'scope>>> {
    let mut receives = s.requests();
    let posted = post_receives(s, incoming, buffers)?;
    posted.into_iter().for_each(|request| receives.push(request));
    Ok(receives)
}

/// A message with a tag of its own for each length.
fn tagged<T: Transport>(t: &T) -> (Vec<Envelope>, Vec<Envelope>) {
    let tags = (10..).map(Tag::new);
    round_the_ring(t, 0, tags.zip(MIXED_BYTES))
}

fn waiting_for_all_of_a_set_completes_it<T: Transport>(t: &T, found: &Found) -> Result<()> {
    [1, 4, 11].into_iter().try_for_each(|n_times| waited_for(t, found, n_times, false))
}

fn waiting_for_two_sets_at_once_completes_both<T: Transport>(t: &T, found: &Found) -> Result<()> {
    [0, 1, 4].into_iter().try_for_each(|n_times| waited_for(t, found, n_times, true))
}

/// Lets so many times the mixed lengths go round the ring, and waits for receives and sends `at_once`, or for
/// one set after the other.
fn waited_for<T: Transport>(t: &T, found: &Found, n_times: usize, at_once: bool) -> Result<()> {
    let lengths_bytes = MIXED_BYTES.map(|length_bytes| (TAG, length_bytes));
    let window = lengths_bytes.into_iter().cycle().take(6 * n_times);
    let (outgoing, incoming) = round_the_ring(t, 0, window);
    let (messages, mut buffers) = (messages(t, &outgoing)?, buffers(t, &incoming)?);
    t.scope(|s| {
        let mut receives = set_of_receives(s, &incoming, &mut buffers)?;
        let mut sends = s.requests();
        let started = start_sends(s, &outgoing, &messages)?;
        started.into_iter().for_each(|request| sends.push(request));
        let mut arrived: Vec<_> = incoming.iter().map(|_| None).collect();
        let keep = |number: usize, arrival| arrived[number] = Some(arrival);
        if at_once {
            receives.wait_each_with(&mut sends, keep)?;
            found.require_eq("sends after a wait for both", sends.wait_some(|_, ()| ())?, 0);
        } else {
            receives.wait_each(keep)?;
            sends.wait_all()?;
        }
        for (from, arrival) in incoming.iter().zip(arrived) {
            match arrival {
                Some((status, buffer)) => found.require_arrival(from, Ok(status), buffer)?,
                None => found.note(format!("{from} is missing in its set")),
            }
        }
        Ok(())
    })
}

fn waiting_for_any_of_a_set_finds_what_ended<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let (outgoing, incoming) = tagged(t);
    let mut buffers = buffers(t, &incoming)?;
    t.scope(|s| {
        let mut receives = set_of_receives(s, &incoming, &mut buffers)?;
        for turn in TURNS {
            // No rank sends its next message before all have received this one.
            t.barrier()?;
            while_sending(t, &outgoing[turn..=turn], || {
                let Some((number, (status, buffer))) = receives.wait_any()? else {
                    found.note("a set of receives in flight was taken for empty");
                    return Ok(());
                };
                found.require_eq("number of the request that ended", number, turn);
                found.require_arrival(&incoming[turn], Ok(status), buffer)
            })?;
        }
        let rest = receives.wait_any()?.map(|(number, _)| number);
        found.require_eq("request that ended last", rest, None);
        Ok(())
    })
}

fn waiting_for_some_of_a_set_finds_each_once<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let (outgoing, incoming) = tagged(t);
    let mut buffers = buffers(t, &incoming)?;
    t.scope(|s| {
        let mut receives = set_of_receives(s, &incoming, &mut buffers)?;
        for turns in TURNS.chunks(2) {
            t.barrier()?;
            let sent: Vec<Envelope> = turns.iter().map(|turn| outgoing[*turn]).collect();
            while_sending(t, &sent, || {
                let mut ended = Vec::new();
                while ended.len() < turns.len() {
                    let n_before = ended.len();
                    let n = receives.wait_some(|number, out| ended.push((number, out)))?;
                    found.require_eq("number of results shown", ended.len() - n_before, n);
                    found.require(n > 0, "a wait for some ended without any");
                    if n == 0 {
                        break;
                    }
                }
                for (number, (status, buffer)) in ended {
                    found.require(turns.contains(&number), "a request ended before its send");
                    found.require_arrival(&incoming[number], Ok(status), buffer)?;
                }
                Ok(())
            })?;
        }
        found.require_eq("number of requests left", receives.wait_some(|_, _| ())?, 0);
        Ok(())
    })
}

fn a_set_tests_true_when_all_have_ended<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let (outgoing, incoming) = tagged(t);
    let mut buffers = buffers(t, &incoming)?;
    t.scope(|s| {
        let mut receives = set_of_receives(s, &incoming, &mut buffers)?;
        found.require(!receives.test_all(), "a set tested true before its messages were sent");
        t.barrier()?;
        while_sending(t, &outgoing, || {
            let ended = poll_until(|| Ok(receives.test_all()))?;
            found.require(ended, "a set never tested true");
            receives.wait_all()
        })
    })
}

fn a_dropped_set_is_waited_for<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let (outgoing, incoming) = tagged(t);
    let mut buffers = buffers(t, &incoming)?;
    while_sending(t, &outgoing, || {
        t.scope(|s| set_of_receives(s, &incoming, &mut buffers).map(drop))
    })?;
    for (from, buffer) in incoming.iter().zip(&buffers) {
        found.require_content(from, buffer);
    }
    Ok(())
}

/// All messages of a window have the same contents, so that those of the landing are known.
fn a_window_of_receives_may_share_one_landing<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for (index, length_bytes) in [0, 1, 64, 5000, 70_000, 300_001].into_iter().enumerate() {
        let (outgoing, incoming) = round_the_ring(t, index, [(TAG, length_bytes)]);
        let (to, from) = (&outgoing[0], &incoming[0]);
        let (message, mut memory) = (to.message(t)?, from.buffer(t)?);
        let landing = Landing::new(&mut memory);
        t.scope(|s| {
            let (mut receives, mut sends) = (s.requests(), s.requests());
            for _ in 0..if length_bytes > 5000 { 6 } else { 64 } {
                receives.push(s.unblocked_recv_into(from.from(), TAG, landing)?);
                sends.push(s.unblocked_send(to.destination, TAG, &message)?);
            }
            receives.wait_each(|_, (status, buffer)| {
                found.require_eq("status of a receive into a landing", status, from.status());
                found.require(buffer.is_empty(), "a landing was given back as a buffer");
            })?;
            sends.wait_all()
        })?;
        found.require_content(from, &memory);
        t.barrier()?;
    }
    Ok(())
}

fn an_empty_set_is_over_at_once<T: Transport>(t: &T, found: &Found) -> Result<()> {
    t.scope(|s| {
        let mut sends = s.requests::<T::SendOp<'_>>();
        found.require(sends.test_all(), "an empty set tested false");
        found.require_eq("first of none", sends.wait_any()?, None);
        found.require_eq("some of none", sends.wait_some(|_, ()| ())?, 0);
        sends.wait_all()
    })
}
