//! Times of the suite `skampi` against formulas of the numbers of the machine: what each mode adds, to a
//! ping-pong and to the chunks of a master, and what collectives by hand take.

use std::sync::Arc;

use comet_core::driver::Settings;
use comet_core::kernel::{Arrangement, Case};
use comet_core::layout::{Layout, Layouts};
use comet_core::transport::Work;
use comet_sim::machine::{Machine, Protocol};

use super::bench::{Bench, info, settings};
use super::closed_forms::{algorithm, message_ns};
use super::machines;
use super::oracle::law;
use super::patterns::time_ns;

/// Copy of a byte and of a piece, and start and wait of unblocked calls, in nanoseconds, on all of the machines.
const COPY_NS: f64 = 2.0;
const COPY_PIECE_NS: f64 = 30.0;
const ISEND_NS: f64 = 300.0;
const IRECV_NS: f64 = 200.0;
const WAIT_NS: f64 = 150.0;

/// SK-20: the ping-pong of SKaMPI in its modes (section 3.2 of the paper).
#[track_caller]
fn check(machine: &Machine, n_bytes: u64, synchronous_ns: f64) {
    let message_ns = message_ns(machine, 1, n_bytes);
    let of = law(machine, n_bytes);
    let handshake_ns = of.handshake_ps as f64 / 1000.0;
    // What a synchronous message takes beyond a standard one.
    let more_ns = if of.protocol == Protocol::Eager { synchronous_ns } else { 0.0 };
    // The wait for a send is over before the answer comes.
    let unblocked_ns = 2.0 * ISEND_NS;
    for (way, expected_ns) in [
        ("send_recv", 2.0 * message_ns),
        ("send_recv_any_tag", 2.0 * message_ns),
        ("send_irecv", 2.0 * message_ns),
        ("ssend_recv", 2.0 * (message_ns + more_ns)),
        ("isend_recv", 2.0 * message_ns + unblocked_ns),
        ("issend_recv", 2.0 * (message_ns + more_ns) + unblocked_ns),
        ("bsend_recv", 2.0 * (message_ns + COPY_NS * n_bytes as f64)),
        // The answer alone is ready.
        ("rsend_recv", IRECV_NS + 2.0 * message_ns - handshake_ns),
    ] {
        let found_ns = time_ns((machine, 2), &format!("skampi/pingpong_{way}"), &[0, n_bytes]);
        assert_eq!(found_ns, expected_ns, "{way}, {n_bytes} bytes");
    }
}

#[test]
fn a_mode_adds_what_its_law_says_where_long_messages_wait_for_their_receives() {
    let machine = machines::rendezvous();
    // Those of up to 100 bytes are eager, and have the handshake of longer ones.
    for n_bytes in [0, 8, 100, 101, 1000, 100_000] {
        check(&machine, n_bytes, 9000.0);
    }
}

#[test]
fn a_mode_adds_what_its_law_says_where_no_message_waits() {
    // Of 10 us of a start the CPUs take 5: twice the rest.
    for n_bytes in [0, 8, 1000, 100_000] {
        check(&machines::flat(), n_bytes, 10_000.0);
    }
}

/// SK-20: SKaMPI looks for the pair with the largest latency, which is the farthest one here.
#[test]
fn the_slowest_pair_is_found_by_measuring() {
    let machine = machines::hypercube();
    let of = |pair| time_ns((&machine, 8), "skampi/pingpong_send_recv", &[pair, 1000]);
    let [one, three] = [1, 3].map(|hops| 2.0 * message_ns(&machine, hops, 1000));
    assert!(one < three);
    assert_eq!([0, 1, 2].map(of), [one, three, three]);
}

/// SK-33: a rank that packs copies each block, on both sides of a message unless one is in one piece already.
#[test]
fn blocks_are_copied_before_a_send_and_after_a_receive() {
    let words = "contiguous,vector:8:16,vector:8:16:to:contiguous,packed:vector:8:16";
    let layouts = Layouts::list(words, Layout::indx).expect("they are layouts");
    let layouts = layouts.into_iter().map(Arc::new).collect();
    let (machine, settings) = (machines::flat(), Settings { layouts, ..settings(5, 1) });
    let bench = Bench::new(&machine, 2);
    for n_bytes in [8, 1000, 64_000] {
        let n_pieces = n_bytes / 8;
        let copy_ns = COPY_NS * n_bytes as f64 + COPY_PIECE_NS * n_pieces as f64;
        let message_ns = message_ns(&machine, 1, n_bytes);
        for (layout, n_copies) in [(0, 0.0), (1, 4.0), (2, 2.0), (3, 4.0)] {
            let arrangement = Arrangement { layout: Some(layout), ..Arrangement::ALL };
            let case = Case::new(info("skampi/pingpong_send_recv"), &[0, n_bytes]).on(arrangement);
            let found_ns = bench.measure(&[case], &settings)[0].series[0].values_ns[0];
            // A block alone is one piece.
            let n_copies = if n_pieces == 1 { 0.0 } else { n_copies };
            let expected_ns = 2.0 * message_ns + n_copies * copy_ns;
            assert_eq!(found_ns, expected_ns, "{n_bytes} bytes of layout {layout}");
        }
    }
}

/// Copy of so many bytes in one piece, in nanoseconds.
fn copy_ns(machine: &Machine, n_bytes: u64) -> f64 {
    let bytes = usize::try_from(n_bytes).expect("a small chunk");
    machine.node.work_ps(Work::copy(bytes)) as f64 / 1000.0
}

/// SK-21: a master with one worker, which has each chunk in turn.
#[test]
fn a_chunk_takes_the_time_of_its_way_there_and_back() {
    let machine = machines::flat();
    for (n_chunks, chunk_bytes) in [(1_u64, 8_u64), (3, 100), (16, 1)] {
        let (chunks, message_ns) = (n_chunks as f64, message_ns(&machine, 1, chunk_bytes));
        let copy_ns = copy_ns(&machine, chunk_bytes);
        let of_end_ns = law(&machine, 0).o_send_ps as f64 / 1000.0;
        for (form, more_ns, end_ns) in [
            ("recv_any", 0.0, 0.0),
            ("ssend", 20_000.0, 0.0),
            ("isend", 2.0 * ISEND_NS, chunks * WAIT_NS),
            ("bsend", 2.0 * COPY_NS * chunk_bytes as f64, 0.0),
        ] {
            let expected_ns = chunks * (2.0 * message_ns + more_ns + copy_ns) + end_ns + of_end_ns;
            let (id, values) =
                (format!("skampi/master_worker_{form}"), [n_chunks, n_chunks * chunk_bytes]);
            let found_ns = time_ns((&machine, 2), &id, &values);
            assert_eq!(found_ns, expected_ns, "{form}, {n_chunks} chunks of {chunk_bytes} bytes");
        }
    }
}

/// SK-21: two workers have a chunk each, and the master serves them behind each other.
#[test]
fn two_workers_take_half_of_the_rounds_of_one() {
    let machine = machines::flat();
    let [message_ns, copy_ns] = [message_ns(&machine, 1, 8), copy_ns(&machine, 8)];
    let [send_ns, recv_ns] =
        [law(&machine, 8).o_send_ps, law(&machine, 8).o_recv_ps].map(|ps| ps as f64 / 1000.0);
    for rounds in [1_u64, 2, 5] {
        // The first of both is served again while the other one waits, and its end while the last does.
        let of_first_ns = rounds as f64 * (2.0 * message_ns + copy_ns);
        let expected_ns = of_first_ns + recv_ns + copy_ns + 2.0 * send_ns;
        let values = [2 * rounds, 16 * rounds];
        let found_ns = time_ns((&machine, 3), "skampi/master_worker_recv_any", &values);
        assert_eq!(found_ns, expected_ns, "{rounds} rounds");
    }
}

/// SK-25: collectives by hand.
#[test]
fn collectives_by_hand_take_their_messages_behind_each_other() {
    let machine = machines::flat();
    let recv_ns = law(&machine, 0).o_recv_ps as f64 / 1000.0;
    for n_ranks in [2_usize, 3, 5, 8] {
        for n_bytes in [0, 8, 100] {
            let of = |id: &str, values: &[u64]| time_ns((&machine, n_ranks), id, values);
            // All parts arrive at once, and rank 0 takes them in turn.
            let expected_ns = message_ns(&machine, 1, n_bytes) + (n_ranks - 2) as f64 * recv_ns;
            let found_ns = of("skampi/gatherv_send_recv", &[n_bytes]);
            assert_eq!(found_ns, expected_ns, "{n_bytes} on {n_ranks}");
        }
    }
    // To rank 0 and back along a binomial tree, as the algorithm of the library.
    for (n_ranks, rounds) in [(2, 1.0), (4, 2.0), (8, 3.0)] {
        let found_ns = time_ns((&machine, n_ranks), "skampi/reduce_bcast", &[2, 0, 8]);
        assert_eq!(found_ns, 2.0 * rounds * message_ns(&machine, 1, 8), "{n_ranks}");
    }
}

/// SKaMPI 5: a late rank delays those who wait for it. What waits for a late root has arrived meanwhile.
#[test]
fn a_late_rank_delays_a_collective_by_its_delay_or_less() {
    let machine = machines::flat();
    let of = |id: &str, late_rank, delay_us| {
        let linear = algorithm(id, "linear");
        time_ns((&machine, 2), id, &[linear, late_rank, delay_us, 8])
    };
    for (id, late_rank, is_hidden) in [
        ("skampi/delayed_alltoall", 0, false),
        ("skampi/delayed_alltoall", 1, false),
        ("skampi/delayed_gather", 1, false),
        ("skampi/delayed_gather", 0, true),
    ] {
        let [at_once_ns, late_ns, later_ns] = [0, 50, 1050].map(|us| of(id, late_rank, us));
        assert_eq!(later_ns - late_ns, 1e6, "{id} {late_rank}");
        let hidden_ns = at_once_ns + 50_000.0 - late_ns;
        // The way of the message, up to its receive.
        let recv_ns = law(&machine, 8).o_recv_ps as f64 / 1000.0;
        let way_ns = message_ns(&machine, 1, 8) - recv_ns;
        assert_eq!(hidden_ns, if is_hidden { way_ns } else { 0.0 }, "{id} {late_rank}");
    }
}

/// SK-22: a simulated machine splits its ranks at a barrier.
#[test]
fn a_communicator_takes_a_barrier() {
    let machine = machines::flat();
    for (n_ranks, rounds) in [(2, 1.0), (4, 2.0), (8, 3.0)] {
        for name in ["split", "dup"] {
            let found_ns = time_ns((&machine, n_ranks), &format!("skampi/comm_{name}"), &[]);
            assert_eq!(found_ns, rounds * message_ns(&machine, 1, 0), "{name} on {n_ranks}");
        }
    }
}

/// SK-23: the simulator charges probes and readings of the clock.
#[test]
fn a_probe_and_a_reading_take_what_the_machine_says() {
    let mut machine = machines::flat();
    machine.node.poll_ps = 7_000_000;
    assert_eq!(time_ns((&machine, 2), "skampi/iprobe", &[]), 7000.0);
    // One reading, and that of the end of the interval.
    assert_eq!(time_ns((&machines::busy(), 2), "skampi/wtime", &[]), 2.0 * 40.0);
}
