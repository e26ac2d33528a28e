//! Collectives of short messages: each rank puts what it gives into its cell, all meet, and each takes
//! what is for it out of the cells. One meeting, whatever the operation.
//!
//! The cells are those of the vector sums, and are written again as late.

use std::ops::Range;
use std::ptr;

use comet_core::collective::{Collective, Kind, Parts};
use comet_core::error::Result;
use comet_core::transport::Rank;

use crate::engine::Engine;
use crate::layout::CELL_VALUES;

use super::meeting::Meeting;
use super::vector::Vectors;

/// Bytes of a cell.
const CELL_BYTES: usize = CELL_VALUES * size_of::<f64>();

impl Vectors {
    /// Whether what a rank gives to `call` fits into its cell, and all know where it lies there.
    #[inline]
    pub(crate) fn admits(&self, call: &Collective) -> bool {
        let total = || call.parts().total(self.n_ranks());
        let n_bytes = match (call.kind(), call.parts()) {
            (Kind::Barrier | Kind::Broadcast, _) => return false,
            (kind, _) if kind.is_among_neighbours() => return false,
            (Kind::Alltoall, Parts::Uneven { .. }) => return false,
            (Kind::ReduceScatter | Kind::Scatter | Kind::Alltoall, _) => total(),
            (_, Parts::Equal(length)) => *length,
            (_, Parts::Uneven { .. }) => total(),
        };
        n_bytes <= CELL_BYTES
    }

    /// Carries `call` out, which it admits, with buffers that are long enough.
    pub(crate) fn exchange(
        &self,
        call: &Collective,
        input: &[u8],
        output: &mut [u8],
        meeting: &Meeting,
        engine: &Engine,
    ) -> Result<()> {
        let cell = self.begin_pieces(1);
        self.give(call, input, output, cell);
        let agreed_bytes = match call.parts() {
            Parts::Equal(length) => *length,
            uneven @ Parts::Uneven { .. } => uneven.total(self.n_ranks()),
        };
        self.meet(0, agreed_bytes, meeting, engine)?;
        self.take(call, output, cell);
        Ok(())
    }

    /// Copies what this rank gives into its cell.
    fn give(&self, call: &Collective, input: &[u8], output: &[u8], cell: usize) {
        let (rank, n_ranks) = (self.rank(), self.n_ranks());
        let given = match call.kind() {
            Kind::Gather | Kind::Allgather if call.is_in_place_on(rank) => {
                &output[call.parts().of(rank)]
            }
            Kind::Scatter => &input[..call.input_bytes(rank, n_ranks)],
            _ if call.is_in_place_on(rank) => &output[..call.output_bytes(rank, n_ranks)],
            _ => &input[..call.input_bytes(rank, n_ranks)],
        };
        let (from, into) = (given.as_ptr(), self.cell(rank, cell).cast::<u8>());
        // SAFETY: what is admitted fits; the cell's last readers have come to a later meeting, which
        // is over.
        unsafe { ptr::copy_nonoverlapping(from, into, given.len()) };
    }

    /// Copies what is for this rank out of the cells, or combines it in the order of the ranks.
    fn take(&self, call: &Collective, output: &mut [u8], cell: usize) {
        let (rank, n_ranks, parts) = (self.rank(), self.n_ranks(), call.parts());
        match call.kind() {
            Kind::Gather if rank != call.root() => (),
            Kind::Gather | Kind::Allgather => {
                for from in 0..n_ranks {
                    self.read((from, cell), 0..parts.length(from), |part| {
                        output[parts.of(from)].copy_from_slice(part);
                    });
                }
            }
            Kind::Scatter if call.is_in_place_on(rank) => (),
            Kind::Scatter => self.read((call.root(), cell), parts.of(rank), |part| {
                output[..part.len()].copy_from_slice(part);
            }),
            Kind::Alltoall => {
                for from in 0..n_ranks {
                    self.read((from, cell), parts.of(rank), |part| {
                        output[parts.of(from)].copy_from_slice(part);
                    });
                }
            }
            Kind::Reduce if rank != call.root() => (),
            Kind::ReduceScatter => self.combine(call, 0..n_ranks, parts.of(rank), output, cell),
            Kind::Scan => self.combine(call, 0..rank + 1, parts.of(0), output, cell),
            Kind::Exscan => self.combine(call, 0..rank, parts.of(0), output, cell),
            _ => self.combine(call, 0..n_ranks, parts.of(0), output, cell),
        }
    }

    /// Puts the combination of the `bytes` of all `ranks` to the front of `output`.
    fn combine(
        &self,
        call: &Collective,
        ranks: Range<Rank>,
        bytes: Range<usize>,
        output: &mut [u8],
        cell: usize,
    ) {
        let output = &mut output[..bytes.len()];
        let first = ranks.start;
        for rank in ranks {
            self.read((rank, cell), bytes.clone(), |vector| {
                // Rank 0's elements replace, the others' are combined: every rank forms the same.
                match rank == first {
                    true => output.copy_from_slice(vector),
                    false => call.by().combine(output, vector),
                }
            });
        }
    }

    /// Shows the `bytes` of the cell number `cell` of `rank` to `look`.
    fn read(&self, (rank, cell): (Rank, usize), bytes: Range<usize>, look: impl FnOnce(&[u8])) {
        assert!(bytes.end <= CELL_BYTES, "what is admitted fits into a cell");
        self.segment().cells(rank).values[cell].with(|values| {
            let start = values.cast::<u8>().wrapping_add(bytes.start);
            // SAFETY: the bytes lie in the cell, which its owner wrote before the meeting, and writes
            // again only after this rank has come to the next one.
            look(unsafe { std::slice::from_raw_parts(start, bytes.len()) });
        });
    }
}
