//! Barrier, broadcast and global sum, and that they and the users' messages leave each other alone.

use super::Check;
use super::toolkit::{
    Found, Memory, TAG, buffers, checks, finish, receive, round_the_ring, while_sending,
};
use crate::collective as naive;
use crate::error::Result;
use crate::pattern;
use crate::transport::{Rank, Source, Tag, Transport};

/// Lengths of broadcasts, in bytes.
const BROADCASTS_BYTES: [usize; 9] = [0, 1, 48, 49, 4096, 32_768, 32_769, 100_000, 1_048_577];

/// Lengths of vectors to sum, in doubles.
const VECTORS: [usize; 6] = [0, 1, 5, 513, 1000, 70_000];

pub(super) fn checks<T: Transport>() -> Vec<Check<T>> {
    checks![
        a_barrier_holds_all_ranks_until_the_last,
        barriers_and_messages_leave_each_other_alone,
        every_rank_can_be_the_root_of_a_broadcast,
        broadcasts_from_changing_roots_do_not_mix,
        global_sums_of_integers_are_exact,
        global_sums_have_the_same_bits_on_every_rank,
        global_sums_of_vectors_are_exact,
        sums_of_vectors_have_the_same_bits_everywhere,
        naive_and_native_collectives_agree,
        collectives_do_not_take_the_messages_of_users,
        two_ranks_learn_the_time_of_a_line_or_none,
    ]
}

fn a_barrier_holds_all_ranks_until_the_last<T: Transport>(t: &T, found: &Found) -> Result<()> {
    const OUT: Tag = TAG;
    for round in 0..40 {
        let last = round % t.n_ranks();
        if t.rank() == last {
            // A rank that was let go too early tells it: often seen, never a false alarm.
            found.require(!anything_arrives(t, OUT)?, "a rank left a barrier too early");
            t.barrier()?;
            for _ in 1..t.n_ranks() {
                t.blocked_recv(Source::Any, OUT, &mut [])?;
            }
        } else {
            t.barrier()?;
            t.blocked_send(last, OUT, &[])?;
        }
    }
    Ok(())
}

/// Looks for a message with `tag` for a little while.
fn anything_arrives<T: Transport>(t: &T, tag: Tag) -> Result<bool> {
    for _ in 0..30 {
        if t.probe(Source::Any, tag)?.is_some() {
            return Ok(true);
        }
        std::thread::yield_now();
    }
    Ok(false)
}

fn barriers_and_messages_leave_each_other_alone<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for round in 0..8 {
        let lengths_bytes = [8, 100_000, 0, 4097].map(|length_bytes| (TAG, length_bytes));
        let (outgoing, incoming) = round_the_ring(t, round, lengths_bytes);
        let mut buffers = buffers(t, &incoming[..1])?;
        t.scope(|s| {
            let posted = s.unblocked_recv(incoming[0].from(), TAG, &mut buffers[0])?;
            while_sending(t, &outgoing, || {
                (0..3).try_for_each(|_| t.barrier())?;
                finish(found, &incoming[0], posted)?;
                incoming[1..].iter().try_for_each(|from| receive(t, found, from, from.from()))
            })
        })?;
    }
    Ok(())
}

fn every_rank_can_be_the_root_of_a_broadcast<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for length_bytes in BROADCASTS_BYTES {
        for root in (0..t.n_ranks()).step_by(root_step(t.n_ranks(), length_bytes)) {
            require_broadcast(t, found, root, length_bytes, T::blocked_broadcast)?;
        }
    }
    Ok(())
}

/// Every rank is the root of short messages, but among hundreds of ranks only some of long ones: the
/// bytes grow with the square of the ranks.
fn root_step(n_ranks: usize, length_bytes: usize) -> usize {
    const MAX_LONG_ROOTS: usize = 16;
    if length_bytes <= 5000 { 1 } else { n_ranks.div_ceil(MAX_LONG_ROOTS) }
}

fn broadcasts_from_changing_roots_do_not_mix<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for round in 0..150 {
        let length_bytes = [8, 5000, 48, 200][round % 4] + round;
        let root = round * 5 % t.n_ranks();
        require_broadcast(t, found, root, length_bytes, T::blocked_broadcast)?;
    }
    Ok(())
}

/// Broadcasts a pattern from `root` by `broadcast`, and checks it on every rank.
fn require_broadcast<T: Transport>(
    t: &T,
    found: &Found,
    root: Rank,
    length_bytes: usize,
    broadcast: fn(&T, Rank, &mut [u8]) -> Result<()>,
) -> Result<()> {
    let seed = ((root as u64) << 32) + length_bytes as u64;
    // Ranks differ in the memory that they lend.
    let of_transport = (t.rank() + root + length_bytes).is_multiple_of(2);
    let mut message = Memory::new(t, of_transport, length_bytes)?;
    if t.rank() == root {
        pattern::fill(&mut message, seed);
    } else {
        pattern::spoil(&mut message, seed);
    }
    if let Err(error) = broadcast(t, root, &mut message) {
        return found.survive(&format!("the broadcast from rank {root}"), error);
    }
    let what = format!("the broadcast from rank {root}");
    found.require_pattern(&message, seed, &what);
    Ok(())
}

fn global_sums_of_integers_are_exact<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for round in 0..100 {
        let sum = t.global_sum(term(t.rank(), round))?;
        found.require_eq("a global sum", sum.to_bits(), sum_of_terms(t, round).to_bits());
    }
    Ok(())
}

fn global_sums_of_vectors_are_exact<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for length in VECTORS {
        require_vector_sum(t, found, length, T::global_sum_vector)?;
    }
    Ok(())
}

/// Sums vectors of `length` doubles by `sum`, and checks each element.
fn require_vector_sum<T: Transport>(
    t: &T,
    found: &Found,
    length: usize,
    sum: fn(&T, &mut [f64]) -> Result<()>,
) -> Result<()> {
    let mut values: Vec<f64> = (0..length).map(|index| term(t.rank(), index)).collect();
    sum(t, &mut values)?;
    let expected = |index| sum_of_terms(t, index);
    let wrong = (0..length).find(|index| values[*index].to_bits() != expected(*index).to_bits());
    if let Some(index) = wrong {
        let what = format!("element {index} of {length} of a global sum");
        found.require_eq(what, values[index], expected(index));
    }
    Ok(())
}

/// Contribution of `rank` to element `index`: an integer, so that no sum is rounded.
fn term(rank: Rank, index: usize) -> f64 {
    (rank * 3 + index + 1) as f64
}

/// The sum of all ranks' [`term`]s.
fn sum_of_terms<T: Transport>(t: &T, index: usize) -> f64 {
    (0..t.n_ranks()).map(|rank| term(rank, index)).sum()
}

fn global_sums_have_the_same_bits_on_every_rank<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for round in 0..20 {
        let sum = t.global_sum(awkward_term(t.rank(), round))?;
        require_same_bits(t, found, &[sum])?;
    }
    Ok(())
}

fn sums_of_vectors_have_the_same_bits_everywhere<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for length in VECTORS {
        let terms = (0..length).map(|index| awkward_term(t.rank(), index));
        let mut values: Vec<f64> = terms.collect();
        t.global_sum_vector(&mut values)?;
        require_same_bits(t, found, &values)?;
    }
    Ok(())
}

/// A number whose sum over the ranks depends on the order of addition.
fn awkward_term(rank: Rank, index: usize) -> f64 {
    let magnitudes = [1e16, 1.0, -1e16, 0.1, 1e-3, 3.7e7];
    magnitudes[(rank + index) % magnitudes.len()] * (rank + 1) as f64 / 3.0
}

/// Checks that `values` have the bits that they have on rank 0.
fn require_same_bits<T: Transport>(t: &T, found: &Found, values: &[f64]) -> Result<()> {
    let own: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    let mut of_rank_0 = own.clone();
    naive::broadcast(t, 0, &mut of_rank_0)?;
    if let Some(byte) = (0..own.len()).find(|byte| own[*byte] != of_rank_0[*byte]) {
        let (index, length) = (byte / size_of::<f64>(), values.len());
        found.note(format!(
            "element {index} of {length} of a global sum, {:e}, has other bits than on rank 0",
            values[index]
        ));
    }
    Ok(())
}

fn naive_and_native_collectives_agree<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for round in 0..6 {
        let (root, length_bytes) = (round % t.n_ranks(), BROADCASTS_BYTES[round + 1]);
        naive::barrier(t)?;
        require_broadcast(t, found, root, length_bytes, naive::broadcast)?;
        require_broadcast(t, found, root, length_bytes, T::blocked_broadcast)?;
        t.barrier()?;
        require_vector_sum(t, found, VECTORS[round % 5], naive::global_sum_vector)?;
        require_vector_sum(t, found, VECTORS[round % 5], T::global_sum_vector)?;
    }
    Ok(())
}

fn collectives_do_not_take_the_messages_of_users<T: Transport>(t: &T, found: &Found) -> Result<()> {
    // The receives of the first two are posted before, the others arrive unexpected.
    let tags = [0, Tag::MAX, 0, 1, 2, 3, Tag::MAX].map(Tag::new);
    let lengths_bytes = [0, 8, 48, 5000, 8, 100_000, 0];
    let (outgoing, incoming) = round_the_ring(t, 0, tags.into_iter().zip(lengths_bytes));
    let (posted, unexpected) = incoming.split_at(2);
    let mut buffers = buffers(t, posted)?;
    t.scope(|s| {
        let mut requests = Vec::new();
        for (from, buffer) in posted.iter().zip(&mut buffers) {
            requests.push(s.unblocked_recv(Source::Any, from.tag, buffer)?);
        }
        while_sending(t, &outgoing, || {
            run_collectives(t, found)?;
            let mut pairs = posted.iter().zip(requests);
            pairs.try_for_each(|(from, request)| finish(found, from, request))?;
            run_collectives(t, found)?;
            unexpected.iter().rev().try_for_each(|from| receive(t, found, from, from.from()))
        })
    })
}

/// One of each collective, native and naive.
fn run_collectives<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let last = t.n_ranks() - 1;
    t.barrier()?;
    require_broadcast(t, found, last, 100, T::blocked_broadcast)?;
    require_broadcast(t, found, 0, 40_000, T::blocked_broadcast)?;
    require_vector_sum(t, found, 1000, T::global_sum_vector)?;
    naive::barrier(t)?;
    require_broadcast(t, found, last, 0, naive::broadcast)?;
    require_vector_sum(t, found, 3, naive::global_sum_vector)
}

fn two_ranks_learn_the_time_of_a_line_or_none<T: Transport>(t: &T, found: &Found) -> Result<()> {
    // The second time, ranks have left the first at different moments.
    for _ in 0..2 {
        let line_ns = t.line_time_ns()?;
        let is_time = line_ns.is_none_or(|ns| ns.is_finite() && ns > 0.0);
        found.require(is_time, "the time of a line is not above 0");
        found.require(line_ns.is_none() || t.rank() < 2, "this rank has no part in it");
        let n_told = t.global_sum(f64::from(u8::from(line_ns.is_some())))?;
        found.require(n_told == 0.0 || n_told == 2.0, "one rank alone learns the time of a line");
    }
    Ok(())
}
