//! The launcher while the ranks run: it sleeps until one ends or a signal comes.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use comet_core::job::{JobFailure, ProcessState};
use comet_core::transport::Rank;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::signals::Blocked;
use super::{LaunchError, Outcome, system};
use crate::failure::{Cause, KILLED, describe_ranks, during, poisoned, silent_ranks};
use crate::segment::Segment;
use crate::sync::Ordering;
use crate::wait::{end_job, ring_all};

/// Time that the others have to end after one has failed.
const GRACE: Duration = Duration::from_secs(2);

/// Time after a signal in which ranks may end in order. Where one has computed on, in a long message
/// or a long batch, or is stopped, all are killed then; ranks that sleep wait for a slow reader or disk,
/// and those that share a CPU take longer.
const SIGNAL_GRACE: Duration = Duration::from_millis(1400);
/// Time from one look at the ranks to the next.
const LOOK: Duration = Duration::from_millis(100);
/// CPU time after a signal from which a rank counts as unresponsive, in ticks of 10 ms.
const MOST_TICKS: u64 = 120;

/// The launcher's view of its ranks.
struct Watch<'a> {
    segment: &'a Segment,
    /// Process of each rank that has not ended.
    pids: Vec<Option<Pid>>,
    /// Largest code that a rank has ended with.
    code: u8,
    /// Time of the kill of all remaining ranks.
    deadline: Option<Instant>,
    /// Activities of all ranks when the job failed, the ranks that did not go on, and their state.
    scene: Option<(String, Vec<Rank>, &'static str)>,
    /// The first signal, which was passed on.
    first_signal: Option<Asked>,
    /// Signal by which the ranks were killed, and the occasion.
    interruption: Option<(Signal, &'static str)>,
}

/// A signal that asks the ranks to end.
struct Asked {
    signal: Signal,
    /// Time of the next look whether they do.
    next_look: Instant,
    /// CPU time of each rank when it came, in ticks.
    ticks: Vec<u64>,
}

/// Watches over the ranks until all have ended.
pub(super) fn watch(
    segment: &Segment,
    pids: Vec<Pid>,
    signals: &Blocked,
) -> Result<Outcome, LaunchError> {
    let mut watch = Watch {
        segment,
        pids: pids.into_iter().map(Some).collect(),
        code: 0,
        deadline: None,
        scene: None,
        first_signal: None,
        interruption: None,
    };
    let result = watch.run(signals.set());
    // Whatever happened, no rank outlives the launcher's interest in it.
    watch.kill_all();
    watch.reap();
    result.map_err(system("wait for the ranks"))?;
    Ok(watch.outcome())
}

impl Watch<'_> {
    fn run(&mut self, signals: &SigSet) -> Result<(), Errno> {
        let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
        let inbox = SignalFd::with_flags(signals, flags)?;
        while self.pids.iter().any(Option::is_some) {
            let mut fds = [PollFd::new(inbox.as_fd(), PollFlags::POLLIN)];
            match poll(&mut fds, self.patience()) {
                Ok(_) | Err(Errno::EINTR) => (),
                Err(errno) => return Err(errno),
            }
            while let Some(info) = inbox.read_signal()? {
                let number = i32::try_from(info.ssi_signo).unwrap_or_default();
                self.signal(Signal::try_from(number)?);
            }
            self.reap_ended();
            if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                self.deadline = None;
                self.kill_all();
            }
            self.kill_unresponsive();
        }
        Ok(())
    }

    /// Longest sleep.
    fn patience(&self) -> PollTimeout {
        let asked = self.first_signal.as_ref().filter(|_| self.interruption.is_none());
        let look = asked.map(|asked| asked.next_look);
        let Some(next) = self.deadline.into_iter().chain(look).min() else {
            return PollTimeout::NONE;
        };
        let left = next.saturating_duration_since(Instant::now());
        PollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX)
    }

    fn signal(&mut self, signal: Signal) {
        if signal == Signal::SIGCHLD {
            return;
        }
        if self.first_signal.is_some() {
            self.interrupt(signal, "by a second");
            return;
        }
        let ticks = self.pids.iter().map(|pid| state(*pid).cpu_ticks).collect();
        self.first_signal = Some(Asked { signal, next_look: Instant::now() + SIGNAL_GRACE, ticks });
        // Rank 0 decides for all.
        if let Some(pid) = self.pids[0] {
            let _ = kill(pid, signal);
        }
    }

    /// Ends ranks that compute on long after the first signal.
    fn kill_unresponsive(&mut self) {
        let Some(asked) = self.first_signal.as_mut().filter(|_| self.interruption.is_none()) else {
            return;
        };
        if Instant::now() < asked.next_look {
            return;
        }
        asked.next_look = Instant::now() + LOOK;
        let signal = asked.signal;
        let is_in_case = |rank| !self.segment.control(rank).activity.get().is_empty();
        let is_unresponsive = |(rank, (pid, before)): (Rank, (&Option<Pid>, &u64))| {
            let ProcessState { is_stopped, cpu_ticks, .. } = state(*pid);
            is_stopped || cpu_ticks.saturating_sub(*before) >= MOST_TICKS && is_in_case(rank)
        };
        if self.pids.iter().zip(&asked.ticks).enumerate().any(is_unresponsive) {
            self.interrupt(signal, "in the middle of a case by");
        }
    }

    fn interrupt(&mut self, signal: Signal, how: &'static str) {
        self.interruption = Some((signal, how));
        self.kill_all();
    }

    /// Notes ended ranks; other children of this process stay untouched.
    fn reap_ended(&mut self) {
        for rank in 0..self.pids.len() {
            while let Some(pid) = self.pids[rank] {
                match waitpid(pid, Some(WaitPidFlag::WNOHANG)) {
                    Ok(WaitStatus::Exited(_, code)) => self.ended(rank, Err(code)),
                    Ok(WaitStatus::Signaled(_, signal, _)) => self.ended(rank, Ok(signal)),
                    Err(Errno::EINTR) => (),
                    Ok(_) => break,
                    // Somebody else has taken its end: how it ended is not known.
                    Err(_) => self.ended(rank, Err(-1)),
                }
            }
        }
    }

    /// A rank has ended, by a signal or with a code.
    fn ended(&mut self, rank: Rank, how: Result<Signal, i32>) {
        self.pids[rank] = None;
        match how {
            Ok(signal) if self.interruption.is_none() => self.killed(rank, signal),
            Ok(_) => (),
            Err(code) => {
                let code = u8::try_from(code).unwrap_or(u8::MAX);
                self.code = self.code.max(code);
                // Release: pairs with the Acquire load in `Waiter::ended_peer`; who waits for this
                // rank learns that it never comes, who does not goes on.
                let word = u32::from(code) + 1;
                self.segment.control(rank).ended.store(word, Ordering::Release);
                ring_all(self.segment);
            }
        }
        if poisoned(self.segment).is_some() {
            self.look();
            self.deadline.get_or_insert_with(|| Instant::now() + GRACE);
        }
    }

    /// Remembers what the ranks are doing, the first time.
    fn look(&mut self) {
        let (segment, pids) = (self.segment, &self.pids);
        self.scene.get_or_insert_with(|| {
            // A rank that was stopped while it waited still seems to wait.
            let stopped: Vec<Rank> =
                (0..pids.len()).filter(|rank| state(pids[*rank]).is_stopped).collect();
            let (silent, state) = match stopped.as_slice() {
                [] => (silent_ranks(segment), ["does not answer", "do not answer"]),
                _ => (stopped, ["is stopped by a signal", "are stopped by a signal"]),
            };
            let state = state[usize::from(silent.len() > 1)];
            (describe_ranks(segment), silent, state)
        });
    }

    fn killed(&mut self, rank: Rank, signal: Signal) {
        let name = signal.as_str();
        let activity = during(&self.segment.control(rank).activity.get());
        let reason = format!("rank {rank} was killed by {name}{activity}");
        end_job(self.segment, rank, Cause::Died, &reason);
        // Release: pairs with the Acquire load in `Inbox::end_recv`; it writes to no buffer any more.
        self.segment.control(rank).ended.store(KILLED, Ordering::Release);
    }

    fn kill_all(&self) {
        for pid in self.pids.iter().flatten() {
            // It may have ended meanwhile.
            let _ = kill(*pid, Signal::SIGKILL);
        }
    }

    fn reap(&mut self) {
        for pid in self.pids.iter_mut().filter_map(Option::take) {
            let _ = waitpid(pid, None);
        }
    }

    fn outcome(&self) -> Outcome {
        if let Some((signal, how)) = self.interruption {
            let message = format!("the ranks were ended {how} {signal}");
            let (code, signal) = ("interrupted", Some(signal.as_str()));
            return Outcome::Failed(JobFailure { rank: None, code, signal, message });
        }
        let Some((rank, cause)) = poisoned(self.segment) else {
            let signal = self.first_signal.as_ref().map(|asked| asked.signal.as_str());
            return Outcome::Finished { code: self.code, signal };
        };
        let reason = self.segment.header().reason.get();
        let (scene, silent, state) = self.scene.clone().unwrap_or_default();
        let (rank, culprit) = match (cause, silent.as_slice()) {
            // Who waited too long is not to blame if another does not answer.
            (Cause::Stalled, [first, ..]) => (*first, format!("{} {state}: ", names(&silent))),
            _ => (rank, String::new()),
        };
        let message = format!("{culprit}{reason}; at that moment {scene}");
        Outcome::Failed(JobFailure::of_rank(rank, cause.code(), message))
    }
}

/// State of the process `pid`, if there is one.
fn state(pid: Option<Pid>) -> ProcessState {
    let stat = pid.and_then(|pid| std::fs::read_to_string(format!("/proc/{pid}/stat")).ok());
    ProcessState::of(stat.as_deref().unwrap_or_default())
}

/// `rank 1`, or `ranks 1, 2 and 3 more`: of many ranks, the first few.
fn names(ranks: &[Rank]) -> String {
    const N_TOLD: usize = 8;
    let told: Vec<String> = ranks.iter().take(N_TOLD).map(Rank::to_string).collect();
    match (told.as_slice(), ranks.len().saturating_sub(N_TOLD)) {
        ([rank], _) => format!("rank {rank}"),
        (_, 0) => format!("ranks {}", told.join(", ")),
        (_, n_more) => format!("ranks {} and {n_more} more", told.join(", ")),
    }
}
