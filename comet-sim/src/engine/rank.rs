//! The engine's state of one rank.

use std::panic::Location;
use std::rc::Rc;

use comet_core::matching::Matcher;
use comet_core::transport::{Source, Status, Tag};

use super::{MessageId, ReceiveId, SendId};

/// Reason for which a rank waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// That no other rank can do anything earlier.
    Turn,
    /// That a message is there whole.
    Receive(ReceiveId),
    /// That the network has taken a message.
    Send(SendId),
}

/// A collective that a rank is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Collective {
    /// Name of the call.
    pub(crate) name: &'static str,
    /// Number of the rank's collective, from 1.
    pub(crate) number: u32,
}

/// Object of a poll, which does not wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Poll {
    /// A message that a receive would take.
    Probe(Source, Tag),
    /// The end of a receive.
    Receive(ReceiveId),
    /// The end of a send.
    Send(SendId),
}

/// A message that was longer than the buffer of its receive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Truncation {
    /// Source, tag and length of the message.
    pub(crate) status: Status,
    /// Length of the buffer.
    pub(crate) capacity_bytes: usize,
    /// Time of the receive.
    pub(crate) at_ps: u64,
    /// Place in the kernel.
    pub(crate) site: Option<&'static Location<'static>>,
}

/// One rank.
#[derive(Debug, Default)]
pub(crate) struct RankState {
    /// Its own virtual time.
    pub(crate) clock_ps: u64,
    /// Time from which its network interface is free; unused if messages take links.
    pub(crate) interface_free_ps: u64,
    /// Posted receives, and messages that none of them has taken.
    pub(crate) matcher: Matcher<ReceiveId, MessageId>,
    /// Messages on their way that can be matched only when they arrive, in the order of their
    /// sends: because a receive from any rank was posted when they were sent, or still are.
    pub(crate) coming: Vec<MessageId>,
    /// Posted receives from any rank that have no message yet.
    pub(crate) n_any: u32,
    /// Messages of this rank that are to start at a time of the queue, or of their receive.
    pub(crate) n_starting: u32,
    /// Reason for which it waits.
    pub(crate) block: Option<Block>,
    /// End of its stack when it began to wait.
    pub(crate) stack_end: usize,
    /// Place in the kernel.
    pub(crate) site: Option<&'static Location<'static>>,
    /// The collective that it entered last; number 0 if it has entered none.
    pub(crate) last_collective: Collective,
    /// True if it is in that collective.
    pub(crate) is_in_collective: bool,
    /// Number of operations begun, for noise and faults.
    pub(crate) n_operations: u64,
    /// Object of its polls, if it has done nothing else since.
    pub(crate) poll: Option<Poll>,
    /// The last message that did not fit.
    pub(crate) truncation: Option<Box<Truncation>>,
    /// Current activity, as reported by the driver.
    pub(crate) activity: Option<Rc<str>>,
    /// True if its main function has returned.
    pub(crate) is_finished: bool,
    /// True if it died by an injected fault.
    pub(crate) is_dead: bool,
}

impl RankState {
    /// Notes where in the kernel the rank is; inside a collective that is where it was called.
    #[inline]
    pub(crate) fn note_site(&mut self, site: &'static Location<'static>) {
        if !self.is_in_collective {
            self.site = Some(site);
        }
    }

    /// Enters a collective; whether it is not part of another.
    pub(crate) fn enter(&mut self, name: &'static str) -> bool {
        if self.is_in_collective {
            return false;
        }
        self.last_collective = Collective { name, number: self.last_collective.number + 1 };
        self.is_in_collective = true;
        true
    }

    /// The collective that it is in.
    pub(crate) fn collective(&self) -> Option<Collective> {
        self.is_in_collective.then_some(self.last_collective)
    }
}
