//! Calls that combine elements in the part of another rank: their data, the calls, and their check.

use comet_core::collective::Reducer;
use comet_core::collective::data::{Excess, combine_apart, combined_operands, fill_operand};
use comet_core::kernel::prelude::*;

use crate::window::{Blocks, Ends};

/// Kinds of calls.
pub(crate) const ACCUMULATE: usize = 0;
pub(crate) const GET_ACCUMULATE: usize = 1;
pub(crate) const FETCH_AND_OP: usize = 2;
pub(crate) const COMPARE_AND_SWAP: usize = 3;

/// Bytes of a fetch by which its call is found.
const LOOK_BYTES: usize = 64;

/// Blocks of the origin: what is added, or expected; what was fetched; the new value of a swap.
const GIVEN: usize = 0;
const FETCHED: usize = 1;
const NEW: usize = 2;

/// One rank's side of calls number `KIND`, which work in block 0 of a part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calls<const KIND: usize> {
    /// Elements, and the operator on them.
    pub(crate) by: Reducer,
    /// The other rank.
    pub(crate) ends: Ends,
    /// True if a swap puts another value than it finds: the first finds what it expects, the others do not.
    pub(crate) are_swapped: bool,
}

impl<const KIND: usize> Calls<KIND> {
    /// Blocks of a part and of an origin.
    pub(crate) const N_BLOCKS: [usize; 2] = [1, [1, 2, 2, 3][KIND]];

    /// Fills what is combined, and spoils what is fetched.
    pub(crate) fn fill<T: Transport>(self, blocks: &mut Blocks<T>) {
        let (by, rank) = (self.by, blocks.rank());
        blocks.write(0, |part| fill_operand(by, rank, part));
        let Some(target) = self.ends.target else { return };
        if KIND == COMPARE_AND_SWAP {
            fill_operand(by, target, blocks.origin(GIVEN));
            fill_operand(by, self.new_of(target, rank), blocks.origin(NEW));
        } else {
            fill_operand(by, rank, blocks.origin(GIVEN));
        }
        if KIND != ACCUMULATE {
            blocks.origin(FETCHED).fill(0xff);
        }
    }

    /// Starts the call of this rank, if it makes any.
    #[inline]
    pub(crate) fn start<T: Transport>(self, blocks: &Blocks<T>) -> Result<()> {
        let Some(target) = self.ends.target else { return Ok(()) };
        let (window, other, by) = (blocks.window(), blocks.of(target, 0), self.by);
        let place = |index| blocks.own(index).start;
        match KIND {
            ACCUMULATE => window.accumulate(blocks.own(GIVEN), other, by),
            GET_ACCUMULATE => window.get_accumulate(blocks.own(GIVEN), place(FETCHED), other, by),
            FETCH_AND_OP => window.fetch_and_op(place(GIVEN), place(FETCHED), other, by),
            _ => {
                let places = [place(GIVEN), place(NEW), place(FETCHED)];
                window.compare_and_swap(places, other, by.element())
            }
        }
    }

    /// Checks what was fetched last and what was combined, and all about them. Where `are_at_once`, several
    /// calls fetch to one place before one of them has ended.
    pub(crate) fn check<T: Transport>(
        self,
        blocks: &mut Blocks<T>,
        check: &mut Checker,
        are_at_once: bool,
    ) {
        let (n_runs, rank) = (check.n_runs(), blocks.rank());
        if let Some(target) = self.ends.target.filter(|_| KIND != ACCUMULATE) {
            let fetched = blocks.origin(FETCHED);
            let is_any = are_at_once && KIND != COMPARE_AND_SWAP;
            let found = is_any.then(|| self.last_fetch([target, rank], n_runs, fetched)).flatten();
            let n_before = found.unwrap_or(n_runs - 1);
            let before = self.part_after([target, rank], n_before, fetched);
            check.bytes(fetched, &before, "what was fetched");
        }
        if let Some(origin) = self.ends.origin {
            let mut part = blocks.read(0);
            let after = self.part_after([rank, origin], n_runs, &part);
            check.bytes(&mut part, &after, "the part");
        }
        blocks.check(check);
    }

    /// The rank whose vector a swap of `origin` puts into the part of `target`.
    fn new_of(self, target: Rank, origin: Rank) -> Rank {
        if self.are_swapped { origin } else { target }
    }

    /// The part of a target after `n_runs` calls of an origin, as long as `found`.
    fn part_after(self, [target, origin]: [Rank; 2], n_runs: u64, found: &[u8]) -> Vec<u8> {
        let (first, others) = match KIND {
            COMPARE_AND_SWAP if n_runs > 0 => (self.new_of(target, origin), 0..0),
            COMPARE_AND_SWAP => (target, 0..0),
            _ => (target, origin..origin + 1),
        };
        combined_operands(self.by, first, others, n_runs, found)
    }

    /// Calls before the last whose fetch may be `fetched`.
    fn last_fetch(self, [target, origin]: [Rank; 2], n_runs: u64, fetched: &[u8]) -> Option<u64> {
        let fetched = &fetched[..fetched.len().min(LOOK_BYTES)];
        let vector = |rank| {
            let mut vector = vec![0; fetched.len()];
            fill_operand(self.by, rank, &mut vector);
            vector
        };
        let (mut wrapped, mut held, given) = (vector(target), vector(target), vector(origin));
        let mut found = None;
        for n_before in 0..n_runs {
            let mut either = wrapped.iter().zip(&held).zip(fetched);
            if either.all(|((wrapped, held), byte)| byte == wrapped || byte == held) {
                found = Some(n_before);
            }
            combine_apart(self.by, Excess::Wraps, &mut wrapped, &given);
            combine_apart(self.by, Excess::Stays, &mut held, &given);
        }
        found
    }
}
