//! One point of what several launches found for it: medians, intervals from one to the next, and the
//! samples of all.

use std::num::Saturating;
use std::ops::Add;

use comet_core::event::LineTimes;
use comet_stats::{Diagnosis, Interval, median};

use crate::places::{self, Place};
use crate::points;
use crate::record::{
    Derived, Launches, Measured, Numbers, Outcome, Point, PointStatus, Quality, Quote, RanksNs,
    Samples, Speed, Summary,
};

/// The least period, in seconds, over which intervals of launches hold what the machine does.
const LEAST_PERIOD_S: f64 = 15.0;

/// One launch of a point.
type OfLaunch<'a> = (&'a Point, &'a Measured);

/// One point of what each launch found for it at the first of `places` that has any, or at all; of a
/// failure, if there was one. The launches of a machine that `is_real` have a period.
pub(super) fn merge(of_launches: &[&Point], places: &[Place], is_real: bool) -> Point {
    let is_failure = |point: &&&Point| {
        point.failure().is_some_and(|failure| failure.status != PointStatus::Skipped)
    };
    let failed = of_launches.iter().find(is_failure);
    let measured: Vec<OfLaunch<'_>> =
        of_launches.iter().filter_map(|point| Some((*point, point.measured()?))).collect();
    let by_place = by_place(&measured, places);
    let own = by_place.first().map_or(&measured, |(_, own)| own);
    let (Some((last, _)), None) = (own.last(), failed) else {
        let point = failed.or(of_launches.first()).expect("a group has a point");
        return Point { launch: None, ..(*point).clone() };
    };
    let (points, all): (Vec<&Point>, Vec<&Measured>) = own.iter().copied().unzip();
    let of_slices = n_slices(&measured);
    let speeds = by_place.iter().filter_map(|(line_ns, own)| speed(*line_ns, own, of_slices));
    let speeds = if by_place.len() > 1 { speeds.collect() } else { Vec::new() };
    Point {
        launch: None,
        t_rel_s: last.t_rel_s,
        figures: figures(&points),
        launches: launches(&points, &all, speeds, is_real),
        outcome: Outcome::Measured(Box::new(numbers(&all))),
        ..points[0].clone()
    }
}

/// The launches of each of `places` that has some, with its times of a line.
fn by_place<'a>(measured: &[OfLaunch<'a>], places: &[Place]) -> Vec<([f64; 2], Vec<OfLaunch<'a>>)> {
    let of_place = |place: &Place| {
        let lines = measured.iter().map(|of| Some((places::line_ns(of.0)?, *of)));
        let own = lines.flatten().filter(|(line_ns, _)| place.holds(*line_ns));
        let (lines, own): (Vec<[f64; 2]>, Vec<OfLaunch<'_>>) = own.unzip();
        Some((places::around(&lines)?, own))
    };
    places.iter().filter_map(of_place).collect()
}

/// The figure at one place, where a line takes `line_ns`; all launches have `of_slices` slices.
fn speed(line_ns: [f64; 2], own: &[OfLaunch<'_>], of_slices: usize) -> Option<Speed> {
    let all: Vec<&Measured> = own.iter().map(|(_, measured)| *measured).collect();
    let quoted_ns = median(&quoted_ns(&all))?;
    let share = n_slices(own) as f64 / of_slices.max(1) as f64;
    let interval_ns = interval(&all).map(points::interval);
    Some(Speed { line_ns, launches: own.len(), share, quoted_ns, interval_ns })
}

fn slices(of: &Measured) -> usize {
    of.quality.as_ref().map_or(1, |quality| quality.slice_medians_ns.len())
}

fn n_slices(of_launches: &[OfLaunch<'_>]) -> usize {
    of_launches.iter().map(|(_, measured)| slices(measured)).sum()
}

/// The figures of launches.
fn quoted_ns(all: &[&Measured]) -> Vec<f64> {
    all.iter().filter_map(|of| of.numbers.quoted_ns).collect()
}

/// The interval from one launch to the next. Readings of the clock, and a skew of the starts, may be
/// in the times.
fn interval(all: &[&Measured]) -> Option<Interval> {
    let clock_ns = all.first()?.quality.as_ref().map_or(0.0, |quality| quality.overhead_ns.clock);
    let skews_ns: Vec<f64> = all.iter().filter_map(|of| points::skew_ns(of)).collect();
    let in_times_ns = clock_ns + median(&skews_ns).unwrap_or(0.0);
    let interval = Interval::of_launches(&quoted_ns(all))?;
    Some(Interval { low: (interval.low - in_times_ns).max(0.0), ..interval })
}

/// The figures of the launches and their variances; `None` without a figure in each.
fn launches(
    points: &[&Point],
    all: &[&Measured],
    speeds: Vec<Speed>,
    is_real: bool,
) -> Option<Launches> {
    let period_s = points.last()?.t_rel_s - points.first()?.t_rel_s;
    let quoted_ns: Vec<f64> = all.iter().map(|of| of.numbers.quoted_ns).collect::<Option<_>>()?;
    let within: Option<Vec<f64>> = all.iter().map(|of| square_of_slices(of)).collect();
    let numbers: Vec<u32> = points.iter().filter_map(|point| point.launch).collect();
    let are_all = (1..).zip(&numbers).all(|(number, found)| number == *found);
    Some(Launches {
        variance_between: variance_of_logarithms(&quoted_ns).unwrap_or(0.0),
        slices: all.iter().map(|of| slices(of)).collect(),
        period_s,
        is_of_moment: is_real && period_s < LEAST_PERIOD_S,
        variance_within: within.map(|squares| squares.iter().sum::<f64>() / squares.len() as f64),
        numbers: if are_all { Vec::new() } else { numbers },
        quoted_ns,
        speeds,
    })
}

/// Square of the standard error of the logarithm of a launch's figure, by its slices.
fn square_of_slices(of: &Measured) -> Option<f64> {
    let medians_ns = &of.quality.as_ref()?.slice_medians_ns;
    Some(variance_of_logarithms(medians_ns)? / medians_ns.len() as f64)
}

fn variance_of_logarithms(values: &[f64]) -> Option<f64> {
    let logarithms: Vec<f64> =
        values.iter().filter(|value| **value > 0.0).map(|value| value.ln()).collect();
    let stddev = comet_stats::Summary::of(&logarithms)?.stddev?;
    Some(stddev * stddev)
}

/// The time that the rates of `numbers` follow from.
fn basis_ns(numbers: &Numbers) -> Option<f64> {
    let Numbers { value, time_ns, quoted_ns, .. } = numbers;
    let is_least = matches!(value.quote, Quote::Min | Quote::LeastOf20);
    if is_least { Some(time_ns.median) } else { *quoted_ns }
}

/// The numbers of all launches: medians of theirs, and the interval from one to the next.
fn numbers(all: &[&Measured]) -> Measured {
    let mut merged = all[0].clone();
    let interval = interval(all);
    let numbers = &mut merged.numbers;
    numbers.quoted_ns = median(&quoted_ns(all));
    numbers.time_ns = summary(all.iter().map(|of| &of.numbers.time_ns)).expect("there is a launch");
    let of_slices = interval.filter(|_| numbers.value.quote.is_of_slices());
    numbers.time_ns.ci95 = of_slices.map(|interval| [interval.low, interval.high]);
    let ratio = basis_ns(&all[0].numbers).zip(basis_ns(numbers));
    let ratio = ratio.map_or(1.0, |(first_ns, merged_ns)| first_ns / merged_ns);
    let of_bytes = numbers.rate.iter_mut().map(|rate| &mut rate.bytes_per_s);
    let others = numbers.rates.iter_mut().filter_map(|rate| rate.value.as_mut());
    of_bytes.chain(others).for_each(|rate| *rate *= ratio);
    merged.reps.n = total(all.iter().map(|of| of.reps.n));
    merged.reps.warmup = total(all.iter().map(|of| of.reps.warmup));
    merged.reps.rounds = total(all.iter().map(|of| of.reps.rounds));
    merged.ranks_ns = ranks_ns(all);
    merged.quality = quality(all, interval);
    merged.samples = samples(all);
    let joined = |list: fn(&Measured) -> Option<&Vec<u64>>| {
        merged.samples.as_ref().and_then(|_| lists(all, |of| list(of).cloned()))
    };
    let (starts_ns, late_ns) =
        (joined(|of| of.starts_ns.as_ref()), joined(|of| of.late_ns.as_ref()));
    let reference_ns = merged.samples.as_ref().and_then(|_| {
        lists(all, |of| Some(of_equal_length(of.reference_ns.as_ref()?, of, all[0])))
    });
    Measured { starts_ns, late_ns, reference_ns, ..merged }
}

/// The least and the largest of all values, and the median over the summaries of each other figure.
fn summary<'a>(all: impl Iterator<Item = &'a Summary>) -> Option<Summary> {
    let all: Vec<&Summary> = all.collect();
    let of = |value: fn(&Summary) -> f64| {
        median(&all.iter().map(|of| value(of)).collect::<Vec<_>>()).unwrap_or_default()
    };
    let of_some = |value: fn(&Summary) -> Option<f64>| {
        median(&all.iter().map(|of| value(of)).collect::<Option<Vec<_>>>()?)
    };
    (!all.is_empty()).then(|| Summary {
        n: total(all.iter().map(|of| of.n)),
        min: all.iter().map(|s| s.min).fold(f64::INFINITY, f64::min),
        p10: of_some(|s| s.p10),
        p25: of(|s| s.p25),
        median: of(|s| s.median),
        p75: of(|s| s.p75),
        p90: of(|s| s.p90),
        p95: of(|s| s.p95),
        p99: of(|s| s.p99),
        p999: of_some(|s| s.p999),
        max: all.iter().map(|s| s.max).fold(f64::NEG_INFINITY, f64::max),
        mean: of(|s| s.mean),
        stddev: of_some(|s| s.stddev),
        mad: of(|s| s.mad),
        ci95: None,
    })
}

/// The medians over the launches of the medians of each rank. The slowest rank is that of the first
/// launch, where the list does not tell the numbers of its ranks.
fn ranks_ns(all: &[&Measured]) -> Option<RanksNs> {
    let of_each: Vec<&RanksNs> =
        all.iter().map(|of| of.ranks_ns.as_ref()).collect::<Option<_>>()?;
    let n_ranks = of_each.iter().map(|ranks| ranks.per_rank.len()).min()?;
    let of_rank =
        |rank: usize| median(&of_each.iter().map(|of| of.per_rank[rank]).collect::<Vec<_>>());
    let per_rank: Vec<f64> = (0..n_ranks).map(of_rank).collect::<Option<_>>()?;
    let comet_stats::Summary { min, max, mean, .. } = comet_stats::Summary::of(&per_rank)?;
    let are_all = of_each[0].per_rank.get(of_each[0].argmax) == Some(&of_each[0].max);
    let slowest = per_rank.iter().position(|ns| *ns == max).filter(|_| are_all);
    Some(RanksNs { min, max, avg: mean, argmax: slowest.unwrap_or(of_each[0].argmax), per_rank })
}

/// The quality of all launches: their slices one after the other, and what any of them shows.
fn quality(all: &[&Measured], interval: Option<Interval>) -> Option<Quality> {
    let of_each: Vec<&Quality> = all.iter().map(|of| of.quality.as_ref()).collect::<Option<_>>()?;
    let any = |flag: fn(&Quality) -> Option<bool>| {
        of_each.iter().filter_map(|quality| flag(quality)).reduce(|a, b| a || b)
    };
    let sum = |count: fn(&Quality) -> Option<u64>| {
        Some(total(of_each.iter().map(|quality| count(quality)).collect::<Option<Vec<_>>>()?))
    };
    let summaries = |of: fn(&Quality) -> Option<&Summary>| {
        let all: Vec<&Summary> =
            of_each.iter().map(|quality| of(quality)).collect::<Option<_>>()?;
        summary(all.into_iter())
    };
    let line_ns: Option<Vec<f64>> = of_each
        .iter()
        .map(|quality| quality.line_ns.clone())
        .collect::<Option<Vec<_>>>()
        .map(|of_launches| of_launches.concat());
    let disturbed: Option<Vec<u32>> = of_each.iter().map(|of| of.disturbed_slices).collect();
    let n_samples = of_each.iter().map(|of| total(of.slice_lengths.iter().copied()));
    let starts =
        n_samples.scan(0, |sum: &mut usize, n| Some(std::mem::replace(sum, sum.saturating_add(n))));
    let later = |(of, start): (&&Quality, usize)| {
        let indices = of.invalid.iter().map(|index| start.saturating_add(*index));
        indices.collect::<Vec<_>>()
    };
    let invalid = of_each.iter().zip(starts).flat_map(later).collect();
    let levels = Diagnosis::of(&quoted_ns(all).into_iter().map(|ns| [ns]).collect::<Vec<_>>());
    Some(Quality {
        slice_medians_ns: of_each.iter().flat_map(|q| &q.slice_medians_ns).copied().collect(),
        slice_lengths: of_each.iter().flat_map(|q| &q.slice_lengths).copied().collect(),
        interval_ns: interval.map(points::interval),
        p90_interval_ns: None,
        p99_interval_ns: None,
        converged: None,
        warm_up_ns: None,
        is_steady: of_each.iter().all(|quality| quality.is_steady),
        invalid,
        start_skew_ns: summaries(|q| q.start_skew_ns.as_ref()),
        autocorrelation_samples: None,
        regime_ratio: None,
        lag1_correlation: levels.lag1,
        has_regimes: any(|q| q.has_regimes),
        drifts: any(|q| q.drifts).or(levels.lag1.map(|_| levels.drifts())),
        is_bimodal: levels.is_bimodal || any(|q| Some(q.is_bimodal)) == Some(true),
        n_mild_outliers: total(of_each.iter().map(|of| of.n_mild_outliers)),
        n_severe_outliers: total(of_each.iter().map(|of| of.n_severe_outliers)),
        involuntary_switches: sum(|q| q.involuntary_switches),
        disturbed_slices: disturbed.map(total),
        page_faults: sum(|q| q.page_faults),
        major_faults: sum(|q| q.major_faults),
        cores_moved: line_ns.clone().map(|readings_ns| LineTimes { readings_ns }.differ()),
        line_ns,
        overhead_ns: of_each[0].overhead_ns.clone(),
        rank_samples_ns: summaries(|q| q.rank_samples_ns.as_ref()),
    })
}

/// The sum of `counts`, or the largest number where a file has more.
fn total<N: Default>(counts: impl IntoIterator<Item = N>) -> N
where
    Saturating<N>: Add<Output = Saturating<N>>,
{
    counts.into_iter().map(Saturating).fold(Saturating(N::default()), Add::add).0
}

/// The intervals `of_launch` as if they held as many operations as those of the `first` launch: each
/// launch chooses their number.
fn of_equal_length(intervals_ns: &[u64], of_launch: &Measured, first: &Measured) -> Vec<u64> {
    let [to, from] = [first, of_launch].map(|of| u128::from(of.reps.inner.max(1)));
    let scaled = |ns: &u64| u64::try_from((u128::from(*ns) * to + from / 2) / from);
    intervals_ns.iter().map(|ns| scaled(ns).unwrap_or(u64::MAX)).collect()
}

/// The samples of all launches, rank by rank; `None` where they were stripped.
fn samples(all: &[&Measured]) -> Option<Samples> {
    let of_each: Vec<&Samples> = all.iter().map(|of| of.samples.as_ref()).collect::<Option<_>>()?;
    let first = *of_each.first()?;
    if of_each.iter().any(|samples| samples.ranks != first.ranks) {
        return None;
    }
    let data = lists(all, |of| Some(of_equal_length(&of.samples.as_ref()?.data, of, all[0])))?;
    let n_samples = total(of_each.iter().map(|samples| samples.shape[1]));
    Some(Samples { shape: [first.shape[0], n_samples], data, ..first.clone() })
}

/// Lists in the layout of the samples, joined rank by rank, if all launches have one as long.
fn lists(all: &[&Measured], list: impl Fn(&Measured) -> Option<Vec<u64>>) -> Option<Vec<u64>> {
    let n_ranks = all.first()?.samples.as_ref()?.shape[0];
    let shape_and_list = |of: &&Measured| {
        let (samples, list) = (of.samples.as_ref()?, list(of)?);
        let is_whole = samples.shape[0] == n_ranks && samples.is_length(list.len());
        is_whole.then_some((samples.shape, list))
    };
    let of_each: Vec<_> = all.iter().map(shape_and_list).collect::<Option<_>>()?;
    let of_rank = |rank: usize| {
        of_each.iter().flat_map(move |([_, n], list)| list[rank * n..(rank + 1) * n].to_vec())
    };
    Some((0..n_ranks).flat_map(of_rank).collect())
}

/// The median of each figure over the launches that could form it.
fn figures(points: &[&Point]) -> Vec<Derived> {
    let of_each = |figure: &Derived| {
        let same = points.iter().flat_map(|point| &point.figures);
        let same = same.filter(|other| other.name == figure.name);
        let values: Vec<f64> = same.filter_map(|other| other.value).collect();
        Derived { value: median(&values), ..figure.clone() }
    };
    points[0].figures.iter().map(of_each).collect()
}
