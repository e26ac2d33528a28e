//! Waits by probes: one that polls, and one that leaves the CPU to others.

use std::thread;
use std::time::{Duration, Instant};

use comet_core::error::Result;
use comet_core::transport::{Source, Status, Tag, require_source};
use comet_core::waiting::Waiting;

use super::{Mpi, NAP};

/// Time for which a rank that rests looks without a pause.
const AWAKE_FOR: Duration = Duration::from_micros(100);

impl Mpi {
    /// Probes until a message is there.
    #[inline]
    pub(super) fn probed_until(&self, source: Source, tag: Tag) -> Result<Status> {
        require_source(self, source, tag)?;
        let waiting = Waiting::Probe(self.group.source(source), tag);
        let probes = || loop {
            if let Some(status) = self.comm.probe(source, tag)? {
                return Ok(status);
            }
        };
        self.waiting(waiting, probes).map_err(|failure| self.error(failure))
    }

    /// Rests until a message is there. MPI libraries poll while they wait, which takes the CPU from ranks
    /// that share it, and disturbs those on the same core.
    pub(super) fn rested_until(&self, source: Source, tag: Tag) -> Result<()> {
        require_source(self, source, tag)?;
        let waiting = Waiting::Rest(self.group.source(source));
        let start = Instant::now();
        let rest = || {
            while self.comm.probe(source, tag)?.is_none() {
                match start.elapsed() {
                    waited if waited < AWAKE_FOR => thread::yield_now(),
                    waited => thread::sleep((waited / 8).min(NAP)),
                }
            }
            Ok(())
        };
        self.waiting(waiting, rest).map_err(|failure| self.error(failure))
    }
}
