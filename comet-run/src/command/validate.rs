//! `validate`: are result files whole and well formed?

use std::fmt::Write as _;
use std::path::Path;

use comet_report::read::{self, RunSummary, Validation};

use crate::cli::ValidateArgs;
use crate::exit;
use crate::paths;
use crate::terminal;

/// Prints what is in each file and what is wrong with it; returns the exit code.
///
/// # Errors
/// If a file cannot be read, or if standard output cannot be written.
pub(super) fn validate(args: &ValidateArgs) -> anyhow::Result<u8> {
    let mut code = exit::OK;
    for path in &args.files {
        paths::refuse_device(path)?;
        let validation = read::validate(path).map_err(exit::bad_input)?;
        terminal::print(&text(path, &validation))?;
        if !is_valid(&validation) {
            code = exit::CHECK_FAILED;
        }
    }
    Ok(code)
}

/// Whether the file has a run, and nothing wrong in it.
fn is_valid(validation: &Validation) -> bool {
    validation.problems.is_empty() && !validation.runs.is_empty()
}

fn text(path: &Path, validation: &Validation) -> String {
    let path = terminal::one_line(path.display());
    let mut text = String::new();
    for run in &validation.runs {
        writeln!(text, "{path}: {}", run_text(run)).expect("a string takes any text");
    }
    for problem in &validation.problems {
        writeln!(text, "{path}: line {}: {}", problem.line, problem.message)
            .expect("a string takes any text");
    }
    if text.is_empty() {
        return format!("{path}: there is no run in this file\n");
    }
    text
}

fn run_text(run: &RunSummary) -> String {
    let id = run.run_id.as_deref().unwrap_or("without an id");
    let points = run.points;
    format!(
        "run {id}: {} ({} points ok, {} skipped, {} failed, {} with a failed check)",
        run.ending, points.ok, points.skipped, points.failed, points.check_failed
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_run_is_not_valid() {
        let validation = Validation::default();
        assert!(!is_valid(&validation));
        let text = text(Path::new("empty.jsonl"), &validation);
        assert_eq!(text, "empty.jsonl: there is no run in this file\n");
    }
}
