//! Sends and receives: what finds what, and when.

use std::collections::HashSet;

use comet_core::transport::{Rank, Source, Status, Tag};

use super::message::Passage;
use super::{Block, Engine, Event, Lost, Message, MessageId, Receive, ReceiveId, SendId, Sending};
use crate::machine::{Protocol, Segment};
use crate::noise;

/// A receive that has ended.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) status: Status,
    pub(crate) body: Box<[u8]>,
}

impl Engine {
    /// Sends; returns the send to wait for, unless it has ended.
    pub(crate) fn send(
        &mut self,
        source: Rank,
        destination: Rank,
        tag: Tag,
        body: &[u8],
    ) -> Option<SendId> {
        let segment = *self.machine.segment(body.len() as u64);
        let length_bytes = self.wire_bytes(body.len());
        let sent_ps = self.ranks[source].clock_ps;
        let operation = self.begin(source);
        let ready_ps = self.spend(source, segment.o_send_ps + segment.send.times(length_bytes));
        self.n_messages += 1;
        let faults = &self.machine.faults;
        let seed = self.machine.noise.seed;
        if noise::lost(seed, source, operation, faults.drop_probability) {
            let length_bytes = body.len();
            self.lost.push(Lost { source, destination, tag, length_bytes, sent_ps });
            return None;
        }
        let protocol = self.protocol(&segment, source, destination);
        let is_eager = protocol == Protocol::Eager;
        let sending =
            Sending { rank: source, destination, tag, length_bytes: body.len(), done_ps: None };
        let send = (!is_eager).then(|| self.sends.insert(sending));
        let request_ps = ready_ps + segment.handshake_ps / 2;
        let extra_ps = self.extra_ps(source, operation, sent_ps, &segment, length_bytes);
        let id = self.messages.insert(Message {
            source,
            destination,
            tag,
            body: body.into(),
            sent_ps,
            known_ps: (!is_eager).then_some(request_ps),
            arrival_ps: None,
            extra_ps,
            send,
            receive: None,
            passage: Passage::default(),
            is_started: false,
            is_coming: false,
            is_here: false,
        });
        match protocol {
            Protocol::Eager => self.launch(id, ready_ps),
            Protocol::Buffered => self.launch(id, ready_ps + segment.handshake_ps),
            // It starts when its receive is known.
            Protocol::Rendezvous => (),
        }
        self.offer(id);
        send
    }

    /// Bytes of a message of `length_bytes` bytes on the wire.
    pub(super) fn wire_bytes(&self, length_bytes: usize) -> u64 {
        length_bytes as u64 + self.machine.envelope_bytes
    }

    /// Who waits for whom: a message to oneself waits for nobody.
    fn protocol(&self, segment: &Segment, source: Rank, destination: Rank) -> Protocol {
        if source == destination { Protocol::Eager } else { segment.protocol }
    }

    /// What noise adds to a message that takes as long as the law says.
    fn extra_ps(
        &self,
        source: Rank,
        operation: u64,
        sent_ps: u64,
        segment: &Segment,
        length_bytes: u64,
    ) -> i64 {
        if self.machine.noise.sources.is_empty() {
            return 0;
        }
        let startup_ps =
            segment.o_send_ps + segment.handshake_ps + segment.latency_ps + segment.o_recv_ps;
        let per_byte_ps =
            [segment.send, segment.wire, segment.recv].map(|rate| rate.times(length_bytes));
        let undisturbed_ps = startup_ps + per_byte_ps.iter().sum::<u64>();
        noise::extra_ps(&self.machine.noise, source, operation, sent_ps, undisturbed_ps)
    }

    /// Offers a message to its receiver: now if it cannot matter when it arrives, or else then.
    fn offer(&mut self, id: MessageId) {
        let Message { destination, source, tag, known_ps, .. } = self.messages[id];
        let receiver = &mut self.ranks[destination];
        if receiver.n_any == 0 && receiver.coming.is_empty() {
            return self.arrive(id, source, tag, destination);
        }
        receiver.coming.push(id);
        self.messages[id].is_coming = true;
        if let Some(known_ps) = known_ps {
            self.queue.push(known_ps, Event::Arrive(id));
        }
    }

    /// A message arrives that must not be matched before earlier ones of its sender.
    pub(super) fn arrive_in_order(&mut self, id: MessageId) {
        let Message { destination, source, .. } = self.messages[id];
        self.messages[id].is_here = true;
        loop {
            let coming = &self.ranks[destination].coming;
            let Some(index) =
                coming.iter().position(|other| self.messages[*other].source == source)
            else {
                return;
            };
            let first = coming[index];
            if !self.messages[first].is_here {
                return;
            }
            self.ranks[destination].coming.remove(index);
            self.arrive(first, source, self.messages[first].tag, destination);
        }
    }

    /// A message finds its receive, or is kept.
    fn arrive(&mut self, id: MessageId, source: Rank, tag: Tag, destination: Rank) {
        match self.ranks[destination].matcher.claim(source, tag) {
            Some(receive) => self.bind(receive, id),
            None => self.ranks[destination].matcher.keep(source, tag, id),
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
        let id = self.receives.insert(receive);
        let found = match source {
            Source::Rank(_) => self.ranks[rank].matcher.take(source, tag).map(|(_, found)| found),
            Source::Any => self.take_earliest(rank, tag),
        };
        if let Some(message) = found {
            self.ranks[rank].n_any += u32::from(source == Source::Any);
            self.bind(id, message);
            return id;
        }
        self.ranks[rank].matcher.post(source, tag, id);
        if source == Source::Any {
            self.ranks[rank].n_any += 1;
            self.await_arrivals(rank);
        }
        id
    }

    /// Whether a receive or a probe has to wait for its turn, because messages of several ranks
    /// could match.
    pub(crate) fn depends_on_others(&self, rank: Rank, source: Source) -> bool {
        let state = &self.ranks[rank];
        source == Source::Any || state.n_any > 0 || !state.coming.is_empty()
    }

    /// The message with `tag` that `rank` learnt of first, if it knows of any.
    fn take_earliest(&mut self, rank: Rank, tag: Tag) -> Option<MessageId> {
        let (source, _) = self.earliest(rank, Source::Any, tag)?;
        self.ranks[rank].matcher.take(Source::Rank(source), tag).map(|(_, found)| found)
    }

    /// The message that a receive of `rank` would take now, with its sender.
    pub(crate) fn earliest(
        &self,
        rank: Rank,
        source: Source,
        tag: Tag,
    ) -> Option<(Rank, MessageId)> {
        let state = &self.ranks[rank];
        let known_ps =
            |id: MessageId| self.messages[id].known_ps.filter(|ps| *ps <= state.clock_ps);
        // Of each rank only the earliest message counts, whether it is known or not.
        let mut seen = HashSet::new();
        let firsts = state.matcher.acceptable(source, tag).filter(|(from, _)| seen.insert(*from));
        let known = firsts.filter_map(|(from, id)| Some((known_ps(*id)?, from, *id)));
        known.min_by_key(|(known_ps, ..)| *known_ps).map(|(_, from, id)| (from, id))
    }

    /// From now on, messages of which `rank` does not know yet are matched when they arrive.
    fn await_arrivals(&mut self, rank: Rank) {
        let (messages, state) = (&mut self.messages, &mut self.ranks[rank]);
        let clock_ps = state.clock_ps;
        let is_unknown = |id: &MessageId| messages[*id].known_ps.is_none_or(|ps| ps > clock_ps);
        for id in state.matcher.extract_unexpected(is_unknown) {
            messages[id].is_coming = true;
            state.coming.push(id);
            if let Some(known_ps) = messages[id].known_ps {
                self.queue.push(known_ps, Event::Arrive(id));
            }
        }
    }

    /// A receive has found its message.
    fn bind(&mut self, receive: ReceiveId, id: MessageId) {
        let Receive { rank, source, posted_ps, .. } = self.receives[receive];
        self.receives[receive].message = Some(id);
        self.messages[id].receive = Some(receive);
        self.ranks[rank].n_any -= u32::from(source == Source::Any);
        let Message { is_started, known_ps, arrival_ps, .. } = self.messages[id];
        if let (false, Some(request_ps)) = (is_started, known_ps) {
            let length_bytes = self.messages[id].body.len() as u64;
            let grant_ps = self.machine.segment(length_bytes).handshake_ps.div_ceil(2);
            self.launch(id, request_ps.max(posted_ps) + grant_ps);
        }
        if arrival_ps.is_some() {
            self.wake_receiver(id);
        }
    }

    /// The last byte of a message is there at `arrival_ps`.
    pub(super) fn arrived(&mut self, id: MessageId, arrival_ps: u64) {
        let message = &mut self.messages[id];
        message.arrival_ps = Some(arrival_ps);
        if message.known_ps.is_none() {
            message.known_ps = Some(arrival_ps);
            if message.is_coming {
                self.queue.push(arrival_ps, Event::Arrive(id));
            }
        }
        self.wake_receiver(id);
    }

    /// Wakes the rank that waits for a message of which all is known.
    fn wake_receiver(&mut self, id: MessageId) {
        let Message { destination, receive, .. } = self.messages[id];
        let Some(receive) = receive else { return };
        if self.ranks[destination].block == Some(Block::Receive(receive)) {
            self.wake(destination);
        }
    }

    /// The network has taken a message at `taken_ps`.
    pub(super) fn taken(&mut self, id: MessageId, taken_ps: u64) {
        let Message { source, send, .. } = self.messages[id];
        let Some(send) = send else { return };
        self.sends[send].done_ps = Some(taken_ps);
        if self.ranks[source].block == Some(Block::Send(send)) {
            self.wake(source);
        }
    }

    /// When a receive will have its message, if that is known.
    pub(crate) fn arrival_ps(&self, receive: ReceiveId) -> Option<u64> {
        self.messages[self.receives[receive].message?].arrival_ps
    }

    /// Ends a receive whose message is there or will be, at that time.
    pub(crate) fn finish_receive(&mut self, id: ReceiveId) -> Received {
        let receive = self.receives.remove(id);
        let message = self.messages.remove(receive.message.expect("its message is known"));
        let rank = receive.rank;
        self.begin(rank);
        let length_bytes = message.body.len();
        let segment = *self.machine.segment(length_bytes as u64);
        let wire_bytes = self.wire_bytes(length_bytes);
        // Whether its bytes go straight to the buffer is decided when its request comes in.
        let is_unexpected = message.known_ps.is_some_and(|ps| ps < receive.posted_ps);
        let copy_ps = if is_unexpected { segment.unexpected.times(wire_bytes) } else { 0 };
        let clock_ps = &mut self.ranks[rank].clock_ps;
        *clock_ps = (*clock_ps).max(message.arrival_ps.unwrap_or(0));
        self.spend(rank, segment.o_recv_ps + segment.recv.times(wire_bytes) + copy_ps);
        let status = Status { source: message.source, tag: message.tag, length_bytes };
        Received { status, body: message.body }
    }

    /// Ends a send that has ended in time, or will.
    pub(crate) fn finish_send(&mut self, id: SendId) {
        let sending = self.sends.remove(id);
        let clock_ps = &mut self.ranks[sending.rank].clock_ps;
        *clock_ps = (*clock_ps).max(sending.done_ps.expect("the network has taken it"));
    }

    /// Counts an operation of `rank`, before which a fault may let it stand still; its number.
    pub(crate) fn begin(&mut self, rank: Rank) -> u64 {
        let state = &mut self.ranks[rank];
        let operation = state.n_operations;
        state.n_operations += 1;
        state.n_vain_polls = 0;
        let is_delayed =
            |delay: &&crate::machine::Delay| (delay.rank, delay.operation) == (rank, operation);
        state.clock_ps += self
            .machine
            .faults
            .delays
            .iter()
            .filter(is_delayed)
            .map(|delay| delay.delay_ps)
            .sum::<u64>();
        operation
    }

    /// Has `rank` compute for `work_ps`, and as long as noise adds.
    pub(crate) fn compute(&mut self, rank: Rank, work_ps: u64) {
        let operation = self.begin(rank);
        let start_ps = self.spend(rank, 0);
        let end_ps = self.spend(rank, work_ps);
        let noise = &self.machine.noise;
        let extra_ps = noise::extra_ps(noise, rank, operation, start_ps, end_ps - start_ps);
        self.ranks[rank].clock_ps = end_ps.saturating_add_signed(extra_ps);
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

/// `factor` times a time.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times are far below 2^53 ps, and a cast saturates"
)]
fn scaled_ps(busy_ps: u64, factor: f64) -> u64 {
    (busy_ps as f64 * factor).round() as u64
}
