//! Command lines of the one-sided programs of OSU.

use super::{check, refusal, translated};

#[test]
fn memory_and_synchronisation_are_values_of_axes() {
    let run = |name: &str, rest: &str| format!("run OSU:{name} --rules osu --format osu{rest}");
    let element = "--axis element=char";
    for (line, expected) in [
        ("osu_put_latency", run("osu_put_latency", " --ranks 2 --sizes 1..4194304*2")),
        (
            "osu_get_latency -m 8 -w Create -s LOCK_ALL -w dynamic",
            run(
                "osu_get_latency",
                " --ranks 2 --axis memory=dynamic --axis sync=lock_all --sizes 1..8*2",
            ),
        ),
        (
            "osu_get_bw -m 8 --win-options=create --sync-option pscw -W 16 -x 3 -i 20",
            run(
                "osu_get_bw",
                " --warm-up 3 --ranks 2 --axis memory=create --axis sync=pscw --axis window=16 \
                 --sizes 1..8*2 --repetitions 20 --samples 1",
            ),
        ),
        (
            "osu_put_bibw -m 8 -s fence -z",
            run(
                "osu_put_bibw",
                " --ranks 2 --axis sync=fence --sizes 1..8*2 --repetitions 1 --samples 100 --label \
                 osu_columns=p50,p90,p99",
            ),
        ),
        // One element has no length, and reductions are of characters.
        (
            "osu_fop_latency -m 8:64 -c",
            run("osu_fop_latency", &format!(" --ranks 2 {element} --label osu_columns=validation")),
        ),
        (
            "osu_acc_latency -m 8 -T all -z50",
            run(
                "osu_acc_latency",
                &format!(
                    " --ranks 2 --sizes 1..8*2 {element},int,float --repetitions 1 --samples 1000 \
                     --label osu_columns=p50"
                ),
            ),
        ),
        ("osu_get_acc_latency -m 8", run("osu_get_acc_latency", " --ranks 2 --sizes 1..8*2")),
    ] {
        check(line, &expected);
    }
    let words = translated("osu_put_bw -s flush --ranks=4").unwrap().words.join(" ");
    assert!(words.contains("--ranks=4") && !words.contains("--ranks 2"), "{words}");
}

#[test]
fn what_a_one_sided_program_does_not_know_is_refused() {
    for (line, expected) in [
        (
            "osu_put_latency -w static",
            "osu_put_latency: 'static' for -w: write create, allocate or dynamic",
        ),
        (
            "osu_put_latency -s flush_all",
            "osu_put_latency: 'flush_all' for -s: write lock, flush, flush_local, lock_all, pscw or \
             fence",
        ),
        ("osu_put_bibw -s lock", "osu_put_bibw: 'lock' for -s: write pscw or fence"),
        ("osu_put_latency --ranks=1", "osu_put_latency: --ranks=1 is too few for a pair"),
        ("osu_put_latency -c", "osu_put_latency: -c is unknown"),
        ("osu_get_acc_latency -T mpi_int", "osu_get_acc_latency: -T is unknown"),
        ("osu_put_latency -W 8", "osu_put_latency: -W is unknown"),
        ("osu_put_bw -b multiple", "osu_put_bw: -b is unknown"),
        ("osu_latency -s lock", "osu_latency: -s is unknown"),
    ] {
        let sentence = refusal(line);
        assert!(sentence.starts_with(expected), "{line}: {sentence}");
    }
}
