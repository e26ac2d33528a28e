//! Messages, receives and sends in flight.

use comet_core::transport::{Rank, Source, Tag};

/// Names a [`Message`] in flight.
pub(crate) type MessageId = usize;
/// Names a [`Receive`] in flight.
pub(crate) type ReceiveId = usize;
/// Names a [`Sending`] in flight.
pub(crate) type SendId = usize;

/// A message from the call that sends it to the end of the call that receives it.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) source: Rank,
    pub(crate) destination: Rank,
    pub(crate) tag: Tag,
    pub(crate) body: Box<[u8]>,
    /// When it was sent, for reports.
    pub(crate) sent_ps: u64,
    /// When its receiver learns of it, and so can match it and probe for it; `None` until that is
    /// known.
    pub(crate) known_ps: Option<u64>,
    /// When its last byte is there; `None` until that is known.
    pub(crate) arrival_ps: Option<u64>,
    /// What noise adds to its way, which may be less than nothing.
    pub(crate) extra_ps: i64,
    /// The send that waits for the network to take it.
    pub(crate) send: Option<SendId>,
    /// The receive that it was matched with.
    pub(crate) receive: Option<ReceiveId>,
    /// Its place among the links.
    pub(crate) passage: Passage,
    /// Whether it has been given to the network, or is about to be.
    pub(crate) is_started: bool,
    /// Whether it is matched when it arrives rather than when it is sent.
    pub(crate) is_coming: bool,
    /// Whether it has arrived and only waits for an earlier one of its sender.
    pub(crate) is_here: bool,
}

/// Where a message is among the links.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Passage {
    /// How many links its header has taken.
    pub(crate) n_taken: usize,
    /// The next message that waits for the link that this one waits for.
    pub(crate) next: Option<MessageId>,
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
    pub(crate) rank: Rank,
    pub(crate) destination: Rank,
    pub(crate) tag: Tag,
    pub(crate) length_bytes: usize,
    /// When that is; `None` until it is known.
    pub(crate) done_ps: Option<u64>,
}

/// A message that an injected fault has lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lost {
    pub(crate) source: Rank,
    pub(crate) destination: Rank,
    pub(crate) tag: Tag,
    pub(crate) length_bytes: usize,
    pub(crate) sent_ps: u64,
}
