//! Ticks of an axis: their values and labels.
//!
//! The script of the page chooses ticks in the same way when a figure is zoomed.

use super::figure::{Quantity, Scale};
use super::scale::{Ruler, round_step};
use super::text::decimals;
use crate::units::{Unit, significant};

/// Powers that are a digit each, from 10^0.
const SUPERSCRIPTS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];

/// The ticks of one axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ticks {
    /// Values with a label, in the base unit.
    pub(super) major: Vec<(f64, String)>,
    /// Values between them that only get a small tick.
    pub(super) minor: Vec<f64>,
}

/// The unit in which the ticks of an axis are written.
pub(super) fn unit(ruler: &Ruler, quantity: Quantity) -> Unit {
    let [from, to] = ruler.range;
    match ruler.scale {
        Scale::Linear => quantity.unit_of(from.abs().max(to.abs())),
        // Prefixes stand with the ticks.
        Scale::Log2 | Scale::Log10 if quantity == Quantity::Bytes => quantity.unit_of(0.0),
        Scale::Log2 | Scale::Log10 => quantity.unit_of((from.ln() / 2.0 + to.ln() / 2.0).exp()),
    }
}

/// The ticks of an axis whose labels keep `spacing_px` from each other.
pub(super) fn ticks(ruler: &Ruler, quantity: Quantity, spacing_px: f64) -> Ticks {
    let unit = unit(ruler, quantity);
    let [from, to] = ruler.range.map(|value| value / unit.size);
    let length_px = (ruler.ends_px[1] - ruler.ends_px[0]).abs();
    let n_most = (length_px / spacing_px).max(2.0);
    let mut ticks = match ruler.scale {
        Scale::Linear => linear(from, to, round_step((to - from) / n_most)),
        Scale::Log2 => powers(from, to, 2.0, n_most, |power| binary_label(power, quantity)),
        Scale::Log10 => powers(from, to, 10.0, n_most, decimal_label),
    };
    if ticks.len() < 2 && ruler.scale != Scale::Linear {
        ticks = between_powers(from, to, ruler.scale, n_most);
    }
    let mut minor = Vec::new();
    if ruler.scale == Scale::Log10 && ticks.windows(2).all(|two| two[1].0 < two[0].0 * 11.0) {
        minor = decades(from, to, 2..10);
    }
    let mut ticks = Ticks { major: ticks, minor };
    ticks.major.iter_mut().for_each(|(value, _)| *value *= unit.size);
    ticks.minor.iter_mut().for_each(|value| *value *= unit.size);
    if ruler.zero_px.is_some() {
        ticks.major.insert(0, (0.0, "0".into()));
    }
    ticks
}

/// Multiples of `step`.
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

/// A number of steps, which is small enough for every axis that can be drawn.
#[expect(clippy::cast_possible_truncation, reason = "casts of floating point saturate")]
fn whole(value: f64) -> i32 {
    value as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::Axis;

    fn labels(scale: Scale, quantity: Quantity, values: &[f64]) -> String {
        let axis = Axis { label: String::new(), quantity, scale };
        let ticks = ticks(&Ruler::new(&axis, values, [0.0, 600.0]), quantity, 42.0);
        ticks.major.into_iter().map(|(_, label)| label).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn lengths_have_ticks_at_powers_of_two() {
        let check = |values: &[f64], expected: &str| {
            assert_eq!(labels(Scale::Log2, Quantity::Bytes, values), expected);
        };
        check(&[0.0, 1.0, 1048576.0], "0 1 4 16 64 256 1Ki 4Ki 16Ki 64Ki 256Ki 1Mi");
        check(&[1.0, 4294967296.0], "1 16 256 4Ki 64Ki 1Mi 16Mi 256Mi 4Gi");
        check(&[8.0, 64.0], "8 16 32 64");
        check(&[8.0, 9.0], "8 8.1 8.2 8.3 8.4 8.5 8.6 8.7 8.8 8.9 9");
        check(&[70.0, 120.0], "70 75 80 85 90 95 100 105 110 115 120");
    }

    #[test]
    fn numbers_of_ranks_have_ticks_at_powers_of_two() {
        assert_eq!(
            labels(Scale::Log2, Quantity::Count, &[2.0, 16384.0]),
            "2 4 8 16 32 64 128 256 512 1024 2048 4096 8192 16384"
        );
        assert_eq!(labels(Scale::Log2, Quantity::TimeNs, &[400.0, 9000.0]), "0.5 1 2 4 8");
    }

    #[test]
    fn decades_have_labels_in_one_unit() {
        let check = |values: &[f64], expected: &str| {
            assert_eq!(labels(Scale::Log10, Quantity::TimeNs, values), expected);
        };
        check(&[100.0, 1e7], "0.1 1 10 100 1000 10000");
        check(&[0.0, 1.0, 1e9], "0 0.001 0.01 0.1 1 10 100 1000 10000 10⁵ 10⁶");
        check(&[210.0, 290.0], "210 220 230 240 250 260 270 280 290");
        check(&[480.0, 6300.0], "0.5 1 2 5");
    }

    #[test]
    fn linear_axes_have_round_ticks() {
        let check = |quantity: Quantity, values: &[f64], expected: &str| {
            assert_eq!(labels(Scale::Linear, quantity, values), expected);
        };
        check(Quantity::TimeNs, &[0.0, 5e6], "0 0.5 1 1.5 2 2.5 3 3.5 4 4.5 5");
        check(Quantity::Percent, &[-3.0, 3.0], "-3 -2.5 -2 -1.5 -1 -0.5 0 0.5 1 1.5 2 2.5 3");
        check(Quantity::Count, &[], "0 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1");
    }

    #[test]
    fn single_decades_have_small_ticks_between() {
        let axis = Axis { label: String::new(), quantity: Quantity::Count, scale: Scale::Log10 };
        let ticks = ticks(&Ruler::new(&axis, &[1.0, 100.0], [0.0, 600.0]), Quantity::Count, 42.0);
        assert_eq!(ticks.minor.len(), 16 + 1);
    }
}
