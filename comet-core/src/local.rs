//! Ranks as threads of this process: a plain, safe transport for examples, tests and listing.
//!
//! It passes every conformance test that a real backend does, and moves messages through a queue
//! under a mutex: do not quote times measured with it.

mod window;

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::{Deref, DerefMut, Range};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytemuck::allocation::try_zeroed_slice_box;

use crate::collective::{NoCall, SHARED, of_any_call};
use crate::error::{Result, TransportError, TransportErrorKind};
use crate::file::NoFile;
use crate::matching::Matcher;
use crate::topology::Topology;
use crate::transport::{
    ClockInfo, Group, Lane, Lease, NoPrepared, Outgoing, Pending, Place, Rank, RawTransport,
    SendMode, Source, Status, Tag, Transport, lane, require_destination, require_source,
};
use crate::window::Memory;

pub use window::LocalWindow;
use window::Windows;

/// Time that a rank waits for a message before it gives up.
const PATIENCE: Duration = Duration::from_secs(10);

/// One message in flight.
#[derive(Debug)]
struct Message {
    source: Rank,
    tag: Tag,
    bytes: Vec<u8>,
    /// Set once it has found its receive, for a synchronous send.
    is_matched: Option<Arc<AtomicBool>>,
}

/// Messages that a rank has not looked at yet.
#[derive(Debug, Default)]
struct Inbox {
    messages: Mutex<VecDeque<Message>>,
    arrived: Condvar,
}

/// Messages whose last byte arrives changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corrupt {
    /// None.
    Nothing,
    /// Those with a user's tag.
    Users,
    /// All, but what ranks tell each other about themselves.
    All,
    /// All but the first to each rank with each tag.
    Repeated,
    /// The message of that number, from 0 on, to each rank with each of a user's tags.
    Number(usize),
    /// Those with a user's tag that are sent from memory into which a message was received.
    InPlace,
    /// Those with a user's tag in the lane of that number of each rank.
    Lane(usize),
}

/// Shared state of the ranks.
#[derive(Debug)]
struct Shared {
    inboxes: Vec<Inbox>,
    windows: Windows,
    start: Instant,
    corrupt: Corrupt,
    /// That of lanes, by the serial number of their group, its first rank and their number.
    lanes: Mutex<HashMap<(u64, Rank, usize), Arc<Shared>>>,
}

impl Shared {
    fn new(n_ranks: usize, start: Instant, corrupt: Corrupt) -> Self {
        let inboxes = (0..n_ranks).map(|_| Inbox::default()).collect();
        let (windows, lanes) = (Windows::default(), Mutex::default());
        Self { inboxes, windows, start, corrupt, lanes }
    }
}

/// Name of a posted receive.
type RecvId = u64;

/// One rank of the local transport, or of a part of it; made by [`run`].
#[derive(Clone, Debug)]
pub struct Local {
    group: Group,
    topology: Topology,
    shared: Arc<Shared>,
    own: Rc<Own>,
    lane: Option<Lane>,
}

/// The state of one rank in the whole job.
#[derive(Debug, Default)]
struct Own {
    rank: Rank,
    /// Number of the messages to each rank with each tag; unblocked collectives have one.
    n_sent: RefCell<HashMap<(Rank, Tag), usize>>,
    /// True once a message of this rank has been changed.
    has_corrupted: Cell<bool>,
    /// Addresses at which messages were received.
    received_at: RefCell<HashSet<usize>>,
    matcher: RefCell<Matcher<RecvId, Message>>,
    /// Messages that have found their receive, which has not looked yet.
    delivered: RefCell<HashMap<RecvId, Message>>,
    next_id: Cell<RecvId>,
    /// Time from the start of all ranks to that of this one, in nanoseconds.
    started_ns: u64,
    /// Windows made so far, by the serial number of the group.
    n_windows: RefCell<HashMap<u64, u64>>,
}

/// A send, which is over as soon as it was started, but for a synchronous one.
#[derive(Debug)]
pub struct LocalSend {
    is_matched: Option<Arc<AtomicBool>>,
}

/// A receive in flight: its message is copied when it is finished.
#[derive(Debug)]
pub struct LocalRecv<'env> {
    id: RecvId,
    source: Source,
    tag: Tag,
    place: Place<'env>,
}

/// A message buffer aligned as [`Transport::Buffer`] promises: a block with a margin, since
/// a plain block of bytes may start anywhere.
#[derive(Debug)]
pub struct LocalBuffer {
    bytes: Box<[u8]>,
    place: Range<usize>,
}

impl LocalBuffer {
    const ALIGNMENT: usize = 64;

    /// `length_bytes` zeroed bytes, or `None` if there is not that much memory.
    pub fn new(length_bytes: usize) -> Option<Self> {
        // The system clears each page when it is first written to.
        let n_bytes = length_bytes.checked_add(Self::ALIGNMENT)?;
        let bytes = try_zeroed_slice_box::<u8>(n_bytes).ok()?;
        let start = bytes.as_ptr().align_offset(Self::ALIGNMENT);
        Some(Self { bytes, place: start..start + length_bytes })
    }
}

impl Deref for LocalBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[self.place.clone()]
    }
}

impl DerefMut for LocalBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.place.clone()]
    }
}

/// Runs `f` on `n_ranks` ranks; returns what each of them returned.
///
/// # Panics
/// If a rank panics.
pub fn run<R: Send>(n_ranks: usize, f: impl Fn(&Local) -> R + Sync) -> Vec<R> {
    run_with(Topology::hypercube(n_ranks), false, f)
}

/// [`run`] over a topology of the caller's. With `corrupt`, the last byte of every message with a
/// user's tag arrives wrong: a kernel that does not notice does not verify.
///
/// # Panics
/// If a rank panics.
pub fn run_with<R: Send>(
    topology: Topology,
    corrupt: bool,
    f: impl Fn(&Local) -> R + Sync,
) -> Vec<R> {
    run_corrupting(topology, if corrupt { Corrupt::Users } else { Corrupt::Nothing }, f)
}

/// [`run_with`], with the choice of the messages that arrive wrong.
///
/// # Panics
/// If a rank panics.
pub fn run_corrupting<R: Send>(
    topology: Topology,
    corrupt: Corrupt,
    f: impl Fn(&Local) -> R + Sync,
) -> Vec<R> {
    let n_ranks = topology.n_ranks();
    let shared = Arc::new(Shared::new(n_ranks, Instant::now(), corrupt));
    let rank_main = |rank| {
        f(&Local {
            group: Group::whole(rank, n_ranks),
            topology: topology.clone(),
            shared: Arc::clone(&shared),
            own: Rc::new(Own { rank, started_ns: elapsed_ns(shared.start), ..Own::default() }),
            lane: None,
        })
    };
    std::thread::scope(|threads| {
        let rank_main = &rank_main;
        let ranks: Vec<_> =
            (0..n_ranks).map(|rank| threads.spawn(move || rank_main(rank))).collect();
        ranks.into_iter().map(|rank| rank.join().expect("no rank panics")).collect()
    })
}

/// [`run`] on a single rank.
///
/// # Panics
/// If `f` panics.
pub fn run_alone<R: Send>(f: impl Fn(&Local) -> R + Sync) -> R {
    run(1, f).pop().expect("one rank returns one result")
}

/// Time since `start` in nanoseconds.
fn elapsed_ns(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

impl Local {
    fn lock_inbox(&self, rank: Rank) -> MutexGuard<'_, VecDeque<Message>> {
        // A queue is whole after each push and pop, so a panic elsewhere does not spoil it.
        self.shared.inboxes[rank].messages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands every message that has arrived to its receive, or keeps it.
    fn progress(&self) {
        // Taken out at once: a delivery looks into the inbox of the sender.
        let arrived = std::mem::take(&mut *self.lock_inbox(self.own.rank));
        for message in arrived {
            let mut matcher = self.own.matcher.borrow_mut();
            match matcher.claim(message.source, message.tag) {
                Some(id) => self.deliver(id, message),
                None => matcher.keep(message.source, message.tag, message),
            }
        }
    }

    /// Gives `message` to its receive, and tells a sender that waits for that.
    fn deliver(&self, id: RecvId, mut message: Message) {
        if let Some(is_matched) = message.is_matched.take() {
            // Release: pairs with the Acquire load in `LocalSend::has_ended`.
            is_matched.store(true, Ordering::Release);
            // Locked, so that the sender is not between its look and its wait.
            drop(self.lock_inbox(message.source));
            self.shared.inboxes[message.source].arrived.notify_one();
        }
        self.own.delivered.borrow_mut().insert(id, message);
    }

    /// Waits until `look` finds something; `None` if it has not within [`PATIENCE`].
    fn await_arrival<R>(&self, look: impl Fn() -> Option<R>) -> Option<R> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            self.progress();
            let inbox = self.lock_inbox(self.own.rank);
            let found = look();
            if found.is_some() {
                return found;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if !inbox.is_empty() {
                continue;
            }
            if left.is_zero() {
                return None;
            }
            drop(self.shared.inboxes[self.own.rank].arrived.wait_timeout(inbox, left));
        }
    }

    /// Waits until `look` finds something among the messages that were delivered; `None` if it has
    /// not within [`PATIENCE`].
    fn await_delivery<R>(
        &self,
        look: impl Fn(&mut HashMap<RecvId, Message>) -> Option<R>,
    ) -> Option<R> {
        self.await_arrival(|| look(&mut self.own.delivered.borrow_mut()))
    }

    #[cold]
    fn timed_out(&self, what: &str) -> TransportError {
        let text = format!("{what} within {} s", PATIENCE.as_secs());
        TransportError::new(TransportErrorKind::TimedOut, text)
    }
}

impl LocalSend {
    fn has_ended(&self) -> bool {
        // Acquire: pairs with the Release store in `Local::deliver`.
        self.is_matched.as_ref().is_none_or(|is_matched| is_matched.load(Ordering::Acquire))
    }
}

impl Pending<Local> for LocalSend {
    type Out = ();

    fn poll(&mut self, t: &Local) -> bool {
        self.has_ended() || {
            t.progress();
            self.has_ended()
        }
    }

    fn finish(self, t: &Local) -> Result<()> {
        if self.has_ended() {
            return Ok(());
        }
        let ended = t.await_arrival(|| self.has_ended().then_some(()));
        ended.ok_or_else(|| t.group.located(t.timed_out("no receive took the message")))
    }
}

impl<'env> Pending<Local> for LocalRecv<'env> {
    type Out = (Status, &'env mut [u8]);

    fn poll(&mut self, t: &Local) -> bool {
        t.progress();
        t.own.delivered.borrow().contains_key(&self.id)
    }

    fn finish(self, t: &Local) -> Result<Self::Out> {
        let Self { id, source, tag, mut place } = self;
        let message = t.await_delivery(|delivered| delivered.remove(&id)).ok_or_else(|| {
            t.group.located(t.timed_out("no message arrived").with_peer(source, tag))
        })?;
        let (found_bytes, capacity_bytes) = (message.bytes.len(), place.length_bytes());
        let status = Status { source: message.source, tag: message.tag, length_bytes: found_bytes };
        let status = t.group.status(source, status);
        place.put(&message.bytes);
        if t.shared.corrupt == Corrupt::InPlace {
            t.own.received_at.borrow_mut().insert(place.start().addr());
        }
        if found_bytes > capacity_bytes {
            let error = TransportError::truncated(status.source, tag, found_bytes, capacity_bytes);
            return Err(t.group.located(error));
        }
        Ok((status, place.into_buffer()))
    }

    fn first(t: &Local, ops: &mut [Option<Self>]) -> Option<usize> {
        let first = ops.iter().position(Option::is_some)?;
        let ended = t.await_delivery(|delivered| {
            let is_there = |op: &LocalRecv<'_>| delivered.contains_key(&op.id);
            ops.iter().position(|op| op.as_ref().is_some_and(is_there))
        });
        // After too long a wait `finish` returns the error.
        ended.or(Some(first))
    }
}

impl Local {
    /// True if a message of this rank arrives changed, after [`run_corrupting`].
    pub fn has_corrupted(&self) -> bool {
        self.own.has_corrupted.get()
    }

    /// Changes what has arrived at `destination`, if it is to arrive wrong.
    fn corrupt(&self, destination: Rank, tag: Tag, arrived: &mut [u8]) {
        if self.is_corrupted(destination, tag, arrived) {
            self.spoil(arrived);
        }
    }

    fn spoil(&self, bytes: &mut [u8]) {
        if let Some(byte) = bytes.last_mut() {
            *byte = byte.wrapping_add(1);
            self.own.has_corrupted.set(true);
        }
    }

    /// True if `message` arrives wrong.
    fn is_corrupted(&self, destination: Rank, tag: Tag, message: &[u8]) -> bool {
        let Own { n_sent, received_at, .. } = &*self.own;
        let mut n_sent = n_sent.borrow_mut();
        let n_before = n_sent.entry((destination, of_any_call(tag))).or_default();
        *n_before += 1;
        let number = *n_before - 1;
        match self.shared.corrupt {
            Corrupt::Nothing | Corrupt::Lane(_) => false,
            // Ranks that know each other wrongly would corrupt more than messages.
            _ if tag == SHARED => false,
            Corrupt::Users => tag.value() <= Tag::MAX,
            Corrupt::All => true,
            Corrupt::Repeated => number > 0,
            Corrupt::Number(chosen) => number == chosen && tag.value() <= Tag::MAX,
            Corrupt::InPlace => {
                tag.value() <= Tag::MAX && received_at.borrow().contains(&message.as_ptr().addr())
            }
        }
    }
}

impl RawTransport for Local {
    type SendOp<'env> = LocalSend;
    type RecvOp<'env> = LocalRecv<'env>;
    type OwnCall<'env> = NoCall;
    type PreparedOp = NoPrepared;
    type Window = LocalWindow;
    type File = NoFile;
    type Construction = crate::layout::PieceSearch;

    /// The queue is the room of buffered messages, and whether a receive is posted only its rank knows.
    fn start_send_in(
        &self,
        _lease: Lease<Self>,
        mode: SendMode,
        destination: Rank,
        tag: Tag,
        message: &[u8],
    ) -> Result<LocalSend> {
        require_destination(self, destination, tag)?;
        let mut bytes = message.to_vec();
        if self.is_corrupted(destination, tag, message) {
            self.spoil(&mut bytes);
        }
        let (source, destination) = (self.own.rank, self.group.global(destination));
        let tag = self.group.tag(tag);
        let is_matched = (mode == SendMode::Synchronous).then(Arc::default);
        let sent = LocalSend { is_matched: is_matched.clone() };
        self.lock_inbox(destination).push_back(Message { source, tag, bytes, is_matched });
        self.shared.inboxes[destination].arrived.notify_one();
        Ok(sent)
    }

    fn start_send_from(
        &self,
        lease: Lease<Self>,
        destination: Rank,
        tag: Tag,
        message: Outgoing<'_>,
    ) -> Result<LocalSend> {
        self.start_send(lease, destination, tag, &message.to_vec())
    }

    #[inline]
    fn group(&self) -> &Group {
        &self.group
    }

    fn start_recv<'env>(
        &self,
        _lease: Lease<Self>,
        source: Source,
        tag: Tag,
        place: Place<'env>,
    ) -> Result<LocalRecv<'env>> {
        require_source(self, source, tag)?;
        self.progress();
        let id = self.own.next_id.replace(self.own.next_id.get() + 1);
        let mut matcher = self.own.matcher.borrow_mut();
        let (from, label) = (self.group.source(source), self.group.tag(tag));
        match matcher.take(from, label) {
            Some((_, message)) => self.deliver(id, message),
            None => matcher.post(from, label, id),
        }
        Ok(LocalRecv { id, source, tag, place })
    }

    fn make_window(
        &self,
        _lease: Lease<Self>,
        part_bytes: usize,
        origin_bytes: usize,
        memory: Memory,
    ) -> Result<LocalWindow> {
        let mut n_windows = self.own.n_windows.borrow_mut();
        let number = n_windows.entry(self.group.serial()).or_default();
        *number += 1;
        LocalWindow::new(self, *number, part_bytes, origin_bytes, memory)
    }

    fn fail_job(&self, _reason: &str) -> ! {
        std::process::abort()
    }
}

impl Transport for Local {
    type Buffer = LocalBuffer;

    fn split(&self, colour: Option<u32>, key: u64) -> Result<Option<Self>> {
        let part = self.group.split(self, colour, key)?;
        Ok(part.map(|group| {
            let (topology, shared) = (group.topology(&self.topology), Arc::clone(&self.shared));
            Self { group, topology, shared, own: Rc::clone(&self.own), lane: self.lane.clone() }
        }))
    }

    /// Each lane is a job of its own, whose ranks have the numbers of this group.
    fn on_lanes<R: Send>(&self, n: usize, body: impl Fn(&Self) -> R + Sync) -> Result<Vec<R>> {
        let (rank, n_ranks, topology) = (self.rank(), self.n_ranks(), &self.topology);
        let Shared { start, corrupt, lanes, .. } = &*self.shared;
        let mut lanes = lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let of_lane = |number| {
            let place = (self.group.serial(), self.group.global(0), number);
            let corrupt = match *corrupt {
                Corrupt::Lane(wrong) if wrong == number => Corrupt::Users,
                corrupt => corrupt,
            };
            let new = || Arc::new(Shared::new(n_ranks, *start, corrupt));
            Arc::clone(lanes.entry(place).or_insert_with(new))
        };
        let shared: Vec<Arc<Shared>> = (0..n).map(of_lane).collect();
        drop(lanes);
        let make = |lane, shared| Self {
            group: Group::whole(rank, n_ranks),
            topology: topology.clone(),
            shared,
            own: Rc::new(Own { rank, ..Own::default() }),
            lane: Some(lane),
        };
        Ok(lane::run(self, shared, make, body))
    }

    fn lane(&self) -> Option<&Lane> {
        self.lane.as_ref()
    }

    fn startup_ns(&self) -> Option<[u64; 2]> {
        Some([0, self.own.started_ns])
    }

    fn now_ns(&self) -> u64 {
        elapsed_ns(self.shared.start)
    }

    fn clock(&self) -> ClockInfo {
        ClockInfo::of_machine("std::time::Instant")
    }

    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn message_buffer(&self, length_bytes: usize) -> Result<LocalBuffer> {
        let buffer = LocalBuffer::new(length_bytes).ok_or_else(|| {
            let text = format!("there is no memory for a message buffer of {length_bytes} bytes");
            self.group.located(TransportError::new(TransportErrorKind::OutOfResources, text))
        })?;
        // What was received at these addresses before is gone.
        let range = buffer.as_ptr_range();
        self.own
            .received_at
            .borrow_mut()
            .retain(|at| !(range.start.addr()..range.end.addr()).contains(at));
        Ok(buffer)
    }

    fn probe(&self, source: Source, tag: Tag) -> Result<Option<Status>> {
        require_source(self, source, tag)?;
        self.progress();
        let matcher = self.own.matcher.borrow();
        let found = matcher.peek(self.group.source(source), self.group.tag(tag));
        Ok(found.map(|(from, message)| {
            let (tag, length_bytes) = (message.tag, message.bytes.len());
            self.group.status(source, Status { source: from, tag, length_bytes })
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_buffers_are_aligned_zeroed_and_of_the_length_asked_for() {
        for length_bytes in [0, 1, 8, 63, 64, 65, 5000] {
            let buffer = run_alone(|t| t.message_buffer(length_bytes)).expect("memory suffices");
            assert_eq!(*buffer, vec![0; length_bytes]);
            assert_eq!(buffer.as_ptr().addr() % 64, 0, "{length_bytes} bytes");
        }
    }

    #[test]
    fn an_error_in_a_part_has_the_numbers_of_the_job() {
        let texts = run(4, |t| {
            let part = t.split(Some(u32::from(t.rank() > 1)), 0).unwrap().unwrap();
            part.blocked_send(1 - part.rank(), Tag::new(1), &[0; 2]).unwrap();
            let result = part.blocked_recv(Source::Any, Tag::new(1), &mut [0]);
            result.unwrap_err().to_string()
        });
        let ends = "tag 1, 2 bytes sent, 1 bytes expected)";
        assert_eq!(texts[2], format!("the message is too long (on rank 2, peer rank 3, {ends}"));
    }
}
