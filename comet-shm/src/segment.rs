//! The shared mapping, and typed views of its regions.

use std::ffi::c_void;
use std::num::NonZeroUsize;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use nix::unistd::ftruncate;

use crate::layout::{Boards, BroadcastRing, Header, Layout, MAX_SCANNED, Pair, RankControl};

/// One anonymous shared mapping. It has no name in any file system: it vanishes with the last
/// process that maps it, whatever ends that process.
#[derive(Debug)]
pub(crate) struct Segment {
    base: NonNull<u8>,
    layout: Layout,
}

impl Segment {
    /// Maps a zeroed segment before the fork, so that all ranks see it at one address.
    pub(crate) fn create(layout: Layout) -> Result<Self, Errno> {
        let file = sized_file(layout.total_bytes)?;
        let length = NonZeroUsize::new(layout.total_bytes).ok_or(Errno::EINVAL)?;
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        let flags = MapFlags::MAP_SHARED | MapFlags::MAP_NORESERVE;
        // SAFETY: a new mapping at an address of the kernel's choice aliases nothing.
        let base = unsafe { mmap(None, length, protection, flags, &file, 0) }?;
        Ok(Self { base: base.cast(), layout })
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(crate) fn n_ranks(&self) -> usize {
        self.layout.n_ranks
    }

    /// True if there are too many ranks for each to look at all rings.
    #[inline]
    pub(crate) fn is_crowded(&self) -> bool {
        self.layout.n_ranks > MAX_SCANNED
    }

    pub(crate) fn header(&self) -> &Header {
        // SAFETY: the region at offset 0 is a Header (see `view`).
        unsafe { self.view(0) }
    }

    pub(crate) fn control(&self, rank: usize) -> &RankControl {
        assert!(rank < self.layout.n_ranks, "no rank {rank}");
        // SAFETY: the region `controls` holds n_ranks of them (see `view`).
        unsafe { self.view(self.layout.controls + rank * size_of::<RankControl>()) }
    }

    pub(crate) fn broadcasts(&self) -> &BroadcastRing {
        // SAFETY: the region `broadcasts` holds one (see `view`).
        unsafe { self.view(self.layout.broadcasts) }
    }

    pub(crate) fn boards(&self, rank: usize) -> &Boards {
        assert!(rank < self.layout.n_ranks, "no rank {rank}");
        // SAFETY: the region `boards` holds those of n_ranks (see `view`).
        unsafe { self.view(self.layout.boards + rank * size_of::<Boards>()) }
    }

    pub(crate) fn pair(&self, source: usize, destination: usize) -> &Pair {
        let n_ranks = self.layout.n_ranks;
        assert!(source < n_ranks && destination < n_ranks, "no pair {source}, {destination}");
        let index = source * n_ranks + destination;
        // SAFETY: the region `pairs` holds n_ranks squared of them (see `view`).
        unsafe { self.view(self.layout.pairs + index * size_of::<Pair>()) }
    }

    /// Start of the heap of `rank`, which is `heap_bytes` long.
    pub(crate) fn heap(&self, rank: usize) -> NonNull<u8> {
        assert!(rank < self.layout.n_ranks, "no rank {rank}");
        let offset = self.layout.heaps + rank * self.layout.heap_bytes;
        // SAFETY: the region `heaps` holds n_ranks of them inside the mapping.
        unsafe { self.base.add(offset) }
    }

    /// Offset of `pointer` from the base if `length_bytes` from there lie in the heaps.
    pub(crate) fn heap_offset(&self, pointer: *const u8, length_bytes: usize) -> Option<usize> {
        let offset = pointer.addr().checked_sub(self.base.addr().get())?;
        let end = offset.checked_add(length_bytes)?;
        (offset >= self.layout.heaps && end <= self.layout.total_bytes).then_some(offset)
    }

    /// The heap byte at `offset`, from which `length_bytes` lie in the heaps.
    pub(crate) fn heap_pointer(&self, offset: usize, length_bytes: usize) -> *const u8 {
        let end = offset.checked_add(length_bytes);
        assert!(
            offset >= self.layout.heaps && end.is_some_and(|end| end <= self.layout.total_bytes),
            "a message lies outside the heaps: {length_bytes} bytes at {offset}"
        );
        // SAFETY: the assertion keeps the pointer inside the mapping.
        unsafe { self.base.add(offset) }.as_ptr()
    }

    /// A view of the `V` at `offset`.
    ///
    /// # Safety
    /// `offset` is that of a `V` in the layout: in bounds, aligned, and never used as another type.
    unsafe fn view<V>(&self, offset: usize) -> &V {
        debug_assert!(offset + size_of::<V>() <= self.layout.total_bytes);
        // SAFETY: in bounds by the caller's word.
        let pointer = unsafe { self.base.add(offset) }.cast::<V>();
        // SAFETY: the mapping lives as long as `self`, zeroed memory is a valid `V`, and every
        // field of the layout's types that changes is an atomic or an UnsafeCell, so shared
        // references to it may coexist in all processes.
        unsafe { pointer.as_ref() }
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `create` with this length, and every view of it borrows
        // `self`. (A rank leaks its segment, so that its buffers may keep raw pointers.)
        let result = unsafe { munmap(self.base.cast::<c_void>(), self.layout.total_bytes) };
        debug_assert_eq!(result, Ok(()));
    }
}

/// A file of `length_bytes` without a name, which can no longer change its size.
fn sized_file(length_bytes: usize) -> Result<OwnedFd, Errno> {
    let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
    let file = memfd_create(c"comet-shm", flags)?;
    ftruncate(&file, i64::try_from(length_bytes).map_err(|_| Errno::EFBIG)?)?;
    let seals = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
    fcntl(&file, FcntlArg::F_ADD_SEALS(seals))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::Ordering;

    #[test]
    fn a_segment_starts_zeroed_and_its_heaps_translate_both_ways() {
        let segment = Segment::create(Layout::new(3, 1 << 16).unwrap()).unwrap();
        assert_eq!(segment.header().poison.load(Ordering::Relaxed), 0);
        assert_eq!(segment.pair(2, 1).credit.lines.load(Ordering::Relaxed), 0);
        let start = segment.heap(1).as_ptr();
        let offset = segment.heap_offset(start, 1 << 16).unwrap();
        assert_eq!(segment.heap_pointer(offset, 1 << 16), start.cast_const());
        assert_eq!(segment.heap_offset(segment.heap(2).as_ptr(), (1 << 16) + 1), None);
        assert_eq!(segment.heap_offset(&raw const offset as *const u8, 1), None);
    }
}
