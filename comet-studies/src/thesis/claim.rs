//! A claim: what the thesis says about a figure, and what was regenerated; and the curves of a figure,
//! as CSV that any program can plot.

use std::fmt::Write as _;
use std::ops::RangeBounds;

use comet_stats::fit::{FitQuality, Line, Weights};

use super::bench::Points;

/// Weights of the thesis's fits: least squares, in which all points count the same (section 5.1).
pub(super) const WEIGHTS: Weights<'_> = Weights::Equal;

/// One published value or statement, beside the regenerated one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) figure: &'static str,
    pub(super) quantity: String,
    /// The value of the thesis, or what it says.
    pub(super) published: String,
    pub(super) regenerated: String,
    /// Largest accepted deviation.
    pub(super) tolerance: String,
    /// True if the deviation is accepted.
    pub(super) holds: bool,
}

impl Claim {
    /// The thesis gives a number in `unit`, which may be off by `percent` %.
    pub(super) fn number(
        figure: &'static str,
        quantity: &str,
        (published, unit): (f64, &str),
        found: Option<f64>,
        percent: f64,
    ) -> Self {
        let off = |found: f64| (found / published - 1.0).abs() * 100.0;
        Self {
            figure,
            quantity: quantity.into(),
            published: format!("{published} {unit}"),
            regenerated: found
                .map_or("none".into(), |found| format!("{} {unit}", four_digits(found))),
            tolerance: format!("{percent} %"),
            holds: found.is_some_and(|found| off(found) <= percent),
        }
    }

    /// The thesis makes a statement, which `holds` if what was found, in words, is `expected`.
    pub(super) fn statement(
        figure: &'static str,
        quantity: &str,
        published: &str,
        regenerated: String,
        (expected, holds): (&str, bool),
    ) -> Self {
        let (quantity, published, tolerance) = (quantity.into(), published.into(), expected.into());
        Self { figure, quantity, published, regenerated, tolerance, holds }
    }

    /// The thesis says that one curve is above another; `at` is what they are over (`lengths`).
    pub(super) fn above(
        figure: &'static str,
        quantity: &str,
        published: &str,
        [above, below]: [&[(f64, f64)]; 2],
        at: &str,
    ) -> Self {
        let n_above = above.iter().zip(below).filter(|(above, below)| above.1 > below.1).count();
        let found = format!("at {n_above} of {} {at}", above.len());
        Self::statement(figure, quantity, published, found, ("at all", n_above == above.len()))
    }

    /// The thesis says that times follow a law, which explains at least `least` of their variance.
    pub(super) fn law(
        figure: &'static str,
        quantity: &str,
        published: &str,
        r_squared: Option<f64>,
        least: f64,
    ) -> Self {
        let found = r_squared.map_or("none".into(), |found| format!("R^2 {found:.6}"));
        let holds = r_squared.is_some_and(|found| found > least);
        let expected = format!("R^2 > {least}");
        Self::statement(figure, quantity, published, found, (&expected, holds))
    }
}

/// Share of the variance that a straight line explains.
pub(super) fn linear(points: &[(f64, f64)]) -> Option<f64> {
    Line::fit(points, WEIGHTS).ok()?.quality.r_squared
}

pub(super) fn linear_in_log2(points: &[(f64, f64)]) -> Option<f64> {
    linear(&points.iter().map(|(n_ranks, us)| (n_ranks.log2(), *us)).collect::<Vec<_>>())
}

pub(super) fn quadratic(points: &[(f64, f64)]) -> Option<f64> {
    FitQuality::of_parabola(points, WEIGHTS).ok()?.r_squared
}

/// `value` with at least four digits that count.
pub(super) fn four_digits(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 1000.0 => 0,
        size if size >= 100.0 => 1,
        size if size >= 10.0 => 2,
        _ => 4,
    };
    format!("{value:.decimals$}")
}

/// The points of `curve` whose x is in `range`.
pub(super) fn part(curve: &[(f64, f64)], range: impl RangeBounds<f64>) -> Points {
    curve.iter().filter(|(x, _)| range.contains(x)).copied().collect()
}

/// The curves of one figure, over the same values of x.
#[derive(Clone, Debug, PartialEq)]
pub struct Curves {
    /// Number of the figure (`5.1`).
    figure: &'static str,
    /// Names with units: x first, then each curve.
    head: Vec<String>,
    /// Values: x first, then each curve.
    rows: Vec<Vec<f64>>,
}

impl Curves {
    /// Curves over `x`, each a name with points.
    ///
    /// # Panics
    /// If the curves have not the same values of x.
    pub(super) fn new(figure: &'static str, x: &str, curves: &[(&str, &Points)]) -> Self {
        let head = std::iter::once(x).chain(curves.iter().map(|(name, _)| *name));
        let xs = |points: &Points| points.iter().map(|(x, _)| *x).collect::<Vec<_>>();
        let (_, first) = curves[0];
        assert!(
            curves.iter().all(|(_, points)| xs(points) == xs(first)),
            "figure {figure} needs one x for all its curves"
        );
        let ys = |row: usize| curves.iter().map(move |(_, points)| points[row].1);
        let row =
            |(row, (x, _)): (usize, &(f64, f64))| std::iter::once(*x).chain(ys(row)).collect();
        Self {
            figure,
            head: head.map(str::to_owned).collect(),
            rows: first.iter().enumerate().map(row).collect(),
        }
    }

    /// Number of the figure (`5.1`).
    pub fn figure(&self) -> &'static str {
        self.figure
    }

    /// The curves as CSV, with a line of names.
    pub fn csv(&self) -> String {
        let mut text = self.head.join(",") + "\n";
        for row in &self.rows {
            let values: Vec<String> = row.iter().map(|value| rounded(*value).to_string()).collect();
            writeln!(text, "{}", values.join(",")).expect("a string takes any text");
        }
        text
    }
}

/// `value` without what rounding left behind: the simulated clocks know picoseconds.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_holds_within_its_tolerance() {
        let check = |found, regenerated: &str, holds| {
            let claim = Claim::number("5.1", "startup time", (79.0, "us"), found, 1.0);
            assert_eq!((claim.regenerated.as_str(), claim.holds), (regenerated, holds));
        };
        check(Some(79.0), "79.00 us", true);
        check(Some(79.7), "79.70 us", true);
        check(Some(78.0), "78.00 us", false);
        check(Some(f64::NAN), "NaN us", false);
        check(None, "none", false);
    }

    #[test]
    fn a_law_holds_where_it_explains_enough() {
        let check = |r_squared, regenerated: &str, holds| {
            let claim = Claim::law("5.6", "barrier", "linear in log2 P", r_squared, 0.99);
            assert_eq!((claim.regenerated.as_str(), claim.holds), (regenerated, holds));
        };
        check(linear_in_log2(&[(2.0, 79.0), (4.0, 158.0), (8.0, 237.0)]), "R^2 1.000000", true);
        check(linear(&[(2.0, 79.0), (4.0, 158.0), (8.0, 237.0)]), "R^2 0.964286", false);
        check(quadratic(&[(2.0, 79.0), (4.0, 158.0)]), "none", false);
    }

    #[test]
    fn curves_stand_beside_each_other_over_one_x() {
        let near = vec![(0.0, 79.0), (8.0, 84.04)];
        let far = vec![(0.0, 104.0), (8.0, 0.1 + 0.2)];
        let curves = Curves::new("5.1", "length_bytes", &[("near_us", &near), ("far_us", &far)]);
        assert_eq!(curves.csv(), "length_bytes,near_us,far_us\n0,79,104\n8,84.04,0.3\n");
    }

    #[test]
    #[should_panic(expected = "figure 5.1 needs one x for all its curves")]
    fn curves_over_different_x_are_refused() {
        let [a, b] = [vec![(0.0, 1.0)], vec![(1.0, 1.0)]];
        drop(Curves::new("5.1", "x", &[("a", &a), ("b", &b)]));
    }
}
