//! `reproduce`: published results beside those of a simulated machine.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use comet_studies::thesis::{self, Curves};

use crate::cli::{ReproduceArgs, Study};
use crate::exit;
use crate::terminal;
use crate::world;

/// Regenerates the figures of the thesis, prints their table, and writes their curves; returns the
/// exit code.
///
/// # Errors
/// If there is no such machine, if a figure cannot be measured on it, or if the results cannot be
/// written.
pub(super) fn reproduce(args: &ReproduceArgs) -> anyhow::Result<u8> {
    let Study::Thesis = args.study;
    let machine = args.machine.as_deref().map(world::machine).transpose()?;
    let found = thesis::reproduce(machine.as_ref())?;
    terminal::print(&found.text)?;
    if let Some(dir) = &args.csv {
        write_curves(dir, &found.curves)?;
    }
    Ok(if found.n_off == 0 { exit::OK } else { exit::OFF })
}

/// Writes a file for each figure into the folder `dir`, which is made if it is not there.
fn write_curves(dir: &Path, curves: &[Curves]) -> anyhow::Result<()> {
    fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    curves.iter().try_for_each(|curves| {
        let path = dir.join(format!("figure-{}.csv", curves.figure()));
        fs::write(&path, curves.csv()).with_context(|| format!("cannot write {}", path.display()))
    })
}
