//! Collectives: operations as values, algorithms for them over messages, and the few that driver and
//! transports cannot do without.
//!
//! The functions here are built on point-to-point calls alone. They are the defaults of
//! [`Transport`], which a backend overrides with its best, and stay callable, so that a backend's own
//! can be held against them (suite `naive`).
//!
//! ```text
//!   call         what is to be done: kind, root, parts, elements and operator, neighbours
//!   algorithm    how: the library, one function each
//!   plan         what one rank does in it, round by round
//!   running      a plan on its transport, carried out in one call
//!   in_flight    a plan that was started, and goes on in tests and waits
//!   prepared     a call, and its plan if it has one
//!   schedule     the messages of all ranks, step by step
//!   data         what each rank gives in a test, and what it finds
//! ```

pub mod algorithm;
mod call;
pub mod data;
mod graph;
mod in_flight;
mod oracle;
mod parts;
mod plan;
mod prepared;
mod reducer;
mod running;
mod schedule;
#[cfg(test)]
mod tests;

pub use call::{Collective, Kind};
pub use graph::Graph;
pub use in_flight::InFlight;
pub use parts::{Neighbours, Parts, Places};
pub use plan::Plan;
pub use prepared::{NoCall, Prepared, Started};
pub use reducer::{Element, Operator, Reducer};
pub use running::Running;
pub use schedule::{Sent, schedule};

use crate::error::{Result, TransportError, TransportErrorKind};
use crate::transport::{Rank, Source, Tag, Transport, Work, require_rank};

const BARRIER: Tag = Tag::reserved(0);
const BROADCAST: Tag = Tag::reserved(1);
const SUM: Tag = Tag::reserved(2);

const GATHER_LENGTH: Tag = Tag::reserved(3);
const GATHER_BODY: Tag = Tag::reserved(4);
const PLAN: Tag = Tag::reserved(10);
/// Tag of what ranks tell each other about themselves: see [`share`].
pub(crate) const SHARED: Tag = Tag::reserved(11);
/// The first of the tags of unblocked collectives, and their number: as many may be in flight at once.
const FIRST_CALL: u16 = 100;
const N_CALLS: u16 = 128;

/// Elements of a sum that travel in one piece: of a short vector, and of a long one.
const SHORT_SUM: usize = 32;
const LONG_SUM: usize = 1024;

/// Dissemination barrier: in round `i` each rank signals the rank `2^i` above it.
///
/// ```text
/// round 0:  0→1  1→2  2→3  3→0        round 1:  0→2  1→3  2→0  3→1
/// ```
///
/// # Errors
/// If the job has failed.
pub fn barrier<T: Transport>(t: &T) -> Result<()> {
    let (rank, n_ranks) = (t.rank(), t.n_ranks());
    let mut distance = 1;
    while distance < n_ranks {
        let to = (rank + distance) % n_ranks;
        let from = (rank + n_ranks - distance) % n_ranks;
        t.blocked_exchange(to, &[], Source::Rank(from), &mut [], BARRIER)?;
        distance *= 2;
    }
    Ok(())
}

/// Number of messages of such a barrier.
pub fn messages_of_barrier(n_ranks: usize) -> u64 {
    n_ranks as u64 * u64::from(n_ranks.next_power_of_two().ilog2())
}

/// Barrier of a power of two of ranks: in round `i` each rank exchanges a signal with the rank whose
/// number differs in bit `i`, its neighbour on a hypercube.
///
/// # Errors
/// If the job has failed.
pub fn pairwise_barrier<T: Transport>(t: &T) -> Result<()> {
    let mut bit = 1;
    while bit < t.n_ranks() {
        let partner = t.rank() ^ bit;
        t.blocked_exchange(partner, &[], Source::Rank(partner), &mut [], BARRIER)?;
        bit *= 2;
    }
    Ok(())
}

/// Binomial-tree broadcast from `root`.
///
/// # Errors
/// If there is no rank `root`, if a rank's `message` has another length, or if the job has failed.
pub fn broadcast<T: Transport>(t: &T, root: Rank, message: &mut [u8]) -> Result<()> {
    let length_bytes = broadcast_after(t, root, (message, BROADCAST), |_| Ok(()))?;
    require_length(t, length_bytes, message.len())
}

/// [`broadcast`] to ranks that leave the CPUs to others until their message arrives (see
/// [`Transport::rest_until`]); returns its length, which may be less than that of their memory.
///
/// # Errors
/// If there is no rank `root`, if the message is longer than a rank's memory, or if the job has
/// failed.
pub fn broadcast_to_resting<T: Transport>(t: &T, root: Rank, message: &mut [u8]) -> Result<usize> {
    rest_for(t, root, (message, BROADCAST))
}

fn rest_for<T: Transport>(t: &T, root: Rank, message: (&mut [u8], Tag)) -> Result<usize> {
    let tag = message.1;
    broadcast_after(t, root, message, |parent| t.rest_until(Source::Rank(parent), tag))
}

/// The broadcast, in which a rank does `wait(parent)` before it receives; the length of the message.
#[inline]
fn broadcast_after<T: Transport>(
    t: &T,
    root: Rank,
    (message, tag): (&mut [u8], Tag),
    wait: impl FnOnce(Rank) -> Result<()>,
) -> Result<usize> {
    let (rank, n_ranks) = (t.rank(), t.n_ranks());
    require_rank(t, root)?;
    let relative = (rank + n_ranks - root) % n_ranks;
    // The lowest set bit of the relative rank names the parent; the root has none.
    let mut bit = 1;
    while bit < n_ranks && relative & bit == 0 {
        bit *= 2;
    }
    let mut length_bytes = message.len();
    if relative != 0 {
        let parent = (relative - bit + root) % n_ranks;
        wait(parent)?;
        length_bytes = t.blocked_recv(Source::Rank(parent), tag, message)?.length_bytes;
    }
    while bit > 1 {
        bit /= 2;
        if relative + bit < n_ranks {
            let child = (relative + bit + root) % n_ranks;
            t.blocked_send(child, tag, &message[..length_bytes])?;
        }
    }
    Ok(length_bytes)
}

/// Element-by-element sum: ranks add up along a binomial tree to rank 0, which broadcasts.
///
/// Every rank gets rank 0's bits. Long vectors go in pieces of 8 KiB, through memory on the stack,
/// so that nothing is allocated.
///
/// # Errors
/// If the lengths differ between ranks, or if the job has failed.
pub fn global_sum_vector<T: Transport>(t: &T, values: &mut [f64]) -> Result<()> {
    // A short vector does not pay for clearing the memory of a long one.
    if values.len() <= SHORT_SUM {
        return sum_piece::<T, SHORT_SUM>(t, values);
    }
    values.chunks_mut(LONG_SUM).try_for_each(|piece| sum_piece::<T, LONG_SUM>(t, piece))
}

/// The sum of a vector of at most `N` elements.
fn sum_piece<T: Transport, const N: usize>(t: &T, values: &mut [f64]) -> Result<()> {
    let (rank, n_ranks) = (t.rank(), t.n_ranks());
    let mut memory = [[0u8; size_of::<f64>()]; N];
    let incoming = memory[..values.len()].as_flattened_mut();
    let mut bit = 1;
    while bit < n_ranks {
        if rank & bit != 0 {
            encode(values, incoming);
            t.blocked_send(rank - bit, SUM, incoming)?;
            break;
        }
        if rank + bit < n_ranks {
            let status = t.blocked_recv(Source::Rank(rank + bit), SUM, incoming)?;
            require_length(t, status.length_bytes, incoming.len())?;
            t.compute(Work::Reduce { n: values.len() }, || add(values, incoming));
        }
        bit *= 2;
    }
    encode(values, incoming);
    broadcast(t, 0, incoming)?;
    for (value, bytes) in values.iter_mut().zip(incoming.as_chunks().0) {
        *value = f64::from_ne_bytes(*bytes);
    }
    Ok(())
}

/// The `bytes` of all ranks in rank order, of any lengths, on rank 0; nothing on the others.
///
/// # Errors
/// If the job has failed.
///
/// # Panics
/// If a rank's bytes do not fit into the memory of rank 0.
pub fn gather<T: Transport>(t: &T, bytes: Vec<u8>) -> Result<Vec<Vec<u8>>> {
    if t.rank() != 0 {
        t.blocked_send(0, GATHER_LENGTH, &(bytes.len() as u64).to_le_bytes())?;
        t.blocked_send(0, GATHER_BODY, &bytes)?;
        return Ok(Vec::new());
    }
    let mut gathered = vec![bytes];
    for rank in 1..t.n_ranks() {
        let mut length = [0; 8];
        t.blocked_recv(Source::Rank(rank), GATHER_LENGTH, &mut length)?;
        let length_bytes = usize::try_from(u64::from_le_bytes(length))
            .expect("what a rank holds in memory fits into that of rank 0");
        let mut body = vec![0; length_bytes];
        t.blocked_recv(Source::Rank(rank), GATHER_BODY, &mut body)?;
        gathered.push(body);
    }
    Ok(gathered)
}

/// Carries `call` out by the algorithm that is chosen [automatically](algorithm::automatic) for it, over
/// messages, with a plan made for it alone.
///
/// # Errors
/// If a buffer is too short, if there is no such root or not enough memory, or if the job has failed.
pub fn by_messages<T: Transport>(
    t: &T,
    call: &Collective,
    input: &[u8],
    output: &mut [u8],
) -> Result<()> {
    let at = (t.rank(), t.n_ranks());
    call.admit(at, input, output).map_err(|error| error.on_rank(t.global_rank(t.rank())))?;
    let plan = algorithm::automatic(call, t.n_ranks()).plan(call, t.rank(), t.n_ranks());
    Running::new(t, plan)?.run(t, input, output)
}

/// Tag of the messages of unblocked collective number `number` of a transport.
fn tag_of_call(number: u16) -> Tag {
    Tag::reserved(FIRST_CALL + number % N_CALLS)
}

/// One tag for all of those of unblocked collectives; any other as it is.
pub(crate) fn of_any_call(tag: Tag) -> Tag {
    let calls = tag_of_call(0).value()..=tag_of_call(N_CALLS - 1).value();
    if calls.contains(&tag.value()) { tag_of_call(0).within(tag.context()) } else { tag }
}

/// The words of all ranks in rank order, on every rank; not for what is timed.
///
/// # Errors
/// If the job has failed.
pub fn share<T: Transport, const N: usize>(t: &T, own: [u64; N]) -> Result<Vec<[u64; N]>> {
    let mut table = vec![0; t.n_ranks() * size_of::<[u64; N]>()];
    let entry = size_of::<[u64; N]>();
    if t.rank() == 0 {
        table[..entry].copy_from_slice(&bytes(own));
        for rank in 1..t.n_ranks() {
            let place = &mut table[rank * entry..(rank + 1) * entry];
            t.blocked_recv(Source::Rank(rank), SHARED, place)?;
        }
    } else {
        t.blocked_send(0, SHARED, &bytes(own))?;
    }
    rest_for(t, 0, (&mut table, SHARED))?;
    Ok(words(&table).as_chunks().0.to_vec())
}

/// The words in a message.
pub(crate) fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks().0.iter().map(|chunk| u64::from_le_bytes(*chunk)).collect()
}

/// The bytes of a message of `words`.
pub(crate) fn bytes(words: impl IntoIterator<Item = u64>) -> Vec<u8> {
    words.into_iter().flat_map(u64::to_le_bytes).collect()
}

fn add(values: &mut [f64], incoming: &[u8]) {
    for (value, bytes) in values.iter_mut().zip(incoming.as_chunks().0) {
        *value += f64::from_ne_bytes(*bytes);
    }
}

fn encode(values: &[f64], bytes: &mut [u8]) {
    for (value, bytes) in values.iter().zip(bytes.as_chunks_mut().0) {
        *bytes = value.to_ne_bytes();
    }
}

/// Refuses operands of [`Transport::combine`] of two lengths.
///
/// # Errors
/// [`InvalidArgument`](TransportErrorKind::InvalidArgument) with both lengths.
#[inline]
pub fn require_operands<T: Transport>(t: &T, other: &[u8], into: &[u8]) -> Result<()> {
    if other.len() == into.len() {
        return Ok(());
    }
    let (other, into) = (other.len(), into.len());
    let text = format!("combine: {other} bytes with {into} bytes, equal lengths expected");
    let error = TransportError::new(TransportErrorKind::InvalidArgument, text);
    Err(error.on_rank(t.global_rank(t.rank())))
}

fn require_length<T: Transport>(t: &T, found_bytes: usize, expected_bytes: usize) -> Result<()> {
    if found_bytes == expected_bytes {
        return Ok(());
    }
    let text = format!(
        "the ranks of a collective disagree about its length: \
         {found_bytes} bytes arrived, {expected_bytes} expected"
    );
    let error = TransportError::new(TransportErrorKind::Disagreement, text);
    Err(error.on_rank(t.global_rank(t.rank())))
}
