//! Times that a formula gives, from the numbers of the machine alone: what a reader can check
//! without any program.

use comet_core::driver::Settings;
use comet_core::event::Measurement;
use comet_core::sync::StartSync;
use comet_sim::machine::{Machine, Node, Segment};

use super::bench::{Bench, settings};
use super::machines;
use super::oracle::{law, time_ps};

const LENGTHS: [u64; 6] = [0, 8, 100, 101, 4096, 20_000];

/// One message over `hops` links, in nanoseconds: `t0 + n per_byte + (h - 1) hop`.
fn message_ns(machine: &Machine, hops: u64, n_bytes: u64) -> f64 {
    let Segment { o_send_ps, handshake_ps, latency_ps, o_recv_ps, .. } = law(machine, n_bytes);
    let Segment { send, wire, recv, hop_ps, .. } = law(machine, n_bytes);
    let t0_ps = o_send_ps + handshake_ps + latency_ps + o_recv_ps;
    let bytes_ps: u64 = [send, wire, recv].iter().map(|rate| time_ps(*rate, n_bytes)).sum();
    (t0_ps + bytes_ps + (hops - 1) * hop_ps) as f64 / 1000.0
}

/// Measures `cases` of the kernel `id`, by the values on its axes, on so many ranks; each value of
/// each series is `expected` from the case and the name of the series.
#[track_caller]
fn check<const N_AXES: usize>(
    (machine, n_ranks): (&Machine, usize),
    (id, cases): (&str, &[[u64; N_AXES]]),
    expected_ns: impl Fn([u64; N_AXES], &str) -> f64,
) {
    let bench = Bench::new(machine, n_ranks);
    let admitted: Vec<_> = cases.iter().map(|values| bench.case(id, values).unwrap()).collect();
    let measurements = bench.measure(&admitted, &settings(5, 4));
    for (Measurement { case, series, .. }, values) in measurements.iter().zip(cases) {
        for of_series in series {
            let expected_ns = expected_ns(*values, of_series.series.name);
            assert_eq!(of_series.values_ns, [expected_ns; 5], "{} on {n_ranks}", case.label());
        }
    }
    assert_eq!(measurements.len(), cases.len(), "{id}");
}

/// Each length over each distance.
fn distances(largest: u64) -> Vec<[u64; 2]> {
    (1..=largest).flat_map(|hops| LENGTHS.map(|n_bytes| [hops, n_bytes])).collect()
}

#[test]
fn an_echo_takes_twice_the_time_of_a_message() {
    let check = |machine: &Machine, n_ranks: usize, largest| {
        check((machine, n_ranks), ("comet/echo", &distances(largest)), |[hops, n_bytes], _| {
            message_ns(machine, hops, n_bytes)
        });
    };
    check(&machines::flat(), 2, 1);
    check(&machines::rendezvous(), 2, 1);
    check(&machines::buffered(), 16, 4);
    check(&machines::ipsc860(), 16, 4);
}

#[test]
fn an_exchange_takes_the_time_of_one_message() {
    for machine in [machines::flat(), machines::rendezvous()] {
        check((&machine, 2), ("comet/exchange", &distances(1)), |[_, n_bytes], _| {
            message_ns(&machine, 1, n_bytes)
        });
    }
}

#[test]
fn an_exchange_of_buffered_messages_copies_them() {
    let machine = machines::buffered();
    // Both are in their send until after the request of the other one has come.
    check((&machine, 2), ("comet/exchange", &distances(1)), |[_, n_bytes], _| {
        let copy_ps = time_ps(law(&machine, n_bytes).unexpected, n_bytes);
        message_ns(&machine, 1, n_bytes) + copy_ps as f64 / 1000.0
    });
}

#[test]
fn collectives_take_a_time_proportional_to_the_logarithm_of_the_ranks() {
    let machine = machines::flat();
    for dims in 1..=6 {
        let (n_ranks, rounds) = (1 << dims, f64::from(dims));
        let signal_ns = message_ns(&machine, 1, 0);
        check((&machine, n_ranks), ("comet/barrier", &[[]]), |_, _| rounds * signal_ns);
        check((&machine, n_ranks), ("comet/broadcast", &LENGTHS.map(|n| [n])), |[n], _| {
            // The barrier at its end counts too.
            rounds * (message_ns(&machine, 1, n) + signal_ns)
        });
        let lengths = [[0], [1], [20], [512]];
        check((&machine, n_ranks), ("comet/reduction", &lengths), |[n_values], _| {
            // To rank 0 and back.
            2.0 * rounds * message_ns(&machine, 1, 8 * n_values)
        });
    }
}

#[test]
fn a_daxpy_takes_a_time_proportional_to_the_length_of_its_vectors() {
    let machine = machines::flat();
    let ns = |ps: u64| ps as f64 / 1000.0;
    let Node { isend_ps, irecv_ps, wait_ps, daxpy_ps, .. } = machine.node;
    let Segment { o_send_ps, o_recv_ps, .. } = machine.segments[0];
    let cases = [[8, 0], [8, 1000], [4096, 9000]];
    check((&machine, 2), ("comet/overlap", &cases), |[n_bytes, n_values], name| {
        let work_ns = n_values as f64 * ns(daxpy_ps);
        let message_ns = message_ns(&machine, 1, n_bytes);
        // An unblocked exchange costs its calls, and waits if the message is not there by then.
        let calls_ns = |work_ns: f64| {
            let before_ns = ns(isend_ps + o_send_ps + irecv_ps) + work_ns + 2.0 * ns(wait_ps);
            let arrives_ns = ns(isend_ps) + message_ns - ns(o_recv_ps);
            before_ns.max(arrives_ns) + ns(o_recv_ps)
        };
        match name {
            "exchange" => calls_ns(0.0),
            "daxpy" => work_ns,
            "synchronous" => message_ns + work_ns,
            _ => calls_ns(work_ns),
        }
    });
}

#[test]
fn trains_of_messages_take_the_times_of_loggp() {
    let machine = machines::flat();
    let ns = |ps: u64| ps as f64 / 1000.0;
    let Segment { o_send_ps, o_recv_ps, .. } = machine.segments[0];
    let cases = [[1, 0], [300, 0], [1, 9000], [300, 9000]];
    check((&machine, 2), ("model/injection", &cases), |[n_bytes, n_values], name| {
        let delay_ns = n_values as f64 * ns(machine.node.daxpy_ps);
        let round_trip_ns = 2.0 * message_ns(&machine, 1, n_bytes);
        // Without a delay the receiver waits for the sender, who is slower.
        let (send_ns, recv_ns) = (ns(o_send_ps), ns(o_recv_ps));
        let receive_ns = if delay_ns == 0.0 { send_ns } else { delay_ns + recv_ns };
        match name {
            "round_trip" => round_trip_ns,
            "sends" => round_trip_ns + 15.0 * (send_ns + delay_ns),
            "receives" => round_trip_ns + 15.0 * receive_ns,
            _ => 15.0 * delay_ns,
        }
    });
}

#[test]
fn pairs_that_share_no_link_take_the_time_of_one_echo() {
    // All start together in a window, which they do not where a barrier lets them go one by one.
    let in_windows =
        Settings { sync: Some(StartSync::Window), has_core_each: true, ..settings(5, 1) };
    for machine in [machines::flat(), machines::rendezvous(), machines::ipsc860()] {
        let bench = Bench::new(&machine, 8);
        for (n_pairs, n_bytes) in [1, 2, 4].into_iter().flat_map(|k| LENGTHS.map(|n| (k, n))) {
            let case = bench.case("model/pairs", &[n_pairs, n_bytes]).unwrap();
            let round_trip_ns = 2.0 * message_ns(&machine, 1, n_bytes);
            let measured = &bench.measure(&[case], &in_windows)[0];
            assert_eq!(measured.series[0].values_ns, [round_trip_ns; 5], "{}", case.label());
        }
    }
}

#[test]
fn parkbench_halves_round_trips_and_adds_arithmetic_to_them() {
    let machine = machines::flat();
    let message_ns = |n_bytes| message_ns(&machine, 1, n_bytes);
    let arithmetic_ns = |n: u64, order: u64| (n * order * machine.node.daxpy_ps) as f64 / 1000.0;
    let lengths = LENGTHS.map(|n| [n]);
    for id in ["parkbench/comms1", "parkbench/comms2"] {
        check((&machine, 2), (id, &lengths), |[n_bytes], _| message_ns(n_bytes));
    }
    let cases = [[0, 1], [1000, 1], [1000, 10]];
    check((&machine, 2), ("parkbench/poly1", &cases), |[n, order], _| arithmetic_ns(n, order));
    check((&machine, 2), ("parkbench/poly3", &cases), |[n, order], _| {
        2.0 * message_ns(8 * n) + arithmetic_ns(n, order)
    });
    check((&machine, 8), ("parkbench/synch1", &[[]]), |_, _| 3.0 * message_ns(0));
}
