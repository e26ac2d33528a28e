//! `plan`: what would run, what would be skipped and why, for how long, in how much memory.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use comet_core::driver::Settings;
use comet_core::topology::Topology;

use crate::backend::{self, BACKENDS, Backend};
use crate::cli::PlanArgs;
use crate::execute;
use crate::exit;
use crate::launcher::Launcher;
use crate::launches::Launches;
use crate::prepare::{self, KernelPlan, Prepared};
use crate::terminal;
use crate::world::{self, Origin};

/// Prints the plan of a run, and starts and joins nothing.
pub(crate) fn plan(args: &PlanArgs, launcher: Option<&Launcher>) -> anyhow::Result<u8> {
    let backend = backend::find(&args.world, launcher)?;
    let origin = backend.origin(&args.world, launcher)?;
    let prepared = prepare::prepare(args, &origin)?;
    let run = Run::of(args, &origin)?;
    introduce(backend, launcher)?;
    execute::for_each(prepared, |prepared| {
        prepared.notes.iter().for_each(|note| terminal::note(note));
        let Prepared { plan, topology, .. } = &prepared;
        terminal::print(&run.text(plan, topology))?;
        Ok(exit::OK)
    })
}

/// Prints the transport of a plan, and a note where it cannot run in this process.
pub(super) fn introduce(backend: &dyn Backend, launcher: Option<&Launcher>) -> anyhow::Result<()> {
    if let Err(error) = backend::admit(BACKENDS, backend, launcher) {
        terminal::note(&format!("note: {error:#}"));
    }
    Ok(terminal::print(&format!("transport {}: {}\n", backend.name(), backend.summary()))?)
}

/// Width of the first column of [`Run::kernel_text`] for `kernels`.
pub(super) fn width<'a>(kernels: impl Iterator<Item = &'a KernelPlan>) -> usize {
    kernels.map(|kernel| kernel.info.id().len()).max().unwrap_or(0).max(24)
}

/// Titles of the columns of [`Run::kernel_text`].
pub(super) fn titles(width: usize) -> String {
    format!(
        "{:<width$} {:>6} {:>8} {:>14} {:>12}\n",
        "kernel", "cases", "skipped", "MiB per rank", "time"
    )
}

/// Settings and launches of the runs that are planned.
pub(super) struct Run<'a> {
    pub(super) settings: Settings,
    launches: Launches,
    origin: &'a Origin,
}

impl<'a> Run<'a> {
    /// The runs of `args` on ranks from `origin`.
    ///
    /// # Errors
    /// If they ask for several launches of ranks that a launcher has started.
    pub(super) fn of(args: &PlanArgs, origin: &'a Origin) -> anyhow::Result<Self> {
        let settings = prepare::settings(args, origin);
        let launches = Launches::of(args, &settings, origin)?;
        Ok(Self { settings, launches, origin })
    }

    /// About the time of `plan`; `None` if that is not known.
    pub(super) fn time(&self, plan: &[KernelPlan], topology: &Topology) -> Option<Duration> {
        self.launches.time_of_plan(plan, topology, &self.settings, self.origin)
    }

    fn text(&self, plan: &[KernelPlan], topology: &Topology) -> String {
        let (n_ranks, mesh, width) = (topology.n_ranks(), topology.mesh(), width(plan.iter()));
        let mut text = format!(
            "{} on a mesh of {}x{}, hops 0 to {}\n\n{}",
            world::ranks(n_ranks),
            mesh.rows(),
            mesh.cols(),
            topology.max_hops(0),
            titles(width)
        );
        let (mut n_running, mut most_bytes) = (0, 0);
        for kernel in plan {
            n_running += kernel.running(topology, &self.settings).count();
            most_bytes = most_bytes.max(kernel.bytes_per_rank(topology, &self.settings));
            text += &self.kernel_text(kernel, topology, width);
        }
        let budget = self.settings.run_budget_ns.map(Duration::from_nanos);
        let time = total_text(self.time(plan, topology), budget, "--budget");
        let (per_rank, in_all) = (mebibytes(most_bytes), mebibytes(most_bytes * n_ranks as u64));
        writeln!(
            text,
            "\nin all {} cases, {time}, in {}; {per_rank} MiB per rank, {in_all} MiB on all ranks",
            n_running,
            self.launches.words()
        )
        .expect("a string takes any text");
        text
    }

    /// A row about `kernel`, whose first column has this width, and one for each reason to skip some of its
    /// cases.
    pub(super) fn kernel_text(
        &self,
        kernel: &KernelPlan,
        topology: &Topology,
        width: usize,
    ) -> String {
        let of_launch = |settings: &Settings| {
            prepare::time(kernel.running(topology, settings), topology, settings, self.origin)
        };
        let refusals = kernel.refusals(topology, &self.settings);
        let mut text = format!(
            "{:<width$} {:>6} {:>8} {:>14} {:>12}\n",
            kernel.info.id(),
            kernel.cases.len(),
            refusals.len(),
            mebibytes(kernel.bytes_per_rank(topology, &self.settings)),
            time_text(self.launches.time_of_cases(&self.settings, of_launch))
        );
        // Cases are skipped for few reasons; each is named once.
        let mut reasons = BTreeMap::<&str, usize>::new();
        for reason in &refusals {
            *reasons.entry(reason).or_default() += 1;
        }
        for (reason, n_cases) in reasons {
            writeln!(text, "  skips {n_cases}: {reason}").expect("a string takes any text");
        }
        text
    }
}

fn time_text(time: Option<Duration>) -> String {
    let Some(time) = time else { return "not known".into() };
    let rounded =
        Duration::from_secs(time.as_millis().div_ceil(1000).try_into().unwrap_or(u64::MAX));
    humantime::format_duration(rounded).to_string()
}

/// The time of all cases, of which `budget`, given by `option`, may allow less.
pub(super) fn total_text(time: Option<Duration>, budget: Option<Duration>, option: &str) -> String {
    let cut = budget.filter(|budget| time.is_none_or(|time| time > *budget));
    let about = time.map_or("time not known".into(), |_| format!("about {}", time_text(time)));
    let cut = cut.map(|budget| format!(", of which {option} allows {}", time_text(Some(budget))));
    about + &cut.unwrap_or_default()
}

pub(super) fn mebibytes(bytes: u64) -> String {
    let mebibytes = bytes as f64 / f64::from(1 << 20);
    format!("{mebibytes:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_up_to_seconds() {
        let check = |ms, text: &str| {
            assert_eq!(time_text(Some(Duration::from_millis(ms))), text);
        };
        check(0, "0s");
        check(1, "1s");
        check(61_000, "1m 1s");
        assert_eq!(time_text(None), "not known");
        let seconds = |n| Some(Duration::from_secs(n));
        for (time, budget, expected) in [
            (seconds(61), None, "about 1m 1s"),
            (seconds(61), seconds(100), "about 1m 1s"),
            (seconds(61), seconds(1), "about 1m 1s, of which --budget allows 1s"),
            (None, seconds(1), "time not known, of which --budget allows 1s"),
            (None, None, "time not known"),
        ] {
            assert_eq!(total_text(time, budget, "--budget"), expected);
        }
    }

    #[test]
    fn memory_is_shown_in_mebibytes() {
        assert_eq!(mebibytes(3 << 19), "1.500");
    }
}
