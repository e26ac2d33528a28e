//! Cost and resolution of clocks, measured before anything else.

use std::hint::black_box;

use crate::busy;
use crate::collective;
use crate::error::Result;
use crate::event::{ClockCalibration, ClockGaps};
use crate::transport::Transport;
use comet_stats::{quantile, sorted};

/// Batches of the measurements of a cost.
const N_BATCHES: usize = 11;
/// Readings per batch, and of a simulated clock, which shows no noise.
const BATCH: u32 = 2000;
const VIRTUAL_BATCH: u32 = 500;
/// Pairs of readings.
const N_PAIRS: usize = 5000;
/// Readings in a row.
const N_READINGS: usize = 20_000;

/// Calibrates the clocks of all ranks, which all call it: about 2 ms on clocks of 20 ns. Rank 0 gets
/// what was found in rank order, the others nothing.
///
/// Simulated clocks are all alike, so that of rank 0 is the only one that is looked at.
pub(super) fn calibrate_all<T: Transport>(t: &T) -> Result<Vec<ClockCalibration>> {
    if t.clock().is_virtual {
        return Ok(if t.rank() == 0 { vec![calibrate(t)] } else { Vec::new() });
    }
    let gathered = collective::gather(t, encode(&calibrate(t)))?;
    Ok(gathered.iter().map(|bytes| decode(bytes)).collect())
}

/// Calibrates this rank's clock.
fn calibrate<T: Transport>(t: &T) -> ClockCalibration {
    let clock = t.clock();
    let read = || {
        black_box(t.now_ns());
    };
    let costs_ns = batches_ns(t, if clock.is_virtual { VIRTUAL_BATCH } else { BATCH }, read);
    let gaps = (!clock.is_virtual).then(|| gaps(&readings(t)));
    let pairs_ns: Vec<f64> = (0..N_PAIRS).map(|_| interval_ns(t.now_ns(), t.now_ns())).collect();
    // Simulated loops take no time.
    let loops_ns = if clock.is_virtual { vec![0.0] } else { batches_ns(t, BATCH, || ()) };
    ClockCalibration {
        cost_ns: costs_ns[0],
        median_cost_ns: quantile(&costs_ns, 0.5),
        step_ns: clock.step_ns.or(gaps.and_then(|(_, step_ns)| step_ns)),
        pair_bias_ns: quantile(&sorted(&pairs_ns), 0.5),
        loop_ns: loops_ns[0],
        gaps: gaps.map(|(gaps, _)| gaps),
    }
}

/// Shortest time by which busy work is calibrated, in nanoseconds: thousands of readings; and how often it
/// is taken.
const BUSY_NS: u64 = 200_000;
const N_BUSY: usize = 5;

/// Rounds of busy work per millisecond on this rank, undisturbed; 0 where work takes virtual time alone.
pub(crate) fn rounds_per_ms<T: Transport>(t: &T) -> u64 {
    if t.clock().is_virtual {
        return 0;
    }
    let ns_of = |n| {
        let start_ns = t.now_ns();
        black_box(busy::rounds(black_box(1), n));
        t.now_ns().saturating_sub(start_ns).max(1)
    };
    let mut n = 1024;
    while ns_of(n) < BUSY_NS {
        n *= 2;
    }
    let shortest_ns = (0..N_BUSY).map(|_| ns_of(n)).fold(u64::MAX, u64::min);
    n.saturating_mul(1_000_000) / shortest_ns
}

/// Mean times of `op`, followed by a reading at the end of each batch of `n`; in ascending order.
fn batches_ns<T: Transport>(t: &T, n: u32, op: impl Fn()) -> Vec<f64> {
    let batch_ns = |_| {
        let start_ns = t.now_ns();
        for i in 1..n {
            black_box(i);
            op();
        }
        interval_ns(start_ns, t.now_ns()) / f64::from(n)
    };
    sorted(&(0..N_BATCHES).map(batch_ns).collect::<Vec<f64>>())
}

/// Readings in a row, into memory that has been touched before.
fn readings<T: Transport>(t: &T) -> Vec<u64> {
    let mut readings_ns = black_box(vec![u64::MAX; N_READINGS]);
    readings_ns.iter_mut().for_each(|reading_ns| *reading_ns = t.now_ns());
    readings_ns
}

/// Gaps between `readings_ns`, and the smallest positive gap, if there is one.
fn gaps(readings_ns: &[u64]) -> (ClockGaps, Option<u64>) {
    let pairs = || readings_ns.windows(2).map(|pair| (pair[0], pair[1]));
    let gaps_ns = || pairs().filter_map(|(a, b)| b.checked_sub(a));
    let n_gaps = |is_meant: fn(u64) -> bool| gaps_ns().filter(|ns| is_meant(*ns)).count() as u64;
    let gaps = ClockGaps {
        n: pairs().count() as u64,
        n_zero: n_gaps(|ns| ns == 0),
        n_backwards: pairs().filter(|(a, b)| b < a).count() as u64,
        n_above_1_us: n_gaps(|ns| ns > 1000),
        n_above_50_us: n_gaps(|ns| ns > 50_000),
        longest_ns: gaps_ns().max().unwrap_or(0),
    };
    (gaps, gaps_ns().filter(|ns| *ns > 0).min())
}

/// From one reading to a later one; negative if the clock went back.
fn interval_ns(start_ns: u64, end_ns: u64) -> f64 {
    end_ns.wrapping_sub(start_ns).cast_signed() as f64
}

/// A calibration as it travels: the words of what is there.
fn encode(calibration: &ClockCalibration) -> Vec<u8> {
    let ClockCalibration { cost_ns, median_cost_ns, pair_bias_ns, loop_ns, .. } = calibration;
    let means = [cost_ns, median_cost_ns, pair_bias_ns, loop_ns].map(|ns| ns.to_bits());
    // No step is 0.
    let step_ns = calibration.step_ns.unwrap_or(0);
    let gaps = calibration.gaps.map(|gaps| {
        let ClockGaps { n, n_zero, n_backwards, n_above_1_us, n_above_50_us, longest_ns } = gaps;
        [n, n_zero, n_backwards, n_above_1_us, n_above_50_us, longest_ns]
    });
    collective::bytes(means.into_iter().chain([step_ns]).chain(gaps.into_iter().flatten()))
}

fn decode(bytes: &[u8]) -> ClockCalibration {
    let words = collective::words(bytes);
    let mean_ns = |i: usize| f64::from_bits(words[i]);
    let gaps = words.get(5..11).map(|gaps| ClockGaps {
        n: gaps[0],
        n_zero: gaps[1],
        n_backwards: gaps[2],
        n_above_1_us: gaps[3],
        n_above_50_us: gaps[4],
        longest_ns: gaps[5],
    });
    ClockCalibration {
        cost_ns: mean_ns(0),
        median_cost_ns: mean_ns(1),
        pair_bias_ns: mean_ns(2),
        loop_ns: mean_ns(3),
        step_ns: (words[4] > 0).then_some(words[4]),
        gaps,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local;

    #[test]
    fn gaps_are_counted_by_their_length() {
        let check = |readings_ns: &[u64], expected: [u64; 6], expected_step_ns| {
            let [n, n_zero, n_backwards, n_above_1_us, n_above_50_us, longest_ns] = expected;
            let expected =
                ClockGaps { n, n_zero, n_backwards, n_above_1_us, n_above_50_us, longest_ns };
            assert_eq!(gaps(readings_ns), (expected, expected_step_ns), "{readings_ns:?}");
        };
        check(&[], [0; 6], None);
        check(&[5, 5, 5], [2, 2, 0, 0, 0, 0], None);
        check(&[0, 17, 17, 33], [3, 1, 0, 0, 0, 17], Some(16));
        check(&[0, 1000, 2001, 52_001, 102_002], [4, 0, 0, 3, 1, 50_001], Some(1000));
        check(&[100, 120, 90, 130], [3, 0, 1, 0, 0, 40], Some(20));
    }

    #[test]
    fn rank_0_learns_of_all_clocks_and_none_of_them_goes_back() {
        let of_ranks = local::run(3, |t| calibrate_all(t).unwrap());
        let n_calibrations: Vec<usize> = of_ranks.iter().map(Vec::len).collect();
        assert_eq!(n_calibrations, [3, 0, 0]);
        for calibration in &of_ranks[0] {
            let gaps = calibration.gaps.unwrap();
            assert_eq!((gaps.n, gaps.n_backwards), (19_999, 0));
            assert!(calibration.cost_ns > 0.0 && calibration.step_ns.is_some());
            assert!(calibration.median_cost_ns >= calibration.cost_ns);
            assert!(calibration.loop_ns < calibration.cost_ns, "{calibration:?}");
        }
    }

    #[test]
    fn a_calibration_survives_the_wire() {
        let gaps = ClockGaps {
            n: 1,
            n_zero: 2,
            n_backwards: 3,
            n_above_1_us: 4,
            n_above_50_us: 5,
            longest_ns: u64::MAX,
        };
        let calibration = ClockCalibration {
            cost_ns: 18.5,
            median_cost_ns: 19.0,
            step_ns: Some(16),
            pair_bias_ns: 20.0,
            loop_ns: 0.25,
            gaps: Some(gaps),
        };
        for calibration in
            [calibration, ClockCalibration { step_ns: None, gaps: None, ..calibration }]
        {
            assert_eq!(decode(&encode(&calibration)), calibration);
        }
    }
}
