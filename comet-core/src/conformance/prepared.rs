//! Operations that are prepared once and started again and again: collectives, sends and receives.
//!
//! A library may lack the call that prepares a collective, which it says on all ranks alike; those that it has
//! are checked.

use super::Check;
use super::started::{LENGTHS_BYTES, Trial, calls, kinds};
use super::toolkit::{
    Found, Memory, TAG, checks, next, poll_until, previous, receive, round_the_ring, while_sending,
};
use crate::collective::{Collective, Kind, Parts, Prepared};
use crate::error::{Result, TransportErrorKind};
use crate::pattern;
use crate::transport::{
    PartitionedRecv, PartitionedSend, PreparedRecvs, PreparedSends, Source, Transport,
};

/// Starts of each operation.
const N_STARTS: u64 = 4;
/// Starts of one that is started often.
const N_MANY: u64 = 100;
/// Lengths of messages in bytes.
const MESSAGES_BYTES: [usize; 6] = [0, 1, 48, 4097, 70_000, 200_000];

pub(super) fn checks<T: Transport>() -> Vec<Check<T>> {
    checks![
        prepared_collectives_do_the_same_at_each_start,
        a_prepared_collective_may_be_started_many_times,
        a_prepared_collective_tests_true_without_a_wait,
        prepared_collectives_end_in_either_order,
        prepared_collectives_leave_other_calls_alone,
        prepared_collectives_may_be_dropped_without_a_start,
        a_dropped_request_of_a_prepared_collective_is_waited_for,
        a_prepared_operation_has_its_memory_alone,
        prepared_messages_arrive_at_each_start,
        prepared_messages_of_several_buffers_arrive_in_each,
        prepared_messages_meet_plain_ones,
        prepared_messages_may_be_dropped_without_a_start,
        parts_of_a_message_arrive_whatever_their_order,
        a_part_is_named_once_and_exists,
    ]
}

/// `call` with test data, prepared; `None` where the library lacks it.
fn trial<T: Transport>(t: &T, call: &Collective, index: usize) -> Result<Option<Trial<T>>> {
    let made = Trial::made(t, call, index, |input, output| {
        Prepared::persistent(t, call.clone(), None, input, output)
    });
    match made {
        Err(error) if error.is_unsupported() => Ok(None),
        made => made.map(Some),
    }
}

fn prepared_collectives_do_the_same_at_each_start<T: Transport>(
    t: &T,
    found: &Found,
) -> Result<()> {
    for kind in kinds() {
        for length in LENGTHS_BYTES.into_iter().take(4) {
            for (index, call) in calls(kind, length, t.n_ranks()).into_iter().enumerate() {
                let Some(mut trial) = trial(t, &call, t.rank() + index)? else { continue };
                for round in 1..=N_STARTS {
                    trial.refill(round);
                    trial.run(t, found)?;
                    trial.check_of(round, found);
                }
            }
        }
    }
    Ok(())
}

fn a_prepared_collective_may_be_started_many_times<T: Transport>(
    t: &T,
    found: &Found,
) -> Result<()> {
    let call = Collective::new(Kind::Allreduce, Parts::Equal(48));
    let Some(mut trial) = trial(t, &call, 0)? else { return Ok(()) };
    for round in 1..=N_MANY {
        trial.refill(round);
        trial.run(t, found)?;
        trial.check_of(round, found);
    }
    Ok(())
}

fn a_prepared_collective_tests_true_without_a_wait<T: Transport>(
    t: &T,
    found: &Found,
) -> Result<()> {
    for kind in kinds() {
        let call = Collective::new(kind, Parts::Equal(2048));
        let Some(mut trial) = trial(t, &call, 1)? else { continue };
        for round in 1..=2 {
            trial.refill(round);
            trial.run_by_tests(t, found)?;
            trial.check_of(round, found);
        }
    }
    Ok(())
}

/// Two collectives of different kinds, prepared; `None` where the library lacks one.
fn pair<T: Transport>(t: &T) -> Result<Option<[Trial<T>; 2]>> {
    let sum = trial(t, &Collective::new(Kind::Allreduce, Parts::Equal(4096)), 0)?;
    let gather = trial(t, &Collective::new(Kind::Allgather, Parts::Equal(48)), 3)?;
    Ok(sum.zip(gather).map(Into::into))
}

fn prepared_collectives_end_in_either_order<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let Some(mut both) = pair(t)? else { return Ok(()) };
    for round in 1..=20 {
        both.iter_mut().for_each(|trial| trial.refill(round));
        Trial::run_both(t, &mut both, round % 2 != 0)?;
        both.iter_mut().for_each(|trial| trial.check_of(round, found));
    }
    Ok(())
}

fn prepared_collectives_leave_other_calls_alone<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for (index, kind) in kinds().enumerate() {
        let call = Collective::new(kind, Parts::Equal(4096));
        let Some(mut trial) = trial(t, &call, index)? else { continue };
        let mut beside =
            Trial::made(t, &call, index, |_, _| Prepared::unblocked(t, call.clone(), None))?;
        for round in 1..=2 {
            trial.refill(round);
            trial.run_beside_others(t, found, index)?;
            trial.check_of(round, found);
            beside.refill(round);
            beside.run(t, found)?;
            beside.check_of(round, found);
        }
    }
    Ok(())
}

fn prepared_collectives_may_be_dropped_without_a_start<T: Transport>(
    t: &T,
    found: &Found,
) -> Result<()> {
    for kind in kinds() {
        let call = Collective::new(kind, Parts::Equal(4096));
        drop(trial(t, &call, 0)?);
        let Some(mut trial) = trial(t, &call, 1)? else { continue };
        trial.run(t, found)?;
        trial.check_of(1, found);
    }
    Ok(())
}

fn a_dropped_request_of_a_prepared_collective_is_waited_for<T: Transport>(
    t: &T,
    found: &Found,
) -> Result<()> {
    let call = Collective::new(Kind::Allgather, Parts::Equal(5000));
    let Some(mut trial) = trial(t, &call, 0)? else { return Ok(()) };
    for round in 1..=N_STARTS {
        trial.refill(round);
        trial.run_dropped(t)?;
        trial.check_of(round, found);
    }
    Ok(())
}

fn a_prepared_operation_has_its_memory_alone<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let refused = |outcome: Result<()>| {
        let kind = outcome.err().map(|error| error.kind);
        found.require_eq("other memory", kind, Some(TransportErrorKind::InvalidArgument));
    };
    let call = Collective::new(Kind::Allreduce, Parts::Equal(8));
    if let Some(mut trial) = trial(t, &call, 0)? {
        let Trial { prepared, input, output, .. } = &mut trial;
        let mut other = vec![0; 8];
        refused(t.scope(|s| s.unblocked_collective(prepared, input, &mut other)?.wait()));
        refused(t.scope(|s| s.unblocked_collective(prepared, &other, output)?.wait()));
        trial.run(t, found)?;
        trial.check_of(1, found);
    }
    let (message, mut buffer) = ([0; 8], [0; 8]);
    let mut sends = PreparedSends::new(t, next(t), TAG, &message, 1)?;
    let mut receives = PreparedRecvs::new(t, Source::Any, TAG, &mut buffer, 1)?;
    let (other, mut shorter) = ([0; 8], [0; 7]);
    refused(t.scope(|s| s.start_sends(&mut sends, &other)?.wait()));
    refused(t.scope(|s| s.start_recvs(&mut receives, &mut shorter)?.wait()));
    refused(t.scope(|s| s.start_each_send(&mut sends, [&message[..]; 2])?.wait()));
    let strange = PreparedSends::new(t, t.n_ranks(), TAG, &message, 1).err();
    found.require_eq(
        "sends to nobody",
        strange.map(|error| error.kind),
        Some(TransportErrorKind::InvalidArgument),
    );
    Ok(())
}

/// Message to the next rank on the ring, and place of that of the one before; every other pair of them lies
/// in the transport's memory.
fn ends<T: Transport>(t: &T, index: usize, length_bytes: usize) -> Result<[Memory<T>; 2]> {
    let [of_message, of_place] = [1, 2].map(|bit| index & bit != 0);
    Ok([Memory::new(t, of_message, length_bytes)?, Memory::new(t, of_place, length_bytes)?])
}

/// Seed of the message of start number `round` of `rank`.
fn seed(round: u64, rank: usize) -> u64 {
    round << 32 ^ (rank as u64).wrapping_mul(0xd134_2543_de82_ef95)
}

/// Checks that `place` has the message of the previous rank.
fn arrived<T: Transport>(t: &T, found: &Found, round: u64, place: &[u8]) {
    let what = format!("start {round} of {} bytes", place.len());
    found.require_pattern(place, seed(round, previous(t)), what);
}

fn prepared_messages_arrive_at_each_start<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for (index, length_bytes) in MESSAGES_BYTES.into_iter().enumerate() {
        for n in [1, 5] {
            let [mut message, mut place] = ends(t, index, length_bytes)?;
            let mut sends = PreparedSends::new(t, next(t), TAG, &message, n)?;
            let from = if index % 2 == 0 { Source::Any } else { Source::Rank(previous(t)) };
            let mut receives = PreparedRecvs::new(t, from, TAG, &mut place, n)?;
            for round in 1..=N_STARTS {
                pattern::fill(&mut message, seed(round, t.rank()));
                pattern::spoil(&mut place, seed(round, previous(t)));
                t.scope(|s| {
                    let mut arriving = s.start_recvs(&mut receives, &mut place)?;
                    let mut leaving = s.start_sends(&mut sends, &message)?;
                    if round % 2 == 0 {
                        let both = poll_until(|| Ok(leaving.test() & arriving.test()))?;
                        found.require(both, "prepared messages never tested true");
                    }
                    leaving.wait()?;
                    arriving.wait()
                })?;
                arrived(t, found, round, &place);
            }
        }
    }
    Ok(())
}

fn prepared_messages_of_several_buffers_arrive_in_each<T: Transport>(
    t: &T,
    found: &Found,
) -> Result<()> {
    const N_BUFFERS: usize = 3;
    for (index, length_bytes) in MESSAGES_BYTES.into_iter().enumerate() {
        for n_of_each in [1, 2] {
            let both = (0..N_BUFFERS).map(|_| ends(t, index, length_bytes));
            let both: Vec<_> = both.collect::<Result<_>>()?;
            let (mut messages, mut places): (Vec<_>, Vec<_>) =
                both.into_iter().map(|[message, place]| (message, place)).unzip();
            let sent = messages.iter().map(|message| &**message);
            let mut sends = PreparedSends::of_each(t, next(t), TAG, sent, n_of_each)?;
            let into = places.iter_mut().map(|place| &mut **place);
            let from = Source::Rank(previous(t));
            let mut receives = PreparedRecvs::of_each(t, from, TAG, into, n_of_each)?;
            for round in 1..=N_STARTS {
                let of = |number: usize| round * N_BUFFERS as u64 + number as u64;
                for (number, (message, place)) in messages.iter_mut().zip(&mut places).enumerate() {
                    pattern::fill(message, seed(of(number), t.rank()));
                    pattern::spoil(place, seed(of(number), previous(t)));
                }
                t.scope(|s| {
                    let into = places.iter_mut().map(|place| &mut **place);
                    let arriving = s.start_each_recv(&mut receives, into)?;
                    let sent = messages.iter().map(|message| &**message);
                    s.start_each_send(&mut sends, sent)?.wait()?;
                    arriving.wait()
                })?;
                for (number, place) in places.iter().enumerate() {
                    arrived(t, found, of(number), place);
                }
            }
        }
    }
    Ok(())
}

fn prepared_messages_meet_plain_ones<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for (index, length_bytes) in MESSAGES_BYTES.into_iter().enumerate() {
        let [mut message, mut place] = ends(t, index, length_bytes)?;
        let mut sends = PreparedSends::new(t, next(t), TAG, &message, 1)?;
        let mut receives = PreparedRecvs::new(t, Source::Rank(previous(t)), TAG, &mut place, 1)?;
        for round in 1..=N_STARTS {
            pattern::fill(&mut message, seed(round, t.rank()));
            pattern::spoil(&mut place, seed(round, previous(t)));
            t.scope(|s| {
                if round % 2 == 0 {
                    let arriving = s.unblocked_recv(Source::Any, TAG, &mut place)?;
                    s.start_sends(&mut sends, &message)?.wait()?;
                    return arriving.wait().map(drop);
                }
                let arriving = s.start_recvs(&mut receives, &mut place)?;
                s.unblocked_send(next(t), TAG, &message)?.wait()?;
                arriving.wait()
            })?;
            arrived(t, found, round, &place);
        }
    }
    Ok(())
}

fn prepared_messages_may_be_dropped_without_a_start<T: Transport>(
    t: &T,
    found: &Found,
) -> Result<()> {
    for n in [1, 5] {
        let [message, mut place] = ends(t, n, 4097)?;
        drop(PreparedSends::new(t, next(t), TAG, &message, n)?);
        drop(PreparedRecvs::new(t, Source::Any, TAG, &mut place, n)?);
    }
    let (outgoing, incoming) = round_the_ring(t, 0, [(TAG, 5000)]);
    while_sending(t, &outgoing, || receive(t, found, &incoming[0], Source::Any))
}

/// A send to the next rank and a receive from the one before in `n_parts` parts; `None` where the library lacks
/// them.
fn in_parts<T: Transport>(
    t: &T,
    [message, place]: [&mut [u8]; 2],
    n_parts: usize,
) -> Result<Option<(PartitionedSend<T>, PartitionedRecv<T>)>> {
    let send = match PartitionedSend::new(t, next(t), TAG, message, n_parts) {
        Err(error) if error.is_unsupported() => return Ok(None),
        send => send?,
    };
    Ok(Some((send, PartitionedRecv::new(t, previous(t), TAG, place, n_parts)?)))
}

/// Each start with other contents and in another order, of which the last parts get ready by the wait.
fn parts_of_a_message_arrive_whatever_their_order<T: Transport>(
    t: &T,
    found: &Found,
) -> Result<()> {
    for (index, n_parts) in [1, 2, 5, 16].into_iter().enumerate() {
        for part_bytes in [0, 1, 48, 4097, 20_000] {
            let [mut message, mut place] = ends(t, index, n_parts * part_bytes)?;
            let Some((mut send, mut receive)) = in_parts(t, [&mut message, &mut place], n_parts)?
            else {
                return Ok(());
            };
            for round in 1..=N_STARTS {
                pattern::fill(&mut message, seed(round, t.rank()));
                pattern::spoil(&mut place, seed(round, previous(t)));
                t.scope(|s| {
                    let mut arriving = s.start_partitioned_recv(&mut receive, &mut place)?;
                    let mut leaving = s.start_partitioned_send(&mut send, &message)?;
                    let n_named = if round == 2 { n_parts / 2 } else { n_parts };
                    for part in 0..n_named {
                        leaving.ready(if round % 2 == 0 { n_parts - 1 - part } else { part })?;
                    }
                    if n_named == n_parts {
                        for part in 0..n_parts {
                            let has_arrived = poll_until(|| arriving.has_arrived(part))?;
                            found.require(has_arrived, "a part that is ready does not arrive");
                        }
                    }
                    leaving.wait()?;
                    arriving.wait()
                })?;
                arrived(t, found, round, &place);
            }
        }
    }
    Ok(())
}

fn a_part_is_named_once_and_exists<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let [mut message, mut place] = ends(t, 0, 40)?;
    let Some((mut send, mut receive)) = in_parts(t, [&mut message, &mut place], 4)? else {
        return Ok(());
    };
    let refusal = Some(TransportErrorKind::InvalidArgument);
    for n_parts in [0, 3] {
        let refused = PartitionedSend::new(t, next(t), TAG, &message, n_parts).map(drop);
        found.require_eq("such a number of parts", refused.err().map(|error| error.kind), refusal);
    }
    t.scope(|s| {
        let arriving = s.start_partitioned_recv(&mut receive, &mut place)?;
        let mut leaving = s.start_partitioned_send(&mut send, &message)?;
        leaving.ready(1)?;
        for part in [1, 4] {
            let kind = leaving.ready(part).err().map(|error| error.kind);
            found.require_eq("such a part", kind, refusal);
        }
        leaving.wait()?;
        arriving.wait()
    })
}
