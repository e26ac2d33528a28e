//! Waiting of a rank: it polls, then yields its core, then sleeps until another rank rings its
//! futex.

use std::cell::Cell;
use std::time::{Duration, Instant};

use comet_core::error::{Result, TransportError, TransportErrorKind};
use comet_core::transport::Rank;
use comet_core::waiting::Waiting;
use nix::sched::sched_yield;

use crate::failure::{Cause, KILLED, poison, poisoned, publish};
use crate::futex::{AsymmetricFence, Futex};
use crate::segment::Segment;
use crate::sync::Ordering;

/// Polls before the first yield, where no other rank needs the core.
const N_SPINS: u32 = if cfg!(loom) { 1 } else { 1000 };
/// Yields before a wait for a rank on the same core counts as one.
const N_BARE_YIELDS: u32 = 4;
/// Time that a rank yields before it sleeps, with a core for each rank, and with shared cores.
const YIELD_FOR: Duration = Duration::from_millis(if cfg!(loom) { 0 } else { 1 });
const YIELD_FOR_SHARED: Duration = Duration::from_micros(200);
/// Pause of a suspended job (Ctrl-Z), which is no wait.
const SUSPENDED: Duration = Duration::from_secs(1);
/// The longest sleep, but in a crowd, so that a lost wake-up could only delay.
const SLEEP_FOR: Duration = Duration::from_millis(50);

/// Time between two looks for a message: each look at a line that the sender is about to write
/// takes the line from it once more.
const LOOK_EVERY: Duration = Duration::from_nanos(35);

/// Number of pauses of the processor between two looks for a message. One pause takes 4 to 50 ns,
/// by processor.
pub(crate) fn look_pauses() -> u32 {
    const N: u32 = 100;
    let pauses = |_| {
        let start = Instant::now();
        (0..N).for_each(|_| std::hint::spin_loop());
        start.elapsed()
    };
    // The fastest of a few: a preemption only makes a pause longer.
    let fastest = (0..5).map(pauses).min().unwrap_or_default();
    let n = (LOOK_EVERY * N).as_nanos() / fastest.as_nanos().max(1);
    u32::try_from(n).unwrap_or(u32::MAX).clamp(1, MAX_LOOK_PAUSES)
}

/// Most pauses between two looks, where a pause takes next to no time.
const MAX_LOOK_PAUSES: u32 = 16;

/// Facts about the cores that good waiting depends on.
#[derive(Clone, Debug)]
pub(crate) struct Cores {
    /// Number of usable cores for all ranks.
    pub(crate) n_usable: usize,
    /// The other ranks that are bound to this rank's core.
    pub(crate) mates: Vec<Rank>,
    /// Pauses between two looks for a message; see [`look_pauses`].
    pub(crate) look_pauses: u32,
}

/// The waiting policy of one rank.
pub(crate) struct Waiter {
    segment: &'static Segment,
    rank: Rank,
    cores: Cores,
    fences: AsymmetricFence,
    watchdog: Option<Duration>,
    /// Present time limit of waits.
    allowance: Cell<Duration>,
    /// Set when the job has failed, so that no operation touches a buffer again.
    dead: Cell<bool>,
}

impl Waiter {
    pub(crate) fn new(
        segment: &'static Segment,
        rank: Rank,
        cores: Cores,
        fences: AsymmetricFence,
        watchdog: Option<Duration>,
    ) -> Self {
        let allowance = Cell::new(Duration::ZERO);
        Self { segment, rank, cores, fences, watchdog, allowance, dead: Cell::new(false) }
    }

    /// Adds several times `expected` to the watchdog's limit from now on.
    pub(crate) fn expect(&self, expected: Duration) {
        self.allowance.set(expected.saturating_mul(4));
    }

    /// True if the job has failed; buffers must not be touched then.
    #[inline]
    pub(crate) fn is_dead(&self) -> bool {
        self.dead.get()
    }

    /// True if there is a core for each rank; the same on all ranks.
    pub(crate) fn has_core_each(&self) -> bool {
        self.segment.n_ranks() <= self.cores.n_usable
    }

    /// Polls before other ranks should run: many only if no awake rank can need this core.
    #[inline]
    pub(crate) fn n_spins(&self) -> u32 {
        let (n_ranks, n_usable) = (self.segment.n_ranks(), self.cores.n_usable);
        if n_ranks <= n_usable || self.others_sleep(n_ranks, n_usable) { N_SPINS } else { 1 }
    }

    /// The time between two looks for a message.
    #[inline]
    pub(crate) fn pause(&self) {
        (0..self.cores.look_pauses).for_each(|_| std::hint::spin_loop());
    }

    /// The other ranks that are bound to this rank's core.
    #[inline]
    pub(crate) fn mates(&self) -> &[Rank] {
        &self.cores.mates
    }

    /// Yields the core a few times, and does nothing else, until `condition` holds; returns true if
    /// it does. If only a mate is missing, one pass of the scheduler is likely to bring it, and the
    /// care of a longer wait costs a fifth of that.
    #[inline]
    pub(crate) fn yields_until(&self, condition: impl Fn() -> bool) -> bool {
        for _ in 0..N_BARE_YIELDS {
            if condition() {
                return true;
            }
            // A refusal would only mean that this rank polls on.
            let _ = sched_yield();
        }
        false
    }

    /// As [`n_spins`](Self::n_spins), when the mates of this rank have nothing to do but wait.
    #[inline]
    pub(crate) fn n_spins_beside_waiting_mates(&self) -> u32 {
        // Without mates nothing is known about who needs this core.
        if self.cores.mates.is_empty() { self.n_spins() } else { N_SPINS }
    }

    /// True if so many ranks sleep that the others have a core each.
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

    /// Sleeps until the futex is woken or [`SLEEP_FOR`] is over, unless `poll` gives something now.
    fn sleep<R>(&self, poll: &mut impl FnMut(bool) -> Option<R>) -> Option<R> {
        let look = || match poll(true) {
            None if poisoned(self.segment).is_some() => Some(None),
            found => found.map(Some),
        };
        futex(self.segment, self.rank).sleep(self.fences, self.sleep_for(), look).flatten()
    }

    /// Longest sleep: longer in a crowd, whose falling asleep disturbs all CPUs.
    fn sleep_for(&self) -> Duration {
        let n_times = u32::try_from(self.segment.n_ranks() / 16).unwrap_or(u32::MAX);
        SLEEP_FOR.saturating_mul(n_times.clamp(1, 10))
    }

    /// Wakes `rank` if it sleeps; to be called after something for it was published.
    #[inline]
    pub(crate) fn wake(&self, rank: Rank) {
        if self.segment.is_crowded() {
            self.enter(rank);
        }
        self.fences.publisher();
        if self.segment.header().n_sleepers.load(Ordering::Relaxed) != 0 {
            self.wake_sleeper(rank);
        }
    }

    /// Enters this rank among those whose rings `rank` has to look at.
    #[inline(never)]
    fn enter(&self, rank: Rank) {
        let word = &self.segment.control(rank).senders[self.rank / 64];
        // Release: pairs with the Acquire exchange in `Inbox::meet_senders`; what was published
        // is found by who clears the bit.
        word.fetch_or(1 << (self.rank % 64), Ordering::Release);
    }

    /// Wakes every rank that sleeps; to be called after something for all was published.
    #[inline]
    pub(crate) fn wake_all(&self) {
        self.wake_all_if(|| true);
    }

    /// As [`wake_all`](Self::wake_all), if ranks sleep and `is_needed` then.
    #[inline]
    pub(crate) fn wake_all_if(&self, is_needed: impl FnOnce() -> bool) {
        self.fences.publisher();
        if self.segment.header().n_sleepers.load(Ordering::Relaxed) != 0 && is_needed() {
            (0..self.segment.n_ranks()).for_each(|rank| self.wake_sleeper(rank));
        }
    }

    #[cold]
    fn wake_sleeper(&self, rank: Rank) {
        let futex = futex(self.segment, rank);
        if futex.is_needed() {
            futex.ring();
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
                0 | KILLED => return None,
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
        self.leave();
        end_job(self.segment, culprit, cause, &text);
        TransportError::new(kind, text).on_rank(self.rank)
    }

    /// From now on this rank touches no memory of others.
    fn leave(&self) {
        self.dead.set(true);
        // Release: pairs with the Acquire load in `is_out`.
        self.segment.control(self.rank).left.store(1, Ordering::Release);
    }

    #[cold]
    fn peer_failed(&self, rank: Rank, cause: Cause) -> TransportError {
        self.leave();
        let text = match cause {
            Cause::Died => format!("rank {rank} died"),
            Cause::GaveUp => format!("rank {rank} gave up"),
            Cause::Stalled => format!("rank {rank} waited too long"),
        };
        TransportError::new(TransportErrorKind::PeerFailed, text).on_rank(self.rank)
    }
}

/// Poisons the segment and wakes every futex, so that all ranks notice at once.
pub(crate) fn end_job(segment: &Segment, culprit: Rank, cause: Cause, reason: &str) {
    poison(segment, culprit, cause, reason);
    ring_all(segment);
}

/// Wakes every futex, whether the rank seems to sleep or not: for the end of a job.
pub(crate) fn ring_all(segment: &Segment) {
    (0..segment.n_ranks()).for_each(|rank| futex(segment, rank).ring());
}

/// Futex of `rank`.
fn futex(segment: &Segment, rank: Rank) -> Futex<'_> {
    let (header, control) = (segment.header(), segment.control(rank));
    Futex { word: &control.futex, sleeping: &control.sleeping, n_sleepers: &header.n_sleepers }
}
