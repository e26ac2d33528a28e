//! Results of a run so far, and numbers that follow from the series of one case.

use super::case::Case;
use super::info::KernelInfo;
use comet_stats::Summary;

/// A number that follows from the series of one case together.
#[derive(Clone, Debug, PartialEq)]
pub struct Derived {
    /// Name with unit (`overlap_share`, `slowdown_at_half_load`).
    pub name: &'static str,
    /// Formula over the series.
    pub formula: &'static str,
    /// The number, or `None` where it cannot be formed.
    pub value: Option<f64>,
}

/// Results of a run so far, for kernels that build on those of others.
#[derive(Debug, Default)]
pub struct History {
    points: Vec<(Case, Vec<Summary>)>,
}

impl History {
    /// Adds the summaries of all series of a measured case.
    pub fn push(&mut self, case: Case, summaries: Vec<Summary>) {
        self.points.push((case, summaries));
    }

    /// Cases and summaries of the kernel `id`, in the order in which they were measured.
    pub fn of<'a>(&'a self, id: &'a str) -> impl Iterator<Item = (&'a Case, &'a [Summary])> {
        let of_kernel = move |info: &KernelInfo| info.id() == id;
        self.points
            .iter()
            .filter(move |(case, _)| of_kernel(case.info))
            .map(|(case, summaries)| (case, summaries.as_slice()))
    }
}
