//! Times over sizes: Hockney's four parameters, by the robust line, by segments, and as PARKBENCH
//! fits them.
//!
//! Two of the four are independent: n½ = t0 r∞ and π₀ = r∞ / n½ (PARKBENCH report, COMMS1), so they
//! always stand together, and where t0 is not positive none of them is published. The size is the
//! number of bytes that an operation moves, where the point has it: then r∞ is the rate of all bytes,
//! as COMMS3 wants it, and n½ is also given for the length of one message.

use comet_core::kernel::{Class, Evaluation};
use comet_stats::fit::{Bounds, Line, Marks, Segment, Weights, breaks, segments, segments_at};

use super::sweep::{Sweep, fit, half_widths_us, parameter, real, scaled, time_us, weights};
use crate::record::{Breakpoint, BreakpointSource, Fit, Model, Parameter, Point};

/// Name of the fits as PARKBENCH makes them.
const OLS: &str = "parkbench_ols";

const LAW: &str = "t = t0 + n / r_inf";

/// Start of the random numbers that the intervals of breakpoints are drawn with.
const SEED: u64 = 1993;

/// Number of the series of the work alone, in an overlap.
const WORK: usize = 1;

/// The largest share of a time that two clock readings may take without a warning.
const MAX_CLOCK_SHARE: f64 = 0.01;

/// True if the time of `point` is one of its message: it moves bytes, and is no copy of memory. In an
/// overlap that is the exchange alone.
pub(super) fn is_of_message(point: &Point) -> bool {
    let is_copy = point.facts.evaluation == Evaluation::MemoryCopy;
    point.value().is_some_and(|value| value.bytes_per_op.is_some() && !is_copy)
        && (point.facts.class() != Some(Class::Overlap) || point.series() != Some(WORK))
}

/// True if the time of `point` is one of its vector; in an overlap that of the work alone is.
pub(super) fn is_of_vector(point: &Point) -> bool {
    point.facts.class() != Some(Class::Overlap) || point.series() == Some(WORK)
}

pub(super) fn model(mut sweep: Sweep<'_>, breakpoints: &[u64]) -> Option<Model> {
    let axis = sweep.axes[0];
    sweep.points.sort_by_key(|point| point.number(&axis.name));
    let scale = Scale::of(&sweep);
    let pair = |point: &&Point| Some((scale.size(sweep.at(point, 0)), time_us(point)?));
    let pairs: Vec<(f64, f64)> = sweep.points.iter().map(pair).collect::<Option<_>>()?;
    let widths = half_widths_us(&sweep.points);
    let times = Times { pairs: &pairs, weights: weights(widths.as_deref()), scale };
    let given: Vec<f64> = breakpoints.iter().map(|size| scale.size(*size)).collect();
    let mut model = sweep.model("line", [scale.x, scale.unit]);
    times.describe(&given, &mut model)?;
    model.warnings.extend(clock_share(&sweep));
    let clock_us = |point: &&Point| point.quality().map_or(0.0, |q| q.overhead_ns.clock / 1e3);
    let clocks_us = sweep.points.iter().map(clock_us);
    let less: Vec<(f64, f64)> =
        pairs.iter().zip(clocks_us).map(|(p, us)| (p.0, p.1 - us)).collect();
    if less != pairs {
        let cuts: Vec<f64> = model.breakpoints.iter().map(|breakpoint| breakpoint.at).collect();
        let mut without = sweep.model("line", [scale.x, scale.unit]);
        Times { pairs: &less, ..times }.describe(&cuts, &mut without);
        model.fits.iter_mut().for_each(|fit| widen(fit, &without.fits));
    }
    Some(model)
}

/// Widens the ranges of `fit` to those of the same points less the clock: the true times lie between
/// both. Fits of PARKBENCH stay as its report has them.
fn widen(fit: &mut Fit, without_clock: &[Fit]) {
    let is_same = |other: &&Fit| {
        (&other.name, other.from, other.to) == (&fit.name, fit.from, fit.to) && fit.name != OLS
    };
    let Some(other) = without_clock.iter().find(is_same) else { return };
    for parameter in &mut fit.parameters {
        let same = other.parameters.iter().find(|other| other.name == parameter.name);
        let Some(other) = same else { continue };
        parameter.low = parameter.low.zip(other.low).map(|(a, b)| a.min(b));
        parameter.high = parameter.high.zip(other.high).map(|(a, b)| a.max(b));
    }
}

/// The warning that two clock readings are a notable share of a time: the batches were short.
fn clock_share(sweep: &Sweep<'_>) -> Option<String> {
    let share = |point: &&Point| {
        let share = point.quality()?.overhead_ns.clock / (1e3 * time_us(point)?);
        Some((share, sweep.at(point, 0)))
    };
    let worst = sweep.points.iter().filter_map(share).max_by(|a, b| a.0.total_cmp(&b.0));
    let (share, size) = worst.filter(|(share, _)| *share > MAX_CLOCK_SHARE)?;
    let (percent, unit) = (100.0 * share, &sweep.axes[0].unit);
    Some(format!("clock_share: up to {percent:.0} % of a time (at {size} {unit})"))
}

#[derive(Clone, Copy)]
struct Scale<'a> {
    x: &'a str,
    unit: &'a str,
    axis_unit: &'a str,
    /// Units of `x` for each one of the axis.
    factor: f64,
}

impl<'a> Scale<'a> {
    /// Bytes that an operation moves, if they are a multiple of the axis; or else the axis itself.
    fn of(sweep: &Sweep<'a>) -> Self {
        let axis = sweep.axes[0];
        let factor = |point: &Point| {
            let bytes = point.value()?.bytes_per_op?;
            (bytes > 0).then(|| real(bytes) / real(sweep.at(point, 0)))
        };
        let sized = sweep.points.iter().filter(|point| sweep.at(point, 0) > 0);
        let factors: Option<Vec<f64>> = sized.map(|point| factor(point)).collect();
        let common = factors.and_then(|factors| {
            let first = *factors.first()?;
            factors.iter().all(|factor| *factor == first).then_some(first)
        });
        let (x, axis_unit) = (&*axis.name, &*axis.unit);
        match common {
            Some(factor) if factor != 1.0 => {
                Self { x: "bytes_per_op", unit: "B", axis_unit, factor }
            }
            _ => Self { x, unit: axis_unit, axis_unit, factor: 1.0 },
        }
    }

    fn size(&self, of_axis: u64) -> f64 {
        real(of_axis) * self.factor
    }

    /// Unit of a rate in sizes over us.
    fn rate_unit(&self) -> String {
        if self.unit == "B" { "MB/s".into() } else { format!("10^6 {}/s", self.unit) }
    }
}

struct Times<'a> {
    pairs: &'a [(f64, f64)],
    weights: Weights<'a>,
    scale: Scale<'a>,
}

impl Times<'_> {
    /// Adds all fits to `model`; `None` if there is not even a line.
    fn describe(&self, given: &[f64], model: &mut Model) -> Option<()> {
        let whole = Line::fit_robust(self.pairs, self.weights).ok()?;
        let extent = [self.pairs[0].0, self.pairs[self.pairs.len() - 1].0];
        let found = segments(self.pairs, &Bounds::default()).ok()?;
        model.breakpoints =
            if given.is_empty() { self.searched(&found) } else { self.given(given) };
        let cuts: Vec<f64> = model.breakpoints.iter().map(|breakpoint| breakpoint.at).collect();
        model.fits.push(self.fit("line", extent, &whole, found.len()));
        if !cuts.is_empty() {
            match segments_at(self.pairs, &cuts, self.weights, Line::fit_robust) {
                Ok(segments) => model.fits.extend(self.parts("segment", &segments)),
                Err(reason) => model.warnings.push(format!("no_segments: {reason}")),
            }
        }
        // PARKBENCH cuts where it is told to, and nowhere else.
        match segments_at(self.pairs, given, Weights::Equal, Line::fit) {
            Ok(segments) => model.fits.extend(self.parts(OLS, &segments)),
            Err(reason) => model.warnings.push(format!("no_parkbench_ols: {reason}")),
        }
        if whole.startup().is_none() {
            model.warnings.push("t0_nonpositive".into());
        }
        model.marks = self.marks();
        Some(())
    }

    fn searched(&self, found: &[Segment]) -> Vec<Breakpoint> {
        let breaks = breaks(self.pairs, found, &Bounds::default(), SEED).unwrap_or_default();
        let wire = |found: comet_stats::fit::Break| Breakpoint {
            at: found.above,
            how: BreakpointSource::Searched,
            low: Some(found.range.low),
            high: Some(found.range.high),
        };
        breaks.into_iter().map(wire).collect()
    }

    fn given(&self, sizes: &[f64]) -> Vec<Breakpoint> {
        let (first, last) = (self.pairs[0].0, self.pairs[self.pairs.len() - 1].0);
        let mut inside: Vec<f64> =
            sizes.iter().copied().filter(|at| (first..last).contains(at)).collect();
        inside.sort_by(f64::total_cmp);
        inside.dedup();
        let wire = |at| Breakpoint { at, how: BreakpointSource::Given, low: None, high: None };
        inside.into_iter().map(wire).collect()
    }

    fn parts(&self, name: &str, segments: &[Segment]) -> Vec<Fit> {
        let part = |segment: &Segment| self.fit(name, [segment.from, segment.to], &segment.line, 1);
        segments.iter().map(part).collect()
    }

    fn fit(&self, name: &str, extent: [f64; 2], line: &Line, n_segments: usize) -> Fit {
        let starts_first = extent[0] == self.pairs[0].0;
        fit([name, LAW], extent, self.parameters(line, starts_first), &line.quality, n_segments)
    }

    /// The four together; none of them without a startup time. A segment of larger sizes has an
    /// intercept, which is no startup time and has no inverse.
    fn parameters(&self, line: &Line, is_startup: bool) -> Vec<Parameter> {
        let Scale { unit, axis_unit, factor, .. } = self.scale;
        let start = match is_startup {
            true => parameter("t0", "us", line.startup(), line.t0_range()),
            false => parameter("intercept", "us", Some(line.t0), line.intercept_range()),
        };
        let r_inf = line.r_inf().filter(|_| start.value.is_some());
        // A ratio without a range has a divisor that may be 0.
        let is_bounded = line.covariance.is_none() || line.n_half_range().is_some();
        let n_half = line.n_half().filter(|_| is_bounded && start.value.is_some());
        let mut parameters = vec![
            start,
            parameter("r_inf", &self.scale.rate_unit(), r_inf, r_inf.and(line.r_inf_range())),
            parameter("n_half", unit, n_half, line.n_half_range()),
        ];
        if is_startup {
            let pi_0 = line.pi_0().map(|per_us| 1e3 * per_us);
            parameters.push(parameter("pi0", "kHz", pi_0, scaled(line.pi_0_range(), 1e3)));
        }
        if factor != 1.0 {
            let length = n_half.map(|n| n / factor);
            let range = scaled(line.n_half_range(), 1.0 / factor);
            parameters.push(parameter("n_half_length", axis_unit, length, range));
        }
        parameters
    }

    fn marks(&self) -> Vec<Parameter> {
        let Some(marks) = Marks::of(self.pairs) else { return Vec::new() };
        let mark = |name, unit, value| parameter(name, unit, value, None);
        let unit = self.scale.unit;
        vec![
            mark("best_rate", &self.scale.rate_unit(), Some(marks.peak)),
            mark("best_rate_at", unit, Some(marks.peak_at)),
            mark("n_half_measured", unit, marks.half_at),
            mark("n_0.9_measured", unit, marks.ninety_at),
        ]
    }
}
