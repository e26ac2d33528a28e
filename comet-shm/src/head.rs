//! The first line of a message: what it says, and how that is written and read.
//!
//! ```text
//!   kind 3 bits, context 14, tag 15 │ order u32 │ length u32 │ 48 B of data      (after the sequence word)
//! ```
//!
//! Messages of one direction come in two lanes, ring and reply slot. `order` keeps them in the
//! order in which they were sent: it counts what was sent on the other lane before.

use std::ptr;

use comet_core::transport::Tag;

use crate::layout::{INLINE_BYTES, Line, RUN_LINE_BYTES};
use crate::remote_copy::Place;

/// Bytes of a header after the sequence word.
const HEADER_BYTES: usize = 12;
/// Bits of the kind of a line, below the tag with its context.
const KIND_BITS: u32 = 3;

/// Contents of the first line of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) tag: Tag,
    pub(crate) length_bytes: usize,
    pub(crate) body: Body,
    pub(crate) lane: Lane,
}

/// Lane by which a first line has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    Ring,
    ReplySlot,
}

/// Way of the data of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// In this line and those that follow it (up to 4 KiB), or all in the reply slot.
    Run,
    /// In chunks of the payload ring, each announced by a line.
    Chunks,
    /// It stays where it lies, to be copied from there.
    Lent(Place, Ticket),
    /// It stays where it lies until it has found its receive, and its sender waits for the receipt, which is
    /// at this offset of the segment.
    Held(Place, usize),
}

/// Names one lent message on its way: where sender and receiver meet, and under which number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub(crate) slot: usize,
    pub(crate) number: u64,
}

/// The kinds of lines that have a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Kind {
    Run = 1,
    Chunks = 2,
    Lent = 3,
    /// Announces one chunk.
    Chunk = 4,
    Held = 5,
}

/// Writes the header of a line, and `n` bytes of data.
///
/// # Safety
/// The line is the caller's to write, `n` is at most [`INLINE_BYTES`], and as many bytes from `data`
/// on can be read.
#[inline]
pub(crate) unsafe fn write_head(
    line: &Line,
    (kind, tag, order): (Kind, Tag, u32),
    length: usize,
    data: *const u8,
    n: usize,
) {
    debug_assert!(n <= INLINE_BYTES);
    let length = u32::try_from(length).expect("longer messages say their length in the data");
    let mut header = [0u8; HEADER_BYTES];
    header[..4].copy_from_slice(&(tag.to_wire() << KIND_BITS | kind as u32).to_le_bytes());
    header[4..8].copy_from_slice(&order.to_le_bytes());
    header[8..12].copy_from_slice(&length.to_le_bytes());
    line.bytes.with_mut(|bytes| {
        let bytes = bytes.cast::<u8>();
        // SAFETY: the header fits into the line, which is the caller's.
        unsafe { ptr::copy_nonoverlapping(header.as_ptr(), bytes, HEADER_BYTES) };
        if n > 0 {
            // SAFETY: header and data fit into the line together.
            unsafe { ptr::copy_nonoverlapping(data, bytes.wrapping_add(HEADER_BYTES), n) };
        }
    });
}

/// Contents of a first line that came by `lane`.
pub(crate) fn read_head(bytes: &[u8; RUN_LINE_BYTES], lane: Lane) -> Head {
    let tag = Tag::from_wire(label(bytes) >> KIND_BITS);
    let (length_bytes, body) = match kind(bytes) {
        kind if kind == Kind::Run as u32 => (length(bytes), Body::Run),
        kind if kind == Kind::Chunks as u32 => (word(bytes, 0), Body::Chunks),
        kind if kind == Kind::Lent as u32 => {
            let ticket = Ticket { slot: word(bytes, 2), number: word(bytes, 3) as u64 };
            (word(bytes, 0), Body::Lent(Place::unpack(word(bytes, 1) as u64), ticket))
        }
        kind if kind == Kind::Held as u32 => {
            (word(bytes, 0), Body::Held(Place::unpack(word(bytes, 1) as u64), word(bytes, 2)))
        }
        kind => unreachable!("no message starts with a line of kind {kind}"),
    };
    Head { tag, length_bytes, body, lane }
}

/// Kind and tag of a line as one word.
#[inline]
fn label(bytes: &[u8; RUN_LINE_BYTES]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

/// True if a first line begins a run with `tag`.
#[inline]
pub(crate) fn is_run(bytes: &[u8; RUN_LINE_BYTES], tag: Tag) -> bool {
    label(bytes) == tag.to_wire() << KIND_BITS | Kind::Run as u32
}

/// Number of messages on the other lane before this one.
#[inline]
pub(crate) fn order(bytes: &[u8; RUN_LINE_BYTES]) -> u32 {
    u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]])
}

/// The kind of a line, as a number.
#[inline]
pub(crate) fn kind(bytes: &[u8; RUN_LINE_BYTES]) -> u32 {
    label(bytes) & ((1 << KIND_BITS) - 1)
}

/// The length that a header says.
#[inline]
pub(crate) fn length(bytes: &[u8; RUN_LINE_BYTES]) -> usize {
    u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]) as usize
}

/// The data after the header, of which there are `n` bytes.
#[inline]
pub(crate) fn inline_data(bytes: &[u8; RUN_LINE_BYTES], n: usize) -> &[u8] {
    &bytes[HEADER_BYTES..HEADER_BYTES + n]
}

/// Word `index` of the data.
fn word(bytes: &[u8; RUN_LINE_BYTES], index: usize) -> usize {
    let at = HEADER_BYTES + 8 * index;
    let word = bytes[at..at + 8].try_into().expect("8 bytes make a word");
    usize::try_from(u64::from_le_bytes(word)).expect("lengths, places and numbers fit")
}
