//! SQLite as the engine of an index: one file, one writer at a time, any number of readers.

use std::path::Path;
use std::time::Duration;

use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, params_from_iter};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::Error;
use crate::store::{Dialect, Row, Store, Value};

/// Time that a writer waits for another one.
const BUSY: Duration = Duration::from_secs(30);
/// Prepared statements that a connection keeps.
const STATEMENTS: usize = 64;

/// Settings of a connection. `FULL`: what is committed is on the disk. Files would be indexed again after a
/// crash of the system, but a token that was revoked would be valid.
const SETTINGS: &str = "
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA foreign_keys = ON;
    PRAGMA trusted_schema = OFF;
    PRAGMA temp_store = MEMORY;
    PRAGMA cache_size = -32768;
";

/// Setting of a connection that is alone: it needs no memory that is shared with others.
const ALONE: &str = "PRAGMA locking_mode = EXCLUSIVE;";

/// Remedy for an index that is damaged.
const DAMAGED: &str = "if it is damaged, move it aside and run comet-run db reindex, which makes it from the \
                       files; tokens, marks and the audit log are in a backup alone";

/// A connection to a file of SQLite.
#[derive(Debug)]
pub struct Sqlite {
    connection: Connection,
}

impl Sqlite {
    /// A connection to the file `path`, which is made if need be.
    ///
    /// # Errors
    /// If the file cannot be opened, or is no database.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::with("", path)
    }

    /// The only connection to the file `path`, which may lie on a file system that machines share.
    ///
    /// # Errors
    /// As of [`open`](Self::open), and if another process has the file.
    pub fn open_alone(path: &Path) -> Result<Self, Error> {
        Self::with(ALONE, path)
    }

    fn with(first: &str, path: &Path) -> Result<Self, Error> {
        // For its owner alone, as its other files then are. SQLite tells of what it cannot open. No file that
        // is there is opened here: to close it would end the locks of other connections of this process.
        let _ = mknodat(CWD, path, FileType::RegularFile, Mode::from_raw_mode(0o600), 0);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags(path, flags).and_then(|connection| {
            connection.busy_timeout(BUSY)?;
            connection.execute_batch(&format!("{first}{SETTINGS}"))?;
            connection.set_prepared_statement_cache_capacity(STATEMENTS);
            Ok(Self { connection })
        });
        opened.map_err(|error| {
            let (path, remedy) = (path.display(), remedy(&error).unwrap_or(DAMAGED));
            Error::Index(format!("cannot open {path}: {error} ({remedy})"))
        })
    }
}

/// The refusal of SQLite.
fn refused(error: rusqlite::Error) -> Error {
    let remedy = remedy(&error).map(|remedy| format!(" ({remedy})"));
    Error::Index(format!("{error}{}", remedy.unwrap_or_default()))
}

/// Remedy for a refusal of SQLite, if it has one.
fn remedy(error: &rusqlite::Error) -> Option<&'static str> {
    match error.sqlite_error_code()? {
        ErrorCode::DatabaseBusy => Some("another process writes; try again"),
        ErrorCode::DiskFull => Some("free some space"),
        ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied => {
            Some("see to the permissions of the index and of its folder: all commands write there")
        }
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => Some(DAMAGED),
        _ => None,
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Null => ValueRef::Null,
            Value::Int(number) => ValueRef::Integer(*number),
            Value::Real(number) => ValueRef::Real(*number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

/// `value` as an index has it; a column of another type holds no value of ours.
fn value(value: ValueRef<'_>) -> Value<'static> {
    match value {
        ValueRef::Null | ValueRef::Blob(_) => Value::Null,
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned().into()),
    }
}

impl Store for Sqlite {
    fn dialect(&self) -> Dialect {
        let clustered = "STRICT, WITHOUT ROWID";
        Dialect { int: "INTEGER", real: "REAL", text: "TEXT", clustered }
    }

    fn version(&mut self) -> Result<i64, Error> {
        let read = |row: &rusqlite::Row<'_>| row.get(0);
        self.connection.query_row("PRAGMA user_version", [], read).map_err(refused)
    }

    fn set_version(&mut self, version: i64) -> Result<(), Error> {
        self.connection.pragma_update(None, "user_version", version).map_err(refused)
    }

    fn begin(&mut self) -> Result<(), Error> {
        self.batch("BEGIN IMMEDIATE")
    }

    fn begin_reading(&mut self) -> Result<(), Error> {
        self.batch("BEGIN")
    }

    fn commit(&mut self) -> Result<(), Error> {
        self.batch("COMMIT")
    }

    fn roll_back(&mut self) {
        // SQLite may have ended it by itself.
        drop(self.batch("ROLLBACK"));
    }

    fn batch(&mut self, sql: &str) -> Result<(), Error> {
        self.connection.execute_batch(sql).map_err(refused)
    }

    fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<usize, Error> {
        let mut statement = self.connection.prepare_cached(sql).map_err(refused)?;
        statement.execute(params_from_iter(values)).map_err(refused)
    }

    fn query(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, Error> {
        let mut statement = self.connection.prepare_cached(sql).map_err(refused)?;
        let n_columns = statement.column_count();
        let read = |row: &rusqlite::Row<'_>| {
            let values = (0..n_columns).map(|index| Ok(value(row.get_ref(index)?)));
            Ok(Row::from(values.collect::<rusqlite::Result<Vec<_>>>()?))
        };
        let rows = statement.query_map(params_from_iter(values), read).map_err(refused)?;
        rows.collect::<rusqlite::Result<_>>().map_err(refused)
    }
}
