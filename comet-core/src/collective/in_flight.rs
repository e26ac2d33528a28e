//! Plans in flight: collectives that were started, and go on in the calls that test them or wait for
//! them.
//!
//! ```text
//!   start    the messages of the first round, and those of the next ones that wait for nothing
//!   test     once all messages of a round have ended: its work, then the messages of the next
//!   wait     the same to the end of the plan, with a wait for the messages of each round
//! ```
//!
//! A rank passes nothing on in between: the later rounds of a tree wait for the ranks that compute.

use std::mem;

use super::plan::{Memory, Message, Plan, Round, Span, Step};
use super::reducer::Reducer;
use super::running::Rooms;
use crate::error::{Result, TransportError};
use crate::transport::{Landing, Lease, Outgoing, Pending, Place, Room, Source, Tag, Transport};

/// Bytes that a step works on at once, whole elements of any type.
const PIECE_BYTES: usize = 1024;

/// A collective by messages that was started.
pub struct InFlight<'env, T: Transport> {
    plan: &'env Plan,
    tag: Tag,
    cells: Cells<'env>,
    /// Memory of the sets between two operations.
    rooms: &'env mut Rooms<T>,
    sends: Vec<Option<T::SendOp<'env>>>,
    receives: Vec<Option<T::RecvOp<'env>>>,
    /// Number of the round whose messages are in flight.
    round: usize,
    failed: Option<TransportError>,
}

shown!([T: Transport] InFlight<'_, T>, "InFlight", |this| round: this.round);

impl<'env, T: Transport> InFlight<'env, T> {
    /// Starts `plan`; its lease stands for the messages of all rounds, which end before it does.
    pub(super) fn start(
        t: &T,
        _lease: Lease<T>,
        (plan, tag): (&'env Plan, Tag),
        cells: Cells<'env>,
        rooms: &'env mut Rooms<T>,
    ) -> Self {
        let sends = mem::take(&mut rooms.sends).into_slots();
        let receives = mem::take(&mut rooms.receives).into_slots();
        let mut started = Self { plan, tag, cells, rooms, sends, receives, round: 0, failed: None };
        started.start_messages(t);
        started
    }

    /// Starts the messages of the round at hand, with those of the rounds behind it that wait for none of
    /// them: false after the last round, and after an error.
    fn start_messages(&mut self, t: &T) -> bool {
        while let Some(round) = self.plan.round(self.round) {
            if !self.start_round(t, round) {
                return false;
            }
            if self.receives.is_empty() && self.sends.is_empty() {
                self.work(t, round);
            } else if !self.plan.goes_on_with_sends(self.round) {
                return true;
            }
            self.round += 1;
        }
        false
    }

    /// Starts the messages of one round: false after an error.
    fn start_round(&mut self, t: &T, round: Round<'_>) -> bool {
        let receives = |of: &&Message| matches!(of, Message::Recv { .. });
        let (first, then) = (round.messages.iter(), round.messages.iter());
        let mut messages = first.filter(receives).chain(then.filter(|of| !receives(of)));
        let outcome = messages.try_for_each(|message| self.start_message(t, *message));
        self.note(outcome);
        self.failed.is_none()
    }

    fn start_message(&mut self, t: &T, message: Message) -> Result<()> {
        let Self { tag, cells, .. } = *self;
        match message {
            Message::Recv { from, into } => {
                let place = Place::Shared(cells.landing(into));
                let op = t.start_recv(Lease::of_part(), Source::Rank(from), tag, place)?;
                self.receives.push(Some(op));
            }
            Message::Send { to, from } if from.memory == Memory::Input => {
                let message = &cells.input[from.range()];
                self.sends.push(Some(t.start_send(Lease::of_part(), to, tag, message)?));
            }
            Message::Send { to, from } => {
                let message = Outgoing::of(cells.landing(from));
                self.sends.push(Some(t.start_send_from(Lease::of_part(), to, tag, message)?));
            }
        }
        Ok(())
    }

    /// Makes progress with the messages of the round at hand: true once all have ended.
    fn have_messages_ended(&mut self, t: &T) -> bool {
        let (mut received, mut sent) = (Ok(()), Ok(()));
        let have_ended = end_ready(t, &mut self.receives, &mut received)
            && end_ready(t, &mut self.sends, &mut sent);
        self.note(received.and(sent));
        have_ended
    }

    /// Waits for the messages of the round at hand.
    fn wait_for_messages(&mut self, t: &T) {
        let (mut received, mut sent) = (Ok(()), Ok(()));
        t.wait_for_both(
            &mut self.receives,
            &mut self.sends,
            |_, result| keep_first(&mut received, result.map(drop)),
            |_, result| keep_first(&mut sent, result),
        );
        self.receives.clear();
        self.sends.clear();
        self.note(received.and(sent));
    }

    /// Does the work of a round whose messages have ended, and starts those of the next: false if there is
    /// none, and after an error.
    fn advance(&mut self, t: &T) -> bool {
        if self.failed.is_some() {
            return false;
        }
        let Some(round) = self.plan.round(self.round) else { return false };
        self.work(t, round);
        self.round += 1;
        self.start_messages(t)
    }

    fn work(&self, t: &T, round: Round<'_>) {
        round.steps.iter().for_each(|step| self.cells.apply(t, *step, self.plan.by));
    }

    fn note(&mut self, outcome: Result<()>) {
        if let Err(error) = outcome {
            self.failed.get_or_insert(error);
        }
    }
}

impl<T: Transport> Pending<T> for InFlight<'_, T> {
    type Out = ();

    fn poll(&mut self, t: &T) -> bool {
        while self.have_messages_ended(t) {
            if !self.advance(t) {
                // Messages that were started before an error are in flight still.
                return self.have_messages_ended(t);
            }
        }
        false
    }

    fn finish(mut self, t: &T) -> Result<()> {
        self.wait_for_messages(t);
        while self.advance(t) {
            self.wait_for_messages(t);
        }
        // Those that were started before an error.
        self.wait_for_messages(t);
        let Self { rooms, sends, receives, failed, .. } = self;
        *rooms = Rooms { sends: Room::of_slots(sends), receives: Room::of_slots(receives) };
        failed.map_or(Ok(()), Err)
    }
}

/// Takes out those of `ops` that have ended, up to the first that has not: true if none is left.
fn end_ready<T: Transport, P: Pending<T>>(
    t: &T,
    ops: &mut Vec<Option<P>>,
    outcome: &mut Result<()>,
) -> bool {
    for slot in ops.iter_mut() {
        if slot.as_mut().is_some_and(|op| !op.poll(t)) {
            return false;
        }
        if let Some(op) = slot.take() {
            keep_first(outcome, op.finish(t).map(drop));
        }
    }
    ops.clear();
    true
}

fn keep_first(outcome: &mut Result<()>, result: Result<()>) {
    if outcome.is_ok() {
        *outcome = result;
    }
}

/// The memories of a rank, which several messages use while the operation is in flight.
#[derive(Clone, Copy)]
pub(super) struct Cells<'env> {
    pub(super) input: &'env [u8],
    pub(super) output: Landing<'env>,
    pub(super) scratch: Landing<'env>,
}

impl<'env> Cells<'env> {
    /// The memory of `span`, into which messages may be received.
    fn landing(self, span: Span) -> Landing<'env> {
        match span.memory {
            Memory::Input => unreachable!("no algorithm writes to the input"),
            Memory::Output => self.output.part(span.range()),
            Memory::Scratch => self.scratch.part(span.range()),
        }
    }

    fn read(self, span: Span, into: &mut [u8]) {
        match span.memory {
            Memory::Input => into.copy_from_slice(&self.input[span.range()]),
            Memory::Output | Memory::Scratch => self.landing(span).read(into),
        }
    }

    /// Does `step`, of whose memory no message is in flight.
    fn apply<T: Transport>(self, t: &T, step: Step, by: Reducer) {
        let (from, into) = match step {
            Step::Copy { from, into } | Step::Combine { from, into } => (from, into),
        };
        let combines = matches!(step, Step::Combine { .. });
        t.compute(step.work(), || {
            let (mut given, mut old) = ([0; PIECE_BYTES], [0; PIECE_BYTES]);
            for start in (0..into.length).step_by(PIECE_BYTES) {
                let n = PIECE_BYTES.min(into.length - start);
                let (given, old) = (&mut given[..n], &mut old[..n]);
                let place = self.landing(into.part(start, n));
                self.read(from.part(start, n), given);
                if combines {
                    place.read(old);
                    by.combine(old, given);
                    place.write(old);
                } else {
                    place.write(given);
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Collective, Kind, Parts, Prepared, algorithm};
    use crate::local;
    use crate::transport::{Source, Tag, Transport};

    #[test]
    fn a_root_sends_to_all_of_its_children_when_it_starts() {
        const ARRIVED: Tag = Tag::new(1);
        local::run(4, |t| {
            let call = Collective::new(Kind::Broadcast, Parts::Equal(8));
            let by = algorithm::find(Kind::Broadcast, "binomial");
            let mut prepared = Prepared::unblocked(t, call, by)?;
            let mut message = [u8::from(t.rank() == 0); 8];
            t.scope(|s| {
                let request = s.unblocked_collective(&mut prepared, &[], &mut message)?;
                if t.rank() == 0 {
                    t.blocked_recv(Source::Rank(1), ARRIVED, &mut [])?;
                }
                request.wait()?;
                if t.rank() == 1 { t.blocked_send(0, ARRIVED, &[]) } else { Ok(()) }
            })?;
            assert_eq!(message, [1; 8]);
            Ok::<_, crate::error::TransportError>(())
        })
        .into_iter()
        .collect::<Result<Vec<_>, _>>()
        .unwrap();
    }
}
