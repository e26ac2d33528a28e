//! Sweeps: the values that an axis takes, as people write them.
//!
//! ```text
//!   sweep := item (',' item)*
//!   item  := N | A..B | A..B*F | A..B+S        N, A, B, S: a count with a unit, or `max`
//! ```
//!
//! `0,1..4Mi*2` is 0, 1, 2, 4 and so on up to 4 MiB. The factor `sqrt2` doubles in two steps, each
//! rounded to the nearest count, as in sweeps of `SKaMPI`: `1..8*sqrt2` is 1, 2, 3, 4, 6, 8.
//! `K M G` and `Ki Mi Gi` are powers of 1024, as HPC users write them; `kB MB GB` are powers of 1000, `KiB MiB GiB` of 1024, `B` is one byte.
//! A range to a `max` below its start is its start alone, so that `1..max` on ranks without any
//! distance gives a case which the kernel refuses with its reason.

/// The most values that one sweep may have.
const MAX_VALUES: usize = 10_000;

/// A sweep or a count that cannot be understood; displays as one sentence with a remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SweepError(String);

/// Reads one count, such as `4096`, `4Ki`, `4 KiB`, `1.5M` or `2kB`.
///
/// # Errors
/// If `text` is not a number followed by a known unit, or is no whole number in `u64`.
pub fn parse_count(text: &str) -> Result<u64, SweepError> {
    let text = text.trim();
    let refuse = |why: &str| {
        SweepError(format!("'{text}' {why} (write a count like 4096, 4Ki, 1.5M or 2kB)"))
    };
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor: u64 = match unit.trim() {
        "" | "B" => 1,
        "K" | "Ki" | "KiB" => 1 << 10,
        "M" | "Mi" | "MiB" => 1 << 20,
        "G" | "Gi" | "GiB" => 1 << 30,
        "k" | "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => return Err(refuse("has an unknown unit")),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || fraction.len() > 9 || fraction.contains('.') {
        return Err(refuse("is not a number"));
    }
    let digits: u64 = format!("{whole}{fraction}").parse().map_err(|_| refuse("is too large"))?;
    let scaled = u128::from(digits) * u128::from(factor);
    let divisor = 10u128.pow(u32::try_from(fraction.len()).unwrap_or(0));
    if scaled % divisor != 0 {
        return Err(refuse("is not a whole number"));
    }
    u64::try_from(scaled / divisor).map_err(|_| refuse("is too large"))
}

/// Reads a sweep into ascending values, each once. `max` is what the word `max` stands for.
///
/// ```
/// let values = comet_core::sweep::parse("0,8,1Ki..4Ki*2", None).unwrap();
/// assert_eq!(values, [0, 8, 1024, 2048, 4096]);
/// ```
///
/// # Errors
/// A sentence that names the item which is wrong, what was expected, and a remedy.
pub fn parse(text: &str, max: Option<u64>) -> Result<Vec<u64>, SweepError> {
    let mut values = Vec::new();
    for item in text.split(',') {
        push_item(&mut values, item.trim(), max)?;
        if values.len() > MAX_VALUES {
            return Err(SweepError(format!(
                "'{text}' has more than {MAX_VALUES} values (use a larger step, as in 1..1Mi*2)"
            )));
        }
    }
    values.sort_unstable();
    values.dedup();
    Ok(values)
}

fn push_item(values: &mut Vec<u64>, item: &str, max: Option<u64>) -> Result<(), SweepError> {
    let count = |text: &str| match (text.trim(), max) {
        ("max", Some(max)) => Ok(max),
        ("max", None) => Err(SweepError("'max' has no meaning on this axis".into())),
        (text, _) => parse_count(text),
    };
    let Some((from, rest)) = item.split_once("..") else {
        values.push(count(item)?);
        return Ok(());
    };
    let (to, step) = match rest.find(['*', '+']) {
        Some(at) => (&rest[..at], &rest[at..]),
        None => (rest, "+1"),
    };
    let from = count(from)?;
    let to = if to.trim() == "max" { count(to)?.max(from) } else { count(to)? };
    if from > to {
        return Err(SweepError(format!("'{item}' runs backwards (write {to}..{from})")));
    }
    let is_endless = || {
        SweepError(format!(
            "'{item}' would never end (a factor is at least 2 and starts above 0, a step is at \
             least 1, as in 0,1..4Mi*2)"
        ))
    };
    if step.trim() == "*sqrt2" {
        if from == 0 {
            return Err(is_endless());
        }
        values.extend(by_root_of_two(from, to));
        return Ok(());
    }
    let (grows_by_factor, step) = (step.starts_with('*'), count(&step[1..])?);
    if step < if grows_by_factor { 2 } else { 1 } || (grows_by_factor && from == 0) {
        return Err(is_endless());
    }
    let mut value = from;
    while value <= to && values.len() <= MAX_VALUES {
        values.push(value);
        let next = if grows_by_factor { value.checked_mul(step) } else { value.checked_add(step) };
        let Some(next) = next else { break };
        value = next;
    }
    Ok(())
}

/// The counts from `from` to `to`, each the one before times the square root of 2, rounded.
fn by_root_of_two(from: u64, to: u64) -> impl Iterator<Item = u64> {
    let value = move |step: u32| {
        let even = u128::from(from) << (step / 2).min(64);
        if step.is_multiple_of(2) {
            return even;
        }
        let square = 2 * even.min(u128::from(u64::MAX)).pow(2);
        let root = square.isqrt();
        // Above the middle of two counts.
        root + u128::from(square - root * root > root)
    };
    (0..).map(value).map_while(move |value| u64::try_from(value).ok().filter(|value| *value <= to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn counts_take_binary_and_decimal_units() {
        for (text, value) in [
            ("0", 0),
            ("4Ki", 4096),
            ("4K", 4096),
            ("4KiB", 4096),
            ("4kB", 4000),
            ("1.5M", 3 << 19),
            ("2 GB", 2_000_000_000),
            ("7B", 7),
        ] {
            assert_eq!(parse_count(text), Ok(value), "{text}");
        }
    }

    /// SK-11 and SK-50: the factor of the first lengths.
    #[test]
    fn a_sweep_may_double_in_two_steps() {
        // The first step from 1 is 1.41, which is 1 again.
        for (text, values) in [
            ("1..23*sqrt2", &[1, 2, 3, 4, 6, 8, 11, 16, 23][..]),
            ("0,4..16*sqrt2", &[0, 4, 6, 8, 11, 16]),
            ("5..5*sqrt2", &[5]),
        ] {
            assert_eq!(parse(text, None).unwrap(), values, "{text}");
        }
        let all = parse("1..18446744073709551615*sqrt2", None).unwrap();
        assert_eq!((all.len(), all.last()), (127, Some(&13_043_817_825_332_782_212)));
        assert!(parse("0..8*sqrt2", None).unwrap_err().to_string().contains("would never end"));
    }

    #[test]
    fn bad_counts_are_one_sentence_with_a_remedy() {
        let remedy = "(write a count like 4096, 4Ki, 1.5M or 2kB)";
        for (text, why) in [
            ("", "is not a number"),
            ("x", "has an unknown unit"),
            ("4Q", "has an unknown unit"),
            ("-1", "has an unknown unit"),
            ("1.2.3", "is not a number"),
            ("0.3", "is not a whole number"),
            ("99999999999999999999", "is too large"),
            ("17179869184G", "is too large"),
        ] {
            let error = parse_count(text).unwrap_err().to_string();
            assert_eq!(error, format!("'{text}' {why} {remedy}"));
        }
    }

    #[test]
    fn sweeps_are_ascending_and_without_repeats() {
        for (text, values) in [
            ("0,1..8*2", vec![0, 1, 2, 4, 8]),
            ("8,0,8", vec![0, 8]),
            ("0..10+5", vec![0, 5, 10]),
            ("2..4", vec![2, 3, 4]),
            ("1..9*3", vec![1, 3, 9]),
            ("5..5*2", vec![5]),
        ] {
            assert_eq!(parse(text, None), Ok(values), "{text}");
        }
        assert_eq!(parse("0..max", Some(2)), Ok(vec![0, 1, 2]));
        assert_eq!(parse("1..max", Some(0)), Ok(vec![1]));
    }

    #[test]
    fn bad_sweeps_say_which_item_is_wrong() {
        for (text, start) in [
            ("8..4", "'8..4' runs backwards"),
            ("0..8*2", "'0..8*2' would never end"),
            ("1..8*1", "'1..8*1' would never end"),
            ("1..8+0", "'1..8+0' would never end"),
            ("0..1Mi", "'0..1Mi' has more than 10000 values"),
            ("max", "'max' has no meaning"),
            ("1,,2", "'' is not a number"),
        ] {
            let error = parse(text, None).unwrap_err().to_string();
            assert!(error.starts_with(start), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "[0-9a-zA-Z.,*+ ]{0,24}") {
            if let Ok(values) = parse(&text, Some(3)) {
                prop_assert!(values.is_sorted());
            }
        }
    }
}
