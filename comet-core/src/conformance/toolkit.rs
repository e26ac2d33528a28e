//! Common parts of the checks: messages that know their contents, and the list of problems.
//!
//! Most checks let messages travel once round the ring of all ranks: each rank sends to the next
//! and receives from the one before, which works from one rank up.

use std::cell::OnceCell;
use std::fmt;
use std::ops::{Deref, DerefMut};

use crate::error::{Result, TransportError, TransportErrorKind};
use crate::pattern;
use crate::transport::{Rank, Request, Scope, Source, Status, Tag, Transport};

/// Outcome of a check: its first problem in one sentence.
pub(super) type Outcome = Result<(), String>;

/// The tag of most messages.
pub(super) const TAG: Tag = Tag::new(1);
/// Another tag, for messages that are taken in another order than they were sent.
pub(super) const OTHER: Tag = Tag::new(2);
/// The tag of [`ready`].
const READY: Tag = Tag::new(3);

/// Lengths about the borders at which transports change their protocols, in bytes.
pub(super) const LENGTHS_BYTES: [usize; 20] = [
    0, 1, 7, 8, 47, 48, 49, 63, 64, 65, 255, 4095, 4096, 4097, 8191, 16_384, 65_535, 131_072,
    131_073, 1_048_577,
];

/// Number of polls by [`poll_until`] before it gives up: several seconds at the least where a poll
/// takes time.
const MAX_POLLS: u32 = 64_000_000;
/// Polls for each time that the CPU is offered to others.
const POLLS_PER_YIELD: u32 = 32;

/// Lists checks, each by the name of its function; those of files take their folder.
macro_rules! checks {
    (in a folder: $($check:ident),* $(,)?) => {
        vec![$(Check {
            name: stringify!($check),
            run: |t, folder, found| $check(t, folder.expect("a check of files has one"), found),
        }),*]
    };
    ($($check:ident),* $(,)?) => {
        vec![$(Check { name: stringify!($check), run: |t, _, found| $check(t, found) }),*]
    };
}
pub(super) use checks;

/// Runs the body of a check: its first problem, or the error that ended it.
pub(super) fn collect(body: impl FnOnce(&Found) -> Result<()>) -> Outcome {
    let found = Found::default();
    let end = body(&found);
    match (found.0.into_inner(), end) {
        (Some(problem), Err(error)) => Err(format!("{problem}; then {error}")),
        (Some(problem), Ok(())) => Err(problem),
        (None, end) => end.map_err(|error| error.to_string()),
    }
}

/// The first problem that a check found, if any.
#[derive(Debug, Default)]
pub(super) struct Found(OnceCell<String>);

impl Found {
    /// Notes a problem.
    pub(super) fn note(&self, problem: impl Into<String>) {
        self.0.get_or_init(|| problem.into());
    }

    /// Notes `problem` unless `holds`.
    pub(super) fn require(&self, holds: bool, problem: &str) {
        if !holds {
            self.note(problem);
        }
    }

    /// Notes that `what` is wrong unless it is as expected.
    pub(super) fn require_eq<V: PartialEq + fmt::Debug>(
        &self,
        what: impl fmt::Display,
        found: V,
        expected: V,
    ) {
        if found != expected {
            self.note(format!("{what}: expected {expected:?}, found {found:?}"));
        }
    }

    /// Checks that `bytes` are the contents of `envelope`.
    pub(super) fn require_content(&self, envelope: &Envelope, bytes: &[u8]) {
        self.require_pattern(bytes, envelope.seed(), envelope);
    }

    /// Checks that `bytes`, which are `what`, have the test data of `seed`.
    pub(super) fn require_pattern(&self, bytes: &[u8], seed: u64, what: impl fmt::Display) {
        if let Err(error) = pattern::check(bytes, seed, what) {
            self.note(error.to_string());
        }
    }

    /// Checks that `what` is refused as an error of this kind, and not otherwise.
    pub(super) fn require_refused(
        &self,
        what: &str,
        kind: TransportErrorKind,
        result: Result<()>,
    ) -> Result<()> {
        match result {
            Err(error) if error.kind == kind => {}
            Err(error) => self.survive(what, error)?,
            Ok(()) => self.note(format!("{what} was not refused")),
        }
        Ok(())
    }

    /// Checks what a receive of `envelope` into `buffer`, of exactly its length, has returned.
    ///
    /// An error that ends the job comes back, any other is a problem.
    pub(super) fn require_arrival(
        &self,
        envelope: &Envelope,
        result: Result<Status>,
        buffer: &[u8],
    ) -> Result<()> {
        match result {
            Ok(status) => {
                self.require_eq(format!("status of {envelope}"), status, envelope.status());
                self.require_content(envelope, buffer);
            }
            Err(error) => self.survive(&envelope.to_string(), error)?,
        }
        Ok(())
    }

    /// Notes an error that the transport survives; gives back one that ends the job.
    pub(super) fn survive(&self, what: &str, error: TransportError) -> Result<()> {
        if error.ends_job() {
            return Err(error);
        }
        self.note(format!("{what}: {error}"));
        Ok(())
    }
}

/// One message: who sends it to whom, and what it contains.
#[derive(Clone, Copy, Debug)]
pub(super) struct Envelope {
    pub(super) source: Rank,
    pub(super) destination: Rank,
    pub(super) tag: Tag,
    pub(super) length_bytes: usize,
    /// Tells messages of one check apart, and says in which memory they lie.
    pub(super) index: usize,
}

impl fmt::Display for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, destination, tag, length_bytes, index } = self;
        write!(
            f,
            "message {index} from rank {source} to rank {destination} \
             (tag {tag}, {length_bytes} bytes)"
        )
    }
}

impl Envelope {
    /// The message as its sender holds it; every other one lies in the transport's memory.
    pub(super) fn message<T: Transport>(&self, t: &T) -> Result<Memory<T>> {
        let mut message = Memory::new(t, self.index & 1 != 0, self.length_bytes)?;
        pattern::fill(&mut message, self.seed());
        Ok(message)
    }

    /// A buffer to receive it; every other pair of them lies in the transport's memory, so that
    /// four messages in a row meet all combinations.
    pub(super) fn buffer<T: Transport>(&self, t: &T) -> Result<Memory<T>> {
        self.buffer_of(t, self.length_bytes)
    }

    /// [`buffer`](Self::buffer) of another length, filled with what the message does not contain.
    pub(super) fn buffer_of<T: Transport>(&self, t: &T, length_bytes: usize) -> Result<Memory<T>> {
        let mut buffer = Memory::new(t, self.index & 2 != 0, length_bytes)?;
        pattern::spoil(&mut buffer, self.seed());
        Ok(buffer)
    }

    /// Status of a receive of this message.
    pub(super) fn status(&self) -> Status {
        Status { source: self.source, tag: self.tag, length_bytes: self.length_bytes }
    }

    /// The rank that sends it, for a receive.
    pub(super) fn from(&self) -> Source {
        Source::Rank(self.source)
    }

    /// The seed of its contents; a multiplication keeps the patterns of neighbours apart.
    pub(super) fn seed(&self) -> u64 {
        let ranks = ((self.source as u64) << 48) ^ ((self.destination as u64) << 32);
        let key = ranks ^ (u64::from(self.tag.value()) << 16) ^ self.index as u64;
        key.wrapping_mul(0xd134_2543_de82_ef95)
    }
}

/// Private memory of the rank, or memory that the transport moves fastest.
pub(super) enum Memory<T: Transport> {
    /// Of the rank's own allocator.
    Private(Vec<u8>),
    /// Of [`Transport::message_buffer`].
    Transport(T::Buffer),
}

impl<T: Transport> Memory<T> {
    /// `length_bytes` zeroed bytes.
    pub(super) fn new(t: &T, of_transport: bool, length_bytes: usize) -> Result<Self> {
        if of_transport {
            return Ok(Self::Transport(t.message_buffer(length_bytes)?));
        }
        Ok(Self::Private(vec![0; length_bytes]))
    }
}

impl<T: Transport> Deref for Memory<T> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Private(bytes) => bytes,
            Self::Transport(bytes) => bytes,
        }
    }
}

impl<T: Transport> DerefMut for Memory<T> {
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Private(bytes) => bytes,
            Self::Transport(bytes) => bytes,
        }
    }
}

/// The next rank on the ring of all ranks; the rank itself when it is alone.
pub(super) fn next<T: Transport>(t: &T) -> Rank {
    (t.rank() + 1) % t.n_ranks()
}

/// The rank before this one on the ring; the rank itself when it is alone.
pub(super) fn previous<T: Transport>(t: &T) -> Rank {
    (t.rank() + t.n_ranks() - 1) % t.n_ranks()
}

/// Messages with these tags and lengths, in this order, from every rank to the next: those that
/// this rank sends, and those that it receives. They are numbered from `first_index`.
pub(super) fn round_the_ring<T: Transport>(
    t: &T,
    first_index: usize,
    messages: impl IntoIterator<Item = (Tag, usize)>,
) -> (Vec<Envelope>, Vec<Envelope>) {
    let pair = |(place, (tag, length_bytes))| {
        let index = first_index + place;
        let (source, destination) = (t.rank(), next(t));
        let sent = Envelope { source, destination, tag, length_bytes, index };
        (sent, Envelope { source: previous(t), destination: source, ..sent })
    };
    messages.into_iter().enumerate().map(pair).unzip()
}

/// Sends `outgoing` unblocked, runs `meanwhile`, and waits for the sends after it, so that nothing
/// rests on a transport that buffers.
pub(super) fn while_sending<T: Transport>(
    t: &T,
    outgoing: &[Envelope],
    meanwhile: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let messages = messages(t, outgoing)?;
    t.scope(|s| {
        let sends = start_sends(s, outgoing, &messages)?;
        meanwhile()?;
        sends.into_iter().try_for_each(Request::wait)
    })
}

/// Receives `envelope`, blocked, from `source`, and checks it.
pub(super) fn receive<T: Transport>(
    t: &T,
    found: &Found,
    envelope: &Envelope,
    source: Source,
) -> Result<()> {
    let mut buffer = envelope.buffer(t)?;
    let result = t.blocked_recv(source, envelope.tag, &mut buffer);
    found.require_arrival(envelope, result, &buffer)
}

/// The bytes of `outgoing`.
pub(super) fn messages<T: Transport>(t: &T, outgoing: &[Envelope]) -> Result<Vec<Memory<T>>> {
    outgoing.iter().map(|envelope| envelope.message(t)).collect()
}

/// Buffers for `incoming`.
pub(super) fn buffers<T: Transport>(t: &T, incoming: &[Envelope]) -> Result<Vec<Memory<T>>> {
    incoming.iter().map(|envelope| envelope.buffer(t)).collect()
}

/// Starts to send `outgoing`, in order.
pub(super) fn start_sends<'scope, 'env, T: Transport>(
    s: &'scope Scope<'scope, 'env, T>,
    outgoing: &[Envelope],
    messages: &'scope [Memory<T>],
) -> Result<Vec<Request<'scope, 'env, T, T::SendOp<'scope>>>> {
    let pairs = outgoing.iter().zip(messages);
    pairs.map(|(to, message)| s.unblocked_send(to.destination, to.tag, message)).collect()
}

/// Starts to receive `incoming`, in order, each from its rank.
pub(super) fn post_receives<'scope, 'env, T: Transport>(
    s: &'scope Scope<'scope, 'env, T>,
    incoming: &[Envelope],
    buffers: &'scope mut [Memory<T>],
) -> Result<Vec<Request<'scope, 'env, T, T::RecvOp<'scope>>>> {
    let pairs = incoming.iter().zip(buffers);
    pairs.map(|(from, buffer)| s.unblocked_recv(from.from(), from.tag, buffer)).collect()
}

/// Waits for the receive of `envelope`, and checks it.
pub(super) fn finish<'scope, T: Transport>(
    found: &Found,
    envelope: &Envelope,
    request: Request<'scope, '_, T, T::RecvOp<'scope>>,
) -> Result<()> {
    match request.wait() {
        Ok((status, buffer)) => found.require_arrival(envelope, Ok(status), buffer),
        Err(error) => found.survive(&envelope.to_string(), error),
    }
}

/// Returns after the next rank has called it too: what this rank then sends there meets a receive
/// that was posted before the call.
pub(super) fn ready<T: Transport>(t: &T) -> Result<()> {
    t.blocked_exchange(previous(t), &[], Source::Rank(next(t)), &mut [], READY)?;
    Ok(())
}

/// Asks until `done` says yes; `false` if it never did.
///
/// Polls are counted, not timed: in simulation, polling need not take time. There the system call
/// between two of them is the longer part, so it is not made for each.
pub(super) fn poll_until(mut done: impl FnMut() -> Result<bool>) -> Result<bool> {
    for poll in 0..MAX_POLLS {
        if done()? {
            return Ok(true);
        }
        if poll % POLLS_PER_YIELD == 0 {
            std::thread::yield_now();
        }
    }
    Ok(false)
}
