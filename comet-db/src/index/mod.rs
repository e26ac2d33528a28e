//! The index: all statements and all rows, over any engine.

pub mod access;
pub mod audit;
mod history;
pub mod marks;
mod runs;
mod schema;

use std::ops::RangeInclusive;

use crate::Error;
use crate::card::{Card, State};
use crate::examine::RunRows;
use crate::id::{BlobId, Id};
use crate::rows::{LabelRow, MachineRow, PointRow, RunRow, SeriesRow, Table};
use crate::store::{Store, Value};

pub use history::{Figure, Later, MAX_VALUES, Start};
pub use runs::{Cursor, Filter, MAX_ROWS, MachineUse, Page, SeriesUse};

/// The most rows that one statement inserts.
const ROWS: usize = 64;
/// End of a statement that inserts what is not there yet.
const UNLESS_THERE: &str = " ON CONFLICT DO NOTHING";

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
    /// The index in `store`, with all steps of the schema taken.
    ///
    /// # Errors
    /// If the schema is of a later version, or the engine refuses, as in all that follows.
    pub fn open(mut store: Box<dyn Store>) -> Result<Self, Error> {
        schema::upgrade(&mut *store)?;
        Ok(Self { store })
    }

    /// True if rows that follow from blobs have to be made anew, because of a step of the schema.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn is_outdated(&mut self) -> Result<bool, Error> {
        Ok(!self.store.query("SELECT step FROM outdated", &[])?.is_empty())
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

    /// Does `work` on the index as of one moment.
    ///
    /// # Errors
    /// Those of `work`, too.
    pub fn read<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.store.begin_reading()?;
        let transaction = Transaction { index: self, is_kept: false };
        work(transaction.index)
    }

    /// Adds the rows of one run.
    ///
    /// # Errors
    /// If it is there already.
    pub fn add(&mut self, rows: &RunRows) -> Result<(), Error> {
        self.insert_new(&rows.machine)?;
        self.insert(&rows.run)?;
        self.insert_all(&rows.labels, "")?;
        self.insert_all(&rows.series, UNLESS_THERE)?;
        self.insert_all(&rows.points, "")
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

    /// Removes all rows that follow from blobs, and the note that they are outdated.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn clear(&mut self) -> Result<(), Error> {
        let delete =
            |table: &&str| self.store.execute(&format!("DELETE FROM {table}"), &[]).map(drop);
        schema::DERIVED.iter().try_for_each(delete)
    }

    /// Notes that the blobs are those of the database `id`; inside of a transaction.
    ///
    /// # Errors
    /// If they are those of another one.
    pub fn claim(&mut self, id: &str) -> Result<(), Error> {
        let Some(found) = self.origin()? else {
            return self
                .store
                .execute("INSERT INTO origin (id) VALUES ($1)", &[id.into()])
                .map(drop);
        };
        if found == id {
            return Ok(());
        }
        Err(Error::Index(format!(
            "it is of the database {found}, not of {id} as data/id says (give each database an index of its own)"
        )))
    }

    /// Id of the database whose blobs these are; `None` before one is noted.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn origin(&mut self) -> Result<Option<String>, Error> {
        let rows = self.store.query("SELECT id FROM origin", &[])?.into_iter();
        rows.map(|mut row| row.text()).next().transpose()
    }

    /// Takes tokens, marks and the audit log of `other` in place of its own; inside of a transaction.
    ///
    /// # Errors
    /// If an engine refuses.
    pub fn take_over(&mut self, other: &mut Self) -> Result<(), Error> {
        for table in schema::KEPT {
            self.store.execute(&format!("DELETE FROM {table}"), &[])?;
            // Columns have the same order in all engines: that of the steps that made them.
            for row in other.store.query(&format!("SELECT * FROM {table} ORDER BY id"), &[])? {
                let values = row.into_values();
                let sql = format!("INSERT INTO {table} VALUES ({})", places(1..=values.len()));
                self.store.execute(&sql, &values)?;
            }
        }
        Ok(())
    }

    /// Inserts `row`, which must be new.
    fn insert<T: Table>(&mut self, row: &T) -> Result<(), Error> {
        self.insert_all(std::slice::from_ref(row), "")
    }

    /// Inserts `row`, unless it is there: equal ids stand for equal rows.
    fn insert_new<T: Table>(&mut self, row: &T) -> Result<(), Error> {
        self.insert_all(std::slice::from_ref(row), UNLESS_THERE)
    }

    /// Inserts `rows` by statements with `end` behind them, most of which insert many: each is a message to
    /// a server and back.
    fn insert_all<T: Table>(&mut self, rows: &[T], end: &str) -> Result<(), Error> {
        let (many, rest) = rows.as_chunks::<ROWS>();
        for rows in many {
            let values: Vec<Value<'_>> = rows.iter().flat_map(T::values).collect();
            self.store.execute(&insertion::<T>(ROWS, end), &values)?;
        }
        for row in rest {
            self.store.execute(&insertion::<T>(1, end), &row.values())?;
        }
        Ok(())
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

/// The numbers of `ids`, with commas between them, or what no number is equal to.
fn numbers(ids: &[Id]) -> String {
    if ids.is_empty() {
        return "NULL".into();
    }
    ids.iter().map(|id| id.number().to_string()).collect::<Vec<_>>().join(", ")
}

/// The columns of `T`, with commas between them.
fn columns<T: Table>() -> String {
    T::COLUMNS.join(", ")
}

/// The columns of `T` with its name before each, for a statement that has other tables, too.
fn qualified<T: Table>() -> String {
    let columns = T::COLUMNS.iter().map(|column| format!("{}.{column}", T::NAME));
    columns.collect::<Vec<_>>().join(", ")
}

/// The statement that inserts `n_rows` of `T`, with `end` behind it.
fn insertion<T: Table>(n_rows: usize, end: &str) -> String {
    let n_columns = T::COLUMNS.len();
    let row = |row| format!("({})", places(row * n_columns + 1..=(row + 1) * n_columns));
    let rows: Vec<String> = (0..n_rows).map(row).collect();
    format!("INSERT INTO {} ({}) VALUES {}{end}", T::NAME, columns::<T>(), rows.join(", "))
}

/// The places of the values `numbers`, with commas between them.
fn places(numbers: RangeInclusive<usize>) -> String {
    numbers.map(|number| format!("${number}")).collect::<Vec<_>>().join(", ")
}
