//! The folder of files that kernels write and read.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::path::{Path, PathBuf};

use clap::Args;
use comet_core::file::{Cache, Folder};
use nix::sys::statvfs::statvfs;

use super::OPTIONAL;

/// Files of kernels.
#[derive(Debug, Args)]
pub(crate) struct StorageArgs {
    /// Folder for the files of kernels of files (suite imb-io), which are removed after each case
    #[arg(long, value_name = "DIR", value_parser = parse_folder, hide_short_help = true)]
    io_dir: Option<(PathBuf, u64)>,
    /// Use of the system's memory for files: keep what it wants to, drop them before each series, or direct transfers past it
    #[arg(long, value_name = "HOW", default_value = "keep", value_parser = parse_cache, hide_short_help = true)]
    io_cache: Cache,
    /// Hint for the library that opens files (MPI_Info), as in cb_nodes=2; may be repeated
    #[arg(long = "io-hint", value_name = "KEY=VALUE", value_parser = parse_hint, hide_short_help = true)]
    io_hints: Vec<(String, String)>,
}

impl StorageArgs {
    /// The folder, if there is one.
    pub(crate) fn folder(&self) -> Option<Folder> {
        let (path, free_bytes) = self.io_dir.clone()?;
        let (cache, hints) = (self.io_cache, self.io_hints.clone());
        Some(Folder { cache, hints, ..Folder::new(path, free_bytes, number()) })
    }

    /// A note for hints that nobody takes over the transport of this name.
    pub(crate) fn note(&self, transport: &str) -> Option<String> {
        let is_lost = !self.io_hints.is_empty() && transport != OPTIONAL;
        is_lost.then(|| {
            format!(
                "note: files over -t {transport} take no hints (leave --io-hint out, or write -t {OPTIONAL})"
            )
        })
    }

    /// The system's folder for temporary files, if there is one.
    pub(crate) fn temporary() -> Option<Folder> {
        let path = std::env::temp_dir();
        let free_bytes = free_bytes(&path).ok()?;
        Some(Folder::new(path, free_bytes, number()))
    }
}

/// A number that no other run has that writes to the folder.
fn number() -> u64 {
    // Its keys are random.
    RandomState::new().build_hasher().finish()
}

/// The folder, and its free bytes.
fn parse_folder(text: &str) -> Result<(PathBuf, u64), String> {
    let path = std::path::absolute(text).map_err(|error| error.to_string())?;
    if !path.is_dir() {
        return Err("there is no such folder (make it, or name another)".into());
    }
    let free_bytes = free_bytes(&path)?;
    Ok((path, free_bytes))
}

fn free_bytes(path: &Path) -> Result<u64, String> {
    let found = statvfs(path).map_err(|errno| format!("its free bytes are unknown: {errno}"))?;
    Ok(found.blocks_available().saturating_mul(found.fragment_size()))
}

fn parse_cache(text: &str) -> Result<Cache, String> {
    let index = Cache::LABELS.iter().position(|label| *label == text);
    let expected = || format!("write one of {}", Cache::LABELS.join(", "));
    index.map(|index| Cache::ALL[index]).ok_or_else(expected)
}

fn parse_hint(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE, as in cb_nodes=2")?;
    Ok((key.into(), value.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_exist_and_hints_have_values() {
        assert!(parse_folder("/").is_ok_and(|(path, _)| path == Path::new("/")));
        let error = parse_folder("/no/such/folder").unwrap_err();
        assert_eq!(error, "there is no such folder (make it, or name another)");
        assert_eq!(parse_cache("direct"), Ok(Cache::Direct));
        assert_eq!(parse_cache("all").unwrap_err(), "write one of keep, drop, direct");
        assert_eq!(parse_hint("cb_nodes=2"), Ok(("cb_nodes".into(), "2".into())));
        assert!(parse_hint("cb_nodes").is_err());
    }
}
