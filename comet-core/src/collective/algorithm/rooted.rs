//! Operations with a root. Trees and chains number the ranks from the root on.

use super::{Planner, block, halving, segments};
use crate::collective::call::Collective;
use crate::collective::plan::Span;
use crate::transport::Rank;

/// Number of this rank, counted from the root `root`.
fn relative(p: &Planner<'_>, root: Rank) -> usize {
    p.down(root)
}

/// The rank with number `relative` from the root `root`.
fn absolute(p: &Planner<'_>, root: Rank, relative: usize) -> Rank {
    (relative + root) % p.n_ranks
}

/// The lowest bit of `relative`, or the first power of two that is no rank.
fn lowest_bit(relative: usize, n_ranks: usize) -> usize {
    if relative == 0 { n_ranks.next_power_of_two() } else { 1 << relative.trailing_zeros() }
}

/// Bits below `bit`, the highest first.
fn bits_below(bit: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(bit / 2), |bit| Some(bit / 2)).take_while(|bit| *bit > 0)
}

/// The other ranks.
fn others(p: &Planner<'_>) -> impl Iterator<Item = Rank> + use<> {
    let rank = p.rank;
    (0..p.n_ranks).filter(move |other| *other != rank)
}

/// `message` of the rank `root` to all others along a binomial tree.
pub(super) fn broadcast(p: &mut Planner<'_>, root: Rank, message: Span) {
    let relative = relative(p, root);
    let bit = lowest_bit(relative, p.n_ranks);
    if relative > 0 {
        p.recv_alone(absolute(p, root, relative - bit), message);
    }
    let n = p.n_ranks;
    for bit in bits_below(bit).filter(|bit| relative + bit < n) {
        p.send_alone(absolute(p, root, relative + bit), message);
    }
}

/// The combination of the vectors `own` on the rank `root`, along a binomial tree.
pub(super) fn reduce(p: &mut Planner<'_>, root: Rank, own: Span) {
    let relative = relative(p, root);
    let parent_bit = lowest_bit(relative, p.n_ranks);
    let mut bit = 1;
    let incoming = if parent_bit > 1 { p.scratch(own.length) } else { Span::NONE };
    while bit < parent_bit && bit < p.n_ranks {
        if relative + bit < p.n_ranks {
            p.recv_alone(absolute(p, root, relative + bit), incoming);
            p.combine(incoming, own);
        }
        bit *= 2;
    }
    if relative > 0 {
        p.send_alone(absolute(p, root, relative - parent_bit), own);
    }
}

/// The vector of this rank, where its combination grows: in the output of `has_output`, else in
/// scratch memory.
pub(super) fn accumulator(p: &mut Planner<'_>, has_output: bool) -> Span {
    let length = p.call.parts().length(0);
    let own = if has_output { p.output() } else { p.scratch(length) };
    if !p.call.is_in_place_on(p.rank) {
        p.copy(p.input(), own.part(0, length));
    }
    own.part(0, length)
}

fn is_root(p: &Planner<'_>) -> bool {
    p.rank == p.call.root()
}

pub(super) fn linear_broadcast(p: &mut Planner<'_>) {
    let (root, message) = (p.call.root(), p.output());
    if is_root(p) {
        others(p).for_each(|rank| p.send(rank, message));
    } else {
        p.recv(root, message);
    }
}

pub(super) fn binomial_broadcast(p: &mut Planner<'_>) {
    broadcast(p, p.call.root(), p.output());
}

pub(super) fn binary_broadcast(p: &mut Planner<'_>) {
    let (root, message) = (p.call.root(), p.output());
    let relative = relative(p, root);
    if relative > 0 {
        p.recv_alone(absolute(p, root, (relative - 1) / 2), message);
    }
    let n = p.n_ranks;
    for child in [2 * relative + 1, 2 * relative + 2].into_iter().filter(|child| *child < n) {
        p.send_alone(absolute(p, root, child), message);
    }
}

/// Each rank receives a segment while it sends the one before.
pub(super) fn chain_broadcast(p: &mut Planner<'_>) {
    let (root, message) = (p.call.root(), p.output());
    let relative = relative(p, root);
    let next = (relative + 1 < p.n_ranks).then(|| p.up(1));
    let before = (relative > 0).then(|| p.down(1));
    let mut held = None;
    for segment in segments(message.length, 1) {
        let segment = message.at(segment);
        p.next();
        if let Some(before) = before {
            p.recv(before, segment);
        } else {
            held = Some(segment);
        }
        if let (Some(next), Some(held)) = (next, held) {
            p.send(next, held);
        }
        held = Some(segment);
    }
    if let (Some(next), Some(held), Some(_)) = (next, held, before) {
        p.send_alone(next, held);
    }
}

/// The part of the message that the rank with number `relative` gets.
fn part_of(message: Span, relative: usize, n_ranks: usize) -> Span {
    message.at(block(message.length, 1, relative, n_ranks))
}

/// Parts of the message down a binomial tree: each rank has its own, and those of its subtree.
fn scatter_parts(p: &mut Planner<'_>) {
    let (root, message, n) = (p.call.root(), p.output(), p.n_ranks);
    let relative = relative(p, root);
    let from_to = |first: usize, end: usize| {
        message
            .at(block(message.length, 1, first, n).start..block(message.length, 1, end - 1, n).end)
    };
    let bit = lowest_bit(relative, n);
    if relative > 0 {
        let mine = from_to(relative, (relative + bit).min(n));
        p.recv_alone(absolute(p, root, relative - bit), mine);
    }
    for bit in bits_below(bit).filter(|bit| relative + bit < n) {
        let child = relative + bit;
        p.send_alone(absolute(p, root, child), from_to(child, (child + bit).min(n)));
    }
}

pub(super) fn scatter_ring(p: &mut Planner<'_>) {
    scatter_parts(p);
    let (message, n) = (p.output(), p.n_ranks);
    let relative = relative(p, p.call.root());
    for step in 0..n - 1 {
        let out = part_of(message, (relative + n - step) % n, n);
        let into = part_of(message, (relative + n - step - 1) % n, n);
        p.exchange((p.up(1), out), (p.down(1), into));
    }
}

pub(super) fn scatter_doubling(p: &mut Planner<'_>) {
    scatter_parts(p);
    let (root, message, n) = (p.call.root(), p.output(), p.n_ranks);
    let relative = relative(p, root);
    let start = |index: usize| {
        if index == n { message.length } else { block(message.length, 1, index, n).start }
    };
    halving::doubled(p, relative, n, |new| (new + root) % n, message, start);
}

pub(super) fn linear_reduce(p: &mut Planner<'_>) {
    let root = p.call.root();
    if !is_root(p) {
        p.send(root, p.input());
        return;
    }
    let own = accumulator(p, true);
    let incoming = p.scratch(own.length);
    for rank in others(p) {
        p.recv_alone(rank, incoming);
        p.combine(incoming, own);
    }
}

pub(super) fn binomial_reduce(p: &mut Planner<'_>) {
    let (root, is_leaf) = (p.call.root(), relative(p, p.call.root()) % 2 == 1);
    // A leaf adds nothing to its vector.
    let own = if is_leaf { p.input() } else { accumulator(p, is_root(p)) };
    reduce(p, root, own);
}

/// Each rank receives a segment while it sends the one before, with its own part in it.
pub(super) fn chain_reduce(p: &mut Planner<'_>) {
    let root = p.call.root();
    let relative = relative(p, root);
    let own = accumulator(p, is_root(p));
    let before = (relative + 1 < p.n_ranks).then(|| p.up(1));
    let next = (relative > 0).then(|| p.down(1));
    let incoming = if before.is_some() { p.scratch(own.length) } else { Span::NONE };
    let mut held = None;
    for segment in segments(own.length, p.call.by().element().bytes()) {
        p.next();
        if let Some(before) = before {
            p.recv(before, incoming.at(segment.clone()));
        } else {
            held = Some(own.at(segment.clone()));
        }
        if let (Some(next), Some(held)) = (next, held) {
            p.send(next, held);
        }
        if before.is_some() {
            p.combine(incoming.at(segment.clone()), own.at(segment.clone()));
        }
        held = Some(own.at(segment));
    }
    if let (Some(next), Some(held), Some(_)) = (next, held, before) {
        p.send_alone(next, held);
    }
}

/// Part of this rank in a gather.
pub(super) fn given(p: &Planner<'_>) -> Span {
    if p.call.is_in_place_on(p.rank) { p.output().at(p.call.parts().of(p.rank)) } else { p.input() }
}

/// The parts of all ranks into `into` on the rank `root`.
pub(super) fn gather(p: &mut Planner<'_>, root: Rank, into: Span) {
    let (call, own): (&Collective, Span) = (p.call, given(p));
    if p.rank != root {
        p.send(root, own);
        return;
    }
    p.next();
    others(p).for_each(|rank| p.recv(rank, into.at(call.parts().of(rank))));
    p.copy(own, into.at(call.parts().of(root)));
}

pub(super) fn linear_gather(p: &mut Planner<'_>) {
    gather(p, p.call.root(), p.output());
}

pub(super) fn linear_sync_gather(p: &mut Planner<'_>) {
    let (call, root, own) = (p.call, p.call.root(), given(p));
    if p.rank != root {
        p.recv_alone(root, Span::NONE);
        p.send_alone(root, own);
        return;
    }
    let into = p.output();
    p.copy(own, into.at(call.parts().of(root)));
    for rank in others(p) {
        p.send_alone(rank, Span::NONE);
        p.recv_alone(rank, into.at(call.parts().of(rank)));
    }
}

/// Parts gather in the order of the ranks from the root on, which is that of the output for root 0.
pub(super) fn binomial_gather(p: &mut Planner<'_>) {
    let (root, n, length, own) = (p.call.root(), p.n_ranks, p.call.parts().length(0), given(p));
    let relative = relative(p, root);
    let parent_bit = lowest_bit(relative, n);
    let n_held = parent_bit.min(n - relative);
    let held = match n_held {
        1 => own,
        _ if p.rank == 0 && root == 0 => p.output(),
        _ => p.scratch(n_held * length),
    };
    p.copy(own, held.part(0, length));
    let mut bit = 1;
    while bit < parent_bit && relative + bit < n {
        let n_parts = bit.min(n - relative - bit);
        let into = held.part(bit * length, n_parts * length);
        p.recv_alone(absolute(p, root, relative + bit), into);
        bit *= 2;
    }
    if relative > 0 {
        p.send_alone(absolute(p, root, relative - parent_bit), held);
    } else if root > 0 || n == 1 {
        let (output, n_above) = (p.output(), n - root);
        p.copy(held.part(0, n_above * length), output.part(root * length, n_above * length));
        p.copy(held.part(n_above * length, root * length), output.part(0, root * length));
    }
}

pub(super) fn linear_scatter(p: &mut Planner<'_>) {
    let (call, root, output) = (p.call, p.call.root(), p.output());
    if p.rank != root {
        p.recv(root, output);
        return;
    }
    let input = p.input();
    others(p).for_each(|rank| p.send(rank, input.at(call.parts().of(rank))));
    if !call.is_in_place_on(root) {
        p.copy(input.at(call.parts().of(root)), output);
    }
}

pub(super) fn binomial_scatter(p: &mut Planner<'_>) {
    let (root, n, length) = (p.call.root(), p.n_ranks, p.call.parts().length(0));
    let relative = relative(p, root);
    let bit = lowest_bit(relative, n);
    let n_held = bit.min(n - relative);
    let is_kept = relative == 0 && p.call.is_in_place_on(root);
    let held = match n_held {
        _ if relative == 0 && root == 0 => p.input(),
        1 if relative > 0 => p.output(),
        _ => p.scratch(n_held * length),
    };
    if relative > 0 {
        p.recv_alone(absolute(p, root, relative - bit), held);
    } else if root > 0 {
        let (input, n_above) = (p.input(), n - root);
        p.copy(input.part(root * length, n_above * length), held.part(0, n_above * length));
        p.copy(input.part(0, root * length), held.part(n_above * length, root * length));
    }
    for bit in bits_below(bit).filter(|bit| relative + bit < n) {
        let n_parts = bit.min(n - relative - bit);
        let part = held.part(bit * length, n_parts * length);
        p.send_alone(absolute(p, root, relative + bit), part);
    }
    if !is_kept {
        p.copy(held.part(0, length), p.output());
    }
}
