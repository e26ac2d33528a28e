//! Bandwidth: time of windows of messages in one direction, each answered when all of it has arrived.
//!
//! **Source**: OSU micro-benchmarks 7.4, `osu_bw`.
//!
//! **Pattern**, W messages in a window
//! ```text
//!   rank 0  --OUT--> --OUT--> ... --OUT-->  rank 1, one hop away: W unblocked sends and receives
//!           <------------ BACK ------------  one byte, when all W have arrived
//! ```
//! **Timed** (rank 0): W unblocked sends, the wait for all of them, and the blocked receive of the
//! answer. Buffers are made before.
//!
//! **Reports**: time of one window. A message takes time / W.
//!
//! **Rate**: W x `length_bytes` / time.
//!
//! **Parameters**: `window`, which is W (64 in OSU), `window_buffers`: one buffer for all messages
//! of a window, or one for each; `length_bytes` of one message.
//!
//! **Verified by**: contents of the receiver's buffers and of the answer; source and length of every
//! message.
//!
//! **Caution**: with one buffer all sends of a window are of it and all receives into it, as in OSU
//! without `-b multiple`; a message that only others overwrite is not seen.

use std::marker::PhantomData;

use comet_core::kernel::prelude::*;
use comet_core::layout::Packing;
use comet_core::transport::{Landing, Requests, Room};

use super::messages::{Flow, Messages, Shape};
use crate::axes::{OF_WINDOWS, ONE_BUFFER, WINDOW_OF_OSU};
use crate::packed::Wires;
use crate::rates;

/// `osu/bw`; see the [module](self).
pub(crate) struct Bw;

/// Length of an answer in bytes.
pub(crate) const ANSWER: usize = 1;

/// One side of a window, which its receiver answers.
pub(crate) struct Window<F> {
    rank: Rank,
    peer: Rank,
    is_sender: bool,
    /// Tag of the answer.
    back: Tag,
    /// The messages that are sent, or the places of those that are received.
    flow: F,
    answer: [u8; ANSWER],
    answered_bytes: Option<usize>,
}

impl<F> Window<F> {
    /// The side of `cx` towards `peer`, with windows of `shape`.
    pub(crate) fn new<T: Transport>(
        cx: &Context<'_, T>,
        peer: Rank,
        is_sender: bool,
        shape: Shape,
    ) -> Result<Self>
    where
        F: Flow<T>,
    {
        let flow = F::new(cx, peer, cx.tag(0), is_sender, shape)?;
        let (rank, back, answer) = (cx.rank(), cx.tag(1), [0; ANSWER]);
        Ok(Self { rank, peer, is_sender, back, flow, answer, answered_bytes: None })
    }

    /// The answer to a window.
    #[inline]
    fn answer<T: Transport>(&mut self, t: &T) -> Result<()> {
        let Self { peer, back, answer, .. } = self;
        if self.is_sender {
            let status = t.blocked_recv(Source::Rank(*peer), *back, answer)?;
            self.answered_bytes = status.length_from(*peer);
            return Ok(());
        }
        t.blocked_send(*peer, *back, answer)
    }
}

impl<T: Transport, F: Flow<T>> Operation<T> for Window<F> {
    fn fill(&mut self, seeds: Seeds) {
        let messages = self.flow.messages();
        if self.is_sender {
            messages.fill(seeds, self.rank);
            pattern::spoil(&mut self.answer, seeds.of(1, self.peer));
        } else {
            messages.spoil(seeds, self.peer);
            pattern::fill(&mut self.answer, seeds.of(1, self.rank));
        }
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        self.flow.run(t)?;
        self.answer(t)
    }

    #[inline]
    fn run_packed(&mut self, t: &T, packing: &mut Packing<'_, T>) -> Result<()> {
        self.flow.run_packed(t, packing)?;
        self.answer(t)
    }

    fn check(&mut self, check: &mut Checker) {
        let (peer, seeds) = (self.peer, check.seeds());
        if self.is_sender {
            let what = format!("the answer of rank {peer}");
            check.arrival(self.answered_bytes, (&mut self.answer, seeds.of(1, peer)), &what);
            return;
        }
        self.flow.check_lengths(check, peer);
        self.flow.messages().check(check, peer);
    }
}

/// The way in which the receives of a window are waited for.
pub(crate) trait Ending: Sync + 'static {
    /// Waits for all of `receives`, and shows the status of each to `each` by its number.
    fn end<'scope, T: Transport>(
        receives: &mut Requests<'scope, '_, T, T::RecvOp<'scope>>,
        each: impl FnMut(usize, Status),
    ) -> Result<()>;
}

/// All by one wait.
pub(crate) struct Together;

impl Ending for Together {
    #[inline]
    fn end<'scope, T: Transport>(
        receives: &mut Requests<'scope, '_, T, T::RecvOp<'scope>>,
        mut each: impl FnMut(usize, Status),
    ) -> Result<()> {
        receives.wait_each(|number, (status, _)| each(number, status))
    }
}

/// Messages that are started one by one.
pub(crate) struct PlainFlow<T: Transport, E = Together> {
    peer: Rank,
    tag: Tag,
    is_sender: bool,
    messages: Messages<T::Buffer>,
    /// Memory of all messages, where the rank packs.
    wires: Wires<T::Buffer>,
    /// Lengths of what arrived from the peer.
    arrived_bytes: Vec<Option<usize>>,
    /// Memory of the sets of requests between two windows.
    sends: Room<T::SendOp<'static>>,
    receives: Room<T::RecvOp<'static>>,
    ending: PhantomData<E>,
}

impl<T: Transport, E: Ending> PlainFlow<T, E> {
    /// Sends all messages at once, and waits until they may be changed again.
    #[inline]
    fn send(&mut self, t: &T) -> Result<()> {
        let Self { peer, tag, messages: Messages { buffers, n_of_each }, sends, .. } = self;
        t.scope(|s| {
            let mut pending = s.requests_in(std::mem::take(sends));
            for buffer in &*buffers {
                for _ in 0..*n_of_each {
                    pending.push(s.unblocked_send(*peer, *tag, buffer)?);
                }
            }
            *sends = pending.into_room()?;
            Ok(())
        })
    }

    /// Packs and sends one message after the other, and waits for all.
    #[inline]
    fn send_packed(&mut self, t: &T, packing: &Packing<'_, T>) -> Result<()> {
        let Self { peer, tag, messages, wires, sends, .. } = self;
        t.scope(|s| {
            let mut pending = s.requests_in(std::mem::take(sends));
            messages.pack((t, packing), wires.all(), |wire| {
                pending.push(s.unblocked_send(*peer, *tag, wire)?);
                Ok(())
            })?;
            *sends = pending.into_room()?;
            Ok(())
        })
    }

    /// Receives a window in one piece each, and unpacks it.
    #[inline]
    fn receive_packed(&mut self, t: &T, packing: &Packing<'_, T>) -> Result<()> {
        let Self { peer, tag, messages, wires, arrived_bytes, receives, .. } = self;
        t.scope(|s| {
            let mut pending = s.requests_in(std::mem::take(receives));
            for wire in wires.all() {
                pending.push(s.unblocked_recv(Source::Rank(*peer), *tag, wire)?);
            }
            E::end(&mut pending, |number, status| {
                arrived_bytes[number] = packing.whole(status).length_from(*peer);
            })?;
            *receives = pending.into_room()?;
            Ok(())
        })?;
        messages.unpack((t, packing), wires.all())
    }

    /// Receives a window into its places.
    #[inline]
    fn receive(&mut self, t: &T) -> Result<()> {
        let Self { peer, tag, messages, arrived_bytes, receives, .. } = self;
        let n_of_each = messages.n_of_each;
        let landings = messages.buffers.iter_mut().map(|place| Landing::new(place));
        t.scope(|s| {
            let mut pending = s.requests_in(std::mem::take(receives));
            for landing in landings {
                for _ in 0..n_of_each {
                    pending.push(s.unblocked_recv_into(Source::Rank(*peer), *tag, landing)?);
                }
            }
            E::end(&mut pending, |number, status| {
                arrived_bytes[number] = status.length_from(*peer);
            })?;
            *receives = pending.into_room()?;
            Ok(())
        })
    }
}

impl<T: Transport, E: Ending> Flow<T> for PlainFlow<T, E> {
    fn new(
        cx: &Context<'_, T>,
        peer: Rank,
        tag: Tag,
        is_sender: bool,
        shape: Shape,
    ) -> Result<Self> {
        let window = shape.n_messages;
        Ok(Self {
            peer,
            tag,
            is_sender,
            messages: Messages::new(cx, shape)?,
            wires: Wires::new(cx, window)?,
            arrived_bytes: vec![None; window],
            sends: Room::of(window),
            receives: Room::of(window),
            ending: PhantomData,
        })
    }

    fn messages(&mut self) -> &mut Messages<T::Buffer> {
        &mut self.messages
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        if self.is_sender { self.send(t) } else { self.receive(t) }
    }

    #[inline]
    fn run_packed(&mut self, t: &T, packing: &Packing<'_, T>) -> Result<()> {
        match self.is_sender {
            _ if packing.is_direct() => self.run(t),
            true => self.send_packed(t, packing),
            false => self.receive_packed(t, packing),
        }
    }

    fn check_lengths(&self, check: &mut Checker, peer: Rank) {
        self.messages.check_lengths(check, peer, &self.arrived_bytes);
    }
}

impl<T: Transport> Pattern<T> for Bw {
    const INFO: KernelInfo = KernelInfo {
        name: "bw",
        file: include_str!("bw.rs"),
        summary: "Windows of messages in one direction, each with a short answer",
        aliases: &["OSU:osu_bw"],
        axes: &[WINDOW_OF_OSU, ONE_BUFFER, OF_WINDOWS],
        series: &[Series::on_test_node("window")
            .moving(|case, _| Some(case.value(&WINDOW) * case.value(&LENGTH_BYTES)))
            .rated(&rates::WINDOW_ONE_WAY)],
        admits: |case, world| Shape::admit(case, world).and_then(|()| world.require_hops(1)),
        bytes_per_rank: |case, _| Shape::of(case).bytes(),
        has_layouts: true,
        is_packed: true,
        packed_bytes_per_rank: |case, _| Shape::of(case).packed_bytes(),
        ..KernelInfo::pair("osu")
    };
    type Part = Window<PlainFlow<T>>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let Some(side) = cx.side(Pairing::ByHops(1)) else { return Ok(None) };
        Ok(Some((side.duty(), Window::new(cx, side.peer, side.leads, Shape::of(case))?)))
    }
}
