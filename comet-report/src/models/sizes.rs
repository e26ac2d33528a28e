//! Times over sizes: Hockney's four parameters, by the robust line, by segments, and as PARKBENCH
//! fits them.
//!
//! Two of the four are independent: n½ = t0 r∞ and π₀ = r∞ / n½ (PARKBENCH report, COMMS1), so they
//! always stand together, and where one of the two is not known none of them is published. The size
//! is the number of bytes that an operation moves, where the point has it: then r∞ is the rate of all bytes,
//! as COMMS3 wants it, and n½ is also given for the length of one message.

use comet_core::kernel::{Class, Evaluation};
use comet_stats::fit::{
    Bounds, FitError, Line, Marks, Segment, Weights, breaks, segments, segments_at,
};

use super::sweep::{
    Sweep, clock_ns, fit, half_widths_us, parameter, real, scaled, time_us, weights,
};
use super::{value, values};
use crate::record::{Breakpoint, BreakpointSource, Fit, Model, Parameter, Point};

/// Name of the fits as PARKBENCH makes them.
const OLS: &str = "parkbench_ols";

const LAW: &str = "t = t0 + n / r_inf";

/// Warning that the times give no startup time.
const NO_STARTUP: &str = "t0_nonpositive";
/// Warning that the times give no rate.
const NO_RATE: &str = "rate_not_identifiable";
/// Warnings about parts that make no line.
const NO_SEGMENT: &str = "no_segment";
const NO_OLS: &str = "no_parkbench_ols";

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
    let pairs = scale.pairs(&sweep)?;
    let found = segments(&pairs, &Bounds::default()).ok()?;
    let given: Vec<f64> = breakpoints.iter().map(|size| scale.size(*size)).collect();
    let mut model = sweep.model("line", [scale.x, scale.unit]);
    model.breakpoints =
        if given.is_empty() { searched(&pairs, &found) } else { inside(&given, &pairs) };
    let cuts = model.breakpoints.iter().map(|breakpoint| breakpoint.at).collect();
    let laws = Laws { scale, cuts, given, n_segments: found.len() };
    let (mut starts, mut refused) = (None, None);
    model.fits = sweep.across_launches(|sweep| {
        let found = laws.fits(sweep)?;
        starts.get_or_insert(value(&found.fits[0].parameters, "t0").is_some());
        refused.get_or_insert(found.refused);
        Some(found.fits)
    })?;
    model.fits.iter_mut().for_each(together);
    model.warnings.extend(refused.unwrap_or_default());
    if starts == Some(false) {
        model.warnings.push(NO_STARTUP.into());
    } else if value(&model.fits[0].parameters, "t0").is_none() {
        model.warnings.push(NO_RATE.into());
    }
    model.warnings.extend(clock_share(&sweep));
    model.marks = scale.marks(&pairs);
    Some(model)
}

fn searched(pairs: &[(f64, f64)], found: &[Segment]) -> Vec<Breakpoint> {
    let breaks = breaks(pairs, found, &Bounds::default(), SEED).unwrap_or_default();
    let wire = |found: comet_stats::fit::Break| Breakpoint {
        at: found.above,
        how: BreakpointSource::Searched,
        low: Some(found.range.low),
        high: Some(found.range.high),
    };
    breaks.into_iter().map(wire).collect()
}

/// The breaks at those of the sizes `given` that lie within `pairs`.
fn inside(given: &[f64], pairs: &[(f64, f64)]) -> Vec<Breakpoint> {
    let (first, last) = (pairs[0].0, pairs[pairs.len() - 1].0);
    let mut inside: Vec<f64> =
        given.iter().copied().filter(|at| (first..last).contains(at)).collect();
    inside.sort_by(f64::total_cmp);
    inside.dedup();
    let wire = |at| Breakpoint { at, how: BreakpointSource::Given, low: None, high: None };
    inside.into_iter().map(wire).collect()
}

/// Leaves all four of the parameters of `fit`, or none of them: two determine the others, and one
/// alone says nothing.
fn together(fit: &mut Fit) {
    let [t0, intercept, r_inf] = values(fit, ["t0", "intercept", "r_inf"]);
    if t0.or(intercept).and(r_inf).is_none() {
        let none = |of: &mut Parameter| (of.value, of.low, of.high) = (None, None, None);
        fit.parameters.iter_mut().for_each(none);
    }
}

/// The warning that two clock readings are a notable share of a time: the batches were short.
fn clock_share(sweep: &Sweep<'_>) -> Option<String> {
    let share = |point: &&Point| {
        let share = clock_ns(point) / (1e3 * time_us(point)?);
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

    /// The size and the time of each point.
    fn pairs(&self, sweep: &Sweep<'_>) -> Option<Vec<(f64, f64)>> {
        let pair = |point: &&Point| Some((self.size(sweep.at(point, 0)), sweep.time_us(point)?));
        sweep.points.iter().map(pair).collect()
    }

    /// The four of `line`. Where it does not start at the smallest sizes, it has an intercept, which is
    /// no startup time and may be negative.
    fn parameters(&self, line: &Line, is_startup: bool) -> Vec<Parameter> {
        let Self { unit, axis_unit, factor, .. } = *self;
        let start = match is_startup {
            true => parameter("t0", "us", line.startup(), line.t0_range()),
            false => parameter("intercept", "us", Some(line.t0), line.intercept_range()),
        };
        let (n_half, half_range) = (line.n_half(), line.n_half_range());
        let pi_0 = line.pi_0().map(|per_us| 1e3 * per_us);
        let mut parameters = vec![
            start,
            parameter("r_inf", &self.rate_unit(), line.r_inf(), line.r_inf_range()),
            parameter("n_half", unit, n_half, half_range),
            parameter("pi0", "kHz", pi_0, scaled(line.pi_0_range(), 1e3)),
        ];
        if factor != 1.0 {
            let (length, range) = (n_half.map(|n| n / factor), scaled(half_range, 1.0 / factor));
            parameters.push(parameter("n_half_length", axis_unit, length, range));
        }
        parameters
    }

    fn marks(&self, pairs: &[(f64, f64)]) -> Vec<Parameter> {
        let Some(marks) = Marks::of(pairs) else { return Vec::new() };
        let mark = |name, unit, value| parameter(name, unit, value, None);
        let unit = self.unit;
        vec![
            mark("best_rate", &self.rate_unit(), Some(marks.peak)),
            mark("best_rate_at", unit, Some(marks.peak_at)),
            mark("n_half_measured", unit, marks.half_at),
            mark("n_0.9_measured", unit, marks.ninety_at),
        ]
    }
}

/// The laws of one sweep, for any times of its points.
struct Laws<'a> {
    scale: Scale<'a>,
    /// Sizes that end segments, and those of them that the user gave.
    cuts: Vec<f64>,
    given: Vec<f64>,
    /// Number of segments that the points fall into.
    n_segments: usize,
}

/// Fits, and why there are no others.
struct Found {
    fits: Vec<Fit>,
    refused: Vec<String>,
}

impl Laws<'_> {
    /// All fits; `None` if there is not even a line.
    fn fits(&self, sweep: &Sweep<'_>) -> Option<Found> {
        let pairs = self.scale.pairs(sweep)?;
        let widths = half_widths_us(&sweep.points);
        let weights = weights(widths.as_deref());
        let whole = Line::fit_robust(&pairs, weights).ok()?;
        let extent = [pairs[0].0, pairs[pairs.len() - 1].0];
        let parameters = self.scale.parameters(&whole, true);
        let line = fit(["line", LAW], extent, parameters, &whole.quality, self.n_segments);
        let mut found = Found { fits: vec![line], refused: Vec::new() };
        if !self.cuts.is_empty() {
            let segments = segments_at(&pairs, &self.cuts, weights, Line::fit_robust);
            found.take("segment", NO_SEGMENT, segments, |segment| {
                self.scale.parameters(&segment.line, segment.from == extent[0])
            });
        }
        // PARKBENCH cuts where it is told to, and nowhere else, and has all four of each region.
        let regions = segments_at(&pairs, &self.given, Weights::Equal, Line::fit);
        let all_four = |region: &Segment| self.scale.parameters(&region.line, true);
        found.take(OLS, NO_OLS, regions, all_four);
        Some(found)
    }
}

impl Found {
    /// Adds `segments` as fits called `name`, with their `parameters`, or the `warning` about each that
    /// makes no line.
    fn take(
        &mut self,
        name: &str,
        warning: &str,
        segments: Vec<Result<Segment, FitError>>,
        parameters: impl Fn(&Segment) -> Vec<Parameter>,
    ) {
        for segment in segments {
            match segment {
                Ok(of) => {
                    let (extent, parameters) = ([of.from, of.to], parameters(&of));
                    self.fits.push(fit([name, LAW], extent, parameters, &of.line.quality, 1));
                }
                Err(reason) => self.refused.push(format!("{warning}: {reason}")),
            }
        }
    }
}
