//! Two sides held against each other launch by launch, by the rules of a comparison.

use comet_stats::compare::{Difference, Launches, MARGIN, Scale, Verdict, margin};

use super::times::Reading;

/// Difference of exact times that is of interest, as a share: a smaller one changes no decision.
const EXACT_MARGIN: f64 = 0.01;
/// Exact times that differ by less than this share differ by rounding.
const ROUNDING: f64 = 1e-9;

/// Times of both sides in each launch.
#[derive(Default)]
pub(crate) struct Sides {
    /// Logarithms of the bound (base) and of the bounded time (new).
    launches: Launches,
    /// Least and greatest samples of both sides, bound first.
    ranges_ns: Vec<[[f64; 2]; 2]>,
    /// True while every time is one of a simulation.
    are_virtual: bool,
    clock_ns: f64,
    repetitions: u32,
}

/// One side against the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Compared {
    /// The time in ns: geometric mean over the launches, as in a comparison.
    pub(crate) time_ns: f64,
    /// The other one, likewise.
    pub(crate) bound_ns: f64,
    /// The 95 % interval of their ratio; `None` for a single launch that varies.
    pub(crate) interval: Option<[f64; 2]>,
    /// Difference that is of no interest, as a share.
    pub(crate) margin: f64,
    /// Number of launches that have both sides.
    pub(crate) n_launches: usize,
    /// Verdict on the time.
    pub(crate) verdict: Verdict,
    /// Probability of such a ratio by chance if the true one is just the margin; 1 without an interval.
    pub(crate) p: f64,
    /// The same of a ratio as far above 1 and its margin.
    pub(crate) p_slower: f64,
}

impl Sides {
    /// Adds a launch: the time `left`, and the operations of the other side, each with how often it is done.
    pub(crate) fn push(&mut self, left: &Reading<'_>, bound: &[(&Reading<'_>, u64)]) {
        let sum = |time: &dyn Fn(&Reading<'_>) -> f64| -> f64 {
            bound.iter().map(|(reading, n)| time(reading) * *n as f64).sum()
        };
        let bound_ns = sum(&|reading| reading.ns);
        // A simulated machine may have operations that take no time.
        if bound_ns <= 0.0 || left.ns <= 0.0 {
            return;
        }
        let is_first = self.ranges_ns.is_empty();
        let all = || bound.iter().map(|(reading, _)| *reading).chain([left]);
        let is_of_run = bound.iter().all(|(reading, _)| reading.shares_run(left));
        self.launches.is_paired = is_of_run && (is_first || self.launches.is_paired);
        self.launches.base.push(bound_ns.ln());
        self.launches.new.push(left.ns.ln());
        let of_bound = [sum(&|reading| reading.range_ns[0]), sum(&|reading| reading.range_ns[1])];
        self.ranges_ns.push([of_bound, left.range_ns]);
        self.are_virtual = (is_first || self.are_virtual) && all().all(Reading::is_virtual);
        self.clock_ns = all().map(Reading::clock_ns).fold(self.clock_ns, f64::max);
        let fewest = all().map(Reading::repetitions).min().unwrap_or(1);
        self.repetitions = if is_first { fewest } else { self.repetitions.min(fewest) };
    }

    /// Both sides against each other; `None` without a launch. Differences below `of_user`, a share, are of
    /// no interest; `None`: as in a comparison, and 1 % of exact times.
    pub(crate) fn compared(&self, of_user: Option<f64>) -> Option<Compared> {
        let [bound_ns, time_ns] = self.launches.means()?.map(f64::exp);
        let scale =
            Scale { time_ns: bound_ns, clock_ns: self.clock_ns, repetitions: self.repetitions };
        let margin = match of_user {
            of_user if self.is_exact() => of_user.unwrap_or(EXACT_MARGIN),
            of_user => margin(of_user.unwrap_or(MARGIN), scale),
        };
        let found = self.difference(margin);
        let [p, p_slower] = found.map_or([1.0; 2], |(.., p)| p);
        let verdict = found.map(|(low, high, _)| Verdict::of(low, high, margin));
        Some(Compared {
            time_ns,
            bound_ns,
            interval: found.map(|(low, high, _)| [low.exp(), high.exp()]),
            margin,
            n_launches: self.ranges_ns.len(),
            verdict: verdict.unwrap_or(Verdict::Inconclusive),
            p,
            p_slower,
        })
    }

    /// Logarithms of the ends of the interval, and the probabilities of such a ratio by chance beyond the
    /// `margin`, and above it.
    fn difference(&self, margin: f64) -> Option<(f64, f64, [f64; 2])> {
        if self.is_exact() {
            let [bound, left] = self.ranges_ns.first()?;
            let round = |log_ratio: f64| if log_ratio.abs() < ROUNDING { 0.0 } else { log_ratio };
            let ends = [left[0] / bound[1], left[1] / bound[0]].map(|ratio| round(ratio.ln()));
            let verdict = Verdict::of(ends[0], ends[1], margin);
            let p = [verdict.is_change(), verdict == Verdict::Slower].map(|is| f64::from(!is));
            return Some((ends[0], ends[1], p));
        }
        let of =
            |found: Difference| (found.low, found.high, [found.p(margin), found.p_slower(margin)]);
        self.launches.difference().map(of)
    }

    /// True for simulated times that are the same in all launches.
    fn is_exact(&self) -> bool {
        self.are_virtual && self.ranges_ns.iter().all(|ranges| *ranges == self.ranges_ns[0])
    }
}
