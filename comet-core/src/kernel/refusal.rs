//! Sentences about cases that a limit leaves out, which layouts of other benchmarks read again: each
//! beside its reader.

/// The sentence about a case that needs more memory than one rank may take.
pub fn of_memory(needed_bytes: u64, cap_bytes: u64) -> String {
    format!(
        "needs {needed_bytes} bytes of memory on each rank, {cap_bytes} are allowed (see --mem)"
    )
}

/// The bytes that the case needs which `sentence` is about; `None` if it is of another kind.
pub fn needed_bytes(sentence: &str) -> Option<u64> {
    let (bytes, _) =
        sentence.strip_prefix("needs ")?.split_once(" bytes of memory on each rank, ")?;
    bytes.parse().ok()
}

/// Beginning of the sentence of [`of_time`].
const OVER: &str = "the time of all lengths is over: ";

/// The sentence about a case whose sweep has taken `spent_ns`, and may take `limit_ns`.
pub fn of_time(spent_ns: f64, limit_ns: f64) -> String {
    let [spent_s, limit_s] = [spent_ns, limit_ns].map(|ns| ns / 1e9);
    format!("{OVER}they took {spent_s} s, {limit_s} s are allowed (see --loop-limits)")
}

/// End of the sentence of [`of_elements`].
const ELEMENTS: &str = " elements";

/// The sentence about a case of `length_bytes`, in which elements called `name` do not fit.
pub fn of_elements(length_bytes: u64, name: &str) -> String {
    format!("{length_bytes} bytes are no whole number of {name}{ELEMENTS}")
}

/// True if `sentence` is about a length that memory, time or elements leave out.
pub fn is_of_length(sentence: &str) -> bool {
    needed_bytes(sentence).is_some() || is_of_time(sentence) || sentence.ends_with(ELEMENTS)
}

/// True if `sentence` is one of [`of_time`].
pub fn is_of_time(sentence: &str) -> bool {
    sentence.starts_with(OVER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_read_again() {
        let (memory, time) = (of_memory(8192, 8191), of_time(2.5e9, 2e9));
        assert_eq!((needed_bytes(&memory), is_of_time(&memory)), (Some(8192), false));
        assert_eq!((needed_bytes(&time), is_of_time(&time)), (None, true));
        let expected = "the time of all lengths is over: they took 2.5 s, 2 s are allowed (see \
                        --loop-limits)";
        assert_eq!(time, expected);
        let elements = of_elements(2, "int");
        assert_eq!(elements, "2 bytes are no whole number of int elements");
        let ranks = "needs at least 2 ranks, there is 1 (ask for -n 2)";
        assert_eq!(needed_bytes(ranks), None);
        assert!([memory, time, elements].iter().all(|sentence| is_of_length(sentence)));
        assert!(!is_of_length(ranks));
    }
}
