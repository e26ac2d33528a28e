//! Marks of an index, which no blob holds: changes of machines that people know of.

use super::Index;
use crate::Error;
use crate::id::Id;
use crate::rows::table;

table! {
    /// A change of a machine that somebody knows of.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct MarkRow as "mark" {
        /// Id, of machine, time and note.
        pub id: Id as "id",
        /// Name of the machine.
        pub machine: String as "machine",
        /// Time of the change, in milliseconds since 1970.
        pub at_ms: i64 as "at_ms",
        /// Note on what changed.
        pub note: String as "note",
        /// Person who made the mark: a token, or the operator.
        pub who: String as "who",
    }
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
