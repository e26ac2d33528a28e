//! Comparisons of simulated launches: each has noise of its own, and the truth is in the machine.

use comet_core::event::Measurement;
use comet_sim::machine::{Machine, NoiseSource};
use comet_stats::compare::{Launches, MARGIN, Verdict};

use super::bench::{Bench, machine, settings};
use super::machines;

/// Comparisons of twelve points.
const N_COMPARISONS: u64 = 30;
/// Launches of one side.
const N_LAUNCHES: u64 = 5;
/// Lengths of echoes: six of each protocol.
const LENGTHS: [u64; 12] = [0, 1, 8, 64, 128, 256, 1024, 2048, 4096, 8192, 16_384, 65_536];
/// Number of them that belong to the protocol of short messages.
const N_SHORT: usize = 6;

/// A machine whose long messages take `change` times as long. Launches differ by 5 %: the standard
/// deviation of one message, of which an echo is two.
fn noisy(change: f64, seed: u64) -> Machine {
    let (t0_us, per_byte_ns) = (15.0 * change, 2.0 * change);
    let lines = format!(
        "topology = {{ kind = \"flat\" }}\n\
         [[protocol]]\nup_to = \"512 B\"\nkind = \"eager\"\nt0 = \"10 us\"\nper_byte = \"8 ns/B\"\n\
         [[protocol]]\nkind = \"eager\"\nt0 = \"{t0_us} us\"\nper_byte = \"{per_byte_ns} ns/B\"\n",
    );
    machines::noisy(machine(&lines), seed, &[NoiseSource::LogNormal { sigma: 0.07 }])
}

/// The logarithm of each echo in the launch number `seed`.
fn launch(change: f64, seed: u64) -> Vec<f64> {
    let bench = Bench::new(&noisy(change, seed), 2);
    let cases = LENGTHS.map(|n| bench.case("comet/echo", &[1, n]).expect("two ranks echo"));
    let measurements = bench.measure(&cases, &settings(1, 1));
    let quoted = |m: &Measurement| m.series[0].quoted_ns.expect("it is quoted");
    measurements.iter().map(|measurement| quoted(measurement).ln()).collect()
}

/// One comparison for each length, of which the long ones have changed; `number` chooses the seeds.
fn comparison(number: u64) -> Vec<Launches> {
    let first = 2 * N_LAUNCHES * number + 1;
    let side = |change: f64, first: u64| -> Vec<Vec<f64>> {
        (first..first + N_LAUNCHES).map(|seed| launch(change, seed)).collect()
    };
    let (base, new) = (side(1.0, first), side(1.2, first + N_LAUNCHES));
    let of = |side: &[Vec<f64>], index: usize| side.iter().map(|launch| launch[index]).collect();
    let point = |index| Launches { base: of(&base, index), new: of(&new, index), is_paired: false };
    (0..LENGTHS.len()).map(point).collect()
}

/// The share of `points` that are called slower.
fn slower<'a>(points: impl Iterator<Item = &'a Launches>) -> f64 {
    let verdicts = points.map(|point| point.difference().expect("there are launches"));
    let slower: Vec<bool> =
        verdicts.map(|found| found.verdict(MARGIN) == Verdict::Slower).collect();
    slower.iter().filter(|is_slower| **is_slower).count() as f64 / slower.len() as f64
}

#[test]
fn messages_that_take_a_fifth_longer_are_found_and_others_rarely_called_slower() {
    let points: Vec<_> = (0..N_COMPARISONS).map(comparison).collect();
    let unchanged = slower(points.iter().flat_map(|of_one| &of_one[..N_SHORT]));
    let changed = slower(points.iter().flat_map(|of_one| &of_one[N_SHORT..]));
    assert!(unchanged <= 0.01 && changed >= 0.90, "{unchanged} and {changed} are called slower");
    let points = points.iter().flatten();
    let deviations: Vec<f64> =
        points.map(|point| point.deviation().expect("there are launches")).collect();
    let mean = deviations.iter().sum::<f64>() / deviations.len() as f64;
    assert!((0.03..0.07).contains(&mean), "launches are to differ by 5 %, and do by {mean}");
}
