//! The `run` record of a run that starts.

use comet_core::event::{self, RunStart};
use comet_core::topology::{Mesh, Topology};
use serde_json::json;

use crate::canonical::sha256_hex;
use crate::fingerprint::fingerprint;
use crate::record::{
    self, Clock, ClockGaps, Hops, KernelFacts, Launcher, Machine, RankEntry, Run, SCHEMA,
    SCHEMA_MINOR, Suite, World, timestamp,
};
use crate::recorder::RunDescription;

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
        median_overhead_ns: Some(start.calibration.median_cost_ns),
        empty_loop_ns: Some(start.calibration.loop_ns),
        gaps: start.calibration.gaps.map(gaps),
    }
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
