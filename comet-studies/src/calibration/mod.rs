//! Calibration: a machine file from measured times, and the error of its predictions.
//!
//! ```text
//!   search_cases ──► ranks ──► record ──► echo_bytes        lengths beside the switches
//!                                             │
//!   cases ◄───────────────────────────────────┘
//!     └────────────► ranks ──► record ──► readings ──► fit ──► machine file, SimGrid platform
//!                                            │                      │
//!                                            └───► predictions ◄── the same cases, simulated
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
pub use readings::{cases, echo_bytes, search_cases};

/// A machine fitted to the record of a calibration run.
#[derive(Debug)]
pub struct Calibrated {
    readings: Readings,
    calibration: Calibration,
    /// Times of the same cases on the machine.
    simulated: Readings,
    n_ranks: usize,
    machine_file: String,
    /// The machine that a user of the file gets.
    machine: Machine,
}

impl Calibrated {
    /// Fits a machine called `name` to the samples of the file `record`, taken on `topology`, and
    /// simulates the same `cases`.
    ///
    /// # Errors
    /// If the record cannot be read, or has too few points for a fit, or if the simulation fails;
    /// [`crate::Refusal`] if it has none.
    pub fn of(
        record: &Path,
        name: &str,
        topology: Topology,
        cases: &[Case],
    ) -> anyhow::Result<Self> {
        let n_ranks = topology.n_ranks();
        let readings = Readings::of_file(record)?;
        let calibration = Calibration::of(&readings)?;
        let mut machine_file = machine_file::text(name, record, n_ranks, &calibration);
        let machine = MachineFile::parse(&machine_file, name)?.machine;
        let settings = prediction::settings();
        let simulated = prediction::simulate(machine.clone(), topology, cases, &settings)?;
        let predictions = prediction::predictions(&readings, &simulated, &calibration.left_out);
        let refusals = prediction::refusals(&predictions);
        if !refusals.is_empty() {
            machine_file += &format!("\n# Times of these kernels it does not predict.\n{refusals}");
        }
        Ok(Self { readings, calibration, simulated, n_ranks, machine_file, machine })
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
        simgrid::platform(&self.machine, self.n_ranks)
    }

    /// A table of predicted and measured times of the cases that no line was fitted to.
    pub fn predictions(&self) -> String {
        let left_out = &self.calibration.left_out;
        prediction::report(&prediction::predictions(&self.readings, &self.simulated, left_out))
    }
}
