//! Kernels on the ranks of a simulated machine, for commands that look at what they measure. All
//! ranks live in this process and thread, so they share the kernels, and what rank 0 tells its
//! listener is at hand.

use std::cell::RefCell;

use anyhow::{bail, ensure};
use comet_core::driver::{self, Settings};
use comet_core::event::Listener;
use comet_core::kernel::{Case, Kernel};
use comet_core::topology::Topology;
use comet_core::transport::Transport as _;
use comet_sim::machine::Machine;
use comet_sim::{Outcome, RunConfig, Sim};

use crate::exit;

/// Takes the driver through `cases` on `machine`, and tells `listener`.
///
/// # Errors
/// If the ranks do not fit onto the machine, or if the simulation fails.
pub(super) fn measure(
    machine: Machine,
    topology: Topology,
    kernels: &[&dyn Kernel<Sim>],
    cases: &[Case],
    settings: &Settings,
    listener: &mut dyn Listener,
) -> anyhow::Result<()> {
    let listener = RefCell::new(listener);
    let outcome = comet_sim::run(&RunConfig::new(machine, topology), |t| {
        let is_ok = if t.rank() == 0 {
            driver::conduct(t, kernels, cases, settings, *listener.borrow_mut()).is_ok()
        } else {
            driver::follow(t, kernels, settings).is_ok()
        };
        if is_ok { exit::OK } else { exit::INTERNAL }
    })?;
    match outcome {
        Outcome::Finished { code, .. } => ensure!(code == exit::OK, "it ended with code {code}"),
        Outcome::Failed(failure) => bail!(failure.message),
    }
    Ok(())
}
