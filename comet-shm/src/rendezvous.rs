//! Copy of a message passed by reference, by sender and receiver together.
//!
//! The sender announces a message and where it lies. The receiver copies it from there; a long one
//! it opens to the sender, which waits anyway: then the receiver takes pieces from the front and
//! the sender from the back until none is left. Each piece is taken by one addition, so no piece is
//! copied twice, and the receiver waits only for pieces that the sender has really taken.
//!
//! ```text
//!   receiver: destination, taken = 0, opened = number; pieces from the front; waits for helped if
//!             the sender took any; copied = number
//!   sender:   sees opened; pieces from the back; helped = number; waits for copied
//! ```

use crate::layout::Rendezvous;
use crate::remote_copy::Place;
use crate::sync::Ordering;

/// From this length on both ends copy.
pub(crate) const TOGETHER_BYTES: usize = 32 * 1024;
/// Shortest and longest pieces: short ones share the work, long ones are taken less often.
const MIN_PIECE_BYTES: usize = 16 * 1024;
const MAX_PIECE_BYTES: usize = 128 * 1024;
/// As many pieces a message has, within these bounds: few where each costs a call of the kernel.
const N_PIECES: usize = 4;
const N_PRIVATE_PIECES: usize = 2;
/// One piece taken from the back.
const ONE_FROM_BACK: u64 = 1 << 32;

/// The pieces of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pieces {
    length_bytes: usize,
    piece_bytes: usize,
    count: u64,
}

impl Pieces {
    /// The split of a message of `length_bytes` that goes from one place to the other.
    pub(crate) fn of(length_bytes: usize, ends: [Place; 2]) -> Self {
        let is_private = ends.iter().any(|end| matches!(end, Place::Private(_)));
        let n_wanted = if is_private { N_PRIVATE_PIECES } else { N_PIECES };
        let wanted = (length_bytes / n_wanted).next_multiple_of(4096);
        // Never so many that half a word could not count them.
        let least = MIN_PIECE_BYTES.max((length_bytes >> 24).next_multiple_of(4096));
        let piece_bytes = wanted.clamp(least, MAX_PIECE_BYTES.max(least));
        Self { length_bytes, piece_bytes, count: length_bytes.div_ceil(piece_bytes) as u64 }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Start of piece `index`, and its length.
    fn range(&self, index: u64) -> (usize, usize) {
        let at = usize::try_from(index).expect("pieces lie in memory") * self.piece_bytes;
        (at, self.piece_bytes.min(self.length_bytes - at))
    }
}

impl Rendezvous {
    /// The receiver's: lets the sender help with message `number`, which goes to `destination`.
    pub(crate) fn open(&self, number: u64, destination: Place) {
        let shared = &self.shared;
        // Relaxed: published by the store below. The sender takes no pieces of the message before
        // any more: it saw that one copied when it announced this one, and looks once more before
        // it helps with any (`Outbox::help`).
        shared.destination.store(destination.pack(), Ordering::Relaxed);
        shared.taken.store(0, Ordering::Relaxed);
        // Release: pairs with the Acquire load in `opened`; the destination is the sender's, too.
        shared.opened.store(number, Ordering::Release);
    }

    /// The sender's: where message `number` goes, if it may help.
    pub(crate) fn opened(&self, number: u64) -> Option<Place> {
        // Acquire: pairs with the Release store in `open`.
        let is_open = self.shared.opened.load(Ordering::Acquire) == number;
        is_open.then(|| Place::unpack(self.shared.destination.load(Ordering::Relaxed)))
    }

    /// The receiver's next piece: where it begins, and its length.
    pub(crate) fn take_front(&self, pieces: Pieces) -> Option<(usize, usize)> {
        let (front, back) = self.take(1);
        (front + back < pieces.count).then(|| pieces.range(front))
    }

    /// The sender's next piece: where it begins, and its length.
    pub(crate) fn take_back(&self, pieces: Pieces) -> Option<(usize, usize)> {
        let (front, back) = self.take(ONE_FROM_BACK);
        (front + back < pieces.count).then(|| pieces.range(pieces.count - 1 - back))
    }

    fn take(&self, one: u64) -> (u64, u64) {
        // Relaxed: the addition alone makes each piece somebody's; data is published by `helped`.
        let taken = self.shared.taken.fetch_add(one, Ordering::Relaxed);
        (taken & (ONE_FROM_BACK - 1), taken >> 32)
    }

    /// The sender's: its pieces of message `number` are where they belong.
    pub(crate) fn helped(&self, number: u64) {
        // Release: pairs with the Acquire load in `is_helped`.
        self.helped.store(number, Ordering::Release);
    }

    /// The receiver's: whether the sender's pieces of message `number` are there.
    pub(crate) fn is_helped(&self, number: u64) -> bool {
        // Acquire: pairs with the Release store in `helped`.
        self.helped.load(Ordering::Acquire) == number
    }

    /// The receiver's: it has read message `number`.
    pub(crate) fn finish(&self, number: u64) {
        // Release: pairs with the Acquire load in `is_copied`; the message was read.
        self.copied.store(number, Ordering::Release);
    }

    /// The sender's: whether the receiver has read message `number`, or a later one.
    pub(crate) fn is_copied(&self, number: u64) -> bool {
        // Acquire: pairs with the Release store in `finish`; the message was read before the
        // sender changes it.
        self.copied.load(Ordering::Acquire) >= number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_piece_is_taken_once_from_either_end() {
        // SAFETY: the type is valid when zeroed.
        let meeting: Box<Rendezvous> = unsafe { Box::<Rendezvous>::new_zeroed().assume_init() };
        for (number, length_bytes) in [(1, 1), (2, MIN_PIECE_BYTES), (3, 5 * MIN_PIECE_BYTES + 1)] {
            let pieces = Pieces::of(length_bytes, [Place::Heap(0); 2]);
            meeting.open(number, Place::Heap(4096));
            assert_eq!(meeting.opened(number), Some(Place::Heap(4096)));
            assert_eq!(meeting.opened(number + 1), None);
            let mut taken = Vec::new();
            while let Some(piece) = meeting.take_front(pieces) {
                taken.push(piece);
                taken.extend(meeting.take_back(pieces));
            }
            assert_eq!(meeting.take_back(pieces), None);
            taken.sort_unstable();
            let covered = taken.iter().fold(0, |end, (at, n)| {
                assert_eq!(*at, end);
                end + n
            });
            assert_eq!(covered, length_bytes);
        }
    }

    #[test]
    fn the_longest_messages_have_pieces_that_half_a_word_counts() {
        let pieces = Pieces::of(1 << 46, [Place::Heap(0), Place::Private(0)]);
        assert!(pieces.count() < 1 << 31);
        assert_eq!(pieces.range(pieces.count() - 1).0 + pieces.piece_bytes, 1 << 46);
    }
}
