//! Plans: what one rank does in a collective operation, round by round; made from an algorithm before
//! the first call, carried out without a decision or an allocation.
//!
//! ```text
//!   Collective, rank, P ──► algorithm ──► Plan     rounds: messages at once, then local work
//!                                           │
//!              Running, InFlight over T  ◄──┴──►  drawing, prediction, test of all ranks at once
//! ```

use std::ops::Range;

use super::call::Collective;
use super::reducer::Reducer;
use crate::transport::{Rank, Work};

/// Memory of a rank in a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Memory {
    /// Data that the rank gives.
    Input,
    /// Data that it gets.
    Output,
    /// Memory of its own, for parts on their way.
    Scratch,
}

/// A stretch of memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Span {
    /// The memory that it is in.
    pub(super) memory: Memory,
    /// Its first byte.
    pub(super) start: usize,
    /// Its length.
    pub(super) length: usize,
}

impl Span {
    /// An empty stretch.
    pub(super) const NONE: Self = Self { memory: Memory::Scratch, start: 0, length: 0 };

    /// The `length` bytes from its byte `start` on.
    pub(super) fn part(self, start: usize, length: usize) -> Self {
        debug_assert!(start + length <= self.length, "{self:?} has no {length} bytes at {start}");
        Self { start: self.start + start, length, ..self }
    }

    /// The `bytes` of it.
    pub(super) fn at(self, bytes: Range<usize>) -> Self {
        self.part(bytes.start, bytes.end - bytes.start)
    }

    pub(super) fn range(self) -> Range<usize> {
        self.start..self.start + self.length
    }
}

/// A message of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// One to another rank.
    Send {
        /// The rank that gets it.
        to: Rank,
        /// Its contents.
        from: Span,
    },
    /// One from another rank.
    Recv {
        /// The rank that sends it.
        from: Rank,
        /// Its place.
        into: Span,
    },
}

/// Local work of a round, after its messages, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A copy.
    Copy {
        /// The original.
        from: Span,
        /// Its place.
        into: Span,
    },
    /// A combination of elements.
    Combine {
        /// The elements that are added.
        from: Span,
        /// The elements that change.
        into: Span,
    },
}

impl Step {
    /// The work that it is.
    pub(super) fn work(self) -> Work {
        match self {
            Self::Copy { into, .. } => Work::copy(into.length),
            Self::Combine { into, .. } => {
                Work::Reduce { n: into.length.div_ceil(size_of::<f64>()) }
            }
        }
    }
}

/// A round: messages that are under way at once, and the work after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Round<'p> {
    /// Its messages. What is sent lies in memory into which no message of the round is received, or
    /// there is one message in each direction, and the two do not overlap.
    pub(super) messages: &'p [Message],
    /// Its work.
    pub(super) steps: &'p [Step],
}

/// The rounds of one rank in a collective operation.
///
/// All of them lie in one piece, since a simulation walks the plans of many ranks at once, of which no
/// cache holds anything.
#[derive(Clone, Debug)]
pub struct Plan {
    messages: Vec<Message>,
    steps: Vec<Step>,
    /// Numbers of messages and of steps up to the end of each round.
    ends: Vec<[usize; 2]>,
    /// Length of the scratch memory in bytes.
    pub(super) scratch_bytes: usize,
    pub(super) by: Reducer,
}

impl Plan {
    /// Number of rounds.
    #[inline]
    pub(super) fn n_rounds(&self) -> usize {
        self.ends.len()
    }

    /// Most messages that are under way at once: those of a round, and of the rounds
    /// [behind it](Self::goes_on_with_sends) that only send.
    pub(super) fn n_at_once(&self) -> usize {
        let (mut most, mut n) = (0, 0);
        for index in 0..self.n_rounds() {
            n += self.round(index).map_or(0, |round| round.messages.len());
            most = most.max(n);
            if !self.goes_on_with_sends(index) {
                n = 0;
            }
        }
        most
    }

    /// True if round number `index` and the next one do nothing but send, so that the messages of both may
    /// be under way at once.
    pub(super) fn goes_on_with_sends(&self, index: usize) -> bool {
        let only_sends = |round: Round<'_>| {
            let is_send = |message: &Message| matches!(message, Message::Send { .. });
            !round.messages.is_empty() && round.messages.iter().all(is_send)
        };
        let (this, next) = (self.round(index), self.round(index + 1));
        this.is_some_and(|round| round.steps.is_empty() && only_sends(round))
            && next.is_some_and(only_sends)
    }

    /// Number of its messages, to and from other ranks.
    pub fn n_messages(&self) -> usize {
        self.messages.len()
    }

    /// Round number `index`; `None` after the last.
    #[inline]
    pub(super) fn round(&self, index: usize) -> Option<Round<'_>> {
        let start = index.checked_sub(1).map_or([0; 2], |before| self.ends[before]);
        let ([message, step], [next_message, next_step]) = (start, *self.ends.get(index)?);
        let messages = &self.messages[message..next_message];
        Some(Round { messages, steps: &self.steps[step..next_step] })
    }
}

/// The plan of one rank while an algorithm writes it.
#[derive(Debug)]
pub(super) struct Planner<'c> {
    /// The operation.
    pub(super) call: &'c Collective,
    /// This rank.
    pub(super) rank: Rank,
    /// Number of ranks.
    pub(super) n_ranks: usize,
    plan: Plan,
}

impl<'c> Planner<'c> {
    /// An empty plan of `rank` of `n_ranks` for `call`.
    pub(super) fn new(call: &'c Collective, rank: Rank, n_ranks: usize) -> Self {
        let (messages, steps, ends) = (Vec::new(), Vec::new(), Vec::new());
        let plan = Plan { messages, steps, ends, scratch_bytes: 0, by: call.by() };
        Self { call, rank, n_ranks, plan }
    }

    /// The rank `distance` above this one, on a ring.
    pub(super) fn up(&self, distance: usize) -> Rank {
        (self.rank + distance) % self.n_ranks
    }

    /// The rank `distance` below this one, on a ring; `distance` is at most the number of ranks.
    pub(super) fn down(&self, distance: usize) -> Rank {
        (self.rank + self.n_ranks - distance) % self.n_ranks
    }

    /// The whole input.
    pub(super) fn input(&self) -> Span {
        let length = self.call.input_bytes(self.rank, self.n_ranks);
        Span { memory: Memory::Input, start: 0, length }
    }

    /// The whole output.
    pub(super) fn output(&self) -> Span {
        let length = self.call.output_bytes(self.rank, self.n_ranks);
        Span { memory: Memory::Output, start: 0, length }
    }

    /// New scratch memory of `length` bytes.
    pub(super) fn scratch(&mut self, length: usize) -> Span {
        // Elements of any type may lie in it.
        let start = self.plan.scratch_bytes.next_multiple_of(8);
        self.plan.scratch_bytes = start + length;
        Span { memory: Memory::Scratch, start, length }
    }

    /// Ends the round: what follows happens after its messages have arrived.
    pub(super) fn next(&mut self) {
        let Plan { messages, steps, ends, .. } = &mut self.plan;
        let end = [messages.len(), steps.len()];
        if end != ends.last().copied().unwrap_or_default() {
            ends.push(end);
        }
    }

    /// Sends `from` to the rank `to`, in this round.
    pub(super) fn send(&mut self, to: Rank, from: Span) {
        self.message(Message::Send { to, from });
    }

    /// Receives a message of the rank `from`, in this round.
    pub(super) fn recv(&mut self, from: Rank, into: Span) {
        self.message(Message::Recv { from, into });
    }

    /// One message in each direction at once, in a new round.
    pub(super) fn exchange(&mut self, (to, out): (Rank, Span), (from, into): (Rank, Span)) {
        self.next();
        self.recv(from, into);
        self.send(to, out);
    }

    /// Sends `from` in a new round.
    pub(super) fn send_alone(&mut self, to: Rank, from: Span) {
        self.next();
        self.send(to, from);
    }

    /// Receives `into` in a new round.
    pub(super) fn recv_alone(&mut self, from: Rank, into: Span) {
        self.next();
        self.recv(from, into);
    }

    fn message(&mut self, message: Message) {
        let Plan { steps, ends, .. } = &self.plan;
        if steps.len() > ends.last().map_or(0, |[_, n_steps]| *n_steps) {
            self.next();
        }
        self.plan.messages.push(message);
    }

    /// Copies `from` to `into`, after the messages of this round.
    pub(super) fn copy(&mut self, from: Span, into: Span) {
        debug_assert_eq!(from.length, into.length);
        if from != into && from.length > 0 {
            self.plan.steps.push(Step::Copy { from, into });
        }
    }

    /// Combines the elements of `into` with those of `from`, after the messages of this round.
    pub(super) fn combine(&mut self, from: Span, into: Span) {
        debug_assert_eq!(from.length, into.length);
        if from.length > 0 {
            self.plan.steps.push(Step::Combine { from, into });
        }
    }

    /// The plan.
    pub(super) fn finish(mut self) -> Plan {
        self.next();
        self.plan
    }
}
