//! Communicators of lanes, each of which a thread of its own uses.

use super::{Comm, Library, Outcome};
use crate::level::ThreadLevel;

/// A communicator on the way to the one thread that uses it.
pub(crate) struct LaneComm(Comm);

// SAFETY: a communicator is a few handles of the library and integers; it shares no count of references, since
// `of` takes none with a type that was made. `of` makes one only at `MPI_THREAD_MULTIPLE`, where any thread may
// use a handle (section 11.6), and the thread that kept the communicator waits until this one has ended.
unsafe impl Send for LaneComm {}

impl LaneComm {
    /// Makes `n` of `lanes`, duplicates of `comm`, of which all ranks make so many at once.
    ///
    /// # Errors
    /// If a call fails.
    pub(crate) fn make(comm: &Comm, lanes: &mut Vec<Comm>, n: usize) -> Outcome {
        let n_more = n.saturating_sub(lanes.len());
        lanes.extend(comm.spares(n_more)?);
        Ok(())
    }

    /// The communicator of a lane, which stays alive, for its thread; `None` if `library` has one thread, or if
    /// its messages are of a type that was made.
    pub(crate) fn of(lane: &Comm, library: &Library) -> Option<Self> {
        let is_possible = library.level == ThreadLevel::Multiple;
        lane.alias().filter(|_| is_possible).map(Self)
    }

    /// The communicator, in its thread.
    pub(crate) fn into_comm(self) -> Comm {
        self.0
    }
}
