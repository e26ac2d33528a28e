//! The folder of files that kernels write and read.

use std::fs;
use std::hash::{BuildHasher as _, DefaultHasher, Hash as _, Hasher as _, RandomState};
use std::path::{Path, PathBuf};

use clap::Args;
use comet_core::file::{Cache, Folder};
use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::sys::statvfs::statvfs;
use nix::unistd::Pid;

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

/// Bits of the number of a run with its process, which Linux counts to 2^22.
const PROCESS_BITS: u32 = 22;

/// A number that no other run has that writes to the folder at the same time: the system, and the process.
fn number() -> u64 {
    (system() << PROCESS_BITS) | u64::from(std::process::id())
}

/// A number of this start of the system and of the processes that this one sees; another one each time where
/// they are unknown.
fn system() -> u64 {
    let boot = fs::read("/proc/sys/kernel/random/boot_id");
    let Some(facts) = boot.ok().zip(fs::read_link("/proc/self/ns/pid").ok()) else {
        // Its keys are random.
        return RandomState::new().build_hasher().finish();
    };
    let mut hasher = DefaultHasher::new();
    facts.hash(&mut hasher);
    hasher.finish()
}

/// True if the run with this number was one of this system, and its process has ended.
pub(crate) fn has_ended(run: u64) -> bool {
    let is_here = (number() ^ run) >> PROCESS_BITS == 0;
    let process = i32::try_from(run & ((1 << PROCESS_BITS) - 1));
    is_here && process.is_ok_and(|id| kill(Pid::from_raw(id), None) == Err(Errno::ESRCH))
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

    #[test]
    fn a_run_has_ended_if_its_process_was_of_this_system_and_is_gone() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let [own, parent] = [number(), number() & !((1 << PROCESS_BITS) - 1)];
        let of_child = parent | u64::from(child.id());
        assert!(!has_ended(own) && !has_ended(of_child), "a process counts until it is waited for");
        child.wait().unwrap();
        assert!(has_ended(of_child) && !has_ended(of_child ^ (1 << PROCESS_BITS)));
    }
}
