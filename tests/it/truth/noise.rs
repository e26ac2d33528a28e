//! Noise: the same run gives the same bits, another seed gives others, and what one rank draws does
//! not depend on what others do.

use std::cell::Cell;

use comet_core::transport::{Source, Tag, Transport, Work};
use comet_sim::machine::{Machine, NoiseSource};

use super::bench::{Bench, settings};
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
