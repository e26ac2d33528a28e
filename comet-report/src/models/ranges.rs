//! Values and ranges of parameters: from a fit of each launch, as those of a point come from a figure
//! of each.
//!
//! What changes from launch to launch moves all points of a sweep together, so that the scatter around
//! one line knows nothing of it. A sweep of one launch has nothing else.

use comet_stats::fit::{Estimate, Range};

use super::sweep::{Sweep, Times, clock_ns, parameter};
use crate::record::{Fit, FitGrade, Launches, Parameter, Point};

/// Fewest launches with fits of their own.
pub(super) const FEWEST: usize = 2;

/// Parameters that are facts about a fit, and estimates of nothing.
const FACTS: [&str; 3] = ["shared_from", "bic_drop", "weight"];
/// Parameters that follow from two others: they stay where their own range says nothing.
const FOLLOWING: [&str; 3] = ["n_half", "n_half_length", "pi0"];

impl Sweep<'_> {
    /// The fits by `law`, the good ones with the medians of what it finds in each launch, and with
    /// ranges. Readings of the clock may be in the times, so that ranges hold what `law` finds with
    /// and without them.
    pub(super) fn across_launches(
        &self,
        mut law: impl FnMut(&Self) -> Option<Vec<Fit>>,
    ) -> Option<Vec<Fit>> {
        let mut fits = law(self)?;
        let launches: Vec<Option<u32>> = match &self.launches()[..] {
            few if few.len() < FEWEST => vec![None],
            several => several.iter().copied().map(Some).collect(),
        };
        let mut found = |are_less_clock| -> Vec<Vec<Fit>> {
            let times = launches.iter().map(|launch| Times { launch: *launch, are_less_clock });
            times.filter_map(|times| law(&self.with(times))).collect()
        };
        let has_clock = self.points.iter().any(|point| clock_ns(point) > 0.0);
        let found = [Some(found(false)), has_clock.then(|| found(true))];
        for fit in fits.iter_mut().filter(|fit| fit.quality.verdict == FitGrade::Good) {
            let known = fit.parameters.iter().map(|own| match own.value {
                Some(_) if !FACTS.contains(&&*own.name) => {
                    informative(estimate(&found, fit, own).unwrap_or_else(|| without_range(own)))
                }
                _ => own.clone(),
            });
            fit.parameters = known.collect();
        }
        Some(fits)
    }

    /// The launches that all points have a figure of.
    pub(super) fn launches(&self) -> Vec<u32> {
        let numbers = |point: &&Point| -> Vec<u32> {
            let launches = point.launches.iter();
            launches.flat_map(Launches::figures_ns).map(|(number, _)| number).collect()
        };
        let common = |a: Vec<u32>, b: Vec<u32>| a.into_iter().filter(|n| b.contains(n)).collect();
        self.points.iter().map(numbers).reduce(common).unwrap_or_default()
    }
}

/// The parameter `own` of `fit` by the fits that were `found` in the launches, with the readings of the
/// clock and, where there are any, without; `None` if a launch lacks it. Its range also holds that of
/// its own fit: launches that agree may all lie off the law.
fn estimate(found: &[Option<Vec<Vec<Fit>>>; 2], fit: &Fit, own: &Parameter) -> Option<Parameter> {
    let same = |fits: &Vec<Fit>| {
        let is_same =
            |other: &&Fit| (&other.name, other.from, other.to) == (&fit.name, fit.from, fit.to);
        let fit = fits.iter().find(is_same)?;
        fit.parameters.iter().find(|other| other.name == own.name).cloned()
    };
    let of_launches = |fits: &Vec<Vec<Fit>>| {
        let all: Vec<Parameter> = fits.iter().map(same).collect::<Option<_>>()?;
        if all.len() < FEWEST {
            return all.into_iter().next();
        }
        let values: Vec<f64> = all.iter().map(|of| of.value).collect::<Option<_>>()?;
        let Estimate { value, range } = Estimate::of_launches(&values);
        Some(parameter(&own.name, &own.unit, Some(value), range))
    };
    let mut both = found.iter().flatten().map(of_launches);
    let (with, without) = (both.next()??, both.next().flatten());
    let of_both = |end: fn(&Parameter) -> Option<f64>, pick: fn(f64, f64) -> f64| {
        let ends = [Some(&with), without.as_ref(), Some(own)].into_iter().flatten();
        ends.filter_map(end).reduce(pick)
    };
    let (low, high) = (of_both(|of| of.low, f64::min), of_both(|of| of.high, f64::max));
    Some(Parameter { low, high, ..with.clone() })
}

fn without_range(own: &Parameter) -> Parameter {
    Parameter { low: None, high: None, ..own.clone() }
}

/// `own`, or without the number whose range says nothing about it.
pub(super) fn informative(own: Parameter) -> Parameter {
    let range = own.low.zip(own.high).map(|(low, high)| Range { low, high });
    if range.is_none_or(|range| tells_something(range, &own.unit)) {
        return own;
    }
    let value = own.value.filter(|_| FOLLOWING.contains(&&*own.name));
    Parameter { value, ..without_range(&own) }
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
