//! Collective operations as values: each of them, and each algorithm of the library, on every rank.

use super::Check;
use super::toolkit::{Found, checks};
use crate::collective::{
    Collective, Element, Kind, Operator, Parts, Reducer, Running, algorithm, data,
};
use crate::error::{Result, TransportErrorKind};
use crate::kernel::{Checker, Seeds};
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
        every_element_is_combined_by_every_operator,
        every_algorithm_gives_what_its_collective_says,
        collectives_of_different_kinds_do_not_mix,
        a_collective_with_a_short_buffer_is_refused,
    ]
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

/// Carries `call` out by `run`, and checks what arrived.
fn require<T: Transport>(
    t: &T,
    found: &Found,
    call: &Collective,
    how: &str,
    run: impl FnOnce(&[u8], &mut [u8]) -> Result<()>,
) -> Result<()> {
    let at = (t.rank(), t.n_ranks());
    let seeds = Seeds { n_runs: 1 };
    // One buffer of the transport, and one that it has never seen.
    let mut input = t.message_buffer(call.input_bytes(at.0, at.1))?;
    let mut output = vec![0; call.output_bytes(at.0, at.1)];
    data::fill(call, at, seeds, [&mut input, &mut output]);
    let name = || format!("{how} {} of {} bytes", call.kind().name(), call.parts().length(0));
    if let Err(error) = run(&input, &mut output) {
        return found.survive(&name(), error);
    }
    let mut check = Checker::new(seeds.n_runs, false);
    data::compare(call, at, &mut output, &mut check);
    if let Err(error) = check.result() {
        found.note(format!("{}: {error}", name()));
    }
    Ok(())
}

/// Carries `call` out as the transport does it, and checks what arrived.
fn require_own<T: Transport>(t: &T, found: &Found, call: &Collective) -> Result<()> {
    require(t, found, call, "the", |input, output| t.collective(call, input, output))
}

fn every_collective_gives_each_rank_what_it_says<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for kind in Kind::ALL {
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
    for kind in Kind::ALL {
        if matches!(kind, Kind::Barrier | Kind::Broadcast) {
            continue;
        }
        for length in [8, 4096] {
            let root = t.n_ranks() - 1;
            let call = Collective::new(kind, Parts::Equal(length)).with_root(root).in_place();
            require_own(t, found, &call)?;
        }
    }
    Ok(())
}

fn parts_may_have_any_lengths<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let n = t.n_ranks();
    for scale in [1, 700] {
        let length = |rank: Rank| 8 * scale * (rank * 5 % 7);
        let parts = || Parts::packed((0..n).map(length).collect());
        for kind in [Kind::Gather, Kind::Scatter, Kind::Allgather, Kind::ReduceScatter] {
            require_own(t, found, &Collective::new(kind, parts()).with_root(n / 2))?;
        }
        let between = |from: Rank, to: Rank| scale * ((from + 2 * to) % 5);
        let sent = Parts::packed((0..n).map(|to| between(t.rank(), to)).collect());
        let received = Parts::packed((0..n).map(|from| between(from, t.rank())).collect());
        let call = Collective::new(Kind::Alltoall, received).with_sent(sent);
        require_own(t, found, &call)?;
    }
    Ok(())
}

fn every_element_is_combined_by_every_operator<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for element in Element::ALL {
        for by in Operator::ALL.into_iter().filter_map(|by| Reducer::new(element, by)) {
            // Products of many numbers leave the integers that a float holds.
            if by.operator() == Operator::Product && t.n_ranks() > MAX_LONG {
                continue;
            }
            let parts = Parts::Equal(5 * element.bytes());
            for kind in Kind::ALL.into_iter().filter(|kind| kind.is_reduction()) {
                let call = Collective::new(kind, parts.clone()).with_reducer(by);
                require_own(t, found, &call)?;
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
    for kind in Kind::ALL {
        for length in [0, 40, 40_000].into_iter().take(if n <= MAX_FULL { 3 } else { 2 }) {
            let call = Collective::new(kind, Parts::Equal(length)).with_root(n - 1);
            for algorithm in algorithm::of(kind).iter().filter(|of| of.admit(&call, n).is_ok()) {
                let plan = algorithm.plan(&call, t.rank(), n);
                let mut running = Running::new(t, plan)?;
                require(t, found, &call, algorithm.name, |input, output| {
                    running.run(t, input, output)
                })?;
            }
        }
    }
    Ok(())
}

fn collectives_of_different_kinds_do_not_mix<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for round in 0..60 {
        let kind = Kind::ALL[round * 7 % Kind::ALL.len()];
        let length = [8, 0, 48, 2048][round % 4];
        let root = round * 5 % t.n_ranks();
        require_own(t, found, &Collective::new(kind, Parts::Equal(length)).with_root(root))?;
    }
    Ok(())
}

fn a_collective_with_a_short_buffer_is_refused<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let n = t.n_ranks();
    let gather = Collective::new(Kind::Allgather, Parts::Equal(8));
    let outcome = t.collective(&gather, &[0; 8], &mut vec![0; 8 * n - 1]);
    let kind = outcome.err().map(|error| error.kind);
    found.require_eq("a short output", kind, Some(TransportErrorKind::InvalidArgument));
    let outcome = t.collective(&gather.with_root(n), &[0; 8], &mut vec![0; 8 * n]);
    let kind = outcome.err().map(|error| error.kind);
    found.require_eq("a root that does not exist", kind, Some(TransportErrorKind::InvalidArgument));
    require_own(t, found, &Collective::new(Kind::Allgather, Parts::Equal(8)))
}
