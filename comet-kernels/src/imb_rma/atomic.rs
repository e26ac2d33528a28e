//! Accumulations of rank 0 in the part of rank 1, in a shared lock.
//!
//! **Source**: IMB 2021, IMB-RMA, `Accumulate`, `Get_accumulate`, `Fetch_and_op`,
//! `Compare_and_swap`; MPI-4.1 sections 12.3.4, 12.5.3 and 12.5.4.
//!
//! **Pattern**
//! ```text
//!   accumulate         part of rank 1 += origin of rank 0
//!   get_accumulate     the same, after what was there has been fetched
//!   fetch_and_op       the same of one element
//!   compare_and_swap   one whole number, replaced if it is the expected one, and fetched
//! ```
//! **Timed** (rank 0): the call and a flush, or (aggregate) the calls and one flush after all
//! of them. The window is made and rank 1 is locked before.
//!
//! **Reports**: mean time of a call in a loop on rank 0.
//!
//! **Rate**: `length_bytes` / time of accumulate and get_accumulate, none otherwise.
//!
//! **Parameters**: `length_bytes` of a vector, where there is one; `element` of sums;
//! `aggregate`: a flush after each call, or one after all between two clock reads.
//!
//! **Verified by**: every element of the part on rank 1, and of what the last call has fetched,
//! or any where one flush ends several; canaries on both sides.
//!
//! **Caution**: each swap finds what it expects and puts the same value, as in IMB; that other
//! values are swapped is shown by `comet-run check`.

use comet_core::collective::{Element, Operator, Reducer};
use comet_core::kernel::ELEMENT;
use comet_core::kernel::prelude::*;
use comet_core::window::{Lock, Memory};

use crate::calls::{BY_ELEMENT, VECTORS, reducer};
use crate::combining::{ACCUMULATE, Calls, FETCH_AND_OP, GET_ACCUMULATE};
use crate::window::{AGGREGATE, BY_AGGREGATE, Blocks, Ends, completes_each};

/// Kernel number `KIND`, in the order of the pattern above.
pub(crate) struct Combining<const KIND: usize>;

/// The rank that makes the calls, and the one in whose part they work.
const ORIGIN: Rank = 0;
const TARGET: Rank = 1;

/// Elements of a swap, which has whole numbers alone: those of IMB.
const SWAPPED: Element = Element::I32;

/// One rank's side.
pub(crate) struct Side<T: Transport, const KIND: usize> {
    blocks: Blocks<T>,
    calls: Calls<KIND>,
    is_aggregate: bool,
}

impl<T: Transport, const KIND: usize> Side<T, KIND> {
    fn is_origin(&self) -> bool {
        self.blocks.rank() == ORIGIN
    }
}

impl<T: Transport, const KIND: usize> Operation<T> for Side<T, KIND> {
    fn fill(&mut self, _: Seeds) {
        self.calls.fill(&mut self.blocks);
    }

    fn begin(&mut self, t: &T) -> Result<()> {
        t.barrier()?;
        if self.is_origin() { self.blocks.window().lock(TARGET, Lock::Shared) } else { Ok(()) }
    }

    #[inline]
    fn run(&mut self, _: &T) -> Result<()> {
        self.calls.start(&self.blocks)?;
        let flushes = self.is_origin() && !self.is_aggregate;
        if flushes { self.blocks.window().flush(TARGET) } else { Ok(()) }
    }

    #[inline]
    fn conclude(&mut self, _: &T) -> Result<()> {
        let flushes = self.is_aggregate && self.is_origin();
        if flushes { self.blocks.window().flush(TARGET) } else { Ok(()) }
    }

    fn end(&mut self, t: &T) -> Result<()> {
        if self.is_origin() {
            self.blocks.window().unlock(TARGET)?;
        }
        t.barrier()
    }

    fn check(&mut self, check: &mut Checker) {
        self.calls.check(&mut self.blocks, check, self.is_aggregate);
    }

    fn close(&mut self, _: &T) -> Result<()> {
        self.blocks.close()
    }
}

/// Elements and operator of a case.
fn by_of(case: &Case) -> Reducer {
    match case.find(&ELEMENT) {
        Some(_) => reducer(case).unwrap_or(Reducer::SUM),
        None => Reducer::new(SWAPPED, Operator::Sum).unwrap_or(Reducer::SUM),
    }
}

/// Length of a block.
fn block_bytes(case: &Case) -> usize {
    case.find(&LENGTH_BYTES).map_or(by_of(case).element().bytes(), |_| case.length(&LENGTH_BYTES))
}

impl<T: Transport, const KIND: usize> Pattern<T> for Combining<KIND> {
    const INFO: KernelInfo = KernelInfo {
        name: ["accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap"][KIND],
        file: include_str!("atomic.rs"),
        summary: [
            "Sums of rank 0 into the part of rank 1",
            "Sums of rank 0 into the part of rank 1, which is fetched before",
            "Sums of one element into the part of rank 1, which is fetched before",
            "Swaps of a whole number in the part of rank 1",
        ][KIND],
        aliases: match KIND {
            ACCUMULATE => &["IMB-RMA:Accumulate"],
            GET_ACCUMULATE => &["IMB-RMA:Get_accumulate"],
            FETCH_AND_OP => &["IMB-RMA:Fetch_and_op"],
            _ => &["IMB-RMA:Compare_and_swap"],
        },
        axes: match KIND {
            ACCUMULATE | GET_ACCUMULATE => &[BY_AGGREGATE, BY_ELEMENT, VECTORS],
            FETCH_AND_OP => &[BY_AGGREGATE, BY_ELEMENT],
            _ => &[BY_AGGREGATE],
        },
        series: &[Series::on_test_node("call").moving(|case, _| case.find(&LENGTH_BYTES))],
        n_ranks: Some(2),
        timing: Timing::Pipelined,
        completes_each,
        bytes_per_rank: |case, _| (block_bytes(case) as u64).saturating_mul(4),
        admits: |case, world| {
            world.require_ranks(2)?;
            if case.find(&ELEMENT).is_some() { reducer(case).map(drop) } else { Ok(()) }
        },
        is_movable: false,
        ..KernelInfo::pair("imb-rma")
    };
    type Part = Side<T, KIND>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let ends = Ends::of_first_two(cx.rank(), |rank| rank == ORIGIN);
        let part = Side {
            blocks: Blocks::new(cx, block_bytes(case), Calls::<KIND>::N_BLOCKS, Memory::Created)?,
            calls: Calls { by: by_of(case), ends, are_swapped: false },
            is_aggregate: case.value(&AGGREGATE) == 1,
        };
        Ok(Some((if cx.rank() == ORIGIN { Duty::Times } else { Duty::Follows }, part)))
    }
}
