//! Times of operations that are held against each other, by operation and length.

use std::collections::{BTreeMap, BTreeSet};

use comet_core::kernel::ALGORITHM;

use crate::order::grouped;
use crate::record::{Over, Param, Point, Run, SampleSync};
use crate::runs::{Platform, RunRecords};

/// Name of the transport's own algorithm, which these are about.
const NATIVE: &str = "native";
/// Class of kernels that send no message, whose way of starting does not matter.
const LOCAL: &str = "compute";

/// The time of one operation in one launch.
#[derive(Clone)]
pub(crate) struct Reading<'a> {
    /// Number of the run, and of the launch in it.
    pub(crate) launch: (usize, u32),
    /// The figure to quote, for one operation.
    pub(crate) ns: f64,
    /// The least and the greatest sample.
    pub(crate) range_ns: [f64; 2],
    point: &'a Point,
    run: Option<&'a Run>,
}

impl<'a> Reading<'a> {
    /// True if `other` is measured by the same definition and from the same start.
    pub(crate) fn is_comparable(&self, other: &Reading<'_>) -> bool {
        let is_local = |reading: &Reading<'_>| &*reading.point.class == LOCAL;
        is_local(other) || (self.definition(), self.sync()) == (other.definition(), other.sync())
    }

    /// The definition and the start of the kernel in words.
    pub(crate) fn way(&self) -> String {
        let start = self.sync().map_or("an unknown start", SampleSync::words);
        format!("{} is measured by {}, {start}", self.point.id(), self.definition())
    }

    fn definition(&self) -> &str {
        self.point.value().map_or("no definition", |value| &value.definition)
    }

    fn sync(&self) -> Option<SampleSync> {
        self.point.measured().map(|measured| measured.plan.sync)
    }

    /// True if both are of one run, in which slow drift affects both alike.
    pub(crate) fn shares_run(&self, other: &Reading<'a>) -> bool {
        let id = |run: Option<&'a Run>| run.map(|run| &*run.run_id);
        id(self.run) == id(other.run)
    }

    /// True if it is a time of a simulation.
    pub(crate) fn is_virtual(&self) -> bool {
        self.run.is_some_and(|run| run.clock.is_virtual)
    }

    /// Cost of a reading of the clock, in ns.
    pub(crate) fn clock_ns(&self) -> f64 {
        self.run.and_then(|run| run.clock.overhead_ns).unwrap_or(0.0)
    }

    /// Operations between two readings of the clock.
    pub(crate) fn repetitions(&self) -> u32 {
        self.point.measured().map_or(1, |measured| measured.reps.inner)
    }
}

/// Readings by operation and length.
#[derive(Default)]
pub(crate) struct Times<'a>(BTreeMap<String, BTreeMap<u64, Vec<Reading<'a>>>>);

impl<'a> Times<'a> {
    /// True if there are times of the operation `id`.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.0.contains_key(id)
    }

    /// The lengths of the operation `id`, ascending.
    pub(crate) fn lengths(&self, id: &str) -> impl Iterator<Item = u64> {
        self.0.get(id).into_iter().flat_map(|lengths| lengths.keys().copied())
    }

    /// The readings of the operation `id` at `length`.
    pub(crate) fn of(&self, id: &str, length: u64) -> Option<&[Reading<'a>]> {
        self.0.get(id)?.get(&length).map(Vec::as_slice)
    }

    /// Adds a reading; of several of one launch the first counts.
    fn add(&mut self, id: String, length: u64, reading: Reading<'a>) {
        let readings = self.0.entry(id).or_default().entry(length).or_default();
        if readings.iter().all(|other| other.launch != reading.launch) {
            readings.push(reading);
        }
    }
}

/// The times of the operations `known` in `runs` by platform and number of ranks.
pub(crate) fn by_world<'a>(
    runs: &'a [RunRecords],
    known: &BTreeSet<&str>,
) -> Vec<((Platform, u64), Times<'a>)> {
    // The units of a suite are runs of their own, and count as one.
    let of_suite = |run: &'a RunRecords| {
        let of = run.run.as_ref()?.of_suite.as_ref()?;
        Some((run.path.as_deref(), &*of.sha256))
    };
    let number = |index: usize| {
        let own = of_suite(&runs[index])?;
        runs.iter().position(|run| of_suite(run) == Some(own))
    };
    let all = runs.iter().enumerate();
    let readings = all.flat_map(|(index, run)| of_run(number(index).unwrap_or(index), run, known));
    let mut worlds = Vec::new();
    for (world, readings) in grouped(readings) {
        let mut times = Times::default();
        readings.into_iter().for_each(|(id, length, reading)| times.add(id, length, reading));
        worlds.push((world, times));
    }
    worlds
}

/// Platform and number of ranks of a reading, its operation and its length.
type Placed<'a> = ((Platform, u64), (String, u64, Reading<'a>));

fn of_run<'a>(number: usize, run: &'a RunRecords, known: &BTreeSet<&str>) -> Vec<Placed<'a>> {
    let platform = run.platform();
    // Some launches of a point do not count: see the launches.
    let keys: BTreeSet<&str> = run.points.iter().map(|point| &*point.key).collect();
    let of_launches = run.launches.iter().filter(|point| keys.contains(&*point.key));
    let alone = run.points.iter().filter(|point| point.launches.is_none());
    let placed = |point: &'_ Point| -> Option<(u64, u64, f64, [f64; 2])> {
        let is_other = |name: &Param| !matches!(name, Param::Label(label) if label == NATIVE);
        if point.params.get(ALGORITHM).is_some_and(is_other) {
            return None;
        }
        let ns = point.quoted_ns()?;
        let range_ns = point.time_ns().map_or([ns; 2], |time_ns| [time_ns.min, time_ns.max]);
        Some((point.params.ranks()?, point.on(Over::Message)?, ns, range_ns))
    };
    let reading = |point| {
        let id = Point::operation(point);
        let (n_ranks, length, ns, range_ns) = placed(point).filter(|_| known.contains(&*id))?;
        let launch = (number, point.launch.unwrap_or(0));
        let reading = Reading { launch, ns, range_ns, point, run: run.run.as_deref() };
        Some(((platform.clone(), n_ranks), (id, length, reading)))
    };
    of_launches.chain(alone).filter_map(reading).collect()
}
