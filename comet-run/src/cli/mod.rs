//! The command line: its words and values, and nothing that they lead to.
//!
//! No file here names a command or a backend.

#[cfg(feature = "db")]
mod db;
mod files;
mod measure;
mod method;
#[cfg(not(feature = "db"))]
mod no_db;
mod storage;
mod suite;
pub(crate) mod values;

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ColorChoice, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};

use crate::catalogue;
use crate::exit;
#[cfg(feature = "db")]
pub(crate) use db::{
    AcceptArgs, AddArgs, AddTokenArgs, BackupArgs, DbArgs, DbCommand, InitArgs, ListRunsArgs,
    MarkCommand, PublishArgs, ServeArgs, SubmitArgs, TokenCommand,
};
pub(crate) use files::{
    AbArgs, CompareArgs, CompletionsArgs, ExportArgs, FitArgs, HelpArgs, ImportArgs, JudgementArgs,
    ListArgs, MachinesArgs, MergeArgs, PlotArgs, PlotFormat, ReportArgs, ReproduceArgs, ShowArgs,
    ValidateArgs,
};
pub(crate) use measure::{
    AlgorithmsArgs, CalibrateArgs, CaseArgs, CheckArgs, EffortArgs, GuidelinesArgs, HealthArgs,
    LaunchesArgs, OPTIONAL, PlanArgs, ProgressArg, RunArgs, StudyArgs, WorldArgs, profile_name,
};
pub(crate) use method::MethodArgs;
#[cfg(not(feature = "db"))]
pub(crate) use no_db::NoDbArgs;
#[cfg(not(feature = "db"))]
pub(crate) use no_db::{NoDbArgs as DbArgs, NoDbArgs as ServeArgs, NoDbArgs as SubmitArgs};
pub(crate) use storage::{StorageArgs, has_ended};
pub(crate) use suite::{JournalArgs, SuiteCommand, SuiteImportArgs, SuiteRunArgs};

/// Command lines to start from, as in `-h`.
const FIRST: &str = "\
Examples:
  comet-run all                                the whole 1993 benchmark on this machine
  comet-run echo barrier -n 2                  two kernels on two ranks
  comet-run latency -s 0,1..4Mi*2              0, 1, 2, 4 ... bytes
  comet-run report comet-results/X.jsonl       a page of what was measured
  comet-run help echo                          the page of a kernel; comet-run list has all";

/// Command lines for many purposes, as in `--help` and the man page.
pub(crate) const EXAMPLES: &str = include_str!("examples.txt");

/// Measures message passing: startup times, bandwidths, collectives, contention, overlap, matrices
#[derive(Debug, Parser)]
#[command(
    name = "comet-run",
    version,
    long_version = long_version(),
    arg_required_else_help = true,
    disable_help_subcommand = true,
    args_conflicts_with_subcommands = true,
    after_help = FIRST,
    after_long_help = format!("{EXAMPLES}\n{}", exit_codes())
)]
pub(crate) struct Cli {
    /// The subcommand; `run` if none is given.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// Arguments of `run`.
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Print all columns of tables, however narrow the terminal
    #[arg(long, global = true, help_heading = "Terminal", hide_short_help = true)]
    pub(crate) wide: bool,
    /// Colours of marks, errors and verdicts; auto: on a terminal, unless NO_COLOR is set
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        help_heading = "Terminal",
        hide_short_help = true
    )]
    pub(crate) color: ColorArg,
}

/// Use of colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorArg {
    /// On a terminal that shows them
    Auto,
    /// Also in a file or a pipe
    Always,
    /// Nowhere
    Never,
}

/// Subcommands, the usual ones first.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure kernels (the default command)
    #[command(after_help = "Example:\n  comet-run run echo barrier -n 2")]
    Run(RunArgs),
    /// Write a page of figures and tables
    #[command(after_help = "Example:\n  comet-run report a.jsonl b.jsonl -o report.html")]
    Report(ReportArgs),
    /// Compare two sets of result files, and report slower and faster points
    #[command(
        after_help = "Example:\n  comet-run compare a1.jsonl a2.jsonl --to b1.jsonl b2.jsonl"
    )]
    Compare(CompareArgs),
    /// Measure all pairs of ranks, the barrier and the noise, and report outliers
    #[command(after_help = "Example:\n  comet-run health -n 8")]
    Health(HealthArgs),
    /// Measure the algorithms of a collective against each other: the fastest at each length
    #[command(after_help = "Example:\n  comet-run algorithms allreduce -n 4")]
    Algorithms(AlgorithmsArgs),
    /// List the kernels by suites
    #[command(after_help = "Example:\n  comet-run list --json")]
    List(ListArgs),
    /// Test message passing and the checks of all kernels on this machine
    #[command(after_help = "Example:\n  comet-run check -n 8")]
    Check(CheckArgs),
    /// Show the cases, time and memory of a run without running it
    #[command(after_help = "Example:\n  comet-run plan all -n 8")]
    #[command(mut_arg("select", |select| select.required(true)))]
    Plan(PlanArgs),
    /// Plan and run suite files, which hold the selections and settings of many runs
    #[command(after_help = "Example:\n  comet-run suite run builtin:skampi-1998 -n 8")]
    #[command(subcommand)]
    Suite(SuiteCommand),
    /// Print a result file as a table, CSV or JSON lines
    #[command(after_help = "Example:\n  comet-run show a.jsonl --format csv")]
    Show(ShowArgs),
    /// Draw single figures of result files as SVG or PNG
    #[command(after_help = "Example:\n  comet-run plot a.jsonl --figure latency -o latency.svg")]
    Plot(PlotArgs),
    /// Fit models to the sweeps of a result file: startup time, bandwidth, scaling
    #[command(after_help = "Example:\n  comet-run fit a.jsonl")]
    Fit(FitArgs),
    /// Run two commands alternately, several launches each, and compare their results
    #[command(
        after_help = "Example:\n  comet-run ab -- ./old/comet-run echo -n 2 -- ./new/comet-run echo -n 2"
    )]
    Ab(AbArgs),
    /// Launch a command several times, and keep its results as those of one run
    #[command(after_help = "Example:\n  comet-run launches -n 5 -- mpirun -n 4 comet-run echo")]
    Launches(LaunchesArgs),
    /// Measure operations against others that do the same, and report those that take longer
    #[command(after_help = "Example:\n  comet-run guidelines allreduce bcast -n 4")]
    Guidelines(GuidelinesArgs),
    /// List the machines that can be simulated, or describe one
    #[command(after_help = "Example:\n  comet-run machines ipsc860")]
    Machines(MachinesArgs),
    /// Measure this machine, and write a machine file for the simulator
    #[command(after_help = "Example:\n  comet-run calibrate -n 2 -o host.toml")]
    Calibrate(CalibrateArgs),
    /// Regenerate published results on a simulated machine, and compare
    #[command(after_help = "Example:\n  comet-run reproduce thesis --csv curves")]
    Reproduce(ReproduceArgs),
    /// Check that result files are complete and well formed
    #[command(after_help = "Example:\n  comet-run validate a.jsonl")]
    Validate(ValidateArgs),
    /// Convert result files for another program
    #[command(after_help = "Example:\n  comet-run export openmetrics a.jsonl -o a.prom")]
    Export(ExportArgs),
    /// Merge result files of one command line into one that has all launches
    #[command(after_help = "Example:\n  comet-run merge a.jsonl b.jsonl c.jsonl -o merged.jsonl")]
    Merge(MergeArgs),
    /// Convert the output of another benchmark into a result file
    #[command(after_help = "Example:\n  comet-run import auto osu.txt -o osu.jsonl")]
    Import(ImportArgs),
    /// Keep result files in a database: add, list, reindex, tokens, backup
    #[command(after_help = "Example:\n  comet-run db add results a.jsonl b.jsonl")]
    #[cfg_attr(not(feature = "db"), command(hide = true))]
    Db(DbArgs),
    /// Serve the pages of a database
    #[command(after_help = "Example:\n  comet-run serve results")]
    #[cfg_attr(not(feature = "db"), command(hide = true))]
    Serve(ServeArgs),
    /// Submit a result file to a database
    #[command(
        after_help = "Example:\n  comet-run submit a.jsonl --to https://results.example --yes"
    )]
    #[cfg_attr(not(feature = "db"), command(hide = true))]
    Submit(SubmitArgs),
    /// Print the page of a kernel, or the help of a subcommand
    #[command(after_help = "Example:\n  comet-run help echo")]
    Help(HelpArgs),
    /// Print the JSON schema of result files
    #[command(after_help = "Example:\n  comet-run schema > comet.schema.json")]
    Schema,
    /// Print completions for a shell
    #[command(after_help = "Example:\n  source <(comet-run completions bash)")]
    Completions(CompletionsArgs),
    /// Print the man page
    #[command(after_help = "Example:\n  comet-run man | man -l -")]
    Man,
}

/// Width of help, in characters, where there is no terminal to ask; clap's own default.
const WIDTH: usize = 100;

/// Reads the command line `args`. If a launcher started this process (`is_launched`), what clap has
/// to say looks as in a file: the terminals that launchers make for their processes show neither
/// colours nor a width.
pub(crate) fn parse(args: Vec<OsString>, is_launched: bool) -> Result<Cli, clap::Error> {
    let mut command = Cli::command();
    if is_launched {
        command = command.color(ColorChoice::Never).term_width(WIDTH);
    }
    let own = args.get(1).and_then(|name| command.find_subcommand(name)).unwrap_or(&command);
    let has_axes = own.get_arguments().any(|argument| argument.get_long() == Some("axis"));
    let matches = command.try_get_matches_from_mut(args);
    let matches = matches.map_err(|error| explained(error, has_axes))?;
    let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
    match &cli.command {
        Some(Command::Help(args)) => match &args.topics[..] {
            [] => Err(help(command, &[])),
            [name] if command.find_subcommand(name).is_some() => Err(help(command, &[name])),
            _ => Ok(cli),
        },
        _ => Ok(cli),
    }
}

/// `error`, or what is wrong with a negative value, which looks like an option, or with an axis that is
/// written like one to a command that has them.
fn explained(error: clap::Error, has_axes: bool) -> clap::Error {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else { return error };
    let is_negative =
        word.strip_prefix('-').is_some_and(|of| of.starts_with(|c: char| c.is_ascii_digit()));
    let name = word.strip_prefix("--").map(|name| name.replace('-', "_"));
    let is_axis = |name: &String| {
        let is_unknown = error.kind() == ErrorKind::UnknownArgument;
        has_axes && is_unknown && catalogue::axes().contains_key(&**name)
    };
    let sentence = match name.filter(is_axis) {
        Some(name) => {
            format!("{word} is no option, but an axis of kernels (write --axis {name}=VALUE)\n")
        }
        None if is_negative => format!(
            "'{word}' is below zero, as no value of an option may be (write it without the -)\n"
        ),
        None => return error,
    };
    clap::Error::raw(ErrorKind::InvalidValue, sentence)
}

/// The long help of `command`, or of its subcommand.
fn help(mut command: clap::Command, subcommand: &[&String]) -> clap::Error {
    let words = ["comet-run"].into_iter().chain(subcommand.iter().map(|name| name.as_str()));
    command
        .try_get_matches_from_mut(words.chain(["--help"]))
        .expect_err("--help always ends the parse")
}

/// Returns version, commit and features, as `--version` prints them.
fn long_version() -> String {
    let all = [
        ("mpi", cfg!(feature = "mpi")),
        ("png", cfg!(feature = "png")),
        ("db", cfg!(feature = "db")),
        ("db-postgres", cfg!(feature = "db-postgres")),
    ];
    let features = all.into_iter().filter(|(_, is_on)| *is_on).map(|(name, _)| name);
    let features = features.collect::<Vec<_>>().join(", ");
    let (version, commit) = (env!("CARGO_PKG_VERSION"), option_env!("COMET_GIT_REV"));
    let features = if features.is_empty() { "none" } else { &*features };
    format!("{version}\ncommit: {}\nfeatures: {features}", commit.unwrap_or("unknown"))
}

/// The table of exit codes, as in `--help` and the man page.
pub(crate) fn exit_codes() -> String {
    let line = |(code, meaning): &(u8, &str)| format!("  {code:>3}  {meaning}\n");
    let lines: String = exit::TABLE.iter().map(line).collect();
    format!("Exit codes:\n{lines}")
}

#[cfg(test)]
mod tests {
    use super::values::RankCounts;
    use super::*;

    fn parse(line: &str) -> Cli {
        Cli::try_parse_from(line.split_whitespace()).expect("a valid command line")
    }

    #[test]
    fn the_description_of_the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn kernels_are_selected_with_and_without_the_word_run() {
        for line in ["comet-run echo barrier -n 2", "comet-run run echo barrier -n 2"] {
            let cli = parse(line);
            let args = match cli.command {
                Some(Command::Run(args)) => args,
                other => {
                    assert!(other.is_none(), "{line}");
                    cli.run
                }
            };
            assert_eq!(
                (args.plan.select, args.plan.world.ranks),
                (vec!["echo".into(), "barrier".into()], Some(RankCounts(vec![2])))
            );
        }
    }

    #[test]
    fn no_kernel_suite_or_alias_is_called_like_a_command() {
        let command = Cli::command();
        let infos = catalogue::infos();
        // The command `health` is about the suite of that name: it measures and judges it.
        let suites = infos.iter().map(|info| info.suite).filter(|suite| *suite != "health");
        let names = infos.iter().map(|info| info.name).chain(suites);
        for name in names.chain(infos.iter().flat_map(|info| info.aliases).copied()) {
            assert!(command.find_subcommand(name).is_none(), "{name} is a command");
        }
    }

    #[test]
    fn a_backend_that_this_build_may_lack_is_a_known_word() {
        assert_eq!(parse("comet-run echo -t mpi").run.plan.world.transport, OPTIONAL);
        assert!(Cli::try_parse_from(["comet-run", "echo", "-t", "pigeon"]).is_err());
    }

    #[test]
    fn mesh_and_topology_file_exclude_each_other() {
        let line = "comet-run echo --mesh 2x2 --topology t.json";
        assert!(Cli::try_parse_from(line.split_whitespace()).is_err());
    }
}
