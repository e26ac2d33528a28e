//! SYNCH1: how many barriers the ranks can execute in a second.
//!
//! **Source**: PARKBENCH, low-level benchmark SYNCH1.
//!
//! **Pattern**
//! ```text
//!   all ranks  ──barrier── ──barrier── ──barrier── …
//! ```
//! **Timed** (rank 0): the barrier, called again and again.
//!
//! **Reports**: time of one barrier, and its inverse, the barriers per second (`barr/s`). Both are
//! to be read as functions of the number of ranks, as in `-n 2..16*2`.
//!
//! **Parameters**: none.
//!
//! **Verified by**: in each round another rank is late; none may leave before it has entered (see
//! `comet/barrier`, whose code this is).
//!
//! **Caution**: `comet/barrier` quotes the least time, as the thesis does; this the median.

use comet_core::context::Context;
use comet_core::definition::{Definition, Quantity};
use comet_core::error::Result;
use comet_core::kernel::{Case, Derived, Duty, KernelInfo, Pattern, Series};
use comet_core::transport::Transport;
use comet_stats::Summary;

use crate::comet::barrier::{Barrier, Meeting};

/// The kernel `parkbench/synch1`; see the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Synch1;

const INFO: KernelInfo = KernelInfo {
    suite: "parkbench",
    name: "synch1",
    summary: "Barrier: time of a synchronisation, and how many there are in a second",
    source: "PARKBENCH low-level benchmarks, SYNCH1",
    aliases: &["PARKBENCH:SYNCH1"],
    series: &[Series::of("synch1", Quantity::OpTime, Definition::TestNode)],
    ..Barrier::<false>::INFO
};

impl<T: Transport> Pattern<T> for Synch1 {
    const INFO: KernelInfo = INFO;
    type Part<'a>
        = Meeting<false>
    where
        T: 'a;

    fn part<'a>(
        &self,
        cx: &Context<'a, T>,
        case: &Case,
        series: usize,
    ) -> Result<Option<(Duty, Self::Part<'a>)>> {
        Barrier::<false>.part(cx, case, series)
    }

    fn derived(&self, _case: &Case, summaries: &[Summary]) -> Vec<Derived> {
        let [synch1] = summaries else { return Vec::new() };
        vec![Derived {
            name: "barriers_per_s",
            formula: "1 / median(synch1)",
            value: (synch1.median > 0.0).then(|| 1e9 / synch1.median),
        }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use comet_core::local::Local;

    #[test]
    fn barriers_per_second_are_the_inverse_of_their_time() {
        let check = |time_ns, expected| {
            let summaries = [Summary::of(&[time_ns]).unwrap()];
            assert_eq!(
                Pattern::<Local>::derived(&Synch1, &Case::new(&INFO, &[]), &summaries)[0].value,
                expected
            );
        };
        check(2000.0, Some(5e5));
        check(0.0, None);
    }
}
