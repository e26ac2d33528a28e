//! Constructions of datatypes, which are timed.

use comet_core::error::Result;
use comet_core::layout::{Construction, Datatype};

use super::Mpi;
use crate::native::Constructor;

/// The construction of a datatype by the constructors of MPI.
#[derive(Debug)]
pub struct MpiConstruction(Constructor);

impl Construction<Mpi> for MpiConstruction {
    fn of(t: &Mpi, datatype: &Datatype) -> Result<Self> {
        Constructor::of(datatype).map(Self).map_err(|failure| t.error(failure))
    }

    #[inline]
    fn run(&mut self, t: &Mpi) -> Result<()> {
        self.0.run().map_err(|failure| t.error(failure))
    }

    fn found(&mut self, t: &Mpi) -> Result<[usize; 2]> {
        self.0.facts().map_err(|failure| t.error(failure))
    }
}
