//! Transports of the same ranks or of a part of them, each on a communicator that one call makes.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use comet_core::collective::Neighbours;
use comet_core::error::Result;
use comet_core::topology::Topology;
use comet_core::transport::{Group, Source};

use super::Mpi;
use crate::native::{Comm, Outcome};

impl Mpi {
    /// The group of these ranks and its topology, for another communicator of them: of no size that grows with
    /// the number of ranks.
    pub(super) fn ranks(&self) -> (Group, Rc<Topology>) {
        (self.group.clone(), Rc::clone(&self.topology))
    }

    /// The transport of these [ranks](Self::ranks) on `comm`, which has been made of this one.
    pub(super) fn part(
        &self,
        (group, topology): (Group, Rc<Topology>),
        comm: Rc<Comm>,
        neighbours: Option<Arc<Neighbours>>,
    ) -> Self {
        Self {
            comm,
            library: Arc::clone(&self.library),
            topology,
            group,
            lines: None,
            set: Cell::default(),
            neighbours,
            graph: RefCell::default(),
            lanes: RefCell::default(),
            lane: self.lane.clone(),
            windows: OnceCell::new(),
            ..*self
        }
    }

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
