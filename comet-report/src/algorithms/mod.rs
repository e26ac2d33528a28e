//! The algorithms of a collective held against each other: the fastest at each length, and where
//! another one becomes the fastest.
//!
//! ```text
//!   points of one kernel ──► lengths: the times of all algorithms ──► ranges with one fastest
//!                                                                        │
//!       table and sentences, JSON, selection files of Open MPI and MPICH ◄────┘
//! ```

mod mpich;
mod openmpi;

use std::fmt;

use comet_core::kernel::ALGORITHM;
pub use mpich::mpich_selection;
pub use openmpi::openmpi_rules;
use serde_json::{Value, json};

use crate::order::grouped;
use crate::record::{Over, Param, Params, Point, PointStatus, RANKS};
use crate::runs::RunRecords;
use crate::units::{bytes, fixed_us, significant};
use crate::words::{aligned, count};

/// The transport's own algorithm.
const NATIVE: &str = "native";
/// Lengths that stand beside each other in a table, which fits 80 columns.
const N_COLUMNS: usize = 6;
/// Ratio of two times from which it is worth a sentence.
const WORTH_SAYING: f64 = 1.1;

/// The algorithms of one collective on the same ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Contest {
    /// Name of the operation: `allreduce`.
    pub operation: String,
    /// Number of ranks.
    pub n_ranks: u64,
    /// Name of the transport; empty where the file does not say.
    pub transport: String,
    /// Parameters that all points share, but for the number of ranks.
    pub params: Params,
    /// Its lengths, ascending.
    pub lengths: Vec<AtLength>,
}

/// The algorithms at one length.
#[derive(Clone, Debug, PartialEq)]
pub struct AtLength {
    /// Length of a rank's message in bytes.
    pub length_bytes: u64,
    /// The time of each algorithm, the fastest first.
    pub times: Vec<Timed>,
}

/// The time of one algorithm.
#[derive(Clone, Debug, PartialEq)]
pub struct Timed {
    /// Name of the algorithm.
    pub algorithm: String,
    /// Time of one operation in ns.
    pub quoted_ns: f64,
    /// Its 95 % interval in ns.
    pub interval_ns: Option<[f64; 2]>,
    /// Key of the point.
    pub key: String,
}

/// Lengths that have the same fastest algorithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range<'a> {
    /// The shortest in bytes.
    pub from_bytes: u64,
    /// The longest in bytes.
    pub to_bytes: u64,
    /// The algorithm.
    pub algorithm: &'a str,
    /// True if no other one may be the fastest at any of the lengths.
    pub is_decided: bool,
}

impl Timed {
    /// True unless its interval and that of `other` lie apart.
    fn may_equal(&self, other: &Self) -> bool {
        let of = |timed: &Self| timed.interval_ns.unwrap_or([timed.quoted_ns; 2]);
        let ([low, high], [other_low, other_high]) = (of(self), of(other));
        low <= other_high && other_low <= high
    }
}

impl AtLength {
    /// The fastest.
    pub fn fastest(&self) -> &Timed {
        &self.times[0]
    }

    /// The algorithms whose intervals do not exclude that they are as fast, with the fastest.
    pub fn candidates(&self) -> impl Iterator<Item = &Timed> {
        self.times.iter().filter(|timed| timed.may_equal(self.fastest()))
    }

    fn of(&self, algorithm: &str) -> Option<&Timed> {
        self.times.iter().find(|timed| timed.algorithm == algorithm)
    }
}

/// The contests among the points of `run`: of each collective with two algorithms or more.
pub fn contests(run: &RunRecords) -> Vec<Contest> {
    let transport = run.run.as_ref().map_or(String::new(), |run| run.transport.name().into());
    let ok = run.points.iter().filter(|point| point.status() == PointStatus::Ok);
    let named = ok.filter_map(|point| {
        let Param::Label(algorithm) = point.params.get(ALGORITHM)? else { return None };
        let length = point.facts.over(Over::Message).map_or("", |axis| &axis.name);
        let shared = point.params.without(&[ALGORITHM, length]);
        let key = (point.kernel.to_string(), shared.to_string());
        Some((key, (point, algorithm.as_str(), shared)))
    });
    let all = grouped(named).into_iter().map(|((operation, _), points)| {
        let params = points[0].2.clone();
        let n_ranks = params.ranks().unwrap_or(0);
        let timed = points.iter().filter_map(|(point, algorithm, _)| at(point, algorithm));
        let mut lengths: Vec<AtLength> = grouped(timed)
            .into_iter()
            .map(|(length_bytes, mut times)| {
                times.sort_by(|a, b| a.quoted_ns.total_cmp(&b.quoted_ns));
                AtLength { length_bytes, times }
            })
            .collect();
        lengths.retain(|length| length.times.len() > 1);
        lengths.sort_by_key(|length| length.length_bytes);
        let params = params.without(&[RANKS]);
        Contest { operation, n_ranks, transport: transport.clone(), params, lengths }
    });
    all.filter(|contest| !contest.lengths.is_empty()).collect()
}

/// Length and time of `point`; a barrier has 0 bytes.
fn at(point: &Point, algorithm: &str) -> Option<(u64, Timed)> {
    let timed = Timed {
        algorithm: algorithm.into(),
        quoted_ns: point.quoted_ns()?,
        interval_ns: point.interval_ns(),
        key: point.key.clone(),
    };
    let length = point.facts.over(Over::Message).map_or(Some(0), |_| point.on(Over::Message));
    Some((length?, timed))
}

impl Contest {
    /// Stretches of lengths with one fastest algorithm, ascending. One that may be as fast as the
    /// fastest, and was the fastest before, stays it.
    pub fn ranges(&self) -> Vec<Range<'_>> {
        self.ranges_among(|_| true)
    }

    fn ranges_among(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<Range<'_>> {
        let mut ranges: Vec<Range<'_>> = Vec::new();
        for length in &self.lengths {
            let wanted = || length.times.iter().filter(|timed| is_wanted(&timed.algorithm));
            let Some(fastest) = wanted().next() else { continue };
            let to_bytes = length.length_bytes;
            let candidates = || wanted().filter(|timed| timed.may_equal(fastest));
            let is_decided = candidates().count() == 1;
            match ranges.last_mut() {
                Some(last) if candidates().any(|timed| timed.algorithm == last.algorithm) => {
                    last.to_bytes = to_bytes;
                    last.is_decided &= is_decided;
                }
                _ => {
                    let algorithm = &*fastest.algorithm;
                    ranges.push(Range { from_bytes: to_bytes, to_bytes, algorithm, is_decided });
                }
            }
        }
        ranges
    }

    /// Results in sentences, the fastest algorithms first.
    pub fn sentences(&self) -> Vec<String> {
        let ranges = self.ranges();
        let mut sentences = Vec::new();
        for (index, range) in ranges.iter().enumerate() {
            let Range { from_bytes, to_bytes, algorithm, .. } = *range;
            let lengths = match (index, index + 1 == ranges.len()) {
                (0, true) if from_bytes < to_bytes => "at all lengths".into(),
                (0, true) => format!("at {}", bytes(from_bytes)),
                (0, false) => format!("up to {}", bytes(to_bytes)),
                (_, true) => format!("from {} on", bytes(from_bytes)),
                _ if from_bytes == to_bytes => format!("at {}", bytes(from_bytes)),
                _ => format!("from {} to {}", bytes(from_bytes), bytes(to_bytes)),
            };
            let doubt = if range.is_decided { "" } else { ", as far as the intervals tell" };
            sentences.push(format!("{algorithm} is the fastest {lengths}{doubt}"));
        }
        let changes = ranges.windows(2).map(|pair| {
            let [before, after] = [pair[0], pair[1]];
            format!(
                "the change from {} to {} lies between {} and {}",
                before.algorithm,
                after.algorithm,
                bytes(before.to_bytes),
                bytes(after.from_bytes)
            )
        });
        sentences.extend(changes);
        sentences.extend(self.cost_of_native());
        sentences
    }

    /// The length at which the transport's own algorithm loses most, if that is certain.
    fn cost_of_native(&self) -> Option<String> {
        let lost = self.lengths.iter().filter_map(|length| {
            let (own, fastest) = (length.of(NATIVE)?, length.fastest());
            let ratio = own.quoted_ns / fastest.quoted_ns;
            (!own.may_equal(fastest) && ratio > WORTH_SAYING).then_some((ratio, length, own))
        });
        let (ratio, length, own) = lost.max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(format!(
            "the transport's own takes up to {} times as long as the fastest: at {} {} us, and {} us \
             by {}",
            significant(ratio, 3),
            bytes(length.length_bytes),
            fixed_us(own.quoted_ns),
            fixed_us(length.fastest().quoted_ns),
            length.fastest().algorithm
        ))
    }

    /// The contest as a JSON object: the ranges, and all times in us.
    pub fn json(&self) -> Value {
        let range = |range: &Range<'_>| {
            json!({
                "from_bytes": range.from_bytes,
                "to_bytes": range.to_bytes,
                "algorithm": range.algorithm,
                "decided": range.is_decided,
            })
        };
        let us = |ns: f64| ns / 1e3;
        let time = |length: &AtLength, timed: &Timed| {
            json!({
                "bytes": length.length_bytes,
                "algorithm": timed.algorithm,
                "us": us(timed.quoted_ns),
                "low_us": timed.interval_ns.map(|[low, _]| us(low)),
                "high_us": timed.interval_ns.map(|[_, high]| us(high)),
                "key": timed.key,
            })
        };
        let times = self.lengths.iter().flat_map(|length| {
            length.times.iter().map(move |timed| time(length, timed)).collect::<Vec<_>>()
        });
        json!({
            "operation": self.operation,
            "ranks": self.n_ranks,
            "transport": self.transport,
            "parameters": self.params.to_string(),
            "fastest": self.ranges().iter().map(range).collect::<Vec<_>>(),
            "times": times.collect::<Vec<_>>(),
        })
    }

    /// Names of all algorithms, in the order of the run.
    fn algorithms(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for timed in self.lengths.iter().flat_map(|length| &length.times) {
            if !names.contains(&&*timed.algorithm) {
                names.push(&timed.algorithm);
            }
        }
        names.sort_unstable_by_key(|name| (*name != NATIVE, *name));
        names
    }

    /// A table of `lengths`: an algorithm a line.
    fn table(&self, lengths: &[AtLength]) -> String {
        let head = lengths.iter().map(|length| bytes(length.length_bytes));
        let mut rows = vec![std::iter::once("us".into()).chain(head).collect::<Vec<String>>()];
        for name in self.algorithms() {
            let cell = |length: &AtLength| {
                let Some(timed) = length.of(name) else { return "- ".into() };
                let mark = match () {
                    () if timed == length.fastest() => '*',
                    () if timed.may_equal(length.fastest()) => '=',
                    () => ' ',
                };
                format!("{}{mark}", fixed_us(timed.quoted_ns))
            };
            rows.push(std::iter::once(name.into()).chain(lengths.iter().map(cell)).collect());
        }
        let line = |row: &Vec<String>| {
            format!("{}\n", aligned(row, &rows, |column| column > 0).trim_end())
        };
        rows.iter().map(line).collect()
    }
}

impl fmt::Display for Contest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, n_ranks, transport, params, lengths } = self;
        let params = if params.0.is_empty() { String::new() } else { format!(", {params}") };
        writeln!(f, "# {operation} on {} over {transport}{params}", count(*n_ranks, "rank"))?;
        writeln!(f, "# * the fastest, = perhaps as fast: the intervals overlap")?;
        for lengths in lengths.chunks(N_COLUMNS) {
            write!(f, "{}", self.table(lengths))?;
        }
        self.sentences().iter().try_for_each(|sentence| writeln!(f, "{sentence}"))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A contest of these times in us, with an interval of 1 % on both sides.
    pub(super) fn contest(operation: &str, times: &[(u64, &[(&str, f64)])]) -> Contest {
        let timed = |(name, us): &(&str, f64)| Timed {
            algorithm: (*name).into(),
            quoted_ns: us * 1e3,
            interval_ns: Some([us * 990.0, us * 1010.0]),
            key: String::new(),
        };
        let length = |(length_bytes, of): &(u64, &[(&str, f64)])| {
            let mut times: Vec<Timed> = of.iter().map(timed).collect();
            times.sort_by(|a, b| a.quoted_ns.total_cmp(&b.quoted_ns));
            AtLength { length_bytes: *length_bytes, times }
        };
        let lengths = times.iter().map(length).collect();
        let (operation, transport) = (operation.into(), "shm".into());
        Contest { operation, n_ranks: 4, transport, params: Params::default(), lengths }
    }

    pub(super) fn example() -> Contest {
        contest(
            "allreduce",
            &[
                (8, &[("native", 1.0), ("ring", 4.0), ("recursive_doubling", 1.5)]),
                (1024, &[("native", 2.0), ("ring", 4.0), ("recursive_doubling", 1.995)]),
                (65536, &[("native", 40.0), ("ring", 20.0), ("recursive_doubling", 30.0)]),
            ],
        )
    }

    #[test]
    fn the_fastest_stays_until_another_is_certainly_faster() {
        let contest = example();
        let found: Vec<_> =
            contest.ranges().iter().map(|of| (of.to_bytes, of.algorithm, of.is_decided)).collect();
        assert_eq!(found, [(1024, "native", false), (65536, "ring", true)]);
        assert_eq!(contest.to_string(), include_str!("contest.txt"));
        assert_eq!(contest.json()["fastest"][1]["from_bytes"], 65536);
    }
}
