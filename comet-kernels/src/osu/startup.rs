//! Start of all ranks: time of the one call that makes a process a rank, or of making its process.
//!
//! **Source**: OSU micro-benchmarks 7.4, `osu_init` and `osu_hello`; MPI-4.1 section 11.2.
//!
//! **Pattern**
//! ```text
//!   init    MPI_Init_thread of each rank            over MPI
//!           fork, memory of the rank, its signals   over shared memory
//!   hello   the same, and no number of it printed in the layout of OSU
//! ```
//! **Timed** (all ranks): the start, once in a launch, before all else of the run.
//!
//! **Reports**: time of a rank, the mean over all ranks. The record holds that of each.
//!
//! **Rate**: none.
//!
//! **Parameters**: none.
//!
//! **Verified by**: the numbers of all ranks, which each rank finds once.
//!
//! **Caution**: a launch has one sample. What the launcher does before, and what the library puts off
//! until the first message, is no part of it; processes of one launcher start one after the other.

use comet_core::collective::share;
use comet_core::error::KernelError;
use comet_core::kernel::prelude::*;

/// `osu/init` or `osu/hello`; see the [module](self).
pub(crate) struct Startup<const GREETS: bool>;

impl<T: Transport, const GREETS: bool> Kernel<T> for Startup<GREETS> {
    fn info(&self) -> &'static KernelInfo {
        const {
            &KernelInfo {
                name: if GREETS { "hello" } else { "init" },
                file: include_str!("startup.rs"),
                summary: if GREETS {
                    "Start of all ranks, and their number"
                } else {
                    "Time of the start of all ranks"
                },
                class: Class::Synchronisation,
                aliases: if GREETS { &["OSU:osu_hello"] } else { &["OSU:osu_init"] },
                series: &[Series::of("start", Quantity::OpTime, Definition::CallMean)],
                admits: |_, _| Ok(()),
                is_once: true,
                is_movable: false,
                ..KernelInfo::collective("osu")
            }
        }
    }

    fn verify(&self, cx: &mut Context<'_, T>, _: &Case) -> std::result::Result<(), KernelError> {
        let found = share(cx.transport(), [cx.rank() as u64])?;
        let mut ranks: Vec<f64> = found.iter().map(|[rank]| *rank as f64).collect();
        let mut check = cx.checker(1);
        check.values(&mut ranks, |rank| rank as f64, |_| true, "the numbers of the ranks");
        check.result()
    }

    fn measure(&self, cx: &mut Context<'_, T>, _: &Case) -> std::result::Result<(), KernelError> {
        Ok(cx.recall_startup(0)?)
    }
}
