//! `compare`: two sets of runs held against each other.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use comet_report::compare::{self, Change, Comparison, Options, RENDERERS};
use comet_report::runs::RunRecords;

use crate::command::files;
use crate::exit;
use crate::terminal;

/// What `compare` takes.
#[derive(Debug, Args)]
// The base comes first: after --to, it would be taken for one more file that is judged.
#[command(override_usage = "comet-run compare [OPTIONS] <BASE>... --to <NEW>...")]
pub(crate) struct CompareArgs {
    /// Result files of the base, each run in them one launch
    #[arg(value_name = "BASE", required = true)]
    pub(crate) base: Vec<PathBuf>,
    /// Result files that are judged
    #[arg(long, value_name = "NEW", required = true, num_args = 1..)]
    pub(crate) to: Vec<PathBuf>,
    /// More result files of the base: if more than 5 % of its points differ from themselves, slower points fail nothing
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) control: Vec<PathBuf>,
    /// Take launches in pairs, in the order in which they were started, even if the sides did not take turns
    #[arg(long)]
    pub(crate) paired: bool,
    /// Judge a single launch a side by its samples, which do not show what changes from launch to launch
    #[arg(long)]
    pub(crate) allow_single: bool,
    /// Compare runs whose fingerprints differ
    #[arg(long)]
    pub(crate) allow_env_diff: bool,
    #[command(flatten)]
    pub(crate) judgement: JudgementArgs,
}

/// How a comparison is judged and told.
#[derive(Debug, Args)]
pub(crate) struct JudgementArgs {
    /// Changes below this share do not count, nor below twice this share under 1 us, nor below 20 ns [default: 5%, and 0 where times are exact]
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    pub(crate) margin: Option<f64>,
    /// End with code 11 if the launches do not tell for some points, or the new ones lack some
    #[arg(long)]
    pub(crate) strict: bool,
    /// What is printed on standard output
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = renderers())]
    pub(crate) format: String,
    /// File for the comparison as Markdown
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// File for the comparison as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// File for the comparison as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
}

/// Prints what became slower or faster; returns the exit code.
///
/// # Errors
/// If a file cannot be read or written, or if the runs were taken under different conditions.
pub(super) fn compare(args: &CompareArgs) -> anyhow::Result<u8> {
    let (base, new) = (read(&args.base)?, read(&args.to)?);
    let options = Options {
        margin: args.judgement.margin,
        is_paired: args.paired,
        allows_single: args.allow_single,
        keys: None,
    };
    let mut comparison = compare::compare(&base, &new, &options);
    admit(&comparison.environment, args.allow_env_diff)?;
    if !args.control.is_empty() {
        let control = read(&args.control)?;
        refuse_twins(base.iter().chain(&control))?;
        let control = compare::compare(&base, &control, &options);
        admit(&control.environment, args.allow_env_diff)?;
        comparison.set_control(&control);
    }
    conclude(&comparison, &args.judgement)
}

/// The runs of all `paths`, in their order.
///
/// # Errors
/// If a file cannot be read, has no run, or has one that another has too.
fn read(paths: &[PathBuf]) -> anyhow::Result<Vec<RunRecords>> {
    let mut runs = Vec::new();
    for path in paths {
        runs.extend(files::some_runs(path)?);
    }
    refuse_twins(runs.iter())?;
    Ok(runs)
}

/// A launch that counts twice would be evidence of nothing, and so would one that controls itself.
///
/// # Errors
/// If two of `runs` are the same one.
pub(super) fn refuse_twins<'a>(runs: impl Iterator<Item = &'a RunRecords>) -> anyhow::Result<()> {
    let mut seen = BTreeMap::new();
    for records in runs {
        let (Some(run), Some(path)) = (&records.run, &records.path) else { continue };
        if let Some(first) = seen.insert(&run.run_id, path) {
            let (first, path) = (first.display(), path.display());
            return Err(exit::usage(format!(
                "{first} and {path} hold the same run {} (a launch counts once: measure anew, or \
                 name its file once)",
                run.run_id
            )));
        }
    }
    Ok(())
}

/// Refuses runs that differ in their conditions, unless that is allowed.
fn admit(environment: &[Change], is_allowed: bool) -> anyhow::Result<()> {
    const MAX_NAMED: usize = 5;
    if environment.is_empty() || is_allowed {
        return Ok(());
    }
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".into());
    let named = environment.iter().take(MAX_NAMED).map(|change| {
        format!("{} ({} -> {})", change.what, value(&change.from), value(&change.to))
    });
    let named = named.collect::<Vec<_>>().join(", ");
    let more = environment.len().saturating_sub(MAX_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Err(exit::usage(format!(
        "the runs were taken under different conditions: {named}{more} (take them under the same \
         ones, or compare all the same with --allow-env-diff)"
    )))
}

/// Prints `comparison` and writes its files; returns the exit code.
///
/// # Errors
/// If a file or standard output cannot be written.
pub(super) fn conclude(comparison: &Comparison, args: &JudgementArgs) -> anyhow::Result<u8> {
    let files =
        [("markdown", &args.markdown), ("json", &args.json), ("junit", &args.junit)].into_iter();
    for (name, path) in files.filter_map(|(name, path)| Some((name, path.as_deref()?))) {
        files::write(path, render(comparison, name).as_bytes())?;
    }
    terminal::print(&render(comparison, &args.format))?;
    if comparison.is_advisory() {
        terminal::note(
            "note: the machine is too unsteady for verdicts (see the control): what is slower \
             fails nothing",
        );
    }
    if comparison.is_empty() {
        terminal::note(
            "note: no point was measured on both sides (compare runs of the same cases)",
        );
    }
    Ok(code(comparison, args.strict))
}

fn render(comparison: &Comparison, name: &str) -> String {
    compare::find(name).expect("clap accepts known formats only").render(comparison)
}

/// The exit code for `comparison`: hints about times fail nothing, but wrong data does.
fn code(comparison: &Comparison, is_strict: bool) -> u8 {
    let is_unclear = is_strict && comparison.is_open();
    match comparison {
        comparison if comparison.is_empty() => exit::NOTHING,
        comparison if comparison.fails_anew() => exit::OFF,
        comparison if comparison.is_advisory() => exit::OK,
        comparison if comparison.is_worse() => exit::OFF,
        _ if is_unclear => exit::INCONCLUSIVE,
        _ => exit::OK,
    }
}

/// Reads a share such as `5%` or `0.05`.
fn parse_share(text: &str) -> Result<f64, String> {
    let (number, unit) = text.trim().strip_suffix('%').map_or((text, 1.0), |number| (number, 0.01));
    let share = number.trim().parse::<f64>().ok().map(|number| unit * number);
    share
        .filter(|share| (0.0..1.0).contains(share))
        .ok_or_else(|| "a share is 0 to below 1 (write 5% or 0.05)".into())
}

fn renderers() -> PossibleValuesParser {
    RENDERERS.iter().map(|renderer| renderer.name()).collect::<Vec<_>>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_number_or_a_percentage() {
        let check =
            |text, expected: Option<f64>| assert_eq!(parse_share(text).ok(), expected, "{text}");
        check("5%", Some(0.05));
        check("0.25", Some(0.25));
        check("0", Some(0.0));
        for wrong in ["5", "-1%", "100%", "NaN", "much"] {
            check(wrong, None);
        }
    }

    #[test]
    fn conditions_that_differ_are_refused_by_name() {
        let change =
            Change { what: "cpu governor".into(), from: None, to: Some("powersave".into()) };
        let error = admit(std::slice::from_ref(&change), false).unwrap_err();
        assert_eq!(exit::code_of(&error), exit::USAGE);
        assert!(error.to_string().contains("cpu governor (unknown -> powersave)"), "{error}");
        assert!(admit(&[change], true).is_ok() && admit(&[], false).is_ok());
    }
}
