//! Operations beside busy work: the axis with its length, and the shares that are hidden.

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
