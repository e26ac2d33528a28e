//! The engine: all ranks of a job in virtual time.
//!
//! ```text
//!   ready ranks run, one after the other, each on its own clock:
//!     compute, send, receive from a named rank      at once: their result does not depend on
//!                                                   what other ranks do at the same time
//!     probe, test, receive from any rank            wait for their turn
//!     a message that takes links                    is an event
//!     a transfer of a window                        is events: it takes the network, is served, ends
//!   no rank is ready: the earliest event happens (a turn, a link, an arrival)
//!   no event either: all ranks have returned, or those that have not wait for each other
//! ```
//!
//! This is exact, because an event happens only while no rank is ready. Every other rank then waits
//! for a message, or has its turn later, so that nothing that is still to be done can happen before
//! the event. An immediate action of a rank depends only on its own past and on the order of the
//! messages from one rank to another. So the result is a function of program and machine, and no
//! rank is ever rolled back. Ties for a link or a receive at the same picosecond are broken by
//! event order, deterministically.

mod lock;
mod matching;
mod network;
mod queue;
mod serve;
mod state;
mod transfer;
mod window;

use std::cell::RefCell;
use std::rc::Rc;

use comet_core::transport::Rank;
use slab::Slab;

use crate::JobFailure;
use crate::fiber::{self, Fibers};
use crate::job::Watch;
use crate::machine::{Machine, Segment};
use crate::route::Routes;
use crate::stuck;

pub(crate) use matching::Received;
use network::Links;
use queue::Queue;

use state::UNKNOWN_PS;
pub(crate) use state::{
    Asked, Block, Collective, Lost, Message, MessageId, Poll, RankState, Receive, ReceiveId,
    SendId, Sending, SplitName, Splits, TransferId, Truncation, WindowId,
};
pub(crate) use transfer::{Asked as AskedTransfer, Operation, Transfer};
pub(crate) use window::{Epoch, WindowName, Windows, epoch_of};

/// Lines of the cache that hold the innermost calls of a rank that waits.
const STACK_LINES: usize = 10;

/// Lines of the cache that hold what is needed of a rank.
const RANK_LINES: usize = size_of::<RankState>().div_ceil(64);
/// Lines of the cache that hold a message without its body.
const MESSAGE_LINES: usize = size_of::<Message>().div_ceil(64);

/// So many probes and tests in a row that find nothing are a job that never ends, if nothing is
/// under way. A kernel that gives up after a time of its own must do so before.
const MAX_VAIN_POLLS: u64 = 10_000_000;
/// And so many more for each rank.
const MAX_VAIN_POLLS_A_RANK: u64 = 10_000;

/// An event at a time of the queue. Small, since there may be one for each of a million ranks.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// No rank does anything earlier any more, so this one may do what depends on others.
    Turn(u32),
    /// A message is ready for the network.
    Start(MessageId),
    /// The header of a message wants the next link of its way.
    Header(MessageId),
    /// A message that waited for a link gets it.
    Grant(MessageId),
    /// A rank learns of a message.
    Arrive(MessageId),
    /// A transfer goes on: at its target, or back at its origin.
    Serve(TransferId),
}

impl Event {
    fn message(&self) -> Option<MessageId> {
        match self {
            Self::Start(id) | Self::Header(id) | Self::Grant(id) | Self::Arrive(id) => Some(*id),
            Self::Turn(_) | Self::Serve(_) => None,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) machine: Machine,
    pub(crate) ranks: Vec<RankState>,
    pub(crate) messages: Slab<Message>,
    pub(crate) receives: Slab<Receive>,
    pub(crate) sends: Slab<Sending>,
    pub(crate) lost: Vec<Lost>,
    pub(crate) failure: Option<JobFailure>,
    pub(crate) splits: Splits,
    pub(crate) windows: Windows,
    pub(crate) transfers: Slab<Transfer>,
    /// Costs of messages by segment of the machine, and then those of transfers.
    laws: Box<[Segment]>,
    /// Ranks that can go on. The one that was woken last goes first, since it needs what the cache
    /// holds; but for ties the order does not matter.
    ready: Vec<Rank>,
    queue: Queue<Event>,
    routes: Routes,
    links: Links,
    /// Number of consecutive probes and tests without a result, on all ranks.
    n_vain_polls: u64,
    /// The last activity of a rank, shared by all ranks with the same one.
    activity: Rc<str>,
    pub(crate) n_messages: u64,
}

impl Engine {
    pub(crate) fn new(machine: Machine, routes: Routes, n_ranks: usize) -> Self {
        let links = Links::new(machine.network.switching, &routes, n_ranks);
        let laws = machine.segments.iter().copied().chain(machine.transfer_segments()).collect();
        Self {
            ranks: (0..n_ranks).map(|_| RankState::default()).collect(),
            messages: Slab::new(),
            receives: Slab::new(),
            sends: Slab::new(),
            lost: Vec::new(),
            failure: None,
            splits: Splits::default(),
            windows: Windows::default(),
            transfers: Slab::new(),
            laws,
            ready: (0..n_ranks).rev().collect(),
            queue: Queue::default(),
            routes,
            links,
            n_vain_polls: 0,
            activity: Rc::from(""),
            n_messages: 0,
            machine,
        }
    }

    /// Notes what `rank` is about, for reports.
    pub(crate) fn annotate(&mut self, rank: Rank, activity: &str) {
        if *self.activity != *activity {
            self.activity = Rc::from(activity);
        }
        self.ranks[rank].activity = Some(Rc::clone(&self.activity));
    }

    /// Ends the job: every rank that waits, and every one that calls later, gets an error.
    pub(crate) fn fail(&mut self, failure: JobFailure) {
        if self.failure.is_some() {
            return;
        }
        self.failure = Some(failure);
        for rank in 0..self.ranks.len() {
            if self.ranks[rank].block.is_some() {
                self.wake(rank);
            }
        }
    }

    /// True if `rank` may now do what depends on others; if not, it has to wait until it is woken.
    pub(crate) fn takes_turn(&mut self, rank: Rank) -> bool {
        let clock_ps = self.ranks[rank].clock_ps;
        if self.ready.is_empty() && self.queue.next_ps().is_none_or(|next_ps| clock_ps < next_ps) {
            return true;
        }
        self.queue.push(clock_ps, Event::Turn(short(rank)));
        false
    }

    /// Has `rank` go on with what it waited for.
    fn wake(&mut self, rank: Rank) {
        let state = &mut self.ranks[rank];
        state.block = None;
        // The rank goes on soon, and with very many ranks nothing of it is in the cache.
        fiber::prefetch(state.stack_end, STACK_LINES);
        self.ready.push(rank);
    }

    /// Lets happen what is next; whether there was anything.
    fn step(&mut self) -> bool {
        let Some((now_ps, event)) = self.queue.pop() else { return false };
        self.look_ahead();
        match event {
            // A rank that was told of a failure has not waited for its turn.
            Event::Turn(rank) => {
                let rank = rank as Rank;
                if self.ranks[rank].block == Some(Block::Turn) {
                    self.wake(rank);
                }
            }
            Event::Start(id) => self.start(id, now_ps),
            Event::Header(id) => self.advance(id, now_ps),
            Event::Grant(id) => self.go_on_at(id, now_ps, now_ps),
            Event::Arrive(id) => self.arrive_in_order(id, now_ps),
            Event::Serve(id) => self.serve(id, now_ps),
        }
        true
    }

    /// Prefetches the ranks and messages of the next events, of which nothing is in the cache.
    fn look_ahead(&self) {
        self.prefetch_transfer(self.queue.ahead(6));
        self.prefetch_data(self.queue.ahead(3));
        if let Some(id) = self.queue.ahead(6).and_then(Event::message) {
            fiber::prefetch((&raw const self.messages[id as usize]).addr(), MESSAGE_LINES);
        }
        if let Some(id) = self.queue.ahead(4).and_then(Event::message) {
            let receiver = &raw const self.ranks[self.message(id).way.destination()];
            fiber::prefetch(receiver.addr(), RANK_LINES);
            fiber::prefetch(self.message(id).body.as_ptr().addr(), 16);
        }
        if let Some(id) = self.queue.ahead(2).and_then(Event::message) {
            let receiver = &self.ranks[self.message(id).way.destination()];
            fiber::prefetch(receiver.stack_end, STACK_LINES);
        }
    }

    /// Notes that `rank` looks for something; whether the job does so in vain for ever.
    pub(crate) fn polls_in_vain(&mut self, rank: Rank, poll: Poll) -> bool {
        self.ranks[rank].poll = Some(poll);
        self.n_vain_polls += 1;
        let n_ranks = self.ranks.len() as u64;
        if self.n_vain_polls <= MAX_VAIN_POLLS + n_ranks * MAX_VAIN_POLLS_A_RANK {
            return false;
        }
        self.n_vain_polls = 0;
        !self.is_under_way(self.ranks[rank].clock_ps)
    }

    pub(crate) fn note_found(&mut self, rank: Rank) {
        self.ranks[rank].poll = None;
        self.n_vain_polls = 0;
    }

    /// True if anything other than a poll will happen after `now_ps`.
    fn is_under_way(&self, now_ps: u64) -> bool {
        let is_later = |at_ps: u64| at_ps != UNKNOWN_PS && at_ps > now_ps;
        // One that waits for a message goes on only when something else has happened.
        let goes_on = |rank: &RankState| {
            let is_held = !matches!(rank.block, None | Some(Block::Turn));
            !rank.is_finished && !is_held && rank.poll.is_none()
        };
        self.messages.iter().any(|(_, m)| is_later(m.known_ps) || is_later(m.arrival_ps))
            || self.sends.iter().any(|(_, send)| send.done_ps.is_some_and(is_later))
            || self.ranks.iter().any(goes_on)
            || self.queue.events().any(|event| !matches!(event, Event::Turn(_)))
    }

    /// True if `rank` can do no more: the job has failed, or an injected fault has ended the rank.
    pub(crate) fn is_over_for(&mut self, rank: Rank) -> bool {
        let clock_ps = self.ranks[rank].clock_ps;
        let dead_ranks = &self.machine.faults.dead_ranks;
        if dead_ranks.iter().any(|(dead, at_ps)| *dead == rank && *at_ps <= clock_ps) {
            self.ranks[rank].is_dead = true;
        }
        self.failure.is_some() || self.ranks[rank].is_dead
    }

    /// The failure of a job in which no rank can go on though some have not returned.
    fn impasse(&self) -> JobFailure {
        let dead_ranks = &self.machine.faults.dead_ranks;
        // One that waits for ever dies while it does.
        let dead = dead_ranks.iter().filter(|(rank, _)| !self.ranks[*rank].is_finished);
        let Some((rank, at_ps)) = dead.min_by_key(|(_, at_ps)| *at_ps) else {
            return stuck::deadlock(self);
        };
        let message = stuck::death(self, *rank, *at_ps);
        JobFailure::of_rank(*rank, "rank_died", message)
    }
}

fn short(rank: Rank) -> u32 {
    u32::try_from(rank).expect("a job has fewer than 2^32 ranks")
}

/// Takes the job to its end: until all ranks have returned, or cannot.
///
/// Returns the codes of the ranks; `None` for those that have not returned.
pub(crate) fn run(
    engine: &RefCell<Engine>,
    fibers: &mut Fibers,
    mut watch: Watch<'_>,
) -> Vec<Option<u8>> {
    let mut codes = vec![None; engine.borrow().ranks.len()];
    loop {
        // The rank calls the engine, so nothing of it may be borrowed while the rank runs.
        let next = engine.borrow_mut().ready.pop();
        if let Some(rank) = next {
            let code = fibers.resume(rank);
            engine.borrow_mut().ranks[rank].is_finished = code.is_some();
            codes[rank] = code;
        } else if engine.borrow().failure.is_some() {
            return codes;
        } else if !engine.borrow_mut().step() {
            let mut engine = engine.borrow_mut();
            if codes.iter().all(Option::is_some) {
                return codes;
            }
            let failure = engine.impasse();
            engine.fail(failure);
        }
        let failure = watch.look(&engine.borrow());
        if let Some(failure) = failure {
            engine.borrow_mut().fail(failure);
        }
    }
}
