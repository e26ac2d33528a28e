//! Cache of reports: files that may be removed at any time.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use comet_report::report::policy;
use sha2::{Digest as _, Sha256};

use crate::blobs::part_name;
use crate::id::Id;

/// The most reports that are kept.
const MOST: usize = 500;

/// The file of the report of `run` in the database in `folder`. Its name changes with the version of CoMet and
/// with styles and scripts of reports.
pub(super) fn path(folder: &Path, run: Id) -> PathBuf {
    let digest: [u8; 32] = Sha256::digest(policy()).into();
    let style: String = digest[..4].iter().map(|byte| format!("{byte:02x}")).collect();
    folder.join("cache").join(format!("{run}-{}-{style}.html", env!("CARGO_PKG_VERSION")))
}

/// Keeps `page` as the file `path`, with the latest of the others. Without a cache it is made again.
pub(super) fn keep(path: &Path, page: &[u8]) {
    let Some(folder) = path.parent() else { return };
    let part = folder.join(part_name());
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    let written = made.and_then(|()| fs::write(&part, page)).and_then(|()| fs::rename(&part, path));
    if written.is_err() {
        drop(fs::remove_file(part));
    }
    shrink(folder, MOST);
}

/// Removes the files in `folder` but for the `most` latest.
fn shrink(folder: &Path, most: usize) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let time = |entry: &fs::DirEntry| entry.metadata().and_then(|data| data.modified());
    let mut files: Vec<(SystemTime, PathBuf)> = entries
        .map(|entry| (time(&entry).unwrap_or(SystemTime::UNIX_EPOCH), entry.path()))
        .collect();
    files.sort_unstable();
    for (_, path) in &files[..files.len().saturating_sub(most)] {
        drop(fs::remove_file(path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Folder;
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::Duration;

    #[test]
    fn the_latest_reports_are_kept_and_no_part_of_one_is() {
        let folder = Folder::new();
        let paths: Vec<PathBuf> =
            (0..4).map(|n| path(folder.path(), Id::of("run", &[&n.to_string()]))).collect();
        for (path, age) in paths.iter().zip([30, 40, 10, 20]) {
            keep(path, b"page");
            let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1000 - age);
            fs::File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
        }
        let cache = folder.path().join("cache");
        assert_eq!(fs::read_dir(&cache).unwrap().count(), 4);
        assert_eq!(cache.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        shrink(&cache, 2);
        assert_eq!(
            paths.iter().map(|path| path.exists()).collect::<Vec<_>>(),
            [false, false, true, true]
        );
        keep(&folder.path().join("cache/no/such/folder\0"), b"page");
    }
}
