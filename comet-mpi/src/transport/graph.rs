//! Communicators with neighbours.

use std::rc::Rc;
use std::sync::Arc;

use comet_core::collective::Neighbours;
use comet_core::error::Result;
use comet_core::transport::{Source, Transport as _, require_rank};

use super::Mpi;
use crate::native::Comm;

/// A communicator with neighbours.
#[derive(Clone)]
pub(super) struct Graph {
    neighbours: Arc<Neighbours>,
    comm: Rc<Comm>,
    /// Time to make it, the mean over its ranks.
    pub(super) time_ns: f64,
}

impl Mpi {
    /// The transport of the same ranks with `neighbours`: the last one that was made, if all ranks name
    /// those of that.
    pub(super) fn with_graph(&self, neighbours: &Arc<Neighbours>) -> Result<Self> {
        let both = neighbours.sources().iter().chain(neighbours.destinations());
        both.copied().try_for_each(|rank| require_rank(self, rank))?;
        let last = self.graph.borrow().clone().filter(|last| last.neighbours == *neighbours);
        let graph = self.call_of_all(Source::Any, |comm| {
            let is_other = comm.largest(i32::from(last.is_none()))? > 0;
            if let Some(last) = last.filter(|_| !is_other) {
                return Ok(last);
            }
            let (made, elapsed_ns) = comm.with_neighbours(neighbours, || self.now_ns())?;
            let mut sum_ns = [elapsed_ns as f64];
            comm.sum(&mut sum_ns)?;
            let time_ns = sum_ns[0] / self.n_ranks() as f64;
            Ok(Graph { neighbours: Arc::clone(neighbours), comm: Rc::new(made), time_ns })
        })?;
        let comm = Rc::clone(&graph.comm);
        self.graph.replace(Some(graph));
        Ok(self.part(self.ranks(), comm, Some(Arc::clone(neighbours))))
    }
}
