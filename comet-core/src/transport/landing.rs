//! Memory that receives fill: a buffer of one receive, or a landing of several; and messages out of such
//! memory.

use std::cell::Cell;
use std::fmt;
use std::ops::Range;

/// Memory into which several receives put their messages at once, as the windows of OSU and IMB do.
///
/// Its contents are undefined from the first receive on. They cannot be read before all receives
/// have ended: a landing has no way to read them, the memory stays borrowed for as long as the
/// scope of the receives, and a scope does not end before them. There is no reference to the bytes
/// meanwhile, so that writes through the pointers of several receives alias nothing.
///
/// ```
/// use comet_core::transport::{Landing, Source, Tag, Transport};
/// const TAG: Tag = Tag::new(1);
/// comet_core::local::run_alone(|t| {
///     let (message, mut memory) = ([7u8; 4], [0u8; 4]);
///     let landing = Landing::new(&mut memory);
///     t.scope(|s| {
///         let mut receives = s.requests();
///         for _ in 0..3 {
///             receives.push(s.unblocked_recv_into(Source::Any, TAG, landing)?);
///             s.unblocked_send(0, TAG, &message)?.wait()?;
///         }
///         receives.wait_all()
///     })?;
///     assert_eq!(memory, [7; 4]);
///     Ok::<_, comet_core::error::TransportError>(())
/// })
/// .unwrap();
/// ```
///
/// The compiler refuses to read the memory before the receives have ended:
///
/// ```compile_fail,E0503
/// # use comet_core::transport::{Landing, Source, Tag, Transport};
/// comet_core::local::run_alone(|t| {
///     let mut memory = [0u8; 4];
///     let landing = Landing::new(&mut memory);
///     t.scope(|s| {
///         let receive = s.unblocked_recv_into(Source::Any, Tag::new(1), landing)?;
///         assert_eq!(memory[0], 7); // may be written at this moment
///         receive.wait()
///     })
/// });
/// ```
#[derive(Clone, Copy)]
pub struct Landing<'a>(&'a [Cell<u8>]);

impl<'a> Landing<'a> {
    /// A landing in `memory`.
    pub fn new(memory: &'a mut [u8]) -> Self {
        Self(Cell::from_mut(memory).as_slice_of_cells())
    }

    /// The `bytes` of it.
    ///
    /// # Panics
    /// If it has not that many.
    #[inline]
    pub fn part(self, bytes: Range<usize>) -> Self {
        Self(&self.0[bytes])
    }

    /// Copies its bytes, into which no receive is in flight, to `into`, which is as long.
    #[inline]
    pub(crate) fn read(self, into: &mut [u8]) {
        into.iter_mut().zip(self.0).for_each(|(byte, cell)| *byte = cell.get());
    }

    /// Copies `from`, which is as long, to its bytes, of which no message is in flight.
    #[inline]
    pub(crate) fn write(self, from: &[u8]) {
        self.0.iter().zip(from).for_each(|(cell, byte)| cell.set(*byte));
    }
}

impl fmt::Debug for Landing<'_> {
    /// The length alone: the bytes may be written at this moment.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Landing").field("length_bytes", &self.0.len()).finish()
    }
}

/// Message out of the memory of a [collective in flight](crate::collective::InFlight), as a backend sees
/// it. Nothing changes the bytes before its send has ended; what was received there before may be sent.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'env>(Landing<'env>);

impl<'env> Outgoing<'env> {
    /// The message that fills `landing`, into which no receive is in flight.
    pub(crate) fn of(landing: Landing<'env>) -> Self {
        Self(landing)
    }

    /// Length in bytes.
    #[inline]
    pub fn length_bytes(self) -> usize {
        self.0.0.len()
    }

    /// Address of the first byte, for backends with unsafe code; readable until the operation ends.
    #[inline]
    pub fn start(self) -> *const u8 {
        self.0.0.as_ptr().cast()
    }

    /// A copy of the message.
    pub fn to_vec(self) -> Vec<u8> {
        self.0.0.iter().map(Cell::get).collect()
    }
}

/// Memory of one receive, as a backend sees it.
#[derive(Debug)]
pub enum Place<'env> {
    /// A buffer of its own.
    Own(&'env mut [u8]),
    /// A landing that other receives fill too.
    Shared(Landing<'env>),
}

impl<'env> Place<'env> {
    /// Length in bytes.
    #[inline]
    pub fn length_bytes(&self) -> usize {
        match self {
            Self::Own(buffer) => buffer.len(),
            Self::Shared(Landing(cells)) => cells.len(),
        }
    }

    /// Address of the first byte, for backends with unsafe code; writable until the operation ends.
    #[inline]
    pub fn start(&mut self) -> *mut u8 {
        match self {
            Self::Own(buffer) => buffer.as_mut_ptr(),
            Self::Shared(Landing(cells)) => cells.as_ptr().cast::<u8>().cast_mut(),
        }
    }

    /// Copies `message` to the front, as far as it fits.
    #[inline]
    pub fn put(&mut self, message: &[u8]) {
        let n = message.len().min(self.length_bytes());
        match self {
            Self::Own(buffer) => buffer[..n].copy_from_slice(&message[..n]),
            Self::Shared(Landing(cells)) => {
                cells.iter().zip(message).for_each(|(cell, byte)| cell.set(*byte));
            }
        }
    }

    /// Length of [`into_buffer`](Self::into_buffer) in bytes.
    #[inline]
    pub fn returned_bytes(&self) -> usize {
        match self {
            Self::Own(buffer) => buffer.len(),
            Self::Shared(_) => 0,
        }
    }

    /// The buffer, which the receive gives back; empty for a landing.
    #[inline]
    pub fn into_buffer(self) -> &'env mut [u8] {
        match self {
            Self::Own(buffer) => buffer,
            Self::Shared(_) => &mut [],
        }
    }
}
