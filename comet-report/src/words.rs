//! Words for values, in figures, pages and tables: with units, as short as they can be.

use std::fmt::Display;

use crate::record::Param;

/// Lengths in bytes of the binary units, the largest first.
const SIZES: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];

/// A length in bytes; in a larger unit where that takes no digits away.
pub(crate) fn bytes(length: u64) -> String {
    let fits = |(size, _): &&(u64, &str)| length > 0 && length.is_multiple_of(*size);
    match SIZES.iter().find(fits) {
        Some((size, unit)) => format!("{} {unit}", length / size),
        None => format!("{length} B"),
    }
}

/// `value` with three digits that count.
pub(crate) fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 100.0 || size == 0.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

/// A number of things: `1 rank`, `2 ranks`.
pub(crate) fn count<N: Display + PartialEq + From<u8>>(n: N, noun: &str) -> String {
    let plural = if n == N::from(1) { "" } else { "s" };
    format!("{n} {noun}{plural}")
}

/// The parameter `name` with its value, as it distinguishes a curve from others.
pub(crate) fn parameter(name: &str, value: &Param) -> String {
    let Param::Number(number) = value else { return value.to_string() };
    let many = |noun: &str| count(*number, noun);
    match name {
        "hops" => many("hop"),
        "pairs" => many("pair"),
        "procs" => format!("P = {number}"),
        "length_bytes" => bytes(*number),
        "vector_length" => many("double"),
        "local_n" => format!("block of {number}"),
        _ => format!("{} {number}", name.replace('_', " ")),
    }
}

/// `text` with a capital letter in front.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Words with commas between them, and `and` before the last.
pub(crate) fn list(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_keep_all_of_their_digits() {
        let check = |length, expected| assert_eq!(bytes(length), expected);
        check(0, "0 B");
        check(1000, "1000 B");
        check(2048, "2 KiB");
        check(4096, "4 KiB");
        check(4097, "4097 B");
        check(4 << 20, "4 MiB");
    }

    #[test]
    fn parameters_are_told_in_words() {
        let check = |name, number, expected| {
            assert_eq!(parameter(name, &Param::Number(number)), expected);
        };
        check("hops", 1, "1 hop");
        check("hops", 0, "0 hops");
        check("procs", 16, "P = 16");
        check("load_bytes", 3, "load bytes 3");
        assert_eq!(parameter("direction", &Param::Label("north".into())), "north");
    }
}
