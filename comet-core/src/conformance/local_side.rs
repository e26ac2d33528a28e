//! Properties of a single rank: its number, its place, its message buffers and its clock.

use super::Check;
use super::toolkit::{Found, TAG, checks, next, poll_until, previous};
use crate::error::Result;
use crate::pattern;
use crate::transport::{Source, Transport, Work};

/// Alignment of message buffers, in bytes.
const ALIGNMENT_BYTES: usize = 64;

pub(super) fn checks<T: Transport>() -> Vec<Check<T>> {
    checks![
        ranks_are_numbered_from_zero_without_gaps,
        message_buffers_are_aligned_and_zeroed,
        message_buffers_do_not_overlap,
        a_message_buffer_beyond_all_memory_is_refused,
        the_clock_never_goes_backwards,
        the_clock_advances,
        a_global_clock_reads_no_earlier_on_arrival,
    ]
}

fn ranks_are_numbered_from_zero_without_gaps<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let (rank, n_ranks) = (t.rank(), t.n_ranks());
    found.require(rank < n_ranks, "the rank is not below the number of ranks");
    found.require_eq("ranks of the topology", t.topology().n_ranks(), n_ranks);
    // A number goes round the ring and is counted up by each rank.
    let mut hops = [0; 8];
    if n_ranks > 1 && rank > 0 {
        t.blocked_recv(Source::Rank(previous(t)), TAG, &mut hops)?;
    }
    found.require_eq("ranks below this one", u64::from_le_bytes(hops), rank as u64);
    if n_ranks > 1 && rank + 1 < n_ranks {
        t.blocked_send(next(t), TAG, &(rank as u64 + 1).to_le_bytes())?;
    }
    Ok(())
}

fn message_buffers_are_aligned_and_zeroed<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for length_bytes in [0, 1, 63, 64, 65, 4096, 100_001, 1_048_577] {
        // The second time, memory that was written and given back may come again.
        for _ in 0..2 {
            let mut buffer = t.message_buffer(length_bytes)?;
            found.require_eq("length of a message buffer", buffer.len(), length_bytes);
            require_aligned(found, &buffer);
            let zeroed = buffer.iter().all(|byte| *byte == 0);
            found.require(zeroed, "a message buffer was not zeroed");
            buffer.fill(0xff);
        }
    }
    Ok(())
}

fn require_aligned(found: &Found, buffer: &[u8]) {
    let aligned = buffer.is_empty() || buffer.as_ptr().addr().is_multiple_of(ALIGNMENT_BYTES);
    found.require(aligned, "a message buffer was not aligned to 64 bytes");
}

fn message_buffers_do_not_overlap<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let mut held = Vec::new();
    for seed in 0..400 {
        let mut buffer = t.message_buffer((seed * 97 % 8192).try_into().unwrap_or(0))?;
        pattern::fill(&mut buffer, seed << 32);
        held.push((seed, buffer));
        // Give back one of the middle now and then, so that memory is used again.
        if seed % 3 == 2 {
            let (seed, buffer) = held.swap_remove(held.len() / 2);
            require_own_pattern(found, seed, &buffer);
        }
    }
    held.iter().for_each(|(seed, buffer)| require_own_pattern(found, *seed, buffer));
    Ok(())
}

fn require_own_pattern(found: &Found, seed: u64, buffer: &[u8]) {
    found.require_pattern(buffer, seed << 32, format_args!("message buffer {seed}"));
}

fn a_message_buffer_beyond_all_memory_is_refused<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for length_bytes in [usize::MAX / 4, usize::MAX] {
        let refused = t.message_buffer(length_bytes).is_err();
        found.require(refused, "a message buffer longer than all memory was handed out");
    }
    found.require_eq("length of the next buffer", t.message_buffer(8)?.len(), 8);
    Ok(())
}

fn the_clock_never_goes_backwards<T: Transport>(t: &T, found: &Found) -> Result<()> {
    found.require(!t.clock().name.is_empty(), "the clock has no name");
    let mut before_ns = t.now_ns();
    for _ in 0..10_000 {
        let now_ns = t.now_ns();
        if now_ns < before_ns {
            found.note(format!("the clock went back from {before_ns} ns to {now_ns} ns"));
        }
        before_ns = now_ns;
    }
    Ok(())
}

fn the_clock_advances<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let start_ns = t.now_ns();
    // In simulation only computation and communication take time.
    let advanced = poll_until(|| {
        t.compute(Work::Daxpy { n: 1000 }, || ());
        Ok(t.now_ns() > start_ns)
    })?;
    found.require(advanced, "the clock stands still");
    Ok(())
}

fn a_global_clock_reads_no_earlier_on_arrival<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for _ in 0..50 {
        require_cause_before_effect(t, found)?;
    }
    Ok(())
}

/// Sends the time to the next rank; what the previous one has sent must not be later than now.
fn require_cause_before_effect<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let (sent, mut received) = (t.now_ns().to_le_bytes(), [0; 8]);
    t.blocked_exchange(next(t), &sent, Source::Rank(previous(t)), &mut received, TAG)?;
    let (sent_ns, now_ns) = (u64::from_le_bytes(received), t.now_ns());
    if t.clock().is_global && sent_ns > now_ns {
        let sender = previous(t);
        found.note(format!(
            "a message that rank {sender} sent at {sent_ns} ns arrived at {now_ns} ns"
        ));
    }
    Ok(())
}
