//! Ends a job that does not move: a thread beside each rank looks, a few times a second, whether
//! the rank still sits in the same wait.
//!
//! MPI has no time limits, and most libraries do not tell that another rank has died. So the rank
//! notes what it waits for, three plain stores around each call, and the guard reads the note.
//! It sleeps between two looks, and makes no MPI calls: it ends its own process, and the launcher
//! ends the others.
//!
//! ```text
//!   rank   enter(what, number) … MPI call … leave()
//!   guard  same number for longer than the watchdog allows         ──► on_failure, end
//!          a signal came, and still the same number after a moment ──► on_failure, end
//!          the rank gives up, and asks for it                      ──► on_failure, rank aborts
//! ```

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use comet_core::transport::Rank;
use comet_core::waiting::Waiting;

use crate::job::RunConfig;
use crate::native;

/// Time between two looks.
const TICK: Duration = Duration::from_millis(200);
/// How much longer than a tick a pause may be before the job was suspended, which is no wait.
const SUSPENDED: Duration = Duration::from_secs(1);
/// How long rank 0 may stay in one wait after a signal told it to end: launchers may kill what is
/// left a second after the signal, and the results need an end.
const GRACE: Duration = Duration::from_millis(400);
/// How much longer the others may stay in one wait, so that rank 0 is the first to act.
const HEAD_START: Duration = Duration::from_secs(2);
/// How many times as long a rank without a part in a case may wait: others may go on without a
/// word to it.
const REST: u32 = 4;
/// How long a rank that gives up waits for the guard to tell.
const TELLING: Duration = Duration::from_secs(5);
/// How long a rank that has told of a stall stays, so that the others tell what they wait for
/// before the launcher ends them.
const LAST_ORDERS: Duration = Duration::from_secs(3);
/// Bits of a length in its word; the others number the wait.
const LENGTH_BITS: u32 = 40;

/// A job that this rank has to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFailure {
    /// The rank that noticed.
    pub rank: Option<Rank>,
    /// What kind of failure, as in records: `rank_gave_up`, `rank_stalled`, `interrupted`.
    pub code: &'static str,
    /// The signal that asked for the end, if one did.
    pub signal: Option<&'static str>,
    /// What happened, with rank, peers, kernel and case where they are known.
    pub message: String,
}

/// What a rank tells its guard.
#[derive(Debug, Default)]
pub(crate) struct Vitals {
    /// What it waits for (see [`Waiting::pack`]), or 0.
    what: AtomicU64,
    /// Length of the message, and the number of the wait.
    length: AtomicU64,
    /// What waits may last in addition to the watchdog's time.
    allowance_ns: AtomicU64,
    /// The kernel and case at hand.
    activity: Mutex<String>,
    /// Why the rank gives up, until the guard has told.
    last_words: Mutex<LastWords>,
    told: Condvar,
    is_over: AtomicBool,
}

/// The end of a rank that gives up.
#[derive(Debug, Default)]
struct LastWords {
    failure: Option<JobFailure>,
    /// The exit code, once the failure was told.
    code: Option<u8>,
}

impl Vitals {
    /// Notes that the rank waits. Between [`enter`](Self::enter) and [`leave`](Self::leave) lies
    /// one MPI call.
    // Relaxed throughout: the guard compares and quotes what it finds, and nothing else follows.
    #[inline]
    pub(crate) fn enter(&self, waiting: Waiting) {
        let [what, length] = Waiting::pack(Some(waiting));
        let number = (self.length.load(Ordering::Relaxed) >> LENGTH_BITS) + 1;
        let length = length & ((1 << LENGTH_BITS) - 1);
        self.length.store(number << LENGTH_BITS | length, Ordering::Relaxed);
        self.what.store(what, Ordering::Relaxed);
    }

    /// Notes that the rank goes on.
    #[inline]
    pub(crate) fn leave(&self) {
        self.what.store(0, Ordering::Relaxed);
    }

    /// Notes what the rank does next, and how long waits may last in it beyond the watchdog's time.
    pub(crate) fn annotate(&self, activity: &str, allowance_ns: u64) {
        self.allowance_ns.store(allowance_ns, Ordering::Relaxed);
        let mut noted = lock(&self.activity);
        noted.clear();
        noted.push_str(activity);
    }

    /// Has the guard, whose thread is `guard`, tell `failure`; returns the exit code.
    pub(crate) fn give_up(&self, failure: JobFailure, guard: &Thread) -> u8 {
        const UNTOLD: u8 = 1;
        lock(&self.last_words).failure = Some(failure);
        guard.unpark();
        let is_untold = |words: &mut LastWords| words.code.is_none();
        let words = self.told.wait_timeout_while(lock(&self.last_words), TELLING, is_untold);
        words.map_or(UNTOLD, |(words, _)| words.code.unwrap_or(UNTOLD))
    }

    /// The rank has ended in order.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// The words that describe the wait at hand.
    fn words(&self) -> [u64; 2] {
        [&self.what, &self.length].map(|word| word.load(Ordering::Relaxed))
    }

    /// ` during ACTIVITY`, or nothing.
    pub(crate) fn during(&self) -> String {
        let activity = lock(&self.activity);
        if activity.is_empty() { String::new() } else { format!(" during {activity}") }
    }
}

/// Locks what no panic can leave half done.
fn lock<V>(mutex: &Mutex<V>) -> MutexGuard<'_, V> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The guard of a rank.
pub(crate) struct Guard<'a> {
    pub(crate) vitals: &'a Vitals,
    pub(crate) config: &'a RunConfig<'a>,
    pub(crate) rank: Rank,
}

/// What the guard saw when it last looked.
#[derive(Clone, Copy, Debug)]
struct Sight {
    at: Instant,
    /// The wait, and since when the rank is in it.
    words: [u64; 2],
    since: Instant,
    /// When a signal was first seen.
    signalled: Option<Instant>,
}

impl Sight {
    fn new(at: Instant) -> Self {
        Self { at, words: [0; 2], since: at, signalled: None }
    }

    /// Takes note of what there is to see now. A new wait starts the time again, and so does a
    /// pause in which this thread did not run either.
    fn update(&mut self, now: Instant, words: [u64; 2], is_signalled: bool) {
        let was_suspended = now - self.at > TICK + SUSPENDED;
        if words != self.words || was_suspended {
            (self.words, self.since) = (words, now);
        }
        self.at = now;
        self.signalled = self.signalled.or(is_signalled.then_some(now));
    }

    /// What the rank waits for, if it does.
    fn waiting(&self) -> Option<Waiting> {
        let [what, length] = self.words;
        Waiting::unpack([what, length & ((1 << LENGTH_BITS) - 1)])
    }

    /// How long the rank has been in this wait.
    fn waited(&self) -> Duration {
        self.at - self.since
    }

    /// How long it has been in this wait although a signal told it to end.
    fn disobeyed(&self) -> Option<Duration> {
        Some(self.at - self.signalled?.max(self.since))
    }
}

impl Guard<'_> {
    /// Looks until the rank has ended in order; ends the process if it does not go on.
    pub(crate) fn watch(&self) {
        let mut sight = Sight::new(Instant::now());
        while !self.vitals.is_over.load(Ordering::Relaxed) {
            thread::park_timeout(TICK);
            self.hear_last_words();
            let signal = (self.config.signal)();
            sight.update(Instant::now(), self.vitals.words(), signal.is_some());
            if let Some(failure) = self.judge(&sight, signal) {
                let code = (self.config.on_failure)(&failure);
                if failure.signal.is_none() {
                    thread::sleep(LAST_ORDERS);
                }
                native::exit_now(code);
            }
        }
    }

    /// Tells why the rank gives up, if it does, and ends the process should the rank not manage to
    /// end the job.
    fn hear_last_words(&self) {
        // The lock is held for a moment only: to tell may take a while.
        let Some(failure) = lock(&self.vitals.last_words).failure.take() else { return };
        let code = (self.config.on_failure)(&failure);
        lock(&self.vitals.last_words).code = Some(code);
        self.vitals.told.notify_all();
        let deadline = Instant::now() + TELLING;
        while !self.vitals.is_over.load(Ordering::Relaxed) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                native::exit_now(code);
            }
            thread::park_timeout(left);
        }
    }

    /// The failure of a rank that waits for too long.
    fn judge(&self, sight: &Sight, signal: Option<&'static str>) -> Option<JobFailure> {
        let waiting = sight.waiting()?;
        let is_deaf = sight.disobeyed().is_some_and(|time| time >= self.grace());
        let is_stuck = self.limit(waiting).is_some_and(|limit| sight.waited() > limit);
        let (code, signal, how) = match signal.filter(|_| is_deaf) {
            Some(name) => ("interrupted", signal, format!(", told to end by {name}, still")),
            None if is_stuck => ("rank_stalled", None, String::new()),
            None => return None,
        };
        let (rank, n_ranks) = (self.rank, self.config.topology.n_ranks());
        let (waited_s, during) = (sight.waited().as_secs_f64(), self.vitals.during());
        let message =
            format!("rank {rank} of {n_ranks}{how} {waiting}{during}, for {waited_s:.1} s so far");
        Some(JobFailure { rank: Some(rank), code, signal, message })
    }

    /// How long the rank may stay in a wait after a signal.
    fn grace(&self) -> Duration {
        if self.rank == 0 { GRACE } else { GRACE + HEAD_START }
    }

    /// How long a wait may last.
    fn limit(&self, waiting: Waiting) -> Option<Duration> {
        let allowance = Duration::from_nanos(self.vitals.allowance_ns.load(Ordering::Relaxed));
        let limit = self.config.watchdog?.saturating_add(allowance);
        let factor = if matches!(waiting, Waiting::Rest(_)) { REST } else { 1 };
        let head_start = if self.rank == 0 { Duration::ZERO } else { HEAD_START };
        Some(limit.saturating_mul(factor).saturating_add(head_start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use comet_core::topology::Topology;
    use comet_core::transport::{Source, Tag};

    const WAITING: Waiting = Waiting::Recv(Source::Rank(1), Tag::new(7), 8);

    /// A guard of `rank` of 2 with a watchdog of two seconds.
    fn with_guard<R>(vitals: &Vitals, rank: Rank, f: impl FnOnce(&Guard<'_>) -> R) -> R {
        let config = RunConfig {
            topology: Topology::hypercube(2),
            watchdog: Some(Duration::from_secs(2)),
            signal: &|| None,
            on_failure: &|failure| if failure.code == "rank_gave_up" { 7 } else { 1 },
        };
        f(&Guard { vitals, config: &config, rank })
    }

    /// What the guard of rank 0 says, which looks every `TICK` for `n_ticks` times, with a signal
    /// from the first on or none at all.
    fn message(vitals: &Vitals, n_ticks: u32, signal: Option<&'static str>) -> Option<String> {
        message_of(0, vitals, n_ticks, signal)
    }

    fn message_of(
        rank: Rank,
        vitals: &Vitals,
        n_ticks: u32,
        signal: Option<&'static str>,
    ) -> Option<String> {
        with_guard(vitals, rank, |guard| {
            let start = Instant::now();
            let mut sight = Sight::new(start);
            let judge = |tick: u32| {
                sight.update(start + tick * TICK, vitals.words(), signal.is_some());
                guard.judge(&sight, signal)
            };
            (1..=n_ticks).find_map(judge).map(|failure| failure.message)
        })
    }

    #[test]
    fn a_wait_that_lasts_too_long_is_told_with_peer_and_kernel() {
        let vitals = Vitals::default();
        vitals.annotate("comet/echo hops=1 length_bytes=8", 0);
        assert_eq!(message(&vitals, 100, None), None, "it does not wait");
        vitals.enter(WAITING);
        assert_eq!(message(&vitals, 11, None), None);
        assert_eq!(
            message(&vitals, 12, None).as_deref(),
            Some(
                "rank 0 of 2 waits for up to 8 bytes from rank 1 (tag 7) during \
                 comet/echo hops=1 length_bytes=8, for 2.2 s so far"
            )
        );
    }

    #[test]
    fn a_long_case_may_take_its_time() {
        let vitals = Vitals::default();
        vitals.annotate("a long case", 1_000_000_000);
        vitals.enter(WAITING);
        assert_eq!(message(&vitals, 15, None), None);
        assert!(message(&vitals, 17, None).is_some());
    }

    #[test]
    fn a_rank_that_waits_on_after_a_signal_is_told_sooner() {
        let vitals = Vitals::default();
        vitals.enter(Waiting::Collective(Source::Any));
        let expected = "rank 0 of 2, told to end by SIGTERM, still waits for the other ranks in a \
                        collective, for 0.4 s so far";
        assert_eq!(message(&vitals, 3, Some("SIGTERM")).as_deref(), Some(expected));
    }

    #[test]
    fn rank_0_acts_before_the_others() {
        let vitals = Vitals::default();
        vitals.enter(WAITING);
        for (n_ticks, signal) in [(12, None), (3, Some("SIGTERM"))] {
            assert!(message_of(0, &vitals, n_ticks, signal).is_some());
            assert_eq!(message_of(1, &vitals, n_ticks + 9, signal), None);
            assert!(message_of(1, &vitals, n_ticks + 10, signal).is_some());
        }
    }

    #[test]
    fn a_rank_without_a_part_may_wait_longer() {
        let vitals = Vitals::default();
        vitals.enter(Waiting::Rest(Source::Rank(0)));
        assert_eq!(message(&vitals, 41, None), None);
        let expected = "rank 0 of 2 waits to hear from rank 0 what comes next, for 8.2 s so far";
        assert_eq!(message(&vitals, 42, None).as_deref(), Some(expected));
    }

    #[test]
    fn equal_waits_one_after_the_other_are_no_long_wait() {
        let vitals = Vitals::default();
        let mut seen = Vec::new();
        for _ in 0..3 {
            vitals.enter(WAITING);
            seen.push(vitals.words());
            vitals.leave();
            assert_eq!(vitals.words()[0], 0);
        }
        assert!(seen[0] != seen[1] && seen[1] != seen[2], "{seen:?}");
    }

    #[test]
    fn time_in_which_the_whole_job_was_suspended_does_not_count() {
        let (start, mut sight) = (Instant::now(), Sight::new(Instant::now()));
        sight.update(start + TICK, [1, 1], false);
        sight.update(start + Duration::from_secs(60), [1, 1], false);
        assert_eq!(sight.waited(), Duration::ZERO);
    }

    #[test]
    fn a_rank_that_gives_up_is_told_by_the_guard() {
        let vitals = Vitals::default();
        let (rank, message) = (Some(0), "no".into());
        let failure = JobFailure { rank, code: "rank_gave_up", signal: None, message };
        let code = with_guard(&vitals, 0, |guard| {
            thread::scope(|threads| {
                let watching = threads.spawn(|| guard.watch());
                let code = vitals.give_up(failure, watching.thread());
                vitals.end();
                watching.thread().unpark();
                code
            })
        });
        assert_eq!(code, 7);
    }
}
