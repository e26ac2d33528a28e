//! Launches of one run as one figure each: the ranks are started several times, and what changes with
//! each start (memory, cores, connections) is in the interval.
//!
//! ```text
//!   launch 1 ── point, point, …  ┐
//!   launch 2 ── point, point, …  ├─ by key ─► one point: median of the launches, interval from one
//!   launch 3 ── point, point, …  ┘            launch to the next, variance between and within them
//! ```

mod agreed;
mod merge;

use std::collections::BTreeMap;
use std::io::Write;

use crate::environment::{Warning, stolen};
use crate::format::write_line;
use crate::glance::glance;
use crate::health;
use crate::models::models;
use crate::odd::odd;
use crate::places::{self, Place};
use crate::read::{ReadError, parse_records};
use crate::record::{End, EndStatus, Point, Record, Run};
use crate::runs::{RunRecords, split};
use crate::sink::{RecordSink, Stream};
use crate::verdict::{Tally, WANTED, half_width};
use crate::words;

/// Launches that an interval wants to be worth something, where more were taken and do not count: of
/// two it is three times as wide as of three.
const FEWEST: u32 = 3;

/// Writer of the records of launches into `out` for [`Concluded::of`], without their samples unless
/// it `keeps_samples` or outliers follow from them.
pub fn carry<'a>(out: Box<dyn Write + 'a>, keeps_samples: bool) -> Box<dyn RecordSink + 'a> {
    Stream::boxed(out, false, move |record, mut out| match record {
        Record::Launch(point) if !keeps_samples && !health::needs_samples(point) => {
            write_line(&mut out, &Record::Launch(Box::new(point.without_samples())))
        }
        other => write_line(&mut out, other),
    })
}

/// Seed of the launch `number` of a run whose seed is `of_run`: far from those of other runs, whose
/// seeds often follow each other.
pub fn seed(of_run: u64, number: u32) -> u64 {
    of_run.wrapping_add(u64::from(number.saturating_sub(1)) << 32)
}

/// A number of launches: `1 launch`, `2 launches`.
pub fn count(n: usize) -> String {
    words::count(n, "launch")
}

/// Records of a run whose launches are over, or so far.
#[derive(Debug, Default)]
pub struct Concluded {
    /// Records of its launches: its `run`, and events.
    pub head: Vec<Record>,
    /// Its points, their models, and its `end`; the last two only if the last launch ended in order.
    pub tail: Vec<Record>,
    /// Ids of the kernels that start after a barrier, in all launches that follow.
    pub after_barrier: Vec<String>,
}

impl Concluded {
    /// The records that the launches make whose own a [`carry`] has written as `text`. Points are
    /// held against `target`, half of the width of an interval relative to its figure; `reason` is
    /// that of an end before the last launch.
    ///
    /// # Errors
    /// If `text` holds something else.
    pub fn of(text: &[u8], target: Option<f64>, reason: Option<&str>) -> Result<Self, ReadError> {
        Self::make(text, target, reason, true)
    }

    /// The same between two launches, without models and oddities.
    ///
    /// # Errors
    /// If `text` holds something else.
    pub fn so_far(text: &[u8], target: Option<f64>) -> Result<Self, ReadError> {
        Self::make(text, target, None, false)
    }

    fn make(
        text: &[u8],
        target: Option<f64>,
        reason: Option<&str>,
        is_last: bool,
    ) -> Result<Self, ReadError> {
        let records = parse_records(text)?.records;
        let partial = records.iter().find_map(|record| match record {
            Record::End(end) if end.status != EndStatus::Complete => Some(end.clone()),
            _ => None,
        });
        let virtual_s = |record: &Record| match record {
            Record::End(end) => end.virtual_s,
            _ => None,
        };
        let virtual_s = records.iter().filter_map(virtual_s).reduce(|a, b| a + b);
        let Some(mut run) = split(records).pop() else {
            return Ok(Self::default());
        };
        for point in &mut run.points {
            hold_against(point, target);
        }
        let facts = run.run.clone().map(Record::Run).into_iter();
        let head = facts.chain(run.events.iter().cloned().map(Record::Event)).collect();
        let points = run.points.iter().map(|point| Record::Point(Box::new(point.clone())));
        let mut tail: Vec<Record> = points.collect();
        if let Some(end) = &run.end {
            let fitted = if is_last { &run.points[..] } else { &[] };
            let made = models(&fitted.iter().collect::<Vec<_>>(), &[]).into_iter();
            tail.extend(made.map(|model| Record::Model(Box::new(model))));
            let given_up = agreed::given_up(&run.launches).into_iter();
            tail.extend(given_up.map(|of| Record::Event(of.event(end.run_id.clone(), end.wall_s))));
            let tally = Tally::over(run.run.as_deref(), &run.points);
            tail.extend(warnings(&run, &tally, end));
            let mut end = Box::new(End { points: tally.counts, virtual_s, ..end.clone() });
            // A launch that ended early lacks cases, and those that follow measure no others.
            if let Some(partial) = partial {
                (end.status, end.reason) = (partial.status, partial.reason);
            }
            if let Some(reason) = reason {
                (end.status, end.reason) = (EndStatus::Partial, Some(reason.into()));
            }
            end.verdict = tally.verdict(end.status, end.reason.as_deref());
            let facts = run.run.as_deref();
            (end.glance, end.odd) = (glance(facts, &run.points), odd(facts, fitted));
            tail.push(Record::End(end));
        }
        let after_barrier = agreed::after_barrier(run.points.iter());
        Ok(Self { head, tail, after_barrier })
    }

    /// The points.
    pub fn points(&self) -> impl Iterator<Item = &Point> {
        self.tail.iter().filter_map(|record| match record {
            Record::Point(point) => Some(&**point),
            _ => None,
        })
    }

    /// True if `point`, of `n` launches, lacks some: fewer than three count, or they started in
    /// windows while the kernel has none any more.
    pub fn lacks_launches(&self, point: &Point, n: u32) -> bool {
        let n = n.min(FEWEST);
        let n_counted = point.launches.as_ref().map_or(0, |launches| launches.slices.len());
        let is_left_over = || agreed::has_window(point) && self.after_barrier.contains(&point.id());
        n_counted < n as usize || is_left_over()
    }
}

/// Notes whether the interval of `point` is as narrow as `target` wants it, or to 5 %.
fn hold_against(point: &mut Point, target: Option<f64>) {
    let (half_width, target) = (half_width(point), target.unwrap_or(WANTED));
    let Some(measured) = point.measured_mut() else { return };
    if let Some(quality) = &mut measured.quality {
        quality.converged = half_width.map(|half_width| half_width <= target);
    }
}

/// Warnings about all launches of `run`, whose points are in `tally`.
fn warnings<'a>(
    run: &'a RunRecords,
    tally: &Tally,
    end: &'a End,
) -> impl Iterator<Item = Record> + use<'a> {
    let before = run.run.as_ref().and_then(|run| run.noise.as_ref());
    let is_real = run.run.as_ref().is_some_and(|run| !run.clock.is_virtual);
    let noise = before.zip(end.noise.as_ref()).filter(|_| is_real);
    let stolen = noise.and_then(|(before, after)| stolen(before, after));
    let found = stolen.into_iter().chain(tally.warnings()).chain(two_speeds(&run.launches));
    found.map(|warning| Record::Event(warning.event(end.run_id.clone(), end.wall_s)))
}

/// That figures are those at one time of a cache line, where launches had several.
fn two_speeds(of_launches: &[Point]) -> Option<Warning> {
    let lines: Vec<[f64; 2]> = of_launches.iter().filter_map(places::line_ns).collect();
    let [own, ..] = Place::all(&lines)[..] else { return None };
    let (here, elsewhere): (Vec<_>, Vec<_>) =
        lines.iter().partition(|line_ns| own.holds(**line_ns));
    let ([from, to], [least, most]) = (places::around(&here)?, places::around(&elsewhere)?);
    let percent = 100.0 * here.len() as f64 / lines.len() as f64;
    Some(Warning {
        code: "two_speeds",
        message: format!(
            "cores moved between launches: a cache line took {from:.0} ns to {to:.0} ns in \
             {percent:.0} % of measurements, of which the figures are, and {least:.0} ns to \
             {most:.0} ns in the others"
        ),
        hint: "measure again, on a machine whose virtual CPUs keep their cores",
    })
}

/// The points of the launches of `run`, in the order in which the first launches measured them.
pub(crate) fn merged(run: Option<&Run>, of_launches: &[Point]) -> Vec<Point> {
    let is_real = run.is_some_and(|run| !run.clock.is_virtual);
    let mut groups: Vec<Vec<&Point>> = Vec::new();
    let of_launches = agreed::agreed(of_launches);
    let mut known = BTreeMap::new();
    for point in &of_launches {
        // Points without numbers stand for all series of their case, and have a key of their own.
        let at = *known.entry(&*point.key).or_insert(groups.len());
        if at == groups.len() {
            groups.push(Vec::new());
        }
        groups[at].push(point);
    }
    // All points are of the place that has the most: a fit over two would be of neither.
    let lines_ns = of_launches.iter().filter_map(|point| places::line_ns(point));
    let places = Place::all(&lines_ns.collect::<Vec<_>>());
    let numbered = (0..).zip(&groups);
    numbered.map(|(seq, group)| Point { seq, ..merge::merge(group, &places, is_real) }).collect()
}

/// `records`, in which each run has all points that its launches make, with their samples.
pub(crate) fn completed(mut records: Vec<Record>) -> Vec<Record> {
    if !records.iter().any(|record| matches!(record, Record::Launch(_))) {
        return records;
    }
    let mut completed = Vec::new();
    while !records.is_empty() {
        let next = records.iter().skip(1).position(|record| matches!(record, Record::Run(_)));
        let rest = records.split_off(next.map_or(records.len(), |next| next + 1));
        completed.extend(completed_run(std::mem::replace(&mut records, rest)));
    }
    completed
}

fn completed_run(mut records: Vec<Record>) -> Vec<Record> {
    let of_launch = |record: &Record| match record {
        Record::Launch(point) => Some((**point).clone()),
        _ => None,
    };
    let of_launches: Vec<Point> = records.iter().filter_map(of_launch).collect();
    let run = records.iter().find_map(|record| match record {
        Record::Run(run) => Some(&**run),
        _ => None,
    });
    let mut merged: BTreeMap<String, Point> =
        merged(run, &of_launches).into_iter().map(|point| (point.key.clone(), point)).collect();
    for record in &mut records {
        let Record::Point(point) = record else { continue };
        let found = merged.remove(&point.key);
        if let (Some(found), Some(own)) = (found, point.measured_mut()) {
            let Some(found) = found.measured() else { continue };
            own.samples = found.samples.clone();
            own.starts_ns = found.starts_ns.clone();
            own.late_ns = found.late_ns.clone();
            own.reference_ns = found.reference_ns.clone();
        }
    }
    let mut missing: Vec<Point> = merged.into_values().collect();
    missing.sort_by_key(|point| point.seq);
    let last = records.iter().rposition(|record| matches!(record, Record::Launch(_)));
    let at = last.map_or(records.len(), |last| last + 1);
    let missing = missing.into_iter().map(|point| Record::Point(Box::new(point)));
    records.splice(at..at, missing);
    records
}

#[cfg(test)]
mod tests;
