//! Operations whose result every rank has.

use super::rooted::{accumulator, broadcast, gather, given, reduce};
use super::{N_UNDER_WAY, Planner, SEGMENT_BYTES, block, halving};
use crate::collective::plan::Span;
use crate::transport::Rank;

/// Powers of two below `n`.
fn bits(n: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(1), |bit| Some(bit * 2)).take_while(move |bit| *bit < n)
}

pub(super) fn linear_barrier(p: &mut Planner<'_>) {
    if p.rank > 0 {
        p.send_alone(0, Span::NONE);
        p.recv_alone(0, Span::NONE);
        return;
    }
    (1..p.n_ranks).for_each(|rank| p.recv(rank, Span::NONE));
    p.next();
    (1..p.n_ranks).for_each(|rank| p.send(rank, Span::NONE));
}

pub(super) fn tree_barrier(p: &mut Planner<'_>) {
    reduce(p, 0, Span::NONE);
    broadcast(p, 0, Span::NONE);
}

pub(super) fn dissemination(p: &mut Planner<'_>) {
    for distance in bits(p.n_ranks) {
        p.exchange((p.up(distance), Span::NONE), (p.down(distance), Span::NONE));
    }
}

pub(super) fn pairwise_barrier(p: &mut Planner<'_>) {
    for bit in bits(p.n_ranks) {
        p.exchange((p.rank ^ bit, Span::NONE), (p.rank ^ bit, Span::NONE));
    }
}

pub(super) fn linear_allreduce(p: &mut Planner<'_>) {
    let own = accumulator(p, true);
    if p.rank > 0 {
        p.send_alone(0, own);
        p.recv_alone(0, own);
        return;
    }
    let incoming = p.scratch(own.length);
    for rank in 1..p.n_ranks {
        p.recv_alone(rank, incoming);
        p.combine(incoming, own);
    }
    p.next();
    (1..p.n_ranks).for_each(|rank| p.send(rank, own));
}

pub(super) fn reduce_bcast(p: &mut Planner<'_>) {
    let own = accumulator(p, true);
    reduce(p, 0, own);
    broadcast(p, 0, own);
}

/// The sum of `own` around a ring: each part is summed on its way, and then passed on.
fn ring_sum(p: &mut Planner<'_>, own: Span) {
    let (n, unit) = (p.n_ranks, p.call.by().element().bytes());
    let part = |index: usize| own.at(block(own.length, unit, index % n, n));
    let longest = (0..n).map(|index| part(index).length).max().unwrap_or(0);
    let incoming = p.scratch(longest);
    for step in 0..n - 1 {
        let (out, kept) = (part(p.rank + n - step), part(p.rank + 2 * n - step - 1));
        let into = incoming.part(0, kept.length);
        p.exchange((p.up(1), out), (p.down(1), into));
        p.combine(into, kept);
    }
    for step in 0..n - 1 {
        let (out, into) = (part(p.rank + n + 1 - step), part(p.rank + n - step));
        p.exchange((p.up(1), out), (p.down(1), into));
    }
}

pub(super) fn ring_allreduce(p: &mut Planner<'_>) {
    let own = accumulator(p, true);
    ring_sum(p, own);
}

pub(super) fn segmented_ring(p: &mut Planner<'_>) {
    let own = accumulator(p, true);
    let unit = p.call.by().element().bytes();
    let step = SEGMENT_BYTES / unit * unit * p.n_ranks;
    for start in (0..own.length).step_by(step) {
        ring_sum(p, own.at(start..(start + step).min(own.length)));
    }
}

/// The vectors from which the ranks make the parts of their combination. Results go to the front of
/// the output, so data that lie there are copied.
fn vectors(p: &mut Planner<'_>) -> (Span, Span) {
    let length = p.call.parts().length(p.rank);
    let (output, total) = (p.output(), p.call.parts().total(p.n_ranks));
    if !p.call.is_in_place_on(p.rank) {
        return (p.input(), output.part(0, length));
    }
    let copy = p.scratch(total);
    p.copy(output, copy);
    (copy, output.part(0, length))
}

pub(super) fn reduce_scatterv(p: &mut Planner<'_>) {
    let (call, n) = (p.call, p.n_ranks);
    let (data, output) = vectors(p);
    let sum = p.scratch(data.length);
    p.copy(data, sum);
    reduce(p, 0, sum);
    if p.rank > 0 {
        p.recv_alone(0, output);
        return;
    }
    p.next();
    (1..n).for_each(|rank| p.send(rank, sum.at(call.parts().of(rank))));
    p.copy(sum.at(call.parts().of(0)), output);
}

pub(super) fn pairwise_reduce_scatter(p: &mut Planner<'_>) {
    let call = p.call;
    let (data, output) = vectors(p);
    p.copy(data.at(call.parts().of(p.rank)), output);
    let incoming = p.scratch(output.length);
    for distance in 1..p.n_ranks {
        let to = p.up(distance);
        p.exchange((to, data.at(call.parts().of(to))), (p.down(distance), incoming));
        p.combine(incoming, output);
    }
}

/// A part goes once around, and ends on its rank; what arrives and what is passed on change places.
pub(super) fn ring_reduce_scatter(p: &mut Planner<'_>) {
    let (call, n) = (p.call, p.n_ranks);
    let (data, output) = vectors(p);
    let part = |index: usize| data.at(call.parts().of(index % n));
    let longest = (0..n).map(|rank| call.parts().length(rank)).max().unwrap_or(0);
    let mut places = [p.scratch(longest), p.scratch(longest)];
    let mut out = part(p.rank + n - 1);
    for step in 1..n {
        let own = part(p.rank + 2 * n - 1 - step);
        let into = if step + 1 == n { output } else { places[0].part(0, own.length) };
        p.exchange((p.up(1), out), (p.down(1), into));
        p.combine(own, into);
        (out, places) = (into, [places[1], places[0]]);
    }
    if n == 1 {
        p.copy(part(0), output);
    }
}

/// The vector of this rank in a scan.
fn scanned(p: &Planner<'_>) -> Span {
    if p.call.is_in_place_on(p.rank) { p.output() } else { p.input() }
}

pub(super) fn linear_scan(p: &mut Planner<'_>) {
    let own = accumulator(p, true);
    if p.rank > 0 {
        let incoming = p.scratch(own.length);
        p.recv_alone(p.rank - 1, incoming);
        p.combine(incoming, own);
    }
    if p.rank + 1 < p.n_ranks {
        p.send_alone(p.rank + 1, own);
    }
}

pub(super) fn linear_exscan(p: &mut Planner<'_>) {
    let (own, output) = (scanned(p), p.output());
    // The last rank sends nothing, and has nothing to combine.
    let partial = (p.rank + 1 < p.n_ranks).then(|| p.scratch(own.length));
    if let Some(partial) = partial {
        p.copy(own, partial);
    }
    if p.rank > 0 {
        p.recv_alone(p.rank - 1, output);
    }
    if let Some(partial) = partial {
        if p.rank > 0 {
            p.combine(output, partial);
        }
        p.send_alone(p.rank + 1, partial);
    }
}

/// In round i each rank has the combination of the 2^i ranks that differ in lower bits alone.
pub(super) fn doubling_scan(p: &mut Planner<'_>) {
    let (own, output) = (scanned(p), p.output());
    let is_exclusive = p.call.kind() == crate::collective::Kind::Exscan;
    let (partial, incoming) = (p.scratch(own.length), p.scratch(own.length));
    p.copy(own, partial);
    if !is_exclusive {
        p.copy(own, output);
    }
    let mut has_result = !is_exclusive;
    for bit in bits(p.n_ranks) {
        let partner = p.rank ^ bit;
        if partner >= p.n_ranks {
            continue;
        }
        p.exchange((partner, partial), (partner, incoming));
        p.combine(incoming, partial);
        if partner < p.rank && has_result {
            p.combine(incoming, output);
        } else if partner < p.rank {
            p.copy(incoming, output);
            has_result = true;
        }
    }
}

pub(super) fn gather_bcast(p: &mut Planner<'_>) {
    let output = p.output();
    gather(p, 0, output);
    broadcast(p, 0, output);
}

/// The part of this rank in its output.
fn place_own(p: &mut Planner<'_>) {
    p.copy(given(p), p.output().at(p.call.parts().of(p.rank)));
}

pub(super) fn ring_allgather(p: &mut Planner<'_>) {
    place_own(p);
    let (call, output, n) = (p.call, p.output(), p.n_ranks);
    let part = |index: usize| output.at(call.parts().of(index % n));
    for step in 0..n - 1 {
        let (out, into) = (part(p.rank + n - step), part(p.rank + 2 * n - step - 1));
        p.exchange((p.up(1), out), (p.down(1), into));
    }
}

/// Parts gather in the order of the ranks from the own one on.
pub(super) fn bruck_allgather(p: &mut Planner<'_>) {
    let (call, output, n, own) = (p.call, p.output(), p.n_ranks, given(p));
    let rank = p.rank;
    let length = |index: usize| call.parts().length((rank + index) % n);
    let mut starts = vec![0];
    for index in 0..n {
        starts.push(starts[index] + length(index));
    }
    let held = p.scratch(starts[n]);
    p.copy(own, held.part(0, own.length));
    let mut n_held = 1;
    while n_held < n {
        let n_more = n_held.min(n - n_held);
        let (to, from) = (p.down(n_held), p.up(n_held));
        let (out, into) = (0..starts[n_more], starts[n_held]..starts[n_held + n_more]);
        p.exchange((to, held.at(out)), (from, held.at(into)));
        n_held += n_more;
    }
    for index in 0..n {
        let part = held.at(starts[index]..starts[index + 1]);
        p.copy(part, output.at(call.parts().of((rank + index) % n)));
    }
}

pub(super) fn doubling_allgather(p: &mut Planner<'_>) {
    place_own(p);
    let (rank, n, output) = (p.rank, p.n_ranks, p.output());
    let length = p.call.parts().length(0);
    halving::doubled(p, rank, n, |rank| rank, output, |index| index * length);
}

/// Neighbours exchange their own parts first, and then pairs of parts that the other side has given.
pub(super) fn neighbour_exchange(p: &mut Planner<'_>) {
    place_own(p);
    let (n, length, output) = (p.n_ranks, p.call.parts().length(0), p.output());
    let parts = |first: usize, n_parts: usize| output.part(first * length, n_parts * length);
    let is_even = p.rank.is_multiple_of(2);
    let sides: [Rank; 2] = if is_even { [p.up(1), p.down(1)] } else { [p.down(1), p.up(1)] };
    p.exchange((sides[0], parts(p.rank, 1)), (sides[0], parts(sides[0], 1)));
    // The pairs that the neighbour of each side gives next, two ranks further each time.
    let pair = if is_even { p.rank } else { sides[0] };
    let (mut sources, mut given) = ([pair; 2], pair);
    for step in 1..n / 2 {
        let side = step % 2;
        let is_above = is_even == (side == 0);
        sources[side] = (sources[side] + if is_above { 2 } else { n - 2 }) % n;
        let neighbour = sides[side];
        p.exchange((neighbour, parts(given, 2)), (neighbour, parts(sources[side], 2)));
        given = sources[side];
    }
}

/// The data of an all-to-all: parts that lie where the result goes are copied.
fn outgoing(p: &mut Planner<'_>) -> Span {
    let call = p.call;
    let data = if call.is_in_place_on(p.rank) {
        let output = p.output();
        let copy = p.scratch(output.length);
        p.copy(output, copy);
        copy
    } else {
        p.input()
    };
    let into = p.output().at(call.parts().of(p.rank));
    p.copy(data.at(call.sent().of(p.rank)), into);
    data
}

/// Messages to `to` and from `from`, in this round.
fn both_ways(p: &mut Planner<'_>, data: Span, to: Rank, from: Rank) {
    let (call, output) = (p.call, p.output());
    p.recv(from, output.at(call.parts().of(from)));
    p.send(to, data.at(call.sent().of(to)));
}

fn alltoall_in_batches(p: &mut Planner<'_>, n_at_once: usize) {
    let data = outgoing(p);
    for distance in 1..p.n_ranks {
        if (distance - 1) % n_at_once == 0 {
            p.next();
        }
        both_ways(p, data, p.up(distance), p.down(distance));
    }
}

pub(super) fn linear_alltoall(p: &mut Planner<'_>) {
    alltoall_in_batches(p, usize::MAX);
}

pub(super) fn scattered_alltoall(p: &mut Planner<'_>) {
    alltoall_in_batches(p, N_UNDER_WAY);
}

pub(super) fn ring_alltoall(p: &mut Planner<'_>) {
    alltoall_in_batches(p, 1);
}

pub(super) fn pairwise_alltoall(p: &mut Planner<'_>) {
    let data = outgoing(p);
    for distance in 1..p.n_ranks {
        p.next();
        both_ways(p, data, p.rank ^ distance, p.rank ^ distance);
    }
}

/// Part i lies i ranks above its owner at first; in round k the parts with bit k in i go 2^k up.
pub(super) fn bruck_alltoall(p: &mut Planner<'_>) {
    let (n, length, output) = (p.n_ranks, p.call.parts().length(0), p.output());
    let data = outgoing(p);
    let held = p.scratch(n * length);
    let part = |of: Span, index: usize| of.part(index * length, length);
    for index in 1..n {
        p.copy(part(data, p.up(index)), part(held, index));
    }
    let most = n.div_ceil(2) * length;
    let (packed, incoming) = (p.scratch(most), p.scratch(most));
    for bit in bits(n) {
        let moved: Vec<usize> = (1..n).filter(|index| index & bit != 0).collect();
        for (place, index) in moved.iter().enumerate() {
            p.copy(part(held, *index), part(packed, place));
        }
        let bytes = 0..moved.len() * length;
        p.exchange((p.up(bit), packed.at(bytes.clone())), (p.down(bit), incoming.at(bytes)));
        for (place, index) in moved.iter().enumerate() {
            p.copy(part(incoming, place), part(held, *index));
        }
    }
    for index in 1..n {
        p.copy(part(held, index), part(output, p.down(index)));
    }
}
