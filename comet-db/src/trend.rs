//! A number over time: one point of one series in all runs of a machine, and the steps in it.
//!
//! A run counts as the median of its launches, because what changes from launch to launch is in no
//! interval of a single one. Steps are those of [`comet_stats::steps`] in the logarithms; marks explain
//! them.

use comet_report::plot::{Axis, Body, Chart, Figure, Kind, Mark, Quantity, Scale, Trace, Vertex};
use comet_stats::steps::{Step, steps};

use crate::alert::explanation;
use crate::card::time_text;
use crate::index::marks::MarkRow;
use crate::overlay;
use crate::rows::{PointRow, RunRow, SeriesRow};

/// The least deviation of a run, as a share: steps of a few times it are seen where runs are alike.
const LEAST_DEVIATION: f64 = 0.005;
/// Milliseconds of a day.
const DAY_MS: i64 = 24 * 3_600_000;
/// The most letters of a note in a figure.
const NOTE: usize = 24;

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
}

/// A number over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trend {
    /// The runs that have it, the earliest first.
    pub looks: Vec<Look>,
    /// Its steps, in natural logarithms of ns, by the indices of runs.
    pub steps: Vec<Step>,
    /// Marks of its machine between the first run and the last one, by their times.
    pub marks: Vec<MarkRow>,
}

/// The time that the figures of launches stand for, in ns; `None` without one above 0.
pub(crate) fn level(launches_ns: &[f64]) -> Option<f64> {
    comet_stats::median(launches_ns).filter(|ns| *ns > 0.0)
}

/// The steps in `times_ns`, in natural logarithms of ns.
pub(crate) fn steps_of(times_ns: &[f64]) -> Vec<Step> {
    let logs: Vec<f64> = times_ns.iter().map(|ns| ns.ln()).collect();
    steps(&logs, LEAST_DEVIATION)
}

/// A number in words: its curve, length and number of ranks.
pub fn title(series: &SeriesRow, [x, procs]: [Option<i64>; 2]) -> String {
    let unit = series.x_unit.as_deref().unwrap_or_default();
    let length = x.map(|x| format!(", {x} {unit}")).unwrap_or_default();
    let ranks = procs.map(|procs| format!(", P = {procs}")).unwrap_or_default();
    format!("{}{length}{ranks}", overlay::name(series))
}

impl Trend {
    /// The trend of `history`, the earliest run first, on a machine with these `marks`.
    pub fn of(history: Vec<(RunRow, PointRow)>, marks: Vec<MarkRow>) -> Self {
        let look = |(run, point): (RunRow, PointRow)| {
            let launches = point.launches();
            let ns = level(&launches)?;
            let interval_ns = point.low_ns.zip(point.high_ns);
            Some(Look { run, ns, interval_ns, n_launches: launches.len() })
        };
        let looks: Vec<Look> = history.into_iter().filter_map(look).collect();
        let times: Vec<f64> = looks.iter().map(|look| look.ns).collect();
        let ends = looks.first().zip(looks.last());
        let is_within = |mark: &MarkRow| {
            ends.is_some_and(|(first, last)| {
                (first.run.started_ms..=last.run.started_ms).contains(&mark.at_ms)
            })
        };
        let marks = marks.into_iter().filter(is_within).collect();
        Self { steps: steps_of(&times), looks, marks }
    }

    /// The mark that explains `step`, if there is one.
    pub fn explanation(&self, step: &Step) -> Option<&MarkRow> {
        let starts: Vec<i64> = self.looks.iter().map(|look| look.run.started_ms).collect();
        explanation(&self.marks.iter().collect::<Vec<_>>(), &starts, step.at)
    }

    /// The step that starts with the run number `index`, if there is one.
    pub fn step_at(&self, index: usize) -> Option<&Step> {
        self.steps.iter().find(|step| step.at == index)
    }

    /// Indices at which levels start, and the end.
    fn levels(&self) -> Vec<usize> {
        let starts = self.steps.iter().map(|step| step.at);
        std::iter::once(0).chain(starts).chain([self.looks.len()]).collect()
    }

    /// Start of the day of the first run, in milliseconds since 1970.
    fn first_ms(&self) -> i64 {
        let first_ms = self.looks.first().map_or(0, |look| look.run.started_ms);
        first_ms - first_ms.rem_euclid(DAY_MS)
    }

    /// The day of the first run, from which its figure counts.
    pub fn first_day(&self) -> String {
        time_text(self.first_ms())[..10].to_owned()
    }

    /// Its figure, with this title.
    pub fn figure(&self, title: &str) -> Figure {
        let first_ms = self.first_ms();
        let vertex = |look: &Look| Vertex {
            x: days(look.run.started_ms - first_ms),
            y: look.ns,
            interval: look.interval_ns.filter(|(low, high)| low < high),
            note: format!("{}, {}", day(look), look.run.title),
            ..Vertex::default()
        };
        let points: Vec<Vertex> = self.looks.iter().map(vertex).collect();
        let trace = |name: &str, kind, points| Trace {
            name: name.into(),
            kind,
            colour: 0,
            dashes: 0,
            points,
        };
        let mut series = vec![trace("runs", Kind::Scatter, points.clone())];
        for ends in self.levels().windows(2).filter(|ends| ends[0] < ends[1]) {
            let part = &self.looks[ends[0]..ends[1]];
            let times: Vec<f64> = part.iter().map(|look| look.ns).collect();
            let y = comet_stats::median(&times).unwrap_or(f64::NAN);
            let end = |index: usize| Vertex { x: points[index].x, y, ..Vertex::default() };
            series.push(trace("level", Kind::Fit, vec![end(ends[0]), end(ends[1] - 1)]));
        }
        let mark = |step: &Step| Mark {
            label: words(step),
            is_at_x: true,
            at: points[step.at].x,
            colour: 1,
        };
        let noted = |mark: &MarkRow| Mark {
            label: mark.note.chars().take(NOTE).collect(),
            is_at_x: true,
            at: days(mark.at_ms - first_ms),
            colour: 2,
        };
        let marks = self.steps.iter().map(mark).chain(self.marks.iter().map(noted)).collect();
        let label = format!("days since {}", self.first_day());
        let x = Axis { label, quantity: Quantity::Count, scale: Scale::Linear };
        let label = "time of an operation".into();
        let y = Axis { label, quantity: Quantity::TimeNs, scale: Scale::Linear };
        let caption = "Median of the launches of each run, the level between two changes, and the \
                       changes.";
        let notes = if points.iter().any(|point| point.interval.is_some()) {
            vec!["Bars are 95 % intervals.".to_owned()]
        } else {
            Vec::new()
        };
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

#[expect(clippy::cast_precision_loss, reason = "times are below 2^53 ms")]
fn days(ms: i64) -> f64 {
    // To the minute.
    (ms as f64 / DAY_MS as f64 * 1440.0).round() / 1440.0
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
            let run = RunRow { started_ms: number * DAY_MS, ..rows.run.clone() };
            (run, PointRow { launches_ns: Some((*times).into()), ..rows.points[0].clone() })
        };
        times.iter().zip(0..).map(at).collect()
    }

    #[test]
    fn a_run_counts_as_the_median_of_its_launches() {
        let mut times = vec!["100 90 5000"; 8];
        times.extend(["120 120.5 119.5"; 5]);
        let mark = |day: i64| MarkRow::new("hawk", day * DAY_MS, "a new switch", "operator");
        let trend = Trend::of(history(&times), vec![mark(-1), mark(8), mark(99)]);
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
    fn runs_without_the_number_are_passed_over() {
        let trend = Trend::of(history(&["", "0", "7"]), Vec::new());
        assert_eq!((trend.looks.len(), trend.steps.len()), (1, 0));
        assert_eq!(Trend::of(Vec::new(), Vec::new()), Trend::default());
        let Body::Chart(chart) = Trend::default().figure("none").body else { panic!("a chart") };
        assert!(chart.series[0].points.is_empty());
    }
}
