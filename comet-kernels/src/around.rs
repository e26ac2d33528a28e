//! One rank among those with which it exchanges messages, all of them at once: its receives are posted,
//! then its sends, and all are waited for.

use comet_core::kernel::Touch;
use comet_core::kernel::prelude::*;
use comet_core::transport::Room;

use crate::guarded::Guarded;

/// A message that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub(crate) from: Rank,
    /// Number of the message among those that its sender sends.
    pub(crate) number: u16,
    pub(crate) bytes: usize,
}

/// The arrivals from `sources`, one after the other, of messages of one length, where each rank sends to
/// `targets` of it: messages between two ranks arrive in the order in which they were sent.
pub(crate) fn in_order(
    rank: Rank,
    sources: &[Rank],
    bytes: usize,
    targets: impl Fn(Rank) -> Vec<Rank>,
) -> Vec<Arrival> {
    let arrival = |index: usize| {
        let from = sources[index];
        let n_before = sources[..index].iter().filter(|other| **other == from).count();
        let sent = (0..).zip(targets(from)).filter(|(_, to)| *to == rank);
        let number = sent.map(|(number, _)| number).nth(n_before).unwrap_or(0);
        Arrival { from, number, bytes }
    };
    (0..sources.len()).map(arrival).collect()
}

/// One rank, with a message for each rank to which it sends and room for each message that arrives.
pub(crate) struct Node<T: Transport> {
    rank: Rank,
    tag: Tag,
    targets: Vec<Rank>,
    messages: Vec<Guarded<T::Buffer>>,
    arrivals: Vec<Arrival>,
    buffers: Vec<Guarded<T::Buffer>>,
    arrived_bytes: Vec<Option<usize>>,
    /// Memory of the sets of requests between two rounds.
    sends: Room<T::SendOp<'static>>,
    receives: Room<T::RecvOp<'static>>,
}

/// Writes to `message` before it is sent, if the messages are touched.
#[inline]
pub(crate) fn write<T: Transport>(t: &T, touch: Option<Touch>, message: &mut [u8]) {
    if let Some(touch) = touch {
        touch.write(t, message);
    }
}

/// Reads `buffer` after a message was received, if the messages are touched.
#[inline]
pub(crate) fn read<T: Transport>(t: &T, touch: Option<Touch>, buffer: &[u8]) {
    if let Some(touch) = touch {
        touch.read(t, buffer);
    }
}

impl<T: Transport> Node<T> {
    /// This rank with its messages, by target and length in bytes, and those that arrive, in the order in
    /// which they are posted.
    ///
    /// # Errors
    /// If there is no memory for them.
    pub(crate) fn new(
        cx: &Context<'_, T>,
        messages: &[(Rank, usize)],
        arrivals: Vec<Arrival>,
    ) -> Result<Self> {
        let guarded = |bytes| Guarded::new(cx, bytes);
        Ok(Self {
            rank: cx.rank(),
            tag: cx.tag(0),
            targets: messages.iter().map(|(to, _)| *to).collect(),
            messages: messages.iter().map(|(_, bytes)| guarded(*bytes)).collect::<Result<_>>()?,
            buffers: arrivals.iter().map(|of| guarded(of.bytes)).collect::<Result<_>>()?,
            arrived_bytes: vec![None; arrivals.len()],
            sends: Room::of(messages.len()),
            receives: Room::of(arrivals.len()),
            arrivals,
        })
    }

    /// Posts all receives, then all sends, and waits for all.
    ///
    /// # Errors
    /// If the transport fails.
    #[inline]
    pub(crate) fn round(&mut self, t: &T, touch: Option<Touch>) -> Result<()> {
        let Self { tag, targets, messages, arrivals, buffers, .. } = self;
        let Self { arrived_bytes, sends, receives, .. } = self;
        for message in &mut *messages {
            write(t, touch, message.bytes());
        }
        t.scope(|s| {
            let mut incoming = s.requests_in(std::mem::take(receives));
            let mut outgoing = s.requests_in(std::mem::take(sends));
            for (arrival, buffer) in arrivals.iter().zip(&mut *buffers) {
                let source = Source::Rank(arrival.from);
                incoming.push(s.unblocked_recv(source, *tag, buffer.bytes())?);
            }
            for (to, message) in targets.iter().zip(messages) {
                outgoing.push(s.unblocked_send(*to, *tag, message.bytes())?);
            }
            incoming.wait_each_with(&mut outgoing, |number, (status, _)| {
                arrived_bytes[number] = status.length_from(arrivals[number].from);
            })?;
            (*sends, *receives) = (outgoing.into_room()?, incoming.into_room()?);
            Ok(())
        })?;
        for buffer in buffers {
            read(t, touch, buffer.bytes());
        }
        Ok(())
    }

    /// The messages that this rank sends.
    pub(crate) fn messages(&mut self) -> impl Iterator<Item = &mut [u8]> {
        self.messages.iter_mut().map(Guarded::bytes)
    }

    /// The messages that have arrived.
    pub(crate) fn arrived(&mut self) -> impl Iterator<Item = &mut [u8]> {
        self.buffers.iter_mut().map(Guarded::bytes)
    }

    /// Checks sources and lengths of what has arrived, and the canaries about all buffers.
    pub(crate) fn check_frames(&mut self, check: &mut Checker) {
        let Self { targets, messages, arrivals, buffers, arrived_bytes, .. } = self;
        let arrived = arrivals.iter().zip(arrived_bytes).zip(buffers).enumerate();
        for (index, ((Arrival { from, bytes, .. }, length_bytes), buffer)) in arrived {
            let what = format!("message {index} from rank {from}");
            check.length(*length_bytes, *bytes, &what);
            buffer.check(check, &what);
        }
        for (index, (to, message)) in targets.iter().zip(messages).enumerate() {
            message.check(check, &format!("message {index} to rank {to}"));
        }
    }
}

/// Messages with test data of each rank and number.
impl<T: Transport> Operation<T> for Node<T> {
    fn fill(&mut self, seeds: Seeds) {
        let rank = self.rank;
        for (number, message) in (0..).zip(self.messages()) {
            pattern::fill(message, seeds.of(number, rank));
        }
        for (Arrival { from, number, .. }, buffer) in self.arrivals.iter().zip(&mut self.buffers) {
            pattern::spoil(buffer.bytes(), seeds.of(*number, *from));
        }
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        self.round(t, None)
    }

    #[inline]
    fn run_touched(&mut self, t: &T, touch: Touch) -> Result<()> {
        self.round(t, Some(touch))
    }

    fn check(&mut self, check: &mut Checker) {
        let arrived = self.arrivals.iter().zip(&mut self.buffers).enumerate();
        for (index, (Arrival { from, number, .. }, buffer)) in arrived {
            let seed = check.seeds().of(*number, *from);
            check.message(buffer.bytes(), seed, format_args!("message {index} from rank {from}"));
        }
        self.check_frames(check);
    }
}
