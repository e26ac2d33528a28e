//! What lies where in the shared segment.
//!
//! ```text
//!   offset 0      Header                      magic, poison, failure text, count of sleepers
//!                 n x RankControl             bell, sleeping flag, collective line, activity
//!                 n x Cells                   pieces of broadcasts and vector sums
//!                 n x n x Pair                [source][destination]: one ring a direction
//!                 n x heap                    buffers made by `message_buffer`
//! ```
//!
//! ```text
//!   Pair      consumer writes │ credit      lines and chunks consumed       128 B
//!             consumer writes │ rendezvous  which heap messages are copied  128 B
//!             producer writes │ 256 lines   headers and short messages      64 B each
//!             producer writes │ 16 chunks   pieces of long messages         8 KiB each
//!
//!   Line      seq u32 │ kind u8 │ flags u8 │ context u16 │ tag u32 │ length u32 │ 48 B of data
//!             seq u32 │ 60 B of data                           (a line that continues a run)
//! ```
//!
//! Every word that two ranks use is an atomic; data is guarded by the sequence word of its line.
//! All types are valid when zeroed, which is what a fresh mapping holds, and refer to each other
//! by offsets and numbers, never by address. A ring that is only looked at costs one page; all other
//! pages cost memory only once they are used.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, AtomicU64};

use crossbeam::utils::CachePadded;

/// Lines in a ring; a power of two.
pub(crate) const N_LINES: u32 = 256;
/// Data bytes in the first line of a message.
pub(crate) const INLINE_BYTES: usize = 48;
/// Data bytes in a line that continues a run.
pub(crate) const RUN_LINE_BYTES: usize = 60;
/// Longest message that travels as a run of lines.
pub(crate) const RUN_BYTES: usize = 4096;
/// Chunks in the payload ring of a pair; a power of two.
pub(crate) const N_CHUNKS: u32 = 16;
/// Bytes in a chunk.
pub(crate) const CHUNK_BYTES: usize = 8192;
/// Heap messages that one rank may have on their way to another.
pub(crate) const N_RENDEZVOUS: usize = 16;
/// Pieces of collectives that a rank may have on their way.
pub(crate) const N_CELLS: usize = 4;
/// Bytes in a piece.
pub(crate) const CELL_BYTES: usize = 32 * 1024;
/// Bytes of the text that says what a rank is doing.
pub(crate) const ACTIVITY_BYTES: usize = 192;
/// Bytes of the text that says why the job failed.
pub(crate) const REASON_BYTES: usize = 1024;
/// Marks a segment of this layout.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"CoMetS01");

/// Head of the segment.
#[repr(C, align(4096))]
pub(crate) struct Header {
    /// [`MAGIC`].
    pub(crate) magic: AtomicU64,
    /// 0, or what ended the job (see `failure`). Written once, by whoever noticed first.
    pub(crate) poison: CachePadded<AtomicU64>,
    /// How many ranks sleep or are about to; spares the others a look at each flag.
    pub(crate) n_sleepers: CachePadded<AtomicU32>,
    /// Why the job failed, by whoever set `poison`.
    pub(crate) reason: Text<{ REASON_BYTES / 8 }>,
}

/// One rank's own words. Only that rank writes them, but for the bell and its end.
#[repr(C)]
pub(crate) struct RankControl {
    /// Futex word: others add 1 to wake this rank.
    pub(crate) bell: CachePadded<AtomicU32>,
    /// Whether this rank sleeps on its bell, or is about to.
    pub(crate) sleeping: CachePadded<AtomicU32>,
    /// Collectives.
    pub(crate) collective: CachePadded<CollectiveLine>,
    /// 0, or 1 and the code with which this rank has ended. Written by the launcher.
    pub(crate) ended: CachePadded<AtomicU32>,
    /// What this rank waits for, for failure reports.
    pub(crate) waiting: CachePadded<WaitingLine>,
    /// What this rank is doing: kernel and parameters.
    pub(crate) activity: Text<{ ACTIVITY_BYTES / 8 }>,
}

/// The collective line of a rank: read by all, written by its owner.
#[repr(C)]
pub(crate) struct CollectiveLine {
    /// The latest step that this rank has published something for.
    pub(crate) published: AtomicU64,
    /// The latest step that this rank has finished, all reading included.
    pub(crate) done: AtomicU64,
    /// Values of scalar sums, by parity of the step, as the bits of an f64.
    pub(crate) values: [AtomicU64; 2],
}

/// What a rank waits for.
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

/// Pieces of collectives that one rank publishes.
#[repr(C, align(4096))]
pub(crate) struct Cells {
    /// Whole length of the message that a piece belongs to, in bytes.
    pub(crate) length_bytes: [AtomicU64; N_CELLS],
    /// The pieces. Aligned to a cache line, since they follow 32 bytes of lengths.
    pub(crate) data: CachePadded<UnsafeCell<[[u8; CELL_BYTES]; N_CELLS]>>,
}

/// One direction between two ranks.
#[repr(C, align(4096))]
pub(crate) struct Pair {
    /// What the consumer has consumed.
    pub(crate) credit: CachePadded<Credit>,
    /// For each heap message on its way: the number of the last one whose data was copied.
    pub(crate) rendezvous: CachePadded<[AtomicU64; N_RENDEZVOUS]>,
    /// Headers and short messages.
    pub(crate) lines: [Line; N_LINES as usize],
    /// Pieces of long messages from private memory.
    pub(crate) chunks: [Chunk; N_CHUNKS as usize],
}

/// Counts that the consumer of a pair publishes.
#[repr(C)]
pub(crate) struct Credit {
    /// Lines consumed since the start, modulo 2^32.
    pub(crate) lines: AtomicU32,
    /// Chunks consumed since the start, modulo 2^32.
    pub(crate) chunks: AtomicU32,
}

/// One line of a ring: a sequence word and the data that it guards.
#[repr(C, align(64))]
pub(crate) struct Line {
    /// Position of the line in the stream, plus 1, modulo 2^32.
    pub(crate) seq: AtomicU32,
    /// Header and data, or data alone.
    pub(crate) bytes: UnsafeCell<[u8; RUN_LINE_BYTES]>,
}

/// One chunk of the payload ring.
#[repr(C, align(64))]
pub(crate) struct Chunk {
    pub(crate) bytes: UnsafeCell<[u8; CHUNK_BYTES]>,
}

/// Offsets of the regions of a segment, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) n_ranks: usize,
    pub(crate) controls: usize,
    pub(crate) cells: usize,
    pub(crate) pairs: usize,
    pub(crate) heaps: usize,
    pub(crate) heap_bytes: usize,
    pub(crate) total_bytes: usize,
}

impl Layout {
    /// The layout for `n_ranks` ranks with `heap_bytes` each, or `None` if it exceeds the address
    /// space.
    pub(crate) fn new(n_ranks: usize, heap_bytes: usize) -> Option<Self> {
        let page = align_of::<Header>();
        let region = |offset: usize, n: usize, size: usize| {
            n.checked_mul(size)?.checked_add(offset)?.checked_next_multiple_of(page)
        };
        let heap_bytes = heap_bytes.checked_next_multiple_of(page)?;
        let controls = size_of::<Header>();
        let cells = region(controls, n_ranks, size_of::<RankControl>())?;
        let pairs = region(cells, n_ranks, size_of::<Cells>())?;
        let heaps = region(pairs, n_ranks.checked_mul(n_ranks)?, size_of::<Pair>())?;
        let total_bytes = region(heaps, n_ranks, heap_bytes)?;
        isize::try_from(total_bytes).ok()?;
        Some(Self { n_ranks, controls, cells, pairs, heaps, heap_bytes, total_bytes })
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
    fn what_different_ranks_write_lies_in_different_cache_lines() {
        let pair =
            [offset_of!(Pair, credit), offset_of!(Pair, rendezvous), offset_of!(Pair, lines)];
        let control = [
            offset_of!(RankControl, bell),
            offset_of!(RankControl, sleeping),
            offset_of!(RankControl, collective),
            offset_of!(RankControl, waiting),
        ];
        for offsets in [&pair[..], &control[..]] {
            assert!(offsets.windows(2).all(|w| w[1] - w[0] >= 128), "{offsets:?}");
        }
        assert_eq!(size_of::<RankControl>() % 128, 0);
        assert_eq!(offset_of!(Pair, lines) % 64, 0);
        assert_eq!(offset_of!(Cells, data) % 64, 0);
    }

    #[test]
    fn regions_are_in_order_page_aligned_and_do_not_overlap() {
        for n_ranks in [1, 2, 7, 64] {
            let l = Layout::new(n_ranks, 1 << 20).unwrap();
            let offsets = [0, l.controls, l.cells, l.pairs, l.heaps, l.total_bytes];
            assert!(offsets.is_sorted() && offsets.iter().all(|o| o % 4096 == 0), "{l:?}");
            assert!(l.heaps - l.pairs >= n_ranks * n_ranks * size_of::<Pair>());
            assert_eq!(l.total_bytes - l.heaps, n_ranks << 20);
        }
        assert_eq!(Layout::new(usize::MAX / 2, 1), None);
    }
}
