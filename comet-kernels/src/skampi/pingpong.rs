//! Ping-pong in the modes of SKaMPI: time of a round trip between two ranks, by other calls in each.
//!
//! **Source**: SKaMPI (R. Reussner, P. Sanders, J. L. Traff), section 3.2, types 1 to 9 and 34;
//! MPI-4.1 sections 3.4 (modes), 3.8 (probe) and 3.10 (send-receive).
//!
//! **Pattern**, with the number of the type
//! ```text
//!   rank 0  --OUT-->  rank 1, one hop away     rank 1 makes the same calls, but receives first
//!           <--BACK-
//!
//!   pingpong_send_recv           1   Send; Recv
//!   pingpong_send_recv_any_tag   2   Send; Recv of any tag
//!   pingpong_send_irecv          3   Send; Irecv, Wait
//!   pingpong_send_iprobe_recv    4   Send; Iprobe until it is there, Recv
//!   pingpong_ssend_recv          5   Ssend; Recv
//!   pingpong_isend_recv          6   Isend, Wait; Recv
//!   pingpong_bsend_recv          7   Bsend; Recv
//!   pingpong_sendrecv            8   Sendrecv on both at once
//!   pingpong_sendrecv_replace    9   Sendrecv_replace on both at once
//!   pingpong_issend_recv        34   Issend, Wait; Recv
//!   pingpong_rsend_recv              Irecv; Send; Wait, and on rank 1 Recv; Rsend
//! ```
//! **Timed** (the lower rank): the calls. Buffers, test data and room of buffered sends are made before.
//!
//! **Reports**: time of the whole round trip, as SKaMPI; of a send-receive that of one call.
//!
//! **Rate**: 2 x `length_bytes` / time, of both directions.
//!
//! **Parameters**: `length_bytes` of one message. `pair` of ranks: rank 0 and a neighbour, or the two
//! between which an empty message and its answer take longest, of all pairs (`slowest`, as SKaMPI
//! does) or of those of rank 0 (`slowest_of_root`, as `comm2_max_latency_with_root` of SKaMPI 5). The
//! first case of a run looks for these: the shortest of 20 round trips of each pair.
//!
//! **Verified by**: other test data in each direction; contents, source, tag and length on both
//! sides.
//!
//! **Caution**: a difference between two of these kernels is the cost of a mode, so they are best
//! measured in one run. In pingpong_rsend_recv the answer alone is a ready send: the first message
//! cannot know that its receive is posted. The paper has no ready send. Over shared memory the time
//! of a synchronous send contains that of memory for its receipt. Of pingpong_send_iprobe_recv SKaMPI
//! 5 prints the round trip and one more send: its rank 0 reads the clock after the send that closes
//! the exchange. The time here was 0.67 to 0.73 of that.

use std::marker::PhantomData;

use comet_core::kernel::prelude::*;
use comet_core::layout::Packing;
use comet_core::transport::SendMode;

use super::SUITE;
use crate::axes;
use crate::imb_p2p::replace::Passing;

/// The two ranks.
static PAIR: Axis = Axis::choice(
    "pair",
    "rank 0 and a neighbour, or two with the longest round trip, of rank 0 or of all",
    &["neighbour", "slowest_of_root", "slowest"],
);

/// The most ranks of which all pairs are tried: their number grows with the square.
const MAX_RANKS_OF_PAIRS: usize = 1024;

/// Memory of the receipt of a synchronous message.
const RECEIPT_BYTES: u64 = 64;

/// One of the kernels, by its calls; see the [module](self).
pub(crate) struct PingPong<W>(pub(crate) W);

/// One rank.
pub(crate) struct Turn<T: Transport, W> {
    rank: Rank,
    leads: bool,
    ends: Ends,
    message: T::Buffer,
    buffer: T::Buffer,
    /// Length of the last message, if it came from the peer with its tag.
    arrived_bytes: Option<usize>,
    way: PhantomData<W>,
}

impl<T: Transport, W> Turn<T, W> {
    /// Seeds of what this rank sends, and of what it receives.
    fn seeds(&self, seeds: Seeds) -> [u64; 2] {
        let own = u16::from(!self.leads);
        [seeds.of(own, self.rank), seeds.of(1 - own, self.ends.peer)]
    }
}

impl<T: Transport, W: Way> Operation<T> for Turn<T, W> {
    fn fill(&mut self, seeds: Seeds) {
        let [own, of_peer] = self.seeds(seeds);
        pattern::fill(&mut self.message, own);
        pattern::spoil(&mut self.buffer, of_peer);
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        let Self { ends, message, buffer, .. } = self;
        let (ends, parts) = (*ends, [&mut **message, &mut **buffer]);
        let status =
            if self.leads { W::begin(t, ends, parts)? } else { W::answer(t, ends, parts)? };
        let is_of_pair = status.tag == ends.received;
        self.arrived_bytes = status.length_from(ends.peer).filter(|_| is_of_pair);
        Ok(())
    }

    #[inline]
    fn run_packed(&mut self, t: &T, packing: &mut Packing<'_, T>) -> Result<()> {
        let Self { ends, message, buffer, leads, .. } = self;
        let ends = *ends;
        let status = if *leads || W::IS_EXCHANGE {
            let parts = packing.both(t, message, buffer)?;
            let status = W::begin(t, ends, parts)?;
            packing.unpack(t, buffer)?;
            status
        } else {
            let status = W::receive(t, ends, packing.incoming(buffer))?;
            packing.unpack(t, buffer)?;
            W::reply(t, ends, packing.outgoing(t, message)?)?;
            status
        };
        let is_of_pair = status.tag == ends.received;
        let whole = packing.whole(status);
        self.arrived_bytes = whole.length_from(ends.peer).filter(|_| is_of_pair);
        Ok(())
    }

    fn check(&mut self, check: &mut Checker) {
        let [_, of_peer] = self.seeds(check.seeds());
        let what = format!("the message from rank {}", self.ends.peer);
        check.arrival(self.arrived_bytes, (&mut self.buffer, of_peer), &what);
    }

    fn close(&mut self, t: &T) -> Result<()> {
        if W::N_BUFFERED > 0 { t.detach_buffer() } else { Ok(()) }
    }
}

/// Facts that all of the kernels share.
const FAMILY: KernelInfo = KernelInfo {
    file: include_str!("pingpong.rs"),
    axes: &[AxisUse::of(&PAIR, "0"), axes::DOUBLING],
    series: &[
        Series::on_test_node("pingpong").moving(|case, _| Some(2 * case.value(&LENGTH_BYTES)))
    ],
    admits: |case, world| match (case.value(&PAIR), world.n_ranks) {
        (2, n_ranks) if n_ranks > MAX_RANKS_OF_PAIRS => Err(format!(
            "{n_ranks} ranks are too many to try all of their pairs, at most {MAX_RANKS_OF_PAIRS} \
             are tried (take pair=slowest_of_root)"
        )),
        _ => (SUITE.admits)(case, world),
    },
    ..SUITE
};

/// The side of this rank in the pair of `case`.
fn side<T: Transport>(cx: &Context<'_, T>, case: &Case) -> Result<Option<Side>> {
    match case.value(&PAIR) {
        0 => Ok(cx.side(Pairing::ByHops(1))),
        of => cx.slowest_pair(of == 1),
    }
}

impl<T: Transport, W: Way> Pattern<T> for PingPong<W> {
    const INFO: KernelInfo = KernelInfo {
        name: W::NAME,
        summary: W::SUMMARY,
        aliases: W::ALIASES,
        class: if W::IS_EXCHANGE { Class::Exchange } else { Class::PointToPoint },
        timing: if W::IS_EXCHANGE { Timing::Pipelined } else { Timing::Batched },
        bytes_per_rank: |case, _| {
            let messages = case.value(&LENGTH_BYTES).saturating_mul(2 + W::N_BUFFERED as u64);
            messages.saturating_add(RECEIPT_BYTES)
        },
        has_layouts: true,
        is_packed: true,
        ..FAMILY
    };
    type Part = Turn<T, W>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let Some(side) = side(cx, case)? else { return Ok(None) };
        let (length, tags) = (case.length(&LENGTH_BYTES), [cx.tag(0), cx.tag(1)]);
        // An exchange has one tag for both of its messages.
        let own = usize::from(!side.leads && !W::IS_EXCHANGE);
        let received = if W::IS_EXCHANGE { own } else { 1 - own };
        let ends = Ends { peer: side.peer, sent: tags[own], received: tags[received] };
        if W::N_BUFFERED > 0 {
            cx.transport().attach_buffer(W::N_BUFFERED, length)?;
        }
        let part = Turn {
            rank: cx.rank(),
            leads: side.leads,
            ends,
            message: cx.message(length)?,
            buffer: cx.message(length)?,
            arrived_bytes: None,
            way: PhantomData,
        };
        Ok(Some((side.duty(), part)))
    }
}

/// `skampi/pingpong_sendrecv_replace`; see the [module](self).
pub(crate) struct Replaced;

impl<T: Transport> Pattern<T> for Replaced {
    const INFO: KernelInfo = KernelInfo {
        name: "pingpong_sendrecv_replace",
        summary: "Two ranks exchange messages in place, each by one call",
        aliases: &["SKaMPI:9", "SKaMPI:Pingpong_Sendrecv_Replace"],
        class: Class::Exchange,
        timing: Timing::Pipelined,
        admits: |case, world| {
            (FAMILY.admits)(case, world).and_then(|()| world.require_one_layout(case))
        },
        has_layouts: true,
        is_packed: true,
        ..FAMILY
    };
    type Part = Passing<T>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let Some(side) = side(cx, case)? else { return Ok(None) };
        let part = Passing::new(cx, (side.peer, side.peer), case.length(&LENGTH_BYTES))?;
        Ok(Some((side.duty(), part)))
    }
}

/// Messages of a ping-pong in flight from one rank, as the library may see it: it frees the room of a
/// message when it looks for room for another.
const N_BUFFERED: usize = 4;

/// The other rank of a ping-pong, and the tags of what this one sends and receives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    peer: Rank,
    sent: Tag,
    received: Tag,
}

impl Ends {
    fn source(self) -> Source {
        Source::Rank(self.peer)
    }
}

/// Calls of one ping-pong.
pub(crate) trait Way: Sync + 'static {
    /// Name of the kernel.
    const NAME: &'static str;
    /// Its summary.
    const SUMMARY: &'static str;
    /// Its names in SKaMPI: the number of its type, and the name in version 5.
    const ALIASES: &'static [&'static str];
    /// True if both ranks send at once.
    const IS_EXCHANGE: bool = false;
    /// Messages for which there has to be room.
    const N_BUFFERED: usize = 0;
    /// Mode of the sends.
    const MODE: SendMode = SendMode::Standard;
    /// True if sends are unblocked, each waited for at once.
    const IS_UNBLOCKED: bool = false;

    /// Sends `message`.
    #[inline]
    fn send<T: Transport>(t: &T, ends: Ends, message: &[u8]) -> Result<()> {
        if Self::IS_UNBLOCKED {
            let Ends { peer, sent, .. } = ends;
            return t.scope(|s| s.unblocked_send_in(Self::MODE, peer, sent, message)?.wait());
        }
        t.blocked_send_in(Self::MODE, ends.peer, ends.sent, message)
    }

    /// Receives into `buffer`.
    #[inline]
    fn receive<T: Transport>(t: &T, ends: Ends, buffer: &mut [u8]) -> Result<Status> {
        t.blocked_recv(ends.source(), ends.received, buffer)
    }

    /// Sends the answer `message`.
    #[inline]
    fn reply<T: Transport>(t: &T, ends: Ends, message: &[u8]) -> Result<()> {
        Self::send(t, ends, message)
    }

    /// The calls of the rank that begins.
    #[inline]
    fn begin<T: Transport>(t: &T, ends: Ends, [message, buffer]: [&mut [u8]; 2]) -> Result<Status> {
        Self::send(t, ends, message)?;
        Self::receive(t, ends, buffer)
    }

    /// The calls of the rank that answers.
    #[inline]
    fn answer<T: Transport>(
        t: &T,
        ends: Ends,
        [message, buffer]: [&mut [u8]; 2],
    ) -> Result<Status> {
        let status = Self::receive(t, ends, buffer)?;
        Self::reply(t, ends, message)?;
        Ok(status)
    }
}

/// Blocked send, blocked receive.
pub(crate) struct Plain;

impl Way for Plain {
    const NAME: &'static str = "pingpong_send_recv";
    const SUMMARY: &'static str = "Round trip by blocked sends and receives";
    const ALIASES: &'static [&'static str] = &["SKaMPI:1", "SKaMPI:Pingpong_Send_Recv"];
}

/// Receives of any tag.
pub(crate) struct RecvAnyTag;

impl Way for RecvAnyTag {
    const NAME: &'static str = "pingpong_send_recv_any_tag";
    const SUMMARY: &'static str = "Round trip whose messages are received with any tag";
    const ALIASES: &'static [&'static str] = &["SKaMPI:2", "SKaMPI:Pingpong_Send_Recv_AnyTag"];

    #[inline]
    fn receive<T: Transport>(t: &T, ends: Ends, buffer: &mut [u8]) -> Result<Status> {
        t.blocked_recv(ends.source(), Tag::ANY, buffer)
    }
}

/// Unblocked receives, each waited for at once.
pub(crate) struct Irecv;

impl Way for Irecv {
    const NAME: &'static str = "pingpong_send_irecv";
    const SUMMARY: &'static str = "Round trip by unblocked receives";
    const ALIASES: &'static [&'static str] = &["SKaMPI:3", "SKaMPI:Pingpong_Send_Irecv"];

    #[inline]
    fn receive<T: Transport>(t: &T, ends: Ends, buffer: &mut [u8]) -> Result<Status> {
        t.scope(|s| Ok(s.unblocked_recv(ends.source(), ends.received, buffer)?.wait()?.0))
    }
}

/// Probes until the message is there, and then a receive.
pub(crate) struct Iprobe;

impl Way for Iprobe {
    const NAME: &'static str = "pingpong_send_iprobe_recv";
    const SUMMARY: &'static str = "Round trip whose messages are probed for, and then received";
    const ALIASES: &'static [&'static str] = &["SKaMPI:4", "SKaMPI:Pingpong_Send_Iprobe_Recv"];

    #[inline]
    fn receive<T: Transport>(t: &T, ends: Ends, buffer: &mut [u8]) -> Result<Status> {
        t.probe_until(ends.source(), ends.received)?;
        t.blocked_recv(ends.source(), ends.received, buffer)
    }
}

/// Synchronous sends.
pub(crate) struct Ssend;

impl Way for Ssend {
    const NAME: &'static str = "pingpong_ssend_recv";
    const SUMMARY: &'static str = "Round trip by synchronous sends";
    const ALIASES: &'static [&'static str] = &["SKaMPI:5", "SKaMPI:Pingpong_Ssend_Recv"];
    const MODE: SendMode = SendMode::Synchronous;
}

/// Buffered sends.
pub(crate) struct Bsend;

impl Way for Bsend {
    const NAME: &'static str = "pingpong_bsend_recv";
    const SUMMARY: &'static str = "Round trip by buffered sends";
    const ALIASES: &'static [&'static str] = &["SKaMPI:7", "SKaMPI:Pingpong_Bsend_Recv"];
    const N_BUFFERED: usize = N_BUFFERED;
    const MODE: SendMode = SendMode::Buffered;
}

/// Unblocked sends, each waited for at once.
pub(crate) struct Isend;

impl Way for Isend {
    const NAME: &'static str = "pingpong_isend_recv";
    const SUMMARY: &'static str = "Round trip by unblocked sends";
    const ALIASES: &'static [&'static str] = &["SKaMPI:6", "SKaMPI:Pingpong_Isend_Recv"];
    const IS_UNBLOCKED: bool = true;
}

/// Unblocked synchronous sends, each waited for at once.
pub(crate) struct Issend;

impl Way for Issend {
    const NAME: &'static str = "pingpong_issend_recv";
    const SUMMARY: &'static str = "Round trip by unblocked synchronous sends";
    const ALIASES: &'static [&'static str] = &["SKaMPI:34", "SKaMPI:Pingpong_Issend_Recv"];
    const MODE: SendMode = SendMode::Synchronous;
    const IS_UNBLOCKED: bool = true;
}

/// Answers by ready sends, for which the rank that begins posts its receive before it sends.
pub(crate) struct Rsend;

impl Way for Rsend {
    const NAME: &'static str = "pingpong_rsend_recv";
    const SUMMARY: &'static str = "Round trip whose answer is a ready send";
    const ALIASES: &'static [&'static str] = &[];

    #[inline]
    fn begin<T: Transport>(t: &T, ends: Ends, [message, buffer]: [&mut [u8]; 2]) -> Result<Status> {
        t.scope(|s| {
            let receiving = s.unblocked_recv(ends.source(), ends.received, buffer)?;
            t.blocked_send(ends.peer, ends.sent, message)?;
            Ok(receiving.wait()?.0)
        })
    }

    #[inline]
    fn reply<T: Transport>(t: &T, ends: Ends, message: &[u8]) -> Result<()> {
        t.blocked_send_in(SendMode::Ready, ends.peer, ends.sent, message)
    }
}

/// One exchange on both ranks.
pub(crate) struct Sendrecv;

impl Way for Sendrecv {
    const NAME: &'static str = "pingpong_sendrecv";
    const SUMMARY: &'static str = "Two ranks exchange messages, each by one call";
    const ALIASES: &'static [&'static str] = &["SKaMPI:8", "SKaMPI:Pingpong_Sendrecv"];
    const IS_EXCHANGE: bool = true;

    #[inline]
    fn begin<T: Transport>(t: &T, ends: Ends, [message, buffer]: [&mut [u8]; 2]) -> Result<Status> {
        t.blocked_exchange(ends.peer, message, ends.source(), buffer, ends.sent)
    }

    #[inline]
    fn answer<T: Transport>(t: &T, ends: Ends, parts: [&mut [u8]; 2]) -> Result<Status> {
        Self::begin(t, ends, parts)
    }
}
