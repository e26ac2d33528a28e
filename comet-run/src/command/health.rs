//! `health`: measures all pairs of ranks, the barrier and the work of each rank, and names what
//! stands out.
//!
//! Measuring is a run like any other, of the suite `health` and of the barrier, with a result file
//! of its own. The verdict is read from that file, so that a stored run gets the same one.

use std::path::Path;

use comet_report::health::Health;

use super::{files, study};
use crate::cli::{HealthArgs, RunArgs};
use crate::exit;
use crate::launcher::Launcher;
use crate::terminal;

/// The run that measures what is judged. Of the barrier it asks when each rank is released; the
/// other kernels keep their definitions.
const RUN: [&str; 5] = ["health/pairs", "comet/barrier", "health/noise", "--definition", "D9"];

/// Measures unless there is a file, and prints what stands out; returns the exit code.
pub(crate) fn health(args: &HealthArgs, launcher: Option<&Launcher>) -> anyhow::Result<u8> {
    let factor = args.factor;
    if let Some(path) = &args.file {
        return judge(path, factor)?.ok_or_else(|| nothing_in(path));
    }
    study::require_file(&args.study, "health judges")?;
    study::judged(&[run_args(args)], launcher, |path| judge(path, factor))
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
    let cases = (&args.world, args.profile, args.sizes.clone());
    let mut run = study::run_of(RUN, cases, &args.study);
    run.plan.method.is_for_some = true;
    run
}
