//! Sends in a mode, and the room of buffered ones.

use comet_core::error::{Result, TransportError, TransportErrorKind};
use comet_core::transport::{Lease, Rank, SendMode, Source, Tag, require_destination};
use comet_core::waiting::Waiting;

use super::Mpi;
use crate::native::{Failure, MpiSend, Room};

impl Mpi {
    /// A send that was started in `mode`.
    #[inline(always)]
    pub(super) fn started_in<'env>(
        &self,
        lease: Lease<Self>,
        mode: SendMode,
        (destination, tag): (Rank, Tag),
        message: &'env [u8],
    ) -> Result<MpiSend<'env>> {
        require_destination(self, destination, tag)?;
        self.require_room(mode, message.len())?;
        let waiting = Waiting::Send(self.group.global(destination), tag, message.len());
        let send = MpiSend::start_in(lease, &self.comm, mode, message, (destination, tag), waiting);
        send.map_err(|failure| self.not_sent(failure, (destination, tag), message.len()))
    }

    /// Sends `message` in `mode`.
    #[inline(always)]
    pub(super) fn sent_in(
        &self,
        mode: SendMode,
        (destination, tag): (Rank, Tag),
        message: &[u8],
    ) -> Result<()> {
        require_destination(self, destination, tag)?;
        self.require_room(mode, message.len())?;
        let waiting = Waiting::Send(self.group.global(destination), tag, message.len());
        self.waiting(waiting, || self.comm.send_in(mode, message, destination, tag))
            .map_err(|failure| self.not_sent(failure, (destination, tag), message.len()))
    }

    /// Refuses a buffered message that is longer than all room. After a call that has failed for that, Open
    /// MPI 4.1 delivers nothing more to the same rank: the message has a number, for which the receiver waits.
    #[inline(always)]
    fn require_room(&self, mode: SendMode, length_bytes: usize) -> Result<()> {
        if mode == SendMode::Buffered && !self.library.room.holds(length_bytes) {
            return Err(self.no_room(1, length_bytes));
        }
        Ok(())
    }

    #[cold]
    fn not_sent(
        &self,
        failure: Failure,
        (destination, tag): (Rank, Tag),
        length_bytes: usize,
    ) -> TransportError {
        let peer = Source::Rank(self.group.global(destination));
        if failure.is_of_buffer() {
            return self.no_room(1, length_bytes).with_peer(peer, tag);
        }
        self.error(failure).with_peer(peer, tag)
    }

    /// Attaches memory for `n_messages` of `length_bytes`, unless there is as much.
    pub(super) fn attach(&self, n_messages: usize, length_bytes: usize) -> Result<()> {
        let bytes = Room::bytes(n_messages, length_bytes);
        let bytes = bytes.ok_or_else(|| self.no_room(n_messages, length_bytes))?;
        self.with_room(|room| room.attach(bytes))
    }

    /// Detaches all memory.
    pub(super) fn detach(&self) -> Result<()> {
        self.with_room(Room::detach)
    }

    /// Makes a call on the memory, which waits for the messages that are in it.
    fn with_room(&self, call: impl FnOnce(&Room) -> Result<(), Failure>) -> Result<()> {
        let waiting = Waiting::Send(self.global_rank_here(), Tag::new(0), 0);
        self.waiting(waiting, || call(&self.library.room)).map_err(|failure| self.error(failure))
    }

    fn global_rank_here(&self) -> Rank {
        self.group.global(self.group.rank())
    }

    #[cold]
    fn no_room(&self, n_messages: usize, length_bytes: usize) -> TransportError {
        let text = format!(
            "there is no room to buffer {n_messages} message(s) of {length_bytes} bytes (attach a buffer for \
             as many, of less than 2 GiB in all)"
        );
        self.group.located(TransportError::new(TransportErrorKind::OutOfResources, text))
    }
}
