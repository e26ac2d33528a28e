//! Leftovers in the folder of files of a run that ended before it could remove them.

use std::collections::BTreeSet;
use std::path::Path;

use comet_core::file::Folder;

use crate::cli::has_ended;

/// Removes the files in the folder of `own` of runs of this system whose processes have ended: nobody did where
/// all of them were killed at once.
pub(super) fn sweep_ended(own: &Folder) {
    let Ok(entries) = std::fs::read_dir(&own.path) else { return };
    let run = |name: &str| Folder::run_of(name.strip_prefix('.').unwrap_or(name));
    let runs = entries.flatten().filter_map(|entry| run(&entry.file_name().to_string_lossy()));
    for run in runs.filter(|run| has_ended(*run)).collect::<BTreeSet<_>>() {
        sweep(&Folder { run, ..own.clone() }.beginning());
    }
}

/// Removes the files whose paths begin so, and what a library keeps for them: ROMIO has the shared pointer of
/// a file in a hidden one beside it, and OMPIO a semaphore of its name.
pub(super) fn sweep(beginning: &Path) {
    let Some((folder, name)) = beginning.parent().zip(beginning.file_name()) else { return };
    let name = name.to_string_lossy();
    remove(folder, &[&name, &format!(".{name}")]);
    remove(Path::new("/dev/shm"), &[&format!("sem.OMPIO_{name}")]);
}

/// Removes the files in `folder` whose names begin with one of `beginnings`.
fn remove(folder: &Path, beginnings: &[&str]) {
    // A folder that cannot be read is no reason to change how the run ended.
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if beginnings.iter().any(|beginning| name.to_string_lossy().starts_with(beginning)) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_removes_the_files_of_its_run_alone() {
        let path = std::env::temp_dir().join(format!("comet-sweep-{}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        let folder = Folder::new(path.clone(), 0, 7);
        let own = [format!("{}-0", folder.prefix()), format!(".{}-0.shfp.1", folder.prefix())];
        for name in own.into_iter().chain(["comet-io-8".into(), "other".into()]) {
            std::fs::write(path.join(name), "").unwrap();
        }
        sweep(&folder.beginning());
        let mut left: Vec<_> =
            std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["comet-io-8", "other"]);
        std::fs::remove_dir_all(&path).unwrap();
    }
}
