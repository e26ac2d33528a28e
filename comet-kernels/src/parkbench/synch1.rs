//! SYNCH1: time of a barrier, and barriers per second.
//!
//! **Source**: PARKBENCH, low-level benchmark SYNCH1.
//!
//! **Pattern**
//! ```text
//!   all ranks  --barrier-- --barrier-- --barrier-- ...
//! ```
//! **Timed** (rank 0): the barrier, called again and again.
//!
//! **Reports**: time of one barrier, a function of the number of ranks, as in `-n 2..16*2`.
//!
//! **Rate**: 1 / time, in barriers per second (`barr/s`).
//!
//! **Parameters**: none.
//!
//! **Verified by**: in each round another rank is late; none may leave before it has entered (see
//! `comet/barrier`, whose code this is).
//!
//! **Caution**: `comet/barrier` reports the least time, as the thesis does; this kernel the median.

use comet_core::kernel::prelude::*;

use crate::comet::barrier::{Barrier, Meeting};

/// `parkbench/synch1`; see the [module](self).
pub(crate) struct Synch1;

impl<T: Transport> Pattern<T> for Synch1 {
    const INFO: KernelInfo = KernelInfo {
        suite: "parkbench",
        name: "synch1",
        file: include_str!("synch1.rs"),
        summary: "Barrier: time of a synchronisation, and how many there are in a second",
        aliases: &["PARKBENCH:SYNCH1"],
        series: &[Series::on_test_node("synch1")],
        ..<Barrier<false> as Pattern<T>>::INFO
    };
    type Part = Meeting<false>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, series: usize) -> Result<Role<Self::Part>> {
        Barrier::<false>.part(cx, case, series)
    }

    fn derived(&self, _case: &Case, summaries: &[Summary]) -> Vec<Derived> {
        let [synch1] = summaries else { return Vec::new() };
        vec![Derived::of(
            "barriers_per_s",
            "1 / median(synch1)",
            (synch1.median > 0.0).then(|| 1e9 / synch1.median),
        )]
    }
}
