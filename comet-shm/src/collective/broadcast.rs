//! Broadcasts, by the length of the message:
//!
//! ```text
//!   up to 40 B     in its line of the stream
//!   up to 1 KiB    in the ring, and so all that the other ranks cannot reach, in pieces
//!   longer         the line says where the message lies: each receiver copies it once, together
//!                  with the root, which waits anyway
//! ```
//!
//! A root of short messages goes on at once; one of a long message when all have copied it.

use std::cell::Cell;
use std::ptr;

use comet_core::error::Result;
use comet_core::transport::Rank;

use crate::engine::Engine;
use crate::failure::{is_out, outlast};
use crate::layout::{BROADCAST_INLINE_BYTES, Rendezvous};
use crate::remote_copy::{Gone, Place, RemoteCopy};
use crate::rendezvous::{Pieces, TOGETHER_BYTES};
use crate::segment::Segment;
use crate::sync::{Ordering, fence};

use super::stream::{Position, Stream};
use super::wait_for;

/// Longest message that goes through the ring although it can be reached.
const CARRIED_BYTES: usize = 1024;
/// Longest piece in the ring.
const PIECE_BYTES: usize = 16 * 1024;

/// One rank's part in the broadcasts.
pub(crate) struct Broadcasts {
    segment: &'static Segment,
    remote: RemoteCopy,
    rank: Rank,
    stream: Stream,
    /// Root of the last message that was copied from where it lay, and its line.
    last_lent: Cell<(Rank, u64)>,
}

impl Broadcasts {
    pub(crate) fn new(segment: &'static Segment, remote: RemoteCopy, rank: Rank) -> Self {
        let (stream, last_lent) = (Stream::new(segment, rank), Cell::new((rank, 0)));
        Self { segment, remote, rank, stream, last_lent }
    }

    /// Copies `message` of `root` to all other ranks.
    #[inline]
    pub(crate) fn broadcast(&self, root: Rank, message: &mut [u8], engine: &Engine) -> Result<()> {
        match (self.rank == root, message.len() <= BROADCAST_INLINE_BYTES) {
            (true, true) => self.send_line(message, engine),
            (true, false) => self.send(message, engine),
            (false, true) => self.recv_line(root, message, engine),
            (false, false) => self.recv(root, message, engine),
        }
    }

    #[inline]
    fn send_line(&self, message: &[u8], engine: &Engine) -> Result<()> {
        let end = self.stream.position().after(0);
        self.stream.await_room(end, engine)?;
        self.stream.line(end).data.with_mut(|data| {
            // SAFETY: all are done with the message that was in the line, and this one fits.
            unsafe { ptr::copy_nonoverlapping(message.as_ptr(), data.cast(), message.len()) }
        });
        self.stream.publish(end, message.len(), 0, engine);
        self.stream.advance(end, engine);
        Ok(())
    }

    #[inline]
    fn recv_line(&self, root: Rank, message: &mut [u8], engine: &Engine) -> Result<()> {
        let end = self.stream.position().after(0);
        let line = self.stream.await_line(root, end, message.len(), engine)?;
        line.data.with(|data| {
            // SAFETY: the message is as long as the root's, which fitted; the line is written again
            // only when this rank has told that it is done with it.
            unsafe { ptr::copy_nonoverlapping(data.cast(), message.as_mut_ptr(), message.len()) }
        });
        self.stream.advance(end, engine);
        Ok(())
    }

    fn send(&self, message: &mut [u8], engine: &Engine) -> Result<()> {
        if message.len() > CARRIED_BYTES
            && let Some(place) = self.remote.lendable(message.as_ptr(), message.len())
        {
            return self.lend(place, message, engine);
        }
        for piece in message.chunks(PIECE_BYTES) {
            let at = self.stream.position();
            let end = at.after(piece.len());
            self.stream.await_room(end, engine)?;
            let place = self.stream.place(at, piece.len());
            // SAFETY: the piece fits, and all are done with this part of the ring.
            unsafe { ptr::copy_nonoverlapping(piece.as_ptr(), place, piece.len()) };
            self.stream.publish(end, message.len(), 0, engine);
            self.stream.advance(end, engine);
        }
        Ok(())
    }

    fn recv(&self, root: Rank, message: &mut [u8], engine: &Engine) -> Result<()> {
        let end = self.stream.position().after(0);
        let line = self.stream.await_line(root, end, message.len(), engine)?;
        // Relaxed: published by the root with the line.
        match line.place.load(Ordering::Relaxed) {
            0 => self.recv_pieces(root, message, engine),
            place => self.borrow(root, Place::unpack(place), end, message, engine),
        }
    }

    fn recv_pieces(&self, root: Rank, message: &mut [u8], engine: &Engine) -> Result<()> {
        let length_bytes = message.len();
        for piece in message.chunks_mut(PIECE_BYTES) {
            let at = self.stream.position();
            let end = at.after(piece.len());
            self.stream.await_line(root, end, length_bytes, engine)?;
            let place = self.stream.place(at, piece.len());
            // SAFETY: the piece is as long as the root's, and its part of the ring is written again
            // only when this rank has told that it is done with it.
            unsafe { ptr::copy_nonoverlapping(place, piece.as_mut_ptr(), piece.len()) };
            self.stream.advance(end, engine);
        }
        Ok(())
    }

    /// The root's: lets the others copy `message` from where it lies, helps, and waits for them.
    fn lend(&self, place: Place, message: &mut [u8], engine: &Engine) -> Result<()> {
        let end = self.stream.position().after(0);
        self.stream.await_room(end, engine)?;
        // The root before may still look at where it met the others.
        let (last_root, last_line) = self.last_lent.replace((self.rank, end.lines));
        if last_root != self.rank {
            self.stream.await_told(last_root, last_line, engine)?;
        }
        self.stream.publish(end, message.len(), place.pack(), engine);
        for rank in (0..self.segment.n_ranks()).filter(|rank| *rank != self.rank) {
            self.await_copy(rank, end, message, engine)?;
        }
        self.stream.advance(end, engine);
        self.stream.tell(engine);
        Ok(())
    }

    /// Waits until `rank` has copied `message`, and helps it.
    fn await_copy(&self, rank: Rank, end: Position, message: &[u8], engine: &Engine) -> Result<()> {
        let (rendezvous, has_helped) = (self.rendezvous(rank), Cell::new(false));
        let is_copied = || {
            if !has_helped.get()
                && let Some(place) = rendezvous.opened(end.lines)
            {
                has_helped.set(true);
                if self.help((rank, place), message) == Ok(()) {
                    rendezvous.helped(end.lines);
                    engine.waiter.wake(rank);
                }
            }
            rendezvous.is_copied(end.lines)
        };
        wait_for(rank, is_copied, engine.waiter.n_spins(), engine)
    }

    /// Copies pieces of `message` to where `target` wants it, from the back.
    fn help(&self, target: (Rank, Place), message: &[u8]) -> std::result::Result<(), Gone> {
        let Some(source) = self.remote.place_of(message.as_ptr(), message.len()) else {
            return Ok(());
        };
        let pieces = Pieces::of(message.len(), [source, target.1]);
        while let Some((at, n)) = self.rendezvous(target.0).take_back(pieces) {
            let piece = message[at..at + n].as_ptr();
            // SAFETY: the receiver has lent its buffer, which is as long as the message, and keeps
            // it until the pieces that were taken here are there, also in a job that fails.
            unsafe { self.remote.write(target, at, piece, n) }?;
        }
        Ok(())
    }

    /// Copies the message that `root` has lent in the line that ends at `end`.
    fn borrow(
        &self,
        root: Rank,
        place: Place,
        end: Position,
        message: &mut [u8],
        engine: &Engine,
    ) -> Result<()> {
        let rendezvous = self.rendezvous(self.rank);
        let copied = self.copy_lent((root, place), end, message);
        let is_whole =
            || copied == Ok(true) || copied == Ok(false) && rendezvous.is_helped(end.lines);
        // If the root is gone, this waits for the end of the job.
        if let Err(error) = wait_for(root, is_whole, engine.waiter.n_spins(), engine) {
            // The root may still be writing a piece into the message.
            outlast(|| copied != Ok(false) || is_whole() || is_out(self.segment, root));
            return Err(error);
        }
        // Acquire: keeps the look after the reading. In a job that fails, the root may have taken
        // its message back meanwhile.
        fence(Ordering::Acquire);
        engine.waiter.check_job()?;
        rendezvous.finish(end.lines);
        engine.waiter.wake(root);
        self.last_lent.set((root, end.lines));
        self.stream.advance(end, engine);
        Ok(())
    }

    /// Copies what `lender` has lent, a long message with its help; true if all was copied here.
    fn copy_lent(
        &self,
        lender: (Rank, Place),
        end: Position,
        message: &mut [u8],
    ) -> std::result::Result<bool, Gone> {
        let (start, length_bytes) = (message.as_mut_ptr(), message.len());
        let destination = self.remote.place_of(start, length_bytes);
        let Some(destination) = destination.filter(|_| length_bytes >= TOGETHER_BYTES) else {
            // SAFETY: the message is this rank's, and the root leaves its own alone until this rank
            // has copied it.
            return unsafe { self.remote.read(lender, 0, start, length_bytes) }.map(|()| true);
        };
        // The root may write to the message from here on, which the compiler has to expect.
        let _ = start.expose_provenance();
        let (rendezvous, pieces) =
            (self.rendezvous(self.rank), Pieces::of(length_bytes, [lender.1, destination]));
        rendezvous.open(end.lines, destination);
        let mut n_copied = 0;
        while let Some((at, n)) = rendezvous.take_front(pieces) {
            // SAFETY: as above; the root writes to other pieces.
            unsafe { self.remote.read(lender, at, start.wrapping_add(at), n) }?;
            n_copied += 1;
        }
        Ok(n_copied == pieces.count())
    }

    /// Rendezvous of `rank` with the root of a long message.
    fn rendezvous(&self, rank: Rank) -> &'static Rendezvous {
        &self.segment.control(rank).rendezvous
    }
}
