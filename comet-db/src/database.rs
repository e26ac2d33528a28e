//! A database: blobs, and the index that follows from them.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;

use comet_report::read::incomplete_line;

use crate::Error;
use crate::blobs::{Blobs, Packed, is_new};
use crate::card::{Card, OPERATOR, State, now_ms};
use crate::engine::{self, PERMISSIONS, Server};
use crate::examine::{self, RunRows};
use crate::id::{BlobId, Id};
use crate::index::Index;
use crate::index::access::TokenRow;
use crate::index::marks::MarkRow;
use crate::limits::Limits;
use crate::rows::RunRow;
use crate::token::{Scope, Secret};

/// Time by which a run may have started after its arrival, for clocks that are ahead.
const AHEAD_MS: i64 = 24 * 3_600_000;

/// A database in a folder.
#[derive(Debug)]
pub struct Database {
    blobs: Blobs,
    index: Index,
    problems: Vec<String>,
}

/// A file that is in the database now.
#[derive(Clone, Debug, PartialEq)]
pub struct Added {
    /// Its blob.
    pub blob: BlobId,
    /// True if it was not there before.
    pub is_new: bool,
    /// Its runs.
    pub runs: Vec<RunRow>,
    /// Number of them that another file has, too.
    pub n_in_others: usize,
}

/// A file that was examined and packed, and may be kept.
#[derive(Debug)]
pub struct Prepared {
    packed: Packed,
    card: Card,
    token: Option<TokenRow>,
    rows: Vec<RunRows>,
    incomplete_line: Option<usize>,
}

impl Prepared {
    /// Number, from 1, of a last line that was only written in part, and is in no row.
    pub fn incomplete_line(&self) -> Option<usize> {
        self.incomplete_line
    }
}

/// A file on its way into a database.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// The file, packed by gzip or not.
    pub bytes: &'a [u8],
    /// The most that it may hold.
    pub limits: Limits,
    /// The token of its submitter; `None` of the operator.
    pub token: Option<&'a TokenRow>,
}

impl Database {
    /// The database in `folder`. A new folder or an empty one becomes a database; an index of an earlier
    /// version, or without the rows of a blob, is completed first.
    ///
    /// # Errors
    /// If the folder holds something else, or cannot be read and written.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let blobs = Self::blobs_in(folder)?;
        let id = blobs.id()?.unwrap_or_default();
        let mut index = Index::open(engine::open(folder)?)?;
        if index.origin()?.as_ref() != Some(&id) {
            index.write(|index| index.claim(&id))?;
        }
        let mut database = Self { blobs, index, problems: Vec::new() };
        if database.index.is_outdated()? {
            database.reindex()?;
        } else {
            database.catch_up()?;
        }
        Ok(database)
    }

    /// The blobs of the database in `folder`, or of the one that it becomes.
    fn blobs_in(folder: &Path) -> Result<Blobs, Error> {
        if !has_files(folder)? && !is_new(folder, engine::POSTGRES)? {
            return Err(Error::Unknown(format!(
                "{} is no database (name a new folder, or one that comet-run db add made)",
                folder.display()
            )));
        }
        Blobs::open(folder)
    }

    /// The database in `folder`, which must be one.
    ///
    /// # Errors
    /// As [`open`](Self::open), and if there is none.
    pub fn existing(folder: &Path) -> Result<Self, Error> {
        Self::require(folder)?;
        Self::open(folder)
    }

    /// Checks that `folder` holds a database.
    ///
    /// # Errors
    /// If it does not, or cannot be read.
    pub(crate) fn require(folder: &Path) -> Result<(), Error> {
        if has_files(folder)? {
            return Ok(());
        }
        Err(Error::Unknown(format!(
            "{} is no database (comet-run db add makes one)",
            folder.display()
        )))
    }

    /// Another connection to the index of the open database in `folder`, for a thread that reads.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn reader(folder: &Path) -> Result<Index, Error> {
        Index::open(engine::open(folder)?)
    }

    /// The database in `folder`, new or not, whose index is on `server` from now on; tokens, marks and the
    /// audit log move there, in place of any that an earlier move left. Nothing else may have the database
    /// open.
    ///
    /// # Errors
    /// If the index there is of another database, or cannot be reached.
    pub fn on_postgres(folder: &Path, server: &Server) -> Result<Self, Error> {
        let id = Self::blobs_in(folder)?.id()?.unwrap_or_default();
        let before = engine::existing(folder)?.map(Index::open).transpose()?;
        let mut index = Index::open(engine::postgres(server)?)?;
        index.write(|index| {
            index.claim(&id)?;
            // It may be the same one by another address, and reads what was there before this transaction.
            before.map_or(Ok(()), |mut before| index.take_over(&mut before))
        })?;
        engine::set_postgres(folder, server)?;
        Self::open(folder)
    }

    /// The index.
    pub fn index(&mut self) -> &mut Index {
        &mut self.index
    }

    /// The blobs.
    pub fn blobs(&self) -> &Blobs {
        &self.blobs
    }

    /// Blobs that could not be indexed, a sentence each.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Adds a file. One that is there already is left as it is. Once this returns, the file is on the disk,
    /// and in the index.
    ///
    /// # Errors
    /// If the file is too large or invalid, is of a machine that its token does not cover, or cannot be
    /// written.
    pub fn add(&mut self, arrival: Arrival<'_>) -> Result<Added, Error> {
        self.keep(Self::prepare(arrival)?)
    }

    /// Unpacks, examines and packs a file, which takes a while and no database.
    ///
    /// # Errors
    /// If the file is too large or invalid, or is of a machine that its token does not cover.
    pub fn prepare(arrival: Arrival<'_>) -> Result<Prepared, Error> {
        let text = arrival.limits.unpack(arrival.bytes)?;
        let packed = Packed::of(&text)?;
        let (received_ms, token) = (now_ms(), arrival.token);
        let is_trusted = token.is_none_or(|token| token.may(Scope::Publish));
        let card = Card {
            received_ms,
            submitter: token.map_or(OPERATOR, |token| &token.name).into(),
            state: if is_trusted { State::Published } else { State::Pending },
        };
        let rows = examine::rows(packed.id, &text, &card)?;
        for rows in &rows {
            let name = &rows.machine.name;
            if let Some(token) = token.filter(|token| !token.covers(name)) {
                return Err(Error::Forbidden(format!(
                    "the token {} is for machines {}, not for {name} (ask the operator for another)",
                    token.name, token.machine
                )));
            }
            if rows.run.started_ms > received_ms + AHEAD_MS {
                return Err(Error::invalid(
                    0,
                    format!(
                        "run {} started at {}, which is in the future (set the clock)",
                        rows.run.uuid,
                        crate::card::time_text(rows.run.started_ms)
                    ),
                ));
            }
        }
        let incomplete_line = incomplete_line(&text);
        Ok(Prepared { packed, card, token: token.cloned(), rows, incomplete_line })
    }

    /// Adds a file that was examined, as [`add`](Self::add) does. One that is in the index, but not on the disk
    /// any more, is written again.
    ///
    /// # Errors
    /// If it cannot be written, or its token has ended meanwhile.
    pub fn keep(&mut self, prepared: Prepared) -> Result<Added, Error> {
        let Prepared { packed, card, token, rows, .. } = prepared;
        let (id, blobs) = (packed.id, &self.blobs);
        let is_there = self.index.contains(id)? && blobs.contains(id);
        let is_new = !is_there && {
            let staged = blobs.stage(&packed)?;
            self.index.write(|index| {
                if let Some(token) = &token
                    && index.valid(&token.sha256, now_ms())?.is_none()
                {
                    return Err(Error::Forbidden(format!(
                        "the token {} has ended (ask the operator for another)",
                        token.name
                    )));
                }
                let known = index.runs_of(id)?.into_iter().next();
                let is_new = known.is_none();
                if is_new {
                    rows.iter().try_for_each(|rows| index.add(rows))?;
                    index.note(card.received_ms, [&card.submitter, "add", &id.to_string()])?;
                }
                // A blob whose rows were lost with their transaction has the card of the earlier arrival.
                if is_new || !blobs.contains(id) {
                    staged.keep(&known.map_or(card, RunRow::card))?;
                }
                Ok(is_new)
            })?
        };
        let (runs, n_in_others) = (self.index.runs_of(id)?, self.index.n_in_others(id)?);
        Ok(Added { blob: id, is_new, runs, n_in_others })
    }

    /// Publishes the runs of the blob `id`, which `who` wants; true if they were pending.
    ///
    /// # Errors
    /// If there is no such blob, or its card cannot be written.
    pub fn publish(&mut self, id: BlobId, who: &str) -> Result<bool, Error> {
        let blobs = &self.blobs;
        self.index.write(|index| {
            if !index.contains(id)? {
                return Err(Error::Unknown(format!(
                    "there is no file {id} (see comet-run db list)"
                )));
            }
            let card = blobs.card(id)?;
            let card = Card { state: State::Published, ..card };
            let is_new = index.runs_of(id)?.iter().any(|run| run.state == State::Pending);
            if is_new {
                index.set_card(id, &card)?;
                index.note(now_ms(), [who, "publish", &id.to_string()])?;
                blobs.put_card(id, &card)?;
            }
            Ok(is_new)
        })
    }

    /// Makes a token called `name`, and returns its secret, which nothing else holds.
    ///
    /// # Errors
    /// If the name is taken.
    pub fn add_token(&mut self, token: TokenRow) -> Result<Secret, Error> {
        let secret = Secret::new()?;
        let token = TokenRow { sha256: secret.sha256(), created_ms: now_ms(), ..token };
        self.index.write(|index| {
            index.add_token(&token)?;
            index.note(token.created_ms, [OPERATOR, "add token", &token.name])
        })?;
        Ok(secret)
    }

    /// Revokes the token `name`.
    ///
    /// # Errors
    /// If there is none.
    pub fn revoke(&mut self, name: &str) -> Result<(), Error> {
        let now_ms = now_ms();
        self.index.write(|index| {
            index.revoke(name, now_ms)?;
            index.note(now_ms, [OPERATOR, "revoke token", name])
        })
    }

    /// Adds `mark`.
    ///
    /// # Errors
    /// If the index cannot be written.
    pub fn add_mark(&mut self, mark: &MarkRow) -> Result<(), Error> {
        self.index.write(|index| {
            index.add_mark(mark)?;
            index.note(now_ms(), [&mark.who, "add mark", &mark.id.to_string()])
        })
    }

    /// Removes the mark `id`.
    ///
    /// # Errors
    /// If there is none.
    pub fn remove_mark(&mut self, id: Id) -> Result<(), Error> {
        self.index.write(|index| {
            index.remove_mark(id)?;
            index.note(now_ms(), [OPERATOR, "remove mark", &id.to_string()])
        })
    }

    /// Makes all rows that follow from blobs anew; the number of blobs. Readers see the rows before until
    /// all new ones are there. Blobs that cannot be indexed are among the [problems](Self::problems).
    ///
    /// # Errors
    /// If the index cannot be written.
    pub fn reindex(&mut self) -> Result<usize, Error> {
        let Self { blobs, index, problems, .. } = self;
        problems.clear();
        index.write(|index| {
            // No other process adds a blob from here on.
            let ids = blobs.ids()?;
            index.clear()?;
            ids.iter().try_for_each(|id| add_blob(index, blobs, *id, problems))?;
            Ok(ids.len())
        })
    }

    /// Indexes the blobs that have no rows yet, and gives pending runs the state on their cards: a process
    /// may have died before it could.
    fn catch_up(&mut self) -> Result<(), Error> {
        let Self { blobs, index, problems, .. } = self;
        // In this order: the file of a blob is there before its rows.
        let known = index.blobs()?;
        let ids = blobs.ids()?;
        let (ids, known): (BTreeSet<_>, BTreeSet<_>) =
            (ids.into_iter().collect(), known.into_iter().collect());
        for id in ids.difference(&known) {
            index.write(|index| {
                if index.contains(*id)? { Ok(()) } else { add_blob(index, blobs, *id, problems) }
            })?;
        }
        for id in known.difference(&ids) {
            problems.push(format!("the file of {id} is missing (restore it from a backup)"));
        }
        for id in index.pending()? {
            let card = blobs.card(id);
            if let Ok(card) = card.as_ref()
                && card.state != State::Pending
            {
                index.write(|index| index.set_card(id, card))?;
            }
        }
        Ok(())
    }

    /// Brings the copy of the database in the folder `to` up to date, which becomes or is a database itself:
    /// all files that it lacks, the number of which is returned; then tokens, marks and the audit log as of
    /// one moment. Its index is made from its files, by the engine that its own folder names. Files that
    /// cannot be read are among the [problems](Self::problems).
    ///
    /// # Errors
    /// If the folder holds something else, or a file cannot be written.
    pub fn back_up(&mut self, to: &Path) -> Result<usize, Error> {
        self.problems.clear();
        let copies = Blobs::open_copy(to, &self.blobs.id()?.unwrap_or_default())?;
        let mut n_copied = 0;
        for id in self.blobs.ids()? {
            let copied = self.blobs.card(id).and_then(|card| self.blobs.copy(id, &card, &copies));
            match copied {
                Ok(is_new) => n_copied += usize::from(is_new),
                Err(error @ (Error::Io { action: "read", .. } | Error::Damaged { .. })) => {
                    self.problems.push(format!("{id} is not in the backup: {error}"));
                }
                Err(error) => return Err(error),
            }
        }
        let mut copy = Self::open(to)?;
        self.problems.append(&mut copy.problems);
        // No other process changes them meanwhile.
        self.index.write(|index| copy.index.write(|copy| copy.take_over(index)))?;
        Ok(n_copied)
    }
}

/// True if `folder` holds the files of a database.
fn has_files(folder: &Path) -> Result<bool, Error> {
    match folder.join("data").metadata() {
        Ok(data) => Ok(data.is_dir()),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(false)
        }
        Err(error) => Err(Error::io("read", folder, PERMISSIONS)(error)),
    }
}

/// Adds the rows of the blob `id`, or a problem.
fn add_blob(
    index: &mut Index,
    blobs: &Blobs,
    id: BlobId,
    problems: &mut Vec<String>,
) -> Result<(), Error> {
    let rows = blobs.card(id).and_then(|card| examine::rows(id, &blobs.read(id)?, &card));
    match rows {
        Ok(rows) => rows.iter().try_for_each(|rows| index.add(rows)),
        Err(error) => {
            problems.push(format!("{id} is not in the index: {error}"));
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests;
