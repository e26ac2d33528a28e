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
/// Name of the file with the certificates that vouch for its server.
const CERTIFICATES: &str = "index.pem";
/// Numbers and names of file systems that machines share (`statfs(2)`). Processes that have a file of SQLite
/// open at once meet in shared memory, which these have on one machine alone.
const SHARED: [(u32, &str); 9] = [
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xfe53_4d42, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0x5346_414f, "AFS"),
    (0x0bd0_0bd0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x1983_0326, "BeeGFS"),
    (0x00c3_6400, "CephFS"),
];
/// Remedy for a file or folder that cannot be read or written.
pub(crate) const PERMISSIONS: &str = "see to its permissions";

/// A database on a server of PostgreSQL.
#[derive(Clone, PartialEq, Eq)]
pub struct Server {
    /// Address, as libpq has it: `postgres://USER@HOST/NAME`, or `host=HOST dbname=NAME`.
    pub address: String,
    /// Certificates in PEM, one of which has to vouch for the server; without them nothing is encrypted.
    pub certificates: Option<String>,
}

/// Without the address, which may hold a password.
impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}

/// The engine of the database in `folder`.
pub(crate) fn open(folder: &Path) -> Result<Box<dyn Store>, Error> {
    server(folder)?.map_or_else(|| sqlite(folder), |server| postgres(&server))
}

/// The engine that has an index of the database in `folder`, if there is one.
pub(crate) fn existing(folder: &Path) -> Result<Option<Box<dyn Store>>, Error> {
    match server(folder)? {
        Some(server) => postgres(&server).map(Some),
        None if folder.join(SQLITE).exists() => sqlite(folder).map(Some),
        None => Ok(None),
    }
}

/// The server of an index on PostgreSQL, if `folder` names one.
fn server(folder: &Path) -> Result<Option<Server>, Error> {
    let read = |name| {
        let path = folder.join(name);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text.trim().to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("read", path, PERMISSIONS)(error)),
        }
    };
    let Some(address) = read(POSTGRES)? else { return Ok(None) };
    Ok(Some(Server { address, certificates: read(CERTIFICATES)? }))
}

fn sqlite(folder: &Path) -> Result<Box<dyn Store>, Error> {
    let path = folder.join(SQLITE);
    let is_shared = file_system(folder).is_some();
    Ok(Box::new(if is_shared { Sqlite::open_alone(&path) } else { Sqlite::open(&path) }?))
}

/// Checks that several connections may have the index of the database in `folder` open at once.
///
/// # Errors
/// If it is a file of SQLite on a file system that machines share.
pub(crate) fn admit_many(folder: &Path) -> Result<(), Error> {
    match (server(folder)?, file_system(folder)) {
        (None, Some(name)) => Err(Error::Unknown(format!(
            "{} is on {name}, where one process at a time may have the index (serve a folder on a disk of \
             this machine, or take the index to PostgreSQL: comet-run db init)",
            folder.join(SQLITE).display()
        ))),
        _ => Ok(()),
    }
}

/// The file system of `folder`, if machines share it.
fn file_system(folder: &Path) -> Option<&'static str> {
    let number = rustix::fs::statfs(folder).ok()?.f_type;
    shared(u32::try_from(number & 0xffff_ffff).ok()?)
}

/// The file system with this number, if machines share it.
fn shared(number: u32) -> Option<&'static str> {
    SHARED.iter().find(|(shared, _)| *shared == number).map(|(_, name)| *name)
}

/// The database of PostgreSQL that `server` is.
///
/// # Errors
/// If it cannot be reached.
#[cfg(feature = "postgres")]
pub(crate) fn postgres(server: &Server) -> Result<Box<dyn Store>, Error> {
    Ok(Box::new(crate::postgres::Postgres::open(server)?))
}

/// The refusal of a program without a client of PostgreSQL.
#[cfg(not(feature = "postgres"))]
pub(crate) fn postgres(_server: &Server) -> Result<Box<dyn Store>, Error> {
    Err(Error::Unknown(
        "the index is on PostgreSQL, and this program is built without a client of it (build \
         comet-run with --features db-postgres)"
            .into(),
    ))
}

/// Makes `server` the engine of the database in `folder`, in place of any before. The owner of the folder
/// alone may read its address, which may hold a password.
///
/// # Errors
/// If a file cannot be written.
pub(crate) fn set_postgres(folder: &Path, server: &Server) -> Result<(), Error> {
    match &server.certificates {
        Some(certificates) => write(folder, CERTIFICATES, certificates)?,
        None => drop(fs::remove_file(folder.join(CERTIFICATES))),
    }
    write(folder, POSTGRES, &server.address)?;
    for end in ["", "-wal", "-shm"] {
        // It holds nothing that is not in the other one now.
        drop(fs::remove_file(folder.join(format!("{SQLITE}{end}"))));
    }
    Ok(())
}

/// Writes the line or lines `text` into the file `name`, in place of the one before.
fn write(folder: &Path, name: &str, text: &str) -> Result<(), Error> {
    let (part, path) = (folder.join("index.part"), folder.join(name));
    drop(fs::remove_file(&part));
    let written = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part);
    let written = written.and_then(|mut file| {
        writeln!(file, "{text}")?;
        file.sync_all()?;
        fs::rename(&part, &path)?;
        fs::File::open(folder)?.sync_all()
    });
    written.map_err(Error::io("write", path, PERMISSIONS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Folder;
    use crate::index::Index;

    #[test]
    fn file_systems_that_machines_share_are_known() {
        assert_eq!(shared(0x6969), Some("NFS"));
        assert_eq!(shared(0xef53), None, "ext4");
        let folder = Folder::new();
        assert_eq!(admit_many(folder.path()).ok(), Some(()), "a folder for files of a while");
    }

    #[test]
    fn a_damaged_index_is_moved_aside_and_one_without_rights_is_not() {
        let folder = Folder::new();
        let refusal = |name: &str| {
            let error = Sqlite::open(&folder.path().join(name)).unwrap_err().to_string();
            (error.contains("permissions of the index"), error.contains("move it aside"))
        };
        folder.write("junk", &"no index ".repeat(100));
        assert_eq!(refusal("junk"), (false, true));
        assert_eq!(refusal("none/index"), (true, false), "SQLite cannot open it");
        let mut index = Sqlite::open(&folder.path().join(SQLITE)).unwrap();
        index.batch("PRAGMA query_only = ON").unwrap();
        let error = index.batch("CREATE TABLE x (y)").unwrap_err().to_string();
        assert!(error.contains("readonly database (see to the permissions of"), "{error}");
    }

    #[test]
    fn an_index_that_is_alone_needs_no_shared_memory() {
        let folder = Folder::new();
        let path = folder.path().join(SQLITE);
        let mut index = Index::open(Box::new(Sqlite::open_alone(&path).unwrap())).unwrap();
        assert_eq!(index.blobs().unwrap(), []);
        assert!(path.exists() && !folder.path().join(format!("{SQLITE}-shm")).exists());
        drop(index);
        let mut index = Index::open(Box::new(Sqlite::open(&path).unwrap())).unwrap();
        assert_eq!(index.blobs().unwrap(), [], "it is an index like any other");
    }
}
