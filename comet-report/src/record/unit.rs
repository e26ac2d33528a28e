//! Wire types of suites: the file that a run belongs to, and the lines of the journal between runs.

use serde::{Deserialize, Serialize};

/// The unit of a suite that a run is one attempt of.
///
/// A unit is an entry of the suite, with one of its axes where these vary by turns, on one number of
/// ranks: what a run holds anyway. Kernels that need others beside them, models, verdict and end are of
/// the whole run, so a smaller unit would leave points that mean less.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OfSuite {
    /// Name of the suite.
    pub name: String,
    /// SHA-256 of the text below, each line with its newline: runs of one plan have the same.
    pub sha256: String,
    /// The suite as it was measured, line by line: a suite file without includes, with the options of
    /// the command line in it.
    pub lines: Vec<String>,
    /// Name of the unit, which no other of the suite has (`gather, 4 ranks`).
    pub unit: String,
    /// Number of the attempt, from 1.
    pub attempt: u32,
}

/// One step of a unit. It stands between runs: `begun` before the `run` of the attempt, the others behind
/// its last line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Unit {
    /// Id of the run, which is missing in the file if the attempt ended before it.
    pub run_id: String,
    /// SHA-256 of the text of the suite.
    pub suite_sha256: String,
    /// Name of the unit.
    pub unit: String,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// The step.
    pub state: UnitState,
    /// RFC 3339, UTC, milliseconds.
    pub at: String,
    /// Reason of `stopped` and `gone`; of `begun` the environment that differs from that of earlier
    /// runs, where that is allowed; `null` otherwise.
    pub reason: Option<String>,
}

/// Steps of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum UnitState {
    /// An attempt begins. One without a further step was cut off.
    Begun,
    /// All points of the attempt are on the disk.
    Done,
    /// A signal or the time limit of the suite has ended the attempt, which does not count.
    Stopped,
    /// No further attempt is made.
    Gone,
}
