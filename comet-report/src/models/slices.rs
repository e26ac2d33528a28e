//! Models from the slices of the four series of a case together: the parameters of LogGP, from the
//! trains of messages of `model/injection` by the formulas of `comet_stats::fit::LogGp`, and the
//! share hidden behind work, by the definitions of four sources.

use comet_stats::fit::{Estimate, Line, LogGp, Overlap, OverlapTimes, Train, TrainTimes, Weights};

use super::sweep::{Sweep, fit, parameter, real};
use crate::record::{Fit, Model, Parameter, Point};

const LAW: &str = "t = o_s + L + o_r + (s - 1) G";

const N_MESSAGES: u32 = 16;
/// Distances between the messages of a train.
const N_GAPS: f64 = N_MESSAGES as f64 - 1.0;

/// Warning that `L` may as well be 0; it usually may on shared memory, where the overheads hold the
/// copies and the polling.
const NO_LATENCY: &str = "latency_not_identifiable";
/// Warning that sizes were left out, whose delays were shorter than a round trip.
const SHORT_DELAY: &str = "short_delay";
/// Warning that a share is far outside of 0 to 1: the four times do not belong together, or their
/// differences are as small as their scatter.
const NO_SHARE: &str = "overlap_not_identifiable";
/// Shares outside of these are those of no transfer: below, overlapping costs more than both parts.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = -1.0..=2.0;

/// The parameters over all sizes, and over those between the breakpoints; the points of `sweep` are
/// those of the first series, with and without a delay.
pub(super) fn loggp(sweep: Sweep<'_>, breakpoints: &[u64]) -> Option<Model> {
    let mut model = sweep.model("loggp", [&sweep.axes[0].name, "B"]);
    // All series together make the model, and none of their intervals weighs.
    (model.variant, model.weights) = (None, "relative".into());
    let mut warnings = Vec::new();
    let law = |part: &Sweep<'_>, name: &str, n_segments| {
        let (trains, n_left_out) = trains(part);
        let law = LogGp::fit(&trains, N_MESSAGES).ok()?;
        let is_unknown = law.is_latency_identifiable() == Some(false);
        let warned = [(is_unknown, NO_LATENCY), (n_left_out > 0, SHORT_DELAY)];
        warnings.push(warned.map(|(holds, warning)| holds.then_some(warning)));
        wire(name, &law, n_segments)
    };
    model.fits = sweep.fits("loggp", breakpoints, law)?;
    model.warnings.extend(warnings[0].iter().flatten().map(|warning| (*warning).into()));
    Some(model)
}

/// The trains of all sizes, ascending, whose delay is long enough, and how many have none such.
fn trains(sweep: &Sweep<'_>) -> (Vec<Train>, usize) {
    let cases: Vec<Case> = sweep.points.iter().filter_map(|point| Case::of(point, sweep)).collect();
    let n_slices = cases.iter().map(Case::n_slices).min().unwrap_or(0);
    let mut plain: Vec<&Case> =
        cases.iter().filter(|case| case.size > 0 && case.delay_us == 0.0).collect();
    plain.sort_by_key(|case| case.size);
    let delayed = |plain: &Case| {
        let of_size = cases.iter().filter(|case| case.size == plain.size && case.is_late());
        of_size.min_by(|a, b| a.delay_us.total_cmp(&b.delay_us))
    };
    let train = |plain: &&Case| Some(plain.train(delayed(plain)?, n_slices));
    let trains: Vec<Train> = plain.iter().filter_map(train).collect();
    let n_left_out = plain.len() - trains.len();
    (trains, n_left_out)
}

struct Case {
    size: u64,
    /// Time of one delay; 0 without one.
    delay_us: f64,
    round_trip_us: f64,
    /// Medians of the slices of each series, in nanoseconds.
    slices: [Vec<f64>; 4],
}

impl Case {
    fn of(first: &Point, sweep: &Sweep<'_>) -> Option<Self> {
        let time_us = |index| sweep.time_us(sweep.series(first, index)?);
        let is_delayed = sweep.at(first, 1) > 0;
        Some(Self {
            size: sweep.at(first, 0),
            delay_us: if is_delayed { time_us(3)? / N_GAPS } else { 0.0 },
            round_trip_us: time_us(0)?,
            slices: sweep.slices_ns(first)?,
        })
    }

    fn n_slices(&self) -> usize {
        self.slices.iter().map(Vec::len).min().unwrap_or(0)
    }

    /// True if the next message is there after a delay.
    fn is_late(&self) -> bool {
        self.delay_us >= self.round_trip_us
    }

    /// The train of this case without delays, and of `delayed`.
    ///
    /// Train of `delayed`: the cost of a delay is the difference within a slice, from which a
    /// disturbance of all of the slice falls out.
    fn train(&self, delayed: &Self, n_slices: usize) -> Train {
        let delay = delayed.delay_us;
        let slice = |index: usize| {
            let of = |case: &Self| case.slices.each_ref().map(|series| series[index] / 1e3);
            let [single, train, ..] = of(self);
            let [round_trip, sends, receives, work] = of(delayed);
            TrainTimes {
                single,
                train,
                delayed: single + sends - round_trip - work + N_GAPS * delay,
                receive: (receives - round_trip - work) / N_GAPS + delay,
            }
        };
        Train { size_bytes: real(self.size), delay, slices: (0..n_slices).map(slice).collect() }
    }
}

/// The fit, with the quality of the line through the gaps.
fn wire(name: &str, law: &LogGp, n_segments: usize) -> Option<Fit> {
    let gaps: Vec<(f64, f64)> =
        law.overheads.iter().map(|row| (row.size_bytes, row.gap.value)).collect();
    let quality = Line::fit_robust(&gaps, Weights::Relative).ok()?.quality;
    let extent = [gaps[0].0, gaps[gaps.len() - 1].0];
    Some(fit([name, LAW], extent, train_parameters(law), &quality, n_segments))
}

/// The five, the overheads being those of the smallest size, and what netgauge calls `L`.
fn train_parameters(law: &LogGp) -> Vec<Parameter> {
    let of = |name, unit, of: Estimate| parameter(name, unit, Some(of.value), of.range);
    let smallest = law.overheads[0];
    vec![
        of("L", "us", law.latency),
        of("o_s", "us", smallest.send),
        of("o_r", "us", smallest.receive),
        of("g", "us", law.gap),
        of("G", "us/B", law.gap_per_byte),
        of("L_netgauge", "us", law.latency_netgauge),
    ]
}

/// The shares of one case that has work to hide; its first series is the point of `sweep`.
pub(super) fn overlap(sweep: Sweep<'_>, _: &[u64]) -> Option<Model> {
    let [exchange, work, sequential, overlapped] = sweep.slices_ns(sweep.points[0])?;
    let lengths = [&exchange, &work, &sequential, &overlapped].map(Vec::len);
    let times = (0..lengths.into_iter().min()?).map(|slice| OverlapTimes {
        communication: exchange[slice],
        work: work[slice],
        test: 0.0,
        overlapped: overlapped[slice],
        sequential: sequential[slice],
    });
    let shares = Overlap::of(&times.collect::<Vec<_>>()).ok()?;
    let all = [shares.imb_min, shares.imb_nbc, shares.osu, shares.thesis_gain];
    let is_known = all.iter().all(|share| is_plausible(share.value));
    let warnings = (!is_known).then(|| NO_SHARE.into()).into_iter().collect();
    // All series together make the model, and none of their intervals weighs.
    let (variant, weights) = (None, "relative".into());
    let marks = marks(&shares);
    Some(Model { variant, weights, marks, warnings, ..sweep.model("overlap", ["", ""]) })
}

/// True if `share` may be the hidden share of a transfer.
pub(crate) fn is_plausible(share: f64) -> bool {
    PLAUSIBLE.contains(&share)
}

fn marks(shares: &Overlap) -> Vec<Parameter> {
    let of = |name, share: Estimate| {
        let range = share.range.filter(|_| is_plausible(share.value));
        parameter(name, "", Some(share.value), range)
    };
    vec![
        of("overlap_share", shares.imb_min),
        of("overlap_share_imb_nbc", shares.imb_nbc),
        of("overlap_share_osu", shares.osu),
        of("improvement", shares.thesis_gain),
    ]
}
