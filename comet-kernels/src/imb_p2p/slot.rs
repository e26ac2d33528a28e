//! Messages of one rank of the suite: one that it sends, and room for one that arrives.

use std::ops::DerefMut;

use comet_core::kernel::Touch;
use comet_core::kernel::prelude::*;
use comet_core::layout::Packing;

use crate::around::{read, write};
use crate::guarded::Guarded;

/// Work of the rank on its messages between the calls.
pub(super) enum Beside<'a, 'b, T: Transport> {
    /// None.
    Nothing,
    /// Writes and reads.
    Touch(Touch),
    /// Copies of blocks.
    Packing(&'a mut Packing<'b, T>),
}

impl<T: Transport> Beside<'_, '_, T> {
    #[inline]
    fn touch(&self) -> Option<Touch> {
        if let Self::Touch(touch) = self { Some(*touch) } else { None }
    }
}

/// Posts a receive into `buffer`, sends `message`, and waits for the receive.
#[inline]
fn cross<T: Transport>(
    t: &T,
    [from, to]: [Rank; 2],
    tag: Tag,
    touch: Option<Touch>,
    [message, buffer]: [&mut [u8]; 2],
) -> Result<Status> {
    t.scope(|s| {
        let receive = s.unblocked_recv(Source::Rank(from), tag, buffer)?;
        write(t, touch, message);
        t.blocked_send(to, tag, message)?;
        Ok(receive.wait()?.0)
    })
}

/// A message and a buffer of one length, with canaries about both.
pub(super) struct Slot<B> {
    rank: Rank,
    tag: Tag,
    message: Guarded<B>,
    buffer: Guarded<B>,
    /// The rank for whose message the buffer was spoiled.
    awaited: Rank,
    /// Source of the last message that was received, and its length if it came from there.
    arrived: Option<(Rank, Option<usize>)>,
}

impl<B: DerefMut<Target = [u8]>> Slot<B> {
    /// Messages of `length_bytes` each.
    pub(super) fn new<T: Transport<Buffer = B>>(
        cx: &Context<'_, T>,
        length_bytes: usize,
    ) -> Result<Self> {
        let (rank, tag, arrived) = (cx.rank(), cx.tag(0), None);
        let awaited = rank;
        let message = Guarded::new(cx, length_bytes)?;
        let buffer = Guarded::new(cx, length_bytes)?;
        Ok(Self { rank, tag, message, buffer, awaited, arrived })
    }

    /// Sends the message to `to`.
    #[inline]
    pub(super) fn send<T: Transport>(
        &mut self,
        t: &T,
        to: Rank,
        beside: &mut Beside<'_, '_, T>,
    ) -> Result<()> {
        let (tag, message) = (self.tag, self.message.bytes());
        match beside {
            Beside::Packing(packing) => t.blocked_send(to, tag, packing.outgoing(t, message)?),
            _ => {
                write(t, beside.touch(), message);
                t.blocked_send(to, tag, message)
            }
        }
    }

    /// Receives the message of `from`.
    #[inline]
    pub(super) fn receive<T: Transport>(
        &mut self,
        t: &T,
        from: Rank,
        beside: &mut Beside<'_, '_, T>,
    ) -> Result<()> {
        let (source, buffer) = (Source::Rank(from), self.buffer.bytes());
        let status = match beside {
            Beside::Packing(packing) => {
                let status = t.blocked_recv(source, self.tag, packing.incoming(buffer))?;
                packing.unpack(t, buffer)?;
                packing.whole(status)
            }
            _ => {
                let status = t.blocked_recv(source, self.tag, buffer)?;
                read(t, beside.touch(), buffer);
                status
            }
        };
        self.arrived = Some((from, status.length_from(from)));
        Ok(())
    }

    /// Posts a receive from `from`, sends the message to `to`, and waits for the receive.
    #[inline]
    pub(super) fn exchange<T: Transport>(
        &mut self,
        t: &T,
        [from, to]: [Rank; 2],
        beside: &mut Beside<'_, '_, T>,
    ) -> Result<()> {
        let (tag, touch) = (self.tag, beside.touch());
        let (message, buffer) = (self.message.bytes(), self.buffer.bytes());
        let status = match beside {
            Beside::Packing(packing) => {
                let [out, back] = packing.both(t, message, buffer)?;
                let status = cross(t, [from, to], tag, None, [out, back])?;
                packing.unpack(t, buffer)?;
                packing.whole(status)
            }
            _ => {
                let status = cross(t, [from, to], tag, touch, [message, &mut *buffer])?;
                read(t, touch, buffer);
                status
            }
        };
        self.arrived = Some((from, status.length_from(from)));
        Ok(())
    }

    /// Fills the message, and spoils the buffer for one of `from`.
    pub(super) fn fill(&mut self, seeds: Seeds, from: Rank) {
        pattern::fill(self.message.bytes(), seeds.of(0, self.rank));
        self.spoil(seeds, from);
        self.arrived = None;
    }

    /// Spoils the buffer for a message of `from`.
    pub(super) fn spoil(&mut self, seeds: Seeds, from: Rank) {
        pattern::spoil(self.buffer.bytes(), seeds.of(0, from));
        self.awaited = from;
    }

    /// Checks the last message that has arrived, if one has, and all canaries.
    pub(super) fn check(&mut self, check: &mut Checker) {
        if let Some((from, length_bytes)) = self.arrived {
            let seed = check.seeds().of(0, from);
            let what = format!("the message from rank {from}");
            let awaited = check.seeds().of(0, self.awaited);
            let before = |place: &mut [u8]| pattern::spoil(place, awaited);
            check.arrival_over(length_bytes, (self.buffer.bytes(), seed), before, &what);
        }
        self.message.check(check, "the message");
        self.buffer.check(check, "what arrives");
    }
}
