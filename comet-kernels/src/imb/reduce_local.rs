//! Local reduction: time in which each rank combines two vectors of its own.
//!
//! **Source**: IMB 2021, IMB-MPI1, `Reduce_local`; MPI-4.1 section 6.9.7.
//!
//! **Pattern**
//! ```text
//!   each rank    into = into + other, element by element    no message
//! ```
//! **Timed** (all ranks): one call. Buffers and test data are made before.
//!
//! **Reports**: time of one call, the mean over all ranks.
//!
//! **Rate**: none.
//!
//! **Parameters**: `length_bytes` of a vector, `element`, `operator`.
//!
//! **Verified by**: every element after all runs, against integers of 128 bits and reals of double
//! precision; canaries on both sides.
//!
//! **Caution**: it is a measure of memory and of the library's loop, and not of a network. The vector
//! that changes stays in the caches of its core.

use comet_core::collective::Reducer;
use comet_core::collective::data::{compare_combined, fill_operands};
use comet_core::kernel::prelude::*;

use crate::calls::{BY_ELEMENT, BY_OPERATOR, VECTORS, reducer};
use crate::guarded::Guarded;

/// `imb/reduce_local`; see the [module](self).
pub(crate) struct ReduceLocal;

/// The vectors of one rank.
pub(crate) struct Operands<B> {
    by: Reducer,
    other: Guarded<B>,
    into: Guarded<B>,
}

impl<T: Transport> Operation<T> for Operands<T::Buffer> {
    fn fill(&mut self, _: Seeds) {
        fill_operands(self.by, self.into.bytes(), self.other.bytes());
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        t.combine(self.by, self.other.bytes(), self.into.bytes())
    }

    fn check(&mut self, check: &mut Checker) {
        compare_combined(self.by, self.into.bytes(), check);
        self.into.check(check, "the combined vector");
        self.other.check(check, "the other vector");
    }
}

impl<T: Transport> Pattern<T> for ReduceLocal {
    const INFO: KernelInfo = KernelInfo {
        name: "reduce_local",
        file: include_str!("reduce_local.rs"),
        summary: "Sum of two vectors on each rank, without a message",
        aliases: &["IMB:Reduce_local"],
        axes: &[BY_ELEMENT, BY_OPERATOR, VECTORS],
        class: Class::Compute,
        series: &[Series::of("call", Quantity::OpTime, Definition::CallMean)],
        admits: |case, _| reducer(case).map(drop),
        bytes_per_rank: |case, _| case.value(&LENGTH_BYTES).saturating_mul(2),
        ..KernelInfo::collective("imb")
    };
    type Part = Operands<T::Buffer>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let length = case.length(&LENGTH_BYTES);
        let by = reducer(case).unwrap_or(Reducer::SUM);
        let part =
            Operands { by, other: Guarded::new(cx, length)?, into: Guarded::new(cx, length)? };
        Ok(Some((Duty::Together, part)))
    }
}
