//! Messages that a rank packs before it sends them, and unpacks after it has received them.

use std::ops::Range;

use super::{Blocks, Datatype, Runs, Way};
use crate::error::Result;
use crate::transport::{Status, Transport, Work};

/// Memory in which the messages of one rank travel in one piece, and the loops that fill it from the blocks of a
/// message, and the blocks of a place from it.
///
/// Between two calls of the transport a rank packs by loops of ours, or by the calls of the library. Loops copy no
/// message whose blocks are in one piece already.
#[derive(Debug)]
pub struct Packing<'a, T: Transport> {
    /// The transport whose datatype the library packs; `None` for loops of ours.
    library: Option<&'a T>,
    sent: Side,
    received: Side,
    data_bytes: usize,
    extent_bytes: usize,
    wires: [T::Buffer; 2],
}

/// The blocks of one side.
#[derive(Debug)]
struct Side {
    runs: Runs,
    /// The work of their copy.
    work: Work,
    /// True if they travel from or to where they lie.
    is_direct: bool,
}

impl Side {
    fn of(datatype: &Datatype, is_ours: bool) -> Self {
        let runs = datatype.runs();
        let (bytes, n) = (runs.size_bytes(), runs.n_pieces().max(1));
        let piece_bytes = bytes.div_ceil(n);
        let stride_bytes = datatype.reach_bytes().div_ceil(n);
        let work = Work::Copy { bytes, piece_bytes, stride_bytes };
        Self { is_direct: is_ours && runs.is_one_piece(), runs, work }
    }

    /// Packs `message` by `library`, or by loops of ours; a simulated machine charges a copy of pieces.
    #[inline]
    fn pack<T: Transport>(
        &self,
        (t, library): (&T, Option<&T>),
        message: &[u8],
        packed: &mut [u8],
    ) -> Result<()> {
        match library {
            Some(laid) => laid.pack(message, packed),
            None => {
                t.compute(self.work, || self.runs.pack(message, packed));
                Ok(())
            }
        }
    }

    /// Unpacks what [`pack`](Self::pack) has packed.
    #[inline]
    fn unpack<T: Transport>(
        &self,
        (t, library): (&T, Option<&T>),
        packed: &[u8],
        place: &mut [u8],
    ) -> Result<()> {
        match library {
            Some(laid) => laid.unpack(packed, place),
            None => {
                t.compute(self.work, || self.runs.unpack(packed, place));
                Ok(())
            }
        }
    }
}

impl<'a, T: Transport> Packing<'a, T> {
    /// Memory for one message of `blocks` in each direction; `laid` is the transport
    /// [with them](Transport::with_layout), by which the library packs if it is to.
    ///
    /// # Errors
    /// If there is not that much memory.
    pub fn new(t: &T, (laid, way): (&'a T, Way), blocks: &Blocks) -> Result<Self> {
        let library = (way == Way::PackedByLibrary).then_some(laid);
        let (sent, received) = (blocks.sent(), blocks.received());
        let [sent, received] = [sent, received].map(|of| Side::of(of, library.is_none()));
        let (data_bytes, extent_bytes) = (blocks.data_bytes(), blocks.extent_bytes());
        let wires = [t.message_buffer(data_bytes)?, t.message_buffer(data_bytes)?];
        Ok(Self { library, sent, received, data_bytes, extent_bytes, wires })
    }

    /// Packs the blocks of `message` into the message that is sent, which is returned.
    ///
    /// # Errors
    /// If the library does not pack.
    #[inline]
    pub fn outgoing<'b>(&'b mut self, t: &T, message: &'b mut [u8]) -> Result<&'b mut [u8]> {
        if self.sent.is_direct {
            return Ok(&mut message[..self.data_bytes]);
        }
        self.sent.pack((t, self.library), message, &mut self.wires[0])?;
        Ok(&mut self.wires[0])
    }

    /// The place of a message that arrives for the blocks of `place`.
    #[inline]
    pub fn incoming<'b>(&'b mut self, place: &'b mut [u8]) -> &'b mut [u8] {
        match self.received.is_direct {
            true => &mut place[..self.data_bytes],
            false => &mut self.wires[1],
        }
    }

    /// Both, for an exchange of `message` and one for `place`.
    ///
    /// # Errors
    /// Those of [`outgoing`](Self::outgoing).
    #[inline]
    pub fn both<'b>(
        &'b mut self,
        t: &T,
        message: &'b mut [u8],
        place: &'b mut [u8],
    ) -> Result<[&'b mut [u8]; 2]> {
        self.outgoing(t, message)?;
        let [out, back] = self.wires.each_mut().map(|wire| &mut **wire);
        let n = self.data_bytes;
        Ok([
            if self.sent.is_direct { &mut message[..n] } else { out },
            if self.received.is_direct { &mut place[..n] } else { back },
        ])
    }

    /// Packs the blocks of `message` into a message that another takes the place of, as
    /// [`unpack`](Self::unpack) finds it.
    ///
    /// # Errors
    /// Those of [`outgoing`](Self::outgoing).
    #[inline]
    pub fn in_place<'b>(&'b mut self, t: &T, message: &'b mut [u8]) -> Result<&'b mut [u8]> {
        if self.is_direct() {
            return Ok(&mut message[..self.data_bytes]);
        }
        self.sent.pack((t, self.library), message, &mut self.wires[1])?;
        Ok(&mut self.wires[1])
    }

    /// Unpacks what has arrived into the blocks of `place`, whose gaps stay as they are.
    ///
    /// # Errors
    /// If the library does not unpack.
    #[inline]
    pub fn unpack(&mut self, t: &T, place: &mut [u8]) -> Result<()> {
        match self.received.is_direct {
            true => Ok(()),
            false => self.received.unpack((t, self.library), &self.wires[1], place),
        }
    }

    /// True if messages are in one piece on both sides, so that nothing is copied.
    #[inline]
    pub fn is_direct(&self) -> bool {
        self.sent.is_direct && self.received.is_direct
    }

    /// Packs each of the messages that lie in `parts`, one extent behind the other, into `packed`.
    ///
    /// # Errors
    /// If the library does not pack.
    #[inline]
    pub fn pack_parts(&self, t: &T, parts: &[u8], packed: &mut [u8]) -> Result<()> {
        for (part, packed) in self.parts(parts.len()).zip(packed.chunks_mut(self.data_bytes.max(1)))
        {
            self.sent.pack((t, self.library), &parts[part], packed)?;
        }
        Ok(())
    }

    /// Unpacks what [`pack_parts`](Self::pack_parts) has packed.
    ///
    /// # Errors
    /// If the library does not unpack.
    #[inline]
    pub fn unpack_parts(&self, t: &T, packed: &[u8], parts: &mut [u8]) -> Result<()> {
        for (part, packed) in self.parts(parts.len()).zip(packed.chunks(self.data_bytes.max(1))) {
            self.received.unpack((t, self.library), packed, &mut parts[part])?;
        }
        Ok(())
    }

    /// Places of the messages in memory of so many bytes.
    fn parts(&self, length_bytes: usize) -> impl Iterator<Item = Range<usize>> + use<'a, T> {
        let extent = self.extent_bytes.max(1);
        (0..length_bytes / extent).map(move |index| index * extent..(index + 1) * extent)
    }

    /// `status` of a message that arrived in one piece, with the length of its place if it is whole.
    #[inline]
    pub fn whole(&self, status: Status) -> Status {
        let is_whole = status.length_bytes == self.data_bytes;
        let length_bytes = if is_whole { self.extent_bytes } else { status.length_bytes };
        Status { length_bytes, ..status }
    }
}
