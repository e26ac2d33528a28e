//! Command lines of the programs of OSU whose operations are prepared.

use super::{check, refusal, translated};

#[test]
fn prepared_messages_and_collectives_have_the_options_of_the_others() {
    let run = |name: &str, rest: &str| {
        format!("run OSU:osu_{name}_persistent --rules osu --format osu{rest}")
    };
    for (line, expected) in [
        (
            "osu_latency_persistent -m 8 -b multiple",
            run("latency", " --hops 1 --ranks 2 --sizes 1..8*2"),
        ),
        (
            "osu_latency_persistent -m 8 -i 20 -x 2",
            run(
                "latency",
                " --warm-up 2 --hops 1 --ranks 2 --sizes 1..8*2 --repetitions 20 --samples 1",
            ),
        ),
        ("osu_bw_persistent", run("bw", " --ranks 2 --sizes 1..4194304*2")),
        (
            "osu_bw_persistent -m 8 -W 16 -b multiple -c -z50",
            run(
                "bw",
                " --axis window_buffers=multiple --ranks 2 --axis window=16 --sizes 1..8*2 --repetitions 1 \
                 --samples 100 --label osu_columns=validation,p50",
            ),
        ),
        (
            "osu_bibw_persistent -m 8 -i 20",
            run("bibw", " --ranks 2 --sizes 1..8*2 --repetitions 20 --samples 1"),
        ),
        (
            "osu_allgatherv_persistent -m 4:64 -i 100 -c -f -l",
            run(
                "allgatherv",
                " --axis place=in_place --sizes 4..64*2 --repetitions 1 --samples 100 \
                 --label osu_columns=full,validation",
            ),
        ),
        (
            "osu_reduce_scatter_persistent -m 8 -T mpi_int",
            run("reduce_scatter", " --sizes 1..8*2 --axis element=int"),
        ),
        (
            "osu_bcast_persistent -M 2097152 --ranks=4",
            run("bcast", " --sizes 1..1048576*2 --ranks=4"),
        ),
        (
            "osu_barrier_persistent -x 10 -i 20",
            run("barrier", " --warm-up 10 --repetitions 1 --samples 20"),
        ),
    ] {
        check(line, &expected);
    }
    let Ok(translation) = translated("osu_gather_persistent -m 8 -l --ranks=4") else {
        panic!("it is known")
    };
    let note = "-l is obeyed: osu_gather_persistent of OSU 7.4 has a buffer for the input whatever it says";
    assert_eq!(translation.notes, [note]);
}

#[test]
fn what_prepared_programs_do_not_have_is_refused() {
    for (line, expected) in [
        ("osu_gather_persistent -k rotate", "osu_gather_persistent: -k is unknown"),
        ("osu_bcast_persistent -l", "osu_bcast_persistent: -l is unknown"),
        ("osu_allreduce_persistent -D cont", "osu_allreduce_persistent: -D is unknown"),
        ("osu_barrier_persistent -c", "osu_barrier_persistent: -c is unknown"),
        ("osu_latency_persistent -f", "osu_latency_persistent: -f is unknown"),
        ("osu_bw_persistent --ranks=1", "osu_bw_persistent: --ranks=1 is too few for a pair"),
        ("osu_scan_persistent", "osu_scan_persistent is not supported"),
        (
            "osu_partitioned_latency",
            "osu_partitioned_latency is not supported: OSU 7.4 has no such program (comet-run \
             patterns/partitioned measures messages in parts)",
        ),
    ] {
        let sentence = refusal(line);
        assert!(sentence.starts_with(expected), "{line}: {sentence}");
    }
}
