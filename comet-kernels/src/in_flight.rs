//! Collectives in flight, as several families of kernels measure them: one rank's calls alone, beside busy
//! work, and the work alone.

use comet_core::busy::Busy;
use comet_core::collective::{Kind, Prepared, share};
use comet_core::kernel::prelude::*;
use comet_core::layout::Packing;
use comet_core::sync::late;

use crate::calls::{self, Calls, Part, Spec};
use crate::overlap::WORK_US;

/// Calls that test an operation in flight, each behind an equal piece of the work.
pub(crate) static TEST_CALLS: Axis = Axis::count(
    "test_calls",
    "test calls",
    "calls that test an operation beside work, spread evenly",
);

pub(crate) const BY_WORK: AxisUse = AxisUse::of(&WORK_US, "0");
pub(crate) const BY_TEST_CALLS: AxisUse = AxisUse::of(&TEST_CALLS, "0");

/// Number of the series with the operation alone.
const PURE: usize = 0;

/// Work beside an operation of which no time is known yet, in nanoseconds.
const UNKNOWN_NS: u64 = 1000;

/// Parts of what is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parts {
    /// The operation: its start, and the wait for it.
    Call,
    /// The operation with work between its start and the wait for it.
    Both,
    /// The same in laps, each of which ends by a clock read.
    Laps,
    /// The work.
    Work,
}

/// Laps of an operation beside work, in the order of their series.
#[derive(Clone, Copy, Debug)]
enum Lap {
    Start,
    Work,
    Test,
    Wait,
}

/// Facts about a kernel of OSU that starts the collective of a spec.
pub(crate) trait Started {
    /// The kernel.
    const SPEC: Spec;

    /// Time of the operation alone, the mean over all ranks.
    const PURE: Series = Series::of("pure", Quantity::OpTime, Definition::CallMean)
        .moving(|case, world| {
            let moves = !matches!(Self::SPEC.kind, Kind::Barrier);
            moves.then(|| calls::moved_bytes(&Self::SPEC, case, world.n_ranks))
        })
        .rated(calls::rates_of(&Self::SPEC));

    /// Its description, without file, axes and series.
    const INFO: KernelInfo = KernelInfo {
        name: Self::SPEC.name,
        summary: Self::SPEC.summary,
        class: match Self::SPEC.kind {
            Kind::Barrier => Class::Synchronisation,
            _ => Class::Collective,
        },
        aliases: Self::SPEC.aliases,
        admits: |case, world| calls::admit(&Self::SPEC, case, world),
        bytes_per_rank: |case, world| calls::bytes_per_rank(&Self::SPEC, case, world),
        messages_per_op: |case, world| calls::messages_per_op(&Self::SPEC, case, world),
        is_movable: !matches!(Self::SPEC.kind, Kind::Barrier),
        has_layouts: calls::moves(Self::SPEC.kind),
        is_packed: calls::moves(Self::SPEC.kind),
        ..KernelInfo::collective("osu")
    };
}

/// One rank's part of one series.
pub(crate) struct Flight<C> {
    parts: Parts,
    calls: C,
    /// A piece of the work, and the number of pieces with a test behind each.
    busy: Busy,
    n_tests: u64,
    /// Tag of the messages that prove a barrier; `None` of other operations.
    after: Option<Tag>,
}

/// Starts `call`, does the work in pieces, with a test behind each where there are tests, and waits; `end` is
/// called at the end of each lap but the last, which is the caller's.
#[inline]
fn fly<T: Transport>(
    t: &T,
    call: &mut Prepared<T>,
    [input, output]: [&mut [u8]; 2],
    work: Option<(&mut Busy, u64)>,
    mut end: impl FnMut(Lap),
) -> Result<()> {
    t.scope(|s| {
        let mut request = s.unblocked_collective(call, input, output)?;
        end(Lap::Start);
        match work {
            None => (),
            Some((busy, 0)) => {
                busy.run(t);
                end(Lap::Work);
            }
            Some((busy, n_tests)) => {
                for _ in 0..n_tests {
                    busy.run(t);
                    end(Lap::Work);
                    request.test();
                    end(Lap::Test);
                }
            }
        }
        request.wait()
    })
}

impl<T: Transport> Flight<Part<T>> {
    /// The `parts` of `calls`, those of the collective of `spec`, in `case`; all ranks make it.
    pub(crate) fn of(
        spec: &Spec,
        cx: &Context<'_, T>,
        case: &Case,
        calls: Part<T>,
        parts: Parts,
    ) -> Result<Self> {
        let flight = Self::new(cx, case, calls, parts)?;
        let after = (spec.kind == Kind::Barrier).then(|| cx.tag(0));
        Ok(Self { after, ..flight })
    }
}

impl<C> Flight<C> {
    /// The `parts` of `calls` in `case`; all ranks make it.
    pub(crate) fn new<T: Transport>(
        cx: &Context<'_, T>,
        case: &Case,
        calls: C,
        parts: Parts,
    ) -> Result<Self> {
        let n_tests = case.find(&TEST_CALLS).unwrap_or(0);
        let work_ns = if parts == Parts::Call { 0 } else { work_ns(cx, case)? };
        let busy = cx.busy(work_ns / n_tests.max(1));
        Ok(Self { parts, calls, busy, n_tests, after: None })
    }

    /// One operation; `end` is called at the end of each lap. Its first lap packs the messages and its last one
    /// unpacks them, if the rank does so.
    #[inline]
    fn run_to<T: Transport>(
        &mut self,
        t: &T,
        packing: Option<&mut Packing<'_, T>>,
        mut end: impl FnMut(Lap),
    ) -> Result<()>
    where
        C: Calls<T>,
    {
        let Self { parts, calls, busy, n_tests, .. } = self;
        let work = match *parts {
            Parts::Work => {
                busy.run(t);
                return Ok(());
            }
            Parts::Call => None,
            Parts::Both | Parts::Laps => Some((busy, *n_tests)),
        };
        match packing {
            None => {
                let (t, call, buffers) = calls.next(t);
                fly(t, call, buffers, work, &mut end)?;
            }
            Some(packing) => calls
                .run_packed(t, packing, |t, call, buffers| fly(t, call, buffers, work, &mut end))?,
        }
        end(Lap::Wait);
        Ok(())
    }

    /// [`run_to`](Self::run_to) with the ends of `laps`, where the parts are laps.
    #[inline]
    fn run_laps<T: Transport>(
        &mut self,
        t: &T,
        packing: Option<&mut Packing<'_, T>>,
        laps: &mut Laps,
    ) -> Result<()>
    where
        C: Calls<T>,
    {
        match self.parts {
            Parts::Laps => self.run_to(t, packing, |lap| laps.end(t, lap as usize)),
            _ => self.run_to(t, packing, |_| ()),
        }
    }
}

impl<T: Transport, C: Calls<T>> Operation<T> for Flight<C> {
    fn fill(&mut self, seeds: Seeds) {
        self.calls.fill(seeds);
        self.busy.reset();
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        self.run_to(t, None, |_| ())
    }

    #[inline]
    fn run_in_laps(&mut self, t: &T, laps: &mut Laps) -> Result<()> {
        self.run_laps(t, None, laps)
    }

    #[inline]
    fn run_packed(&mut self, t: &T, packing: &mut Packing<'_, T>) -> Result<()> {
        self.run_to(t, Some(packing), |_| ())
    }

    #[inline]
    fn run_packed_in_laps(
        &mut self,
        t: &T,
        packing: &mut Packing<'_, T>,
        laps: &mut Laps,
    ) -> Result<()> {
        self.run_laps(t, Some(packing), laps)
    }

    fn check(&mut self, check: &mut Checker) {
        if self.parts != Parts::Work {
            self.calls.check(check);
        }
        if self.parts != Parts::Call {
            self.busy.check_after(check.n_runs() * self.n_tests.max(1), check);
        }
    }

    /// The call that is timed; alone, once those that are not, or a barrier to which ranks come late.
    fn verify(&mut self, t: &T, check: &mut Checker) -> Result<()> {
        Operation::<T>::fill(self, check.seeds());
        self.run(t)?;
        Operation::<T>::check(self, check);
        if self.parts != Parts::Call {
            return Ok(());
        }
        match self.after {
            Some(after) => late::prove(t, after, check, "the barrier", || self.run(t)),
            None => {
                self.calls.prove(t, check, |t, call, buffers| fly(t, call, buffers, None, |_| ()))
            }
        }
    }
}

/// Length of the work of this rank: the wanted one, or the mean time of the operation alone; where this
/// rank takes no times, that of the slowest that does.
fn work_ns<T: Transport>(cx: &Context<'_, T>, case: &Case) -> Result<u64> {
    let wanted_us = case.value(&WORK_US);
    if wanted_us > 0 {
        return Ok(wanted_us.saturating_mul(1000));
    }
    let own_ns = cx.mean_ns(PURE);
    let all = share(cx.transport(), [own_ns.unwrap_or(0)])?;
    let slowest_ns = all.iter().map(|[ns]| *ns).max().filter(|ns| *ns > 0);
    Ok(own_ns.or(slowest_ns).unwrap_or(UNKNOWN_NS))
}
