//! Bandwidth and message rate of several pairs: time of windows of messages from the first half of
//! the ranks to the second, all pairs at once.
//!
//! **Source**: OSU micro-benchmarks 7.4, `osu_mbw_mr`.
//!
//! **Pattern**, W messages in a window, for each rank r of the first half of P ranks
//! ```text
//!   rank r  --OUT--> --OUT--> ... --OUT-->  rank r + P/2: W unblocked sends and receives
//!           <------------ BACK ------------  one byte, when all W have arrived
//! ```
//! **Timed** (each rank of the first half): W unblocked sends, the wait for all of them, and the
//! blocked receive of the answer. A barrier of all ranks is before each window. Buffers are made
//! before.
//!
//! **Reports**: time of one window, the mean over the pairs.
//!
//! **Rate**: W x floor(P/2) x `length_bytes` / time, of all pairs together; messages per second are W x
//! floor(P/2) / time.
//!
//! **Parameters**: `length_bytes` of one message; `window_buffers`: one buffer for all messages of a
//! window, or one for each; `window`, which is W (64 in OSU; 1 to 128 with its -V).
//!
//! **Verified by**: other test data of each pair; contents of the receiver's buffers and of the
//! answer; source and length of every message.
//!
//! **Caution**: of an odd number of ranks the last takes no part. With one buffer all messages of a
//! window are of it and go into one, as in OSU without `-b multiple`.

use comet_core::kernel::prelude::*;

use super::bw::{PlainFlow, Window};
use super::messages::Shape;
use crate::axes::{OF_WINDOWS, ONE_BUFFER, WINDOW_OF_OSU};
use crate::rates;

/// `osu/mbw_mr`; see the [module](self).
pub(crate) struct MbwMr;

impl<T: Transport> Pattern<T> for MbwMr {
    const INFO: KernelInfo = KernelInfo {
        name: "mbw_mr",
        file: include_str!("mbw_mr.rs"),
        summary: "Windows of messages of all pairs at once, with the message rate",
        aliases: &["OSU:osu_mbw_mr"],
        participants: Participants::All,
        timing: Timing::Single,
        axes: &[OF_WINDOWS, ONE_BUFFER, WINDOW_OF_OSU],
        series: &[Series::of("window", Quantity::OpTime, Definition::CallMean)
            .moving(|case, world| {
                Some(rates::messages_of_halves(case, world) * case.value(&LENGTH_BYTES))
            })
            .rated(&[rates::HALVES_ONE_WAY])],
        admits: Shape::admit,
        bytes_per_rank: |case, _| Shape::of(case).bytes(),
        has_layouts: true,
        is_packed: true,
        packed_bytes_per_rank: |case, _| Shape::of(case).packed_bytes(),
        ..KernelInfo::pair("osu")
    };
    type Part = Window<PlainFlow<T>>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let pairing = Pairing::Halves(cx.transport().n_ranks() / 2);
        let Some(side) = cx.side(pairing) else { return Ok(None) };
        Ok(Some((side.duty(), Window::new(cx, side.peer, side.leads, Shape::of(case))?)))
    }
}
