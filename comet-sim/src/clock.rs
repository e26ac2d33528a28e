//! The clock of a rank: its own offset and drift, in whole steps.
//!
//! The arithmetic is whole, so that a reading is exact at any time that the engine reaches, and so
//! that a clock without faults shows the virtual time.

use crate::draw::{DRIFT, Draw, OFFSET};
use crate::machine::Clock;

/// Drifts are whole multiples of 1 / ONE.
const ONE: u64 = 1_000_000_000_000;

/// The reading in nanoseconds of the clock of `rank` at the virtual time `t_ps`, on a machine whose
/// draws have the seed `seed`.
///
/// A later reading of the same rank is never lower.
#[expect(clippy::cast_possible_truncation, reason = "2^64 ns are 584 years")]
pub(crate) fn reading_ns(clock: &Clock, seed: u64, rank: usize, t_ps: u64) -> u64 {
    let (offset_ps, rate) = faults(clock, seed, rank);
    let shown_ps = u128::from(t_ps) * rate / u128::from(ONE) + offset_ps;
    let step_ps = u128::from(clock.resolution_ps.max(1));
    (shown_ps / step_ps * step_ps / 1000) as u64
}

/// The virtual time of the first look at the clock that shows `due_ns` or more, of a rank that looks
/// again and again from `now_ps` on; `None` if none ever does.
pub(crate) fn look_ps(
    clock: &Clock,
    seed: u64,
    rank: usize,
    now_ps: u64,
    due_ns: u64,
) -> Option<u64> {
    let (offset_ps, rate) = faults(clock, seed, rank);
    let step_ps = u128::from(clock.resolution_ps.max(1));
    let shown_ps = (u128::from(due_ns) * 1000).div_ceil(step_ps) * step_ps;
    let missing = shown_ps.saturating_sub(offset_ps) * u128::from(ONE);
    let due_ps = if missing == 0 { 0 } else { missing.checked_next_multiple_of(rate)? / rate };
    let wait_ps = u64::try_from(due_ps).ok()?.saturating_sub(now_ps);
    let cost_ps = clock.call_cost_ps;
    let looking_ps = wait_ps.max(cost_ps).checked_next_multiple_of(cost_ps);
    // Looks that take no time are all that there is to the wait.
    now_ps.checked_add(looking_ps.unwrap_or(wait_ps))
}

/// The offset of the clock of `rank` in picoseconds, and its rate in units of 1 / [`ONE`].
fn faults(clock: &Clock, seed: u64, rank: usize) -> (u128, u128) {
    let draw = |stream| Draw { seed, rank, operation: 0, stream };
    let offset_ps = draw(OFFSET).below(clock.offset_spread_ps);
    (offset_ps.into(), rate(clock.drift_ppm, draw(DRIFT)).into())
}

/// Rate of the clock, in units of 1 / ONE: evenly spread around [`ONE`].
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a drift is not negative, and a clock whose drift is above 10^6 ppm may stand still"
)]
fn rate(drift_ppm: f64, draw: Draw) -> u64 {
    let largest = ((drift_ppm * 1e6).round() as u64).min(ONE);
    ONE - largest + draw.below(2 * largest + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRUE: Clock =
        Clock { resolution_ps: 1000, call_cost_ps: 0, offset_spread_ps: 0, drift_ppm: 0.0 };
    const DAY_PS: u64 = 86_400_000_000_000_000;

    #[test]
    fn a_clock_without_faults_shows_the_virtual_time() {
        for t_ps in [0, 1, 999, 1000, 1_234_567_890_123, 213 * DAY_PS, u64::MAX] {
            assert_eq!(reading_ns(&TRUE, 1, 2, t_ps), t_ps / 1000);
        }
    }

    #[test]
    fn readings_are_whole_steps() {
        let check = |resolution_ps, t_ps, expected_ns| {
            let clock = Clock { resolution_ps, ..TRUE };
            assert_eq!(reading_ns(&clock, 1, 2, t_ps), expected_ns, "steps of {resolution_ps} ps");
        };
        check(1_000_000, 1_999_999, 1000);
        check(1_000_000, 2_000_000, 2000);
        check(1_000_000_000, 999_999_999, 0);
        // Steps of one and a half nanoseconds show the whole nanoseconds that have passed.
        check(1500, 2999, 1);
        check(1500, 3000, 3);
    }

    #[test]
    fn offsets_and_drifts_are_spread_evenly_over_the_ranks() {
        let clock = Clock { offset_spread_ps: 1_000_000_000, drift_ppm: 50.0, ..TRUE };
        let readings = |t_ps| (0..10_000).map(move |rank| reading_ns(&clock, 7, rank, t_ps));
        let offsets: Vec<u64> = readings(0).collect();
        check_even(&offsets, 0, 1_000_000);
        let second_ps = 1_000_000_000_000;
        let drifts: Vec<u64> = readings(1000 * second_ps)
            .zip(&offsets)
            .map(|(reading, offset)| reading - offset - 1000 * (1_000_000_000 - 50_000))
            .collect();
        check_even(&drifts, 0, 100_000_000);
    }

    #[test]
    fn a_clock_never_goes_backwards() {
        let clock = Clock { offset_spread_ps: 5_000, drift_ppm: 100.0, ..TRUE };
        for rank in 0..100 {
            let readings = (0..5000).map(|i| reading_ns(&clock, 3, rank, 213 * DAY_PS + 137 * i));
            assert!(readings.is_sorted(), "rank {rank}");
        }
        let stopped = Clock { drift_ppm: 2e6, ..TRUE };
        assert!((0..100).map(|i| reading_ns(&stopped, 3, 0, 1000 * i)).is_sorted());
    }

    #[test]
    fn a_wait_ends_at_the_first_look_that_shows_the_time() {
        let check = |clock: Clock, due_ns: u64| {
            for rank in 0..20 {
                let reading_ns = |t_ps| reading_ns(&clock, 3, rank, t_ps);
                let now_ps = 5_000_000;
                let look_ps = look_ps(&clock, 3, rank, now_ps, due_ns).unwrap();
                let is_late = look_ps == now_ps + clock.call_cost_ps;
                assert!(reading_ns(look_ps) >= due_ns, "{clock:?}");
                let before_ps = look_ps - clock.call_cost_ps.max(1);
                assert!(is_late || reading_ns(before_ps) < due_ns, "{clock:?}, rank {rank}");
            }
        };
        let faulty = Clock { offset_spread_ps: 10_000_000, drift_ppm: 50.0, ..TRUE };
        for clock in [TRUE, faulty] {
            for (resolution_ps, call_cost_ps) in
                [(1000, 0), (1000, 37_000), (1500, 0), (1 << 30, 7)]
            {
                for due_ns in [0, 4999, 5000, 5001, 123_456_789, 1_000_000_000_000] {
                    check(Clock { resolution_ps, call_cost_ps, ..clock }, due_ns);
                }
            }
        }
    }

    #[test]
    fn a_wait_beyond_what_the_engine_can_reach_has_no_end() {
        assert!(look_ps(&TRUE, 3, 0, 0, u64::MAX / 1000).is_some());
        assert_eq!(look_ps(&TRUE, 3, 0, 0, u64::MAX), None);
    }

    #[test]
    fn the_seed_decides_the_readings() {
        let clock = Clock { offset_spread_ps: DAY_PS, drift_ppm: 50.0, ..TRUE };
        assert_eq!(reading_ns(&clock, 1, 2, 3), reading_ns(&clock, 1, 2, 3));
        assert_ne!(reading_ns(&clock, 1, 2, 3), reading_ns(&clock, 2, 2, 3));
    }

    /// Checks that values fill `low..=high`, with the mean and the spread of an even distribution.
    fn check_even(values: &[u64], low: u64, high: u64) {
        assert!(values.iter().all(|value| (low..=high).contains(value)));
        let (n, width) = (values.len() as f64, (high - low) as f64);
        let places = values.iter().map(|value| (value - low) as f64 / width);
        let mean = places.clone().sum::<f64>() / n;
        let variance = places.map(|place| (place - mean).powi(2)).sum::<f64>() / n;
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
        assert!((variance - 1.0 / 12.0).abs() < 0.002, "{variance}");
    }
}
