//! Rows of unblocked collectives beside work: the series and laps of one case, which come one point each.

use super::super::foreign::{Means, figure, two_digits};
use super::WIDTH;
use crate::record::{Params, Point};

/// Line below the title, with the empty line behind it.
pub(super) const LEGEND: &str = "# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait\n\n";
/// Title of the first column with a time.
pub(super) const OVERALL: &str = "Overall(us)";
/// Width of that time where no length stands before it.
pub(super) const ALONE_WIDTH: usize = 13;

/// The other columns: title, figure of a row that was imported, its units in one that is printed, and true for
/// those that OSU prints on request alone.
const COLUMNS: [(&str, &str, f64, bool); 8] = [
    ("Compute(us)", "compute_ns", 1e3, false),
    ("Coll. Init(us)", "start_ns", 1e3, true),
    ("MPI_Test(us)", "test_ns", 1e3, true),
    ("MPI_Wait(us)", "wait_ns", 1e3, true),
    ("Pure Comm.(us)", "pure_ns", 1e3, false),
    ("Min Comm.(us)", "pure_min_ns", 1e3, true),
    ("Max Comm.(us)", "pure_max_ns", 1e3, true),
    ("Overlap(%)", "overlap_percent", 1.0, false),
];

/// Values of a row under [`OVERALL`] and under [`COLUMNS`].
#[derive(Debug, Default, PartialEq)]
pub(super) struct Values {
    pub(super) overall: Option<f64>,
    others: [Option<f64>; COLUMNS.len()],
}

impl Values {
    /// The columns but the first: title, width and cell.
    pub(super) fn columns(&self, is_full: bool) -> Vec<(String, usize, String)> {
        let shown =
            COLUMNS.iter().zip(self.others).filter(|((.., on_request), _)| is_full || !on_request);
        shown.map(|((title, ..), value)| ((*title).into(), WIDTH, two_digits(value))).collect()
    }

    /// Those of a row that was imported.
    fn imported(point: &Point) -> Self {
        let overall = point.time_ns().map(|time| time.mean / 1e3);
        let others = COLUMNS.map(|(_, name, unit, _)| Some(figure(point, name)? / unit));
        Self { overall, others }
    }
}

/// Series of one case, as far as their points have come.
#[derive(Debug, Default)]
pub(super) struct Open {
    /// Kernel and parameters of the case.
    case: Option<(String, Params)>,
    series: Vec<(String, Means)>,
    /// The point of the operations beside work, with its samples.
    overlapped: Option<Point>,
}

impl Open {
    /// Takes in a point with numbers. With the last of a case, or one that was imported: the point of the
    /// operations beside work, and the values of its row.
    pub(super) fn add(&mut self, point: &Point) -> Option<(Point, Values)> {
        if point.measured().is_none() {
            return Some((point.clone(), Values::imported(point)));
        }
        let case = (point.kernel.to_string(), point.params.clone());
        if self.case.as_ref() != Some(&case) {
            *self = Self { case: Some(case), ..Self::default() };
        }
        let name = point.variant.as_ref()?.to_string();
        if name == "overlapped" {
            self.overlapped = Some(point.clone());
        }
        self.series.push((name, Means::of(point)?));
        let values = self.values()?;
        let mut overlapped = std::mem::take(self).overlapped?;
        // The last point of a case holds its figures.
        overlapped.figures.clone_from(&point.figures);
        Some((overlapped, values))
    }

    /// The values, once all series are there.
    fn values(&self) -> Option<Values> {
        let of = |wanted: &str| {
            let found = self.series.iter().find(|(name, _)| name == wanted);
            found.map(|(_, means)| *means)
        };
        let mean = |name| of(name).map(|means| means.avg_us);
        let pure = of("pure")?;
        let (overall, compute) = (mean("overlapped")?, mean("compute")?);
        let [init, test, wait] = [mean("init")?, mean("test")?, mean("wait")?];
        let times = [compute, init, test, wait, pure.avg_us, pure.min_us, pure.max_us].map(Some);
        let mut others = [None; COLUMNS.len()];
        others[..times.len()].copy_from_slice(&times);
        others[times.len()] = hidden_percent([overall, compute, pure.avg_us]);
        Some(Values { overall: Some(overall), others })
    }
}

/// The share of the operation that is hidden, in percent (`print_stats_nbc` of `osu_util_mpi.c`); none of an
/// operation that takes no time.
fn hidden_percent([overall, compute, pure]: [f64; 3]) -> Option<f64> {
    let percent = 100.0 - (overall - compute) / pure * 100.0;
    percent.is_finite().then_some(percent.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hidden_share_is_that_of_the_operation() {
        let check = |times, expected| assert_eq!(hidden_percent(times), expected, "{times:?}");
        check([10.0, 10.0, 4.0], Some(100.0));
        check([12.0, 10.0, 4.0], Some(50.0));
        check([14.0, 10.0, 4.0], Some(0.0));
        check([20.0, 10.0, 4.0], Some(0.0));
        check([1.0, 1.0, 0.0], None);
    }
}
