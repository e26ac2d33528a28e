//! Numbers for people: with their unit, with as many digits as they are worth, and a dash where
//! there is none.

use crate::format::number;

/// What stands where there is no number.
pub(super) const NONE: &str = "—";

/// Digits of a time and of what is scaled.
const DIGITS: usize = 4;

/// Units of the record that are scaled for people: what one of them is in which plain unit.
const UNITS: [(&str, f64, &str); 6] = [
    ("us", 1e-6, "s"),
    ("us/B", 1e-6, "s/B"),
    ("kHz", 1e3, "Hz"),
    ("MB/s", 1e6, "B/s"),
    ("B", 1.0, "B"),
    ("10^6 doubles/s", 1e6, "\u{202f}doubles/s"),
];

/// Factors before a unit, the largest first.
const PREFIXES: [(f64, &str); 8] = [
    (1e12, "T"),
    (1e9, "G"),
    (1e6, "M"),
    (1e3, "k"),
    (1.0, ""),
    (1e-3, "m"),
    (1e-6, "µ"),
    (1e-9, "n"),
];

/// A unit for people: what a value of the record is multiplied by, and the name of the unit.
pub(super) struct Unit {
    factor: f64,
    name: String,
}

impl Unit {
    /// The unit in which `value`, given in `unit` of the record, has one to three digits before
    /// the point; powers of 1000.
    pub(super) fn fitting(value: f64, unit: &str) -> Self {
        let Some((_, scale, base)) = UNITS.iter().find(|(name, ..)| *name == unit) else {
            return Self { factor: 1.0, name: unit.into() };
        };
        let is_below = |(factor, _): &&(f64, &str)| *factor <= (value * scale).abs();
        let has_small_ones = *base != "B";
        let least = if has_small_ones { PREFIXES[PREFIXES.len() - 1] } else { (1.0, "") };
        let found = PREFIXES.iter().find(is_below).copied().unwrap_or(least);
        let (factor, prefix) = if found.0 < least.0 { least } else { found };
        Self { factor: scale / factor, name: format!("{prefix}{base}") }
    }

    /// `value` of the record in this unit, without its name.
    pub(super) fn digits(&self, value: f64) -> String {
        number(value * self.factor, DIGITS)
    }

    /// Name of this unit.
    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

/// `text`, or a dash.
pub(super) fn or_none(text: Option<String>) -> String {
    text.filter(|text| !text.is_empty()).unwrap_or_else(|| NONE.into())
}

/// A time in the unit that fits (`185.9 ns`).
pub(super) fn time(ns: f64) -> String {
    let (unit, scale) = match ns.abs() {
        ns if ns < 1e3 => ("ns", 1.0),
        ns if ns < 1e6 => ("µs", 1e3),
        ns if ns < 1e9 => ("ms", 1e6),
        _ => ("s", 1e9),
    };
    format!("{} {unit}", number(ns / scale, DIGITS))
}

/// A size in the largest binary unit of which it is a multiple, or that leaves it above 1 (`4 MiB`).
pub(super) fn bytes(n_bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let (mut value, mut unit) = (n_bytes as f64, 0);
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        (value, unit) = (value / 1024.0, unit + 1);
    }
    let text = if value.fract() == 0.0 { format!("{value}") } else { format!("{value:.1}") };
    format!("{text} {}", UNITS[unit])
}

/// `count` and the noun that goes with it.
pub(super) fn counted(count: usize, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

/// The least and the largest of `values` (`3 to 20`), or one if they are equal.
pub(super) fn range<T: Ord + ToString>(values: impl IntoIterator<Item = T>) -> Option<String> {
    let mut values: Vec<T> = values.into_iter().collect();
    values.sort();
    let (least, largest) = (values.first()?, values.last()?);
    let (from, to) = (least.to_string(), largest.to_string());
    Some(if from == to { from } else { format!("{from} to {to}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_unit_that_fits() {
        let check = |ns, expected| assert_eq!(time(ns), expected);
        check(0.0, "0 ns");
        check(185.93, "185.9 ns");
        check(1286.4, "1.286 µs");
        check(35_248_474.0, "35.25 ms");
        check(35.25e9, "35.25 s");
        check(25e6, "25 ms");
    }

    #[test]
    fn values_of_the_record_get_units_that_fit() {
        let check = |value, unit, expected: &str| {
            let fitting = Unit::fitting(value, unit);
            assert_eq!(format!("{} {}", fitting.digits(value), fitting.name()), expected);
        };
        check(0.1365, "us", "136.5 ns");
        check(7326.48, "kHz", "7.326 MHz");
        check(50_409.0, "MB/s", "50.41 GB/s");
        check(2_437_559.0, "B", "2.438 MB");
        check(0.5, "B", "0.5 B");
        check(0.0, "us", "0 ns");
        check(0.41, "us/B", "410 ns/B");
        check(242.1, "doubles", "242.1 doubles");
    }

    #[test]
    fn sizes_are_binary() {
        let check = |n_bytes, expected| assert_eq!(bytes(n_bytes), expected);
        check(0, "0 B");
        check(1000, "1000 B");
        check(32 << 10, "32 KiB");
        check(1536, "1.5 KiB");
        check(25_276_514_304, "23.5 GiB");
    }

    #[test]
    fn ranges_of_equal_values_are_one_value() {
        assert_eq!(range([3, 10, 20]).as_deref(), Some("3 to 20"));
        assert_eq!(range([3, 3]).as_deref(), Some("3"));
        assert_eq!(range::<u32>([]), None);
        assert_eq!(
            (counted(1, "run", "runs"), counted(0, "run", "runs")),
            ("1 run".into(), "0 runs".into())
        );
    }
}
