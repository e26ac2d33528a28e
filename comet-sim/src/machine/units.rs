//! Numbers with units: `79 us`, `100 B`, `0.63 us/B`, `2.8 MB/s`, `0.5 %`, `50 ppm`.
//!
//! A time without a unit is a guess, so only counts and plain factors are written without one.
//! Decimal numbers are converted as fractions of integers: what has an exact value keeps it, and
//! anything else is rounded once, to the nearest. An error is the end of a sentence that begins
//! with the key and the value.

use super::PerByte;

/// Name of a unit, and what it is worth.
type Unit = (&'static str, u128);

/// In picoseconds.
const TIMES: &[Unit] =
    &[("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("ms", 1_000_000_000), ("s", PS_PER_S)];

/// In bytes.
const SIZES: &[Unit] = &[
    ("B", 1),
    ("kB", 1_000),
    ("KB", 1_000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
];

/// In picoseconds for a byte.
const TIMES_PER_BYTE: &[Unit] = &[("ps/B", 1), ("ns/B", 1_000), ("us/B", 1_000_000)];

/// In bits.
const BITS: &[Unit] = &[("kbit", 1_000), ("Mbit", 1_000_000), ("Gbit", 1_000_000_000)];

const PS_PER_S: u128 = 1_000_000_000_000;

/// With so many digits no product below leaves 128 bits.
const MOST_DIGITS: usize = 18;

/// A time, in picoseconds.
pub(super) fn time_ps(text: &str) -> Result<u64, String> {
    let quantity = Quantity::read(text, "\"79 us\"")?;
    let time_ps = quantity.rounded(quantity.worth(TIMES)?, 1)?;
    if time_ps > DAY_PS {
        return Err("is longer than a day, 86400 s (virtual time ends after 213 days)".into());
    }
    Ok(time_ps)
}

/// The longest time of a machine file.
const DAY_PS: u64 = 86_400 * 1_000_000_000_000;

/// A length, in bytes.
pub(super) fn size_bytes(text: &str) -> Result<u64, String> {
    let quantity = Quantity::read(text, "\"64 KiB\"")?;
    quantity.rounded(quantity.worth(SIZES)?, 1)
}

/// Time of a byte, written as a time for a byte or as its inverse, a rate.
pub(super) fn per_byte(text: &str) -> Result<PerByte, String> {
    let quantity = Quantity::read(text, "\"0.63 us/B\" or \"2.8 MB/s\"")?;
    match bits_per_s(quantity.unit) {
        Some(bits_per_s) => quantity.inverted((8 * PS_PER_S) << 20, bits_per_s),
        None => quantity.rounded(quantity.worth(TIMES_PER_BYTE)? << 20, 1),
    }
    .map(PerByte)
}

/// A share, from 0 to 1.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let percent = in_unit(text, "%", "\"0.5 %\"")?;
    if percent > 100.0 {
        return Err("is not between 0 % and 100 % (write a share of the whole)".into());
    }
    Ok(percent / 100.0)
}

/// A small factor such as a standard deviation, which may exceed 1.
pub(super) fn percent(text: &str) -> Result<f64, String> {
    Ok(in_unit(text, "%", "\"2 %\"")? / 100.0)
}

/// A drift, in parts per million.
pub(super) fn ppm(text: &str) -> Result<f64, String> {
    in_unit(text, "ppm", "\"50 ppm\"")
}

/// A factor or a mean number, without a unit.
pub(super) fn factor(text: &str) -> Result<f64, String> {
    number(text, |_| true, "is no number from 0 up, without a unit (write it as in 1.5)")
}

/// A factor that slows down.
pub(super) fn slowdown(text: &str) -> Result<f64, String> {
    number(text, |factor| factor >= 1.0, "is no factor of at least 1 (write it as in 1.5)")
}

/// A number from 0 up that `holds`, or the `problem` with it.
pub(super) fn number(text: &str, holds: fn(f64) -> bool, problem: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|n: &f64| n.is_finite() && *n >= 0.0 && holds(*n));
    number.ok_or_else(|| problem.into())
}

fn in_unit(text: &str, unit: &'static str, example: &'static str) -> Result<f64, String> {
    let quantity = Quantity::read(text, example)?;
    quantity.worth(&[(unit, 1)])?;
    let number = text.strip_suffix(unit).expect("the unit was found at the end").trim_end();
    Ok(number.parse().expect("the number was read before"))
}

fn worth(units: &[Unit], name: &str) -> Option<u128> {
    units.iter().find(|(unit, _)| *unit == name).map(|(_, worth)| *worth)
}

/// Value of `GB/s` and `Mbit/s`.
fn bits_per_s(rate: &str) -> Option<u128> {
    let amount = rate.strip_suffix("/s")?;
    worth(BITS, amount).or_else(|| Some(8 * worth(SIZES, amount)?))
}

/// `digits / scale` of a unit.
struct Quantity<'a> {
    digits: u128,
    scale: u128,
    unit: &'a str,
    example: &'static str,
}

impl<'a> Quantity<'a> {
    fn read(text: &'a str, example: &'static str) -> Result<Self, String> {
        let is_number = |c: char| c.is_ascii_digit() || c == '.';
        let end = text.find(|c| !is_number(c)).unwrap_or(text.len());
        let (whole, decimals) = text[..end].split_once('.').unwrap_or((&text[..end], ""));
        let digits = format!("{whole}{decimals}");
        let is_read = !whole.is_empty() && digits.len() <= MOST_DIGITS;
        let digits = digits.parse().ok().filter(|_| is_read && !text[..end].ends_with('.'));
        let digits = digits.ok_or_else(|| {
            format!(
                "does not begin with a number of at most {MOST_DIGITS} digits (write it as in \
                 {example})"
            )
        })?;
        let places = u32::try_from(decimals.len()).expect("there are few digits");
        let unit = text[end..].trim_start();
        if unit.is_empty() {
            return Err(format!("has no unit (write it as in {example})"));
        }
        Ok(Self { digits, scale: 10_u128.pow(places), unit, example })
    }

    fn worth(&self, units: &[Unit]) -> Result<u128, String> {
        worth(units, self.unit).ok_or_else(|| {
            let names: Vec<_> = units.iter().map(|(name, _)| *name).collect();
            let (names, example) = (names.join(", "), self.example);
            format!("has a unit that is none of {names} (write it as in {example})")
        })
    }

    /// This number times `factor / divisor`.
    fn rounded(&self, factor: u128, divisor: u128) -> Result<u64, String> {
        self.fits(nearest(self.digits * factor, self.scale * divisor))
    }

    /// `dividend` divided by this number times `factor`.
    fn inverted(&self, dividend: u128, factor: u128) -> Result<u64, String> {
        if self.digits == 0 {
            return Err(format!("is a rate of 0 (write it as in {})", self.example));
        }
        self.fits(nearest(dividend * self.scale, self.digits * factor))
    }

    fn fits(&self, value: u128) -> Result<u64, String> {
        u64::try_from(value).map_err(|_| {
            format!("is too large to calculate with (write it as in {})", self.example)
        })
    }
}

fn nearest(dividend: u128, divisor: u128) -> u128 {
    (dividend + divisor / 2) / divisor
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        let check = |text: &str, expected| assert_eq!(time_ps(text), Ok(expected), "{text}");
        check("79 us", 79_000_000);
        check("79us", 79_000_000);
        check("8.333 us", 8_333_000);
        check("0.1 ns", 100);
        check("10 ps", 10);
        check("1.5 ms", 1_500_000_000);
        check("2 s", 2_000_000_000_000);
        check("0 us", 0);
        check("0.0004 ns", 0);
        check("0.0005 ns", 1);
    }

    #[test]
    fn sizes_are_decimal_or_binary() {
        let check = |text: &str, expected| assert_eq!(size_bytes(text), Ok(expected), "{text}");
        check("100 B", 100);
        check("1.5 KB", 1_500);
        check("1.5 kB", 1_500);
        check("64 KiB", 65_536);
        check("2 MB", 2_000_000);
        check("2 MiB", 2 << 20);
        check("1 GB", 1_000_000_000);
        check("1 GiB", 1 << 30);
    }

    #[test]
    fn what_a_byte_takes_is_a_time_or_a_rate() {
        let check = |text: &str, expected| assert_eq!(per_byte(text), Ok(PerByte(expected)));
        check("0.63 us/B", 630_000 << 20);
        check("0.05 us/B", 50_000 << 20);
        check("0.497 ns/B", 497 << 20);
        check("0.5 ps/B", 1 << 19);
        check("2.5 MB/s", 400_000 << 20);
        check("1000 kB/s", 1_000_000 << 20);
        check("1 B/s", 1_000_000_000_000 << 20);
        check("1 MiB/s", 1_000_000_000_000);
        check("1 GiB/s", 976_562_500);
        check("8 Gbit/s", 1_000 << 20);
        check("80 Mbit/s", 100_000 << 20);
        check("800 kbit/s", 10_000_000 << 20);
        check("12.5 GB/s", 80 << 20);
    }

    #[test]
    fn a_law_from_a_file_is_exact_to_the_picosecond() {
        let check = |rate, n_bytes, expected| {
            assert_eq!(per_byte(rate).unwrap().times(n_bytes), expected, "{rate}");
        };
        check("0.63 us/B", 100, 63_000_000);
        check("0.41 us/B", 85_000, 34_850_000_000);
        check("2.8 MB/s", 1_000, 357_142_857);
        check("12.33081879543382 GB/s", 1 << 20, 85_037_013);
    }

    #[test]
    fn shares_and_factors_are_numbers() {
        let check = |read: fn(&str) -> Result<f64, String>, text, expected| {
            assert_eq!(read(text), Ok(expected), "{text}");
        };
        check(share, "0.5 %", 0.005);
        check(share, "100 %", 1.0);
        check(percent, "150%", 1.5);
        check(ppm, "50 ppm", 50.0);
        check(factor, "0.9", 0.9);
        check(slowdown, "4", 4.0);
    }

    #[test]
    fn errors_say_how_to_write_it() {
        fn check<T: std::fmt::Debug>(read: fn(&str) -> Result<T, String>, text: &str, end: &str) {
            assert_eq!(read(text).unwrap_err(), end, "{text}");
        }
        let no_number = "does not begin with a number of at most 18 digits (write it as in ";
        check(time_ps, "", &format!("{no_number}\"79 us\")"));
        check(time_ps, "-1 us", &format!("{no_number}\"79 us\")"));
        check(time_ps, "1. us", &format!("{no_number}\"79 us\")"));
        check(time_ps, "1.2.3 us", &format!("{no_number}\"79 us\")"));
        check(size_bytes, "1234567890123456789 B", &format!("{no_number}\"64 KiB\")"));
        check(time_ps, "79", "has no unit (write it as in \"79 us\")");
        check(
            time_ps,
            "79 B",
            "has a unit that is none of ps, ns, us, ms, s (write it as in \"79 us\")",
        );
        check(time_ps, "99999999 s", "is too large to calculate with (write it as in \"79 us\")");
        check(per_byte, "0.63", "has no unit (write it as in \"0.63 us/B\" or \"2.8 MB/s\")");
        check(per_byte, "0 MB/s", "is a rate of 0 (write it as in \"0.63 us/B\" or \"2.8 MB/s\")");
        check(share, "101 %", "is not between 0 % and 100 % (write a share of the whole)");
        check(share, "0.5", "has no unit (write it as in \"0.5 %\")");
        check(ppm, "50 %", "has a unit that is none of ppm (write it as in \"50 ppm\")");
        check(factor, "-1", "is no number from 0 up, without a unit (write it as in 1.5)");
        check(factor, "2 us", "is no number from 0 up, without a unit (write it as in 1.5)");
        check(slowdown, "0.5", "is no factor of at least 1 (write it as in 1.5)");
    }
}
