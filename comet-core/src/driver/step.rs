//! One step of a case on one rank: a check or a measurement, in each of its lanes where it has several.

use super::settings::Pace;
use super::stage::{Report, Taken, report_of};
use crate::context::{Context, Method};
use crate::error::{KernelError, Result};
use crate::kernel::{Case, Fault, Kernel};
use crate::transport::Transport;

/// One step, as all threads of a rank do it.
pub(super) struct Step<'b, T: Transport> {
    pub(super) kernel: &'b dyn Kernel<T>,
    pub(super) case: Case,
    /// The pace of a measurement; `None` for a check.
    pub(super) pace: Option<Pace>,
    pub(super) method: Method<'b>,
    /// The fault that the kernel's checks are to notice.
    pub(super) fault: Option<&'static Fault>,
}

impl<T: Transport> Step<'_, T> {
    /// The view of the kernel over `t`.
    pub(super) fn context<'c>(&'c self, t: &'c T) -> Context<'c, T> {
        let pace = self.pace.unwrap_or_else(|| Pace::new(1, 0, 0));
        Context::new(t, self.kernel.info(), pace, self.method, self.fault)
    }

    /// Does the step, and returns the samples.
    pub(super) fn take(&self, mut cx: Context<'_, T>) -> Result<Taken, KernelError> {
        if self.pace.is_none() {
            return self.kernel.verify(&mut cx, &self.case).map(|()| Taken::default());
        }
        self.kernel.measure(&mut cx, &self.case)?;
        let usage = cx.usage();
        Ok(Taken { series: cx.into_samples(), usage })
    }

    /// Does the step in `n` lanes of `t` at once; the samples are those of one lane after the other.
    ///
    /// # Errors
    /// If the transport fails before the lanes begin. A lane in which it fails ends the job: others may wait
    /// for its thread.
    pub(super) fn in_lanes(&self, t: &T, n: usize) -> Result<Report> {
        let of_lanes = t.on_lanes(n, |t| {
            let taken = self.take(self.context(t));
            match &taken {
                // Threads of this rank may wait for what this one did not do, as other ranks may.
                Err(KernelError::Transport(error)) if !error.is_of_all() => {
                    t.fail_job(&error.to_string())
                }
                _ => taken,
            }
        });
        let of_lanes = match of_lanes {
            Ok(of_lanes) => of_lanes,
            Err(error) => return report_of(Err(error.into())),
        };
        let mut all = Taken::default();
        for (lane, result) in of_lanes.into_iter().enumerate() {
            match report_of(result)? {
                Ok(taken) => {
                    // The system counts for the process.
                    all.usage = all.usage.or(taken.usage);
                    all.series.extend(taken.series);
                }
                Err((failure, message)) => {
                    return Ok(Err((failure, format!("{message} (in thread {lane})"))));
                }
            }
        }
        Ok(Ok(all))
    }
}
