//! `compare`: two sets of runs held against each other.

use std::path::{Path, PathBuf};

use comet_report::compare::{self, Change, Comparison, Options};
use comet_report::runs::RunRecords;

use crate::cli::{CompareArgs, JudgementArgs};
use crate::command::files;
use crate::exit;
use crate::terminal;

impl JudgementArgs {
    /// The files to write, each with the name of its form.
    fn files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let files = [("markdown", &self.markdown), ("json", &self.json), ("junit", &self.junit)];
        files.into_iter().filter_map(|(name, path)| Some((name, path.as_deref()?)))
    }

    /// Refuses to write over one of the result files `inputs`.
    pub(super) fn keep(&self, inputs: &[PathBuf]) -> anyhow::Result<()> {
        self.files().try_for_each(|(_, path)| files::keep(inputs, path))
    }
}

/// Prints what became slower or faster; returns the exit code.
pub(crate) fn compare(args: &CompareArgs) -> anyhow::Result<u8> {
    args.judgement.keep(&[&args.base[..], &args.to, &args.control].concat())?;
    let (base, new) = (files::runs(&args.base)?, files::runs(&args.to)?);
    let options = Options {
        margin: args.judgement.margin,
        is_paired: args.paired,
        allows_single: args.allow_single,
        changes: None,
    };
    let mut comparison = admitted([&base, &new], &options, args.allow_env_diff)?;
    if !args.control.is_empty() {
        let control = files::runs(&args.control)?;
        let control = admitted([&base, &control], &options, args.allow_env_diff)?;
        comparison.set_control(&control);
    }
    conclude(&comparison, &args.judgement)
}

/// The runs of both sides held against each other; refused where one is on both, or where their
/// conditions differ and that is not allowed.
pub(super) fn admitted(
    [base, new]: [&[RunRecords]; 2],
    options: &Options,
    is_allowed: bool,
) -> anyhow::Result<Comparison> {
    refuse_twins(base.iter().chain(new))?;
    let comparison = compare::compare(base, new, options);
    admit(&comparison.environment, is_allowed)?;
    Ok(comparison)
}

/// A launch that counts twice would be evidence of nothing, and so would one that controls itself.
pub(super) fn refuse_twins<'a>(runs: impl Iterator<Item = &'a RunRecords>) -> anyhow::Result<()> {
    files::refuse_twins(runs.filter_map(|of| Some((of.path.as_deref()?, of.run.as_deref()?))))
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
pub(super) fn conclude(comparison: &Comparison, args: &JudgementArgs) -> anyhow::Result<u8> {
    for (name, path) in args.files() {
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
    compare::render(comparison, name).expect("clap accepts known formats only")
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

#[cfg(test)]
mod tests {
    use super::*;

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
