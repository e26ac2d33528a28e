//! Tests of the barriers about a timed loop.

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

use super::*;
use crate::conformance::twisted::{Twist, Twisted};
use crate::definition::Quantity;
use crate::kernel::{Series, Timing};
use crate::local::{self, Local};
use crate::sync::StartSync;

/// Notes each barrier as a `|`.
#[derive(Clone, Debug, Default)]
struct Log(Rc<RefCell<String>>);

impl Twist for Log {
    fn barrier(&self, inner: &Local) -> Result<()> {
        self.0.borrow_mut().push('|');
        inner.barrier()
    }
}

static LOOP: KernelInfo = KernelInfo {
    series: &[Series::of("op", Quantity::OpTime, Definition::LoopMean)],
    timing: Timing::Pipelined,
    ..KernelInfo::collective("test")
};
static CALLS: KernelInfo = KernelInfo {
    series: &[Series::of("op", Quantity::OpTime, Definition::CallMean)],
    timing: Timing::Single,
    ..LOOP
};

/// Checks the order of barriers and operations where three of these go before, and two are timed:
/// in one interval, or in one each.
#[track_caller]
fn check(info: &'static KernelInfo, sync: StartSync, n_barriers: u32, expected: &str) {
    let (repetitions, n_samples) = if info.timing == Timing::Single { (1, 2) } else { (2, 1) };
    let pace = Pace { sync, ..Pace::new(repetitions, n_samples, 3) };
    let logs = local::run(3, |inner| {
        let t = Twisted { inner: Cow::Borrowed(inner), twist: Log::default() };
        let method = Method { n_barriers, ..Method::default() };
        let mut cx = Context::new(&t, info, pace, method, None);
        cx.have_all_repeat();
        let run = |t: &Twisted<'_, Log>| {
            t.twist.0.borrow_mut().push('o');
            Ok(())
        };
        // The last rank has no part.
        let has_part = t.rank() < 2;
        let done = if has_part { cx.time(0, run) } else { cx.follow(0, |_| Ok(())) };
        done.expect("no rank fails");
        t.twist.0.take()
    });
    let barriers: String = expected.chars().filter(|c| *c == '|').collect();
    assert_eq!(logs, [expected, expected, &barriers]);
}

#[test]
fn two_barriers_are_before_the_first_clock_read_by_the_rules_of_imb() {
    check(&LOOP, StartSync::Barrier, 0, "ooooo");
    check(&LOOP, StartSync::Barrier, 2, "ooo||oo");
    // A barrier of its own is before each call.
    check(&CALLS, StartSync::Barrier, 0, "|o|o|o|o|o");
    check(&CALLS, StartSync::Barrier, 2, "|o|o|o||o|o");
    check(&CALLS, StartSync::None, 2, "ooo||oo");
    check(&CALLS, StartSync::DoubleBarrier, 2, "||o||o||o||o||o");
}
