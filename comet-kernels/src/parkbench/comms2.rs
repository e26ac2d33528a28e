//! COMMS2: time of two messages that cross and are returned; the gain of links that carry both
//! directions at once.
//!
//! **Source**: PARKBENCH, low-level benchmark COMMS2 (from Genesis).
//!
//! **Pattern**
//! ```text
//!   rank 0  --a-->  rank 1, one hop away
//!           <--b--
//!           --b-->                  each returns the message that it got
//!           <--a--
//! ```
//! **Timed** (rank 0): two blocked exchanges. Buffers are made before.
//!
//! **Reports**: T, half of the exchange and return, in which a message of `length_bytes` goes each
//! way. n_half is a length of messages as in COMMS1; the figures show one direction and both together.
//!
//! **Rate**: `length_bytes` / one-way time, of one direction.
//!
//! **Parameters**: `length_bytes`.
//!
//! **Verified by**: other test data of each rank; contents, source and length of the message and of its
//! return, on both ranks.
//!
//! **Caution**: as in `comet/exchange`, a blocked exchange is send and then receive where sends are
//! buffered, and the transport's exchange that cannot deadlock elsewhere.

use comet_core::kernel::prelude::*;

use crate::parkbench::comms1::LENGTHS;
use crate::pattern::Crossing;

/// `parkbench/comms2`; see the [module](self).
pub(crate) struct Comms2;

/// One side: the crossing, and the return of what came.
pub(crate) struct Returned<B>(Crossing<B>);

impl<T: Transport> Operation<T> for Returned<T::Buffer> {
    fn fill(&mut self, seeds: Seeds) {
        Operation::<T>::fill(&mut self.0, seeds);
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        self.0.cross(t)?;
        self.0.cross_back(t)
    }

    fn check(&mut self, check: &mut Checker) {
        self.0.check_returned(check, pattern::fill);
    }

    /// The two halves of [`run`](Operation::run), with the message spoiled before it returns.
    fn verify(&mut self, t: &T, check: &mut Checker) -> Result<()> {
        Operation::<T>::fill(&mut self.0, check.seeds());
        self.0.cross(t)?;
        let [own, _] = self.0.seeds(check.seeds());
        pattern::spoil(&mut self.0.message, own);
        self.0.cross_back(t)?;
        self.0.check_returned(check, pattern::spoil);
        Ok(())
    }
}

impl<T: Transport> Pattern<T> for Comms2 {
    const INFO: KernelInfo = KernelInfo {
        name: "comms2",
        file: include_str!("comms2.rs"),
        summary: "Exchange: half of the time of two messages that cross and are returned",
        class: Class::Exchange,
        aliases: &["PARKBENCH:COMMS2"],
        axes: &[LENGTHS],
        series: &[Series::one_way("comms2")],
        timing: Timing::Pipelined,
        admits: |case, world| {
            world.require_ranks(2)?;
            world.require_hops(1)?;
            world.require_one_layout(case)
        },
        has_layouts: true,
        ..KernelInfo::pair("parkbench")
    };
    type Part = Returned<T::Buffer>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let role = Crossing::part(cx, Pairing::ByHops(1), case.length(&LENGTH_BYTES))?;
        Ok(role.map(|(duty, crossing)| (duty, Returned(crossing))))
    }

    fn derived(&self, case: &Case, summaries: &[Summary]) -> Vec<Derived> {
        let [comms2] = summaries else { return Vec::new() };
        let length_bytes = case.value(&LENGTH_BYTES) as f64;
        let is_rate = length_bytes > 0.0 && comms2.median > 0.0;
        let one_way = is_rate.then(|| length_bytes / comms2.median * 1e9);
        vec![
            Derived::of("one_direction_bytes_per_s", "length_bytes / median(comms2)", one_way),
            Derived::of(
                "both_directions_bytes_per_s",
                "2 * length_bytes / median(comms2)",
                one_way.map(|rate| 2.0 * rate),
            ),
        ]
    }
}
