//! Bidirectional bandwidth: time of windows of messages in both directions at once.
//!
//! **Source**: OSU micro-benchmarks 7.4, `osu_bibw`.
//!
//! **Pattern**, W messages in a window
//! ```text
//!   rank 0  --OUT--> --OUT--> ... --OUT-->  rank 1, one hop away: both post W receives, then W sends;
//!           <-BACK-- <-BACK-- ... <-BACK--  rank 0 waits for its sends, then for its receives, rank 1
//!                                           for its receives first
//! ```
//! **Timed** (rank 0): the posts of all 2 W messages and the waits for them. Buffers are made before.
//!
//! **Reports**: time of one window. A message takes time / (2 W).
//!
//! **Rate**: 2 W x `length_bytes` / time, both directions together.
//!
//! **Parameters**: `window`, which is W (64 in OSU), `window_buffers`: one buffer for all messages
//! of a window in one direction, or one for each; `length_bytes` of one message.
//!
//! **Verified by**: other test data in each direction; contents of the buffers on both sides; source
//! and length of every message.
//!
//! **Caution**: with one buffer all sends of a window are of it and all receives into another one,
//! as in OSU without `-b multiple`; a message that only others overwrite is not seen.

use comet_core::kernel::prelude::*;
use comet_core::layout::Packing;
use comet_core::transport::{Landing, Requests, Room};

use super::messages::{Messages, Shape};
use crate::axes::{OF_WINDOWS, ONE_BUFFER, WINDOW_OF_OSU};
use crate::packed::Wires;
use crate::rates;

/// `osu/bibw`; see the [module](self).
pub(crate) struct Bibw;

/// Order in which a side waits for the messages of a window.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Waits {
    /// For all that it sends, then for all that it receives.
    SendsFirst,
    /// For all that it receives, then for all that it sends.
    ReceivesFirst,
    /// For all at once.
    Both,
}

impl Waits {
    /// Waits for all, and shows the status of each receive to `each` by its number.
    #[inline]
    fn end<'scope, T: Transport>(
        self,
        incoming: &mut Requests<'scope, '_, T, T::RecvOp<'scope>>,
        outgoing: &mut Requests<'scope, '_, T, T::SendOp<'scope>>,
        mut each: impl FnMut(usize, Status),
    ) -> Result<()> {
        let each = |number: usize, (status, _): (Status, &mut [u8])| each(number, status);
        match self {
            Self::Both => incoming.wait_each_with(outgoing, each),
            Self::SendsFirst => {
                outgoing.wait_all()?;
                incoming.wait_each(each)
            }
            Self::ReceivesFirst => {
                incoming.wait_each(each)?;
                outgoing.wait_all()
            }
        }
    }
}

/// One side.
pub(crate) struct Crossing<T: Transport> {
    rank: Rank,
    peer: Rank,
    tag: Tag,
    waits: Waits,
    messages: Messages<T::Buffer>,
    places: Messages<T::Buffer>,
    /// Memory of all messages and of all places, where the rank packs.
    wires: [Wires<T::Buffer>; 2],
    /// Lengths of what arrived from the peer.
    arrived_bytes: Vec<Option<usize>>,
    /// Memory of the sets of requests between two windows.
    sends: Room<T::SendOp<'static>>,
    receives: Room<T::RecvOp<'static>>,
}

impl<T: Transport> Crossing<T> {
    /// The side of `cx` towards `peer`, with windows of `shape` that it waits for in the order `waits`.
    pub(crate) fn new(cx: &Context<'_, T>, peer: Rank, shape: Shape, waits: Waits) -> Result<Self> {
        let window = shape.n_messages;
        Ok(Self {
            rank: cx.rank(),
            peer,
            tag: cx.tag(0),
            waits,
            messages: Messages::new(cx, shape)?,
            places: Messages::new(cx, shape)?,
            wires: [Wires::new(cx, window)?, Wires::new(cx, window)?],
            arrived_bytes: vec![None; window],
            sends: Room::of(window),
            receives: Room::of(window),
        })
    }
}

impl<T: Transport> Operation<T> for Crossing<T> {
    fn fill(&mut self, seeds: Seeds) {
        self.messages.fill(seeds, self.rank);
        self.places.spoil(seeds, self.peer);
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        let Self { peer, tag, waits, messages, places, arrived_bytes, sends, receives, .. } = self;
        let (peer, tag, n_of_each) = (*peer, *tag, places.n_of_each);
        let landings = places.buffers.iter_mut().map(|place| Landing::new(place));
        t.scope(|s| {
            let mut incoming = s.requests_in(std::mem::take(receives));
            let mut outgoing = s.requests_in(std::mem::take(sends));
            for landing in landings {
                for _ in 0..n_of_each {
                    incoming.push(s.unblocked_recv_into(Source::Rank(peer), tag, landing)?);
                }
            }
            for message in &messages.buffers {
                for _ in 0..n_of_each {
                    outgoing.push(s.unblocked_send(peer, tag, message)?);
                }
            }
            let note = |number: usize, status: Status| {
                arrived_bytes[number] = status.length_from(peer);
            };
            waits.end(&mut incoming, &mut outgoing, note)?;
            (*sends, *receives) = (outgoing.into_room()?, incoming.into_room()?);
            Ok(())
        })
    }

    #[inline]
    fn run_packed(&mut self, t: &T, packing: &mut Packing<'_, T>) -> Result<()> {
        if packing.is_direct() {
            return self.run(t);
        }
        let Self { peer, tag, waits, messages, places, arrived_bytes, sends, receives, .. } = self;
        let (peer, tag, packing, [sent, received]) = (*peer, *tag, &*packing, &mut self.wires);
        t.scope(|s| {
            let mut incoming = s.requests_in(std::mem::take(receives));
            let mut outgoing = s.requests_in(std::mem::take(sends));
            for wire in received.all() {
                incoming.push(s.unblocked_recv(Source::Rank(peer), tag, wire)?);
            }
            messages.pack((t, packing), sent.all(), |wire| {
                outgoing.push(s.unblocked_send(peer, tag, wire)?);
                Ok(())
            })?;
            let note = |number: usize, status: Status| {
                arrived_bytes[number] = packing.whole(status).length_from(peer);
            };
            waits.end(&mut incoming, &mut outgoing, note)?;
            (*sends, *receives) = (outgoing.into_room()?, incoming.into_room()?);
            Ok(())
        })?;
        places.unpack((t, packing), received.all())
    }

    fn check(&mut self, check: &mut Checker) {
        self.places.check_lengths(check, self.peer, &self.arrived_bytes);
        self.places.check(check, self.peer);
    }
}

impl<T: Transport> Pattern<T> for Bibw {
    const INFO: KernelInfo = KernelInfo {
        name: "bibw",
        file: include_str!("bibw.rs"),
        summary: "Windows of messages in both directions at once",
        aliases: &["OSU:osu_bibw"],
        class: Class::Exchange,
        axes: &[WINDOW_OF_OSU, ONE_BUFFER, OF_WINDOWS],
        series: &[Series::on_test_node("window_both")
            .moving(|case, _| Some(2 * case.value(&WINDOW) * case.value(&LENGTH_BYTES)))
            .rated(&rates::WINDOW_BOTH_WAYS)],
        admits: |case, world| Shape::admit(case, world).and_then(|()| world.require_hops(1)),
        bytes_per_rank: |case, _| Shape::of(case).bytes().saturating_mul(2),
        has_layouts: true,
        is_packed: true,
        packed_bytes_per_rank: |case, _| Shape::of(case).packed_bytes().saturating_mul(2),
        ..KernelInfo::pair("osu")
    };
    type Part = Crossing<T>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let Some(side) = cx.side(Pairing::ByHops(1)) else { return Ok(None) };
        let waits = if side.leads { Waits::SendsFirst } else { Waits::ReceivesFirst };
        Ok(Some((side.duty(), Crossing::new(cx, side.peer, Shape::of(case), waits)?)))
    }
}
