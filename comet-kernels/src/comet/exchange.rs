//! Exchange: time of two messages in opposite directions at once, as at the boundary of two domains.
//!
//! **Source**: thesis section 3.3.2, figure 3.3.
//!
//! **Pattern**
//! ```text
//!   rank 0 (test node)  --EXCHANGE-->  partner, `hops` links away
//!                       <--EXCHANGE--
//!   both by one blocked exchange
//! ```
//! **Timed** (rank 0): one blocked exchange. Buffers and test data are made before.
//!
//! **Reports**: time of one exchange, t2 - t1.
//!
//! **Rate**: 2 x `length_bytes` / time, both directions together.
//!
//! **Parameters**: `hops` from 1, `length_bytes`.
//!
//! **Verified by**: other test data in each direction; contents, source and length on both sides.
//!
//! **Caution**: in the thesis both ranks send and then receive, which assumes buffered sends. A
//! blocked exchange does the same where sends are buffered (shared memory); where a blocked send may
//! wait for its receive, it is the transport's exchange that cannot deadlock (`MPI_Sendrecv`).
//! Neither is IMB's Sendrecv, a ring of all ranks, nor its PingPing, an unblocked send around a
//! blocked receive.

use comet_core::kernel::prelude::*;

use crate::axes;
use crate::pattern::Crossing;

/// `comet/exchange`; see the [module](self).
pub(crate) struct Exchange;

impl<T: Transport> Pattern<T> for Exchange {
    const INFO: KernelInfo = KernelInfo {
        name: "exchange",
        file: include_str!("exchange.rs"),
        summary: "Pairwise exchange: two ranks send to each other at the same time",
        class: Class::Exchange,
        axes: &[axes::HOPS_FROM_1, axes::MESSAGE_LENGTHS],
        series: &[
            Series::on_test_node("exchange").moving(|case, _| Some(2 * case.value(&LENGTH_BYTES)))
        ],
        timing: Timing::Pipelined,
        admits: axes::admit_partner,
        is_touchable: true,
        has_layouts: true,
        is_packed: true,
        ..KernelInfo::pair("comet")
    };
    type Part = Crossing<T::Buffer>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        Crossing::part(cx, Pairing::ByHops(case.length(&HOPS)), case.length(&LENGTH_BYTES))
    }
}
