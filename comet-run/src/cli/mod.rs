//! The command line: its words and values, and nothing that they lead to.
//!
//! No file here names a command or a backend.

mod files;
mod measure;
mod method;
pub(crate) mod values;

use std::ffi::OsString;

use clap::{ColorChoice, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};

use crate::exit;
pub(crate) use files::{
    AbArgs, CompareArgs, CompletionsArgs, ExportArgs, FitArgs, ImportArgs, JudgementArgs, ListArgs,
    MachinesArgs, PlotArgs, PlotFormat, ReportArgs, ReproduceArgs, ShowArgs, ValidateArgs,
};
pub(crate) use measure::{
    CalibrateArgs, CaseArgs, CheckArgs, HealthArgs, LaunchesArgs, OPTIONAL, PlanArgs, ProgressArg,
    RunArgs, WorldArgs, profile_name,
};
pub(crate) use method::MethodArgs;

/// Command lines to start from, as in `--help` and the man page.
pub(crate) const EXAMPLES: &str = "\
Examples:
  comet-run all                                the whole 1993 benchmark on this machine
  comet-run echo barrier -n 2                  two kernels on two ranks
  comet-run barrier -n 2..16*2                 a kernel on 2, 4, 8 and 16 ranks, in one file
  comet-run 'matrix/*' -n 6 --mesh 2x3         all matrix kernels on a mesh of your choice
  comet-run echo -s 0,1..4Mi*2 --hops 1        0, 1, 2, 4 ... bytes to a neighbour
  comet-run plan all -n 8                      cases, time and memory of a run
  comet-run check -n 8                         test message passing on this machine
  comet-run all --machine ipsc860 -n 16        the same on a simulated iPSC/860
  comet-run show comet-results/X.jsonl --format csv

Sweeps are lists of counts and ranges, as in 0,8,1Ki..4Mi*2 or 0..100+10; K M G and Ki Mi Gi are
powers of 1024, kB MB GB of 1000.
";

/// Measures message passing: startup times, bandwidths, collectives, contention, overlap and
/// matrix operations.
#[derive(Debug, Parser)]
#[command(
    name = "comet-run",
    version,
    arg_required_else_help = true,
    args_conflicts_with_subcommands = true,
    after_help = EXAMPLES,
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
    #[arg(long, global = true, help_heading = "Terminal")]
    pub(crate) wide: bool,
    /// Colours of marks, errors and verdicts; auto: on a terminal, unless NO_COLOR is set
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        help_heading = "Terminal"
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

/// Subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure kernels (the default command)
    Run(RunArgs),
    /// List kernels, suites, aliases, axes and their default sweeps
    List(ListArgs),
    /// List the machines that can be simulated, or describe one
    Machines(MachinesArgs),
    /// Show the cases, time and memory of a run without running it
    #[command(mut_arg("select", |select| select.required(true)))]
    Plan(PlanArgs),
    /// Test message passing and the checks of all kernels on this machine
    Check(CheckArgs),
    /// Regenerate published results on a simulated machine, and report values beyond their tolerance
    Reproduce(ReproduceArgs),
    /// Measure this machine, and write a machine file for the simulator
    Calibrate(CalibrateArgs),
    /// Check that result files are complete and well formed
    Validate(ValidateArgs),
    /// Print a result file as a table, CSV or JSON lines
    Show(ShowArgs),
    /// Fit models to the sweeps of a result file: startup time, bandwidth, cost of a hop, scaling
    Fit(FitArgs),
    /// Write a page of figures and tables
    Report(ReportArgs),
    /// Draw single figures of result files as SVG or PNG
    Plot(PlotArgs),
    /// Compare two sets of result files, and report slower and faster points
    Compare(CompareArgs),
    /// Run two commands alternately, several launches each, and compare their results
    Ab(AbArgs),
    /// Launch a command several times, and keep its results as those of one run with launches
    Launches(LaunchesArgs),
    /// Measure all pairs of ranks, the barrier and the noise, and report outliers
    Health(HealthArgs),
    /// Convert result files for another program
    Export(ExportArgs),
    /// Convert the output of another benchmark into a result file
    Import(ImportArgs),
    /// Print the JSON schema of result files
    Schema,
    /// Print completions for a shell
    Completions(CompletionsArgs),
    /// Print the man page
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
    let matches = command.try_get_matches_from_mut(args)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
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
    use crate::catalogue;

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
