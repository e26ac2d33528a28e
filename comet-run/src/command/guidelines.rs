//! `guidelines`: measures operations of MPI against others that do the same, and names those that take
//! longer.
//!
//! Measuring is a run like any other, of the kernels in the table of guidelines, with a result file of
//! its own, or with `--launch` several launches of the whole job, as `launches` makes them. The
//! verdicts are read from that file, so that a stored run gets the same ones.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use comet_report::guidelines::{GUIDELINES, Guideline, Judgement, judge};
use serde_json::Value;

use super::{files, job, launches, study};
use crate::backend;
use crate::cli::{GuidelinesArgs, LaunchesArgs, RunArgs, profile_name};
use crate::exit;
use crate::launcher::Launcher;
use crate::terminal;
use crate::world;

/// The shortest and the longest length of the default sweep in bytes.
const LENGTHS: [u64; 2] = [8, 1 << 20];
/// The smallest factor of that sweep.
const FACTOR: u64 = 4;
/// Launches of a command that starts the whole job.
const LAUNCHES: u32 = 5;

/// Measures unless there are files, and prints what holds; returns the exit code.
pub(crate) fn guidelines(args: &GuidelinesArgs, launcher: Option<&Launcher>) -> anyhow::Result<u8> {
    known(&args.operations)?;
    if args.list {
        terminal::print(&listed(&wanted(&args.operations)))?;
        return Ok(exit::OK);
    }
    if !args.from.is_empty() {
        return conclude(&args.from, args)?.ok_or_else(|| nothing_in(&args.from));
    }
    study::require_file(&args.study, "guidelines reads")?;
    if let Some(command) = &args.launch {
        return in_jobs(command, args, launcher);
    }
    study::judged(&runs_args(args, launcher)?, launcher, |path| conclude(&[path.to_owned()], args))
}

/// Starts the whole job several times by `command`, and judges what all launches measured.
fn in_jobs(
    command: &str,
    args: &GuidelinesArgs,
    launcher: Option<&Launcher>,
) -> anyhow::Result<u8> {
    let several = LaunchesArgs {
        launches: args.launches.unwrap_or(LAUNCHES),
        over: None,
        target: None,
        seed: 1,
        timeout: args.timeout,
        out: args.study.out.clone(),
        format: "none".into(),
        command: job_words(command, args)?,
    };
    let (code, file) = launches::take(&several, launcher, "guidelines")?;
    match file.filter(|_| !exit::gives_up(code)) {
        Some(path) => Ok(conclude(&[path], args)?.filter(|_| code == exit::OK).unwrap_or(code)),
        None => Ok(code),
    }
}

/// The words of `command`, in which this program measures on each rank.
fn job_words(command: &str, args: &GuidelinesArgs) -> anyhow::Result<Vec<String>> {
    let program = std::env::current_exe()?.to_string_lossy().into_owned();
    let mut own = vec![program, "guidelines".into()];
    own.extend(args.operations.iter().cloned());
    own.extend(["--quiet", "--out", "{out}", "--profile"].map(String::from));
    own.push(profile_name(args.profile).into());
    let option = |name: &str, value: Option<String>| {
        value.map(|value| vec![format!("--{name}={value}")]).unwrap_or_default()
    };
    own.extend(option("sizes", args.sizes.clone()));
    let seconds = |time: Duration| format!("{}ns", time.as_nanos());
    own.extend(option("budget", args.study.budget.map(seconds)));
    job::around(command, own)
}

/// Refuses `operations` without a guideline.
fn known(operations: &[String]) -> anyhow::Result<()> {
    let names: BTreeSet<&str> = GUIDELINES.iter().map(Guideline::operation).collect();
    let Some(other) = operations.iter().find(|name| !names.contains(name.as_str())) else {
        return Ok(());
    };
    Err(exit::usage(format!(
        "'{other}' is no operation with guidelines (they are {})",
        Vec::from_iter(names).join(", ")
    )))
}

/// The guidelines of `operations`, or all.
fn wanted(operations: &[String]) -> Vec<&'static Guideline> {
    let is_wanted = |of: &&Guideline| {
        operations.is_empty() || operations.iter().any(|name| name == of.operation())
    };
    GUIDELINES.iter().filter(is_wanted).collect()
}

/// Guidelines with their publications, which follow.
fn listed(guidelines: &[&Guideline]) -> String {
    let texts: Vec<String> = guidelines.iter().map(|of| of.to_string()).collect();
    let width = texts.iter().map(String::len).max().unwrap_or(0);
    let line =
        |(of, text): (&&Guideline, &String)| format!("{text:<width$}  {}\n", of.source.name());
    let lines: String = guidelines.iter().zip(&texts).map(line).collect();
    let mut sources: Vec<_> = guidelines.iter().map(|of| of.source).collect();
    sources.dedup();
    let mut cited = BTreeSet::new();
    let cite = sources.iter().filter(|source| cited.insert(source.name()));
    let cites: String =
        cite.map(|source| format!("{}: {}\n", source.name(), source.cite())).collect();
    format!("{lines}\nn: length in bytes, of a vector or of the part of a rank; P: ranks\n{cites}")
}

/// The runs that measure what is judged: one of the operations without a layout, and one of those with, which
/// are about the datatypes of a library.
fn runs_args(args: &GuidelinesArgs, launcher: Option<&Launcher>) -> anyhow::Result<Vec<RunArgs>> {
    let sizes = match &args.sizes {
        Some(sizes) => sizes.clone(),
        None => default_sizes(n_ranks(args, launcher)?),
    };
    let has_library = backend::find(&args.world, launcher)?.is_launched();
    let operations: BTreeSet<&str> =
        wanted(&args.operations).iter().flat_map(|guideline| guideline.kernels()).collect();
    let (with, without): (Vec<&str>, Vec<&str>) =
        operations.into_iter().partition(|operation| operation.contains(' '));
    let with = with.into_iter().filter(|_| has_library);
    let (kernels, layouts): (BTreeSet<&str>, BTreeSet<&str>) =
        with.filter_map(|operation| operation.split_once(' ')).unzip();
    let layouts = format!("--layout={}", Vec::from_iter(layouts).join(","));
    let mut with = Vec::from_iter(kernels);
    if !with.is_empty() {
        with.push(&layouts);
    }
    let selections = [without, with].into_iter().filter(|words| !words.is_empty());
    let run = |words: Vec<&str>| {
        let cases = (&args.world, args.profile, Some(sizes.clone()));
        let mut run = study::run_of(words, cases, &args.study);
        run.plan.effort.launches = args.launches.or(run.plan.effort.launches);
        run
    };
    Ok(selections.map(run).collect())
}

/// The number of ranks of the run.
fn n_ranks(args: &GuidelinesArgs, launcher: Option<&Launcher>) -> anyhow::Result<usize> {
    let backend = backend::find(&args.world, launcher)?;
    let origin = backend.origin(&args.world, launcher)?;
    match &world::topologies(&args.world, &origin)?[..] {
        [topology] => Ok(topology.n_ranks()),
        several => Err(exit::usage(format!(
            "guidelines takes one number of ranks, -n has {} (run it for each, or name --sizes)",
            several.len()
        ))),
    }
}

/// Lengths of which each times the number of ranks is another, as the parts of all ranks are.
fn default_sizes(n_ranks: usize) -> String {
    let n_ranks = n_ranks as u64;
    let is_root = |factor: &u64| {
        let mut power = *factor;
        while power < n_ranks {
            power *= factor;
        }
        power == n_ranks
    };
    // Of 1 and 2 ranks, and of 3, the smallest.
    let factor = (FACTOR..n_ranks).find(is_root).unwrap_or(n_ranks).max(2);
    format!("{}..{}*{factor}", LENGTHS[0], LENGTHS[1])
}

/// Prints what the runs of `files` say; the exit code, or `None` if they hold nothing of it.
fn conclude(files: &[PathBuf], args: &GuidelinesArgs) -> anyhow::Result<Option<u8>> {
    let runs = files::runs(files)?;
    let judged = judge(&runs, &args.operations, args.margin);
    if judged.is_empty() {
        return Ok(None);
    }
    let text = if args.format == "json" {
        format!("{:#}\n", Value::from_iter(judged.iter().map(Judgement::json)))
    } else {
        judged.iter().map(Judgement::to_string).collect::<Vec<_>>().join("\n")
    };
    terminal::print(&text)?;
    let is_violated = judged.iter().any(|of| of.violations().next().is_some());
    Ok(Some(match () {
        () if !args.strict => exit::OK,
        () if is_violated => exit::OFF,
        () if judged.iter().any(Judgement::is_open) => exit::INCONCLUSIVE,
        () => exit::OK,
    }))
}

fn nothing_in(files: &[PathBuf]) -> anyhow::Error {
    let names: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    exit::usage(format!(
        "{} holds no two sides of a guideline (measure them with comet-run guidelines)",
        names.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::Parser as _;

    #[test]
    fn default_lengths_are_closed_under_the_number_of_ranks() {
        for (n_ranks, factor) in
            [(1, 2), (2, 2), (3, 3), (4, 4), (6, 6), (8, 8), (16, 4), (64, 4), (100, 10)]
        {
            let expected = format!("8..{}*{factor}", 1 << 20);
            assert_eq!(default_sizes(n_ranks), expected, "{n_ranks} ranks");
        }
    }

    #[test]
    fn a_launcher_starts_this_program_in_its_place() {
        let parsed = |words: &str| {
            let words = format!("comet-run guidelines allreduce --launch={words}");
            let cli = Cli::try_parse_from(words.splitn(4, ' ')).unwrap();
            let Some(crate::cli::Command::Guidelines(args)) = cli.command else {
                panic!("{words}")
            };
            job_words(args.launch.as_deref().unwrap(), &args).map(|words| words.join(" "))
        };
        let words = parsed("mpirun -n 4").unwrap();
        assert!(words.starts_with("/bin/sh -c exec env mpirun -n 4 "), "{words}");
        assert!(
            words.ends_with(" guidelines allreduce --quiet --out {out} --profile standard"),
            "{words}"
        );
    }

    #[test]
    fn operations_without_guidelines_are_refused() {
        let error = known(&["send".into()]).unwrap_err();
        assert_eq!(exit::code_of(&error), exit::USAGE);
        assert!(
            error
                .to_string()
                .starts_with("'send' is no operation with guidelines (they are allgather, ")
        );
        assert!(listed(&wanted(&["bcast".into()])).contains("\nTraff 2010: J. L. Traff"));
    }
}
