//! Runs over a transport whose ranks 0 and 1 move between cores, as a script has it.

use std::borrow::Cow;
use std::cell::Cell;

use super::fake::{Collector, FIRST, SECOND, brief};
use crate::conformance::twisted::{Twist, Twisted};
use crate::context::Context;
use crate::driver::{conduct, follow};
use crate::error::KernelError;
use crate::error::Result;
use crate::event::Measurement;
use crate::kernel::{Case, Kernel, KernelInfo};
use crate::local::{self, Local};
use crate::transport::Transport;

/// The local transport with times of a cache line that the test chooses.
type Moving<'a> = Twisted<'a, Script<'a>>;

/// What the transport tells.
#[derive(Clone, Debug)]
struct Script<'a> {
    /// The times to come, in nanoseconds; the last one stays.
    script_ns: &'a [f64],
    n_readings: Cell<usize>,
    /// How many times too fast the clock is.
    clock_factor: u64,
}

impl Twist for Script<'_> {
    fn now_ns(&self, inner: &Local) -> u64 {
        inner.now_ns() * self.clock_factor
    }

    fn line_time_ns(&self, inner: &Local) -> Result<Option<f64>> {
        // All ranks are to take part in each reading.
        inner.barrier()?;
        let index = self.n_readings.replace(self.n_readings.get() + 1);
        let has_part = inner.rank() < 2;
        Ok(self.script_ns.get(index).or(self.script_ns.last()).copied().filter(|_| has_part))
    }
}

/// A kernel of barriers.
struct Barriers(&'static KernelInfo);

impl<'a> Kernel<Moving<'a>> for Barriers {
    fn info(&self) -> &'static KernelInfo {
        self.0
    }

    fn verify(
        &self,
        _: &mut Context<'_, Moving<'a>>,
        _: &Case,
    ) -> std::result::Result<(), KernelError> {
        Ok(())
    }

    fn measure(
        &self,
        cx: &mut Context<'_, Moving<'a>>,
        _: &Case,
    ) -> std::result::Result<(), KernelError> {
        cx.time_on(0, 0, Transport::barrier)?;
        cx.time(1, Transport::barrier)?;
        Ok(())
    }
}

/// What rank 0's listener hears of two kernels on three ranks with a clock that is so many times
/// too fast.
fn hear(script_ns: &[f64], clock_factor: u64) -> Collector {
    let kernels = [Barriers(&FIRST), Barriers(&SECOND)];
    let cases = kernels.each_ref().map(|kernel| Case::new(kernel.0, &[]));
    let heard = local::run(3, |inner| {
        let twist = Script { script_ns, clock_factor, n_readings: Cell::new(0) };
        let t = Moving { inner: Cow::Borrowed(inner), twist };
        let kernels = kernels.each_ref().map(|kernel| kernel as &dyn Kernel<Moving<'_>>);
        let mut heard = Collector::default();
        let end = if t.rank() == 0 {
            conduct(&t, &kernels, &cases, &brief(), &mut heard).expect("the run ends")
        } else {
            follow(&t, &kernels, &brief()).expect("the run ends")
        };
        assert_eq!(end.n_ok, 2);
        heard
    });
    heard.into_iter().next().expect("there is a rank 0")
}

/// The times of the line around each measurement.
fn readings(heard: &Collector) -> Vec<Vec<f64>> {
    let of_measurement =
        |m: &Measurement| m.line_times.clone().map_or(Vec::new(), |times| times.readings_ns);
    heard.measurements.iter().map(of_measurement).collect()
}

#[test]
fn cores_that_move_are_told_of_after_the_kernel_that_they_spoil() {
    let heard = hear(&[112.0, 24.0], 1);
    let expected = [
        "run started",
        "started first",
        "finished first",
        "cores moved around first",
        "started second",
        "finished second",
        "run finished",
    ];
    assert_eq!(heard.log, expected);
    assert_eq!(heard.start.as_ref().and_then(|start| start.line_ns), Some(112.0));
    let readings = readings(&heard);
    assert_eq!((readings[0].first(), readings[0].last()), (Some(&112.0), Some(&24.0)));
    assert!(readings[1].len() >= 2 && readings[1].iter().all(|ns| *ns == 24.0), "{readings:?}");
}

#[test]
fn cores_that_stay_are_not_told_of() {
    let heard = hear(&[112.0, 120.0, 104.0], 1);
    assert!(heard.log.iter().all(|event| !event.starts_with("cores moved")), "{:?}", heard.log);
    assert!(readings(&heard).iter().all(|of_case| of_case.len() >= 2));
}

#[test]
fn a_long_group_is_looked_at_before_each_slice() {
    let heard = hear(&[112.0], 1_000_000);
    // Once before the group, four times before a slice, and once after the last.
    let n_readings: Vec<usize> = readings(&heard).iter().map(Vec::len).collect();
    assert!(n_readings.iter().all(|n| *n >= 6), "{n_readings:?}");
}

#[test]
fn where_the_transport_does_not_tell_nothing_is_asked_again() {
    let heard = hear(&[], 1);
    assert_eq!(heard.start.as_ref().and_then(|start| start.line_ns), None);
    assert!(heard.measurements.iter().all(|measurement| measurement.line_times.is_none()));
}
