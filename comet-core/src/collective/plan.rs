//! Plans: what one rank does in a collective operation, round by round; made from an algorithm before
//! the first call, carried out without a decision or an allocation.
//!
//! ```text
//!   Collective, rank, P ──► algorithm ──► Plan     rounds: messages at once, then local work
//!                                           │
//!                        Running over T  ◄──┴──►  drawing, prediction, test of all ranks at once
//! ```

use std::mem;
use std::ops::Range;

use super::PLAN;
use super::call::Collective;
use super::reducer::Reducer;
use crate::error::Result;
use crate::transport::{Landing, Rank, Room, Source, Transport, Work};

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

    fn range(self) -> Range<usize> {
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
    by: Reducer,
}

impl Plan {
    /// Number of rounds.
    #[inline]
    pub(super) fn n_rounds(&self) -> usize {
        self.ends.len()
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

/// A plan on its transport, with all the memory that it needs.
pub struct Running<T: Transport> {
    plan: Plan,
    scratch: T::Buffer,
    sends: Room<T::SendOp<'static>>,
    receives: Room<T::RecvOp<'static>>,
}

impl<T: Transport> std::fmt::Debug for Running<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running").field("plan", &self.plan).finish_non_exhaustive()
    }
}

impl<T: Transport> Running<T> {
    /// `plan` on `t`.
    ///
    /// # Errors
    /// If there is no memory for its scratch.
    pub fn new(t: &T, plan: Plan) -> Result<Self> {
        let rounds = (0..plan.n_rounds()).filter_map(|index| plan.round(index));
        let n = rounds.map(|round| round.messages.len()).max().unwrap_or(0);
        let scratch = t.message_buffer(plan.scratch_bytes)?;
        Ok(Self { plan, scratch, sends: Room::of(n), receives: Room::of(n) })
    }

    /// Carries the plan out once, from `input` to `output`; all ranks call it.
    ///
    /// # Errors
    /// If the job has failed.
    ///
    /// # Panics
    /// If a buffer is shorter than the operation that was planned wants it.
    #[inline]
    pub fn run(&mut self, t: &T, input: &[u8], output: &mut [u8]) -> Result<()> {
        let Self { plan, scratch, sends, receives } = self;
        let mut memories = Memories { input, output, scratch };
        let mut index = 0;
        while let Some(Round { messages, steps }) = plan.round(index) {
            index += 1;
            match *messages {
                [] => (),
                [Message::Recv { from, into }, Message::Send { to, from: out }]
                | [Message::Send { to, from: out }, Message::Recv { from, into }] => {
                    let (out, into) = memories.both(out, into);
                    t.blocked_exchange(to, out, Source::Rank(from), into, PLAN)?;
                }
                [Message::Send { to, from }] => t.blocked_send(to, PLAN, memories.read(from))?,
                [Message::Recv { from, into }] => {
                    t.blocked_recv(Source::Rank(from), PLAN, memories.write(into))?;
                }
                _ => at_once(t, messages, &mut memories, (sends, receives))?,
            }
            for step in steps {
                memories.apply(t, *step, plan.by);
            }
        }
        Ok(())
    }
}

/// The messages of a round of several.
fn at_once<T: Transport>(
    t: &T,
    messages: &[Message],
    memories: &mut Memories<'_>,
    (sends, receives): (&mut Room<T::SendOp<'static>>, &mut Room<T::RecvOp<'static>>),
) -> Result<()> {
    // What arrives and what is sent lie in different memories.
    let is_into_output = messages.iter().any(|message| match message {
        Message::Recv { into, .. } => into.memory == Memory::Output,
        Message::Send { from, .. } => from.memory == Memory::Scratch,
    });
    let Memories { input, output, scratch } = memories;
    let input: &[u8] = input;
    let (landing, other): (&mut [u8], &[u8]) =
        if is_into_output { (output, scratch) } else { (scratch, output) };
    let landing = Landing::new(landing);
    t.scope(|s| {
        let mut sent = s.requests_in(mem::take(sends));
        let mut received = s.requests_in(mem::take(receives));
        for message in messages {
            if let Message::Recv { from, into } = *message {
                let place = landing.part(into.range());
                received.push(s.unblocked_recv_into(Source::Rank(from), PLAN, place)?);
            }
        }
        for message in messages {
            if let Message::Send { to, from } = *message {
                let memory = if from.memory == Memory::Input { input } else { other };
                sent.push(s.unblocked_send(to, PLAN, &memory[from.range()])?);
            }
        }
        *sends = sent.into_room()?;
        *receives = received.into_room()?;
        Ok(())
    })
}

/// The memories of a rank.
struct Memories<'m> {
    input: &'m [u8],
    output: &'m mut [u8],
    scratch: &'m mut [u8],
}

impl Memories<'_> {
    fn read(&self, span: Span) -> &[u8] {
        let memory = match span.memory {
            Memory::Input => self.input,
            Memory::Output => self.output,
            Memory::Scratch => self.scratch,
        };
        &memory[span.range()]
    }

    fn write(&mut self, span: Span) -> &mut [u8] {
        self.both(Span::NONE, span).1
    }

    /// The bytes of `from`, and those of `into`, which do not overlap.
    fn both(&mut self, from: Span, into: Span) -> (&[u8], &mut [u8]) {
        let Self { input, output, scratch } = self;
        let (from_range, into_range) = (from.range(), into.range());
        match (from.memory, into.memory) {
            (_, Memory::Input) => unreachable!("no algorithm writes to the input"),
            (Memory::Input, Memory::Output) => (&input[from_range], &mut output[into_range]),
            (Memory::Input, Memory::Scratch) => (&input[from_range], &mut scratch[into_range]),
            (Memory::Output, Memory::Scratch) => (&output[from_range], &mut scratch[into_range]),
            (Memory::Scratch, Memory::Output) => (&scratch[from_range], &mut output[into_range]),
            (Memory::Output, Memory::Output) => apart(output, from_range, into_range),
            (Memory::Scratch, Memory::Scratch) => apart(scratch, from_range, into_range),
        }
    }

    fn apply<T: Transport>(&mut self, t: &T, step: Step, by: Reducer) {
        match step {
            Step::Copy { from, into } => {
                let (from, into) = self.both(from, into);
                let bytes = into.len();
                let work = Work::Copy { bytes, piece_bytes: bytes, stride_bytes: bytes };
                t.compute(work, || into.copy_from_slice(from));
            }
            Step::Combine { from, into } => {
                let (from, into) = self.both(from, into);
                let n = into.len().div_ceil(size_of::<f64>());
                t.compute(Work::Reduce { n }, || by.combine(into, from));
            }
        }
    }
}

/// The bytes `from` and `into` of `memory`, which do not overlap.
fn apart(memory: &mut [u8], from: Range<usize>, into: Range<usize>) -> (&[u8], &mut [u8]) {
    if into.is_empty() {
        return (&memory[from], &mut []);
    }
    if from.is_empty() {
        return (&[], &mut memory[into]);
    }
    if from.end <= into.start {
        let (front, back) = memory.split_at_mut(into.start);
        return (&front[from], &mut back[..into.end - into.start]);
    }
    let (front, back) = memory.split_at_mut(from.start);
    (&back[..from.end - from.start], &mut front[into])
}
