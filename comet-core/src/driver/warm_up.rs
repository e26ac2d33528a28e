//! A case before its first slice: how long an operation takes, whether it is steady, and how to
//! measure it.

use super::conductor::{Conductor, Interruption, added};
use super::point::{CaseState, Gathered, Readings, by_series};
use super::probe::{self, Probe};
use super::rules::{self, Counts, Rules};
use super::{Pace, Settings};
use crate::definition::Definition;
use crate::event::{RankSamples, WarmUpTimes};
use crate::kernel::{Case, MAX_SERIES};
use crate::sample::Sample;
use crate::sync::{Skew, StartSync};
use crate::transport::Transport;
use comet_stats::{block_medians, median, real, steady_from, whole};

/// A check that takes longer than this, in nanoseconds, is of a case whose samples may be long.
const LONG_CHECK_NS: u64 = 1_000_000_000;
/// A loop that takes less than this part of the limit of time has no fewer operations for it.
const FAR_FROM_LIMIT: f64 = 10.0;

impl<T: Transport> Conductor<'_, T> {
    /// Runs a case, whose check took `check_ns`, until it is steady and its time is known, and
    /// decides how to measure it; `None` if the run is stopped meanwhile.
    pub(super) fn warm_up(
        &mut self,
        case: &Case,
        check_ns: u64,
    ) -> Result<Option<CaseState>, Interruption> {
        let (sync, window_ns) = (self.starts.now().sync(), self.starts.now().window_ns());
        let is_warm = self.settings.rules.has_warm_up(case.info);
        let first_probe = if is_warm { probe::FIRST_PROBE } else { probe::COLD_PROBE };
        let first_pace = Pace { sync, window_ns, ..first_probe };
        if self.is_fixed() || case.info.is_once {
            let probe = Probe::default();
            let pace = self.pace(case, first_pace, probe, None);
            let settle = if case.info.is_once { [0; MAX_SERIES] } else { pace.settle };
            let pace = Pace { settle, ..pace };
            let warm_up = vec![WarmUpTimes::default(); case.info.series.len()];
            let found = Found { probe, is_steady: true, warm_up };
            return Ok(Some(self.point(case, (found, pace, None), [0; MAX_SERIES])));
        }
        // Simulated ranks take their time in no time.
        let is_long = check_ns > LONG_CHECK_NS && !self.stage.t.clock().is_virtual;
        if is_long && self.is_interrupted() {
            return Ok(None);
        }
        let sample_ns = if is_long { real(check_ns) } else { 0.0 };
        let (first, [n_steps, _]) = self.round(case, first_pace, |_| check_ns, sample_ns)?;
        if is_long && self.is_interrupted() {
            return Ok(None);
        }
        let mut found = self.probe(case, first_pace, (first, n_steps));
        let mut n_warmup = added([0; MAX_SERIES], first_pace, n_steps);
        // Of long operations a second probe would find nothing new, for a long time.
        let is_known = is_long && found.probe.is_long() || self.is_settled(case, found.probe);
        if !is_known {
            let mut pace = self.pace(case, first_pace, found.probe, None);
            pace.n_samples = probe::warm_up_samples(self.settings, found.probe, pace.repetitions);
            found = self.probe_again(case, pace, found.probe)?;
            n_warmup = added(n_warmup, pace, 1);
            if !found.is_steady {
                pace.n_samples *= 2;
                found = self.probe_again(case, pace, found.probe)?;
                n_warmup = added(n_warmup, pace, 1);
            }
        }
        let probe = found.probe;
        let counts = self.counts(case, probe);
        let pace = self.pace(case, first_pace, probe, counts);
        let n_discarded = probe::n_discarded(self.settings, probe, pace.repetitions);
        // Other rules say what precedes a sample; what is simulated has nothing that is slow at first.
        let n_discarded = match counts {
            None if !self.stage.t.clock().is_virtual => n_discarded,
            _ => 0,
        };
        let pace = Pace { skew_ns: self.skew_ns(probe), n_discarded, ..pace };
        Ok(Some(self.point(case, (found, pace, counts), n_warmup)))
    }

    /// True if nothing about a case follows from its time, and nothing has to become warm: simulated
    /// ranks, and numbers that are set.
    fn is_fixed(&self) -> bool {
        let Settings { rules, repetitions, samples, skew, .. } = self.settings;
        let are_set = *rules == Rules::Comet && repetitions.is_some() && samples.is_some();
        self.stage.t.clock().is_virtual && are_set && *skew == Skew::None
    }

    /// True if each operation of `case` begins in a window.
    fn has_windows(&self, case: &Case) -> bool {
        let timing = case.info.timing_under(self.settings.definition(case.info));
        timing.starts_together() && self.starts.now().sync() == StartSync::Window
    }

    /// A case that is warm.
    fn point(
        &self,
        case: &Case,
        (found, pace, counts): (Found, Pace, Option<Counts>),
        n_warmup: [u32; MAX_SERIES],
    ) -> CaseState {
        let (settings, Found { probe, is_steady, warm_up }) = (self.settings, found);
        let n_wanted = if case.info.is_once { Some(1) } else { settings.samples };
        let slices = match (n_wanted, counts) {
            (Some(n_samples), _) => rules::of_samples(settings, n_samples),
            (None, None) => settings.slices,
            (None, Some(counts)) => counts.slices_of(settings.slices),
        };
        let n_samples = match counts {
            _ if case.info.is_once => 1,
            Some(_) if settings.samples.is_none() => slices.max_samples,
            _ => {
                let of_info = (slices, case.info);
                let n = probe::slice_samples(settings, of_info, probe, pace.repetitions);
                // Simulated ranks take their time in no time.
                match self.stage.t.clock().is_virtual && settings.samples.is_none() {
                    true => n.max(probe::least_samples(case.info, pace.repetitions)),
                    false => n,
                }
            }
        };
        let wanted = settings.definition(case.info);
        let clocks = self.stage.has_common_clock();
        let readings = |index| {
            let definition = case.info.definition_under(index, wanted).on_clocks(clocks);
            let series = &case.info.series[index];
            Readings::new(definition, settings.rules.quote(series), series.divisor(case))
        };
        CaseState {
            case: *case,
            probe,
            pace: Pace { n_samples, ..pace },
            slices,
            n_left: n_wanted,
            n_warmup,
            is_steady,
            warm_up,
            n_slices: 0,
            n_counted: 0,
            floor_ns: self.clock.cost_ns / f64::from(pace.repetitions),
            starts: self.starts.now().clone(),
            spent_ns: 0,
            last_end_ns: 0,
            usage: None,
            n_disturbed: 0,
            is_done: false,
            series: (0..case.info.series.len()).map(readings).collect(),
        }
    }

    /// Counts of the rules for `case`, if they are not CoMet's own.
    fn counts(&self, case: &Case, probe: Probe) -> Option<Counts> {
        let settings = self.settings;
        let counts = settings.rules.counts(
            case,
            self.clock,
            probe,
            settings,
            self.stage.world(case.arrangement()).n_ranks,
        )?;
        if !case.info.timing_under(self.settings.definition(case.info)).starts_together() {
            return Some(counts);
        }
        Some(counts.one_by_one(settings.rules))
    }

    /// True if a loop by the rules of IMB stays as it is whatever a second `probe` of `case` finds: one
    /// operation lasts as long as a warm-up, and all of them are far from the limit of time.
    fn is_settled(&self, case: &Case, probe: Probe) -> bool {
        let Settings { rules, loop_limits, .. } = self.settings;
        let is_of_loops = rules.loop_limits().is_some() && probe.lasts();
        let counts = self.counts(case, probe).filter(|_| is_of_loops);
        counts.is_some_and(|Counts { repetitions, n_samples, .. }| {
            let n_operations = f64::from(repetitions) * f64::from(n_samples);
            n_operations * probe.slowest_ns() < loop_limits.ns / FAR_FROM_LIMIT
        })
    }

    /// The pace for `case`, given what a probe found, by the `counts` of other rules if there are
    /// any.
    fn pace(&self, case: &Case, first: Pace, probe: Probe, counts: Option<Counts>) -> Pace {
        let settings = self.settings;
        let timing = case.info.timing_under(settings.definition(case.info));
        let repetitions = match counts {
            Some(counts)
                if settings.repetitions.is_none() || settings.rules.loop_limits().is_some() =>
            {
                counts.repetitions
            }
            // A probe needs no loop of the user's.
            None if settings.rules != Rules::Comet => {
                probe::repetitions_by_clock(settings, timing, self.clock, probe)
            }
            _ => probe::repetitions(settings, timing, self.clock, probe),
        };
        // Nothing is known of what is not probed.
        let builds_up = probe::is_loaded(case.info) && probe.slowest_ns() > 0.0;
        let chosen = settings.warm_up.or(counts.map(|counts| counts.settle));
        let settle = match chosen {
            Some(n) => [n; MAX_SERIES],
            // Nothing there falls asleep or warms up. Ranks and links are idle when a window opens,
            // whatever precedes it; elsewhere ranks get into step.
            None if self.stage.t.clock().is_virtual && self.has_windows(case) => [0; MAX_SERIES],
            None if self.stage.t.clock().is_virtual && !builds_up => {
                [probe::MIN_SETTLE; MAX_SERIES]
            }
            None => probe::settle(probe),
        };
        Pace { repetitions, settle, ..first }
    }

    /// Scale of the skew, by the time of an operation without one.
    fn skew_ns(&self, probe: Probe) -> u64 {
        match self.settings.skew {
            Skew::None => 0,
            _ => whole(probe.slowest_ns() * self.settings.skew_scale),
        }
    }

    /// Takes a few samples more, of a case that a probe has found `known` of.
    fn probe_again(
        &mut self,
        case: &Case,
        pace: Pace,
        known: Probe,
    ) -> Result<Found, Interruption> {
        let gathered = self.order(case, Some((pace, known.round_ns(pace))))?;
        Ok(self.probe(case, pace, (gathered, 1)))
    }

    /// The time of an operation by what the ranks took in so many steps.
    fn probe(&self, case: &Case, pace: Pace, (gathered, n_steps): (Gathered, u32)) -> Found {
        let mut series_ns = [None; MAX_SERIES];
        let (mut is_steady, mut warm_up) = (true, Vec::new());
        let slice = by_series(gathered, case.info.series.len());
        let mut period_of_all_ns = 0.0;
        for (index, (ns, ranks)) in series_ns.iter_mut().zip(&slice).enumerate() {
            // The times of laps are those of the series that they are parts of.
            if case.info.series[index].is_lap {
                warm_up.push(WarmUpTimes::default());
                continue;
            }
            period_of_all_ns += ranks.first().and_then(period_ns).unwrap_or(0.0);
            let of_ranks = ranks.iter().filter_map(|of_rank| warm(of_rank, pace.repetitions));
            let slowest = of_ranks.max_by(|a, b| a.0.total_cmp(&b.0));
            *ns = slowest.as_ref().map(|(median_ns, ..)| *median_ns);
            is_steady &= slowest.as_ref().is_none_or(|(_, is_steady, _)| *is_steady);
            let block_medians_ns = slowest.map(|(.., medians_ns)| medians_ns).unwrap_or_default();
            warm_up.push(WarmUpTimes { block_medians_ns, operation_ns: *ns });
        }
        let probe = Probe { series_ns, sample_ns: 0.0, start_ns: 0.0 };
        let batch_ns = probe.batch_ns(pace.repetitions);
        // Between two steps lies more than between two samples.
        let sample_ns = if n_steps > 1 { batch_ns } else { period_of_all_ns.max(batch_ns) };
        let n_series = case.info.timed_series().count();
        // Each operation that is not timed is started together as well.
        let start_ns =
            match case.info.timing_under(self.settings.definition(case.info)).starts_together() {
                true => (sample_ns - batch_ns) / real(n_series as u64),
                false => 0.0,
            };
        Found { probe: Probe { sample_ns, start_ns, ..probe }, is_steady, warm_up }
    }
}

/// Findings of a probe.
struct Found {
    probe: Probe,
    is_steady: bool,
    /// By series.
    warm_up: Vec<WarmUpTimes>,
}

/// Time from one sample of a rank to the next, in nanoseconds: with the synchronisation between
/// them.
fn period_ns(of_rank: &RankSamples) -> Option<f64> {
    let (first, last) = (of_rank.samples.first()?, of_rank.samples.last()?);
    let n_samples = u32::try_from(of_rank.samples.len()).ok()?;
    Some(real(last.end_ns.saturating_sub(first.start_ns)) / f64::from(n_samples))
}

/// Time of one operation on a rank once it had become steady, in nanoseconds; true if it had; and the
/// medians of blocks that say so.
fn warm(of_rank: &RankSamples, repetitions: u32) -> Option<(f64, bool, Vec<f64>)> {
    let value_ns = |sample: &Sample| Definition::MaxLocal.value_ns(&[*sample], repetitions.into());
    let values_ns: Vec<f64> = of_rank.samples.iter().map(value_ns).collect();
    let warm_up = steady_from(&values_ns);
    let median_ns = median(&values_ns[warm_up.n_dropped..])?;
    Some((median_ns, warm_up.is_steady, block_medians(&values_ns)))
}
