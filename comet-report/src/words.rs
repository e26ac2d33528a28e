//! Words of figures, pages and tables: names of parameters with their values, counts and lists.

use std::fmt::Display;

use crate::record::Param;
use crate::units::bytes;

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
