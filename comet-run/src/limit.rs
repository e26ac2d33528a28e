//! A kernel that keeps within the memory that the user allows.

use comet_core::context::Context;
use comet_core::error::KernelError;
use comet_core::kernel::{Case, Derived, History, Kernel, KernelInfo, World};
use comet_core::transport::Transport;
use comet_stats::Summary;

/// A kernel whose cases are skipped where one rank would need more than `cap_bytes`.
pub(crate) struct Limited<T: Transport + 'static> {
    /// The kernel.
    pub(crate) kernel: &'static dyn Kernel<T>,
    /// The most memory of one rank, in bytes.
    pub(crate) cap_bytes: u64,
}

impl<T: Transport + 'static> Kernel<T> for Limited<T> {
    fn info(&self) -> &'static KernelInfo {
        self.kernel.info()
    }

    fn resolve(&self, case: Case, world: &World<'_>, history: &History) -> Result<Case, String> {
        let case = self.kernel.resolve(case, world, history)?;
        fits(&case, world, self.cap_bytes)?;
        Ok(case)
    }

    fn verify(&self, cx: &mut Context<'_, T>, case: &Case) -> Result<(), KernelError> {
        self.kernel.verify(cx, case)
    }

    fn measure(&self, cx: &mut Context<'_, T>, case: &Case) -> Result<(), KernelError> {
        self.kernel.measure(cx, case)
    }

    fn derived(&self, case: &Case, summaries: &[Summary]) -> Vec<Derived> {
        self.kernel.derived(case, summaries)
    }
}

/// Accepts a case that keeps within `cap_bytes` of memory on each rank; otherwise one sentence.
pub(crate) fn fits(case: &Case, world: &World<'_>, cap_bytes: u64) -> Result<(), String> {
    let bytes = (case.info.bytes_per_rank)(case, world);
    if bytes <= cap_bytes {
        return Ok(());
    }
    Err(format!("needs {bytes} bytes of memory on each rank, {cap_bytes} are allowed (see --mem)"))
}
