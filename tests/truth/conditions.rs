//! Conditions of a run: seeds and draws of noise, clocks that are coarse or differ, odd and large
//! numbers of ranks, on which every kernel proves that its data arrives.

use std::cell::Cell;

use comet_core::definition::Definition;
use comet_core::driver::Settings;
use comet_core::event::Measurement;
use comet_core::kernel::{
    AxisKind, AxisUse, Case, KernelInfo, LENGTH_BYTES, Profile, World, harness,
};
use comet_core::transport::{Source, Tag, Transport, Work};
use comet_sim::machine::{Machine, NoiseSource};

use super::bench::{Bench, choices, each_value_once, settings};
use super::machines;

/// `machine` with noise of every kind.
fn stormy(machine: Machine, seed: u64) -> Machine {
    let sources = [
        NoiseSource::Spike { probability: 0.02, mean_ps: 50_000_000 },
        NoiseSource::LogNormal { sigma: 0.02 },
        NoiseSource::Outlier { probability: 0.01, scale: 5.0 },
        NoiseSource::Ar1 { phi: 0.5, sigma: 0.01 },
        NoiseSource::Regimes { sojourn: 50.0, ratio: 1.2 },
        NoiseSource::StartUp { amplitude: 2.0, tau: 30.0 },
        NoiseSource::Detour { period_ps: 3_000_000_000, length_ps: 20_000_000 },
    ];
    machines::noisy(machine, seed, &sources)
}

/// The bits of all values that `n_ranks` ranks measure with some kernels.
fn bits(machine: &Machine, n_ranks: usize) -> Vec<u64> {
    let bench = Bench::new(machine, n_ranks);
    let cases = bench.cases(&[
        ("comet/echo", &[1, 100]),
        ("comet/echo", &[1, 4096]),
        ("comet/reduction", &[8]),
        ("comet/contention", &[8]),
        ("matrix/update_guard", &[8]),
        ("matrix/col_broadcast", &[8]),
    ]);
    let measurements = bench.measure(&cases, &settings(10, 2));
    let series = measurements.iter().flat_map(|measurement| &measurement.series);
    series.flat_map(|of_series| of_series.values_ns.iter().map(|ns| ns.to_bits())).collect()
}

#[test]
fn the_same_run_gives_the_same_bits_and_another_seed_gives_others() {
    for machine in [machines::flat(), machines::rendezvous(), machines::ipsc860()] {
        for n_ranks in [5, 8] {
            let [first, again, other] =
                [1, 1, 2].map(|seed| bits(&stormy(machine.clone(), seed), n_ranks));
            assert_eq!(first, again, "{n_ranks} ranks");
            assert_ne!(first, other, "{n_ranks} ranks");
        }
    }
}

/// Time at which rank 0 has its hundredth echo from rank 1, beside the steps of the other ranks.
fn end_of_echoes_ns(n_ranks: usize, others: impl Fn(&comet_sim::Sim)) -> u64 {
    let end_ns = Cell::new(0);
    Bench::new(&stormy(machines::flat(), 7), n_ranks).run(|t| {
        if t.rank() > 1 {
            return others(t);
        }
        let (peer, tag) = (1 - t.rank(), Tag::new(1));
        for _ in 0..100 {
            if t.rank() == 0 {
                t.blocked_send(peer, tag, &[0; 50]).unwrap();
            }
            t.blocked_recv(Source::Rank(peer), tag, &mut [0; 50]).unwrap();
            if t.rank() == 1 {
                t.blocked_send(peer, tag, &[0; 50]).unwrap();
            }
        }
        if t.rank() == 0 {
            end_ns.set(t.now_ns());
        }
    });
    end_ns.get()
}

#[test]
fn what_a_rank_draws_does_not_depend_on_other_ranks() {
    let alone = end_of_echoes_ns(2, |_| ());
    assert_eq!(end_of_echoes_ns(16, |_| ()), alone, "idle ranks");
    let busy = |t: &comet_sim::Sim| {
        let peer = t.rank() ^ 1;
        for n in 0..50 {
            t.compute(Work::Daxpy { n: 100 * n }, || ());
            t.blocked_exchange(peer, &[0; 9], Source::Rank(peer), &mut [0; 9], Tag::new(1))
                .unwrap();
        }
    };
    assert_eq!(end_of_echoes_ns(16, busy), alone, "busy ranks");
}

/// The iPSC/860 with a clock of this resolution, which takes so long to read.
fn coarse(resolution_ps: u64, call_cost_ps: u64) -> Machine {
    let mut machine = machines::ipsc860();
    machine.clock.resolution_ps = resolution_ps;
    machine.clock.call_cost_ps = call_cost_ps;
    machine
}

/// The medians of echoes, for which the driver chooses how often it repeats them.
fn echoes_ns(machine: &Machine) -> Vec<f64> {
    let bench = Bench::new(machine, 2);
    let cases = bench.cases(&[("comet/echo", &[1, 100]), ("comet/echo", &[1, 101])]);
    let mut settings = Settings::of(Profile::Quick);
    (settings.case_budget_ns, settings.slices.max_samples) = (20_000_000_000, 2);
    let median_ns = |measurement: &Measurement| measurement.series[0].summary.median;
    bench.measure(&cases, &settings).iter().map(median_ns).collect()
}

#[test]
fn coarse_clocks_give_the_same_times_through_repetitions() {
    let expected = [142_000.0, 197_410.0];
    assert_eq!(echoes_ns(&machines::ipsc860()), expected);
    // A clock of a quarter of a millisecond takes so long to read that the calibration sees its step.
    for machine in [coarse(1_000_000, 10_000), coarse(250_000_000, 250_000)] {
        for (found_ns, expected_ns) in echoes_ns(&machine).into_iter().zip(expected) {
            let share = found_ns / expected_ns;
            assert!((share - 1.0).abs() <= 0.01, "{share} times {expected_ns} ns");
        }
    }
}

/// The only measurement of a global sum of 8 values on 6 ranks.
fn global_sum(machine: &Machine) -> Measurement {
    let bench = Bench::new(machine, 6);
    let case = bench.case("comet/reduction", &[8]).expect("six ranks are enough");
    bench.measure(&[case], &settings(10, 1)).remove(0)
}

#[test]
fn clocks_that_differ_are_compared_by_messages() {
    let is_global = |machine: &Machine| {
        Bench::new(machine, 2).run(|t| {
            let differs = machine.clock.offset_spread_ps > 0 || machine.clock.drift_ppm > 0.0;
            assert_eq!(t.clock().is_global, !differs);
        });
    };
    let mut apart = machines::flat();
    is_global(&apart);
    apart.clock.offset_spread_ps = 1_000_000_000;
    is_global(&apart);
    let mut drifting = machines::flat();
    drifting.clock.drift_ppm = 50.0;
    is_global(&drifting);

    let (together, apart) = (global_sum(&machines::flat()), global_sum(&apart));
    assert_eq!(apart.series[0].definition, Definition::Completion);
    let pairs = apart.series[0].values_ns.iter().zip(&together.series[0].values_ns);
    for (apart_ns, together_ns) in pairs {
        // Both ways of a message take the same time here, and so the offset is found exactly.
        assert!((apart_ns - together_ns).abs() <= 3.0, "{apart_ns} {together_ns}");
    }
}

/// A small value of an axis, or some.
fn small(used: &AxisUse) -> Vec<u64> {
    match used.axis.kind {
        AxisKind::Choice => choices(used.axis),
        // The load of contention follows from echoes of two lengths.
        AxisKind::Size if used.axis == &LENGTH_BYTES => vec![8, 300],
        AxisKind::Size | AxisKind::Side => vec![7],
        // A ring.
        AxisKind::Count if axis_is_absent(used) => vec![0],
        _ => vec![1],
    }
}

/// True for a dimension that a ring does not have.
fn axis_is_absent(used: &AxisUse) -> bool {
    ["topo_2", "topo_3", "topo_4"].contains(&used.axis.name)
}

/// A message between any two ranks is a million of them between a thousand.
fn is_small(case: &Case, world: &World<'_>) -> bool {
    let bytes_per_op = case.info.series.iter().filter_map(|s| (s.bytes_per_op)(case, world)).max();
    let length_bytes = case.find(&LENGTH_BYTES).unwrap_or(u64::MAX);
    bytes_per_op.unwrap_or(0) / length_bytes.max(1) <= 100 * world.n_ranks as u64
}

/// No algorithm over messages, each of which is proven by its own tests, and no second length.
fn is_own(case: &Case) -> bool {
    let label = case.label();
    let is_short = case.find(&LENGTH_BYTES).is_none_or(|length| length == 8);
    !label.contains("algorithm=") || label.contains("algorithm=native") && is_short
}

/// Checks that all kernels but `without` have a case, and are verified twice; contention has none
/// where no routes share a link.
fn check(machine: &Machine, n_ranks: usize, without: &[&str]) {
    let bench = Bench::new(machine, n_ranks);
    let world = World::of(&bench.topology);
    let of_kernel = |info: &&'static KernelInfo| -> Vec<Case> {
        let mut cases = harness::cases(info, &bench.topology, small);
        cases.retain(|case| is_small(case, &world) && (n_ranks < 100 || is_own(case)));
        if n_ranks < 100 { cases } else { each_value_once(cases) }
    };
    // Simulated machines have no file system, and nobody starts their ranks.
    let has_all = |info: &&KernelInfo| info.suite != "imb-io" && !info.is_once;
    let infos = comet_suites::infos().into_iter().filter(has_all);
    let (some, none): (Vec<_>, Vec<_>) = infos.partition(|info| !of_kernel(info).is_empty());
    let mut none: Vec<String> = none.into_iter().map(KernelInfo::id).collect();
    none.retain(|id| id != "comet/contention" || world.cast().is_ok());
    assert_eq!(none, without, "{n_ranks} ranks");
    let cases: Vec<Case> = some.iter().flat_map(of_kernel).collect();
    assert_eq!(bench.measure(&cases, &settings(1, 1)).len(), cases.len(), "{n_ranks} ranks");
}

#[test]
fn all_kernels_verify_their_data_at_odd_rank_counts() {
    for machine in [machines::flat(), machines::rendezvous(), machines::ipsc860()] {
        // A prime number of ranks is one row of a mesh, and no torus.
        let pairs = ["imb-p2p/pingpong", "imb-p2p/pingping"];
        let tori = ["imb-p2p/stencil2d", "imb-p2p/stencil3d"];
        let meshes = ["matrix/transpose", "matrix/row_broadcast"];
        // Nor is it one of squares whose side is a power of two, and neither are 12 ranks.
        let halves = ["patterns/recursive_transpose"];
        check(&machine, 5, &[&meshes[..], &pairs, &tori, &halves].concat());
        check(&machine, 12, &halves);
    }
}

/// Kernels that have no case on this many ranks.
const TRANSPOSES: [&str; 2] = ["patterns/fft_transpose", "patterns/recursive_transpose"];

#[test]
fn all_kernels_verify_their_data_on_a_hundred_ranks() {
    check(&machines::rendezvous(), 100, &TRANSPOSES);
}

#[test]
fn all_kernels_verify_their_data_on_more_ranks_than_a_byte_counts() {
    let of_all = ["parkbench/comms3", "patterns/ring"];
    check(&machines::flat(), 272, &[of_all, TRANSPOSES].concat());
}
