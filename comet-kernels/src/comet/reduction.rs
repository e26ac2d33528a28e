//! Reduction: time of the sum of a vector over all ranks, element by element, with the result on each.
//!
//! **Source**: thesis section 3.3.4, figure 3.5.
//!
//! **Pattern**
//! ```text
//!   rank 0: v0 --+
//!   rank 1: v1 --+-- + -->  v0 + v1 + ... on every rank
//!   rank 2: v2 --+
//! ```
//! **Timed** (all ranks): one global sum in place, of a transport buffer. A barrier before it is not
//! timed.
//!
//! **Reports**: time from the first start to the last finish over all ranks. The thesis times the
//! test node alone, which may leave before the others have their result.
//!
//! **Rate**: none. The bytes moved depend on the algorithm. The bus bandwidth counts those of an optimal
//! one on each rank.
//!
//! **Parameters**: `vector_length` in doubles.
//!
//! **Verified by**: integers, other ones on each rank. Their sum is exact in any order, so that every
//! rank has the same bits.
//!
//! **Caution**: an in-place sum makes its own next input, which grows by the factor P each time and
//! would be infinite after some 1024 / log2 P repetitions. The timed vectors of all ranks therefore
//! add up to 0. From the second repetition on a sum of zeros is itself, no copy or reset is timed, and
//! an addition of zeros takes as long as any other of normal numbers.

use comet_core::collective;
use comet_core::kernel::prelude::*;

use crate::rates;

/// `comet/reduction` and `naive/reduction`; see the [module](self).
pub(crate) struct Reduction<const NAIVE: bool>;

const VECTOR_LENGTHS: AxisUse = AxisUse {
    axis: &VECTOR_LENGTH,
    sweeps: [
        "0,1,100,1000,10000",
        "0,1,8,64,100,256,512,1000,2000,5000,10000,20000,50000,100000,200000",
        "0,1..128Ki*2,100,1000..10000+1000,20000..200000+20000",
    ],
};

/// Rates of an allreduce.
const RATES: [Rate; 2] = [
    Rate {
        kind: RateKind::Algorithm,
        formula: "8 x vector_length / time",
        per_op: |case, _| vector_bytes(case),
    },
    Rate {
        kind: RateKind::Bus,
        formula: "2 (P-1)/P x 8 x vector_length / time",
        per_op: |case, world| rates::share_of_allreduce(world) * vector_bytes(case),
    },
];

/// Length of the vector in bytes.
fn vector_bytes(case: &Case) -> f64 {
    8.0 * case.value(&VECTOR_LENGTH) as f64
}

/// One rank's vector.
pub(crate) struct Vector<const NAIVE: bool, B> {
    rank: Rank,
    n_ranks: usize,
    buffer: B,
}

impl<const NAIVE: bool, T: Transport> Operation<T> for Vector<NAIVE, T::Buffer> {
    /// Integers, other ones on each rank. Where sums are added up again, the last rank's are such
    /// that all sums are 0, which every further sum leaves as they are.
    fn fill(&mut self, seeds: Seeds) {
        let Self { rank, n_ranks, .. } = *self;
        let is_balance = seeds.n_runs > 1 && rank == n_ranks - 1;
        let factor = if is_balance { -sum_of(n_ranks - 1) } else { element(rank, 0) };
        let values: &mut [f64] = bytemuck::cast_slice_mut(&mut self.buffer);
        for (index, value) in values.iter_mut().enumerate() {
            *value = factor * element(0, index);
        }
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        let values: &mut [f64] = bytemuck::cast_slice_mut(&mut self.buffer);
        if NAIVE { collective::global_sum_vector(t, values) } else { t.global_sum_vector(values) }
    }

    fn check(&mut self, check: &mut Checker) {
        let sum = if check.seeds().n_runs > 1 { 0.0 } else { sum_of(self.n_ranks) };
        let values: &mut [f64] = bytemuck::cast_slice_mut(&mut self.buffer);
        check.values(values, |index| sum * element(0, index), |_| true, "the global sum");
    }
}

/// Sum over the first `n_ranks` ranks at place 0.
fn sum_of(n_ranks: usize) -> f64 {
    (0..n_ranks).map(|rank| element(rank, 0)).sum()
}

impl<const NAIVE: bool, T: Transport> Pattern<T> for Reduction<NAIVE> {
    const INFO: KernelInfo = KernelInfo {
        name: "reduction",
        file: include_str!("reduction.rs"),
        summary: if NAIVE {
            "Global sum along a tree of point-to-point messages"
        } else {
            "Global sum of a vector, element by element"
        },
        axes: &[VECTOR_LENGTHS],
        series: &[Series::completion("reduction").rated(&RATES)],
        // The vector, and as much again for what comes in from another rank.
        bytes_per_rank: |case, _| case.value(&VECTOR_LENGTH).saturating_mul(16),
        baseline_for: if NAIVE { Some("comet/reduction") } else { None },
        ..KernelInfo::collective(if NAIVE { "naive" } else { "comet" })
    };
    type Part = Vector<NAIVE, T::Buffer>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let buffer = cx.message(case.length(&VECTOR_LENGTH) * size_of::<f64>())?;
        let (rank, n_ranks) = (cx.rank(), cx.transport().n_ranks());
        Ok(Some((Duty::Together, Vector { rank, n_ranks, buffer })))
    }
}

/// A small integer, a product of one of the rank and one of the place, which is 1 on rank 0 and at
/// place 0; sums of it are exact up to 2^40 ranks.
fn element(rank: Rank, index: usize) -> f64 {
    ((rank % 64 + 1) * (index % 127 + 1)) as f64
}
