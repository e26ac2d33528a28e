//! `import`: what another benchmark printed, as a result file.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
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
    let text = read(&args.file)?;
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

/// Text of the file `path`, or of standard input; other bytes than UTF-8 are no obstacle.
fn read(path: &Path) -> anyhow::Result<String> {
    paths::refuse_device(path)?;
    let mut text = Vec::new();
    let result = if files::is_stdout(path) {
        std::io::stdin().read_to_end(&mut text)
    } else {
        File::open(path).and_then(|mut file| file.read_to_end(&mut text))
    };
    result.map_err(|error| {
        let name = path.display();
        exit::usage(format!("cannot read {name}: {error} (does it exist, and may you read it?)"))
    })?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
