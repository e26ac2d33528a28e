//! Command lines of the one-sided programs of OSU.

use super::{check_rows, translated};

#[test]
fn command_lines_become_ours_or_are_refused() {
    check_rows(include_str!("remote.txt"));
    let words = translated("osu_put_bw -s flush --ranks=4").unwrap().words.join(" ");
    assert!(words.contains("--ranks=4") && !words.contains("--ranks 2"), "{words}");
}
