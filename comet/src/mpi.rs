//! Measurements inside of an MPI program.

use std::fs::File;
use std::io::Write as _;

use comet_core::error::{Result, TransportError, TransportErrorKind};
use comet_core::topology::Topology;
use comet_core::transport::{RawTransport as _, Transport as _};
use comet_mpi::mpi::topology::SimpleCommunicator;
use comet_mpi::{Job, Mpi, OnFailure, RunConfig};
use comet_report::read::whole_file;
use comet_report::record;

use crate::error::Error;
use crate::ranks::{Ranks, finished};

/// The ranks of a communicator of this program, which initialises and finalises MPI itself. All ranks
/// measure at the same point of the program, and all get the times; it ends before `MPI_Finalize`.
#[derive(Debug)]
pub struct MpiRanks(Job);

impl MpiRanks {
    /// The ranks of `comm`, all of which call it; `on_failure` runs in a rank that fails, before the
    /// job is aborted.
    ///
    /// # Errors
    /// If MPI is not initialised, or if the library fails.
    pub fn of(
        comm: &SimpleCommunicator,
        on_failure: OnFailure,
    ) -> std::result::Result<Self, Error> {
        Ok(Self(comet_mpi::adopt(comm, on_failure)?))
    }

    /// Number of this rank, `0..n_ranks`.
    pub fn rank(&self) -> usize {
        self.0.rank()
    }
}

impl Ranks for &MpiRanks {
    type Transport = Mpi;

    fn topology(&self) -> Topology {
        Topology::hypercube(self.0.n_ranks())
    }

    fn describe(&self) -> record::Transport {
        record::Transport::stated("mpi", self.0.describe())
    }

    fn run(&self, record: &File, rank_main: &dyn Fn(&Mpi) -> u8) -> std::result::Result<(), Error> {
        let config = RunConfig::new(self.topology());
        let code = self.0.run(&config, |t| {
            let code = rank_main(t);
            if let Err(error) = share(t, record) {
                t.fail_job(&error.to_string());
            }
            code
        });
        finished(code, None)
    }
}

/// Copies the record of rank 0 to all ranks.
fn share(t: &Mpi, mut record: &File) -> Result<()> {
    let mut lines = if t.rank() == 0 { whole_file(record).map_err(lost)? } else { Vec::new() };
    let mut length = (lines.len() as u64).to_le_bytes();
    t.blocked_broadcast(0, &mut length)?;
    let length = usize::try_from(u64::from_le_bytes(length)).expect("rank 0 holds as much");
    lines.resize(length, 0);
    t.blocked_broadcast(0, &mut lines)?;
    if t.rank() != 0 {
        record.write_all(&lines).map_err(lost)?;
    }
    Ok(())
}

/// The error of a rank that cannot read or write its copy of the record.
fn lost(error: std::io::Error) -> TransportError {
    let text = format!("the record cannot be kept in memory: {error}");
    TransportError::new(TransportErrorKind::Backend, text)
}
