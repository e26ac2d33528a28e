//! Tests of all models together.

use super::*;
use comet_stats::fit::{Estimate, Range};

use crate::fixture;
use crate::older::described;
use crate::points::PointMaker;
use crate::record::{Launches, Outcome, Param, Params};

/// A point of the kernel `comet/echo` with these parameters, and a median of `time_us`.
fn point(params: &[(&str, u64)], time_us: f64) -> Point {
    let mut points = PointMaker::new("id", &fixture::topology()).measured(&fixture::echo(8));
    let mut point = points.remove(0);
    let param = |(name, value): &(&str, u64)| ((*name).to_owned(), Param::Number(*value));
    point.params = Params(params.iter().map(param).collect());
    let length = params.iter().find(|(name, _)| *name == "length_bytes");
    let numbers = &mut point.measured_mut().unwrap().numbers;
    numbers.quoted_ns = Some(time_us * 1e3);
    numbers.value.bytes_per_op = length.map(|(_, length)| *length);
    described(point)
}

/// One series of a case of the kernel `id`, with these medians of its slices.
fn of_slices(
    id: &'static str,
    variant: &'static str,
    params: &[(&str, u64)],
    slices_us: &[f64],
) -> Point {
    let mut point = point(params, slices_us[slices_us.len() / 2]);
    let (suite, kernel) = id.split_once('/').unwrap();
    (point.suite, point.kernel) = (suite.into(), kernel.into());
    point.variant = Some(variant.into());
    let quality = point.measured_mut().unwrap().quality.as_mut().unwrap();
    quality.slice_medians_ns = slices_us.iter().map(|time| 1e3 * time).collect();
    described(point)
}

/// An echo on the iPSC/860 by the formulas of the thesis, section 5.1, over one to three hops.
pub(crate) fn thesis() -> Vec<Point> {
    let sizes = [0, 8, 16, 50, 100, 128, 256, 1024, 4096, 16_384];
    let time_us = |n: f64, h: f64| {
        let (t0, per_byte) = if n <= 100.0 { (79.0, 0.63) } else { (156.0, 0.41) };
        t0 + per_byte * n + 25.0 * (h - 1.0)
    };
    let of_hops = |hops: u64| {
        sizes.map(|n| {
            let params = [("hops", hops), ("length_bytes", n), ("procs", 8)];
            point(&params, time_us(sweep::real(n), sweep::real(hops)))
        })
    };
    [1, 2, 3].into_iter().flat_map(of_hops).collect()
}

fn made(points: &[Point], breakpoints: &[u64]) -> Vec<Model> {
    models(&points.iter().collect::<Vec<_>>(), breakpoints)
}

/// The values of those parameters of fit `index` that have one.
fn values(model: &Model, index: usize) -> Vec<f64> {
    model.fits[index].parameters.iter().filter_map(|parameter| parameter.value).collect()
}

#[track_caller]
fn assert_near(found: &[f64], expected: &[f64]) {
    let is_near = |(found, expected): (&f64, &f64)| (found / expected - 1.0).abs() < 1e-6;
    assert_eq!(found.len(), expected.len(), "{found:?}");
    assert!(found.iter().zip(expected).all(is_near), "{found:?} is not {expected:?}");
}

#[test]
fn the_sizes_of_each_distance_make_a_line_with_its_segments() {
    let models = made(&thesis(), &[]);
    let kinds: Vec<_> = models.iter().map(|model| &*model.model).collect();
    assert_eq!(kinds, ["line", "line", "line", "hops"]);
    let names: Vec<_> = models[0].fits.iter().map(|fit| &*fit.name).collect();
    assert_eq!(names, ["line", "segment", "segment", "parkbench_ols"]);
    assert_eq!(models[0].breakpoints[0].at, 100.0);
    assert_near(&values(&models[0], 1), &[79.0, 1.0 / 0.63, 79.0 / 0.63, 1e3 / 79.0]);
    assert_near(&values(&models[0], 2), &[156.0, 1.0 / 0.41, 156.0 / 0.41, 1e3 / 156.0]);
}

#[test]
fn a_segment_of_larger_sizes_has_an_intercept_and_no_startup_time() {
    let mut all = made(&thesis(), &[]);
    all.extend(made(&of_pairs(&[1, 2, 4, 8], 2500.0), &[1000]));
    let segments = all.iter().map(|model| &model.fits);
    let segments = segments.flatten().filter(|fit| fit.name == "segment");
    let n_outer = segments.filter(|fit| fit.from > 0.0).inspect(|fit| {
        let names: Vec<_> = fit.parameters.iter().map(|of| &*of.name).collect();
        assert_eq!(names[0], "intercept");
        assert!(!names.contains(&"t0"), "{names:?}");
    });
    assert!(n_outer.count() >= 5);
}

#[test]
fn without_a_startup_time_none_of_the_four_is_published() {
    // From 8 B on, 0.001 us a byte less 0.005 us: the line meets 0 before size 0.
    let of_size = |n: u64| point(&[("length_bytes", n)], 0.001 * sweep::real(n) - 0.005);
    let model = &made(&[8, 16, 64, 256, 1024].map(of_size), &[])[0];
    assert!(model.warnings.iter().any(|warning| warning == "t0_nonpositive"));
    for (index, fit) in model.fits.iter().enumerate() {
        let names: Vec<_> = fit.parameters.iter().map(|of| &*of.name).collect();
        assert_eq!(names, ["t0", "r_inf", "n_half", "pi0"]);
        assert_eq!(values(model, index), [0.0; 0]);
        assert!(fit.parameters.iter().all(|of| (of.low, of.high) == (None, None)));
    }
}

#[test]
fn a_rate_of_endless_messages_has_a_row_for_each_number_of_ranks() {
    let of_ranks = |n_ranks: u64| {
        [0, 8, 64, 512, 4096].map(|n| {
            let params = [("length_bytes", n), ("n_ranks", n_ranks), ("procs", n_ranks)];
            point(&params, 10.0 + sweep::real(n) / sweep::real(n_ranks))
        })
    };
    let models = made(&[8, 2, 4].map(of_ranks).concat(), &[]);
    let rates = models.iter().find(|model| model.model == "rates").unwrap();
    let rows = rates.fits.iter().map(|fit| (&*fit.name, value(&fit.parameters, "r_inf")));
    let rows: Vec<_> = rows.map(|(name, rate)| (name, rate.unwrap().round())).collect();
    assert_eq!(rows, [("P=2", 2.0), ("P=4", 4.0), ("P=8", 8.0)]);
    assert_eq!(rates.params, Params(Vec::new()));
    let alone = made(&of_ranks(2), &[]);
    assert!(alone.iter().all(|model| model.model != "rates"));
}

#[test]
fn times_that_do_not_depend_on_the_number_of_ranks_have_one_row() {
    let of_ranks = |n_ranks| point(&[("procs", n_ranks)], 156.0);
    let model = &made(&[2, 4, 8, 16, 32].map(of_ranks), &[])[0];
    let fits: Vec<_> = model.fits.iter().map(|fit| (&*fit.name, &*fit.law)).collect();
    assert_eq!(fits, [("no growth with P", "t = a")]);
    assert_near(&values(model, 0), &[156.0]);
}

#[test]
fn short_batches_are_a_warning() {
    let of_size = |n: u64| {
        let mut point = point(&[("length_bytes", n)], 1.0 + sweep::real(n));
        point.measured_mut().unwrap().quality.as_mut().unwrap().overhead_ns.clock = 30.0;
        point
    };
    let warnings = |sizes: [u64; 4]| made(&sizes.map(of_size), &[])[0].warnings.clone();
    assert_eq!(warnings([0, 8, 16, 32]), ["clock_share: up to 3 % of a time (at 0 B)"]);
    assert_eq!(warnings([2, 8, 16, 32]), [""; 0]);
}

#[test]
fn breakpoints_of_the_user_cut_where_they_are() {
    let model = &made(&thesis(), &[100])[0];
    let names: Vec<_> = model.fits.iter().map(|fit| (&*fit.name, fit.from, fit.to)).collect();
    let expected = [
        ("line", 0.0, 16_384.0),
        ("segment", 0.0, 100.0),
        ("segment", 128.0, 16_384.0),
        ("parkbench_ols", 0.0, 100.0),
        ("parkbench_ols", 128.0, 16_384.0),
    ];
    assert_eq!(names, expected);
    assert_near(&values(model, 3), &[79.0, 1.0 / 0.63, 79.0 / 0.63, 1e3 / 79.0]);
    assert_near(&values(model, 4), &[156.0, 1.0 / 0.41, 156.0 / 0.41, 1e3 / 156.0]);
    assert_eq!(model.fits[4].parameters[0].name, "t0", "PARKBENCH has it in each region");
    assert_eq!(model.breakpoints[0].low, None);
}

#[test]
fn three_distances_tell_what_a_hop_costs() {
    let mut points = thesis();
    let models = made(&points, &[]);
    let hops = models.iter().find(|model| model.model == "hops").unwrap();
    assert_eq!((hops.fits[1].to, hops.fits[2].from), (100.0, 128.0));
    assert_near(&values(hops, 1)[..3], &[79.0, 0.63, 25.0]);
    assert_near(&values(hops, 2)[..3], &[156.0, 0.41, 25.0]);
    points.retain(|point| point.number("hops").unwrap() < 3);
    assert!(made(&points, &[]).iter().all(|model| model.model == "line"));
}

#[test]
fn a_rate_is_that_of_all_bytes_that_an_operation_moves() {
    let of_size = |n: u64| {
        let mut point = point(&[("length_bytes", n)], 10.0 + 0.5 * sweep::real(n));
        point.measured_mut().unwrap().numbers.value.bytes_per_op = Some(12 * n);
        point
    };
    let model = &made(&[0, 8, 16, 32, 64].map(of_size), &[])[0];
    assert_eq!((&*model.x, &*model.x_unit), ("bytes_per_op", "B"));
    assert_near(&values(model, 0), &[10.0, 24.0, 240.0, 100.0, 20.0]);
}

#[test]
fn four_numbers_of_ranks_tell_how_a_time_grows() {
    let of_ranks = |(run, n_ranks): (usize, u64)| {
        let time_us = 3.0 + 2.0 * sweep::real(n_ranks).log2();
        let run_id = run.to_string();
        Point { run_id, ..point(&[("procs", n_ranks)], time_us) }
    };
    let points: Vec<_> = [2, 4, 6, 16, 24].into_iter().enumerate().map(of_ranks).collect();
    let models = made(&points, &[]);
    assert_eq!((models.len(), &*models[0].fits[0].law), (1, "t = a + b log2 P"));
    assert_near(&values(&models[0], 0)[..2], &[3.0, 2.0]);
    let sum: f64 = (0..5).map(|index| values(&models[0], index)[2]).sum();
    assert_near(&[sum], &[1.0]);
    assert_eq!(made(&points[..3], &[]), []);
}

#[test]
fn orders_tell_the_intensity_that_a_link_needs() {
    // 100 Mflop/s without communication, half of it at 20 operations for each word.
    let of_order = |order: u64| {
        let rate = 100.0 / (1.0 + 20.0 / sweep::real(order));
        let params = [("vector_length", 1000), ("order", order)];
        point(&params, 2.0 * sweep::real(order) * 1000.0 / rate)
    };
    let points = [1, 2, 4, 8, 10].map(of_order);
    let models = made(&points, &[]);
    assert_eq!((models.len(), &*models[0].model), (1, "intensity"));
    assert!(models[0].fits[0].law.contains("5 and 7 operations a point, two words a surface"));
    assert_near(&values(&models[0], 0), &[100.0, 20.0, 80.0, 128.0, 960.0 / 7.0]);
    // Without words that move between ranks, there is no intensity that pays for them.
    let local = |point| described(Point { class: "compute".into(), ..point });
    assert_eq!(made(&points.map(local), &[]), []);
}

/// Round trips of so many pairs, each of 4 us and at 1000 MB/s, and all at `per_node` MB/s.
fn of_pairs(numbers: &[u64], per_node: f64) -> Vec<Point> {
    let of = |pairs: u64, n: u64| {
        let rate = per_node.min(1000.0 * sweep::real(pairs));
        let time_us = 2.0 * (4.0 + sweep::real(pairs * n) / rate);
        point(&[("pairs", pairs), ("length_bytes", n)], time_us)
    };
    numbers.iter().flat_map(|k| [0, 1000, 10_000, 100_000].map(|n| of(*k, n))).collect()
}

#[test]
fn pairs_tell_the_rate_that_they_share() {
    let check = |per_node, expected: &[f64], warnings: &[&str]| {
        let models = made(&of_pairs(&[1, 2, 4, 8], per_node), &[1000]);
        let model = models.iter().find(|model| model.model == "max_rate").unwrap();
        assert_near(&values(model, 0)[..expected.len()], expected);
        assert_eq!(model.warnings, warnings);
        assert_eq!(model.params, Params(Vec::new()));
        let parts: Vec<_> = model.fits.iter().map(|fit| (&*fit.name, fit.to)).collect();
        assert_eq!(parts, [("max_rate", 1e5), ("segment", 1000.0), ("segment", 1e5)]);
    };
    check(2500.0, &[4.0, 1000.0, 2500.0, 4.0], &[]);
    check(1e9, &[4.0, 1000.0], &["no_shared_rate"]);
    let alone = made(&of_pairs(&[1], 2500.0), &[]);
    assert!(alone.iter().all(|model| model.model == "line"));
}

/// The same round trips, of which those of all pairs grow by `growth` for each pair, as the slowest of
/// many does, and the ranks that begin take the time of a pair.
fn of_own_times(growth: f64) -> Vec<Point> {
    let mut points = of_pairs(&[1, 2, 4, 8], 1e9);
    for point in &mut points {
        let n_pairs = point.number("pairs").unwrap();
        let numbers = &mut point.measured_mut().unwrap().numbers;
        let own_ns = numbers.quoted_ns.unwrap();
        numbers.quoted_ns = Some(own_ns * (1.0 + growth * sweep::real(n_pairs)));
        let begin = (0..n_pairs).map(|pair| own_ns * (1.0 + 1e-6 * sweep::real(pair)));
        let per_rank = begin.chain((0..n_pairs).map(|_| own_ns / 2.0)).collect();
        let [min, max, avg] = [own_ns; 3];
        let ranks = crate::record::RanksNs { min, max, avg, argmax: 0, per_rank };
        point.measured_mut().unwrap().ranks_ns = Some(ranks);
    }
    points
}

#[test]
fn the_slowest_of_many_pairs_shows_no_shared_rate() {
    let of_max_rate = |points: &[Point]| {
        let models = made(points, &[]);
        models.into_iter().find(|model| model.model == "max_rate").unwrap()
    };
    let model = of_max_rate(&of_own_times(0.05));
    assert_eq!(model.warnings, ["no_shared_rate"]);
    let found = &values(&model, 0)[..2];
    assert!(found.iter().zip([4.0, 1000.0]).all(|(a, b)| (a / b - 1.0).abs() < 1e-4), "{found:?}");
}

#[test]
fn a_value_whose_interval_says_nothing_is_left_out_with_it() {
    let check = |low, high, unit, expected: Option<f64>| {
        let found = sweep::parameter("x", unit, Some(5.0), Some(Range { low, high }));
        let found = ranges::informative(found);
        assert_eq!((found.value, found.low.is_some()), (expected, expected.is_some()), "{unit}");
    };
    check(17.0, 52_741.0, "MB/s", None);
    check(-3.0, 20.0, "B", None);
    check(-3.0, 20.0, "us", Some(5.0));
    check(4.0, 6.0, "MB/s", Some(5.0));
    assert_eq!(ranges::informative(sweep::parameter("x", "B", Some(5.0), None)).value, Some(5.0));
}

/// Six launches of an echo of 2 us and 1 ns a byte, each with a speed of its own; a point lacks the
/// launch `lacking`.
fn of_launches(lacking: Option<u32>) -> Vec<Point> {
    const FACTORS: [f64; 6] = [1.03, 0.98, 1.01, 1.05, 0.96, 1.0];
    let of_size = |n: u64| {
        let time_us = 2.0 + 1e-3 * sweep::real(n);
        let mut point = point(&[("length_bytes", n), ("procs", 2)], time_us * 1.005);
        let all = (1..).zip(FACTORS).filter(|(number, _)| Some(*number) != lacking || n != 64);
        let (numbers, quoted_ns): (_, Vec<f64>) =
            all.map(|(number, factor)| (number, 1e3 * time_us * factor)).unzip();
        let (slices, period_s, variance_between) = (vec![1; quoted_ns.len()], 24.0, 1e-3);
        let rest = Launches::default();
        point.launches =
            Some(Launches { quoted_ns, numbers, slices, period_s, variance_between, ..rest });
        point
    };
    [0, 8, 64, 512, 4096, 32_768].map(of_size).into()
}

#[test]
fn a_range_holds_what_all_lengths_of_a_launch_share() {
    let check = |lacking, t0: f64, low, high, n_launches| {
        let model = &made(&of_launches(lacking), &[])[0];
        let found = &model.fits[0].parameters[0];
        let ends = [found.value, found.low, found.high].map(Option::unwrap);
        assert_near(&ends, &[t0, low, high]);
        assert_eq!(model.launches, Some(n_launches));
        let rate = &model.fits[0].parameters[1];
        assert!(rate.low < Some(1000.0) && rate.high > Some(1000.0), "{rate:?}");
    };
    // Of six, a bound lies 5 / 14 of the way from the outer to the next one.
    let toward = |outer: f64, inner: f64| 2.0 * (outer + 5.0 / 14.0 * (inner - outer));
    check(None, 2.0 * 1.005, toward(0.96, 0.98), toward(1.05, 1.03), 6);
    let five = Estimate::of_launches(&[2.06, 1.96, 2.02, 2.1, 2.0]);
    let range = five.range.unwrap();
    check(Some(5), five.value, range.low, range.high, 5);
}

#[test]
fn launches_that_agree_hide_no_scatter() {
    let mut points = of_launches(None);
    for (index, point) in points.iter_mut().enumerate() {
        let bend = 1.0 + 0.02 * [1.0, -1.0, -1.0, 1.0, 1.0, -1.0][index];
        let quoted_ns = point.quoted_ns().unwrap() * bend;
        point.measured_mut().unwrap().numbers.quoted_ns = Some(quoted_ns);
        point.launches.as_mut().unwrap().quoted_ns = vec![quoted_ns; 6];
    }
    let t0 = &made(&points, &[])[0].fits[0].parameters[0];
    assert!(t0.high.unwrap() > 1.01 * t0.low.unwrap(), "{t0:?}");
}

#[test]
fn a_sweep_of_one_launch_has_the_ranges_of_one_fit() {
    let model = &made(&thesis(), &[])[0];
    assert_eq!(model.launches, None);
    assert!(model.fits[1].parameters[0].low.is_some());
}

#[test]
fn a_narrow_piece_is_left_out_alone() {
    let sizes = [0, 8, 64, 256, 512, 1010, 1020, 1030, 1040, 2080, 4096, 16_384, 65_536];
    let time_us = |n: u64| match n {
        ..1010 => 1.0 + 1e-3 * sweep::real(n),
        1010..=1040 => 20.0,
        _ => 5.0 + 0.5e-3 * sweep::real(n),
    };
    let points = sizes.map(|n| point(&[("length_bytes", n)], time_us(n)));
    let model = &made(&points, &[])[0];
    let segments = model.fits.iter().filter(|fit| fit.name == "segment");
    let segments: Vec<_> = segments.map(|fit| (fit.from, fit.to)).collect();
    assert_eq!(segments, [(0.0, 512.0), (2080.0, 65_536.0)]);
    assert!(model.warnings[0].starts_with("no_segment: no line from 1010 to 1040"));
    assert_eq!(model.fits[0].quality.verdict, FitGrade::Segment);
    assert!(model.fits[0].parameters.iter().all(|of| of.value.is_some() && of.low.is_none()));
}

#[test]
fn no_startup_time_stands_without_a_rate() {
    let of_size = |n: u64| point(&[("length_bytes", n)], 3.5 - 1e-9 * sweep::real(n));
    let model = &made(&[0, 8, 64, 256, 1024].map(of_size), &[])[0];
    assert_eq!(model.warnings, ["rate_not_identifiable"]);
    assert_eq!(values(model, 0), [0.0; 0]);
}

#[test]
fn a_poor_fit_has_no_intervals() {
    let times = [10.0, 11.0, 30.0, 12.0, 90.0, 13.0, 60.0, 15.0];
    let of = |(i, time): (usize, f64)| point(&[("length_bytes", 64 << i)], time);
    let points: Vec<Point> = times.into_iter().enumerate().map(of).collect();
    let models = made(&points, &[]);
    let poor: Vec<&Fit> =
        models[0].fits.iter().filter(|fit| fit.quality.verdict == FitGrade::Poor).collect();
    assert!(!poor.is_empty(), "{models:?}");
    let parameters = poor.iter().flat_map(|fit| &fit.parameters);
    assert!(parameters.clone().any(|of| of.value.is_some()));
    assert!(parameters.clone().all(|of| (of.low, of.high) == (None, None)));
}

#[test]
fn few_or_failed_points_make_no_model() {
    let mut points = thesis();
    assert_eq!(made(&points[..3], &[]), []);
    points.iter_mut().for_each(|point| point.outcome = Outcome::default());
    assert_eq!(made(&points, &[]), []);
}

const SIZE: &str = "length_bytes";
const DELAY: &str = "vector_length";
const SERIES: [&str; 4] = ["round_trip", "sends", "receives", "work"];
/// `L`, `o_s`, `o_r`, `g` in us and `G` in us/B.
const PLANTED: [f64; 5] = [5.0, 1.2, 1.5, 2.5, 0.004];

/// The four series of a case whose delay takes this long, in slices that are slowed by these
/// shares of their time.
fn train(l: f64, size: u64, delay_us: f64, slowed: &[f64]) -> Vec<Point> {
    let [_, o_s, o_r, g, per_byte] = PLANTED;
    let rest = sweep::real(size - 1) * per_byte;
    let round_trip = 2.0 * (o_s + l + o_r + rest);
    let (send, receive) = match delay_us {
        0.0 => (g + rest, g + rest),
        delay => (o_s + delay, o_r + delay),
    };
    let gaps = [0.0, send, receive, delay_us].map(|each| 15.0 * each);
    let times = [round_trip, round_trip + gaps[1], round_trip + gaps[2], gaps[3]];
    let slices = |time: f64| slowed.iter().map(|share| time * (1.0 + share)).collect();
    let slices = times.map(|time| -> Vec<f64> { slices(time) });
    let series = SERIES.iter().zip(slices);
    let params = [(SIZE, size), (DELAY, u64::from(delay_us > 0.0))];
    series.map(|(name, slices)| of_slices("model/injection", name, &params, &slices)).collect()
}

/// Sizes with and without this delay.
fn trains(l: f64, delay_us: f64) -> Vec<Point> {
    let slowed = [-0.02, -0.01, 0.0, 0.01, 0.02];
    let both = |size| [0.0, delay_us].map(|delay_us| train(l, size, delay_us, &slowed));
    [1, 64, 1024, 4096, 16_384].into_iter().flat_map(both).flatten().collect()
}

fn loggp(points: &[Point]) -> Vec<Model> {
    made(points, &[]).into_iter().filter(|model| model.model == "loggp").collect()
}

#[test]
fn trains_tell_the_planted_parameters() {
    let made = loggp(&trains(5.0, 200.0));
    assert_eq!((made.len(), made[0].fits.len(), &made[0].variant), (1, 1, &None));
    let netgauge = 7.7;
    let planted = PLANTED.into_iter().chain([netgauge]);
    for (found, planted) in made[0].fits[0].parameters.iter().zip(planted) {
        assert!((found.value.unwrap() / planted - 1.0).abs() < 1e-6, "{found:?}: {planted}");
        let (low, high) = (found.low.unwrap(), found.high.unwrap());
        assert!(low < planted && planted < high, "{found:?}");
    }
    assert_eq!(made[0].warnings, [""; 0]);
}

#[test]
fn what_is_not_known_is_said() {
    let check = |l, delay_us, expected: &[&str]| {
        assert_eq!(loggp(&trains(l, delay_us))[0].warnings, expected);
    };
    // On shared memory, what the sender does and what the receiver does overlap.
    check(-0.1, 200.0, &["latency_not_identifiable"]);
    // A round trip of 16 KiB takes 146 us.
    check(5.0, 100.0, &["short_delay"]);
}

#[test]
fn few_sizes_or_delays_make_no_model() {
    let without = |is_out: &dyn Fn(&Point) -> bool| {
        loggp(&trains(5.0, 200.0).into_iter().filter(|point| !is_out(point)).collect::<Vec<_>>())
    };
    assert_eq!(without(&|point| point.number(SIZE) > Some(1024)), []);
    assert_eq!(without(&|point| point.number(DELAY) == Some(1)), []);
    assert_eq!(without(&|point| point.variant.as_deref() == Some("work")), []);
}

#[test]
fn shares_follow_from_the_slices_of_four_times() {
    let check = |times_ns: [f64; 4], speeds: &[f64], expected: &[f64]| {
        let names = ["exchange", "daxpy", "synchronous", "asynchronous"];
        let series = names.into_iter().zip(times_ns).map(|(name, ns)| {
            let slices: Vec<f64> = speeds.iter().map(|speed| ns / 1e3 * speed).collect();
            Point { class: "overlap".into(), ..of_slices("comet/overlap", name, &[], &slices) }
        });
        let points: Vec<Point> = series.map(described).collect();
        let made = made(&points, &[]);
        let marks: Vec<_> = made.iter().flat_map(|model| &model.marks).collect();
        let is_known = expected.iter().all(|share| is_plausible(*share));
        assert!(made.iter().all(|model| model.warnings.is_empty() == is_known), "{made:?}");
        assert_eq!((made.len(), marks.len()), (expected.len() / 4, expected.len()));
        for (mark, expected) in marks.into_iter().zip(expected) {
            assert!((mark.value.unwrap() - expected).abs() < 1e-12, "{mark:?}");
            assert_eq!(
                mark.low.is_some() && mark.high.is_some(),
                is_plausible(*expected),
                "{mark:?}"
            );
        }
    };
    // A transfer of 100 behind work of 50, all of the work hidden, and speeds that change between
    // slices.
    let speeds = [1.0, 1.1, 0.9, 1.3, 1.0];
    check([100.0, 50.0, 150.0, 100.0], &speeds, &[1.0, 0.5, 0.5, 1.0 / 3.0]);
    // Little work, and a disturbance of the transfer that is hidden behind it.
    check([100.0, 1.0, 101.0, 201.0], &speeds, &[-100.0, -1.0, -1.0, -100.0 / 101.0]);
    // Without work there is nothing to share.
    check([1.0, 0.0, 1.0, 1.0], &[1.0], &[]);
}
