//! Bidirectional bandwidth: time of windows of messages in both directions at once.
//!
//! **Source**: OSU micro-benchmarks 7.4, `osu_bibw`.
//!
//! **Pattern**, W messages in a window, the same on both ranks
//! ```text
//!   rank 0  --OUT--> --OUT--> ... --OUT-->  rank 1, one hop away: posts W receives, then W sends,
//!           <-BACK-- <-BACK-- ... <-BACK--  waits for its sends, then for its receives
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
use comet_core::transport::{Landing, Room};

use super::messages::{Messages, Shape};
use crate::axes::{ONE_BUFFER, WINDOW_OF_OSU};
use crate::rates;

/// `osu/bibw`; see the [module](self).
pub(crate) struct Bibw;

/// One side.
pub(crate) struct Crossing<T: Transport> {
    rank: Rank,
    peer: Rank,
    tag: Tag,
    messages: Messages<T::Buffer>,
    places: Messages<T::Buffer>,
    /// Lengths of what arrived from the peer.
    arrived_bytes: Vec<Option<usize>>,
    /// Memory of the sets of requests between two windows.
    sends: Room<T::SendOp<'static>>,
    receives: Room<T::RecvOp<'static>>,
}

impl<T: Transport> Crossing<T> {
    /// The side of `cx` towards `peer`, with windows of `shape`.
    ///
    /// # Errors
    /// If there is no memory for the messages.
    pub(crate) fn new(cx: &Context<'_, T>, peer: Rank, shape: Shape) -> Result<Self> {
        let window = shape.n_messages;
        Ok(Self {
            rank: cx.rank(),
            peer,
            tag: cx.tag(0),
            messages: Messages::new(cx, shape)?,
            places: Messages::new(cx, shape)?,
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
        let Self { peer, tag, messages, places, arrived_bytes, sends, receives, .. } = self;
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
            *sends = outgoing.into_room()?;
            incoming.wait_each(|number, (status, _)| {
                arrived_bytes[number] = status.length_from(peer);
            })?;
            *receives = incoming.into_room()?;
            Ok(())
        })
    }

    fn check(&mut self, check: &mut Checker) {
        self.places.check(check, self.peer, &self.arrived_bytes);
    }
}

impl<T: Transport> Pattern<T> for Bibw {
    const INFO: KernelInfo = KernelInfo {
        name: "bibw",
        file: include_str!("bibw.rs"),
        summary: "Windows of messages in both directions at once",
        aliases: &["OSU:osu_bibw"],
        class: Class::Exchange,
        axes: &[
            WINDOW_OF_OSU,
            ONE_BUFFER,
            AxisUse {
                axis: &LENGTH_BYTES,
                sweeps: ["1,1Ki,64Ki", "1..4Mi*4", "1..4Mi*2,100,101,192,384,768,1536,3Ki"],
            },
        ],
        series: &[Series::on_test_node("window_both")
            .moving(|case, _| Some(2 * case.value(&WINDOW) * case.value(&LENGTH_BYTES)))
            .rated(&rates::WINDOW_BOTH_WAYS)],
        bytes_per_rank: |case, _| 2 * Shape::of(case).bytes(),
        has_layouts: true,
        ..KernelInfo::pair("osu")
    };
    type Part = Crossing<T>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let Some(side) = cx.side(Pairing::ByHops(1)) else { return Ok(None) };
        Ok(Some((side.duty(), Crossing::new(cx, side.peer, Shape::of(case))?)))
    }
}
