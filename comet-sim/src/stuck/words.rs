//! Ranks, tags, times and places for people.

use std::panic::Location;

use comet_core::transport::{Rank, Tag};

use crate::engine::epoch_of;

/// The most ranges of a list that are all shown.
const MAX_RANGES: usize = 8;

/// `rank 5` or `ranks 0-5,8`; `ranks` ascend.
pub(super) fn ranks(ranks: &[Rank]) -> String {
    match ranks {
        [rank] => format!("rank {rank}"),
        _ => format!("ranks {}", ranges(ranks)),
    }
}

/// `0-5,8`, with the middle left out if that would be long; `numbers` ascend.
pub(super) fn ranges(numbers: &[usize]) -> String {
    let runs: Vec<_> = numbers.chunk_by(|a, b| a + 1 == *b).map(run).collect();
    match runs.as_slice() {
        [.., last] if runs.len() > MAX_RANGES => {
            let shown = runs[..MAX_RANGES - 2].join(",");
            format!("{shown},...,{last} ({} of them)", numbers.len())
        }
        _ => runs.join(","),
    }
}

/// Numbers without a gap.
fn run(numbers: &[usize]) -> String {
    match numbers {
        [] => String::new(),
        [only] => only.to_string(),
        [first, last] => format!("{first},{last}"),
        [first, .., last] => format!("{first}-{last}"),
    }
}

/// The label of a message; groups are numbered in the order of the splits that made them.
pub(super) fn tag(tag: Tag) -> String {
    match (is_reserved(tag), tag.context()) {
        _ if epoch_of(tag).is_some() => "of an epoch".into(),
        (true, _) => "of a collective".into(),
        (false, 0) => format!("tag {tag}"),
        (false, context) => format!("tag {tag}, group {context}"),
    }
}

/// True if messages with this tag belong to collectives and to the driver.
pub(super) fn is_reserved(tag: Tag) -> bool {
    tag.value() > Tag::MAX
}

pub(super) fn time(at_ps: u64) -> String {
    format!("{}.{:03} us", at_ps / 1_000_000, at_ps % 1_000_000 / 1000)
}

pub(super) fn site(site: &Location<'_>) -> String {
    format!("{}:{}", site.file(), site.line())
}

/// ` during ACTIVITY`, or nothing if there is none.
pub(super) fn during(activity: &str) -> String {
    if activity.is_empty() { String::new() } else { format!(" during {activity}") }
}

/// `7th`.
pub(super) fn ordinal(number: u32) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

/// At most `max` lines, of which the last then says how many more `things` there are.
pub(super) fn capped(mut lines: Vec<String>, max: usize, things: &str) -> Vec<String> {
    if lines.len() > max {
        let n_more = lines.len() - max + 1;
        lines.truncate(max - 1);
        lines.push(format!("and {n_more} more {things}"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_ranges_and_long_lists_lose_their_middle() {
        let check = |numbers: &[usize], expected: &str| assert_eq!(ranks(numbers), expected);
        check(&[5], "rank 5");
        check(&[0, 1], "ranks 0,1");
        check(&[0, 1, 2, 3, 4, 5, 8], "ranks 0-5,8");
        let even: Vec<_> = (0..1000).step_by(2).collect();
        check(&even, "ranks 0,2,4,6,8,10,...,998 (500 of them)");
        check(&(0..65_536).collect::<Vec<_>>(), "ranks 0-65535");
    }

    #[test]
    fn times_are_rounded_down_to_nanoseconds() {
        let check = |at_ps, expected: &str| assert_eq!(time(at_ps), expected);
        check(0, "0.000 us");
        check(5_300_999, "5.300 us");
        check(12_000_000_000, "12000.000 us");
    }

    #[test]
    fn ordinals_are_english() {
        let check = |number, expected: &str| assert_eq!(ordinal(number), expected);
        check(1, "1st");
        check(2, "2nd");
        check(3, "3rd");
        check(11, "11th");
        check(12, "12th");
        check(113, "113th");
        check(121, "121st");
    }
}
