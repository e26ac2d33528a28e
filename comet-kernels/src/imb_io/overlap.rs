//! Writes and reads of files beside busy work: share of a transfer that is hidden.
//!
//! **Source**: IMB 2021, IMB-IO, `S_IWrite_indv` to `C_IRead_shared`; MPI-4.1 sections 14.4.2 to
//! 14.4.5.
//!
//! **Pattern**, X bytes in all, of which each rank moves its portion
//! ```text
//!   overlapped    start, work, wait     s_i*   p_i*   an unblocked call, and a wait
//!   pure          write, or read        c_i*   begin and end of a split call of all ranks
//!   compute       work                  *_indv *_expl *_shared *_priv   as without the i
//! ```
//! **Timed** (the ranks that move something): one line of the drawing each, in a loop; after all
//! writes between two clock reads a sync, a barrier and a sync. File, view and contents are made
//! before.
//!
//! **Reports**: the times t_ovrl, t_pure and t_CPU on the slowest rank. From their medians follows
//! the hidden share of the shorter part, (t_pure + t_CPU - t_ovrl) / min(t_pure, t_CPU): 1 if all
//! of it is hidden, 0 if none is, below 0 if the overlap costs more than it saves.
//!
//! **Rate**: `length_bytes` / time, of all ranks together; none of the work alone.
//!
//! **Parameters**: `length_bytes`, which is X, the bytes of all ranks in one transfer; `work_us`,
//! the wanted time of the work, which the loop takes roughly and t_CPU says exactly.
//!
//! **Verified by**: what was written and read, as in the kernels without the i; the value to which
//! the rounds of the work have come.
//!
//! **Caution**: each transfer is waited for behind its own work, where IMB has all unblocked ones
//! of a loop in flight at once, which read into one place; its split ones are as here. A library
//! may make the transfer in the call that starts it: then nothing is hidden, and t_ovrl is the sum.

use comet_core::busy::Busy;
use comet_core::kernel::prelude::*;

use crate::overlap::{self, WORK_US};

use super::side::Side;
use super::spec::{SPECS, TRANSFERS, transfers, works};

/// Numbers of the series.
const PURE: usize = 1;
const COMPUTE: usize = 2;

/// Kernel number `INDEX` of [`SPECS`], unblocked.
pub(crate) struct Overlap<const INDEX: usize>;

/// One rank's part of one series.
pub(crate) struct Overlapped<T: Transport> {
    series: usize,
    /// None where nothing is moved.
    side: Option<Side<T>>,
    works: bool,
    busy: Busy,
}

impl<T: Transport> Operation<T> for Overlapped<T> {
    fn fill(&mut self, seeds: Seeds) {
        self.busy.reset();
        self.side.iter_mut().for_each(|side| side.fill(seeds));
    }

    fn begin(&mut self, t: &T) -> Result<()> {
        self.side.as_mut().map_or(Ok(()), |side| side.begin(t))
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        let Self { series, side, works, busy } = self;
        match side {
            _ if !*works => Ok(()),
            Some(side) if *series == PURE => side.run(t),
            Some(side) => side.transfer_beside(|| busy.run(t)),
            None => {
                busy.run(t);
                Ok(())
            }
        }
    }

    #[inline]
    fn conclude(&mut self, t: &T) -> Result<()> {
        self.side.as_mut().map_or(Ok(()), |side| side.conclude(t))
    }

    fn end(&mut self, t: &T) -> Result<()> {
        self.side.as_mut().map_or(Ok(()), |side| side.end(t))
    }

    fn check(&mut self, check: &mut Checker) {
        self.side.iter_mut().for_each(|side| side.check(check));
        if self.works && self.series != PURE {
            self.busy.check_after(check.n_runs(), check);
        }
    }

    fn close(&mut self, t: &T) -> Result<()> {
        self.side.as_mut().map_or(Ok(()), |side| side.close(t))
    }
}

impl<T: Transport, const INDEX: usize> Pattern<T> for Overlap<INDEX> {
    const INFO: KernelInfo = KernelInfo {
        file: include_str!("overlap.rs"),
        aliases: const { &[SPECS[INDEX].aliases[1]] },
        axes: &[AxisUse { axis: &WORK_US, sweeps: ["1000", "10000", "10000"] }, TRANSFERS],
        series: const {
            let ranks = SPECS[INDEX].ranks;
            &[transfers("overlapped", ranks), transfers("pure", ranks), works("compute", ranks)]
        },
        ..SPECS[INDEX].info(1)
    };
    type Part = Overlapped<T>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, series: usize) -> Result<Role<Self::Part>> {
        let spec = const { &SPECS[INDEX] };
        let busy = cx.busy(case.value(&WORK_US).saturating_mul(1000));
        let side = match series {
            COMPUTE => None,
            _ => Some(Side::new(cx, case, spec, true)?),
        };
        let duty = spec.duty(cx.rank() as u64);
        let works = duty != Duty::Follows;
        let side = side.map(|(_, side)| side);
        Ok(Some((duty, Overlapped { series, side, works, busy })))
    }

    fn derived(&self, _: &Case, summaries: &[Summary]) -> Vec<Derived> {
        let [overlapped, pure, compute] = summaries else { return Vec::new() };
        let [share, ..] = overlap::figures_of([overlapped, pure, compute]);
        vec![share]
    }
}
