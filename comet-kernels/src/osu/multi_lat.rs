//! Latency of several pairs: one-way time of messages between the first half of the ranks and the
//! second, all pairs at once.
//!
//! **Source**: OSU micro-benchmarks 7.4, `osu_multi_lat`.
//!
//! **Pattern**, for each rank r of the first half of P ranks
//! ```text
//!   rank r  --OUT-->   rank r + P/2
//!           <--BACK--
//! ```
//! **Timed** (each rank of the first half): blocked send, blocked receive. A barrier of all ranks is
//! before each round trip. Buffers and test data are made before.
//!
//! **Reports**: one-way time, half of a round trip, the mean over the pairs.
//!
//! **Rate**: `length_bytes` / one-way time, of one pair.
//!
//! **Parameters**: `length_bytes`.
//!
//! **Verified by**: other test data in each direction and of each pair; contents, source and length on
//! both sides.
//!
//! **Caution**: of an odd number of ranks the last takes no part. The partner returns the buffer that
//! it received, which is in its cache, but for the rules of OSU and IMB.

use comet_core::kernel::prelude::*;

use crate::axes;
use crate::pattern::Bounce;

/// `osu/multi_lat`; see the [module](self).
pub(crate) struct MultiLat;

impl<T: Transport> Pattern<T> for MultiLat {
    const INFO: KernelInfo = KernelInfo {
        name: "multi_lat",
        file: include_str!("multi_lat.rs"),
        summary: "One-way time of messages of all pairs at once, between two halves",
        aliases: &["OSU:osu_multi_lat"],
        participants: Participants::All,
        timing: Timing::Single,
        axes: &[axes::DOUBLING],
        series: &[Series::of("trip", Quantity::OneWayTime, Definition::CallMean)
            .moving(|case, _| Some(case.value(&LENGTH_BYTES)))],
        admits: |_, world| world.require_ranks(2),
        has_layouts: true,
        is_packed: true,
        ..KernelInfo::pair("osu")
    };
    type Part = Bounce<T::Buffer>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let pairing = Pairing::Halves(cx.transport().n_ranks() / 2);
        Bounce::part(cx, pairing, case.length(&LENGTH_BYTES))
    }
}
