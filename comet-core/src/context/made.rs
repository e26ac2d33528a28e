//! Resources that a kernel takes from its context before it is timed: buffers, busy work, windows and files.

use super::Context;
use crate::busy::Busy;
use crate::driver::{self, Slowest};
use crate::error::{Result, TransportError, TransportErrorKind};
use crate::file::{Cache, File, Sharing};
use crate::kernel::Side;
use crate::transport::Transport;
use crate::window::{Memory, Window};

impl<T: Transport> Context<'_, T> {
    /// A message buffer of the transport's fastest memory, zeroed.
    ///
    /// # Errors
    /// If there is not that much memory.
    pub fn message(&self, length_bytes: usize) -> Result<T::Buffer> {
        self.transport.message_buffer(length_bytes)
    }

    /// Busy work of about `ns` nanoseconds. The first of a run is calibrated, in about 2 ms.
    pub fn busy(&self, ns: u64) -> Busy {
        let calibrate = || driver::rounds_per_ms(self.transport);
        let known = self.method.rounds_per_ms.map(|known| *known.get_or_init(calibrate));
        Busy::new(ns, known.unwrap_or_else(calibrate))
    }

    /// The side of this rank in the pair between which an empty message and its answer take longest, of all
    /// pairs or, if `of_root`, of those of rank 0; `None` on the others. All ranks call it. The first call of a
    /// run looks for the pair: as many at once as possible, 20 round trips each.
    ///
    /// # Errors
    /// If the transport fails.
    ///
    /// # Panics
    /// If there is one rank alone.
    pub fn slowest_pair(&self, of_root: bool) -> Result<Option<Side>> {
        let (unknown, tag) = (Slowest::default(), self.tag(0));
        let slowest = self.method.slowest.unwrap_or(&unknown);
        let pair = slowest.pair(self.meeting, tag, of_root)?;
        let side = |own: usize| Side { peer: pair[1 - own], leads: own == 0 };
        Ok(pair.iter().position(|rank| *rank == self.rank()).map(side))
    }

    /// A closed window with a part and an origin of so many bytes; all ranks make it.
    ///
    /// # Errors
    /// If the transport has no windows, or fails in them, or if there is not that much memory.
    pub fn window(
        &self,
        part_bytes: usize,
        origin_bytes: usize,
        memory: Memory,
    ) -> Result<Window<T>> {
        require_sound("windows", self.method.broken.and_then(|broken| broken.windows.as_deref()))?;
        Window::new(self.transport, part_bytes, origin_bytes, memory)
    }

    /// A closed file in the user's folder, with memory for its transfers; all ranks make it.
    ///
    /// # Errors
    /// If the transport has no files, or fails in them, or if there is not that much memory.
    ///
    /// # Panics
    /// If there is no folder: [`KernelInfo::admits`](crate::kernel::KernelInfo::admits) refuses a case
    /// without [`World::files`](crate::kernel::World::files).
    pub fn file(
        &self,
        sharing: Sharing,
        memory_bytes: usize,
        n_in_flight: usize,
    ) -> Result<File<T>> {
        require_sound("files", self.method.broken.and_then(|broken| broken.files.as_deref()))?;
        let t = self.transport;
        let folder = self.method.files.expect("a case without a folder is not admitted");
        File::new(t, &folder.plan(t.global_rank(0), sharing), memory_bytes, n_in_flight)
    }

    /// Use of the system's memory for the files of the run.
    pub fn cache(&self) -> Cache {
        self.method.files.map_or(Cache::Keep, |folder| folder.cache)
    }
}

/// Refuses what a check of the transport has refuted.
fn require_sound(what: &str, problem: Option<&str>) -> Result<()> {
    let Some(problem) = problem else { return Ok(()) };
    let text = format!("needs {what}, in which this transport fails: {problem}");
    Err(TransportError::new(TransportErrorKind::Unsupported, text))
}
