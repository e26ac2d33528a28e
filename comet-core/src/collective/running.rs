//! Plans on a transport, with all the memory that they need; carried out in one call, or
//! [started](InFlight).

use std::mem;
use std::ops::Range;

use super::PLAN;
use super::in_flight::{Cells, InFlight};
use super::plan::{Memory, Message, Plan, Round, Span, Step};
use super::reducer::Reducer;
use crate::error::Result;
use crate::transport::{Landing, Lease, Room, Source, Tag, Transport};

/// A plan on its transport, with all the memory that it needs.
pub struct Running<T: Transport> {
    plan: Plan,
    scratch: T::Buffer,
    rooms: Rooms<T>,
}

/// Memory of the messages of a round.
pub(super) struct Rooms<T: Transport> {
    pub(super) sends: Room<T::SendOp<'static>>,
    pub(super) receives: Room<T::RecvOp<'static>>,
}

shown!([T: Transport] Running<T>, "Running", |this| plan: this.plan);

impl<T: Transport> Running<T> {
    /// `plan` on `t`.
    ///
    /// # Errors
    /// If there is no memory for its scratch.
    pub fn new(t: &T, plan: Plan) -> Result<Self> {
        let n = plan.n_at_once();
        let rooms = Rooms { sends: Room::of(n), receives: Room::of(n) };
        let scratch = t.message_buffer(plan.scratch_bytes)?;
        Ok(Self { plan, scratch, rooms })
    }

    /// Starts the plan, whose messages have `tag`, with the lease of the scope that counts it.
    ///
    /// # Panics
    /// If a buffer is shorter than the operation that was planned wants it.
    pub(super) fn start<'env>(
        &'env mut self,
        t: &T,
        lease: Lease<T>,
        tag: Tag,
        input: &'env [u8],
        output: &'env mut [u8],
    ) -> InFlight<'env, T> {
        let Self { plan, scratch, rooms } = self;
        let cells = Cells { input, output: Landing::new(output), scratch: Landing::new(scratch) };
        InFlight::start(t, lease, (plan, tag), cells, rooms)
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
        let Self { plan, scratch, rooms } = self;
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
                _ => at_once(t, messages, &mut memories, rooms)?,
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
    Rooms { sends, receives }: &mut Rooms<T>,
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
                t.compute(step.work(), || into.copy_from_slice(from));
            }
            Step::Combine { from, into } => {
                let (from, into) = self.both(from, into);
                t.compute(step.work(), || by.combine(into, from));
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

#[cfg(test)]
mod tests {
    use super::super::{Collective, Kind, Parts, algorithm};
    use super::*;
    use crate::local;
    use crate::transport::Pending;

    #[test]
    fn plans_that_are_started_keep_the_memory_of_their_messages() {
        local::run(5, |t| {
            for (index, kind) in (0..).zip(Kind::ALL) {
                if kind.is_among_neighbours() {
                    continue;
                }
                let call = Collective::new(kind, Parts::Equal(64));
                let plan = algorithm::automatic(&call, 5).plan(&call, t.rank(), 5);
                let mut running = Running::new(t, plan).unwrap();
                let rooms = |running: &Running<_>| {
                    format!("{:?} {:?}", running.rooms.sends, running.rooms.receives)
                };
                let before = rooms(&running);
                let input = vec![0; call.input_bytes(t.rank(), 5)];
                let mut output = vec![0; call.output_bytes(t.rank(), 5)];
                for _ in 0..2 {
                    let tag = Tag::new(index);
                    let started = running.start(t, Lease::of_part(), tag, &input, &mut output);
                    started.finish(t).unwrap();
                }
                assert_eq!(rooms(&running), before, "{kind:?}");
            }
        });
    }
}
