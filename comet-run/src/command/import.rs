//! `import`: what another benchmark printed, as a result file.

use std::time::SystemTime;

use anyhow::Context as _;
use comet_report::import::{Surroundings, import as records_of, write};
use comet_report::recorder::argv;
use comet_report::suite;

use super::files;
use crate::cli::ImportArgs;
use crate::exit;
use crate::paths;
use crate::results::create_new;

/// Writes the records of a text.
pub(crate) fn import(args: &ImportArgs) -> anyhow::Result<u8> {
    let stdin = files::is_stdout(&args.file).then(std::io::stdin);
    let text = match stdin {
        Some(stdin) => paths::text_in(&args.file, stdin.lock()),
        None => paths::text_of(&args.file),
    }?;
    let suite = match &*args.benchmark {
        "osu" => Some(&suite::osu::SUITE),
        "imb" => Some(&suite::imb::SUITE),
        _ => suite::of_text(&text),
    };
    let name = args.file.display();
    let suite = suite.ok_or_else(|| {
        exit::usage(format!("{name} has no title of osu or imb (write import osu or import imb)"))
    })?;
    let around = Surroundings { n_ranks: args.ranks, argv: argv(), imported_at: SystemTime::now() };
    let records = records_of(suite, &text, &around)
        .map_err(|error| exit::usage(format!("{name}: {error}")))?;
    let mut lines = Vec::new();
    write(&records, &mut lines).context("cannot make records")?;
    if !files::is_stdout(&args.out) {
        create_new(&args.out)?;
    }
    files::write(&args.out, &lines)?;
    Ok(exit::OK)
}
