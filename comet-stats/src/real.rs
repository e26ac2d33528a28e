//! Whole numbers as real ones: times, sizes and counts, all of them far below 2^53.

/// `number` as a real number; exact below 2^53.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "times, sizes and counts are far below 2^53")]
pub fn real(number: u64) -> f64 {
    number as f64
}
