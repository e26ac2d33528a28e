//! Marks of an index, which no blob holds: changes of machines that people know of.

use super::Index;
use crate::Error;
use crate::id::Id;
use crate::rows::Table;
use crate::store::{Row, Value};

/// A change of a machine that somebody knows of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkRow {
    /// Id, of machine, time and note.
    pub id: Id,
    /// Name of the machine.
    pub machine: String,
    /// Time of the change, in milliseconds since 1970.
    pub at_ms: i64,
    /// Note on what changed.
    pub note: String,
    /// Person who made the mark: a token, or the operator.
    pub who: String,
}

impl MarkRow {
    /// A mark by `who`.
    pub fn new(machine: &str, at_ms: i64, note: &str, who: &str) -> Self {
        Self {
            id: Id::of("mark", &[machine, &at_ms.to_string(), note]),
            machine: machine.into(),
            at_ms,
            note: note.into(),
            who: who.into(),
        }
    }

    /// True if it is of the machine called `name`, letter case aside.
    pub fn is_of(&self, name: &str) -> bool {
        self.machine.eq_ignore_ascii_case(name)
    }
}

impl Table for MarkRow {
    const NAME: &'static str = "mark";
    const COLUMNS: &'static [&'static str] = &["id", "machine", "at_ms", "note", "who"];

    fn values(&self) -> Vec<Value<'_>> {
        let Self { id, machine, at_ms, note, who } = self;
        vec![(*id).into(), machine.into(), (*at_ms).into(), note.into(), who.into()]
    }

    fn of(row: &mut Row) -> Result<Self, Error> {
        Ok(Self {
            id: row.id()?,
            machine: row.text()?,
            at_ms: row.int()?,
            note: row.text()?,
            who: row.text()?,
        })
    }
}

impl Index {
    /// Adds `mark`, unless it is there.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn add_mark(&mut self, mark: &MarkRow) -> Result<(), Error> {
        self.insert_new(mark)
    }

    /// All marks, by their times.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn marks(&mut self) -> Result<Vec<MarkRow>, Error> {
        self.select("ORDER BY at_ms, id", &[])
    }

    /// Removes the mark `id`.
    ///
    /// # Errors
    /// If there is none, or the engine refuses.
    pub fn remove_mark(&mut self, id: Id) -> Result<(), Error> {
        if self.store.execute("DELETE FROM mark WHERE id = $1", &[id.into()])? == 1 {
            return Ok(());
        }
        Err(Error::Unknown(format!("there is no mark {id} (see comet-run db mark list)")))
    }
}
