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
    Run(RunArgs),
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
