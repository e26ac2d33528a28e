//! Share hidden behind work, from the points of `comet/overlap`: four shares, by the definitions of
//! four sources, with intervals from the slices of the four times together.

use comet_stats::fit::{Estimate, Overlap, OverlapTimes};

use super::wire::{blank, parameter};
use crate::record::{Model, Parameter, Point};

/// The times of a slice, in this order.
const SERIES: [&str; 4] = ["exchange", "daxpy", "asynchronous", "synchronous"];

/// The shares of each case that has work to hide.
pub(super) fn models(points: &[&Point], _breakpoints: &[u64]) -> Vec<Model> {
    let is_first = |point: &&&Point| {
        (point.suite.as_str(), point.kernel.as_str()) == ("comet", "overlap")
            && point.variant.as_deref() == Some(SERIES[0])
    };
    points.iter().filter(is_first).filter_map(|first| model(first, points)).collect()
}

fn model(first: &Point, points: &[&Point]) -> Option<Model> {
    let slices = SERIES.map(|name| slices_ns(first, points, name));
    let [exchange, daxpy, asynchronous, synchronous] = slices;
    let (exchange, daxpy) = (exchange?, daxpy?);
    let (asynchronous, synchronous) = (asynchronous?, synchronous?);
    let lengths = [exchange, daxpy, asynchronous, synchronous].map(<[f64]>::len);
    let times = (0..lengths.into_iter().min()?).map(|slice| OverlapTimes {
        communication: exchange[slice],
        work: daxpy[slice],
        test: 0.0,
        overlapped: asynchronous[slice],
        sequential: synchronous[slice],
    });
    let shares = Overlap::of(&times.collect::<Vec<_>>()).ok()?;
    let mut model = blank(&[first], &[], "overlap", ["", ""]);
    // All series together make the model.
    model.variant = None;
    model.marks = marks(&shares);
    Some(model)
}

/// Medians of the slices of the series `name` in the case of `first`, in nanoseconds.
fn slices_ns<'a>(first: &Point, points: &[&'a Point], name: &str) -> Option<&'a [f64]> {
    let is_of_case = |point: &&&Point| {
        (&point.run_id, &point.kernel, &point.params)
            == (&first.run_id, &first.kernel, &first.params)
    };
    let mut of_case = points.iter().filter(is_of_case);
    let series = of_case.find(|point| point.variant.as_deref() == Some(name))?;
    Some(&series.quality.as_ref()?.slice_medians_ns)
}

fn marks(shares: &Overlap) -> Vec<Parameter> {
    let of = |name, share: Estimate| parameter(name, "", Some(share.value), share.range);
    vec![
        of("overlap_share", shares.imb_min),
        of("overlap_share_imb_nbc", shares.imb_nbc),
        of("overlap_share_osu", shares.osu),
        of("improvement", shares.thesis_gain),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::points::PointMaker;

    fn point(variant: &str, slices_ns: &[f64]) -> Point {
        let mut points = PointMaker::new("id", &fixture::topology()).measured(&fixture::overlap());
        let mut point = points.remove(0);
        point.variant = Some(variant.into());
        point.quality.as_mut().unwrap().slice_medians_ns = slices_ns.to_vec();
        point
    }

    #[test]
    fn shares_follow_from_the_slices_of_four_times() {
        // A transfer of 100 behind work of 50, all of the work hidden, and speeds that change
        // between slices.
        let speeds = [1.0, 1.1, 0.9, 1.3, 1.0];
        let series = |name, ns: f64| point(name, &speeds.map(|speed| ns * speed));
        let points = [
            series("exchange", 100.0),
            series("daxpy", 50.0),
            series("asynchronous", 100.0),
            series("synchronous", 150.0),
        ];
        let made = models(&points.iter().collect::<Vec<_>>(), &[]);
        assert_eq!(made.len(), 1);
        for (mark, expected) in made[0].marks.iter().zip([1.0, 0.5, 0.5, 1.0 / 3.0]) {
            assert!((mark.value.unwrap() - expected).abs() < 1e-12, "{mark:?}");
            assert!(mark.low.is_some() && mark.high.is_some(), "{mark:?}");
        }
    }

    #[test]
    fn a_case_without_work_has_no_shares() {
        let points = [
            point("exchange", &[1.0]),
            point("daxpy", &[0.0]),
            point("asynchronous", &[1.0]),
            point("synchronous", &[1.0]),
        ];
        assert_eq!(models(&points.iter().collect::<Vec<_>>(), &[]), []);
    }
}
