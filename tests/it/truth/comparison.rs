//! Comparisons of simulated launches: each has noise of its own, and the truth is in the machine.

use comet_core::kernel::Case;
use comet_sim::machine::{Machine, NoiseSource};
use comet_stats::compare::{Launches, MARGIN, Verdict, adjusted};

use super::bench::{Bench, machine, settings};

/// Standard deviation of the logarithm of one message. An echo is two, of which launches measure
/// one alone, so that they differ by 5 %.
const SIGMA: f64 = 0.07;
/// Launches of one side.
const N_LAUNCHES: u64 = 5;
/// Lengths of echoes: six of each protocol.
const LENGTHS: [u64; 12] = [0, 1, 8, 64, 128, 256, 1024, 2048, 4096, 8192, 16_384, 65_536];
/// Number of them that belong to the protocol of short messages.
const N_SHORT: usize = 6;

/// A machine whose long messages take `change` times as long.
fn bench(change: f64) -> Bench {
    let long = |number: f64| change * number;
    let lines = format!(
        "[topology]\nkind = \"flat\"\n\
         [[protocol]]\nup_to = \"512 B\"\nkind = \"eager\"\nt0 = \"10 us\"\nper_byte = \"8 ns/B\"\n\
         [[protocol]]\nkind = \"eager\"\nt0 = \"{} us\"\nper_byte = \"{} ns/B\"\n",
        long(15.0),
        long(2.0)
    );
    Bench::new(&machine(&lines), 2)
}

/// The logarithm of each echo in the launch number `seed`.
fn launch(bench: &Bench, seed: u64) -> Vec<f64> {
    let mut machine: Machine = bench.machine.clone();
    machine.noise.seed = seed;
    machine.noise.sources = vec![NoiseSource::LogNormal { sigma: SIGMA }];
    let bench = Bench { machine, topology: bench.topology.clone() };
    let cases = LENGTHS.map(|n| bench.case("comet/echo", &[1, n]).expect("two ranks echo"));
    let measurements = bench.measure(&cases as &[Case], &settings(1, 1));
    let quoted = |m: &comet_core::event::Measurement| m.series[0].quoted_ns.expect("it is quoted");
    measurements.iter().map(|measurement| quoted(measurement).ln()).collect()
}

/// One comparison for each length; `number` chooses the seeds.
fn comparison(change: f64, number: u64) -> Vec<Launches> {
    let first = 2 * N_LAUNCHES * number + 1;
    let side = |change: f64, first: u64| -> Vec<Vec<f64>> {
        let bench = bench(change);
        (first..first + N_LAUNCHES).map(|seed| launch(&bench, seed)).collect()
    };
    let (base, new) = (side(1.0, first), side(change, first + N_LAUNCHES));
    let of = |side: &[Vec<f64>], index: usize| side.iter().map(|launch| launch[index]).collect();
    let point = |index| Launches { base: of(&base, index), new: of(&new, index), is_paired: false };
    (0..LENGTHS.len()).map(point).collect()
}

fn verdict(point: &Launches) -> Verdict {
    point.difference().expect("there are launches").verdict(MARGIN)
}

/// The share of `points` with this verdict.
fn share(points: &[Launches], wanted: Verdict) -> f64 {
    points.iter().filter(|point| verdict(point) == wanted).count() as f64 / points.len() as f64
}

#[test]
fn launches_of_one_machine_are_rarely_called_slower() {
    let points: Vec<Launches> = (0..50).flat_map(|number| comparison(1.0, number)).collect();
    let found = share(&points, Verdict::Slower);
    assert!(found <= 0.01, "{found} of {} points", points.len());
    let deviations = points.iter().map(|point| point.deviation().expect("there are launches"));
    let mean = deviations.sum::<f64>() / points.len() as f64;
    assert!((0.03..0.07).contains(&mean), "launches are to differ by 5 %, and do by {mean}");
}

#[test]
fn messages_that_take_a_fifth_longer_are_found() {
    let points: Vec<Launches> =
        (0..30).flat_map(|number| comparison(1.2, number).split_off(N_SHORT)).collect();
    let found = share(&points, Verdict::Slower);
    assert!(found >= 0.90, "{found} of {} points", points.len());
}

#[test]
fn few_discoveries_are_false() {
    let mut n_found = 0;
    let false_share = |number: u64| {
        let points = comparison(1.12, number);
        let p: Vec<f64> = points.iter().map(|point| point.difference().unwrap().p).collect();
        let is_found = adjusted(&p).into_iter().map(|q| q <= 0.05);
        let found: Vec<usize> = is_found
            .enumerate()
            .filter(|(_, is_found)| *is_found)
            .map(|(index, _)| index)
            .collect();
        n_found += found.len();
        let n_false = found.iter().filter(|index| **index < N_SHORT).count();
        n_false as f64 / found.len().max(1) as f64
    };
    let mean = (0..40).map(false_share).sum::<f64>() / 40.0;
    assert!(mean <= 0.05, "{mean} of all discoveries are false");
    assert!(n_found > 40, "{n_found} of 240 changes were found");
}
