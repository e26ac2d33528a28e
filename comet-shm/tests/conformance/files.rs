//! Files: opens that one rank is refused, ends of transfers of several kinds, and places that no file has.

use std::path::PathBuf;

use comet_core::conformance;
use comet_core::error::{Result, TransportErrorKind};
use comet_core::file::{File, Folder, Pointer, Sharing, Together, View};
use comet_core::transport::Transport;
use comet_shm::{LaunchConfig, Shm};

use crate::{Test, ends_with, job, passes};

pub(crate) const TESTS: [Test; 3] = [
    ("a_file_that_one_rank_cannot_open_is_refused_on_all", || {
        holds(3, is_refused_on_all_where_one_cannot_open)
    }),
    ("each_wait_takes_the_errors_of_its_own_transfers", || holds(1, each_wait_takes_its_errors)),
    ("places_that_no_file_has_are_refused", || holds(1, places_that_no_file_has_are_refused)),
];

/// True if `run` passes with a folder, and leaves no file there.
fn in_folder(run: impl FnOnce(&Folder) -> bool) -> bool {
    let path: PathBuf = std::env::temp_dir().join(format!("comet-shm-{}", std::process::id()));
    std::fs::create_dir(&path).expect("the folder is new");
    let passes = run(&Folder::new(path.clone(), u64::MAX, 0));
    let is_empty = std::fs::remove_dir(&path);
    is_empty.inspect_err(|error| println!("  files were left behind: {error}")).is_ok() && passes
}

/// The conformance suite for files.
pub(crate) fn conform(config: &LaunchConfig) -> bool {
    in_folder(|folder| passes(config, |t, report| conformance::run_files(t, folder, report)))
}

/// True if `check` finds nothing wrong on any of `n_ranks` ranks.
fn holds(n_ranks: usize, check: fn(&Shm, &Folder) -> Result<bool>) -> bool {
    in_folder(|folder| {
        ends_with(0, &job(n_ranks), |t| match check(t, folder) {
            Ok(is_right) => u8::from(!is_right),
            Err(error) => {
                println!("  {error}");
                1
            }
        })
    })
}

/// True if a call was refused as one of this kind.
fn is_refused(kind: TransportErrorKind, result: Result<()>) -> bool {
    result.is_err_and(|error| error.kind == kind)
}

fn is_refused_on_all_where_one_cannot_open(t: &Shm, folder: &Folder) -> Result<bool> {
    let mut plan = folder.plan(0, Sharing::All);
    if t.rank() == 1 {
        plan.path.push("in a file");
    }
    let mut file = File::new(t, &plan, 8, 1)?;
    let mut is_right = true;
    for _ in 0..3 {
        is_right &= is_refused(TransportErrorKind::Storage, file.open());
        is_right &= is_refused(TransportErrorKind::InvalidArgument, file.close());
    }
    // No rank is a meeting ahead.
    file.remove()?;
    is_right &= t.global_sum(1.0)?.to_bits() == (t.n_ranks() as f64).to_bits();
    Ok(is_right)
}

fn each_wait_takes_its_errors(t: &Shm, folder: &Folder) -> Result<bool> {
    let mut file = File::new(t, &folder.plan(0, Sharing::All), 16, 2)?;
    file.open()?;
    file.start_read(0..8, Pointer::At(1 << 20))?;
    file.start_write(8..16, Pointer::At(0))?;
    file.begin_write(8..16, Pointer::Own)?;
    file.end()?;
    let mut is_right = is_refused(TransportErrorKind::Storage, file.wait_all());
    file.wait_all()?;
    file.begin_read(0..8, Pointer::At(1 << 20))?;
    file.wait_all()?;
    is_right &= is_refused(TransportErrorKind::Storage, file.end());
    file.close()?;
    file.remove()?;
    Ok(is_right)
}

fn places_that_no_file_has_are_refused(t: &Shm, folder: &Folder) -> Result<bool> {
    let mut file = File::new(t, &folder.plan(0, Sharing::All), 8, 1)?;
    file.open()?;
    let mut is_right = true;
    for at in [u64::MAX, u64::MAX - 4, i64::MAX as u64 + 1] {
        let refused = file.write(0..8, Pointer::At(at), Together::Alone);
        is_right &= is_refused(TransportErrorKind::Storage, refused);
    }
    file.set_view(Some(View { start: u64::MAX - 1, block_bytes: 4, stride_bytes: u64::MAX }))?;
    let refused = file.write(0..8, Pointer::Own, Together::Alone);
    is_right &= is_refused(TransportErrorKind::Storage, refused);
    file.set_view(None)?;
    file.write(0..8, Pointer::Own, Together::Alone)?;
    file.close()?;
    file.remove()?;
    Ok(is_right)
}
