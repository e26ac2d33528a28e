//! Collectives of the library, one call each.

use std::ffi::{c_int, c_void};
use std::sync::atomic::AtomicU8;

use comet_core::collective::{Collective, Element, Kind, Operator, Parts, Places, Reducer};
use comet_core::transport::Rank;
use mpi::ffi;

use super::comm::{Comm, MAX_COUNT, in_place, to_c};
use super::{Failure, Outcome, outcome};

/// The addresses of inputs and outputs without a byte: that of an empty slice is a small number, which
/// might be `MPI_IN_PLACE`, and MPICH refuses one address for both.
static NOTHING: [AtomicU8; 2] = [AtomicU8::new(0), AtomicU8::new(0)];

/// Where a collective does not go on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Refused {
    /// The library has failed.
    Failed(Failure),
    /// Lengths or places that the integers of the call do not hold.
    TooLong(&'static str),
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// The places of parts as integers of C, for the function `call`.
fn ints<'a>(places: &'a Places, call: &'static str) -> Result<&'a [Vec<i32>; 2], Refused> {
    places.as_ints().ok_or(Refused::TooLong(call))
}

fn address(input: &[u8]) -> *const c_void {
    if input.is_empty() { NOTHING[0].as_ptr().cast_const().cast() } else { input.as_ptr().cast() }
}

fn place(output: &mut [u8]) -> *mut c_void {
    if output.is_empty() { NOTHING[1].as_ptr().cast() } else { output.as_mut_ptr().cast() }
}

fn kind_of(element: Element) -> ffi::MPI_Datatype {
    match element {
        Element::U8 => constant!(RSMPI_UINT8_T),
        Element::I8 => constant!(RSMPI_INT8_T),
        Element::I32 => constant!(RSMPI_INT32_T),
        Element::I64 => constant!(RSMPI_INT64_T),
        Element::F32 => constant!(RSMPI_FLOAT),
        Element::F64 => constant!(RSMPI_DOUBLE),
    }
}

fn operator(by: Reducer) -> ffi::MPI_Op {
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
    /// Carries `call` out on `rank`, by one call of the library, or by several for a vector of more
    /// than 2^31 - 1 elements. The buffers are as long as [`Collective::admit`] wants them.
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
                Ok(self.broadcast(&mut output[..length], call.root())?)
            }
            Kind::Reduce | Kind::Allreduce | Kind::Scan | Kind::Exscan => {
                Ok(self.reduced(call, rank, input, output)?)
            }
            Kind::ReduceScatter => self.reduce_scattered(call, input, output),
            Kind::Gather | Kind::Scatter => self.rooted(call, rank, input, output),
            Kind::Allgather | Kind::Alltoall => self.shared(call, rank, input, output),
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
            let count = (n_elements - start).min(MAX_COUNT);
            let (from, n) = (from.wrapping_byte_add(start * unit), to_c(count));
            let into = into.wrapping_byte_add(start * unit);
            // SAFETY: the call reads `n` elements of both vectors, which have as many from the start
            // on, and writes those of the second, which is borrowed mutably.
            let code = unsafe { ffi::MPI_Reduce_local(from, into, n, kind, op) };
            outcome("MPI_Reduce_local", code)?;
            start += count;
            if start == n_elements {
                return Ok(());
            }
        }
    }

    /// `MPI_Reduce`, `MPI_Allreduce`, `MPI_Scan` or `MPI_Exscan` (sections 6.9 and 6.11), in pieces
    /// of 2^31 - 1 elements.
    fn reduced(&self, call: &Collective, rank: Rank, input: &[u8], output: &mut [u8]) -> Outcome {
        let (by, root, comm) = (call.by(), to_c(call.root()), self.raw());
        let (kind, op, unit) = (kind_of(by.element()), operator(by), by.element().bytes());
        // MPICH 4.0 takes MPI_IN_PLACE for an address where the root is another than rank 0.
        let is_copied = call.kind() == Kind::Reduce && call.root() > 0 && call.is_in_place_on(rank);
        let copied = if is_copied { output[..call.parts().length(0)].to_vec() } else { Vec::new() };
        let from = address(if is_copied { &copied } else { input });
        let into = place(output);
        let n_elements = call.parts().length(0) / unit;
        let mut start = 0;
        loop {
            let count = (n_elements - start).min(MAX_COUNT);
            let from = match call.is_in_place_on(rank) && !is_copied {
                true => in_place(),
                false => from.wrapping_byte_add(start * unit),
            };
            let (into, n) = (into.wrapping_byte_add(start * unit), to_c(count));
            let (name, code) = match call.kind() {
                Kind::Reduce => ("MPI_Reduce", {
                    // SAFETY: the call reads `n` elements of the input, which has as many, and writes
                    // as many of the output on the root, which has them there.
                    unsafe { ffi::MPI_Reduce(from, into, n, kind, op, root, comm) }
                }),
                Kind::Allreduce => ("MPI_Allreduce", {
                    // SAFETY: as above, with an output on every rank.
                    unsafe { ffi::MPI_Allreduce(from, into, n, kind, op, comm) }
                }),
                Kind::Scan => ("MPI_Scan", {
                    // SAFETY: as above.
                    unsafe { ffi::MPI_Scan(from, into, n, kind, op, comm) }
                }),
                _ => ("MPI_Exscan", {
                    // SAFETY: as above.
                    unsafe { ffi::MPI_Exscan(from, into, n, kind, op, comm) }
                }),
            };
            outcome(name, code)?;
            start += count;
            if start == n_elements {
                return Ok(());
            }
        }
    }

    /// `MPI_Reduce_scatter_block` for parts of one length, else `MPI_Reduce_scatter` (section 6.10).
    fn reduce_scattered(
        &self,
        call: &Collective,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), Refused> {
        let (by, comm) = (call.by(), self.raw());
        let (kind, op, unit) = (kind_of(by.element()), operator(by), by.element().bytes());
        let from = if call.is_in_place_on(0) { in_place() } else { address(input) };
        let into = place(output);
        if let Parts::Equal(length) = call.parts() {
            const NAME: &str = "MPI_Reduce_scatter_block";
            let n = c_int::try_from(length / unit).map_err(|_| Refused::TooLong(NAME))?;
            // SAFETY: the input has a part of `n` elements for each rank, and the output one.
            let code = unsafe { ffi::MPI_Reduce_scatter_block(from, into, n, kind, op, comm) };
            return Ok(outcome(NAME, code)?);
        }
        const NAME: &str = "MPI_Reduce_scatter";
        let counts = call.counts().ok_or(Refused::TooLong(NAME))?.as_ptr();
        // SAFETY: there is a count for each rank; the input has as many elements as all of them, and
        // the output as many as its rank's.
        let code = unsafe { ffi::MPI_Reduce_scatter(from, into, counts, kind, op, comm) };
        Ok(outcome(NAME, code)?)
    }

    /// `MPI_Gather`, `MPI_Gatherv`, `MPI_Scatter` or `MPI_Scatterv` (sections 6.5 and 6.6).
    fn rooted(
        &self,
        call: &Collective,
        rank: Rank,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), Refused> {
        let (root, comm, is_gather) = (to_c(call.root()), self.raw(), call.kind() == Kind::Gather);
        let (mut from, mut into) = (address(input), place(output));
        if call.is_in_place_on(rank) && is_gather {
            from = in_place();
        } else if call.is_in_place_on(rank) {
            into = in_place().cast_mut();
        }
        let own = call.parts().length(rank);
        let (name, code) = match (call.parts(), is_gather) {
            (Parts::Equal(length), true) => ("MPI_Gather", {
                self.with_type(*length, |n, kind| {
                    // SAFETY: the input has the part of the rank, and the output of the root those of
                    // all ranks.
                    unsafe { ffi::MPI_Gather(from, n, kind, into, n, kind, root, comm) }
                })
            }),
            (Parts::Equal(length), false) => ("MPI_Scatter", {
                self.with_type(*length, |n, kind| {
                    // SAFETY: the input of the root has the parts of all ranks, and the output that of
                    // the rank.
                    unsafe { ffi::MPI_Scatter(from, n, kind, into, n, kind, root, comm) }
                })
            }),
            (Parts::Uneven(places), true) => ("MPI_Gatherv", {
                let [lengths, starts] = ints(places, "MPI_Gatherv")?;
                let (lengths, starts) = (lengths.as_ptr(), starts.as_ptr());
                self.with_type(own, |n, kind| {
                    // SAFETY: there are a length and a start for each rank, with which the parts lie in
                    // the output of the root; the input has the part of the rank.
                    unsafe {
                        ffi::MPI_Gatherv(from, n, kind, into, lengths, starts, kind, root, comm)
                    }
                })
            }),
            (Parts::Uneven(places), false) => ("MPI_Scatterv", {
                let [lengths, starts] = ints(places, "MPI_Scatterv")?;
                let (lengths, starts) = (lengths.as_ptr(), starts.as_ptr());
                self.with_type(own, |n, kind| {
                    // SAFETY: there are a length and a start for each rank, with which the parts lie in
                    // the input of the root; the output has the part of the rank.
                    unsafe {
                        ffi::MPI_Scatterv(from, lengths, starts, kind, into, n, kind, root, comm)
                    }
                })
            }),
        };
        Ok(outcome(name, code?)?)
    }

    /// `MPI_Allgather`, `MPI_Allgatherv`, `MPI_Alltoall` or `MPI_Alltoallv` (sections 6.7 and 6.8).
    fn shared(
        &self,
        call: &Collective,
        rank: Rank,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), Refused> {
        let (comm, is_all_to_all) = (self.raw(), call.kind() == Kind::Alltoall);
        let from = if call.is_in_place_on(rank) { in_place() } else { address(input) };
        let into = place(output);
        let own = call.parts().length(rank);
        let (name, code) = match (call.parts(), is_all_to_all) {
            (Parts::Equal(length), false) => ("MPI_Allgather", {
                self.with_type(*length, |n, kind| {
                    // SAFETY: the input has one part, and the output those of all ranks.
                    unsafe { ffi::MPI_Allgather(from, n, kind, into, n, kind, comm) }
                })
            }),
            (Parts::Equal(length), true) => ("MPI_Alltoall", {
                self.with_type(*length, |n, kind| {
                    // SAFETY: input and output have a part for each rank.
                    unsafe { ffi::MPI_Alltoall(from, n, kind, into, n, kind, comm) }
                })
            }),
            (Parts::Uneven(places), false) => ("MPI_Allgatherv", {
                let [lengths, starts] = ints(places, "MPI_Allgatherv")?;
                let (lengths, starts) = (lengths.as_ptr(), starts.as_ptr());
                self.with_type(own, |n, kind| {
                    // SAFETY: there are a length and a start for each rank, with which the parts lie in
                    // the output; the input has the part of the rank.
                    unsafe { ffi::MPI_Allgatherv(from, n, kind, into, lengths, starts, kind, comm) }
                })
            }),
            (Parts::Uneven(received), true) => ("MPI_Alltoallv", {
                const NAME: &str = "MPI_Alltoallv";
                let Parts::Uneven(sent) = call.sent() else { return Err(Refused::TooLong(NAME)) };
                let [out_lengths, out_starts] = ints(sent, NAME)?;
                let [lengths, starts] = ints(received, NAME)?;
                let (out_lengths, out_starts) = (out_lengths.as_ptr(), out_starts.as_ptr());
                let (lengths, starts) = (lengths.as_ptr(), starts.as_ptr());
                self.with_type(1, |_, kind| {
                    // SAFETY: there are a length and a start for each rank in both directions, with
                    // which the parts lie in input and output.
                    unsafe {
                        ffi::MPI_Alltoallv(
                            from,
                            out_lengths,
                            out_starts,
                            kind,
                            into,
                            lengths,
                            starts,
                            kind,
                            comm,
                        )
                    }
                })
            }),
        };
        Ok(outcome(name, code?)?)
    }
}
