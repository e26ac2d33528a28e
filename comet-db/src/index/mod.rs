//! The index: all statements and all rows, over any engine.

pub mod access;
pub mod audit;
mod history;
pub mod marks;
mod runs;
mod schema;

use std::path::Path;

use crate::Error;
use crate::card::{Card, State};
use crate::examine::RunRows;
use crate::id::{BlobId, Id};
use crate::rows::{LabelRow, MachineRow, PointRow, RunRow, SeriesRow, Table};
use crate::store::{Store, Value};

pub use history::Figure;
pub use runs::{Cursor, Filter, MAX_ROWS, MachineUse, Page, SeriesUse};

/// An index over one connection.
pub struct Index {
    store: Box<dyn Store>,
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Index").finish_non_exhaustive()
    }
}

/// A transaction, which is dropped unless it is kept: after an error, a commit that failed, or a panic.
struct Transaction<'a> {
    index: &'a mut Index,
    is_kept: bool,
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if !self.is_kept {
            self.index.store.roll_back();
        }
    }
}

impl Index {
    /// The index in `store`, with all steps of the schema taken; and true if rows that follow from blobs
    /// have to be made anew.
    ///
    /// # Errors
    /// If the schema is of a later version, or the engine refuses, as in all that follows.
    pub fn open(mut store: Box<dyn Store>) -> Result<(Self, bool), Error> {
        let reindexes = schema::upgrade(&mut *store)?;
        Ok((Self { store }, reindexes))
    }

    /// Does `work` in a transaction that excludes other writers, and keeps all of it or nothing.
    ///
    /// # Errors
    /// Those of `work`, too.
    pub fn write<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.store.begin()?;
        let mut transaction = Transaction { index: self, is_kept: false };
        let done = work(transaction.index)?;
        transaction.index.store.commit()?;
        transaction.is_kept = true;
        Ok(done)
    }

    /// Adds the rows of one run.
    ///
    /// # Errors
    /// If it is there already.
    pub fn add(&mut self, rows: &RunRows) -> Result<(), Error> {
        self.insert_new(&rows.machine)?;
        self.insert(&rows.run)?;
        rows.labels.iter().try_for_each(|row| self.insert(row))?;
        rows.series.iter().try_for_each(|row| self.insert_new(row))?;
        rows.points.iter().try_for_each(|row| self.insert(row))
    }

    /// True if the runs of `blob` are in the index.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn contains(&mut self, blob: BlobId) -> Result<bool, Error> {
        let sql = "SELECT place FROM run WHERE blob = $1 LIMIT 1";
        Ok(!self.store.query(sql, &[blob.to_string().into()])?.is_empty())
    }

    /// True if a run of `blob` is published.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn is_published(&mut self, blob: BlobId) -> Result<bool, Error> {
        let sql = "SELECT 1 FROM run WHERE blob = $1 AND state = $2 LIMIT 1";
        let values = [blob.to_string().into(), State::Published.name().into()];
        Ok(!self.store.query(sql, &values)?.is_empty())
    }

    /// The blobs whose runs are in the index, in their order.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn blobs(&mut self) -> Result<Vec<BlobId>, Error> {
        let rows = self.store.query("SELECT blob FROM run WHERE place = 0 ORDER BY blob", &[])?;
        rows.into_iter().map(|mut row| row.blob()).collect()
    }

    /// The blobs that have pending runs.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn pending(&mut self) -> Result<Vec<BlobId>, Error> {
        let sql = "SELECT blob FROM run WHERE place = 0 AND state = $1 ORDER BY blob";
        let rows = self.store.query(sql, &[State::Pending.name().into()])?;
        rows.into_iter().map(|mut row| row.blob()).collect()
    }

    /// Gives the runs of `blob` what its `card` says.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn set_card(&mut self, blob: BlobId, card: &Card) -> Result<(), Error> {
        let sql = "UPDATE run SET received_ms = $1, submitter = $2, state = $3 WHERE blob = $4";
        let values = [
            card.received_ms.into(),
            (&card.submitter).into(),
            card.state.name().into(),
            blob.to_string().into(),
        ];
        self.store.execute(sql, &values).map(drop)
    }

    /// Removes all rows that follow from blobs.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn clear(&mut self) -> Result<(), Error> {
        let delete =
            |table: &&str| self.store.execute(&format!("DELETE FROM {table}"), &[]).map(drop);
        schema::DERIVED.iter().try_for_each(delete)
    }

    /// Writes a consistent copy to the new file `path`.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn back_up(&mut self, path: &Path) -> Result<(), Error> {
        self.store.back_up(path)
    }

    /// Inserts `row`, which must be new.
    fn insert<T: Table>(&mut self, row: &T) -> Result<(), Error> {
        self.store.execute(&insertion::<T>(""), &row.values()).map(drop)
    }

    /// Inserts `row`, unless it is there: equal ids stand for equal rows.
    fn insert_new<T: Table>(&mut self, row: &T) -> Result<(), Error> {
        self.store.execute(&insertion::<T>(" ON CONFLICT DO NOTHING"), &row.values()).map(drop)
    }

    /// The rows of `T` for which `condition` holds, in its order.
    fn select<T: Table>(&mut self, condition: &str, values: &[Value<'_>]) -> Result<Vec<T>, Error> {
        let sql = format!("SELECT {} FROM {} {condition}", columns::<T>(), T::NAME);
        self.store.query(&sql, values)?.iter_mut().map(T::of).collect()
    }

    /// All rows that follow from blobs, as text: equal for equal answers.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn dump(&mut self) -> Result<String, Error> {
        let mut text = String::new();
        for row in self.select::<MachineRow>("ORDER BY id", &[])? {
            text += &format!("{row:?}\n");
        }
        for row in self.select::<RunRow>("ORDER BY id", &[])? {
            text += &format!("{row:?}\n");
        }
        for row in self.select::<LabelRow>("ORDER BY run_id, name", &[])? {
            text += &format!("{row:?}\n");
        }
        for row in self.select::<SeriesRow>("ORDER BY id", &[])? {
            text += &format!("{row:?}\n");
        }
        for row in self.select::<PointRow>("ORDER BY run_id, place", &[])? {
            text += &format!("{row:?}\n");
        }
        Ok(text)
    }
}

/// The numbers of `ids`, with commas between them.
fn numbers(ids: &[Id]) -> String {
    ids.iter().map(|id| id.number().to_string()).collect::<Vec<_>>().join(", ")
}

/// The columns of `T`, with commas between them.
fn columns<T: Table>() -> String {
    T::COLUMNS.join(", ")
}

/// The statement that inserts a row of `T`, with `end` behind it.
fn insertion<T: Table>(end: &str) -> String {
    let places: Vec<String> = (1..=T::COLUMNS.len()).map(|number| format!("${number}")).collect();
    format!("INSERT INTO {} ({}) VALUES ({}){end}", T::NAME, columns::<T>(), places.join(", "))
}
