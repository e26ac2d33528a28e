//! Decision of rank 0 that every rank carries out: one broadcast of as many words as it needs.

use std::cell::Cell;

use super::settings::Pace;
use crate::collective::{self, Element};
use crate::error::{Result, TransportError, TransportErrorKind};
use crate::event::{RunEnd, Stop};
use crate::kernel::{Arrangement, Case, MAX_AXES, MAX_SERIES};
use crate::sync::StartSync;
use crate::transport::Transport;

/// Words of a decision about a case before the values on its axes: the trail, what to do, kernel,
/// ranks of a group, groups, datatype and layout, and a pace.
const N_CASE_WORDS: usize = 15 + MAX_SERIES;
/// Words of one number for a datatype: each of them, and none.
const N_TYPES: usize = Element::ALL.len() + 1;
/// The most bytes on the wire.
const MAX_BYTES: usize = decision_bytes(MAX_AXES);

/// Bytes on the wire of a decision about a case of a kernel with `n_axes` axes.
pub const fn decision_bytes(n_axes: usize) -> usize {
    (N_CASE_WORDS + n_axes) * size_of::<u64>()
}

/// One decision.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Decision {
    /// Take samples of a case at a pace, expected to take so many nanoseconds; without a pace, check
    /// its data.
    Run(Target, Option<(Pace, u64)>),
    /// Compare the clocks again.
    CompareClocks,
    /// Time a cache line between ranks 0 and 1.
    TimeLine,
    /// Do nothing, until the next decision.
    Pause,
    /// The run is over.
    Finish(RunEnd),
}

/// A case, as it travels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// Index of the kernel.
    pub(super) kernel_idx: usize,
    /// The ranks that take part.
    pub(super) arrangement: Arrangement,
    /// Values on the axes of the kernel.
    pub(super) values: Vec<u64>,
}

impl Target {
    /// The address of `case`, whose kernel has the index `kernel_idx`.
    pub(super) fn of(kernel_idx: usize, case: &Case) -> Self {
        let values = case.values().map(|(_, value)| value).collect();
        Self { kernel_idx, arrangement: case.arrangement(), values }
    }
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
    fn add(&self, words: &[u64]) {
        let step = |hash: u64, word: &u64| (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        self.0.set(words.iter().fold(self.hash() ^ 0xcbf2_9ce4_8422_2325, step));
    }
}

impl Decision {
    /// Sends the decision from rank 0 to all ranks.
    pub(super) fn announce<T: Transport>(&self, t: &T, trail: &Trail) -> Result<()> {
        let words = self.to_words();
        let mut bytes = collective::bytes([&[trail.hash()], &words[..]].concat());
        trail.add(&words);
        collective::broadcast_to_resting(t, 0, &mut bytes).map(drop)
    }

    /// Receives the next decision on another rank, which blocks without using the CPU until then:
    /// many ranks have no part in the case at hand.
    ///
    /// # Errors
    /// If the transport fails, or if this rank has received other decisions than rank 0 took.
    pub(super) fn hear<T: Transport>(t: &T, trail: &Trail) -> Result<Self> {
        let mut bytes = [0u8; MAX_BYTES];
        let length_bytes = collective::broadcast_to_resting(t, 0, &mut bytes)?;
        if let [hash, words @ ..] = &collective::words(&bytes[..length_bytes])[..]
            && *hash == trail.hash()
            && let Some(decision) = Self::from_words(words)
        {
            trail.add(words);
            return Ok(decision);
        }
        let text = "this rank and rank 0 do not agree on what was decided so far (a message was \
                    lost or changed on its way; check the transport: comet-run check)";
        Err(TransportError::new(TransportErrorKind::Disagreement, text).on_rank(t.rank()))
    }

    fn to_words(&self) -> Vec<u64> {
        match self {
            Self::Run(Target { kernel_idx, arrangement, values }, pace) => {
                let (pace, expected_ns) = pace.unwrap_or((NO_PACE, 0));
                let Pace { repetitions, n_samples, n_discarded, settle, .. } = pace;
                let Pace { sync, window_ns, period_ns, skew_ns, slice, .. } = pace;
                let Pace { looks_after, proves_barrier, .. } = pace;
                let Arrangement { procs, n_groups, datatype, layout } = *arrangement;
                let datatype = datatype.map_or(0, |datatype| 1 + datatype as usize);
                let of_messages = datatype + N_TYPES * layout.map_or(0, |layout| 1 + layout);
                let case =
                    [0, *kernel_idx, procs.unwrap_or(0), n_groups, of_messages].map(|n| n as u64);
                // A word more would change the times of all simulated starts.
                let pairs = [(n_discarded, u32::from(proves_barrier)), (slice, looks_after)];
                let pairs = pairs.map(|(low, high)| u64::from(low) | u64::from(high) << 32);
                let counts = [repetitions, n_samples].map(u64::from);
                let times = [sync as u64, window_ns, period_ns, skew_ns, expected_ns];
                [&case[..], &counts, &pairs, &times, &settle.map(u64::from), values].concat()
            }
            Self::CompareClocks => vec![1],
            Self::TimeLine => vec![2],
            Self::Pause => vec![3],
            Self::Finish(end) => {
                let stop = match end.stop {
                    None => 0,
                    Some(Stop::BudgetSpent) => 1,
                    Some(Stop::Interrupted(_)) => 2,
                };
                let counts = [end.n_ok, end.n_check_failed, end.n_failed, end.n_skipped];
                [&[4, stop, end.wall_ns][..], &counts.map(|n| n as u64)].concat()
            }
        }
    }

    /// The decision in `words`; `None` if they hold none.
    #[expect(clippy::cast_possible_truncation, reason = "to_words wrote no larger values")]
    fn from_words(words: &[u64]) -> Option<Self> {
        Some(match *words {
            [
                0,
                kernel_idx,
                procs,
                n_groups,
                of_messages,
                repetitions,
                n_samples,
                n_discarded,
                slice,
                sync,
                window_ns,
                period_ns,
                skew_ns,
                expected_ns,
                ref rest @ ..,
            ] => {
                let (settle, values) = rest.split_first_chunk::<MAX_SERIES>()?;
                let procs = Some(procs as usize).filter(|procs| *procs > 0);
                let (layout, datatype) =
                    (of_messages as usize / N_TYPES, of_messages as usize % N_TYPES);
                let datatype = match datatype.checked_sub(1) {
                    Some(index) => Some(*Element::ALL.get(index)?),
                    None => None,
                };
                let layout = layout.checked_sub(1);
                let n_groups = n_groups as usize;
                let arrangement = Arrangement { procs, n_groups, datatype, layout };
                let kernel_idx = kernel_idx as usize;
                let target = Target { kernel_idx, arrangement, values: values.into() };
                let pace = Pace {
                    repetitions: repetitions as u32,
                    n_samples: n_samples as u32,
                    n_discarded: n_discarded as u32,
                    settle: settle.map(|n| n as u32),
                    sync: *StartSync::ALL.get(sync as usize)?,
                    window_ns,
                    period_ns,
                    skew_ns,
                    slice: slice as u32,
                    looks_after: (slice >> 32) as u32,
                    proves_barrier: n_discarded >> 32 != 0,
                };
                Self::Run(target, (pace != NO_PACE).then_some((pace, expected_ns)))
            }
            [1] => Self::CompareClocks,
            [2] => Self::TimeLine,
            [3] => Self::Pause,
            [4, stop, wall_ns, n_ok, n_check_failed, n_failed, n_skipped] => Self::Finish(RunEnd {
                n_ok: n_ok as usize,
                n_check_failed: n_check_failed as usize,
                n_failed: n_failed as usize,
                n_skipped: n_skipped as usize,
                stop: match stop {
                    0 => None,
                    1 => Some(Stop::BudgetSpent),
                    _ => Some(Stop::Interrupted(String::new())),
                },
                wall_ns,
            }),
            _ => return None,
        })
    }
}

/// The pace of a decision without one: no samples are ever taken at it.
const NO_PACE: Pace = Pace::new(0, 0, 0);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local;

    #[test]
    fn a_decision_survives_the_wire() {
        let datatype = Some(Element::F32);
        let arrangement = Arrangement { procs: Some(5), n_groups: 2, datatype, layout: Some(3) };
        let target = Target { kernel_idx: 3, arrangement, values: (0..16).collect() };
        let of_all = Target { arrangement: Arrangement::ALL, values: vec![], ..target.clone() };
        let pace = Pace {
            repetitions: 10,
            n_samples: 20,
            n_discarded: 1,
            settle: [3, 0, 7, u32::MAX, 1, 2],
            sync: StartSync::Window,
            window_ns: 20_000,
            period_ns: 30_000,
            skew_ns: 8,
            slice: 9,
            looks_after: 11,
            proves_barrier: true,
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
            Decision::Run(target.clone(), None),
            Decision::Run(target, Some((pace, 7))),
            Decision::Run(of_all, Some((pace, u64::MAX))),
            Decision::CompareClocks,
            Decision::TimeLine,
            Decision::Pause,
            Decision::Finish(end),
        ] {
            assert_eq!(Decision::from_words(&decision.to_words()), Some(decision));
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
