//! Common parts of `health`, `algorithms` and `guidelines`: runs of their own, into a result file that
//! they judge.

use std::path::Path;

use clap::Parser as _;
use comet_core::kernel::Profile;

use super::run;
use crate::cli::{Cli, RunArgs, StudyArgs, WorldArgs};
use crate::execute;
use crate::exit;
use crate::launcher::Launcher;

/// The run of the command line `words` behind the name of the program, on the ranks of `world`, at the lengths
/// `sizes`.
pub(super) fn run_of<'a>(
    words: impl IntoIterator<Item = &'a str>,
    (world, profile, sizes): (&WorldArgs, Profile, Option<String>),
    args: &StudyArgs,
) -> RunArgs {
    let words = ["comet-run"].into_iter().chain(words).chain(["--format", "none"]);
    let mut run = Cli::try_parse_from(words).expect("it is a valid command line").run;
    let StudyArgs { budget, out, label, quiet } = args.clone();
    run.plan.world = world.clone();
    (run.plan.cases.profile, run.plan.cases.sizes) = (profile, sizes);
    run.plan.effort.budget = budget;
    (run.output.out, run.output.label, run.output.quiet) = (out, label, quiet);
    run
}

/// Refuses to keep no file; `who` reads it.
pub(super) fn require_file(args: &StudyArgs, who: &str) -> anyhow::Result<()> {
    if args.out.as_deref() != Some(Path::new("none")) {
        return Ok(());
    }
    Err(exit::usage(format!(
        "{who} its result file, so --out none leaves nothing to judge (name a file, or leave --out \
         out)"
    )))
}

/// Measures `runs`, and has the first process, which keeps the file, `judge` it unless they gave up; returns the
/// exit code for all. That of runs which were not in order comes first.
pub(super) fn judged(
    runs: &[RunArgs],
    launcher: Option<&Launcher>,
    judge: impl Fn(&Path) -> anyhow::Result<Option<u8>>,
) -> anyhow::Result<u8> {
    run::measure(runs, launcher, |job, file, code| {
        if exit::gives_up(code) {
            return Ok(code);
        }
        let verdict = execute::on_first(job, || file.map_or(Ok(None), &judge))?;
        let verdict = job.agree(verdict.unwrap_or(exit::OK));
        Ok(if code == exit::OK { verdict } else { code })
    })
}
