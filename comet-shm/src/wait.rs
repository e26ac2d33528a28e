//! How a rank waits: it polls, then yields its core, then sleeps until somebody rings its bell.
//!
//! Sleeping must not lose a wake-up. The sleeper raises its flag and looks once more; the waker
//! publishes and then looks at the flag; a sequentially consistent fence between the two steps on
//! both sides makes it impossible that both look too early:
//!
//! ```text
//!   sleeper: sleeping = 1; fence; look for data; none: futex_wait(bell as read before)
//!   waker:   publish data; fence; look at sleeping; set: bell += 1, futex_wake
//! ```

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::time::{Duration, Instant};

use comet_core::error::{Result, TransportError, TransportErrorKind};
use comet_core::transport::Rank;
use comet_core::waiting::Waiting;
use nix::libc;
use nix::sched::sched_yield;

use crate::failure::{Cause, poison, poisoned, publish};
use crate::segment::Segment;

/// Polls before the first yield, where no other rank needs the core.
const N_SPINS: u32 = 1000;
/// How long a rank yields before it sleeps, where every rank has a core, and where ranks share.
const YIELD_FOR: Duration = Duration::from_millis(1);
const YIELD_FOR_SHARED: Duration = Duration::from_micros(200);
/// A pause between two looks that no sleep explains: the whole job was suspended (Ctrl-Z), which is
/// no wait.
const SUSPENDED: Duration = Duration::from_secs(1);
/// The longest sleep, so that a lost wake-up could only delay.
const SLEEP_FOR: Duration = Duration::from_millis(50);

/// What a rank has to know of the cores to wait well.
#[derive(Clone, Debug)]
pub(crate) struct Cores {
    /// How many there are for all ranks.
    pub(crate) n_usable: usize,
    /// The other ranks that are bound to this rank's core.
    pub(crate) mates: Vec<Rank>,
}

/// The waiting policy of one rank.
pub(crate) struct Waiter {
    segment: &'static Segment,
    rank: Rank,
    cores: Cores,
    watchdog: Option<Duration>,
    /// How long waits may last at present without anything being wrong.
    allowance: Cell<Duration>,
    /// Set when the job has failed, so that no operation touches a buffer again.
    dead: Cell<bool>,
}

impl Waiter {
    pub(crate) fn new(
        segment: &'static Segment,
        rank: Rank,
        cores: Cores,
        watchdog: Option<Duration>,
    ) -> Self {
        let allowance = Cell::new(Duration::ZERO);
        Self { segment, rank, cores, watchdog, allowance, dead: Cell::new(false) }
    }

    /// From now on waits may last `expected` or several times as long, in addition to what the
    /// watchdog allows.
    pub(crate) fn expect(&self, expected: Duration) {
        self.allowance.set(expected.saturating_mul(4));
    }

    /// Whether the job has failed; buffers must not be touched then.
    #[inline]
    pub(crate) fn is_dead(&self) -> bool {
        self.dead.get()
    }

    /// How often to poll before it is time to let others run: at length only where no rank that is
    /// awake can need this core.
    #[inline]
    pub(crate) fn n_spins(&self) -> u32 {
        let (n_ranks, n_usable) = (self.segment.n_ranks(), self.cores.n_usable);
        if n_ranks <= n_usable || self.others_sleep(n_ranks, n_usable) { N_SPINS } else { 1 }
    }

    /// Whether so many ranks sleep that the others have a core each.
    #[inline]
    fn others_sleep(&self, n_ranks: usize, n_usable: usize) -> bool {
        // Relaxed: a hint, which may be late.
        let n_sleepers = self.segment.header().n_sleepers.load(Ordering::Relaxed) as usize;
        let sleeps =
            |rank: &Rank| self.segment.control(*rank).sleeping.load(Ordering::Relaxed) != 0;
        n_ranks <= n_usable + n_sleepers && self.cores.mates.iter().all(sleeps)
    }

    /// Polls until `poll` gives something; it is told whether the wait has become a long one.
    ///
    /// # Errors
    /// If the job fails, or if the watchdog's time is over, which ends the job.
    #[inline]
    pub(crate) fn until<R>(
        &self,
        waiting: impl FnOnce() -> Waiting,
        mut poll: impl FnMut(bool) -> Option<R>,
    ) -> Result<R> {
        for _ in 0..self.n_spins() {
            if let Some(result) = poll(false) {
                return Ok(result);
            }
            std::hint::spin_loop();
        }
        self.until_slowly(waiting(), &mut poll)
    }

    #[cold]
    fn until_slowly<R>(
        &self,
        waiting: Waiting,
        poll: &mut impl FnMut(bool) -> Option<R>,
    ) -> Result<R> {
        let line = &self.segment.control(self.rank).waiting;
        publish(Some(waiting), line);
        let (mut start, mut last_look) = (Instant::now(), Instant::now());
        let shares = self.segment.n_ranks() > self.cores.n_usable;
        let yield_for = if shares { YIELD_FOR_SHARED } else { YIELD_FOR };
        let result = loop {
            if let Some(result) = poll(true) {
                break Ok(result);
            }
            if let Err(error) = self.check_job() {
                break Err(error);
            }
            if let Some((peer, code)) = self.ended_peer(waiting) {
                // What it did before it ended is visible now: this look is the last.
                break poll(true).ok_or_else(|| self.left_alone(waiting, peer, code));
            }
            let now = Instant::now();
            let pause = now - std::mem::replace(&mut last_look, now);
            if pause > SUSPENDED {
                start += pause;
            }
            let waited = now - start;
            if waited < yield_for {
                // A refusal would only mean that this rank polls on.
                let _ = sched_yield();
            } else if self
                .watchdog
                .is_some_and(|limit| waited > limit.saturating_add(self.allowance.get()))
            {
                break Err(self.stalled(waiting, waited));
            } else if let Some(result) = self.sleep(poll) {
                break Ok(result);
            }
        };
        // After a failure the line stays, for the report.
        if result.is_ok() {
            publish(None, line);
        }
        result
    }

    /// Sleeps until the bell rings or [`SLEEP_FOR`] is over, unless `poll` gives something now.
    fn sleep<R>(&self, poll: &mut impl FnMut(bool) -> Option<R>) -> Option<R> {
        let (header, control) = (self.segment.header(), self.segment.control(self.rank));
        // Acquire: pairs with the Release addition in `ring`; a bell that rings after this load
        // makes the futex return at once.
        let bell = control.bell.load(Ordering::Acquire);
        // Relaxed: the fence orders both flags before the look for data.
        control.sleeping.store(1, Ordering::Relaxed);
        header.n_sleepers.fetch_add(1, Ordering::Relaxed);
        // SeqCst: pairs with the fence in `wake` and `wake_all` (see the module).
        fence(Ordering::SeqCst);
        let found = poll(true);
        if found.is_none() && poisoned(self.segment).is_none() {
            futex_wait(&control.bell, bell, SLEEP_FOR);
        }
        header.n_sleepers.fetch_sub(1, Ordering::Relaxed);
        control.sleeping.store(0, Ordering::Relaxed);
        found
    }

    /// Wakes `rank` if it sleeps; to be called after something for it was published.
    #[inline]
    pub(crate) fn wake(&self, rank: Rank) {
        // SeqCst: pairs with the fence in `sleep` (see the module).
        fence(Ordering::SeqCst);
        if self.segment.header().n_sleepers.load(Ordering::Relaxed) != 0 {
            self.wake_sleeper(rank);
        }
    }

    /// Wakes every rank that sleeps; to be called after something for all was published.
    #[inline]
    pub(crate) fn wake_all(&self) {
        // SeqCst: pairs with the fence in `sleep` (see the module).
        fence(Ordering::SeqCst);
        if self.segment.header().n_sleepers.load(Ordering::Relaxed) != 0 {
            (0..self.segment.n_ranks()).for_each(|rank| self.wake_sleeper(rank));
        }
    }

    #[cold]
    fn wake_sleeper(&self, rank: Rank) {
        let control = self.segment.control(rank);
        if control.sleeping.load(Ordering::Relaxed) != 0 {
            ring(&control.bell);
        }
    }

    /// Errors if the job has failed.
    #[inline]
    pub(crate) fn check_job(&self) -> Result<()> {
        match poisoned(self.segment) {
            None => Ok(()),
            Some((rank, cause)) => Err(self.peer_failed(rank, cause)),
        }
    }

    /// A rank that has ended, and its code, if all that could end the wait have.
    fn ended_peer(&self, waiting: Waiting) -> Option<(Rank, u32)> {
        let others = waiting.peers(self.segment.n_ranks()).filter(|rank| *rank != self.rank);
        let mut ended = None;
        for rank in others {
            // Acquire: pairs with the Release store in the launcher's `ended`.
            match self.segment.control(rank).ended.load(Ordering::Acquire) {
                0 => return None,
                word => ended = Some((rank, word - 1)),
            }
        }
        ended
    }

    #[cold]
    fn left_alone(&self, waiting: Waiting, peer: Rank, code: u32) -> TransportError {
        let text = format!("rank {peer} ended with code {code}, and rank {} {waiting}", self.rank);
        self.end_job((peer, Cause::GaveUp), TransportErrorKind::PeerFailed, text)
    }

    #[cold]
    fn stalled(&self, waiting: Waiting, waited: Duration) -> TransportError {
        let text = format!(
            "rank {} {waiting} for {:.1} s, longer than the watchdog allows",
            self.rank,
            waited.as_secs_f64()
        );
        self.end_job((self.rank, Cause::Stalled), TransportErrorKind::TimedOut, text)
    }

    /// Ends the job because this rank cannot go on, and says why.
    #[cold]
    pub(crate) fn give_up(&self, kind: TransportErrorKind, text: String) -> TransportError {
        self.end_job((self.rank, Cause::GaveUp), kind, text)
    }

    /// Ends the job, by the fault of a rank; the error is for the caller on this one.
    fn end_job(
        &self,
        (culprit, cause): (Rank, Cause),
        kind: TransportErrorKind,
        text: String,
    ) -> TransportError {
        self.dead.set(true);
        end_job(self.segment, culprit, cause, &text);
        TransportError::new(kind, text).on_rank(self.rank)
    }

    #[cold]
    fn peer_failed(&self, rank: Rank, cause: Cause) -> TransportError {
        self.dead.set(true);
        let text = match cause {
            Cause::Died => format!("rank {rank} died"),
            Cause::GaveUp => format!("rank {rank} gave up"),
            Cause::Stalled => format!("rank {rank} waited too long"),
        };
        TransportError::new(TransportErrorKind::PeerFailed, text).on_rank(self.rank)
    }
}

/// Poisons the segment and rings every bell, so that all ranks notice at once.
pub(crate) fn end_job(segment: &Segment, culprit: Rank, cause: Cause, reason: &str) {
    poison(segment, culprit, cause, reason);
    ring_all(segment);
}

/// Rings every bell, whether the rank seems to sleep or not: for the end of a job.
pub(crate) fn ring_all(segment: &Segment) {
    (0..segment.n_ranks()).for_each(|rank| ring(&segment.control(rank).bell));
}

fn ring(bell: &AtomicU32) {
    // Release: pairs with the Acquire load in `sleep`.
    bell.fetch_add(1, Ordering::Release);
    futex_wake(bell);
}

/// Sleeps while `word` is `value`, for `limit` at most; a signal ends the sleep too.
fn futex_wait(word: &AtomicU32, value: u32, limit: Duration) {
    let limit = libc::timespec {
        tv_sec: libc::time_t::try_from(limit.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: libc::c_long::from(limit.subsec_nanos()),
    };
    // SAFETY: the word is aligned and mapped for the whole call, and the time lives as long. Every
    // outcome (woken, value differs, time over, signal) leads to another look at the data.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, &raw const limit)
    };
}

/// Wakes the one process that may sleep on `word`.
fn futex_wake(word: &AtomicU32) {
    // SAFETY: the word is aligned and mapped; the call changes nothing in memory.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1) };
}
