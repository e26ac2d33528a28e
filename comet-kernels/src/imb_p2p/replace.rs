//! Exchange in place: time of messages that all ranks send to the next one on a ring, and receive into the
//! place of the one that they send.
//!
//! **Source**: IMB 2021, IMB-P2P, `SendRecv_Replace`; MPI-4.1 section 3.10.
//!
//! **Pattern**, on all ranks
//! ```text
//!   rank r  --OUT-->  rank r+1     one call, in which what arrives takes the place of what is sent
//!           <--IN---  rank r-1
//! ```
//! **Timed** (all ranks): the call (`MPI_Sendrecv_replace`), in a loop. Where a transport has none,
//! the message is copied and the copy sent. Buffers and test data are made before.
//!
//! **Reports**: mean time of a call in a loop, on the slowest rank.
//!
//! **Rate**: P x `length_bytes` / time, of all ranks together.
//!
//! **Parameters**: `length_bytes` of one message.
//!
//! **Verified by**: other test data of each rank, which travel on with every call; contents, source
//! and length; canaries about the message.
//!
//! **Caution**: IMB-P2P begins its loop without a barrier; there is one here. It prints as t the
//! mean over the ranks, and writes to messages before each call unless told otherwise
//! (`--buffers touched:lines`): the next write is the only use of what has arrived.

use comet_core::kernel::Touch;
use comet_core::kernel::prelude::*;
use comet_core::layout::Packing;

use super::{ONE_OF_EACH, SUITE, round};
use crate::around::write;
use crate::guarded::Guarded;

/// `imb-p2p/sendrecv_replace`; see the [module](self).
pub(crate) struct Replace;

/// One rank.
pub(crate) struct Passing<T: Transport> {
    rank: Rank,
    n_ranks: usize,
    /// The ranks before and after this one.
    ring: (Rank, Rank),
    tag: Tag,
    message: Guarded<T::Buffer>,
    room: T::Buffer,
    arrived_bytes: Option<usize>,
}

impl<T: Transport> Passing<T> {
    /// This rank between those before and after it in the `ring` of all ranks, or beside one other rank, which
    /// is both.
    ///
    /// # Errors
    /// If there is no memory for the message.
    pub(crate) fn new(
        cx: &Context<'_, T>,
        ring: (Rank, Rank),
        length_bytes: usize,
    ) -> Result<Self> {
        let t = cx.transport();
        let (message, room) = (Guarded::new(cx, length_bytes)?, t.room_in_place(length_bytes)?);
        let (rank, n_ranks, tag) = (cx.rank(), t.n_ranks(), cx.tag(0));
        Ok(Self { rank, n_ranks, ring, tag, message, room, arrived_bytes: None })
    }

    /// The rank that filled in what this one has after `n_runs` calls.
    fn origin(&self, n_runs: u64) -> Rank {
        let Self { rank, n_ranks, ring: (from, to), .. } = *self;
        if from == to {
            return if n_runs.is_multiple_of(2) { rank } else { from };
        }
        let n_steps = usize::try_from(n_runs % n_ranks as u64).unwrap_or(0);
        (rank + n_ranks - n_steps) % n_ranks
    }

    #[inline]
    fn pass(&mut self, t: &T, touch: Option<Touch>) -> Result<()> {
        let Self { ring: (from, to), tag, message, room, .. } = self;
        let (from, message) = (*from, message.bytes());
        write(t, touch, message);
        let status = t.blocked_exchange_in_place(*to, Source::Rank(from), *tag, message, room)?;
        self.arrived_bytes = status.length_from(from);
        Ok(())
    }
}

impl<T: Transport> Operation<T> for Passing<T> {
    fn fill(&mut self, seeds: Seeds) {
        pattern::fill(self.message.bytes(), seeds.of(0, self.rank));
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        self.pass(t, None)
    }

    #[inline]
    fn run_touched(&mut self, t: &T, touch: Touch) -> Result<()> {
        self.pass(t, Some(touch))
    }

    /// The packed message is replaced, and then lies where it was packed.
    #[inline]
    fn run_packed(&mut self, t: &T, packing: &mut Packing<'_, T>) -> Result<()> {
        let Self { ring: (from, to), tag, message, room, .. } = self;
        let (from, message) = (*from, message.bytes());
        let wire = packing.in_place(t, message)?;
        let status = t.blocked_exchange_in_place(*to, Source::Rank(from), *tag, wire, room)?;
        self.arrived_bytes = packing.whole(status).length_from(from);
        packing.unpack(t, self.message.bytes())
    }

    fn check(&mut self, check: &mut Checker) {
        let origin = self.origin(check.n_runs());
        let seed = check.seeds().of(0, origin);
        let what = format!("the message of rank {origin} from rank {}", self.ring.0);
        let own = check.seeds().of(0, self.rank);
        let before = |place: &mut [u8]| pattern::fill(place, own);
        check.arrival_over(self.arrived_bytes, (self.message.bytes(), seed), before, &what);
        self.message.check(check, "the message");
    }
}

impl<T: Transport> Pattern<T> for Replace {
    const INFO: KernelInfo = KernelInfo {
        name: "sendrecv_replace",
        file: include_str!("replace.rs"),
        summary: "All ranks exchange messages with their neighbours on a ring, in place",
        aliases: &["IMB-P2P:SendRecv_Replace"],
        series: &[round::<1>(&ONE_OF_EACH)],
        admits: |case, world| {
            (SUITE.admits)(case, world).and_then(|()| world.require_one_layout(case))
        },
        ..SUITE
    };
    type Part = Passing<T>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let part = Passing::new(cx, cx.ring(), case.length(&LENGTH_BYTES))?;
        Ok(Some((Duty::Together, part)))
    }
}
