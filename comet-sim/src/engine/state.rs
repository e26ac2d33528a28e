//! State of the engine: ranks, messages, receives and sends in flight, and splits of groups, which
//! all ranks of a group ask for before any of them learns its part.
//!
//! There may be a message in flight for each of a million ranks, so they are kept small: ranks and
//! ids have 32 bits.

use std::collections::{BTreeMap, HashMap};
use std::panic::Location;
use std::rc::Rc;

use comet_core::matching::Matcher;
use comet_core::transport::{Rank, Source, Status, Tag, Taken};

use super::short;

/// Names of a [`Message`], a [`Receive`] and a [`Sending`] in flight, of a window, and of a transfer.
pub(crate) type MessageId = u32;
pub(crate) type WindowId = u32;
pub(crate) type TransferId = u32;
pub(crate) type ReceiveId = u32;
pub(crate) type SendId = u32;

/// A message from the call that sends it to the end of the call that receives it.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) way: Way,
    pub(crate) body: Box<[u8]>,
    /// Bytes on the wire: its own, and the envelope.
    pub(crate) wire_bytes: u64,
    /// The transfer of which it is one way; `None` for a message of a rank.
    pub(crate) transfer: Option<TransferId>,
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
    pub(crate) receive: Option<ReceiveId>,
    /// The next message that waits for the link that this one waits for; of the last the first.
    pub(crate) next: Option<MessageId>,
    /// Number of its costs among the [`laws`](super::Engine::laws).
    pub(crate) law: u16,
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
    pub(crate) done_ps: Option<u64>,
}

/// A message that an injected fault has lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lost {
    pub(crate) way: Way,
    pub(crate) length_bytes: usize,
    pub(crate) sent_ps: u64,
}

/// Reason for which a rank waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// That no other rank can do anything earlier.
    Turn,
    /// That a message is there whole.
    Receive(ReceiveId),
    /// That the network has taken a message.
    Send(SendId),
    /// That a rank is locked.
    Lock(TransferId),
    /// That transfers of a window have ended.
    Transfers(WindowId),
}

/// A collective that a rank is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Collective {
    pub(crate) name: &'static str,
    /// Number of the rank's collective, from 1.
    pub(crate) number: u32,
}

/// Object of a poll, which does not wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Poll {
    /// A message that a receive would take.
    Probe(Source, Tag),
    Receive(ReceiveId),
    Send(SendId),
}

/// A message that was longer than the buffer of its receive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Truncation {
    pub(crate) status: Status,
    pub(crate) capacity_bytes: usize,
    pub(crate) at_ps: u64,
    /// Place in the kernel.
    pub(crate) site: Option<&'static Location<'static>>,
}

#[derive(Debug, Default)]
pub(crate) struct RankState {
    pub(crate) clock_ps: u64,
    /// Time from which its network interface is free; unused if messages take links.
    pub(crate) interface_free_ps: u64,
    /// Time from which its interface is free to combine elements.
    pub(crate) atomics_free_ps: u64,
    /// Transfers that it waits for.
    pub(crate) n_awaited: u32,
    /// Posted receives, and messages that none of them has taken.
    pub(crate) matcher: Matcher<ReceiveId, MessageId>,
    /// Messages on their way that can be matched only when they arrive, in the order of their
    /// sends: because a receive from any rank was posted when they were sent, or still are.
    pub(crate) coming: Vec<MessageId>,
    /// Posted receives from any rank that have no message yet.
    pub(crate) n_any: u32,
    /// Messages of this rank that are to start at a time of the queue, or of their receive.
    pub(crate) n_starting: u32,
    pub(crate) block: Option<Block>,
    /// End of its stack when it began to wait.
    pub(crate) stack_end: usize,
    /// Place in the kernel.
    pub(crate) site: Option<&'static Location<'static>>,
    /// The collective that it entered last; number 0 if it has entered none.
    pub(crate) last_collective: Collective,
    pub(crate) is_in_collective: bool,
    /// Number of operations begun, for noise and faults.
    pub(crate) n_operations: u64,
    /// Object of its polls, if it has done nothing else since.
    pub(crate) poll: Option<Poll>,
    /// The last message that did not fit.
    pub(crate) truncation: Option<Box<Truncation>>,
    /// Current activity, as reported by the driver.
    pub(crate) activity: Option<Rc<str>>,
    /// Times in which it computed, from and to, if transfers wait for its calls.
    pub(crate) computed: Vec<(u64, u64)>,
    /// True if it has called nothing since it computed.
    pub(crate) is_computing: bool,
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

/// A split: that of a group, by its serial number and its first rank, with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SplitName {
    pub(crate) serial: u64,
    pub(crate) first: Rank,
    pub(crate) number: u32,
}

/// The colour and the key of one rank, its number in the group, and in the job, and the contexts of its groups.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) colour: Option<u32>,
    pub(crate) key: u64,
    pub(crate) order: Rank,
    pub(crate) rank: Rank,
    pub(crate) taken: Taken,
}

/// A context that no rank is in, and the serial number of a group in it, if one is left.
type Free = Option<(u32, u64)>;

/// The context of all parts of a split and its serial number, `None` if none was left, and the ranks of the
/// job in the part of each colour, in order.
type Parts = (Free, HashMap<u32, Rc<[Rank]>>);

/// One split: all that ranks ask for, and then the parts.
#[derive(Debug, Default)]
struct Split {
    asked: Vec<Asked>,
    parts: Option<Parts>,
    n_answered: usize,
}

/// The splits that some ranks have not heard of yet.
#[derive(Debug, Default)]
pub(crate) struct Splits {
    open: HashMap<SplitName, Split>,
}

impl Splits {
    /// A rank takes part in a split.
    pub(crate) fn ask(&mut self, name: SplitName, asked: Asked) {
        self.open.entry(name).or_default().asked.push(asked);
    }

    /// Context and ranks of the part of a rank that named `colour`, after all `n_ranks` ranks have
    /// asked.
    pub(crate) fn part(
        &mut self,
        name: SplitName,
        colour: Option<u32>,
        n_ranks: usize,
    ) -> (Free, Option<Rc<[Rank]>>) {
        let split = self.open.entry(name).or_default();
        let (free, by_colour) = split.parts.get_or_insert_with(|| {
            let asked = std::mem::take(&mut split.asked);
            let taken = asked.iter().fold(Taken::default(), |all, of| all.and(of.taken));
            (taken.free(), by_colour(asked))
        });
        let part = (*free, colour.and_then(|colour| by_colour.get(&colour)).map(Rc::clone));
        split.n_answered += 1;
        if split.n_answered == n_ranks {
            self.open.remove(&name);
        }
        part
    }
}

/// The ranks of each colour, by key and then by their numbers in the group.
fn by_colour(mut asked: Vec<Asked>) -> HashMap<u32, Rc<[Rank]>> {
    asked.sort_unstable_by_key(|asked| (asked.key, asked.order));
    let mut ranks: BTreeMap<u32, Vec<Rank>> = BTreeMap::new();
    for Asked { colour, rank, .. } in asked {
        if let Some(colour) = colour {
            ranks.entry(colour).or_default().push(rank);
        }
    }
    ranks.into_iter().map(|(colour, ranks)| (colour, ranks.into())).collect()
}
