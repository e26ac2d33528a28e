//! Arguments of the commands that read files or print descriptions.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use comet_report::compare::RENDERERS;
use comet_report::format::FORMATS;
use comet_report::import::RANKS;

use super::values::{parse_bytes, parse_date, parse_label, parse_positive_time, parse_share};

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Kernels, suites and aliases [default: all]
    #[arg(value_name = "KERNEL")]
    pub(crate) kernels: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the index of all kernels as Markdown
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HelpArgs {
    /// A subcommand, or kernels, suites and aliases [default: the program]
    #[arg(value_name = "TOPIC")]
    pub(crate) topics: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct MachinesArgs {
    /// The machine: a name, or a file
    #[arg(value_name = "NAME|FILE")]
    pub(crate) machine: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ReproduceArgs {
    /// Study to reproduce: thesis, figures 4.1 and 5.1 to 5.16 of that which CoMet is from, on the Intel iPSC/860
    #[arg(value_name = "STUDY", value_parser = ["thesis"])]
    pub(crate) study: String,
    /// Another machine: a name of `comet-run machines`, or a file [default: ipsc860-fit, and ipsc860-marks for figures 5.1 and 5.2]
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) machine: Option<String>,
    /// Folder for the curves, one file for each figure (figure-5.1.csv)
    #[arg(long, value_name = "DIR")]
    pub(crate) csv: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ValidateArgs {
    /// Result files
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Result files
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "table", value_parser = formats())]
    pub(crate) format: String,
    /// Print figures in text form as well; several files are overlaid
    #[arg(long)]
    pub(crate) plots: bool,
    /// Answer questions as well: the fastest mode of messages, the library's collectives against those by hand, compounds against the calls that they join
    #[arg(long)]
    pub(crate) questions: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FitArgs {
    /// Result file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Sizes at which a new line starts [default: detected]
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = parse_bytes)]
    pub(crate) breakpoints: Vec<u64>,
    /// Output format of the models
    #[arg(long, value_name = "FORMAT", default_value = "table", value_parser = ["table", "jsonl"])]
    pub(crate) format: String,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Result files; several are overlaid in one page
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Page to write, or - for standard output; an existing file is replaced
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub(crate) out: PathBuf,
    /// Heading of the page [default: the name of the file]
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// Result files to compare with the others, as compare does
    #[arg(long, value_name = "NEW", num_args = 1..)]
    pub(crate) to: Vec<PathBuf>,
    /// Compare runs whose fingerprints differ
    #[arg(long, requires = "to")]
    pub(crate) allow_env_diff: bool,
    /// Show the figures of the thesis [default: for runs on its simulated machine]
    #[arg(long)]
    pub(crate) thesis: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PlotArgs {
    /// Result files; their runs are overlaid
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Draw these figures, by the names that --list shows or by their numbers in the thesis (5.1)
    #[arg(long, value_name = "FIGURE", value_delimiter = ',')]
    pub(crate) figure: Vec<String>,
    /// Folder for the figures, or, for a single one, a file that ends in .svg, .png, .csv or .gp
    /// [default: comet-plots]
    #[arg(short, long, value_name = "DIR|FILE")]
    pub(crate) out: Option<PathBuf>,
    /// File format [default: svg, or by the extension of the file]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<PlotFormat>,
    /// Print names and titles of the figures, and write nothing
    #[arg(long)]
    pub(crate) list: bool,
    /// Draw on a dark ground
    #[arg(long)]
    pub(crate) dark: bool,
}

/// File format of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlotFormat {
    /// A picture that can be enlarged
    Svg,
    /// A picture of pixels
    Png,
    /// The values
    Csv,
    /// A script for gnuplot, with the values in it
    Gnuplot,
}

#[derive(Debug, Args)]
// The base comes first: after --to, it would be taken for one more file that is judged.
#[command(override_usage = "comet-run compare [OPTIONS] <BASE>... --to <NEW>...")]
pub(crate) struct CompareArgs {
    /// Result files of the base, each run in them one launch
    #[arg(value_name = "BASE", required = true)]
    pub(crate) base: Vec<PathBuf>,
    /// Result files to judge
    #[arg(long, value_name = "NEW", required = true, num_args = 1..)]
    pub(crate) to: Vec<PathBuf>,
    /// More result files of the base: if more than 5 % of its points differ from themselves, slower points fail nothing
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) control: Vec<PathBuf>,
    /// Pair launches in the order of their start, even if the sides did not alternate
    #[arg(long)]
    pub(crate) paired: bool,
    /// Compare single launches by their samples, which do not show the variation between launches
    #[arg(long)]
    pub(crate) allow_single: bool,
    /// Compare runs whose fingerprints differ
    #[arg(long)]
    pub(crate) allow_env_diff: bool,
    #[command(flatten)]
    pub(crate) judgement: JudgementArgs,
}

/// Criteria and outputs of a comparison.
#[derive(Debug, Args)]
pub(crate) struct JudgementArgs {
    /// Smallest change that counts; twice this share under 1 us, and never below 20 ns [default: 5%, and 0 where times are exact]
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    pub(crate) margin: Option<f64>,
    /// End with code 11 if points are inconclusive, changed or missing
    #[arg(long)]
    pub(crate) strict: bool,
    /// Format on standard output
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

#[derive(Debug, Args)]
#[command(override_usage = "comet-run ab [OPTIONS] -- COMMAND_A... -- COMMAND_B...")]
pub(crate) struct AbArgs {
    /// Launches of each command before the first look at what they measured
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) launches: u32,
    /// Most launches of each command, added until no point is inconclusive; twice as many where some
    /// are left out because a cache line takes another time in them
    #[arg(long, value_name = "N", default_value = "20", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) max_launches: u32,
    /// New folder for result files and logs [default: comet-results/ab-1, or the next number]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Time limit of a launch; then all of its processes are killed
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_positive_time)]
    pub(crate) timeout: Duration,
    /// Do not confirm changes in fresh launches
    #[arg(long)]
    pub(crate) no_confirm: bool,
    #[command(flatten)]
    pub(crate) judgement: JudgementArgs,
    /// Two commands, with -- between them; each writes its results into the file that COMET_OUT names, as comet-run does, or that stands for the word {out}
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) commands: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Format to convert to
    #[arg(value_name = "FORMAT", value_parser = formats())]
    pub(crate) format: String,
    /// Result files, read as if they were one
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// File to write; an existing one is replaced [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Result files of the same command line, measured one after the other
    #[arg(value_name = "FILE", required = true, num_args = 2..)]
    pub(crate) files: Vec<PathBuf>,
    /// Result file to write, or - for standard output
    #[arg(short, long, value_name = "FILE", required = true)]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Benchmark that printed the text: OSU micro-benchmarks, Intel MPI Benchmarks, SKaMPI 5 or 6, or auto, by the titles in the text
    #[arg(value_name = "BENCHMARK", value_parser = ["osu", "imb", "skampi", "auto"])]
    pub(crate) benchmark: String,
    /// Files with its output, each of which makes runs of its own, or - for standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Result file to write, or - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) out: PathBuf,
    /// Label of the runs, for their names and for the database
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_label)]
    pub(crate) label: Vec<(String, String)>,
    /// Name of the machine that the text is from, as --label machine=NAME
    #[arg(long, value_name = "NAME")]
    pub(crate) machine: Option<String>,
    /// Start of the runs (2024-05-06 or 2024-05-06T07:08:09Z), where the text has none
    #[arg(long, value_name = "DATE", value_parser = parse_date)]
    pub(crate) date: Option<SystemTime>,
    /// Number of ranks, if absent from the text (as in OSU's output of collectives)
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(RANKS))]
    pub(crate) ranks: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

/// Names of all formats.
fn formats() -> PossibleValuesParser {
    FORMATS.iter().map(|format| format.name()).collect::<Vec<_>>().into()
}

fn renderers() -> PossibleValuesParser {
    RENDERERS.iter().map(|(name, _)| *name).collect::<Vec<_>>().into()
}
