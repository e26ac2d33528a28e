//! Result files as immutable blobs, each named by the SHA-256 of its bytes.
//!
//! The bytes are those of the file as it was given, unpacked: it has been validated, and any other form
//! would be another file than the submitter's. A blob lies packed in `data/ab/abcd….jsonl.gz`, its card in
//! `data/ab/abcd….json`; files that are being written lie in `data/tmp`. A name appears by `rename` once
//! its bytes are on the disk, so that no reader ever sees a part.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use flate2::Compression;
use flate2::read::MultiGzDecoder;

use crate::Error;
use crate::card::{Card, State};
use crate::id::BlobId;
use crate::limits::pack;
use crate::token::random_bytes;

/// End of the names of blobs.
const PACKED: &str = ".jsonl.gz";
/// End of the names of cards.
const CARD: &str = ".json";
/// Level of the packed form: half the time of the best one, and a tenth more bytes.
const LEVEL: Compression = Compression::new(2);
/// Name of the file with the id of the database.
const ID: &str = "id";
/// Age of a file that was being written, from which nobody writes it any more.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);
/// Remedy for a folder that cannot be written.
const FREE: &str = "free some space, or see to its permissions";

/// The blobs of one database.
#[derive(Clone, Debug)]
pub struct Blobs {
    folder: PathBuf,
}

/// A blob in its packed form.
#[derive(Debug)]
pub(crate) struct Packed {
    pub(crate) id: BlobId,
    bytes: Vec<u8>,
}

impl Packed {
    /// The packed form of `text`.
    ///
    /// # Errors
    /// None that memory could give.
    pub(crate) fn of(text: &[u8]) -> Result<Self, Error> {
        Ok(Self { id: BlobId::of(text), bytes: pack(text, LEVEL)? })
    }
}

/// A blob that is on the disk under another name, which goes with this value.
#[derive(Debug)]
pub struct Staged<'a> {
    blobs: &'a Blobs,
    id: BlobId,
    path: PathBuf,
}

impl Blobs {
    /// The blobs in the folder `data` of the database in `folder`, which is made if need be. Parts of files
    /// that are older than a day are removed.
    ///
    /// # Errors
    /// If the folder cannot be made or read.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let blobs = Self { folder: folder.join("data") };
        blobs.make()?;
        if blobs.id()?.is_none() {
            // One that no other database has.
            let id = random_bytes::<16>()?.map(|byte| format!("{byte:02x}"));
            blobs.set_id(&id.concat())?;
        }
        let parts = blobs.parts();
        for path in entries(&parts)?.into_iter().filter(|path| is_abandoned(path)) {
            // Another process may have been faster.
            drop(fs::remove_file(path));
        }
        Ok(blobs)
    }

    /// The blobs in `folder` for a copy of the database with this `id`: an empty folder, or one with a copy
    /// of it.
    ///
    /// # Errors
    /// If the folder holds something else, or cannot be made or read.
    pub(crate) fn open_copy(folder: &Path, id: &str) -> Result<Self, Error> {
        let is_new = !folder.exists() || entries(folder)?.is_empty();
        let copies = Self { folder: folder.join("data") };
        let found = copies.id()?;
        if !is_new && found.as_deref() != Some(id) {
            return Err(Error::Unknown(format!(
                "{} holds something else than a copy of this database (name a new folder)",
                folder.display()
            )));
        }
        copies.make()?;
        if found.is_none() {
            copies.set_id(id)?;
        }
        Ok(copies)
    }

    /// Makes the folders that are not there, for their owner alone: pending files are nobody else's.
    fn make(&self) -> Result<(), Error> {
        let parts = self.parts();
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&parts);
        made.map_err(Error::io("make", parts, FREE))
    }

    /// Id of the database, which its copies have, too; `None` before it has one.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn id(&self) -> Result<Option<String>, Error> {
        let path = self.folder.join(ID);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text.trim().to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("read", path, FREE)(error)),
        }
    }

    /// Gives the database this `id`, unless another process was faster.
    fn set_id(&self, id: &str) -> Result<(), Error> {
        let part = self.write_part(format!("{id}\n").as_bytes())?;
        let path = self.folder.join(ID);
        let linked = fs::hard_link(&part, &path);
        drop(fs::remove_file(part));
        match linked {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(Error::io("write", path, FREE)(error))
            }
            _ => sync(&self.folder),
        }
    }

    /// Writes `packed` to the disk, but not under its name yet.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn stage(&self, packed: &Packed) -> Result<Staged<'_>, Error> {
        Ok(Staged { blobs: self, id: packed.id, path: self.write_part(&packed.bytes)? })
    }

    /// True if there is a blob `id`.
    pub fn contains(&self, id: BlobId) -> bool {
        self.path(id, PACKED).is_file()
    }

    /// The file of the blob `id`, packed by gzip.
    ///
    /// # Errors
    /// If there is none.
    pub fn packed(&self, id: BlobId) -> Result<File, Error> {
        let path = self.path(id, PACKED);
        File::open(&path).map_err(Error::io("read", path, "see comet-run db reindex"))
    }

    /// The bytes of the blob `id`.
    ///
    /// # Errors
    /// If there is none, or if it holds other bytes than its name says.
    pub fn read(&self, id: BlobId) -> Result<Vec<u8>, Error> {
        let path = self.path(id, PACKED);
        let mut bytes = Vec::new();
        let damaged = |message| Error::Damaged { path: path.clone(), message };
        MultiGzDecoder::new(io::BufReader::new(self.packed(id)?))
            .read_to_end(&mut bytes)
            .map_err(|error| damaged(error.to_string()))?;
        let found = BlobId::of(&bytes);
        if found == id { Ok(bytes) } else { Err(damaged(format!("its SHA-256 is {found}"))) }
    }

    /// The names of all blobs, in their order. Files with other names are passed over.
    ///
    /// # Errors
    /// If a folder cannot be read.
    pub fn ids(&self) -> Result<Vec<BlobId>, Error> {
        let mut ids = Vec::new();
        for folder in entries(&self.folder)?.into_iter().filter(|path| path.is_dir()) {
            let id = |path: PathBuf| -> Option<BlobId> {
                let id = path.file_name()?.to_str()?.strip_suffix(PACKED)?.parse().ok()?;
                (self.path(id, PACKED) == path).then_some(id)
            };
            ids.extend(entries(&folder)?.into_iter().filter_map(id));
        }
        ids.sort_unstable();
        Ok(ids)
    }

    /// The card of the blob `id`.
    ///
    /// # Errors
    /// If there is none, or it is damaged.
    pub fn card(&self, id: BlobId) -> Result<Card, Error> {
        let path = self.path(id, CARD);
        let text = fs::read(&path);
        let text = text.map_err(Error::io("read", &path, "restore it from a backup"))?;
        Card::parse(&text).map_err(|message| Error::Damaged { path, message })
    }

    /// Writes `card` as the card of the blob `id`, in place of the one before.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn put_card(&self, id: BlobId, card: &Card) -> Result<(), Error> {
        let part = self.write_part(card.to_text().as_bytes())?;
        self.name(&part, id, CARD)
    }

    /// Copies the blob `id` with its `card` into `to`, as far as they are not there; true if the blob was not.
    /// A copy that is published stays so.
    ///
    /// # Errors
    /// If it cannot be read or written.
    pub(crate) fn copy(&self, id: BlobId, card: &Card, to: &Self) -> Result<bool, Error> {
        let is_new = !to.contains(id);
        let path = self.path(id, PACKED);
        let bytes = if is_new { Some(fs::read(&path)) } else { None };
        let bytes = bytes.transpose();
        let bytes = bytes.map_err(Error::io("read", path, "restore it from a backup"))?;
        let known = to.card(id).ok();
        let is_taken_back = card.state == State::Pending
            && known.as_ref().is_some_and(|known| known.state == State::Published);
        if known.as_ref() != Some(card) && !is_taken_back {
            to.put_card(id, card)?;
        }
        if let Some(bytes) = bytes {
            let part = to.write_part(&bytes)?;
            to.name(&part, id, PACKED)?;
        }
        Ok(is_new)
    }

    /// Gives the file `part` the name of `id` that ends in `end`.
    fn name(&self, part: &Path, id: BlobId, end: &str) -> Result<(), Error> {
        let path = self.path(id, end);
        let folder = path.parent().unwrap_or(&self.folder);
        let made = fs::create_dir(folder);
        if made.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::AlreadyExists) {
            return made.map_err(Error::io("make", folder, FREE));
        }
        if made.is_ok() {
            sync(&self.folder)?;
        }
        fs::rename(part, &path).map_err(Error::io("write", &path, FREE))?;
        // The name itself is on the disk only then.
        sync(folder)
    }

    /// A new file on the disk that holds `bytes`.
    fn write_part(&self, bytes: &[u8]) -> Result<PathBuf, Error> {
        let path = self.parts().join(part_name());
        let written = File::create_new(&path).and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        });
        written.map(|()| path.clone()).map_err(|error| {
            drop(fs::remove_file(&path));
            Error::io("write", path, FREE)(error)
        })
    }

    fn parts(&self) -> PathBuf {
        self.folder.join("tmp")
    }

    fn path(&self, id: BlobId, end: &str) -> PathBuf {
        let name = id.to_string();
        self.folder.join(&name[..2]).join(name + end)
    }
}

impl Staged<'_> {
    /// Name of the blob.
    pub fn id(&self) -> BlobId {
        self.id
    }

    /// Makes it a blob of the database, with this `card`.
    ///
    /// # Errors
    /// If a name cannot be given.
    pub fn keep(self, card: &Card) -> Result<(), Error> {
        self.blobs.put_card(self.id, card)?;
        self.blobs.name(&self.path, self.id, PACKED)
    }
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        // It has its name by now, or is of no use.
        drop(fs::remove_file(&self.path));
    }
}

/// The paths in `folder`.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = fs::read_dir(folder).and_then(|entries| {
        entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>()
    });
    entries.map_err(Error::io(
        "read",
        folder,
        "is it the folder of a database, and may you read it?",
    ))
}

/// True if `folder` is not there, or holds nothing but the file `besides`.
pub(crate) fn is_new(folder: &Path, besides: &str) -> Result<bool, Error> {
    match fs::read_dir(folder) {
        Ok(entries) => Ok(entries.flatten().all(|entry| entry.file_name() == besides)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(Error::io("read", folder, "name a folder that you may read")(error)),
    }
}

/// A name for a file in the making, which no other process of any machine that shares the folder gives.
pub(crate) fn part_name() -> String {
    static N_PARTS: AtomicU64 = AtomicU64::new(0);
    // Relaxed: the numbers have to differ, and nothing else depends on them.
    let number = N_PARTS.fetch_add(1, Ordering::Relaxed);
    let age = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    format!("{}-{number}-{age:x}.part", process::id())
}

/// True if `path` has been in the making for so long that nobody writes it any more.
pub(crate) fn is_abandoned(path: &Path) -> bool {
    let changed = path.metadata().and_then(|data| data.modified());
    changed.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > ABANDONED))
}

/// Waits until the names in `folder` are on the disk.
fn sync(folder: &Path) -> Result<(), Error> {
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(Error::io("write", folder, FREE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Folder;

    fn stage<'a>(blobs: &'a Blobs, text: &[u8]) -> Staged<'a> {
        blobs.stage(&Packed::of(text).unwrap()).unwrap()
    }

    fn card(state: State) -> Card {
        Card { received_ms: 0, submitter: "operator".into(), state }
    }

    #[test]
    fn a_blob_is_read_back_under_the_hash_of_its_bytes() {
        let folder = Folder::new();
        let blobs = Blobs::open(folder.path()).unwrap();
        let staged = stage(&blobs, b"text\n");
        let id = staged.id();
        assert_eq!(id, BlobId::of(b"text\n"));
        assert!(!blobs.contains(id), "it has no name yet");
        staged.keep(&card(State::Pending)).unwrap();
        assert!(blobs.contains(id));
        assert_eq!(blobs.read(id).unwrap(), b"text\n");
        assert_eq!(blobs.card(id).unwrap(), card(State::Pending));
        blobs.put_card(id, &card(State::Published)).unwrap();
        assert_eq!(blobs.card(id).unwrap(), card(State::Published));
        assert_eq!(blobs.ids().unwrap(), [id]);
        let name = id.to_string();
        let path = folder.path().join("data").join(&name[..2]).join(name + ".jsonl.gz");
        assert!(path.is_file(), "any gzip reads it");
        assert_eq!(entries(&blobs.parts()).unwrap(), [] as [PathBuf; 0]);
    }

    #[test]
    fn a_staged_blob_that_is_given_up_leaves_nothing() {
        let folder = Folder::new();
        let blobs = Blobs::open(folder.path()).unwrap();
        drop(stage(&blobs, b"text\n"));
        assert_eq!(blobs.ids().unwrap(), []);
        assert_eq!(entries(&blobs.parts()).unwrap(), [] as [PathBuf; 0]);
    }

    #[test]
    fn a_blob_that_was_changed_is_damaged() {
        let folder = Folder::new();
        let blobs = Blobs::open(folder.path()).unwrap();
        let (first, second) = (stage(&blobs, b"first\n"), stage(&blobs, b"second\n"));
        let ids = [first.id(), second.id()];
        first.keep(&card(State::Published)).unwrap();
        second.keep(&card(State::Published)).unwrap();
        fs::copy(blobs.path(ids[0], PACKED), blobs.path(ids[1], PACKED)).unwrap();
        let error = blobs.read(ids[1]).unwrap_err().to_string();
        assert!(error.contains(&format!("is damaged: its SHA-256 is {}", ids[0])), "{error}");
        let whole = fs::read(blobs.path(ids[0], PACKED)).unwrap();
        fs::write(blobs.path(ids[0], PACKED), &whole[..whole.len() - 3]).unwrap();
        assert!(blobs.read(ids[0]).unwrap_err().to_string().contains("is damaged: "));
        fs::write(blobs.path(ids[0], CARD), "{}").unwrap();
        assert!(blobs.card(ids[0]).unwrap_err().to_string().contains("is damaged: "));
    }

    #[test]
    fn old_parts_are_removed_and_strange_files_passed_over() {
        let folder = Folder::new();
        let blobs = Blobs::open(folder.path()).unwrap();
        let [old, new] = ["old.part", "new.part"].map(|name| blobs.parts().join(name));
        for path in [&old, &new] {
            fs::write(path, "x").unwrap();
        }
        let then = SystemTime::now() - 2 * ABANDONED;
        File::options().write(true).open(&old).unwrap().set_modified(then).unwrap();
        folder.write("data/ab/notes.txt", "x");
        folder.write(&format!("data/ab/{}.jsonl.gz", BlobId::of(b"in the wrong folder")), "x");
        let blobs = Blobs::open(folder.path()).unwrap();
        assert!(!old.exists() && new.exists());
        assert_eq!(blobs.ids().unwrap(), []);
    }
}
