//! `import`: what another benchmark printed, as a result file.

use std::path::Path;
use std::time::SystemTime;

use anyhow::Context as _;
use comet_report::import::{
    SKAMPI, Surroundings, import as records_of, import_skampi, is_skampi, write,
};
use comet_report::recorder::argv;
use comet_report::suite::{self, Suite};

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
    let around = Surroundings { n_ranks: args.ranks, argv: argv(), imported_at: SystemTime::now() };
    let records = match &*args.benchmark {
        SKAMPI => import_skampi(&text, &around),
        "auto" if is_skampi(&text) => import_skampi(&text, &around),
        benchmark => records_of(suite_of(benchmark, &text, &args.file)?, &text, &around),
    };
    let name = args.file.display();
    let records = records.map_err(|error| exit::usage(format!("{name}: {error}")))?;
    let mut lines = Vec::new();
    write(&records, &mut lines).context("cannot make records")?;
    if !files::is_stdout(&args.out) {
        create_new(&args.out)?;
    }
    files::write(&args.out, &lines)?;
    Ok(exit::OK)
}

/// The suite called `benchmark`, or that of the titles in the `text` of the file `path`.
fn suite_of(benchmark: &str, text: &str, path: &Path) -> anyhow::Result<&'static Suite> {
    let found = match benchmark {
        "osu" => Some(&suite::osu::SUITE),
        "imb" => Some(&suite::imb::SUITE),
        _ => suite::of_text(text),
    };
    found.ok_or_else(|| {
        let name = path.display();
        exit::usage(format!(
            "{name} has no title of osu, imb or skampi (write import osu, import imb or import skampi)"
        ))
    })
}
