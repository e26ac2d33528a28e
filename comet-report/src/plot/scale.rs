//! Positions of values along an axis.

use super::figure::{Axis, Scale};

/// Room for 0 on a logarithmic axis.
const ZERO_SLOT_PX: f64 = 34.0;
/// Distance of the outermost values of a logarithmic axis from its ends, in shares of its length.
const MARGIN: f64 = 0.03;
/// Sizes of values that are drawn: with others, a difference or a share might be no number.
const SIZES: std::ops::Range<f64> = 1e-250..1e250;

/// An axis laid along a line of pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ruler {
    /// Scale of the values.
    pub(super) scale: Scale,
    /// The values at both ends, the smaller one first.
    pub(super) range: [f64; 2],
    /// Positions of these values; a vertical axis runs from a larger to a smaller number.
    pub(super) ends_px: [f64; 2],
    /// Position of 0 on a logarithmic axis, if it is among the values.
    pub(super) zero_px: Option<f64>,
    /// Start of the axis: before the place of 0, or at the first value.
    pub(super) start_px: f64,
}

impl Ruler {
    /// An axis from `start_px` to `end_px` that has room for all `values` that can be drawn.
    pub(super) fn new(axis: &Axis, values: &[f64], [start_px, end_px]: [f64; 2]) -> Self {
        let is_log = axis.scale != Scale::Linear;
        let slot_px = (end_px - start_px).signum() * ZERO_SLOT_PX;
        let zero_px = (is_log && values.contains(&0.0)).then_some(start_px + 0.4 * slot_px);
        let first_px = if zero_px.is_some() { start_px + slot_px } else { start_px };
        let range = match axis.scale {
            Scale::Linear => linear_range(values),
            Scale::Log2 => log_range(values, 2.0),
            Scale::Log10 => log_range(values, 10_f64.sqrt()),
        };
        Self { scale: axis.scale, range, ends_px: [first_px, end_px], zero_px, start_px }
    }

    /// Position of `value`; `None` if it has no place on this axis.
    pub(super) fn px(&self, value: f64) -> Option<f64> {
        if !is_drawable(value) || (value <= 0.0 && self.scale != Scale::Linear) {
            return if value == 0.0 { self.zero_px } else { None };
        }
        let ([from, to], [first_px, last_px]) = (self.range, self.ends_px);
        let share = match self.scale {
            Scale::Linear => (value - from) / (to - from),
            Scale::Log2 | Scale::Log10 => (value.ln() - from.ln()) / (to.ln() - from.ln()),
        };
        Some(first_px + share * (last_px - first_px))
    }

    /// Position of the lower end of an interval, which ends at the axis if it has no place on it.
    pub(super) fn lower_px(&self, value: f64) -> Option<f64> {
        self.px(value).or_else(|| is_drawable(value).then_some(self.start_px))
    }

    /// Position of the break of the axis, between 0 and the other values.
    pub(super) fn gap_px(&self) -> Option<f64> {
        self.zero_px.map(|zero_px| (zero_px + self.ends_px[0]) / 2.0)
    }
}

fn is_drawable(value: f64) -> bool {
    value == 0.0 || SIZES.contains(&value.abs())
}

/// The smallest and the largest of `values`.
fn extremes(values: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
    let widen = |[low, high]: [f64; 2], value: f64| [low.min(value), high.max(value)];
    values.fold(None, |range, value| Some(widen(range.unwrap_or([value; 2]), value)))
}

/// A range with ends at round numbers, and with 0 unless it is far away.
fn linear_range(values: &[f64]) -> [f64; 2] {
    let values = values.iter().copied().filter(|value| is_drawable(*value));
    let [mut low, mut high] = extremes(values).unwrap_or([0.0, 1.0]);
    if low >= 0.0 && low <= high / 2.0 {
        low = 0.0;
    }
    if low == high {
        let margin = if low == 0.0 { 1.0 } else { low.abs() / 10.0 };
        [low, high] = [low - margin, high + margin];
    }
    let step = round_step((high - low) / 8.0);
    [(low / step).floor() * step, (high / step).ceil() * step]
}

/// A range with a margin; one value alone has `factor` on both sides.
fn log_range(values: &[f64], factor: f64) -> [f64; 2] {
    let values = values.iter().copied().filter(|value| is_drawable(*value) && *value > 0.0);
    let [low, high] = extremes(values).unwrap_or([1.0, 10.0]);
    if low == high {
        return [low / factor, high * factor];
    }
    let margin = (high.ln() - low.ln()) * MARGIN;
    [(low.ln() - margin).exp(), (high.ln() + margin).exp()]
}

/// The smallest of 1, 2 and 5 times a power of ten that is not below `step`.
pub(super) fn round_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    let factors = [1.0, 2.0, 5.0];
    // A hair of tolerance, so that a step which is round already stays.
    let factor = factors.into_iter().find(|factor| factor * power >= step * 0.999_999);
    factor.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::Quantity;

    fn ruler(scale: Scale, values: &[f64]) -> Ruler {
        let axis = Axis { label: String::new(), quantity: Quantity::Count, scale };
        Ruler::new(&axis, values, [100.0, 500.0])
    }

    #[test]
    fn linear_axes_end_at_round_numbers() {
        let check = |values: &[f64], expected: [f64; 2]| {
            assert_eq!(ruler(Scale::Linear, values).range, expected, "{values:?}");
        };
        check(&[3.0, 97.0], [0.0, 100.0]);
        check(&[90.0, 97.0], [90.0, 97.0]);
        check(&[-7.0, 12.0], [-10.0, 15.0]);
        check(&[50.0], [44.0, 56.0]);
        check(&[0.0], [-1.0, 1.0]);
        check(&[], [0.0, 1.0]);
        check(&[f64::NAN, f64::INFINITY, 4.0, 8.0], [0.0, 8.0]);
    }

    #[test]
    fn zero_has_a_place_of_its_own_on_logarithmic_axes() {
        let ruler = ruler(Scale::Log2, &[0.0, 1.0, 1024.0]);
        let [zero, one, last] = [0.0, 1.0, 1024.0].map(|value| ruler.px(value).unwrap());
        assert!(100.0 < zero && zero + 20.0 < one && one < last && last < 500.0);
        assert_eq!(ruler.px(-1.0), None);
        assert_eq!(ruler.lower_px(-1.0), Some(100.0));
    }

    #[test]
    fn without_zero_there_is_no_place_for_it() {
        assert_eq!(ruler(Scale::Log10, &[1.0, 10.0]).px(0.0), None);
        assert!(ruler(Scale::Linear, &[0.0, 10.0]).px(0.0).is_some());
    }

    #[test]
    fn logarithmic_axes_have_room_for_single_values_and_none() {
        assert_eq!(ruler(Scale::Log2, &[8.0]).range, [4.0, 16.0]);
        assert!(ruler(Scale::Log10, &[-3.0, f64::NAN]).px(3.0).is_some());
        assert_eq!(ruler(Scale::Log10, &[1.0]).px(f64::INFINITY), None);
    }

    #[test]
    fn steps_are_round() {
        let check = |step: f64, expected: f64| assert!((round_step(step) - expected).abs() < 1e-12);
        check(0.11, 0.2);
        check(2.0, 2.0);
        check(6.0, 10.0);
        check(0.03, 0.05);
    }
}
