//! The command line: its words and values, and nothing that they lead to.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{
    Args, ColorChoice, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum,
};
use comet_core::kernel::Profile;
use comet_report::format::{FORMATS, Format};

use crate::backend::{BACKENDS, OPTIONAL};
use crate::command::ab::AbArgs;
use crate::command::compare::CompareArgs;
use crate::command::export::ExportArgs;
use crate::command::health::HealthArgs;
use crate::command::import::ImportArgs;
use crate::command::plot::PlotArgs;
use crate::command::report::ReportArgs;
use crate::exit;
use crate::method::MethodArgs;
use crate::values::{
    Binding, MeshShape, RankCounts, parse_binding, parse_bytes, parse_injection, parse_label,
    parse_mesh, parse_positive_time, parse_ranks, parse_time,
};

/// Command lines to start from, as in `--help` and the man page.
pub(crate) const EXAMPLES: &str = "\
Examples:
  comet-run all                                the whole 1993 benchmark on this machine
  comet-run echo barrier -n 2                  two kernels on two ranks
  comet-run barrier -n 2..16*2                 a kernel on 2, 4, 8 and 16 ranks, in one file
  comet-run 'matrix/*' -n 6 --mesh 2x3         all matrix kernels on a mesh of your choice
  comet-run echo -s 0,1..4Mi*2 --hops 1        0, 1, 2, 4 ... bytes to a neighbour
  comet-run plan all -n 8                      what would run, how long, in how much memory
  comet-run check -n 8                         does message passing work here?
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
    /// What to do; `run` if none is given.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// What `run` takes.
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure kernels (the default command)
    Run(RunArgs),
    /// List kernels, suites, aliases, axes and their default sweeps
    List(ListArgs),
    /// List the machines that can be simulated, or say what is known of one
    Machines(MachinesArgs),
    /// Show what would run, how long it would take and how much memory it needs
    Plan(PlanArgs),
    /// Test message passing and the checks of all kernels on this machine
    Check(CheckArgs),
    /// Regenerate published results on a simulated machine, and say which values are off
    Reproduce(ReproduceArgs),
    /// Measure this machine, and write a machine file for the simulator
    Calibrate(CalibrateArgs),
    /// Check that result files are whole and well formed
    Validate(ValidateArgs),
    /// Print a result file as a table, CSV or JSON lines
    Show(ShowArgs),
    /// Fit models to the sweeps of a result file: startup time, bandwidth, cost of a hop, scaling
    Fit(FitArgs),
    /// Make a page of figures and tables from result files
    Report(ReportArgs),
    /// Draw single figures of result files as SVG or PNG
    Plot(PlotArgs),
    /// Compare two sets of result files, and say what became slower or faster
    Compare(CompareArgs),
    /// Run two commands in turn, several launches each, and compare what they measured
    Ab(AbArgs),
    /// Measure all pairs of ranks, the barrier and the noise, and name what stands out
    Health(HealthArgs),
    /// Convert result files for another program
    Export(ExportArgs),
    /// Make a result file from what another benchmark printed
    Import(ImportArgs),
    /// Print the JSON schema of result files
    Schema,
    /// Print completions for a shell
    Completions(CompletionsArgs),
    /// Print the man page
    Man,
}

/// What `run` takes.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// What to measure: all, suites, kernels, suite/kernel, globs, aliases like IMB:PingPong
    #[arg(value_name = "SELECT")]
    pub(crate) select: Vec<String>,
    #[command(flatten)]
    pub(crate) world: WorldArgs,
    #[command(flatten)]
    pub(crate) cases: CaseArgs,
    #[command(flatten)]
    pub(crate) effort: EffortArgs,
    #[command(flatten)]
    pub(crate) method: MethodArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Spoil what the check of a kernel sees, to show that it notices
    #[arg(long, value_name = "corrupt:KERNEL", hide = true, value_parser = parse_injection)]
    pub(crate) inject: Option<String>,
}

/// What `plan` takes.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// What to plan: all, suites, kernels, suite/kernel, globs, aliases like IMB:PingPong
    #[arg(value_name = "SELECT", required = true)]
    pub(crate) select: Vec<String>,
    #[command(flatten)]
    pub(crate) world: WorldArgs,
    #[command(flatten)]
    pub(crate) cases: CaseArgs,
    #[command(flatten)]
    pub(crate) effort: EffortArgs,
    #[command(flatten)]
    pub(crate) method: MethodArgs,
}

/// What `check` takes.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Kernels to check
    #[arg(value_name = "SELECT", default_value = "all")]
    pub(crate) select: Vec<String>,
    #[command(flatten)]
    pub(crate) world: WorldArgs,
    /// Spoil what the check of a kernel sees, to show that it notices
    #[arg(long, value_name = "corrupt:KERNEL", hide = true, value_parser = parse_injection)]
    pub(crate) inject: Option<String>,
}

/// Where kernels run.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Ranks")]
pub(crate) struct WorldArgs {
    /// Number of ranks, or several as in 2..16*2, one run each [default: usable CPUs, at least 4, or as many as mpirun or srun started]
    #[arg(short = 'n', long, value_name = "N", value_parser = parse_ranks)]
    pub(crate) ranks: Option<RankCounts>,
    /// What moves the messages
    #[arg(short, long, value_name = "NAME", default_value = "auto", value_parser = transports())]
    pub(crate) transport: String,
    /// Machine to simulate: a name of `comet-run machines`, or a file [default: ipsc860, under -t sim]
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) machine: Option<String>,
    /// Seed of the order of the cases, and of the noise, the faults and the clocks of a simulated machine [default: 1, and that of its file]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Dimensions of the processor mesh, rows x columns [default: near-square]
    #[arg(long, value_name = "RxC", value_parser = parse_mesh, conflicts_with = "topology")]
    pub(crate) mesh: Option<MeshShape>,
    /// Mesh and distances from a JSON file, a table each under the keys mesh and hops
    #[arg(long, value_name = "FILE")]
    pub(crate) topology: Option<PathBuf>,
    /// CPUs of the ranks: core (one each, round robin), none, or a list like 0,2,4..7 [default: core, or as mpirun or srun put them]
    #[arg(long, value_name = "WHERE", value_parser = parse_binding)]
    pub(crate) bind: Option<Binding>,
    /// Longest wait of a rank before the job is ended; 0 for no limit [default: 10s, --time, and 50ms a rank]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) watchdog: Option<Duration>,
}

/// Which cases of the kernels are measured.
#[derive(Debug, Args)]
#[command(next_help_heading = "Cases")]
pub(crate) struct CaseArgs {
    /// How thoroughly to measure: default sweeps and time per case
    #[arg(long, value_name = "NAME", default_value = "standard")]
    pub(crate) profile: ProfileArg,
    /// Message lengths in bytes
    #[arg(short, long, value_name = "SWEEP")]
    pub(crate) sizes: Option<String>,
    /// Vector lengths in doubles
    #[arg(long, value_name = "SWEEP")]
    pub(crate) vector_lengths: Option<String>,
    /// Dimensions of the matrix block of one rank
    #[arg(long, value_name = "SWEEP")]
    pub(crate) local_n: Option<String>,
    /// Distances between two ranks; max is the largest there is
    #[arg(long, value_name = "SWEEP")]
    pub(crate) hops: Option<String>,
    /// Most memory that a case may take on one rank; others are skipped
    #[arg(long, value_name = "SIZE", default_value = "1Gi", value_parser = parse_bytes)]
    pub(crate) mem: u64,
}

/// How long and how often to measure.
#[derive(Debug, Args)]
#[command(next_help_heading = "Effort")]
pub(crate) struct EffortArgs {
    /// Operations per sample [default: by the clock]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) repetitions: Option<u32>,
    /// Samples per case and series [default: until the interval of the median is narrow]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) samples: Option<u32>,
    /// Time for the samples of one case [default: 20ms, 200ms or 2s, by profile]
    #[arg(long, value_name = "TIME", value_parser = parse_positive_time)]
    pub(crate) time: Option<Duration>,
    /// Time after which no further case is started
    #[arg(long, value_name = "TIME", value_parser = parse_positive_time)]
    pub(crate) budget: Option<Duration>,
}

/// What is printed and kept.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Result file, or none [default: comet-results/HOST-TIME-ID.jsonl]
    #[arg(short, long, env = "COMET_OUT", hide_env_values = true, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// What is printed on standard output
    #[arg(long, value_name = "FORMAT", default_value = "table", value_parser = formats_or_none())]
    pub(crate) format: String,
    /// Label for the record; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_label)]
    pub(crate) label: Vec<(String, String)>,
    /// Progress on standard error: auto shows it on a terminal only, and not under mpirun or srun
    #[arg(long, value_name = "HOW", default_value = "auto")]
    pub(crate) progress: ProgressArg,
    /// Print no notes and no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// What `list` takes.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `machines` takes.
#[derive(Debug, Args)]
pub(crate) struct MachinesArgs {
    /// The machine: a name, or a file
    #[arg(value_name = "NAME|FILE")]
    pub(crate) machine: Option<String>,
}

/// What `reproduce` takes.
#[derive(Debug, Args)]
pub(crate) struct ReproduceArgs {
    /// Whose results
    #[arg(value_name = "STUDY")]
    pub(crate) study: Study,
    /// Another machine: a name of `comet-run machines`, or a file [default: ipsc860-fit, and ipsc860-marks for figures 5.1 and 5.2]
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) machine: Option<String>,
    /// Folder for the curves, one file for each figure (figure-5.1.csv)
    #[arg(long, value_name = "DIR")]
    pub(crate) csv: Option<PathBuf>,
}

/// What `calibrate` takes.
#[derive(Debug, Args)]
pub(crate) struct CalibrateArgs {
    #[command(flatten)]
    pub(crate) world: WorldArgs,
    /// How thoroughly to measure: time per case
    #[arg(long, value_name = "NAME", default_value = "standard")]
    pub(crate) profile: ProfileArg,
    /// Machine file to write; the samples go beside it, into a file that ends in .jsonl
    #[arg(short, long, value_name = "FILE", default_value = "host.toml")]
    pub(crate) out: PathBuf,
    /// SimGrid platform file to write as well
    #[arg(long, value_name = "FILE")]
    pub(crate) simgrid: Option<PathBuf>,
}

/// What `validate` takes.
#[derive(Debug, Args)]
pub(crate) struct ValidateArgs {
    /// Result files
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
}

/// What `show` takes.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Result files
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// How to print them
    #[arg(long, value_name = "FORMAT", default_value = "table", value_parser = formats())]
    pub(crate) format: String,
    /// Print their figures as well, in letters; several files are overlaid
    #[arg(long)]
    pub(crate) plots: bool,
}

/// What `fit` takes.
#[derive(Debug, Args)]
pub(crate) struct FitArgs {
    /// Result file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Sizes at which a new line starts, instead of those that the times show
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = parse_bytes)]
    pub(crate) breakpoints: Vec<u64>,
    /// How to print the models
    #[arg(long, value_name = "FORMAT", default_value = "table", value_parser = ["table", "jsonl"])]
    pub(crate) format: String,
}

/// What `completions` takes.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

/// A study whose results can be regenerated.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Study {
    /// Figures 4.1 and 5.1 to 5.16 of the thesis that CoMet is from, on the Intel iPSC/860
    Thesis,
}

/// A [`Profile`] by name.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ProfileArg {
    /// Everything once over, in seconds
    Quick,
    /// Minutes
    Standard,
    /// Dense sweeps and long samples
    Full,
}

impl ProfileArg {
    /// Name on the command line and in the record.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Standard => "standard",
            Self::Full => "full",
        }
    }

    /// The profile.
    pub(crate) fn profile(self) -> Profile {
        match self {
            Self::Quick => Profile::Quick,
            Self::Standard => Profile::Standard,
            Self::Full => Profile::Full,
        }
    }
}

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressArg {
    /// A line that is redrawn, if standard error is a terminal of the user's
    Auto,
    /// One plain line per kernel
    Plain,
    /// Nothing
    None,
}

/// Width of help, in characters, where there is no terminal to ask; clap's own default.
const WIDTH: usize = 100;

/// Reads the command line `args`. If a launcher started this process (`is_launched`), what clap has
/// to say looks as in a file: the terminals that launchers make for their processes show neither
/// colours nor a width.
///
/// # Errors
/// If it is wrong, or asks for help.
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

/// Names of all backends; help shows those that this build has.
fn transports() -> PossibleValuesParser {
    let present: Vec<&str> = BACKENDS.iter().map(|backend| backend.name()).collect();
    let missing = OPTIONAL.iter().filter(|name| !present.contains(name));
    let hidden = missing.map(|name| PossibleValue::new(*name).hide(true));
    let shown = std::iter::once("auto").chain(present.iter().copied()).map(PossibleValue::new);
    shown.chain(hidden).collect::<Vec<_>>().into()
}

/// Names of all formats.
pub(crate) fn formats() -> PossibleValuesParser {
    FORMATS.iter().map(|format| format.name()).collect::<Vec<_>>().into()
}

/// Names of all formats; help shows those that can be printed while a run goes on.
fn formats_or_none() -> PossibleValuesParser {
    let shown = |format: &&dyn Format| PossibleValue::new(format.name()).hide(format.is_document());
    let none = [PossibleValue::new("none")];
    FORMATS.iter().map(shown).chain(none).collect::<Vec<_>>().into()
}

#[cfg(test)]
mod tests {
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
                (args.select, args.world.ranks),
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
        for name in OPTIONAL {
            assert_eq!(parse(&format!("comet-run echo -t {name}")).run.world.transport, *name);
        }
        assert!(Cli::try_parse_from(["comet-run", "echo", "-t", "pigeon"]).is_err());
    }

    #[test]
    fn mesh_and_topology_file_exclude_each_other() {
        let line = "comet-run echo --mesh 2x2 --topology t.json";
        assert!(Cli::try_parse_from(line.split_whitespace()).is_err());
    }
}
