//! The clock of the ranks, and the domain in which it is one clock.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::MetadataExt as _;

use comet_core::transport::Rank;
use nix::time::{ClockId, clock_gettime};

/// The clock of all ranks, as in the record.
pub(crate) const CLOCK: &str = "CLOCK_MONOTONIC";

/// [`CLOCK`], which is one clock for all processes of a machine, in nanoseconds.
#[inline]
pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("Linux has a monotonic clock");
    now.tv_sec().unsigned_abs() * 1_000_000_000 + now.tv_nsec().unsigned_abs()
}

/// Random number of the running kernel.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// The namespace that shifts the monotonic clock; missing where the kernel knows none.
const TIME_NAMESPACE: &str = "/proc/self/ns/time";

/// The domain of the clock `name` of this process, which is rank `rank`: that of the rank alone
/// where the kernel does not tell who it is. A kernel has one monotonic clock, and shifts it for the
/// processes of a time namespace: equal boots and namespaces are equal clocks.
///
/// All ranks run the same program, so that the hash is the same for all of them.
pub(crate) fn domain(name: &str, rank: Rank) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    fs::metadata(TIME_NAMESPACE).map(|file| file.ino()).ok().hash(&mut hasher);
    fs::read_to_string(BOOT_ID).map_err(|_| rank).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_of_a_process_is_known_again_and_another_is_another() {
        assert_eq!(domain("CLOCK_MONOTONIC", 0), domain("CLOCK_MONOTONIC", 0));
        assert_ne!(domain("CLOCK_MONOTONIC", 0), domain("CLOCK_MONOTONIC_RAW", 0));
    }
}
