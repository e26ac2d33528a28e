//! Schedules: the messages of all ranks in a collective operation, step by step, as if each message
//! took one step.

use std::collections::{HashMap, VecDeque};

use super::algorithm::Algorithm;
use super::call::Collective;
use super::plan::{Memory, Message, Plan};
use crate::transport::Rank;

/// A message of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sent {
    /// Its sender.
    pub from: Rank,
    /// Its receiver.
    pub to: Rank,
    /// Its first byte in the data that its sender gives or gets; `None` out of other memory, in which
    /// parts have been put together.
    pub start: Option<usize>,
    /// Its length in bytes.
    pub length: usize,
}

/// One rank on its way through its plan.
struct Walker {
    plan: Plan,
    /// The round that it is in.
    round: usize,
    /// The step in which that round has begun.
    since: usize,
}

/// The messages of each step of `call` by `algorithm`, which admits it, on `n_ranks` ranks. A rank
/// begins a round once all messages of the one before have arrived, a step after they were sent.
pub fn schedule(algorithm: &Algorithm, call: &Collective, n_ranks: usize) -> Vec<Vec<Sent>> {
    let walker = |rank| Walker { plan: algorithm.plan(call, rank, n_ranks), round: 0, since: 0 };
    let mut walkers: Vec<Walker> = (0..n_ranks).map(walker).collect();
    let mut steps: Vec<Vec<Sent>> = Vec::new();
    // The steps in which messages were sent that have not been received, by sender and receiver.
    let mut wires: HashMap<(Rank, Rank), VecDeque<usize>> = HashMap::new();
    for (rank, walker) in walkers.iter().enumerate() {
        send(rank, walker, &mut steps, &mut wires);
    }
    loop {
        let mut has_moved = false;
        for (rank, walker) in walkers.iter_mut().enumerate() {
            while let Some(end) = end_of_round(rank, walker, &mut wires) {
                (walker.round, walker.since) = (walker.round + 1, end);
                send(rank, walker, &mut steps, &mut wires);
                has_moved = true;
            }
        }
        if !has_moved {
            steps.iter_mut().for_each(|step| step.sort_unstable());
            return steps;
        }
    }
}

/// Sends the messages of the round that `walker` has begun.
fn send(
    rank: Rank,
    walker: &Walker,
    steps: &mut Vec<Vec<Sent>>,
    wires: &mut HashMap<(Rank, Rank), VecDeque<usize>>,
) {
    let Some(round) = walker.plan.round(walker.round) else { return };
    for message in round.messages {
        if let Message::Send { to, from } = *message {
            steps.resize_with(steps.len().max(walker.since + 1), Vec::new);
            let start = (from.memory != Memory::Scratch).then_some(from.start);
            steps[walker.since].push(Sent { from: rank, to, start, length: from.length });
            wires.entry((rank, to)).or_default().push_back(walker.since);
        }
    }
}

/// The step after the round that `walker` is in, once all of its messages have been sent.
fn end_of_round(
    rank: Rank,
    walker: &Walker,
    wires: &mut HashMap<(Rank, Rank), VecDeque<usize>>,
) -> Option<usize> {
    let round = walker.plan.round(walker.round)?;
    let mut wanted: HashMap<Rank, usize> = HashMap::new();
    for message in round.messages {
        if let Message::Recv { from, .. } = *message {
            *wanted.entry(from).or_default() += 1;
        }
    }
    let has_sent =
        |(from, n): (&Rank, &usize)| wires.get(&(*from, rank)).is_some_and(|wire| wire.len() >= *n);
    if !wanted.iter().all(has_sent) {
        return None;
    }
    let has_messages = !round.messages.is_empty();
    let mut end = walker.since + usize::from(has_messages);
    for (from, n) in wanted {
        for sent in wires.get_mut(&(from, rank)).into_iter().flat_map(|wire| wire.drain(..n)) {
            end = end.max(sent + 1);
        }
    }
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::super::algorithm::find;
    use super::super::call::Kind;
    use super::super::parts::Parts;
    use super::*;

    fn steps(
        kind: Kind,
        name: &str,
        n_ranks: usize,
        length: usize,
    ) -> Vec<Vec<(Rank, Rank, usize)>> {
        let call = Collective::new(kind, Parts::Equal(length));
        let steps = schedule(find(kind, name).expect(name), &call, n_ranks);
        let tuple = |sent: &Sent| (sent.from, sent.to, sent.length);
        steps.iter().map(|step| step.iter().map(tuple).collect()).collect()
    }

    #[test]
    fn a_binomial_tree_doubles_the_ranks_that_have_the_message() {
        let found = steps(Kind::Broadcast, "binomial", 8, 10);
        let counts: Vec<usize> = found.iter().map(Vec::len).collect();
        assert_eq!(counts, [1, 2, 4]);
        assert_eq!(found[0], [(0, 4, 10)]);
        assert_eq!(found[2], [(0, 1, 10), (2, 3, 10), (4, 5, 10), (6, 7, 10)]);
    }

    #[test]
    fn ranks_of_recursive_doubling_exchange_with_ever_farther_ones() {
        let found = steps(Kind::Allreduce, "recursive_doubling", 4, 8);
        let near = vec![(0, 1, 8), (1, 0, 8), (2, 3, 8), (3, 2, 8)];
        let far = vec![(0, 2, 8), (1, 3, 8), (2, 0, 8), (3, 1, 8)];
        assert_eq!(found, [near, far]);
    }

    #[test]
    fn a_ring_moves_every_part_past_every_rank() {
        let found = steps(Kind::Allgather, "ring", 5, 3);
        assert_eq!(found.len(), 4);
        assert!(found.iter().all(|step| step.len() == 5), "{found:?}");
        assert_eq!(found[0][4], (4, 0, 3));
    }
}
