//! Share hidden behind work, from messages beside work: four shares, by the definitions of
//! four sources, with intervals from the slices of the four times together.

use comet_stats::fit::{Estimate, Overlap, OverlapTimes};

use super::sweep::{Sweep, slices_ns};
use super::wire::parameter;
use crate::record::{Model, Parameter};

/// The shares of one case that has work to hide; its first series is the point of `sweep`.
pub(super) fn model(sweep: Sweep<'_>, _: &[u64]) -> Option<Model> {
    let first = sweep.points[0];
    let of_series = |index| slices_ns(sweep.series(first, index)?);
    let [exchange, work] = [of_series(0)?, of_series(1)?];
    let [sequential, overlapped] = [of_series(2)?, of_series(3)?];
    let lengths = [exchange, work, sequential, overlapped].map(<[f64]>::len);
    let times = (0..lengths.into_iter().min()?).map(|slice| OverlapTimes {
        communication: exchange[slice],
        work: work[slice],
        test: 0.0,
        overlapped: overlapped[slice],
        sequential: sequential[slice],
    });
    let shares = Overlap::of(&times.collect::<Vec<_>>()).ok()?;
    // All series together make the model, and none of their intervals weighs.
    let (variant, weights) = (None, "relative".into());
    Some(Model { variant, weights, marks: marks(&shares), ..sweep.model("overlap", ["", ""]) })
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
    use super::super::models;
    use crate::fixture;
    use crate::older::described;
    use crate::points::PointMaker;
    use crate::record::Point;

    fn point(variant: &str, slices_ns: &[f64]) -> Point {
        let mut points = PointMaker::new("id", &fixture::topology()).measured(&fixture::overlap());
        let mut point = points.remove(0);
        (point.class, point.variant) = ("overlap".into(), Some(variant.into()));
        point.quality.as_mut().unwrap().slice_medians_ns = slices_ns.to_vec();
        described(point)
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
