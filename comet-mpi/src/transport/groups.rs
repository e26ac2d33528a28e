//! Transports of the same ranks or of a part of them, each on a communicator that one call makes.

use std::rc::Rc;

use comet_core::error::Result;
use comet_core::topology::Topology;
use comet_core::transport::{Group, Source};

use super::Mpi;
use crate::native::{Comm, Outcome};

impl Mpi {
    /// `MPI_Comm_split`: the transport of `ranks`, the part of this rank, on all ranks of this one.
    pub(super) fn split_into(&self, ranks: Option<(Group, Rc<Topology>)>) -> Result<Option<Self>> {
        // Parts are told apart by their first ranks, and have the order of the group already.
        let place = ranks.as_ref().map(|(group, _)| (group.global(0), group.rank()));
        let comm = self.call_of_all(Source::Any, |comm| comm.split(place))?;
        Ok(ranks.zip(comm).map(|(ranks, comm)| self.part(ranks, Rc::new(comm), None)))
    }

    /// The transport of the same ranks on the communicator that `make` makes of theirs.
    pub(super) fn of_same_ranks(&self, make: impl FnOnce(&Comm) -> Outcome<Comm>) -> Result<Self> {
        let comm = self.call_of_all(Source::Any, make)?;
        Ok(self.part(self.ranks(), Rc::new(comm), None))
    }
}
