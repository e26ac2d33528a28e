//! Quality of a measurement, as its part of the record.

use comet_core::event::{ClockCalibration, LineTimes, Measurement, SeriesResult};

use crate::points::{summary, times_of_ranks_ns};
use crate::record::{Interval, Overhead, Quality, Summary};

/// Quality of the ranks' clocks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clocks {
    /// Calibration of rank 0's clock, once known.
    pub(crate) calibration: Option<ClockCalibration>,
    /// True if readings of two ranks can be compared.
    pub(crate) are_comparable: bool,
}

/// Quality of `result`, a series of `measurement`.
pub(crate) fn quality(measurement: &Measurement, result: &SeriesResult, clocks: Clocks) -> Quality {
    let diagnosis = &result.diagnosis;
    let usage = measurement.usage;
    let line_times = measurement.line_times.as_ref();
    Quality {
        slice_medians_ns: result.slice_medians_ns.clone(),
        slice_lengths: result.slice_lengths.clone(),
        interval_ns: result.interval.map(interval),
        p90_interval_ns: result.p90_interval.map(interval),
        p99_interval_ns: result.p99_interval.map(interval),
        converged: measurement.converged,
        is_steady: measurement.is_steady,
        invalid: result.invalid.clone(),
        start_skew_ns: start_skew_ns(result).filter(|_| clocks.are_comparable),
        autocorrelation_samples: diagnosis.tau_samples,
        regime_ratio: diagnosis.regime_ratio,
        lag1_correlation: diagnosis.lag1,
        has_regimes: diagnosis.regime_ratio.map(|_| diagnosis.has_regimes()),
        drifts: diagnosis.lag1.map(|_| diagnosis.drifts()),
        is_bimodal: diagnosis.is_bimodal,
        n_mild_outliers: diagnosis.n_mild,
        n_severe_outliers: diagnosis.n_severe,
        involuntary_switches: usage.map(|usage| usage.involuntary_switches),
        disturbed_slices: usage.map(|_| measurement.n_disturbed),
        page_faults: usage.map(|usage| usage.page_faults),
        line_ns: line_times.map(|times| times.readings_ns.clone()),
        cores_moved: line_times.map(LineTimes::differ),
        overhead_ns: overhead(measurement, result, clocks.calibration),
        rank_samples_ns: rank_samples_ns(measurement, result),
    }
}

fn interval(interval: comet_stats::Interval) -> Interval {
    let comet_stats::Interval { low, high, level, method } = interval;
    Interval { low, high, level, method: method.name().into() }
}

fn overhead(
    measurement: &Measurement,
    result: &SeriesResult,
    clock: Option<ClockCalibration>,
) -> Overhead {
    let divisor = f64::from(result.definition.divisor());
    let repetitions = f64::from(measurement.pace.repetitions);
    let (pair_ns, loop_ns) = clock.map_or((0.0, 0.0), |c| (c.pair_bias_ns, c.loop_ns));
    Overhead { clock: pair_ns / repetitions / divisor, empty_loop: loop_ns / divisor }
}

/// From the first to the last start in each sample, where several ranks started together.
fn start_skew_ns(result: &SeriesResult) -> Option<Summary> {
    let n_samples = result.ranks.first().filter(|_| result.ranks.len() > 1)?.samples.len();
    if !result.definition.starts_together() {
        return None;
    }
    let of_sample = |index: usize| {
        let starts_ns = result.ranks.iter().map(|of_rank| of_rank.samples[index].start_ns);
        let (first, last) = (starts_ns.clone().min().unwrap_or(0), starts_ns.max().unwrap_or(0));
        last - first
    };
    let skews_ns: Vec<f64> = (0..n_samples).map(|index| of_sample(index) as f64).collect();
    comet_stats::Summary::of(&skews_ns).map(|skews| summary(&skews))
}

/// Summary over the intervals of all ranks, where several sampled.
fn rank_samples_ns(measurement: &Measurement, result: &SeriesResult) -> Option<Summary> {
    if result.ranks.len() < 2 {
        return None;
    }
    let all_ns = times_of_ranks_ns(result, measurement.pace).concat();
    comet_stats::Summary::of(&all_ns).map(|of_all| summary(&of_all))
}
