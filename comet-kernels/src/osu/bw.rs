//! Bandwidth: time of windows of messages in one direction, each answered when all of it has arrived.
//!
//! **Source**: OSU micro-benchmarks 7.4, `osu_bw`.
//!
//! **Pattern**, W messages in a window
//! ```text
//!   rank 0  --OUT--> --OUT--> ... --OUT-->  rank 1, one hop away: W unblocked sends and receives
//!           <------------ BACK ------------  four bytes, when all W have arrived
//! ```
//! **Timed** (rank 0): W unblocked sends, the wait for all of them, and the blocked receive of the
//! answer. Buffers are made before.
//!
//! **Reports**: time of one window. A message takes time / W.
//!
//! **Rate**: W x `length_bytes` / time.
//!
//! **Parameters**: `window`, which is W (64 in OSU), `length_bytes` of one message.
//!
//! **Verified by**: contents of the receiver's buffer and of the answer; source and length of every
//! message.
//!
//! **Caution**: all sends of a window are of one buffer and all receives into one, as in OSU without
//! `-b multiple`; a message that only others overwrite is not seen.

use comet_core::kernel::prelude::*;
use comet_core::transport::{Landing, Room};

use crate::axes::WINDOW_OF_OSU;
use crate::rates;

/// `osu/bw`; see the [module](self).
pub(crate) struct Bw;

/// One side of a window, with an answer of `ANSWER` bytes.
pub(crate) struct Window<T: Transport, const ANSWER: usize> {
    rank: Rank,
    peer: Rank,
    is_sender: bool,
    tags: [Tag; 2],
    /// The message that is sent, or the place of all that are received.
    buffer: T::Buffer,
    answer: [u8; ANSWER],
    /// Lengths of what arrived from the peer.
    arrived_bytes: Vec<Option<usize>>,
    answered_bytes: Option<usize>,
    /// Memory of the sets of requests between two windows.
    sends: Room<T::SendOp<'static>>,
    receives: Room<T::RecvOp<'static>>,
}

impl<T: Transport, const ANSWER: usize> Window<T, ANSWER> {
    /// The side of `cx` towards `peer`, with windows of so many messages of so many bytes.
    ///
    /// # Errors
    /// If there is no memory for the messages.
    pub(crate) fn new(
        cx: &Context<'_, T>,
        peer: Rank,
        is_sender: bool,
        [window, length]: [usize; 2],
    ) -> Result<Self> {
        Ok(Self {
            rank: cx.rank(),
            peer,
            is_sender,
            tags: [cx.tag(0), cx.tag(1)],
            buffer: cx.message(length)?,
            answer: [0; ANSWER],
            arrived_bytes: vec![None; window],
            answered_bytes: None,
            sends: Room::of(window),
            receives: Room::of(window),
        })
    }

    /// Sends the message so often at once, and waits until it may be changed again.
    #[inline]
    fn send(&mut self, t: &T) -> Result<()> {
        let Self { peer, tags: [out, _], buffer, arrived_bytes, sends, .. } = self;
        t.scope(|s| {
            let mut pending = s.requests_in(std::mem::take(sends));
            for _ in 0..arrived_bytes.len() {
                pending.push(s.unblocked_send(*peer, *out, buffer)?);
            }
            *sends = pending.into_room()?;
            Ok(())
        })
    }

    /// Receives a window into one place.
    #[inline]
    fn receive(&mut self, t: &T) -> Result<()> {
        let Self { peer, tags: [out, _], buffer, arrived_bytes, receives, .. } = self;
        let landing = Landing::new(buffer);
        t.scope(|s| {
            let mut pending = s.requests_in(std::mem::take(receives));
            for _ in 0..arrived_bytes.len() {
                pending.push(s.unblocked_recv_into(Source::Rank(*peer), *out, landing)?);
            }
            pending.wait_each(|number, (status, _)| {
                arrived_bytes[number] = status.length_from(*peer);
            })?;
            *receives = pending.into_room()?;
            Ok(())
        })
    }
}

impl<T: Transport, const ANSWER: usize> Operation<T> for Window<T, ANSWER> {
    fn fill(&mut self, seeds: Seeds) {
        if self.is_sender {
            pattern::fill(&mut self.buffer, seeds.of(0, self.rank));
            pattern::spoil(&mut self.answer, seeds.of(1, self.peer));
        } else {
            self.buffer.fill(0);
            pattern::fill(&mut self.answer, seeds.of(1, self.rank));
        }
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        let (peer, back) = (self.peer, self.tags[1]);
        if self.is_sender {
            self.send(t)?;
            let status = t.blocked_recv(Source::Rank(peer), back, &mut self.answer)?;
            self.answered_bytes = status.length_from(peer);
            return Ok(());
        }
        self.receive(t)?;
        t.blocked_send(peer, back, &self.answer)
    }

    fn check(&mut self, check: &mut Checker) {
        let (peer, seeds) = (self.peer, check.seeds());
        if self.is_sender {
            let what = format!("the answer of rank {peer}");
            check.arrival(self.answered_bytes, (&mut self.answer, seeds.of(1, peer)), &what);
            return;
        }
        let n = self.arrived_bytes.len();
        for (number, length) in self.arrived_bytes.iter().enumerate() {
            let what = format!("message {number} of {n} from rank {peer}");
            check.length(*length, self.buffer.len(), &what);
        }
        let what = format!("the messages of rank {peer}");
        check.message(&mut self.buffer, seeds.of(0, peer), &what);
    }
}

impl<T: Transport> Pattern<T> for Bw {
    const INFO: KernelInfo = KernelInfo {
        name: "bw",
        file: include_str!("bw.rs"),
        summary: "Windows of messages in one direction, each with a short answer",
        aliases: &["OSU:osu_bw"],
        axes: &[
            WINDOW_OF_OSU,
            AxisUse {
                axis: &LENGTH_BYTES,
                sweeps: ["1,1Ki,64Ki", "1..4Mi*4", "1..4Mi*2,100,101,192,384,768,1536,3Ki"],
            },
        ],
        series: &[Series::on_test_node("window")
            .moving(|case, _| Some(case.value(&WINDOW) * case.value(&LENGTH_BYTES)))
            .rated(&rates::WINDOW_ONE_WAY)],
        bytes_per_rank: |case, _| case.value(&LENGTH_BYTES),
        ..KernelInfo::pair("osu")
    };
    type Part = Window<T, 4>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let Some(side) = cx.side(Pairing::ByHops(1)) else { return Ok(None) };
        let window = Window::new(
            cx,
            side.peer,
            side.leads,
            [case.length(&WINDOW), case.length(&LENGTH_BYTES)],
        )?;
        Ok(Some((side.duty(), window)))
    }
}
