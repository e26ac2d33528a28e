//! Noise: time of a fixed piece of work on each rank, again and again; any excess is time taken by
//! others.
//!
//! **Source**: Petrini, Kerbyson and Pakin, "The Case of the Missing Supercomputer Performance"
//! (2003); the fixed work quanta of Sottile and Minnich (2004).
//!
//! **Pattern**
//! ```text
//!   each rank   400 x (y = a x + y) over 1000 doubles, in its first-level cache; no messages
//! ```
//! **Timed** (all ranks): the work, once. A common start before it is not timed.
//!
//! **Reports**: time on the slowest rank. The record holds the samples of every rank, whose upper
//! percentiles over their median are its noise.
//!
//! **Rate**: none.
//!
//! **Parameters**: `part`, the number of the observation: a case has few samples, and rare events need
//! many.
//!
//! **Verified by**: the values of the vector on each rank, which grow exactly.
//!
//! **Caution**: ranks that share a core are each other's noise. A rank is observed for as long as
//! its samples last, which is much less than the time of the run.

use comet_core::kernel::prelude::*;

use crate::daxpy::Daxpy;

/// Number of the observation.
pub static PART: Axis = Axis::count("part", "part", "number of the observation, of several alike");

/// Doubles of each of the two vectors, which both fit into a first-level cache.
const VECTOR_LENGTH: usize = 1000;
/// Sums of the two vectors in one piece of work: about a tenth of a millisecond.
const N_RUNS: usize = 400;

/// `health/noise`; see the [module](self).
pub(crate) struct Noise;

impl<T: Transport> Pattern<T> for Noise {
    const INFO: KernelInfo = KernelInfo {
        name: "noise",
        file: include_str!("noise.rs"),
        summary: "A fixed piece of work on each rank, without communication",
        aliases: &["FWQ"],
        axes: &[AxisUse { axis: &PART, sweeps: ["1..20", "1..20", "1..100"] }],
        series: &[Series::of("noise", Quantity::OpTime, Definition::MaxLocal)],
        timing: Timing::Single,
        evaluation: Evaluation::RankWork,
        bytes_per_rank: |_, _| 16 * VECTOR_LENGTH as u64,
        is_movable: false,
        ..KernelInfo::compute("health")
    };
    type Part = Daxpy;

    fn part(&self, _: &Context<'_, T>, _: &Case, _: usize) -> Result<Role<Self::Part>> {
        Ok(Some((Duty::Times, Daxpy::in_one_piece(VECTOR_LENGTH, N_RUNS))))
    }
}
