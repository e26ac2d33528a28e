//! Tests of all figures together.

use std::path::PathBuf;

use super::*;
use crate::fixture::{self, Folder};
use crate::models::tests::thesis;
use crate::older::described;
use crate::pairs::PairMatrix;
use crate::plot::{Chart, Kind, Quantity, Trace};
use crate::record::{Derived, Outcome, Param, Params, Point};
use crate::runs::read_runs;

fn run(name: &str, points: Vec<Point>) -> RunRecords {
    RunRecords { path: Some(PathBuf::from(name)), points, ..RunRecords::default() }
}

fn barrier(point: &Point, n_ranks: u64, ns: f64) -> Point {
    let mut point = point.clone();
    (point.kernel, point.class) = ("barrier".into(), "sync".into());
    point.params = Params(vec![("procs".into(), Param::Number(n_ranks))]);
    point.measured_mut().unwrap().numbers.quoted_ns = Some(ns);
    described(point)
}

fn of_thesis() -> Vec<Figure> {
    figures(&[run("a.jsonl", thesis())])
}

/// The points of the thesis on so many ranks.
fn thesis_on(n_ranks: u64) -> Vec<Point> {
    let mut points = thesis();
    for point in &mut points {
        point.params.0.retain(|(name, _)| name != "procs");
        point.params.0.push(("procs".into(), Param::Number(n_ranks)));
    }
    points
}

/// The runs of a whole file.
fn recorded() -> Vec<RunRecords> {
    read_runs(&fixture::record_run(&Folder::new())).unwrap()
}

#[track_caller]
fn chart<'a>(figures: &'a [Figure], id: &str) -> &'a Chart {
    let figure = figures.iter().find(|figure| figure.id == id).expect("there is such a figure");
    let Body::Chart(chart) = &figure.body else { panic!("{id} is no chart") };
    chart
}

fn names(chart: &Chart, kind: Kind) -> Vec<&str> {
    let series = chart.series.iter().filter(|series| series.kind == kind);
    series.map(|series| &*series.name).collect()
}

fn y_at(series: &Trace, x: f64) -> Option<f64> {
    Some(series.points.iter().find(|point| point.x == x)?.y)
}

#[test]
fn an_echo_is_drawn_by_hops_with_the_lines_of_its_model() {
    let figures = of_thesis();
    let chart = chart(&figures, "comet-echo-time");
    assert_eq!(names(chart, Kind::Curve), ["1 hop", "2 hops", "3 hops"]);
    let fits: Vec<&Trace> =
        chart.series.iter().filter(|series| series.kind == Kind::Fit).take(2).collect();
    let ends = |series: &Trace| [series.points[0].x, series.points[series.points.len() - 1].x];
    assert_eq!((ends(fits[0]), ends(fits[1])), ([0.0, 100.0], [128.0, 16_384.0]));
    assert_eq!(y_at(&chart.series[0], 100.0), Some(142_000.0));
    assert!((y_at(fits[0], 100.0).unwrap() - 142_000.0).abs() < 1.0);
    assert_eq!(chart.residuals[0].points.iter().map(|point| point.y).sum::<f64>(), 0.0);
}

#[test]
fn the_thesis_plots_round_trips_over_the_nearest_and_the_farthest_ranks() {
    let figures = of_thesis();
    assert_eq!((&*figures[0].id, figures[0].number.as_deref()), ("figure-5.1", Some("5.1")));
    let chart = chart(&figures, "figure-5.1");
    assert_eq!(names(chart, Kind::Curve), ["1 hop", "3 hops"]);
    assert_eq!(y_at(&chart.series[0], 0.0), Some(158_000.0));
    assert_eq!(y_at(&chart.series[0], 16_384.0), None);
}

#[test]
fn a_bandwidth_has_the_rates_of_endless_and_short_messages_and_the_length_of_half() {
    let figures = of_thesis();
    let marks = &chart(&figures, "comet-echo-bandwidth").marks;
    assert_eq!(marks[0].label, "r∞ 2.439 MB/s");
    assert!((marks[0].at / (1e6 / 0.41) - 1.0).abs() < 1e-6 && !marks[0].is_at_x);
    assert_eq!((&*marks[1].label, marks[1].is_at_x), ("n½ 380.5 B", true));
    let series = &chart(&figures, "comet-echo-bandwidth").series;
    let line = series.iter().find(|series| series.name == "n/t₀, t₀ 79 µs").unwrap();
    assert!(line.points.iter().all(|point| (point.y / (1e6 * point.x / 79.0) - 1.0).abs() < 1e-6));
    let last = line.points[line.points.len() - 1].y;
    assert!((last / 2.384e6 - 1.0).abs() < 1e-3, "the line ends at the best rate, not at {last}");
}

#[test]
fn a_bandwidth_without_a_startup_time_has_no_asymptotes() {
    let mut points = thesis();
    points.retain(|point| point.number("length_bytes") > Some(100));
    for point in &mut points {
        let quoted_ns = &mut point.measured_mut().unwrap().numbers.quoted_ns;
        *quoted_ns = quoted_ns.map(|ns| ns - 260_000.0);
    }
    points.retain(|point| point.quoted_ns() > Some(0.0));
    let figures = figures(&[run("a.jsonl", points)]);
    let chart = chart(&figures, "comet-echo-bandwidth");
    assert_eq!((chart.marks.len(), names(chart, Kind::Fit)), (0, vec![]));
}

#[test]
fn numbers_of_ranks_have_the_rate_of_endless_messages() {
    let figures = figures(&[4, 8].map(|n_ranks| run("a.jsonl", thesis_on(n_ranks))));
    let chart = chart(&figures, "comet-echo-r-inf");
    assert_eq!(names(chart, Kind::Curve).len(), 3);
    for n_ranks in [4.0, 8.0] {
        assert!((y_at(&chart.series[0], n_ranks).unwrap() / (1e6 / 0.41) - 1.0).abs() < 1e-6);
    }
}

#[test]
fn numbers_of_ranks_are_the_scaling_of_one_file_with_the_law_of_its_growth() {
    let point = &thesis()[0];
    let ns = |n_ranks: u64| 10.0 + 100.0 * f64::from(n_ranks.ilog2());
    let runs = [2, 4, 8, 16, 32].map(|n| run("a.jsonl", vec![barrier(point, n, ns(n))]));
    let figures = figures(&runs);
    let scaling = chart(&figures, "figure-5.6");
    assert_eq!(figures[0].number.as_deref(), Some("5.6"));
    assert_eq!(names(scaling, Kind::Curve), ["echo"]);
    assert_eq!(y_at(&scaling.series[0], 32.0), Some(510.0));
    assert!(names(scaling, Kind::Fit)[0].starts_with("echo: a + b log2 P, weight "));
    let speedup = chart(&figures, "comet-barrier-speedup");
    assert_eq!(names(speedup, Kind::Curve), ["echo", "echo, efficiency"]);
    let at_8 = [0, 1].map(|n: usize| y_at(&speedup.series[n], 8.0));
    assert_eq!(at_8, [Some(110.0 / 310.0), Some(110.0 / 310.0 / 4.0)]);
    assert_eq!(y_at(&speedup.series[0], 2.0), Some(1.0));
}

#[test]
fn runs_of_two_files_are_overlaid_in_two_colours() {
    let figures = figures(&[run("fast.jsonl", thesis()), run("slow.jsonl", thesis())]);
    let chart = chart(&figures, "comet-echo-time");
    let curves: Vec<_> = chart.series.iter().filter(|series| series.kind == Kind::Curve).collect();
    let of = |index: usize| (&*curves[index].name, curves[index].colour, curves[index].dashes);
    assert_eq!((of(0), of(3)), (("1 hop, fast", 0, 0), ("1 hop, slow", 1, 0)));
    assert_eq!(of(4), ("2 hops, slow", 1, 1));
}

#[test]
fn ten_runs_have_ten_colours_and_two_curves_each() {
    let runs: Vec<RunRecords> =
        (0..10).map(|index| run(&format!("{index}.jsonl"), thesis())).collect();
    let figures = figures(&runs);
    let chart = chart(&figures, "comet-echo-time");
    let curves: Vec<_> = chart.series.iter().filter(|series| series.kind == Kind::Curve).collect();
    let looks: Vec<_> = curves.iter().map(|series| (series.colour, series.dashes)).collect();
    let expected: Vec<_> = (0..10).flat_map(|run| [(run, 0), (run, 1)]).collect();
    assert_eq!(looks, expected);
    assert_eq!([&curves[0].name, &curves[1].name], ["1 hop, 0", "3 hops, 0"]);
}

#[test]
fn the_thesis_has_its_published_values() {
    let figures = of_thesis();
    let law = "published: 2 (79 µs + 0.63 µs/B)";
    let law = chart(&figures, "figure-5.1").series.iter().find(|series| series.name == law);
    let ends: Vec<f64> = law.unwrap().points.iter().map(|point| point.y).collect();
    assert_eq!(ends, [158_000.0, 284_000.0]);
    let marks = &chart(&figures, "figure-5.2").marks;
    let labels: Vec<&str> = marks.iter().map(|mark| &*mark.label).collect();
    let half = ["published half of it 486 B", "published 90 % of it 5000 B"];
    assert_eq!(labels, ["published peak 2.5 MB/s", half[0], half[1]]);
}

#[test]
fn runs_on_different_numbers_of_ranks_have_the_same_dashes() {
    let figures = figures(&[run("a.jsonl", thesis()), run("b.jsonl", thesis_on(16))]);
    let chart = chart(&figures, "comet-echo-time");
    assert_eq!(names(chart, Kind::Curve)[3], "1 hop, b");
    assert_eq!((chart.series[3].colour, chart.series[3].dashes), (1, 0));
}

#[test]
fn runs_with_one_name_are_numbered() {
    let run = recorded().remove(0);
    let figures = figures(&[run.clone(), run]);
    let chart = chart(&figures, "comet-echo-time");
    assert_eq!(names(chart, Kind::Curve), ["run (1)", "run (2)"]);
}

#[test]
fn captions_say_what_was_timed_and_what_marks_mean() {
    let figures = figures(&recorded());
    let figure = figures.iter().find(|figure| figure.id == "comet-echo-time").unwrap();
    assert_eq!(
        figure.caption,
        "One-way time of comet/echo against message length, on 2 ranks (D4 half_round_trip; 3 \
         samples each)."
    );
    assert_eq!(
        figure.notes,
        [
            "D4 half_round_trip: one way: half of the round trip timed on the test node.",
            "Marks are medians of slice medians.",
            "Bands hold the middle half of the samples.",
        ]
    );
}

#[test]
fn samples_are_values_again_by_their_definitions() {
    let runs = recorded();
    for point in runs[0].points.iter().filter(|point| point.numbers().is_some()) {
        let values = samples::values_ns(point).unwrap();
        let time = point.time_ns().unwrap();
        assert_eq!(comet_stats::median(&values), Some(time.median), "{}", point.kernel);
        assert_eq!(values.len(), time.n);
    }
    let is_halved = |point: &&Point| {
        point.measured().is_some_and(|of| of.samples.is_some() && of.numbers.value.divisor == 2)
    };
    let mut many = runs[0].points.iter().find(is_halved).unwrap().clone();
    let of_one = samples::values_ns(&many).unwrap();
    let reps = &mut many.measured_mut().unwrap().reps;
    let factor = f64::from(u32::MAX) / f64::from(reps.inner);
    reps.inner = u32::MAX;
    let of_many = samples::values_ns(&many).unwrap();
    assert!(of_one.iter().zip(of_many).all(|(one, of)| (one / factor / of - 1.0).abs() < 1e-9));
    let mut cut = runs[0].points[1].clone();
    cut.measured_mut().unwrap().samples.as_mut().unwrap().data.pop();
    assert_eq!(samples::values_ns(&cut), None);
}

#[test]
fn samples_that_vary_have_a_distribution_and_an_order() {
    let mut points = thesis();
    for point in &mut points {
        let measured = point.measured_mut().unwrap();
        let samples = measured.samples.as_mut().unwrap();
        samples.data = (0..1000).map(|index| 10_000 + index % 100).collect();
        samples.shape = [1, 1000];
        measured.starts_ns = Some((0..1000).collect());
        measured.reps.n = 1000;
    }
    let figures = figures(&[run("a.jsonl", points)]);
    let distribution = chart(&figures, "comet-echo-distribution");
    assert_eq!(names(distribution, Kind::Steps), ["0 B", "50 B", "256 B", "16 KiB"]);
    assert_eq!(distribution.series[0].points.len(), 200);
    assert_eq!(distribution.series[0].points[199].y, 100.0);
    let order = chart(&figures, "comet-echo-samples");
    let first: Vec<_> =
        order.series[0].points.iter().take(2).map(|point| point.is_hollow).collect();
    assert_eq!((order.series[0].points.len(), first), (100, vec![true, false]));
}

/// The points of an exchange of so many bytes overlapped with work, with intervals of 1 us.
fn overlapped((length_bytes, exchange_ns): (u64, f64)) -> Vec<Point> {
    let names = ["exchange", "daxpy", "synchronous", "asynchronous"];
    let times_ns = [exchange_ns, 20_000.0, 20_000.0 + exchange_ns, 20_000.0 + exchange_ns / 2.0];
    let of_series = |(name, ns): (&'static str, f64)| {
        let mut point = thesis()[0].clone();
        (point.kernel, point.class) = ("overlap".into(), "overlap".into());
        point.variant = Some(name.into());
        let params = [("length_bytes", length_bytes), ("vector_length", 20_000), ("procs", 2)];
        let params = params.map(|(name, value)| (name.into(), Param::Number(value)));
        point.params = Params(params.into());
        let numbers = &mut point.measured_mut().unwrap().numbers;
        numbers.quoted_ns = Some(ns);
        numbers.time_ns.ci95 = Some([ns - 500.0, ns + 500.0]);
        let share = |name: &str, value| Derived {
            name: name.into(),
            formula: String::new(),
            value: Some(value),
        };
        if name == "asynchronous" {
            point.figures =
                vec![share("improvement_percent", 3.0), share("overlap_share", -2050.0)];
        }
        described(point)
    };
    names.into_iter().zip(times_ns).map(of_series).collect()
}

#[test]
fn a_hidden_share_is_drawn_where_its_part_is_longer_than_the_noise() {
    let points = [(0, 200.0), (85_000, 50_000.0)].into_iter().flat_map(overlapped).collect();
    let figures = figures(&[run("a.jsonl", points)]);
    let places = |id: &str| -> Vec<(f64, f64, Option<f64>)> {
        let series = &chart(&figures, id).series[0];
        series.points.iter().map(|point| (point.x, point.y, point.beyond)).collect()
    };
    assert_eq!(places("comet-overlap-gain"), [(0.0, 3.0, None), (85_000.0, 3.0, None)]);
    assert_eq!(places("comet-overlap-share"), [(85_000.0, -100.0, Some(-205_000.0))]);
}

#[test]
fn what_has_no_numbers_makes_no_figure() {
    let mut failed = thesis();
    failed.iter_mut().for_each(|point| point.outcome = Outcome::default());
    for runs in [vec![], vec![run("a", failed)], vec![run("a", vec![])]] {
        assert_eq!(figures(&runs), []);
    }
}

#[test]
fn names_of_figures_are_unique_and_fit_for_files() {
    let mut runs = recorded();
    runs.push(run("a.jsonl", thesis()));
    let figures = figures(&runs);
    let mut ids: Vec<&str> = figures.iter().map(|figure| &*figure.id).collect();
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
    assert!(ids.iter().all(|id| id.chars().all(is_plain)), "{ids:?}");
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), figures.len());
}

#[test]
fn pairs_of_ranks_are_parted_by_their_nodes() {
    let run = recorded().remove(0).run;
    let matrix = PairMatrix {
        title: "one-way time of 8 B".into(),
        n_ranks: 3,
        length_bytes: 8,
        quantity: Quantity::TimeNs,
        values: vec![None; 9],
    };
    let Body::HeatMap(map) = pairs::heat_map("pairs", &matrix, run.as_deref()).body else {
        panic!()
    };
    assert_eq!(
        (map.names, map.borders),
        (vec!["0 (host)".into(), "1 (host)".into(), "2".into()], vec![2])
    );
}

/// The points of two collectives on 2 and 4 ranks.
fn of_collectives() -> Vec<RunRecords> {
    let on = |n_ranks| {
        let points = ["allgather", "alltoall"].map(|name| fixture::collectives(name, n_ranks));
        run("a.jsonl", points.concat())
    };
    [2, 4].map(on).into()
}

#[test]
fn a_bus_bandwidth_is_drawn_over_lengths_on_each_number_of_ranks_with_its_formula() {
    let figures = figures(&of_collectives());
    let figure = figures.iter().find(|of| of.id == "comet-allgather-bus-bandwidth").unwrap();
    let formulas = "(P-1)/P x P x length_bytes / time; the algorithm bandwidth is P x \
                    length_bytes / time, on 2 and 4 ranks";
    assert!(figure.caption.contains(formulas), "{}", figure.caption);
    let chart = chart(&figures, "comet-allgather-bus-bandwidth");
    assert_eq!(names(chart, Kind::Curve), ["P = 2", "P = 4"]);
    // 1000 bytes of one other rank in 1 us, and of three.
    assert_eq!(y_at(&chart.series[0], 1000.0), Some(1e9));
    assert_eq!(y_at(&chart.series[1], 1000.0), Some(3e9));
    assert_eq!(y_at(&chart.series[1], 0.0), None, "no bytes have no rate");
    assert!(!figures.iter().any(|of| of.id == "comet-allgather-algorithm-bandwidth"));
}

#[test]
fn bus_bandwidths_of_several_collectives_stand_in_one_figure_over_their_sizes() {
    let of_two = figures(&of_collectives());
    let chart = chart(&of_two, "bus-bandwidth");
    let expected = [
        "comet/allgather, P = 2",
        "comet/allgather, P = 4",
        "comet/alltoall, P = 2",
        "comet/alltoall, P = 4",
    ];
    assert_eq!(names(chart, Kind::Curve), expected);
    assert_eq!(y_at(&chart.series[1], 4000.0), Some(3e9));
    let figure = of_two.iter().find(|of| of.id == "bus-bandwidth").unwrap();
    let formula = "(P-1)/P x P x length_bytes / time (comet/allgather and comet/alltoall).";
    assert!(figure.caption.contains(formula), "{}", figure.caption);
    let of_one = figures(&[run("a.jsonl", fixture::collectives("alltoall", 2))]);
    assert!(!of_one.iter().any(|of| of.id == "bus-bandwidth"), "one collective has its own");
}

#[test]
fn sk_84_and_sk_85_ways_to_do_one_thing_share_a_figure() {
    let times = [8, 64]
        .map(|length| [("imb/gather", length, 10.0), ("skampi/gatherv_send_recv", length, 7.0)]);
    let run = crate::guidelines::tests::run(3, &times.concat());
    let figures = figures(&[run]);
    let figure = figures.iter().find(|figure| figure.id == "gathers").expect("it is there");
    let Body::Chart(chart) = &figure.body else { panic!("{figure:?}") };
    let names: Vec<&str> = chart.series.iter().map(|series| &*series.name).collect();
    assert_eq!(names, ["imb/gather", "skampi/gatherv_send_recv"]);
    assert!(chart.series.iter().all(|series| series.points.len() == 2));
    assert!(!figures.iter().any(|figure| figure.id == "gathers-scaling"), "one number of ranks");
}
