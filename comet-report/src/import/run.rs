//! The `run` of an import: a program, a number of ranks, and nothing else that a text tells.

use serde_json::{Value as Json, json};

use super::{Origin, Surroundings};
use crate::canonical::sha256_hex;
use crate::fingerprint::fingerprint;
use crate::record::{
    Clock, Hops, Launcher, Mesh, Point, Run, SCHEMA, SCHEMA_MINOR, Suite, Transport, World,
    timestamp,
};

/// The run `run_id` of `version` of a benchmark that measured `points`.
pub(super) fn run(
    origin: Origin,
    version: &str,
    points: &[Point],
    (run_id, around): (&str, &Surroundings),
) -> Run {
    let config = [("imported_from".to_owned(), Json::from(origin.name()))].into();
    let mut run = Run {
        schema: SCHEMA.into(),
        schema_minor: SCHEMA_MINOR,
        run_id: run_id.into(),
        started_at: timestamp(around.imported_at),
        suite: suite(origin, version),
        argv: around.argv.clone(),
        config_sha256: sha256_hex(&json!(config)),
        config,
        seed: None,
        labels: [].into(),
        transport: Transport { backend: "mpi".into(), facts: [].into() },
        launcher: Launcher::default(),
        world: world(points),
        machines: Vec::new(),
        fingerprint: String::new(),
        clock: unknown_clock(),
        line_ns: None,
        noise: None,
        n_cases: points.len(),
        kernels: Vec::new(),
    };
    run.fingerprint = fingerprint(&run);
    run
}

/// The program that measured, of which only name and version are known.
fn suite(origin: Origin, version: &str) -> Suite {
    Suite {
        name: origin.name().into(),
        version: version.into(),
        git_rev: None,
        rustc: None,
        target: String::new(),
        profile: String::new(),
        opt_flags: String::new(),
        target_features: None,
        lock_sha256: None,
        binary_sha256: None,
    }
}

/// As many ranks as any point had, in a row.
fn world(points: &[Point]) -> World {
    let procs = |point: &Point| usize::try_from(point.params.number("procs")?).ok();
    let size = points.iter().filter_map(procs).max().unwrap_or(1);
    World {
        size,
        nodes: None,
        ppn: Vec::new(),
        ranks: Vec::new(),
        mesh: Mesh { rows: 1, cols: size, order: "row".into(), map: (0..size).collect() },
        hops: Hops { metric: "flat".into(), diameter: size.min(2) - 1, table: None },
    }
}

fn unknown_clock() -> Clock {
    Clock {
        source: "MPI_Wtime".into(),
        resolution_ns: None,
        overhead_ns: None,
        pair_bias_ns: None,
        monotonic: false,
        is_global: false,
        is_virtual: false,
        invariant_tsc: None,
        domains: None,
        bound_ns: None,
        median_overhead_ns: None,
        empty_loop_ns: None,
        gaps: None,
    }
}
