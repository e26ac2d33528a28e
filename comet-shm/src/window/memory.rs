//! Memory of a window: places in the heaps of all ranks, and copies to and from them.
//!
//! No reference to the bytes of a part is ever made, also by its owner, since any rank of the window may
//! write them at any moment. Everything goes through [`copy`], by which a race between ranks is a mixture
//! of bytes and nothing worse.

use std::ffi::c_void;
use std::ptr;

use comet_core::transport::Rank;
use crossbeam::utils::CachePadded;
use nix::libc;

use crate::heap::ALIGN_BYTES;
use crate::layout::{Signals, WindowHead};
use crate::segment::Segment;
use crate::sync::copy_word;

/// Bytes that are copied by one load and one store.
const WORD_BYTES: usize = 8;

/// Memory of one rank in a window of `n_ranks`: head, signals, part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    start: *mut u8,
    n_ranks: usize,
}

// The heaps give out what is aligned for both.
#[cfg(not(loom))]
const _: () = assert!(align_of::<WindowHead>() <= ALIGN_BYTES);
#[cfg(not(loom))]
const _: () = assert!(size_of::<WindowHead>().is_multiple_of(ALIGN_BYTES));
#[cfg(not(loom))]
const _: () = assert!(size_of::<CachePadded<Signals>>().is_multiple_of(ALIGN_BYTES));

impl Area {
    /// Length in bytes with a part of `part_bytes`; `None` beyond the address space.
    pub(super) fn bytes(n_ranks: usize, part_bytes: usize) -> Option<usize> {
        Self::part_offset(n_ranks).checked_add(part_bytes)
    }

    fn part_offset(n_ranks: usize) -> usize {
        (size_of::<WindowHead>() + n_ranks * size_of::<CachePadded<Signals>>())
            .next_multiple_of(ALIGN_BYTES)
    }

    /// That which its owner has made `offset` bytes after the start of the segment.
    ///
    /// # Panics
    /// If it lies outside of the heaps.
    pub(super) fn at(segment: &'static Segment, offset: usize, n_ranks: usize) -> Self {
        let start = segment.heap_pointer(offset, Self::part_offset(n_ranks)).cast_mut();
        Self { start, n_ranks }
    }

    /// Start of the part.
    #[inline]
    pub(super) fn part(&self) -> *mut u8 {
        self.start.wrapping_add(Self::part_offset(self.n_ranks))
    }

    /// The lock and the turn of the part.
    ///
    /// # Safety
    /// The area is in use for a window, and is not seen by a model, which has no words in its heaps.
    #[inline]
    pub(super) unsafe fn head(&self) -> &WindowHead {
        // SAFETY: it begins with a head, aligned as all that heaps give out, which was zeroed before its
        // offset was told, is used as such by all ranks, and is made of atomics alone.
        unsafe { &*self.start.cast::<WindowHead>() }
    }

    /// The signals from `rank`.
    ///
    /// # Safety
    /// As for [`head`](Self::head).
    #[inline]
    pub(super) unsafe fn signals(&self, rank: Rank) -> &Signals {
        assert!(rank < self.n_ranks, "no rank {rank} in the window");
        let first = self.start.wrapping_add(size_of::<WindowHead>());
        let place = first.cast::<CachePadded<Signals>>().wrapping_add(rank);
        // SAFETY: signals of each rank follow the head; and as in `head`.
        unsafe { &*place }
    }
}

/// Copies `n` bytes that other ranks may access meanwhile: 8 aligned ones as one word. If they do, those
/// that both write are any of both, and those that are read while they are written are any old or new ones.
///
/// # Safety
/// `from` and `to` have `n` bytes each, in memory of which no reference is in use, or for reading alone
/// at `from`; both may be written where they are aligned words; and they do not overlap.
#[inline]
pub(super) unsafe fn copy(from: *const u8, to: *mut u8, n: usize) {
    if n == WORD_BYTES && (from.addr() | to.addr()).is_multiple_of(WORD_BYTES) {
        // SAFETY: two aligned words, by the caller's word and the test.
        return unsafe { copy_word(from.cast(), to.cast()) };
    }
    // SAFETY: the caller's word.
    unsafe { copy_bytes(from, to, n) };
}

/// Copies any bytes by the C library. To the compiler that is a call of unknown code, which may access
/// memory as other processes do; a copy of its own would be one whose bytes nobody else changes.
///
/// # Safety
/// As for [`copy`].
pub(super) unsafe fn copy_bytes(from: *const u8, to: *mut u8, n: usize) {
    static MEMCPY: unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> *mut c_void =
        libc::memcpy;
    // SAFETY: a static is there. What a volatile read gives is not known to the compiler, so it cannot
    // take the call for one of the `memcpy` that it knows.
    let memcpy = unsafe { ptr::read_volatile(&raw const MEMCPY) };
    // SAFETY: there are `n` bytes on both sides, which do not overlap, by the caller's word.
    unsafe { memcpy(to.cast(), from.cast(), n) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Layout;

    #[test]
    fn every_length_is_copied_at_every_place_and_nothing_beside_it() {
        let source: Vec<u8> = (1..=40).collect();
        for (n, from, to) in (0..24).flat_map(|n| (0..9).map(move |at| (n, at, 16 - at))) {
            let mut target = vec![0u8; 48];
            let start = target.as_mut_ptr();
            // SAFETY: both vectors are longer.
            unsafe { copy(source.as_ptr().wrapping_add(from), start.wrapping_add(to), n) };
            let mut expected = vec![0u8; 48];
            expected[to..to + n].copy_from_slice(&source[from..from + n]);
            assert_eq!(target, expected, "{n} bytes from {from} to {to}");
        }
    }

    #[test]
    fn words_of_a_window_lie_apart_from_each_other_and_from_the_part() {
        let segment = Segment::create(Layout::new(2, 1 << 16).unwrap()).unwrap();
        let segment: &'static Segment = Box::leak(Box::new(segment));
        let offset = segment.heap_offset(segment.heap(1).as_ptr(), 1).unwrap();
        let area = Area::at(segment, offset, 3);
        // SAFETY: nobody else uses the heap, which is zeroed.
        let head = unsafe { area.head() };
        // SAFETY: as above.
        let signals = [0, 1, 2].map(|rank| unsafe { area.signals(rank) });
        let places = [
            (&raw const *head.lock).addr(),
            (&raw const *head.turn).addr(),
            (&raw const *signals[0]).addr(),
            (&raw const *signals[1]).addr(),
            (&raw const *signals[2]).addr(),
            area.part().addr(),
        ];
        assert_eq!(places[0], segment.heap(1).as_ptr().addr());
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= 128), "{places:?}");
        assert_eq!(places[5] - places[0], Area::bytes(3, 0).unwrap());
        assert_eq!(Area::bytes(3, usize::MAX), None);
    }
}
