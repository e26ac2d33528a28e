//! Arguments of the commands of the result database, in a build without it.

use std::ffi::OsString;

use clap::Args;

/// Any words: the command refuses them all.
#[derive(Debug, Args)]
pub(crate) struct NoDbArgs {
    /// Arguments, which need a build with the feature db
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<OsString>,
}
