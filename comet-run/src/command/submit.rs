//! `submit`: sends a result file to a database, without names that are nobody's business.

use std::fmt::Display;
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use comet_db::examine;
use comet_db::limits::Limits;
use comet_db::submit::{RootCerts, certificates, pack, send};
use comet_db::token::{Secret, random_bytes};
use comet_report::read::incomplete_line;
use comet_report::redact::{Fact, Redacted, redact};

use super::db::refused;
use super::files;
use crate::cli::SubmitArgs;
use crate::exit;
use crate::paths;
use crate::terminal;

/// Variable with the token.
const TOKEN: &str = "COMET_TOKEN";
/// Bytes of the key of pseudonyms.
const KEY_BYTES: usize = 32;
/// Names that are shown before sending.
const SHOWN: usize = 20;

/// Sends a file, or writes what would be sent.
pub(crate) fn submit(args: &SubmitArgs) -> anyhow::Result<u8> {
    paths::refuse_device(&args.file)?;
    let wrong = |error: &dyn Display| exit::usage(format!("{}: {error}", args.file.display()));
    let bytes = fs::read(&args.file).map_err(|error| paths::unread(&args.file, &error))?;
    let text = Limits::FOREIGN.unpack(&bytes).map_err(|error| wrong(&error))?;
    files::note_incomplete(&args.file, incomplete_line(&text));
    let facts = facts(&args.redact)?;
    let key = if facts.is_empty() { Vec::new() } else { key()? };
    let redacted = if facts.is_empty() {
        Redacted { text: text.into_owned(), ..Redacted::default() }
    } else {
        redact(&text, &facts, &key).map_err(|error| wrong(&error))?
    };
    let runs = examine::runs(&redacted.text).map_err(|error| wrong(&error))?;
    let packed = pack(&redacted.text).map_err(refused)?;
    explain(&redacted, runs.len(), packed.len());
    if let Some(bundle) = &args.bundle {
        files::write(bundle, &packed)?;
        let bundle = bundle.display();
        terminal::note(&format!(
            "note: send it by comet-run submit {bundle} --redact none --to URL"
        ));
        return Ok(exit::OK);
    }
    let url = args.to.as_deref().unwrap_or_default();
    let secret = secret(args.token_file.as_deref())?;
    let roots = roots(args.ca.as_deref())?;
    if !args.yes && !agrees(url)? {
        return Err(exit::usage("nothing was sent (say yes, or give --yes)"));
    }
    let again = |words: &str| terminal::note(&format!("note: {words}"));
    let receipt = send(url, roots, &secret, &packed, again).map_err(refused)?;
    let word = if receipt.is_new { "submitted" } else { "known" };
    let mut lines = format!("{word} {}\n", receipt.file);
    for (address, state) in &receipt.runs {
        lines += &format!("{state} {address}\n");
    }
    terminal::print(&lines)?;
    Ok(exit::OK)
}

/// The facts that `names` ask for.
fn facts(names: &[String]) -> anyhow::Result<Vec<Fact>> {
    let facts: Vec<Fact> =
        Fact::ALL.into_iter().filter(|fact| names.iter().any(|name| name == fact.name())).collect();
    if names.iter().any(|name| name == "none") && !facts.is_empty() {
        return Err(exit::usage("--redact has none and other facts (write none alone)"));
    }
    Ok(facts)
}

/// Prints what leaves the machine.
fn explain(redacted: &Redacted, n_runs: usize, n_bytes: usize) {
    let mut text = format!(
        "leaves this machine: {n_bytes} bytes packed, runs={n_runs}, with samples, settings, machine and labels"
    );
    if redacted.names.is_empty() {
        text += "\nno name is replaced";
    }
    for (name, pseudonym) in redacted.names.iter().take(SHOWN) {
        text += &format!("\n{name} becomes {pseudonym}");
    }
    if redacted.names.len() > SHOWN {
        text += &format!("\nand {} more", redacted.names.len() - SHOWN);
    }
    terminal::note(&text);
}

fn agrees(url: &str) -> anyhow::Result<bool> {
    if !io::stdin().is_terminal() {
        return Ok(false);
    }
    terminal::write_stderr(&format!("send it to {}? [y/N] ", terminal::one_line(url)));
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "yes"))
}

/// The certificates that may vouch for a database: those in the file `path`, or the public ones.
fn roots(path: Option<&Path>) -> anyhow::Result<RootCerts> {
    let Some(path) = path else { return Ok(RootCerts::WebPki) };
    let shown = path.display();
    let pem = fs::read(path)
        .map_err(|error| exit::usage(format!("cannot read {shown}: {error} (see --ca)")))?;
    let found = certificates(&pem);
    found.map(RootCerts::from).map_err(|error| exit::usage(format!("{shown}: {error}")))
}

/// The token in the file `path`, or in the variable.
fn secret(path: Option<&Path>) -> anyhow::Result<Secret> {
    let text = match path {
        Some(path) => {
            let shown = path.display();
            let unread = |error| exit::usage(format!("cannot read {shown}: {error}"));
            let mode = path.metadata().map_err(unread)?.permissions().mode() & 0o777;
            if mode & 0o077 != 0 {
                return Err(exit::usage(format!(
                    "{shown} has mode {mode:o}, expected 600: others may read the token (chmod 600 {shown})"
                )));
            }
            fs::read_to_string(path).map_err(unread)?
        }
        None => std::env::var(TOKEN).map_err(|_| {
            exit::usage(format!("there is no token (set {TOKEN}, or give --token-file)"))
        })?,
    };
    Secret::parse(&text).map_err(refused)
}

/// The secret from which this user's pseudonyms are made: equal names stay equal in all submissions.
fn key() -> anyhow::Result<Vec<u8>> {
    let folder = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let folder = folder.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".config")));
    let folder = folder
        .ok_or_else(|| exit::usage("there is no HOME for the key of pseudonyms (set HOME)"))?;
    let path = folder.join("comet").join("redact.key");
    let cannot = || format!("cannot write {} (set XDG_CONFIG_HOME)", path.display());
    if !path.exists() {
        fs::create_dir_all(folder.join("comet")).with_context(cannot)?;
        make_key(&path).with_context(cannot)?;
    }
    let key = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    if key.len() != KEY_BYTES {
        return Err(exit::usage(format!(
            "{} has {} bytes, expected {KEY_BYTES} (restore it, or remove it for other pseudonyms)",
            path.display(),
            key.len()
        )));
    }
    Ok(key)
}

/// Makes the file `path` with a new key, unless another process is faster: it appears whole.
fn make_key(path: &Path) -> anyhow::Result<()> {
    let key = random_bytes::<KEY_BYTES>()?;
    let part = path.with_extension(format!("key.{}", std::process::id()));
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
    file.write_all(&key)?;
    file.sync_all()?;
    let linked = fs::hard_link(&part, path);
    drop(fs::remove_file(part));
    linked.or_else(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Ok(()),
        _ => Err(error.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_appears_whole_and_stays() {
        let folder = std::env::temp_dir().join(format!("comet-key-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("redact.key");
        make_key(&path).unwrap();
        let key = fs::read(&path).unwrap();
        assert_eq!(key.len(), KEY_BYTES);
        make_key(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), key);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(folder).unwrap();
    }
}
