//! Measurements and failures of the driver, turned into points of the record.

use std::sync::Arc;

use comet_core::definition::Definition;
use comet_core::driver::Pace;
use comet_core::event::{
    self, CaseFailure, ClockCalibration, Failure, LineTimes, Measurement, RankSamples, RunStart,
    SeriesResult,
};
use comet_core::kernel::{
    self, Arrangement, AxisKind, Case, Class, DATATYPE, GROUPS, KernelInfo, PROCS,
};
use comet_core::sync::StartSync;
use comet_core::topology::{Mesh, Topology};

use crate::fingerprint::key;
use crate::raw::{each, samples, starts_ns};
use crate::record::{
    self, BUFFERS, Check, CheckStatus, Derived, GRAPH, Interval, KernelFacts, LAYOUT, Measured,
    NamedRate, Numbers, Outcome, Overhead, Param, Params, Plan, Point, PointStatus, Quality, Quote,
    RankStat, RanksNs, Rate, Reps, SampleSync, Summary, Transport, Value, WarmUpNs,
};

/// Makes the points of one run, and numbers them.
#[derive(Debug, Default)]
pub(crate) struct PointMaker {
    run_id: String,
    n_ranks: usize,
    mesh: [(&'static str, usize); 2],
    thread_level: Option<String>,
    pub(crate) buffers: Option<String>,
    /// A word for the graph of neighbours, if the user gave one.
    pub(crate) graph: Option<String>,
    /// The layouts of the messages of the run.
    pub(crate) layouts: Vec<String>,
    /// True if points keep their samples.
    pub(crate) has_samples: bool,
    clocks: Clocks,
    /// Descriptions of the kernels so far; all points of a kernel share one.
    kernels: Vec<(&'static KernelInfo, Arc<KernelFacts>)>,
    next_seq: u64,
}

impl PointMaker {
    /// For the run `run_id` over `topology`.
    pub(crate) fn new(run_id: &str, topology: &Topology) -> Self {
        Self {
            run_id: run_id.into(),
            n_ranks: topology.n_ranks(),
            mesh: sides(topology.mesh()),
            has_samples: true,
            ..Self::default()
        }
    }

    /// The same over `transport`, whose thread level is part of each key.
    pub(crate) fn over(self, transport: &Transport) -> Self {
        Self { thread_level: transport.thread_level().map(str::to_owned), ..self }
    }

    /// Takes note of what the clocks are worth.
    pub(crate) fn start(&mut self, start: &RunStart) {
        let are_comparable = start.clock_bound_ns.is_some();
        self.clocks = Clocks { calibration: Some(start.calibration), are_comparable };
    }

    /// One point for each series; the figures are on the last.
    pub(crate) fn measured(&mut self, measurement: &Measurement) -> Vec<Point> {
        let series = measurement.series.iter();
        let mut points: Vec<Point> = series
            .zip(measurement.pace.settle)
            .map(|(result, settle)| self.measured_series(measurement, result, settle))
            .collect();
        if let Some(last) = points.last_mut() {
            last.figures = figures(measurement);
        }
        points
    }

    /// One point that stands for all series of a case without numbers.
    pub(crate) fn failed(&mut self, failure: &CaseFailure) -> Point {
        let (status, check) = match failure.failure {
            Failure::Skipped => (PointStatus::Skipped, CheckStatus::Skipped),
            Failure::CheckFailed => (PointStatus::CheckFailed, CheckStatus::Fail),
            Failure::Failed => (PointStatus::Failed, CheckStatus::Skipped),
        };
        let message = match failure.rank {
            Some(rank) => format!("rank {rank}: {}", failure.message),
            None => failure.message.clone(),
        };
        let outcome = Outcome::Failed(record::Failure { status, message });
        self.point(&failure.case, None, failure.since_start_ns, (check, outcome))
    }

    fn measured_series(
        &mut self,
        measurement: &Measurement,
        result: &SeriesResult,
        settle: u32,
    ) -> Point {
        let Measurement { case, pace, .. } = measurement;
        let bytes_per_s = result.bytes_per_s();
        let ranks = self.has_samples.then_some(&result.ranks[..]);
        // A rate is that of a typical operation, even where the least time is quoted.
        let basis = if result.quote.is_least() { Quote::Median } else { wire_quote(result.quote) };
        let mut measured = Measured {
            numbers: Numbers {
                value: value(measurement, result),
                time_ns: time_ns(result),
                quoted_ns: result.quoted_ns,
                rounding_ns: None,
                rate: bytes_per_s.map(|bytes_per_s| Rate { bytes_per_s, basis }),
                rates: result.rates().map(named_rate).collect(),
            },
            plan: Plan { is_refined: measurement.is_refined, ..plan(result, *pace, settle) },
            reps: Reps {
                n: result.summary.n,
                inner: pace.repetitions,
                warmup: result.n_warmup,
                rounds: measurement.n_slices,
            },
            quality: Some(quality(measurement, result, self.clocks)),
            ranks_ns: ranks_ns(measurement, result),
            samples: ranks.map(samples),
            starts_ns: ranks.map(starts_ns),
            late_ns: ranks
                .and_then(|ranks| each(ranks, |s| Some(s.start_ns.saturating_sub(s.due_ns?)))),
            reference_ns: ranks.and_then(|ranks| each(ranks, |s| s.reference_ns)),
        };
        lower_by_skew(&mut measured);
        let is_checked = measurement.case.info.is_checked;
        let check = if is_checked { CheckStatus::Pass } else { CheckStatus::Skipped };
        let outcome = (check, Outcome::Measured(Box::new(measured)));
        self.point(case, Some(result.series.name), measurement.since_start_ns, outcome)
    }

    /// The next point: the series `variant` of a case, or all of them.
    fn point(
        &mut self,
        case: &Case,
        variant: Option<&'static str>,
        since_start_ns: u64,
        (check, outcome): (CheckStatus, Outcome),
    ) -> Point {
        let info = case.info;
        let seq = self.next_seq;
        self.next_seq += 1;
        let mut point = Point {
            run_id: self.run_id.clone(),
            seq,
            t_rel_s: seconds(since_start_ns),
            suite: info.suite.into(),
            kernel: info.name.into(),
            variant: variant.map(Into::into),
            class: info.class.as_str().into(),
            aliases: info.aliases.iter().map(|alias| (*alias).into()).collect(),
            params: self.params(case),
            key: String::new(),
            launch: None,
            launches: None,
            check: Check { status: check },
            figures: Vec::new(),
            outcome,
            facts: self.facts(info),
        };
        point.key = key(&point, self.thread_level.as_deref());
        point
    }

    fn facts(&mut self, info: &'static KernelInfo) -> Arc<KernelFacts> {
        let known = self.kernels.iter().find(|(known, _)| std::ptr::eq(*known, info));
        let facts = known.map(|(_, facts)| Arc::clone(facts));
        facts.unwrap_or_else(|| {
            let facts = Arc::new(KernelFacts::from(info));
            self.kernels.push((info, Arc::clone(&facts)));
            facts
        })
    }

    fn params(&self, case: &Case) -> Params {
        let Arrangement { procs, n_groups, datatype, layout } = case.arrangement();
        let datatype = datatype.map(|datatype| Param::Label(datatype.name().into()));
        let mut params: Vec<(String, Param)> = Vec::new();
        params.extend(datatype.map(|name| (DATATYPE.name.into(), name)));
        for (axis, value) in case.values() {
            // What the run was to find, and did not, is left out.
            if value == 0 && axis.kind == AxisKind::Found {
                continue;
            }
            let label = axis.label(value);
            let param = label.map_or(Param::Number(value), |label| Param::Label(label.into()));
            params.push((axis.name.into(), param));
        }
        let number = |(name, value): (&str, usize)| (name.into(), Param::Number(value as u64));
        params.push(number((PROCS.name, procs.unwrap_or(self.n_ranks))));
        params.extend((n_groups > 1).then(|| number((GROUPS.name, n_groups))));
        let has_torus = case.info.axes.iter().any(|used| used.axis.name == "dimensions");
        let graph = self.graph.clone().filter(|_| has_torus);
        params.extend(graph.map(|word| (GRAPH.into(), Param::Label(word))));
        let layout = layout.and_then(|index| self.layouts.get(index).cloned());
        params.extend(layout.map(|word| (LAYOUT.into(), Param::Label(word))));
        params.extend(self.buffers.clone().map(|mode| (BUFFERS.into(), Param::Label(mode))));
        if case.info.class == Class::Matrix {
            let of_part = procs.map(|procs| sides(&Mesh::gray(procs)));
            params.extend(of_part.unwrap_or(self.mesh).map(number));
        }
        Params(params)
    }
}

/// Names and values of the parameters of a mesh.
fn sides(mesh: &Mesh) -> [(&'static str, usize); 2] {
    [("mesh_rows", mesh.rows()), ("mesh_cols", mesh.cols())]
}

fn value(measurement: &Measurement, result: &SeriesResult) -> Value {
    let SeriesResult { series, definition, .. } = result;
    let rank_stat = match definition {
        definition if definition.is_of_one_rank() => RankStat::Root,
        Definition::CallMean => RankStat::Mean,
        Definition::Release => RankStat::Median,
        _ => RankStat::Max,
    };
    Value {
        quantity: series.quantity.name().into(),
        definition: definition.name().into(),
        divisor: series.divisor(&measurement.case),
        rank_stat,
        bytes_per_op: result.bytes_per_op,
        better: "lower".into(),
        quote: wire_quote(result.quote),
    }
}

fn named_rate((rate, per_op, value): (&'static kernel::Rate, f64, Option<f64>)) -> NamedRate {
    NamedRate { name: rate.kind.name().into(), formula: rate.formula.into(), per_op, value }
}

fn wire_quote(quote: event::Quote) -> Quote {
    match quote {
        event::Quote::Median => Quote::Median,
        event::Quote::Min => Quote::Min,
        event::Quote::LeastOf20 => Quote::LeastOf20,
        event::Quote::SliceMean => Quote::SliceMean,
        event::Quote::Mean => Quote::Mean,
        event::Quote::MiddleMean => Quote::MiddleMean,
        event::Quote::Corrected => Quote::Corrected,
    }
}

/// `ns` nanoseconds in seconds.
pub(crate) fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn plan(result: &SeriesResult, pace: Pace, settle: u32) -> Plan {
    let sync = if result.definition.starts_together() { pace.sync } else { StartSync::None };
    let sync = match sync {
        StartSync::None => SampleSync::None,
        StartSync::Barrier => SampleSync::Barrier,
        StartSync::DoubleBarrier => SampleSync::DoubleBarrier,
        StartSync::Dissemination => SampleSync::Dissemination,
        StartSync::Window => SampleSync::Window,
    };
    let is_corrected = result.quote == event::Quote::Corrected;
    Plan {
        samples_per_round: pace.n_samples,
        inner: pace.repetitions,
        warmup: settle,
        discarded: pace.n_discarded,
        sync,
        window_ns: Some(pace.window_ns).filter(|_| sync == SampleSync::Window),
        skew_ns: Some(pace.skew_ns).filter(|ns| *ns > 0 && sync != SampleSync::None),
        is_refined: false,
        outliers: "none".into(),
        correct: is_corrected.then(|| "empty_loop".into()).into_iter().collect(),
    }
}

fn time_ns(result: &SeriesResult) -> Summary {
    let ci95 = result.interval.map(|interval| [interval.low, interval.high]);
    Summary { ci95, ..summary(&result.summary) }
}

/// The median skew of the starts that is in the time `of` a point, if that begins with the first start
/// of ranks that were to start together, in nanoseconds.
pub(crate) fn skew_ns(of: &Measured) -> Option<f64> {
    let Value { definition, divisor, .. } = &of.numbers.value;
    let begins_with_first = [Definition::Completion, Definition::Release]
        .iter()
        .any(|possible| definition == possible.name());
    let is_meant = of.plan.skew_ns.is_none() && of.reps.inner == 1;
    let skew = of.quality.as_ref()?.start_skew_ns.as_ref()?;
    (begins_with_first && is_meant).then(|| skew.median / f64::from((*divisor).max(1)))
}

/// Lowers the intervals of one launch by the skew of its starts: the time of ranks that start together
/// lies between the value and the value less the skew.
fn lower_by_skew(measured: &mut Measured) {
    let Some(skew_ns) = skew_ns(measured) else { return };
    let lower = |low: &mut f64| *low = (*low - skew_ns).max(0.0);
    measured.numbers.time_ns.ci95.iter_mut().for_each(|[low, _]| lower(low));
    let Some(quality) = &mut measured.quality else { return };
    let Quality { interval_ns, p90_interval_ns, p99_interval_ns, .. } = quality;
    let all = [interval_ns, p90_interval_ns, p99_interval_ns];
    all.into_iter().flatten().for_each(|interval| lower(&mut interval.low));
}

/// `summary` in the record, without an interval.
fn summary(of: &comet_stats::Summary) -> Summary {
    Summary {
        n: of.n,
        min: of.min,
        p10: Some(of.p10),
        p25: of.p25,
        median: of.median,
        p75: of.p75,
        p90: of.p90,
        p95: of.p95,
        p99: of.p99,
        p999: of.p999,
        max: of.max,
        mean: of.mean,
        stddev: of.stddev,
        mad: of.mad,
        ci95: None,
    }
}

fn ranks_ns(measurement: &Measurement, result: &SeriesResult) -> Option<RanksNs> {
    if result.ranks.len() < 2 {
        return None;
    }
    let times_ns = times_of_ranks_ns(measurement, result);
    let medians: Option<Vec<f64>> = times_ns.iter().map(|ns| comet_stats::median(ns)).collect();
    let per_rank = medians?;
    let of_ranks = comet_stats::Summary::of(&per_rank)?;
    let slowest = per_rank.iter().position(|median| *median == of_ranks.max)?;
    Some(RanksNs {
        min: of_ranks.min,
        max: of_ranks.max,
        avg: of_ranks.mean,
        argmax: result.ranks[slowest].rank,
        per_rank,
    })
}

/// The times of one operation on each rank, by the definition, over the samples that count.
fn times_of_ranks_ns(measurement: &Measurement, result: &SeriesResult) -> Vec<Vec<f64>> {
    let Measurement { case, pace, .. } = measurement;
    let divisor = f64::from(pace.repetitions) * f64::from(result.series.divisor(case));
    let mut per_rank = vec![Vec::new(); result.ranks.len()];
    for batch in result.valid_batches() {
        let mut rest = &batch[..];
        let groups = RankSamples::by_group(&result.ranks, case.arrangement());
        let all_ns = groups.flat_map(|group| {
            let of_group = rest.split_off(..group.len()).expect("a sample of each rank");
            result.definition.of_each_rank_ns(of_group)
        });
        for (of_rank, ns) in per_rank.iter_mut().zip(all_ns) {
            of_rank.push(ns / divisor);
        }
    }
    per_rank
}

fn figures(measurement: &Measurement) -> Vec<Derived> {
    let wire = |figure: &comet_core::kernel::Derived| Derived {
        name: figure.name.into(),
        formula: figure.formula.into(),
        value: figure.value.filter(|value| value.is_finite()),
    };
    measurement.derived.iter().map(wire).collect()
}

/// Quality of the ranks' clocks.
#[derive(Clone, Copy, Debug, Default)]
struct Clocks {
    /// Calibration of rank 0's clock, once known.
    calibration: Option<ClockCalibration>,
    /// True if readings of two ranks can be compared.
    are_comparable: bool,
}

/// Quality of `result`, a series of `measurement`.
fn quality(measurement: &Measurement, result: &SeriesResult, clocks: Clocks) -> Quality {
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
        warm_up_ns: Some(WarmUpNs {
            blocks: result.warm_up.block_medians_ns.clone(),
            operation: result.warm_up.operation_ns,
        }),
        invalid: result.invalid.clone(),
        start_skew_ns: start_skew_ns(measurement, result).filter(|_| clocks.are_comparable),
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
        major_faults: usage.map(|usage| usage.major_faults),
        line_ns: line_times.map(|times| times.readings_ns.clone()),
        cores_moved: line_times.map(LineTimes::differ),
        overhead_ns: overhead(measurement, result, clocks.calibration),
        rank_samples_ns: rank_samples_ns(measurement, result),
    }
}

pub(crate) fn interval(interval: comet_stats::Interval) -> Interval {
    let comet_stats::Interval { low, high, level, method } = interval;
    Interval { low, high, level, method: method.name().into() }
}

fn overhead(
    measurement: &Measurement,
    result: &SeriesResult,
    clock: Option<ClockCalibration>,
) -> Overhead {
    let divisor = f64::from(result.series.divisor(&measurement.case));
    let repetitions = f64::from(measurement.pace.repetitions);
    let (pair_ns, loop_ns) = clock.map_or((0.0, 0.0), |c| (c.pair_bias_ns, c.loop_ns));
    Overhead { clock: pair_ns / repetitions / divisor, empty_loop: loop_ns / divisor }
}

/// From the first to the last start in each valid sample, where several ranks started together; of
/// groups that run at once the largest.
fn start_skew_ns(measurement: &Measurement, result: &SeriesResult) -> Option<Summary> {
    if result.ranks.len() < 2 || !result.definition.starts_together() {
        return None;
    }
    let all_ns = result.start_skews_ns(measurement.case.arrangement()).into_iter().enumerate();
    let valid = all_ns.filter(|(index, _)| result.invalid.binary_search(index).is_err());
    let skews_ns: Vec<f64> = valid.map(|(_, ns)| ns).collect();
    comet_stats::Summary::of(&skews_ns).map(|skews| summary(&skews))
}

/// Summary over the intervals of all ranks, where several sampled.
fn rank_samples_ns(measurement: &Measurement, result: &SeriesResult) -> Option<Summary> {
    if result.ranks.len() < 2 {
        return None;
    }
    let all_ns = times_of_ranks_ns(measurement, result).concat();
    comet_stats::Summary::of(&all_ns).map(|of_all| summary(&of_all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_value_says_which_ranks_it_stands_for() {
        let mut points = PointMaker::new("id", &fixture::topology());
        let mut check = |definition: Definition, expected: RankStat| {
            let mut measurement = fixture::barrier();
            measurement.series[0].definition = definition;
            let value = points.measured(&measurement)[0].value().unwrap().clone();
            assert_eq!((&*value.definition, value.rank_stat), (definition.name(), expected));
        };
        check(Definition::Completion, RankStat::Max);
        check(Definition::CallMean, RankStat::Mean);
        check(Definition::Release, RankStat::Median);
        check(Definition::TestNode, RankStat::Root);
    }

    #[test]
    fn a_thread_level_is_part_of_the_key() {
        let key = |backend: &str, level: Option<&str>| {
            let details = level.map(|level| ("thread_level".to_owned(), level.into()));
            let transport = Transport::new(backend, details.into_iter().collect());
            let points = PointMaker::new("id", &fixture::topology()).over(&transport);
            { points }.measured(&fixture::echo(8))[0].key.clone()
        };
        let [single, funneled] = ["single", "funneled"].map(|level| key("mpi", Some(level)));
        assert!(single != funneled && single != key("mpi", None));
        assert_eq!(key("mpi", None), key("shm", None), "keys without a level stay as they were");
    }

    #[test]
    fn the_way_of_starting_is_part_of_the_key_where_ranks_start_together() {
        let key = |definition: Definition, sync: StartSync| {
            let mut measurement = fixture::barrier();
            measurement.series[0].definition = definition;
            measurement.pace.sync = sync;
            PointMaker::new("id", &fixture::topology()).measured(&measurement)[0].key.clone()
        };
        let ways = |definition| {
            let keys = StartSync::ALL.map(|sync| key(definition, sync));
            keys.iter().collect::<std::collections::BTreeSet<_>>().len()
        };
        assert_eq!((ways(Definition::Completion), ways(Definition::CallMean)), (5, 5));
        assert_eq!((ways(Definition::TestNode), ways(Definition::ClosedByBarrier)), (1, 1));
    }

    #[test]
    fn parameters_are_the_axes_then_the_ranks_and_the_mesh_of_a_matrix() {
        let mut points = PointMaker::new("id", &fixture::topology());
        let mut check = |measurement: &Measurement, expected: &str| {
            let params = points.measured(measurement)[0].params.clone();
            assert_eq!(params.to_string(), expected);
        };
        check(&fixture::echo(8), "hops=1 length_bytes=8 procs=2");
        check(
            &fixture::overlap(),
            "direction=column length_bytes=8 procs=2 mesh_rows=1 mesh_cols=2",
        );
    }

    #[test]
    fn points_of_a_run_are_numbered() {
        let mut points = PointMaker::new("id", &fixture::topology());
        let numbers: Vec<_> = [fixture::overlap(), fixture::barrier()]
            .iter()
            .flat_map(|m| points.measured(m))
            .collect();
        assert_eq!(numbers.iter().map(|point| point.seq).collect::<Vec<_>>(), [0, 1, 2]);
    }
}
