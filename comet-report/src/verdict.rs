//! Verdict on a run: one word for the use that can be made of its numbers, and the reason.
//!
//! ```text
//!   quotable     at most a tenth of the points is doubtful
//!   indicative   more of them are; ranks shared CPUs; a quick look, a single launch, an early end,
//!                or cases that could not be run
//!   not usable   more than half are; data arrived wrong, or nothing was measured
//! ```
//!
//! A point is doubtful if its interval is wider than wanted (5 %, or `--target`), if the machine
//! changed its speed meanwhile, or if ranks were preempted in more than a tenth of its slices.

use crate::environment::{Apart, Disturbances, Warning, disturbed, sharing};
use crate::format::{has_changed, misses_target};
use crate::record::{EndStatus, Measured, Point, PointCounts, PointStatus, Run, Verdict, Word};
use crate::runs::RunRecords;
use crate::words::count;

/// Half of the width of an interval, relative to its figure, that a run without a target wants.
const WANTED: f64 = 0.05;
/// Share of doubtful points above which a run is not quotable, and that above which it is not
/// usable.
const MAX_DOUBTFUL: [f64; 2] = [0.1, 0.5];

/// The verdict on `run`; `None` if it is imported.
pub fn verdict(run: &RunRecords) -> Option<Verdict> {
    let tally = Tally::over(run.run.as_deref(), &run.points);
    let end = run.end.as_ref();
    let status = end.map_or(EndStatus::Failed, |end| end.status);
    tally.verdict(status, end.and_then(|end| end.reason.as_deref()))
}

/// Counts of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    is_imported: bool,
    is_virtual: bool,
    has_target: bool,
    /// Reasons that hold for all points.
    of_all: Vec<String>,
    pub(crate) counts: PointCounts,
    disturbances: Disturbances,
    apart: Apart,
    n_single: usize,
    n_wide: usize,
    n_unsteady: usize,
    n_preempted: usize,
    n_doubtful: usize,
}

impl Tally {
    /// That of `run` before its first point.
    pub(crate) fn of(run: Option<&Run>) -> Self {
        let Some(run) = run else { return Self::default() };
        let shared = sharing(&run.world.ranks).map(|(n_ranks, n_cpus)| {
            format!("{} shared {}", count(n_ranks, "rank"), count(n_cpus, "CPU"))
        });
        let is_quick = run.config.get("profile").is_some_and(|profile| profile == "quick");
        let quick = is_quick.then(|| "a quick look, with few samples".into());
        Self {
            is_imported: run.config.contains_key("imported_from"),
            is_virtual: run.clock.is_virtual,
            of_all: shared.into_iter().chain(quick.filter(|_| !run.clock.is_virtual)).collect(),
            ..Self::default()
        }
    }

    /// That of `run` with all of its `points`.
    pub(crate) fn over(run: Option<&Run>, points: &[Point]) -> Self {
        let mut tally = Self::of(run);
        points.iter().for_each(|point| tally.add(point));
        tally
    }

    /// Counts `point`.
    pub(crate) fn add(&mut self, point: &Point) {
        self.counts.add(point.status());
        let Some(measured) = point.measured().filter(|_| point.status() == PointStatus::Ok) else {
            return;
        };
        let quality = measured.quality.as_ref();
        let own = quality.map(|quality| Disturbances::of(quality, measured.reps.rounds));
        let own = own.unwrap_or_default();
        self.disturbances = self.disturbances.plus(own);
        self.apart.add(point);
        let is =
            [self.is_wide(point, measured), quality.is_some_and(has_changed), own.has_preemption()];
        self.n_single += usize::from(point.launches.is_none());
        self.n_wide += usize::from(is[0]);
        self.n_unsteady += usize::from(is[1]);
        self.n_preempted += usize::from(is[2]);
        self.n_doubtful += usize::from(is.contains(&true));
    }

    /// Warnings about what the system did to the ranks, and about their starts.
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        disturbed(&self.disturbances).into_iter().chain(self.apart.warning()).collect()
    }

    /// True if the interval of `point` is wider than wanted, or is not known where times vary.
    fn is_wide(&mut self, point: &Point, measured: &Measured) -> bool {
        if measured.quality.as_ref().is_some_and(|quality| quality.converged.is_some()) {
            self.has_target = true;
            return misses_target(point);
        }
        let time_ns = &measured.numbers.time_ns;
        // Of a simulation without an interval all times are as near to each other.
        let of_all = || self.is_virtual.then_some([time_ns.min, time_ns.max]);
        let range_ns = point.interval_ns().or_else(of_all);
        let is_known = |([low_ns, high_ns], quoted_ns): ([f64; 2], f64)| {
            (high_ns - low_ns) / 2.0 <= WANTED * quoted_ns
        };
        !range_ns.zip(point.quoted_ns()).is_some_and(is_known)
    }

    /// The verdict on a run that ended in this way; `None` if it is imported.
    pub(crate) fn verdict(&self, status: EndStatus, reason: Option<&str>) -> Option<Verdict> {
        if self.is_imported {
            return None;
        }
        let PointCounts { ok, check_failed, failed, .. } = self.counts;
        let of = |n: usize, words: &str| (n > 0).then(|| format!("{} {words}", count(n, "case")));
        let fatal = of(check_failed, "with wrong data")
            .or((ok == 0).then(|| "nothing was measured".into()));
        let share = self.n_doubtful as f64 / ok.max(1) as f64;
        let doubt = (share > MAX_DOUBTFUL[0]).then(|| self.main_doubt());
        let early = match (status, reason) {
            (EndStatus::Complete, _) => None,
            (_, None) => Some("no end".into()),
            (_, Some(reason)) => Some(format!("an early end ({reason})")),
        };
        let is_single = self.n_single > 0 && !self.is_virtual;
        let single = is_single.then(|| "a single launch, from which others differ".into());
        let minor = [early, of(failed, "that could not be run"), single].into_iter().flatten();
        let is_fatal = fatal.is_some() || share > MAX_DOUBTFUL[1];
        let doubts = fatal.into_iter().chain(self.of_all.clone()).chain(doubt).chain(minor);
        let doubts: Vec<String> = doubts.collect();
        let (word, reason) = match (is_fatal, doubts.is_empty()) {
            (true, _) => (Word::NotUsable, doubts.join("; ")),
            (false, false) => (Word::Indicative, doubts.join("; ")),
            (false, true) => (Word::Quotable, self.praise()),
        };
        Some(Verdict { word, reason })
    }

    /// The reason that most of the doubtful points share.
    fn main_doubt(&self) -> String {
        let wide = if self.has_target { "short of --target" } else { "not known to 5 %" };
        let kinds =
            [(self.n_preempted, "preempted"), (self.n_unsteady, "unsteady"), (self.n_wide, wide)];
        let (n, words) = kinds.into_iter().max_by_key(|(n, _)| *n).unwrap_or_default();
        let takes_launches = words == wide && !self.is_virtual;
        let remedy = if takes_launches { " (add launches: --over 5min)" } else { "" };
        let ok = self.counts.ok;
        if n == self.n_doubtful {
            return format!("{n} of {ok} points {words}{remedy}");
        }
        format!("{} of {ok} points doubtful, {n} of them {words}{remedy}", self.n_doubtful)
    }

    fn praise(&self) -> String {
        let known = if self.has_target { "within --target" } else { "known to 5 %" };
        let n = self.counts.ok - self.n_doubtful;
        format!("{n} of {} points {known}, and undisturbed", self.counts.ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::record::{Interval, Launches, Quality, Record};
    use crate::runs::split;
    use comet_core::definition::Definition;

    /// A run of ten points, whose figures are of several launches, and known to `half_width`.
    fn run(half_width: f64) -> RunRecords {
        let mut run = split(fixture::records()).remove(0);
        let is_measured = |point: &&Point| point.numbers().is_some();
        let point = run.points.iter().find(is_measured).unwrap().clone();
        run.points = vec![point; 10];
        for point in &mut run.points {
            let quoted_ns = point.quoted_ns().unwrap();
            point.launches = Some(Launches {
                quoted_ns: vec![quoted_ns; 3],
                slices: vec![1; 3],
                period_s: 1.0,
                variance_between: 0.0,
                variance_within: None,
                speeds: Vec::new(),
            });
            let quality = point.measured_mut().unwrap().quality.as_mut().unwrap();
            let [low, high] = [1.0 - half_width, 1.0 + half_width].map(|of| of * quoted_ns);
            let method = "student".into();
            quality.interval_ns = Some(Interval { low, high, level: 0.95, method });
            (quality.converged, quality.cores_moved) = (None, Some(false));
        }
        run
    }

    #[track_caller]
    fn check(run: &RunRecords, word: Word, reason: &str) {
        let found = verdict(run).unwrap();
        assert_eq!((found.word, &*found.reason), (word, reason));
    }

    #[test]
    fn a_tenth_of_the_points_may_be_doubtful_and_half_of_them_are_too_many() {
        let quality = |run: &mut RunRecords, index: usize, change: fn(&mut Quality)| {
            change(run.points[index].measured_mut().unwrap().quality.as_mut().unwrap());
        };
        let mut of = run(0.049);
        check(&of, Word::Quotable, "10 of 10 points known to 5 %, and undisturbed");
        quality(&mut of, 0, |quality| quality.drifts = Some(true));
        check(&of, Word::Quotable, "9 of 10 points known to 5 %, and undisturbed");
        quality(&mut of, 1, |quality| quality.converged = Some(false));
        quality(&mut of, 2, |quality| quality.converged = Some(false));
        check(
            &of,
            Word::Indicative,
            "3 of 10 points doubtful, 2 of them short of --target (add launches: --over 5min)",
        );
        (3..6).for_each(|index| quality(&mut of, index, |quality| quality.is_bimodal = true));
        check(&of, Word::NotUsable, "6 of 10 points doubtful, 4 of them unsteady");
        check(
            &run(0.06),
            Word::NotUsable,
            "10 of 10 points not known to 5 % (add launches: --over 5min)",
        );
        let mut preempted = run(0.01);
        (0..3).for_each(|index| {
            quality(&mut preempted, index, |quality| quality.disturbed_slices = Some(1));
        });
        check(&preempted, Word::Indicative, "3 of 10 points preempted");
    }

    #[test]
    fn ranks_that_start_apart_are_told_of_once_for_all_points() {
        let mut of = run(0.01);
        let told = |of: &RunRecords| {
            let found = Tally::over(of.run.as_deref(), &of.points).warnings();
            found.into_iter().map(|warning| warning.message).collect::<Vec<_>>()
        };
        for (index, share) in [(0, 0.05), (1, 0.2), (2, 0.1)] {
            let measured = of.points[index].measured_mut().unwrap();
            measured.numbers.value.definition = Definition::Completion.name().into();
            let mut skew = measured.numbers.time_ns.clone();
            skew.median *= share;
            measured.reps.inner = 1;
            measured.quality.as_mut().unwrap().start_skew_ns = Some(skew);
        }
        let [warning] = &told(&of)[..] else { panic!("{:?}", told(&of)) };
        let start = "ranks start apart by more than 5 % of the time in 2 points, the most by ";
        assert!(warning.starts_with(start), "{warning}");
        let place = format!("(20 %) in {} {}", of.points[1].id(), of.points[1].params);
        assert!(warning.ends_with(&place), "{warning}");
        of.points[1].measured_mut().unwrap().plan.skew_ns = Some(100);
        assert!(told(&of)[0].contains("in 1 point, the most"), "late on purpose");
        let measured = of.points[2].measured_mut().unwrap();
        measured.numbers.value.definition = Definition::TestNode.name().into();
        assert_eq!(told(&of), Vec::<String>::new());
    }

    #[test]
    fn conditions_of_all_points_are_doubts_too() {
        let mut of = run(0.01);
        let facts = of.run.as_mut().unwrap();
        facts.world.ranks.iter_mut().for_each(|entry| entry.cpus = Some("0".into()));
        check(&of, Word::Indicative, "2 ranks shared 1 CPU");
        let facts = of.run.as_mut().unwrap();
        facts.config.insert("profile".into(), "quick".into());
        check(&of, Word::Indicative, "2 ranks shared 1 CPU; a quick look, with few samples");
        facts_of(&mut of).config.insert("imported_from".into(), "osu".into());
        assert_eq!(verdict(&of), None);
        let mut of = run(0.01);
        of.points[0].launches = None;
        check(&of, Word::Indicative, "a single launch, from which others differ");
        facts_of(&mut of).clock.is_virtual = true;
        check(&of, Word::Quotable, "10 of 10 points known to 5 %, and undisturbed");
        of.end = None;
        check(&of, Word::Indicative, "no end");
        of.points.clear();
        check(&of, Word::NotUsable, "nothing was measured; no end");
    }

    fn facts_of(run: &mut RunRecords) -> &mut Run {
        run.run.as_mut().unwrap()
    }

    #[test]
    fn the_end_of_a_run_has_the_verdict_that_its_points_give() {
        let records = fixture::records();
        let Some(Record::End(end)) = records.last() else { panic!("the last record is the end") };
        let found = end.verdict.clone().unwrap();
        assert_eq!(Some(&found), verdict(&split(records)[0]).as_ref());
        assert_eq!(found.word, Word::NotUsable);
        assert!(found.reason.starts_with("1 case with wrong data; "), "{found:?}");
    }
}
