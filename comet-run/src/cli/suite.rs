//! Arguments of the commands of suite files.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{PlanArgs, RunArgs};

/// Name of a suite file, in help texts.
const FILE: &str = "FILE|builtin:NAME";

/// Commands of suite files.
#[derive(Debug, Subcommand)]
pub(crate) enum SuiteCommand {
    /// Measure the entries of a suite file in turn, into one result file
    #[command(mut_arg("select", |file| of_suite(file)))]
    #[command(after_help = "Options win over the keys of the file.")]
    Run(SuiteRunArgs),
    /// Check a suite file, and show the cases, time and memory of its entries
    #[command(mut_arg("select", |file| of_suite(file)))]
    #[command(after_help = "Options win over the keys of the file.")]
    Plan(PlanArgs),
    /// List the built-in suite files
    List,
    /// Print a suite file, to copy and to change
    Show(SuiteShowArgs),
    /// Convert a suite of SKaMPI: a script (.ski) or a parameter file (.skm)
    Import(SuiteImportArgs),
    /// Print the JSON schema of suite files, for editors
    Schema,
}

#[derive(Debug, Args)]
pub(crate) struct SuiteRunArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    #[command(flatten)]
    pub(crate) journal: JournalArgs,
}

/// Use of a result file that has units of the suite already.
#[derive(Debug, Args)]
#[command(next_help_heading = "Units")]
pub(crate) struct JournalArgs {
    /// Measure all units anew, into a file beside the one of --out, if that is there
    #[arg(long)]
    pub(crate) again: bool,
    /// Attempts at a unit that may fail before it is given up, and starts of --launch in a row that may begin none
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) attempts: u32,
    /// Go on with a file that was begun in another environment: processor, system, tuning variables
    #[arg(long)]
    pub(crate) allow_env_diff: bool,
    /// Start this command, and start it again while units are left and it does not end in order; {comet} in it stands for this program with its arguments, which follows it otherwise (mpirun -n 4)
    #[arg(long, value_name = "COMMAND")]
    pub(crate) launch: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SuiteShowArgs {
    /// Suite file
    #[arg(value_name = FILE)]
    pub(crate) file: String,
}

#[derive(Debug, Args)]
pub(crate) struct SuiteImportArgs {
    /// Suite of SKaMPI
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Suite file to write, or - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) out: PathBuf,
}

/// The argument that selects kernels, as one that names a suite file.
fn of_suite(select: clap::Arg) -> clap::Arg {
    let one = select.action(clap::ArgAction::Set).num_args(1).required(true);
    one.value_name(FILE).help("Suite file")
}
