//! Recursive halving and doubling, for any number of ranks: what is above a power of two folds into it.

use std::ops::Range;

use super::rooted::accumulator;
use super::{Planner, block};
use crate::collective::plan::Span;
use crate::transport::Rank;

/// The ranks of a power of two, the active ones, and those that fold into them: of the first `n_pairs`
/// pairs of neighbours one is active, the odd one or that to be kept.
#[derive(Clone, Copy, Debug)]
struct Fold {
    n_active: usize,
    n_pairs: usize,
    keep: Option<Rank>,
}

impl Fold {
    fn of(n_ranks: usize, keep: Option<Rank>) -> Self {
        let n_active = 1 << n_ranks.ilog2();
        Self { n_active, n_pairs: n_ranks - n_active, keep }
    }

    /// The active rank with the number `new`.
    fn active(&self, new: usize) -> Rank {
        match new < self.n_pairs {
            true if self.keep == Some(2 * new) => 2 * new,
            true => 2 * new + 1,
            false => new + self.n_pairs,
        }
    }

    /// The number of `rank`, or of its neighbour, among the active ones.
    fn number(&self, rank: Rank) -> usize {
        if rank < 2 * self.n_pairs { rank / 2 } else { rank - self.n_pairs }
    }

    /// The neighbour of `rank` in a pair.
    fn neighbour(&self, rank: Rank) -> Option<Rank> {
        (rank < 2 * self.n_pairs).then_some(rank ^ 1)
    }
}

/// Folds the vectors `own` into those of the active ranks; `None` on the others.
fn folded(p: &mut Planner<'_>, fold: Fold, own: Span) -> Option<usize> {
    let new = fold.number(p.rank);
    let Some(neighbour) = fold.neighbour(p.rank) else { return Some(new) };
    if fold.active(new) != p.rank {
        p.send_alone(neighbour, own);
        return None;
    }
    let incoming = p.scratch(own.length);
    p.recv_alone(neighbour, incoming);
    p.combine(incoming, own);
    Some(new)
}

/// The vector `own` of the active ranks, on those that folded too.
fn unfolded(p: &mut Planner<'_>, fold: Fold, own: Span) {
    let Some(neighbour) = fold.neighbour(p.rank) else { return };
    if fold.active(fold.number(p.rank)) == p.rank {
        p.send_alone(neighbour, own);
    } else {
        p.recv_alone(neighbour, own);
    }
}

/// Recursive halving: rank number `new` has the combination of block `new` of `own` in the end, whose
/// first byte is `start(new)`.
fn halved(p: &mut Planner<'_>, fold: Fold, new: usize, own: Span, start: impl Fn(usize) -> usize) {
    let incoming = p.scratch(own.length);
    let bytes = |blocks: Range<usize>| start(blocks.start)..start(blocks.end);
    let (mut held, mut distance) = (0..fold.n_active, fold.n_active / 2);
    while distance > 0 {
        let middle = held.start + distance;
        let (low, high) = (held.start..middle, middle..held.end);
        let (kept, given) = if new & distance == 0 { (low, high) } else { (high, low) };
        let partner = fold.active(new ^ distance);
        let (out, into) = (own.at(bytes(given)), incoming.at(bytes(kept.clone())));
        p.exchange((partner, out), (partner, into));
        p.combine(into, own.at(bytes(kept.clone())));
        (held, distance) = (kept, distance / 2);
    }
}

/// Recursive doubling: rank number `new` of `n`, a power of two, has block `new` of `own`, and all
/// blocks in the end.
pub(super) fn doubled(
    p: &mut Planner<'_>,
    new: usize,
    n: usize,
    rank_of: impl Fn(usize) -> Rank,
    own: Span,
    start: impl Fn(usize) -> usize,
) {
    let mut distance = 1;
    while distance < n {
        let blocks = |number: usize| {
            let first = number & !(distance - 1);
            own.at(start(first)..start(first + distance))
        };
        let partner = rank_of(new ^ distance);
        p.exchange((partner, blocks(new)), (partner, blocks(new ^ distance)));
        distance *= 2;
    }
}

/// First byte of block `index` of the active ranks.
fn starts(p: &Planner<'_>, fold: Fold, length: usize) -> impl Fn(usize) -> usize + use<> {
    let (unit, n) = (p.call.by().element().bytes(), fold.n_active);
    move |index| if index == n { length } else { block(length, unit, index, n).start }
}

pub(super) fn recursive_doubling(p: &mut Planner<'_>) {
    let own = accumulator(p, true);
    let fold = Fold::of(p.n_ranks, None);
    if let Some(new) = folded(p, fold, own) {
        let incoming = p.scratch(own.length);
        let mut distance = 1;
        while distance < fold.n_active {
            let partner = fold.active(new ^ distance);
            p.exchange((partner, own), (partner, incoming));
            p.combine(incoming, own);
            distance *= 2;
        }
    }
    unfolded(p, fold, own);
}

pub(super) fn allreduce(p: &mut Planner<'_>) {
    let own = accumulator(p, true);
    let fold = Fold::of(p.n_ranks, None);
    let start = starts(p, fold, own.length);
    if let Some(new) = folded(p, fold, own) {
        halved(p, fold, new, own, &start);
        doubled(p, new, fold.n_active, |new| fold.active(new), own, &start);
    }
    unfolded(p, fold, own);
}

/// The root is active, so that the blocks gather on it.
pub(super) fn reduce(p: &mut Planner<'_>) {
    let root = p.call.root();
    let own = accumulator(p, p.rank == root);
    let fold = Fold::of(p.n_ranks, Some(root));
    let start = starts(p, fold, own.length);
    let Some(new) = folded(p, fold, own) else { return };
    halved(p, fold, new, own, &start);
    let relative = new ^ fold.number(root);
    let mut distance = 1;
    while distance < fold.n_active {
        let blocks = |number: usize| {
            let first = number & !(distance - 1);
            own.at(start(first)..start(first + distance))
        };
        let partner = fold.active(new ^ distance);
        if relative & distance != 0 {
            p.send_alone(partner, blocks(new));
            return;
        }
        p.recv_alone(partner, blocks(new ^ distance));
        distance *= 2;
    }
}

/// Each active rank ends with its part, and with that of its neighbour if that has folded.
pub(super) fn reduce_scatter(p: &mut Planner<'_>) {
    let (call, n) = (p.call, p.n_ranks);
    let fold = Fold::of(n, None);
    let total = call.parts().total(n);
    let own = p.scratch(total);
    let data = if call.is_in_place_on(p.rank) { p.output() } else { p.input() };
    p.copy(data, own);
    let output = p.output().part(0, call.parts().length(p.rank));
    // Parts lie in the order of the ranks, so that those of a block lie together.
    let start = |new: usize| match new {
        new if new == fold.n_active => total,
        new if new < fold.n_pairs => call.parts().of(2 * new).start,
        new => call.parts().of(new + fold.n_pairs).start,
    };
    let Some(new) = folded(p, fold, own) else {
        p.recv_alone(p.rank ^ 1, output);
        return;
    };
    halved(p, fold, new, own, start);
    p.copy(own.at(call.parts().of(p.rank)), output);
    if let Some(neighbour) = fold.neighbour(p.rank) {
        p.send_alone(neighbour, own.at(call.parts().of(neighbour)));
    }
}
