//! The contract between kernels and whatever moves their messages.
//!
//! ```text
//!   kernels, driver        call the safe methods of  Transport
//!        │                 (thesis section 3.4: blocked and unblocked send and receive, probe,
//!        │                  wait, broadcast, global sum, barrier, clock)
//!        ▼
//!   Scope, requests        keep a lent buffer borrowed until its operation has ended
//!        │
//!        ▼
//!   RawTransport           what a backend must be able to do: start, poll, finish, fail the job
//! ```
//!
//! Matching: a receive takes the earliest message with exactly its tag from its [`Source`], or with
//! [any tag](Tag::ANY) of users from a named rank.
//! Messages from one rank to another with the same tag never overtake each other.
//! Every rank is one process (or fiber, or thread) with one transport value, which is used from
//! that rank alone, or one for each of its threads ([`lane`]): methods take `&self`, because requests
//! need the transport while others are open, and an implementation keeps its state in cells.

mod group;
mod landing;
pub mod lane;
mod partitioned;
mod prepared;
mod raw;
mod requests;
mod require;
mod scope;
mod types;

pub use group::{Group, Taken};
pub use landing::{Landing, Outgoing, Place};
pub use lane::Lane;
pub use partitioned::{PartitionedArriving, PartitionedLeaving, PartitionedRecv, PartitionedSend};
pub(crate) use prepared::Bound;
pub use prepared::{
    PreparedInFlight, PreparedRecvs, PreparedSends, StartedRecvs, StartedSends, StartedSet,
};
pub use raw::{NoPrepared, Pending, RawPrepared, RawTransport};
pub use requests::{Requests, Room};
pub use require::{require_destination, require_rank, require_source};
pub use scope::{Lease, Request, Scope};
pub use types::{ClockInfo, Promises, Rank, SendMode, Source, Status, Tag, Usage, Work};

use std::ops::DerefMut;
use std::sync::Arc;

use crate::collective::{self, Collective, Element, Neighbours, Reducer};
use crate::error::{Result, TransportError, TransportErrorKind};
use crate::layout::Blocks;
use crate::topology::Topology;

/// A rank's view of the message-passing system: all that kernels and the driver call.
///
/// The names are those of the thesis (section 3.4); lengths are in bytes and may be 0.
pub trait Transport: RawTransport + Sized {
    /// Memory that this transport moves fastest; aligned to at least 64 bytes.
    type Buffer: DerefMut<Target = [u8]>;

    /// This rank's number, `0..n_ranks` (`get_node_id`).
    #[inline]
    fn rank(&self) -> Rank {
        self.group().rank()
    }

    /// Number of ranks (`get_num_nodes`).
    #[inline]
    fn n_ranks(&self) -> usize {
        self.group().n_ranks()
    }

    /// This rank's number as the library tells it, by a call of its own (`MPI_Comm_rank`: MPI-4.1 section
    /// 7.4.1). By default it is [`rank`](Self::rank).
    ///
    /// # Errors
    /// If the call fails.
    #[inline]
    fn asked_rank(&self) -> Result<Rank> {
        Ok(self.rank())
    }

    /// Number of ranks as the library tells it, by a call of its own (`MPI_Comm_size`). By default it is
    /// [`n_ranks`](Self::n_ranks).
    ///
    /// # Errors
    /// If the call fails.
    #[inline]
    fn asked_n_ranks(&self) -> Result<usize> {
        Ok(self.n_ranks())
    }

    /// The transport of the ranks that name the same `colour`, numbered by `key` and then by their
    /// rank here; `None` on ranks that name none (MPI-4.1 section 7.4.2). All ranks call it.
    ///
    /// Messages and collectives of two transports never meet, though ranks be in both. A failure
    /// ends the job in all of them. The parts are dropped on all of their ranks at one place, where
    /// nothing is on its way in them.
    ///
    /// # Errors
    /// [`OutOfResources`](crate::error::TransportErrorKind::OutOfResources) where no [context](Group) is left, which
    /// takes more than 64 groups of a rank at once; other kinds if the job has failed.
    fn split(&self, colour: Option<u32>, key: u64) -> Result<Option<Self>>;

    /// Another transport of the ranks of `part`, which a split with these arguments has made: by the call
    /// of the library alone, where that leaves out what told the ranks who is in which part. By default
    /// it is a split.
    ///
    /// # Errors
    /// Those of [`split`](Self::split).
    fn split_again(
        &self,
        colour: Option<u32>,
        key: u64,
        part: Option<&Self>,
    ) -> Result<Option<Self>> {
        let _ = part;
        self.split(colour, key)
    }

    /// Another transport of the same ranks (`MPI_Comm_dup`: MPI-4.1 section 7.4.2). All ranks call it, and
    /// drop it at one place. By default it is the one part of a split.
    ///
    /// # Errors
    /// Those of [`split`](Self::split).
    ///
    /// # Panics
    /// If a split leaves out a rank that names a colour.
    fn duplicate(&self) -> Result<Self> {
        Ok(self.split(Some(0), 0)?.expect("a rank with a colour has a part"))
    }

    /// The transport of the same ranks for collectives among `neighbours`, if it is another than this
    /// one (`MPI_Dist_graph_create_adjacent`: MPI-4.1 section 8.5.4). All ranks call it, and drop it at
    /// one place. By default it is this one: messages need no graph.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::error::TransportErrorKind::InvalidArgument) if there is no such rank;
    /// other kinds if the job has failed.
    fn with_neighbours(&self, neighbours: &Arc<Neighbours>) -> Result<Option<Self>> {
        let _ = neighbours;
        Ok(None)
    }

    /// The transport of the same ranks that counts messages in `datatype` rather than in bytes, if it is another
    /// than this one (MPI-4.1 section 3.2.2). Messages that are no whole number of its elements are
    /// counted in bytes still. All ranks call it, and drop it at one place. By
    /// default it is this one: bytes have no type.
    ///
    /// # Errors
    /// If the job has failed.
    fn with_datatype(&self, datatype: Element) -> Result<Option<Self>> {
        let _ = datatype;
        Ok(None)
    }

    /// The transport of the same ranks on which a message of [`extent_bytes`](Blocks::extent_bytes) is sent and
    /// received as one element of a datatype with these blocks (MPI-4.1 section 5.1), and one of any other
    /// length as so many elements of the datatype of this one, or so many bytes. Gaps between blocks are neither
    /// read nor written. All ranks call it with the same blocks, and drop it at one place.
    ///
    /// # Errors
    /// [`Unsupported`](crate::error::TransportErrorKind::Unsupported) by default: a transport of bytes has no
    /// such types; other kinds if the job has failed.
    fn with_layout(&self, blocks: &Blocks) -> Result<Self> {
        let layouts = blocks.layouts();
        let text = format!("{layouts} needs derived datatypes (start the ranks under MPI)");
        Err(TransportError::new(TransportErrorKind::Unsupported, text))
    }

    /// Packs the blocks of `message`, which is one element of the datatype of this transport
    /// [with a layout](Self::with_layout), into `packed` by the library (`MPI_Pack`: MPI-4.1 section 5.2).
    ///
    /// # Errors
    /// [`Unsupported`](crate::error::TransportErrorKind::Unsupported) by default; other kinds if `packed` is too
    /// short, or if the job has failed.
    fn pack(&self, message: &[u8], packed: &mut [u8]) -> Result<()> {
        let _ = (message, packed);
        let text = "packing by a library needs one (start the ranks under MPI)";
        Err(TransportError::new(TransportErrorKind::Unsupported, text))
    }

    /// Unpacks `packed` into the blocks of `place` by the library (`MPI_Unpack`).
    ///
    /// # Errors
    /// Those of [`pack`](Self::pack).
    fn unpack(&self, packed: &[u8], place: &mut [u8]) -> Result<()> {
        let _ = (packed, place);
        let text = "unpacking by a library needs one (start the ranks under MPI)";
        Err(TransportError::new(TransportErrorKind::Unsupported, text))
    }

    /// Runs `body` in `n` threads of this rank at once, each over a transport of its own to the same lane of
    /// the other ranks; returns what each of them returned, in the order of the lanes. All ranks call it with
    /// the same `n`.
    ///
    /// Messages and collectives of two lanes never meet. A thread that panics ends the job.
    ///
    /// # Errors
    /// [`Unsupported`](crate::error::TransportErrorKind::Unsupported) where a rank has one thread, which it has
    /// by default, or if there are not so many lanes; other kinds if the job has failed.
    fn on_lanes<R: Send>(&self, n: usize, body: impl Fn(&Self) -> R + Sync) -> Result<Vec<R>> {
        let _ = body;
        let text = format!(
            "{n} threads need a rank with several (start the ranks under MPI, with --thread-level multiple)"
        );
        Err(TransportError::new(TransportErrorKind::Unsupported, text))
    }

    /// Place of this transport among the lanes of its rank; `None` for that of the rank itself.
    #[inline]
    fn lane(&self) -> Option<&Lane> {
        None
    }

    /// Time to make the graph of the last [`with_neighbours`](Self::with_neighbours), in nanoseconds: the
    /// mean over all ranks of that one call. `None` where none was made.
    fn graph_time_ns(&self) -> Option<f64> {
        None
    }

    /// Readings of the clock of this rank before and after the one call that made it a rank of the job, or
    /// before its process was made and once it was ready. `None` where nobody read the clock.
    fn startup_ns(&self) -> Option<[u64; 2]> {
        None
    }

    /// Number of `rank`, which is one of this transport, in the whole job.
    fn global_rank(&self, rank: Rank) -> Rank {
        self.group().global(rank)
    }

    /// Disturbances of this rank by the system so far, if they are reported (`getrusage`).
    fn usage(&self) -> Option<Usage> {
        None
    }

    /// The clock, in nanoseconds since some fixed moment (`get_time`).
    ///
    /// It never goes backwards. Only the driver reads it, and checks that are about time.
    fn now_ns(&self) -> u64;

    /// Clock quality.
    fn clock(&self) -> ClockInfo;

    /// Waits until the clock shows `due_ns` or more; returns at once if it does already.
    ///
    /// By default it looks all the time, since a rank that sleeps wakes up late. A transport whose
    /// clock stands still meanwhile has to advance it.
    #[inline]
    fn wait_until_ns(&self, due_ns: u64) {
        // One pause takes up to 140 cycles: the last ones would have ranks start so far apart.
        while self.now_ns() + 1000 < due_ns {
            std::hint::spin_loop();
        }
        while self.now_ns() < due_ns {}
    }

    /// Guarantees beyond the least of MPI; all of them, by default. All ranks call it: over
    /// MPI they find out together whether there are windows.
    fn promises(&self) -> Promises {
        Promises {
            buffers_sends: true,
            survives_truncation: true,
            has_windows: true,
            has_files: false,
        }
    }

    /// Time of one cache line from rank 0 to rank 1, in nanoseconds: half of a round trip
    /// that carries nothing else, the least that a message between the two can cost. It tells how
    /// far apart their cores are, and changes when they move. Never timed.
    ///
    /// All ranks call it at the same point of the program; ranks 0 and 1 learn the time, where the
    /// transport can tell it, and the others nothing. By default it cannot.
    ///
    /// # Errors
    /// If the job has failed.
    fn line_time_ns(&self) -> Result<Option<f64>> {
        Ok(None)
    }

    /// The processor mesh and the hop function (`get_proc_dimensions`,
    /// `get_adjacent_neighbors`, `get_hop_node`).
    fn topology(&self) -> &Topology;

    /// A zeroed message buffer of `length_bytes` bytes.
    ///
    /// # Errors
    /// If there is not that much memory.
    fn message_buffer(&self, length_bytes: usize) -> Result<Self::Buffer>;

    /// Says whether a message that a receive would take has arrived, without receiving it
    /// (`unblocked_probe_msg`). The message stays where it is; its length is known.
    ///
    /// # Errors
    /// If there is no such rank, or if the job has failed.
    #[track_caller]
    fn probe(&self, source: Source, tag: Tag) -> Result<Option<Status>>;

    /// Waits until a message that a receive would take has arrived, without receiving it: the blocking probe
    /// (`cprobe` of the thesis's NX/2, `MPI_Probe`). By default it calls [`probe`](Self::probe) in a loop; a transport with a watchdog counts the whole loop as one wait.
    ///
    /// # Errors
    /// If there is no such rank, or if the job has failed.
    #[inline]
    #[track_caller]
    fn probe_until(&self, source: Source, tag: Tag) -> Result<Status> {
        loop {
            if let Some(status) = self.probe(source, tag)? {
                return Ok(status);
            }
        }
    }

    /// Waits until a message that a receive would take has arrived, and leaves the CPU to others
    /// meanwhile; for ranks that have nothing to do, and may notice late. Never timed.
    ///
    /// By default it returns at once, because the receive that follows waits well.
    ///
    /// # Errors
    /// If there is no such rank, or if the job has failed.
    fn rest_until(&self, source: Source, tag: Tag) -> Result<()> {
        let _ = (source, tag);
        Ok(())
    }

    /// Runs `f` with a [`Scope`] for unblocked calls, and returns after all of them have ended.
    ///
    /// A buffer lent to an unblocked call stays borrowed until the scope ends, or until
    /// [`Request::wait`] gives it back. A request that was leaked when `f` returns, and one in
    /// flight when `f` panics, end the job, because their buffers may be freed next.
    ///
    /// ```
    /// use comet_core::transport::{Source, Tag, Transport};
    /// const TAG: Tag = Tag::new(1);
    /// comet_core::local::run_alone(|t| {
    ///     let (sent, mut received) = ([1u8, 2, 3], [0u8; 3]);
    ///     let status = t.scope(|s| {
    ///         let receive = s.unblocked_recv(Source::Any, TAG, &mut received)?;
    ///         let send = s.unblocked_send(t.rank(), TAG, &sent)?;
    ///         send.wait()?;
    ///         Ok(receive.wait()?.0)
    ///     })?;
    ///     assert_eq!((status.length_bytes, received), (3, [1, 2, 3]));
    ///     Ok::<_, comet_core::error::TransportError>(())
    /// })
    /// .unwrap();
    /// ```
    ///
    /// The compiler refuses to touch a buffer that is lent:
    ///
    /// ```compile_fail,E0499
    /// # use comet_core::transport::{Source, Tag, Transport};
    /// comet_core::local::run_alone(|t| {
    ///     let mut buffer = [0u8; 3];
    ///     t.scope(|s| {
    ///         let a = s.unblocked_recv(Source::Any, Tag::new(1), &mut buffer)?;
    ///         let b = s.unblocked_recv(Source::Any, Tag::new(1), &mut buffer)?; // lent twice
    ///         a.wait()?;
    ///         b.wait()?;
    ///         Ok(())
    ///     })
    /// });
    /// ```
    ///
    /// to free it too early:
    ///
    /// ```compile_fail,E0597
    /// # use comet_core::transport::{Source, Tag, Transport};
    /// comet_core::local::run_alone(|t| {
    ///     t.scope(|s| {
    ///         let mut buffer = [0u8; 3]; // younger than the scope
    ///         s.unblocked_recv(Source::Any, Tag::new(1), &mut buffer)?.wait()?;
    ///         Ok(())
    ///     })
    /// });
    /// ```
    ///
    /// and to let a request out of its scope:
    ///
    /// ```compile_fail
    /// # use comet_core::transport::{Source, Tag, Transport};
    /// comet_core::local::run_alone(|t| {
    ///     let buffer = [0u8; 3];
    ///     let request = t.scope(|s| s.unblocked_send(t.rank(), Tag::new(1), &buffer))?;
    ///     request.wait()
    /// });
    /// ```
    ///
    /// # Errors
    /// Those of `f`, or else the first error of a request that was dropped rather than waited for.
    #[inline]
    fn scope<'env, R>(
        &'env self,
        f: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env, Self>) -> Result<R>,
    ) -> Result<R> {
        scope::run(self, f)
    }

    /// Sends `message` to `destination`; returns when `message` may be changed again.
    ///
    /// Messages up to the transport's eager limit are buffered. A longer one may have to wait for
    /// its receive; whether this rank takes in messages meanwhile, so that two ranks may send to
    /// each other first and receive then, says [`Promises::buffers_sends`].
    ///
    /// # Errors
    /// If there is no such rank, or if the job has failed.
    #[inline]
    #[track_caller]
    fn blocked_send(&self, destination: Rank, tag: Tag, message: &[u8]) -> Result<()> {
        self.scope(|s| s.unblocked_send(destination, tag, message)?.wait())
    }

    /// Sends `message` to `destination` in `mode`; returns when the send has ended, as its
    /// [mode](SendMode) says. A standard send is that of [`blocked_send`](Self::blocked_send).
    ///
    /// ```
    /// use comet_core::transport::{SendMode, Source, Tag, Transport};
    /// comet_core::local::run(2, |t| {
    ///     let (tag, mut buffer) = (Tag::new(1), [0; 3]);
    ///     if t.rank() == 0 {
    ///         return t.blocked_send_in(SendMode::Synchronous, 1, tag, &[1, 2, 3]);
    ///     }
    ///     t.blocked_recv(Source::Rank(0), tag, &mut buffer).map(|_| assert_eq!(buffer, [1, 2, 3]))
    /// });
    /// ```
    ///
    /// # Errors
    /// Those of [`Scope::unblocked_send_in`].
    #[inline]
    #[track_caller]
    fn blocked_send_in(
        &self,
        mode: SendMode,
        destination: Rank,
        tag: Tag,
        message: &[u8],
    ) -> Result<()> {
        match mode {
            SendMode::Standard => self.blocked_send(destination, tag, message),
            _ => self.scope(|s| s.unblocked_send_in(mode, destination, tag, message)?.wait()),
        }
    }

    /// Makes room for `n_messages` buffered sends of this rank in flight at once, each of `length_bytes` at the
    /// most (`MPI_Buffer_attach`: MPI-4.1 section 3.6). Room that was made before stays if it is as large; if
    /// not, this waits until the messages in it have left. By default there is always room.
    ///
    /// # Errors
    /// [`OutOfResources`](crate::error::TransportErrorKind::OutOfResources) if there is not that much memory;
    /// other kinds if the job has failed.
    fn attach_buffer(&self, n_messages: usize, length_bytes: usize) -> Result<()> {
        let _ = (n_messages, length_bytes);
        Ok(())
    }

    /// Gives the room of buffered sends back, where the transport has made some; it may wait until the
    /// messages in it have been received (`MPI_Buffer_detach`).
    ///
    /// # Errors
    /// If the job has failed.
    fn detach_buffer(&self) -> Result<()> {
        Ok(())
    }

    /// Receives the earliest message with `tag` from `source` into the front of `buffer`.
    ///
    /// # Errors
    /// [`Truncated`](crate::error::TransportErrorKind::Truncated) if the message is longer than
    /// the buffer: it is consumed, its front is in the buffer, and the transport stays usable; but
    /// see [`Promises::survives_truncation`]. Other kinds if there is no such rank, or if the job has failed.
    #[inline]
    #[track_caller]
    fn blocked_recv(&self, source: Source, tag: Tag, buffer: &mut [u8]) -> Result<Status> {
        self.scope(|s| Ok(s.unblocked_recv(source, tag, buffer)?.wait()?.0))
    }

    /// Sends `message` to `destination` while it receives from `source` into `buffer`, in the way
    /// that is fastest here; safe from deadlock on every transport, however long the messages are
    /// (MPI-4.1 section 3.10).
    ///
    /// # Errors
    /// Those of [`blocked_send`](Self::blocked_send) and [`blocked_recv`](Self::blocked_recv).
    #[inline]
    #[track_caller]
    fn blocked_exchange(
        &self,
        destination: Rank,
        message: &[u8],
        source: Source,
        buffer: &mut [u8],
        tag: Tag,
    ) -> Result<Status> {
        // Before the receive is posted, which would have to be waited for.
        require_destination(self, destination, tag)?;
        self.scope(|s| {
            let receive = s.unblocked_recv(source, tag, buffer)?;
            s.unblocked_send(destination, tag, message)?.wait()?;
            Ok(receive.wait()?.0)
        })
    }

    /// Room for [`blocked_exchange_in_place`](Self::blocked_exchange_in_place) of `length_bytes`: as much,
    /// or none where the transport has a call that needs none.
    ///
    /// # Errors
    /// If there is not that much memory.
    fn room_in_place(&self, length_bytes: usize) -> Result<Self::Buffer> {
        self.message_buffer(length_bytes)
    }

    /// Sends `message` to `destination`, and receives from `source` into its place a message that is as
    /// long at the most (`MPI_Sendrecv_replace`: MPI-4.1 section 3.10). By default `message` is sent from
    /// a copy in `room`, which [`room_in_place`](Self::room_in_place) has made for that length.
    ///
    /// # Errors
    /// Those of [`blocked_exchange`](Self::blocked_exchange), and
    /// [`InvalidArgument`](crate::error::TransportErrorKind::InvalidArgument) if `room` is too short.
    #[inline]
    #[track_caller]
    fn blocked_exchange_in_place(
        &self,
        destination: Rank,
        source: Source,
        tag: Tag,
        message: &mut [u8],
        room: &mut [u8],
    ) -> Result<Status> {
        let bytes = message.len();
        let room_bytes = room.len();
        let Some(copy) = room.get_mut(..bytes) else {
            return Err(
                TransportError::no_room(bytes, room_bytes).on_rank(self.global_rank(self.rank()))
            );
        };
        self.compute(Work::copy(bytes), || copy.copy_from_slice(message));
        self.blocked_exchange(destination, copy, source, message, tag)
    }

    /// Returns after every rank has called it (MPI-4.1 section 6.3).
    ///
    /// # Errors
    /// If the job has failed.
    #[inline]
    #[track_caller]
    fn barrier(&self) -> Result<()> {
        collective::barrier(self)
    }

    /// Copies `message` of rank `root` into `message` of every other rank; all ranks call it with
    /// the same `root` and length (MPI-4.1 section 6.4).
    ///
    /// # Errors
    /// If there is no such rank, if the lengths differ, or if the job has failed.
    #[inline]
    #[track_caller]
    fn blocked_broadcast(&self, root: Rank, message: &mut [u8]) -> Result<()> {
        collective::broadcast(self, root, message)
    }

    /// The sum of `value` over all ranks, with the same bits on every rank.
    ///
    /// # Errors
    /// If the job has failed.
    #[inline]
    #[track_caller]
    fn global_sum(&self, value: f64) -> Result<f64> {
        let mut values = [value];
        self.global_sum_vector(&mut values)?;
        Ok(values[0])
    }

    /// Replaces each element of `values` by its sum over all ranks, with the same bits on every
    /// rank; all ranks call it with the same length.
    ///
    /// # Errors
    /// If the lengths differ, or if the job has failed.
    #[inline]
    #[track_caller]
    fn global_sum_vector(&self, values: &mut [f64]) -> Result<()> {
        collective::global_sum_vector(self, values)
    }

    /// Carries `call` out from `input` to `output`, which may be longer than it needs; all ranks call
    /// it with the same operation (MPI-4.1 chapter 6). One among neighbours is carried out on the
    /// transport [for them](Self::with_neighbours).
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::error::TransportErrorKind::InvalidArgument) if a buffer is too short
    /// or if there is no such root, [`Unsupported`](crate::error::TransportErrorKind::Unsupported) if it
    /// has no call for such lengths, and nothing has been started; other kinds if the job has failed.
    #[inline]
    #[track_caller]
    fn collective(&self, call: &Collective, input: &[u8], output: &mut [u8]) -> Result<()> {
        collective::by_messages(self, call, input, output)
    }

    /// Combines `other` into `into`, which is as long, on this rank alone (`MPI_Reduce_local`: MPI-4.1
    /// section 6.9.7).
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::error::TransportErrorKind::InvalidArgument) if one is longer.
    #[inline]
    fn combine(&self, by: Reducer, other: &[u8], into: &mut [u8]) -> Result<()> {
        collective::require_operands(self, other, into)?;
        let n = into.len().div_ceil(size_of::<f64>());
        self.compute(Work::Reduce { n }, || by.combine(into, other));
        Ok(())
    }

    /// True if [`collective`](Self::collective) carries `call` out in a way of this transport's own.
    /// Otherwise it makes a plan each time, and a caller with many calls makes one before
    /// (see [`Running`](crate::collective::Running)).
    fn has_own(&self, call: &Collective) -> bool {
        let _ = call;
        false
    }

    /// True if the transport starts `call` by a call of its own
    /// ([`start_own`](RawTransport::start_own)). Otherwise it is started by a plan, whose messages go on
    /// only in the calls that test it or wait for it (see [`Scope::unblocked_collective`]).
    fn starts_own(&self, call: &Collective) -> bool {
        let _ = call;
        false
    }

    /// Does the computation `body`, which is `work`. A simulated transport charges the cost of
    /// `work`, and may skip `body`.
    #[inline]
    fn compute(&self, work: Work, body: impl FnOnce()) {
        let _ = work;
        body();
    }

    /// Notes what this rank is about to do (a kernel and its parameters), for the message that
    /// names it should it die or hang, and for how long the ranks that have no part in it can
    /// expect to wait, in nanoseconds. Never called between two clock reads.
    fn annotate(&self, activity: &str, expected_ns: u64) {
        let _ = (activity, expected_ns);
    }
}
