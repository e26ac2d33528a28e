//! One rank doing what was decided.

use super::decision::Target;
use super::report::Report;
use crate::context::{Context, Pace};
use crate::error::Result;
use crate::kernel::{Case, Kernel, KernelInfo, MAX_SERIES};
use crate::transport::Transport;

/// What it may take to make and to check one byte of test data, in nanoseconds.
const NS_PER_BYTE: u64 = 10;

/// The kernels of a run on one rank.
pub(super) struct Stage<'a, T: Transport> {
    pub(super) t: &'a T,
    pub(super) kernels: &'a [&'a dyn Kernel<T>],
    pub(super) corrupt: Option<&'a str>,
}

impl<T: Transport> Stage<'_, T> {
    /// Where `case` is, for the wire; `None` if its kernel is not on this stage.
    pub(super) fn target(&self, case: &Case) -> Option<Target> {
        let id = |info: &KernelInfo| (info.suite, info.name);
        let kernel_idx = self.kernels.iter().position(|k| id(k.info()) == id(case.info))?;
        Some(Target { kernel_idx, values: *case.raw_values() })
    }

    /// Runs the check of a case, after a barrier.
    pub(super) fn verify(&self, target: &Target) -> Result<Report> {
        let (kernel, case) = self.set(target, 0);
        let pace = Pace { repetitions: 1, n_samples: 0, settle: [0; MAX_SERIES] };
        let mut cx = self.context(kernel, pace);
        self.t.barrier()?;
        Report::of(kernel.verify(&mut cx, &case).map(|()| Vec::new()))
    }

    /// Takes samples of a case, after a barrier.
    pub(super) fn measure(&self, target: &Target, pace: Pace, expected_ns: u64) -> Result<Report> {
        let (kernel, case) = self.set(target, expected_ns);
        let mut cx = self.context(kernel, pace);
        self.t.barrier()?;
        let result = kernel.measure(&mut cx, &case);
        Report::of(result.map(|()| cx.into_samples()))
    }

    fn set(&self, target: &Target, expected_ns: u64) -> (&dyn Kernel<T>, Case) {
        let kernel = self.kernels[target.kernel_idx];
        let info = kernel.info();
        let case = Case::new(info, &target.values[..info.axes.len()]);
        // Test data is made and looked at byte by byte, and the first probe knows nothing yet.
        let expected_ns = expected_ns.max((info.bytes_per_rank)(&case).saturating_mul(NS_PER_BYTE));
        self.t.annotate(&case.label(), expected_ns);
        (kernel, case)
    }

    fn context(&self, kernel: &dyn Kernel<T>, pace: Pace) -> Context<'_, T> {
        let info = kernel.info();
        let corrupt = self.corrupt.is_some_and(|id| id == info.id());
        Context::new(self.t, info.timing, pace, info.series.len(), corrupt)
    }
}
