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
fn shares_of([overlapped, pure, compute]: [&Summary; 3]) -> Option<fit::Overlap> {
    let times = OverlapTimes {
        communication: pure.median,
        work: compute.median,
        test: 0.0,
        overlapped: overlapped.median,
        sequential: pure.median + compute.median,
    };
    fit::Overlap::of(&[times]).ok()
}

/// Formulas of the thesis, of IMB-NBC and of OSU, in the names of the series of most kernels.
const FORMULAS: [&str; 3] = [
    "(t_pure + t_CPU - t_ovrl) / min(t_pure, t_CPU), with the medians of pure, compute and \
     overlapped",
    "(t_pure + t_CPU - t_ovrl) / max(t_pure, t_CPU), clipped to 0..1, with those medians",
    "1 - (t_ovrl - t_CPU) / t_pure, clipped at 0, with those medians",
];

/// Figures of an operation: the hidden shares by the medians of it beside the work, of it alone and of the work
/// alone.
pub(crate) fn figures_of(summaries: [&Summary; 3]) -> [Derived; 3] {
    figures(shares_of(summaries), FORMULAS)
}

/// Figures with the shares by the three formulas, which are written in the names of a kernel's series.
pub(crate) fn figures(
    shares: Option<fit::Overlap>,
    [thesis, imb_nbc, osu]: [&'static str; 3],
) -> [Derived; 3] {
    let of = |name, formula, value: fn(&fit::Overlap) -> f64| {
        Derived::of(name, formula, shares.as_ref().map(value))
    };
    [
        of("overlap_share", thesis, |shares| shares.imb_min.value),
        of("overlap_share_imb_nbc", imb_nbc, |shares| shares.imb_nbc.value.clamp(0.0, 1.0)),
        of("overlap_share_osu", osu, |shares| shares.osu.value.max(0.0)),
    ]
}
