//! The description of a run by the process that starts it, and the `run` record that it becomes.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use comet_core::event::{self, RunStart};
use comet_core::topology::{Mesh, Topology};
use serde_json::{Value, json};
use uuid::{NoContext, Timestamp, Uuid};

use crate::environment::{Environment, noise};
use crate::fingerprint::{fingerprint, sha256_hex};
use crate::record::{
    self, Clock, ClockGaps, ClockOffset, Hops, KernelFacts, Launcher, Machine, Noise, OfSuite,
    RankEntry, Run, SCHEMA, SCHEMA_MINOR, Suite, Transport, World, timestamp,
};

/// Facts about a run that the driver does not know.
#[derive(Clone, Debug)]
pub struct RunDescription {
    /// UUID, version 7; see [`new_run_id`].
    pub run_id: String,
    /// The wall clock when the run started.
    pub started_at: SystemTime,
    /// Reads the wall clock, for the end of a run whose own clock is virtual.
    pub date: fn() -> SystemTime,
    /// Reads the load of the machine and this process ([`noise`](crate::environment::noise)).
    pub noise: fn() -> Option<Noise>,
    /// The program.
    pub suite: Suite,
    /// Command line.
    pub argv: Vec<String>,
    /// Settings in effect, units in their names.
    pub config: BTreeMap<String, Value>,
    /// Seed of the random numbers, if the run draws any.
    pub seed: Option<u64>,
    /// The user's labels of the run.
    pub labels: BTreeMap<String, String>,
    /// Transport of the messages.
    pub transport: Transport,
    /// The program outside that started the ranks, if one did.
    pub launcher: Option<String>,
    /// Places of the ranks, in rank order.
    pub placements: Vec<RankEntry>,
    /// Mesh and hops.
    pub topology: Topology,
    /// The machine of rank 0.
    pub environment: Environment,
    /// This launch, where the run has several.
    pub launch: Option<Launch>,
    /// The suite whose unit the run is.
    pub of_suite: Option<OfSuite>,
}

/// One of several launches of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Its number, from 1.
    pub number: u32,
    /// Time from the start of the run to its own.
    pub since_start: Duration,
}

/// An id for a run that starts at `started_at`: UUID, version 7, so that ids sort by time.
pub fn new_run_id(started_at: SystemTime) -> String {
    let since_epoch = started_at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let timestamp =
        Timestamp::from_unix(NoContext, since_epoch.as_secs(), since_epoch.subsec_nanos());
    Uuid::new_v7(timestamp).to_string()
}

impl RunDescription {
    /// A run of this process by the program `suite` on ranks of `topology`, without settings, labels
    /// and placements; `date` reads the wall clock.
    pub fn of_this_process(
        date: fn() -> SystemTime,
        suite: Suite,
        transport: Transport,
        topology: Topology,
    ) -> Self {
        let started_at = date();
        Self {
            run_id: new_run_id(started_at),
            started_at,
            date,
            noise: || noise(Path::new("/")),
            suite,
            argv: argv(),
            config: [].into(),
            seed: None,
            labels: [].into(),
            transport,
            launcher: None,
            placements: Vec::new(),
            topology,
            environment: Environment::capture(Path::new("/"), variables()),
            launch: None,
            of_suite: None,
        }
    }
}

/// The command line of this process.
pub fn argv() -> Vec<String> {
    std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect()
}

/// The environment, without names or values that are no text.
fn variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// The record of the run `description`, which starts with `start`.
pub(crate) fn run(description: &RunDescription, start: &RunStart) -> Run {
    let RunDescription { config, environment, .. } = description;
    let world = world(&description.placements, &description.topology);
    let machine = machine(&environment.machine, &world);
    let binary_sha256 = environment.binary_sha256.clone();
    let mut run = Run {
        schema: SCHEMA.into(),
        schema_minor: SCHEMA_MINOR,
        run_id: description.run_id.clone(),
        started_at: timestamp(description.started_at),
        suite: Suite { binary_sha256, ..description.suite.clone() },
        argv: description.argv.clone(),
        config: config.clone(),
        config_sha256: sha256_hex(&json!(config)),
        seed: description.seed,
        labels: description.labels.clone(),
        transport: description.transport.clone(),
        launcher: launcher(description),
        fingerprint: String::new(),
        clock: clock(start, machine.cpu.invariant_tsc),
        machines: vec![machine],
        world,
        line_ns: start.line_ns,
        noise: environment.noise.clone(),
        n_cases: start.n_cases,
        kernels: start.kernels.iter().map(|info| KernelFacts::from(*info)).collect(),
        of_suite: description.of_suite.clone(),
    };
    run.fingerprint = fingerprint(&run);
    run
}

/// Clock quality as the driver measured it; `invariant_tsc` comes from the machine.
fn clock(start: &RunStart, invariant_tsc: Option<bool>) -> Clock {
    Clock {
        source: Some(start.clock.name.into()),
        resolution_ns: start.calibration.step_ns,
        overhead_ns: Some(start.calibration.cost_ns),
        pair_bias_ns: Some(start.calibration.pair_bias_ns),
        monotonic: true,
        is_global: start.clock.is_global,
        is_virtual: start.clock.is_virtual,
        invariant_tsc,
        domains: Some(start.n_clock_domains),
        bound_ns: start.clock_bound_ns,
        offsets: start.clock_offsets.iter().map(offset).collect(),
        median_overhead_ns: Some(start.calibration.median_cost_ns),
        empty_loop_ns: Some(start.calibration.loop_ns),
        gaps: start.calibration.gaps.map(gaps),
    }
}

fn offset(offset: &comet_core::sync::ClockOffset) -> ClockOffset {
    let comet_core::sync::ClockOffset { rank, offset_ns, bound_ns, drift_ppm } = *offset;
    ClockOffset { rank, offset_ns, bound_ns, drift_ppm }
}

fn gaps(gaps: event::ClockGaps) -> ClockGaps {
    let event::ClockGaps { n, n_zero, n_backwards, n_above_1_us, n_above_50_us, longest_ns } = gaps;
    ClockGaps { n, n_zero, n_backwards, n_above_1_us, n_above_50_us, longest_ns }
}

fn launcher(description: &RunDescription) -> Launcher {
    let env = description.environment.variables.clone();
    let parent = description.environment.parent.clone();
    Launcher { name: description.launcher.clone(), env, parent }
}

fn world(placements: &[RankEntry], topology: &Topology) -> World {
    let mut nodes: Vec<(&Option<String>, usize)> = Vec::new();
    let mut ranks = Vec::new();
    for placement in placements {
        let known = nodes.iter().position(|(node, _)| *node == &placement.node);
        let index = known.unwrap_or_else(|| {
            nodes.push((&placement.node, 0));
            nodes.len() - 1
        });
        ranks.push(RankEntry { local_rank: nodes[index].1, ..placement.clone() });
        nodes[index].1 += 1;
    }
    World {
        size: topology.n_ranks(),
        nodes: Some(nodes.len()),
        ppn: nodes.iter().map(|(_, n_ranks)| *n_ranks).collect(),
        ranks,
        mesh: mesh(topology.mesh()),
        hops: hops(topology),
    }
}

/// The most ranks of a simulated network whose distances are written as a table.
const MAX_TABLE_RANKS: usize = 128;

fn hops(topology: &Topology) -> Hops {
    let ranks = || 0..topology.n_ranks();
    let row = |from| ranks().map(|to| topology.hops(from, to)).collect();
    let is_told_by_name = matches!(topology.metric(), "hypercube" | "flat");
    let is_small = topology.metric() == "table" || topology.n_ranks() <= MAX_TABLE_RANKS;
    let table = (!is_told_by_name && is_small).then(|| ranks().map(row).collect());
    Hops { metric: topology.metric().into(), diameter: diameter(topology), table }
}

fn mesh(mesh: &Mesh) -> record::Mesh {
    let (rows, cols) = (mesh.rows(), mesh.cols());
    let order = if *mesh == Mesh::gray_with(rows, cols) {
        "gray"
    } else if mesh.ranks().is_sorted() {
        "row"
    } else {
        "file"
    };
    record::Mesh { rows, cols, order: order.into(), map: mesh.ranks().to_vec() }
}

fn diameter(topology: &Topology) -> usize {
    (0..topology.n_ranks()).map(|rank| topology.max_hops(rank)).max().unwrap_or(0)
}

/// `machine` with the names of all nodes of the world.
fn machine(machine: &Machine, world: &World) -> Machine {
    let mut machine = machine.clone();
    for node in world.ranks.iter().filter_map(|entry| entry.node.as_ref()) {
        if !machine.nodes.contains(node) {
            machine.nodes.push(node.clone());
        }
    }
    machine
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn a_run_of_this_process_has_its_date_and_its_command_line() {
        let date = || UNIX_EPOCH + Duration::from_secs(7);
        let transport = Transport::stated("shm", [("ring_lines", "64".to_owned())]);
        let topology = Topology::hypercube(2);
        let run = RunDescription::of_this_process(date, Suite::default(), transport, topology);
        assert_eq!((run.started_at, run.topology.n_ranks()), (date(), 2));
        // An id begins with the date, and ends with random bits.
        assert_eq!((&run.run_id[..8], run.argv), (&new_run_id(date())[..8], argv()));
        assert_eq!(run.transport.facts["shm"]["ring_lines"], 64);
        assert!(run.placements.is_empty() && run.labels.is_empty() && run.launch.is_none());
    }
}
