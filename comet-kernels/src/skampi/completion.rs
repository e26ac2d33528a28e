//! Completion of many receives: time to receive a window of messages as they arrive.
//!
//! **Source**: SKaMPI, section 3.2: types 10 and 11 wait in this way for the answers of workers;
//! MPI-4.1 section 3.7.5.
//!
//! **Pattern**, W messages in a window
//! ```text
//!   rank 1, one hop away  --> --> ... -->  rank 0   W unblocked receives
//!                         <---- BACK -----          one byte, when all W have arrived
//!
//!   waitany    a wait for any of those in flight, W times            (Waitany)
//!   waitsome   waits for some of them, until none is in flight       (Waitsome)
//! ```
//! **Timed** (rank 0): W unblocked receives, the waits, and the blocked send of the answer. Buffers
//! are made before.
//!
//! **Reports**: time of one window. A message takes time / W.
//!
//! **Rate**: W x `length_bytes` / time.
//!
//! **Parameters**: `window`, which is W; `window_buffers`: one buffer for each message of a window, or
//! one for all; `length_bytes` of one message.
//!
//! **Verified by**: contents of all buffers and of the answer; source and length of every message,
//! each of which is returned once.
//!
//! **Caution**: a wait for any of W receives looks at all of them, so that a window costs W x W
//! looks. Of several that have ended shared memory and the simulator return the one with the least
//! number; over MPI the library chooses. With all waits in one call the pattern is that of `osu/bw`,
//! from the receiver.

use std::marker::PhantomData;

use comet_core::kernel::prelude::*;
use comet_core::transport::Requests;

use super::SUITE;
use crate::axes::{OF_WINDOWS, WINDOW_BUFFERS};
use crate::osu::bw::{Ending, PlainFlow, Window};
use crate::osu::messages::Shape;
use crate::rates;

/// One of the kernels, by its waits; see the [module](self).
pub(crate) struct Completion<W>(pub(crate) W);

/// A wait of a set of receives for at least one of them.
pub(crate) trait Wait: Sync + 'static {
    /// Waits for at least one of `receives`, and shows the status of each that has ended to `each` by its
    /// number; returns how many have. 0 is for an empty set.
    fn wait<'scope, T: Transport>(
        receives: &mut Requests<'scope, '_, T, T::RecvOp<'scope>>,
        each: impl FnMut(usize, Status),
    ) -> Result<usize>;
}

/// A wait for any of the receives.
pub(crate) struct WaitAny;

impl Wait for WaitAny {
    #[inline]
    fn wait<'scope, T: Transport>(
        receives: &mut Requests<'scope, '_, T, T::RecvOp<'scope>>,
        mut each: impl FnMut(usize, Status),
    ) -> Result<usize> {
        let Some((number, (status, _))) = receives.wait_any()? else { return Ok(0) };
        each(number, status);
        Ok(1)
    }
}

/// A wait for some of the receives.
pub(crate) struct WaitSome;

impl Wait for WaitSome {
    #[inline]
    fn wait<'scope, T: Transport>(
        receives: &mut Requests<'scope, '_, T, T::RecvOp<'scope>>,
        mut each: impl FnMut(usize, Status),
    ) -> Result<usize> {
        receives.wait_some(|number, (status, _)| each(number, status))
    }
}

/// The same wait again and again, until no receive is left.
pub(crate) struct UntilNone<W>(PhantomData<W>);

impl<W: Wait> Ending for UntilNone<W> {
    #[inline]
    fn end<'scope, T: Transport>(
        receives: &mut Requests<'scope, '_, T, T::RecvOp<'scope>>,
        mut each: impl FnMut(usize, Status),
    ) -> Result<()> {
        while W::wait(receives, &mut each)? > 0 {}
        Ok(())
    }
}

/// Name and summary of a kernel.
pub(crate) trait Named: Wait {
    const NAME: &'static str;
    const SUMMARY: &'static str;
}

impl Named for WaitAny {
    const NAME: &'static str = "waitany";
    const SUMMARY: &'static str = "Windows of messages, each waited for as any of those in flight";
}

impl Named for WaitSome {
    const NAME: &'static str = "waitsome";
    const SUMMARY: &'static str = "Windows of messages, waited for as some of those in flight";
}

impl<T: Transport, W: Named> Pattern<T> for Completion<W> {
    const INFO: KernelInfo = KernelInfo {
        name: W::NAME,
        file: include_str!("completion.rs"),
        summary: W::SUMMARY,
        axes: &[AxisUse::of(&WINDOW, "16"), AxisUse::of(&WINDOW_BUFFERS, "1"), OF_WINDOWS],
        series: &[Series::on_test_node("window")
            .moving(|case, _| Some(case.value(&WINDOW) * case.value(&LENGTH_BYTES)))
            .rated(&rates::WINDOW_ONE_WAY)],
        admits: |case, world| Shape::admit(case, world).and_then(|()| world.require_hops(1)),
        bytes_per_rank: |case, _| Shape::of(case).bytes(),
        has_layouts: true,
        is_packed: true,
        packed_bytes_per_rank: |case, _| Shape::of(case).packed_bytes(),
        ..SUITE
    };
    type Part = Window<PlainFlow<T, UntilNone<W>>>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let Some(side) = cx.side(Pairing::ByHops(1)) else { return Ok(None) };
        let window = Window::new(cx, side.peer, !side.leads, Shape::of(case))?;
        Ok(Some((side.duty(), window)))
    }
}
