//! Command lines of the programs of OSU whose operations are prepared.

use super::{check_rows, translated};

#[test]
fn command_lines_become_ours_or_are_refused() {
    check_rows(include_str!("persistent.txt"));
    let Ok(translation) = translated("osu_gather_persistent -m 8 -l --ranks=4") else {
        panic!("it is known")
    };
    let note = "-l is obeyed: osu_gather_persistent of OSU 7.4 has a buffer for the input whatever it says";
    assert_eq!(translation.notes, [note]);
}
