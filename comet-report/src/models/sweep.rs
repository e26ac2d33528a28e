//! Sweeps: points that belong together, what they are fitted with, and the fits as they stand in the
//! record: plain numbers with names and units.

use std::collections::HashMap;

use comet_stats::fit::{self, Range, Weights};

use super::ranges::FEWEST;
use crate::record::{
    AxisFacts, Fit, FitGrade, FitQuality, Model, Numbers, Parameter, Point, Quote,
};

/// Points that differ along axes of their kernel alone.
pub(super) struct Sweep<'a> {
    pub(super) points: Vec<&'a Point>,
    /// The axes, which every point has a number on.
    pub(super) axes: Vec<&'a AxisFacts>,
    /// All points with numbers, of every kernel.
    pub(super) all: &'a [&'a Point],
    /// The times that stand for the points.
    pub(super) times: Times,
}

/// Times of points.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    /// The launch whose figures they are; `None` for those of all launches.
    pub(super) launch: Option<u32>,
    /// True without the readings of the clock, which may be in a figure or not.
    pub(super) are_less_clock: bool,
}

impl<'a> Sweep<'a> {
    pub(super) fn at(&self, point: &Point, index: usize) -> u64 {
        point.number(&self.axes[index].name).unwrap_or(0)
    }

    /// The time of `point`, in us.
    pub(super) fn time_us(&self, point: &Point) -> Option<f64> {
        let ns = match self.times.launch {
            None => quoted_ns(point)?,
            Some(launch) => figure_ns(point, launch)?,
        };
        Some((ns - if self.times.are_less_clock { clock_ns(point) } else { 0.0 }) / 1e3)
    }

    /// The same points with other `times`.
    pub(super) fn with(&self, times: Times) -> Self {
        Self { points: self.points.clone(), axes: self.axes.clone(), times, ..*self }
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

    /// Figures of the four series in the case of `first`, in nanoseconds: one for each launch, or the
    /// medians of the slices of a single one.
    pub(super) fn slices_ns(&self, first: &Point) -> Option<[Vec<f64>; 4]> {
        let slices = |index| {
            let point = self.series(first, index)?;
            match (self.times.launch, &point.launches) {
                (Some(launch), _) => Some(vec![figure_ns(point, launch)?]),
                (None, Some(launches)) => Some(launches.quoted_ns.clone()),
                (None, None) => Some(point.quality()?.slice_medians_ns.clone()),
            }
        };
        let [a, b, c, d] = [0, 1, 2, 3].map(slices);
        Some([a?, b?, c?, d?])
    }

    pub(super) fn extent(&self, index: usize) -> [f64; 2] {
        extent(self.points.iter().map(|point| real(self.at(point, index))))
    }

    pub(super) fn triples(&self) -> Option<Vec<(f64, f64, f64)>> {
        let triple = |point: &&Point| {
            let [first, second] = [0, 1].map(|index| real(self.at(point, index)));
            Some((first, second, self.time_us(point)?))
        };
        self.points.iter().map(triple).collect()
    }

    /// The model `kind` over the quantity `x` without fits yet.
    pub(super) fn model(&self, kind: &str, [x, x_unit]: [&str; 2]) -> Model {
        let free: Vec<&str> = self.axes.iter().map(|axis| &*axis.name).collect();
        let weights = if half_widths_us(&self.points).is_some() { "interval" } else { "relative" };
        let launches = Some(self.launches().len()).filter(|n_launches| *n_launches >= FEWEST);
        let blank = blank(&self.points, &free, kind, [x, x_unit]);
        Model { weights: weights.into(), launches, ..blank }
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
        self.across_launches(|sweep| {
            let parts = sweep.parts(breakpoints);
            let whole = law(sweep, name, parts.len().max(1))?;
            let mut fits = vec![whole];
            for (index, part) in parts.iter().enumerate() {
                let fit = law(part, "segment", 1);
                fits.extend(fit.map(|fit| if index == 0 { fit } else { with_intercept(fit) }));
            }
            Some(fits)
        })
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
            Self { points, axes: self.axes.clone(), ..*self }
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
        launches: None,
        fits: Vec::new(),
        breakpoints: Vec::new(),
        marks: Vec::new(),
        warnings: Vec::new(),
    }
}

/// The points that have all parameters in common but those that are `free`, and the run, if they
/// are to be `of_one_run`; the groups are in the order in which they start.
pub(crate) fn groups<'a>(
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

pub(super) fn is_ok(point: &Point) -> bool {
    point.numbers().is_some()
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
    let Numbers { value, time_ns, quoted_ns, .. } = point.numbers()?;
    let in_older_files = if value.quote == Quote::Min { time_ns.min } else { time_ns.median };
    Some(quoted_ns.unwrap_or(in_older_files))
}

/// Half of the width of the intervals of `points`, in us, if all of them have one.
pub(crate) fn half_widths_us(points: &[&Point]) -> Option<Vec<f64>> {
    let half_width = |point: &&Point| {
        let [low, high] = point.interval_ns()?;
        Some((high - low) / 2e3)
    };
    points.iter().map(half_width).collect()
}

pub(crate) fn weights(half_widths: Option<&[f64]>) -> Weights<'_> {
    half_widths.map_or(Weights::Relative, Weights::HalfWidths)
}

pub(crate) fn quote(point: &Point) -> Option<Quote> {
    Some(point.value()?.quote)
}

/// The figure of `point` in this launch.
fn figure_ns(point: &Point, launch: u32) -> Option<f64> {
    let mut figures_ns = point.launches.as_ref()?.figures_ns();
    figures_ns.find(|(number, _)| *number == launch).map(|(_, ns)| ns)
}

/// The readings of the clock that may be in the figure of `point`.
pub(super) fn clock_ns(point: &Point) -> f64 {
    point.quality().map_or(0.0, |quality| quality.overhead_ns.clock)
}

/// A number with its interval; a number that is not finite is not known.
pub(super) fn parameter(
    name: &str,
    unit: &str,
    value: Option<f64>,
    range: Option<Range>,
) -> Parameter {
    let known = |number: Option<f64>| number.filter(|of| of.is_finite());
    Parameter {
        name: name.into(),
        unit: unit.into(),
        value: known(value),
        low: known(range.map(|range| range.low)),
        high: known(range.map(|range| range.high)),
    }
}

/// `range` in a unit that is `factor` times smaller.
pub(super) fn scaled(range: Option<Range>, factor: f64) -> Option<Range> {
    range.map(|range| Range { low: range.low * factor, high: range.high * factor })
}

/// A fit of the law `law` to points whose `x` are in `extent`; the sweep falls into `n_segments`.
pub(super) fn fit(
    [name, law]: [&str; 2],
    extent: [f64; 2],
    parameters: Vec<Parameter>,
    quality: &fit::FitQuality,
    n_segments: usize,
) -> Fit {
    let [from, to] = extent;
    let quality = wire_quality(quality, quality.verdict(n_segments));
    let mut parameters = parameters;
    if quality.verdict != FitGrade::Good {
        // Scatter around a law that does not hold is no uncertainty of its parameters.
        parameters.iter_mut().for_each(|of| (of.low, of.high) = (None, None));
    }
    Fit { name: name.into(), law: law.into(), from, to, parameters, quality }
}

/// The fit of a segment of larger sizes, whose time at size 0 is an intercept and no startup time.
pub(super) fn with_intercept(mut fit: Fit) -> Fit {
    let start = fit.parameters.iter_mut().filter(|parameter| parameter.name == "t0");
    start.for_each(|parameter| parameter.name = "intercept".into());
    fit
}

fn wire_quality(quality: &fit::FitQuality, verdict: fit::Grade) -> FitQuality {
    let fit::FitQuality { n_points, dof, chi2_red, relative_rmse, .. } = *quality;
    FitQuality {
        n_points,
        dof,
        chi2_red,
        relative_rmse,
        max_relative_residual: quality.max_relative_residual,
        max_at: quality.max_at,
        runs_p: quality.runs_p,
        bic: quality.bic,
        verdict: match verdict {
            fit::Grade::Good => FitGrade::Good,
            fit::Grade::Segment => FitGrade::Segment,
            fit::Grade::Poor => FitGrade::Poor,
        },
    }
}
