//! Calibration: a machine file from measured times, and the error of its predictions.
//!
//! ```text
//!   cases ──► ranks ──► record ──► readings ──► fit ──► machine file, SimGrid platform
//!                                     │                      │
//!                                     └───► predictions ◄── the same cases, simulated
//! ```

mod fit;
mod machine_file;
mod prediction;
mod readings;
mod simgrid;

use std::path::Path;

use comet_core::kernel::Case;
use comet_core::topology::Topology;
use comet_sim::machine::{Machine, MachineFile};

use fit::Calibration;
use readings::Readings;
pub use readings::cases;

/// A machine fitted to the record of a calibration run.
#[derive(Debug)]
pub struct Calibrated {
    readings: Readings,
    topology: Topology,
    machine_file: String,
    /// The machine that a user of the file gets.
    machine: Machine,
}

impl Calibrated {
    /// Fits a machine called `name` to the samples of the file `record`, taken on `topology`.
    ///
    /// # Errors
    /// If the record cannot be read, or has too few points for a fit; [`crate::Refusal`] if it has
    /// none.
    pub fn of(record: &Path, name: &str, topology: Topology) -> anyhow::Result<Self> {
        let readings = Readings::of_file(record)?;
        let calibration = Calibration::of(&readings)?;
        let machine_file = machine_file::text(name, record, topology.n_ranks(), &calibration);
        let machine = MachineFile::parse(&machine_file, name)?.machine;
        Ok(Self { readings, topology, machine_file, machine })
    }

    /// The machine file, as text.
    pub fn machine_file(&self) -> &str {
        &self.machine_file
    }

    /// The SimGrid platform, as XML.
    ///
    /// # Errors
    /// [`crate::Refusal`] if no byte takes any time.
    pub fn platform(&self) -> anyhow::Result<String> {
        simgrid::platform(&self.machine, self.topology.n_ranks())
    }

    /// A table of predicted and measured times, for those `cases` that no fit used.
    ///
    /// # Errors
    /// If the simulation fails.
    pub fn predictions(&self, cases: &[Case]) -> anyhow::Result<String> {
        let simulated = prediction::simulate(self.machine.clone(), self.topology.clone(), cases)?;
        Ok(prediction::report(&self.readings, &simulated))
    }
}
