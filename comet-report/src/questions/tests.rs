//! Replies to the questions of SKaMPI, in words.

use super::*;
use crate::guidelines::tests::run;
use crate::record::OfSuite;

#[test]
fn sk_84_modes_are_ranked_and_held_against_the_standard_one() {
    let times = [
        ("skampi/pingpong_send_recv", 8, 10.0),
        ("skampi/pingpong_ssend_recv", 8, 20.0),
        ("skampi/pingpong_send_irecv", 8, 5.0),
        ("skampi/pingpong_send_recv", 64, 10.0),
        ("skampi/pingpong_ssend_recv", 64, 30.0),
        ("skampi/pingpong_send_irecv", 64, 10.0),
    ];
    let [reply] = &replies(&[run(5, &times)])[..] else { panic!("one question") };
    assert_eq!(reply.question.id, "modes");
    assert_eq!(
        reply.to_string(),
        "# Which mode of a message is the fastest? (over shm on example)\n\
         pingpong_send_irecv is the fastest at 8 B, on 4 ranks\n\
         pingpong_send_recv and pingpong_send_irecv are the fastest at 64 B, on 4 ranks\n\
         pingpong_ssend_recv against pingpong_send_recv, on 4 ranks: slower (2 to 3 times) from 8 B to 64 B\n\
         pingpong_send_irecv against pingpong_send_recv, on 4 ranks: faster (0.5 times) at 8 B; the same at 64 B\n"
    );
}

#[test]
fn sk_85_collectives_by_hand_are_held_against_those_of_the_library() {
    let times = [
        ("imb/gather", 256, 10.0),
        ("skampi/gatherv_send_recv", 256, 7.0),
        ("skampi/gatherv_isend_irecv", 256, 10.1),
        ("comet/broadcast", 8, 1.0),
        ("naive/broadcast", 8, 3.0),
    ];
    let replies = replies(&[run(5, &times)]);
    let sentences: Vec<String> = replies.iter().flat_map(Reply::sentences).collect();
    assert_eq!(
        sentences,
        [
            "gatherv_send_recv is the fastest at 256 B, on 4 ranks",
            "gatherv_send_recv against gather, on 4 ranks: faster (0.7 times) at 256 B",
            "gatherv_isend_irecv against gather, on 4 ranks: the same at 256 B",
            "naive/broadcast against comet/broadcast, on 4 ranks: slower (3 times) at 8 B",
        ]
    );
}

#[test]
fn sk_96_compounds_are_held_against_sequences_and_a_single_launch_decides_nothing() {
    let times = [("imb/allreduce", 64, 10.0), ("skampi/reduce_bcast", 64, 15.0)];
    let reply = &replies(&[run(4, &times)])[0];
    assert_eq!(reply.question.text, "Does an allreduce beat a reduce and a broadcast?");
    let expected = "reduce_bcast against allreduce, on 4 ranks: slower (1.5 times) at 64 B";
    assert_eq!(reply.sentences(), [expected]);
    let single = &replies(&[run(1, &times)])[0];
    let expected = "reduce_bcast against allreduce, on 4 ranks: inconclusive at 64 B";
    assert_eq!(single.sentences(), [expected]);
    let modes = [("skampi/pingpong_send_recv", 8, 10.0), ("skampi/pingpong_send_irecv", 8, 5.0)];
    let single = &replies(&[run(1, &modes)])[0];
    let expected = "it is undecided which is the fastest at 8 B, on 4 ranks";
    assert_eq!(single.sentences()[0], expected);
}

#[test]
fn units_of_a_suite_answer_together_though_each_is_a_run_of_its_own() {
    let unit = |id: &str, time: (&str, u64, f64), of_suite: Option<OfSuite>| {
        let mut run = run(5, &[time]);
        let facts = run.run.as_mut().expect("it has facts");
        (facts.run_id, facts.of_suite) = (id.into(), of_suite);
        run
    };
    let both = |of_suite: Option<OfSuite>| {
        let of_library = unit("a", ("imb/allreduce", 64, 10.0), of_suite.clone());
        [of_library, unit("b", ("skampi/reduce_bcast", 64, 15.0), of_suite)]
    };
    let expected = "reduce_bcast against allreduce, on 4 ranks: slower (1.5 times) at 64 B";
    assert_eq!(replies(&both(Some(OfSuite::default())))[0].sentences(), [expected]);
    assert!(replies(&both(None)).is_empty(), "runs of no suite have launches of their own");
}

#[test]
fn numbers_of_ranks_with_one_length_are_told_along_the_ranks() {
    let of = |length| [("imb/allreduce", length, 10.0), ("skampi/reduce_bcast", length, 15.0)];
    let mut reply = replies(&[run(5, &[of(64), of(256)].concat())]).remove(0);
    for n_ranks in [8, 2] {
        reply.cells.push(Cell { n_ranks, ..reply.cells[0] });
    }
    assert_eq!(
        reply.sentences(),
        [
            "reduce_bcast against allreduce, on 4 ranks: slower (1.5 times) from 64 B to 256 B",
            "reduce_bcast against allreduce, at 64 B: slower (1.5 times) from 2 ranks to 8 ranks",
        ]
    );
}

#[test]
fn sk_96_machines_are_never_pooled_and_their_orders_are_compared() {
    let of = |machine: &str, sync_us: f64, buffered_us: f64| {
        let at = |length| {
            [
                ("skampi/pingpong_send_recv", length, 10.0),
                ("skampi/pingpong_ssend_recv", length, sync_us),
                ("skampi/pingpong_bsend_recv", length, buffered_us),
            ]
        };
        let mut run = run(5, &[at(8), at(64)].concat());
        let labels = &mut run.run.as_mut().expect("it has facts").labels;
        labels.insert("machine".into(), machine.into());
        run
    };
    let runs = [of("t3e", 12.0, 20.0), of("sp2", 10.8, 11.0), of("cm5", 20.0, 12.0)];
    let all = replies(&runs);
    let lead = |n: usize| all[n].to_string().lines().next().map(str::to_owned);
    let expected = "# Which mode of a message is the fastest? (over shm on sp2)";
    assert_eq!((all.len(), lead(1).as_deref()), (3, Some(expected)));
    let expected = "pingpong_bsend_recv against pingpong_send_recv, on 4 ranks: slower (1.1 times) \
                    from 8 B to 64 B";
    assert_eq!(all[1].sentences()[2], expected);
    let [orders] = &across(&all)[..] else { panic!("one question") };
    assert_eq!(
        orders.to_string(),
        "# Which mode of a message is the fastest? (across machines)\n\
         the order of the ways differs between platforms, on 4 ranks, from 8 B to 64 B\n\
         over shm on t3e, mean of the ratios on 4 ranks, from 8 B to 64 B: pingpong_send_recv 1, \
         pingpong_ssend_recv 1.2, pingpong_bsend_recv 2\n\
         over shm on sp2, mean of the ratios on 4 ranks, from 8 B to 64 B: pingpong_send_recv 1, \
         pingpong_ssend_recv 1.08, pingpong_bsend_recv 1.1\n\
         over shm on cm5, mean of the ratios on 4 ranks, from 8 B to 64 B: pingpong_send_recv 1, \
         pingpong_bsend_recv 1.2, pingpong_ssend_recv 2\n"
    );
    let alike = across(&replies(&runs[..2])).remove(0).sentences().remove(0);
    let expected = "the order of the ways is the same over shm on t3e and shm on sp2, on 4 ranks, from \
                    8 B to 64 B";
    assert_eq!(alike, expected);
    assert_eq!(across(&all[..1]), []);
}

#[test]
fn one_exchange_is_held_against_one_exchange() {
    let times = [
        ("skampi/pingpong_send_recv", 8, 10.0),
        ("skampi/pingpong_sendrecv", 8, 5.0),
        ("skampi/pingpong_sendrecv_replace", 8, 6.0),
    ];
    let [reply] = &replies(&[run(5, &times)])[..] else { panic!("one question") };
    assert_eq!(reply.question.id, "exchanges");
    assert_eq!(
        reply.sentences()[1],
        "pingpong_sendrecv_replace against pingpong_sendrecv, on 4 ranks: slower (1.2 times) at 8 B"
    );
}
