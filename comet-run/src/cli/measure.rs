//! Arguments of the commands that measure.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use comet_core::driver::{LoopLimits, Multiples, Rules, StopRule};
use comet_core::kernel::{Fault, Profile};
use comet_core::topology::RankGrid;
use comet_report::format::{FORMATS, Format};
use comet_report::health::FACTOR;

use super::MethodArgs;
use super::method::parse_percent;
use super::storage::StorageArgs;
use super::values::{
    Binding, MeshShape, RankCounts, SampleCount, parse_axis, parse_binding, parse_bytes,
    parse_factor, parse_injection, parse_label, parse_loop_limits, parse_mesh, parse_multiples,
    parse_positive_time, parse_ranks, parse_samples, parse_share, parse_time, parse_unit,
};

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// Kernels: all, suites, kernels, suite/kernel, globs, aliases like IMB:PingPong
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
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) plan: PlanArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Inject a fault into a kernel, to test its check
    #[arg(long, value_name = "FAULT:KERNEL", hide = true, value_parser = parse_injection)]
    pub(crate) inject: Option<(&'static Fault, String)>,
    /// Exit with 0 where limits leave out all lengths, as the programs do whose command lines are
    /// translated
    #[arg(long, hide = true)]
    pub(crate) accept_limits: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Kernels to check
    #[arg(value_name = "SELECT", default_value = "all")]
    pub(crate) select: Vec<String>,
    #[command(flatten)]
    pub(crate) world: WorldArgs,
    #[command(flatten)]
    pub(crate) storage: StorageArgs,
    /// Inject a fault into a kernel, to test its check
    #[arg(long, value_name = "FAULT:KERNEL", hide = true, value_parser = parse_injection)]
    pub(crate) inject: Option<(&'static Fault, String)>,
}

/// Ranks and the place where they run.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Ranks")]
pub(crate) struct WorldArgs {
    /// Number of ranks, or several as in 2..16*2, one run each
    ///
    /// [default: physical cores, at least 2, and 4 for check; all processes under mpirun or srun]
    #[arg(short = 'n', long, value_name = "N", value_parser = parse_ranks)]
    pub(crate) ranks: Option<RankCounts>,
    /// Transport: shared memory, MPI or simulator
    #[arg(short, long, value_name = "NAME", default_value = "auto", value_parser = transports())]
    pub(crate) transport: String,
    /// Machine to simulate: a name of `comet-run machines`, or a file
    ///
    /// [default: ipsc860, under -t sim]
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) machine: Option<String>,
    /// Seed of the case order and of simulated noise, faults and clocks [default: 1, and that of the machine file]
    #[arg(
        long,
        env = "COMET_SEED",
        hide_env_values = true,
        value_name = "N",
        hide_short_help = true
    )]
    pub(crate) seed: Option<u64>,
    /// Variation of simulated times beyond that of the machine file: standard deviation of a log-normal factor, in percent
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, hide_short_help = true)]
    pub(crate) unsteady: Option<f64>,
    /// Dimensions of the processor mesh, rows x columns [default: near-square]
    #[arg(long, value_name = "RxC", value_parser = parse_mesh, conflicts_with = "topology", hide_short_help = true)]
    pub(crate) mesh: Option<MeshShape>,
    /// Renumber the ranks: they fill P rows and Q columns down the columns, and are counted along the rows, so that with P ranks of a node neighbours are on different nodes
    #[arg(long, value_name = "PxQ", hide_short_help = true)]
    pub(crate) map: Option<RankGrid>,
    /// JSON file with the mesh and the distances, one table each under the keys mesh and hops
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) topology: Option<PathBuf>,
    /// Threads that may call MPI, for -t mpi: single as with MPI_Init, or a level that many libraries take locks for [default: single]
    #[arg(long, value_name = "LEVEL", value_parser = ["single", "funneled", "serialized", "multiple"], hide_short_help = true)]
    pub(crate) thread_level: Option<String>,
    /// CPUs of the ranks: core (one each, round robin), none, or a list like 0,2,4..7 [default: core; the launcher's binding under mpirun or srun]
    #[arg(long, value_name = "WHERE", value_parser = parse_binding, hide_short_help = true)]
    pub(crate) bind: Option<Binding>,
    /// Abort if a rank blocks in one call for longer than this; 0 disables [default: 10s + --time + 50ms per rank, as many times as ranks take turns on a CPU]
    #[arg(long, value_name = "TIME", value_parser = parse_time, hide_short_help = true)]
    pub(crate) watchdog: Option<Duration>,
}

/// Cases of the selected kernels.
#[derive(Debug, Args)]
#[command(next_help_heading = "Cases")]
pub(crate) struct CaseArgs {
    /// Thoroughness: default sweeps and time per case
    #[arg(long, value_name = "NAME", default_value = "standard", value_parser = profiles())]
    pub(crate) profile: Profile,
    /// Message lengths in bytes
    #[arg(short, long, value_name = "SWEEP")]
    pub(crate) sizes: Option<String>,
    /// Round message lengths up to whole multiples of this, those of reductions to whole elements
    #[arg(long, value_name = "SIZE", value_parser = parse_unit, hide_short_help = true)]
    pub(crate) unit: Option<u64>,
    /// Vector lengths in doubles
    #[arg(long, value_name = "SWEEP", hide_short_help = true)]
    pub(crate) vector_lengths: Option<String>,
    /// Dimensions of the matrix block of one rank
    #[arg(long, value_name = "SWEEP", hide_short_help = true)]
    pub(crate) local_n: Option<String>,
    /// Distances between two ranks; max is the largest one
    #[arg(long, value_name = "SWEEP", hide_short_help = true)]
    pub(crate) hops: Option<String>,
    /// Threads of each rank, each with messages of its own, for kernels of imb-mt; more than one needs --thread-level multiple [default: 1]
    #[arg(long, value_name = "SWEEP", hide_short_help = true)]
    pub(crate) threads: Option<String>,
    /// Values of an axis of the kernels, as in local_n=8..64*2 or direction=north, or of procs, the number of ranks on which each case runs, groups, the number of groups of them that run it at once, and element, the type in which messages are counted; may be given several times
    #[arg(long, value_name = "NAME=VALUES", value_parser = parse_axis, hide_short_help = true)]
    pub(crate) axis: Vec<(String, String)>,
    /// Memory limit of a case on one rank; larger cases are skipped
    #[arg(long, value_name = "SIZE", default_value = "1Gi", value_parser = parse_bytes, hide_short_help = true)]
    pub(crate) mem: u64,
}

/// Time and number of samples.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Effort")]
pub(crate) struct EffortArgs {
    /// Operations per sample [default: by the resolution of the clock]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), hide_short_help = true)]
    pub(crate) repetitions: Option<u32>,
    /// Most data and time of a loop under --rules imb or imb-p2p, and time after which longer messages are skipped; none for any of the three [default: 40Mi,10s,210s, or 800Mi,none,none]
    #[arg(long, value_name = "SIZE,TIME[,TIME]", value_parser = parse_loop_limits, hide_short_help = true)]
    pub(crate) loop_limits: Option<LoopLimits>,
    /// Under --rules imb, operations of a loop as a multiple of the number of ranks that take part, fewer as messages become as long as SIZE; with ,rooted of operations with a root alone [default: by --loop-limits]
    #[arg(long, value_name = "SIZE[,rooted]", value_parser = parse_multiples, hide_short_help = true)]
    pub(crate) loop_multiples: Option<Multiples>,
    /// Under --rules imb, most operations of a loop in which each is complete before the next one begins, as transfers with a fence or a flush each are [default: --repetitions, or 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), hide_short_help = true)]
    pub(crate) loop_completed: Option<u32>,
    /// Least pause before each case, a tenth of the samples of the case before where they took longer [default: none]
    #[arg(long, value_name = "TIME", value_parser = parse_time, hide_short_help = true)]
    pub(crate) pause: Option<Duration>,
    /// Samples per case and series, or the fewest and the most under --rules skampi, as in 8..32 [default: until the confidence interval of the median is narrow]
    #[arg(long, value_name = "N[..N]", value_parser = parse_samples, hide_short_help = true)]
    pub(crate) samples: Option<SampleCount>,
    /// Standard error of the mean at which a case is done under --rules skampi, in percent of the mean [default: 10]
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, hide_short_help = true)]
    pub(crate) standard_error: Option<f64>,
    /// Operations before the timed ones [default: by their time, or by the rules]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1_000_000), hide_short_help = true)]
    pub(crate) warm_up: Option<u32>,
    /// Time for the samples of one case [default: 20ms, 200ms or 2s, by profile]
    #[arg(long, value_name = "TIME", value_parser = parse_positive_time, hide_short_help = true)]
    pub(crate) time: Option<Duration>,
    /// Time after which no further case is started
    #[arg(long, value_name = "TIME", value_parser = parse_positive_time, hide_short_help = true)]
    pub(crate) budget: Option<Duration>,
    /// Number of times that the ranks are started; the samples of each case are spread over them [default: 5, 12 or 20, by profile; 1 under mpirun or srun, with --samples or other rules, and without noise]
    #[arg(long, env = "COMET_LAUNCHES", hide_env_values = true, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), hide_short_help = true)]
    pub(crate) launches: Option<u32>,
    /// Time from the start of the first launch to the start of the last [default: 2.2 s for each gap; none with quick and with --time]
    #[arg(long, value_name = "TIME", value_parser = parse_positive_time, hide_short_help = true)]
    pub(crate) over: Option<Duration>,
}

impl EffortArgs {
    /// Rule of `SKaMPI` by which a case is done.
    pub(crate) fn stop_rule(&self) -> StopRule {
        let by_default = StopRule::SKAMPI;
        StopRule {
            samples: self.samples.and_then(SampleCount::bounds).unwrap_or(by_default.samples),
            error: self.standard_error.map_or(by_default.error, |percent| percent / 100.0),
        }
    }

    /// Limits of a loop by `rules`, if they are those of IMB.
    pub(crate) fn loop_limits(&self, rules: Rules) -> LoopLimits {
        let (multiples, completed) = (self.loop_multiples, self.loop_completed);
        let limits = self.loop_limits.or(rules.loop_limits()).unwrap_or(LoopLimits::IMB);
        LoopLimits { multiples, completed, ..limits }
    }
}

/// Outputs of a run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Result file, or none [default: comet-results/HOST-TIME-ID.jsonl]
    ///
    /// [env: COMET_OUT]
    #[arg(short, long, env = "COMET_OUT", hide_env = true, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Format on standard output
    #[arg(long, value_name = "FORMAT", default_value = "table", value_parser = formats_or_none())]
    pub(crate) format: String,
    /// Label for the record; repeatable
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_label, hide_short_help = true)]
    pub(crate) label: Vec<(String, String)>,
    /// Progress on standard error; auto: a line that is redrawn on a terminal, else a line every 30 s; none under mpirun or srun
    #[arg(long, value_name = "HOW", default_value = "auto", hide_short_help = true)]
    pub(crate) progress: ProgressArg,
    /// Print no notes and no progress
    #[arg(short, long, hide_short_help = true)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
#[command(override_usage = "comet-run launches [OPTIONS] -- COMMAND...")]
pub(crate) struct LaunchesArgs {
    /// Number of launches
    #[arg(short = 'n', long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) launches: u32,
    /// Time from the start of the first launch to the start of the last [default: 2.2 s for each gap]
    #[arg(long, value_name = "TIME", value_parser = parse_positive_time)]
    pub(crate) over: Option<Duration>,
    /// Half width of the 95 % confidence interval of each figure, in percent; launches are added until it is met, up to four times as many
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub(crate) target: Option<f64>,
    /// Seed of the first launch; each of the others gets its own (COMET_SEED)
    #[arg(long, env = "COMET_SEED", hide_env_values = true, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
    /// Time limit of a launch; then all of its processes are killed
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_positive_time)]
    pub(crate) timeout: Duration,
    /// Result file, or none [default: comet-results/HOST-TIME-ID.jsonl]
    #[arg(short, long, env = "COMET_OUT", hide_env_values = true, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Format on standard output
    #[arg(long, value_name = "FORMAT", default_value = "table", value_parser = formats_or_none())]
    pub(crate) format: String,
    /// The command; it writes its results into the file that COMET_OUT names, as comet-run does, or that stands for the word {out}
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// Options of commands that judge the file of their own runs.
#[derive(Clone, Debug, Args)]
pub(crate) struct StudyArgs {
    /// Time after which no further case is started
    #[arg(long, value_name = "TIME", value_parser = parse_positive_time)]
    pub(crate) budget: Option<Duration>,
    /// Result file [default: comet-results/HOST-TIME-ID.jsonl]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Label for the record; repeatable
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_label)]
    pub(crate) label: Vec<(String, String)>,
    /// Print no notes and no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HealthArgs {
    /// Result file of an earlier run, judged instead of a new one
    #[arg(value_name = "FILE", conflicts_with_all = ["WorldArgs", "profile", "sizes", "budget", "out", "label"])]
    pub(crate) file: Option<PathBuf>,
    /// Outlier threshold: ratio to the median of comparable times
    #[arg(long, value_name = "RATIO", default_value_t = FACTOR, value_parser = parse_factor)]
    pub(crate) factor: f64,
    #[command(flatten)]
    pub(crate) world: WorldArgs,
    /// Thoroughness: time per case
    #[arg(long, value_name = "NAME", default_value = "quick", value_parser = profiles())]
    pub(crate) profile: Profile,
    /// Message lengths in bytes [default: 8,1Mi]
    #[arg(short, long, value_name = "SWEEP")]
    pub(crate) sizes: Option<String>,
    #[command(flatten)]
    pub(crate) study: StudyArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AlgorithmsArgs {
    /// Collective operation: bcast, reduce, allreduce, alltoall and the like
    #[arg(value_name = "OPERATION", required_unless_present = "from")]
    pub(crate) operation: Option<String>,
    /// Algorithms, with commas between them [default: all that the operation has]
    #[arg(long, value_name = "NAMES")]
    pub(crate) algorithm: Option<String>,
    /// Draw the messages of an algorithm step by step, and measure nothing
    #[arg(long, value_name = "ALGORITHM")]
    pub(crate) show: Option<String>,
    /// Result file of an earlier run, judged instead of a new one
    #[arg(long, value_name = "FILE", conflicts_with_all = ["algorithm", "show", "WorldArgs", "profile", "sizes", "budget", "out", "label"])]
    pub(crate) from: Option<PathBuf>,
    /// Format on standard output: a table with sentences, JSON, a file of rules for Open MPI (coll_tuned_dynamic_rules_filename), or one for MPICH (MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE)
    #[arg(long, value_name = "FORMAT", default_value = "table", value_parser = ["table", "json", "openmpi", "mpich"])]
    pub(crate) format: String,
    #[command(flatten)]
    pub(crate) world: WorldArgs,
    /// Thoroughness: time per case
    #[arg(long, value_name = "NAME", default_value = "standard", value_parser = profiles())]
    pub(crate) profile: Profile,
    /// Message lengths in bytes [default: 8..1Mi*8, and 64Ki for --show]
    #[arg(short, long, value_name = "SWEEP")]
    pub(crate) sizes: Option<String>,
    #[command(flatten)]
    pub(crate) study: StudyArgs,
}

#[derive(Debug, Args)]
pub(crate) struct GuidelinesArgs {
    /// Operations whose guidelines are held against times: allreduce, bcast, pingpong_send_recv and the like [default: all]
    #[arg(value_name = "OPERATION")]
    pub(crate) operations: Vec<String>,
    /// Print the guidelines with their sources, and measure nothing
    #[arg(long)]
    pub(crate) list: bool,
    /// Result files of earlier runs, judged instead of a new one; their launches count together
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["list", "launch", "launches", "WorldArgs", "profile", "sizes", "budget", "out", "label"])]
    pub(crate) from: Vec<PathBuf>,
    /// Command that starts the ranks, once for each launch; {comet} in it stands for the command of a rank, which follows it otherwise (mpirun -n 4)
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["WorldArgs", "label"])]
    pub(crate) launch: Option<String>,
    /// Number of launches [default: 5, 12 or 20, by profile; 5 with --launch; 1 under mpirun or srun]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) launches: Option<u32>,
    /// Time limit of a launch by --launch; then all of its processes are killed
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_positive_time)]
    pub(crate) timeout: Duration,
    /// Excess over a bound that is no violation; twice this share under 1 us, and never below 20 ns [default: 5%, and 0 where times are exact]
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    pub(crate) margin: Option<f64>,
    /// End with code 10 if a guideline is violated, and with 11 if the launches decide none
    #[arg(long)]
    pub(crate) strict: bool,
    /// Format on standard output
    #[arg(long, value_name = "FORMAT", default_value = "table", value_parser = ["table", "json"])]
    pub(crate) format: String,
    #[command(flatten)]
    pub(crate) world: WorldArgs,
    /// Thoroughness: time per case
    #[arg(long, value_name = "NAME", default_value = "standard", value_parser = profiles())]
    pub(crate) profile: Profile,
    /// Message lengths in bytes [default: 8..1Mi by a factor of which the number of ranks is a power]
    #[arg(short, long, value_name = "SWEEP")]
    pub(crate) sizes: Option<String>,
    #[command(flatten)]
    pub(crate) study: StudyArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CalibrateArgs {
    #[command(flatten)]
    pub(crate) world: WorldArgs,
    /// Thoroughness: time per case
    #[arg(long, value_name = "NAME", default_value = "standard", value_parser = profiles())]
    pub(crate) profile: Profile,
    /// Machine file to write; the samples go to a file of the same name ending in .jsonl
    #[arg(short, long, value_name = "FILE", default_value = "host.toml")]
    pub(crate) out: PathBuf,
    /// SimGrid platform file to write as well
    #[arg(long, value_name = "FILE")]
    pub(crate) simgrid: Option<PathBuf>,
}

/// Every profile with its name and a help text.
const PROFILES: [(Profile, &str, &str); 3] = [
    (Profile::Quick, "quick", "Everything once over, in seconds"),
    (Profile::Standard, "standard", "Minutes"),
    (Profile::Full, "full", "Dense sweeps and long samples"),
];

/// Profiles by name.
fn profiles() -> impl TypedValueParser<Value = Profile> {
    let known = PROFILES.map(|(_, name, help)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(known).map(|text| {
        let found = PROFILES.into_iter().find(|(_, name, _)| *name == text);
        found.expect("clap accepts known profiles only").0
    })
}

/// Name of `profile` on the command line and in the record.
pub(crate) fn profile_name(profile: Profile) -> &'static str {
    PROFILES[profile as usize].1
}

/// Form of progress reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressArg {
    /// A line that is redrawn on a terminal, a line every 30 s elsewhere
    Auto,
    /// One plain line per kernel
    Plain,
    /// Nothing
    None,
}

/// Names of all transports; help hides those that this build lacks.
fn transports() -> PossibleValuesParser {
    let is_absent = |name: &str| name == OPTIONAL && !cfg!(feature = "mpi");
    let names = ["auto", "shm", "sim", OPTIONAL].into_iter();
    names.map(|name| PossibleValue::new(name).hide(is_absent(name))).collect::<Vec<_>>().into()
}

/// The transport that a build may lack, a feature of the same name.
pub(crate) const OPTIONAL: &str = "mpi";

/// Names of all formats; help shows those that can be printed while a run goes on.
fn formats_or_none() -> PossibleValuesParser {
    let shown = |format: &Format| PossibleValue::new(format.name()).hide(format.is_document());
    let none = [PossibleValue::new("none")];
    FORMATS.iter().map(shown).chain(none).collect::<Vec<_>>().into()
}
