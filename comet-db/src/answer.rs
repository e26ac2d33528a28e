//! Answers as JSON: of the API, and of `db list --json`. What is missing is `null`.

use serde_json::{Value, json};

use crate::alert::Alert;
use crate::card::time_text;
use crate::index::{MachineUse, SeriesUse};
use crate::rows::{LabelRow, MachineRow, PointRow, RunRow, SeriesRow};

/// `run` with its machine and labels.
pub fn run(run: &RunRow, machine: &MachineRow, labels: &[LabelRow]) -> Value {
    let labels = labels.iter().map(|label| (label.name.clone(), Value::from(label.value.clone())));
    json!({
        "id": run.id.to_string(),
        "file": run.blob.to_string(),
        "run_id": run.uuid,
        "started_at": run.is_dated.then(|| time_text(run.started_ms)),
        "machine": machine.name,
        "machine_id": machine.id.to_string(),
        "cpu": machine.cpu,
        "site": machine.site,
        "title": run.title,
        "program": run.program,
        "backend": run.backend,
        "mpi": run.mpi,
        "network": run.network,
        "ranks": run.ranks,
        "nodes": run.nodes,
        "fingerprint": run.fingerprint,
        "ending": run.ending,
        "verdict": run.verdict,
        "points": {
            "ok": run.n_ok,
            "skipped": run.n_skipped,
            "failed": run.n_failed,
            "check_failed": run.n_check_failed,
        },
        "received_at": time_text(run.received_ms),
        "submitter": run.submitter,
        "state": run.state.name(),
        "labels": labels.collect::<serde_json::Map<_, _>>(),
    })
}

/// A machine with its runs.
pub fn machine(of: &MachineUse) -> Value {
    json!({
        "id": of.machine.id.to_string(),
        "name": of.machine.name,
        "cpu": of.machine.cpu,
        "site": of.machine.site,
        "runs": of.n_runs,
        "latest": time_text(of.latest_ms),
    })
}

/// An alert.
pub fn alert(of: &Alert) -> Value {
    json!({
        "machine": of.machine,
        "run": of.run.id.to_string(),
        "before": of.before.id.to_string(),
        "started_at": time_text(of.run.started_ms),
        "series": curve(&of.worst.series),
        "x": of.worst.x,
        "procs": of.worst.procs,
        "setting": of.worst.kind.setting,
        "before_ns": of.step.before.exp(),
        "after_ns": of.step.after.exp(),
        "ratio": (of.step.after - of.step.before).exp(),
        "numbers": { "changed": of.n_changed, "all": of.n_numbers },
        "mark": of.mark.as_ref().map(|mark| &mark.note),
    })
}

/// A curve.
pub fn curve(of: &SeriesRow) -> Value {
    json!({
        "id": of.id.to_string(),
        "suite": of.suite,
        "kernel": of.kernel,
        "variant": of.variant,
        "class": of.class,
        "quantity": of.quantity,
        "definition": of.definition,
        "rank_stat": of.rank_stat,
        "quote": of.quote,
        "params": of.params,
        "x": of.x,
        "x_unit": of.x_unit,
    })
}

/// A curve of a run.
pub fn series(of: &SeriesUse) -> Value {
    let mut value = curve(&of.series);
    value["run"] = of.run.to_string().into();
    value["points"] = of.n_points.into();
    value["x_range"] = json!([of.least_x, of.most_x]);
    value["procs_range"] = json!([of.least_procs, of.most_procs]);
    value
}

/// A point.
pub fn point(of: &PointRow) -> Value {
    json!({
        "run": of.run.to_string(),
        "series": of.series.to_string(),
        "x": of.x,
        "procs": of.procs,
        "setting": of.setting,
        "key": of.key,
        "status": of.status,
        "n": of.n,
        "quoted_ns": of.quoted_ns,
        "interval_ns": of.low_ns.zip(of.high_ns).map(|(low, high)| [low, high]),
        "min_ns": of.min_ns,
        "p25_ns": of.p25_ns,
        "median_ns": of.median_ns,
        "p75_ns": of.p75_ns,
        "p90_ns": of.p90_ns,
        "p99_ns": of.p99_ns,
        "max_ns": of.max_ns,
        "mean_ns": of.mean_ns,
        "stddev_ns": of.stddev_ns,
        "bytes_per_s": of.bytes_per_s,
        "launches_ns": of.launches(),
    })
}
