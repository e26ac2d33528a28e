//! Groups: parts of the ranks, numbered anew, whose messages stay apart.

use super::Check;
use super::toolkit::{Found, TAG, checks, next, previous, receive, round_the_ring, while_sending};
use crate::error::Result;
use crate::transport::{Rank, Source, Transport};

/// Lengths that take different ways through a transport, in bytes.
const MIXED_BYTES: [usize; 5] = [8, 0, 5000, 100_000, 1];

pub(super) fn checks<T: Transport>() -> Vec<Check<T>> {
    checks![
        a_split_numbers_the_ranks_of_a_colour_by_key,
        a_rank_without_a_colour_has_no_part,
        a_rank_may_be_alone_in_its_part,
        messages_of_two_groups_never_meet,
        parts_of_parts_work_beside_them,
        collectives_stay_within_their_part,
        unblocked_calls_work_in_a_part,
        errors_in_a_part_name_the_rank_of_the_job,
        a_part_follows_others_that_have_ended,
        a_duplicate_has_the_same_ranks_and_messages_of_its_own,
        a_split_is_made_again,
    ]
}

/// This transport split into odd and even ranks, the last first.
fn halves<T: Transport>(t: &T) -> Result<Option<T>> {
    t.split(Some(7 + u32::from(t.rank() % 2 == 1)), (t.n_ranks() - t.rank()) as u64)
}

/// The ranks of the half of this rank, as [`halves`] orders them.
fn expected_half<T: Transport>(t: &T) -> Vec<Rank> {
    (0..t.n_ranks()).rev().filter(|rank| rank % 2 == t.rank() % 2).collect()
}

/// One message of each length round the ring of all ranks of `t`.
fn messages_arrive<T: Transport>(t: &T, found: &Found, first_index: usize) -> Result<()> {
    for (index, length_bytes) in (first_index..).zip(MIXED_BYTES) {
        let (outgoing, incoming) = round_the_ring(t, index, [(TAG, length_bytes)]);
        let source = if index % 2 == 0 { Source::Any } else { incoming[0].from() };
        while_sending(t, &outgoing, || receive(t, found, &incoming[0], source))?;
    }
    Ok(())
}

fn a_split_numbers_the_ranks_of_a_colour_by_key<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let Some(part) = halves(t)? else {
        found.note("a rank with a colour has no part");
        return Ok(());
    };
    let members: Vec<Rank> = (0..part.n_ranks()).map(|rank| part.global_rank(rank)).collect();
    let expected: Vec<Rank> =
        expected_half(t).into_iter().map(|rank| t.global_rank(rank)).collect();
    found.require_eq("ranks of a part", members, expected);
    let own = part.global_rank(part.rank());
    found.require_eq("rank of a part in the job", own, t.global_rank(t.rank()));
    found.require_eq("ranks of its topology", part.topology().n_ranks(), part.n_ranks());
    messages_arrive(&part, found, 0)
}

fn a_rank_without_a_colour_has_no_part<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let part = t.split((t.rank() > 0).then_some(0), 0)?;
    found.require_eq("a part exists", part.is_some(), t.rank() > 0);
    if let Some(part) = &part {
        found.require_eq("ranks of the part", part.n_ranks(), t.n_ranks() - 1);
        messages_arrive(part, found, 0)?;
    }
    messages_arrive(t, found, 0)
}

fn a_rank_may_be_alone_in_its_part<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let Some(part) = t.split(u32::try_from(t.rank()).ok(), 0)? else {
        found.note("a rank with a colour has no part");
        return Ok(());
    };
    found.require_eq("number of a lone rank", (part.rank(), part.n_ranks()), (0, 1));
    messages_arrive(&part, found, 0)?;
    part.barrier()
}

/// The messages have the same ends, tags and lengths, and are received in the other order.
fn messages_of_two_groups_never_meet<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let Some(part) = t.split(Some(0), t.rank() as u64)? else {
        found.note("a rank with a colour has no part");
        return Ok(());
    };
    for (index, length_bytes) in MIXED_BYTES.into_iter().enumerate() {
        let (outer_out, outer_in) = round_the_ring(t, index, [(TAG, length_bytes)]);
        let (inner_out, inner_in) = round_the_ring(&part, 50 + index, [(TAG, length_bytes)]);
        let source = if index % 2 == 0 { Source::Any } else { inner_in[0].from() };
        while_sending(t, &outer_out, || {
            // The message of the whole is there, or will be, before that of the part.
            if length_bytes <= 8 {
                t.barrier()?;
                let seen = part.probe(source, TAG)?;
                found.require(seen.is_none(), "a part saw a message of the whole");
                t.barrier()?;
            }
            while_sending(&part, &inner_out, || {
                receive(&part, found, &inner_in[0], source)?;
                receive(t, found, &outer_in[0], source)
            })
        })?;
    }
    Ok(())
}

fn parts_of_parts_work_beside_them<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let Some(half) = halves(t)? else { return Ok(()) };
    let Some(quarter) = halves(&half)? else { return Ok(()) };
    let Some(again) = halves(t)? else { return Ok(()) };
    found.require_eq("ranks of a part of a part", quarter.n_ranks(), expected_half(&half).len());
    for part in [&quarter, &again, &half, t] {
        messages_arrive(part, found, 0)?;
    }
    Ok(())
}

fn collectives_stay_within_their_part<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let Some(part) = halves(t)? else { return Ok(()) };
    // The halves take part in different numbers of collectives.
    for round in 0..3 + 2 * (t.rank() % 2) {
        part.barrier()?;
        let sum = part.global_sum(1.0)?;
        found.require_eq("sum of ones", sum, ones(part.n_ranks()));
        let root = round % part.n_ranks();
        let mut message = part.rank().to_le_bytes();
        part.blocked_broadcast(root, &mut message)?;
        found.require_eq("broadcast", message, root.to_le_bytes());
    }
    let sum = t.global_sum(1.0)?;
    found.require_eq("sum of ones over all ranks", sum, ones(t.n_ranks()));
    Ok(())
}

/// The sum of `n` ones.
fn ones(n: usize) -> f64 {
    std::iter::repeat_n(1.0, n).sum()
}

/// So many parts after each other, every third of which outlives the next.
const N_FOLLOWING: usize = 24;

fn a_part_follows_others_that_have_ended<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let mut outlived: Option<T> = None;
    for round in 0..N_FOLLOWING {
        let all = t.split((t.rank() != round % 3).then_some(4), 0)?;
        if let Some(part) = &all {
            found.require_eq(
                "rank of a part in the job",
                part.global_rank(part.rank()),
                t.global_rank(t.rank()),
            );
            messages_arrive(part, found, 7 * round)?;
            part.barrier()?;
        }
        if let Some(part) = &outlived {
            messages_arrive(part, found, 7 * round + 3)?;
        }
        outlived = all.filter(|_| round % 3 == 0);
    }
    messages_arrive(t, found, 0)
}

/// Messages of `part` and of `t` are received in the other order.
fn both_have_messages<T: Transport>(t: &T, part: &T, found: &Found) -> Result<()> {
    for (index, length_bytes) in MIXED_BYTES.into_iter().enumerate() {
        let (outer_out, outer_in) = round_the_ring(t, index, [(TAG, length_bytes)]);
        let (inner_out, inner_in) = round_the_ring(part, 50 + index, [(TAG, length_bytes)]);
        while_sending(t, &outer_out, || {
            while_sending(part, &inner_out, || {
                receive(part, found, &inner_in[0], inner_in[0].from())?;
                receive(t, found, &outer_in[0], outer_in[0].from())
            })
        })?;
    }
    Ok(())
}

fn a_duplicate_has_the_same_ranks_and_messages_of_its_own<T: Transport>(
    t: &T,
    found: &Found,
) -> Result<()> {
    for _ in 0..3 {
        let again = t.duplicate()?;
        let numbers = |t: &T| (t.rank(), t.n_ranks(), t.global_rank(t.rank()));
        found.require_eq("rank and ranks of a duplicate", numbers(&again), numbers(t));
        found.require_eq("its rank, asked for", again.asked_rank()?, t.rank());
        both_have_messages(t, &again, found)?;
        again.barrier()?;
    }
    Ok(())
}

fn a_split_is_made_again<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let (colour, key) = (Some(u32::from(t.rank() % 2 == 1)), (t.n_ranks() - t.rank()) as u64);
    let part = t.split(colour, key)?;
    let again = t.split_again(colour, key, part.as_ref())?;
    let (Some(part), Some(again)) = (part, again) else {
        found.note("a rank with a colour has no part");
        return Ok(());
    };
    let members = |part: &T| -> Vec<Rank> {
        (0..part.n_ranks()).map(|rank| part.global_rank(rank)).collect()
    };
    found.require_eq("ranks of a part made again", members(&again), members(&part));
    found.require_eq("its rank, asked for", again.asked_rank()?, part.rank());
    both_have_messages(&part, &again, found)
}

fn unblocked_calls_work_in_a_part<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let Some(part) = halves(t)? else { return Ok(()) };
    let (message, mut buffers) = ([9u8; 8], [[0u8; 8]; 4]);
    part.scope(|s| {
        let (mut receives, mut sends) = (s.requests(), s.requests());
        for (index, buffer) in buffers.iter_mut().enumerate() {
            let from = Source::Rank(previous(&part));
            let source = if index % 2 == 0 { Source::Any } else { from };
            receives.push(s.unblocked_recv(source, TAG, buffer)?);
            sends.push(s.unblocked_send(next(&part), TAG, &message)?);
        }
        receives.wait_each(|_, (status, _)| {
            found.require_eq("source in a part", status.source, previous(&part));
            found.require_eq("tag in a part", status.tag, TAG);
        })?;
        sends.wait_all()
    })?;
    found.require_eq("messages in a part", buffers, [[9; 8]; 4]);
    Ok(())
}

fn errors_in_a_part_name_the_rank_of_the_job<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let Some(part) = halves(t)? else { return Ok(()) };
    let error = part.blocked_send(part.n_ranks(), TAG, &[]).err().and_then(|error| error.rank);
    found.require_eq("rank in an error", error, Some(t.global_rank(t.rank())));
    Ok(())
}
