//! Times: what the kernels measure, through the driver, is what the law of the machine says, to the
//! nanosecond, on every rank and in every sample.

use comet_core::definition::Definition;
use comet_core::event::{Measurement, SeriesResult};
use comet_core::kernel::Case;
use comet_core::sample::Sample;
use comet_sim::machine::{Machine, Switching};

use super::bench::{Bench, settings};
use super::kernels::round;
use super::machines;
use super::oracle::readings_ps;
use super::script::Script;

/// Lengths of messages: around the switch of protocols at 100 bytes, and some that take long.
const LENGTHS: [u64; 6] = [0, 8, 100, 101, 4096, 20_000];
/// Lengths of vectors and dimensions of blocks, with messages of lengths such as those.
const VECTORS: [u64; 6] = [0, 1, 12, 13, 512, 2100];
const BLOCKS: [u64; 3] = [1, 12, 13];

const RANK_COUNTS: [usize; 6] = [2, 3, 4, 7, 8, 16];

/// The cases of all kernels that the ranks admit; contention needs the echoes before it.
fn cases(bench: &Bench) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |id: &str, values: &[u64]| cases.extend(bench.case(id, values));
    for n_bytes in LENGTHS {
        (0..=4).for_each(|hops| add("comet/echo", &[hops, n_bytes]));
        (1..=4).for_each(|hops| add("comet/exchange", &[hops, n_bytes]));
        add("comet/broadcast", &[n_bytes]);
        add("naive/broadcast", &[n_bytes]);
        add("comet/overlap", &[n_bytes, 30]);
        add("comet/overlap", &[n_bytes, 3000]);
        [0, 30, 3000].iter().for_each(|n_values| add("model/injection", &[n_bytes, *n_values]));
        add("parkbench/comms1", &[n_bytes]);
        add("parkbench/comms2", &[n_bytes]);
        // Ranks without a pair are in the next barrier already: where they are all alike, their
        // messages ask for a link at the same moment as those of the pairs.
        if bench.machine.network.switching != Some(Switching::CutThrough) {
            [1, 2, 4].iter().for_each(|n_pairs| add("model/pairs", &[*n_pairs, n_bytes]));
        }
        // Pairs of a round that share links ask for them at the same moment.
        if bench.machine.network.switching.is_none() {
            [1, 2, 5].iter().for_each(|round| add("health/pairs", &[*round, n_bytes]));
        }
        // Where a circuit ends that many messages wait for, they take its links at one moment, and
        // no law says who is first.
        if bench.machine.network.switching != Some(Switching::Circuit) {
            add("parkbench/comms3", &[n_bytes]);
        }
    }
    for n_values in VECTORS {
        add("comet/reduction", &[n_values]);
        add("naive/reduction", &[n_values]);
        add("parkbench/poly1", &[n_values, 3]);
        add("parkbench/poly3", &[n_values, 3]);
    }
    for n in BLOCKS {
        for id in ["update_guard", "transpose", "row_broadcast", "col_broadcast"] {
            add(&format!("matrix/{id}"), &[n]);
        }
        add("matrix/shift", &[0, n]);
        add("matrix/shift", &[1, n]);
    }
    add("comet/barrier", &[]);
    add("naive/barrier", &[]);
    add("parkbench/synch1", &[]);
    add("health/noise", &[1]);
    LENGTHS[..5].iter().for_each(|n_bytes| add("comet/contention", &[*n_bytes]));
    cases
}

fn check(machine: &Machine, n_ranks: usize) {
    let bench = Bench::new(machine, n_ranks);
    let cases = cases(&bench);
    let measurements = bench.measure(&cases, &settings(10, 3));
    assert_eq!(measurements.len(), cases.len());
    for measurement in measurements {
        check_case(&bench, &measurement);
    }
}

/// Checks every sample of every rank: all rounds are the same, and each is that of the oracle.
fn check_case(bench: &Bench, measurement: &Measurement) {
    let Measurement { case, pace, .. } = measurement;
    let mut scripts: Vec<_> =
        (0..bench.topology.n_ranks()).map(|rank| Script::new(bench, rank)).collect();
    scripts.iter_mut().for_each(|script| round(script, case, *pace));
    let programs: Vec<_> = scripts.into_iter().map(|script| script.steps).collect();
    let readings_ps = readings_ps(&bench.machine, &programs);
    let mut readings_ns: Vec<_> =
        readings_ps.into_iter().map(|of_rank| of_rank.into_iter().map(|ps| ps / 1000)).collect();
    for series in &measurement.series {
        let mut sample = |rank: usize| {
            let mut next_ns = || readings_ns[rank].next().expect("the rank reads its clock twice");
            Sample { start_ns: next_ns(), end_ns: next_ns(), ..Sample::default() }
        };
        let samples = |_| series.ranks.iter().map(|of_rank| sample(of_rank.rank)).collect();
        let expected: Vec<Vec<Sample>> = (0..pace.n_samples).map(samples).collect();
        let label =
            format!("{} of {} on {} ranks", series.series.name, case.label(), readings_ns.len());
        check_series(series, pace.repetitions, &expected, &label);
    }
    assert!(readings_ns.iter().all(|of_rank| of_rank.len() == 0), "{}", case.label());
}

fn check_series(series: &SeriesResult, repetitions: u32, expected: &[Vec<Sample>], label: &str) {
    let n_samples = series.values_ns.len();
    assert_eq!(n_samples, 10, "{label}");
    let found = |i: usize| -> Vec<Sample> { series.ranks.iter().map(|r| r.samples[i]).collect() };
    for (i, expected) in (0..n_samples).zip(expected.iter().cycle()) {
        assert_eq!(since_first(&found(i)), since_first(expected), "sample {i} of {label}");
        let value_ns = value_ns(series.series.definition, expected, repetitions);
        assert_eq!(series.values_ns[i], value_ns, "value {i} of {label}");
    }
}

/// Samples since the start of the first.
fn since_first(samples: &[Sample]) -> Vec<(u64, u64)> {
    let first_ns = samples.iter().map(|sample| sample.start_ns).min().unwrap_or(0);
    samples.iter().map(|sample| (sample.start_ns - first_ns, sample.end_ns - first_ns)).collect()
}

/// The value of one sample by its definition in `METHODOLOGY.md`.
fn value_ns(definition: Definition, of_ranks: &[Sample], repetitions: u32) -> f64 {
    let is_local = matches!(definition, Definition::LoopMean | Definition::MaxLocal);
    let longest_ns = if is_local {
        of_ranks.iter().map(|sample| sample.end_ns - sample.start_ns).max()
    } else {
        since_first(of_ranks).into_iter().map(|(_, end_ns)| end_ns).max()
    };
    let each_ns = longest_ns.expect("a rank samples") as f64 / f64::from(repetitions);
    if definition == Definition::HalfRoundTrip { each_ns / 2.0 } else { each_ns }
}

#[test]
fn times_are_exact_where_messages_go_at_once() {
    RANK_COUNTS.iter().for_each(|n_ranks| check(&machines::flat(), *n_ranks));
}

#[test]
fn times_are_exact_with_all_costs_of_a_message() {
    RANK_COUNTS.iter().for_each(|n_ranks| check(&machines::busy(), *n_ranks));
}

#[test]
fn times_are_exact_where_messages_wait_for_their_receive() {
    RANK_COUNTS.iter().for_each(|n_ranks| check(&machines::rendezvous(), *n_ranks));
}

#[test]
fn times_are_exact_where_messages_wait_for_a_buffer() {
    RANK_COUNTS.iter().for_each(|n_ranks| check(&machines::buffered(), *n_ranks));
}

#[test]
fn times_are_exact_where_messages_wait_for_circuits() {
    RANK_COUNTS.iter().for_each(|n_ranks| check(&machines::circuits(), *n_ranks));
}

#[test]
fn times_are_exact_where_messages_wait_for_busy_links() {
    RANK_COUNTS.iter().for_each(|n_ranks| check(&machines::cut_through(), *n_ranks));
}
