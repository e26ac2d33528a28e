//! The samples of points, made values again by the definition of each: the share of them below each
//! time, and the times in the order in which they were taken.

use comet_core::definition::Definition;
use comet_core::kernel::GROUPS;
use comet_core::sample::Sample;
use comet_stats::{quantile, sorted};

use super::caption::Caption;
use super::chart::{self, axis, size};
use super::curve::{curves, evenly};
use super::sizes::label;
use super::sources::{self, KernelPoints, Look, Sources};
use crate::models::DISTANCE;
use crate::models::sweep::real;
use crate::plot::{self, Chart, Figure, Kind, Quantity, Scale, Trace};
use crate::record::{Measured, Param, Point, RANKS};
use crate::words;

const MAX_STEPS: u32 = 200;
/// The most samples in their order, of all points together.
const MAX_SAMPLES: usize = 400;

/// Id of the distribution of the point with the widest interval.
pub(crate) const WORST: &str = "worst-distribution";
const MIN_SAMPLES: usize = 10;
const MAX_POINTS: usize = 4;

pub(super) fn distribution(kernel: &KernelPoints<'_>) -> Option<Figure> {
    let sampled = Some(representative(kernel)).filter(|sampled| !sampled.is_empty())?;
    let chart = below_times(kernel, &sampled);
    let what = format!("Share of the samples of {} that take less than a time", kernel.name);
    let caption = Caption::of_samples(&what, &sampled);
    Some(kernel.figure("distribution", "distribution of samples", caption, chart))
}

/// The shares of samples that take less than a time.
fn below_times(kernel: &KernelPoints<'_>, sampled: &[Sampled<'_>]) -> Chart {
    let y_axis = axis("samples that take less", Quantity::Percent, Scale::Linear);
    let x_axis = chart::times(label(kernel), Scale::Log10);
    let mut chart = chart::chart(x_axis, y_axis, sampled.iter().map(steps).collect());
    if chart.series.iter().flat_map(|series| &series.points).any(|point| point.x < 0.0) {
        chart.x.scale = Scale::Linear;
    }
    chart
}

/// The distribution of the samples of the point with the widest interval for its time.
pub(super) fn worst(all: &Sources<'_>) -> Option<Figure> {
    let kernels = all.kernels();
    let points = kernels.iter().flat_map(|kernel| kernel.points.iter().map(move |of| (kernel, of)));
    let goes_away = |point: &Point| point.on(DISTANCE) != Some(0);
    let known = points.filter(|(_, of)| varies(of.point) && goes_away(of.point));
    let wide = known.filter_map(|(kernel, of)| Some((half_width(of.point)?, kernel, of)));
    let (half, kernel, sources::Measured { source, point }) =
        wide.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let params = point.params.0.iter();
    let words = params.map(|(name, value)| words::parameter(&point.facts, name, value));
    let words = words.collect::<Vec<_>>().join(", ");
    let (name, look) = (kernel.named(&words, *source), kernel.look(0, *source));
    let sampled = [Sampled { name, look, point, values_ns: values_ns(point)? }];
    let what = format!(
        "Share of the samples that take less than a time at the point with the widest interval \
         (±{:.1} %): {}, {words}",
        100.0 * half,
        words::kernel(&point.suite, &point.kernel, point.variant.as_deref()),
    );
    let caption = Caption::of_samples(&what, &sampled);
    let figure = kernel.figure("", "", caption, below_times(kernel, &sampled));
    let title = format!("worst point: {}, {words}", kernel.name);
    Some(Figure { id: WORST.into(), title, ..figure })
}

/// Half of the interval of `point`, as a share of its time.
fn half_width(point: &Point) -> Option<f64> {
    let [low, high] = point.interval_ns()?;
    let quoted_ns = point.quoted_ns().filter(|ns| *ns > 0.0)?;
    Some((high - low) / quoted_ns / 2.0)
}

const IN_ORDER: &str = "Of many samples in their order some are shown, evenly chosen.";

/// The samples of a kernel in their order, if they vary: drifts, modes and what came first.
pub(super) fn in_order(kernel: &KernelPoints<'_>) -> Option<Figure> {
    let sampled = Some(representative(kernel)).filter(|sampled| !sampled.is_empty())?;
    let x_axis = axis("number of the sample", Quantity::Count, Scale::Linear);
    let n_each = MAX_SAMPLES / sampled.len();
    let drawn = sampled.iter().map(|sampled| samples(sampled, n_each)).collect();
    let chart = chart::chart(x_axis, chart::times(label(kernel), Scale::Log10), drawn);
    let what = format!("Samples of {} in the order in which they were taken", kernel.name);
    let caption = Caption::of_samples(&what, &sampled).noted(true, IN_ORDER);
    Some(kernel.figure("samples", "samples in order", caption, chart))
}

fn steps(sampled: &Sampled<'_>) -> Trace {
    let values = sorted(&sampled.values_ns);
    let n_steps = u32::try_from(values.len()).unwrap_or(u32::MAX).min(MAX_STEPS);
    let step = |index: u32| {
        let share = f64::from(index) / f64::from(n_steps.saturating_sub(1).max(1));
        plot::Vertex { x: quantile(&values, share), y: 100.0 * share, ..plot::Vertex::default() }
    };
    series(sampled, Kind::Steps, (0..n_steps).map(step).collect())
}

fn samples(sampled: &Sampled<'_>, n_most: usize) -> Trace {
    let numbered: Vec<(u64, f64)> = (1..).zip(sampled.values_ns.iter().copied()).collect();
    let mark = |(number, ns): (u64, f64)| plot::Vertex {
        x: real(number),
        y: ns,
        is_hollow: number == 1,
        note: if number == 1 { "first sample".into() } else { String::new() },
        ..plot::Vertex::default()
    };
    let points = evenly(&numbered, n_most).into_iter().map(mark).collect();
    series(sampled, Kind::Scatter, points)
}

fn series(sampled: &Sampled<'_>, kind: Kind, points: Vec<plot::Vertex>) -> Trace {
    let Look { colour, dashes } = sampled.look;
    Trace { name: sampled.name.clone(), kind, colour, dashes, points }
}

/// A point whose samples are shown.
#[derive(Clone, Debug)]
pub(super) struct Sampled<'a> {
    pub(super) name: String,
    pub(super) look: Look,
    pub(super) point: &'a Point,
    pub(super) values_ns: Vec<f64>,
}

/// The points of `kernel` whose samples are shown: a few sizes of the first sweep on the most ranks
/// whose messages go to another rank.
pub(super) fn representative<'a>(kernel: &KernelPoints<'a>) -> Vec<Sampled<'a>> {
    if kernel.is_of_pairs_in_rounds() {
        return Vec::new();
    }
    let goes_away = |point: &Point| point.on(DISTANCE) != Some(0);
    let kernel = kernel.on_most_ranks().only(|point| varies(point) && goes_away(point));
    let x = size(&kernel).unwrap_or(RANKS);
    let all = curves(&kernel, x);
    let Some(first) = all.first() else { return Vec::new() };
    let sizes: Vec<u64> = first.points.iter().filter_map(|point| point.number(x)).collect();
    let sizes = evenly(&sizes, MAX_POINTS);
    let of_first = all.iter().filter(|curve| curve.kind == first.kind);
    let points = of_first.flat_map(|curve| curve.points.iter().map(|point| (curve.source, *point)));
    let sampled = points.filter_map(|(source, point)| {
        let size = point.number(x)?;
        let number = sizes.iter().position(|chosen| *chosen == size)?;
        let words = words::parameter(&point.facts, x, &Param::Number(size));
        let (name, look) = (kernel.named(&words, source), kernel.look(number, source));
        Some(Sampled { name, look, point, values_ns: values_ns(point)? })
    });
    sampled.collect()
}

fn varies(point: &Point) -> bool {
    point.measured().is_some_and(|Measured { numbers, reps, .. }| {
        numbers.time_ns.min < numbers.time_ns.max && reps.n >= MIN_SAMPLES
    })
}

/// The values of `point` for one operation, in time order, without those that make none; `None` if
/// the record does not hold what its definition needs.
pub(crate) fn values_ns(point: &Point) -> Option<Vec<f64>> {
    let measured = point.measured()?;
    let definition = Definition::find(&measured.numbers.value.definition)?;
    let [inner, divisor] = [measured.reps.inner, measured.numbers.value.divisor].map(u64::from);
    let n_values = (inner * divisor).max(1);
    let samples = measured.samples.as_ref().filter(|of| of.is_length(of.data.len()))?;
    let [n_ranks, n_samples] = samples.shape;
    let n_groups = point.number(GROUPS.name).and_then(|n| usize::try_from(n).ok()).unwrap_or(1);
    if n_ranks == 0 || n_groups == 0 || !n_ranks.is_multiple_of(n_groups) {
        return None;
    }
    let invalid = point.quality().map_or(&[][..], |quality| &quality.invalid);
    let value = |index: usize| {
        let of_ranks: Option<Vec<Sample>> =
            (0..n_ranks).map(|rank| sample(measured, rank * n_samples + index)).collect();
        // As in the driver, the slowest group stands for all.
        let of_ranks = of_ranks?;
        let of_groups = of_ranks.chunks(n_ranks / n_groups);
        of_groups.map(|of_group| definition.value_ns(of_group, n_values)).reduce(f64::max)
    };
    let valid = (0..n_samples).filter(|index| !invalid.contains(index));
    let values: Vec<f64> = valid.map(value).collect::<Option<_>>()?;
    (!values.is_empty()).then_some(values)
}

/// The sample number `index` in the layout of the record; its clock starts with the first sample,
/// but not before the window that this was due in.
fn sample(of: &Measured, index: usize) -> Option<Sample> {
    /// Reading of the clock at the first sample.
    const ORIGIN_NS: u64 = 1 << 52;
    let at = |list: &Option<Vec<u64>>| list.as_ref().and_then(|list| list.get(index).copied());
    let elapsed_ns = *of.samples.as_ref()?.data.get(index)?;
    let start_ns = ORIGIN_NS.checked_add(at(&of.starts_ns)?)?;
    Some(Sample {
        start_ns,
        end_ns: start_ns.checked_add(elapsed_ns)?,
        due_ns: at(&of.late_ns).and_then(|late| start_ns.checked_sub(late)),
        reference_ns: at(&of.reference_ns),
        is_skewed: of.plan.skew_ns.is_some(),
    })
}
