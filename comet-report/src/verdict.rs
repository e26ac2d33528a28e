//! Verdict on a run: one word for the use that can be made of its numbers, the precision that was
//! reached, what disturbed it, and what to do next.
//!
//! ```text
//!   quotable   nine of ten points are known to 5 % (or `--target`), and nothing disturbed them
//!   rough      they are known less well, or something disturbed them
//!   unsure     a tenth of the points is not known to 25 %, or cores moved
//!   wrong      data arrived wrong or is missing, or ranks shared CPUs
//! ```

use crate::environment::{Apart, Disturbances, Warning, busy, disturbed, sharing};
use crate::format::has_changed;
use crate::launches;
use crate::record::{
    EndStatus, Launches, Measured, Point, PointCounts, PointStatus, Precision, Run, Verdict, Word,
};
use crate::runs::RunRecords;
use crate::units::significant;
use crate::words::{count, period};

/// Half width of an interval, relative to its figure, that a run without a target wants.
pub(crate) const WANTED: f64 = 0.05;
/// Half width above which a point is not known at all.
const UNKNOWN: f64 = 0.25;
/// Share of points that may be disturbed.
const MAX_DISTURBED: f64 = 0.1;
/// The most launches that a remedy asks for.
const MOST_LAUNCHES: f64 = 1000.0;

/// The verdict on `run`; `None` if it is imported.
pub fn verdict(run: &RunRecords) -> Option<Verdict> {
    let tally = Tally::over(run.run.as_deref(), &run.points);
    let end = run.end.as_ref();
    let status = end.map_or(EndStatus::Failed, |end| end.status);
    tally.verdict(status, end.and_then(|end| end.reason.as_deref()))
}

/// Half of the interval of `point`, relative to its figure; `None` where one of them is missing.
pub(crate) fn half_width(point: &Point) -> Option<f64> {
    let ([low, high], quoted_ns) = point.interval_ns().zip(point.quoted_ns())?;
    (quoted_ns > 0.0).then(|| (high - low) / 2.0 / quoted_ns)
}

/// Counts of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    is_imported: bool,
    is_virtual: bool,
    /// Half width that the user wants, relative to the figure.
    wanted: Option<f64>,
    /// Option by which the command of the run takes more launches.
    more: Option<&'static str>,
    /// Ranks that shared CPUs.
    shared: Option<String>,
    /// Load of other programs.
    load: Option<String>,
    pub(crate) counts: PointCounts,
    disturbances: Disturbances,
    apart: Apart,
    /// Half widths of the points, infinite where there is no interval.
    half_widths: Vec<f64>,
    /// The fewest launches of a point, and their period in seconds.
    launches: Option<(usize, f64)>,
    n_single: usize,
    n_momentary: usize,
    n_unsteady: usize,
    n_moved: usize,
    n_preempted: usize,
}

/// A disturbance of a run, the most serious first.
struct Cause {
    what: String,
    remedy: String,
    /// The best word that a run with it can have.
    word: Word,
}

impl Tally {
    /// Counts of `run` before its first point.
    pub(crate) fn of(run: Option<&Run>) -> Self {
        let Some(run) = run else { return Self::default() };
        let shared = sharing(&run.world.ranks).map(|(n_ranks, n_cpus)| {
            format!("{} shared {}", count(n_ranks, "rank"), count(n_cpus, "CPU"))
        });
        let number = |name| run.config.get(name).and_then(serde_json::Value::as_f64);
        // Of a single launch it is what ends a case.
        let wanted = number("target").filter(|_| number("launches").is_some_and(|n| n > 1.0));
        let is_of_jobs = run.argv.get(1).is_some_and(|word| word == "launches");
        let is_joined = run.launcher.name.is_some();
        let n_busy = run.noise.as_ref().and_then(|noise| noise.busy_cpus);
        let load = run.machines.first().and_then(|machine| busy(n_busy, machine));
        Self {
            is_imported: run.config.contains_key("imported_from"),
            is_virtual: run.clock.is_virtual,
            wanted,
            more: match (is_of_jobs, is_joined) {
                (true, _) => Some("-n"),
                (false, false) => Some("--launches"),
                (false, true) => None,
            },
            shared,
            load: load.map(|warning| warning.message),
            ..Self::default()
        }
    }

    /// Counts of `run` with all of its `points`.
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
        let half_width =
            half_width(point).or_else(|| self.range(measured)).unwrap_or(f64::INFINITY);
        self.half_widths.push(half_width);
        let launches = point.launches.as_ref();
        self.count_launches(launches);
        // The interval of a narrow point holds what changed meanwhile.
        let is_wide = half_width > self.wanted();
        self.n_single += usize::from(launches.is_none());
        self.n_momentary += usize::from(launches.is_some_and(|of| of.is_of_moment));
        self.n_unsteady += usize::from(is_wide && quality.is_some_and(has_changed));
        self.n_moved += usize::from(is_wide && quality.and_then(|of| of.cores_moved) == Some(true));
        self.n_preempted += usize::from(is_wide && own.has_preemption());
    }

    fn count_launches(&mut self, launches: Option<&Launches>) {
        let Some(Launches { slices, period_s, .. }) = launches else { return };
        let own = (slices.len(), *period_s);
        let is_fewer = |known: (usize, f64)| own.0 < known.0;
        if self.launches.is_none_or(is_fewer) {
            self.launches = Some(own);
        }
    }

    /// Half of the range of the times of a simulation without an interval, relative to the figure.
    fn range(&self, measured: &Measured) -> Option<f64> {
        let time_ns = &measured.numbers.time_ns;
        let quoted_ns = measured.numbers.quoted_ns.filter(|ns| self.is_virtual && *ns > 0.0)?;
        Some((time_ns.max - time_ns.min) / 2.0 / quoted_ns)
    }

    /// Warnings about what the system did to the ranks, and about their starts.
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        disturbed(&self.disturbances).into_iter().chain(self.apart.warning()).collect()
    }

    /// The verdict on a run that ended in this way; `None` if it is imported.
    pub(crate) fn verdict(&self, status: EndStatus, reason: Option<&str>) -> Option<Verdict> {
        if self.is_imported {
            return None;
        }
        let precision = self.precision();
        let causes = self.causes(status, reason);
        let reached = precision.as_ref().map_or(Word::Wrong, |reached| match reached.nine_of_ten {
            Some(width) if width <= self.wanted() => Word::Quotable,
            Some(width) if width <= UNKNOWN => Word::Rough,
            _ => Word::Unsure,
        });
        let word = causes.iter().map(|cause| cause.word).fold(reached, Word::max);
        // Only the remedy of the most serious cause, because the others do not help before it.
        let is_first = |cause: &&Cause| cause.word == Word::Wrong || word != Word::Wrong;
        let remedy = causes.iter().filter(is_first).find(|cause| !cause.remedy.is_empty());
        let price = || self.price(precision.as_ref().filter(|_| word != Word::Wrong)?);
        let remedy = remedy.map(|cause| cause.remedy.clone()).or_else(price);
        let reached = precision.as_ref().map(|reached| self.reached(reached));
        let causes = causes.into_iter().map(|cause| cause.what);
        // What is wrong stands before how precise the rest is.
        let mut parts: Vec<String> = if word == Word::Wrong {
            causes.chain(reached).collect()
        } else {
            reached.into_iter().chain(causes).collect()
        };
        parts.extend(remedy);
        Some(Verdict { word, reason: parts.join("; "), precision })
    }

    fn wanted(&self) -> f64 {
        self.wanted.unwrap_or(WANTED)
    }

    /// Half widths of the points that stand for half of them, and for nine of ten.
    fn precision(&self) -> Option<Precision> {
        let mut widths = self.half_widths.clone();
        widths.sort_by(f64::total_cmp);
        let of = |share: f64| {
            let n = (share * widths.len() as f64).ceil();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a share of a length"
            )]
            widths.get((n as usize).checked_sub(1)?).copied().filter(|width| width.is_finite())
        };
        (!widths.is_empty()).then(|| Precision {
            half: of(0.5),
            nine_of_ten: of(0.9),
            launches: self.launches.map_or(1, |(n, _)| n),
            period_s: self.launches.map(|(_, period_s)| period_s).filter(|_| !self.is_virtual),
        })
    }

    /// Precision and launches in words.
    fn reached(&self, of: &Precision) -> String {
        let percent = |width: f64| format!("{} %", significant(100.0 * width, 2));
        let n_points = self.half_widths.len();
        let known = match (of.half, of.nine_of_ten) {
            (Some(0.0), Some(0.0)) => "exact".into(),
            (Some(half), _) if n_points == 1 => format!("known to {}", percent(half)),
            (Some(half), Some(nine_of_ten)) => format!(
                "known to {} (half of the points), {} (nine of ten)",
                percent(half),
                percent(nine_of_ten)
            ),
            _ => {
                let n = self.half_widths.iter().filter(|width| width.is_infinite()).count();
                format!("{n} of {} without an interval", count(n_points, "point"))
            }
        };
        let over = of.period_s.map_or(String::new(), |s| format!(" over {}", period(s)));
        match of.launches {
            1 => known,
            n => format!("{known}; {}{over}", launches::count(n)),
        }
    }

    /// Launches, and their time, that would bring nine of ten points to what is wanted.
    fn price(&self, of: &Precision) -> Option<String> {
        let option = self.more?;
        let (width, period_s) = of.nine_of_ten.zip(of.period_s)?;
        let n = (of.launches as f64 * (width / self.wanted()).powi(2)).ceil();
        let is_of_use = width > self.wanted() && of.launches > 1 && n <= MOST_LAUNCHES;
        is_of_use.then(|| {
            let time_s = period_s / (of.launches - 1) as f64 * (n - 1.0);
            let percent = significant(100.0 * self.wanted(), 2);
            format!("for {percent} %: about {n} launches, {} ({option} {n})", period(time_s))
        })
    }

    /// What disturbed the run, the most serious first.
    fn causes(&self, status: EndStatus, reason: Option<&str>) -> Vec<Cause> {
        let PointCounts { ok, check_failed, failed, .. } = self.counts;
        let is_real = !self.is_virtual;
        let cause = |word, what: String, remedy: &str| Cause { what, remedy: remedy.into(), word };
        let cases =
            |n: usize, words: &str| (n > 0).then(|| format!("{} {words}", count(n, "case")));
        let wrong = |what: String, remedy| cause(Word::Wrong, what, remedy);
        let points = |n: usize, words: &str| {
            (n as f64 > MAX_DISTURBED * ok as f64).then(|| format!("{n} of {ok} points {words}"))
        };
        let rough = |what: String, remedy| cause(Word::Rough, what, remedy);
        let early = match (status, reason) {
            (EndStatus::Complete, _) => None,
            (_, None) => Some("no end".into()),
            (_, Some(reason)) => Some(format!("an early end ({reason})")),
        };
        let single = (self.n_single > 0 && is_real)
            .then(|| "a single launch, from which others differ".to_owned());
        let moment = points(self.n_momentary, "of this moment").filter(|_| is_real);
        let again = match self.more {
            None => "start the whole job 5 times: comet-run launches -n 5 -- LAUNCHER comet-run …",
            Some(_) if self.n_single > 0 => "start the ranks several times: --launches 5",
            Some(_) => "for intervals that hold: --over 24s",
        };
        [
            cases(check_failed, "with wrong data").map(|what| wrong(what, "")),
            (ok == 0).then(|| wrong("nothing was measured".into(), "")),
            cases(failed, "that could not be run").map(|what| wrong(what, "")),
            self.shared.clone().map(|what| wrong(what, "start at most one rank for each CPU")),
            points(self.n_moved, "in which cores moved").map(|what| {
                let remedy = "measure on a machine whose virtual CPUs keep their cores";
                cause(Word::Unsure, what, remedy)
            }),
            self.load
                .clone()
                .filter(|_| is_real)
                .map(|what| rough(what, "stop the other programs")),
            points(self.n_preempted, "preempted")
                .map(|what| rough(what, "start fewer ranks, on a machine that does nothing else")),
            early.map(|what| rough(what, "")),
            single.map(|what| rough(what, again)),
            moment.map(|what| rough(what, again)),
            points(self.n_unsteady, "at several speeds").map(|what| rough(what, "")),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::record::{Interval, Launches, Quality, Quote, Record};
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
                period_s: 24.0,
                ..Launches::default()
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

    const KNOWN: &str =
        "known to 4.9 % (half of the points), 4.9 % (nine of ten); 3 launches over 24 s";

    #[test]
    fn the_word_is_the_precision_of_nine_of_ten_points() {
        let of = |half_width: f64, word: Word, reason: &str| check(&run(half_width), word, reason);
        of(0.049, Word::Quotable, KNOWN);
        of(
            0.1,
            Word::Rough,
            "known to 10 % (half of the points), 10 % (nine of ten); 3 launches over 24 s; for 5 %: \
             about 12 launches, 132 s (--launches 12)",
        );
        of(
            0.26,
            Word::Unsure,
            "known to 26 % (half of the points), 26 % (nine of ten); 3 launches over 24 s; for 5 %: \
             about 82 launches, 16 min (--launches 82)",
        );
        let mut one = run(0.01);
        one.points.truncate(1);
        check(&one, Word::Quotable, "known to 1 %; 3 launches over 24 s");
        let found = verdict(&run(0.1)).unwrap().precision.unwrap();
        assert_eq!((found.launches, found.period_s), (3, Some(24.0)));
        assert!((found.nine_of_ten.unwrap() - 0.1).abs() < 1e-9, "{found:?}");
        let mut unknown = run(0.01);
        unknown.points.iter_mut().take(2).for_each(|point| {
            point.measured_mut().unwrap().quality.as_mut().unwrap().interval_ns = None;
            point.measured_mut().unwrap().numbers.time_ns.ci95 = None;
        });
        check(&unknown, Word::Unsure, "2 of 10 points without an interval; 3 launches over 24 s");
    }

    #[test]
    fn what_changed_meanwhile_counts_where_the_interval_is_wide() {
        let with = |half_width: f64, change: fn(&mut Point)| {
            let mut run = run(half_width);
            run.points.iter_mut().take(2).for_each(change);
            verdict(&run).unwrap()
        };
        fn quality(point: &mut Point) -> &mut Quality {
            point.measured_mut().unwrap().quality.as_mut().unwrap()
        }
        let several = |point: &mut Point| quality(point).drifts = Some(true);
        assert_eq!(with(0.049, several).word, Word::Quotable);
        let rough = with(0.1, several);
        assert!(rough.reason.contains("; 2 of 10 points at several speeds; for 5 %: about 12"));
        let moved = with(0.1, |point| quality(point).cores_moved = Some(true));
        assert_eq!(moved.word, Word::Unsure);
        assert!(moved.reason.ends_with("measure on a machine whose virtual CPUs keep their cores"));
        let preempted = |point: &mut Point| quality(point).disturbed_slices = Some(1);
        assert!(with(0.1, preempted).reason.contains("; 2 of 10 points preempted; start fewer"));
        let of_moment = with(0.01, |point| point.launches.as_mut().unwrap().is_of_moment = true);
        assert_eq!(of_moment.word, Word::Rough);
        let remedy = "; 2 of 10 points of this moment; for intervals that hold: --over 24s";
        assert!(of_moment.reason.ends_with(remedy), "{}", of_moment.reason);
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
            measured.numbers.value.divisor = 1;
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
    fn conditions_of_all_points_come_with_the_remedy_of_the_most_serious() {
        let known = "known to 1 % (half of the points), 1 % (nine of ten)";
        let mut of = run(0.01);
        let busy = |of: &mut RunRecords| {
            facts_of(of).noise.get_or_insert_default().busy_cpus = Some(2.0);
            facts_of(of).machines[0].cpu.threads = Some(2);
        };
        busy(&mut of);
        let load = "other programs used 2.0 of 2 CPUs before the start";
        let over = "3 launches over 24 s";
        check(&of, Word::Rough, &format!("{known}; {over}; {load}; stop the other programs"));
        facts_of(&mut of).world.ranks.iter_mut().for_each(|entry| entry.cpus = Some("0".into()));
        let remedy = "start at most one rank for each CPU";
        let shared = format!("2 ranks shared 1 CPU; {load}; {known}; {over}; {remedy}");
        check(&of, Word::Wrong, &shared);
        facts_of(&mut of).config.insert("imported_from".into(), "osu".into());
        assert_eq!(verdict(&of), None);
        let mut of = run(0.01);
        for point in &mut of.points {
            point.launches = None;
            let numbers = &mut point.measured_mut().unwrap().numbers;
            numbers.value.quote = Quote::Median;
            numbers.time_ns.ci95 = numbers.quoted_ns.map(|ns| [0.99 * ns, 1.01 * ns]);
        }
        let single = format!("{known}; a single launch, from which others differ");
        let here = "; start the ranks several times: --launches 5";
        check(&of, Word::Rough, &format!("{single}{here}"));
        facts_of(&mut of).launcher.name = Some("mpirun".into());
        let job = "; start the whole job 5 times: comet-run launches -n 5 -- LAUNCHER comet-run …";
        check(&of, Word::Rough, &format!("{single}{job}"));
        facts_of(&mut of).clock.is_virtual = true;
        check(&of, Word::Quotable, known);
        of.end = None;
        check(&of, Word::Rough, &format!("{known}; no end"));
        of.points.clear();
        check(&of, Word::Wrong, "nothing was measured; no end");
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
        assert_eq!(found.word, Word::Wrong);
        assert!(found.reason.starts_with("1 case with wrong data; "), "{found:?}");
    }
}
