//! Boundaries between segments and their uncertainty, or the sizes that a user gives (PARKBENCH
//! lets a breakpoint be read in, with one fit below and one above).

use std::ops::Range as Indices;

use oorandom::Rand64;

use super::range::middle;
use super::segments::cuts;
use super::{Bounds, FitError, Line, Range, Segment, Weights};
use crate::normal;

/// Number of sweeps that are drawn from the lines and cut again.
const N_REFITS: usize = 200;

/// A break between two segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Break {
    /// The largest size of the lower segment: the break is not below it.
    pub above: f64,
    /// The smallest size of the upper segment: the break is below it.
    pub below: f64,
    /// The sizes between which the break lies in 95 of 100 sweeps like this one.
    pub range: Range,
}

/// The breaks between the segments that [`segments`](super::segments) found in `points` by these
/// `rules`.
///
/// Their ranges are those of sweeps that are drawn from the lines with the scatter around them,
/// with a generator that starts at `seed`.
///
/// # Errors
/// [`FitError`] if a time is not positive, or if the rules do not allow so many segments.
pub fn breaks(
    points: &[(f64, f64)],
    segments: &[Segment],
    rules: &Bounds,
    seed: u64,
) -> Result<Vec<Break>, FitError> {
    if segments.len() < 2 {
        return Ok(Vec::new());
    }
    let mut random = Rand64::new(seed.into());
    let mut refits = Vec::with_capacity(N_REFITS);
    for _ in 0..N_REFITS {
        let drawn = drawn(points, segments, &mut random);
        refits.push((cuts(&drawn, segments.len(), rules)?, drawn));
    }
    let at = |index: usize, pair: &[Segment]| {
        let sides = |side: usize| {
            refits.iter().map(|(cuts, sweep)| sweep[cuts[index + 1] - side].0).collect::<Vec<_>>()
        };
        let range = Range { low: middle(&sides(1)).low, high: middle(&sides(0)).high };
        Break { above: pair[0].to, below: pair[1].from, range }
    };
    Ok(segments.windows(2).enumerate().map(|(index, pair)| at(index, pair)).collect())
}

/// One line for each part of `points`, with ascending sizes, between the sizes of `breaks`, of
/// which each is the largest of its part; a part without a point is left out, and one that makes no
/// line is an error of its own.
///
/// Fit with [`Line::fit_robust`], or with [`Line::fit`] and [`Weights::Equal`] as PARKBENCH does
/// (`parkbench_ols`).
///
/// # Panics
/// If there is not one weight for each point.
pub fn segments_at(
    points: &[(f64, f64)],
    breaks: &[f64],
    weights: Weights<'_>,
    fit: impl Fn(&[(f64, f64)], Weights<'_>) -> Result<Line, FitError>,
) -> Vec<Result<Segment, FitError>> {
    let segment = |part: Indices<usize>| {
        let (from, to) = (points[part.start].0, points[part.end - 1].0);
        let of_part = |error| FitError(format!("no line from {from} to {to}: {error}"));
        let line = fit(&points[part.clone()], weights.part(part)).map_err(of_part)?;
        Ok(Segment { from, to, line })
    };
    parts(points, breaks).into_iter().map(segment).collect()
}

/// The indices of the points between the breaks.
fn parts(points: &[(f64, f64)], breaks: &[f64]) -> Vec<Indices<usize>> {
    let end_of = |size: &f64| points.partition_point(|(n, _)| n <= size);
    let mut ends: Vec<usize> = breaks.iter().map(end_of).collect();
    ends.extend([0, points.len()]);
    ends.sort_unstable();
    ends.windows(2).map(|pair| pair[0]..pair[1]).filter(|part| !part.is_empty()).collect()
}

/// A sweep of the same sizes: the lines, with a normal scatter as wide as theirs.
fn drawn(points: &[(f64, f64)], segments: &[Segment], random: &mut Rand64) -> Vec<(f64, f64)> {
    let time = |&(n, _): &(f64, f64)| {
        let segment = segments.iter().find(|segment| n <= segment.to)?;
        // A time that is not positive has no relative error.
        let factor = (1.0 + scatter(&segment.line) * normal(random)).max(f64::EPSILON);
        Some((n, segment.line.at(n).max(f64::MIN_POSITIVE) * factor))
    };
    points.iter().filter_map(time).collect()
}

/// The relative standard deviation of points around a line.
fn scatter(line: &Line) -> f64 {
    let quality = line.quality;
    quality.relative_rmse * (quality.n_points as f64 / quality.dof.max(1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::super::truth::ipsc860;
    use super::*;

    const SIZES: [f64; 14] =
        [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 100.0, 101.0, 200.0, 400.0, 800.0, 1600.0, 3200.0];

    fn noisy(percent: f64) -> Vec<(f64, f64)> {
        let mut random = Rand64::new(3);
        SIZES.map(|n| (n, ipsc860(n) * (1.0 + percent / 100.0 * normal(&mut random)))).to_vec()
    }

    fn at(points: &[(f64, f64)], breaks: &[f64], weights: Weights<'_>) -> Vec<Segment> {
        segments_at(points, breaks, weights, Line::fit).into_iter().map(Result::unwrap).collect()
    }

    #[test]
    fn the_range_of_a_break_grows_with_the_scatter() {
        let found = |percent| {
            let points = noisy(percent);
            let segments = at(&points, &[100.0], Weights::Relative);
            breaks(&points, &segments, &Bounds::default(), 1).unwrap()
        };
        let exact = Break { above: 100.0, below: 101.0, range: Range { low: 100.0, high: 101.0 } };
        assert_eq!(found(0.0), [exact]);
        let rough = found(12.0)[0].range;
        assert!(rough.contains(100.0) && rough.high > 101.0, "{rough:?}");
        assert_eq!(found(12.0), found(12.0), "the seed is the same");
    }

    #[test]
    fn segments_that_the_rules_do_not_allow_have_no_ranges() {
        let points = noisy(0.0);
        let check = |ends: &[f64], expected| {
            let segments = at(&points, ends, Weights::Relative);
            assert_eq!(breaks(&points, &segments, &Bounds::default(), 1), expected, "{ends:?}");
        };
        check(&[], Ok(Vec::new()));
        let refused = FitError::undetermined(14, 16);
        check(&[2.0, 8.0, 100.0], Err(refused));
    }

    #[test]
    fn a_given_break_belongs_to_the_part_below_it() {
        let check = |breaks: &[f64], expected: &[(f64, f64)]| {
            let found = at(&noisy(0.0), breaks, Weights::Relative);
            let sizes: Vec<_> = found.iter().map(|s| (s.from, s.to)).collect();
            assert_eq!(sizes, expected, "{breaks:?}");
        };
        check(&[], &[(1.0, 3200.0)]);
        check(&[100.0], &[(1.0, 100.0), (101.0, 3200.0)]);
        check(&[300.0, 8.0], &[(1.0, 8.0), (16.0, 200.0), (400.0, 3200.0)]);
        check(&[1e6, 0.5], &[(1.0, 3200.0)]);
    }

    #[test]
    fn each_part_has_its_own_line_and_its_own_weights() {
        let points = noisy(0.0);
        let half_widths: Vec<f64> = points.iter().map(|(_, t)| 0.01 * t).collect();
        for weights in [Weights::Equal, Weights::HalfWidths(&half_widths)] {
            let found = at(&points, &[100.0], weights);
            let parameters = found.iter().flat_map(|s| [s.line.t0, s.line.per_unit]);
            for (found, planted) in parameters.zip([79.0, 0.63, 156.0, 0.41]) {
                assert!((found / planted - 1.0f64).abs() < 1e-9, "{found} is not {planted}");
            }
        }
    }

    #[test]
    fn a_part_without_a_line_is_left_out_alone() {
        let found = segments_at(&noisy(0.0), &[32.0, 101.0], Weights::Relative, Line::fit_robust);
        let reason =
            |part: &Result<Segment, FitError>| part.as_ref().err().map(ToString::to_string);
        let reasons: Vec<_> = found.iter().map(reason).collect();
        let narrow = "no line from 64 to 101: 3 points are too few (measure at least 4)";
        assert_eq!(reasons, [None, Some(narrow.to_owned()), None]);
    }
}
