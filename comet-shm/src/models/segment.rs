//! The segment of a model: what `segment` maps, built word by word, since loom's atomics are more
//! than zeroed memory.

use std::array;
use std::cell::UnsafeCell;
use std::ptr::NonNull;

use crossbeam::utils::CachePadded;
use nix::errno::Errno;

use crate::layout::{
    Board, Boards, BroadcastCredit, BroadcastLine, BroadcastRing, Chunk, Credit, Header, Layout,
    Line, MAX_SCANNED, Pair, PartLock, RankControl, Rendezvous, ReplySlot, SharedCopy, Signal,
    Signals, Text, Turn, WaitingLine,
};
use crate::sync::{AtomicU32, AtomicU64, SharedCell};

/// Everything that the ranks of a model share.
pub(crate) struct Segment {
    layout: Layout,
    header: Header,
    controls: Vec<RankControl>,
    broadcasts: BroadcastRing,
    boards: Vec<Boards>,
    pairs: Vec<Pair>,
    /// Loom sees none of it: models of lent messages are in `rendezvous`.
    heaps: UnsafeCell<Vec<u8>>,
}

// SAFETY: ranks share it as processes share the mapping; loom watches over what they do with it.
unsafe impl Sync for Segment {}

impl Segment {
    #[expect(clippy::unnecessary_wraps, reason = "as that of the real segment, which may fail")]
    pub(crate) fn create(layout: Layout) -> Result<Self, Errno> {
        let n_ranks = layout.n_ranks;
        Ok(Self {
            layout,
            header: Fresh::fresh(),
            controls: (0..n_ranks).map(|_| Fresh::fresh()).collect(),
            broadcasts: Fresh::fresh(),
            boards: (0..n_ranks).map(|_| Fresh::fresh()).collect(),
            pairs: (0..n_ranks * n_ranks).map(|_| Fresh::fresh()).collect(),
            heaps: UnsafeCell::new(vec![0; n_ranks * layout.heap_bytes]),
        })
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(crate) fn n_ranks(&self) -> usize {
        self.layout.n_ranks
    }

    pub(crate) fn is_crowded(&self) -> bool {
        self.layout.n_ranks > MAX_SCANNED
    }

    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    pub(crate) fn control(&self, rank: usize) -> &RankControl {
        &self.controls[rank]
    }

    pub(crate) fn broadcasts(&self) -> &BroadcastRing {
        &self.broadcasts
    }

    pub(crate) fn boards(&self, rank: usize) -> &Boards {
        &self.boards[rank]
    }

    pub(crate) fn pair(&self, source: usize, destination: usize) -> &Pair {
        &self.pairs[source * self.layout.n_ranks + destination]
    }

    pub(crate) fn heap(&self, rank: usize) -> NonNull<u8> {
        let start = self.heap_start().wrapping_add(rank * self.layout.heap_bytes);
        NonNull::new(start).expect("a vector has a place")
    }

    pub(crate) fn heap_offset(&self, pointer: *const u8, length_bytes: usize) -> Option<usize> {
        let offset = pointer.addr().checked_sub(self.heap_start().addr())?;
        let end = offset.checked_add(length_bytes)?;
        (end <= self.layout.n_ranks * self.layout.heap_bytes).then_some(offset)
    }

    pub(crate) fn heap_pointer(&self, offset: usize, _length_bytes: usize) -> *const u8 {
        self.heap_start().wrapping_add(offset)
    }

    fn heap_start(&self) -> *mut u8 {
        // SAFETY: the vector itself never changes.
        unsafe { (*self.heaps.get()).as_mut_ptr() }
    }
}

/// Equivalent of zeroed memory.
pub(crate) trait Fresh {
    fn fresh() -> Self;
}

impl Fresh for AtomicU32 {
    fn fresh() -> Self {
        Self::new(0)
    }
}

impl Fresh for AtomicU64 {
    fn fresh() -> Self {
        Self::new(0)
    }
}

impl Fresh for u8 {
    fn fresh() -> Self {
        0
    }
}

impl Fresh for u32 {
    fn fresh() -> Self {
        0
    }
}

impl Fresh for Turn {
    fn fresh() -> Self {
        Self(Fresh::fresh())
    }
}

impl Fresh for Signal {
    fn fresh() -> Self {
        Self(Fresh::fresh())
    }
}

impl<V: Fresh, const N: usize> Fresh for [V; N] {
    fn fresh() -> Self {
        array::from_fn(|_| V::fresh())
    }
}

impl<V: Fresh> Fresh for CachePadded<V> {
    fn fresh() -> Self {
        Self::new(V::fresh())
    }
}

impl<V: Fresh> Fresh for SharedCell<V> {
    fn fresh() -> Self {
        Self::new(V::fresh())
    }
}

impl<const N_WORDS: usize> Fresh for Text<N_WORDS> {
    fn fresh() -> Self {
        Self { words: Fresh::fresh() }
    }
}

macro_rules! fresh {
    ($($name:ident { $($field:ident),* })*) => {
        $(impl Fresh for $name {
            fn fresh() -> Self {
                Self { $($field: Fresh::fresh()),* }
            }
        })*
    };
}

fresh! {
    Header { poison, n_sleepers, reason }
    RankControl {
        futex, sleeping, senders, pid, broadcast, rendezvous, ended, left, ping, waiting, activity
    }
    Board { reached, act, from, into, cell }
    BroadcastCredit { lines, bytes }
    BroadcastRing { lines, bytes }
    BroadcastLine { seq, root, length_bytes, place, data }
    WaitingLine { what, length_bytes }
    Pair { credit, lines, chunks, rendezvous, reply_slot }
    ReplySlot { head, data }
    Rendezvous { copied, shared, helped }
    SharedCopy { opened, destination, taken }
    Credit { lines, chunks }
    Line { seq, bytes }
    Chunk { bytes }
    PartLock { drawn, passed, returned, holder }
    Signals { posted, completed }
}
