//! `health`: measures all pairs of ranks, the barrier and the work of each rank, and names what
//! stands out.
//!
//! Measuring is a run like any other, of the suite `health` and of the barrier, with a result file
//! of its own. The verdict is read from that file, so that a stored run gets the same one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use comet_core::definition::Definition;
use comet_report::health::Health;

use super::{files, run};
use crate::backend::Job;
use crate::cli::{CaseArgs, EffortArgs, OutputArgs, ProfileArg, ProgressArg, RunArgs, WorldArgs};
use crate::exit;
use crate::launcher::Launcher;
use crate::method::MethodArgs;
use crate::terminal;
use crate::values::{parse_label, parse_positive_time};

/// What is measured.
const SELECT: [&str; 3] = ["health/pairs", "comet/barrier", "health/noise"];
/// Most memory of a case on one rank, as of other runs.
const MEM_BYTES: u64 = 1 << 30;

/// What `health` takes.
#[derive(Debug, Args)]
pub(crate) struct HealthArgs {
    /// Result file of an earlier run, to be judged instead of measuring
    #[arg(value_name = "FILE", conflicts_with_all = ["WorldArgs", "profile", "sizes", "budget", "out", "label"])]
    pub(crate) file: Option<PathBuf>,
    /// A time stands out that is more than so many times the median of its kind
    #[arg(long, value_name = "RATIO", default_value = "1.1", value_parser = parse_factor)]
    pub(crate) factor: f64,
    #[command(flatten)]
    pub(crate) world: WorldArgs,
    /// How thoroughly to measure: time per case
    #[arg(long, value_name = "NAME", default_value = "quick")]
    pub(crate) profile: ProfileArg,
    /// Message lengths in bytes [default: 8,1Mi]
    #[arg(short, long, value_name = "SWEEP")]
    pub(crate) sizes: Option<String>,
    /// Time after which no further case is started
    #[arg(long, value_name = "TIME", value_parser = parse_positive_time)]
    pub(crate) budget: Option<Duration>,
    /// Result file [default: comet-results/HOST-TIME-ID.jsonl]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Label for the record; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_label)]
    pub(crate) label: Vec<(String, String)>,
    /// Print no notes and no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Measures unless there is a file, and prints what stands out; returns the exit code.
///
/// # Errors
/// If the command line contradicts itself, if nothing can be measured, if the file cannot be read
/// or holds something else, or if standard output cannot be written.
pub(super) fn health(args: &HealthArgs, launcher: Option<&Launcher>) -> anyhow::Result<u8> {
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
    run::measure(&run_args(args), launcher, |job, file, code| {
        if exit::gives_up(code) { Ok(code) } else { conclude(job, file, factor, code) }
    })
}

/// Judges on the first process, which has the file, what all have measured in a run that ended with
/// `code`; returns the exit code for all. That of a run which was not in order comes first.
fn conclude(job: &dyn Job, file: Option<&Path>, factor: f64, code: u8) -> anyhow::Result<u8> {
    let verdict = super::on_first(job, || file.map_or(Ok(None), |path| judge(path, factor)))?;
    let verdict = job.agree(verdict.unwrap_or(exit::OK));
    Ok(if code == exit::OK { verdict } else { code })
}

/// Prints what stands out in each run of the file `path`; the exit code, or `None` if none of them
/// tells anything.
fn judge(path: &Path, factor: f64) -> anyhow::Result<Option<u8>> {
    let runs = files::runs(path)?;
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

/// The run that measures what is judged. Of the barrier it asks when each rank is released; the
/// other kernels keep their definitions.
fn run_args(args: &HealthArgs) -> RunArgs {
    RunArgs {
        select: SELECT.map(str::to_owned).into(),
        world: args.world.clone(),
        cases: CaseArgs {
            profile: args.profile,
            sizes: args.sizes.clone(),
            vector_lengths: None,
            local_n: None,
            hops: None,
            mem: MEM_BYTES,
        },
        effort: EffortArgs { repetitions: None, samples: None, time: None, budget: args.budget },
        method: MethodArgs {
            rules: "comet".into(),
            definition: Some(Definition::Release),
            is_for_some: true,
            sync: None,
            target: None,
            order: "shuffled".into(),
            skew: None,
            refine: None,
        },
        output: OutputArgs {
            out: args.out.clone(),
            format: "none".into(),
            label: args.label.clone(),
            progress: ProgressArg::Auto,
            quiet: args.quiet,
        },
        inject: None,
    }
}

/// A factor that a healthy part may be slower by.
fn parse_factor(text: &str) -> Result<f64, String> {
    let factor = text.parse().ok().filter(|factor: &f64| factor.is_finite() && *factor > 1.0);
    factor.ok_or_else(|| "a ratio is a number above 1 (write 1.1)".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_above_one() {
        assert_eq!(parse_factor("1.25"), Ok(1.25));
        for text in ["1", "0.9", "-2", "10%", "inf", "NaN", ""] {
            assert!(parse_factor(text).unwrap_err().contains("write 1.1"), "{text}");
        }
    }
}
