//! Message in parts: one-way time of a message whose parts get ready one by one.
//!
//! **Source**: MPI-4.1 section 4.2.
//!
//! **Pattern**, each message a send and a receive that were prepared (MPI_Psend_init, MPI_Precv_init)
//! ```text
//!   rank 0 (test node)  --OUT-->  partner, `hops` links away
//!                       <--BACK-
//!   each side: start of the send, ready(0), ready(1), ..., wait; start of the receive, wait
//! ```
//! **Timed** (rank 0): start of the send, a call for each part, wait; start of the receive, wait.
//! Buffers and test data are made before, and so is what the library prepares.
//!
//! **Reports**: one-way time, (t2 - t1) / 2 of a round trip.
//!
//! **Rate**: `length_bytes` / one-way time.
//!
//! **Parameters**: `hops` from 1, `parts` of a message, `length_bytes` of all of them.
//!
//! **Verified by**: other test data in each direction; contents on both sides, over spoiled ones.
//!
//! **Caution**: a library may send nothing before the last part is ready. A transport without calls of
//! its own sends each part as a message, once those before it are ready.

use comet_core::kernel::prelude::*;
use comet_core::transport::{PartitionedRecv, PartitionedSend};

use crate::axes;

/// Parts of a message.
static PARTS: Axis =
    Axis::count("parts", "parts", "parts of a message, which get ready one by one");

/// `patterns/partitioned`; see the [module](self).
pub(crate) struct Partitioned;

/// One side.
pub(crate) struct Turns<T: Transport> {
    rank: Rank,
    side: Side,
    n_parts: usize,
    message: T::Buffer,
    send: PartitionedSend<T>,
    place: T::Buffer,
    receive: PartitionedRecv<T>,
}

impl<T: Transport> Turns<T> {
    #[inline]
    fn send(&mut self, t: &T) -> Result<()> {
        let Self { n_parts, message, send, .. } = self;
        t.scope(|s| {
            let mut leaving = s.start_partitioned_send(send, message)?;
            for part in 0..*n_parts {
                leaving.ready(part)?;
            }
            leaving.wait()
        })
    }

    #[inline]
    fn receive(&mut self, t: &T) -> Result<()> {
        let Self { place, receive, .. } = self;
        t.scope(|s| s.start_partitioned_recv(receive, place)?.wait())
    }
}

impl<T: Transport> Operation<T> for Turns<T> {
    fn fill(&mut self, seeds: Seeds) {
        pattern::fill(&mut self.message, seeds.of(0, self.rank));
        pattern::spoil(&mut self.place, seeds.of(0, self.side.peer));
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        if self.side.leads {
            self.send(t)?;
            return self.receive(t);
        }
        self.receive(t)?;
        self.send(t)
    }

    fn check(&mut self, check: &mut Checker) {
        let peer = self.side.peer;
        let seed = check.seeds().of(0, peer);
        check.message(&mut self.place, seed, format_args!("the message of rank {peer}"));
    }
}

impl<T: Transport> Pattern<T> for Partitioned {
    const INFO: KernelInfo = KernelInfo {
        name: "partitioned",
        file: include_str!("partitioned.rs"),
        summary: "One-way time of a message in parts, half of the round trip to a partner",
        axes: &[axes::HOPS_FROM_1, AxisUse::of(&PARTS, "1,2,8"), axes::DOUBLING],
        series: &[Series::one_way("trip")],
        admits: |case, world| {
            axes::admit_partner(case, world)?;
            let (length, n_parts) = (case.value(&LENGTH_BYTES), case.value(&PARTS));
            if n_parts > 0 && length.is_multiple_of(n_parts) {
                return Ok(());
            }
            Err(format!(
                "{length} bytes have no {n_parts} parts of one length (use a number of parts that divides them)"
            ))
        },
        ..KernelInfo::pair("patterns")
    };
    type Part = Turns<T>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let Some(side) = cx.side(Pairing::ByHops(case.length(&HOPS))) else { return Ok(None) };
        let (t, tag, n_parts) = (cx.transport(), cx.tag(0), case.length(&PARTS));
        let message = cx.message(case.length(&LENGTH_BYTES))?;
        let mut place = cx.message(case.length(&LENGTH_BYTES))?;
        let send = PartitionedSend::new(t, side.peer, tag, &message, n_parts)?;
        let receive = PartitionedRecv::new(t, side.peer, tag, &mut place, n_parts)?;
        let turns = Turns { rank: cx.rank(), side, n_parts, message, send, place, receive };
        Ok(Some((side.duty(), turns)))
    }
}
