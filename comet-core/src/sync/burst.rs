//! A burst of exchanges between two clocks, its messages, and the interval in which their offset
//! lies.
//!
//! ```text
//!   child    sent ────────► back          by its own clock
//!                 ↘        ↗
//!   parent         answered               by its global time
//! ```
//!
//! Messages take no negative time, so the offset of the child's clock from the parent's is at least
//! `sent - answered` and at most `back - answered`, whichever way is the longer one; all exchanges
//! of a burst together leave the interval that all of them allow. The bounds are those of SKaMPI 5.

use crate::collective::{bytes, words};
use crate::error::Result;
use crate::transport::{Rank, Source, Tag, Transport};

/// The stamps of one exchange, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exchange {
    /// Time of the child's message, by its clock.
    pub(super) sent_ns: i64,
    /// Time of the parent's answer, by global time.
    pub(super) answered_ns: i64,
    /// Time at which the child had the answer, by its clock.
    pub(super) back_ns: i64,
}

/// The exchanges of one burst.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Exchanges {
    /// In time order; at least one.
    pub(super) stamps: Vec<Exchange>,
    /// By how much the parent's global time may be wrong.
    pub(super) parent_bound_ns: i64,
}

/// Estimate of the offset of a clock from global time by one burst: local less global nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// Time of the burst, by the local clock: its middle.
    pub local_ns: i64,
    /// The least offset that is possible.
    pub low_ns: i64,
    /// The largest offset that is possible.
    pub high_ns: i64,
}

impl Burst {
    /// Words of a burst on the wire.
    pub(super) const N_WORDS: usize = 3;

    /// Estimate from `exchanges` if the local clock drifts by `drift` against global time; `None`
    /// if no offset agrees with all of them, because a clock was set meanwhile.
    pub(super) fn of(exchanges: &Exchanges, drift: f64) -> Option<Self> {
        let Exchanges { stamps, parent_bound_ns } = exchanges;
        let (first, last) = (stamps.first()?, stamps.last()?);
        let local_ns = first.sent_ns.midpoint(last.back_ns);
        let drifted = |at_ns: i64| drift * distance(local_ns, at_ns);
        let lows = stamps.iter().map(|exchange| {
            exchange.sent_ns - exchange.answered_ns - whole(drifted(exchange.sent_ns).ceil())
        });
        let highs = stamps.iter().map(|exchange| {
            exchange.back_ns - exchange.answered_ns - whole(drifted(exchange.back_ns).floor())
        });
        let (low_ns, high_ns) = (lows.max()?, highs.min()?);
        (low_ns <= high_ns).then_some(Self {
            local_ns,
            low_ns: low_ns - parent_bound_ns,
            high_ns: high_ns + parent_bound_ns,
        })
    }

    /// The best estimate of the offset: the centre of the interval.
    pub fn offset_ns(&self) -> i64 {
        self.low_ns.midpoint(self.high_ns)
    }

    /// Error bound of the estimate.
    pub fn bound_ns(&self) -> i64 {
        (self.high_ns - self.offset_ns()).max(self.offset_ns() - self.low_ns)
    }

    pub(super) fn to_words(self) -> [u64; Self::N_WORDS] {
        [self.local_ns, self.low_ns, self.high_ns].map(i64::cast_unsigned)
    }

    pub(super) fn from_words(words: [u64; Self::N_WORDS]) -> Self {
        let [local_ns, low_ns, high_ns] = words.map(u64::cast_signed);
        Self { local_ns, low_ns, high_ns }
    }
}

/// From one time to another; the difference is taken first, since times may be beyond 2^53.
pub(super) fn distance(from_ns: i64, to_ns: i64) -> f64 {
    (to_ns - from_ns) as f64
}

/// A whole number of nanoseconds.
#[expect(clippy::cast_possible_truncation, reason = "casts saturate, and offsets are far smaller")]
pub(super) fn whole(rounded_ns: f64) -> i64 {
    rounded_ns as i64
}

/// Exchanges in a burst.
const N_EXCHANGES: usize = 100;

const READY: Tag = Tag::reserved(5);
const EXCHANGE: Tag = Tag::reserved(6);
const ANSWERS: Tag = Tag::reserved(7);
const VERDICT: Tag = Tag::reserved(8);

/// State of a rank that teaches.
pub(super) struct Teacher<'a> {
    /// Its clock.
    pub(super) now_ns: &'a dyn Fn() -> i64,
    /// The global time of a reading of it.
    pub(super) global_ns: &'a dyn Fn(i64) -> i64,
    /// By how much that may be wrong.
    pub(super) bound_ns: i64,
}

/// The exchanges of a burst with `parent`, which [`teach`]es meanwhile; `None` if they contradict
/// each other twice, because a clock is set again and again.
pub(super) fn learn<T: Transport>(
    t: &T,
    parent: Rank,
    drift: f64,
    now_ns: &dyn Fn() -> i64,
) -> Result<Option<Exchanges>> {
    for n in [N_EXCHANGES, N_EXCHANGES / 2] {
        let exchanges = ask(t, parent, n, now_ns)?;
        let is_usable = Burst::of(&exchanges, drift).is_some();
        t.blocked_send(parent, VERDICT, &[is_usable.into()])?;
        if is_usable {
            return Ok(Some(exchanges));
        }
    }
    Ok(None)
}

/// Answers `child`, which [`learn`]s meanwhile.
pub(super) fn teach<T: Transport>(t: &T, child: Rank, teacher: &Teacher<'_>) -> Result<()> {
    for n in [N_EXCHANGES, N_EXCHANGES / 2] {
        answer(t, child, n, teacher)?;
        let mut is_usable = [0];
        t.blocked_recv(Source::Rank(child), VERDICT, &mut is_usable)?;
        if is_usable != [0] {
            break;
        }
    }
    Ok(())
}

/// Makes `n` exchanges with `parent`, which [`answer`]s.
pub(super) fn ask<T: Transport>(
    t: &T,
    parent: Rank,
    n: usize,
    now_ns: &dyn Fn() -> i64,
) -> Result<Exchanges> {
    let from = Source::Rank(parent);
    let mut own = vec![(0, 0); n];
    // The parent may be busy with others.
    t.rest_until(from, READY)?;
    t.blocked_recv(from, READY, &mut [])?;
    for (sent_ns, back_ns) in &mut own {
        *sent_ns = now_ns();
        t.blocked_send(parent, EXCHANGE, &[])?;
        t.blocked_recv(from, EXCHANGE, &mut [])?;
        *back_ns = now_ns();
    }
    let mut message = vec![0; (n + 1) * size_of::<u64>()];
    t.blocked_recv(from, ANSWERS, &mut message)?;
    let mut answers = words(&message).into_iter().map(u64::cast_signed);
    let parent_bound_ns = answers.next().unwrap_or_default();
    let stamps = own.into_iter().zip(answers);
    let stamps =
        stamps.map(|((sent_ns, back_ns), answered_ns)| Exchange { sent_ns, answered_ns, back_ns });
    Ok(Exchanges { stamps: stamps.collect(), parent_bound_ns })
}

/// Answers `n` times to `child`, which [`ask`]s. What the stamps are by global time is worked out
/// afterwards, so that it does not lengthen the way back.
pub(super) fn answer<T: Transport>(
    t: &T,
    child: Rank,
    n: usize,
    teacher: &Teacher<'_>,
) -> Result<()> {
    let mut answered_ns = vec![0; n];
    t.blocked_send(child, READY, &[])?;
    for answered_ns in &mut answered_ns {
        t.blocked_recv(Source::Rank(child), EXCHANGE, &mut [])?;
        *answered_ns = (teacher.now_ns)();
        t.blocked_send(child, EXCHANGE, &[])?;
    }
    let answers = answered_ns.into_iter().map(teacher.global_ns);
    let message = std::iter::once(teacher.bound_ns).chain(answers).map(i64::cast_unsigned);
    t.blocked_send(child, ANSWERS, &bytes(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The burst of exchanges with these ways there and back, of a clock that is `offset_ns` ahead
    /// and drifts, 10 us apart.
    fn burst(offset_ns: i64, drift: f64, ways: &[(i64, i64)]) -> Exchanges {
        let local = |t_ns: i64| t_ns + offset_ns + whole((drift * distance(0, t_ns)).round());
        let stamps = ways.iter().zip((0..).step_by(10_000)).map(|((there, back), t_ns)| Exchange {
            sent_ns: local(t_ns),
            answered_ns: t_ns + there,
            back_ns: local(t_ns + there + back),
        });
        Exchanges { stamps: stamps.collect(), parent_bound_ns: 0 }
    }

    #[test]
    fn the_shortest_ways_bound_the_offset() {
        let check = |ways: &[(i64, i64)], low_ns: i64, high_ns: i64| {
            let burst = Burst::of(&burst(1_000_000, 0.0, ways), 0.0).unwrap();
            assert_eq!((burst.low_ns, burst.high_ns), (1_000_000 + low_ns, 1_000_000 + high_ns));
        };
        check(&[(500, 500)], -500, 500);
        // The shortest way there and the shortest way back are of different exchanges.
        check(&[(500, 9000), (7000, 400), (800, 800)], -500, 400);
        check(&[(0, 300)], 0, 300);
    }

    #[test]
    fn the_estimate_is_the_centre_and_its_bound_holds_both_ends() {
        let check = |low_ns, high_ns, expected| {
            let burst = Burst { local_ns: 0, low_ns, high_ns };
            assert_eq!((burst.offset_ns(), burst.bound_ns()), expected);
        };
        check(-500, 500, (0, 500));
        check(10, 13, (11, 2));
        check(-13, -10, (-11, 2));
        check(7, 7, (7, 0));
    }

    #[test]
    fn a_known_drift_is_taken_out() {
        let ways = vec![(1000, 1000); 101];
        let exchanges = burst(-5_000_000_000, 100e-6, &ways);
        let middle_ns = 501_000;
        let truth_ns = -5_000_000_000 + whole(100e-6 * distance(0, middle_ns));
        let burst = Burst::of(&exchanges, 100e-6).unwrap();
        assert!((burst.offset_ns() - truth_ns).abs() <= 1, "{burst:?}");
        assert!((burst.bound_ns() - 1000).abs() <= 2, "{burst:?}");
    }

    #[test]
    fn a_clock_that_was_set_meanwhile_is_found_out() {
        let mut exchanges = burst(0, 0.0, &[(500, 500); 10]);
        for exchange in &mut exchanges.stamps[5..] {
            exchange.sent_ns += 2000;
            exchange.back_ns += 2000;
        }
        assert_eq!(Burst::of(&exchanges, 0.0), None);
    }

    #[test]
    fn what_the_parent_does_not_know_the_child_does_not_know_either() {
        let exchanges = Exchanges { parent_bound_ns: 30, ..burst(0, 0.0, &[(500, 500)]) };
        assert_eq!(Burst::of(&exchanges, 0.0).unwrap().bound_ns(), 530);
    }

    #[test]
    fn a_burst_survives_the_wire() {
        let burst = Burst { local_ns: i64::MAX, low_ns: -7, high_ns: 0 };
        assert_eq!(Burst::from_words(burst.to_words()), burst);
    }
}
