//! `db`: the result database, from its own machine.

use std::fs;
use std::io::{ErrorKind, Read as _};
use std::num::NonZero;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use comet_db::card::{DAY_MS, OPERATOR, State, now_ms, time_text};
use comet_db::id::BlobId;
use comet_db::index::access::TokenRow;
use comet_db::index::marks::MarkRow;
use comet_db::index::{Filter, MAX_ROWS, Page};
use comet_db::limits::Limits;
use comet_db::token::Scope;
use comet_db::{Arrival, Database, Error, Prepared, Server, answer};

use super::files;
use crate::cli::{
    AcceptArgs, AddArgs, AddTokenArgs, BackupArgs, DbArgs, DbCommand, InitArgs, ListRunsArgs,
    MarkCommand, TokenCommand,
};
use crate::exit;
use crate::paths;
use crate::terminal;

/// The most bytes of an address on the standard input.
const MAX_ADDRESS: u64 = 10_000;
/// Entries of the audit log that are printed.
const ENTRIES: usize = 100;
/// Digits of the name of a file that listings show.
const DIGITS: usize = 12;
/// The fewest digits that stand for a file.
const FEWEST_DIGITS: usize = 4;

/// Does what the command line says to a database.
pub(crate) fn db(args: &DbArgs) -> anyhow::Result<u8> {
    match &args.command {
        DbCommand::Add(args) => add(args),
        DbCommand::Init(args) => init(args),
        DbCommand::List(args) => list(args),
        DbCommand::Accept(args) => accept(args),
        DbCommand::Publish(args) => super::serve::publish(args),
        DbCommand::Demo(args) => super::demo::demo(&args.folder),
        DbCommand::Reindex(args) => reindex(&args.folder),
        DbCommand::Token(command) => token(command),
        DbCommand::Mark(command) => mark(command),
        DbCommand::Backup(args) => back_up(args),
        DbCommand::Log(args) => log(&args.folder),
    }
}

/// The error of a database with its exit code.
pub(super) fn refused(error: Error) -> anyhow::Error {
    match error {
        Error::Io { .. } | Error::Index(_) | Error::Damaged { .. } | Error::Unreachable(_) => {
            anyhow::anyhow!("{error}")
        }
        _ => exit::usage(error.to_string()),
    }
}

/// Refuses a `folder` that is not there.
pub(super) fn must_exist(folder: &Path) -> anyhow::Result<()> {
    let (found, folder) = (folder.metadata(), folder.display());
    match found {
        Ok(data) if data.is_dir() => Ok(()),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            Err(anyhow::anyhow!("cannot read {folder}: {error} (see to the folders above it)"))
        }
        _ => {
            let reason = format!("there is no folder {folder} (comet-run db add makes one)");
            Err(exit::usage(reason))
        }
    }
}

/// The database in `folder`, which must be there.
fn open(folder: &Path) -> anyhow::Result<Database> {
    must_exist(folder)?;
    noted(Database::existing(folder))
}

fn open_or_make(folder: &Path) -> anyhow::Result<Database> {
    noted(Database::open(folder))
}

/// Prints the problems of a database that was opened.
fn noted(opened: Result<Database, Error>) -> anyhow::Result<Database> {
    let database = opened.map_err(refused)?;
    database.problems().iter().for_each(|problem| terminal::note(&format!("note: {problem}")));
    Ok(database)
}

fn init(args: &InitArgs) -> anyhow::Result<u8> {
    // An address may hold a password, which other users see on a command line.
    let address = match &*args.index {
        "-" => std::io::read_to_string(std::io::stdin().take(MAX_ADDRESS))?,
        address => address.to_owned(),
    };
    let certificates = args.ca.as_ref().map(fs::read_to_string).transpose();
    let certificates = certificates
        .map_err(|error| exit::usage(format!("cannot read certificates: {error} (see --ca)")))?;
    let server = Server { address: address.trim().into(), certificates };
    let mut database = noted(Database::on_postgres(&args.folder, &server))?;
    let n_files = database.index().blobs().map_err(refused)?.len();
    let folder = terminal::one_line(args.folder.display());
    terminal::print(&format!("the index of {folder} is on PostgreSQL ({n_files} files)\n"))?;
    Ok(exit::OK)
}

fn add(args: &AddArgs) -> anyhow::Result<u8> {
    let mut database = open_or_make(&args.folder)?;
    let next = AtomicUsize::new(0);
    let mut code = exit::OK;
    thread::scope(|scope| {
        // Files are examined beside each other, and kept one after the other as they are ready; few wait.
        let (ready, files) = mpsc::sync_channel(1);
        let next = &next;
        for _ in 0..thread::available_parallelism().map_or(1, NonZero::get) {
            let ready = ready.clone();
            scope.spawn(move || {
                // Relaxed: each number is taken once, and nothing else depends on them.
                while let Some(path) = args.files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if ready.send((path, prepare_file(path))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(ready);
        for (path, prepared) in files {
            if let Err(error) = prepared.and_then(|file| keep_file(&mut database, path, file)) {
                terminal::note(&format!("error: {}: {error:#}", path.display()));
                // A file of no use does not keep the others out, a full disk does.
                code = exit::code_of(&error);
                if code == exit::INTERNAL {
                    break;
                }
            }
        }
    });
    Ok(code)
}

fn prepare_file(path: &Path) -> anyhow::Result<Prepared> {
    paths::refuse_device(path)?;
    let bytes = fs::read(path)
        .map_err(|error| exit::usage(format!("{error} ({})", paths::remedy(&error))))?;
    let arrival = Arrival { bytes: &bytes, limits: Limits::OWN, token: None };
    Database::prepare(arrival).map_err(refused)
}

fn keep_file(database: &mut Database, path: &Path, file: Prepared) -> anyhow::Result<()> {
    files::note_incomplete(path, file.incomplete_line());
    let added = database.keep(file).map_err(refused)?;
    let word = if added.is_new { "added" } else { "known" };
    let n_points: i64 = added.runs.iter().map(|run| run.n_ok).sum();
    let path = terminal::one_line(path.display());
    let n_runs = added.runs.len();
    if added.is_new && added.n_in_others > 0 {
        terminal::note(&format!(
            "{path}: runs that are in another file, too: {} of {n_runs} (each counts once, as the file has it \
             that arrived last)",
            added.n_in_others
        ));
    }
    let text = format!("{word} {} runs={n_runs} points={n_points} {path}\n", added.blob);
    Ok(terminal::print(&text)?)
}

fn list(args: &ListRunsArgs) -> anyhow::Result<u8> {
    let label = |text: &String| match text.split_once('=') {
        Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
        None => (text.clone(), None),
    };
    let filter = Filter {
        machine: args.machine.clone(),
        mpi: args.mpi.clone(),
        network: args.network.clone(),
        title: None,
        labels: args.labels.iter().map(label).collect(),
        since_ms: args.since,
        until_ms: args.until,
        state: args.state.as_deref().and_then(State::find),
        is_latest: args.latest,
    };
    let mut database = open(&args.folder)?;
    let index = database.index();
    let (mut left, mut after, mut rows) = (args.limit as usize, None, Vec::new());
    while left > 0 {
        let page = index.runs(&filter, after, left.min(MAX_ROWS)).map_err(refused)?;
        let Page { runs, next } = page;
        left -= runs.len();
        for (run, machine) in runs {
            if args.json {
                let labels = index.labels(run.id).map_err(refused)?;
                terminal::print(&format!("{}\n", answer::run(&run, &machine, &labels)))?;
                continue;
            }
            rows.push([
                run.blob.to_string()[..DIGITS].to_owned(),
                run.start(),
                machine.name,
                run.mpi.or(run.backend).unwrap_or_default(),
                run.ranks.to_string(),
                run.n_ok.to_string(),
                run.verdict.unwrap_or_default(),
                run.state.name().to_owned(),
                run.title,
            ]);
        }
        after = next;
        if after.is_none() {
            break;
        }
    }
    let heads =
        ["file", "started", "machine", "transport", "ranks", "points", "verdict", "state", "title"];
    if !args.json {
        terminal::print(&aligned(heads, &rows))?;
    }
    if after.is_some() {
        terminal::note("note: there are more runs (see --limit)");
    }
    Ok(exit::OK)
}

fn accept(args: &AcceptArgs) -> anyhow::Result<u8> {
    let mut database = open(&args.folder)?;
    for digits in &args.files {
        let id = blob(&mut database, digits)?;
        let is_new = database.publish(id, OPERATOR).map_err(refused)?;
        let word = if is_new { "published" } else { "is published already" };
        terminal::print(&format!("{id} {word}\n"))?;
    }
    Ok(exit::OK)
}

/// The blob whose name starts with `digits`.
fn blob(database: &mut Database, digits: &str) -> anyhow::Result<BlobId> {
    if digits.len() < FEWEST_DIGITS {
        return Err(exit::usage(format!(
            "{digits:?} has fewer than {FEWEST_DIGITS} digits of the name of a file (see comet-run db list)"
        )));
    }
    let found = database.index().blobs_like(digits).map_err(refused)?;
    match found[..] {
        [id] => Ok(id),
        [] => Err(exit::usage(format!("no file is called {digits} (see comet-run db list)"))),
        _ => Err(exit::usage(format!("several files start with {digits} (write more digits)"))),
    }
}

fn reindex(folder: &Path) -> anyhow::Result<u8> {
    let mut database = open(folder)?;
    let n_blobs = database.reindex().map_err(refused)?;
    database.problems().iter().for_each(|problem| terminal::note(&format!("error: {problem}")));
    let n_lost = database.problems().len();
    terminal::print(&format!("indexed {} of {n_blobs} files\n", n_blobs - n_lost))?;
    Ok(if n_lost == 0 { exit::OK } else { exit::PARTIAL })
}

fn token(command: &TokenCommand) -> anyhow::Result<u8> {
    match command {
        TokenCommand::Add(args) => add_token(args)?,
        TokenCommand::List(args) => {
            let mut database = open(&args.folder)?;
            let rows: Vec<[String; 5]> =
                database.index().tokens().map_err(refused)?.into_iter().map(token_line).collect();
            terminal::print(&aligned(["name", "scopes", "machines", "expires", "state"], &rows))?;
        }
        TokenCommand::Revoke(args) => {
            open(&args.folder)?.revoke(&args.name).map_err(refused)?;
            terminal::print(&format!("revoked {}\n", args.name))?;
        }
    }
    Ok(exit::OK)
}

fn add_token(args: &AddTokenArgs) -> anyhow::Result<()> {
    let token = TokenRow {
        name: args.name.clone(),
        sha256: String::new(),
        scopes: args.scope.iter().filter_map(|name| Scope::find(name)).collect(),
        machine: args.machine.clone(),
        created_ms: 0,
        expires_ms: Some(now_ms() + i64::from(args.days) * DAY_MS),
        revoked_ms: None,
    };
    let secret = open_or_make(&args.folder)?.add_token(token).map_err(refused)?;
    terminal::print(&format!("{}\n", secret.reveal()))?;
    terminal::note(
        "note: this is the only copy (the submitter keeps it in COMET_TOKEN, or in a file of mode 0600)",
    );
    Ok(())
}

fn mark(command: &MarkCommand) -> anyhow::Result<u8> {
    match command {
        MarkCommand::Add(args) => {
            let mark = MarkRow::new(&args.machine, args.day, &args.note, OPERATOR);
            let mut database = open(&args.folder)?;
            let machines = database.index().machines(State::Published).map_err(refused)?;
            if !machines.iter().any(|of| mark.is_of(&of.machine.name)) {
                let name = terminal::one_line(&args.machine);
                return Err(exit::usage(format!(
                    "no published run is of a machine {name} (see comet-run db list)"
                )));
            }
            database.add_mark(&mark).map_err(refused)?;
            terminal::print(&format!("marked {}\n", mark.id))?;
        }
        MarkCommand::List(args) => {
            let marks = open(&args.folder)?.index().marks().map_err(refused)?.into_iter();
            let day = |ms| time_text(ms)[..16].replace('T', " ");
            let line =
                |of: MarkRow| [of.id.to_string(), day(of.at_ms), of.machine, of.who, of.note];
            let rows: Vec<[String; 5]> = marks.map(line).collect();
            terminal::print(&aligned(["id", "time", "machine", "who", "note"], &rows))?;
        }
        MarkCommand::Remove(args) => {
            open(&args.folder)?.remove_mark(args.id).map_err(refused)?;
            terminal::print(&format!("removed {}\n", args.id))?;
        }
    }
    Ok(exit::OK)
}

fn token_line(token: TokenRow) -> [String; 5] {
    let scopes: Vec<&str> = token.scopes.iter().map(|scope| scope.name()).collect();
    let expires = token.expires_ms.map_or("never".into(), |ms| time_text(ms)[..10].to_owned());
    let state = token.state(now_ms()).to_owned();
    [token.name, scopes.join(","), token.machine, expires, state]
}

fn back_up(args: &BackupArgs) -> anyhow::Result<u8> {
    if paths::is_same_file(&args.folder, &args.to) {
        return Err(exit::usage("a database cannot be its own backup (name another folder)"));
    }
    let mut database = open(&args.folder)?;
    let n_copied = database.back_up(&args.to).map_err(refused)?;
    database.problems().iter().for_each(|problem| terminal::note(&format!("error: {problem}")));
    let to = terminal::one_line(args.to.display());
    terminal::print(&format!("backup: {to} ({n_copied} new files)\n"))?;
    Ok(if database.problems().is_empty() { exit::OK } else { exit::PARTIAL })
}

fn log(folder: &Path) -> anyhow::Result<u8> {
    let entries = open(folder)?.index().audit(ENTRIES).map_err(refused)?.into_iter();
    let rows: Vec<[String; 4]> =
        entries.map(|of| [time_text(of.at_ms), of.who, of.action, of.subject]).collect();
    terminal::print(&aligned(["time", "who", "action", "subject"], &rows))?;
    Ok(exit::OK)
}

/// A table of `rows` below `heads`; no blanks at the ends of lines.
fn aligned<const N: usize>(heads: [&str; N], rows: &[[String; N]]) -> String {
    let heads = heads.map(str::to_owned);
    let lines = || [&heads].into_iter().chain(rows);
    let widths: Vec<usize> = (0..N)
        .map(|column| lines().map(|line| line[column].chars().count()).max().unwrap_or(0))
        .collect();
    let text = |line: &[String; N]| {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    lines().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::Parser as _;

    #[test]
    fn failures_of_the_world_and_faults_of_the_command_line_have_their_codes() {
        let code = |error| exit::code_of(&refused(error));
        assert_eq!(code(Error::Unreachable("503".into())), exit::INTERNAL);
        let damaged = Error::Damaged { path: "x".into(), message: String::new() };
        assert_eq!(code(damaged), exit::INTERNAL);
        assert_eq!(code(Error::Unknown("422".into())), exit::USAGE);
    }

    #[test]
    fn values_that_cannot_be_are_refused_with_their_form() {
        for (line, expected) in [
            (
                "comet-run db mark remove d 77",
                "a mark has 16 hex digits (see comet-run db mark list)",
            ),
            ("comet-run serve d --listen x", "write an address with a port, as in 127.0.0.1:8910"),
        ] {
            let error = Cli::try_parse_from(line.split(' ')).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["a".into(), "long".into()], ["µµµ".into(), String::new()]];
        assert_eq!(aligned(["x", "y"], &rows), "x    y\na    long\nµµµ\n");
    }
}
