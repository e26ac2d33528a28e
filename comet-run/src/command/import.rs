//! `import`: what another benchmark printed, as a result file.

use std::time::SystemTime;

use anyhow::Context as _;
use comet_report::import::{
    Imported, SKAMPI, Surroundings, clean, import as records_of, import_all, import_skampi, sha256,
    write,
};
use comet_report::recorder::argv;
use comet_report::suite;

use super::files;
use crate::cli::ImportArgs;
use crate::results::create_new;
use crate::{exit, paths, terminal};

/// Writes the records of all texts.
pub(crate) fn import(args: &ImportArgs) -> anyhow::Result<u8> {
    let mut labels: std::collections::BTreeMap<String, String> =
        args.label.iter().cloned().collect();
    labels.extend(args.machine.clone().map(|name| ("machine".to_owned(), name)));
    let (mut lines, mut notes) = (Vec::new(), Vec::new());
    for path in &args.files {
        let stdin = files::is_stdout(path).then(std::io::stdin);
        let bytes = match stdin {
            Some(stdin) => paths::bytes_in(path, stdin.lock()),
            None => paths::bytes_of(path),
        }?;
        let text = clean(&bytes);
        let around = Surroundings {
            n_ranks: args.ranks,
            argv: argv(),
            imported_at: SystemTime::now(),
            text_sha256: sha256(&text),
            started_at: args.date,
            labels: labels.clone(),
        };
        let found = match &*args.benchmark {
            SKAMPI => import_skampi(&text, &around),
            "osu" => records_of(&suite::osu::SUITE, &text, &around),
            "imb" => records_of(&suite::imb::SUITE, &text, &around),
            _ => import_all(&text, &around),
        };
        let name = path.display();
        let found = found.map_err(|error| exit::usage(format!("{name}: {error}")))?;
        let Imported { records, notes: own } = found;
        notes.extend(own.into_iter().map(|note| format!("note: {name}: {note}")));
        write(&records, &mut lines).context("cannot make records")?;
    }
    if !files::is_stdout(&args.out) {
        create_new(&args.out)?;
    }
    files::write(&args.out, &lines)?;
    notes.iter().for_each(|note| terminal::note(note));
    Ok(exit::OK)
}
