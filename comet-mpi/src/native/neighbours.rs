//! Communicators with neighbours, and the collectives on them.

use std::ffi::c_int;
use std::iter;

use comet_core::collective::{Collective, Neighbours, Parts};
use comet_core::transport::Rank;
use mpi::ffi;

use super::collective::{address, place};
use super::comm::{Comm, from_c, to_c};
use super::issue::Way;
use super::refused::Refused;
use super::{Outcome, long, outcome, written};

/// Ranks and their weights as integers of C, with one more, so that a list without a rank has an address:
/// a small number might be `MPI_UNWEIGHTED`.
fn weighted(ranks: &[Rank]) -> [Vec<c_int>; 2] {
    let more = || iter::once(0);
    let weights = iter::repeat_n(1, ranks.len()).chain(more()).collect();
    [ranks.iter().copied().map(to_c).chain(more()).collect(), weights]
}

impl Comm {
    /// The communicator of the same ranks with `neighbours`, which are ranks of it
    /// (`MPI_Dist_graph_create_adjacent`: section 8.5.4), and the time of that call on the clock
    /// `now_ns`, in nanoseconds. All ranks call it.
    pub(crate) fn with_neighbours(
        &self,
        neighbours: &Neighbours,
        now_ns: impl Fn() -> u64,
    ) -> Outcome<(Self, u64)> {
        let degrees = [neighbours.sources().len(), neighbours.destinations().len()].map(to_c);
        let max_degree = self.largest(degrees[0].max(degrees[1]))?;
        let [sources, in_weights] = weighted(neighbours.sources());
        let [destinations, out_weights] = weighted(neighbours.destinations());
        let (info, null) = (constant!(RSMPI_INFO_NULL), constant!(RSMPI_COMM_NULL));
        let make = |comm| {
            let (sources, in_weights) = (sources.as_ptr(), in_weights.as_ptr());
            let (destinations, out_weights) = (destinations.as_ptr(), out_weights.as_ptr());
            // SAFETY: the communicator is alive; each list has as many ranks and weights as the
            // number before it says; the call writes the handle of a new communicator.
            unsafe {
                ffi::MPI_Dist_graph_create_adjacent(
                    self.raw(),
                    degrees[0],
                    sources,
                    in_weights,
                    degrees[1],
                    destinations,
                    out_weights,
                    info,
                    0,
                    comm,
                )
            }
        };
        let start_ns = now_ns();
        let raw = written("MPI_Dist_graph_create_adjacent", null, make);
        let elapsed_ns = now_ns().saturating_sub(start_ns);
        let mut comm = self.part(raw?)?;
        comm.max_degree = from_c(max_degree);
        // So that no call makes them while it is timed.
        comm.kinds_of_each(0);
        Ok((comm, elapsed_ns))
    }

    /// `MPI_Neighbor_allgather` or `MPI_Neighbor_allgatherv` (section 8.6.1).
    pub(super) fn gathered_from_neighbours(
        &self,
        call: &Collective,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), Refused> {
        let (comm, [out_kind, kind]) = (self.raw(), self.kinds());
        let (from, into) = (address(input), place(output));
        match (call.sent(), call.parts()) {
            // SAFETY: the input has one part, and the output one for each source.
            (Parts::Equal(sent), Parts::Equal(length)) if sent == length => equal_parts!(
                self,
                *length,
                Way::Blocked,
                MPI_Neighbor_allgather | MPI_Ineighbor_allgather | neighbor_allgather,
                |n, [sent, received]| (from, n, sent, into, n, received, comm)
            ),
            // SAFETY: there are a length and a start for each source, with which the parts lie in
            // the output; the input has the part of the rank.
            (Parts::Equal(own), Parts::Uneven(places)) => uneven_parts!(
                self, *own,
                [places => short / long, lengths, starts;],
                Way::Blocked, MPI_Neighbor_allgatherv | MPI_Ineighbor_allgatherv | neighbor_allgatherv,
                |n| (from, n, out_kind, into, lengths, starts, kind, comm)
            ),
            _ => Err(Refused::Mixed("MPI_Neighbor_allgather")),
        }
    }

    /// `MPI_Neighbor_alltoall`, `MPI_Neighbor_alltoallv` or `MPI_Neighbor_alltoallw` (section 8.6.2).
    pub(super) fn exchanged_with_neighbours(
        &self,
        call: &Collective,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), Refused> {
        let (comm, [out_kind, kind]) = (self.raw(), self.kinds());
        let (from, into) = (address(input), place(output));
        match (call.sent(), call.parts()) {
            // SAFETY: the input has a part for each destination, and the output one for each
            // source.
            (Parts::Equal(sent), Parts::Equal(length)) if sent == length => equal_parts!(
                self,
                *length,
                Way::Blocked,
                MPI_Neighbor_alltoall | MPI_Ineighbor_alltoall | neighbor_alltoall,
                |n, [sent, received]| (from, n, sent, into, n, received, comm)
            ),
            // SAFETY: there are a length, a start and a type for each destination and for each
            // source, of which there are no more than ranks, with which the parts lie in input and
            // output. Starts are addresses in both forms.
            (Parts::Uneven(sent), Parts::Uneven(received)) if call.has_types() => {
                let degrees = [sent, received].map(|places| places.lengths().len());
                let n = degrees[0].max(degrees[1]);
                let [out_kinds, kinds] = self.kinds_of_each(n).map(<[_]>::as_ptr);
                // MPICH 4.0 copies as many counts of each side as the other has.
                if degrees[0] != degrees[1]
                    && let Some(exchange) = long::neighbor_alltoallw()
                {
                    let counted = |places| self.in_elements(places, "MPI_Neighbor_alltoallw");
                    let (out_lengths, out_starts) = long::long_of_types(counted(sent)?);
                    let (lengths, starts) = long::long_of_types(counted(received)?);
                    // SAFETY: as above.
                    let code = unsafe {
                        exchange(
                            from,
                            out_lengths,
                            out_starts,
                            out_kinds,
                            into,
                            lengths,
                            starts,
                            kinds,
                            comm,
                        )
                    };
                    return Ok(outcome("MPI_Neighbor_alltoallw_c", code)?);
                }
                uneven_parts!(
                    self, 0,
                    [
                        sent => half_short_of_types / long_of_types, out_lengths, out_starts;
                        received => half_short_of_types / long_of_types, lengths, starts;
                    ],
                    Way::Blocked, MPI_Neighbor_alltoallw | MPI_Ineighbor_alltoallw | neighbor_alltoallw,
                    |_n| (
                        from, out_lengths, out_starts, out_kinds, into, lengths, starts, kinds, comm
                    )
                )
            }
            // SAFETY: there are a length and a start for each destination and for each source, with
            // which the parts lie in input and output.
            (Parts::Uneven(sent), Parts::Uneven(received)) => uneven_parts!(
                self, 0,
                [
                    sent => short / long, out_lengths, out_starts;
                    received => short / long, lengths, starts;
                ],
                Way::Blocked, MPI_Neighbor_alltoallv | MPI_Ineighbor_alltoallv | neighbor_alltoallv,
                |_n| (from, out_lengths, out_starts, out_kind, into, lengths, starts, kind, comm)
            ),
            _ => Err(Refused::Mixed("MPI_Neighbor_alltoall")),
        }
    }
}
