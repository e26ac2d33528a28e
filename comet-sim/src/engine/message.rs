//! Messages, receives and sends in flight.
//!
//! There may be a message in flight for each of a million ranks, so they are kept small: ranks and
//! ids have 32 bits.

use comet_core::transport::{Rank, Source, Tag};

use super::short;

/// Names a [`Message`] in flight.
pub(crate) type MessageId = u32;
/// Names a [`Receive`] in flight.
pub(crate) type ReceiveId = u32;
/// Names a [`Sending`] in flight.
pub(crate) type SendId = u32;

/// A message from the call that sends it to the end of the call that receives it.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) way: Way,
    pub(crate) body: Box<[u8]>,
    /// Time of the send, for reports.
    pub(crate) sent_ps: u64,
    /// Time from which its receiver can match it and probe for it; [`UNKNOWN_PS`] until known.
    pub(crate) known_ps: u64,
    /// Arrival time of its last byte; [`UNKNOWN_PS`] until known.
    pub(crate) arrival_ps: u64,
    /// Time that noise adds to its way; may be negative.
    pub(crate) extra_ps: i64,
    /// The send that waits for the network to take it.
    pub(crate) send: Option<SendId>,
    /// The receive that it was matched with.
    pub(crate) receive: Option<ReceiveId>,
    /// The next message that waits for the link that this one waits for.
    pub(crate) next: Option<MessageId>,
    /// Number of links that its header has taken.
    pub(crate) n_taken: u16,
    /// Number of links between the interfaces.
    pub(crate) n_hops: u16,
    /// True once it has been given to the network, or is about to be.
    pub(crate) is_started: bool,
    /// True if it is matched when it arrives rather than when it is sent.
    pub(crate) is_coming: bool,
    /// True if it has arrived and only waits for an earlier one of its sender.
    pub(crate) is_here: bool,
}

/// A time that is not known yet.
pub(crate) const UNKNOWN_PS: u64 = u64::MAX;

/// From whom a message comes, to whom it goes, and its tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    source: u32,
    destination: u32,
    pub(crate) tag: Tag,
}

impl Way {
    pub(crate) fn new(source: Rank, destination: Rank, tag: Tag) -> Self {
        Self { source: short(source), destination: short(destination), tag }
    }

    pub(crate) fn source(self) -> Rank {
        self.source as Rank
    }

    pub(crate) fn destination(self) -> Rank {
        self.destination as Rank
    }

    /// True if the rank sends to itself.
    pub(crate) fn is_local(self) -> bool {
        self.source == self.destination
    }
}

/// A receive from the call that posts it to the end of the call that finishes it.
#[derive(Debug)]
pub(crate) struct Receive {
    pub(crate) rank: Rank,
    pub(crate) source: Source,
    pub(crate) tag: Tag,
    pub(crate) capacity_bytes: usize,
    pub(crate) posted_ps: u64,
    pub(crate) message: Option<MessageId>,
}

/// A send that returns when the network has taken the message.
#[derive(Debug)]
pub(crate) struct Sending {
    pub(crate) way: Way,
    pub(crate) length_bytes: usize,
    /// Completion time; `None` until known.
    pub(crate) done_ps: Option<u64>,
}

/// A message that an injected fault has lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lost {
    pub(crate) way: Way,
    pub(crate) length_bytes: usize,
    pub(crate) sent_ps: u64,
}
