//! Limits of the system (`ulimit`) that would end the program by a signal.

use std::io;
use std::sync::Arc;

use nix::sys::resource::{Resource, getrlimit};
use signal_hook::consts::SIGXFSZ;
use signal_hook::flag;

use crate::exit;

/// The least stack of the first thread, in bytes: builds for tests take the most, about half of it.
const MIN_STACK_BYTES: u64 = 1 << 20;

/// Lets a write beyond the limit of file sizes (`ulimit -f`) fail, where it would end this process.
pub(crate) fn outlive_file_sizes() -> io::Result<()> {
    // Its handler raises a flag that nothing reads.
    flag::register(SIGXFSZ, Arc::default()).map(drop)
}

/// Refuses a stack that this program would overflow.
pub(crate) fn require_stack() -> anyhow::Result<()> {
    let (bytes, _) = getrlimit(Resource::RLIMIT_STACK)?;
    if bytes >= MIN_STACK_BYTES {
        return Ok(());
    }
    let [found, least] = [bytes, MIN_STACK_BYTES].map(|bytes| bytes >> 10);
    Err(exit::usage(format!(
        "the stack may grow to {found} KiB, and this program needs {least} (raise the limit: ulimit -s 8192)"
    )))
}
