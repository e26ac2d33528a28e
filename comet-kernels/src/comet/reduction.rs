//! Reduction: the sum of a vector over all ranks, element by element, with the result on each.
//!
//! **Source**: thesis section 3.3.4, figure 3.5.
//!
//! **Pattern**
//! ```text
//!   rank 0: v0 ─┐
//!   rank 1: v1 ─┼─ + ─►  v0 + v1 + … on every rank
//!   rank 2: v2 ─┘
//! ```
//! **Timed** (all ranks): one global sum in place, of a transport buffer. A barrier before it is not
//! timed.
//!
//! **Reports**: time from the first start to the last finish over all ranks. The thesis times the
//! test node alone, which may leave before the others have their result. There is no bandwidth,
//! because the bytes moved depend on the algorithm.
//!
//! **Parameters**: `vector_length` in doubles.
//!
//! **Verified by**: integers, whose sum is exact in any order, so that every rank must find the
//! same bits. Each rank has other ones.
//!
//! **Caution**: an in-place sum makes its own next input, which grows by the factor P each time and
//! would be infinite after some 1024 / log2 P repetitions. The timed vector is therefore all
//! zeros: its sum is itself, no copy or reset has to be timed, and an addition of zeros takes as
//! long as any other of normal numbers.

use std::marker::PhantomData;

use comet_core::context::Context;
use comet_core::definition::{Definition, Quantity};
use comet_core::error::{KernelError, Result};
use comet_core::kernel::{AxisUse, Case, Kernel, KernelInfo, Series, VECTOR_LENGTH};
use comet_core::transport::{Rank, Transport};

use crate::algorithm::Algorithm;

/// The kernels `comet/reduction` and `naive/reduction`; see the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Reduction<A>(PhantomData<A>);

impl<A: Algorithm> Reduction<A> {
    /// The kernel.
    pub const NEW: Self = Self(PhantomData);

    const INFO: KernelInfo = KernelInfo {
        name: "reduction",
        summary: A::REDUCTION_SUMMARY,
        source: "thesis section 3.3.4, figure 3.5",
        axes: &[VECTOR_LENGTHS],
        series: &[Series::of("reduction", Quantity::OpTime, Definition::Completion)],
        admits: |_, world| world.require_ranks(2),
        // The vector, and as much again for what comes in from another rank.
        bytes_per_rank: |case, _| 16 * case.value(&VECTOR_LENGTH),
        ..KernelInfo::collective(A::SUITE)
    };
}

const VECTOR_LENGTHS: AxisUse = AxisUse {
    axis: &VECTOR_LENGTH,
    sweeps: [
        "0,1,100,1000,10000",
        "0,1,8,64,100,256,512,1000,2000,5000,10000,20000,50000,100000,200000",
        "0,1..128Ki*2,100,1000..10000+1000,20000..200000+20000",
    ],
};

impl<A: Algorithm, T: Transport> Kernel<T> for Reduction<A> {
    fn info(&self) -> &'static KernelInfo {
        const { &Self::INFO }
    }

    fn verify(&self, cx: &mut Context<'_, T>, case: &Case) -> Result<(), KernelError> {
        let t = cx.transport();
        let n = case.length(&VECTOR_LENGTH);
        let mut buffer = cx.message(n * size_of::<f64>())?;
        let values: &mut [f64] = bytemuck::cast_slice_mut(&mut buffer);
        for (index, value) in values.iter_mut().enumerate() {
            *value = element(t.rank(), index);
        }
        A::global_sum_vector(t, values)?;
        // A product (see `element`), so that very many ranks are added up only once.
        let of_ranks: f64 = (0..t.n_ranks()).map(|rank| element(rank, 0)).sum();
        let sum = |index| of_ranks * element(0, index);
        cx.check_values(values, sum, "the global sum")
    }

    fn measure(&self, cx: &mut Context<'_, T>, case: &Case) -> Result<(), KernelError> {
        // Zeroed by the transport.
        let mut buffer = cx.message(case.length(&VECTOR_LENGTH) * size_of::<f64>())?;
        let values: &mut [f64] = bytemuck::cast_slice_mut(&mut buffer);
        cx.time_collective(0, |t| A::global_sum_vector(t, values))?;
        Ok(())
    }
}

/// A small integer, a product of one of the rank and one of the place, which is 1 on rank 0 and at
/// place 0; sums of it are exact up to 2^40 ranks.
#[expect(clippy::cast_precision_loss, reason = "the value is below 2^13")]
fn element(rank: Rank, index: usize) -> f64 {
    ((rank % 64 + 1) * (index % 127 + 1)) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::{Native, PointToPoint};
    use crate::harness;

    #[test]
    fn reduction_verifies_and_is_sampled_on_all_ranks() {
        harness::check_kernel(&Reduction::<Native>::NEW);
        harness::check_kernel(&Reduction::<PointToPoint>::NEW);
    }

    #[test]
    fn the_timed_vector_stays_as_it_is() {
        let sums = comet_core::local::run(3, |t| {
            let mut values = vec![0.0; 4];
            for _ in 0..1000 {
                t.global_sum_vector(&mut values).unwrap();
            }
            values
        });
        assert_eq!(sums, [[0.0; 4]; 3]);
    }
}
