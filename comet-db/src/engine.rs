//! The engine of a database, which its folder names: PostgreSQL where there is a file `index.postgres` with
//! an address, or else SQLite.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::Error;
use crate::sqlite::Sqlite;
use crate::store::Store;

/// Name of the file of an index on SQLite.
const SQLITE: &str = "index.sqlite";
/// Name of the file with the address of an index on PostgreSQL.
pub(crate) const POSTGRES: &str = "index.postgres";
/// Remedy for a file of an address that cannot be read or written.
const PERMISSIONS: &str = "see to its permissions";

/// The engine of the database in `folder`.
///
/// # Errors
/// If it cannot be opened.
pub(crate) fn open(folder: &Path) -> Result<Box<dyn Store>, Error> {
    address(folder)?.map_or_else(|| sqlite(folder), |address| postgres(&address))
}

/// The engine that has an index of the database in `folder`, if there is one.
///
/// # Errors
/// If it cannot be opened.
pub(crate) fn existing(folder: &Path) -> Result<Option<Box<dyn Store>>, Error> {
    match address(folder)? {
        Some(address) => postgres(&address).map(Some),
        None if folder.join(SQLITE).exists() => sqlite(folder).map(Some),
        None => Ok(None),
    }
}

/// The address of an index on PostgreSQL, if `folder` has one.
fn address(folder: &Path) -> Result<Option<String>, Error> {
    let path = folder.join(POSTGRES);
    match fs::read_to_string(&path) {
        Ok(address) => Ok(Some(address.trim().into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("read", path, PERMISSIONS)(error)),
    }
}

fn sqlite(folder: &Path) -> Result<Box<dyn Store>, Error> {
    Ok(Box::new(Sqlite::open(&folder.join(SQLITE))?))
}

/// The database of PostgreSQL at `address`.
///
/// # Errors
/// If it cannot be reached.
#[cfg(feature = "postgres")]
pub(crate) fn postgres(address: &str) -> Result<Box<dyn Store>, Error> {
    Ok(Box::new(crate::postgres::Postgres::open(address)?))
}

/// The refusal of a program without a client of PostgreSQL.
#[cfg(not(feature = "postgres"))]
pub(crate) fn postgres(_address: &str) -> Result<Box<dyn Store>, Error> {
    Err(Error::Unknown(
        "the index is on PostgreSQL, and this program is built without a client of it (build \
         comet-run with --features db-postgres)"
            .into(),
    ))
}

/// Makes PostgreSQL at `address` the engine of the database in `folder`, in place of any before. Its owner
/// alone may read the address, which may hold a password.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn set_postgres(folder: &Path, address: &str) -> Result<(), Error> {
    let (part, path) = (folder.join("index.part"), folder.join(POSTGRES));
    drop(fs::remove_file(&part));
    let written = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part);
    let written = written.and_then(|mut file| {
        writeln!(file, "{address}")?;
        file.sync_all()?;
        fs::rename(&part, &path)?;
        fs::File::open(folder)?.sync_all()
    });
    written.map_err(Error::io("write", path, PERMISSIONS))?;
    for end in ["", "-wal", "-shm"] {
        // It holds nothing that is not in the other one now.
        drop(fs::remove_file(folder.join(format!("{SQLITE}{end}"))));
    }
    Ok(())
}
