//! Numbers as people read them: with so many digits as count, and in a unit that fits.
//!
//! Text, pages and figures write numbers through this module alone, so that a value looks the same
//! everywhere. Pages and pictures write µs; text writes us, as a terminal may have no other letters
//! than those of ASCII. Foreign formats (IMB, OSU, exporters) write as their readers expect.

use crate::plot::Quantity;

/// Digits of a value beside its unit.
pub(crate) const DIGITS: usize = 4;
/// Digits of a size, enough for whole bytes.
pub(crate) const SIZE_DIGITS: usize = 10;
/// Most digits behind the point.
const MAX_DECIMALS: i64 = 12;
/// Exponents of numbers that are written out; numbers beyond are ends of intervals without meaning.
const PLAIN_EXPONENTS: std::ops::RangeInclusive<i64> = -9..=14;

/// Lengths in bytes of the binary units, the largest first.
const SIZES: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];

/// `value` with at least `n_digits` significant digits, without zeros at the end of decimals.
pub(crate) fn significant(value: f64, n_digits: usize) -> String {
    let exponent =
        format!("{value:e}").rsplit('e').next().and_then(|text| text.parse::<i64>().ok());
    if exponent.is_some_and(|exponent| !PLAIN_EXPONENTS.contains(&exponent)) {
        return format!("{value:.2e}");
    }
    let n_digits = i64::try_from(n_digits).unwrap_or(i64::MAX);
    let n_decimals = (n_digits - 1 - exponent.unwrap_or(0)).clamp(0, MAX_DECIMALS);
    let text = format!("{value:.0$}", usize::try_from(n_decimals).unwrap_or(0));
    if !text.contains('.') {
        return text;
    }
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.to_owned() }
}

/// `value` with five digits as a column of a table has them: zeros at the end of decimals stay.
pub(crate) fn fixed(value: f64) -> String {
    let n_decimals = match value {
        _ if value < 10.0 => 4,
        _ if value < 100.0 => 3,
        _ if value < 1000.0 => 2,
        _ => 1,
    };
    format!("{value:.n_decimals$}")
}

/// A time in µs, for a column of a table.
pub(crate) fn fixed_us(ns: f64) -> String {
    fixed(ns / 1e3)
}

/// A time in the unit that fits (`185.9 ns`).
pub(crate) fn time(ns: f64) -> String {
    Quantity::TimeNs.write(ns)
}

/// A length in bytes; in a larger unit where that takes no digits away.
pub(crate) fn bytes(length: u64) -> String {
    let fits = |(size, _): &&(u64, &str)| length > 0 && length.is_multiple_of(*size);
    match SIZES.iter().find(fits) {
        Some((size, unit)) => format!("{} {unit}", length / size),
        None => format!("{length} B"),
    }
}

/// A size of memory in the largest binary unit that leaves it above 1, with one decimal (`23.5 GiB`).
pub(crate) fn memory(n_bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut unit) = (n_bytes as f64, 0);
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        (value, unit) = (value / 1024.0, unit + 1);
    }
    let text = if value.fract() == 0.0 { format!("{value}") } else { format!("{value:.1}") };
    format!("{text} {}", UNITS[unit])
}

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
pub(crate) struct Scaled {
    factor: f64,
    /// Its name.
    pub(crate) name: String,
}

impl Scaled {
    /// The unit in which `value` in `unit` of the record has one to three digits before the point.
    pub(crate) fn fitting(value: f64, unit: &str) -> Self {
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
    pub(crate) fn digits(&self, value: f64) -> String {
        significant(value * self.factor, DIGITS)
    }
}

/// A unit of a quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Unit {
    /// As it is written; empty for plain numbers.
    pub(crate) name: &'static str,
    /// Size of one in the base unit.
    pub(crate) size: f64,
}

const KI: f64 = 1024.0;

/// `units(…)` from the smallest to the largest.
const fn units<const N: usize>(names: [&'static str; N], factor: f64) -> [Unit; N] {
    let mut units = [Unit { name: "", size: 1.0 }; N];
    let (mut index, mut size) = (0, 1.0);
    while index < N {
        units[index] = Unit { name: names[index], size };
        size *= factor;
        index += 1;
    }
    units
}

const TIME: [Unit; 4] = units(["ns", "µs", "ms", "s"], 1e3);
const BYTES: [Unit; 4] = units(["B", "KiB", "MiB", "GiB"], KI);
const BYTES_PER_SECOND: [Unit; 4] = units(["B/s", "kB/s", "MB/s", "GB/s"], 1e3);
const PER_SECOND: [Unit; 4] = units(["1/s", "k/s", "M/s", "G/s"], 1e3);
const COUNT: [Unit; 1] = units([""], 1.0);
const PERCENT: [Unit; 1] = units(["%"], 1.0);

impl Quantity {
    /// Its units from the smallest to the largest; the first is the base unit.
    pub(crate) fn units(self) -> &'static [Unit] {
        match self {
            Self::TimeNs => &TIME,
            Self::Bytes => &BYTES,
            Self::BytesPerSecond => &BYTES_PER_SECOND,
            Self::PerSecond => &PER_SECOND,
            Self::Count | Self::Ratio => &COUNT,
            Self::Percent => &PERCENT,
        }
    }

    /// The largest unit that is not above `magnitude`, else the smallest.
    pub(crate) fn unit_of(self, magnitude: f64) -> Unit {
        let units = self.units();
        *units.iter().rev().find(|unit| unit.size <= magnitude).unwrap_or(&units[0])
    }

    /// Suffix of a column's name for the base unit.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Self::TimeNs => "_ns",
            Self::Bytes => "_bytes",
            Self::BytesPerSecond => "_bytes_per_s",
            Self::PerSecond => "_per_s",
            Self::Percent => "_percent",
            Self::Count | Self::Ratio => "",
        }
    }

    /// `value` with four digits and a fitting unit; whole bytes are exact.
    pub fn write(self, value: f64) -> String {
        let mut unit = self.unit_of(value.abs());
        if self == Self::Bytes && value % unit.size != 0.0 {
            unit = BYTES[0];
        }
        let number = significant(value / unit.size, DIGITS);
        if unit.name.is_empty() { number } else { format!("{number} {}", unit.name) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_as_many_digits_as_they_need() {
        let check =
            |value, n_digits, expected: &str| assert_eq!(significant(value, n_digits), expected);
        check(79.0, 4, "79");
        check(1.587_301, 4, "1.587");
        check(0.000_123_456, 4, "0.0001235");
        check(4_194_304.0, 10, "4194304");
        check(4_194_304.7, 3, "4194305");
        check(0.0, 4, "0");
        check(3.811e71, 4, "3.81e71");
        check(-2e-30, 4, "-2.00e-30");
        let check = |value, expected| assert_eq!(fixed(value), expected);
        check(0.05123, "0.0512");
        check(9.87654, "9.8765");
        check(51.17444, "51.174");
        check(517.444, "517.44");
        check(18_230.44, "18230.4");
    }

    #[test]
    fn values_of_the_record_get_units_that_fit() {
        let check = |value, unit, expected: &str| {
            let fitting = Scaled::fitting(value, unit);
            assert_eq!(format!("{} {}", fitting.digits(value), fitting.name), expected);
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
    fn sizes_are_binary_and_lengths_keep_all_of_their_digits() {
        let check = |n_bytes, expected| assert_eq!(memory(n_bytes), expected);
        check(0, "0 B");
        check(1000, "1000 B");
        check(32 << 10, "32 KiB");
        check(1536, "1.5 KiB");
        check(25_276_514_304, "23.5 GiB");
        let check = |length, expected| assert_eq!(bytes(length), expected);
        check(0, "0 B");
        check(1000, "1000 B");
        check(2048, "2 KiB");
        check(4096, "4 KiB");
        check(4097, "4097 B");
        check(4 << 20, "4 MiB");
    }

    #[test]
    fn values_are_written_in_fitting_units() {
        let check = |quantity: Quantity, value: f64, expected: &str| {
            assert_eq!(quantity.write(value), expected);
        };
        check(Quantity::TimeNs, 8312.4, "8.312 µs");
        check(Quantity::TimeNs, 0.0, "0 ns");
        check(Quantity::TimeNs, -2.5e6, "-2.5 ms");
        check(Quantity::TimeNs, 3.6e12, "3600 s");
        check(Quantity::TimeNs, 185.93, "185.9 ns");
        check(Quantity::TimeNs, 1286.4, "1.286 µs");
        check(Quantity::TimeNs, 35_248_474.0, "35.25 ms");
        check(Quantity::TimeNs, 35.25e9, "35.25 s");
        check(Quantity::TimeNs, 25e6, "25 ms");
        check(Quantity::Bytes, 65_536.0, "64 KiB");
        check(Quantity::Bytes, 65_537.0, "65537 B");
        check(Quantity::BytesPerSecond, 8.3e9, "8.3 GB/s");
        check(Quantity::PerSecond, 2.4e6, "2.4 M/s");
        check(Quantity::Percent, 3.0, "3 %");
        check(Quantity::Ratio, 1.23456, "1.235");
    }
}
