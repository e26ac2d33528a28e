//! Noise: how much longer an operation takes, and which messages are lost.
//!
//! Every draw is a function of seed, rank and operation, so that a run is the same in whatever
//! order the engine comes by, and so that a fault changes nothing but what follows from it. That
//! holds for the disturbances with a memory too: each operation works out anew what it needs of
//! the past. Only `+ - * /`, square roots and the crate libm are used, whose results have the same
//! bits on every machine; a time is rounded once, to whole picoseconds.

#[cfg(test)]
mod tests;

use crate::draw::{Draw, LOST};
use crate::machine::{Noise, NoiseSource};

/// Weight below which what an earlier operation adds to an AR(1) draw is left out.
const LEAST_WEIGHT: f64 = 1e-3;

/// Time that `noise` adds to the `busy_ps` that operation number `operation` of `rank` takes
/// without it, if it starts at `start_ps`: negative, but not below `-busy_ps`, if a log-normal
/// factor is below 1.
///
/// Times of all sources are added up. Detours come last, one source after the other: the operation
/// does not run inside them, and one without a duration does not wait for them.
///
/// # Panics
/// If a detour is not shorter than its period.
#[inline]
pub(crate) fn extra_ps(
    noise: &Noise,
    rank: usize,
    operation: u64,
    start_ps: u64,
    busy_ps: u64,
) -> i64 {
    if noise.sources.is_empty() {
        return 0;
    }
    let draw = |stream| Draw { seed: noise.seed, rank, operation, stream };
    // A source may use two streams.
    let sources = || noise.sources.iter().zip((0..).step_by(2).map(draw));
    let added_ps = sources().map(|(source, draw)| added_ps(*source, draw, busy_ps as f64)).sum();
    let slowed_ps = busy_ps.saturating_add_signed(rounded(added_ps));
    let took_ps = sources().fold(slowed_ps, |took_ps, (source, draw)| {
        took_ps + paused_ps(*source, draw, start_ps, took_ps)
    });
    took_ps.wrapping_sub(busy_ps).cast_signed()
}

/// True if the message that operation number `operation` of `rank` sends is lost.
#[inline]
pub(crate) fn lost(seed: u64, rank: usize, operation: u64, probability: f64) -> bool {
    Draw { seed, rank, operation, stream: LOST }.happens(probability)
}

/// Time that one source adds to `busy_ps`, without its detours.
fn added_ps(source: NoiseSource, draw: Draw, busy_ps: f64) -> f64 {
    let factor = match source {
        NoiseSource::LogNormal { sigma } => libm::exp(sigma * draw.normal()),
        NoiseSource::Ar1 { phi, sigma } => libm::exp(sigma * autoregressive(phi, draw)),
        NoiseSource::Outlier { probability, scale } if draw.happens(probability) => scale,
        NoiseSource::Regimes { sojourn, ratio } if is_slow(sojourn, draw) => ratio,
        NoiseSource::StartUp { amplitude, tau } => {
            1.0 + amplitude * libm::exp(-(draw.operation as f64) / tau)
        }
        NoiseSource::Spike { probability, mean_ps } if draw.happens(probability) => {
            return mean_ps as f64 * draw.second().exponential();
        }
        _ => 1.0,
    };
    busy_ps * (factor - 1.0)
}

/// A normal draw that correlates by `phi^k` with that of `k` operations before.
///
/// It is the weighted sum of the independent draws of the last operations, back to the one that
/// weighs less than [`LEAST_WEIGHT`], scaled to a standard deviation of 1: 31 of them where `phi`
/// is 0.8, and 688 where it is 0.99.
fn autoregressive(phi: f64, draw: Draw) -> f64 {
    let n_terms = (libm::log(LEAST_WEIGHT) / libm::log(phi.abs())).ceil();
    let (mut sum, mut variance) = (0.0, 0.0);
    for age in (0..whole(n_terms).max(1)).rev() {
        // The draws of operations before the first count from above.
        sum = phi * sum + draw.of_operation(draw.operation.wrapping_sub(age)).normal();
        variance = phi * phi * variance + 1.0;
    }
    sum / variance.sqrt()
}

/// True if the rank is in its slow regime.
///
/// The operations are cut into blocks of `sojourn`, each with one change at a place of its own, so
/// that the number of changes follows from the block. Sojourns are `sojourn` operations long on
/// average, one at least and twice that at most. Each rank starts at a place of its own in a pair
/// of blocks.
fn is_slow(sojourn: f64, draw: Draw) -> bool {
    let start = 2.0 * draw.of_rank().second().uniform();
    let place = draw.operation as f64 / sojourn + start;
    let block = whole(place);
    // The last operation of a block is too late, or two changes could come at once.
    let change = draw.of_operation(block).uniform() * (1.0 - 1.0 / sojourn);
    let n_changes = block + u64::from(place - block as f64 >= change);
    n_changes % 2 == 1
}

/// Time that the detours of one source add to `busy_ps`; 0 for any other source.
fn paused_ps(source: NoiseSource, draw: Draw, start_ps: u64, busy_ps: u64) -> u64 {
    let NoiseSource::Detour { period_ps, length_ps } = source else { return 0 };
    let Some(last_ps) = busy_ps.checked_sub(1) else { return 0 };
    assert!(length_ps < period_ps, "a detour of {length_ps} ps every {period_ps} ps has no end");
    // Every period begins with its detour, and what is left of it is open for work.
    let open_ps = period_ps - length_ps;
    let start_ps = start_ps + draw.of_rank().below(period_ps);
    let opened_ps =
        start_ps / period_ps * open_ps + (start_ps % period_ps).saturating_sub(length_ps);
    let last_ps = opened_ps + last_ps;
    let end_ps = last_ps / open_ps * period_ps + length_ps + last_ps % open_ps + 1;
    end_ps - start_ps - busy_ps
}

/// The nearest whole number.
#[expect(clippy::cast_possible_truncation, reason = "2^63 ps are more than three months")]
fn rounded(time_ps: f64) -> i64 {
    time_ps.round() as i64
}

/// The number without its fraction.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "what is counted here is not negative"
)]
fn whole(number: f64) -> u64 {
    number as u64
}
