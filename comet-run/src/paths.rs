//! Files that the command line names: which of them are one file, which may be read, and how one is
//! replaced.

use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

use comet_report::import::decoded;

use crate::exit;

/// True if both paths lead to one file, be it through links.
pub(crate) fn is_same_file(a: &Path, b: &Path) -> bool {
    let id = |path: &Path| path.metadata().ok().map(|data| (data.dev(), data.ino()));
    id(a).is_some_and(|found| id(b) == Some(found))
}

/// Refuses a device as input: `/dev/zero` has no end.
pub(crate) fn refuse_device(path: &Path) -> anyhow::Result<()> {
    let is_device = |data: fs::Metadata| {
        let kind = data.file_type();
        kind.is_char_device() || kind.is_block_device()
    };
    if !path.metadata().is_ok_and(is_device) {
        return Ok(());
    }
    let path = path.display();
    Err(exit::usage(format!("{path} is a device, expected a file or a pipe (name another file)")))
}

/// The text of the file `path`; other bytes than UTF-8 are no obstacle.
pub(crate) fn text_of(path: &Path) -> anyhow::Result<String> {
    Ok(decoded(&bytes_of(path)?))
}

/// What the file `path` holds.
pub(crate) fn bytes_of(path: &Path) -> anyhow::Result<Vec<u8>> {
    refuse_device(path)?;
    let file = File::open(path).map_err(|error| unread(path, &error))?;
    bytes_in(path, file)
}

/// What `input` holds, which the user calls `path`.
pub(crate) fn bytes_in(path: &Path, mut input: impl Read) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes).map_err(|error| unread(path, &error))?;
    Ok(bytes)
}

/// The refusal of the file `path`, which cannot be read because of `error`.
pub(crate) fn unread(path: &Path, error: &io::Error) -> anyhow::Error {
    let (path, remedy) = (path.display(), remedy(error));
    exit::usage(format!("cannot read {path}: {error} ({remedy})"))
}

/// Remedy for a file that cannot be read because of `error`.
pub(crate) fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::IsADirectory => "name a file in it",
        _ => "does it exist, and may you read it?",
    }
}

/// Writes `bytes` to a new file beside `path`, and gives it that name, so that an old file stays
/// whole if the disk is full. Devices and pipes are written as they are.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let old = path.metadata().ok();
    if old.as_ref().is_some_and(|data| !data.is_file()) {
        return fs::write(path, bytes);
    }
    // A link stays a link.
    let target = if old.is_some() { path.canonicalize()? } else { path.to_owned() };
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = target.with_file_name(name);
    let written = write_new(&part, bytes, old.map(|data| data.permissions()));
    let replaced = written.and_then(|()| fs::rename(&part, &target));
    if replaced.is_err() {
        // It was not made, or is of no use.
        drop(fs::remove_file(&part));
    }
    replaced
}

fn write_new(path: &Path, bytes: &[u8], permissions: Option<fs::Permissions>) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    file.write_all(bytes)?;
    // Some file systems find out only here that they are full.
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    /// A new folder of this test.
    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("comet-paths-{}-{name}", std::process::id()));
        fs::create_dir(&path).unwrap();
        path
    }

    #[test]
    fn links_lead_to_the_same_file() {
        let folder = folder("links");
        let [a, b, hard, soft] = ["a", "b", "hard", "soft"].map(|name| folder.join(name));
        fs::write(&a, "a").unwrap();
        fs::write(&b, "a").unwrap();
        fs::hard_link(&a, &hard).unwrap();
        symlink(&a, &soft).unwrap();
        assert!(is_same_file(&a, &hard) && is_same_file(&soft, &hard));
        assert!(!is_same_file(&a, &b) && !is_same_file(&a, &folder.join("c")));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_and_a_link_stays_a_link() {
        let folder = folder("replace");
        let [file, soft] = ["file", "soft"].map(|name| folder.join(name));
        replace(&file, b"old").unwrap();
        symlink(&file, &soft).unwrap();
        let old = fs::metadata(&file).unwrap().ino();
        replace(&soft, b"new").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_ne!(fs::metadata(&file).unwrap().ino(), old, "a file beside it took its name");
        assert!(soft.is_symlink());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "nothing else is left");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn devices_are_no_inputs() {
        let error = text_of(Path::new("/")).unwrap_err().to_string();
        assert!(error.ends_with("(name a file in it)"), "{error}");
        let error = refuse_device(Path::new("/dev/zero")).unwrap_err().to_string();
        assert!(error.starts_with("/dev/zero is a device, expected a file"), "{error}");
        assert!(refuse_device(Path::new("/nowhere")).is_ok());
    }
}
