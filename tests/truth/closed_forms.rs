//! Times that a formula gives, from the numbers of the machine alone: what a reader can check
//! without any program. And the way back: the numbers of the machine come back from what is measured
//! on it, and the length at which its protocols change, to the byte.

use std::iter::successors;

use comet_core::driver::Settings;
use comet_core::event::Measurement;
use comet_core::kernel::{Case, HOPS, LENGTH_BYTES, RateKind};
use comet_core::sync::StartSync;
use comet_core::transport::Work;
use comet_sim::machine::{Machine, Node, NoiseSource, Segment};
use comet_stats::fit::{Bounds, HopLine, Line, Weights, segments};

use super::bench::{Bench, info, settings};
use super::machines;
use super::oracle::{law, time_ps};

const LENGTHS: [u64; 6] = [0, 8, 100, 101, 4096, 20_000];

/// One message over `hops` links, in nanoseconds: `t0 + n per_byte + (h - 1) hop`.
pub(crate) fn message_ns(machine: &Machine, hops: u64, n_bytes: u64) -> f64 {
    let Segment { send, wire, recv, hop_ps, .. } = law(machine, n_bytes);
    let t0_ps = law(machine, n_bytes).startup_ps();
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
    // The time of an operation does not depend on the batch.
    for repetitions in if id == "comet/echo" { &[1, 4, 1000][..] } else { &[4] } {
        let measurements = bench.measure(&admitted, &settings(5, *repetitions));
        for (Measurement { case, series, .. }, values) in measurements.iter().zip(cases) {
            for of_series in series {
                let expected_ns = expected_ns(*values, of_series.series.name);
                assert_eq!(of_series.values_ns, [expected_ns; 5], "{} on {n_ranks}", case.label());
            }
        }
        assert_eq!(measurements.len(), cases.len(), "{id}");
    }
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

/// The value of the axis `algorithm` of the kernel `id` that stands for `name`.
pub(crate) fn algorithm(id: &str, name: &str) -> u64 {
    let labels = info(id).axes[0].axis.labels;
    labels.iter().position(|label| *label == name).expect("the axis has the algorithm") as u64
}

#[test]
fn algorithms_of_collectives_take_the_times_of_their_rounds() {
    let machine = machines::flat();
    let message_ns = |n_bytes| message_ns(&machine, 1, n_bytes);
    // What a rank gives is copied to where its result will be.
    let copy_ns = |bytes: u64| {
        let n = usize::try_from(bytes).expect("a length in memory");
        machine.node.work_ps(Work::Copy { bytes: n, piece_bytes: n, stride_bytes: n }) as f64
            / 1000.0
    };
    for dims in 1..=4 {
        let n_ranks = 1_u64 << dims;
        let at = (&machine, 1 << dims);
        let rounds = dims as f64;
        // Parts of every round have one length.
        let lengths = [0, 1, 16, 1024].map(|n| n * n_ranks);
        let bcast = |name, expected_ns: &dyn Fn(u64) -> f64| {
            let cases = lengths.map(|n| [algorithm("imb/bcast", name), 0, 0, n]);
            check(at, ("imb/bcast", &cases), |[.., n], _| expected_ns(n));
        };
        bcast("binomial", &|n| rounds * message_ns(n));
        bcast("scatter_ring", &|n| {
            let halves: f64 = (1..=dims).map(|round| message_ns(n >> round)).sum();
            halves + (n_ranks - 1) as f64 * message_ns(n / n_ranks)
        });
        let allreduce = |name, expected_ns: &dyn Fn(u64) -> f64| {
            // Sums of floats.
            let cases = lengths.map(|n| [algorithm("imb/allreduce", name), 0, 4, 0, 4 * n]);
            check(at, ("imb/allreduce", &cases), |[.., n], _| copy_ns(n) + expected_ns(n));
        };
        allreduce("recursive_doubling", &|n| rounds * message_ns(n));
        allreduce("ring", &|n| (2 * (n_ranks - 1)) as f64 * message_ns(n / n_ranks));
        let cases = lengths.map(|n| [algorithm("imb/alltoall", "pairwise"), 0, n]);
        check(at, ("imb/alltoall", &cases), |[.., n], _| {
            copy_ns(n) + (n_ranks - 1) as f64 * message_ns(n)
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
    for machine in [machines::flat(), machines::rendezvous(), machines::ipsc860()] {
        let bench = Bench::new(&machine, 8);
        for (n_pairs, n_bytes) in [1, 2, 4].into_iter().flat_map(|k| LENGTHS.map(|n| (k, n))) {
            let case = bench.case("model/pairs", &[n_pairs, n_bytes]).unwrap();
            let round_trip_ns = 2.0 * message_ns(&machine, 1, n_bytes);
            let measured = &bench.measure(&[case], &settings(5, 1))[0];
            assert_eq!(measured.series[0].values_ns, [round_trip_ns; 5], "{}", case.label());
        }
    }
}

#[test]
fn the_completion_of_pairs_is_their_own_time_on_machines_that_let_ranks_go_one_by_one() {
    for name in ["t3e", "hbv2-hdr", "ipsc860"] {
        let machine = comet_sim::machine::find(name).expect("it comes with the program").machine;
        let bench = Bench::new(&machine, 8);
        for n_bytes in LENGTHS {
            let time_ns = |(n_pairs, sync): (u64, Option<StartSync>)| {
                let case = bench.case("model/pairs", &[n_pairs, n_bytes]).unwrap();
                let settings = Settings { sync, ..settings(5, 1) };
                bench.measure(&[case], &settings)[0].series[0].summary.median
            };
            let one_ns = time_ns((1, None));
            // The pairs share no link of these machines.
            for n_pairs in [2, 4] {
                assert_eq!(time_ns((n_pairs, None)), one_ns, "{name}, {n_bytes} bytes");
            }
            let after_barrier_ns = time_ns((4, Some(StartSync::Barrier)));
            assert!(after_barrier_ns > one_ns, "{name}: {after_barrier_ns} ns for {one_ns} ns");
        }
    }
}

/// Checks the time of windows of `window` messages of `n_bytes` across the cut, in nanoseconds, and the
/// rates that follow from it; returns the bisection bandwidth.
#[track_caller]
fn check_bisection(
    (machine, n_ranks): (&Machine, usize),
    [window, n_bytes]: [u64; 2],
    expected_ns: f64,
) -> f64 {
    let bench = Bench::new(machine, n_ranks);
    let case = bench.case("model/bisection", &[window, n_bytes]).unwrap();
    let measured = &bench.measure(&[case], &settings(5, 1))[0].series[0];
    assert_eq!(measured.values_ns, [expected_ns; 5], "{} on {n_ranks}", case.label());
    // Each rank of both halves sends a window; an odd last one takes no part.
    let n_messages = (window * (n_ranks - n_ranks % 2) as u64) as f64;
    let per_s = |amount: f64| Some(amount / expected_ns * 1e9);
    let found: Vec<_> = measured.rates().map(|(rate, _, value)| (rate.kind, value)).collect();
    let bytes_per_s = per_s(n_messages * n_bytes as f64);
    let of_messages = (RateKind::Messages, per_s(n_messages));
    assert_eq!(found, [(RateKind::Bisection, bytes_per_s), of_messages]);
    bytes_per_s.unwrap_or_default()
}

/// Time of a window of `window` messages from the first start to the last end, of which all but the
/// bytes takes: the posts of its receives, the post of the first send, one message, and the waits for the
/// operations in the other direction.
fn window_ns(machine: &Machine, window: u64) -> f64 {
    let Node { isend_ps, irecv_ps, wait_ps, .. } = machine.node;
    message_ns(machine, 1, 0) + (window * (irecv_ps + wait_ps) + isend_ps) as f64 / 1000.0
}

#[test]
fn a_bisection_of_a_crossbar_takes_the_bytes_of_a_window_through_each_interface() {
    let machine = machines::flat();
    for (window, n_bytes) in [1, 4, 64].into_iter().flat_map(|w| [1024, 20_000].map(|n| (w, n))) {
        let expected_ns = window_ns(&machine, window) + 8.0 * (window * n_bytes) as f64;
        for n_ranks in [2, 4, 5, 8] {
            check_bisection((&machine, n_ranks), [window, n_bytes], expected_ns);
        }
    }
}

#[test]
fn a_bisection_of_a_torus_has_the_limit_of_the_links_across_the_cut() {
    // On a ring of four all ways of two links go upwards, so that each link has those of two ranks.
    // Two links cross the cut of a ring upwards, one from each half to the other.
    for (dims, n_rings) in [(&[4][..], 1.0), (&[2, 4], 2.0)] {
        let machine = machines::torus(dims);
        let n_ranks = dims.iter().product();
        let limit = n_rings * 2.0 / 8e-9;
        for window in [1, 4, 64] {
            let n_bytes = 20_000;
            let expected_ns = window_ns(&machine, window) + 2.0 * 8.0 * (window * n_bytes) as f64;
            let rate = check_bisection((&machine, n_ranks), [window, n_bytes], expected_ns);
            assert!(rate < limit, "{rate} is above the {limit} of the links");
            assert!(window < 64 || rate > 0.99 * limit, "{rate} is far below {limit}");
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

/// Length, hops, and the median and the mean of one message in microseconds.
type Point = (f64, f64, [f64; 2]);

/// Echoes of these lengths over these distances, on the smallest hypercube that has them.
fn echoes(machine: &Machine, lengths: &[u64], hops: &[u64], settings: &Settings) -> Vec<Point> {
    let bench = Bench::new(machine, hops.iter().map(|h| 1 << h).max().unwrap_or(1));
    let at = |h: &u64| lengths.iter().map(move |n| [*h, *n]).collect::<Vec<_>>();
    let cases = hops.iter().flat_map(at).filter_map(|values| bench.case("comet/echo", &values));
    let point = |Measurement { case, series, .. }: &Measurement| {
        let summary = series[0].summary;
        let [n, h] = [&LENGTH_BYTES, &HOPS].map(|axis| case.value(axis) as f64);
        (n, h, [summary.median / 1000.0, summary.mean / 1000.0])
    };
    bench.measure(&cases.collect::<Vec<Case>>(), settings).iter().map(point).collect()
}

#[track_caller]
fn check_near(found: f64, expected: f64, share: f64) {
    assert!((found / expected - 1.0).abs() <= share, "{found} instead of {expected}");
}

/// Checks startup in microseconds, time for a byte and time for a hop between two breaks.
#[track_caller]
fn check_law(lengths: &[u64], [t0, per_byte, hop]: [f64; 3]) {
    let points = echoes(&machines::ipsc860(), lengths, &[1, 2, 3, 4], &settings(3, 1));
    let with_hops: Vec<_> = points.iter().map(|(n, h, t)| (*n, *h, t[0])).collect();
    let fit = HopLine::fit(&with_hops, Weights::Relative).expect("there are points enough");
    check_near(fit.t0, t0, 1e-6);
    check_near(fit.per_unit, per_byte, 1e-6);
    check_near(fit.per_hop, hop, 1e-6);

    let at_one_hop: Vec<_> =
        with_hops.iter().filter(|point| point.1 == 1.0).map(|(n, _, t)| (*n, *t)).collect();
    let line = Line::fit(&at_one_hop, Weights::Relative).expect("there are points enough");
    check_near(line.r_inf().expect("bytes take time"), 1.0 / per_byte, 1e-6);
    check_near(line.n_half().expect("a startup takes time"), t0 / per_byte, 1e-6);
}

#[test]
fn the_numbers_of_the_machine_come_back() {
    check_law(&[0, 1, 8, 37, 64, 100], [79.0, 0.63, 8.333]);
    check_law(&[101, 300, 1024, 4096, 20_000, 100_000], [156.0, 0.41, 25.0]);
}

/// The longest message of the first protocol, from echoes alone: between two lengths of a coarse
/// sweep that lie on different lines, by halves.
fn found_break(machine: &Machine) -> u64 {
    let time_us = |n: u64| echoes(machine, &[n], &[1], &settings(3, 1))[0].2[0];
    let lengths: Vec<u64> = successors(Some(1), |n| Some(n * 3 / 2 + 1)).take(30).collect();
    let sweep = echoes(machine, &lengths, &[1], &settings(3, 1));
    let points: Vec<_> = sweep.iter().map(|(n, _, t)| (*n, t[0])).collect();
    let found = segments(&points, &Bounds::default()).expect("there are points enough");
    assert_eq!(found.len(), 2, "{found:?}");
    let n_below = lengths.iter().filter(|n| **n as f64 <= found[0].to).count();
    let (mut low, mut high) = (lengths[n_below - 1], lengths[n_below]);
    while high - low > 1 {
        let middle = low.midpoint(high);
        let is_on = |line: &Line| (line.at(middle as f64) / time_us(middle) - 1.0).abs() < 1e-6;
        assert_ne!(is_on(&found[0].line), is_on(&found[1].line), "{middle} bytes");
        *(if is_on(&found[0].line) { &mut low } else { &mut high }) = middle;
    }
    low
}

#[test]
fn the_switch_of_protocols_is_found_to_the_byte() {
    for (machine, limits) in
        [(machines::ipsc860(), [100, 333, 8192]), (machines::rendezvous(), [64, 1000, 65_535])]
    {
        for limit_bytes in limits {
            let mut machine = machine.clone();
            machine.segments[0].up_to_bytes = Some(limit_bytes);
            assert_eq!(found_break(&machine), limit_bytes);
        }
    }
}

#[test]
fn medians_and_fits_to_them_withstand_spikes_and_means_do_not() {
    for (probability, mean_ps, share) in [(0.02, 50_000_000, 0.002), (0.05, 200_000_000, 0.005)] {
        let spikes = NoiseSource::Spike { probability, mean_ps };
        let machine = machines::noisy(machines::ipsc860(), 42, &[spikes]);
        let lengths = [0, 64, 101, 300, 1024, 4096, 20_000];
        let points = echoes(&machine, &lengths, &[1], &settings(1000, 1));
        for (n, _, [median, mean]) in &points {
            let true_us = if *n <= 100.0 { 79.0 + 0.63 * n } else { 156.0 + 0.41 * n };
            check_near(*median, true_us, share);
            assert!(mean - true_us > (median - true_us).abs(), "{mean} {median} {true_us} us");
        }
        assert!(points[0].2[1] > 79.0 * 1.002, "{points:?}");
        let [by_median, by_mean] = [0, 1].map(|i| {
            let points: Vec<_> = points[2..].iter().map(|(n, _, t)| (*n, t[i])).collect();
            Line::fit(&points, Weights::Relative).expect("there are points enough").t0
        });
        check_near(by_median, 156.0, share);
        assert!((by_mean / 156.0 - 1.0).abs() > share, "{by_mean} us by means");
    }
}
