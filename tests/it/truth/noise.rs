//! Noise: the same run gives the same bits, another seed gives others, what one rank draws does not
//! depend on what others do, and medians stay true where means do not.

use std::cell::Cell;

use comet_core::event::Measurement;
use comet_core::kernel::Case;
use comet_core::transport::{Source, Tag, Transport, Work};
use comet_sim::machine::{Machine, NoiseSource};

use super::bench::{Bench, settings};
use super::machines;

const SPIKES: NoiseSource = NoiseSource::Spike { probability: 0.02, mean_ps: 50_000_000 };

/// `machine` with these sources of noise.
fn noisy(mut machine: Machine, seed: u64, sources: &[NoiseSource]) -> Machine {
    machine.noise.seed = seed;
    machine.noise.sources = sources.to_vec();
    machine
}

/// A machine with noise of every kind.
fn stormy(machine: Machine, seed: u64) -> Machine {
    let sources = [
        SPIKES,
        NoiseSource::LogNormal { sigma: 0.02 },
        NoiseSource::Outlier { probability: 0.01, scale: 5.0 },
        NoiseSource::Ar1 { phi: 0.5, sigma: 0.01 },
        NoiseSource::Regimes { sojourn: 50.0, ratio: 1.2 },
        NoiseSource::StartUp { amplitude: 2.0, tau: 30.0 },
        NoiseSource::Detour { period_ps: 3_000_000_000, length_ps: 20_000_000 },
    ];
    noisy(machine, seed, &sources)
}

/// The bits of all values that `n_ranks` ranks measure with some kernels.
fn bits(machine: &Machine, n_ranks: usize) -> Vec<u64> {
    let bench = Bench::new(machine, n_ranks);
    let cases = [
        bench.case("comet/echo", &[1, 100]),
        bench.case("comet/echo", &[1, 4096]),
        bench.case("comet/reduction", &[8]),
        bench.case("comet/contention", &[8]),
        bench.case("matrix/update_guard", &[8]),
        bench.case("matrix/col_broadcast", &[8]),
    ];
    let cases: Vec<Case> = cases.into_iter().flatten().collect();
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

/// One message by median and by mean, of echoes over one link of a noisy iPSC/860, as shares of the
/// true time.
fn medians_and_means(source: NoiseSource) -> Vec<[f64; 2]> {
    let bench = Bench::new(&noisy(machines::ipsc860(), 42, &[source]), 2);
    let cases = [0, 64, 1024, 16_384].map(|n_bytes| bench.case("comet/echo", &[1, n_bytes]));
    let cases: Vec<Case> = cases.into_iter().flatten().collect();
    let share = |Measurement { case, series, .. }: &Measurement| {
        let n_bytes = case.values().nth(1).expect("echo has a length").1 as f64;
        let law_ns = if n_bytes <= 100.0 { [79_000.0, 630.0] } else { [156_000.0, 410.0] };
        let true_ns = law_ns[0] + law_ns[1] * n_bytes;
        [series[0].summary.median / true_ns, series[0].summary.mean / true_ns]
    };
    let settings = settings(1000, 1);
    bench.measure(&cases, &settings).iter().map(share).collect()
}

/// Checks that medians are off by at most `share` where means are off by more.
fn check_median(probability: f64, mean_ps: u64, share: f64) {
    for [median, mean] in medians_and_means(NoiseSource::Spike { probability, mean_ps }) {
        assert!((median - 1.0).abs() <= share, "median {median} times the truth");
        assert!(mean - 1.0 > (median - 1.0).abs(), "mean {mean}, median {median} times the truth");
    }
}

#[test]
fn the_median_of_echoes_is_true_in_spite_of_spikes() {
    check_median(0.02, 50_000_000, 0.002);
    check_median(0.05, 200_000_000, 0.005);
}

#[test]
fn the_mean_of_echoes_is_off_by_the_spikes() {
    let startup = medians_and_means(SPIKES)[0];
    assert!(startup[1] > 1.002, "{startup:?}");
}
