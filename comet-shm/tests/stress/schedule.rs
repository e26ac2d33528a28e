//! Operations of a round, and their order on each rank.
//!
//! The messages of a round are numbered, and collectives happen between two numbers. A rank calls
//! what belongs to it in the order of these numbers, but sends may come earlier, receives may be
//! posted earlier, and may be waited for later. This cannot deadlock: whoever waits at some number
//! waits for a rank that has got less far, and of the ranks that wait one has got least far.

use std::collections::BTreeMap;

use comet_core::collective::{Collective as Call, Element, Kind, Operator, Parts, Reducer};
use comet_core::transport::{Rank, Source, Tag};
use oorandom::Rand64;

/// Tags of a round; no other round has them.
const N_TAGS: usize = 6;
/// Lengths around which a transport changes its ways.
const SHORT_BYTES: [u64; 10] = [0, 1, 8, 32, 48, 60, 64, 108, 168, 1024];
const LONG_BYTES: [u64; 5] = [4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10];
const LONGEST_BYTES: [u64; 3] = [128 << 10, 1 << 20, 3 << 20];
/// Messages of a burst are shorter: they fill the ring of lines.
const BURST_BYTES: usize = 4200;

/// One message. All of it, its data too, follows from the seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    pub(crate) source: Rank,
    pub(crate) destination: Rank,
    pub(crate) tag: Tag,
    pub(crate) length_bytes: usize,
    /// Of the pattern that it carries.
    pub(crate) pattern: u64,
}

/// Operations of all ranks together.
#[derive(Clone, Debug)]
pub(crate) enum Collective {
    Barrier,
    Sum,
    VectorSum {
        n: usize,
    },
    Broadcast {
        root: Rank,
        length_bytes: usize,
        pattern: u64,
    },
    /// Any other.
    Call(Box<Call>),
    /// A window with a slot of so many bytes for each rank, from its making to its end.
    Window {
        slot_bytes: usize,
        pattern: u64,
    },
}

/// The common facts of a round.
#[derive(Debug)]
pub(crate) struct Round {
    pub(crate) messages: Vec<Message>,
    /// Each after how many messages it comes.
    pub(crate) collectives: Vec<(usize, Collective)>,
    /// For what a rank decides for itself.
    seed: u128,
}

/// A receive of one rank; the k-th that accepts a message gets the k-th that comes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Receive {
    pub(crate) source: Source,
    pub(crate) tag: Tag,
    pub(crate) capacity_bytes: usize,
}

/// One call; numbers are those of the rank's sends and receives in its [`Part`].
#[derive(Clone, Debug)]
pub(crate) enum Step {
    BlockedSend(usize),
    StartSend(usize),
    FinishSend(usize),
    BlockedRecv(usize),
    ProbeAndRecv(usize),
    StartRecv(usize),
    FinishRecv(usize),
    Collective(Collective),
    /// Long enough for the others to fall asleep.
    Pause,
}

/// Operations of one rank in a round.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) sends: Vec<Message>,
    pub(crate) receives: Vec<Receive>,
    pub(crate) steps: Vec<Step>,
    pub(crate) random: Rand64,
}

impl Round {
    pub(crate) fn new(seed: usize, number: usize, n_ranks: usize) -> Self {
        let seed = ((seed as u128) << 32) | number as u128;
        let mut random = Rand64::new(seed);
        let n_messages = n_ranks + below(&mut random, 150 + 10 * n_ranks);
        let mut messages = Vec::new();
        while messages.len() < n_messages {
            add_burst(&mut messages, &mut random, number, n_ranks);
        }
        let mut collectives = Vec::new();
        for _ in 0..below(&mut random, 6) {
            let position = below(&mut random, n_messages);
            let n = 1 + below(&mut random, 6);
            let any = || (position, any_collective(&mut random, n_ranks));
            collectives.extend(std::iter::repeat_with(any).take(n));
        }
        collectives.sort_by_key(|(position, _)| *position);
        Self { messages, collectives, seed }
    }

    /// Operations of `rank`.
    pub(crate) fn part(&self, rank: Rank) -> Part {
        let mut random = Rand64::new(self.seed ^ ((rank as u128 + 1) << 96));
        let mut calls: Vec<(usize, Step)> = self
            .collectives
            .iter()
            .map(|(at, what)| (4 * at + 3, Step::Collective(what.clone())))
            .collect();
        let sends = self.sends(rank, &mut random, &mut calls);
        let receives = self.receives(rank, &mut random, &mut calls);
        for _ in 0..below(&mut random, 3) {
            calls.push((4 * below(&mut random, self.messages.len()), Step::Pause));
        }
        // Stable: what has one key stays in the order in which it was pushed.
        calls.sort_by_key(|(key, _)| *key);
        Part { sends, receives, steps: calls.into_iter().map(|(_, step)| step).collect(), random }
    }

    /// The sends of `rank`: each at its number or before.
    fn sends(
        &self,
        rank: Rank,
        random: &mut Rand64,
        calls: &mut Vec<(usize, Step)>,
    ) -> Vec<Message> {
        let all = self.messages.iter().enumerate();
        let (numbers, sends): (Vec<_>, Vec<_>) =
            all.filter(|(_, message)| message.source == rank).map(|(i, m)| (i, *m)).unzip();
        let keys = numbers.iter().map(|number| 4 * earlier(random, *number)).collect();
        let keys = in_order(keys, |index| (sends[index].destination, sends[index].tag));
        for (index, key) in keys.into_iter().enumerate() {
            if below(random, 2) == 0 {
                calls.push((key, Step::BlockedSend(index)));
            } else {
                let wait = key + 4 * below(random, self.messages.len());
                calls.extend([(key, Step::StartSend(index)), (wait, Step::FinishSend(index))]);
            }
        }
        sends
    }

    /// The receives of `rank`: each posted before or after its number, and waited for after it.
    fn receives(
        &self,
        rank: Rank,
        random: &mut Rand64,
        calls: &mut Vec<(usize, Step)>,
    ) -> Vec<Receive> {
        let all = self.messages.iter().enumerate();
        let numbers: Vec<usize> =
            all.filter(|(_, message)| message.destination == rank).map(|(i, _)| i).collect();
        let receives: Vec<_> = numbers.iter().map(|i| self.receive_for(*i, random)).collect();
        let keys = numbers.iter().map(|number| match below(random, 2) {
            0 => 4 * earlier(random, *number) + 1,
            _ => 4 * (number + below(random, 4)) + 2,
        });
        let stream = |index: usize| {
            let Receive { source, tag, .. } = receives[index];
            (matches!(source, Source::Rank(_)).then_some(self.messages[numbers[index]].source), tag)
        };
        let keys = in_order(keys.collect(), stream);
        for (index, key) in keys.into_iter().enumerate() {
            let earliest = 4 * numbers[index] + 2;
            match below(random, 3) {
                0 if key >= earliest => calls.push((key, Step::BlockedRecv(index))),
                1 if key >= earliest => calls.push((key, Step::ProbeAndRecv(index))),
                _ => {
                    let wait = key.max(earliest + 4 * below(random, self.messages.len()));
                    calls.extend([(key, Step::StartRecv(index)), (wait, Step::FinishRecv(index))]);
                }
            }
        }
        receives
    }

    /// A receive for message `number`: from any rank, or perhaps with too small a buffer.
    fn receive_for(&self, number: usize, random: &mut Rand64) -> Receive {
        let Message { source, destination, tag, length_bytes, .. } = self.messages[number];
        if tag.value() % 2 == 0 {
            let may_come = |m: &&Message| m.destination == destination && m.tag == tag;
            let lengths = self.messages.iter().filter(may_come).map(|m| m.length_bytes);
            let capacity_bytes = lengths.max().expect("there is this message");
            return Receive { source: Source::Any, tag, capacity_bytes };
        }
        let capacity_bytes = match below(random, 16) {
            0 => below(random, length_bytes.max(1)),
            1 => length_bytes + below(random, 100),
            _ => length_bytes,
        };
        Receive { source: Source::Rank(source), tag, capacity_bytes }
    }
}

/// Adds one message, or now and then so many from one rank to another that their ring fills up.
fn add_burst(messages: &mut Vec<Message>, random: &mut Rand64, round: usize, n_ranks: usize) {
    let (source, destination) = (below(random, n_ranks), below(random, n_ranks));
    let tag = Tag::new(u16::try_from(round * N_TAGS + below(random, N_TAGS)).expect("few rounds"));
    let is_burst = below(random, 30) == 0;
    for _ in 0..if is_burst { 100 } else { 1 } {
        let length_bytes = if is_burst { below(random, BURST_BYTES) } else { any_length(random) };
        let pattern = random.rand_u64();
        messages.push(Message { source, destination, tag, length_bytes, pattern });
    }
}

fn any_collective(random: &mut Rand64, n_ranks: usize) -> Collective {
    match below(random, 8) {
        0 => Collective::Barrier,
        1 => Collective::Sum,
        2 => Collective::VectorSum { n: any_length(random) / 8 },
        3..6 => Collective::Call(Box::new(any_call(random, n_ranks))),
        6 => Collective::Window {
            slot_bytes: any_length(random) / n_ranks,
            pattern: random.rand_u64(),
        },
        _ => Collective::Broadcast {
            root: below(random, n_ranks),
            length_bytes: any_length(random),
            pattern: random.rand_u64(),
        },
    }
}

/// A collective with equal parts, or with parts of any lengths where it admits them; its whole message
/// is of any length.
fn any_call(random: &mut Rand64, n_ranks: usize) -> Call {
    let of_all = |kind: &&Kind| !kind.is_among_neighbours();
    let kinds: Vec<Kind> = Kind::ALL[2..].iter().filter(of_all).copied().collect();
    let kind = kinds[below(random, kinds.len())];
    let element = Element::ALL[below(random, Element::ALL.len())];
    let operator = [Operator::Sum, Operator::Min, Operator::Max][below(random, 3)];
    let unit = if kind.is_reduction() { element.bytes() } else { 1 };
    let total_bytes = any_length(random);
    let has_parts = !kind.is_reduction() || kind == Kind::ReduceScatter;
    let length_bytes = if has_parts { total_bytes / n_ranks } else { total_bytes };
    let parts = match has_parts && kind != Kind::Alltoall && below(random, 2) == 0 {
        true => {
            let length = |_| below(random, 2 * length_bytes / unit + 1) * unit;
            Parts::packed((0..n_ranks).map(length).collect())
        }
        false => Parts::Equal(length_bytes / unit * unit),
    };
    let by = Reducer::new(element, operator).expect("they are operators on numbers");
    let call = Call::new(kind, parts).with_root(below(random, n_ranks)).with_reducer(by);
    if below(random, 4) == 0 { call.in_place() } else { call }
}

/// Mostly a length at a border, one less or one more; otherwise any up to 256 KiB.
fn any_length(random: &mut Rand64) -> usize {
    let borders: &[u64] = match below(random, 40) {
        0 => &LONGEST_BYTES,
        1..10 => &LONG_BYTES,
        10..30 => &SHORT_BYTES,
        _ => {
            let power = 1 + below(random, 18);
            return below(random, 1 << power);
        }
    };
    let border = borders[below(random, borders.len())];
    let length = (border + random.rand_range(0..3)).saturating_sub(1);
    usize::try_from(length).expect("lengths are short")
}

/// A number up to `number`: every other time that one.
fn earlier(random: &mut Rand64, number: usize) -> usize {
    if below(random, 2) == 0 { number } else { below(random, number + 1) }
}

/// The same keys, ascending along each stream, so that what must not overtake does not.
fn in_order<S: Ord>(keys: Vec<usize>, stream: impl Fn(usize) -> S) -> Vec<usize> {
    let mut of_stream: BTreeMap<S, Vec<usize>> = BTreeMap::new();
    for (index, key) in keys.iter().enumerate() {
        of_stream.entry(stream(index)).or_default().push(*key);
    }
    of_stream.values_mut().for_each(|keys| keys.sort_unstable_by(|a, b| b.cmp(a)));
    let mut next = |index| of_stream.get_mut(&stream(index)).and_then(Vec::pop);
    (0..keys.len()).map(|index| next(index).expect("there are as many keys")).collect()
}

/// A random number below `limit`.
pub(crate) fn below(random: &mut Rand64, limit: usize) -> usize {
    usize::try_from(random.rand_range(0..limit as u64)).expect("it is below a usize")
}
