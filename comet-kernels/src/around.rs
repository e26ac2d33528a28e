//! One rank among those with which it exchanges messages, all of them at once: its receives are posted,
//! then its sends, and all are waited for.

use comet_core::kernel::Touch;
use comet_core::kernel::prelude::*;
use comet_core::layout::Packing;
use comet_core::transport::Room;

use crate::guarded::Guarded;
use crate::packed::Wires;

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
    /// Memory of the messages that go and of those that arrive, where the rank packs.
    wires: [Wires<T::Buffer>; 2],
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
            wires: [Wires::new(cx, messages.len())?, Wires::new(cx, arrivals.len())?],
            sends: Room::of(messages.len()),
            receives: Room::of(arrivals.len()),
            arrivals,
        })
    }

    /// Posts all receives, then all sends, and waits for all.
    #[inline]
    pub(crate) fn round(&mut self, t: &T, touch: Option<Touch>) -> Result<()> {
        let Self { tag, targets, messages, arrivals, buffers, .. } = self;
        let rooms = (&mut self.sends, &mut self.receives);
        for message in &mut *messages {
            write(t, touch, message.bytes());
        }
        let outgoing = targets.iter().zip(messages.iter_mut().map(Guarded::bytes));
        let incoming = arrivals.iter().zip(buffers.iter_mut().map(Guarded::bytes));
        let arrived_bytes = &mut self.arrived_bytes;
        move_all(t, *tag, (outgoing, incoming), rooms, |number, status| {
            arrived_bytes[number] = status.length_from(arrivals[number].from);
        })?;
        for buffer in buffers {
            read(t, touch, buffer.bytes());
        }
        Ok(())
    }

    /// [`round`](Self::round) of messages that the rank packs before it, and unpacks after it.
    #[inline]
    fn round_packed(&mut self, t: &T, packing: &Packing<'_, T>) -> Result<()> {
        if packing.is_direct() {
            return self.round(t, None);
        }
        let Self { tag, targets, messages, arrivals, buffers, wires: [sent, received], .. } = self;
        let rooms = (&mut self.sends, &mut self.receives);
        for (message, wire) in messages.iter_mut().zip(sent.all()) {
            packing.pack_parts(t, message.bytes(), wire)?;
        }
        let outgoing = targets.iter().zip(sent.all());
        let incoming = arrivals.iter().zip(received.all());
        let arrived_bytes = &mut self.arrived_bytes;
        move_all(t, *tag, (outgoing, incoming), rooms, |number, status| {
            let status = packing.whole(status);
            arrived_bytes[number] = status.length_from(arrivals[number].from);
        })?;
        for (buffer, wire) in buffers.iter_mut().zip(received.all()) {
            packing.unpack_parts(t, wire, buffer.bytes())?;
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

/// Posts a receive into the buffer of each of `incoming`, then a send of each message of `outgoing`, and waits for
/// all; shows the status of each that has arrived to `each` by its number.
#[inline]
fn move_all<'m, T: Transport>(
    t: &T,
    tag: Tag,
    (outgoing, incoming): (
        impl Iterator<Item = (&'m Rank, &'m mut [u8])>,
        impl Iterator<Item = (&'m Arrival, &'m mut [u8])>,
    ),
    (sends, receives): (&mut Room<T::SendOp<'static>>, &mut Room<T::RecvOp<'static>>),
    mut each: impl FnMut(usize, Status),
) -> Result<()> {
    t.scope(|s| {
        let mut arriving = s.requests_in(std::mem::take(receives));
        let mut leaving = s.requests_in(std::mem::take(sends));
        for (arrival, buffer) in incoming {
            arriving.push(s.unblocked_recv(Source::Rank(arrival.from), tag, buffer)?);
        }
        for (to, message) in outgoing {
            leaving.push(s.unblocked_send(*to, tag, message)?);
        }
        arriving.wait_each_with(&mut leaving, |number, (status, _)| each(number, status))?;
        (*sends, *receives) = (leaving.into_room()?, arriving.into_room()?);
        Ok(())
    })
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

    #[inline]
    fn run_packed(&mut self, t: &T, packing: &mut Packing<'_, T>) -> Result<()> {
        self.round_packed(t, packing)
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
