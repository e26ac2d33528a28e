//! Layout of the shared segment.
//!
//! ```text
//!   offset 0      Header                      poison, failure text, count of sleepers
//!                 n x RankControl             futex, sleeping flag, activity
//!                 BroadcastRing               messages of broadcasts, from all roots
//!                 n x 4 x Board               contributions of a rank to meetings of all
//!                 n x n x Pair                [source][destination]: one ring a direction
//!                 n x heap                    buffers made by `message_buffer`
//! ```
//!
//! ```text
//!   Pair      consumer writes │ credit         lines and chunks consumed     128 B
//!             producer writes │ 256 lines      headers and short messages    64 B each
//!             producer writes │ 16 chunks      pieces of long messages       8 KiB each
//!             both write      │ 16 rendezvous  messages that are copied once  384 B each
//!             both write      │ reply slot     one message, in turn          64 B + 64 KiB
//!
//!   Line      seq u32 │ header of 12 B (see `head`) │ 48 B of data
//!             seq u32 │ 60 B of data                           (a line that continues a run)
//!
//!   Board     reached, operation, places: 32 B │ cell: 32 KiB, of which 32 B lie in the first line
//!
//!   Window    any origin writes │ lock, turn   128 B each                   in the heap of the target,
//!             origin writes │ n x Signals      128 B each                   one for each rank of the
//!             any origin writes │ part         what the others reach        window
//! ```
//!
//! Every word that two ranks use is an atomic; data is guarded by the sequence word of its line.
//! All types are valid when zeroed, which is what a fresh mapping holds, and refer to each other
//! by offsets and numbers. Pages cost memory only once they are used, and a pair that exchanges
//! nothing uses none: who sends to a rank for the first time enters itself in that rank's `senders`,
//! and a rank looks at the rings of those only. Among many ranks that would be too many to look at;
//! there each message enters its sender anew.

use crossbeam::utils::CachePadded;

use crate::sync::{AtomicU32, AtomicU64, SharedCell};

/// Lines in a ring; a power of two.
pub(crate) const N_LINES: u32 = if cfg!(loom) { 4 } else { 256 };
/// Data bytes in the first line of a message.
pub(crate) const INLINE_BYTES: usize = 48;
/// Data bytes in a line that continues a run.
pub(crate) const RUN_LINE_BYTES: usize = 60;
/// Longest message that travels as a run of lines.
pub(crate) const RUN_BYTES: usize = 512;
/// Longest message in a reply slot.
pub(crate) const SLOT_BYTES: usize = if cfg!(loom) { 4096 } else { 64 * 1024 };
/// Chunks in the payload ring of a pair; a power of two.
pub(crate) const N_CHUNKS: u32 = if cfg!(loom) { 2 } else { 16 };
/// Bytes in a chunk.
pub(crate) const CHUNK_BYTES: usize = if cfg!(loom) { 64 } else { 8192 };
/// Messages that one rank may have lent to another.
pub(crate) const N_RENDEZVOUS: usize = if cfg!(loom) { 1 } else { 16 };
/// Words of a set of ranks.
pub(crate) const SET_WORDS: usize = crate::launch::MAX_RANKS.div_ceil(64);
/// The most ranks of which each looks at the rings of all others.
pub(crate) const MAX_SCANNED: usize = 64;
/// Boards of a rank: one more than the meetings that it may be ahead of the others.
pub(crate) const N_BOARDS: usize = if cfg!(loom) { 2 } else { 4 };
/// Bytes that a rank may bring to a meeting.
pub(crate) const CELL_BYTES: usize = if cfg!(loom) { 64 } else { 32 * 1024 };
/// Broadcasts that a root may be ahead of the others; a power of two.
pub(crate) const N_BROADCASTS: usize = if cfg!(loom) { 2 } else { 256 };
/// Data bytes in the line of a broadcast.
pub(crate) const BROADCAST_INLINE_BYTES: usize = 40;
/// Bytes of the ring for longer broadcasts; a power of two.
pub(crate) const BROADCAST_RING_BYTES: usize = if cfg!(loom) { 64 } else { 256 * 1024 };
/// Bytes of the text that says what a rank is doing.
pub(crate) const ACTIVITY_BYTES: usize = 192;
/// Bytes of the text that says why the job failed.
pub(crate) const REASON_BYTES: usize = 1024;

/// Head of the segment.
#[repr(C, align(4096))]
pub(crate) struct Header {
    /// 0, or what ended the job (see `failure`). Written once, by whoever noticed first.
    pub(crate) poison: CachePadded<AtomicU64>,
    /// Number of ranks that sleep or are about to; spares the others a look at each flag.
    pub(crate) n_sleepers: CachePadded<AtomicU32>,
    /// Reason of the failure, by the rank that set `poison`.
    pub(crate) reason: Text<{ REASON_BYTES / 8 }>,
}

/// One rank's own words. Only that rank writes them, but for those that say who else does, and for
/// `sleeping`, which wakers take back, and `rendezvous`, which the root of a broadcast shares.
#[repr(C)]
pub(crate) struct RankControl {
    /// Futex word: others add 1 to wake this rank.
    pub(crate) futex: CachePadded<AtomicU32>,
    /// Nonzero if this rank sleeps on its futex, or is about to.
    pub(crate) sleeping: CachePadded<AtomicU32>,
    /// The ranks whose rings this one has to look at, as a set of bits. Written by them: once, or
    /// where there are many ranks with each message, and then cleared by this one.
    pub(crate) senders: CachePadded<[AtomicU64; SET_WORDS]>,
    /// The number of this rank's process.
    pub(crate) pid: AtomicU32,
    /// Position of this rank in the stream of broadcasts.
    pub(crate) broadcast: CachePadded<BroadcastCredit>,
    /// Rendezvous of this rank with the root of a long broadcast; the root is the producer.
    pub(crate) rendezvous: Rendezvous,
    /// 0, or 1 and the code with which this rank has ended, or `KILLED`. Written by the launcher.
    pub(crate) ended: CachePadded<AtomicU32>,
    /// Nonzero once this rank has left the failed job: it writes to no other memory any more.
    pub(crate) left: AtomicU32,
    /// Number of the latest round trip of `placement`.
    pub(crate) ping: CachePadded<AtomicU64>,
    /// Wait of this rank, for failure reports.
    pub(crate) waiting: CachePadded<WaitingLine>,
    /// Activity of this rank: kernel and parameters.
    pub(crate) activity: Text<{ ACTIVITY_BYTES / 8 }>,
}

/// Position of a rank in the stream of broadcasts, as last published.
#[repr(C)]
pub(crate) struct BroadcastCredit {
    /// Lines finished.
    pub(crate) lines: AtomicU64,
    /// Bytes of the ring finished.
    pub(crate) bytes: AtomicU64,
}

/// Wait of a rank.
#[repr(C)]
pub(crate) struct WaitingLine {
    /// Operation, peer and tag (see `Waiting::pack`), or 0 when it does not wait.
    pub(crate) what: AtomicU64,
    /// Length of the message in bytes.
    pub(crate) length_bytes: AtomicU64,
}

/// Text that another process may read while it changes: it then gets a mixture, never an error.
#[repr(C)]
pub(crate) struct Text<const N_WORDS: usize> {
    pub(crate) words: [AtomicU64; N_WORDS],
}

/// Broadcasts that are on their way. Written by the root of each, read by all others.
#[repr(C, align(4096))]
pub(crate) struct BroadcastRing {
    /// One for each piece of a message.
    pub(crate) lines: [BroadcastLine; N_BROADCASTS],
    /// Pieces that are too long for their line.
    pub(crate) bytes: SharedCell<[u8; BROADCAST_RING_BYTES]>,
}

/// One piece of a broadcast.
#[repr(C, align(64))]
pub(crate) struct BroadcastLine {
    /// Number of the line in the stream, modulo 2^32. The stream begins with 1.
    pub(crate) seq: AtomicU32,
    /// The rank that wrote it.
    pub(crate) root: AtomicU32,
    /// Length of the whole message.
    pub(crate) length_bytes: AtomicU64,
    /// 0, or where a message lies that is copied once (see `remote_copy::Place`).
    pub(crate) place: AtomicU64,
    /// A short message.
    pub(crate) data: SharedCell<[u8; BROADCAST_INLINE_BYTES]>,
}

/// Contribution of a rank to one meeting of all: read by all, written by its owner, but for the cell, where
/// others leave what they have combined for it.
#[repr(C, align(128))]
pub(crate) struct Board {
    /// Number of the latest meeting that this rank has come to with this board.
    pub(crate) reached: AtomicU64,
    /// Operation of the rank (see `collective::Act`).
    pub(crate) act: AtomicU64,
    /// Bits of a number, or the place of its data (see `collective::Spot`).
    pub(crate) from: AtomicU64,
    /// Place of its result.
    pub(crate) into: AtomicU64,
    /// Its data. The first of them come with the words, in one cache line.
    pub(crate) cell: SharedCell<[u8; CELL_BYTES]>,
}

/// The boards of a rank, used in turn.
pub(crate) type Boards = [Board; N_BOARDS];

/// One direction between two ranks.
#[repr(C, align(4096))]
pub(crate) struct Pair {
    /// Position of the consumer.
    pub(crate) credit: CachePadded<Credit>,
    /// Headers and short messages.
    pub(crate) lines: [Line; N_LINES as usize],
    /// Pieces of long messages from private memory.
    pub(crate) chunks: [Chunk; N_CHUNKS as usize],
    /// Messages that are copied from where they lie.
    pub(crate) rendezvous: [Rendezvous; N_RENDEZVOUS],
    /// Line that both ranks write in turn; in use in the direction from the lower rank only.
    pub(crate) reply_slot: CachePadded<ReplySlot>,
}

/// One message, up to [`SLOT_BYTES`] long.
#[repr(C)]
pub(crate) struct ReplySlot {
    /// Header, and short messages.
    pub(crate) head: Line,
    /// Longer messages.
    pub(crate) data: SharedCell<[u8; SLOT_BYTES]>,
}

/// Meeting place of sender and receiver of a message passed by reference. A place serves one
/// message after the other, each under the next number.
#[repr(C)]
pub(crate) struct Rendezvous {
    /// The consumer's: number of the last message that is wholly copied.
    pub(crate) copied: CachePadded<AtomicU64>,
    /// State of a copy by both.
    pub(crate) shared: CachePadded<SharedCopy>,
    /// The producer's: number of the last message of which it has copied its part.
    pub(crate) helped: CachePadded<AtomicU64>,
}

/// A copy that sender and receiver make together.
#[repr(C)]
pub(crate) struct SharedCopy {
    /// Number of the message that the sender may help with. Written by the consumer.
    pub(crate) opened: AtomicU64,
    /// Destination of the message (see `remote_copy::Place`). Written by the consumer.
    pub(crate) destination: AtomicU64,
    /// Pieces taken: from the front in the lower half, from the back in the upper half.
    pub(crate) taken: AtomicU64,
}

/// Counts that the consumer of a pair publishes.
#[repr(C)]
pub(crate) struct Credit {
    /// Lines consumed since the start, modulo 2^32.
    pub(crate) lines: AtomicU32,
    /// Chunks consumed since the start, modulo 2^32.
    pub(crate) chunks: AtomicU32,
}

/// Word of a sender's heap, which the receiver of a synchronous send writes (see `receipt`).
#[repr(C)]
pub(crate) struct ReceiptWord {
    /// 1 once the message has found its receive, and was read.
    pub(crate) is_written: AtomicU32,
}

/// Beginning of a rank's memory in a window; signals from each rank follow, and then its part.
#[repr(C)]
pub(crate) struct WindowHead {
    /// Lock of the part.
    pub(crate) lock: CachePadded<PartLock>,
    /// Turn of who accumulates.
    pub(crate) turn: CachePadded<Turn>,
}

/// Lock of a part, given in the order in which it was asked for (see `window::words`).
#[repr(C)]
pub(crate) struct PartLock {
    /// Tickets drawn.
    pub(crate) drawn: AtomicU32,
    /// Tickets behind which a shared lock may be taken.
    pub(crate) passed: AtomicU32,
    /// Tickets given back, behind which an exclusive lock may be taken.
    pub(crate) returned: AtomicU32,
    /// 0, or 1 and the number in the job of the rank with the exclusive lock.
    pub(crate) holder: AtomicU32,
}

/// Turn of who accumulates to a part: free, taken, or taken while another asks for it.
#[repr(transparent)]
pub(crate) struct Turn(pub(crate) AtomicU32);

/// Signals from one rank of a window to the owner of the memory that they lie in.
#[repr(C)]
pub(crate) struct Signals {
    /// That rank, as a target, has posted.
    pub(crate) posted: Signal,
    /// That rank, as an origin, has completed.
    pub(crate) completed: Signal,
}

/// Number of signals so far, modulo 2^32.
#[repr(transparent)]
pub(crate) struct Signal(pub(crate) AtomicU32);

/// One line of a ring: a sequence word and the data that it guards.
#[repr(C, align(64))]
pub(crate) struct Line {
    /// Position of the line in the stream, plus 1, modulo 2^32.
    pub(crate) seq: AtomicU32,
    /// Header and data, or data alone.
    pub(crate) bytes: SharedCell<[u8; RUN_LINE_BYTES]>,
}

/// One chunk of the payload ring.
#[repr(C, align(64))]
pub(crate) struct Chunk {
    pub(crate) bytes: SharedCell<[u8; CHUNK_BYTES]>,
}

/// Offsets of the regions of a segment, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) n_ranks: usize,
    pub(crate) controls: usize,
    pub(crate) broadcasts: usize,
    pub(crate) boards: usize,
    pub(crate) pairs: usize,
    pub(crate) heaps: usize,
    pub(crate) heap_bytes: usize,
    pub(crate) total_bytes: usize,
}

impl Layout {
    /// Layout for `n_ranks` heaps of `heap_bytes`; `None` beyond the address space.
    pub(crate) fn new(n_ranks: usize, heap_bytes: usize) -> Option<Self> {
        let page = align_of::<Header>();
        let region = |offset: usize, n: usize, size: usize| {
            n.checked_mul(size)?.checked_add(offset)?.checked_next_multiple_of(page)
        };
        let heap_bytes = heap_bytes.checked_next_multiple_of(page)?;
        let controls = size_of::<Header>();
        let broadcasts = region(controls, n_ranks, size_of::<RankControl>())?;
        let boards = region(broadcasts, 1, size_of::<BroadcastRing>())?;
        let pairs = region(boards, n_ranks, size_of::<Boards>())?;
        let heaps = region(pairs, n_ranks.checked_mul(n_ranks)?, size_of::<Pair>())?;
        let total_bytes = region(heaps, n_ranks, heap_bytes)?;
        isize::try_from(total_bytes).ok()?;
        Some(Self { n_ranks, controls, broadcasts, boards, pairs, heaps, heap_bytes, total_bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn a_line_is_one_cache_line_and_its_sequence_comes_first() {
        assert_eq!((size_of::<Line>(), align_of::<Line>()), (64, 64));
        assert_eq!((offset_of!(Line, seq), offset_of!(Line, bytes)), (0, 4));
    }

    #[test]
    fn a_broadcast_line_is_one_cache_line_and_boards_begin_in_different_sets_of_a_cache() {
        assert_eq!((size_of::<BroadcastLine>(), align_of::<BroadcastLine>()), (64, 64));
        assert_eq!((offset_of!(Board, cell), size_of::<Board>() % 4096), (32, 128));
        assert_eq!(offset_of!(BroadcastRing, bytes) % 64, 0);
    }

    #[test]
    fn what_different_ranks_write_lies_in_different_cache_lines() {
        let pair =
            [offset_of!(Pair, credit), offset_of!(Pair, lines), offset_of!(Pair, rendezvous)];
        let rendezvous = [
            offset_of!(Rendezvous, copied),
            offset_of!(Rendezvous, shared),
            offset_of!(Rendezvous, helped),
        ];
        let control = [
            offset_of!(RankControl, futex),
            offset_of!(RankControl, sleeping),
            offset_of!(RankControl, senders),
            offset_of!(RankControl, broadcast),
            offset_of!(RankControl, rendezvous),
            offset_of!(RankControl, ping),
            offset_of!(RankControl, waiting),
        ];
        for offsets in [&pair[..], &control[..], &rendezvous[..]] {
            assert!(offsets.windows(2).all(|w| w[1] - w[0] >= 128), "{offsets:?}");
        }
        assert_eq!(size_of::<RankControl>() % 128, 0);
        assert_eq!(offset_of!(Pair, lines) % 64, 0);
    }

    #[test]
    fn regions_are_in_order_page_aligned_and_do_not_overlap() {
        for n_ranks in [1, 2, 7, 64] {
            let l = Layout::new(n_ranks, 1 << 20).unwrap();
            let offsets = [0, l.controls, l.broadcasts, l.boards, l.pairs, l.heaps, l.total_bytes];
            assert!(offsets.is_sorted() && offsets.iter().all(|o| o % 4096 == 0), "{l:?}");
            assert!(l.heaps - l.pairs >= n_ranks * n_ranks * size_of::<Pair>());
            assert_eq!(l.total_bytes - l.heaps, n_ranks << 20);
        }
        assert_eq!(Layout::new(usize::MAX / 2, 1), None);
    }
}
