//! Collective operations as values: each of them, and each algorithm of the library, on every rank.

use std::sync::Arc;

use super::Check;
use super::toolkit::{Found, Memory, checks};
use crate::collective::{
    Collective, Element, Kind, Neighbours, Operator, Parts, Reducer, Running, algorithm, data,
};
use crate::error::{Result, TransportErrorKind};
use crate::kernel::Seeds;
use crate::transport::{Rank, Transport};

/// Lengths of a part in bytes: around the lines and pieces of transports, in whole doubles.
const LENGTHS_BYTES: [usize; 6] = [0, 8, 40, 48, 4096, 40_000];
/// A length of which few ranks have a part.
const LONG_BYTES: usize = 300_000;
/// Most ranks among which messages from all to all are long.
const MAX_LONG: usize = 8;
/// Most ranks with all lengths and roots.
const MAX_FULL: usize = 16;

pub(super) fn checks<T: Transport>() -> Vec<Check<T>> {
    checks![
        every_collective_gives_each_rank_what_it_says,
        collectives_in_place_give_the_same,
        parts_may_have_any_lengths,
        parts_of_any_lengths_change_places,
        parts_may_have_types_of_their_own,
        neighbours_get_the_message_of_each_source,
        neighbours_get_what_each_source_sends_to_them,
        every_element_is_combined_by_every_operator,
        every_algorithm_gives_what_its_collective_says,
        collectives_of_different_kinds_do_not_mix,
        a_collective_of_wrong_arguments_is_refused,
    ]
}

/// The kinds in which each rank has to do with all.
fn kinds_of_all() -> impl Iterator<Item = Kind> {
    Kind::ALL.into_iter().filter(|kind| !kind.is_among_neighbours())
}

/// The lengths to try.
fn lengths<T: Transport>(t: &T) -> impl Iterator<Item = usize> {
    let n_lengths = if t.n_ranks() <= MAX_FULL { LENGTHS_BYTES.len() } else { 3 };
    let long = (t.n_ranks() <= MAX_LONG).then_some(LONG_BYTES);
    LENGTHS_BYTES.into_iter().take(n_lengths).chain(long)
}

/// The roots to try.
fn roots<T: Transport>(t: &T, kind: Kind) -> Vec<Rank> {
    let mut roots = match kind.is_rooted() {
        true if t.n_ranks() <= MAX_FULL => (0..t.n_ranks()).collect(),
        true => vec![0, t.n_ranks() / 2, t.n_ranks() - 1],
        false => vec![0],
    };
    roots.dedup();
    roots
}

/// Carries `call` out by `run`, and checks what arrived; `lent` says which of the buffers are the
/// transport's.
fn require<T: Transport>(
    t: &T,
    found: &Found,
    (call, how): (&Collective, &str),
    lent: [bool; 2],
    run: impl FnOnce(&[u8], &mut [u8]) -> Result<()>,
) -> Result<()> {
    let at = (t.rank(), t.n_ranks());
    let mut input = Memory::new(t, lent[0], call.input_bytes(at.0, at.1))?;
    let mut output = Memory::new(t, lent[1], call.output_bytes(at.0, at.1))?;
    data::fill(call, at, Seeds { n_runs: 1, lane: 0 }, [&mut input, &mut output]);
    let name = || format!("{how} {} of {} bytes", call.kind().name(), call.parts().total(1));
    if let Err(error) = run(&input, &mut output) {
        return found.survive(&name(), error);
    }
    if let Err(error) = data::compare_once(call, at, &mut output) {
        found.note(format!("{}: {error}", name()));
    }
    Ok(())
}

/// Carries `call` out as the transport does it, and checks what arrived: in buffers of all kinds, which
/// differ between ranks.
fn require_own<T: Transport>(t: &T, found: &Found, call: &Collective) -> Result<()> {
    let is = |n: usize| t.rank().is_multiple_of(n);
    for lent in [[true, true], [true, false], [is(2), is(3)]] {
        require(t, found, (call, "the"), lent, |input, output| t.collective(call, input, output))?;
    }
    Ok(())
}

fn every_collective_gives_each_rank_what_it_says<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for kind in kinds_of_all() {
        for length in lengths(t) {
            for root in roots(t, kind) {
                let call = Collective::new(kind, Parts::Equal(length)).with_root(root);
                require_own(t, found, &call)?;
            }
        }
    }
    Ok(())
}

fn collectives_in_place_give_the_same<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let n_lengths = if t.n_ranks() <= MAX_LONG { 3 } else { 2 };
    for kind in Kind::ALL.into_iter().filter(|kind| kind.admits_in_place()) {
        for length in [8, 4096, 40_000].into_iter().take(n_lengths) {
            let in_place =
                |root| Collective::new(kind, Parts::Equal(length)).with_root(root).in_place();
            let late = in_place(t.n_ranks() - 1);
            if reduces_in_place(t, &late)? {
                require_own(t, found, &late)?;
            }
            require_own(t, found, &in_place(0))?;
        }
    }
    Ok(())
}

/// False if `call` is a reduction to one rank that the transport has no call for: MPICH 4.0 has none in
/// place on another root than rank 0.
fn reduces_in_place<T: Transport>(t: &T, call: &Collective) -> Result<bool> {
    let at = (t.rank(), t.n_ranks());
    let input = t.message_buffer(call.input_bytes(at.0, at.1))?;
    let mut output = t.message_buffer(call.output_bytes(at.0, at.1))?;
    match t.collective(call, &input, &mut output) {
        Err(error) if call.kind() == Kind::Reduce && error.is_unsupported() => Ok(false),
        outcome => outcome.map(|()| true),
    }
}

fn parts_may_have_any_lengths<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let n = t.n_ranks();
    for scale in [1, 700, 3000].into_iter().take(if n <= MAX_LONG { 3 } else { 2 }) {
        let length = |rank: Rank| 8 * scale * (rank * 5 % 7);
        let parts = || Parts::packed((0..n).map(length).collect());
        for kind in [Kind::Gather, Kind::Scatter, Kind::Allgather, Kind::ReduceScatter] {
            require_own(t, found, &Collective::new(kind, parts()).with_root(n / 2))?;
        }
        require_own(t, found, &uneven_exchange(t, scale))?;
    }
    Ok(())
}

/// An all-to-all in which each pair of ranks has a length of its own.
fn uneven_exchange<T: Transport>(t: &T, scale: usize) -> Collective {
    let (n, rank) = (t.n_ranks(), t.rank());
    let sent = Parts::packed((0..n).map(|to| between(rank, to, scale)).collect());
    let received = Parts::packed((0..n).map(|from| between(from, rank, scale)).collect());
    Collective::new(Kind::Alltoall, received).with_sent(sent)
}

/// Length of the message of a pair, which some pairs have none of.
fn between(from: Rank, to: Rank, scale: usize) -> usize {
    scale * ((from + 2 * to) % 5)
}

/// In place each pair of ranks exchanges parts of one length; some ranks have few bytes then, and others
/// many.
fn parts_of_any_lengths_change_places<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let (n, rank) = (t.n_ranks(), t.rank());
    for scale in [1, 700, 8000].into_iter().take(if n <= MAX_LONG { 3 } else { 2 }) {
        let lengths = (0..n).map(|other| scale * (rank * other % 5)).collect();
        require_own(t, found, &Collective::new(Kind::Alltoall, Parts::packed(lengths)).in_place())?;
    }
    Ok(())
}

fn parts_may_have_types_of_their_own<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for scale in [1, 700, 20_000] {
        require_own(t, found, &uneven_exchange(t, scale).with_types())?;
    }
    Ok(())
}

/// True if `from` sends to `to`, of `n` ranks.
type Edge = fn(from: Rank, to: Rank, n: usize) -> bool;

/// Graphs of neighbours: both sides on a ring, some ranks above, one rank to all, all to all, none.
const GRAPHS: [Edge; 5] = [
    |from, to, n| (from + 1) % n == to || (to + 1) % n == from,
    |from, to, _| from < to && to <= from + 3,
    |from, _, n| from == n / 2,
    |_, _, n| n <= MAX_LONG,
    |_, _, _| false,
];

/// The neighbours of this rank in `graph`; it sends to the last one first.
fn neighbours<T: Transport>(t: &T, graph: Edge) -> (Vec<Rank>, Vec<Rank>) {
    let (n, rank) = (t.n_ranks(), t.rank());
    let sources = (0..n).filter(|from| graph(*from, rank, n)).collect();
    (sources, (0..n).rev().filter(|to| graph(rank, *to, n)).collect())
}

/// Carries out the collectives that `of` makes for the neighbours of this rank in each graph.
fn require_in_graphs<T: Transport>(
    t: &T,
    found: &Found,
    of: impl Fn(&[Rank], &[Rank]) -> Vec<Collective>,
) -> Result<()> {
    for graph in GRAPHS {
        let (sources, destinations) = neighbours(t, graph);
        let calls = of(&sources, &destinations);
        let neighbours = Neighbours::new(sources, destinations);
        let other = t.with_neighbours(&neighbours)?;
        let t = other.as_ref().unwrap_or(t);
        for call in calls {
            require_own(t, found, &call.with_neighbours(Arc::clone(&neighbours)))?;
        }
        // The other calls of such a transport are those of its ranks.
        require_own(t, found, &Collective::new(Kind::Allgather, Parts::Equal(8)))?;
    }
    Ok(())
}

fn neighbours_get_the_message_of_each_source<T: Transport>(t: &T, found: &Found) -> Result<()> {
    require_in_graphs(t, found, |sources, _| {
        let of = |parts| Collective::new(Kind::NeighbourAllgather, parts);
        let equal = lengths(t).map(|length| of(Parts::Equal(length)));
        let uneven = [1, 700].map(|scale| {
            let length = |from: &Rank| between(*from, 0, scale);
            let received = Parts::packed(sources.iter().map(length).collect());
            of(received).with_sent(Parts::Equal(length(&t.rank())))
        });
        equal.chain(uneven).collect()
    })
}

fn neighbours_get_what_each_source_sends_to_them<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let rank = t.rank();
    require_in_graphs(t, found, |sources, destinations| {
        let of = |parts| Collective::new(Kind::NeighbourAlltoall, parts);
        let equal = lengths(t).map(|length| of(Parts::Equal(length)));
        let uneven = [1, 700].map(|scale| {
            let length = |from: &Rank| between(*from, rank, scale);
            let received = Parts::packed(sources.iter().map(length).collect());
            let length = |to: &Rank| between(rank, *to, scale);
            of(received).with_sent(Parts::packed(destinations.iter().map(length).collect()))
        });
        let typed = uneven.clone().map(Collective::with_types);
        equal.chain(uneven).chain(typed).collect()
    })
}

fn every_element_is_combined_by_every_operator<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for element in Element::ALL {
        for by in Operator::ALL.into_iter().filter_map(|by| Reducer::new(element, by)) {
            let n_lengths = if t.n_ranks() <= MAX_LONG { 2 } else { 1 };
            for n_elements in [5, 5003].into_iter().take(n_lengths) {
                let parts = Parts::Equal(n_elements * element.bytes());
                for kind in Kind::ALL.into_iter().filter(|kind| kind.is_reduction()) {
                    let call = Collective::new(kind, parts.clone()).with_reducer(by);
                    require_own(t, found, &call)?;
                }
            }
        }
    }
    Ok(())
}

fn every_algorithm_gives_what_its_collective_says<T: Transport>(
    t: &T,
    found: &Found,
) -> Result<()> {
    let n = t.n_ranks();
    for kind in kinds_of_all() {
        for length in [0, 40, 40_000].into_iter().take(if n <= MAX_FULL { 3 } else { 2 }) {
            let call = Collective::new(kind, Parts::Equal(length)).with_root(n - 1);
            for algorithm in algorithm::of(kind).iter().filter(|of| of.admit(&call, n).is_ok()) {
                let plan = algorithm.plan(&call, t.rank(), n);
                let mut running = Running::new(t, plan)?;
                require(t, found, (&call, algorithm.name), [true, false], |input, output| {
                    running.run(t, input, output)
                })?;
            }
        }
    }
    Ok(())
}

fn collectives_of_different_kinds_do_not_mix<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let kinds: Vec<Kind> = kinds_of_all().collect();
    for round in 0..60 {
        let kind = kinds[round * 7 % kinds.len()];
        let length = [8, 0, 48, 2048][round % 4];
        let root = round * 5 % t.n_ranks();
        require_own(t, found, &Collective::new(kind, Parts::Equal(length)).with_root(root))?;
    }
    Ok(())
}

fn a_collective_of_wrong_arguments_is_refused<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let n = t.n_ranks();
    let gather = Collective::new(Kind::Allgather, Parts::Equal(8));
    let outcome = t.collective(&gather, &[0; 8], &mut vec![0; 8 * n - 1]);
    let kind = outcome.err().map(|error| error.kind);
    found.require_eq("a short output", kind, Some(TransportErrorKind::InvalidArgument));
    let outcome = t.collective(&gather.with_root(n), &[0; 8], &mut vec![0; 8 * n]);
    let kind = outcome.err().map(|error| error.kind);
    found.require_eq("a root that does not exist", kind, Some(TransportErrorKind::InvalidArgument));
    let few = Collective::new(Kind::Gather, Parts::packed(vec![8; n + 1]));
    let outcome = t.collective(&few, &[0; 8], &mut vec![0; 8 * (n + 1)]);
    let kind = outcome.err().map(|error| error.kind);
    found.require_eq("parts for more ranks", kind, Some(TransportErrorKind::InvalidArgument));
    let strangers = Neighbours::new(vec![], vec![n]);
    let kind = t.with_neighbours(&strangers).err().map(|error| error.kind);
    let stranger = Collective::new(Kind::NeighbourAllgather, Parts::Equal(8));
    let outcome = t.collective(&stranger.with_neighbours(strangers), &[0; 8], &mut []);
    let kind = kind.or(outcome.err().map(|error| error.kind));
    found.require_eq(
        "a neighbour that does not exist",
        kind,
        Some(TransportErrorKind::InvalidArgument),
    );
    require_own(t, found, &Collective::new(Kind::Allgather, Parts::Equal(8)))
}
