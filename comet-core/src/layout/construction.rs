//! Construction of a datatype by itself, which a kernel times.

use std::hint::black_box;

use super::Datatype;
use crate::error::Result;
use crate::transport::{Transport, Work};

/// Construction of one datatype, prepared for a transport.
pub trait Construction<T: ?Sized>: Sized {
    /// Prepares the construction of `datatype`: its lists of blocks in the integers of the library.
    ///
    /// # Errors
    /// If the library refuses it.
    fn of(t: &T, datatype: &Datatype) -> Result<Self>;

    /// Constructs and commits the type, and frees it again (MPI-4.1 sections 5.1.2 and 5.1.9): one call of each
    /// constructor, the outermost one last.
    ///
    /// # Errors
    /// If the library refuses it.
    fn run(&mut self, t: &T) -> Result<()>;

    /// Size and extent in bytes of a type that is constructed so, as the library tells them (`MPI_Type_size`,
    /// `MPI_Type_get_extent`).
    ///
    /// # Errors
    /// If the library refuses it.
    fn found(&mut self, t: &T) -> Result<[usize; 2]>;
}

/// Search for the pieces of memory that loops of ours copy, in place of a construction: for transports of bytes.
#[derive(Debug)]
pub struct PieceSearch(Datatype);

impl<T: Transport> Construction<T> for PieceSearch {
    fn of(_: &T, datatype: &Datatype) -> Result<Self> {
        Ok(Self(datatype.clone()))
    }

    fn run(&mut self, t: &T) -> Result<()> {
        t.compute(Work::copy(0), || drop(black_box(self.0.runs())));
        Ok(())
    }

    /// Those of the pieces: a second element lies an extent behind the first one.
    fn found(&mut self, _: &T) -> Result<[usize; 2]> {
        let one = self.0.runs();
        let two = Datatype::contiguous(2, self.0.clone()).runs();
        Ok([one.size_bytes(), two.end() - one.end()])
    }
}
