//! Sweeps: which points belong together, and what they are fitted with.

use comet_stats::fit::Weights;

use crate::record::{Param, Params, Point, PointStatus, Quote};

/// Axes of sizes, and the units of their values.
pub(super) const SIZES: &[(&str, &str)] = &[("length_bytes", "B"), ("vector_length", "doubles")];

/// The points with numbers that have all parameters in common but those in `free`, and the run, if
/// they are to be `of_one_run`; the groups are in the order in which they start.
pub(super) fn groups<'a>(
    points: &[&'a Point],
    free: &[&str],
    of_one_run: bool,
) -> Vec<Vec<&'a Point>> {
    let is_alike = |a: &Point, b: &Point| {
        (&a.suite, &a.kernel, &a.variant) == (&b.suite, &b.kernel, &b.variant)
            && (a.run_id == b.run_id || !of_one_run)
            && without(&a.params, free) == without(&b.params, free)
    };
    let mut groups: Vec<Vec<&Point>> = Vec::new();
    for point in points.iter().filter(|point| point.status == PointStatus::Ok) {
        match groups.iter_mut().find(|group| is_alike(group[0], point)) {
            Some(group) => group.push(point),
            None => groups.push(vec![point]),
        }
    }
    groups
}

/// `params` without those in `free`.
pub(crate) fn without(params: &Params, free: &[&str]) -> Params {
    let is_fixed = |(name, _): &&(String, Param)| !free.contains(&name.as_str());
    Params(params.0.iter().filter(is_fixed).cloned().collect())
}

/// The number that `point` has for the parameter `name`.
pub(crate) fn number(point: &Point, name: &str) -> Option<u64> {
    point.params.number(name)
}

/// `number` as the fits take it.
#[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^53")]
pub(crate) fn real(number: u64) -> f64 {
    number as f64
}

/// The time to quote of `point`, in us.
pub(super) fn time_us(point: &Point) -> Option<f64> {
    Some(quoted_ns(point)? / 1e3)
}

/// The time to quote of `point`, in ns.
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

/// The points between the breakpoints, each of which ends the part below it; none without
/// breakpoints.
pub(super) fn parts<'a>(
    points: &[&'a Point],
    axis: &str,
    breakpoints: &[u64],
) -> Vec<Vec<&'a Point>> {
    if breakpoints.is_empty() {
        return Vec::new();
    }
    let mut ends = breakpoints.to_vec();
    ends.sort_unstable();
    let index = |point: &Point| {
        let size = number(point, axis).unwrap_or(0);
        ends.partition_point(|end| *end < size)
    };
    let part = |of: usize| points.iter().copied().filter(|point| index(point) == of).collect();
    (0..=ends.len()).map(part).collect()
}
