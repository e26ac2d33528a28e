//! What a clock costs and how fine it is, measured before anything else is.

use crate::event::ClockCalibration;
use crate::stats::Summary;
use crate::transport::Transport;

/// Batches of the cost measurement.
const N_BATCHES: usize = 11;
/// Readings per batch.
const BATCH: u32 = 500;
/// Pairs of readings.
const N_PAIRS: usize = 5000;

/// Calibrates this rank's clock; takes less than a millisecond on a clock of 20 ns.
pub(super) fn calibrate<T: Transport>(t: &T) -> ClockCalibration {
    let batch_cost_ns = |_| {
        let start_ns = t.now_ns();
        for _ in 1..BATCH {
            std::hint::black_box(t.now_ns());
        }
        interval_ns(start_ns, t.now_ns()) / f64::from(BATCH)
    };
    let cost_ns = (0..N_BATCHES).map(batch_cost_ns).fold(f64::INFINITY, f64::min);
    let pairs_ns: Vec<f64> = (0..N_PAIRS).map(|_| interval_ns(t.now_ns(), t.now_ns())).collect();
    ClockCalibration {
        cost_ns,
        step_ns: t.clock().step_ns.or_else(|| smallest_step_ns(t)),
        pair_bias_ns: Summary::of(&pairs_ns).map_or(0.0, |summary| summary.median),
    }
}

/// The smallest positive difference of two consecutive readings.
fn smallest_step_ns<T: Transport>(t: &T) -> Option<u64> {
    let mut previous_ns = t.now_ns();
    let differences = (0..N_PAIRS).filter_map(|_| {
        let now_ns = t.now_ns();
        let difference_ns = now_ns - std::mem::replace(&mut previous_ns, now_ns);
        (difference_ns > 0).then_some(difference_ns)
    });
    differences.min()
}

#[expect(clippy::cast_precision_loss, reason = "intervals are far below 2^53 ns")]
fn interval_ns(start_ns: u64, end_ns: u64) -> f64 {
    (end_ns - start_ns) as f64
}
