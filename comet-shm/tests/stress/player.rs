//! One rank's part of a round: calls in the order of the schedule, then a look at every byte.

use std::collections::{BTreeMap, VecDeque};
use std::ops::{DerefMut, Range};
use std::time::Duration;

use comet_core::collective::{Collective as Call, data};
use comet_core::error::{Result, TransportError};
use comet_core::kernel::Seeds;
use comet_core::pattern;
use comet_core::transport::{Rank, Source, Status, Tag, Transport};
use comet_shm::Shm;
use oorandom::Rand64;

use crate::schedule::{Collective, Message, Part, Receive, Round, Step, below};
use crate::windows;

/// Bytes around each message in its memory, which nobody may touch.
const MARGIN_BYTES: usize = 64;
/// Initial contents of memory, where nothing arrived; and the contents after a sent message.
const UNTOUCHED: u8 = 0xa5;
const SENT: u8 = 0x5a;
/// Looks before a receive goes ahead without a probe that found something.
const N_PROBES: usize = 100;
/// Long enough for all other ranks to fall asleep.
const PAUSE: Duration = Duration::from_millis(3);

/// Report of a receive, with true for an error, since its buffer was too small.
type Arrival = (Status, bool);

/// Does all calls of this rank, and checks what came of them.
///
/// # Errors
/// The first error, if any.
pub(crate) fn play(t: &Shm, round: &Round) -> Result<(), String> {
    let Part { sends, receives, steps, mut random } = round.part(t.rank());
    let describe = |error: TransportError| error.to_string();
    let mut memory = |length| Memory::new(t, length, &mut random).map_err(describe);
    let outgoing: Result<Vec<_>, _> = sends.iter().map(|send| memory(send.length_bytes)).collect();
    let incoming: Result<Vec<_>, _> =
        receives.iter().map(|receive| memory(receive.capacity_bytes)).collect();
    let (mut outgoing, mut incoming) = (outgoing?, incoming?);
    for (memory, send) in outgoing.iter_mut().zip(&sends) {
        pattern::fill(memory.data(), send.pattern);
    }
    let player = Player { t, sends, receives, steps };
    let (arrivals, problem) =
        player.make_calls(&mut outgoing, &mut incoming, &mut random).map_err(describe)?;
    problem.map_or(Ok(()), Err)?;
    // The sends are over: whoever copies from here now gets it wrong.
    outgoing.iter_mut().for_each(|memory| memory.data().fill(SENT));
    player.check_arrivals(round, &arrivals, &mut incoming)
}

struct Player<'a> {
    t: &'a Shm,
    sends: Vec<Message>,
    receives: Vec<Receive>,
    steps: Vec<Step>,
}

impl Player<'_> {
    /// Does the calls; the arrival of each receive, and the first problem.
    fn make_calls(
        &self,
        outgoing: &mut [Memory],
        incoming: &mut [Memory],
        random: &mut Rand64,
    ) -> Result<(Vec<Option<Arrival>>, Option<String>)> {
        let t = self.t;
        let mut messages: Vec<_> = outgoing.iter_mut().map(|memory| Some(memory.data())).collect();
        let mut buffers: Vec<_> = incoming.iter_mut().map(|memory| Some(memory.data())).collect();
        t.scope(|s| {
            let mut open_sends: Vec<_> = self.sends.iter().map(|_| None).collect();
            let mut open_recvs: Vec<_> = self.receives.iter().map(|_| None).collect();
            let (mut arrivals, mut problem) = (vec![None; self.receives.len()], None);
            for step in &self.steps {
                match step.clone() {
                    Step::BlockedSend(i) => {
                        let Message { destination, tag, .. } = self.sends[i];
                        let message = take(&mut messages[i]);
                        t.blocked_send(destination, tag, message)?;
                        message.fill(SENT);
                    }
                    Step::StartSend(i) => {
                        let Message { destination, tag, .. } = self.sends[i];
                        let message = take(&mut messages[i]);
                        open_sends[i] = Some(s.unblocked_send(destination, tag, message)?);
                    }
                    Step::FinishSend(i) => take(&mut open_sends[i]).wait()?,
                    Step::BlockedRecv(i) => {
                        arrivals[i] = Some(self.recv(i, take(&mut buffers[i]))?);
                    }
                    Step::ProbeAndRecv(i) => {
                        let seen = self.probe(i)?;
                        let arrival = self.recv(i, take(&mut buffers[i]))?;
                        if seen.is_some_and(|seen| seen != arrival.0) {
                            problem
                                .get_or_insert(format!("probe saw {seen:?}, but {arrival:?} came"));
                        }
                        arrivals[i] = Some(arrival);
                    }
                    Step::StartRecv(i) => {
                        let Receive { source, tag, .. } = self.receives[i];
                        let buffer = take(&mut buffers[i]);
                        open_recvs[i] = Some(s.unblocked_recv(source, tag, buffer)?);
                    }
                    Step::FinishRecv(i) => {
                        let result = take(&mut open_recvs[i]).wait();
                        arrivals[i] = Some(arrival_of(result.map(|(status, _)| status))?);
                    }
                    Step::Collective(what) => {
                        problem = problem.or(self.take_part(what, random)?);
                    }
                    Step::Pause => std::thread::sleep(PAUSE),
                }
                // Tests belong between other calls, and say nothing that `wait` does not.
                if below(random, 2) == 0 {
                    open_recvs.iter_mut().flatten().next().map(|request| request.test());
                    open_sends.iter_mut().flatten().next().map(|request| request.test());
                }
            }
            Ok((arrivals, problem))
        })
    }

    fn recv(&self, index: usize, buffer: &mut [u8]) -> Result<Arrival> {
        let Receive { source, tag, .. } = self.receives[index];
        arrival_of(self.t.blocked_recv(source, tag, buffer))
    }

    fn probe(&self, index: usize) -> Result<Option<Status>> {
        let Receive { source, tag, .. } = self.receives[index];
        (0..N_PROBES).find_map(|_| self.t.probe(source, tag).transpose()).transpose()
    }

    /// Takes part in a collective; says what is wrong with the result.
    fn take_part(&self, what: Collective, random: &mut Rand64) -> Result<Option<String>> {
        match what {
            Collective::Call(call) => self.carry_out(&call, random),
            Collective::Barrier => self.t.barrier().map(|()| None),
            Collective::Sum => {
                let sum = self.t.global_sum(term(self.t.rank(), 0))?;
                Ok(self.wrong_sum(0, sum))
            }
            Collective::VectorSum { n } => {
                let mut values: Vec<f64> = (0..n).map(|i| term(self.t.rank(), i)).collect();
                self.t.global_sum_vector(&mut values)?;
                Ok(values.iter().enumerate().find_map(|(i, sum)| self.wrong_sum(i, *sum)))
            }
            Collective::Window { slot_bytes, pattern } => {
                windows::play(self.t, slot_bytes, pattern, random)
            }
            Collective::Broadcast { root, length_bytes, pattern } => {
                let mut message = vec![UNTOUCHED; length_bytes];
                if self.t.rank() == root {
                    pattern::fill(&mut message, pattern);
                }
                self.t.blocked_broadcast(root, &mut message)?;
                let what = format!("the broadcast of rank {root}");
                Ok(pattern::check(&message, pattern, &what).err().map(|error| error.to_string()))
            }
        }
    }

    /// Carries `call` out in memory of any kind; says what is wrong with what came, or with the bytes
    /// around it.
    fn carry_out(&self, call: &Call, random: &mut Rand64) -> Result<Option<String>> {
        let (t, at) = (self.t, (self.t.rank(), self.t.n_ranks()));
        let mut input = Memory::new(t, call.input_bytes(at.0, at.1), random)?;
        let mut output = Memory::new(t, call.output_bytes(at.0, at.1), random)?;
        data::fill(call, at, Seeds { n_runs: 1, lane: 0 }, [input.data(), output.data()]);
        t.collective(call, input.data(), output.data())?;
        // The operation is over: whoever reads from here now gets it wrong.
        input.data().fill(SENT);
        let problem = match data::compare_once(call, at, output.data()) {
            Err(error) => Some(error.to_string()),
            Ok(()) if input.is_touched_outside() || output.is_touched_outside() => {
                Some("bytes outside of the buffers were written".into())
            }
            Ok(()) => None,
        };
        output.data().fill(SENT);
        Ok(problem.map(|problem| format!("{call:?}: {problem}")))
    }

    fn wrong_sum(&self, index: usize, sum: f64) -> Option<String> {
        let expected: f64 = (0..self.t.n_ranks()).map(|rank| term(rank, index)).sum();
        let text = || format!("element {index} of a sum: expected {expected}, got {sum}");
        (sum.to_bits() != expected.to_bits()).then(text)
    }

    /// Checks which message each receive got, and every byte of it and around it.
    fn check_arrivals(
        &self,
        round: &Round,
        arrivals: &[Option<Arrival>],
        incoming: &mut [Memory],
    ) -> Result<(), String> {
        let mut expected: BTreeMap<(Rank, Tag), VecDeque<&Message>> = BTreeMap::new();
        for message in round.messages.iter().filter(|m| m.destination == self.t.rank()) {
            expected.entry((message.source, message.tag)).or_default().push_back(message);
        }
        for ((receive, arrival), memory) in self.receives.iter().zip(arrivals).zip(incoming) {
            let (status, was_error) = arrival.expect("every receive was waited for");
            let key = (status.source, receive.tag);
            let next = expected.get_mut(&key).and_then(VecDeque::pop_front);
            let message = next.ok_or_else(|| format!("nobody sent {status:?} to {receive:?}"))?;
            check_arrival(message, receive, status, was_error)
                .and_then(|()| memory.check(message, status))
                .map_err(|problem| format!("{message:?} came to {receive:?}: {problem}"))?;
        }
        Ok(())
    }
}

/// Checks what the receive reported.
fn check_arrival(
    message: &Message,
    receive: &Receive,
    status: Status,
    was_error: bool,
) -> Result<(), String> {
    let Message { source, tag, length_bytes, .. } = *message;
    if status != (Status { source, tag, length_bytes }) || !receive.source.accepts(source) {
        return Err(format!("it was reported as {status:?}"));
    }
    if was_error != (length_bytes > receive.capacity_bytes) {
        return Err(format!("it was reported as truncated: {was_error}"));
    }
    Ok(())
}

/// A part of a block of private memory, or of memory that the transport moves fastest.
struct Memory {
    block: Box<dyn DerefMut<Target = [u8]>>,
    at: Range<usize>,
}

impl Memory {
    /// `length_bytes` at a random place of a block that is a little longer.
    fn new(t: &Shm, length_bytes: usize, random: &mut Rand64) -> Result<Self> {
        let start = below(random, MARGIN_BYTES + 1);
        let total_bytes = length_bytes + MARGIN_BYTES;
        let mut block: Box<dyn DerefMut<Target = [u8]>> = match below(random, 2) {
            0 => Box::new(vec![0; total_bytes]),
            _ => Box::new(t.message_buffer(total_bytes)?),
        };
        block.fill(UNTOUCHED);
        Ok(Self { block, at: start..start + length_bytes })
    }

    fn data(&mut self) -> &mut [u8] {
        &mut self.block[self.at.clone()]
    }

    /// True if bytes beside its own have been written.
    fn is_touched_outside(&self) -> bool {
        let (before, rest) = self.block.split_at(self.at.start);
        let after = &rest[self.at.len()..];
        before.iter().chain(after).any(|byte| *byte != UNTOUCHED)
    }

    /// Checks that the front of `message` lies here as far as there is room, and nothing else.
    fn check(&self, message: &Message, status: Status) -> Result<(), String> {
        let end = self.at.end.min(self.at.start + status.length_bytes);
        let (before, rest) = self.block.split_at(self.at.start);
        let (data, after) = rest.split_at(end - self.at.start);
        if before.iter().chain(after).any(|byte| *byte != UNTOUCHED) {
            return Err("bytes outside of the message were written".into());
        }
        pattern::check(data, message.pattern, "it").map_err(|error| error.to_string())
    }
}

/// A receive that truncated its message says in its error what came.
fn arrival_of(result: Result<Status>) -> Result<Arrival> {
    let error = match result {
        Ok(status) => return Ok((status, false)),
        Err(error) if error.is_truncated() => error,
        Err(error) => return Err(error),
    };
    match (error.peer, error.tag, error.length_bytes) {
        (Some(Source::Rank(source)), Some(tag), Some(length_bytes)) => {
            Ok((Status { source, tag, length_bytes }, true))
        }
        _ => Err(error),
    }
}

/// Contribution of `rank` to element `index` of a sum; sums of these are exact.
fn term(rank: Rank, index: usize) -> f64 {
    let value = (rank + 1) * (index % 1000 + 1);
    f64::from(u32::try_from(value).expect("ranks and indices are small"))
}

/// Takes a value that is used once.
fn take<V>(place: &mut Option<V>) -> V {
    place.take().expect("each step is done once")
}
