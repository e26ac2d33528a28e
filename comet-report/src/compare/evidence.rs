//! The points of both sides by their key, with one value for each launch.

use std::collections::{BTreeSet, HashMap, HashSet};

use comet_stats::compare::Launches;

use super::admission::{Admitted, admit};
use super::{Options, failures};
use crate::import::ROWS_SHA256;
use crate::places::line_of;
use crate::record::{Clock, Point, Run, Transport};
use crate::runs::RunRecords;

/// Times that differ by less than this share differ by rounding.
const ROUNDING: f64 = 1e-9;

/// Values of all launches for one point.
pub(super) struct Evidence<'a> {
    pub(super) base: Vec<Launch<'a>>,
    pub(super) new: Vec<Launch<'a>>,
    is_paired: bool,
    /// Launches that repeat the seed of another, and count as one with it.
    pub(super) n_repeated: usize,
    /// Launches that were left out, because their cache line takes another time.
    pub(super) n_moved: usize,
    /// The shortest and the longest of these times, where launches were left out.
    pub(super) lines_ns: Option<[f64; 2]>,
    /// True if no line time is common to both sides; all launches stand here then.
    pub(super) is_apart: bool,
}

/// Value of one launch for a point.
#[derive(Clone, Copy)]
pub(super) struct Launch<'a> {
    pub(super) point: &'a Point,
    /// The figure to quote, above 0.
    pub(super) quoted_ns: f64,
    run: Option<&'a Run>,
}

/// The points that both sides measured and none failed, in the order of the base.
pub(super) fn gather<'a>(
    base: &'a [RunRecords],
    new: &'a [RunRecords],
    options: &Options,
) -> Vec<Evidence<'a>> {
    let (mut of_base, of_new) = (by_key(base), by_key(new));
    let failed = failures::failed_cases(base.iter().chain(new));
    let is_wanted = |point: &Point| {
        let changes = options.changes.as_ref();
        changes.is_none_or(|changes| changes.contains_key(&point.key))
            && !failed.contains(&failures::case(point))
    };
    let mut found = Vec::new();
    for key in keys_in_order(base) {
        let (Some(base), Some(new)) = (of_base.remove(&key), of_new.get(&key)) else { continue };
        if is_wanted(base[0].point) {
            found.push(Evidence::of(&base, new, options));
        }
    }
    found
}

/// Identity of a point in a comparison: its key, and the start of its ranks, because times of two
/// ways of starting are never put together.
pub(super) type Identity<'a> = (&'a str, Option<&'static str>);

/// The identity of `point`.
pub(super) fn identity(point: &Point) -> Identity<'_> {
    (&point.key, start(point))
}

/// Start of the ranks of `point` in words, if it was measured.
pub(super) fn start(point: &Point) -> Option<&'static str> {
    Some(point.measured()?.plan.sync.words())
}

/// The figure to quote of `point`, if it was measured, and its data was right.
pub(super) fn quoted_ns(point: &Point) -> Option<f64> {
    point.quoted_ns().filter(|quoted_ns| *quoted_ns > 0.0)
}

/// The launches that measured each point, by their start; the first of equal keys of one launch.
fn by_key(runs: &[RunRecords]) -> HashMap<Identity<'_>, Vec<Launch<'_>>> {
    let mut found: HashMap<Identity<'_>, Vec<Launch<'_>>> = HashMap::new();
    let mut runs: Vec<&RunRecords> = runs.iter().collect();
    runs.sort_by_key(|records| records.run.as_ref().map(|run| run.started_at.as_str()));
    for records in runs {
        let mut seen = BTreeSet::new();
        for point in &records.points {
            let Some(quoted_ns) = quoted_ns(point) else { continue };
            if seen.insert(&point.key) {
                let launch = Launch { point, quoted_ns, run: records.run.as_deref() };
                found.entry(identity(point)).or_default().push(launch);
            }
        }
    }
    found
}

/// Keys of all points of `runs`, each once, in their order.
fn keys_in_order(runs: &[RunRecords]) -> Vec<Identity<'_>> {
    let mut seen = HashSet::new();
    let keys = runs.iter().flat_map(|records| &records.points).map(identity);
    keys.filter(|key| seen.insert(*key)).collect()
}

/// True if launches of both sides took turns (A B B A): slow changes are alike in each pair.
fn alternate(base: &[Launch<'_>], new: &[Launch<'_>]) -> bool {
    let started = |launch: &Launch<'_>| launch.run.map_or("", |run| &run.started_at).to_owned();
    let of_base = base.iter().map(|launch| (started(launch), false));
    let mut all: Vec<(String, bool)> =
        of_base.chain(new.iter().map(|launch| (started(launch), true))).collect();
    all.sort();
    // An import may not know its start.
    let are_told_apart = !all[0].0.is_empty() && all.windows(2).all(|pair| pair[0].0 != pair[1].0);
    let take_turns = all.chunks(2).all(|pair| pair.len() == 2 && pair[0].1 != pair[1].1);
    are_told_apart && take_turns && base.len() > 1
}

impl<'a> Evidence<'a> {
    fn of(base: &[Launch<'a>], new: &[Launch<'a>], options: &Options) -> Self {
        let admitted = admit(base, new, options.line_of(base[0].point));
        let Admitted { n_repeated, n_moved, lines_ns, .. } = admitted;
        // Of pairs that lost one, all that is left counts more than the few that are whole.
        let is_paired = n_moved == 0 && (options.is_paired || alternate(base, new));
        let is_apart = admitted.base.is_empty() || admitted.new.is_empty();
        let [base, new] = match is_apart {
            true => [base.to_vec(), new.to_vec()],
            false => [admitted.base, admitted.new],
        };
        Self { base, new, is_paired, n_repeated, n_moved, lines_ns, is_apart }
    }

    /// A point that stands for all of them: they differ in their numbers only.
    pub(super) fn point(&self) -> &'a Point {
        self.base[0].point
    }

    /// The median time of a cache line in its launches, in nanoseconds, where a transport reports it.
    pub(super) fn line_ns(&self) -> Option<f64> {
        let lines = self.all().filter_map(Launch::line_ns);
        comet_stats::median(&lines.map(|[from, to]| f64::midpoint(from, to)).collect::<Vec<_>>())
    }

    /// The logarithms of the figures to quote.
    pub(super) fn launches(&self) -> Launches {
        self.logarithms(|launch| Some(launch.quoted_ns)).unwrap_or_default()
    }

    /// The logarithms of the 10th percentiles; `None` if a launch has none, as an imported one. A
    /// least value may be of the moment in which the host had moved a core.
    pub(super) fn fast(&self) -> Option<Launches> {
        self.logarithms(|launch| launch.point.time_ns()?.p10.filter(|fast_ns| *fast_ns > 0.0))
    }

    /// Standard error of both mean logarithms by the intervals of the samples, where all have one.
    pub(super) fn error_of_samples(&self) -> Option<f64> {
        let of_side = |side: &[Launch<'_>]| -> Option<f64> {
            let squares: Option<Vec<f64>> = side.iter().map(square_of_samples).collect();
            let n = side.len() as f64;
            Some(squares?.iter().sum::<f64>() / (n * n))
        };
        Some((of_side(&self.base)? + of_side(&self.new)?).sqrt())
    }

    /// The difference of times that do not vary, as of a simulation; `None` if they do.
    pub(super) fn exact_log_ratio(&self) -> Option<f64> {
        let of_side = |side: &[Launch<'_>]| {
            let first_ns = side[0].quoted_ns;
            let is_equal = |launch: &Launch<'_>| launch.is_exact() && launch.quoted_ns == first_ns;
            side.iter().all(is_equal).then_some(first_ns)
        };
        let log_ratio = (of_side(&self.new)? / of_side(&self.base)?).ln();
        Some(if log_ratio.abs() < ROUNDING { 0.0 } else { log_ratio })
    }

    /// The share by which the printed digits of both sides may be beside their ratio.
    pub(super) fn rounding(&self) -> f64 {
        let of_side = |side: &[Launch<'_>]| {
            side.iter().map(Launch::rounding).sum::<f64>() / side.len().max(1) as f64
        };
        of_side(&self.base) + of_side(&self.new)
    }

    /// True if a launch comes from the text of another program.
    pub(super) fn is_imported(&self) -> bool {
        self.all().any(|launch| launch.point.measured().is_none())
    }

    /// The most that one reading of the clock cost in any launch, in nanoseconds.
    pub(super) fn clock_ns(&self) -> f64 {
        let clocks = self.all().filter_map(|launch| launch.clock());
        clocks.filter_map(|clock| clock.overhead_ns).fold(0.0, f64::max)
    }

    /// The fewest operations between two readings in any launch.
    pub(super) fn repetitions(&self) -> u32 {
        let inner = self.all().filter_map(|launch| Some(launch.point.measured()?.reps.inner));
        inner.min().unwrap_or(1)
    }

    fn all(&self) -> impl Iterator<Item = &Launch<'a>> {
        self.base.iter().chain(&self.new)
    }

    fn logarithms(&self, value: impl Fn(&Launch<'_>) -> Option<f64>) -> Option<Launches> {
        let of_side = |side: &[Launch<'_>]| -> Option<Vec<f64>> {
            side.iter().map(|launch| value(launch).map(f64::ln)).collect()
        };
        let (base, new) = (of_side(&self.base)?, of_side(&self.new)?);
        Some(Launches { base, new, is_paired: self.is_paired })
    }
}

impl<'a> Launch<'a> {
    /// The machine with the seed of its noise, if the launch was simulated.
    pub(super) fn seed(&self) -> Option<(&'a Transport, u64)> {
        let run = self.run.filter(|run| run.clock.is_virtual)?;
        Some((&run.transport, run.seed?))
    }

    /// The digest of its numbers, if it was imported.
    pub(super) fn text(&self) -> Option<&'a str> {
        self.run?.config.get(ROWS_SHA256)?.as_str()
    }

    /// The share by which the printed digits of an import may be beside its figure.
    fn rounding(&self) -> f64 {
        let rounding_ns = self.point.numbers().and_then(|of| of.rounding_ns);
        rounding_ns.unwrap_or(0.0) / self.quoted_ns
    }

    /// The shortest and the longest time of a cache line around the point, in nanoseconds; `None`
    /// where the transport does not report it.
    pub(super) fn line_ns(&self) -> Option<[f64; 2]> {
        line_of(self.point, self.run)
    }

    /// The clock that its times come from.
    fn clock(&self) -> Option<&'a Clock> {
        self.run.map(|run| &run.clock)
    }

    /// True if it was simulated, and all of its samples are the same.
    fn is_exact(&self) -> bool {
        let is_virtual = self.clock().is_some_and(|clock| clock.is_virtual);
        is_virtual && self.point.time_ns().is_some_and(|time_ns| time_ns.min == time_ns.max)
    }
}

/// The square of the standard error of the logarithm of a launch, by the interval of its samples.
fn square_of_samples(launch: &Launch<'_>) -> Option<f64> {
    // Half of a 95 % interval of the normal distribution.
    const HALF_WIDTH: f64 = 1.959_963_985;
    let interval = launch.point.quality()?.interval_ns.as_ref()?;
    let width = (interval.low > 0.0).then(|| (interval.high / interval.low).ln())?;
    Some((width / 2.0 / HALF_WIDTH).powi(2))
}
