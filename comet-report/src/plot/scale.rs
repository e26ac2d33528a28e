//! Positions of values along an axis, and the ticks and labels there.

use super::figure::{Axis, Quantity, Scale};
use super::svg::decimals;
use crate::units::{Unit, significant};

const ZERO_SLOT_PX: f64 = 34.0;
/// Distance of the outermost values of a logarithmic axis from its ends, in shares of its length.
const MARGIN: f64 = 0.03;
/// Sizes of values that are drawn: with others, a difference or a share might be no number.
const SIZES: std::ops::Range<f64> = 1e-250..1e250;

/// Powers that are a digit each, from 10^0.
const SUPERSCRIPTS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ticks {
    /// Values with a label, in the base unit.
    pub(super) major: Vec<(f64, String)>,
    /// Values between them that only get a small tick.
    pub(super) minor: Vec<f64>,
}

/// An axis laid along a line of pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ruler {
    pub(super) scale: Scale,
    pub(super) quantity: Quantity,
    pub(super) range: [f64; 2],
    /// Positions of the ends of `range`; a vertical axis runs from a larger to a smaller number.
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
        let Axis { scale, quantity, .. } = *axis;
        Self { scale, quantity, range, ends_px: [first_px, end_px], zero_px, start_px }
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

    pub(super) fn gap_px(&self) -> Option<f64> {
        self.zero_px.map(|zero_px| (zero_px + self.ends_px[0]) / 2.0)
    }

    /// The unit in which ticks are written.
    pub(super) fn unit(&self) -> Unit {
        let [from, to] = self.range;
        match self.scale {
            Scale::Linear => self.quantity.unit_of(from.abs().max(to.abs())),
            // Prefixes stand with the ticks.
            _ if self.quantity == Quantity::Bytes => self.quantity.unit_of(0.0),
            _ => self.quantity.unit_of((from.ln() / 2.0 + to.ln() / 2.0).exp()),
        }
    }

    /// The ticks, whose labels keep `spacing_px` from each other.
    ///
    /// The script of the page chooses them in the same way when a figure is zoomed.
    pub(super) fn ticks(&self, spacing_px: f64) -> Ticks {
        let unit = self.unit();
        let [from, to] = self.range.map(|value| value / unit.size);
        let length_px = (self.ends_px[1] - self.ends_px[0]).abs();
        let n_most = (length_px / spacing_px).max(2.0);
        let mut ticks = match self.scale {
            Scale::Linear => linear(from, to, round_step((to - from) / n_most)),
            Scale::Log2 => {
                powers(from, to, 2.0, n_most, |power| binary_label(power, self.quantity))
            }
            Scale::Log10 => powers(from, to, 10.0, n_most, decimal_label),
        };
        if ticks.len() < 2 && self.scale != Scale::Linear {
            ticks = between_powers(from, to, self.scale, n_most);
        }
        let is_dense = ticks.windows(2).all(|two| two[1].0 < two[0].0 * 11.0);
        let has_minor = self.scale == Scale::Log10 && is_dense;
        let mut minor = if has_minor { decades(from, to, 2..10) } else { Vec::new() };
        minor.iter_mut().for_each(|value| *value *= unit.size);
        ticks.iter_mut().for_each(|(value, _)| *value *= unit.size);
        if self.zero_px.is_some() {
            ticks.insert(0, (0.0, "0".into()));
        }
        Ticks { major: ticks, minor }
    }
}

fn is_drawable(value: f64) -> bool {
    value == 0.0 || SIZES.contains(&value.abs())
}

/// The smallest and the largest of `values`.
pub(super) fn extremes(values: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
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

fn linear(from: f64, to: f64, step: f64) -> Vec<(f64, String)> {
    let n_decimals = whole(-step.log10().floor()).clamp(0, 12).unsigned_abs() as usize;
    let [first, last] = [(from / step - 1e-6).ceil(), (to / step + 1e-6).floor()].map(whole);
    let values = (first..=last).map(|index| f64::from(index) * step);
    values.map(|value| (value, decimals(value, n_decimals))).collect()
}

/// Every so many powers of `base`, so that 1 is among them.
fn powers(
    from: f64,
    to: f64,
    base: f64,
    n_most: f64,
    label: impl Fn(i32) -> String,
) -> Vec<(f64, String)> {
    let [first, last] = [from, to].map(|value| value.ln() / base.ln());
    let [first, last] = [(first - 1e-6).ceil(), (last + 1e-6).floor()].map(whole);
    let fits = |step: &i32| f64::from((last - first) / step + 1) <= n_most;
    let step = [1, 2, 4, 8, 16, 32, 64, 128].into_iter().find(fits).unwrap_or(256);
    let powers = (first..=last).filter(|power| power.rem_euclid(step) == 0);
    powers.map(|power| (base.powi(power), label(power))).collect()
}

/// Ticks of a logarithmic axis that is too short for powers: 1, 2 and 5 times powers of ten, or
/// multiples of a step that keep their distance at the upper end, where they are closest.
fn between_powers(from: f64, to: f64, scale: Scale, n_most: f64) -> Vec<(f64, String)> {
    let label = |value: &f64| (*value, significant(*value, 1));
    let few: Vec<_> = decades(from, to, [1, 2, 5]).iter().map(label).collect();
    if scale == Scale::Log10 && few.len() >= 3 {
        return few;
    }
    linear(from, to, round_step(to * (to / from).ln() / n_most))
}

/// Each of `factors` times each power of ten, as far as they are in the range.
fn decades(from: f64, to: f64, factors: impl IntoIterator<Item = i32> + Clone) -> Vec<f64> {
    let [first, last] = [from, to].map(|value| whole(value.log10().floor()));
    let decade = |power: i32| {
        let factors = factors.clone().into_iter();
        factors.map(move |factor| f64::from(factor) * 10_f64.powi(power))
    };
    let values = (first..=last).flat_map(decade);
    values.filter(|value| (from..=to).contains(value)).collect()
}

/// A power of two: `64Ki` bytes, `1024` ranks, `0.25` us.
fn binary_label(power: i32, quantity: Quantity) -> String {
    let prefixes = ["", "Ki", "Mi", "Gi", "Ti"];
    let index = usize::try_from(power / 10).unwrap_or(0).min(prefixes.len() - 1);
    match quantity {
        Quantity::Bytes if power >= 0 => {
            let value = 2_f64.powi(power) / 1024_f64.powf(index as f64);
            decimals(value, 0) + prefixes[index]
        }
        _ => decimals(2_f64.powi(power), 6),
    }
}

/// A power of ten, with an exponent where it would be long.
fn decimal_label(power: i32) -> String {
    if (-3..=4).contains(&power) {
        return decimals(10_f64.powi(power), 3);
    }
    let digits = power.unsigned_abs().to_string();
    let digit = |c: char| SUPERSCRIPTS[c.to_digit(10).expect("it is a digit") as usize];
    let sign = if power < 0 { "⁻" } else { "" };
    format!("10{sign}{}", digits.chars().map(digit).collect::<String>())
}

/// The whole part of `value`, or what comes closest to it: steps and pixels of every axis that can be drawn are few.
#[expect(clippy::cast_possible_truncation, reason = "casts of floating point saturate")]
pub(super) fn whole(value: f64) -> i32 {
    value as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ruler(scale: Scale, quantity: Quantity, values: &[f64], ends_px: [f64; 2]) -> Ruler {
        Ruler::new(&Axis { label: String::new(), quantity, scale }, values, ends_px)
    }

    fn count(scale: Scale, values: &[f64]) -> Ruler {
        ruler(scale, Quantity::Count, values, [100.0, 500.0])
    }

    #[test]
    fn linear_axes_end_at_round_numbers() {
        let check = |values: &[f64], expected: [f64; 2]| {
            assert_eq!(count(Scale::Linear, values).range, expected, "{values:?}");
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
        let ruler = count(Scale::Log2, &[0.0, 1.0, 1024.0]);
        let [zero, one, last] = [0.0, 1.0, 1024.0].map(|value| ruler.px(value).unwrap());
        assert!(100.0 < zero && zero + 20.0 < one && one < last && last < 500.0);
        assert_eq!(ruler.px(-1.0), None);
        assert_eq!(ruler.lower_px(-1.0), Some(100.0));
    }

    #[test]
    fn without_zero_there_is_no_place_for_it() {
        assert_eq!(count(Scale::Log10, &[1.0, 10.0]).px(0.0), None);
        assert!(count(Scale::Linear, &[0.0, 10.0]).px(0.0).is_some());
    }

    #[test]
    fn logarithmic_axes_have_room_for_single_values_and_none() {
        assert_eq!(count(Scale::Log2, &[8.0]).range, [4.0, 16.0]);
        assert!(count(Scale::Log10, &[-3.0, f64::NAN]).px(3.0).is_some());
        assert_eq!(count(Scale::Log10, &[1.0]).px(f64::INFINITY), None);
    }

    #[test]
    fn steps_are_round() {
        let check = |step: f64, expected: f64| assert!((round_step(step) - expected).abs() < 1e-12);
        check(0.11, 0.2);
        check(2.0, 2.0);
        check(6.0, 10.0);
        check(0.03, 0.05);
    }

    #[test]
    fn ticks_stand_at_round_values_in_one_unit() {
        let check = |scale: Scale, quantity: Quantity, values: &[f64], expected: &str| {
            let ticks = ruler(scale, quantity, values, [0.0, 600.0]).ticks(42.0).major;
            let labels: Vec<String> = ticks.into_iter().map(|(_, label)| label).collect();
            assert_eq!(labels.join(" "), expected, "{scale:?} {quantity:?} {values:?}");
        };
        let bytes =
            |values: &[f64], expected| check(Scale::Log2, Quantity::Bytes, values, expected);
        bytes(&[0.0, 1.0, 1048576.0], "0 1 4 16 64 256 1Ki 4Ki 16Ki 64Ki 256Ki 1Mi");
        bytes(&[1.0, 4294967296.0], "1 16 256 4Ki 64Ki 1Mi 16Mi 256Mi 4Gi");
        bytes(&[8.0, 64.0], "8 16 32 64");
        bytes(&[8.0, 9.0], "8 8.1 8.2 8.3 8.4 8.5 8.6 8.7 8.8 8.9 9");
        bytes(&[70.0, 120.0], "70 75 80 85 90 95 100 105 110 115 120");
        let ranks = "2 4 8 16 32 64 128 256 512 1024 2048 4096 8192 16384";
        check(Scale::Log2, Quantity::Count, &[2.0, 16384.0], ranks);
        check(Scale::Log2, Quantity::TimeNs, &[400.0, 9000.0], "0.5 1 2 4 8");
        let times =
            |values: &[f64], expected| check(Scale::Log10, Quantity::TimeNs, values, expected);
        times(&[100.0, 1e7], "0.1 1 10 100 1000 10000");
        times(&[0.0, 1.0, 1e9], "0 0.001 0.01 0.1 1 10 100 1000 10000 10⁵ 10⁶");
        times(&[210.0, 290.0], "210 220 230 240 250 260 270 280 290");
        times(&[480.0, 6300.0], "0.5 1 2 5");
        let linear =
            |quantity, values: &[f64], labels| check(Scale::Linear, quantity, values, labels);
        linear(Quantity::TimeNs, &[0.0, 5e6], "0 0.5 1 1.5 2 2.5 3 3.5 4 4.5 5");
        let percents = "-3 -2.5 -2 -1.5 -1 -0.5 0 0.5 1 1.5 2 2.5 3";
        linear(Quantity::Percent, &[-3.0, 3.0], percents);
        linear(Quantity::Count, &[], "0 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1");
    }

    #[test]
    fn single_decades_have_small_ticks_between() {
        let ruler = ruler(Scale::Log10, Quantity::Count, &[1.0, 100.0], [0.0, 600.0]);
        assert_eq!(ruler.ticks(42.0).minor.len(), 16 + 1);
    }
}
