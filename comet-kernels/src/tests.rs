//! Tests of all kernels of this crate together, over ranks that are threads.

mod buffers;
mod layouts;
mod threads;

use comet_core::driver::{self, Rules, Settings};
use comet_core::event::Event;
use comet_core::kernel::harness::{self, Trial};
use comet_core::kernel::{
    AxisKind, AxisUse, Case, Class, HOPS, History, Kernel, LENGTH_BYTES, Profile, RateKind, WINDOW,
    World,
};
use comet_core::local::{self, Corrupt, Local};
use comet_core::sweep;
use comet_core::topology::Topology;
use comet_core::transport::Transport;
use comet_stats::Summary;

use crate::health::pairs::ROUND;
use crate::model::pairs::PAIRS;
use crate::osu::epochs::{MEMORY, SYNC};

/// Numbers of ranks: alone, a pair, odd ones, and those of the thesis' contention.
const N_RANKS: [usize; 5] = [1, 2, 3, 5, 8];

fn all_kernels() -> Vec<&'static dyn Kernel<Local>> {
    crate::suites().concat()
}

/// The kernel `id`.
pub(crate) fn kernel(id: &str) -> &'static dyn Kernel<Local> {
    let all = all_kernels().into_iter();
    all.into_iter().find(|kernel| kernel.info().id() == id).expect("a kernel of this crate")
}

/// Echo times at one hop of 100 ns and 1 ns for each 10 bytes.
pub(crate) fn echo_history() -> History {
    let mut history = History::default();
    for (length_bytes, time) in [(0, 100.0), (100, 110.0), (1000, 200.0), (10_000, 1100.0)] {
        let case = Case::new(kernel("comet/echo").info(), &[])
            .with(&HOPS, 1)
            .with(&LENGTH_BYTES, length_bytes);
        history.push(case, vec![Summary::of(&[time]).unwrap()]);
    }
    history
}

/// The quick cases of each kernel on each number of ranks.
fn trials() -> Vec<Vec<Trial>> {
    let on = |(kernel, n_ranks)| {
        let topology = Topology::hypercube(n_ranks);
        let of_axis = |used: &_| harness::quick_values(used, &topology);
        harness::trials(kernel, &topology, &echo_history(), of_axis)
    };
    let kernels = all_kernels().into_iter();
    kernels.flat_map(|kernel| N_RANKS.map(|n_ranks| (kernel, n_ranks))).map(on).collect()
}

/// Ranks without a part in a case.
fn n_idle(case: &Case, n_ranks: usize) -> usize {
    match (case.find(&PAIRS), case.find(&ROUND)) {
        (Some(_), _) => n_ranks - 2 * case.length(&PAIRS),
        (_, Some(_)) => n_ranks % 2,
        _ if matches!(
            case.info.name,
            "win_start" | "win_complete" | "win_wait" | "win_test" | "put_call" | "put_passive"
        ) =>
        {
            n_ranks - 1
        }
        _ if case.info.suite == "imb-rma" && case.info.name.starts_with("bidir") => n_ranks - 2,
        _ if case.info.suite == "imb-mt" && case.info.name.starts_with("ping") => n_ranks % 2,
        _ if matches!(case.info.name, "uniband" | "biband" | "bisection") => n_ranks % 2,
        _ if matches!(case.info.name, "mbw_mr" | "multi_lat") => n_ranks - n_ranks / 2,
        _ => 0,
    }
}

#[test]
fn every_kernel_verifies_and_is_sampled_where_its_definition_says() {
    for trials in trials() {
        for trial in [trials.first(), trials.last()].into_iter().flatten() {
            trial.passes(n_idle(&trial.case, trial.topology.n_ranks()));
        }
    }
}

#[test]
fn every_kernel_that_moves_data_notices_messages_that_arrive_wrong() {
    // A rank alone sends nothing in a collective.
    let sends =
        |trial: &&Trial| trial.topology.n_ranks() > 1 || trial.case.info.class != Class::Collective;
    for trial in trials().iter().filter_map(|trials| trials.last()).filter(sends) {
        let (info, resends) = (trial.case.info, trial.notices_wrong_messages());
        let expected = match (info.suite, info.name) {
            ("imb", "pingping" | "sendrecv" | "exchange") => false,
            ("imb", _) | ("imb-mt", _) => resends,
            ("patterns", name) => name == "ring",
            (_, "echo" | "exchange" | "contention" | "overlap" | "injection" | "pairs") => true,
            (_, "comms1" | "comms2" | "poly3") => true,
            (_, "broadcast" | "reduction" | "comms3" | "bw" | "bibw" | "mbw_mr") => false,
            (_, "bisection" | "latency_persistent" | "bw_persistent" | "bibw_persistent") => false,
            (_, "multi_lat") => true,
            _ => resends,
        };
        assert_eq!(resends, expected, "{trial:?}");
    }
}

#[test]
fn one_sided_kernels_are_verified_with_every_memory_and_synchronisation() {
    let is_of_windows = |kernel: &&'static dyn Kernel<Local>| {
        kernel.info().axes.iter().any(|used| used.axis == &SYNC)
    };
    for (kernel, n_ranks) in all_kernels().into_iter().filter(is_of_windows).zip([2, 3].repeat(5)) {
        let topology = Topology::hypercube(n_ranks);
        let of_axis = |used: &AxisUse| match used.axis {
            axis if axis == &MEMORY || axis == &SYNC => (0..axis.labels.len() as u64).collect(),
            axis if axis == &WINDOW => vec![3],
            axis if axis == &LENGTH_BYTES => vec![0, 24],
            _ => harness::quick_values(used, &topology),
        };
        let trials = harness::trials(kernel, &topology, &History::default(), of_axis);
        let has_lengths = kernel.info().axes.iter().any(|used| used.axis == &LENGTH_BYTES);
        let n_syncs = if kernel.info().name == "put_bibw" { 2 } else { SYNC.labels.len() };
        assert_eq!(trials.len(), 3 * n_syncs * [1, 2][usize::from(has_lengths)]);
        for trial in trials {
            trial.passes(0);
            if trial.case.find(&LENGTH_BYTES) != Some(0) {
                trial.notices_wrong_messages();
            }
        }
    }
}

#[test]
fn every_kernel_notices_a_spoiled_check() {
    for trial in trials().iter().filter_map(|trials| trials.last()) {
        let outcome = trial.outcome(false, Corrupt::Nothing, true);
        assert!(outcome.mismatches.contains(&true), "{trial:?}");
    }
}

#[test]
fn kernels_describe_themselves() {
    harness::check_descriptions(&all_kernels());
}

#[test]
fn buffers_are_untouched_under_the_rules_of_imb_and_osu() {
    // Each message that is sent from memory into which one was received arrives wrong.
    let n_failed = |rules| {
        let settings = Settings { rules, repetitions: Some(3), ..Settings::of(Profile::Quick) };
        let of_ranks = local::run_corrupting(Topology::hypercube(2), Corrupt::InPlace, |t| {
            let kernels = all_kernels();
            if t.rank() > 0 {
                driver::follow(t, &kernels, &settings).unwrap();
                return 0;
            }
            let cases = [
                Case::new(kernel("comet/echo").info(), &[1, 8]),
                Case::new(kernel("comet/exchange").info(), &[1, 8]),
                Case::new(kernel("parkbench/comms1").info(), &[8]),
                Case::new(kernel("osu/bw").info(), &[8]),
            ];
            let mut n_failed = 0;
            let mut count = |event: &Event<'_>| {
                n_failed += usize::from(matches!(event, Event::CaseFailed(_)));
                Ok(())
            };
            driver::conduct(t, &kernels, &cases, &settings, &mut count).unwrap();
            n_failed
        });
        of_ranks[0]
    };
    assert_eq!(n_failed(Rules::Imb), 0);
    assert_eq!(n_failed(Rules::Osu), 0);
    assert_eq!(n_failed(Rules::Comet), 3, "windows are never sent on");
}

#[test]
fn echo_sweeps_look_around_the_breaks_of_the_thesis() {
    let lengths = &crate::axes::MESSAGE_LENGTHS;
    for profile in [Profile::Standard, Profile::Full] {
        let values = sweep::parse(lengths.sweep(profile).unwrap(), None).unwrap();
        for length_bytes in [0, 100, 101, 2048, 2049, 4096, 4097, 1 << 20, 4 << 20] {
            assert!(values.contains(&length_bytes), "{length_bytes} in {profile:?}");
        }
    }
}

#[track_caller]
fn check_admission(id: &str, n_ranks: usize, values: &[u64], expected: Result<(), &str>) {
    let (case, topology) = (Case::new(kernel(id).info(), values), Topology::hypercube(n_ranks));
    let found = (case.info.admits)(&case, &World::of(&topology));
    assert_eq!(found, expected.map_err(str::to_owned), "{} on {n_ranks}", case.label());
}

#[test]
fn one_sided_calls_without_a_put_or_their_late_rank_are_refused() {
    let empty = "a window of 0 messages moves nothing (use 1 message or more)";
    check_admission("skampi/put_dedicated", 2, &[0, 8], Err(empty));
    check_admission("skampi/put_fence_behind", 2, &[0, 8], Err(empty));
    let (case, topology) =
        (Case::new(kernel("skampi/put_dedicated").info(), &[1 << 63, 8]), Topology::hypercube(2));
    assert_eq!((case.info.bytes_per_rank)(&case, &World::of(&topology)), u64::MAX);
    check_admission("skampi/win_start", 3, &[10, 2, 8], Ok(()));
    let late = "there is no rank 3 among 3 ranks (use 0 to 2)";
    check_admission("skampi/win_start", 3, &[10, 3, 8], Err(late));
}

#[test]
fn ranks_and_values_that_make_no_case_are_refused_with_a_reason() {
    let lone = "needs at least 2 ranks, there is 1 (ask for -n 2)";
    let full = "a train of 16 messages of 16385 bytes fills buffers on its way (use at most 16384 \
                bytes)";
    let check = check_admission;
    check("comet/echo", 4, &[0, 8], Ok(()));
    check("comet/echo", 4, &[2, 8], Ok(()));
    let far = "no rank is 3 hops from rank 0: 4 ranks reach 2 hops";
    check("comet/echo", 4, &[3, 8], Err(far));
    check("comet/exchange", 1, &[1, 8], Err(lone));
    let alone = "0 hops lead to no partner (use 1 hop or more)";
    check("comet/exchange", 2, &[0, 8], Err(alone));
    let far = "no rank is 2 hops from rank 0: 2 ranks reach 1 hop";
    check("comet/exchange", 2, &[2, 8], Err(far));
    check("model/injection", 2, &[16_384], Ok(()));
    check("model/injection", 1, &[8], Err(lone));
    check("model/injection", 2, &[16_385], Err(full));
    check("model/pairs", 5, &[2, 8], Ok(()));
    check("model/pairs", 5, &[3, 8], Err("needs at least 6 ranks, there are 5 (ask for -n 6)"));
    check("model/pairs", 1, &[1, 8], Err(lone));
    let none = "0 pairs send no messages (use 1 pair or more)";
    check("model/pairs", 4, &[0, 8], Err(none));
    check("health/pairs", 4, &[3, 8], Ok(()));
    check("health/pairs", 4, &[4, 8], Err("4 ranks have no round 4 (use 1 to 3)"));
    check("health/pairs", 5, &[0, 8], Err("5 ranks have no round 0 (use 1 to 5)"));
    check("health/pairs", 1, &[1, 8], Err(lone));
    check("osu/bw", 1, &[8], Err(lone));
    check("osu/mbw_mr", 1, &[8], Err(lone));
    check("osu/multi_lat", 1, &[8], Err(lone));
    check("osu/latency_persistent", 1, &[1, 8], Err(lone));
    check("osu/latency_persistent", 2, &[0, 8], Err(alone));
    check(
        "osu/bw_persistent",
        2,
        &[0, 0, 8],
        Err("a window of 0 messages moves nothing (use 1 message or more)"),
    );
    let empty = "a window of 0 messages moves nothing (use 1 message or more)";
    check("osu/bw", 2, &[0, 0, 8], Err(empty));
    check("osu/bibw", 2, &[0, 0, 8], Err(empty));
    check("osu/mbw_mr", 2, &[8, 0, 0], Err(empty));
    check("imb/biband", 2, &[0, 8], Err(empty));
    check("model/bisection", 3, &[0, 8], Err(empty));
    check("osu/bw", 2, &[1, 0, 8], Ok(()));
    check("imb-p2p/pingpong", 4, &[8], Ok(()));
    let odd = "pairs of all ranks need an even number of them, there are 3 (ask for -n 4)";
    check("imb-p2p/pingping", 3, &[8], Err(odd));
    check("imb-p2p/unirandom", 1, &[8], Err(lone));
    let beyond = "the grid needs 27 ranks, there are 12 (ask for -n 27)";
    check("imb-p2p/halo", 12, &[3, 1, 0, 0, 8], Err(beyond));
    let flat = "7 ranks make no torus of 2 dimensions with sides of at least 2 (ask for -n 4)";
    check("imb-p2p/stencil2d", 7, &[8], Err(flat));
    let flat = "4 ranks make no torus of 3 dimensions with sides of at least 2 (ask for -n 8)";
    check("imb-p2p/stencil3d", 4, &[8], Err(flat));
    check("imb/gather", 3, &[0, 0, 2, 0, 8], Ok(()));
    let beyond = "there is no rank 3 among 3 ranks (use 0 to 2)";
    check("imb/gather", 3, &[0, 0, 3, 0, 8], Err(beyond));
    let order = |order| format!("a polynomial of order {order} is not known (use 1 to 10)");
    check("parkbench/poly1", 1, &[100, 0], Err(&order(0)));
    check("parkbench/poly1", 1, &[100, 1], Ok(()));
    check("parkbench/poly1", 1, &[100, 10], Ok(()));
    check("parkbench/poly1", 1, &[100, 11], Err(&order(11)));
    check("parkbench/poly3", 1, &[100, 3], Err(lone));
    check("parkbench/poly3", 2, &[100, 11], Err(&order(11)));
}

#[test]
fn a_copy_is_one_of_all_ranks_at_once_and_then_of_rank_0_alone() {
    let info = kernel("model/memcpy").info();
    assert_eq!(info.evaluation, comet_core::kernel::Evaluation::MemoryCopy);
    let topology = Topology::hypercube(4);
    let found = local::run_with(topology, false, |t| {
        let mut cx = harness::context(t, info, false);
        let case = Case::new(info, &[1000]);
        kernel("model/memcpy").measure(&mut cx, &case).unwrap();
        cx.into_samples().iter().map(Vec::len).collect::<Vec<_>>()
    });
    assert_eq!(found, [[2, 2], [2, 0], [2, 0], [2, 0]]);
}

#[test]
fn derived_numbers_agree_with_a_hand_computation() {
    let check = |id, values: &[u64], times: &[f64], expected: &[Option<f64>]| {
        let case = Case::new(kernel(id).info(), values);
        let summaries: Vec<_> = times.iter().map(|time| Summary::of(&[*time]).unwrap()).collect();
        let figures = kernel(id).derived(&case, &summaries);
        let found: Vec<_> = figures.iter().map(|figure| figure.value).collect();
        assert_eq!(found, expected, "{} {times:?}", case.label());
    };
    check("comet/contention", &[8], &[2.0, 3.0, 5.0], &[1.5, 2.5].map(Some));
    // Times of exchange, daxpy, synchronous and asynchronous.
    let overlap = |times: [f64; 4], expected: [f64; 4]| {
        check("comet/overlap", &[8, 100], &times, &expected.map(Some));
    };
    overlap([100.0, 100.0, 200.0, 100.0], [50.0, 1.0, 1.0, 1.0]);
    overlap([100.0, 50.0, 160.0, 150.0], [6.25, 0.0, 0.0, 0.0]);
    overlap([100.0, 50.0, 160.0, 100.0], [37.5, 1.0, 0.5, 0.5]);
    overlap([100.0, 400.0, 500.0, 550.0], [-10.0, -0.5, 0.0, 0.0]);
    let no_work = [Some(0.0), None, None, None];
    check("comet/overlap", &[8, 0], &[100.0, 1.0, 100.0, 100.0], &no_work);
    check("comet/overlap", &[8, 100], &[0.0, 100.0, 0.0, 100.0], &[None; 4]);
    // Times of round trip, sends, receives and work: 15 delays of 1200 each.
    let injection = |vector_length, times: [f64; 4], expected: [Option<f64>; 3]| {
        check("model/injection", &[8, vector_length], &times, &expected);
    };
    injection(0, [1000.0, 1750.0, 2000.0, 0.0], [Some(50.0), None, None]);
    injection(9, [1000.0, 19_450.0, 19_600.0, 18_000.0], [None, Some(30.0), Some(40.0)]);
    // A delay that is shorter than a round trip.
    injection(9, [1000.0, 19_450.0, 19_600.0, 1500.0], [None; 3]);
    check("parkbench/comms2", &[1000], &[500.0], &[2e9, 4e9].map(Some));
    check("parkbench/comms2", &[0], &[500.0], &[None; 2]);
    check("parkbench/poly1", &[1000, 3], &[2000.0], &[Some(3e9)]);
    check("parkbench/poly1", &[0, 3], &[2000.0], &[None]);
    check("parkbench/poly1", &[1000, 3], &[0.0], &[None]);
    check("parkbench/synch1", &[], &[2000.0], &[Some(5e5)]);
    check("parkbench/synch1", &[], &[0.0], &[None]);
}

#[test]
fn messages_longer_than_any_memory_need_more_than_there_is() {
    let topology = Topology::hypercube(2);
    for info in all_kernels().iter().map(|kernel| kernel.info()) {
        let sizes = info.axes.iter().filter(|used| used.axis.kind == AxisKind::Size);
        for (used, value) in sizes.flat_map(|used| [62, 63].map(|bit| (used, 1 << bit))) {
            let case = Case::new(info, &vec![1; info.axes.len()]).with(used.axis, value);
            let bytes = (info.bytes_per_rank)(&case, &World::of(&topology));
            assert!(bytes >= value, "{}: {bytes}", case.label());
        }
    }
}

#[test]
fn an_operation_of_many_messages_moves_all_of_them() {
    let check = |id, n_ranks, values: &[u64], expected| {
        let info = kernel(id).info();
        let (case, topology) = (Case::new(info, values), Topology::hypercube(n_ranks));
        let found = (info.series[0].bytes_per_op)(&case, &World::of(&topology));
        assert_eq!(found, Some(expected), "{id}");
    };
    check("osu/bw", 2, &[64, 0, 1000], 64_000);
    check("osu/bibw", 2, &[8, 1, 1000], 16_000);
    check("osu/bw_persistent", 2, &[64, 0, 1000], 64_000);
    check("osu/bibw_persistent", 2, &[8, 1, 1000], 16_000);
    check("osu/mbw_mr", 5, &[1000, 0, 64], 128_000);
    check("osu/multi_lat", 5, &[1000], 1000);
    check("imb/uniband", 5, &[256, 1000], 512_000);
    check("imb/biband", 5, &[256, 1000], 1_024_000);
    check("model/bisection", 5, &[64, 1000], 256_000);
    check("imb-p2p/pingpong", 4, &[1000], 2000);
    check("imb-p2p/birandom", 4, &[1000], 8000);
    check("imb-p2p/stencil3d", 8, &[1000], 48_000);
    check("imb-p2p/halo", 5, &[1, 0, 0, 0, 1000], 4000);
    check("imb-p2p/halo", 5, &[2, 1, 0, 0, 1000], 4000);
    check("imb-p2p/halo", 8, &[1, 1, 1, 0, 1000], 12_000);
    check("skampi/master_worker_isend", 5, &[3, 1000], 2000);
    check("skampi/reduce_scatterv", 4, &[4, 0, 1000], 1000);
    check("parkbench/comms3", 2, &[100], 200);
    check("parkbench/comms3", 4, &[100], 1200);
    check("parkbench/comms3", 5, &[100], 2000);
}

#[test]
fn rates_agree_with_a_hand_computation() {
    let check = |id, n_ranks, values: &[u64], expected: &[(RateKind, f64)]| {
        let info = kernel(id).info();
        let (case, topology) = (Case::new(info, values), Topology::hypercube(n_ranks));
        let series = &info.series[0];
        let kinds = series.rates.iter().map(|rate| rate.kind);
        let amounts = series.amounts_per_op(&case, &World::of(&topology));
        assert_eq!(kinds.zip(amounts).collect::<Vec<_>>(), expected, "{id} on {n_ranks}");
    };
    let collective = |id, n_ranks, values: &[u64], algorithm, bus| {
        check(id, n_ranks, values, &[(RateKind::Algorithm, algorithm), (RateKind::Bus, bus)]);
    };
    // Sizes and factors of nccl-tests: S = 1000 of a vector, S = 4 x 1000 of parts.
    collective("imb/bcast", 4, &[0, 0, 0, 1000], 1000.0, 1000.0);
    collective("comet/broadcast", 4, &[1000], 1000.0, 1000.0);
    collective("naive/broadcast", 4, &[1000], 1000.0, 1000.0);
    collective("imb/reduce", 4, &[0, 0, 0, 0, 4, 0, 1000], 1000.0, 1000.0);
    collective("imb/allreduce", 4, &[0, 0, 4, 0, 1000], 1000.0, 1500.0);
    collective("comet/reduction", 4, &[125], 1000.0, 1500.0);
    collective("imb/reduce_scatter", 4, &[0, 0, 4, 0, 1000], 4000.0, 3000.0);
    collective("imb/reduce_scatter_block", 4, &[0, 0, 4, 0, 1000], 4000.0, 3000.0);
    collective("skampi/reduce_bcast", 4, &[4, 0, 1000], 1000.0, 1500.0);
    collective("skampi/gatherv_send_recv", 4, &[1000], 4000.0, 3000.0);
    // A vector that is shared out: S = 1000.
    collective("osu/reduce_scatter", 4, &[0, 0, 4, 0, 1000], 1000.0, 750.0);
    collective("skampi/reduce_scatterv", 4, &[4, 0, 1000], 1000.0, 750.0);
    collective("osu/reduce_scatter_block", 4, &[0, 0, 4, 0, 1000], 992.0, 744.0);
    collective("imb/gather", 4, &[0, 0, 0, 0, 1000], 4000.0, 3000.0);
    collective("imb/scatterv", 4, &[0, 0, 0, 0, 1000], 4000.0, 3000.0);
    collective("imb/allgather", 4, &[0, 0, 1000], 4000.0, 3000.0);
    collective("imb/alltoallv", 4, &[0, 0, 1000], 4000.0, 3000.0);
    // Nobody has a factor for prefix sums.
    check("imb/scan", 4, &[0, 0, 4, 0, 1000], &[(RateKind::Algorithm, 1000.0)]);
    check("comet/barrier", 4, &[], &[]);
    check("comet/echo", 4, &[1, 1000], &[]);
    let messages = |id, n_ranks, values: &[u64], n| {
        check(id, n_ranks, values, &[(RateKind::Messages, n)]);
    };
    messages("osu/bw", 2, &[64, 0, 1000], 64.0);
    messages("osu/bibw", 2, &[64, 0, 0], 128.0);
    messages("osu/mbw_mr", 5, &[1000, 0, 64], 128.0);
    messages("imb/uniband", 5, &[256, 1000], 512.0);
    messages("imb/biband", 5, &[256, 1000], 1024.0);
    messages("imb-p2p/pingpong", 4, &[1000], 2.0);
    messages("imb-p2p/pingping", 4, &[1000], 4.0);
    messages("imb-p2p/unirandom", 5, &[1000], 5.0);
    messages("imb-p2p/birandom", 5, &[1000], 10.0);
    messages("imb-p2p/corandom", 5, &[1000], 5.0);
    messages("imb-p2p/stencil2d", 4, &[1000], 16.0);
    messages("imb-p2p/stencil3d", 8, &[1000], 48.0);
    messages("imb-p2p/sendrecv_replace", 5, &[1000], 5.0);
    let of_cut = [(RateKind::Bisection, 256_000.0), (RateKind::Messages, 256.0)];
    check("model/bisection", 5, &[64, 1000], &of_cut);
}
