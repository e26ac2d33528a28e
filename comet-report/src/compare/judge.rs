//! One row for each point: how it differs, and what that says; and one for each kernel over all of
//! its points.
//!
//! A point has changed if its interval is beyond the margin, if that is no chance among so many
//! points, and if its fast samples have changed too; otherwise the row says why it has not.

use comet_stats::compare::{
    Combined, Difference, FALSE_SHARE, Launches, MARGIN, Method, Scale, Verdict, adjusted, margin,
};
use comet_stats::median;
use serde::Serialize;

use super::Options;
use super::evidence::{Evidence, start};
use crate::record::Params;
use crate::words;

/// Comparison of one point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PointRow {
    /// Key of the point.
    pub key: String,
    /// Suite, kernel and series.
    pub kernel: String,
    /// Its parameters.
    pub params: Params,
    /// Start of the ranks, in words.
    pub start: Option<&'static str>,
    /// True if a larger value is a better one.
    pub higher_is_better: bool,
    /// Launches of the base that count.
    pub n_base: usize,
    /// New launches that count.
    pub n_new: usize,
    /// Launches of both sides that repeat the seed of another, and count as one with it.
    pub n_repeated: usize,
    /// Launches of both sides that were left out, because a cache line takes another time in them.
    pub n_moved: usize,
    /// Median time of a cache line in the launches that count, in nanoseconds; `null` on transports
    /// that do not report it, and where the sides have no line time in common.
    pub line_ns: Option<f64>,
    /// The shortest and the longest time of a cache line in any launch, in nanoseconds, where some
    /// were left out.
    pub lines_ns: Option<[f64; 2]>,
    /// Time in the base: geometric mean over the launches, and from eight on each side on without the
    /// fastest and the slowest fifth of them.
    pub base_ns: f64,
    /// Time in the new launches, likewise; of pairs that of the base times the ratio.
    pub new_ns: f64,
    /// New over base, of pairs such a mean of their ratios; `null` where the sides have no line time
    /// in common.
    pub ratio: Option<f64>,
    /// Lower end of the 95 % interval of the ratio; `null` where launches tell none.
    pub low: Option<f64>,
    /// Upper end of that interval.
    pub high: Option<f64>,
    /// Method of the difference: `welch`, `paired`, `exact`, or `samples`.
    pub method: Option<&'static str>,
    /// Probability of such a difference by chance if the true one is just the margin.
    pub p: Option<f64>,
    /// That among all points: adjusted by Benjamini and Hochberg.
    pub q: Option<f64>,
    /// Probability of such a difference by chance if there is none.
    #[serde(skip)]
    pub(super) p_unchanged: Option<f64>,
    /// The difference in standard deviations from launch to launch.
    pub effect: Option<f64>,
    /// Ratio of the 10th percentiles; `null` for imported points, which have none.
    pub fast_ratio: Option<f64>,
    /// Changes below this share are of no interest here.
    pub margin: f64,
    /// The smallest change, as a share, that such launches show in four of five comparisons.
    pub smallest_detectable: Option<f64>,
    /// Verdict on the point.
    #[serde(serialize_with = "super::name")]
    pub verdict: Verdict,
    /// Reason of a verdict that is inconclusive, or of a change that is near the margin.
    pub why: Option<String>,
    /// Verdict of fresh launches on the change.
    pub confirmation: Option<Confirmation>,
}

/// Verdict of fresh launches on a change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Confirmation {
    /// New over base.
    pub ratio: f64,
    /// Their verdict.
    #[serde(serialize_with = "super::name")]
    pub verdict: Verdict,
}

/// The rows of all points, and their launches; no change is decided if a side `is_hasty`.
pub(super) fn rows(
    gathered: &[Evidence<'_>],
    options: &Options,
    is_hasty: bool,
) -> (Vec<PointRow>, Vec<Launches>) {
    let launches: Vec<Launches> = gathered.iter().map(Evidence::launches).collect();
    let of_each = gathered.iter().zip(&launches);
    let mut rows: Vec<PointRow> =
        of_each.map(|(of, launches)| row(of, launches, options)).collect();
    doubt_chance(&mut rows);
    rows.iter_mut().for_each(PointRow::doubt_tail);
    let is_told = |row: &&mut PointRow| row.verdict.is_change() || row.verdict == Verdict::Changed;
    for row in rows.iter_mut().filter(|row| is_hasty && is_told(row)) {
        row.doubt(
            "a side is one run of less than a minute, and machines change in minutes (measure \
             several runs, or one with --over 5min, or use ab)"
                .into(),
        );
    }
    (rows, launches)
}

fn row(evidence: &Evidence<'_>, launches: &Launches, options: &Options) -> PointRow {
    let point = evidence.point();
    let found = difference(evidence, launches, options);
    let [base_ns, new_ns] = launches.means().map_or([f64::NAN; 2], |means| means.map(f64::exp));
    let margin = margin_of(evidence, base_ns, found, options);
    let fast = evidence.fast().and_then(|fast| fast.log_ratio());
    let deviation = launches.deviation().filter(|deviation| *deviation > 0.0);
    let higher_is_better = point.value().is_some_and(|value| value.better == "higher");
    let mut row = PointRow {
        key: point.key.clone(),
        kernel: words::kernel(&point.suite, &point.kernel, point.variant.as_deref()),
        params: point.params.clone(),
        start: start(point),
        higher_is_better,
        n_base: launches.base.len(),
        n_new: launches.new.len(),
        n_repeated: evidence.n_repeated,
        n_moved: evidence.n_moved,
        line_ns: evidence.line_ns().filter(|_| !evidence.is_apart),
        lines_ns: evidence.lines_ns,
        base_ns,
        new_ns,
        ratio: (!evidence.is_apart)
            .then(|| found.map_or(new_ns / base_ns, |found| found.log_ratio.exp())),
        low: found.map(|found| found.low.exp()),
        high: found.map(|found| found.high.exp()),
        method: found.map(|found| found.method.name()),
        p: found.map(|found| found.p(margin)),
        q: None,
        p_unchanged: found.map(|found| found.p(0.0)),
        effect: found.zip(deviation).map(|(found, deviation)| found.log_ratio / deviation),
        fast_ratio: fast.map(f64::exp),
        margin,
        smallest_detectable: found.map(|found| found.smallest_detectable(margin)),
        verdict: Verdict::Inconclusive,
        why: None,
        confirmation: None,
    };
    row.judge(found, options.line_of(point));
    if found.is_none() && evidence.is_imported() {
        row.doubt(
            "a table of another program has no samples, and equal ones count once (import five outputs of \
             each side)"
                .into(),
        );
    } else if found.is_none() && options.allows_single && row.n_repeated + row.n_moved == 0 {
        row.doubt("single launches without samples tell nothing (measure more)".into());
    }
    row
}

/// Difference of the sides; `None` if there are too few launches, or none of one line time.
fn difference(
    evidence: &Evidence<'_>,
    launches: &Launches,
    options: &Options,
) -> Option<Difference> {
    if evidence.is_apart {
        return None;
    }
    if let Some(log_ratio) = evidence.exact_log_ratio() {
        return Some(Difference::exact(log_ratio));
    }
    let of_samples = || {
        let error = evidence.error_of_samples().filter(|_| options.allows_single)?;
        Some(Difference::of_samples(launches.log_ratio()?, error))
    };
    let found = launches.difference().or_else(of_samples);
    found.map(|found| found.no_narrower(evidence.rounding()))
}

/// The margin of a point: 0 where times do not vary, unless the user says otherwise.
fn margin_of(
    evidence: &Evidence<'_>,
    time_ns: f64,
    found: Option<Difference>,
    options: &Options,
) -> f64 {
    if found.is_some_and(|found| found.method == Method::Exact) {
        return options.margin.unwrap_or(0.0);
    }
    let scale =
        Scale { time_ns, clock_ns: evidence.clock_ns(), repetitions: evidence.repetitions() };
    margin(options.margin.unwrap_or(MARGIN), scale)
}

/// Adjusts the p values to each other, and takes back changes that are chance among the points.
fn doubt_chance(rows: &mut [PointRow]) {
    let p: Vec<f64> = rows.iter().filter_map(|row| row.p).collect();
    let n_points = p.len();
    for (row, q) in rows.iter_mut().filter(|row| row.p.is_some()).zip(adjusted(&p)) {
        row.q = Some(q);
        if row.verdict.is_change() && q > FALSE_SHARE {
            row.doubt(format!("may be chance among {n_points} points (q = {q:.3})"));
        }
    }
    let p: Vec<f64> = rows.iter().filter_map(|row| row.p_unchanged).collect();
    let known = rows.iter_mut().filter(|row| row.p_unchanged.is_some());
    for (row, q) in known.zip(adjusted(&p)) {
        if row.verdict == Verdict::Changed && q > FALSE_SHARE {
            row.verdict = Verdict::Inconclusive;
        }
    }
}

impl PointRow {
    /// The verdict of the interval alone, of launches at the line time `at` if that is given.
    fn judge(&mut self, found: Option<Difference>, at: Option<f64>) {
        let Some(found) = found else { return self.doubt(self.refusal(at)) };
        let verdict = found.verdict(self.margin);
        self.verdict = if self.higher_is_better { verdict.reversed() } else { verdict };
        if self.verdict == Verdict::Inconclusive {
            let percent = 100.0 * found.smallest_detectable(self.margin);
            self.why = Some(format!("smallest detectable change: {percent:.0} %"));
            let is_certain = found.method != Method::Samples && found.p(0.0) < FALSE_SHARE;
            self.verdict = if is_certain { Verdict::Changed } else { self.verdict };
        }
    }

    /// The reason why these launches have no difference.
    fn refusal(&self, at: Option<f64>) -> String {
        let lines = self.lines_ns.map_or(String::new(), |[low, high]| {
            format!("a cache line takes {low:.0} to {high:.0} ns between ranks 0 and 1")
        });
        match (self.n_moved, self.n_repeated) {
            _ if self.ratio.is_none() => match at {
                Some(at) => {
                    format!("{lines}, and {at:.0} ns in no launch of one side (measure again)")
                }
                None => format!("{lines}, and no time is common to both sides (measure again)"),
            },
            (1.., _) => {
                format!("{lines}, and too few launches of one time are left (measure more)")
            }
            (_, 1..) => "cannot compare single seeds (give each launch its own with --seed)".into(),
            _ => "cannot compare single launches (measure more, or --allow-single)".into(),
        }
    }

    /// Takes back that a point is slower whose fast samples agree: others were slow for another reason.
    fn doubt_tail(&mut self) {
        let Some(ratio) = self.fast_ratio.filter(|_| self.verdict == Verdict::Slower) else {
            return;
        };
        if ratio.ln().abs() <= self.margin.ln_1p() {
            self.doubt(format!("the fast samples agree (ratio {ratio:.3})"));
        }
    }

    /// Takes back a change that `again`, the same point in other launches, does not show.
    pub(super) fn confirm(&mut self, again: Option<&PointRow>) {
        let Some(again) = again else { return self.doubt("was not measured again".into()) };
        let PointRow { verdict, .. } = *again;
        let Some(ratio) = again.ratio else {
            let why = again.why.as_deref().unwrap_or_default();
            return self.doubt(format!("was {} once; then {why}", self.verdict.name()));
        };
        self.confirmation = Some(Confirmation { ratio, verdict });
        if verdict != self.verdict {
            let was = self.verdict.name();
            self.doubt(format!("was {was} once, and {} again (ratio {ratio:.3})", verdict.name()));
        }
    }

    fn doubt(&mut self, why: String) {
        self.verdict = Verdict::Inconclusive;
        self.why = Some(why);
    }
}

/// All points of one series of a kernel together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelRow {
    /// Suite, kernel and series.
    pub kernel: String,
    /// Number of points that were compared.
    pub n_points: usize,
    /// Median over the points of the ratio of times, new over base.
    pub ratio: f64,
    /// Lower end of its 95 % interval, by drawing launches anew; `null` below two launches a side.
    pub low: Option<f64>,
    /// Upper end of that interval.
    pub high: Option<f64>,
    /// Verdict on the kernel as a whole.
    #[serde(serialize_with = "super::name")]
    pub verdict: Verdict,
    /// The ratio of the point that lost most.
    pub worst_ratio: f64,
    /// The parameters of that point.
    pub worst_at: String,
}

/// The kernels of `points`, in their order; `launches` are those of the points.
pub(super) fn kernels(points: &[PointRow], launches: &[Launches]) -> Vec<KernelRow> {
    let mut names: Vec<&str> = Vec::new();
    for point in points {
        if !names.contains(&&*point.kernel) {
            names.push(&point.kernel);
        }
    }
    let of_kernel = |name: &&str| {
        let all = points.iter().zip(launches).filter(|(point, _)| point.kernel == *name);
        // Of sides without a common line time nothing is known.
        kernel(&all.filter(|(point, _)| point.ratio.is_some()).collect::<Vec<_>>())
    };
    names.iter().filter_map(of_kernel).collect()
}

fn kernel(points: &[(&PointRow, &Launches)]) -> Option<KernelRow> {
    // One point speaks for itself.
    if let [(point, _)] = points {
        return Some(KernelRow {
            kernel: point.kernel.clone(),
            n_points: 1,
            ratio: point.ratio?,
            low: point.low,
            high: point.high,
            verdict: point.verdict,
            worst_ratio: point.ratio?,
            worst_at: point.params.to_string(),
        });
    }
    let combined = combined(points)?;
    let margins: Vec<f64> = points.iter().map(|(point, _)| point.margin).collect();
    let loss = |point: &PointRow| {
        let ratio = point.ratio.unwrap_or(1.0);
        if point.higher_is_better { -ratio } else { ratio }
    };
    let worst = points.iter().map(|(point, _)| *point);
    let worst = worst.max_by(|a, b| loss(a).total_cmp(&loss(b)))?;
    let verdict = combined.verdict(median(&margins)?);
    Some(KernelRow {
        kernel: worst.kernel.clone(),
        n_points: points.len(),
        ratio: combined.log_ratio.exp(),
        low: combined.interval.map(|(low, _)| low.exp()),
        high: combined.interval.map(|(_, high)| high.exp()),
        verdict: if worst.higher_is_better { verdict.reversed() } else { verdict },
        worst_ratio: worst.ratio?,
        worst_at: worst.params.to_string(),
    })
}

/// The number over all points; where none of them varies, it does not either.
fn combined(points: &[(&PointRow, &Launches)]) -> Option<Combined> {
    if points.iter().all(|(point, _)| point.method == Some("exact")) {
        let log_ratios: Vec<f64> =
            points.iter().filter_map(|(point, _)| point.ratio).map(f64::ln).collect();
        let log_ratio = median(&log_ratios)?;
        return Some(Combined { log_ratio, interval: Some((log_ratio, log_ratio)) });
    }
    Combined::of(&points.iter().map(|(_, launches)| *launches).collect::<Vec<_>>())
}
