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
//! **Parameters**: `window`, which is W (64 in OSU), `length_bytes` of one message.
//!
//! **Verified by**: other test data in each direction; contents of the buffer on both sides; source
//! and length of every message.
//!
//! **Caution**: all sends of a window are of one buffer and all receives into one, as in OSU without
//! `-b multiple`; a message that only others overwrite is not seen.

use comet_core::kernel::prelude::*;
use comet_core::transport::{Landing, Room};

use crate::axes::WINDOW_OF_OSU;
use crate::rates;

/// `osu/bibw`; see the [module](self).
pub(crate) struct Bibw;

/// One side.
pub(crate) struct Crossing<T: Transport> {
    rank: Rank,
    peer: Rank,
    tag: Tag,
    message: T::Buffer,
    place: T::Buffer,
    /// Lengths of what arrived from the peer.
    arrived_bytes: Vec<Option<usize>>,
    /// Memory of the sets of requests between two windows.
    sends: Room<T::SendOp<'static>>,
    receives: Room<T::RecvOp<'static>>,
}

impl<T: Transport> Crossing<T> {
    /// The side of `cx` towards `peer`, with windows of so many messages of so many bytes.
    ///
    /// # Errors
    /// If there is no memory for the messages.
    pub(crate) fn new(
        cx: &Context<'_, T>,
        peer: Rank,
        [window, length]: [usize; 2],
    ) -> Result<Self> {
        Ok(Self {
            rank: cx.rank(),
            peer,
            tag: cx.tag(0),
            message: cx.message(length)?,
            place: cx.message(length)?,
            arrived_bytes: vec![None; window],
            sends: Room::of(window),
            receives: Room::of(window),
        })
    }
}

impl<T: Transport> Operation<T> for Crossing<T> {
    fn fill(&mut self, seeds: Seeds) {
        pattern::fill(&mut self.message, seeds.of(0, self.rank));
        pattern::spoil(&mut self.place, seeds.of(0, self.peer));
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        let Self { peer, tag, message, place, arrived_bytes, sends, receives, .. } = self;
        let (peer, tag) = (*peer, *tag);
        let landing = Landing::new(place);
        t.scope(|s| {
            let mut incoming = s.requests_in(std::mem::take(receives));
            let mut outgoing = s.requests_in(std::mem::take(sends));
            for _ in 0..arrived_bytes.len() {
                incoming.push(s.unblocked_recv_into(Source::Rank(peer), tag, landing)?);
            }
            for _ in 0..arrived_bytes.len() {
                outgoing.push(s.unblocked_send(peer, tag, message)?);
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
        let (peer, seed) = (self.peer, check.seeds().of(0, self.peer));
        let n = self.arrived_bytes.len();
        for (number, length) in self.arrived_bytes.iter().enumerate() {
            let what = format!("message {number} of {n} from rank {peer}");
            check.length(*length, self.place.len(), &what);
        }
        let what = format!("the messages of rank {peer}");
        check.message(&mut self.place, seed, &what);
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
            AxisUse {
                axis: &LENGTH_BYTES,
                sweeps: ["1,1Ki,64Ki", "1..4Mi*4", "1..4Mi*2,100,101,192,384,768,1536,3Ki"],
            },
        ],
        series: &[Series::on_test_node("window_both")
            .moving(|case, _| Some(2 * case.value(&WINDOW) * case.value(&LENGTH_BYTES)))
            .rated(&rates::WINDOW_BOTH_WAYS)],
        ..KernelInfo::pair("osu")
    };
    type Part = Crossing<T>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let Some(side) = cx.side(Pairing::ByHops(1)) else { return Ok(None) };
        let crossing =
            Crossing::new(cx, side.peer, [case.length(&WINDOW), case.length(&LENGTH_BYTES)])?;
        Ok(Some((side.duty(), crossing)))
    }
}
