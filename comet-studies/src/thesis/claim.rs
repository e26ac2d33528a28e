//! A claim: what the thesis says about a figure, and what was regenerated.

use comet_stats::fit::{FitQuality, Line, Weights};

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
}
