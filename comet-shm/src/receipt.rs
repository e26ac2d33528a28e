//! Receipts: words in a sender's heap, by which a receiver tells that a message has found its receive.
//!
//! ```text
//!   sender:    word = 0; announces the message with the place of the word; waits for a 1
//!   receiver:  the message has found its receive, and is copied; word = 1
//! ```
//!
//! A word for each message, rather than a place at a rendezvous: any number of messages may wait for receives
//! that are posted later, and none is in the way of another.

use std::rc::Rc;

use crate::heap::{Heap, ShmBuffer};
use crate::layout::ReceiptWord;
use crate::remote_copy::RemoteCopy;
use crate::segment::Segment;
use crate::sync::Ordering;

/// A word in the heap of this rank. A model, which has no words in its heaps, makes none.
#[derive(Debug)]
pub(crate) struct Receipt(ShmBuffer);

impl Receipt {
    /// One that is not written; `None` if the heap is full.
    pub(crate) fn new(heap: &Rc<Heap>) -> Option<Self> {
        ShmBuffer::shared(heap, size_of::<ReceiptWord>()).map(Self)
    }

    /// Its offset from the start of the segment.
    pub(crate) fn offset(&self, remote: RemoteCopy) -> usize {
        let length_bytes = self.0.length_bytes();
        remote.heap_offset(self.0.start(), length_bytes).expect("a receipt lies in a heap")
    }

    /// True if the message has found its receive, and was read.
    #[inline]
    pub(crate) fn is_written(&self) -> bool {
        // SAFETY: the buffer is in shared memory, aligned, was zeroed, and is used as nothing else.
        let word = unsafe { &*self.0.start().cast::<ReceiptWord>() };
        word.is_written()
    }
}

impl ReceiptWord {
    /// The sender's: true once the receiver has written it.
    #[inline]
    pub(crate) fn is_written(&self) -> bool {
        // Acquire: pairs with the Release store in `write`; the message was read before it is changed.
        self.is_written.load(Ordering::Acquire) != 0
    }

    /// The receiver's: it has read the message.
    #[inline]
    pub(crate) fn write(&self) {
        // Release: pairs with the Acquire load in `is_written`.
        self.is_written.store(1, Ordering::Release);
    }
}

/// Writes the receipt at `offset`, after its message was read.
///
/// # Panics
/// If it lies outside of the heaps.
pub(crate) fn write(segment: &'static Segment, offset: usize) {
    let start = segment.heap_pointer(offset, size_of::<ReceiptWord>());
    // SAFETY: its sender has announced it, keeps it until it is written, and uses it as nothing else; it is
    // aligned as all that heaps give out, and made of an atomic alone.
    let word = unsafe { &*start.cast::<ReceiptWord>() };
    word.write();
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::layout::Layout;

    #[test]
    fn a_receipt_is_written_once_and_the_next_one_is_not() {
        let segment = Segment::create(Layout::new(2, 4096).unwrap()).unwrap();
        let segment: &'static Segment = Box::leak(Box::new(segment));
        // SAFETY: the segment is never unmapped, and this test alone uses the heap.
        let heap = Rc::new(unsafe { Heap::new(segment.heap(1), 4096) });
        let remote = RemoteCopy::new(segment, 1, false);
        for _ in 0..2 {
            let receipt = Receipt::new(&heap).expect("the heap has room");
            assert!(!receipt.is_written());
            write(segment, receipt.offset(remote));
            assert!(receipt.is_written());
        }
    }
}
