//! What rank 0 decides and every rank then does: one broadcast record of fixed size.

use crate::collective;
use crate::context::Pace;
use crate::error::Result;
use crate::event::{RunEnd, Stop};
use crate::kernel::{MAX_AXES, MAX_SERIES};
use crate::transport::Transport;

/// Words of a decision on the wire.
const N_WORDS: usize = 2 + MAX_AXES + 3 + MAX_SERIES;

/// One decision.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Decision {
    /// Prove that the data of a case arrives.
    Verify(Target),
    /// Take samples of a case, which is expected to take so many nanoseconds.
    Measure(Target, Pace, u64),
    /// The run is over.
    Finish(RunEnd),
}

/// A case, as it travels: the kernel's index and the values on its axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) kernel_idx: usize,
    pub(super) values: [u64; MAX_AXES],
}

impl Decision {
    /// Rank 0 tells all ranks.
    pub(super) fn announce<T: Transport>(&self, t: &T) -> Result<()> {
        let mut bytes = [0u8; N_WORDS * 8];
        for (word, chunk) in self.to_words().iter().zip(bytes.as_chunks_mut().0) {
            *chunk = word.to_le_bytes();
        }
        collective::broadcast_to_resting(t, 0, &mut bytes)
    }

    /// The other ranks hear it. They rest until then: many have no part in the case at hand.
    pub(super) fn hear<T: Transport>(t: &T) -> Result<Self> {
        let mut bytes = [0u8; N_WORDS * 8];
        collective::broadcast_to_resting(t, 0, &mut bytes)?;
        let mut words = [0u64; N_WORDS];
        for (word, chunk) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_le_bytes(*chunk);
        }
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
                let (numbers, settle) = words[2 + MAX_AXES..].split_at_mut(3);
                let [repetitions, n_samples] = [pace.repetitions, pace.n_samples].map(u64::from);
                numbers.copy_from_slice(&[repetitions, n_samples, *expected_ns]);
                settle.copy_from_slice(&pace.settle.map(u64::from));
            }
            Self::Finish(end) => {
                let stop = match end.stop {
                    None => 0,
                    Some(Stop::BudgetSpent) => 1,
                    Some(Stop::Interrupted(_)) => 2,
                };
                let counts = [end.n_ok, end.n_check_failed, end.n_failed, end.n_skipped];
                words[..2].copy_from_slice(&[2, stop]);
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
                    settle: std::array::from_fn(|series| at(3 + series) as u32),
                };
                Self::Measure(target(), pace, at(2))
            }
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

    #[test]
    fn a_decision_survives_the_wire() {
        let target = Target { kernel_idx: 3, values: [1, 2, 3, 4, 5, 6, 7, u64::MAX] };
        let pace = Pace { repetitions: 10, n_samples: 20, settle: [3, 0, 7, u32::MAX] };
        let end = RunEnd {
            n_ok: 1,
            n_check_failed: 2,
            n_failed: 3,
            n_skipped: 4,
            stop: Some(Stop::BudgetSpent),
            wall_ns: 5,
        };
        for decision in
            [Decision::Verify(target), Decision::Measure(target, pace, 7), Decision::Finish(end)]
        {
            assert_eq!(Decision::from_words(&decision.to_words()), decision);
        }
    }
}
