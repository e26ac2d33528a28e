//! Results of a run so far, and numbers that follow from the series of one case.

use super::case::{Arrangement, Case};
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

impl Derived {
    /// The number `name`, which `formula` makes.
    pub const fn of(name: &'static str, formula: &'static str, value: Option<f64>) -> Self {
        Self { name, formula, value }
    }
}

/// Results of a run so far, for kernels that build on those of others.
#[derive(Debug, Default)]
pub struct History {
    points: Vec<(Case, Vec<Summary>)>,
    /// Ranks of the cases that are shown; all of the job at first.
    shown: Option<Arrangement>,
}

impl History {
    /// Adds the summaries of all series of a measured case.
    pub fn push(&mut self, case: Case, summaries: Vec<Summary>) {
        self.points.push((case, summaries));
    }

    /// Shows the cases that ran on the ranks of `case`, and no others.
    pub(crate) fn show_ranks_of(&mut self, case: &Case) {
        self.shown = Some(case.arrangement());
    }

    /// Cases and summaries of the kernel `id` on the ranks of the case at hand, in the order in
    /// which they were measured.
    pub fn of<'a>(&'a self, id: &'a str) -> impl Iterator<Item = (&'a Case, &'a [Summary])> {
        let shown = self.shown.unwrap_or(Arrangement::ALL);
        let is_shown = move |case: &Case| case.info.id() == id && case.arrangement() == shown;
        self.points
            .iter()
            .filter(move |(case, _)| is_shown(case))
            .map(|(case, summaries)| (case, summaries.as_slice()))
    }
}
