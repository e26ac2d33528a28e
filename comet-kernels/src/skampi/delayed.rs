//! Collectives with a late rank: time of one operation of all ranks, one of which begins it
//! later.
//!
//! **Source**: SKaMPI 5, delayed_Alltoall and delayed_Gather; MPI-4.1 sections 6.5 and 6.8.
//!
//! **Pattern**
//! ```text
//!   late_rank      work of delay_us, then the call       delayed_alltoall   imb/alltoall
//!   other ranks    the call at once                      delayed_gather     imb/gather
//! ```
//! **Timed** (all ranks): the work of the late rank and the call. Buffers, plans and test data
//! are made before.
//!
//! **Reports**: time from the first start to the last finish over all ranks, with the delay in
//! it.
//!
//! **Rate**: none.
//!
//! **Parameters**: `late_rank`, `delay_us` in microseconds; `length_bytes` and `algorithm` as of
//! the call by itself. The root of a gather is rank 0.
//!
//! **Verified by**: contents on every rank as of the call by itself; the value to which the
//! rounds of the work have come.
//!
//! **Caution**: the time beyond the delay is less than that of the call by itself where others
//! have done their parts meanwhile: messages that wait for the root of a gather have arrived. The
//! option --skew delays ranks before their first clock read instead. The work is a counted loop,
//! as long as was calibrated.

use comet_core::busy::Busy;
use comet_core::collective::{Kind, Prepared};
use comet_core::kernel::prelude::*;
use comet_core::layout::Packing;
use comet_core::words::count;

use crate::axes::DOUBLING;
use crate::calls::Form::Even;
use crate::calls::{self, BY_ALGORITHM, Blocked, Calls as _, Part, Spec, spec};

/// The kernel number `INDEX` of the two; see the [module](self).
pub(crate) struct Delayed<const INDEX: usize>;

/// The rank that begins later.
pub(super) static LATE_RANK: Axis =
    Axis::count("late_rank", "rank", "rank that begins an operation later")
        .up_to(|topology| topology.n_ranks().saturating_sub(1) as u64);
/// Its delay.
pub(super) static DELAY_US: Axis =
    Axis::count("delay_us", "delay in us", "time by which a rank begins later, in microseconds");

#[rustfmt::skip] // One kernel a line.
const SPECS: [Spec; 2] = [
    spec("delayed_alltoall", Kind::Alltoall, Even, "A part of each rank to each rank, one of which is late", &["SKaMPI:delayed_Alltoall"]),
    spec("delayed_gather", Kind::Gather, Even, "A part of each rank to the root, one of which is late", &["SKaMPI:delayed_Gather"]),
];

/// One rank's part.
pub(crate) struct Late<T: Transport> {
    /// The work of the late rank.
    delay: Option<Busy>,
    call: Blocked<Part<T>>,
}

impl<T: Transport> Operation<T> for Late<T> {
    fn fill(&mut self, seeds: Seeds) {
        self.delay.iter_mut().for_each(Busy::reset);
        Operation::<T>::fill(&mut self.call, seeds);
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        if let Some(delay) = &mut self.delay {
            delay.run(t);
        }
        self.call.run(t)
    }

    #[inline]
    fn run_packed(&mut self, t: &T, packing: &mut Packing<'_, T>) -> Result<()> {
        if let Some(delay) = &mut self.delay {
            delay.run(t);
        }
        self.call.run_packed(t, packing)
    }

    fn check(&mut self, check: &mut Checker) {
        if let Some(delay) = &self.delay {
            delay.check_after(check.n_runs(), check);
        }
        Operation::<T>::check(&mut self.call, check);
    }

    /// The call that is timed, and those of other roots.
    fn verify(&mut self, t: &T, check: &mut Checker) -> Result<()> {
        Operation::<T>::fill(self, check.seeds());
        self.run(t)?;
        Operation::<T>::check(self, check);
        self.call.0.prove(t, check, |t, call, buffers| call.run(t, buffers))
    }
}

/// Refuses a late rank that is not there.
pub(super) fn admit_late_rank(case: &Case, world: &World<'_>) -> Result<(), String> {
    let (late, n_ranks) = (case.value(&LATE_RANK), world.n_ranks);
    if late >= n_ranks as u64 {
        let (ranks, last) = (count(n_ranks, "rank"), n_ranks - 1);
        return Err(format!("there is no rank {late} among {ranks} (use 0 to {last})"));
    }
    Ok(())
}

/// Refuses `case` on a rank alone, with a late rank that is not there, or as the call by itself does.
fn admit(spec: &Spec, case: &Case, world: &World<'_>) -> Result<(), String> {
    world.require_ranks(2)?;
    admit_late_rank(case, world)?;
    calls::admit(spec, case, world)
}

impl<const INDEX: usize, T: Transport> Pattern<T> for Delayed<INDEX> {
    const INFO: KernelInfo = KernelInfo {
        name: SPECS[INDEX].name,
        file: include_str!("delayed.rs"),
        summary: SPECS[INDEX].summary,
        aliases: SPECS[INDEX].aliases,
        axes: &[
            BY_ALGORITHM,
            AxisUse::of(&LATE_RANK, "max"),
            AxisUse { axis: &DELAY_US, sweeps: ["100", "0,10,100,1000", "0,1,10,100,1000,10000"] },
            AxisUse { sweeps: ["8,64Ki", "0,8,1Ki,64Ki", "0,1..1Mi*4"], ..DOUBLING },
        ],
        series: &[Series::completion("call")],
        admits: |case, world| admit(&SPECS[INDEX], case, world),
        bytes_per_rank: |case, world| calls::bytes_per_rank(&SPECS[INDEX], case, world),
        messages_per_op: |case, world| calls::messages_per_op(&SPECS[INDEX], case, world),
        has_layouts: true,
        is_packed: true,
        ..KernelInfo::collective("skampi")
    };
    type Part = Late<T>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let call = Blocked(Part::new(&SPECS[INDEX], cx, case, Prepared::new)?);
        let is_late = cx.rank() == case.length(&LATE_RANK);
        let delay = is_late.then(|| cx.busy(case.value(&DELAY_US).saturating_mul(1000)));
        Ok(Some((Duty::Together, Late { delay, call })))
    }
}
