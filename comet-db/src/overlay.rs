//! One figure of curves of several runs, from the points of an index.
//!
//! A curve is what one source measured of one series: over lengths for each number of ranks, or over
//! numbers of ranks for each length. A source is a run, or the runs of one file over different numbers of
//! ranks, as in reports. Sources have colours and series have dashes; with one source, series have colours.

use std::collections::{BTreeMap, BTreeSet};

use comet_report::plot::{Axis, Body, Chart, Figure, Kind, Quantity, Scale, Trace, Vertex};

use crate::id::Id;
use crate::rows::{MachineRow, PointRow, RunRow, SeriesRow};

/// The most curves of a figure: nobody tells more of them apart.
pub const MAX_CURVES: usize = 20;

/// The axes of a figure, and the part of the curves that it shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// True if the horizontal axis is the number of ranks, and not the length.
    pub is_over_ranks: bool,
    /// True if the vertical axis is the rate of bytes, and not the time.
    pub is_rate: bool,
    /// Scales of the two axes.
    pub scales: Scales,
    /// Start of the horizontal axis.
    pub from: Option<i64>,
    /// End of it.
    pub to: Option<i64>,
    /// Value of the other parameter, a number of ranks or a length; `None` for all of its values.
    pub at: Option<i64>,
}

/// Scales of the horizontal and the vertical axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scales {
    /// Both by the logarithm.
    #[default]
    LogLog,
    /// The horizontal one by the logarithm, the vertical one in proportion.
    LogLinear,
    /// Both in proportion.
    Linear,
}

/// A figure with what it shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Overlay {
    /// The figure.
    pub figure: Figure,
    /// The points in it, curve by curve.
    pub points: Vec<PointRow>,
    /// Number of curves that are left out.
    pub n_left_out: usize,
}

/// A run with its machine.
pub type Of = (RunRow, MachineRow);

/// Place of a curve in the legend: its series, the other parameter, and the source.
type Place = (usize, Option<i64>, usize);

impl View {
    /// Place of `point` on the horizontal axis, and its other parameter.
    fn place(&self, point: &PointRow) -> Option<(i64, Option<i64>)> {
        let (x, other) = match self.is_over_ranks {
            true => (point.procs?, point.x),
            false => (point.x?, point.procs),
        };
        let is_inside = self.from.is_none_or(|from| from <= x) && self.to.is_none_or(|to| x <= to);
        let is_wanted = self.at.is_none_or(|at| other == Some(at));
        (is_inside && is_wanted).then_some((x, other))
    }

    fn vertex(&self, point: &PointRow, series: &SeriesRow) -> Option<Vertex> {
        let (x, _) = self.place(point)?;
        let quoted_ns = point.quoted_ns?;
        let bytes = bytes(point, series);
        let y = |ns: f64| match self.is_rate {
            true => bytes.filter(|_| ns > 0.0).map(|bytes| bytes / ns * 1e9),
            false => Some(ns),
        };
        let range = |low: Option<f64>, high: Option<f64>| {
            let [a, b] = [y(low?)?, y(high?)?];
            Some((a.min(b), a.max(b))).filter(|(low, high)| low < high)
        };
        let is_median = series.quote.as_deref() == Some("median");
        Some(Vertex {
            x: real(x),
            y: y(quoted_ns).filter(|y| y.is_finite())?,
            interval: range(point.low_ns, point.high_ns),
            middle_half: range(point.p25_ns, point.p75_ns).filter(|_| is_median),
            ..Vertex::default()
        })
    }

    fn axes(&self, series: &[SeriesRow]) -> (Axis, Axis) {
        let [x, y] = match self.scales {
            Scales::LogLog => [true, true],
            Scales::LogLinear => [true, false],
            Scales::Linear => [false, false],
        };
        let scale = |is_log, log| if is_log { log } else { Scale::Linear };
        let is_in_bytes = series.iter().all(|of| of.x_unit.as_deref() == Some("B"));
        let (label, quantity) = match (self.is_over_ranks, is_in_bytes) {
            (true, _) => ("number of ranks P", Quantity::Count),
            (false, true) => ("message length", Quantity::Bytes),
            (false, false) => ("length, in the unit of each series", Quantity::Count),
        };
        let x = Axis { label: label.into(), quantity, scale: scale(x, Scale::Log2) };
        let is_one_way = |of: &SeriesRow| of.quantity.as_deref() == Some("one_way_time");
        let (label, quantity) = match (self.is_rate, series.iter().all(is_one_way)) {
            (true, _) => ("bandwidth", Quantity::BytesPerSecond),
            (false, true) => ("one-way time", Quantity::TimeNs),
            (false, false) => ("time of an operation", Quantity::TimeNs),
        };
        (x, Axis { label: label.into(), quantity, scale: scale(y, Scale::Log10) })
    }

    /// `other`, the value of the parameter that is not on the axis, in words.
    fn words(&self, other: Option<i64>, series: &SeriesRow) -> String {
        match (other, self.is_over_ranks) {
            (None, _) => String::new(),
            (Some(procs), false) => format!("P = {procs}"),
            (Some(x), true) => format!("{x} {}", series.x_unit.as_deref().unwrap_or_default()),
        }
    }
}

/// The bytes that an operation moves, by the rate of `point`, which is that of a typical operation even where
/// the least time is quoted.
pub fn bytes(point: &PointRow, series: &SeriesRow) -> Option<f64> {
    let is_least = matches!(series.quote.as_deref(), Some("min" | "least_of_20"));
    let ns = if is_least { point.median_ns } else { point.quoted_ns };
    Some(point.bytes_per_s? * ns? / 1e9).filter(|bytes| *bytes > 0.0)
}

/// `number` as a place on an axis; lengths and numbers of ranks are below 2^53.
#[expect(clippy::cast_precision_loss, reason = "lengths are below 2^53")]
fn real(number: i64) -> f64 {
    number as f64
}

/// The figure of `points`, which are of `runs` and lie on `series`.
pub fn overlay(runs: &[Of], series: &[SeriesRow], points: Vec<PointRow>, view: &View) -> Overlay {
    let sources = sources(runs);
    let mut curves: BTreeMap<Place, Vec<(Vertex, PointRow)>> = BTreeMap::new();
    for point in points {
        let run = runs.iter().position(|(run, _)| run.id == point.run);
        let number = series.iter().position(|of| of.id == point.series);
        let (Some(run), Some(number)) = (run, number) else { continue };
        let Some((_, other)) = view.place(&point) else { continue };
        let Some(vertex) = view.vertex(&point, &series[number]) else { continue };
        curves.entry((number, other, sources[run])).or_default().push((vertex, point));
    }
    let n_left_out = curves.len().saturating_sub(MAX_CURVES);
    let curves: Vec<_> = curves.into_iter().take(MAX_CURVES).collect();
    let kinds: BTreeSet<_> =
        curves.iter().map(|((series, other, _), _)| (*series, *other)).collect();
    let kinds: Vec<_> = kinds.into_iter().collect();
    let (of_sources, of_series) = (source_names(runs), series_names(series));
    let has_several = of_sources.len() > 1;
    let others: BTreeSet<_> = kinds.iter().map(|(_, other)| other).collect();
    let (mut traces, mut shown) = (Vec::new(), Vec::new());
    for ((number, other, source), mut points) in curves {
        points.sort_by(|(a, _), (b, _)| a.x.total_cmp(&b.x));
        let kind = kinds.iter().position(|kind| *kind == (number, other)).unwrap_or(0);
        let [colour, dashes] = if has_several { [source, kind] } else { [kind, 0] };
        let parts = [
            (series.len() > 1 || !has_several, of_series[number].clone()),
            (others.len() > 1, view.words(other, &series[number])),
            (has_several, of_sources[source].clone()),
        ];
        let parts = parts.into_iter().filter(|(is_told, text)| *is_told && !text.is_empty());
        let name = parts.map(|(_, text)| text).collect::<Vec<_>>().join(", ");
        let (points, rows): (Vec<_>, Vec<_>) = points.into_iter().unzip();
        traces.push(Trace { name, kind: Kind::Curve, colour, dashes, points });
        shown.extend(rows);
    }
    let figure = figure(&of_sources, &of_series, view.axes(series), traces);
    Overlay { figure, points: shown, n_left_out }
}

fn figure(
    sources: &[String],
    series: &[String],
    (x, y): (Axis, Axis),
    traces: Vec<Trace>,
) -> Figure {
    let title = match series {
        [one] => one.clone(),
        _ => format!("{} series", series.len()),
    };
    let caption = format!("{} against {}, of {}.", capital(&y.label), x.label, sources.join("; "));
    let has = |range: fn(&Vertex) -> Option<(f64, f64)>| {
        traces.iter().flat_map(|trace| &trace.points).any(|point| range(point).is_some())
    };
    let notes = [
        (has(|point| point.interval), "Bars are 95 % intervals."),
        (has(|point| point.middle_half), "Light bands hold the middle half of the samples."),
    ];
    let notes = notes.iter().filter(|(holds, _)| *holds).map(|(_, note)| (*note).to_owned());
    let notes = notes.collect();
    let chart = Chart { x, y, series: traces, marks: Vec::new(), residuals: Vec::new() };
    let id = "compare".into();
    Figure { id, number: None, title, caption, notes, body: Body::Chart(chart) }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// The number of the source of each of `runs`, in their order.
pub fn sources(runs: &[Of]) -> Vec<usize> {
    let mut sources: Vec<Vec<&RunRow>> = Vec::new();
    let mut numbers = Vec::new();
    for (run, _) in runs {
        let belongs = |source: &Vec<&RunRow>| {
            source.iter().all(|other| other.blob == run.blob && other.ranks != run.ranks)
        };
        let number = sources.iter().position(belongs).unwrap_or(sources.len());
        if number == sources.len() {
            sources.push(Vec::new());
        }
        sources[number].push(run);
        numbers.push(number);
    }
    numbers
}

/// Names of the sources of `runs`, which are those of their first runs.
pub fn source_names(runs: &[Of]) -> Vec<String> {
    let numbers = sources(runs);
    let is_first = |index: &usize| !numbers[..*index].contains(&numbers[*index]);
    let firsts = (0..runs.len()).filter(is_first).map(|index| runs[index].clone());
    names(&firsts.collect::<Vec<_>>())
}

/// Names of `runs`: machines, with as many further traits as tell them apart.
fn names(runs: &[Of]) -> Vec<String> {
    let traits: [fn(&Of) -> String; 6] = [
        |(_, machine)| machine.name.clone(),
        |(run, _)| run.mpi.clone().or_else(|| run.backend.clone()).unwrap_or_default(),
        |(run, _)| run.start().split(' ').take(1).collect(),
        |(run, _)| run.title.clone(),
        |(run, _)| format!("{} ranks", run.ranks),
        |(run, _)| run.id.to_string(),
    ];
    let n_distinct = |names: &[String]| names.iter().collect::<BTreeSet<_>>().len();
    let mut names: Vec<String> = runs.iter().map(traits[0]).collect();
    for of in &traits[1..] {
        let longer = runs.iter().zip(&names).map(|(run, name)| format!("{name} {}", of(run)));
        let longer: Vec<String> = longer.collect();
        if n_distinct(&longer) > n_distinct(&names) {
            names = longer;
        }
    }
    names
}

/// Name of `series`: kernel, series and parameters.
pub fn name(series: &SeriesRow) -> String {
    let variant = series.variant.as_deref().filter(|variant| *variant != series.kernel);
    let mut name = format!("{}/{}", series.suite, series.kernel);
    for part in [variant.unwrap_or_default(), &series.params] {
        if !part.is_empty() {
            name += " ";
            name += part;
        }
    }
    name.replace('_', " ")
}

/// Name of `series`, with the quantity and the statistic that are reported.
pub fn words(series: &SeriesRow) -> String {
    let texts = [&series.quantity, &series.quote].into_iter().flatten();
    let texts = texts.map(|text| text.replace('_', " "));
    std::iter::once(name(series)).chain(texts).collect::<Vec<_>>().join(", ")
}

/// Names of `series`, with definition and quoted statistic where those alone tell them apart.
fn series_names(series: &[SeriesRow]) -> Vec<String> {
    let plain: Vec<String> = series.iter().map(name).collect();
    let is_one = |name: &String| plain.iter().filter(|other| *other == name).count() == 1;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let longer = |(of, name): (&SeriesRow, &String)| match is_one(name) {
        true => name.clone(),
        false => format!("{name} {} {}", text(&of.definition), text(&of.quote)),
    };
    series.iter().zip(&plain).map(longer).collect()
}

/// The series that `uses` name, each once with the number of runs that have it, in the order of the first
/// run.
pub fn distinct(uses: &[crate::index::SeriesUse]) -> Vec<(SeriesRow, usize)> {
    let mut places: BTreeMap<Id, usize> = BTreeMap::new();
    let mut found: Vec<(SeriesRow, usize)> = Vec::new();
    for of in uses.iter().filter(|of| of.series.quantity.is_some()) {
        let place = *places.entry(of.series.id).or_insert_with(|| {
            found.push((of.series.clone(), 0));
            found.len() - 1
        });
        found[place].1 += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::{Card, State};
    use crate::examine::{self, RunRows};
    use crate::fixture::Example;
    use crate::id::BlobId;

    fn rows(example: &Example) -> RunRows {
        let bytes = example.file();
        let card = Card { received_ms: 0, submitter: String::new(), state: State::Published };
        examine::rows(BlobId::of(&bytes), &bytes, &card).unwrap().remove(0)
    }

    fn traces(overlay: &Overlay) -> &[Trace] {
        let Body::Chart(chart) = &overlay.figure.body else { panic!("a chart") };
        &chart.series
    }

    #[test]
    fn runs_are_named_by_what_tells_them_apart() {
        let of = |number, machine, day| {
            let rows = rows(&Example { number, machine, day, ..Example::default() });
            (rows.run, rows.machine)
        };
        let first = of(0, "hawk", "2026-01-01");
        assert_eq!(names(&[first.clone(), of(1, "lumi", "2026-01-02")]), ["hawk", "lumi"]);
        let later = of(2, "hawk", "2026-01-02");
        assert_eq!(names(&[first.clone(), later]), ["hawk 2026-01-01", "hawk 2026-01-02"]);
        let same = of(3, "hawk", "2026-01-01");
        let ids = [first.0.id, same.0.id].map(|id| format!("hawk {id}"));
        assert_eq!(names(&[first, same]), ids);
    }

    #[test]
    fn a_view_chooses_points_and_what_their_axes_hold() {
        let rows = rows(&Example::default());
        let runs = [(rows.run, rows.machine)];
        let of = |view: &View| overlay(&runs, &rows.series, rows.points.clone(), view);
        let vertices = |view: &View| {
            let found = of(view);
            let places = traces(&found).iter().flat_map(|trace| &trace.points);
            places.map(|point| (point.x, point.y)).collect::<Vec<_>>()
        };
        let time = |bytes: f64| 100.0 + bytes / 3.0;
        let all = vertices(&View::default());
        assert_eq!(all, [1.0, 2.0, 4.0].map(|bytes| (bytes, time(bytes))));
        let part = View { from: Some(2), to: Some(3), ..View::default() };
        assert_eq!((vertices(&part), of(&part).points.len()), (vec![(2.0, time(2.0))], 1));
        let ranks = View { is_over_ranks: true, at: Some(4), ..View::default() };
        assert_eq!(vertices(&ranks), [(2.0, time(4.0))]);
        // The points of this example have no rate, which is not 0.
        assert_eq!(vertices(&View { is_rate: true, ..View::default() }), []);
        let point = PointRow { bytes_per_s: Some(2e9), ..rows.points[0].clone() };
        let rate = View { is_rate: true, ..View::default() };
        assert_eq!(rate.vertex(&point, &rows.series[0]).unwrap().y, 2e9);
    }

    #[test]
    fn a_figure_has_no_more_curves_than_can_be_told_apart() {
        let rows = rows(&Example::default());
        let point = |procs| PointRow { procs: Some(procs), ..rows.points[0].clone() };
        let points = (1..=25).map(point).collect();
        let runs = [(rows.run, rows.machine)];
        let found = overlay(&runs, &rows.series, points, &View::default());
        assert_eq!((traces(&found).len(), found.n_left_out, found.points.len()), (20, 5, 20));
        assert_eq!(traces(&found)[1].name, "comet/echo hops=1, P = 2");
    }
}
