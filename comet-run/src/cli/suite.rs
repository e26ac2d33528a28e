//! Arguments of the commands of suite files.

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
    Run(RunArgs),
    /// Check a suite file, and show the cases, time and memory of its entries
    #[command(mut_arg("select", |file| of_suite(file)))]
    #[command(after_help = "Options win over the keys of the file.")]
    Plan(PlanArgs),
    /// List the built-in suite files
    List,
    /// Print a suite file, to copy and to change
    Show(SuiteShowArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SuiteShowArgs {
    /// Suite file
    #[arg(value_name = FILE)]
    pub(crate) file: String,
}

/// The argument that selects kernels, as one that names a suite file.
fn of_suite(select: clap::Arg) -> clap::Arg {
    select.value_name(FILE).help("Suite file").num_args(1).required(true)
}
