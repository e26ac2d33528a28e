//! Words of sentences that several parts of the program print.

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

/// The `error` of the system where it starts no thread, with a remedy.
pub fn no_thread(error: impl Display) -> String {
    format!(
        "the system starts no thread: {error} (allow the call clone3 in the container, as Docker does from \
         20.10.10 on, or raise ulimit -u)"
    )
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

    #[test]
    fn a_thread_that_is_denied_has_the_name_of_the_call() {
        let text = no_thread("Operation not permitted (os error 1)");
        let start = "the system starts no thread: Operation not permitted (os error 1) (allow the call clone3 ";
        assert!(text.starts_with(start), "{text}");
    }
}
