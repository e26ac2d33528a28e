//! Message buffers in the shared segment, where the other ranks can copy from them directly.

use std::alloc::{alloc_zeroed, dealloc};
use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::rc::Rc;
use std::slice;

use comet_core::error::{Result, TransportError, TransportErrorKind};

/// Alignment of every buffer in bytes: two cache lines, as the hardware fetches them.
pub(crate) const ALIGN_BYTES: usize = 128;

/// Free parts of a region: ascending, separate, never adjacent.
#[derive(Debug)]
pub(crate) struct FreeList {
    holes: Vec<(usize, usize)>,
}

impl FreeList {
    pub(crate) fn new(length_bytes: usize) -> Self {
        Self { holes: vec![(0, length_bytes)] }
    }

    /// Takes `length_bytes` (rounded up to the alignment) from the first hole that has them.
    fn take(&mut self, length_bytes: usize) -> Option<(usize, usize)> {
        let length_bytes = length_bytes.max(1).checked_next_multiple_of(ALIGN_BYTES)?;
        let index = self.holes.iter().position(|(_, length)| *length >= length_bytes)?;
        let (offset, left) = self.holes[index];
        if left == length_bytes {
            self.holes.remove(index);
        } else {
            self.holes[index] = (offset + length_bytes, left - length_bytes);
        }
        Some((offset, length_bytes))
    }

    /// Gives back what [`take`](Self::take) gave, and joins it with the holes beside it.
    fn give_back(&mut self, (offset, length_bytes): (usize, usize)) {
        let index = self.holes.partition_point(|(start, _)| *start < offset);
        self.holes.insert(index, (offset, length_bytes));
        for left in [index, index.wrapping_sub(1)] {
            let Some([a, b]) = self.holes.get(left..).and_then(<[_]>::first_chunk).copied() else {
                continue;
            };
            if a.0 + a.1 == b.0 {
                self.holes[left].1 += b.1;
                self.holes.remove(left + 1);
            }
        }
    }
}

/// The heap of one rank.
#[derive(Debug)]
pub(crate) struct Heap {
    start: NonNull<u8>,
    free: RefCell<FreeList>,
}

impl Heap {
    /// A heap of the `length_bytes` from `start` on.
    ///
    /// # Safety
    /// They are mapped for the rest of the process, aligned to 128 bytes, and written by nobody
    /// else but for operations that this rank has lent a buffer to.
    pub(crate) unsafe fn new(start: NonNull<u8>, length_bytes: usize) -> Self {
        debug_assert!(start.addr().get().is_multiple_of(ALIGN_BYTES));
        Self { start, free: RefCell::new(FreeList::new(length_bytes)) }
    }

    /// Length of the longest buffer for which there is room, in bytes.
    pub(crate) fn room_bytes(&self) -> usize {
        self.free.borrow().holes.iter().map(|(_, length)| *length).max().unwrap_or(0)
    }
}

/// Source of a buffer's memory.
#[derive(Debug)]
enum Owner {
    /// The shared heap: offset and length.
    Shared(Rc<Heap>, (usize, usize)),
    /// This process alone, because the heap was full.
    Private(std::alloc::Layout),
}

/// A message buffer, aligned to 128 bytes; in shared memory as long as the rank's heap has room.
#[derive(Debug)]
pub struct ShmBuffer {
    start: NonNull<u8>,
    length_bytes: usize,
    owner: Owner,
}

impl ShmBuffer {
    /// A zeroed buffer; zeroing also touches its pages.
    pub(crate) fn new(heap: &Rc<Heap>, length_bytes: usize) -> Result<Self> {
        Self::shared(heap, length_bytes).map_or_else(|| Self::private(length_bytes), Ok)
    }

    /// A zeroed buffer in shared memory, if there is room.
    pub(crate) fn shared(heap: &Rc<Heap>, length_bytes: usize) -> Option<Self> {
        let range = heap.free.borrow_mut().take(length_bytes)?;
        // SAFETY: the free list gives out ranges inside the heap.
        let start = unsafe { heap.start.add(range.0) };
        // SAFETY: the range is this buffer's alone until it is given back.
        unsafe { start.write_bytes(0, length_bytes) };
        Some(Self { start, length_bytes, owner: Owner::Shared(Rc::clone(heap), range) })
    }

    /// Start of the buffer, for those who make no reference to its bytes.
    #[inline]
    pub(crate) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Length in bytes.
    #[inline]
    pub(crate) fn length_bytes(&self) -> usize {
        self.length_bytes
    }

    fn private(length_bytes: usize) -> Result<Self> {
        let exhausted = || {
            let text = format!("there is no memory for a message buffer of {length_bytes} bytes");
            TransportError::new(TransportErrorKind::OutOfResources, text)
        };
        let layout = std::alloc::Layout::from_size_align(length_bytes.max(1), ALIGN_BYTES)
            .map_err(|_| exhausted())?;
        // SAFETY: the layout has at least one byte.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(exhausted)?;
        Ok(Self { start, length_bytes, owner: Owner::Private(layout) })
    }
}

impl Deref for ShmBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the range is initialised and lives as long as `self`. Other processes write to it
        // only while an operation has it borrowed to be changed: as where a message or the result of
        // a collective goes; also in a job that fails, the operation outlasts them.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.length_bytes) }
    }
}

impl DerefMut for ShmBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`; other processes read it only while an operation borrows it, which
        // outlasts them too.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.length_bytes) }
    }
}

impl Drop for ShmBuffer {
    fn drop(&mut self) {
        match &self.owner {
            Owner::Shared(heap, range) => heap.free.borrow_mut().give_back(*range),
            // SAFETY: `private` allocated it with this layout.
            Owner::Private(layout) => unsafe { dealloc(self.start.as_ptr(), *layout) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn holes_beside_each_other_are_joined() {
        let mut list = FreeList::new(1024);
        let taken: Vec<_> = (0..4).map(|_| list.take(200).unwrap()).collect();
        assert_eq!(list.take(1), None);
        for index in [1, 3, 0, 2] {
            list.give_back(taken[index]);
        }
        assert_eq!(list.holes, [(0, 1024)]);
    }

    proptest! {
        #[test]
        fn ranges_never_overlap_and_all_memory_comes_back(
            steps in prop::collection::vec((0usize..600, any::<prop::sample::Index>()), 1..80)
        ) {
            let mut list = FreeList::new(8192);
            let mut live: Vec<(usize, usize)> = Vec::new();
            for (length_bytes, pick) in steps {
                if length_bytes < 200 && !live.is_empty() {
                    list.give_back(live.swap_remove(pick.index(live.len())));
                } else if let Some(range) = list.take(length_bytes) {
                    prop_assert!(range.0 % ALIGN_BYTES == 0 && range.1 >= length_bytes);
                    let clear = |l: &(usize, usize)| range.0 + range.1 <= l.0 || l.0 + l.1 <= range.0;
                    prop_assert!(live.iter().all(clear));
                    live.push(range);
                }
            }
            for range in live {
                list.give_back(range);
            }
            prop_assert_eq!(list.holes, vec![(0, 8192)]);
        }
    }
}
