//! Models: what the points of a sweep say together, beyond what each of them says.
//!
//! ```text
//!   sizes    t = t0 + n / r_inf                over message or vector lengths
//!   hops     t = t0 + n per_byte + (h-1) per_hop   over lengths and distances
//!   procs    t = a + b f(P)                    over numbers of ranks, of all runs of a file
//!   order    r = r_hat / (1 + f_half / f)      over the work on each word (POLY1 to POLY3)
//!   loggp    t = o_s + L + o_r + (s-1) G       over lengths, from trains of messages
//!   max_rate t = t0 + k n / min(R_N, k R_C)    over lengths and numbers of pairs
//!   overlap  the hidden share, four ways       of each case of comet/overlap
//! ```
//!
//! The mathematics is in `comet_stats::fit`. Times are fitted in us, so that a rate in units of size
//! over us is one in 10^6 of them a second.

mod hops;
mod loggp;
mod max_rate;
mod order;
mod overlap;
mod procs;
mod sizes;
pub(crate) mod sweep;
mod wire;

use crate::record::{Model, Point};

/// Makes the models of one kind from points, with breakpoints of the user's.
type Maker = fn(&[&Point], &[u64]) -> Vec<Model>;

/// The kinds of models.
const MAKERS: &[Maker] = &[
    sizes::models,
    hops::models,
    procs::models,
    order::models,
    loggp::models,
    max_rate::models,
    overlap::models,
];

/// The models of all sweeps among `points`; those without numbers are passed over.
///
/// The sweeps over sizes are cut at `breakpoints`, in the unit of the swept axis, or, without any,
/// where the points themselves show a break.
#[must_use]
pub fn models(points: &[&Point], breakpoints: &[u64]) -> Vec<Model> {
    MAKERS.iter().flat_map(|make| make(points, breakpoints)).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::fixture;
    use crate::points::PointMaker;
    use crate::record::{Param, Params};

    /// A point of the kernel `comet/echo` with these parameters, and a median of `time_us`.
    fn point(params: &[(&str, u64)], time_us: f64) -> Point {
        let mut points = PointMaker::new("id", &fixture::topology()).measured(&fixture::echo(8));
        let mut point = points.remove(0);
        let param = |(name, value): &(&str, u64)| ((*name).to_owned(), Param::Number(*value));
        point.params = Params(params.iter().map(param).collect());
        point.quoted_ns = Some(time_us * 1e3);
        let length = params.iter().find(|(name, _)| *name == "length_bytes");
        point.value.as_mut().unwrap().bytes_per_op = length.map(|(_, length)| *length);
        point
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
        assert_eq!(models[0].fits[2].parameters[0].name, "intercept");
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
        points.retain(|point| sweep::number(point, "hops").unwrap() < 3);
        assert!(made(&points, &[]).iter().all(|model| model.model == "line"));
    }

    #[test]
    fn a_rate_is_that_of_all_bytes_that_an_operation_moves() {
        let of_size = |n: u64| {
            let mut point = point(&[("length_bytes", n)], 10.0 + 0.5 * sweep::real(n));
            point.value.as_mut().unwrap().bytes_per_op = Some(12 * n);
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
        let models = made(&[1, 2, 4, 8, 10].map(of_order), &[]);
        assert_eq!((models.len(), &*models[0].model), (1, "intensity"));
        assert_near(&values(&models[0], 0), &[100.0, 20.0, 80.0, 128.0, 960.0 / 7.0]);
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

    #[test]
    fn few_or_failed_points_make_no_model() {
        let mut points = thesis();
        assert_eq!(made(&points[..3], &[]), []);
        points.iter_mut().for_each(|point| point.status = crate::record::PointStatus::Failed);
        assert_eq!(made(&points, &[]), []);
    }
}
