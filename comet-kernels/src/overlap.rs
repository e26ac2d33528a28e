//! Operations beside busy work: the axis with its length, and the shares that are hidden, by three formulas.

use comet_core::kernel::AxisKind;
use comet_core::kernel::prelude::*;
use comet_stats::fit::{self, OverlapTimes};

/// Length of the busy work.
pub(crate) static WORK_US: Axis =
    Axis::size("work_us", "work in us", "us", "wanted length of the busy work in microseconds")
        .of_kind(AxisKind::Count);

/// The hidden shares by the medians of the operation beside the work, of the operation alone and of the work
/// alone; `None` where one takes no time.
pub(crate) fn shares_of([overlapped, pure, compute]: [&Summary; 3]) -> Option<fit::Overlap> {
    let times = OverlapTimes {
        communication: pure.median,
        work: compute.median,
        test: 0.0,
        overlapped: overlapped.median,
        sequential: pure.median + compute.median,
    };
    fit::Overlap::of(&[times]).ok()
}

/// Figures with the shares by the formulas of the thesis, of IMB-NBC and of OSU.
pub(crate) fn figures(shares: Option<fit::Overlap>) -> Vec<Derived> {
    vec![
        Derived::of(
            "overlap_share",
            "(t_pure + t_CPU - t_ovrl) / min(t_pure, t_CPU), with the medians of pure, compute \
             and overlapped",
            shares.map(|shares| shares.imb_min.value),
        ),
        Derived::of(
            "overlap_share_imb_nbc",
            "(t_pure + t_CPU - t_ovrl) / max(t_pure, t_CPU), clipped to 0..1, with those medians",
            shares.map(|shares| shares.imb_nbc.value.clamp(0.0, 1.0)),
        ),
        Derived::of(
            "overlap_share_osu",
            "1 - (t_ovrl - t_CPU) / t_pure, clipped at 0, with those medians",
            shares.map(|shares| shares.osu.value.max(0.0)),
        ),
    ]
}
