//! Operations among the neighbours of each rank.

use super::Planner;
use crate::collective::Kind;

/// All messages at once; that of a rank to itself is a copy.
pub(super) fn linear(p: &mut Planner<'_>) {
    let (call, rank) = (p.call, p.rank);
    let (input, output) = (p.input(), p.output());
    let outgoing = |index: usize| match call.kind() {
        Kind::NeighbourAllgather => input,
        _ => input.at(call.sent().of(index)),
    };
    for (index, from) in call.sources().iter().enumerate() {
        if *from != rank {
            p.recv(*from, output.at(call.parts().of(index)));
        }
    }
    for (index, to) in call.destinations().iter().enumerate() {
        if *to != rank {
            p.send(*to, outgoing(index));
        }
    }
    let place = |ranks: &[usize]| ranks.iter().position(|other| *other == rank);
    if let (Some(from), Some(into)) = (place(call.destinations()), place(call.sources())) {
        p.copy(outgoing(from), output.at(call.parts().of(into)));
    }
}
