//! Fits of the core as they stand in the record: plain numbers with names and units.

use comet_stats::fit::{self, Range};

use crate::record::{Fit, FitGrade, FitQuality, Parameter};

/// A number with its interval; a number that is not finite is not known.
pub(super) fn parameter(
    name: &str,
    unit: &str,
    value: Option<f64>,
    range: Option<Range>,
) -> Parameter {
    let known = |number: Option<f64>| number.filter(|number| number.is_finite());
    let range = range.filter(|range| tells_something(*range, unit));
    Parameter {
        name: name.into(),
        unit: unit.into(),
        value: known(value),
        low: known(range.map(|range| range.low)),
        high: known(range.map(|range| range.high)),
    }
}

/// True if an interval is informative: within a factor of a thousand, or, for a value that may be
/// 0, on both sides of it. Rates, sizes and numbers of points are positive.
fn tells_something(range: Range, unit: &str) -> bool {
    let may_be_negative = unit.starts_with("us") || unit.is_empty();
    let spans_zero = range.low <= 0.0 && range.high >= 0.0;
    if spans_zero {
        may_be_negative
    } else {
        range.high.abs() <= 1e3 * range.low.abs() || range.high < 0.0
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
