//! Kernels: a description, a proof that data arrives, and the measurement of one case.

mod axis;
pub mod buffers;
mod case;
mod cast;
mod check;
mod fault;
pub mod harness;
mod header;
mod info;
mod operation;
mod pairing;
pub mod prelude;
mod rate;
pub mod refusal;
mod world;

pub use axis::{
    ALGORITHM, Axis, AxisKind, AxisUse, DATATYPE, ELEMENT, GROUPS, HOPS, LENGTH_BYTES, LOCAL_N,
    PROCS, Profile, ROOT, THREADS, VECTOR_LENGTH, WINDOW,
};
pub use buffers::{Buffers, Touch};
pub use case::{Arrangement, Case, Derived, History, MAX_AXES};
pub use cast::Cast;
pub use check::{Checker, Seeds};
pub use fault::{FAULTS, Fault};
pub use header::{HEADINGS, Section};
pub use info::{Class, Evaluation, KernelInfo, MAX_SERIES, Participants, Series, Timing};
pub use operation::{Duty, Operation, Pattern, Role, Timed};
pub use pairing::{Pairing, Side};
pub use rate::{Rate, RateKind};
pub use world::World;

use crate::context::Context;
use crate::error::KernelError;
use crate::transport::Transport;
use comet_stats::Summary;

/// A kernel over transport `T`. See `CONTRIBUTING.md` for how to add one.
///
/// All ranks call [`verify`](Self::verify) and [`measure`](Self::measure) together, with the same
/// case; a rank that has no part in it returns at once.
pub trait Kernel<T: Transport>: Sync {
    /// Description of the kernel; the same on every transport.
    fn info(&self) -> &'static KernelInfo;

    /// Completes a case with what earlier kernels of the run found; rank 0 asks just before the
    /// case. The default changes nothing.
    ///
    /// # Errors
    /// One sentence that says why the case has to be skipped.
    fn resolve(&self, case: Case, world: &World<'_>, history: &History) -> Result<Case, String> {
        let _ = (world, history);
        Ok(case)
    }

    /// Runs the operation of every series once and proves that its data arrived: contents, source
    /// and length. It ends its communication before it reports a mismatch, so that no other rank
    /// waits for ever.
    ///
    /// # Errors
    /// [`KernelError::Mismatch`] on the rank that found wrong data.
    fn verify(&self, cx: &mut Context<'_, T>, case: &Case) -> Result<(), KernelError>;

    /// Times the operation of every series through [`Context::time`].
    ///
    /// # Errors
    /// If the transport fails.
    fn measure(&self, cx: &mut Context<'_, T>, case: &Case) -> Result<(), KernelError>;

    /// Numbers that follow from the summaries of all series (in their order) of one case.
    fn derived(&self, case: &Case, summaries: &[Summary]) -> Vec<Derived> {
        let _ = (case, summaries);
        Vec::new()
    }

    /// Numbers about `case`, which has just been checked, that `t` holds beside the samples, on rank 0.
    fn noted(&self, case: &Case, t: &T) -> Vec<Derived> {
        let _ = (case, t);
        Vec::new()
    }
}
