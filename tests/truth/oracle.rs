//! The truth: the law of a simulated machine, followed call by call without any cleverness.
//!
//! ```text
//!   each rank     goes on with its own program until it has to wait
//!   all wait      what is next in virtual time happens: a message takes a link, a link gets free,
//!                 a rank that receives from any rank or polls has its turn
//! ```
//!
//! It reads the same [`Machine`] as the engine, and shares nothing else with it: no queue, no
//! shortcut for networks without contention, no message that is matched before its time.

use std::collections::{BTreeMap, HashMap, VecDeque};

use comet_core::transport::Rank;
use comet_sim::machine::{Machine, PerByte, Protocol, Segment, Shape, Switching};

/// Tells messages between two ranks apart.
pub(crate) type Label = u16;

/// One step of a rank; a call of the transport is one or a few of them (see `recording.rs`).
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// The sender's CPU hands over a message.
    Start { to: Rank, label: Label, n_bytes: u64 },
    /// Waits for the oldest send that was not waited for.
    EndSend,
    /// Posts a receive, from any rank if none is named.
    Post { from: Option<Rank>, label: Label },
    /// Waits for the oldest receive that was not waited for.
    EndRecv,
    /// The CPU is busy, in picoseconds.
    Busy(u64),
    /// A computation, in picoseconds; an operation of its own.
    Work(u64),
    /// Reads the clock.
    Read,
    /// Goes on so many steps further if there is a message, and with the next step otherwise.
    GoIfHere { from: Rank, label: Label, by: isize },
    /// Goes on so many steps further if the message received last was empty.
    GoIfEmpty { by: isize },
    /// Goes on so many steps further.
    Go { by: isize },
}

/// A link, or the interface of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Link {
    Out(Rank),
    Wire { corner: usize, dim: u32 },
    In(Rank),
}

#[derive(Debug)]
struct Message {
    from: Rank,
    to: Rank,
    label: Label,
    n_bytes: u64,
    law: Segment,
    /// True if its send ends when the sender's CPU is done with it.
    is_eager: bool,
    known_ps: Option<u64>,
    taken_ps: Option<u64>,
    arrival_ps: Option<u64>,
    /// Its way, and how many links of it its header has taken.
    way: Vec<Link>,
    n_taken: usize,
    /// Time at which its header wants the next link.
    wants_ps: u64,
}

#[derive(Debug)]
struct Receive {
    rank: Rank,
    posted_ps: u64,
    message: Option<usize>,
}

/// Messages and receives from one rank to another that have not found each other.
#[derive(Debug, Default)]
struct Lane {
    sent: VecDeque<usize>,
    posted: VecDeque<usize>,
}

#[derive(Debug, Default)]
struct RankState {
    clock_ps: u64,
    /// The next step of its program.
    next: usize,
    sends: VecDeque<usize>,
    receives: VecDeque<usize>,
    n_operations: u64,
    is_last_empty: bool,
    has_turn: bool,
    readings_ns: Vec<u64>,
}

/// Next event; at equal times links get free before they are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Free(usize),
    Move { wants_ps: u64, message: usize },
    Match { receive: usize, message: usize },
    Turn(Rank),
}

struct World<'a> {
    machine: &'a Machine,
    programs: &'a [Vec<Step>],
    ranks: Vec<RankState>,
    messages: Vec<Message>,
    receives: Vec<Receive>,
    lanes: HashMap<(Rank, Rank, Label), Lane>,
    /// Messages on their way to their receiver.
    moving: Vec<usize>,
    /// Messages that still hold their circuit.
    holding: Vec<(u64, usize)>,
    /// Until when each link is taken; for ever while a circuit has it.
    busy_until_ps: BTreeMap<Link, u64>,
    /// Receives from any rank without a message, with their label.
    open: Vec<(usize, Label)>,
}

/// Readings of each rank from a true clock, in nanoseconds, as it follows its one of `programs`.
///
/// # Panics
/// If the ranks wait for each other.
pub(crate) fn truth(machine: &Machine, programs: &[Vec<Step>]) -> Vec<Vec<u64>> {
    let ranks = programs.iter().map(|_| RankState::default()).collect();
    let mut world = World {
        machine,
        programs,
        ranks,
        messages: Vec::new(),
        receives: Vec::new(),
        lanes: HashMap::new(),
        moving: Vec::new(),
        holding: Vec::new(),
        busy_until_ps: BTreeMap::new(),
        open: Vec::new(),
    };
    loop {
        for rank in 0..programs.len() {
            world.go_on(rank);
        }
        let Some((at_ps, event)) = world.next_event() else { break };
        world.happen(at_ps, event);
    }
    let is_done = |(rank, program): (&RankState, &Vec<Step>)| rank.next == program.len();
    assert!(world.ranks.iter().zip(programs).all(is_done), "the ranks wait for each other");
    world.ranks.into_iter().map(|rank| rank.readings_ns).collect()
}

impl World<'_> {
    /// Has `rank` go on until it has to wait.
    fn go_on(&mut self, rank: Rank) {
        while let Some(step) = self.programs[rank].get(self.ranks[rank].next).copied() {
            let Some(by) = self.step(rank, step) else { return };
            let next = &mut self.ranks[rank].next;
            *next = next.checked_add_signed(by).expect("no step leads before the first");
        }
    }

    /// Does one step; how many to go on, or `None` if it has to wait.
    fn step(&mut self, rank: Rank, step: Step) -> Option<isize> {
        match step {
            Step::Start { to, label, n_bytes } => self.send(rank, to, label, n_bytes),
            Step::EndSend => self.end_send(rank)?,
            Step::Post { from, label } => self.post(rank, from, label),
            Step::EndRecv => self.end_recv(rank)?,
            Step::Busy(busy_ps) => self.spend(rank, busy_ps),
            Step::Work(work_ps) => {
                self.begin(rank);
                self.spend(rank, work_ps);
            }
            Step::Read => {
                let own = &mut self.ranks[rank];
                own.clock_ps += self.machine.clock.call_cost_ps;
                own.readings_ns.push(own.clock_ps / 1000);
            }
            Step::GoIfHere { from, label, by } => {
                return self.is_here(rank, from, label).map(|is_here| if is_here { by } else { 1 });
            }
            Step::GoIfEmpty { by } => {
                return Some(if self.ranks[rank].is_last_empty { by } else { 1 });
            }
            Step::Go { by } => return Some(by),
        }
        Some(1)
    }

    /// Counts an operation, before which the rank may stand still.
    fn begin(&mut self, rank: Rank) {
        let own = &mut self.ranks[rank];
        for delay in &self.machine.faults.delays {
            if (delay.rank, delay.operation) == (rank, own.n_operations) {
                own.clock_ps += delay.delay_ps;
            }
        }
        own.n_operations += 1;
    }

    /// The CPU of a rank is busy; that of a slow one for longer.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "times are far below 2^53 ps, and not negative"
    )]
    fn spend(&mut self, rank: Rank, busy_ps: u64) {
        let slow = self.machine.faults.slow_ranks.iter().find(|(slow, _)| *slow == rank);
        let factor = slow.map_or(1.0, |(_, factor)| *factor);
        self.ranks[rank].clock_ps += (busy_ps as f64 * factor).round() as u64;
    }

    fn send(&mut self, from: Rank, to: Rank, label: Label, n_user_bytes: u64) {
        let law = law(self.machine, n_user_bytes);
        let n_bytes = n_user_bytes + self.machine.envelope_bytes;
        self.begin(from);
        self.spend(from, law.o_send_ps + time_ps(law.send, n_bytes));
        let ready_ps = self.ranks[from].clock_ps;
        let protocol = if from == to { Protocol::Eager } else { law.protocol };
        let is_eager = protocol == Protocol::Eager;
        let way = way(&self.machine.network.shape, from, to);
        let known_ps = (!is_eager).then_some(ready_ps + law.handshake_ps / 2);
        let message = Message {
            from,
            to,
            label,
            n_bytes,
            law,
            is_eager,
            known_ps,
            taken_ps: None,
            arrival_ps: None,
            way,
            n_taken: 0,
            wants_ps: ready_ps + if is_eager { 0 } else { law.handshake_ps },
        };
        let id = self.messages.len();
        self.messages.push(message);
        self.ranks[from].sends.push_back(id);
        if from == to {
            self.arrive(id, ready_ps + time_ps(self.machine.node.copy, n_bytes));
        } else if protocol != Protocol::Rendezvous {
            self.moving.push(id);
        }
        let lane = self.lanes.entry((from, to, label)).or_default();
        match lane.posted.pop_front() {
            Some(receive) => self.pair(receive, id),
            None => lane.sent.push_back(id),
        }
    }

    fn end_send(&mut self, rank: Rank) -> Option<()> {
        let message = &self.messages[*self.ranks[rank].sends.front()?];
        let taken_ps = if message.is_eager { 0 } else { message.taken_ps? };
        let own = &mut self.ranks[rank];
        own.sends.pop_front();
        own.clock_ps = own.clock_ps.max(taken_ps);
        Some(())
    }

    fn post(&mut self, rank: Rank, from: Option<Rank>, label: Label) {
        let id = self.receives.len();
        self.receives.push(Receive { rank, posted_ps: self.ranks[rank].clock_ps, message: None });
        self.ranks[rank].receives.push_back(id);
        let Some(from) = from else { return self.open.push((id, label)) };
        let lane = self.lanes.entry((from, rank, label)).or_default();
        match lane.sent.pop_front() {
            Some(message) => self.pair(id, message),
            None => lane.posted.push_back(id),
        }
    }

    /// A receive and a message have found each other, which is what a rendezvous waits for.
    fn pair(&mut self, receive: usize, id: usize) {
        self.receives[receive].message = Some(id);
        let message = &mut self.messages[id];
        if message.law.protocol == Protocol::Rendezvous && !message.is_eager {
            let request_ps = message.known_ps.expect("a request is known when it is sent");
            let grant_ps = message.law.handshake_ps - message.law.handshake_ps / 2;
            message.wants_ps = request_ps.max(self.receives[receive].posted_ps) + grant_ps;
            self.moving.push(id);
        }
    }

    fn end_recv(&mut self, rank: Rank) -> Option<()> {
        let receive = &self.receives[*self.ranks[rank].receives.front()?];
        let message = &self.messages[receive.message?];
        let (arrival_ps, law, n_bytes) = (message.arrival_ps?, message.law, message.n_bytes);
        let is_late = message.known_ps < Some(receive.posted_ps);
        let copy_ps = if is_late { time_ps(law.unexpected, n_bytes) } else { 0 };
        self.begin(rank);
        let own = &mut self.ranks[rank];
        own.receives.pop_front();
        own.is_last_empty = n_bytes == self.machine.envelope_bytes;
        own.clock_ps = own.clock_ps.max(arrival_ps);
        self.spend(rank, law.o_recv_ps + time_ps(law.recv, n_bytes) + copy_ps);
        Some(())
    }

    /// True if there is a message, which a rank can tell when it has its turn.
    fn is_here(&mut self, rank: Rank, from: Rank, label: Label) -> Option<bool> {
        let own = &mut self.ranks[rank];
        if !std::mem::take(&mut own.has_turn) {
            return None;
        }
        let first = self.lanes.get(&(from, rank, label)).and_then(|lane| lane.sent.front());
        let known_ps = first.and_then(|id| self.messages[*id].known_ps);
        Some(known_ps.is_some_and(|known_ps| known_ps <= own.clock_ps))
    }

    /// Next event while all ranks wait.
    fn next_event(&self) -> Option<(u64, Event)> {
        let frees = self.holding.iter().map(|(at_ps, id)| (*at_ps, Event::Free(*id)));
        let moves = self.moving.iter().filter_map(|id| {
            let Message { wants_ps, .. } = self.messages[*id];
            Some((self.takes_ps(*id)?, Event::Move { wants_ps, message: *id }))
        });
        let matches = self.open.iter().filter_map(|(receive, label)| {
            let (known_ps, message) = self.first_for(self.receives[*receive].rank, *label)?;
            let at_ps = known_ps.max(self.receives[*receive].posted_ps);
            Some((at_ps, Event::Match { receive: *receive, message }))
        });
        let turns = (0..self.ranks.len()).filter_map(|rank| {
            let own = &self.ranks[rank];
            let next = self.programs[rank].get(own.next)?;
            matches!(next, Step::GoIfHere { .. }).then_some((own.clock_ps, Event::Turn(rank)))
        });
        frees.chain(moves).chain(matches).chain(turns).min()
    }

    fn happen(&mut self, at_ps: u64, event: Event) {
        match event {
            Event::Free(id) => {
                self.holding.retain(|(_, holder)| *holder != id);
                let Message { law, n_bytes, ref way, .. } = self.messages[id];
                // The interface of the sender keeps its distance to the next message.
                let more_ps = law.gap_ps.saturating_sub(time_ps(law.wire, n_bytes));
                for link in way {
                    let more_ps = if matches!(link, Link::Out(_)) { more_ps } else { 0 };
                    self.busy_until_ps.insert(*link, at_ps + more_ps);
                }
            }
            Event::Move { message, .. } => self.advance(message, at_ps),
            Event::Match { receive, message } => {
                self.open.retain(|(open, _)| *open != receive);
                let Message { from, to, label, .. } = self.messages[message];
                let lane = self.lanes.get_mut(&(from, to, label)).expect("it was sent there");
                lane.sent.pop_front();
                self.pair(receive, message);
            }
            Event::Turn(rank) => self.ranks[rank].has_turn = true,
        }
    }

    /// The message of which `rank` learns first, of those that no receive has.
    fn first_for(&self, rank: Rank, label: Label) -> Option<(u64, usize)> {
        let firsts = self.lanes.iter().filter(|((_, to, of), _)| (*to, *of) == (rank, label));
        firsts
            .filter_map(|(_, lane)| {
                let id = *lane.sent.front()?;
                Some((self.messages[id].known_ps?, id))
            })
            .min()
    }

    /// Time at which the header of a message can take its next link, if known.
    fn takes_ps(&self, id: usize) -> Option<u64> {
        let message = &self.messages[id];
        if self.machine.network.switching.is_none() {
            return Some(message.wants_ps);
        }
        let busy_until_ps = self.busy_until_ps.get(&message.way[message.n_taken]);
        let free_ps = busy_until_ps.copied().unwrap_or(0);
        (free_ps < u64::MAX).then_some(message.wants_ps.max(free_ps))
    }

    /// The header of a message takes its next link at `at_ps`.
    fn advance(&mut self, id: usize, at_ps: u64) {
        let link_per_byte = self.machine.network.link_per_byte;
        let Some(switching) = self.machine.network.switching else { return self.inject(id, at_ps) };
        let message = &mut self.messages[id];
        let link = message.way[message.n_taken];
        let is_wire = matches!(link, Link::Wire { .. });
        let per_byte = if is_wire { link_per_byte } else { message.law.wire };
        let busy_until_ps = match switching {
            Switching::Circuit => u64::MAX,
            Switching::CutThrough => {
                let gap_ps = if matches!(link, Link::Out(_)) { message.law.gap_ps } else { 0 };
                at_ps + time_ps(per_byte, message.n_bytes).max(gap_ps)
            }
        };
        self.busy_until_ps.insert(link, busy_until_ps);
        message.n_taken += 1;
        // The first and the last link of a way lie at the interfaces.
        let is_between = is_wire && message.n_taken + 1 < message.way.len();
        message.wants_ps = at_ps + if is_between { message.law.hop_ps } else { 0 };
        if message.n_taken == message.way.len() {
            let wire_ps = time_ps(message.law.wire, message.n_bytes);
            if switching == Switching::Circuit {
                self.holding.push((at_ps + wire_ps, id));
            }
            self.deliver(id, at_ps, 0);
        }
    }

    /// A message for which only the interface of its sender counts.
    fn inject(&mut self, id: usize, at_ps: u64) {
        let message = &self.messages[id];
        let law = message.law;
        let n_between = (message.way.len() - 3) as u64;
        let out = self.busy_until_ps.entry(Link::Out(message.from)).or_default();
        let start_ps = at_ps.max(*out);
        *out = start_ps + time_ps(law.wire, message.n_bytes).max(law.gap_ps);
        self.deliver(id, start_ps, n_between * law.hop_ps);
    }

    /// The bytes of a message follow its header from `start_ps` on.
    fn deliver(&mut self, id: usize, start_ps: u64, hops_ps: u64) {
        self.moving.retain(|moving| *moving != id);
        let message = &mut self.messages[id];
        let taken_ps = start_ps + time_ps(message.law.wire, message.n_bytes);
        message.taken_ps = Some(taken_ps);
        let latency_ps = message.law.latency_ps;
        self.arrive(id, taken_ps + latency_ps + hops_ps);
    }

    fn arrive(&mut self, id: usize, arrival_ps: u64) {
        let message = &mut self.messages[id];
        message.arrival_ps = Some(arrival_ps);
        message.known_ps = message.known_ps.or(Some(arrival_ps));
    }
}

/// Number of operations in those steps, as faults and noise count them.
pub(crate) fn n_operations(steps: &[Step]) -> u64 {
    let is_one = |step: &&Step| matches!(step, Step::Start { .. } | Step::EndRecv | Step::Work(_));
    steps.iter().filter(is_one).count() as u64
}

/// Cost of a message of `n_bytes` bytes.
pub(crate) fn law(machine: &Machine, n_bytes: u64) -> Segment {
    let n_bytes = n_bytes + machine.envelope_bytes;
    let ends_before = |segment: &&Segment| segment.up_to_bytes.is_some_and(|n| n < n_bytes);
    machine.segments[machine.segments.iter().take_while(ends_before).count()]
}

/// The time of so many bytes in picoseconds, to the nearest.
pub(crate) fn time_ps(per_byte: PerByte, n_bytes: u64) -> u64 {
    (per_byte.0 * n_bytes + (1 << 19)) >> 20
}

/// The way from one rank to another: e-cube on a hypercube, one port on a crossbar.
fn way(shape: &Shape, from: Rank, to: Rank) -> Vec<Link> {
    let mut way = vec![Link::Out(from)];
    match shape {
        Shape::Flat => way.push(Link::Wire { corner: to, dim: 0 }),
        Shape::Hypercube => {
            let mut corner = from;
            for dim in (0..usize::BITS).filter(|dim| (from ^ to) >> dim & 1 == 1) {
                way.push(Link::Wire { corner, dim });
                corner ^= 1 << dim;
            }
        }
        other => panic!("the truth knows no {other:?}"),
    }
    way.push(Link::In(to));
    way
}
