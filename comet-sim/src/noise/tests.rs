//! Noise has the distributions that it should, and depends on nothing else.

use comet_stats::{mean, median};

use super::*;

const BUSY_PS: u64 = 1_000_000;

/// Time of an operation.
fn disturbed_ps(noise: &Noise, rank: usize, operation: u64, start_ps: u64, busy_ps: u64) -> u64 {
    let extra_ps = extra_ps(noise, rank, operation, start_ps, busy_ps);
    busy_ps.checked_add_signed(extra_ps).expect("no operation takes less than nothing")
}

fn noise(source: NoiseSource) -> Noise {
    Noise { seed: 11, sources: vec![source] }
}

/// The factors by which the first `n` operations of rank 5 take longer.
fn factors(source: NoiseSource, n: u64) -> Vec<f64> {
    let noise = noise(source);
    let factor = |i| disturbed_ps(&noise, 5, i, i * BUSY_PS, BUSY_PS) as f64 / BUSY_PS as f64;
    (0..n).map(factor).collect()
}

/// Correlation of values that have mean 0, `lag` operations apart.
fn correlation(values: &[f64], lag: usize) -> f64 {
    let products: Vec<_> = values.iter().zip(&values[lag..]).map(|(a, b)| a * b).collect();
    let squares: Vec<_> = values.iter().map(|value| value * value).collect();
    mean(&products) / mean(&squares)
}

#[track_caller]
fn assert_near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{found}, not {expected}");
}

#[test]
fn no_sources_disturb_nothing() {
    assert_eq!(disturbed_ps(&Noise::default(), 1, 2, 3, BUSY_PS), BUSY_PS);
}

#[test]
fn log_normal_factors_have_median_one_and_their_sigma() {
    let factors = factors(NoiseSource::LogNormal { sigma: 0.1 }, 50_000);
    assert_near(median(&factors).unwrap(), 1.0, 0.001);
    assert_near(mean(&factors), 0.005_f64.exp(), 0.001);
    let logs: Vec<_> = factors.iter().map(|factor| factor.ln().powi(2)).collect();
    assert_near(mean(&logs).sqrt(), 0.1, 0.001);
}

#[test]
fn spikes_hit_their_share_and_have_their_mean() {
    let source = NoiseSource::Spike { probability: 0.05, mean_ps: 2 * BUSY_PS };
    let factors = factors(source, 100_000);
    let hits: Vec<_> = factors.iter().copied().filter(|factor| *factor > 1.0).collect();
    assert_near(hits.len() as f64 / 100_000.0, 0.05, 0.002);
    assert_near(mean(&hits), 3.0, 0.05);
    assert_near(median(&hits).unwrap(), 1.0 + 2.0 * std::f64::consts::LN_2, 0.05);
}

#[test]
fn outliers_hit_their_share_by_their_scale() {
    let factors = factors(NoiseSource::Outlier { probability: 0.01, scale: 50.0 }, 100_000);
    let hits = factors.iter().filter(|factor| **factor == 50.0).count();
    assert_near(hits as f64 / 100_000.0, 0.01, 0.001);
    assert_eq!(factors.iter().filter(|factor| **factor == 1.0).count(), 100_000 - hits);
}

#[test]
fn autoregressive_factors_resemble_those_before() {
    for phi in [0.0, 0.5, 0.8, 0.95, -0.5] {
        let factors = factors(NoiseSource::Ar1 { phi, sigma: 0.05 }, 20_000);
        let logs: Vec<_> = factors.iter().map(|factor| factor.ln()).collect();
        let squares: Vec<_> = logs.iter().map(|log| log * log).collect();
        assert_near(mean(&squares).sqrt(), 0.05, 0.002 / (1.0 - phi.abs()).sqrt());
        assert_near(correlation(&logs, 1), phi, 0.02);
        assert_near(correlation(&logs, 2), phi * phi, 0.03);
    }
}

#[test]
fn regimes_last_as_long_as_they_should() {
    for sojourn in [1.0, 7.5, 150.0] {
        let n = 100_000;
        let factors = factors(NoiseSource::Regimes { sojourn, ratio: 1.2 }, n);
        let n_changes = factors.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert_near(n as f64 / n_changes as f64, sojourn, 0.01 * sojourn);
        assert_near(mean(&factors), 1.1, 0.01);
        assert!(factors.iter().all(|factor| [1.0, 1.2].contains(factor)));
    }
}

#[test]
fn ranks_are_in_regimes_of_their_own() {
    let noise = noise(NoiseSource::Regimes { sojourn: 100.0, ratio: 2.0 });
    let is_slow = |rank| disturbed_ps(&noise, rank, 0, 0, BUSY_PS) > BUSY_PS;
    let n_slow = (0..10_000).filter(|rank| is_slow(*rank)).count();
    assert_near(n_slow as f64, 5000.0, 150.0);
}

#[test]
fn the_first_operations_are_slower() {
    let factors = factors(NoiseSource::StartUp { amplitude: 3.0, tau: 10.0 }, 200);
    for (i, factor) in factors.iter().enumerate() {
        assert_near(*factor, 1.0 + 3.0 * (-(i as f64) / 10.0).exp(), 1e-6);
    }
}

#[test]
fn operations_do_not_run_inside_detours() {
    let (period_ps, length_ps) = (100, 30);
    let noise = noise(NoiseSource::Detour { period_ps, length_ps });
    for rank in 0..20 {
        // An operation of 1 ps takes longer by what is left of the detour in which it starts.
        let pause_ps = |t_ps| disturbed_ps(&noise, rank, t_ps, t_ps, 1) - 1;
        let is_open: Vec<bool> = (0..1000).map(|t_ps| pause_ps(t_ps) == 0).collect();
        assert!(
            is_open.windows(100).all(|period| period.iter().filter(|open| **open).count() == 70)
        );
        for (start_ps, busy_ps) in [(0, 1), (17, 70), (55, 71), (99, 500)] {
            let took_ps = disturbed_ps(&noise, rank, 0, start_ps, busy_ps);
            let end_ps = start_ps + took_ps;
            let n_open_ps = (start_ps..end_ps).filter(|t_ps| pause_ps(*t_ps) == 0).count();
            assert_eq!((n_open_ps as u64, pause_ps(end_ps - 1)), (busy_ps, 0));
        }
    }
}

#[test]
fn detours_take_their_share() {
    let noise = noise(NoiseSource::Detour { period_ps: 10_000_000, length_ps: 500_000 });
    let mut now_ps = 0;
    for operation in 0..10_000 {
        now_ps += disturbed_ps(&noise, 3, operation, now_ps, BUSY_PS);
    }
    assert_near(10_000.0 * BUSY_PS as f64 / now_ps as f64, 0.95, 0.001);
    assert_eq!(disturbed_ps(&noise, 3, 0, 0, 0), 0);
}

#[test]
fn what_sources_add_adds_up() {
    let outlier = NoiseSource::Outlier { probability: 1.0, scale: 2.5 };
    let start_up = NoiseSource::StartUp { amplitude: 1.0, tau: 1.0 };
    let detour = NoiseSource::Detour { period_ps: 10 * BUSY_PS, length_ps: 9 * BUSY_PS };
    let noise = |sources| Noise { seed: 1, sources };
    let both = noise(vec![outlier, start_up]);
    assert_eq!(disturbed_ps(&both, 0, 0, 0, BUSY_PS), BUSY_PS * 7 / 2);
    // Three and a half periods' worth of open time stretches over as many detours.
    let all = noise(vec![detour, outlier, start_up]);
    let took_ps = disturbed_ps(&all, 0, 0, 0, BUSY_PS);
    assert!((BUSY_PS * 61 / 2..=BUSY_PS * 79 / 2).contains(&took_ps), "{took_ps}");
}

#[test]
fn no_operation_takes_less_than_nothing() {
    let source = NoiseSource::LogNormal { sigma: 5.0 };
    let noise = Noise { seed: 1, sources: vec![source; 3] };
    let shortest_ps = (0..1000).map(|i| disturbed_ps(&noise, 0, i, 0, BUSY_PS)).min();
    assert_eq!(shortest_ps, Some(0));
}

#[test]
fn two_sources_of_a_kind_are_independent() {
    let source = NoiseSource::LogNormal { sigma: 0.1 };
    let both = Noise { seed: 11, sources: vec![source, source] };
    let excess = |i| disturbed_ps(&both, 5, i, 0, BUSY_PS) as f64 / BUSY_PS as f64 - 1.0;
    let squares: Vec<_> = (0..50_000).map(|i| excess(i).powi(2)).collect();
    assert_near(mean(&squares).sqrt(), 0.1 * 2_f64.sqrt(), 0.005);
}

#[test]
fn noise_depends_on_seed_rank_and_operation_alone() {
    let sources = vec![
        NoiseSource::LogNormal { sigma: 0.1 },
        NoiseSource::Ar1 { phi: 0.8, sigma: 0.1 },
        NoiseSource::Regimes { sojourn: 10.0, ratio: 1.5 },
        NoiseSource::Spike { probability: 0.5, mean_ps: BUSY_PS },
    ];
    let noise = |seed| Noise { seed, sources: sources.clone() };
    let times = |seed, rank| move |i| disturbed_ps(&noise(seed), rank, i, 0, BUSY_PS);
    let forwards: Vec<u64> = (0..100).map(times(1, 2)).collect();
    let mut backwards: Vec<u64> = (0..100).rev().map(times(1, 2)).collect();
    backwards.reverse();
    assert_eq!(forwards, backwards);
    assert_ne!(forwards, (0..100).map(times(2, 2)).collect::<Vec<_>>());
    assert_ne!(forwards, (0..100).map(times(1, 3)).collect::<Vec<_>>());
}

#[test]
fn noise_is_the_same_on_every_machine() {
    let check = |source, expected: [u64; 3]| {
        let noise = noise(source);
        let found = [0, 1, 1000].map(|i| disturbed_ps(&noise, 5, i, 0, BUSY_PS));
        assert_eq!(found, expected, "{source:?}");
    };
    check(NoiseSource::LogNormal { sigma: 0.1 }, [976_173, 948_035, 984_952]);
    check(NoiseSource::Ar1 { phi: 0.8, sigma: 0.1 }, [1_036_509, 996_675, 930_776]);
    check(NoiseSource::Spike { probability: 0.5, mean_ps: BUSY_PS }, [BUSY_PS, 2_146_426, BUSY_PS]);
    check(NoiseSource::StartUp { amplitude: 3.0, tau: 10.0 }, [4_000_000, 3_714_512, BUSY_PS]);
}

#[test]
fn messages_are_lost_with_their_probability() {
    let n_lost = |p| (0..100_000).filter(|i| lost(1, 2, *i, p)).count();
    assert_eq!((n_lost(0.0), n_lost(1.0)), (0, 100_000));
    assert_near(n_lost(0.02) as f64, 2000.0, 100.0);
}
