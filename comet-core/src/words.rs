//! Words of sentences that hold numbers.

use std::fmt::Display;

/// A number of things: `1 rank`, `2 ranks`, `3 launches`.
pub fn count<N: Display + PartialEq + From<u8>>(n: N, noun: &str) -> String {
    let plural = match ["ch", "ss"].iter().any(|end| noun.ends_with(end)) {
        _ if n == N::from(1) => "",
        true => "es",
        false => "s",
    };
    format!("{n} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_singular() {
        let counts = [count(0, "rank"), count(1, "rank"), count(2, "rank"), count(3, "launch")];
        assert_eq!(counts, ["0 ranks", "1 rank", "2 ranks", "3 launches"]);
        assert_eq!(count(1_u64, "launch"), "1 launch");
    }
}
