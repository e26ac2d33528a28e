//! Audit log of an index: who changed what, and when.

use super::Index;
use crate::Error;
use crate::store::Row;

/// An entry of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Time, in milliseconds since 1970.
    pub at_ms: i64,
    /// Name of a token, or the operator.
    pub who: String,
    /// Action, in one word (`add`, `publish`, `revoke`).
    pub action: String,
    /// Blob or token that it changed.
    pub subject: String,
}

impl Index {
    /// Notes that `who` did `action` to `subject` at the time `at_ms`; inside of the transaction that does
    /// it.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn note(&mut self, at_ms: i64, [who, action, subject]: [&str; 3]) -> Result<(), Error> {
        let sql = "INSERT INTO audit (id, at_ms, who, action, subject) \
                   SELECT COALESCE(MAX(id), 0) + 1, $1, $2, $3, $4 FROM audit";
        let values = [at_ms.into(), who.into(), action.into(), subject.into()];
        self.store.execute(sql, &values).map(drop)
    }

    /// Number of entries, which grows with every change of the index.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn revision(&mut self) -> Result<i64, Error> {
        let rows = self.store.query("SELECT COALESCE(MAX(id), 0) FROM audit", &[])?;
        rows.into_iter().next().map_or(Ok(0), |mut row| row.int())
    }

    /// The latest `n` entries, the latest first.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn audit(&mut self, n: usize) -> Result<Vec<Entry>, Error> {
        let sql =
            format!("SELECT at_ms, who, action, subject FROM audit ORDER BY id DESC LIMIT {n}");
        let read = |mut row: Row| {
            Ok(Entry {
                at_ms: row.int()?,
                who: row.text()?,
                action: row.text()?,
                subject: row.text()?,
            })
        };
        self.store.query(&sql, &[])?.into_iter().map(read).collect()
    }
}
