//! Rows with the times of several series of one case, which come one point each.

use super::super::foreign::{Block, Means, figure, or_dash, repetitions, size_bytes, two_digits};
use crate::record::{Params, Point};
use crate::suite::Numbers;
use crate::suite::imb::WIDTH;

/// Name of the series of transfers alone.
const PURE: &str = "pure";
/// Name of the series of transfers beside work.
const OVERLAPPED: &str = "overlapped";
/// Name of the series of work alone.
const COMPUTE: &str = "compute";

/// Figures of a row that was imported, beside its time, which is that of transfers alone.
const OF_IMPORT: [(&str, &str); 2] = [(OVERLAPPED, "overlapped_ns"), (COMPUTE, "compute_ns")];
/// Figure with the hidden share of such a row.
const PERCENT: &str = "overlap_percent";

/// Series of one case, as far as their points have come.
#[derive(Debug)]
pub(super) struct Open {
    /// Kernel and parameters of the case.
    case: Option<(String, Params)>,
    series: Vec<Series>,
}

/// Times of one series.
#[derive(Debug)]
struct Series {
    name: String,
    repetitions: Option<u64>,
    /// The largest time of the ranks of each row, in us.
    times_us: Vec<f64>,
}

impl Open {
    /// No case.
    pub(super) const NONE: Self = Self { case: None, series: Vec::new() };

    /// The cells of the rows of a case, one for each of `groups` or one for all, when `point` is its last
    /// series; none before.
    pub(super) fn rows(
        &mut self,
        block: &Block<'_>,
        point: &Point,
        groups: Option<u64>,
    ) -> Option<Vec<String>> {
        let wanted: &[&str] = match block.benchmark.numbers {
            Numbers::Passive => &[PURE, OVERLAPPED],
            _ => &[OVERLAPPED, PURE, COMPUTE],
        };
        let case = (point.kernel.to_string(), point.params.clone());
        if self.case.as_ref() != Some(&case) {
            *self = Self { case: Some(case), series: Vec::new() };
        }
        if point.measured().is_none() {
            let of_import = Self { case: None, series: imported(point)? };
            let percent = figure(point, PERCENT);
            return Some(vec![of_import.cells(block, point, wanted, 0, percent)?]);
        }
        let times_us: Option<Vec<f64>> = match groups {
            None => Means::of(point).map(|means| vec![means.max_us]),
            Some(n) => (0..n).map(|of| Some(Means::of_group(point, of)?.max_us)).collect(),
        };
        let name = point.variant.as_ref()?.to_string();
        self.series.push(Series { name, repetitions: repetitions(point), times_us: times_us? });
        if !wanted.iter().all(|name| self.find(name).is_some()) {
            return Some(Vec::new());
        }
        let n_rows = groups.map_or(1, |n| usize::try_from(n).unwrap_or(1));
        let rows = (0..n_rows).map(|row| self.cells(block, point, wanted, row, None)).collect();
        *self = Self::NONE;
        rows
    }

    fn find(&self, name: &str) -> Option<&Series> {
        self.series.iter().find(|series| series.name == name)
    }

    /// The cells of row number `row`, with the hidden share `percent` if it is known.
    fn cells(
        &self,
        block: &Block<'_>,
        point: &Point,
        wanted: &[&str],
        row: usize,
        percent: Option<f64>,
    ) -> Option<String> {
        let time_us = |name: &&str| self.find(name)?.times_us.get(row).copied();
        let times_us: Vec<f64> = wanted.iter().map(time_us).collect::<Option<_>>()?;
        let n_least = self.series.iter().filter_map(|series| series.repetitions).min();
        let mut columns: Vec<String> = size_bytes(point).iter().map(u64::to_string).collect();
        columns.push(or_dash(n_least));
        columns.extend(times_us.iter().map(|us| two_digits(Some(*us))));
        if let (Numbers::Overlapped, [overlapped, pure, compute]) =
            (block.benchmark.numbers, &times_us[..])
        {
            let percent = percent.unwrap_or_else(|| hidden_percent(*overlapped, *pure, *compute));
            columns.push(two_digits(Some(percent)));
        }
        Some(columns.iter().map(|column| format!("{column:>WIDTH$}")).collect())
    }
}

/// The series of a row that was imported.
fn imported(point: &Point) -> Option<Vec<Series>> {
    let series = |name: &str, us: f64| {
        let name = name.to_owned();
        Series { name, repetitions: repetitions(point), times_us: vec![us] }
    };
    let pure = series(PURE, point.time_ns()?.mean / 1e3);
    let of_figure = |(name, title)| Some(series(name, figure(point, title)? / 1e3));
    Some(OF_IMPORT.into_iter().filter_map(of_figure).chain([pure]).collect())
}

/// The share of the shorter of both parts that is hidden behind the longer, in percent, from 0 to 100
/// (`IMB_output.c`); 0 if a part takes no time.
fn hidden_percent(overlapped: f64, pure: f64, compute: f64) -> f64 {
    let share = (pure + compute - overlapped) / pure.min(compute);
    if share.is_finite() { 100.0 * share.clamp(0.0, 1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hidden_share_is_that_of_the_shorter_part() {
        let check = |[overlapped, pure, compute]: [f64; 3], expected: f64| {
            assert_eq!(hidden_percent(overlapped, pure, compute), expected);
        };
        check([10.0, 4.0, 10.0], 100.0);
        check([12.0, 4.0, 10.0], 50.0);
        check([12.0, 10.0, 4.0], 50.0);
        check([14.0, 4.0, 10.0], 0.0);
        check([20.0, 4.0, 10.0], 0.0);
        check([5.0, 4.0, 10.0], 100.0);
        check([5.0, 0.0, 5.0], 0.0);
    }
}
