//! Command lines of the unblocked collectives of OSU.

use super::{check, refusal, translated};

#[test]
fn tests_during_the_work_are_values_of_an_axis() {
    let run = |name: &str, rest: &str| format!("run OSU:{name} --rules osu --format osu{rest}");
    for (line, expected) in [
        ("osu_ibcast -m 8", run("osu_ibcast", " --sizes 1..8*2")),
        (
            "osu_ialltoallw -m 4:64 -i 100 -x 10 -t 5 -c -f -z50",
            run(
                "osu_ialltoallw",
                " --warm-up 10 --axis test_calls=5 --sizes 4..64*2 --repetitions 1 --samples 100 \
                 --label osu_columns=full,validation,p50",
            ),
        ),
        (
            "osu_igatherv -m 8 --num-test-calls=0 -k rotate -l",
            run(
                "osu_igatherv",
                " --axis test_calls=0 --axis root=rotate --axis place=in_place --sizes 1..8*2",
            ),
        ),
        (
            "osu_ireduce_scatter -m 8 -T mpi_int",
            run("osu_ireduce_scatter", " --sizes 1..8*2 --axis element=int"),
        ),
        (
            "osu_ineighbor_alltoallv -m 8 -N cart:2:1 -t 1",
            run(
                "osu_ineighbor_alltoallv",
                " --axis test_calls=1 --axis dimensions=2 --axis radius=1 --sizes 1..8*2",
            ),
        ),
        // As many as operations of long messages, unless the user chooses.
        (
            "osu_ibarrier -f",
            run(
                "osu_ibarrier",
                " --warm-up 10 --repetitions 1 --samples 100 --label osu_columns=full",
            ),
        ),
        (
            "osu_ibarrier -x 3 -i 20 -t 2",
            run("osu_ibarrier", " --warm-up 3 --axis test_calls=2 --repetitions 1 --samples 20"),
        ),
    ] {
        check(line, &expected);
    }
    let words = translated("osu_ibcast -M 2097152 --ranks=4").unwrap().words.join(" ");
    assert!(words.contains("--sizes 1..1048576*2"), "a broadcast has one message: {words}");
    let words = translated("osu_iscatter -M 2097152 --ranks=4").unwrap().words.join(" ");
    assert!(words.contains("--sizes 1..524288*2"), "and each rank a part of a scatter: {words}");
}

#[test]
fn what_an_unblocked_collective_does_not_know_is_refused() {
    for (line, expected) in [
        ("osu_ibcast -t some", "osu_ibcast: 'some' for -t: it is a number (write 0)"),
        ("osu_bcast -t 5", "osu_bcast: -t is unknown"),
        ("osu_ibcast -l", "osu_ibcast: -l is unknown"),
        ("osu_ibcast -k rotate", "osu_ibcast: -k is unknown"),
        ("osu_ibarrier -c", "osu_ibarrier: -c is unknown"),
        ("osu_ireduce -D cont", "osu_ireduce: -D is unknown"),
        ("osu_ibcast --ranks=1", "osu_ibcast: --ranks=1 is too few for a collective of OSU"),
        ("osu_iscan", "osu_iscan is not supported"),
    ] {
        let sentence = refusal(line);
        assert!(sentence.starts_with(expected), "{line}: {sentence}");
    }
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
