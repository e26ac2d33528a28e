//! A number over time: one point of one series in all runs of a machine, and the steps in it.
//!
//! A run counts as the median of its launches, because what changes from launch to launch is in no
//! interval of a single one. Runs whose ranks 0 and 1 exchange a cache line at another speed than most of the latest
//! ones are left out, as [`comet_report::compare`] does: they are another number. So are imports whose start is
//! unknown, as the time of an import is no evidence. Steps are those of [`comet_stats::steps`] in the logarithms of the whole history,
//! of which a part may be shown; marks explain them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use comet_report::places::are_of_latest;
use comet_report::plot::{Axis, Body, Chart, Figure, Kind, Mark, Quantity, Scale, Trace, Vertex};
use comet_stats::steps::{self, Levels, Step};

use crate::alert::explanation;
use crate::card::{DAY_MS, time_text};
use crate::id::Id;
use crate::index::marks::MarkRow;
use crate::overlay;
use crate::rows::{PointRow, RunRow, SeriesRow};

/// The least deviation of a run, as a share: steps of a few times it are seen where runs are alike.
const LEAST_DEVIATION: f64 = 0.005;
/// Milliseconds of a minute.
const MINUTE_MS: i64 = 60_000;
/// Units of the horizontal axis in milliseconds, the longest first.
const UNITS: [(&str, i64); 4] =
    [("days", DAY_MS), ("hours", 60 * MINUTE_MS), ("minutes", MINUTE_MS), ("seconds", 1000)];
/// The most letters of a note in a figure.
const NOTE: usize = 24;

/// Leaves the `values` that were measured at the place of most of the latest ones, by the times of a cache line, and
/// returns the number of the others.
pub(crate) fn at_one_place<T>(
    values: &mut Vec<T>,
    line_ns: impl Fn(&T) -> Option<[f64; 2]>,
) -> usize {
    let n = values.len();
    let mut counts = are_of_latest(&values.iter().map(line_ns).collect::<Vec<_>>()).into_iter();
    values.retain(|_| counts.next().is_some_and(|counts| counts));
    n - values.len()
}

/// Figures of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// The run.
    pub run: RunRow,
    /// Median of the launches, in ns.
    pub ns: f64,
    /// The 95 % interval of the point, in ns, where there is one.
    pub interval_ns: Option<(f64, f64)>,
    /// Number of launches.
    pub n_launches: usize,
    /// The shortest and the longest time of a cache line around the point, in ns, where they are known.
    pub line_ns: Option<[f64; 2]>,
}

/// A number over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trend {
    /// The runs that have it, the earliest first.
    pub looks: Vec<Look>,
    /// Indices of the runs that are shown.
    pub shown: Range<usize>,
    /// Its steps, in natural logarithms of ns, by the indices of runs.
    pub steps: Vec<Step>,
    /// Number of runs that belong to a level; those that follow may belong to a new one.
    n_in_levels: usize,
    /// Number of runs that are left out, because a cache line took another time.
    pub n_elsewhere: usize,
    /// Number of runs that are left out, because their start is unknown.
    pub n_undated: usize,
    /// Marks of its machine, by their times.
    pub marks: Vec<MarkRow>,
}

/// The time that the figures of launches stand for, in ns; `None` without one above 0.
pub(crate) fn level(launches_ns: &[f64]) -> Option<f64> {
    comet_stats::median(launches_ns).filter(|ns| *ns > 0.0)
}

/// The levels of `times_ns`, in natural logarithms of ns.
pub(crate) fn levels_of(times_ns: &[f64]) -> Levels {
    let logs: Vec<f64> = times_ns.iter().map(|ns| ns.ln()).collect();
    steps::levels(&logs, LEAST_DEVIATION)
}

/// Leaves one of the `values` of each run, which several files may have: of the file that arrived last. `arrival`
/// has the id that the run gave itself, the arrival of the file, and the id of the run in it.
pub(crate) fn once<T>(values: &mut Vec<T>, arrival: impl Fn(&T) -> (&str, i64, Id)) {
    let mut latest = BTreeMap::new();
    for (place, value) in values.iter().enumerate() {
        let (uuid, received_ms, id) = arrival(value);
        let known = latest.entry(uuid).or_insert((received_ms, id, place));
        if (known.0, known.1) < (received_ms, id) {
            *known = (received_ms, id, place);
        }
    }
    let places: BTreeSet<usize> = latest.into_values().map(|(.., place)| place).collect();
    let mut place = 0..;
    values.retain(|_| place.next().is_some_and(|place| places.contains(&place)));
}

/// A number in words: its curve, length, number of ranks and setting.
pub fn title(series: &SeriesRow, [x, procs]: [Option<i64>; 2], setting: &str) -> String {
    let unit = series.x_unit.as_deref().unwrap_or_default();
    let length = x.map(|x| format!(", {x} {unit}")).unwrap_or_default();
    let ranks = procs.map(|procs| format!(", P = {procs}")).unwrap_or_default();
    let setting = if setting.is_empty() { String::new() } else { format!(", {setting}") };
    format!("{}{length}{ranks}{setting}", overlay::name(series))
}

impl Trend {
    /// The trend of `history`, the earliest run first, on a machine with these `marks`; runs are shown that
    /// began since the first of two times in milliseconds since 1970, and before the second. A run in several
    /// files counts once.
    pub fn of(
        mut history: Vec<(RunRow, PointRow)>,
        marks: Vec<MarkRow>,
        [since_ms, until_ms]: [Option<i64>; 2],
    ) -> Self {
        let look = |(run, point): (RunRow, PointRow)| {
            let launches = point.launches();
            let ns = level(&launches)?;
            let interval_ns = point.low_ns.zip(point.high_ns);
            let n_launches = launches.len();
            Some(Look { run, ns, interval_ns, n_launches, line_ns: point.line_ns })
        };
        let n_undated = history.extract_if(.., |(run, _)| !run.is_dated).count();
        let mut looks: Vec<Look> = history.into_iter().filter_map(look).collect();
        once(&mut looks, |look| (&look.run.uuid, look.run.received_ms, look.run.id));
        let n_elsewhere = at_one_place(&mut looks, |look| look.line_ns);
        let times: Vec<f64> = looks.iter().map(|look| look.ns).collect();
        let n_before = |ms| looks.partition_point(|look| look.run.started_ms < ms);
        let [from, to] = [since_ms.map_or(0, n_before), until_ms.map_or(looks.len(), n_before)];
        let Levels { steps, n_values: n_in_levels } = levels_of(&times);
        let shown = from..to.max(from);
        Self { shown, steps, n_in_levels, n_elsewhere, n_undated, looks, marks }
    }

    /// The mark that explains `step`, if there is one.
    pub fn explanation(&self, step: &Step) -> Option<&MarkRow> {
        let starts: Vec<i64> = self.looks.iter().map(|look| look.run.started_ms).collect();
        explanation(&self.marks.iter().collect::<Vec<_>>(), &starts, step.at)
    }

    /// The runs that are shown.
    pub fn shown_looks(&self) -> &[Look] {
        &self.looks[self.shown.clone()]
    }

    /// The steps that start with a run that is shown.
    pub fn shown_steps(&self) -> Vec<&Step> {
        self.steps.iter().filter(|step| self.shown.contains(&step.at)).collect()
    }

    /// Marks between the first run that is shown and the last one.
    pub fn shown_marks(&self) -> Vec<&MarkRow> {
        let [Some(first), Some(last)] = [self.shown_looks().first(), self.shown_looks().last()]
        else {
            return Vec::new();
        };
        let times = first.run.started_ms..=last.run.started_ms;
        self.marks.iter().filter(|mark| times.contains(&mark.at_ms)).collect()
    }

    /// The step that starts with the run number `index` of those that are shown, if there is one.
    pub fn step_at(&self, index: usize) -> Option<&Step> {
        self.steps.iter().find(|step| step.at == self.shown.start + index)
    }

    /// Levels: their runs, and their times in ns.
    fn levels(&self) -> Vec<(Range<usize>, f64)> {
        let times: Vec<f64> = self.looks[..self.n_in_levels].iter().map(|look| look.ns).collect();
        let whole = || comet_stats::median(&times).unwrap_or(f64::NAN);
        let first_ns = self.steps.first().map_or_else(whole, |step| step.before.exp());
        let starts = std::iter::once((0, first_ns));
        let starts = starts.chain(self.steps.iter().map(|step| (step.at, step.after.exp())));
        let ends = self.steps.iter().map(|step| step.at).chain([self.n_in_levels]);
        starts.zip(ends).map(|((start, ns), end)| (start..end, ns)).collect()
    }

    /// Unit of the horizontal axis: the longest that is no longer than the whole history.
    fn unit(&self) -> (&'static str, i64) {
        let ends = self.looks.first().zip(self.looks.last());
        let span_ms = ends.map_or(0, |(first, last)| last.run.started_ms - first.run.started_ms);
        let is_short = |(_, ms): &&(&str, i64)| span_ms == 0 || *ms <= span_ms;
        *UNITS.iter().find(is_short).unwrap_or(&UNITS[UNITS.len() - 1])
    }

    /// Start of the horizontal axis in milliseconds since 1970: the day of the first run that is shown, or
    /// its minute if the axis has no days.
    fn first_ms(&self) -> i64 {
        let first_ms = self.shown_looks().first().map_or(0, |look| look.run.started_ms);
        let rough_ms = if self.unit().1 == DAY_MS { DAY_MS } else { MINUTE_MS };
        first_ms - first_ms.rem_euclid(rough_ms)
    }

    /// The day of the first run that is shown, if the horizontal axis counts days from it.
    pub fn first_day(&self) -> Option<String> {
        (self.unit().1 == DAY_MS).then(|| time_text(self.first_ms())[..10].to_owned())
    }

    /// Its figure, with this title.
    pub fn figure(&self, title: &str) -> Figure {
        let (first_ms, (unit, unit_ms)) = (self.first_ms(), self.unit());
        let place = |ms: i64| units(ms - first_ms, unit_ms);
        let vertex = |look: &Look| Vertex {
            x: place(look.run.started_ms),
            y: look.ns,
            interval: look.interval_ns.filter(|(low, high)| low < high),
            note: format!("{}, {}", day(look), look.run.title),
            ..Vertex::default()
        };
        let points: Vec<Vertex> = self.shown_looks().iter().map(vertex).collect();
        let trace = |name: &str, kind, points| Trace {
            name: name.into(),
            kind,
            colour: 0,
            dashes: 0,
            points,
        };
        let mut series = vec![trace("runs", Kind::Scatter, points.clone())];
        let at = |index: usize| points[index - self.shown.start].x;
        for (runs, y) in self.levels() {
            let [from, to] = [runs.start.max(self.shown.start), runs.end.min(self.shown.end)];
            if from < to {
                let end = |index| Vertex { x: at(index), y, ..Vertex::default() };
                series.push(trace("level", Kind::Fit, vec![end(from), end(to - 1)]));
            }
        }
        let mark =
            |step: &Step| Mark { label: words(step), is_at_x: true, at: at(step.at), colour: 1 };
        let noted = |mark: &MarkRow| Mark {
            label: mark.note.chars().take(NOTE).collect(),
            is_at_x: true,
            at: place(mark.at_ms),
            colour: 2,
        };
        let steps = self.shown_steps().into_iter().map(mark);
        let marks = steps.chain(self.shown_marks().into_iter().map(noted)).collect();
        let start = self.first_day().unwrap_or_else(|| minute(first_ms));
        let label = format!("{unit} since {start}");
        let x = Axis { label, quantity: Quantity::Count, scale: Scale::Linear };
        let label = "time of an operation".into();
        let y = Axis { label, quantity: Quantity::TimeNs, scale: Scale::Linear };
        let caption = "Median of the launches of each run, the level between two changes, and the \
                       changes.";
        let bars = points.iter().any(|point| point.interval.is_some());
        let bars = bars.then(|| "Bars are 95 % intervals.".to_owned());
        let left_out = [
            ("a cache line took another time", self.n_elsewhere),
            ("their start is unknown", self.n_undated),
        ];
        let left_out = left_out.into_iter().filter(|(_, n)| *n > 0);
        let left_out = left_out.map(|(why, n)| format!("Runs left out, because {why}: {n}."));
        let notes = bars.into_iter().chain(left_out).collect();
        let chart = Chart { x, y, series, marks, residuals: Vec::new() };
        let (id, title, caption) = ("trend".into(), title.into(), caption.into());
        Figure { id, number: None, title, caption, notes, body: Body::Chart(chart) }
    }
}

/// The day of `look`.
pub fn day(look: &Look) -> String {
    time_text(look.run.started_ms)[..10].to_owned()
}

/// `step` in words.
pub fn words(step: &Step) -> String {
    let share = 100.0 * ((step.after - step.before).exp() - 1.0);
    let word = if share > 0.0 { "slower" } else { "faster" };
    format!("{:.1} % {word}", share.abs())
}

/// The time `ms` to the minute.
pub fn minute(ms: i64) -> String {
    time_text(ms)[..16].replace('T', " ")
}

/// `ms` in units of `unit_ms`: days to the minute.
#[expect(clippy::cast_precision_loss, reason = "times are below 2^53 ms")]
fn units(ms: i64, unit_ms: i64) -> f64 {
    (ms as f64 / unit_ms as f64 * 1440.0).round() / 1440.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::{Card, State};
    use crate::examine;
    use crate::fixture::Example;
    use crate::id::BlobId;

    fn history(times: &[&str]) -> Vec<(RunRow, PointRow)> {
        let bytes = Example::default().file();
        let card = Card { received_ms: 0, submitter: String::new(), state: State::Published };
        let rows = examine::rows(BlobId::of(&bytes), &bytes, &card).unwrap().remove(0);
        let at = |(times, number): (&&str, i64)| {
            let uuid = number.to_string();
            let run = RunRow { started_ms: number * DAY_MS, uuid, ..rows.run.clone() };
            (run, PointRow { launches_ns: Some((*times).into()), ..rows.points[0].clone() })
        };
        times.iter().zip(0..).map(at).collect()
    }

    #[test]
    fn a_run_counts_as_the_median_of_its_launches() {
        let mut times = vec!["100 90 5000"; 8];
        times.extend(["120 120.5 119.5"; 5]);
        let mark = |day: i64| MarkRow::new("hawk", day * DAY_MS, "a new switch", "operator");
        let trend = Trend::of(history(&times), vec![mark(-1), mark(8), mark(99)], [None; 2]);
        assert_eq!((trend.looks[0].ns, trend.looks[0].n_launches), (100.0, 3));
        let [step] = &trend.steps[..] else { panic!("{:?}", trend.steps) };
        assert_eq!((step.at, words(step)), (8, "20.0 % slower".into()));
        assert_eq!(trend.explanation(step).map(|mark| mark.at_ms), Some(8 * DAY_MS));
        let Body::Chart(chart) = trend.figure("echo").body else { panic!("a chart") };
        assert_eq!((chart.series.len(), chart.marks[0].at), (3, 8.0));
        assert_eq!((chart.marks.len(), &*chart.marks[1].label), (2, "a new switch"));
        assert_eq!(chart.x.label, "days since 1970-01-01");
    }

    #[test]
    fn a_part_has_the_steps_and_levels_of_the_whole_history() {
        let times = [["100"; 12], ["120"; 12]].concat();
        let mark = MarkRow::new("hawk", 11 * DAY_MS + 1, "a new switch", "operator");
        let part = |since: i64, until: i64| {
            let days = [since, until].map(|day| Some(day * DAY_MS));
            Trend::of(history(&times), vec![mark.clone()], days)
        };
        let levels = |trend: &Trend| {
            let Body::Chart(chart) = trend.figure("echo").body else { panic!("a chart") };
            let of =
                |trace: &Trace| (trace.points[0].x, trace.points[1].x, trace.points[0].y.round());
            chart.series[1..].iter().map(of).collect::<Vec<_>>()
        };
        let trend = part(10, 15);
        assert_eq!((trend.shown_looks().len(), trend.first_day()), (5, Some("1970-01-11".into())));
        assert_eq!(levels(&trend), [(0.0, 1.0, 100.0), (2.0, 4.0, 120.0)]);
        let [step] = trend.shown_steps()[..] else { panic!("{:?}", trend.steps) };
        assert_eq!((step.at, trend.step_at(2)), (12, Some(step)));
        let trend = part(12, 99);
        assert_eq!(levels(&trend), [(0.0, 11.0, 120.0)]);
        assert_eq!(trend.shown_marks(), Vec::<&MarkRow>::new());
        assert_eq!(trend.explanation(trend.shown_steps()[0]), Some(&mark));
        assert_eq!(part(13, 20).shown_steps(), Vec::<&Step>::new());
        assert!([part(50, 60), part(15, 5)].iter().all(|trend| trend.shown_looks().is_empty()));
    }

    /// Runs that may belong to a new level have no level yet, whose line would be theirs.
    #[test]
    fn the_line_of_a_level_ends_with_its_last_run() {
        let check = |runs: &[[&str; 12]], n_new, expected: &[(f64, f64, f64)]| {
            let times = [runs.concat(), vec!["150"; n_new]].concat();
            let trend = Trend::of(history(&times), Vec::new(), [None; 2]);
            let Body::Chart(chart) = trend.figure("echo").body else { panic!("a chart") };
            let of =
                |trace: &Trace| (trace.points[0].x, trace.points[1].x, trace.points[0].y.round());
            let lines: Vec<_> = chart.series[1..].iter().map(of).collect();
            assert_eq!(lines, expected, "{n_new} new runs");
        };
        let (first, second) = ((0.0, 11.0, 100.0), (12.0, 23.0, 120.0));
        // The first of four new runs still counts for the level before.
        check(&[["100"; 12]], 4, &[(0.0, 12.0, 100.0)]);
        check(&[["100"; 12], ["120"; 12]], 4, &[first, (12.0, 24.0, 120.0)]);
        check(&[["100"; 12], ["120"; 12]], 5, &[first, second, (24.0, 28.0, 150.0)]);
    }

    #[test]
    fn runs_of_a_minute_are_seconds_apart() {
        let mut runs = history(&["100"; 3]);
        for (run, _) in &mut runs {
            run.started_ms = 90_000 + run.started_ms / DAY_MS * 2500;
        }
        let trend = Trend::of(runs, Vec::new(), [None; 2]);
        let Body::Chart(chart) = trend.figure("echo").body else { panic!("a chart") };
        let places: Vec<f64> = chart.series[0].points.iter().map(|point| point.x).collect();
        assert_eq!(places, [30.0, 32.5, 35.0]);
        assert_eq!(chart.x.label, "seconds since 1970-01-01 00:01");
        assert_eq!(trend.first_day(), None);
    }

    /// A year of nights without a change, as times and line times: of a share of them the cores lie together.
    fn nights(random: &mut oorandom::Rand64, together: f64) -> Vec<(f64, Option<[f64; 2]>)> {
        let mut around = |middle: f64, deviation: f64| {
            let normal = (0..12).map(|_| random.rand_float()).sum::<f64>() - 6.0;
            (middle * (deviation * normal).exp(), random.rand_float())
        };
        let night = |_| {
            let (line_ns, draw) = around(1.0, 0.04);
            let (times, line_ns) =
                if draw < together { (0.35, 11.0 * line_ns) } else { (1.0, 104.0 * line_ns) };
            (around(1000.0 * times, 0.02).0, Some([line_ns, 1.05 * line_ns]))
        };
        (0..365).map(night).collect()
    }

    /// Steps that are seen in the first `n` of `nights`.
    fn seen(nights: &[(f64, Option<[f64; 2]>)], n: usize) -> Vec<Step> {
        let mut values = nights[..n].to_vec();
        at_one_place(&mut values, |(_, line_ns)| *line_ns);
        levels_of(&values.iter().map(|(ns, _)| *ns).collect::<Vec<_>>()).steps
    }

    #[test]
    fn runs_at_another_speed_raise_one_false_alarm_in_a_hundred_years_at_most() {
        for together in [0.1, 0.5] {
            let mut random = oorandom::Rand64::new(1);
            let is_false = |_: &_| {
                let nights = nights(&mut random, together);
                (10..nights.len()).step_by(3).any(|n| !seen(&nights, n).is_empty())
            };
            let n = (0..100).filter(is_false).count();
            assert!(n <= 1, "{n} of 100 where a share of {together} is at another speed");
        }
    }

    #[test]
    fn a_tenth_more_is_seen_after_a_week_though_some_runs_are_at_another_speed() {
        let mut random = oorandom::Rand64::new(2);
        for at in [30, 100, 300] {
            let mut nights = nights(&mut random, 0.1);
            nights[at..].iter_mut().for_each(|(ns, _)| *ns *= 1.1);
            let found = seen(&nights, at + 8);
            let [step] = &found[..] else { panic!("{found:?} for a step at {at}") };
            assert!((1.08..1.12).contains(&(step.after - step.before).exp()), "{step:?}");
        }
    }

    #[test]
    fn runs_at_another_line_time_are_left_out_and_counted() {
        let mut runs = history(&[["100"; 9], ["35"; 9]].concat());
        let at_once = Trend::of(runs.clone(), Vec::new(), [None; 2]);
        assert_eq!((at_once.steps.len(), at_once.n_elsewhere), (1, 0), "without line times");
        for (_, point) in &mut runs {
            let ns = if point.launches() == [100.0] { 104.0 } else { 11.0 };
            point.line_ns = Some([ns, ns]);
        }
        let trend = Trend::of(runs, Vec::new(), [None; 2]);
        assert_eq!((trend.steps.len(), trend.n_elsewhere, trend.looks.len()), (0, 9, 9));
        let notes = trend.figure("echo").notes;
        assert_eq!(notes, ["Runs left out, because a cache line took another time: 9."]);
    }

    #[test]
    fn runs_without_a_start_are_left_out_and_counted() {
        let mut runs = history(&["100"; 9]);
        runs[4].0.is_dated = false;
        let trend = Trend::of(runs, Vec::new(), [None; 2]);
        assert_eq!(trend.looks.len(), 8);
        let notes = trend.figure("echo").notes;
        assert_eq!(notes, ["Runs left out, because their start is unknown: 1."]);
    }

    #[test]
    fn runs_without_the_number_are_passed_over() {
        let trend = Trend::of(history(&["", "0", "7"]), Vec::new(), [None; 2]);
        assert_eq!((trend.looks.len(), trend.steps.len()), (1, 0));
        assert_eq!(Trend::of(Vec::new(), Vec::new(), [None; 2]), Trend::default());
        let Body::Chart(chart) = Trend::default().figure("none").body else { panic!("a chart") };
        assert!(chart.series[0].points.is_empty());
    }
}
