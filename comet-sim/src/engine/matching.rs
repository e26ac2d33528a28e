//! Sends and receives: what finds what, and when.

use std::collections::HashSet;

use comet_core::transport::{Rank, SendMode, Source, Status, Tag};

use super::state::{UNKNOWN_PS, Way};
use super::window::epoch_of;
use super::{
    Block, Engine, Event, Lost, Message, MessageId, RANK_LINES, Receive, ReceiveId, SendId, Sending,
};
use crate::fiber;
use crate::machine::{Delay, Protocol, Segment};
use crate::noise;

#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) status: Status,
    pub(crate) body: Box<[u8]>,
}

impl Engine {
    /// Sends in a mode; returns the send to wait for, unless it has ended.
    pub(crate) fn send(
        &mut self,
        source: Rank,
        destination: Rank,
        tag: Tag,
        (mode, body): (SendMode, &[u8]),
    ) -> Option<SendId> {
        fiber::prefetch((&raw const self.ranks[destination]).addr(), RANK_LINES);
        let segment = *self.machine.segment(body.len() as u64);
        let length_bytes = self.wire_bytes(body.len());
        let sent_ps = self.ranks[source].clock_ps;
        let operation = self.begin(source);
        let copy_ps = match mode {
            SendMode::Buffered => self.machine.node.copy.times(body.len() as u64),
            _ => 0,
        };
        let busy_ps = segment.o_send_ps + segment.send.times(length_bytes) + copy_ps;
        let ready_ps = self.spend(source, busy_ps);
        self.n_messages += 1;
        let way = Way::new(source, destination, tag);
        let probability = self.machine.faults.drop_probability;
        let seed = self.machine.noise.seed;
        if probability > 0.0 && noise::lost(seed, source, operation, probability) {
            self.lost.push(Lost { way, length_bytes: body.len(), sent_ps });
            return None;
        }
        // A message to oneself waits for nobody, nor does one that begins or ends an epoch.
        let is_free = way.is_local() || epoch_of(tag).is_some();
        let standard = if is_free { Protocol::Eager } else { segment.protocol };
        // The copy of a buffered message goes its way without its sender.
        let (protocol, waits) = match mode {
            SendMode::Standard => (standard, standard != Protocol::Eager),
            SendMode::Synchronous => (Protocol::Rendezvous, true),
            SendMode::Buffered => (standard, false),
            SendMode::Ready => (Protocol::Eager, standard != Protocol::Eager),
        };
        let is_eager = protocol == Protocol::Eager;
        let request_ps = ready_ps + self.handshake_ps(way, &segment) / 2;
        let sending = Sending { way, length_bytes: body.len(), done_ps: None };
        let send = waits.then(|| id(self.sends.insert(sending)));
        let message = id(self.messages.insert(Message {
            way,
            body: body.into(),
            wire_bytes: length_bytes,
            law: self.law_index(body.len()),
            transfer: None,
            sent_ps,
            known_ps: if is_eager { UNKNOWN_PS } else { request_ps },
            arrival_ps: UNKNOWN_PS,
            extra_ps: self.extra_ps(way, operation, sent_ps, body.len()),
            send,
            receive: None,
            next: None,
            n_taken: 0,
            n_hops: u16::try_from(self.routes.hops(source, destination))
                .expect("a way has fewer than 2^16 links"),
            is_started: false,
            is_coming: false,
            is_here: false,
        }));
        match protocol {
            Protocol::Eager => self.launch(message, ready_ps),
            Protocol::Buffered => self.launch(message, ready_ps + segment.handshake_ps),
            // It starts when its receive is known, which may be before what this rank sends next.
            Protocol::Rendezvous => self.ranks[source].n_starting += 1,
        }
        self.offer(message);
        send
    }

    pub(crate) fn message(&self, id: MessageId) -> &Message {
        &self.messages[id as usize]
    }

    pub(super) fn message_mut(&mut self, id: MessageId) -> &mut Message {
        &mut self.messages[id as usize]
    }

    /// Time of request and grant of a message that waits for its receive.
    fn handshake_ps(&self, way: Way, segment: &Segment) -> u64 {
        if way.is_local() { 0 } else { self.machine.handshake_ps(segment) }
    }

    /// True if a receive is posted by now that would take a message from `source`.
    pub(crate) fn has_receive(&self, source: Rank, destination: Rank, tag: Tag) -> bool {
        let now_ps = self.ranks[source].clock_ps;
        let mut posted = self.ranks[destination].matcher.posted(source, tag);
        // Its rank may be ahead of this one.
        posted.any(|receive| self.receives[*receive as usize].posted_ps <= now_ps)
    }

    /// Bytes of a message of `length_bytes` bytes on the wire.
    pub(super) fn wire_bytes(&self, length_bytes: usize) -> u64 {
        length_bytes as u64 + self.machine.envelope_bytes
    }

    /// Time that noise adds to a message, beyond what the law gives.
    fn extra_ps(&self, way: Way, operation: u64, sent_ps: u64, length_bytes: usize) -> i64 {
        if self.machine.noise.sources.is_empty() {
            return 0;
        }
        let segment = self.machine.segment(length_bytes as u64);
        let length_bytes = self.wire_bytes(length_bytes);
        let undisturbed_ps = if way.is_local() {
            segment.o_send_ps + self.machine.node.copy.times(length_bytes) + segment.o_recv_ps
        } else {
            let per_byte = [segment.send, segment.wire, segment.recv];
            let bytes_ps: u64 = per_byte.iter().map(|rate| rate.times(length_bytes)).sum();
            segment.startup_ps() + bytes_ps
        };
        noise::extra_ps(&self.machine.noise, way.source(), operation, sent_ps, undisturbed_ps)
    }

    /// Offers a message to its receiver: now if it cannot matter when it arrives, or else then.
    fn offer(&mut self, id: MessageId) {
        let Message { way, known_ps, .. } = *self.message(id);
        if !self.depends_on_others(way.destination(), Source::Rank(way.source()), way.tag) {
            return self.arrive(id, way);
        }
        self.ranks[way.destination()].coming.push(id);
        self.message_mut(id).is_coming = true;
        if known_ps != UNKNOWN_PS {
            self.queue.push(known_ps, Event::Arrive(id));
        }
    }

    /// A message arrives that must not be matched before earlier ones of its sender and tag.
    pub(super) fn arrive_in_order(&mut self, id: MessageId, now_ps: u64) {
        let way = self.message(id).way;
        self.message_mut(id).is_here = true;
        loop {
            let coming = &self.ranks[way.destination()].coming;
            let is_like = |id: &MessageId| self.message(*id).way == way;
            let Some(index) = coming.iter().position(is_like) else { return };
            let first = coming[index];
            if !self.message(first).is_here {
                return;
            }
            self.ranks[way.destination()].coming.remove(index);
            // One that has waited for an earlier one is there only now.
            let message = self.message_mut(first);
            message.known_ps = now_ps;
            message.arrival_ps = message.arrival_ps.max(now_ps);
            self.arrive(first, way);
        }
    }

    /// A message finds its receive, or is kept.
    fn arrive(&mut self, id: MessageId, way: Way) {
        let matcher = &mut self.ranks[way.destination()].matcher;
        match matcher.claim(way.source(), way.tag) {
            Some(receive) => self.bind(receive, id),
            None => matcher.keep(way.source(), way.tag, id),
        }
    }

    /// Posts a receive; it may have found its message already.
    ///
    /// If [`depends_on_others`](Self::depends_on_others), `rank` must have its turn.
    pub(crate) fn post(
        &mut self,
        rank: Rank,
        source: Source,
        tag: Tag,
        capacity_bytes: usize,
    ) -> ReceiveId {
        let posted_ps = self.ranks[rank].clock_ps;
        let receive = Receive { rank, source, tag, capacity_bytes, posted_ps, message: None };
        let receive = id(self.receives.insert(receive));
        self.ranks[rank].n_any += u32::from(source == Source::Any);
        if let Some(message) = self.find(rank, source, tag) {
            self.bind(receive, message);
            return receive;
        }
        self.ranks[rank].matcher.post(source, tag, receive);
        if source == Source::Any {
            self.await_arrivals(rank, tag);
        }
        receive
    }

    /// True if a receive or a probe has to wait for its turn, because messages of several ranks
    /// could match, or a receive from any rank could take them.
    #[inline]
    pub(crate) fn depends_on_others(&self, rank: Rank, source: Source, tag: Tag) -> bool {
        let state = &self.ranks[rank];
        let is_coming = |id: &MessageId| tag.accepts(self.message(*id).way.tag);
        source == Source::Any
            || (state.n_any > 0 && state.matcher.awaits_any(tag))
            || state.coming.iter().any(is_coming)
    }

    /// Takes the message that a receive of `rank` gets at once, if there is one.
    fn find(&mut self, rank: Rank, source: Source, tag: Tag) -> Option<MessageId> {
        let source = match source {
            Source::Rank(_) => source,
            Source::Any => Source::Rank(self.earliest(rank, source, tag)?.0),
        };
        self.ranks[rank].matcher.take(source, tag).map(|(_, found)| found)
    }

    /// Earliest message known to `rank` that `source` and `tag` accept, with its sender.
    pub(crate) fn earliest(
        &self,
        rank: Rank,
        source: Source,
        tag: Tag,
    ) -> Option<(Rank, MessageId)> {
        let state = &self.ranks[rank];
        // Of each rank only the earliest message counts, whether it is known or not.
        let mut seen = HashSet::new();
        let firsts = state.matcher.acceptable(source, tag).filter(|(from, _)| seen.insert(*from));
        let timed = firsts.map(|(from, id)| (self.message(*id).known_ps, from, *id));
        let known = timed.filter(|(known_ps, ..)| *known_ps <= state.clock_ps);
        known.min_by_key(|(known_ps, ..)| *known_ps).map(|(_, from, id)| (from, id))
    }

    /// From now on, messages with `tag` of which `rank` does not know yet are matched when they
    /// arrive, and those that are known but behind such a one of their sender after it.
    fn await_arrivals(&mut self, rank: Rank, tag: Tag) {
        let clock_ps = self.ranks[rank].clock_ps;
        let mut senders = HashSet::new();
        let acceptable = self.ranks[rank].matcher.acceptable(Source::Any, tag);
        let late = acceptable.filter(|(source, id)| {
            let is_late = self.message(**id).known_ps > clock_ps || senders.contains(source);
            if is_late {
                senders.insert(*source);
            }
            is_late
        });
        let late: HashSet<MessageId> = late.map(|(_, id)| *id).collect();
        for id in self.ranks[rank].matcher.extract_unexpected(|id| late.contains(id)) {
            self.ranks[rank].coming.push(id);
            let message = self.message_mut(id);
            message.is_coming = true;
            message.is_here = message.known_ps <= clock_ps;
            let known_ps = message.known_ps;
            if known_ps > clock_ps && known_ps != UNKNOWN_PS {
                self.queue.push(known_ps, Event::Arrive(id));
            }
        }
    }

    /// A receive has found its message.
    fn bind(&mut self, receive: ReceiveId, id: MessageId) {
        let Receive { rank, source, posted_ps, .. } = self.receives[receive as usize];
        self.receives[receive as usize].message = Some(id);
        self.ranks[rank].n_any -= u32::from(source == Source::Any);
        self.message_mut(id).receive = Some(receive);
        let Message { way, is_started, known_ps, arrival_ps, ref body, .. } = *self.message(id);
        if !is_started {
            let segment = self.machine.segment(body.len() as u64);
            let handshake_ps = self.handshake_ps(way, segment);
            self.ranks[way.source()].n_starting -= 1;
            // The request took the other half.
            self.launch(id, known_ps.max(posted_ps) + handshake_ps.div_ceil(2));
        }
        if arrival_ps != UNKNOWN_PS {
            self.wake_receiver(id);
        }
    }

    /// The last byte of a message is there at `arrival_ps`.
    pub(super) fn arrived(&mut self, id: MessageId, arrival_ps: u64) {
        let message = self.message_mut(id);
        if let Some(transfer) = message.transfer {
            self.messages.remove(id as usize);
            self.queue.push(arrival_ps, Event::Serve(transfer));
            return;
        }
        message.arrival_ps = arrival_ps;
        if message.known_ps == UNKNOWN_PS {
            message.known_ps = arrival_ps;
            if message.is_coming {
                self.queue.push(arrival_ps, Event::Arrive(id));
            }
        }
        self.wake_receiver(id);
    }

    /// Wakes the rank that waits for a message of which all is known.
    fn wake_receiver(&mut self, id: MessageId) {
        let Message { way, receive, .. } = *self.message(id);
        let Some(receive) = receive else { return };
        if self.ranks[way.destination()].block == Some(Block::Receive(receive)) {
            self.wake(way.destination());
        }
    }

    /// The network has taken a message at `taken_ps`.
    pub(super) fn taken(&mut self, id: MessageId, taken_ps: u64) {
        let Message { way, send, transfer, .. } = *self.message(id);
        if let Some(transfer) = transfer {
            return self.transfer_taken(transfer, taken_ps);
        }
        let Some(send) = send else { return };
        self.sends[send as usize].done_ps = Some(taken_ps);
        if self.ranks[way.source()].block == Some(Block::Send(send)) {
            self.wake(way.source());
        }
    }

    /// Arrival time of the message of a receive, if known.
    pub(crate) fn arrival_ps(&self, receive: ReceiveId) -> Option<u64> {
        let message = self.receives[receive as usize].message?;
        Some(self.message(message).arrival_ps).filter(|ps| *ps != UNKNOWN_PS)
    }

    /// Ends a receive whose message is there or will be, at that time.
    pub(crate) fn finish_receive(&mut self, id: ReceiveId) -> Received {
        let receive = self.receives.remove(id as usize);
        let message = receive.message.expect("its message is known");
        self.receive(receive.rank, receive.posted_ps, message)
    }

    /// Posts a receive and ends it at once, if its message is there or will be at a known time.
    pub(crate) fn receive_at_once(
        &mut self,
        rank: Rank,
        source: Source,
        tag: Tag,
    ) -> Option<Received> {
        let (_, found) = self.ranks[rank].matcher.peek(source, tag)?;
        let found = *found;
        if self.message(found).arrival_ps == UNKNOWN_PS {
            return None;
        }
        self.ranks[rank].matcher.take(source, tag);
        Some(self.receive(rank, self.ranks[rank].clock_ps, found))
    }

    /// `rank` gets a message by a receive that was posted at `posted_ps`.
    fn receive(&mut self, rank: Rank, posted_ps: u64, id: MessageId) -> Received {
        self.begin(rank);
        let message = self.messages.remove(id as usize);
        let Message { way, known_ps, arrival_ps, body, .. } = message;
        let length_bytes = body.len();
        let (wire_bytes, segment) =
            (self.wire_bytes(length_bytes), self.machine.segment(length_bytes as u64));
        // Whether its bytes go straight to the buffer is decided when its request comes in.
        let is_unexpected = known_ps < posted_ps;
        let copy_ps = if is_unexpected { segment.unexpected.times(wire_bytes) } else { 0 };
        let busy_ps = segment.o_recv_ps + segment.recv.times(wire_bytes) + copy_ps;
        let clock_ps = &mut self.ranks[rank].clock_ps;
        *clock_ps = (*clock_ps).max(arrival_ps);
        self.spend(rank, busy_ps);
        Received { status: Status { source: way.source(), tag: way.tag, length_bytes }, body }
    }

    /// Ends a send that has ended in time, or will.
    pub(crate) fn finish_send(&mut self, id: SendId) {
        let Sending { way, done_ps, .. } = self.sends.remove(id as usize);
        let clock_ps = &mut self.ranks[way.source()].clock_ps;
        *clock_ps = (*clock_ps).max(done_ps.expect("the network has taken it"));
    }

    /// Counts an operation of `rank`, before which a fault may let it stand still; its number.
    pub(crate) fn begin(&mut self, rank: Rank) -> u64 {
        let state = &mut self.ranks[rank];
        let operation = state.n_operations;
        state.n_operations += 1;
        state.poll = None;
        state.is_computing = false;
        self.n_vain_polls = 0;
        let is_due = |delay: &&Delay| (delay.rank, delay.operation) == (rank, operation);
        let due = self.machine.faults.delays.iter().filter(is_due);
        state.clock_ps += due.map(|delay| delay.delay_ps).sum::<u64>();
        operation
    }

    /// Has `rank` compute for `work_ps`, and as long as noise adds.
    pub(crate) fn compute(&mut self, rank: Rank, work_ps: u64) {
        let was_computing = self.ranks[rank].is_computing;
        let operation = self.begin(rank);
        let start_ps = self.spend(rank, 0);
        let end_ps = self.spend(rank, work_ps);
        let noise = &self.machine.noise;
        let extra_ps = noise::extra_ps(noise, rank, operation, start_ps, end_ps - start_ps);
        self.ranks[rank].is_computing = was_computing;
        self.compute_until(rank, start_ps, end_ps.saturating_add_signed(extra_ps));
    }

    /// Has the CPU of `rank` busy for `busy_ps`, or longer if it is a slow one; returns its clock.
    pub(crate) fn spend(&mut self, rank: Rank, busy_ps: u64) -> u64 {
        let slow_ranks = &self.machine.faults.slow_ranks;
        let busy_ps = match slow_ranks.iter().find(|(slow, _)| *slow == rank) {
            Some((_, factor)) => scaled_ps(busy_ps, *factor),
            None => busy_ps,
        };
        self.ranks[rank].clock_ps += busy_ps;
        self.ranks[rank].clock_ps
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times are far below 2^53 ps, and a cast saturates"
)]
fn scaled_ps(busy_ps: u64, factor: f64) -> u64 {
    (busy_ps as f64 * factor).round() as u64
}

fn id(number: usize) -> u32 {
    u32::try_from(number).expect("fewer than 2^32 messages are in flight")
}
