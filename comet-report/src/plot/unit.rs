//! Units in which values are written.

use super::figure::Quantity;
use super::text::significant;

/// A unit of a quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unit {
    /// As it is written; empty for plain numbers.
    pub(super) name: &'static str,
    /// What one of it is in the base unit.
    pub(super) size: f64,
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

const TIME: [Unit; 4] = units(["ns", "us", "ms", "s"], 1e3);
const BYTES: [Unit; 4] = units(["B", "KiB", "MiB", "GiB"], KI);
const BYTES_PER_SECOND: [Unit; 4] = units(["B/s", "kB/s", "MB/s", "GB/s"], 1e3);
const PER_SECOND: [Unit; 4] = units(["1/s", "k/s", "M/s", "G/s"], 1e3);
const COUNT: [Unit; 1] = units([""], 1.0);
const PERCENT: [Unit; 1] = units(["%"], 1.0);

impl Quantity {
    /// Its units from the smallest to the largest; the first is the base unit.
    pub(super) fn units(self) -> &'static [Unit] {
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
    pub(super) fn unit_of(self, magnitude: f64) -> Unit {
        let units = self.units();
        *units.iter().rev().find(|unit| unit.size <= magnitude).unwrap_or(&units[0])
    }

    /// What the base unit adds to the name of a column.
    pub(super) fn suffix(self) -> &'static str {
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
    pub(super) fn write(self, value: f64) -> String {
        let mut unit = self.unit_of(value.abs());
        if self == Self::Bytes && value % unit.size != 0.0 {
            unit = BYTES[0];
        }
        let number = significant(value / unit.size, 4);
        if unit.name.is_empty() { number } else { format!("{number} {}", unit.name) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_in_fitting_units() {
        let check = |quantity: Quantity, value: f64, expected: &str| {
            assert_eq!(quantity.write(value), expected);
        };
        check(Quantity::TimeNs, 8312.4, "8.312 us");
        check(Quantity::TimeNs, 0.0, "0 ns");
        check(Quantity::TimeNs, -2.5e6, "-2.5 ms");
        check(Quantity::TimeNs, 3.6e12, "3600 s");
        check(Quantity::Bytes, 65_536.0, "64 KiB");
        check(Quantity::Bytes, 65_537.0, "65537 B");
        check(Quantity::BytesPerSecond, 8.3e9, "8.3 GB/s");
        check(Quantity::PerSecond, 2.4e6, "2.4 M/s");
        check(Quantity::Percent, 3.0, "3 %");
        check(Quantity::Ratio, 1.23456, "1.235");
    }
}
