//! Decision of rank 0 that every rank carries out: one broadcast record of fixed size.

use std::cell::Cell;

use super::pace::Pace;
use crate::collective;
use crate::error::{Result, TransportError, TransportErrorKind};
use crate::event::{RunEnd, Stop};
use crate::kernel::{MAX_AXES, MAX_SERIES};
use crate::sync::Sync;
use crate::transport::Transport;

/// Numbers of a pace on the wire, before those of its settling.
const N_NUMBERS: usize = 7;
/// Words of a decision, without the trail.
const N_WORDS: usize = 2 + MAX_AXES + N_NUMBERS + MAX_SERIES;
/// Words on the wire.
const N_WIRE_WORDS: usize = N_WORDS + 1;
/// Bytes on the wire: of every decision, in every run.
pub const DECISION_BYTES: usize = 8 * N_WIRE_WORDS;

/// One decision.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Decision {
    /// Prove that the data of a case arrives.
    Verify(Target),
    /// Take samples of a case, which is expected to take so many nanoseconds.
    Measure(Target, Pace, u64),
    /// Compare the clocks again.
    CompareClocks,
    /// Time a cache line between ranks 0 and 1.
    TimeLine,
    /// Do nothing, until the next decision.
    Pause,
    /// The run is over.
    Finish(RunEnd),
}

/// A case, as it travels: the kernel's index and the values on its axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) kernel_idx: usize,
    pub(super) values: [u64; MAX_AXES],
}

/// A hash of all decisions so far, which travels with each: a rank that has missed or mistaken one
/// notices at the next, instead of waiting for messages that nobody sends.
#[derive(Debug, Default)]
pub(super) struct Trail(Cell<u64>);

impl Trail {
    /// The hash of all decisions so far.
    pub(super) fn hash(&self) -> u64 {
        self.0.get()
    }

    /// Adds a decision (FNV-1a over its words).
    fn add(&self, words: &[u64; N_WORDS]) {
        let step = |hash: u64, word: &u64| (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        self.0.set(words.iter().fold(self.hash() ^ 0xcbf2_9ce4_8422_2325, step));
    }
}

impl Decision {
    /// Rank 0 tells all ranks.
    pub(super) fn announce<T: Transport>(&self, t: &T, trail: &Trail) -> Result<()> {
        let words = self.to_words();
        let mut bytes = [0u8; DECISION_BYTES];
        let on_wire = words.iter().copied().chain([trail.hash()]);
        for (word, chunk) in on_wire.zip(bytes.as_chunks_mut().0) {
            *chunk = word.to_le_bytes();
        }
        trail.add(&words);
        collective::broadcast_to_resting(t, 0, &mut bytes)
    }

    /// The other ranks hear it. They rest until then: many have no part in the case at hand.
    ///
    /// # Errors
    /// If the transport fails, or if this rank has heard other decisions than rank 0 took.
    pub(super) fn hear<T: Transport>(t: &T, trail: &Trail) -> Result<Self> {
        let mut bytes = [0u8; DECISION_BYTES];
        collective::broadcast_to_resting(t, 0, &mut bytes)?;
        let mut on_wire = [0u64; N_WIRE_WORDS];
        for (word, chunk) in on_wire.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_le_bytes(*chunk);
        }
        if on_wire[N_WORDS] != trail.hash() {
            let text = "this rank and rank 0 do not agree on what was decided so far (a message was \
                        lost or changed on its way; check the transport: comet-run check)";
            let error = TransportError::new(TransportErrorKind::Disagreement, text);
            return Err(error.on_rank(t.rank()));
        }
        let mut words = [0u64; N_WORDS];
        words.copy_from_slice(&on_wire[..N_WORDS]);
        trail.add(&words);
        Ok(Self::from_words(&words))
    }

    fn to_words(&self) -> [u64; N_WORDS] {
        let mut words = [0; N_WORDS];
        let mut target = |action, target: &Target| {
            words[0] = action;
            words[1] = target.kernel_idx as u64;
            words[2..2 + MAX_AXES].copy_from_slice(&target.values);
        };
        match self {
            Self::Verify(case) => target(0, case),
            Self::Measure(case, pace, expected_ns) => {
                target(1, case);
                let (numbers, settle) = words[2 + MAX_AXES..].split_at_mut(N_NUMBERS);
                let [repetitions, n_samples, slice] =
                    [pace.repetitions, pace.n_samples, pace.slice].map(u64::from);
                let sync = pace.sync as u64;
                numbers.copy_from_slice(&[
                    repetitions,
                    n_samples,
                    slice,
                    sync,
                    pace.window_ns,
                    pace.skew_ns,
                    *expected_ns,
                ]);
                settle.copy_from_slice(&pace.settle.map(u64::from));
            }
            Self::CompareClocks => words[0] = 2,
            Self::TimeLine => words[0] = 3,
            Self::Pause => words[0] = 5,
            Self::Finish(end) => {
                let stop = match end.stop {
                    None => 0,
                    Some(Stop::BudgetSpent) => 1,
                    Some(Stop::Interrupted(_)) => 2,
                };
                let counts = [end.n_ok, end.n_check_failed, end.n_failed, end.n_skipped];
                words[..2].copy_from_slice(&[4, stop]);
                words[2..6].copy_from_slice(&counts.map(|n| n as u64));
                words[6] = end.wall_ns;
            }
        }
        words
    }

    #[expect(clippy::cast_possible_truncation, reason = "to_words wrote no larger values")]
    fn from_words(words: &[u64; N_WORDS]) -> Self {
        let target = || {
            let mut values = [0; MAX_AXES];
            values.copy_from_slice(&words[2..2 + MAX_AXES]);
            Target { kernel_idx: words[1] as usize, values }
        };
        match words[0] {
            0 => Self::Verify(target()),
            1 => {
                let at = |i: usize| words[2 + MAX_AXES + i];
                let pace = Pace {
                    repetitions: at(0) as u32,
                    n_samples: at(1) as u32,
                    slice: at(2) as u32,
                    sync: Sync::ALL[at(3) as usize],
                    window_ns: at(4),
                    skew_ns: at(5),
                    settle: std::array::from_fn(|series| at(N_NUMBERS + series) as u32),
                };
                Self::Measure(target(), pace, at(6))
            }
            2 => Self::CompareClocks,
            3 => Self::TimeLine,
            5 => Self::Pause,
            _ => Self::Finish(RunEnd {
                n_ok: words[2] as usize,
                n_check_failed: words[3] as usize,
                n_failed: words[4] as usize,
                n_skipped: words[5] as usize,
                stop: match words[1] {
                    0 => None,
                    1 => Some(Stop::BudgetSpent),
                    _ => Some(Stop::Interrupted(String::new())),
                },
                wall_ns: words[6],
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local;

    #[test]
    fn a_decision_survives_the_wire() {
        let target = Target { kernel_idx: 3, values: [1, 2, 3, 4, 5, 6, 7, u64::MAX] };
        let pace = Pace {
            repetitions: 10,
            n_samples: 20,
            settle: [3, 0, 7, u32::MAX],
            sync: Sync::Window,
            window_ns: 20_000,
            skew_ns: 8,
            slice: 9,
        };
        let end = RunEnd {
            n_ok: 1,
            n_check_failed: 2,
            n_failed: 3,
            n_skipped: 4,
            stop: Some(Stop::BudgetSpent),
            wall_ns: 5,
        };
        for decision in [
            Decision::Verify(target),
            Decision::Measure(target, pace, 7),
            Decision::CompareClocks,
            Decision::TimeLine,
            Decision::Pause,
            Decision::Finish(end),
        ] {
            assert_eq!(Decision::from_words(&decision.to_words()), decision);
        }
    }

    #[test]
    fn a_rank_that_heard_other_decisions_notices_at_the_next() {
        let results = local::run(2, |t| {
            let trail = Trail::default();
            if t.rank() == 0 {
                return Decision::CompareClocks.announce(t, &trail).map_err(|e| e.to_string());
            }
            trail.add(&Decision::CompareClocks.to_words());
            Decision::hear(t, &trail).map(drop).map_err(|error| error.to_string())
        });
        assert_eq!(results[0], Ok(()));
        let error = results[1].as_ref().unwrap_err();
        assert!(error.contains("do not agree on what was decided"), "{error}");
    }
}
