//! Command lines of the unblocked collectives of OSU.

use super::{check, check_rows, refusal, translated};

#[test]
fn command_lines_become_ours_or_are_refused() {
    check_rows(include_str!("unblocked.txt"));
    let words = translated("osu_ibcast -M 2097152 --ranks=4").unwrap().words.join(" ");
    assert!(words.contains("--sizes 1..1048576*2"), "a broadcast has one message: {words}");
    let words = translated("osu_iscatter -M 2097152 --ranks=4").unwrap().words.join(" ");
    assert!(words.contains("--sizes 1..524288*2"), "and each rank a part of a scatter: {words}");
}

#[test]
fn bo_03_programs_between_one_host_and_all_others_are_refused_with_another() {
    for program in ["osu_bw_fan_in", "osu_bw_fan_out"] {
        let expected = format!(
            "{program} is not supported: no kernel has the ranks of one host on one side and those of all \
             others on the other (take osu_mbw_mr, with ranks of two hosts)"
        );
        assert_eq!(refusal(&format!("{program} -m 8")), expected);
    }
}

#[test]
fn programs_of_the_start_take_no_options_of_messages() {
    check("osu_init", "run OSU:osu_init --rules osu --format osu");
    check("osu_hello --ranks=1", "run OSU:osu_hello --rules osu --format osu --ranks=1");
    let sentence = refusal("osu_init -m 8");
    assert_eq!(sentence, "osu_init: -m has no meaning for a start (leave it out)");
}
