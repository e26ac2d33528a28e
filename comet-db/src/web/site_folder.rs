//! The folder of a published site: written beside the one that is there, and exchanged for it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use askama::Template;
use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};
use serde_json::Value;

use crate::Error;
use crate::blobs::{is_abandoned, is_new, part_name};

/// The file by which a folder is known as a site.
const MARKER: &str = "comet-site.json";
/// Remedy for a folder that cannot be written.
const FREE: &str = "free some space, or see to its permissions";

/// A site that is being written; it is removed unless it is finished.
pub(super) struct SiteFolder {
    /// The site that it becomes.
    to: PathBuf,
    /// The folder beside it.
    part: PathBuf,
    /// A lock of it, which ends with this process.
    _lock: File,
    pub(super) n_files: usize,
    pub(super) n_bytes: u64,
}

impl SiteFolder {
    /// Begins a site that becomes `to`, which must be new, empty or a site.
    pub(super) fn begin(to: &Path) -> Result<Self, Error> {
        if !is_new(to, MARKER)? && !to.join(MARKER).is_file() {
            return Err(Error::Unknown(format!(
                "{} is no published site (name a new folder, or one that comet-run db publish wrote)",
                to.display()
            )));
        }
        // A link to a folder stays one.
        let to = fs::canonicalize(to).unwrap_or_else(|_| to.into());
        let name = to.file_name().ok_or_else(|| {
            Error::Unknown(format!("{} has no name (name a folder)", to.display()))
        })?;
        let start = format!(".{}.", name.to_string_lossy());
        let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        remove_abandoned(parent, &start);
        let part = parent.join(format!("{start}{}", part_name()));
        let made = fs::create_dir(&part).and_then(|()| File::open(&part));
        let lock = made.map_err(Error::io("make", &part, FREE))?;
        is_free(&lock);
        let mut site = Self { to, part, _lock: lock, n_files: 0, n_bytes: 0 };
        let marker = format!("{{\"made_by\":\"comet-run {}\"}}\n", env!("CARGO_PKG_VERSION"));
        site.put(MARKER, marker.as_bytes())?;
        Ok(site)
    }

    /// Writes the file `name`.
    pub(super) fn put(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let path = self.part.join(name);
        let written = match path.parent() {
            Some(parent) => fs::create_dir_all(parent).and_then(|()| fs::write(&path, bytes)),
            None => fs::write(&path, bytes),
        };
        written.map_err(Error::io("write", &path, FREE))?;
        self.n_files += 1;
        self.n_bytes += bytes.len() as u64;
        Ok(())
    }

    pub(super) fn put_page(&mut self, name: &str, page: &impl Template) -> Result<(), Error> {
        self.put(name, rendered(page)?.as_bytes())
    }

    /// Writes the [`script`] of `value`.
    pub(super) fn put_script(&mut self, name: &str, key: &str, value: &Value) -> Result<(), Error> {
        self.put(name, script(key, value).as_bytes())
    }

    /// Puts it in the place of the site that is there, at once where the file system can do so.
    pub(super) fn finish(self) -> Result<(), Error> {
        let failed = |error| Error::io("write", &self.to, FREE)(error);
        if !self.to.exists() {
            return fs::rename(&self.part, &self.to).map_err(failed);
        }
        if renameat_with(CWD, &self.part, CWD, &self.to, RenameFlags::EXCHANGE).is_ok() {
            return Ok(());
        }
        self.replace().map_err(failed)
    }

    /// Puts it in the place of the site that is there where the file system cannot exchange them: the old
    /// site is moved away first, and goes with this value.
    fn replace(&self) -> io::Result<()> {
        let old = self.part.with_extension("old.part");
        fs::rename(&self.to, &old)?;
        fs::rename(&self.part, &self.to)?;
        fs::rename(&old, &self.part)
    }
}

impl Drop for SiteFolder {
    fn drop(&mut self) {
        // After an exchange it is the old site. What cannot be removed is looked for by the next one.
        drop(fs::remove_dir_all(&self.part));
    }
}

/// True if no process had a lock of `folder`; this one has it now. Some file systems that machines share lock no
/// folders.
fn is_free(folder: &File) -> bool {
    flock(folder, FlockOperation::NonBlockingLockExclusive).is_ok()
}

/// Removes folders in `parent` whose names start with `start` and that nobody writes any more.
fn remove_abandoned(parent: &Path, start: &str) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        let is_part =
            name.to_str().is_some_and(|name| name.starts_with(start) && name.ends_with(".part"));
        let is_free = || File::open(&path).is_ok_and(|folder| is_free(&folder));
        if is_part && (is_abandoned(&path) || is_free()) {
            drop(fs::remove_dir_all(path));
        }
    }
}

/// A script that hands over `value` under a name: the second of its three lines is JSON.
pub(super) fn script(key: &str, value: &Value) -> String {
    format!("comet(\"{key}\",\n{value}\n);\n")
}

/// `page` as text.
pub(super) fn rendered(page: &impl Template) -> Result<String, Error> {
    page.render().map_err(|error| Error::Unknown(format!("a page was not made: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Folder;

    #[test]
    fn a_site_takes_the_place_of_another_and_of_nothing_else() {
        let folder = Folder::new();
        let to = folder.path().join("site");
        let write = |text: &str| {
            let mut site = SiteFolder::begin(&to)?;
            site.put("a/b.html", text.as_bytes())?;
            site.finish()
        };
        write("one").unwrap();
        write("two").unwrap();
        assert_eq!(fs::read_to_string(to.join("a/b.html")).unwrap(), "two");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
        let mut site = SiteFolder::begin(&to).unwrap();
        site.put("a/b.html", b"two").unwrap();
        site.replace().unwrap();
        drop(site);
        assert_eq!(fs::read_to_string(to.join("a/b.html")).unwrap(), "two");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nor by two renames");
        let [left, other] = [".site.1-0-1.part", ".site.other"].map(|n| folder.path().join(n));
        for path in [&left, &other] {
            fs::create_dir(path).unwrap();
        }
        // In containers all processes have one number.
        let begun = [&to, &to].map(|to| SiteFolder::begin(to).unwrap());
        assert!(!left.exists() && other.exists());
        assert!(begun.iter().all(|site| site.part.exists()), "they are being written");
        drop(begun);
        assert_eq!(fs::read_to_string(to.join("a/b.html")).unwrap(), "two", "it was not finished");
        folder.write("other/file", "precious");
        let error = SiteFolder::begin(&folder.path().join("other")).err().unwrap().to_string();
        assert!(error.contains("is no published site (name a new folder"), "{error}");
        fs::create_dir(folder.path().join("empty")).unwrap();
        assert!(SiteFolder::begin(&folder.path().join("empty")).is_ok());
    }
}
