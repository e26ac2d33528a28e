//! Runs of the suite `health` on ranks that take as long as a test says.

use std::sync::LazyLock;

use comet_core::rounds;

use crate::fixture;
use crate::older::described;
use crate::record::{Param, Params, Point, RankEntry, Run};
use crate::runs::{RunRecords, read_runs};

const N_SAMPLES: usize = 4;

/// A run in which each two of so many ranks take the one-way time of 8 bytes that `one_way_ns`
/// says, on hosts that nobody knows.
pub(crate) fn pairs(n_ranks: usize, one_way_ns: impl Fn(usize, usize) -> usize) -> RunRecords {
    let mut records = blank(n_ranks);
    for round in 1..=rounds::count(n_ranks) {
        let partner = |rank: &usize| rounds::partner(*rank, n_ranks, round);
        let of_rank = |rank| Some((rank, partner(&rank)?));
        let met: Vec<(usize, usize)> = (0..n_ranks).filter_map(of_rank).collect();
        let round_trips = met.iter().map(|(rank, peer)| {
            let round_trip_ns = 2 * one_way_ns(*rank.min(peer), *rank.max(peer)) as u64;
            (*rank, [round_trip_ns; N_SAMPLES])
        });
        let params = [("round", round as u64), ("length_bytes", 8), ("procs", n_ranks as u64)];
        records.points.push(point("health/pairs", &params, round_trips.collect()));
    }
    records
}

/// Adds the pairs of `other` to `records`, as messages of so many bytes.
pub(crate) fn add_length(records: &mut RunRecords, length_bytes: u64, mut other: RunRecords) {
    other.points.iter_mut().for_each(|point| set(point, "length_bytes", length_bytes));
    records.points.append(&mut other.points);
}

/// A point of `health/noise` in which rank `r` takes the times `of_rank(r)` for its work.
pub(crate) fn noise(n_ranks: usize, of_rank: impl Fn(usize) -> [u64; N_SAMPLES]) -> Point {
    let params = [("part", 1), ("procs", n_ranks as u64)];
    point("health/noise", &params, (0..n_ranks).map(|rank| (rank, of_rank(rank))).collect())
}

/// A point of `comet/barrier` from which rank `r` is released after `of_rank(r)`.
pub(crate) fn barrier(n_ranks: usize, of_rank: impl Fn(usize) -> u64) -> Point {
    let times = (0..n_ranks).map(|rank| (rank, [of_rank(rank); N_SAMPLES]));
    let barrier = point("comet/barrier", &[("procs", n_ranks as u64)], times.collect());
    described(Point { class: "sync".into(), ..barrier })
}

pub(crate) fn set(point: &mut Point, name: &str, value: u64) {
    let param = point.params.0.iter_mut().find(|(other, _)| other == name);
    param.expect("the point has it").1 = Param::Number(value);
}

pub(crate) fn run(records: &mut RunRecords) -> &mut Run {
    records.run.as_deref_mut().expect("a run was recorded")
}

/// Puts the ranks of `records` on hosts, the same number of them on each.
pub(crate) fn on_hosts(records: &mut RunRecords, ranks_per_host: usize) {
    for entry in &mut run(records).world.ranks {
        entry.node = Some(format!("node{}", entry.rank / ranks_per_host));
    }
}

/// A small run with every kind of record, from which the others are made.
static TEMPLATE: LazyLock<RunRecords> = LazyLock::new(|| {
    let folder = fixture::Folder::new();
    read_runs(&fixture::record_run(&folder)).expect("it was written").remove(0)
});

fn blank(n_ranks: usize) -> RunRecords {
    let mut records = RunRecords { run: TEMPLATE.run.clone(), ..RunRecords::default() };
    let world = &mut run(&mut records).world;
    let first = RankEntry { node: None, ..world.ranks[0].clone() };
    world.size = n_ranks;
    world.ranks = (0..n_ranks).map(|rank| RankEntry { rank, ..first.clone() }).collect();
    records
}

/// A verified point of the kernel `id`, with the times of one operation on the ranks.
fn point(
    id: &'static str,
    params: &[(&str, u64)],
    times_ns: Vec<(usize, [u64; N_SAMPLES])>,
) -> Point {
    let (suite, kernel) = id.split_once('/').expect("an id is suite/name");
    let template = TEMPLATE.points.iter().find(|point| point.measured().is_some());
    let mut template = template.expect("some points have samples").clone();
    let measured = template.measured_mut().unwrap();
    measured.reps.inner = 1;
    let samples = measured.samples.as_mut().expect("they were not stripped");
    samples.ranks = times_ns.iter().map(|(rank, _)| *rank).collect();
    samples.shape = [times_ns.len(), N_SAMPLES];
    samples.data = times_ns.iter().flat_map(|(_, times_ns)| *times_ns).collect();
    let param = |(name, value): &(&str, u64)| ((*name).to_owned(), Param::Number(*value));
    described(Point {
        suite: suite.into(),
        kernel: kernel.into(),
        params: Params(params.iter().map(param).collect()),
        ..template
    })
}
