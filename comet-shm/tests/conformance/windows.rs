//! Windows: ends of jobs in the middle of epochs, and memory that is not there or still in use.

use std::thread::sleep;
use std::time::Duration;

use comet_core::collective::{Element, Operator, Reducer};
use comet_core::error::{Result, TransportErrorKind};
use comet_core::transport::{Source, Transport};
use comet_core::window::{Fence, Lock, Memory, Remote, Window};
use comet_shm::Shm;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpid};

use crate::{TAG, Test, ends_with, fails_with, job};

/// Length of accumulations that take long enough to be interrupted in the middle.
const LONG_BYTES: usize = 256 * 1024;

pub(crate) const TESTS: [Test; 8] = [
    ("a_rank_that_dies_with_a_lock_is_named", a_rank_that_dies_with_a_lock_is_named),
    ("a_rank_that_ends_with_a_lock_is_named", a_rank_that_ends_with_a_lock_is_named),
    ("locks_in_other_orders_end_with_a_message", locks_in_other_orders_end_with_a_message),
    ("shared_locks_behind_exclusive_ones_end", shared_locks_behind_exclusive_ones_end),
    ("a_rank_that_ends_before_it_posts_is_named", a_rank_that_ends_before_it_posts_is_named),
    ("a_rank_that_dies_in_any_epoch_ends_the_job", a_rank_that_dies_in_any_epoch_ends_the_job),
    ("a_window_longer_than_the_heap_is_refused", a_window_longer_than_the_heap_is_refused),
    ("the_part_of_an_open_window_is_not_used_again", the_part_of_an_open_window_is_not_used_again),
];

fn open_window(t: &Shm, n: usize) -> Result<Window<Shm>> {
    let mut window = Window::new(t, n, 2 * n, Memory::Created)?;
    window.open()?;
    Ok(window)
}

/// Ends this process as the system would.
fn die() -> ! {
    let _ = kill(getpid(), Signal::SIGKILL);
    unreachable!("the signal cannot be blocked")
}

/// Rank 1 locks the part of rank 0 and ends by `end`; the others ask for the lock meanwhile.
fn lock_and_end(t: &Shm, end: impl FnOnce() -> u8) -> u8 {
    let Ok(window) = open_window(t, 8) else { return 1 };
    if t.rank() == 1 {
        let locked = window.lock(0, Lock::Exclusive).and_then(|()| t.barrier());
        // Until the others wait, and sleep.
        sleep(Duration::from_millis(50));
        return if locked.is_ok() { end() } else { 1 };
    }
    let kind = [Lock::Shared, Lock::Exclusive][t.rank() / 2];
    u8::from(t.barrier().and_then(|()| window.lock(0, kind)).is_err())
}

/// Two ranks lock each other's part in addition to their own: the watchdog ends what cannot go on.
fn locks_in_other_orders_end_with_a_message() -> bool {
    let config = job(2).with_watchdog(Some(Duration::from_millis(200)));
    let part = "rank 0 waits for rank 1 in an epoch of a window; rank 1 waits for rank 0 in an epoch of a \
                window";
    fails_with((None, "rank ", part), &config, |t| {
        let both = || {
            let window = open_window(t, 8)?;
            window.lock(t.rank(), Lock::Exclusive)?;
            t.barrier()?;
            window.lock(1 - t.rank(), Lock::Exclusive)
        };
        u8::from(both().is_err())
    })
}

/// Ranks 0 and 1 share their locks of both parts, but rank 2 or 3 waits for each of these alone.
fn shared_locks_behind_exclusive_ones_end() -> bool {
    let config = job(4).with_watchdog(Some(Duration::from_millis(300)));
    fails_with((None, "", "in an epoch of a window"), &config, |t| {
        let both = || {
            let window = open_window(t, 8)?;
            if t.rank() < 2 {
                window.lock(t.rank(), Lock::Shared)?;
                t.barrier()?;
                // Until the others wait.
                sleep(Duration::from_millis(50));
                return window.lock(1 - t.rank(), Lock::Shared);
            }
            t.barrier()?;
            window.lock(t.rank() - 2, Lock::Exclusive)
        };
        u8::from(both().is_err())
    })
}

fn a_rank_that_dies_with_a_lock_is_named() -> bool {
    let waits = "rank 0 waits for rank 1 in an epoch of a window";
    // Without a watchdog: who waits ends by the death alone.
    let config = job(3).with_watchdog(None);
    fails_with((Some(1), "rank 1 ", waits), &config, |t| lock_and_end(t, || die()))
}

fn a_rank_that_ends_with_a_lock_is_named() -> bool {
    let waits = "waits for rank 1 in an epoch of a window";
    let config = job(3).with_watchdog(None);
    fails_with((Some(1), "rank 1 ended with code 3", waits), &config, |t| lock_and_end(t, || 3))
}

/// In a part, whose ranks have other numbers.
fn a_rank_that_ends_before_it_posts_is_named() -> bool {
    let text = "rank 0 waits for rank 2 in an epoch of a window";
    fails_with((Some(2), "rank 2 ended with code 3", text), &job(3).with_watchdog(None), |t| {
        let part = t.split(Some(0), 2 - t.rank() as u64).ok().flatten();
        let Some(part) = part else { return 1 };
        let Ok(window) = open_window(&part, 8) else { return 1 };
        match part.rank() {
            // Rank 2 of the job.
            0 => 3,
            1 => u8::from(part.blocked_recv(Source::Rank(2), TAG, &mut [0]).is_err()),
            _ => {
                let started = window.peers(&[0]).and_then(|peers| window.start(&peers));
                u8::from(started.is_err())
            }
        }
    })
}

/// Rank 1 is killed after any time, in the middle of locks, turns, signals and fences.
fn a_rank_that_dies_in_any_epoch_ends_the_job() -> bool {
    (0..20).all(|n| {
        let config = job([2, 3, 5, 8][n % 4]).with_watchdog(None);
        fails_with((Some(1), "rank 1 ", ""), &config, |t| {
            let killed_after = Duration::from_micros(500 + 1700 * n as u64);
            u8::from(go_on_for_ever(t, killed_after).is_err())
        })
    })
}

/// Epochs of all kinds, one after the other, until rank 1 is killed by its neighbour.
fn go_on_for_ever(t: &Shm, killed_after: Duration) -> Result<()> {
    let mut pid = getpid().as_raw().to_ne_bytes();
    t.blocked_broadcast(1, &mut pid)?;
    let window = open_window(t, LONG_BYTES)?;
    let by = Reducer::new(Element::U8, Operator::Sum).expect("bytes have sums");
    let (before, after) =
        ((t.rank() + t.n_ranks() - 1) % t.n_ranks(), (t.rank() + 1) % t.n_ranks());
    let (origins, targets) = (window.peers(&[before])?, window.peers(&[after])?);
    let start = std::time::Instant::now();
    loop {
        if t.rank() == 0 && start.elapsed() > killed_after {
            let _ = kill(Pid::from_raw(i32::from_ne_bytes(pid)), Signal::SIGKILL);
        }
        for n in [8, LONG_BYTES] {
            window.lock(0, [Lock::Shared, Lock::Exclusive][t.rank() % 2])?;
            window.accumulate(0..n, Remote { rank: 0, at: 0 }, by)?;
            window.unlock(0)?;
            window.lock_all()?;
            window.get_accumulate(0..n, LONG_BYTES, Remote { rank: after, at: 0 }, by)?;
            window.flush_all()?;
            window.unlock_all()?;
            window.post(&origins)?;
            window.start(&targets)?;
            window.put(0..n, Remote { rank: after, at: 0 })?;
            window.complete()?;
            window.wait()?;
            window.fence(Fence::First)?;
            window.get(0..n, Remote { rank: before, at: 0 })?;
            window.fence(Fence::Last)?;
        }
    }
}

/// One rank wants too much; all are refused, and go on with less.
fn a_window_longer_than_the_heap_is_refused() -> bool {
    ends_with(0, &job(3), |t| {
        let is_refused = |n, text: &str| match Window::new(t, n, 8, Memory::Allocated) {
            Err(error) => {
                error.kind == TransportErrorKind::Unsupported
                    && error.to_string().contains(text)
                    && error.to_string().contains("(ask for a shorter window")
            }
            Ok(_) => false,
        };
        let alone = if t.rank() == 1 {
            is_refused(1 << 40, "a part of 1099511627776 bytes of a window does not fit")
        } else {
            is_refused(8, "the part of rank 1 of a window does not fit")
        };
        let all = is_refused(usize::MAX, "18446744073709551615 bytes");
        let puts = || {
            let window = open_window(t, 8)?;
            window.fence(Fence::First)?;
            window.put(0..8, Remote { rank: 0, at: 0 })?;
            window.fence(Fence::Last)
        };
        u8::from(!(alone && all && puts().is_ok()))
    })
}

/// Rank 0 drops its window open, while rank 1 may still put to it.
fn the_part_of_an_open_window_is_not_used_again() -> bool {
    ends_with(0, &job(2), |t| {
        let stays = || {
            let mut window = open_window(t, 4096)?;
            window.origin().fill(7);
            window.fence(Fence::First)?;
            if t.rank() == 1 {
                t.barrier()?;
                window.put(0..4096, Remote { rank: 0, at: 0 })?;
                t.barrier()?;
                return Ok(true);
            }
            drop(window);
            let buffer = t.message_buffer(16 * 4096)?;
            t.barrier()?;
            t.barrier()?;
            Ok(buffer.iter().all(|byte| *byte == 0))
        };
        let stays: Result<bool> = stays();
        u8::from(!stays.is_ok_and(|stays| stays))
    })
}
