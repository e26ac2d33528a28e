//! The way of a message through the network: free, or over links that it has to wait for.
//!
//! ```text
//!   interface of the sender ─ link ─ link ─ … ─ link ─ interface of the receiver
//!   circuit        the header takes one after the other, keeps those it has while it waits, and all
//!                  are free again when the tail has passed
//!   cut-through    each is busy while the message passes; the header goes ahead
//! ```

use comet_core::transport::Rank;

use super::state::{UNKNOWN_PS, Way};
use super::{Engine, Event, Message, MessageId};
use crate::machine::{Segment, Switching};
use crate::route::Routes;

/// The state of all links; the interfaces of the ranks are links too.
#[derive(Debug)]
pub(super) enum Links {
    /// Messages never wait for links, only for the interface of their sender.
    Free,
    /// State of each link, the [word](Hold::word) of a [`Hold`].
    Circuit(Vec<u64>),
    /// Until when each link is busy.
    CutThrough(Vec<u64>),
}

/// State of a link of a circuit-switched network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    /// Free from that time on.
    Until(u64),
    /// Held by a message that still waits for other links; nobody waits for it.
    Unknown,
    /// As above, and messages wait: the last of them, whose [`next`](Message::next) is the first.
    Awaited(MessageId),
}

impl Hold {
    /// Least word that is no time: 2^63 ps are 106 days.
    const FIRST_ID: u64 = 1 << 63;

    /// The state in one word, since there may be millions: a time is itself.
    fn word(self) -> u64 {
        match self {
            Self::Until(free_ps) => {
                debug_assert!(free_ps < Self::FIRST_ID, "{free_ps} ps are a time");
                free_ps
            }
            Self::Unknown => UNKNOWN_PS,
            Self::Awaited(last) => Self::FIRST_ID | u64::from(last),
        }
    }

    /// The state of that [`word`](Self::word).
    #[expect(clippy::cast_possible_truncation, reason = "what is left of an id has 32 bits")]
    fn of(word: u64) -> Self {
        match word {
            UNKNOWN_PS => Self::Unknown,
            Self::FIRST_ID.. => Self::Awaited((word - Self::FIRST_ID) as MessageId),
            free_ps => Self::Until(free_ps),
        }
    }
}

impl Links {
    pub(super) fn new(switching: Option<Switching>, routes: &Routes, n_ranks: usize) -> Self {
        let n_links = routes.n_links() + 2 * n_ranks;
        match switching {
            None => Self::Free,
            Some(Switching::Circuit) => Self::Circuit(vec![0; n_links]),
            Some(Switching::CutThrough) => Self::CutThrough(vec![0; n_links]),
        }
    }
}

impl Engine {
    /// Gives a message to the network at `at_ps`.
    pub(super) fn launch(&mut self, id: MessageId, at_ps: u64) {
        let message = self.message_mut(id);
        message.is_started = true;
        let Message { way, send, known_ps, .. } = *message;
        let source = way.source();
        // What is got from a rank's part takes its interface too, at any time.
        let is_free = matches!(self.links, Links::Free) && self.windows.is_empty();
        // Of a rank's messages that go at once, each starts after the one before; a buffered one whose
        // request comes first starts later than others that are sent after it.
        let has_request = known_ps != UNKNOWN_PS;
        let goes_at_once = send.is_none() && !has_request && self.ranks[source].n_starting == 0;
        if way.is_local() || (is_free && goes_at_once) {
            return self.pass_freely(id, at_ps);
        }
        self.ranks[source].n_starting += 1;
        self.queue.push(at_ps, Event::Start(id));
    }

    pub(super) fn start(&mut self, id: MessageId, now_ps: u64) {
        let source = self.message(id).way.source();
        self.ranks[source].n_starting -= 1;
        match self.links {
            Links::Free => self.pass_freely(id, now_ps),
            _ => self.advance(id, now_ps),
        }
    }

    /// A message that waits for nothing but its sender's interface.
    fn pass_freely(&mut self, id: MessageId, at_ps: u64) {
        let (segment, length_bytes) = self.law(id);
        let Message { way, extra_ps, .. } = *self.message(id);
        let (source, destination) = (way.source(), way.destination());
        if way.is_local() {
            let copy_ps = self.machine.node.copy.times(length_bytes);
            let copied_ps = at_ps + copy_ps.saturating_add_signed(extra_ps);
            self.taken(id, copied_ps);
            return self.arrived(id, copied_ps);
        }
        let interface_free_ps = &mut self.ranks[source].interface_free_ps;
        let start_ps = at_ps.max(*interface_free_ps);
        let wire_ps = segment.wire.times(length_bytes);
        *interface_free_ps = start_ps + wire_ps.max(segment.gap_ps);
        let way_ps = self.way_ps(&segment, source, destination);
        self.taken(id, start_ps + wire_ps);
        self.arrived(id, start_ps + (way_ps + wire_ps).saturating_add_signed(extra_ps));
    }

    /// Time of a way over the network without bytes and without anything in the way.
    pub(super) fn way_ps(&self, segment: &Segment, source: Rank, destination: Rank) -> u64 {
        let n_hops = self.routes.hops(source, destination).max(1) as u64;
        segment.latency_ps + (n_hops - 1) * segment.hop_ps
    }

    /// The numbers for a message, and its bytes on the wire.
    fn law(&self, id: MessageId) -> (Segment, u64) {
        let Message { law, wire_bytes, .. } = *self.message(id);
        (self.laws[usize::from(law)], wire_bytes)
    }

    /// The header of a message takes one link after the other, as far as it gets at `now_ps`.
    pub(super) fn advance(&mut self, id: MessageId, now_ps: u64) {
        let Message { way, n_taken, n_hops, .. } = *self.message(id);
        let Some(link) = self.link(way.source(), way.destination(), n_taken.into(), n_hops.into())
        else {
            return self.pass(id, now_ps);
        };
        if let Some(taken_ps) = self.take(id, link, now_ps) {
            self.go_on_at(id, now_ps, taken_ps);
        }
    }

    /// The header of a message takes a link at `taken_ps`, and wants the next one after its hop.
    pub(super) fn go_on_at(&mut self, id: MessageId, now_ps: u64, taken_ps: u64) {
        let onward_ps = taken_ps + self.hop_ps(id);
        self.message_mut(id).n_taken += 1;
        if onward_ps > now_ps {
            self.queue.push(onward_ps, Event::Header(id));
        } else {
            self.advance(id, now_ps);
        }
    }

    /// The link that a header needs that has taken `n_taken`; `None` at the end of the way.
    fn link(
        &self,
        source: Rank,
        destination: Rank,
        n_taken: usize,
        n_hops: usize,
    ) -> Option<usize> {
        let n_links = self.routes.n_links();
        match n_taken.checked_sub(1) {
            None => Some(n_links + source),
            Some(step) if step < n_hops => self.routes.next(source, destination, step),
            Some(step) => (step == n_hops).then_some(n_links + self.ranks.len() + destination),
        }
    }

    /// Time that the header needs from the link that it takes now to the next: 0 from and to the
    /// interfaces, which are at the ends of the first and the last link.
    fn hop_ps(&self, id: MessageId) -> u64 {
        let Message { n_taken, n_hops, law, .. } = *self.message(id);
        let is_between = (1..n_hops).contains(&n_taken);
        if is_between { self.laws[usize::from(law)].hop_ps } else { 0 }
    }

    /// Time at which the header takes `link`; `None` if it has to wait until it is woken.
    fn take(&mut self, id: MessageId, link: usize, now_ps: u64) -> Option<u64> {
        match &mut self.links {
            Links::Free => Some(now_ps),
            Links::CutThrough(busy_until_ps) => {
                let Message { law, wire_bytes, .. } = self.messages[id as usize];
                let segment = &self.laws[usize::from(law)];
                let first = self.routes.n_links();
                let network = &self.machine.network;
                let per_byte = if link >= first { segment.wire } else { network.link_per_byte };
                let is_of_sender = (first..first + self.ranks.len()).contains(&link);
                let gap_ps = if is_of_sender { segment.gap_ps } else { 0 };
                let taken_ps = now_ps.max(busy_until_ps[link]);
                busy_until_ps[link] = taken_ps + per_byte.times(wire_bytes).max(gap_ps);
                Some(taken_ps)
            }
            Links::Circuit(circuits) => {
                let first = match Hold::of(circuits[link]) {
                    Hold::Until(free_ps) => {
                        circuits[link] = Hold::Unknown.word();
                        return Some(now_ps.max(free_ps));
                    }
                    Hold::Unknown => id,
                    Hold::Awaited(last) => {
                        let next = &mut self.messages[last as usize].next;
                        next.replace(id).expect("the last one knows the first")
                    }
                };
                self.messages[id as usize].next = Some(first);
                circuits[link] = Hold::Awaited(id).word();
                None
            }
        }
    }

    /// The header of a message has come to its receiver at `now_ps`, and the bytes follow.
    fn pass(&mut self, id: MessageId, now_ps: u64) {
        let (segment, length_bytes) = self.law(id);
        let Message { way, extra_ps, .. } = *self.message(id);
        let wire_ps = segment.wire.times(length_bytes);
        self.release(way, now_ps + wire_ps, now_ps + wire_ps.max(segment.gap_ps));
        self.taken(id, now_ps + wire_ps);
        let way_ps = segment.latency_ps + wire_ps;
        self.arrived(id, now_ps + way_ps.saturating_add_signed(extra_ps));
    }

    /// A message has all links of its `way` and leaves them at `free_ps`, and the interface of its
    /// sender at `next_ps`: they go to those who wait for them.
    fn release(&mut self, way: Way, free_ps: u64, next_ps: u64) {
        let n_hops = self.routes.hops(way.source(), way.destination());
        for n_taken in 0.. {
            let link = self.link(way.source(), way.destination(), n_taken, n_hops);
            let (Some(link), Links::Circuit(circuits)) = (link, &mut self.links) else { return };
            let free_ps = if n_taken == 0 { next_ps } else { free_ps };
            let Hold::Awaited(last) = Hold::of(circuits[link]) else {
                circuits[link] = Hold::Until(free_ps).word();
                continue;
            };
            let first = self.messages[last as usize].next.expect("the last one knows the first");
            let next = self.messages[first as usize].next.take();
            if first == last {
                circuits[link] = Hold::Unknown.word();
            } else {
                self.messages[last as usize].next = next;
            }
            self.queue.push(free_ps, Event::Grant(first));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_a_link_is_one_word() {
        for hold in [
            Hold::Until(0),
            Hold::Until(Hold::FIRST_ID - 1),
            Hold::Unknown,
            Hold::Awaited(0),
            Hold::Awaited(MessageId::MAX),
        ] {
            assert_eq!(Hold::of(hold.word()), hold);
        }
    }
}
