//! COMMS1: time of a message that is returned at once, half of a round trip.
//!
//! **Source**: PARKBENCH, low-level benchmark COMMS1 (from Genesis).
//!
//! **Pattern**
//! ```text
//!   rank 0 (master)  --OUT-->  rank 1 (slave), one hop away
//!                    <--BACK-
//! ```
//! **Timed** (rank 0): blocked send, blocked receive. Buffers are made before.
//!
//! **Reports**: T, half of the round trip. The law T = (n + n_half) / r_inf is fitted to a sweep over
//! `length_bytes`.
//!
//! **Rate**: `length_bytes` / one-way time.
//!
//! **Parameters**: `length_bytes`.
//!
//! **Verified by**: other test data in each direction; contents, source and length on both sides.
//!
//! **Caution**: the operation is that of `comet/echo` at one hop, by the same code; only the sweep
//! differs, which is that of a fit.

use comet_core::kernel::prelude::*;

use crate::pattern::Bounce;

/// Message lengths of both kernels of two ranks. PARKBENCH fits a straight line, so that steps by
/// factors do; 100 and 101 bytes lie at the break of its example, the iPSC/860.
pub(super) const LENGTHS: AxisUse = AxisUse {
    axis: &LENGTH_BYTES,
    sweeps: [
        "0,100,1Ki,8Ki,64Ki",
        "0,8,64,100,101,256,512,1Ki..64Ki*2,256Ki,1Mi,4Mi",
        "0,1..4Mi*2,100,101,192,384,768,1536..3Mi*2",
    ],
};

/// `parkbench/comms1`; see the [module](self).
pub(crate) struct Comms1;

impl<T: Transport> Pattern<T> for Comms1 {
    const INFO: KernelInfo = KernelInfo {
        name: "comms1",
        file: include_str!("comms1.rs"),
        summary: "Ping-pong: half of the time of a message that is returned at once",
        aliases: &["PARKBENCH:COMMS1", "IMB:PingPong"],
        axes: &[LENGTHS],
        series: &[Series::one_way("comms1")],
        is_touchable: true,
        has_layouts: true,
        is_packed: true,
        ..KernelInfo::pair("parkbench")
    };
    type Part = Bounce<T::Buffer>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        Bounce::part(cx, Pairing::ByHops(1), case.length(&LENGTH_BYTES))
    }
}
