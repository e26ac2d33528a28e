//! Kernels on the ranks of a simulated machine. All ranks live in one thread, so they share the
//! kernels, and the listener of rank 0 is at hand.

use std::cell::RefCell;

use anyhow::{bail, ensure};
use comet_core::driver::Settings;
use comet_core::event::Listener;
use comet_core::kernel::{Case, Kernel};
use comet_core::sweep;
use comet_core::topology::Topology;
use comet_core::transport::Transport as _;
use comet_sim::machine::Machine;
use comet_sim::{Outcome, RunConfig, Sim};
use comet_suites::Suites as _;

/// The cases of the kernel `id` over the product of `sweeps`, one for each of its axes; the last
/// varies fastest.
///
/// # Errors
/// If a sweep cannot be understood.
///
/// # Panics
/// If there is no such kernel, or if it has fewer axes.
pub(crate) fn cases(id: &str, sweeps: &[&str]) -> anyhow::Result<Vec<Case>> {
    let info = comet_suites::infos()
        .into_iter()
        .find(|info| info.id() == id)
        .expect("there is such a kernel");
    let mut rows = vec![Vec::new()];
    for sweep in sweeps {
        let values = sweep::parse(sweep, None)?;
        let longer = |row: &Vec<u64>| -> Vec<_> {
            values.iter().map(|value| [row.as_slice(), &[*value]].concat()).collect()
        };
        rows = rows.iter().flat_map(longer).collect();
    }
    Ok(rows.iter().map(|row| Case::new(info, row)).collect())
}

/// Measures `cases` on `machine` and passes all events to `listener`.
///
/// # Errors
/// If the ranks do not fit onto the machine, or if the simulation fails.
pub(crate) fn measure(
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
            t.conduct(kernels, cases, settings, *listener.borrow_mut()).is_ok()
        } else {
            t.follow(kernels, settings).is_ok()
        };
        u8::from(!is_ok)
    })?;
    match outcome {
        Outcome::Finished { code, .. } => ensure!(code == 0, "it ended with code {code}"),
        Outcome::Failed(failure) => bail!(failure.message),
    }
    Ok(())
}
