//! Points of launches whose figures are known.

use super::*;
use comet_core::definition::Definition;
use comet_stats::Interval;

use crate::record::{Launches, Outcome, PointStatus, Quote, Summary};
use crate::{fixture, points};

/// An echo of `length_bytes` as the launch `number` found it: all times are `factor` times those
/// of the fixture.
fn of_launch(number: u32, length_bytes: u64, factor: f64) -> Point {
    let topology = fixture::topology();
    let mut maker = points::PointMaker::new("id", &topology);
    let mut point = maker.measured(&fixture::echo(length_bytes)).remove(0);
    (point.launch, point.t_rel_s) = (Some(number), f64::from(number));
    let measured = point.measured_mut().unwrap();
    let numbers = &mut measured.numbers;
    numbers.quoted_ns = numbers.quoted_ns.map(|ns| ns * factor);
    numbers.time_ns.median *= factor;
    point
}

fn records(text: &str) -> Vec<Record> {
    parse_records(text.as_bytes()).unwrap().records
}

fn line(record: &Record) -> String {
    let mut text = Vec::new();
    write_line(&mut text, record).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn counts_beyond_all_numbers_are_the_largest() {
    let mut all = [of_launch(1, 8, 1.0), of_launch(2, 8, 1.0)];
    for point in &mut all {
        let measured = point.measured_mut().unwrap();
        (measured.reps.n, measured.reps.warmup, measured.reps.rounds) =
            (usize::MAX, u32::MAX, u32::MAX);
        measured.numbers.time_ns.n = usize::MAX;
        let samples = measured.samples.as_mut().unwrap();
        (samples.shape, samples.data) = ([0, usize::MAX], Vec::new());
        let quality = measured.quality.as_mut().unwrap();
        (quality.slice_lengths, quality.invalid) = (vec![usize::MAX; 2], vec![usize::MAX]);
        (quality.n_mild_outliers, quality.n_severe_outliers) = (usize::MAX, usize::MAX);
        (quality.disturbed_slices, quality.page_faults) = (Some(u32::MAX), Some(u64::MAX));
    }
    let found = merged(None, &all);
    let measured = found[0].measured().unwrap();
    assert_eq!((measured.reps.n, measured.reps.rounds), (usize::MAX, u32::MAX));
    let quality = measured.quality.as_ref().unwrap();
    assert_eq!((quality.n_mild_outliers, quality.page_faults), (usize::MAX, Some(u64::MAX)));
}

#[test]
fn a_point_is_the_median_of_its_launches_with_their_interval_and_both_variances() {
    let all = [(1, 1.0), (2, 1.2), (3, 0.9)];
    let all: Vec<Point> =
        all.iter().map(|(number, factor)| of_launch(*number, 8, *factor)).collect();
    let first_ns = all[0].quoted_ns().unwrap();
    let found = merged(None, &all);
    assert_eq!(found.len(), 1);
    let (point, measured) = (&found[0], found[0].measured().unwrap());
    assert_eq!((point.launch, &point.key), (None, &all[0].key));
    assert_eq!(point.quoted_ns(), Some(first_ns));
    let quoted_ns: Vec<f64> = all.iter().filter_map(Point::quoted_ns).collect();
    let interval = Interval::of_launches(&quoted_ns).unwrap();
    assert_eq!(measured.numbers.time_ns.ci95, Some([interval.low, interval.high]));
    let launches = point.launches.as_ref().unwrap();
    assert_eq!((&launches.quoted_ns, launches.period_s), (&quoted_ns, 2.0));
    // Logarithms 0, 0.18232 and -0.10536, whose mean is 0.02565.
    assert!((launches.variance_between - 0.021_184).abs() < 1e-5, "{launches:?}");
    let of_one = all[0].measured().unwrap();
    assert_eq!(measured.reps.n, 3 * of_one.reps.n);
    let (samples, own) = (measured.samples.as_ref().unwrap(), of_one.samples.as_ref().unwrap());
    assert_eq!(samples.shape, [own.shape[0], 3 * own.shape[1]]);
    let n = own.shape[1];
    assert_eq!(samples.data[..n], own.data[..n], "rank by rank");
    assert_eq!(samples.data[n..2 * n], own.data[..n]);
}

#[test]
fn the_least_and_the_largest_value_of_a_point_are_those_of_all_samples() {
    let mut all = [1, 2, 3].map(|number| of_launch(number, 8, 1.0));
    for (point, (min, max)) in all.iter_mut().zip([(5.0, 90.0), (3.0, 80.0), (4.0, 7000.0)]) {
        let time_ns = &mut point.measured_mut().unwrap().numbers.time_ns;
        (time_ns.min, time_ns.max) = (min, max);
    }
    let found = merged(None, &all).remove(0);
    let time_ns = &found.numbers().unwrap().time_ns;
    assert_eq!((time_ns.min, time_ns.max), (3.0, 7000.0));
}

#[test]
fn an_interval_reaches_down_to_times_without_the_skew_of_their_starts() {
    let barrier = |number, skew_ns: Option<f64>| {
        let mut measurement = fixture::barrier();
        measurement.series[0].definition = Definition::Completion;
        let mut maker = points::PointMaker::new("id", &fixture::topology());
        let mut point = maker.measured(&measurement).remove(0);
        let measured = point.measured_mut().unwrap();
        measured.reps.inner = 1;
        let summary = |median| Summary { median, ..measured.numbers.time_ns.clone() };
        measured.quality.as_mut().unwrap().start_skew_ns = skew_ns.map(summary);
        Point { launch: Some(number), ..point }
    };
    let low_ns = |skews_ns: [Option<f64>; 3]| {
        let all: Vec<Point> = (1..).zip(skews_ns).map(|(n, skew)| barrier(n, skew)).collect();
        merged(None, &all).remove(0).interval_ns().unwrap()[0]
    };
    let lower_ns = low_ns([None; 3]) - low_ns([Some(7.0), Some(5.0), Some(90.0)]);
    assert!((lower_ns - 7.0).abs() < 1e-9, "{lower_ns}");
}

#[test]
fn a_least_value_has_the_interval_of_its_launches_and_its_median_none() {
    let least = |number, factor| {
        let mut point = of_launch(number, 8, factor);
        point.measured_mut().unwrap().numbers.value.quote = Quote::LeastOf20;
        point
    };
    let all = [(1, 1.0), (2, 1.2), (3, 0.9)].map(|(number, factor)| least(number, factor));
    let found = merged(None, &all).remove(0);
    let quoted_ns: Vec<f64> = all.iter().filter_map(Point::quoted_ns).collect();
    let interval = Interval::of_launches(&quoted_ns).unwrap();
    assert_eq!(found.interval_ns(), Some([interval.low, interval.high]));
    assert_eq!(found.numbers().unwrap().time_ns.ci95, None);
    let rows = fixture::render("csv", &[Record::Point(Box::new(found))]);
    let mut rows = csv::Reader::from_reader(rows.as_bytes());
    let at = rows.headers().unwrap().iter().position(|title| title == "t_ci95_low_ns").unwrap();
    let row = rows.records().next().unwrap().unwrap();
    assert_eq!([&row[at], &row[at + 1]], [interval.low, interval.high].map(|ns| ns.to_string()));
}

#[test]
fn launches_at_two_times_of_a_line_are_two_figures_and_all_points_are_of_one() {
    let at_lines = |mut point: Point, lines_ns: &[f64]| {
        let quality = point.measured_mut().unwrap().quality.as_mut().unwrap();
        quality.line_ns = Some(lines_ns.to_vec());
        point
    };
    let (apart, together): (&[f64], &[f64]) = (&[104.0, 118.0], &[10.5, 11.0]);
    let of_lines = [apart, together, apart, &[11.0, 110.0], apart];
    let launch = |length, number: u32, lines| {
        let factor = if lines == together { 0.4 } else { 1.0 + 0.01 * f64::from(number) };
        at_lines(of_launch(number, length, factor), lines)
    };
    let of_length =
        |length| (1..).zip(of_lines).map(move |(number, lines)| launch(length, number, lines));
    // One has no launch at the place of the others, and its own figure.
    let all: Vec<Point> =
        of_length(8).chain(of_length(16)).chain([launch(32, 1, together)]).collect();
    let found = merged(None, &all);
    let first_ns = of_launch(1, 8, 1.0).quoted_ns().unwrap();
    for point in &found[..2] {
        let launches = point.launches.as_ref().unwrap();
        assert_eq!(launches.quoted_ns.len(), 3, "those in which the cores stood still apart");
        let [own, other] = &launches.speeds[..] else { panic!("{launches:?}") };
        assert_eq!((own.line_ns, own.launches, own.share), ([104.0, 118.0], 3, 0.6));
        assert_eq!(Some(own.quoted_ns), point.quoted_ns());
        assert_eq!((other.line_ns, other.launches, other.share), ([10.5, 11.0], 1, 0.2));
        assert!((other.quoted_ns / first_ns - 0.4).abs() < 1e-9 && other.interval_ns.is_none());
        assert!(own.interval_ns.is_some());
        assert_eq!(point.quality().unwrap().cores_moved, Some(false));
    }
    assert!(found[2].launches.as_ref().unwrap().speeds.is_empty());
    let warning = two_speeds(&all).unwrap();
    let expected = "cores moved between launches: a cache line took 104 ns to 118 ns in 55 % of \
                    measurements, of which the figures are, and 10 ns to 110 ns in the others";
    assert_eq!(warning.message, expected);
    assert!(two_speeds(&all[..1]).is_none());
}

#[test]
fn intervals_hold_as_many_operations_as_those_of_the_first_launch() {
    let mut all = [of_launch(1, 8, 1.0), of_launch(2, 8, 1.0)];
    let measured = all[1].measured_mut().unwrap();
    measured.reps.inner *= 2;
    measured.samples.as_mut().unwrap().data.iter_mut().for_each(|ns| *ns *= 2);
    let merged = merged(None, &all).remove(0);
    let found = &merged.measured().unwrap().samples.as_ref().unwrap().data;
    let own = all[0].measured().unwrap().samples.as_ref().unwrap();
    assert_eq!(found[..own.shape[1]], found[own.shape[1]..2 * own.shape[1]]);
    assert_eq!(found[..own.shape[1]], own.data[..own.shape[1]]);
    assert!(merged.measured().unwrap().starts_ns.is_some());
}

#[test]
fn a_failure_in_one_launch_is_that_of_the_point() {
    let mut broken = of_launch(2, 8, 1.0);
    let failure = crate::record::Failure {
        status: PointStatus::CheckFailed,
        message: "rank 1: byte 3".into(),
    };
    broken.outcome = Outcome::Failed(failure.clone());
    let found = merged(None, &[of_launch(1, 8, 1.0), broken, of_launch(1, 9, 1.0)]);
    assert_eq!(found.iter().map(Point::status).collect::<Vec<_>>().len(), 2);
    assert_eq!(found[0].failure(), Some(&failure));
    assert_eq!((found[1].status(), found[1].seq), (PointStatus::Ok, 1));
}

#[test]
fn a_run_that_died_among_its_launches_has_the_points_that_they_make() {
    let head = line(&fixture::records()[0]);
    let run_id = "00000000-0000-7000-8000-000000000001";
    let launch = |number, factor| {
        let point = Point { run_id: run_id.into(), ..of_launch(number, 8, factor) };
        line(&Record::Launch(Box::new(point)))
    };
    let text = head + &launch(1, 1.0) + &launch(2, 1.2);
    let found = split(records(&text)).remove(0);
    assert_eq!((found.launches.len(), found.points.len()), (2, 1));
    assert!(found.points[0].launches.is_some());
    // One that wrote them has them once, and with the samples.
    let own = line(&Record::Point(Box::new(found.points[0].without_samples())));
    let again = split(records(&(text + &own))).remove(0);
    assert_eq!(again.points.len(), 1);
    let samples = again.points[0].measured().unwrap().samples.as_ref().unwrap();
    assert_eq!(Some(samples), found.points[0].measured().unwrap().samples.as_ref());
}

#[test]
fn the_end_counts_points_and_keeps_the_reason_of_an_early_end() {
    let mut text = Vec::new();
    {
        let mut carry = carry(Box::new(&mut text), false);
        for record in fixture::records() {
            let record = match record {
                Record::Point(point) if point.measured().is_some() => {
                    Record::Launch(Box::new(Point { launch: Some(1), ..*point }))
                }
                Record::Point(_) | Record::Model(_) => continue,
                other => other,
            };
            carry.record(&record).unwrap();
        }
    }
    let found = Concluded::of(&text, Some(0.1), Some("SIGINT")).unwrap();
    let n_points = found.points().count();
    let Some(Record::End(end)) = found.tail.last() else { panic!("{:?}", found.tail) };
    assert_eq!((end.points.ok, end.status), (n_points, EndStatus::Partial));
    assert_eq!(end.reason.as_deref(), Some("SIGINT"));
    assert!(matches!(found.head[0], Record::Run(_)));
    let has_samples = |point: &Point| point.measured().is_some_and(|of| of.samples.is_some());
    assert!(!found.points().any(has_samples), "they stay with the launches");
}

#[test]
fn rates_of_launches_are_those_of_the_median_launch() {
    let of_launch = |(number, factor): (u32, f64)| {
        let mut point = fixture::collectives("alltoall", 4).remove(1);
        point.launch = Some(number);
        let numbers = &mut point.measured_mut().unwrap().numbers;
        numbers.quoted_ns = numbers.quoted_ns.map(|ns| ns * factor);
        for rate in &mut numbers.rates {
            rate.value = rate.value.map(|value| value / factor);
        }
        point
    };
    let all: Vec<Point> = [(1, 1.0), (2, 2.0), (3, 4.0)].into_iter().map(of_launch).collect();
    let point = merged(None, &all).remove(0);
    // Parts of 1000 bytes in 1 us, 2 us and 4 us.
    let found: Vec<_> = point.rates().iter().map(|rate| (rate.per_op, rate.value)).collect();
    assert_eq!(found, [(4000.0, Some(2e9)), (3000.0, Some(1.5e9))]);
}

#[test]
fn launches_at_two_levels_are_named_and_those_that_scatter_are_not() {
    let found = |factors: [f64; 8]| {
        let launches = (1..).zip(factors);
        let all: Vec<Point> = launches.map(|(number, of)| of_launch(number, 8, of)).collect();
        let quality = merged(None, &all).remove(0).quality().cloned().unwrap();
        (quality.is_bimodal, quality.drifts)
    };
    assert_eq!(found([1.0, 1.2, 1.01, 1.21, 1.0, 1.2, 1.01, 1.2]), (true, Some(false)));
    assert_eq!(found([1.0, 1.02, 1.04, 1.06, 1.08, 1.1, 1.12, 1.14]), (false, Some(true)));
    assert_eq!(found([1.03, 1.0, 1.02, 1.01, 1.0, 1.02, 1.03, 1.0]), (false, Some(false)));
}

#[test]
fn launches_within_seconds_are_of_this_moment_and_those_of_a_simulation_never() {
    let run = |is_virtual: bool| {
        let Some(Record::Run(mut run)) = fixture::records().into_iter().next() else {
            panic!("a run comes first")
        };
        run.clock.is_virtual = is_virtual;
        run
    };
    let is_of_moment = |run: &Run, last_s: u32| {
        let all = [1, last_s].map(|number| of_launch(number, 8, 1.0));
        let found = merged(Some(run), &all).remove(0).launches.unwrap();
        (found.is_of_moment, Launches::words([&found].into_iter()).unwrap())
    };
    let real = run(false);
    assert_eq!(is_of_moment(&real, 3), (true, "2 launches in 2 s, of this moment".into()));
    assert_eq!(is_of_moment(&real, 25), (false, "2 launches in 24 s".into()));
    assert_eq!(is_of_moment(&run(true), 3), (false, "2 launches in 2 s".into()));
}
