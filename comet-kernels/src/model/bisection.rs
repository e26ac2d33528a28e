//! Bisection: rate of all bytes that cross the cut between the two halves of the ranks, both directions
//! at once.
//!
//! **Source**: bisection bandwidth, Leighton, "Introduction to Parallel Algorithms and Architectures"
//! (1992).
//!
//! **Pattern**, h = floor(P/2), W = `window`
//! ```text
//!   rank 0     ==W messages==>   rank h          all h pairs at once; with ranks placed one node
//!              <==W messages==                   after the other, between the halves of the machine
//!   rank 1     ==W messages==>   rank h+1
//!              <==W messages==
//!   ...
//!   rank h-1   ==W messages==>   rank 2h-1       both post W receives, then W sends, and wait for
//!              <==W messages==                   all at once
//! ```
//! **Timed** (all ranks): one window in both directions. Buffers are made before. A barrier before it
//! is not timed.
//!
//! **Reports**: time from the first start to the last finish over all ranks.
//!
//! **Rate**: 2 W h x `length_bytes` / time, of all bytes that cross the cut.
//!
//! **Parameters**: `window`, which is W (64 as in osu/bibw; 1 for a single message), `length_bytes` of
//! one message.
//!
//! **Verified by**: other test data of each rank; contents of the buffer on both sides of each pair;
//! source and length of every message.
//!
//! **Caution**: a window, and not one long message, because startups and handshakes of all messages but
//! the first are hidden in it; a single message is `--axis window=1`. Of an odd number of ranks the
//! last takes no part. The cut is one of ranks: it is the narrowest of the network only if ranks are
//! placed so. `imb/biband` has the same messages in a loop with answers.

use comet_core::kernel::prelude::*;

use crate::axes::WINDOW_OF_OSU;
use crate::osu::bibw::{Crossing, Waits};
use crate::osu::messages::Shape;
use crate::rates;

/// `model/bisection`; see the [module](self).
pub(crate) struct Bisection;

/// Bytes that cross the cut, and the messages that hold them.
const RATES: [Rate; 2] = [
    Rate {
        kind: RateKind::Bisection,
        formula: "2 x window x floor(P/2) x length_bytes / time",
        per_op: |case, world| bytes(case, world) as f64,
    },
    rates::HALVES_BOTH_WAYS,
];

/// Bytes of all messages of both halves.
fn bytes(case: &Case, world: &World<'_>) -> u64 {
    2 * rates::messages_of_halves(case, world) * case.value(&LENGTH_BYTES)
}

impl<T: Transport> Pattern<T> for Bisection {
    const INFO: KernelInfo = KernelInfo {
        name: "bisection",
        file: include_str!("bisection.rs"),
        summary: "Windows of messages both ways across the cut between two halves",
        axes: &[
            WINDOW_OF_OSU,
            AxisUse { axis: &LENGTH_BYTES, sweeps: ["1Ki,64Ki", "1Ki..1Mi*4", "1..4Mi*2"] },
        ],
        series: &[Series::completion("window_both")
            .moving(|case, world| Some(bytes(case, world)))
            .rated(&RATES)],
        admits: Shape::admit,
        bytes_per_rank: |case, _| Shape::of(case).bytes().saturating_mul(2),
        has_layouts: true,
        is_packed: true,
        packed_bytes_per_rank: |case, _| Shape::of(case).packed_bytes().saturating_mul(2),
        ..KernelInfo::collective("model")
    };
    type Part = Crossing<T>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let Some(side) = cx.side(Pairing::Halves(cx.transport().n_ranks() / 2)) else {
            return Ok(None);
        };
        Ok(Some((Duty::Together, Crossing::new(cx, side.peer, Shape::of(case), Waits::Both)?)))
    }
}
