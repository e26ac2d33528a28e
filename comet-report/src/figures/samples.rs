//! The samples of points, made values again by the definition of each.

use comet_core::definition::Definition;
use comet_core::sample::Sample;

use super::chart::size;
use super::curve::{curves, evenly};
use super::sources::Kernel;
use crate::models::sweep::number;
use crate::record::{Param, Point};
use crate::words;

/// Fewest samples that show a distribution.
const MIN_SAMPLES: usize = 10;
/// The most points of one kernel whose samples are shown, but for those of further runs.
const MAX_POINTS: usize = 4;

/// A point whose samples are shown.
#[derive(Clone, Debug)]
pub(super) struct Sampled<'a> {
    /// Number of its source.
    pub(super) source: usize,
    /// Name of the series.
    pub(super) name: String,
    /// Number of its colour, which is the same in all sources.
    pub(super) colour: usize,
    /// The point.
    pub(super) point: &'a Point,
    /// Times of one operation, in time order.
    pub(super) values_ns: Vec<f64>,
}

/// The points of `kernel` whose samples are shown: a few sizes of the first sweep on the most ranks
/// whose messages go to another rank.
pub(super) fn representative<'a>(kernel: &Kernel<'a>) -> Vec<Sampled<'a>> {
    if kernel.is_of_pairs_in_rounds() {
        return Vec::new();
    }
    let goes_away = |point: &Point| number(point, "hops") != Some(0);
    let kernel = kernel.on_most_ranks().only(|point| varies(point) && goes_away(point));
    let x = size(&kernel).unwrap_or("procs");
    let all = curves(&kernel, x);
    let Some(first) = all.first() else { return Vec::new() };
    let sizes: Vec<u64> = first.points.iter().filter_map(|point| number(point, x)).collect();
    let sizes = evenly(&sizes, MAX_POINTS);
    let of_first = all.iter().filter(|curve| curve.colour == first.colour);
    let points = of_first.flat_map(|curve| curve.points.iter().map(|point| (curve.source, *point)));
    let sampled = points.filter_map(|(source, point)| {
        let size = number(point, x)?;
        let colour = sizes.iter().position(|chosen| *chosen == size)?;
        let words = words::parameter(x, &Param::Number(size));
        let is_alone = kernel.sources.len() == 1;
        let name = if is_alone { words } else { format!("{words}, {}", kernel.sources[source]) };
        Some(Sampled { source, name, colour, point, values_ns: values_ns(point)? })
    });
    sampled.collect()
}

/// True if `point` has samples enough, and not all the same.
fn varies(point: &Point) -> bool {
    let differ = point.time_ns.as_ref().is_some_and(|time| time.min < time.max);
    differ && point.reps.as_ref().is_some_and(|reps| reps.n >= MIN_SAMPLES)
}

/// The values of `point` for one operation, in time order, without those that make none; `None` if
/// the record does not hold what its definition needs.
pub(super) fn values_ns(point: &Point) -> Option<Vec<f64>> {
    let definition = Definition::find(&point.value.as_ref()?.definition)?;
    let inner = point.reps.as_ref()?.inner.max(1);
    let samples = point.samples.as_ref()?;
    let [n_ranks, n_samples] = samples.shape;
    let is_whole = n_ranks > 0 && n_ranks.checked_mul(n_samples) == Some(samples.data.len());
    let invalid = point.quality.as_ref().map_or(&[][..], |quality| &quality.invalid);
    let value = |index: usize| {
        let of_ranks: Option<Vec<Sample>> =
            (0..n_ranks).map(|rank| sample(point, rank * n_samples + index)).collect();
        Some(definition.value_ns(&of_ranks?, inner))
    };
    let valid = (0..n_samples).filter(|index| is_whole && !invalid.contains(index));
    let values: Vec<f64> = valid.map(value).collect::<Option<_>>()?;
    (!values.is_empty()).then_some(values)
}

/// The sample number `index` in the layout of the record; its clock starts with the first sample,
/// but not before the window that this was due in.
fn sample(point: &Point, index: usize) -> Option<Sample> {
    /// Reading of the clock at the first sample.
    const ORIGIN_NS: u64 = 1 << 52;
    let at = |list: &Option<Vec<u64>>| list.as_ref().and_then(|list| list.get(index).copied());
    let elapsed_ns = *point.samples.as_ref()?.data.get(index)?;
    let start_ns = ORIGIN_NS.checked_add(at(&point.starts_ns)?)?;
    Some(Sample {
        start_ns,
        end_ns: start_ns.checked_add(elapsed_ns)?,
        due_ns: at(&point.late_ns).and_then(|late| start_ns.checked_sub(late)),
        reference_ns: at(&point.reference_ns),
        is_skewed: point.plan.as_ref().is_some_and(|plan| plan.skew_ns.is_some()),
    })
}
