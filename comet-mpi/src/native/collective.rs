//! Collectives of the library, one call each.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::AtomicU8;

use comet_core::collective::{Collective, Element, Kind, Operator, Parts, Places, Reducer};
use comet_core::transport::Rank;
use mpi::ffi;

use super::comm::{Comm, in_place, to_c};
use super::issue::Way;
use super::refused::Refused;
use super::{Outcome, long, outcome};

/// The addresses of inputs and outputs without a byte: that of an empty slice is a small number, which
/// might be `MPI_IN_PLACE`, and MPICH refuses one address for both.
static NOTHING: [AtomicU8; 2] = [AtomicU8::new(0), AtomicU8::new(0)];

/// True for MPICH 4.0, whose `MPI_Reduce` takes `MPI_IN_PLACE` for an address where the root is another than
/// rank 0, and whose prepared collectives end before they have moved their data.
pub(super) fn is_mpich_4_0() -> bool {
    static IS: OnceLock<bool> = OnceLock::new();
    *IS.get_or_init(|| crate::library_version().starts_with("MPICH Version: 4.0"))
}

pub(super) fn address(input: &[u8]) -> *const c_void {
    if input.is_empty() { NOTHING[0].as_ptr().cast_const().cast() } else { input.as_ptr().cast() }
}

pub(super) fn place(output: &mut [u8]) -> *mut c_void {
    if output.is_empty() { NOTHING[1].as_ptr().cast() } else { output.as_mut_ptr().cast() }
}

/// The type of `element`.
pub(super) fn kind_of(element: Element) -> ffi::MPI_Datatype {
    match element {
        Element::U8 => constant!(RSMPI_UINT8_T),
        Element::I8 => constant!(RSMPI_INT8_T),
        Element::I32 => constant!(RSMPI_INT32_T),
        Element::I64 => constant!(RSMPI_INT64_T),
        Element::F32 => constant!(RSMPI_FLOAT),
        Element::F64 => constant!(RSMPI_DOUBLE),
    }
}

pub(super) fn operator(by: Reducer) -> ffi::MPI_Op {
    match by.operator() {
        Operator::Sum => constant!(RSMPI_SUM),
        Operator::Product => constant!(RSMPI_PROD),
        Operator::Min => constant!(RSMPI_MIN),
        Operator::Max => constant!(RSMPI_MAX),
        Operator::And => constant!(RSMPI_BAND),
        Operator::Or => constant!(RSMPI_BOR),
        Operator::Xor => constant!(RSMPI_BXOR),
    }
}

impl Comm {
    /// `places` in the elements of this communicator, and in bytes.
    #[inline]
    pub(super) fn in_elements<'p>(
        &self,
        places: &'p Places,
        name: &'static str,
    ) -> Result<long::Counted<'p>, Refused> {
        let counted = places.in_elements(self.unit()).ok_or(Refused::Uncounted(name))?;
        Ok([counted, places])
    }

    /// Number of elements of a part of `length` bytes, which is a whole number of them.
    #[inline]
    pub(super) fn whole(&self, length: usize, name: &'static str) -> Result<usize, Refused> {
        match self.counted(length) {
            (n_elements, kind) if kind == self.kind() => Ok(n_elements),
            _ => Err(Refused::Uncounted(name)),
        }
    }

    /// Carries `call` out on `rank`, by one call of the library, or by several for a vector of more
    /// than 2^31 - 1 elements in a library without counts of 64 bits. The buffers are as long as
    /// [`Collective::admit`] wants them, and its neighbours those of this communicator.
    #[inline]
    pub(crate) fn collective(
        &self,
        call: &Collective,
        (rank, n_ranks): (Rank, usize),
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), Refused> {
        debug_assert!(call.admit((rank, n_ranks), input, output).is_ok(), "the caller has asked");
        match call.kind() {
            Kind::Barrier => Ok(self.barrier()?),
            Kind::Broadcast => {
                let length = call.parts().length(0);
                Ok(self.broadcast(&mut output[..length], call.root(), rank == call.root())?)
            }
            Kind::NeighbourAllgather => self.gathered_from_neighbours(call, input, output),
            Kind::NeighbourAlltoall => self.exchanged_with_neighbours(call, input, output),
            _ => self.with_parts(call, rank, input, output, Way::Blocked),
        }
    }

    /// Starts or prepares `call` on `rank` by one call of the library, which writes its request; the buffers
    /// are as above, and no neighbours are named.
    #[inline]
    pub(super) fn issue(
        &self,
        call: &Collective,
        rank: Rank,
        input: &[u8],
        output: &mut [u8],
        way: Way,
    ) -> Result<(), Refused> {
        let comm = self.raw();
        match call.kind() {
            // SAFETY: the communicator is alive.
            Kind::Barrier => issued!(way, MPI_Barrier | MPI_Ibarrier | barrier(comm)),
            Kind::Broadcast => {
                let (length, root) = (call.parts().length(0), to_c(call.root()));
                let into = place(&mut output[..length]);
                let is_root = rank == call.root();
                // SAFETY: the message has that length.
                equal_parts!(self, length, way, MPI_Bcast | MPI_Ibcast | bcast, |n,
                                                                                 [
                    sent,
                    received,
                ]| (
                    into,
                    n,
                    if is_root { sent } else { received },
                    root,
                    comm
                ))
            }
            _ => self.with_parts(call, rank, input, output, way),
        }
    }

    /// The collectives of vectors and parts.
    #[inline]
    fn with_parts(
        &self,
        call: &Collective,
        rank: Rank,
        input: &[u8],
        output: &mut [u8],
        way: Way,
    ) -> Result<(), Refused> {
        match call.kind() {
            Kind::ReduceScatter => self.reduce_scattered(call, input, output, way),
            Kind::Gather | Kind::Scatter => self.rooted(call, rank, (input, output), way),
            Kind::Allgather => self.gathered_by_all(call, rank, (input, output), way),
            Kind::Alltoall => self.exchanged(call, rank, (input, output), way),
            _ => self.reduced(call, rank, (input, output), way),
        }
    }

    /// `MPI_Reduce_local` (section 6.9.7) of vectors of one length, in pieces of 2^31 - 1 elements.
    #[inline]
    pub(crate) fn combine(by: Reducer, other: &[u8], into: &mut [u8]) -> Outcome {
        let (kind, op, unit) = (kind_of(by.element()), operator(by), by.element().bytes());
        debug_assert_eq!(other.len(), into.len(), "the caller has asked");
        let n_elements = into.len() / unit;
        let (from, into) = (address(other), place(into));
        let mut start = 0;
        loop {
            let count = (n_elements - start).min(c_int::MAX as usize);
            let (from, n) = (from.wrapping_byte_add(start * unit), to_c(count));
            let into = into.wrapping_byte_add(start * unit);
            // SAFETY: the call reads `n` elements of both vectors, which have as many from the
            // start on, and writes those of the second, which is borrowed mutably.
            let code = unsafe { ffi::MPI_Reduce_local(from, into, n, kind, op) };
            outcome("MPI_Reduce_local", code)?;
            start += count;
            if start == n_elements {
                return Ok(());
            }
        }
    }

    /// `MPI_Reduce`, `MPI_Allreduce`, `MPI_Scan` or `MPI_Exscan` (sections 6.9 and 6.11), in pieces
    /// of 2^31 - 1 elements where the library has no counts of 64 bits.
    fn reduced(
        &self,
        call: &Collective,
        rank: Rank,
        (input, output): (&[u8], &mut [u8]),
        way: Way,
    ) -> Result<(), Refused> {
        let (by, root, comm) = (call.by(), to_c(call.root()), self.raw());
        let (kind, op, unit) = (kind_of(by.element()), operator(by), by.element().bytes());
        // On all ranks alike. MPI_Ireduce has no such flaw.
        let is_late = way.is_blocked() && call.kind() == Kind::Reduce && call.root() > 0;
        if is_late && call.is_in_place_on(call.root()) && is_mpich_4_0() {
            return Err(Refused::LateInPlace);
        }
        let (from, into) = (address(input), place(output));
        let n_elements = call.parts().length(0) / unit;
        if n_elements > self.max_count() && !way.is_blocked() {
            return Err(Refused::TooLongToStart("a reduction"));
        }
        if n_elements > self.max_count() {
            let from = if call.is_in_place_on(rank) { in_place() } else { from };
            if let Some(outcome) = self.reduced_at_once(call, from, into) {
                return Ok(outcome?);
            }
        }
        let mut start = 0;
        loop {
            let count = (n_elements - start).min(self.max_count());
            let from = match call.is_in_place_on(rank) {
                true => in_place(),
                false => from.wrapping_byte_add(start * unit),
            };
            let (into, n) = (into.wrapping_byte_add(start * unit), to_c(count));
            match call.kind() {
                // SAFETY: the call reads `n` elements of the input, which has as many, and writes as many
                // of the output on the root, which has them there.
                Kind::Reduce => {
                    issued!(
                        way,
                        MPI_Reduce | MPI_Ireduce | reduce(from, into, n, kind, op, root, comm)
                    )?;
                }
                // SAFETY: as above, with an output on every rank.
                Kind::Allreduce => {
                    issued!(
                        way,
                        MPI_Allreduce | MPI_Iallreduce | allreduce(from, into, n, kind, op, comm)
                    )?;
                }
                // SAFETY: as above.
                Kind::Scan => {
                    issued!(way, MPI_Scan | MPI_Iscan | scan(from, into, n, kind, op, comm))?;
                }
                // SAFETY: as above.
                _ => {
                    issued!(way, MPI_Exscan | MPI_Iexscan | exscan(from, into, n, kind, op, comm))?
                }
            }
            start += count;
            if start == n_elements {
                return Ok(());
            }
        }
    }

    /// The same by one call with a count of 64 bits; `None` where the library has none.
    #[cold]
    fn reduced_at_once(
        &self,
        call: &Collective,
        from: *const c_void,
        into: *mut c_void,
    ) -> Option<Outcome> {
        let (by, root, comm) = (call.by(), to_c(call.root()), self.raw());
        let (kind, op) = (kind_of(by.element()), operator(by));
        let n = long::count(call.parts().length(0) / by.element().bytes());
        let (name, code) = match call.kind() {
            Kind::Reduce => ("MPI_Reduce_c", {
                let reduce = long::reduce()?;
                // SAFETY: the call reads `n` elements of the input, which has as many, and writes as many
                // of the output on the root, which has them there.
                unsafe { reduce(from, into, n, kind, op, root, comm) }
            }),
            Kind::Allreduce => ("MPI_Allreduce_c", {
                let allreduce = long::allreduce()?;
                // SAFETY: as above, with an output on every rank.
                unsafe { allreduce(from, into, n, kind, op, comm) }
            }),
            Kind::Scan => ("MPI_Scan_c", {
                let scan = long::scan()?;
                // SAFETY: as above.
                unsafe { scan(from, into, n, kind, op, comm) }
            }),
            _ => ("MPI_Exscan_c", {
                let exscan = long::exscan()?;
                // SAFETY: as above.
                unsafe { exscan(from, into, n, kind, op, comm) }
            }),
        };
        Some(outcome(name, code))
    }

    /// `MPI_Reduce_scatter_block` for parts of one length, else `MPI_Reduce_scatter` (section 6.10).
    fn reduce_scattered(
        &self,
        call: &Collective,
        input: &[u8],
        output: &mut [u8],
        way: Way,
    ) -> Result<(), Refused> {
        let (by, comm, most) = (call.by(), self.raw(), self.max_count());
        let (kind, op, unit) = (kind_of(by.element()), operator(by), by.element().bytes());
        let from = if call.is_in_place_on(0) { in_place() } else { address(input) };
        let into = place(output);
        let (name, code) = match call.parts() {
            Parts::Equal(length) => match long::short_count(length / unit, most) {
                // SAFETY: the input has a part of `n` elements for each rank, and the output one.
                Some(n) => {
                    return issued!(
                        way,
                        MPI_Reduce_scatter_block
                            | MPI_Ireduce_scatter_block
                            | reduce_scatter_block(from, into, n, kind, op, comm)
                    );
                }
                None if !way.is_blocked() => {
                    return Err(Refused::TooLongToStart("MPI_Ireduce_scatter_block"));
                }
                None => ("MPI_Reduce_scatter_block_c", {
                    let refusal = Refused::TooLong("MPI_Reduce_scatter_block");
                    let reduce_scatter_block = long::reduce_scatter_block().ok_or(refusal)?;
                    let n = long::count(length / unit);
                    // SAFETY: as above.
                    unsafe { reduce_scatter_block(from, into, n, kind, op, comm) }
                }),
            },
            Parts::Uneven(places) => match call.counts().filter(|_| places.greatest()[0] <= most) {
                // SAFETY: there is a count for each rank; the input has as many elements as all of them, and
                // the output as many as its rank's.
                Some(counts) => {
                    let counts = counts.as_ptr();
                    return issued!(
                        way,
                        MPI_Reduce_scatter
                            | MPI_Ireduce_scatter
                            | reduce_scatter(from, into, counts, kind, op, comm)
                    );
                }
                None if !way.is_blocked() => {
                    return Err(Refused::TooLongToStart("MPI_Ireduce_scatter"));
                }
                None => ("MPI_Reduce_scatter_c", {
                    let refusal = Refused::TooLong("MPI_Reduce_scatter");
                    let reduce_scatter = long::reduce_scatter().ok_or(refusal)?;
                    let n_elements = |length: &usize| long::count(length / unit);
                    let counts: Vec<_> = places.lengths().iter().map(n_elements).collect();
                    // SAFETY: as above.
                    unsafe { reduce_scatter(from, into, counts.as_ptr(), kind, op, comm) }
                }),
            },
        };
        Ok(outcome(name, code)?)
    }

    /// `MPI_Gather`, `MPI_Gatherv`, `MPI_Scatter` or `MPI_Scatterv` (sections 6.5 and 6.6).
    fn rooted(
        &self,
        call: &Collective,
        rank: Rank,
        (input, output): (&[u8], &mut [u8]),
        way: Way,
    ) -> Result<(), Refused> {
        let (root, comm, is_gather) = (to_c(call.root()), self.raw(), call.kind() == Kind::Gather);
        let (mut from, mut into) = (address(input), place(output));
        if call.is_in_place_on(rank) && is_gather {
            from = in_place();
        } else if call.is_in_place_on(rank) {
            into = in_place().cast_mut();
        }
        let (own, [sent, received]) = (call.parts().length(rank), self.kinds());
        match (call.parts(), is_gather) {
            // SAFETY: the input has the part of the rank, and the output of the root those of all
            // ranks.
            (Parts::Equal(length), true) => {
                equal_parts!(
                    self,
                    *length,
                    way,
                    MPI_Gather | MPI_Igather | gather,
                    |n, [sent, received]| (from, n, sent, into, n, received, root, comm)
                )
            }
            // SAFETY: the input of the root has the parts of all ranks, and the output that of the
            // rank.
            (Parts::Equal(length), false) => {
                equal_parts!(
                    self,
                    *length,
                    way,
                    MPI_Scatter | MPI_Iscatter | scatter,
                    |n, [sent, received]| (from, n, sent, into, n, received, root, comm)
                )
            }
            // SAFETY: there are a length and a start for each rank, with which the parts lie in the
            // output of the root; the input has the part of the rank.
            (Parts::Uneven(places), true) => uneven_parts!(
                self, own,
                [places => short / long, lengths, starts;],
                way, MPI_Gatherv | MPI_Igatherv | gatherv,
                |n| (from, n, sent, into, lengths, starts, received, root, comm)
            ),
            // SAFETY: there are a length and a start for each rank, with which the parts lie in the
            // input of the root; the output has the part of the rank.
            (Parts::Uneven(places), false) => uneven_parts!(
                self, own,
                [places => short / long, lengths, starts;],
                way, MPI_Scatterv | MPI_Iscatterv | scatterv,
                |n| (from, lengths, starts, sent, into, n, received, root, comm)
            ),
        }
    }

    /// `MPI_Allgather` or `MPI_Allgatherv` (section 6.7).
    fn gathered_by_all(
        &self,
        call: &Collective,
        rank: Rank,
        (input, output): (&[u8], &mut [u8]),
        way: Way,
    ) -> Result<(), Refused> {
        let (comm, [sent, received], into) = (self.raw(), self.kinds(), place(output));
        let from = if call.is_in_place_on(rank) { in_place() } else { address(input) };
        match call.parts() {
            // SAFETY: the input has one part, and the output those of all ranks.
            Parts::Equal(length) => equal_parts!(
                self,
                *length,
                way,
                MPI_Allgather | MPI_Iallgather | allgather,
                |n, [sent, received]| (from, n, sent, into, n, received, comm)
            ),
            // SAFETY: there are a length and a start for each rank, with which the parts lie in the
            // output; the input has the part of the rank.
            Parts::Uneven(places) => uneven_parts!(
                self, call.parts().length(rank), [places => short / long, lengths, starts;],
                way, MPI_Allgatherv | MPI_Iallgatherv | allgatherv,
                |n| (from, n, sent, into, lengths, starts, received, comm)
            ),
        }
    }

    /// `MPI_Alltoall`, `MPI_Alltoallv` or `MPI_Alltoallw` (section 6.8).
    fn exchanged(
        &self,
        call: &Collective,
        rank: Rank,
        (input, output): (&[u8], &mut [u8]),
        way: Way,
    ) -> Result<(), Refused> {
        let (comm, [out_kind, kind], into) = (self.raw(), self.kinds(), place(output));
        let from = if call.is_in_place_on(rank) { in_place() } else { address(input) };
        match (call.sent(), call.parts()) {
            // SAFETY: input and output have a part for each rank.
            (Parts::Equal(sent), Parts::Equal(length)) if sent == length => equal_parts!(
                self,
                *length,
                way,
                MPI_Alltoall | MPI_Ialltoall | alltoall,
                |n, [sent, received]| (from, n, sent, into, n, received, comm)
            ),
            // SAFETY: there are a length, a start and a type for each rank in both directions, with
            // which the parts lie in input and output: starts in bytes.
            (Parts::Uneven(sent), Parts::Uneven(received)) if call.has_types() => {
                let n = sent.lengths().len().max(received.lengths().len());
                let [out_kinds, kinds] = self.kinds_of_each(n).map(<[_]>::as_ptr);
                uneven_parts!(
                    self, 0,
                    [
                        sent => short_of_types / long_of_types, out_lengths, out_starts;
                        received => short_of_types / long_of_types, lengths, starts;
                    ],
                    way, MPI_Alltoallw | MPI_Ialltoallw | alltoallw,
                    |_n| (
                        from, out_lengths, out_starts, out_kinds, into, lengths, starts, kinds, comm
                    )
                )
            }
            // SAFETY: there are a length and a start for each rank in both directions, with which
            // the parts lie in input and output.
            (Parts::Uneven(sent), Parts::Uneven(received)) => uneven_parts!(
                self, 0,
                [
                    sent => short / long, out_lengths, out_starts;
                    received => short / long, lengths, starts;
                ],
                way, MPI_Alltoallv | MPI_Ialltoallv | alltoallv,
                |_n| (from, out_lengths, out_starts, out_kind, into, lengths, starts, kind, comm)
            ),
            _ => Err(Refused::Mixed("MPI_Alltoall")),
        }
    }
}
