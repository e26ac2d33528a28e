//! Is this machine healthy? What stands out among all pairs of ranks, and among their work.
//!
//! ```text
//!   health/pairs ──► links ──► slow pairs ──┐             a rank, if most of its pairs are slow
//!                      ▲                    ├─► suspects: a host, if most of its ranks are
//!                   places                  │             a link, if nobody at its ends is
//!   health/noise ──► work ──► slow, noisy ──┘
//!   comet/barrier ──► barrier                            described, not judged
//! ```
//!
//! Nothing is compared with what a machine should do, only its parts with each other: what all of
//! them suffer from does not stand out.

mod effects;
#[cfg(test)]
pub(crate) mod fixture;
mod links;
mod suspects;
mod text;
mod work;

pub use links::{OfClass, OfLength};
pub use suspects::{Class, Part, Suspect};
pub use work::{Barrier, Work};

use comet_core::kernel::Evaluation;
use serde_json::Value;

use self::links::MIN_VALUES;
pub(crate) use self::suspects::Places;
use self::suspects::Suspects;
use crate::pairs::world;
use crate::record::{Point, Run};
use crate::runs::RunRecords;

/// Factor above the median of comparable times from which a part stands out, by default.
pub const FACTOR: f64 = 1.1;

/// Health of a machine, from a run of the suite `health`. Displays as a table, a line for each
/// suspect, and a verdict.
#[derive(Clone, Debug)]
pub struct Health {
    /// Number of ranks.
    pub n_ranks: usize,
    /// Number of hosts; 0 if nobody knows.
    pub n_hosts: usize,
    /// The pairs, by message length.
    pub lengths: Vec<OfLength>,
    /// The barrier, if it was measured.
    pub barrier: Option<Barrier>,
    /// The work of the ranks, if it was measured.
    pub work: Option<Work>,
    /// Outliers, from the largest part to the smallest.
    pub suspects: Vec<Suspect>,
    /// Pairs that are slow at some message lengths only: they may have shared a link with another
    /// pair of their round.
    pub noticed: Vec<Suspect>,
    /// Reason that these times blame no part; `None` if they may.
    pub advisory: Option<String>,
}

impl Health {
    /// Outliers of a run: times above `factor` (above 1) times the median of their kind, that lie
    /// apart from the others.
    ///
    /// `None` if the run holds no verified point of `health/pairs` or `health/noise`.
    pub fn of(records: &RunRecords, factor: f64) -> Option<Self> {
        let health = Self::of_points(records.run.as_deref(), &records.points, factor)?;
        let noted = records.events.iter().find(|event| event.code == "oversubscribed");
        let noted = noted.map(|event| event.message.clone());
        Some(Self { advisory: noted.or(health.advisory), ..health })
    }

    /// The same of `points`, those of the run `run`.
    pub(crate) fn of_points(run: Option<&Run>, points: &[Point], factor: f64) -> Option<Self> {
        let places = Places::of(run);
        let lengths = links::of_lengths(points, &places, factor);
        let work = work::of(points, factor);
        if lengths.is_empty() && work.is_none() {
            return None;
        }
        let mut suspects = Suspects::new(&places, factor);
        lengths.iter().for_each(|of_length| suspects.add_pairs(of_length));
        work.iter().for_each(|work| suspects.add_work(work));
        let n_lengths = lengths.iter().filter(|of_length| !of_length.pairs.is_empty()).count();
        let [suspects, noticed] = suspects.into_parts(n_lengths);
        let of_points = || points.iter().find_map(world).map(|(n_ranks, _)| n_ranks);
        Some(Self {
            n_ranks: run.map(|run| run.world.size).or_else(of_points).unwrap_or(0),
            n_hosts: places.n_hosts(),
            suspects,
            noticed,
            advisory: advisory(run),
            barrier: work::barrier(points),
            lengths,
            work,
        })
    }

    /// True if there is an outlier, by times that may blame a part.
    pub fn is_suspicious(&self) -> bool {
        !self.suspects.is_empty() && self.advisory.is_none()
    }

    /// True if there is something to compare: of two ranks there is one pair.
    pub fn is_comparison(&self) -> bool {
        self.n_ranks >= MIN_VALUES || self.lengths.iter().any(|length| !length.pairs.is_empty())
    }
}

/// True for points whose samples the outliers follow from.
pub(crate) fn needs_samples(point: &Point) -> bool {
    world(point).is_some() || point.facts.evaluation == Evaluation::RankWork
}

/// Reason that times describe the scheduler rather than parts of the machine, if they do.
fn advisory(run: Option<&Run>) -> Option<String> {
    let is_set = run?.config.get("oversubscribed") == Some(&Value::Bool(true));
    is_set.then(|| "ranks share CPUs: times include scheduling".into())
}

#[cfg(test)]
mod tests;
