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
    /// Times of the ranks of each row, in us.
    times_us: Vec<Vec<f64>>,
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
        let times_us: Option<Vec<Vec<f64>>> = match groups {
            None => Means::of_ranks(point, None).map(|of_ranks| vec![of_ranks]),
            Some(n) => (0..n).map(|of| Means::of_ranks(point, Some(of))).collect(),
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
        let of_ranks = |name: &&str| self.find(name)?.times_us.get(row);
        let of_ranks: Vec<&Vec<f64>> = wanted.iter().map(of_ranks).collect::<Option<_>>()?;
        // Collectives have a row of the rank that takes longest beside work, others the longest times.
        let slowest = of_ranks.first().filter(|_| block.benchmark.is_beside_work);
        let slowest = slowest.and_then(|times| greatest(times)).map(|(rank, _)| rank);
        let time_us = |times: &&Vec<f64>| {
            let of_slowest = slowest.and_then(|rank| times.get(rank)).copied();
            of_slowest.or_else(|| Some(greatest(times)?.1))
        };
        let times_us: Vec<f64> = of_ranks.iter().map(time_us).collect::<Option<_>>()?;
        let n_least = self.series.iter().filter_map(|series| series.repetitions).min();
        let size = size_bytes(point).filter(|_| block.benchmark.numbers != Numbers::Barrier);
        let mut columns: Vec<String> = size.iter().map(u64::to_string).collect();
        columns.push(or_dash(n_least));
        columns.extend(times_us.iter().map(|us| two_digits(Some(*us))));
        if let [overlapped, pure, compute] = times_us[..] {
            let part = if block.benchmark.is_beside_work { f64::max } else { f64::min };
            let percent =
                percent.unwrap_or_else(|| hidden_percent(overlapped, [pure, compute], part));
            columns.push(two_digits(Some(percent)));
        }
        Some(columns.iter().map(|column| format!("{column:>WIDTH$}")).collect())
    }
}

/// The series of a row that was imported.
fn imported(point: &Point) -> Option<Vec<Series>> {
    let series = |name: &str, us: f64| {
        let name = name.to_owned();
        Series { name, repetitions: repetitions(point), times_us: vec![vec![us]] }
    };
    let pure = series(PURE, point.time_ns()?.mean / 1e3);
    let of_figure = |(name, title)| Some(series(name, figure(point, title)? / 1e3));
    Some(OF_IMPORT.into_iter().filter_map(of_figure).chain([pure]).collect())
}

/// The greatest of `times`, and the number of the first rank that has it.
fn greatest(times: &[f64]) -> Option<(usize, f64)> {
    times.iter().copied().enumerate().reduce(|most, of| if of.1 > most.1 { of } else { most })
}

/// The share of one of both parts, the operation and the work, that is hidden, in percent, from 0 to 100
/// (`IMB_output.c`): IMB-IO takes the shorter, IMB-NBC the longer. 0 if that takes no time.
fn hidden_percent(overlapped: f64, parts: [f64; 2], part: fn(f64, f64) -> f64) -> f64 {
    let [pure, compute] = parts;
    let share = (pure + compute - overlapped) / part(pure, compute);
    if share.is_finite() { 100.0 * share.clamp(0.0, 1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hidden_share_is_that_of_the_shorter_part_or_of_the_longer() {
        let check = |[overlapped, pure, compute]: [f64; 3], expected: [f64; 2]| {
            let share = |part| hidden_percent(overlapped, [pure, compute], part);
            assert_eq!([share(f64::min), share(f64::max)], expected);
        };
        check([10.0, 4.0, 10.0], [100.0, 40.0]);
        check([12.0, 4.0, 10.0], [50.0, 20.0]);
        check([12.0, 10.0, 4.0], [50.0, 20.0]);
        check([14.0, 4.0, 10.0], [0.0, 0.0]);
        check([20.0, 4.0, 10.0], [0.0, 0.0]);
        check([5.0, 4.0, 10.0], [100.0, 90.0]);
        check([5.0, 0.0, 5.0], [0.0, 0.0]);
        check([0.0; 3], [0.0; 2]);
    }

    #[test]
    fn the_first_of_the_slowest_ranks_is_the_slowest() {
        assert_eq!(greatest(&[1.0, 3.0, 2.0, 3.0]), Some((1, 3.0)));
        assert_eq!(greatest(&[]), None);
    }
}
