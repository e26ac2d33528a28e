//! Notes how the program was built, for the record of every run: revision, compiler, flags.

use std::env;
use std::path::Path;
use std::process::Command;

use sha2::{Digest, Sha256};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=COMET_GIT_REV");
    // A commit or a checkout appends to this log. A path that is not there would mean a rebuild
    // each time.
    let log = Path::new("../.git/logs/HEAD");
    if log.exists() {
        println!("cargo::rerun-if-changed={}", log.display());
    }
    let revision = env::var("COMET_GIT_REV").ok();
    note("COMET_GIT_REV", revision.or_else(|| output("git", &["rev-parse", "HEAD"])));
    let compiler = env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    note("COMET_RUSTC", output(&compiler, &["--version"]));
    note("COMET_TARGET", env::var("TARGET").ok());
    note("COMET_OPT_LEVEL", env::var("OPT_LEVEL").ok());
    // Cargo separates the flags by a unit separator.
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").ok();
    note("COMET_RUSTFLAGS", flags.map(|flags| flags.replace('\u{1f}', " ")));
    note("COMET_TARGET_FEATURES", env::var("CARGO_CFG_TARGET_FEATURE").ok());
    note("COMET_LOCK_SHA256", lock_sha256(Path::new("../Cargo.lock")));
    let kernels = ["../comet-kernels/src", "../comet-matrix/src"];
    note("COMET_KERNELS_SHA256", sources_sha256(&kernels.map(Path::new)));
}

/// SHA-256 of the lock file, as 64 hex digits, if there is one.
fn lock_sha256(path: &Path) -> Option<String> {
    let lock = std::fs::read(path).ok()?;
    println!("cargo::rerun-if-changed={}", path.display());
    Some(hex(&Sha256::digest(&lock)))
}

/// SHA-256 of the files in `folders`, of each its path and its contents, if all are there.
fn sources_sha256(folders: &[&Path]) -> Option<String> {
    let mut hash = Sha256::new();
    for folder in folders {
        println!("cargo::rerun-if-changed={}", folder.display());
        take_in(folder, &mut hash).ok()?;
    }
    Some(hex(&hash.finalize()))
}

/// Takes the files in `folder`, by their names, into `hash`.
fn take_in(folder: &Path, hash: &mut Sha256) -> std::io::Result<()> {
    let entries = std::fs::read_dir(folder)?;
    let mut paths: Vec<_> =
        entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            take_in(&path, hash)?;
        } else {
            hash.update(path.to_string_lossy().as_bytes());
            hash.update(std::fs::read(&path)?);
        }
    }
    Ok(())
}

/// `bytes` as hex digits.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Sets a variable for `option_env!`, if there is something to say.
fn note(name: &str, value: Option<String>) {
    if let Some(value) = value.filter(|value| !value.is_empty()) {
        println!("cargo::rustc-env={name}={value}");
    }
}

/// The first line that a program prints, if it ends well.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.lines().next().unwrap_or_default().to_owned())
}
