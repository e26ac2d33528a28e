//! Parallel transfers: time of messages that all ranks send at once to their neighbours on a ring.
//!
//! **Source**: IMB 2021, IMB-MPI1, section "Parallel Transfer Benchmarks".
//!
//! **Pattern**, the same on all P ranks
//! ```text
//!   sendrecv    rank r  --> r+1     by one blocked exchange
//!                       <-- r-1
//!   exchange    rank r  --> r+1     posts two sends, of the halves of one buffer
//!                       --> r-1
//!                       <-- r-1     receives both messages into another one
//!                       <-- r+1
//!                       waits for its sends
//! ```
//! **Timed** (all ranks): one such round. Buffers and test data are made before.
//!
//! **Reports**: mean time of a round in a loop, on the slowest rank.
//!
//! **Rate**: 2 x (sendrecv) or 4 x (exchange) `length_bytes` / time: what one rank sends and
//! receives.
//!
//! **Parameters**: `length_bytes` of one message.
//!
//! **Verified by**: other test data of each rank and direction; contents, source and length of every
//! message on every rank.
//!
//! **Caution**: a rank alone sends to itself, and on two ranks both neighbours are the same one.
//! `comet/exchange` is an exchange of two ranks alone.

use comet_core::kernel::prelude::*;
use comet_core::layout::Packing;
use comet_core::transport::Room;

use crate::axes;

/// One of the kernels: a chain of messages in one direction, or (`BOTH`) in both.
pub(crate) struct Ring<const BOTH: bool>;

/// One rank's messages, and room for those of its neighbours.
pub(crate) struct Neighbours<T: Transport, const BOTH: bool> {
    rank: Rank,
    left: Rank,
    right: Rank,
    tag: Tag,
    /// The message for the right neighbour, and behind it that for the left one if there are two.
    messages: T::Buffer,
    buffer: T::Buffer,
    /// Memory of both messages where the rank packs two.
    packed: Option<T::Buffer>,
    /// Length of the last message, which is that of the right neighbour if there are two.
    arrived_bytes: Option<usize>,
    /// Memory of the set of sends between two rounds.
    sends: Room<T::SendOp<'static>>,
}

/// Number of messages that each rank sends in a round.
const fn n_messages(both: bool) -> u64 {
    if both { 2 } else { 1 }
}

impl<T: Transport, const BOTH: bool> Neighbours<T, BOTH> {
    /// This rank between its neighbours, with messages of so many bytes.
    pub(crate) fn new(
        cx: &Context<'_, T>,
        [left, right]: [Rank; 2],
        length_bytes: usize,
    ) -> Result<Self> {
        let messages = cx.message(length_bytes * if BOTH { 2 } else { 1 })?;
        let buffer = cx.message(length_bytes)?;
        let packed = cx.packed_bytes().filter(|_| BOTH).map(|bytes| cx.message(2 * bytes));
        let packed = packed.transpose()?;
        let (rank, tag, sends, arrived_bytes) = (cx.rank(), cx.tag(0), Room::of(2), None);
        Ok(Self { rank, left, right, tag, messages, buffer, packed, arrived_bytes, sends })
    }

    /// One round; shows the message of the left neighbour to `look` before another overwrites it.
    #[inline]
    fn round(&mut self, t: &T, mut look: impl FnMut(&mut T::Buffer, Status)) -> Result<()> {
        let Self { left, right, tag, messages, buffer, arrived_bytes, sends, .. } = self;
        let (left, right, tag) = (*left, *right, *tag);
        if !BOTH {
            let status = t.blocked_exchange(right, messages, Source::Rank(left), buffer, tag)?;
            *arrived_bytes = status.length_from(left);
            return Ok(());
        }
        let (to_right, to_left) = messages.split_at(buffer.len());
        t.scope(|s| {
            let mut pending = s.requests_in(std::mem::take(sends));
            pending.push(s.unblocked_send(right, tag, to_right)?);
            pending.push(s.unblocked_send(left, tag, to_left)?);
            let status = t.blocked_recv(Source::Rank(left), tag, buffer)?;
            look(buffer, status);
            let status = t.blocked_recv(Source::Rank(right), tag, buffer)?;
            *arrived_bytes = status.length_from(right);
            *sends = pending.into_room()?;
            Ok(())
        })
    }

    /// [`round`](Self::round) of messages that the rank packs.
    #[inline]
    fn round_packed(
        &mut self,
        t: &T,
        packing: &mut Packing<'_, T>,
        mut look: impl FnMut(&mut T::Buffer, Status),
    ) -> Result<()> {
        if !BOTH {
            let [out, back] = packing.both(t, &mut self.messages, &mut self.buffer)?;
            let source = Source::Rank(self.left);
            let status = t.blocked_exchange(self.right, out, source, back, self.tag)?;
            self.arrived_bytes = packing.whole(status).length_from(self.left);
            return packing.unpack(t, &mut self.buffer);
        }
        let Self { left, right, tag, messages, buffer, packed, arrived_bytes, sends, .. } = self;
        let (left, right, tag) = (*left, *right, *tag);
        let Some(packed) = packed else { return Ok(()) };
        packing.pack_parts(t, messages, packed)?;
        let (to_right, to_left) = packed.split_at(packed.len() / 2);
        t.scope(|s| {
            let mut pending = s.requests_in(std::mem::take(sends));
            pending.push(s.unblocked_send(right, tag, to_right)?);
            pending.push(s.unblocked_send(left, tag, to_left)?);
            let status = t.blocked_recv(Source::Rank(left), tag, packing.incoming(buffer))?;
            packing.unpack(t, buffer)?;
            look(buffer, packing.whole(status));
            let status = t.blocked_recv(Source::Rank(right), tag, packing.incoming(buffer))?;
            packing.unpack(t, buffer)?;
            *arrived_bytes = packing.whole(status).length_from(right);
            *sends = pending.into_room()?;
            Ok(())
        })
    }

    /// Fills all buffers, and returns the check of the left neighbour's message before the other one comes.
    fn filled_for<'c>(
        &mut self,
        check: &'c mut Checker,
    ) -> impl FnMut(&mut T::Buffer, Status) + use<'c, T, BOTH> {
        let (seeds, left, right) = (check.seeds(), self.left, self.right);
        self.fill(seeds);
        if BOTH {
            pattern::spoil(&mut self.buffer, seeds.of(0, left));
        }
        move |buffer, status| {
            let what = format!("the message from rank {left}");
            check.arrival(status.length_from(left), (buffer, seeds.of(0, left)), &what);
            pattern::spoil(buffer, seeds.of(1, right));
        }
    }

    /// The neighbour whose message comes last, and the seed of that message.
    fn last(&self, seeds: Seeds) -> (Rank, u64) {
        match BOTH {
            true => (self.right, seeds.of(1, self.right)),
            false => (self.left, seeds.of(0, self.left)),
        }
    }
}

impl<T: Transport, const BOTH: bool> Operation<T> for Neighbours<T, BOTH> {
    fn fill(&mut self, seeds: Seeds) {
        let (to_right, to_left) = self.messages.split_at_mut(self.buffer.len());
        pattern::fill(to_right, seeds.of(0, self.rank));
        pattern::fill(to_left, seeds.of(1, self.rank));
        let (_, arriving) = self.last(seeds);
        pattern::spoil(&mut self.buffer, arriving);
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        self.round(t, |_, _| ())
    }

    #[inline]
    fn run_packed(&mut self, t: &T, packing: &mut Packing<'_, T>) -> Result<()> {
        self.round_packed(t, packing, |_, _| ())
    }

    fn check(&mut self, check: &mut Checker) {
        let (source, seed) = self.last(check.seeds());
        let what = format!("the message from rank {source}");
        check.arrival(self.arrived_bytes, (&mut self.buffer, seed), &what);
    }

    /// The round with a check of every message.
    fn verify(&mut self, t: &T, check: &mut Checker) -> Result<()> {
        let look = self.filled_for(check);
        self.round(t, look)?;
        self.check(check);
        Ok(())
    }

    fn verify_packed(
        &mut self,
        t: &T,
        packing: &mut Packing<'_, T>,
        check: &mut Checker,
    ) -> Result<()> {
        let look = self.filled_for(check);
        self.round_packed(t, packing, look)?;
        self.check(check);
        Ok(())
    }
}

impl<const BOTH: bool, T: Transport> Pattern<T> for Ring<BOTH> {
    const INFO: KernelInfo = KernelInfo {
        name: if BOTH { "exchange" } else { "sendrecv" },
        file: include_str!("parallel.rs"),
        summary: if BOTH {
            "All ranks send to both neighbours on a ring at the same time"
        } else {
            "All ranks send to the next one on a ring at the same time"
        },
        aliases: if BOTH { &["IMB:Exchange"] } else { &["IMB:Sendrecv"] },
        axes: &[axes::DOUBLING],
        series: &[Series::of("round", Quantity::OpTime, Definition::LoopMean)
            .moving(|case, _| Some(2 * n_messages(BOTH) * case.value(&LENGTH_BYTES)))],
        timing: Timing::Pipelined,
        admits: |_, _| Ok(()),
        bytes_per_rank: |case, _| case.value(&LENGTH_BYTES).saturating_mul(1 + n_messages(BOTH)),
        messages_per_op: |_, world| n_messages(BOTH) * world.n_ranks as u64,
        has_layouts: true,
        is_packed: true,
        ..KernelInfo::collective("imb")
    };
    type Part = Neighbours<T, BOTH>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let part = Neighbours::new(cx, cx.ring().into(), case.length(&LENGTH_BYTES))?;
        Ok(Some((Duty::Together, part)))
    }
}
