//! Test data of collective operations: what each rank gives, and what it finds.
//!
//! Parts of messages are patterns that name who sent them and for whom. Elements of reductions are
//! small integers, which every element type holds exactly: sums of them are exact in any order on up
//! to 2^20 ranks, and so are products; integers wrap alike.

use std::ops::Range;

use super::call::{Collective, Kind};
use super::parts::Parts;
use super::reducer::{Element, Operator, Reducer};
use crate::error::KernelError;
use crate::kernel::{Checker, Seeds};
use crate::pattern;
use crate::transport::Rank;

pub use super::oracle::{Excess, combine_apart};

/// Elements after which the values of a vector come again: a slice of it, or of what a reduction makes of
/// vectors, shows where it begins.
const PERIOD: usize = 11;
/// Ranks whose vectors of 8-bit elements change a sum or a product: these are at most 120, and Open MPI 4.1
/// takes 127 for any sum above.
const N_OF_BYTES: usize = 23;

/// The first elements of the vector of `rank`; the others are these again and again.
fn period(by: Reducer, rank: Rank) -> Vec<u8> {
    let (element, operator) = (by.element(), by.operator());
    let is_neutral = element.bytes() == 1 && rank >= N_OF_BYTES;
    let element_at = |index: usize| {
        // Of 11 vectors with all values at each element the sums would all be the same.
        let varied = (if rank == 0 { index * index } else { 7 * rank + index }) % PERIOD;
        let value = match operator {
            Operator::Sum | Operator::Xor if is_neutral => 0,
            Operator::Sum | Operator::Xor => varied,
            // Powers of 2 are exact, those of 3 never wrap to 0; rank 0 has more of them than the others.
            Operator::Product if is_neutral || varied > usize::from(rank == 0) => 1,
            Operator::Product if matches!(element, Element::F32 | Element::F64) => 2,
            Operator::Product => 3,
            // The upper bits are those of all ranks.
            Operator::Min | Operator::Max | Operator::And | Operator::Or => 8 * index + varied % 8,
        };
        let value = u8::try_from(value).expect("it is below 88");
        match element {
            Element::U8 | Element::I8 => vec![value],
            Element::I32 => i32::from(value).to_ne_bytes().to_vec(),
            Element::I64 => i64::from(value).to_ne_bytes().to_vec(),
            Element::F32 => f32::from(value).to_ne_bytes().to_vec(),
            Element::F64 => f64::from(value).to_ne_bytes().to_vec(),
        }
    };
    (0..PERIOD).flat_map(element_at).collect()
}

/// Puts the vectors of ranks 0 and 1 into the operands of a combination.
pub fn fill_operands(by: Reducer, into: &mut [u8], other: &mut [u8]) {
    fill_operand(by, 0, into);
    fill_operand(by, 1, other);
}

/// Puts the vector of `rank` into `operand`.
pub fn fill_operand(by: Reducer, rank: Rank, operand: &mut [u8]) {
    repeat(operand, &period(by, rank), 0);
}

/// The vector of `first` with those of all `others` combined `n_runs` times, as long as `found`. 8-bit sums
/// beyond the greatest integer wrap, or stay there where `found` has that: Open MPI 4.1 holds those that it
/// sums in vector registers.
pub fn combined_operands(
    by: Reducer,
    first: Rank,
    others: Range<Rank>,
    n_runs: u64,
    found: &[u8],
) -> Vec<u8> {
    let mut wrapped = period(by, first);
    let mut held = wrapped.clone();
    let others: Vec<_> = others.map(|rank| period(by, rank)).collect();
    for _ in 0..n_runs {
        for other in &others {
            combine_apart(by, Excess::Wraps, &mut wrapped, other);
            combine_apart(by, Excess::Stays, &mut held, other);
        }
    }
    let either = wrapped.iter().zip(&held).cycle().zip(found);
    either.map(|((wrapped, held), found)| if found == held { *held } else { *wrapped }).collect()
}

/// Compares `into` with what [`fill_operands`] and a combination in each run make of it.
pub fn compare_combined(by: Reducer, into: &mut [u8], check: &mut Checker) {
    let expected = combined_operands(by, 0, 1..2, check.n_runs(), into);
    check.bytes(into, &expected, "the combined vector");
}

/// Writes `period` again and again to `buffer`, which begins at byte `start` of a vector.
fn repeat(buffer: &mut [u8], period: &[u8], start: usize) {
    let bytes = period.iter().cycle().skip(start % period.len());
    buffer.iter_mut().zip(bytes).for_each(|(byte, value)| *byte = *value);
}

/// The ranks whose vectors `rank` finds combined, if it finds anything.
fn combined(call: &Collective, rank: Rank, n_ranks: usize) -> Option<Range<Rank>> {
    match call.kind() {
        Kind::Reduce if rank != call.root() => None,
        Kind::Scan => Some(0..rank + 1),
        Kind::Exscan => (rank > 0).then_some(0..rank),
        _ => Some(0..n_ranks),
    }
}

/// Result of the reduction `call` on `rank`, if it gets one.
fn result(call: &Collective, rank: Rank, n_ranks: usize) -> Option<Vec<u8>> {
    let ranks = combined(call, rank, n_ranks)?;
    let mut all = period(call.by(), ranks.start);
    for rank in ranks.skip(1) {
        combine_apart(call.by(), Excess::Wraps, &mut all, &period(call.by(), rank));
    }
    let place = match call.kind() {
        Kind::ReduceScatter => call.parts().of(rank),
        _ => 0..call.parts().length(0),
    };
    let mut result = vec![0; place.len()];
    repeat(&mut result, &all, place.start);
    Some(result)
}

/// Seed of what `from` sends to `to`, or to all, which is 0.
fn seed(seeds: Seeds, from: Rank, to: Rank) -> u64 {
    const N_STREAMS: usize = 1 << 16;
    seeds.of(u16::try_from(to % N_STREAMS).expect("it is below 2^16"), from)
}

/// Places of the parts of all ranks.
fn places(parts: &Parts, n_ranks: usize) -> impl Iterator<Item = (Rank, Range<usize>)> {
    (0..n_ranks).map(|rank| (rank, parts.of(rank)))
}

/// Places of the parts of `neighbours`.
fn places_of(parts: &Parts, neighbours: &[Rank]) -> impl Iterator<Item = (Rank, Range<usize>)> {
    neighbours.iter().enumerate().map(|(index, rank)| (*rank, parts.of(index)))
}

/// Puts the data of `rank` for `call` into its buffers, which are as long as the call wants them or
/// longer: what it gives, and where it finds something anything else.
pub fn fill(
    call: &Collective,
    (rank, n_ranks): (Rank, usize),
    seeds: Seeds,
    [input, output]: [&mut [u8]; 2],
) {
    let (kind, parts, is_in_place) = (call.kind(), call.parts(), call.is_in_place_on(rank));
    match kind {
        Kind::Barrier => (),
        Kind::Broadcast => {
            let write = if rank == call.root() { pattern::fill } else { pattern::spoil };
            write(&mut output[..parts.length(0)], seed(seeds, 0, 0));
        }
        Kind::Gather | Kind::Allgather => {
            if kind == Kind::Allgather || rank == call.root() {
                for (from, part) in places(parts, n_ranks) {
                    pattern::spoil(&mut output[part], seed(seeds, from, 0));
                }
            }
            let own = if is_in_place { &mut output[parts.of(rank)] } else { input };
            pattern::fill(&mut own[..parts.length(rank)], seed(seeds, rank, 0));
        }
        Kind::Scatter => {
            // A rank with such an input may be the next root.
            if input.len() >= parts.total(n_ranks) {
                for (to, part) in places(parts, n_ranks) {
                    pattern::fill(&mut input[part], seed(seeds, rank, to));
                }
            }
            if !is_in_place {
                let own = &mut output[..parts.length(rank)];
                pattern::spoil(own, seed(seeds, call.root(), rank));
            }
        }
        Kind::Alltoall => {
            for (from, part) in places(parts, n_ranks) {
                pattern::spoil(&mut output[part], seed(seeds, from, rank));
            }
            let data = if is_in_place { output } else { input };
            for (to, part) in places(call.sent(), n_ranks) {
                pattern::fill(&mut data[part], seed(seeds, rank, to));
            }
        }
        Kind::NeighbourAllgather => {
            for (from, part) in places_of(parts, call.sources()) {
                pattern::spoil(&mut output[part], seed(seeds, from, 0));
            }
            let length = call.input_bytes(rank, n_ranks);
            pattern::fill(&mut input[..length], seed(seeds, rank, 0));
        }
        Kind::NeighbourAlltoall => {
            for (from, part) in places_of(parts, call.sources()) {
                pattern::spoil(&mut output[part], seed(seeds, from, rank));
            }
            for (to, part) in places_of(call.sent(), call.destinations()) {
                pattern::fill(&mut input[part], seed(seeds, rank, to));
            }
        }
        _ => {
            if let Some(result) = result(call, rank, n_ranks) {
                output.iter_mut().zip(result).for_each(|(byte, value)| *byte = !value);
            }
            repeat(if is_in_place { output } else { input }, &period(call.by(), rank), 0);
        }
    }
}

/// Compares the output of a rank with what one run of `call` puts there.
///
/// # Errors
/// The first byte that differs.
pub fn compare_once(
    call: &Collective,
    at: (Rank, usize),
    output: &mut [u8],
) -> Result<(), KernelError> {
    compare_with(call, at, Seeds { n_runs: 1, lane: 0 }, output)
}

/// The same after a [`fill`] with `seeds`.
///
/// # Errors
/// The first byte that differs.
pub fn compare_with(
    call: &Collective,
    at: (Rank, usize),
    seeds: Seeds,
    output: &mut [u8],
) -> Result<(), KernelError> {
    let mut check = Checker::new(seeds.n_runs, None);
    check.after(1, |check| compare(call, at, output, check));
    check.result()
}

/// Compares the output of `rank` with what `call` puts there.
pub fn compare(
    call: &Collective,
    (rank, n_ranks): (Rank, usize),
    output: &mut [u8],
    check: &mut Checker,
) {
    let (seeds, name, parts) = (check.seeds(), call.kind().name(), call.parts());
    match call.kind() {
        Kind::Barrier => (),
        Kind::Broadcast => {
            let message = &mut output[..parts.length(0)];
            match rank == call.root() {
                true => check.whole(message, seed(seeds, 0, 0), "the broadcast"),
                false => check.message(message, seed(seeds, 0, 0), "the broadcast"),
            }
        }
        Kind::Gather if rank != call.root() => (),
        Kind::Gather | Kind::Allgather | Kind::Alltoall => {
            let to = if call.kind() == Kind::Alltoall { rank } else { 0 };
            for (from, part) in places(parts, n_ranks) {
                let what = format_args!("the part of rank {from} in the {name}");
                check.message(&mut output[part], seed(seeds, from, to), what);
            }
        }
        Kind::NeighbourAllgather | Kind::NeighbourAlltoall => {
            let to = if call.kind() == Kind::NeighbourAlltoall { rank } else { 0 };
            for (from, part) in places_of(parts, call.sources()) {
                let what = format_args!("the part of rank {from} in the {name}");
                check.message(&mut output[part], seed(seeds, from, to), what);
            }
        }
        Kind::Scatter if call.is_in_place_on(rank) => (),
        Kind::Scatter => {
            let what = format!("the part of rank {rank} in the scatter from rank {}", call.root());
            let own = &mut output[..parts.length(rank)];
            check.message(own, seed(seeds, call.root(), rank), &what);
        }
        _ => {
            if let Some(result) = result(call, rank, n_ranks) {
                check.bytes(&mut output[..result.len()], &result, &format!("the {name}"));
            }
        }
    }
}
