//! `validate`: a check that result files are whole and well formed.

use std::path::Path;

use comet_report::read::{self, RunSummary, Validation};

use super::files;
use crate::cli::ValidateArgs;
use crate::exit;
use crate::paths;
use crate::terminal;

/// Prints the runs of each file and its problems; returns the exit code.
pub(crate) fn validate(args: &ValidateArgs) -> anyhow::Result<u8> {
    let mut code = exit::OK;
    for path in &args.files {
        paths::refuse_device(path)?;
        let validation = read::validate(path).map_err(exit::bad_input)?;
        if validation == Validation::default() {
            return Err(files::without_run(path));
        }
        terminal::print(&text(path, &validation))?;
        if !validation.problems.is_empty() {
            code = exit::CHECK_FAILED;
        }
    }
    Ok(code)
}

fn text(path: &Path, validation: &Validation) -> String {
    let path = terminal::one_line(path.display());
    let runs = validation.runs.iter().map(|run| format!("{path}: {}\n", run_text(run)));
    let problems = validation.problems.iter();
    let problems = problems.map(|p| format!("{path}: line {}: {}\n", p.line, p.message));
    runs.chain(problems).collect()
}

fn run_text(run: &RunSummary) -> String {
    let id = run.run_id.as_deref().unwrap_or("without an id");
    let points = run.points;
    format!(
        "run {id}: {} ({} points ok, {} skipped, {} failed, {} with a failed check)",
        run.ending(),
        points.ok,
        points.skipped,
        points.failed,
        points.check_failed
    )
}
