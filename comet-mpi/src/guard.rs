//! The guard of a rank: a process beside it that looks, a few times a second, whether the rank
//! still sits in the same wait, and that ends a job that does not move.
//!
//! MPI has no time limits, and most libraries do not report that another rank has died. So the rank
//! notes what it waits for, three plain stores around each call, in a page that both share, and the
//! guard reads the note. It sleeps between two looks, and makes no MPI calls: it ends its rank, and
//! the launcher ends the others.
//!
//! ```text
//!   join ──► fork ──► rank   MPI_Init … enter(what, number) … MPI call … leave() … MPI_Finalize
//!              └────► guard  same number for longer than the watchdog allows         ──► on_failure, end
//!                            a signal came, and still the same number after a moment ──► on_failure, end
//!                            a signal came, and the case at hand goes on         ──► on_failure, end
//!                            the rank is stopped, for longer than the watchdog       ──► on_failure, end
//!                            the rank gives up, and has not ended after a while      ──► end
//!                            MPI_Finalize takes longer than the watchdog allows      ──► on_failure, end
//!                            rank 0 has a folder of files                            ──► fork
//!              keeper ◄──────┘ in a session of its own, asleep until rank 0 has ended  ──► sweep
//! ```
//!
//! A process, since a second thread would demand `MPI_THREAD_FUNNELED`, which makes short messages
//! slower in Open MPI. It is forked before `MPI_Init`, so that it copies neither threads nor
//! memory that the library has registered, and covers `MPI_Init` and `MPI_Finalize`. A timer signal
//! would do without it, but would interrupt system calls of the library, run in the thread that is
//! timed, could not close a result file from its handler, and would be silent in a stopped rank.

use std::panic::catch_unwind;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use comet_core::job::{JobFailure, ProcessState};
use comet_core::waiting::Waiting;
use nix::sys::signal::Signal;

use crate::native::RankProcess;
use crate::vitals::{Phase, Vitals};

/// Time between two looks.
const TICK: Duration = Duration::from_millis(200);
/// Time beyond a tick after which the job was suspended, which is no wait.
const SUSPENDED: Duration = Duration::from_secs(1);
/// Longest wait of rank 0 after a signal that asks for an end: launchers may kill what is left a
/// second after the signal, and the results need an end.
const GRACE: Duration = Duration::from_millis(400);
/// Most CPU time of rank 0 in a case after such a signal, in a long message or a long batch, in ticks
/// of 10 ms; a slow disk takes none.
const MOST_TICKS: u64 = 60;
/// Additional time of the others, so that rank 0 is the first to act.
const HEAD_START: Duration = Duration::from_secs(2);
/// The same in CPU time, in ticks of 10 ms.
const HEAD_START_TICKS: u64 = 200;
/// Factor for a rank without a part in a case, and for one that joins the job or waits for the
/// others before it leaves: these may go on without a word to it.
const REST: u32 = 4;
/// Shortest limit for joining the job.
const SETTLING: Duration = Duration::from_secs(30);
/// Longest time between giving up and the end.
const GIVING_UP: Duration = Duration::from_secs(5);
/// Time between a report and the end, for the reports of the other ranks before the launcher ends
/// them.
const LAST_ORDERS: Duration = Duration::from_secs(3);
/// Exit code of a rank that gave up and did not end, and where the report fails.
const GAVE_UP: u8 = 1;
/// Code of the failure of a rank whose work is done, and that waits in `MPI_Finalize`. It ends with
/// its own exit code.
pub const FINALIZE_STALLED: &str = "finalize_stalled";

/// A function that takes note of a failure, given the path of the result file on the rank that keeps one, and
/// that returns the exit code of the rank. It runs in the guard, or in a rank that gives up.
pub type OnFailure = fn(&JobFailure, Option<&Path>) -> u8;

/// A function that removes the files that kernels have left, given the beginning of their paths. It runs in a
/// process that outlives rank 0, whatever ended that.
pub type Sweep = fn(&Path);

/// The guard of a rank.
pub(crate) struct Guard<'a> {
    pub(crate) vitals: &'a Vitals,
    /// Notes of the lanes of the rank.
    pub(crate) lanes: &'a [Vitals],
    pub(crate) on_failure: OnFailure,
    pub(crate) sweep: Sweep,
}

/// State of the rank when the guard last looked.
#[derive(Clone, Copy, Debug)]
struct Sight {
    at: Instant,
    /// Phase and wait, and since when the rank is in it.
    words: [u64; 3],
    since: Instant,
    /// Time at which a signal was first seen, and the CPU time that the rank had used by then, in ticks.
    signalled: Option<(Instant, u64)>,
    /// CPU time that the rank has used since then, in ticks.
    worked: u64,
    /// Since when the rank is stopped.
    stopped: Option<Instant>,
}

impl Sight {
    fn new(at: Instant) -> Self {
        Self { at, words: [u64::MAX; 3], since: at, signalled: None, worked: 0, stopped: None }
    }

    /// Takes note of what there is to see now. A new wait starts the time again, and so does a
    /// pause in which this process did not run either.
    fn update(&mut self, now: Instant, vitals: &Vitals, state: impl FnOnce() -> ProcessState) {
        let (words, was_suspended) = (vitals.words(), now - self.at > TICK + SUSPENDED);
        if words != self.words || was_suspended {
            (self.words, self.since) = (words, now);
        }
        // A rank that goes on, and that nobody asked to end, is not looked at.
        let is_asked = vitals.signal().is_some();
        let state = if self.since < now || is_asked { state() } else { ProcessState::default() };
        let stopped = self.stopped.filter(|_| !was_suspended).or(Some(now));
        self.stopped = stopped.filter(|_| state.is_stopped);
        self.signalled = self.signalled.or(is_asked.then_some((now, state.cpu_ticks)));
        self.worked =
            self.signalled.map_or(0, |(_, before)| state.cpu_ticks.saturating_sub(before));
        self.at = now;
    }

    /// Time in this wait.
    fn waited(&self) -> Duration {
        self.at - self.since
    }

    /// Time in this wait although a signal asked for the end.
    fn disobeyed(&self) -> Option<Duration> {
        let (signalled, _) = self.signalled?;
        Some(self.at - signalled.max(self.since))
    }
}

impl Guard<'_> {
    /// Looks until `rank` has ended; ends it if it does not go on.
    pub(crate) fn watch(&self, rank: &RankProcess) {
        let mut sight = Sight::new(Instant::now());
        let mut of_lanes = Vec::new();
        while rank.is_there() {
            thread::sleep(TICK);
            if !self.vitals.has_keeper() && self.vitals.files().is_some() {
                // Where the system refuses one, files of a killed job are left.
                rank.fork_keeper(|| self.sweep()).ok();
                self.vitals.begin_keeping();
            }
            sight.update(Instant::now(), self.vitals, || rank.state());
            let failure = self.judge(&sight).or_else(|| self.look_at_lanes(&mut of_lanes));
            if let Some(failure) = failure {
                self.conclude(rank, &failure);
            }
            let gives_up = |sight: &Sight| {
                Vitals::unpack(sight.words).0 == Phase::GivingUp && sight.waited() > GIVING_UP
            };
            if gives_up(&sight) || of_lanes.iter().any(gives_up) {
                rank.end(self.vitals, GAVE_UP);
            }
        }
    }

    /// Removes what the rank, which has ended, left in its folder of files.
    fn sweep(&self) {
        self.vitals.files().iter().for_each(|files| (self.sweep)(files));
    }

    /// The notes of the lanes that have run.
    fn lanes_begun(&self) -> impl Iterator<Item = &Vitals> {
        let has_begun = |lane: &&Vitals| Vitals::unpack(lane.words()).0 != Phase::Joining;
        self.lanes.iter().take_while(has_begun)
    }

    /// The failure of a lane that waits for too long; `sights` are those of the lanes so far.
    fn look_at_lanes(&self, sights: &mut Vec<Sight>) -> Option<JobFailure> {
        let now = Instant::now();
        for (index, vitals) in self.lanes_begun().enumerate() {
            if index == sights.len() {
                sights.push(Sight::new(now));
            }
            // A signal is one to the process, of which the rank takes note.
            if let Some(number) = self.vitals.signal() {
                vitals.hear(number);
            }
            // The state of the process is that of the rank.
            sights[index].update(now, vitals, ProcessState::default);
            let failure = Guard { vitals, lanes: &[], ..*self }.judge(&sights[index]);
            if failure.is_some() {
                return failure;
            }
        }
        None
    }

    /// Reports `failure` and ends the rank.
    fn conclude(&self, rank: &RankProcess, failure: &JobFailure) -> ! {
        rank.kill_in_a_while();
        let results = self.vitals.results();
        // The report is the end of the results.
        rank.hold(self.vitals, self.lanes_begun());
        let report = || (self.on_failure)(failure, results.as_deref());
        let code = catch_unwind(report).unwrap_or(GAVE_UP);
        let own = self.vitals.own_code().filter(|_| failure.code == FINALIZE_STALLED);
        let code = own.unwrap_or(code);
        if failure.signal.is_none() {
            thread::sleep(LAST_ORDERS);
        }
        rank.end(self.vitals, code)
    }

    /// The failure of a rank that waits or is stopped for too long.
    fn judge(&self, sight: &Sight) -> Option<JobFailure> {
        let (phase, waiting) = Vitals::unpack(sight.words);
        let waits = match phase {
            Phase::Joining => Some("waits for the other ranks in MPI_Init".into()),
            Phase::Running => waiting.map(|waiting| waiting.to_string()),
            Phase::Leaving => Some("waits for the other ranks in MPI_Finalize".into()),
            Phase::GivingUp => None,
        };
        let stopped = sight.stopped.map(|since| sight.at - since);
        let signal = self.vitals.signal().and_then(|number| Signal::try_from(number).ok());
        let is_deaf = sight.disobeyed().is_some_and(|time| time >= self.grace());
        let during = self.vitals.during();
        let is_busy = !during.is_empty() && sight.worked >= self.most_ticks();
        let is_stuck = self.limit(phase, waiting).is_some_and(|limit| sight.waited() > limit);
        let is_held = stopped.zip(self.vitals.watchdog()).is_some_and(|(time, limit)| time > limit);
        let (code, signal, how, time) = match (waits, signal) {
            _ if is_held => ("rank_stalled", None, " is stopped by a signal".into(), stopped?),
            (Some(waits), Some(signal)) if is_deaf => {
                let how = format!(", told to end by {signal}, still {waits}");
                ("interrupted", Some(signal.as_str()), how, sight.waited())
            }
            (_, Some(signal)) if phase == Phase::Running && is_busy => {
                let how = format!(", told to end by {signal}, computes on");
                let (signalled, _) = sight.signalled?;
                ("interrupted", Some(signal.as_str()), how, sight.at - signalled)
            }
            (Some(waits), None) if is_stuck => {
                let is_done = phase == Phase::Leaving && self.vitals.own_code().is_some();
                let code = if is_done { FINALIZE_STALLED } else { "rank_stalled" };
                (code, None, format!(" {waits}"), sight.waited())
            }
            _ => return None,
        };
        let (name, time_s) = (self.vitals.name(), time.as_secs_f64());
        let own = self.vitals.own_code().filter(|_| code == FINALIZE_STALLED);
        let end = own.map(|code| format!(" (all results are written; it ends with code {code})"));
        let end = end.unwrap_or_default();
        let message = format!("{name}{how}{during}, for {time_s:.1} s so far{end}");
        let rank = self.vitals.n_ranks().map(|_| self.vitals.rank());
        Some(JobFailure { rank, code, signal, message })
    }

    /// Longest time in a wait after a signal.
    fn grace(&self) -> Duration {
        GRACE + self.head_start()
    }

    /// Longest time in a wait.
    fn limit(&self, phase: Phase, waiting: Option<Waiting>) -> Option<Duration> {
        let limit = self.vitals.watchdog()?.saturating_add(self.vitals.allowance());
        let limit = match (phase, waiting) {
            (Phase::Running, Some(Waiting::Rest(_))) => limit.saturating_mul(REST),
            // All ranks have come to it, and nothing is measured any more.
            (Phase::Running, _) | (Phase::Leaving, _) => limit,
            _ => limit.saturating_mul(REST).max(SETTLING),
        };
        Some(limit.saturating_add(self.head_start()))
    }

    /// CPU time in a case after a signal, in ticks, from which the rank counts as deaf. All of its threads take
    /// some.
    fn most_ticks(&self) -> u64 {
        let of_thread = MOST_TICKS + if self.vitals.rank() == 0 { 0 } else { HEAD_START_TICKS };
        of_thread * self.lanes_begun().count().max(1) as u64
    }

    fn head_start(&self) -> Duration {
        if self.vitals.rank() == 0 { Duration::ZERO } else { HEAD_START }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use comet_core::transport::{Rank, Source, Tag};

    const WAITING: Waiting = Waiting::Recv(Source::Rank(1), Tag::new(7), 8);

    /// The notes of `rank` of 2 with a watchdog of two seconds.
    fn vitals(rank: Rank) -> Vitals {
        let vitals = Vitals::default();
        vitals.number(rank, 2);
        vitals.limit(Some(Duration::from_secs(2)));
        vitals.begin(Phase::Running);
        vitals
    }

    /// The message of a guard that looks every `TICK` for `n_ticks` times at a rank that runs.
    fn message(vitals: &Vitals, n_ticks: u32) -> Option<String> {
        failure(vitals, n_ticks, |_| ProcessState::default()).map(|failure| failure.message)
    }

    fn failure(
        vitals: &Vitals,
        n_ticks: u32,
        state: impl Fn(u32) -> ProcessState,
    ) -> Option<JobFailure> {
        let guard = Guard { vitals, lanes: &[], on_failure: |_, _| 1, sweep: |_| () };
        let start = Instant::now();
        let mut sight = Sight::new(start);
        let judge = |tick: u32| {
            sight.update(start + tick * TICK, vitals, || state(tick));
            guard.judge(&sight)
        };
        (1..=n_ticks).find_map(judge)
    }

    #[test]
    fn a_wait_that_lasts_too_long_is_told_with_peer_and_kernel() {
        let vitals = vitals(0);
        vitals.annotate("comet/echo hops=1 length_bytes=8", 0);
        assert_eq!(message(&vitals, 100), None, "it does not wait");
        vitals.enter(WAITING);
        assert_eq!(message(&vitals, 11), None);
        assert_eq!(
            message(&vitals, 12).as_deref(),
            Some(
                "rank 0 of 2 waits for up to 8 bytes from rank 1 (tag 7) during \
                 comet/echo hops=1 length_bytes=8, for 2.2 s so far"
            )
        );
    }

    #[test]
    fn a_lane_that_waits_too_long_is_told_with_its_thread() {
        let [rank, first, second, idle] = [vitals(1), vitals(1), vitals(1), Vitals::default()];
        second.begin_lane(1, &rank, 0);
        second.enter(WAITING);
        let lanes = [first, second, idle];
        let guard = Guard { vitals: &rank, lanes: &lanes, on_failure: |_, _| 1, sweep: |_| () };
        let mut sights = Vec::new();
        assert!(guard.look_at_lanes(&mut sights).is_none());
        assert_eq!(sights.len(), 2, "the third has not begun");
        let long_ago = Instant::now().checked_sub(Duration::from_secs(5)).unwrap();
        sights[1].since = long_ago;
        let message = guard.look_at_lanes(&mut sights).unwrap().message;
        assert!(message.starts_with("rank 1 of 2, thread 1, waits for up to 8 bytes"), "{message}");
    }

    #[test]
    fn a_long_case_may_take_its_time() {
        let vitals = vitals(0);
        vitals.annotate("a long case", 1_000_000_000);
        vitals.enter(WAITING);
        assert_eq!(message(&vitals, 16), None);
        assert!(message(&vitals, 17).is_some());
    }

    #[test]
    fn a_rank_that_waits_on_after_a_signal_is_told_sooner() {
        let vitals = vitals(0);
        vitals.enter(Waiting::Collective(Source::Any));
        vitals.hear(Signal::SIGTERM as i32);
        let failure = failure(&vitals, 3, |_| ProcessState::default()).unwrap();
        let expected = "rank 0 of 2, told to end by SIGTERM, still waits for the other ranks in a \
                        collective, for 0.4 s so far";
        assert_eq!(failure.message, expected);
        assert_eq!((failure.code, failure.signal), ("interrupted", Some("SIGTERM")));
    }

    #[test]
    fn a_rank_that_computes_on_after_a_signal_is_told_and_one_that_writes_to_a_slow_disk_is_not() {
        let (computes, vitals) = (
            |tick| ProcessState { cpu_ticks: 20 * u64::from(tick), ..ProcessState::default() },
            vitals(0),
        );
        vitals.annotate("comet/echo length_bytes=4294967296", 0);
        assert_eq!(failure(&vitals, 100, computes), None, "nobody asked it to end");
        vitals.hear(Signal::SIGINT as i32);
        assert_eq!(failure(&vitals, 3, computes), None);
        let failed = failure(&vitals, 4, computes).unwrap();
        let expected = "rank 0 of 2, told to end by SIGINT, computes on during \
                        comet/echo length_bytes=4294967296, for 0.6 s so far";
        assert_eq!((failed.code, &*failed.message), ("interrupted", expected));
        assert_eq!(failure(&vitals, 100, |_| ProcessState::default()), None, "it sleeps");
        vitals.annotate("", 0);
        assert_eq!(failure(&vitals, 100, computes), None, "it has no case any more");
    }

    #[test]
    fn rank_0_acts_before_the_others() {
        for (n_ticks, signal) in [(12, None), (3, Some(Signal::SIGTERM))] {
            let [first, second] = [0, 1].map(vitals);
            for vitals in [&first, &second] {
                vitals.enter(WAITING);
                signal.iter().for_each(|signal| vitals.hear(*signal as i32));
            }
            assert!(message(&first, n_ticks).is_some());
            assert_eq!(message(&second, n_ticks + 9), None);
            assert!(message(&second, n_ticks + 10).is_some());
        }
    }

    #[test]
    fn a_rank_without_a_part_may_wait_longer() {
        let vitals = vitals(0);
        vitals.enter(Waiting::Rest(Source::Rank(0)));
        assert_eq!(message(&vitals, 41), None);
        let expected = "rank 0 of 2 waits to hear from rank 0 what comes next, for 8.2 s so far";
        assert_eq!(message(&vitals, 42).as_deref(), Some(expected));
    }

    #[test]
    fn a_stopped_rank_is_told_whatever_it_does() {
        let vitals = vitals(1);
        vitals.annotate("comet/barrier", 1_000_000_000);
        let stopped = |_| ProcessState { is_stopped: true, ..ProcessState::default() };
        let told = |n_ticks| failure(&vitals, n_ticks, stopped).map(|failure| failure.message);
        assert_eq!(told(12), None);
        let expected = "rank 1 of 2 is stopped by a signal during comet/barrier, for 2.2 s so far";
        assert_eq!(told(13).as_deref(), Some(expected));
        vitals.limit(None);
        assert_eq!(told(100), None, "there is no watchdog");
    }

    #[test]
    fn joining_has_a_limit_of_its_own() {
        let vitals = Vitals::default();
        vitals.limit(Some(Duration::from_secs(2)));
        assert_eq!(message(&vitals, 151), None);
        let expected = "a rank waits for the other ranks in MPI_Init, for 30.2 s so far";
        assert_eq!(message(&vitals, 152).as_deref(), Some(expected));
        vitals.begin(Phase::GivingUp);
        assert_eq!(message(&vitals, 1000), None, "it has told why");
    }

    #[test]
    fn leaving_takes_the_time_of_the_watchdog_and_keeps_the_code_of_a_rank_that_is_done() {
        let vitals = vitals(0);
        vitals.begin(Phase::Leaving);
        assert_eq!(message(&vitals, 11), None);
        let waits = "rank 0 of 2 waits for the other ranks in MPI_Finalize, for 2.2 s so far";
        let failed = failure(&vitals, 12, |_| ProcessState::default()).unwrap();
        assert_eq!((failed.code, &*failed.message), ("rank_stalled", waits));
        vitals.end_with(10);
        let failed = failure(&vitals, 12, |_| ProcessState::default()).unwrap();
        let expected = format!("{waits} (all results are written; it ends with code 10)");
        assert_eq!((failed.code, failed.message), (FINALIZE_STALLED, expected));
    }

    #[test]
    fn time_in_which_the_whole_job_was_suspended_does_not_count() {
        let vitals = vitals(0);
        vitals.enter(WAITING);
        let (start, mut sight) = (Instant::now(), Sight::new(Instant::now()));
        for at in [TICK, 2 * TICK, Duration::from_secs(60)] {
            let state = || ProcessState { is_stopped: true, ..ProcessState::default() };
            sight.update(start + at, &vitals, state);
        }
        assert_eq!((sight.waited(), sight.stopped), (Duration::ZERO, None));
    }
}
