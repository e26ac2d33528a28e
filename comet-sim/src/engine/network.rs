//! The way of a message through the network: free, or over links that it has to wait for.
//!
//! ```text
//!   interface of the sender ─ link ─ link ─ … ─ link ─ interface of the receiver
//!   circuit        the header takes one after the other, keeps those it has while it waits, and all
//!                  are free again when the tail has passed
//!   cut-through    each is busy while the message passes; the header goes ahead
//! ```

use comet_core::transport::Rank;

use super::{Engine, Event, Message, MessageId};
use crate::machine::{Segment, Switching};
use crate::route::Routes;

/// The state of all links; the interfaces of the ranks are links too.
#[derive(Debug)]
pub(super) enum Links {
    /// Messages never wait for links, only for the interface of their sender.
    Free,
    /// Who has each link, and who waits for it.
    Circuit(Vec<Circuit>),
    /// Until when each link is busy.
    CutThrough(Vec<u64>),
}

/// One link of a circuit-switched network.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Circuit {
    is_taken: bool,
    /// The messages that wait for it: the first and the last of a list.
    waiting: Option<(MessageId, MessageId)>,
}

impl Links {
    pub(super) fn new(switching: Option<Switching>, routes: &Routes, n_ranks: usize) -> Self {
        let n_links = routes.n_links() + 2 * n_ranks;
        match switching {
            None => Self::Free,
            Some(Switching::Circuit) => Self::Circuit(vec![Circuit::default(); n_links]),
            Some(Switching::CutThrough) => Self::CutThrough(vec![0; n_links]),
        }
    }
}

impl Engine {
    /// Gives a message to the network at `at_ps`.
    pub(super) fn launch(&mut self, id: MessageId, at_ps: u64) {
        let message = &mut self.messages[id];
        message.is_started = true;
        let Message { source, destination, send, .. } = *message;
        let is_local = source == destination;
        let is_free = matches!(self.links, Links::Free);
        // Of a rank's messages that go at once, each starts after the one before.
        let goes_at_once = send.is_none() && self.ranks[source].n_starting == 0;
        if is_local || (is_free && goes_at_once) {
            return self.pass_freely(id, at_ps);
        }
        self.ranks[source].n_starting += 1;
        self.queue.push(at_ps, Event::Start(id));
    }

    /// It is time to start.
    pub(super) fn start(&mut self, id: MessageId, now_ps: u64) {
        let source = self.messages[id].source;
        self.ranks[source].n_starting -= 1;
        match self.links {
            Links::Free => self.pass_freely(id, now_ps),
            _ => self.advance(id, now_ps),
        }
    }

    /// A message that waits for nothing but its sender's interface.
    fn pass_freely(&mut self, id: MessageId, at_ps: u64) {
        let (segment, length_bytes) = self.law(id);
        let Message { source, destination, extra_ps, .. } = self.messages[id];
        if source == destination {
            let copy_ps = self.machine.node.copy.times(length_bytes);
            let copied_ps = at_ps + copy_ps.saturating_add_signed(extra_ps);
            self.taken(id, copied_ps);
            return self.arrived(id, copied_ps);
        }
        let interface_free_ps = &mut self.ranks[source].interface_free_ps;
        let start_ps = at_ps.max(*interface_free_ps);
        let wire_ps = segment.wire.times(length_bytes);
        *interface_free_ps = start_ps + wire_ps.max(segment.gap_ps);
        let n_hops = self.routes.hops(source, destination).max(1) as u64;
        let way_ps = segment.latency_ps + (n_hops - 1) * segment.hop_ps;
        self.taken(id, start_ps + wire_ps);
        self.arrived(id, start_ps + (way_ps + wire_ps).saturating_add_signed(extra_ps));
    }

    /// The numbers for a message, and its bytes on the wire.
    fn law(&self, id: MessageId) -> (Segment, u64) {
        let length_bytes = self.messages[id].body.len();
        (*self.machine.segment(length_bytes as u64), self.wire_bytes(length_bytes))
    }

    /// The header of a message takes one link after the other, as far as it gets at `now_ps`.
    pub(super) fn advance(&mut self, id: MessageId, mut now_ps: u64) {
        loop {
            let Message { source, destination, passage, .. } = self.messages[id];
            let Some(link) = self.link(source, destination, passage.n_taken) else {
                return self.pass(id, now_ps);
            };
            let Some(taken_ps) = self.take(id, link, now_ps) else { return };
            let onward_ps = taken_ps + self.hop_ps(id);
            self.messages[id].passage.n_taken += 1;
            if onward_ps > now_ps {
                return self.queue.push(onward_ps, Event::Header(id));
            }
            now_ps = onward_ps;
        }
    }

    /// The link that a header needs that has taken `n_taken`; `None` at the end of the way.
    fn link(&self, source: Rank, destination: Rank, n_taken: usize) -> Option<usize> {
        let (n_links, n_ranks) = (self.routes.n_links(), self.ranks.len());
        let Some(step) = n_taken.checked_sub(1) else { return Some(n_links + source) };
        let interface = n_links + n_ranks + destination;
        match self.routes.next(source, destination, step) {
            Some(link) => Some(link),
            None => (step == self.routes.hops(source, destination)).then_some(interface),
        }
    }

    /// What the header needs from the link that it takes now to the next: nothing from and to the
    /// interfaces, which are at the ends of the first and the last link.
    fn hop_ps(&self, id: MessageId) -> u64 {
        let Message { source, destination, passage, ref body, .. } = self.messages[id];
        let is_between = (1..self.routes.hops(source, destination)).contains(&passage.n_taken);
        if is_between { self.machine.segment(body.len() as u64).hop_ps } else { 0 }
    }

    /// When the header takes `link` that wants it at `now_ps`; `None` if it has to wait until it is
    /// told.
    fn take(&mut self, id: MessageId, link: usize, now_ps: u64) -> Option<u64> {
        let (segment, length_bytes) = self.law(id);
        match &mut self.links {
            Links::Free => Some(now_ps),
            Links::CutThrough(busy_until_ps) => {
                let is_interface = link >= self.routes.n_links();
                let network = &self.machine.network;
                let per_byte = if is_interface { segment.wire } else { network.link_per_byte };
                let taken_ps = now_ps.max(busy_until_ps[link]);
                busy_until_ps[link] = taken_ps + per_byte.times(length_bytes);
                Some(taken_ps)
            }
            Links::Circuit(circuits) => {
                let circuit = &mut circuits[link];
                if !std::mem::replace(&mut circuit.is_taken, true) {
                    return Some(now_ps);
                }
                if let Some((_, last)) = circuit.waiting {
                    self.messages[last].passage.next = Some(id);
                }
                circuit.waiting = Some((circuit.waiting.map_or(id, |(first, _)| first), id));
                None
            }
        }
    }

    /// The header of a message has come to its receiver at `now_ps`, and the bytes follow.
    fn pass(&mut self, id: MessageId, now_ps: u64) {
        let (segment, length_bytes) = self.law(id);
        let Message { source, destination, extra_ps, .. } = self.messages[id];
        let wire_ps = segment.wire.times(length_bytes);
        if matches!(self.links, Links::Circuit(_)) {
            let free_ps = now_ps + wire_ps.max(segment.gap_ps);
            self.queue.push(free_ps, Event::Tail(source, destination));
        }
        self.taken(id, now_ps + wire_ps);
        let way_ps = segment.latency_ps + wire_ps;
        self.arrived(id, now_ps + way_ps.saturating_add_signed(extra_ps));
    }

    /// The tail of a message has passed: its links are free, or go to those who wait for them.
    pub(super) fn release(&mut self, source: Rank, destination: Rank, now_ps: u64) {
        for n_taken in 0.. {
            let Some(link) = self.link(source, destination, n_taken) else { return };
            let Links::Circuit(circuits) = &mut self.links else { return };
            let Some((first, last)) = circuits[link].waiting else {
                circuits[link].is_taken = false;
                continue;
            };
            let next = self.messages[first].passage.next.take();
            circuits[link].waiting = next.map(|next| (next, last));
            // Free for this moment only, in which the first that waits takes it again.
            circuits[link].is_taken = false;
            self.advance(first, now_ps);
        }
    }
}
