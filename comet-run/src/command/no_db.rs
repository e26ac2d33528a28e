//! `db`, `serve` and `submit` in a build without the database.

use crate::cli::NoDbArgs;
use crate::exit;

/// Refuses the command `name`, with the way to a build that has it.
pub(crate) fn refuse(name: &str, args: &NoDbArgs) -> anyhow::Result<u8> {
    let words: String = args.words.iter().map(|word| format!(" {}", word.display())).collect();
    Err(exit::usage(format!(
        "comet-run {name}{words} needs the result database, which this build lacks (build it with \
         cargo build --release -p comet-run --features db)"
    )))
}
