//! Common parts of exports: names of cases that are the same in every run of a command, and the
//! combination of several launches of a case.

use std::collections::BTreeMap;

use comet_core::kernel::RateKind;
use comet_stats::median;

use crate::record::{Param, Point, Record};

/// The parameters of a case that every run of the command has: none that is found during a run.
pub(super) fn settled(point: &Point) -> impl Iterator<Item = (&str, &Param)> {
    let entries = point.params.0.iter().map(|(name, value)| (name.as_str(), value));
    entries.filter(|(name, _)| !point.facts.is_found(name))
}

/// Suite, kernel, the series where it is not called like the kernel, and the parameters:
/// `comet/echo/hops=1/length_bytes=8/procs=2`. It holds `[A-Za-z0-9_/=.-]` alone.
pub(super) fn name<'a>(
    [suite, kernel]: [&str; 2],
    variant: Option<&str>,
    params: impl Iterator<Item = (&'a str, &'a Param)>,
) -> String {
    let mut name = format!("{suite}/{kernel}");
    if let Some(series) = variant.filter(|series| *series != kernel) {
        name += &format!("/{series}");
    }
    for (param, value) in params {
        name += &format!("/{param}={value}");
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_/=.-".contains(c);
    name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

/// The words of `kind`, with `joint` between them.
pub(super) fn rate_name(kind: RateKind, joint: &str) -> String {
    kind.words().replace(' ', joint)
}

/// [`name`] of a point.
pub(super) fn name_of(point: &Point) -> String {
    name([&point.suite, &point.kernel], point.variant.as_deref(), settled(point))
}

/// True if a run of the same command has the case too: it has numbers, and the plan asked for it.
pub(super) fn is_lasting(point: &Point) -> bool {
    let is_refined = point.measured().is_some_and(|measured| measured.plan.is_refined);
    point.numbers().is_some() && !is_refined
}

/// One case and series, measured by one run or by several.
pub(super) struct Launches<'a> {
    /// Transport; `None` if the file has none.
    pub(super) transport: Option<&'a str>,
    /// A point of each run.
    pub(super) points: Vec<&'a Point>,
}

impl Launches<'_> {
    /// The time to quote in nanoseconds: the middle one of the runs.
    pub(super) fn time_ns(&self) -> Option<f64> {
        median(&self.times_ns())
    }

    /// The 95 % interval of a single run, from one of its launches to the next, or the least and the largest time of several.
    pub(super) fn bounds_ns(&self) -> Option<[f64; 2]> {
        if let [point] = self.points[..] {
            return point.interval_ns();
        }
        let times_ns = self.times_ns();
        let least_ns = times_ns.iter().copied().reduce(f64::min)?;
        Some([least_ns, times_ns.iter().copied().reduce(f64::max)?])
    }

    /// The rate, where the case has one: the middle one of the runs.
    pub(super) fn bytes_per_s(&self) -> Option<f64> {
        let rates = self.points.iter().filter_map(|point| point.bytes_per_s());
        median(&rates.collect::<Vec<_>>())
    }

    /// The rate of `kind`, where the case has one: the middle one of the runs, with its formula.
    pub(super) fn rate(&self, kind: RateKind) -> Option<(f64, &str)> {
        let rates = || self.points.iter().filter_map(|point| point.rate(kind));
        let value = median(&rates().filter_map(|rate| rate.value).collect::<Vec<_>>())?;
        Some((value, &rates().next()?.formula))
    }

    fn times_ns(&self) -> Vec<f64> {
        self.points.iter().filter_map(|point| point.quoted_ns()).collect()
    }
}

/// The lasting cases of all runs in `records`, by [`name`] and transport.
pub(super) fn launches(records: &[Record]) -> BTreeMap<String, Launches<'_>> {
    let mut found: BTreeMap<String, Launches<'_>> = BTreeMap::new();
    let mut transport = None;
    for record in records {
        match record {
            Record::Run(run) => transport = run.transport.backend.as_deref(),
            Record::Point(point) if is_lasting(point) => {
                let name = name_of(point) + "/transport=" + transport.unwrap_or("unknown");
                let empty = || Launches { transport, points: Vec::new() };
                found.entry(name).or_insert_with(empty).points.push(point);
            }
            _ => (),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_hold_what_every_run_of_a_command_has() {
        let number = |name: &str, value| (name.to_owned(), Param::Number(value));
        let label = ("direction".to_owned(), Param::Label("to the\nnorth".into()));
        let check = |variant, params: &[(String, Param)], expected: &str| {
            let params = params.iter().map(|(name, value)| (name.as_str(), value));
            assert_eq!(name(["s", "k"], variant, params), expected);
        };
        check(Some("k"), &[number("procs", 4)], "s/k/procs=4");
        check(Some("half"), &[number("a", 1)], "s/k/half/a=1");
        check(None, &[label], "s/k/direction=to_the_north");
    }
}
