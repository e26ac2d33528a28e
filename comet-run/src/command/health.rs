//! `health`: measures all pairs of ranks, the barrier and the work of each rank, and names what
//! stands out.
//!
//! Measuring is a run like any other, of the suite `health` and of the barrier, with a result file
//! of its own. The verdict is read from that file, so that a stored run gets the same one.

use std::path::Path;

use clap::Parser as _;
use comet_report::health::Health;

use super::{files, run};
use crate::backend::Job;
use crate::cli::{Cli, HealthArgs, RunArgs};
use crate::execute;
use crate::exit;
use crate::launcher::Launcher;
use crate::terminal;

/// The run that measures what is judged. Of the barrier it asks when each rank is released; the
/// other kernels keep their definitions.
const RUN: [&str; 8] = [
    "comet-run",
    "health/pairs",
    "comet/barrier",
    "health/noise",
    "--definition",
    "D9",
    "--format",
    "none",
];

/// Measures unless there is a file, and prints what stands out; returns the exit code.
pub(crate) fn health(args: &HealthArgs, launcher: Option<&Launcher>) -> anyhow::Result<u8> {
    let factor = args.factor;
    if let Some(path) = &args.file {
        return judge(path, factor)?.ok_or_else(|| nothing_in(path));
    }
    if args.out.as_deref() == Some(Path::new("none")) {
        return Err(exit::usage(
            "health judges its result file, so --out none leaves nothing to judge (name a file, \
             or leave --out out)",
        ));
    }
    run::measure(&[run_args(args)], launcher, |job, file, code| {
        if exit::gives_up(code) { Ok(code) } else { conclude(job, file, factor, code) }
    })
}

/// Judges on the first process, which has the file, what all have measured in a run that ended with
/// `code`; returns the exit code for all. That of a run which was not in order comes first.
fn conclude(job: &dyn Job, file: Option<&Path>, factor: f64, code: u8) -> anyhow::Result<u8> {
    let verdict = execute::on_first(job, || file.map_or(Ok(None), |path| judge(path, factor)))?;
    let verdict = job.agree(verdict.unwrap_or(exit::OK));
    Ok(if code == exit::OK { verdict } else { code })
}

/// Prints what stands out in each run of the file `path`; the exit code, or `None` if none of them
/// tells anything.
fn judge(path: &Path, factor: f64) -> anyhow::Result<Option<u8>> {
    let runs = files::runs(&[path.into()])?;
    let found: Vec<Health> = runs.iter().filter_map(|run| Health::of(run, factor)).collect();
    for health in &found {
        terminal::print(&health.to_string())?;
    }
    let code = if found.iter().any(Health::is_suspicious) { exit::OFF } else { exit::OK };
    Ok(Some(code).filter(|_| !found.is_empty()))
}

fn nothing_in(path: &Path) -> anyhow::Error {
    exit::usage(format!(
        "{} holds no times of health/pairs or health/noise (measure them with comet-run health)",
        path.display()
    ))
}

/// The arguments of the run that measures what is judged.
fn run_args(args: &HealthArgs) -> RunArgs {
    let HealthArgs { world, profile, sizes, budget, out, label, quiet, .. } = args;
    let mut run = Cli::try_parse_from(RUN).expect("it is a valid command line").run;
    run.plan.world = world.clone();
    (run.plan.cases.profile, run.plan.cases.sizes) = (*profile, sizes.clone());
    run.plan.effort.budget = *budget;
    run.plan.method.is_for_some = true;
    (run.output.out, run.output.label, run.output.quiet) = (out.clone(), label.clone(), *quiet);
    run
}
