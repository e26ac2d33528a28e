//! Sweeps: which points belong together, and what they are fitted with.

use std::collections::HashMap;

use comet_stats::fit::Weights;

use super::wire::with_intercept;
use crate::record::{AxisFacts, Fit, Model, Point, PointStatus, Quote};

/// Points that differ along axes of their kernel alone.
pub(super) struct Sweep<'a> {
    pub(super) points: Vec<&'a Point>,
    /// The axes, which every point has a number on.
    pub(super) axes: Vec<&'a AxisFacts>,
    /// All points with numbers, of every kernel.
    pub(super) all: &'a [&'a Point],
}

impl<'a> Sweep<'a> {
    /// The number that `point` has on axis `index`.
    pub(super) fn at(&self, point: &Point, index: usize) -> u64 {
        point.number(&self.axes[index].name).unwrap_or(0)
    }

    /// The point of series `index` in the case of `first`.
    pub(super) fn series(&self, first: &Point, index: usize) -> Option<&'a Point> {
        let is_it = |point: &&&Point| {
            (&point.run_id, &point.suite, &point.kernel, &point.params)
                == (&first.run_id, &first.suite, &first.kernel, &first.params)
                && point.series() == Some(index)
        };
        self.all.iter().find(is_it).copied()
    }

    pub(super) fn extent(&self, index: usize) -> [f64; 2] {
        extent(self.points.iter().map(|point| real(self.at(point, index))))
    }

    pub(super) fn triples(&self) -> Option<Vec<(f64, f64, f64)>> {
        let triple = |point: &&Point| {
            let [first, second] = [0, 1].map(|index| real(self.at(point, index)));
            Some((first, second, time_us(point)?))
        };
        self.points.iter().map(triple).collect()
    }

    /// The model `kind` over the quantity `x` without fits yet.
    pub(super) fn model(&self, kind: &str, [x, x_unit]: [&str; 2]) -> Model {
        let free: Vec<&str> = self.axes.iter().map(|axis| &*axis.name).collect();
        let weights = if half_widths_us(&self.points).is_some() { "interval" } else { "relative" };
        Model { weights: weights.into(), ..blank(&self.points, &free, kind, [x, x_unit]) }
    }

    /// The fit called `name` to all points and, between the breakpoints on the first axis, those to
    /// parts of them, by `law`, which takes the number of parts that it stands for; `None` without
    /// the first.
    pub(super) fn fits(
        &self,
        name: &str,
        breakpoints: &[u64],
        mut law: impl FnMut(&Self, &str, usize) -> Option<Fit>,
    ) -> Option<Vec<Fit>> {
        let parts = self.parts(breakpoints);
        let whole = law(self, name, parts.len().max(1))?;
        let mut fits = vec![whole];
        for (index, part) in parts.iter().enumerate() {
            let fit = law(part, "segment", 1);
            fits.extend(fit.map(|fit| if index == 0 { fit } else { with_intercept(fit) }));
        }
        Some(fits)
    }

    /// The points between the breakpoints, each of which ends the part below it; none without
    /// breakpoints.
    fn parts(&self, breakpoints: &[u64]) -> Vec<Self> {
        if breakpoints.is_empty() {
            return Vec::new();
        }
        let mut ends = breakpoints.to_vec();
        ends.sort_unstable();
        let part = |of: usize| {
            let is_of =
                |point: &&&Point| ends.partition_point(|end| *end < self.at(point, 0)) == of;
            let points = self.points.iter().filter(is_of).copied().collect();
            Self { points, axes: self.axes.clone(), all: self.all }
        };
        (0..=ends.len()).map(part).collect()
    }
}

/// A model of `points` without fits yet; their parameters differ in `free` alone.
pub(super) fn blank(points: &[&Point], free: &[&str], model: &str, x: [&str; 2]) -> Model {
    let last = points[points.len() - 1];
    let [x, x_unit] = x.map(str::to_owned);
    Model {
        run_id: last.run_id.clone(),
        suite: last.suite.clone(),
        kernel: last.kernel.clone(),
        variant: last.variant.clone(),
        params: last.params.without(free),
        model: model.into(),
        x,
        x_unit,
        weights: "relative".into(),
        fits: Vec::new(),
        breakpoints: Vec::new(),
        marks: Vec::new(),
        warnings: Vec::new(),
    }
}

/// The points that have all parameters in common but those that are `free`, and the run, if they
/// are to be `of_one_run`; the groups are in the order in which they start.
pub(super) fn groups<'a>(
    points: impl Iterator<Item = &'a Point>,
    free: impl Fn(&Point) -> Vec<&str>,
    of_one_run: bool,
) -> Vec<Vec<&'a Point>> {
    let mut groups: Vec<Vec<&Point>> = Vec::new();
    let mut numbers = HashMap::new();
    for point in points {
        let run_id = of_one_run.then_some(&point.run_id);
        let params = point.params.without(&free(point)).to_string();
        let key = (&point.suite, &point.kernel, &point.variant, run_id, params);
        let number = *numbers.entry(key).or_insert(groups.len());
        if number == groups.len() {
            groups.push(Vec::new());
        }
        groups[number].push(point);
    }
    groups
}

pub(super) fn slices_ns(point: &Point) -> Option<&[f64]> {
    Some(&point.quality.as_ref()?.slice_medians_ns)
}

pub(super) fn is_ok(point: &Point) -> bool {
    point.status == PointStatus::Ok
}

pub(super) fn extent(numbers: impl Iterator<Item = f64>) -> [f64; 2] {
    numbers.fold([f64::INFINITY, 0.0], |[low, high], number| [low.min(number), high.max(number)])
}

pub(crate) fn real(number: u64) -> f64 {
    number as f64
}

pub(super) fn time_us(point: &Point) -> Option<f64> {
    Some(quoted_ns(point)? / 1e3)
}

pub(crate) fn quoted_ns(point: &Point) -> Option<f64> {
    let time = point.time_ns.as_ref()?;
    let in_older_files = if quote(point) == Some(Quote::Min) { time.min } else { time.median };
    Some(point.quoted_ns.unwrap_or(in_older_files))
}

/// Half of the width of the intervals of `points`, in us, if all of them have one.
pub(crate) fn half_widths_us(points: &[&Point]) -> Option<Vec<f64>> {
    let half_width = |point: &&Point| {
        // The interval is that of the median, and says nothing about another figure.
        let is_median = quote(point) == Some(Quote::Median);
        let [low, high] = point.time_ns.as_ref()?.ci95.filter(|_| is_median)?;
        Some((high - low) / 2e3)
    };
    points.iter().map(half_width).collect()
}

/// The weights for these half-widths.
pub(crate) fn weights(half_widths: Option<&[f64]>) -> Weights<'_> {
    half_widths.map_or(Weights::Relative, Weights::HalfWidths)
}

/// Reported statistic of `point`.
pub(crate) fn quote(point: &Point) -> Option<Quote> {
    Some(point.value.as_ref()?.quote)
}
