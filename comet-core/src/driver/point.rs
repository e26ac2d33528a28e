//! One case while it is measured: its slices so far, whether they suffice, and what they make.

use super::probe::Probe;
use super::rules::Rules;
use super::settings::{Pace, Settings, Slices};
use super::stage::Taken;
use super::start::Starts;
use crate::definition::Definition;
use crate::event::{ClockCalibration, Quote, RankSamples, SeriesResult, WarmUpTimes};
use crate::kernel::{Arrangement, Case, LENGTH_BYTES, MAX_SERIES, World};
use crate::sample::Sample;
use crate::transport::{Rank, Usage};
use comet_stats::refine::Reading;
use comet_stats::{Diagnosis, Interval, MIN_SLICES, Summary, Trimmed, least_of_20, median, real};

/// Seed of resampling: a summary of the same samples is always the same.
const SEED: u64 = 1;

/// Samples of one round, by rank.
pub(super) type Gathered = Vec<(Rank, Taken)>;

/// A case under measurement.
pub(super) struct CaseState {
    pub(super) case: Case,
    pub(super) probe: Probe,
    /// The pace of a whole slice.
    pub(super) pace: Pace,
    pub(super) slices: Slices,
    /// Half width of an interval below which the clock tells no difference, in nanoseconds.
    pub(super) floor_ns: f64,
    /// Samples that are left to take, if the user counts them.
    pub(super) n_left: Option<u32>,
    pub(super) n_warmup: [u32; MAX_SERIES],
    pub(super) is_steady: bool,
    /// Times of the last warm-up, by series.
    pub(super) warm_up: Vec<WarmUpTimes>,
    pub(super) n_slices: u32,
    /// Number of slices that count.
    pub(super) n_counted: u32,
    /// Starts of its samples.
    pub(super) starts: Starts,
    /// Time of its slices so far, and the clock at the end of the last, in nanoseconds.
    pub(super) spent_ns: u64,
    pub(super) last_end_ns: u64,
    pub(super) usage: Option<Usage>,
    /// Slices in which ranks were preempted.
    pub(super) n_disturbed: u32,
    pub(super) is_done: bool,
    pub(super) series: Vec<Readings>,
}

/// Samples of one series, and the values that they make.
pub(super) struct Readings {
    pub(super) definition: Definition,
    quote: Quote,
    /// Values of a run.
    divisor: u32,
    ranks: Vec<RankSamples>,
    slice_lengths: Vec<usize>,
    invalid: Vec<usize>,
    /// Values of the valid samples, slice by slice.
    values_ns: Vec<Vec<f64>>,
    /// Medians of the slices that have values, or their means where those are reported.
    slices_ns: Vec<f64>,
}

impl Readings {
    pub(super) fn new(definition: Definition, quote: Quote, divisor: u32) -> Self {
        Self {
            definition,
            quote,
            divisor,
            ranks: Vec::new(),
            slice_lengths: Vec::new(),
            invalid: Vec::new(),
            values_ns: Vec::new(),
            slices_ns: Vec::new(),
        }
    }

    fn all_ns(&self) -> Vec<f64> {
        self.values_ns.concat()
    }

    /// The median so far.
    fn median_ns(&self) -> Option<f64> {
        median(&self.slices_ns)
    }

    /// Makes no value of the samples so far; they stay as they are.
    fn discard(&mut self) {
        self.invalid = (0..self.slice_lengths.iter().sum()).collect();
        self.values_ns.iter_mut().for_each(Vec::clear);
        self.slices_ns.clear();
    }

    /// True for each sample of a slice that counts, an operation of which is expected to take `expected_ns`.
    fn validity(
        &self,
        slice: &[RankSamples],
        repetitions: u32,
        starts: &Starts,
        expected_ns: Option<f64>,
        arrangement: Arrangement,
    ) -> Vec<bool> {
        let of_operation_ns = self.median_ns().map(|ns| ns * f64::from(self.divisor));
        let median_ns = of_operation_ns.or(expected_ns).map(|ns| ns * f64::from(repetitions));
        let is_valid = |of_ranks: Vec<Sample>| {
            // Of what was not probed the sample itself has the time.
            let of_sample_ns = || of_ranks.iter().map(|of| of.elapsed_ns()).max().map(real);
            starts.is_valid(&of_ranks, median_ns.or_else(of_sample_ns))
        };
        let n_samples = slice.first().map_or(0, |of_rank| of_rank.samples.len());
        let groups: Vec<&[RankSamples]> = RankSamples::by_group(slice, arrangement).collect();
        let are_valid = |index| groups.iter().all(|group| is_valid(samples_of(group, index)));
        (0..n_samples).map(are_valid).collect()
    }

    /// Adds the samples of one slice, of which those count that are `valid`.
    fn add(
        &mut self,
        slice: Vec<RankSamples>,
        repetitions: u32,
        valid: &[bool],
        arrangement: Arrangement,
    ) {
        let groups: Vec<&[RankSamples]> = RankSamples::by_group(&slice, arrangement).collect();
        let n_samples = slice.first().map_or(0, |of_rank| of_rank.samples.len());
        let n_before: usize = self.slice_lengths.iter().sum();
        let n_values = u64::from(repetitions) * u64::from(self.divisor);
        let mut values = Vec::with_capacity(n_samples);
        for (index, _) in valid.iter().enumerate().filter(|(_, is_valid)| **is_valid) {
            let of_group = |group: &&[RankSamples]| {
                self.definition.value_ns(&samples_of(group, index), n_values)
            };
            // The slowest group stands for all.
            values.extend(groups.iter().map(of_group).reduce(f64::max));
        }
        let invalid = valid.iter().enumerate().filter(|(_, is_valid)| !**is_valid);
        self.invalid.extend(invalid.map(|(index, _)| n_before + index));
        self.slices_ns.extend(match self.quote {
            Quote::SliceMean => Summary::of(&values).map(|summary| summary.mean),
            _ => median(&values),
        });
        self.values_ns.push(values);
        self.slice_lengths.push(n_samples);
        if self.ranks.is_empty() {
            self.ranks = slice;
        } else {
            for (of_rank, of_slice) in self.ranks.iter_mut().zip(slice) {
                of_rank.samples.extend(of_slice.samples);
            }
        }
    }
}

/// Sample number `index` of each rank of a group.
fn samples_of(group: &[RankSamples], index: usize) -> Vec<Sample> {
    group.iter().map(|of_rank| of_rank.samples[index]).collect()
}

impl CaseState {
    /// Adds what the ranks took in one slice that ended at `end_ns` and took `took_ns`.
    ///
    /// # Errors
    /// If the samples make no value: some are of another rank than the definition means, or of some
    /// ranks only.
    pub(super) fn add(
        &mut self,
        gathered: Gathered,
        end_ns: u64,
        took_ns: u64,
        settings: &Settings,
    ) -> Result<(), String> {
        let usage = gathered.iter().filter_map(|(_, taken)| taken.usage).reduce(Usage::plus);
        self.usage = self.usage.map_or(usage, |sum| usage.map(|of_slice| sum.plus(of_slice)));
        let slice = by_series(gathered, self.series.len());
        let arrangement = self.case.arrangement();
        let (mut n_invalid, mut n_taken, mut n_series) = (0, 0, 0);
        let mut valid = Vec::new();
        for (index, ranks) in slice.into_iter().enumerate() {
            let (series, readings) = (&self.case.info.series[index], &mut self.series[index]);
            require_samples(series.name, readings.definition, &ranks, arrangement)?;
            let (repetitions, starts) = (self.pace.repetitions, &self.starts);
            // Laps count with the interval that they are parts of.
            if !series.is_lap {
                let expected_ns = self.probe.series_ns[index];
                valid = readings.validity(&ranks, repetitions, starts, expected_ns, arrangement);
                n_taken = valid.len();
                n_invalid += valid.iter().filter(|is_valid| !**is_valid).count();
                n_series += 1;
            }
            readings.add(ranks, repetitions, &valid, arrangement);
        }
        let n_switches = usage.map_or(0, |of_slice| of_slice.involuntary_switches);
        self.n_disturbed += u32::from(self.series[0].quote.is_spoiled_by(n_switches, n_taken));
        self.starts.slice_ended(n_invalid, n_taken * n_series);
        self.n_slices += 1;
        // Slices in which most windows failed do not count: after three of them there are none.
        self.n_counted += u32::from(2 * n_invalid <= n_taken * n_series);
        self.spent_ns += took_ns;
        self.last_end_ns = end_ns;
        let n_valid = u32::try_from(n_taken - n_invalid.min(n_taken)).unwrap_or(u32::MAX);
        self.n_left = self.n_left.map(|n_left| n_left.saturating_sub(n_valid));
        self.is_done = self.suffices(settings);
        Ok(())
    }

    /// Measures again, with other starts: values of different starts are never put together.
    pub(super) fn start_over(&mut self, starts: &Starts, settings: &Settings) {
        self.starts = starts.clone();
        self.series.iter_mut().for_each(Readings::discard);
        self.n_counted = 0;
        self.n_left = settings.samples;
        self.is_done = false;
    }

    /// True if it has no value: those of windows that were given up do not count.
    pub(super) fn is_empty(&self) -> bool {
        self.series.iter().all(|readings| readings.slices_ns.is_empty())
    }

    /// The pace of the next slice.
    pub(super) fn next_pace(&self) -> Pace {
        let n_samples = self.n_left.map_or(self.pace.n_samples, |n| n.min(self.pace.n_samples));
        let (sync, window_ns) = (self.starts.sync(), self.starts.window_ns());
        Pace { n_samples, slice: self.n_slices, sync, window_ns, ..self.pace }
    }

    /// Asks for a slice more, unless the user counts samples, or its time is used up.
    pub(super) fn reopen(&mut self, settings: &Settings) {
        if self.n_left.is_some() || self.spent_ns >= settings.case_budget_ns {
            return;
        }
        self.slices.min = self.n_counted + 1;
        self.slices.max = self.slices.max.max(self.slices.min);
        self.is_done = false;
    }

    /// Reading for a refinement of its sweep, by the first series.
    pub(super) fn reading(&self) -> Option<Reading> {
        let slices_ns = &self.series[0].slices_ns;
        let of_all = Summary::of(slices_ns)?;
        let half_width_ns = match Interval::of_medians(slices_ns) {
            Some(interval) => Some(interval.half_width()),
            // Without noise a few samples tell all.
            None => {
                let of_samples = Summary::of(&self.series[0].all_ns())?;
                let is_repeated = of_samples.n > 1 && of_samples.min == of_samples.max;
                is_repeated.then_some(0.0)
            }
        };
        Some(Reading {
            size: self.case.find(&LENGTH_BYTES)?,
            time_ns: of_all.median,
            half_width_ns,
            n_slices: self.n_counted,
        })
    }

    /// True if no further slice is needed.
    fn suffices(&self, settings: &Settings) -> bool {
        if let Some(n_left) = self.n_left {
            return n_left == 0;
        }
        if self.n_counted < self.slices.min {
            return false;
        }
        let is_spent =
            self.n_counted >= self.slices.max || self.spent_ns >= settings.case_budget_ns;
        is_spent || self.is_narrow(settings) != Some(false)
    }

    /// True if the spread of every series but laps is as small as the rules want it; `None` without a
    /// target.
    fn is_narrow(&self, settings: &Settings) -> Option<bool> {
        let of_each = |is_narrow: &dyn Fn(&Readings) -> bool| {
            self.case.info.timed_series().all(|index| is_narrow(&self.series[index]))
        };
        if settings.rules == Rules::Skampi {
            return Some(of_each(&|readings| {
                let trimmed = Trimmed::of(&readings.all_ns(), 0.25);
                let error = trimmed.and_then(|t| Some(t.standard_error? / t.mean));
                error.is_some_and(|error| error <= settings.stop.error)
            }));
        }
        let target = self.slices.target?;
        Some(of_each(&|readings| {
            let interval = Interval::of_medians(&readings.slices_ns);
            let median = readings.median_ns();
            interval
                .zip(median)
                .is_some_and(|(i, median)| i.half_width() <= self.floor_ns.max(target * median))
        }))
    }

    /// True if the target was met; `None` if there is none, or too few slices for an interval.
    pub(super) fn converged(&self, settings: &Settings) -> Option<bool> {
        let has_interval = self.n_counted as usize >= MIN_SLICES || settings.rules == Rules::Skampi;
        self.is_narrow(settings).filter(|_| has_interval)
    }

    /// The series as they are to be told.
    ///
    /// # Errors
    /// If a series has no valid sample.
    pub(super) fn results(
        self,
        clock: ClockCalibration,
        world: &World<'_>,
    ) -> Result<Vec<SeriesResult>, String> {
        let Self { case, series, n_warmup, pace, mut warm_up, .. } = self;
        let moved = world.moved(&case);
        let result = |(index, readings): (usize, Readings)| {
            let series = &case.info.series[index];
            let values_ns = readings.all_ns();
            let none = || match readings.invalid.len() {
                0 => format!("no rank took a sample of {}", series.name),
                n => format!("none of {n} samples of {} started together", series.name),
            };
            let summary = Summary::of(&values_ns).ok_or_else(none)?;
            let slice_medians_ns = readings.slices_ns;
            let slices: Vec<&[f64]> = readings.values_ns.iter().map(Vec::as_slice).collect();
            let divisor = f64::from(readings.divisor);
            // An interval between two readings holds one; a difference of two intervals holds none.
            let clock_ns = match readings.definition {
                Definition::BarrierSubtracted => 0.0,
                _ => clock.pair_bias_ns / f64::from(pace.repetitions) / divisor,
            };
            // The time lies between the value and the value less the clock, as the clock is read in
            // the shadow of a wait or not.
            let with_clock = |of: Interval| Interval { low: (of.low - clock_ns).max(0.0), ..of };
            Ok(SeriesResult {
                series,
                definition: readings.definition,
                bytes_per_op: (series.bytes_per_op)(&moved, world),
                amounts_per_op: series.amounts_per_op(&moved, world),
                n_warmup: n_warmup[case.info.timed_with(index)],
                warm_up: std::mem::take(&mut warm_up[index]),
                interval: Interval::of_medians(&slice_medians_ns).map(with_clock),
                p90_interval: Interval::of_quantile(&slices, 0.90, SEED).map(with_clock),
                p99_interval: Interval::of_quantile(&slices, 0.99, SEED).map(with_clock),
                diagnosis: Diagnosis::of(&slices),
                quote: readings.quote,
                quoted_ns: match readings.quote {
                    Quote::Median | Quote::SliceMean => median(&slice_medians_ns),
                    Quote::Min => Some(summary.min),
                    Quote::LeastOf20 => least_of_20(&slices),
                    Quote::Mean => Some(summary.mean),
                    Quote::MiddleMean => Trimmed::of(&values_ns, 0.25).map(|middle| middle.mean),
                    // The correction may leave nothing.
                    Quote::Corrected => {
                        Some(summary.mean - clock.loop_ns / divisor).filter(|ns| *ns > 0.0)
                    }
                },
                ranks: readings.ranks,
                slice_lengths: readings.slice_lengths,
                invalid: readings.invalid,
                values_ns,
                slice_medians_ns,
                summary,
            })
        };
        series.into_iter().enumerate().map(result).collect()
    }
}

/// Adds the samples of one step to those of the steps before, rank by rank.
pub(super) fn join(all: &mut Gathered, step: Gathered) {
    if all.is_empty() {
        *all = step;
        return;
    }
    for ((_, taken), (_, more)) in all.iter_mut().zip(step) {
        for (series, samples) in taken.series.iter_mut().zip(more.series) {
            series.extend(samples);
        }
        taken.usage = taken.usage.zip(more.usage).map(|(sum, usage)| sum.plus(usage));
    }
}

/// The samples of a round by series, of the ranks that took any, and there of one lane after the other.
pub(super) fn by_series(gathered: Gathered, n_series: usize) -> Vec<Vec<RankSamples>> {
    let mut slice: Vec<Vec<RankSamples>> = vec![Vec::new(); n_series];
    for (rank, taken) in gathered {
        for (index, samples) in taken.series.into_iter().enumerate() {
            if !samples.is_empty() {
                slice[index % n_series].push(RankSamples { rank, samples });
            }
        }
    }
    slice
}

/// Refuses samples that would make no value: of another rank than the definition means, or of some
/// ranks only.
fn require_samples(
    name: &str,
    definition: Definition,
    ranks: &[RankSamples],
    arrangement: Arrangement,
) -> Result<(), String> {
    let n_samples = |of_rank: &RankSamples| of_rank.samples.len();
    if ranks.is_empty() {
        return Err(format!("no rank took a sample of {name}"));
    }
    if ranks.windows(2).any(|pair| n_samples(&pair[0]) != n_samples(&pair[1])) {
        return Err(format!("the ranks took different numbers of samples of {name}"));
    }
    let n_sampled = RankSamples::by_group(ranks, arrangement).count();
    if n_sampled < arrangement.n_groups {
        let n_groups = arrangement.n_groups;
        return Err(format!("{n_sampled} of {n_groups} groups took samples of {name}"));
    }
    if definition.is_of_one_rank() && ranks.len() > n_sampled {
        let (definition, n) = (definition.name(), ranks.len());
        return Err(format!("{n} ranks sampled {name}, but {definition} is of one"));
    }
    Ok(())
}
