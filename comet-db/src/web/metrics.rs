//! Counters of the server in OpenMetrics. They hold nothing about runs that are pending.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::State;

use super::pages::Page;
use super::{Shared, answer, blocking};
use crate::card::State as RunState;

/// Type of the text.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Counters since the server started.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// Answers with a status of 100 to 199, 200 to 299, …
    answers: [AtomicU64; 5],
    micros: AtomicU64,
}

impl Counters {
    /// Counts an answer with this `status` that took `time`.
    pub(super) fn add(&self, status: u16, time: Duration) {
        let class = usize::from(status / 100).clamp(1, 5) - 1;
        // Relaxed: counters are read on their own.
        self.answers[class].fetch_add(1, Ordering::Relaxed);
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }
}

/// The counters, and the numbers of published runs, machines and alerts.
pub(super) async fn page(State(site): State<Shared>) -> Page {
    let reader = site.clone();
    let machines =
        blocking(move || reader.read(|index| index.machines(RunState::Published))).await?;
    let n_runs = machines.iter().map(|of| of.n_runs).sum::<i64>().to_string();
    let mut text = String::from("# TYPE comet_requests counter\n");
    let mut n_all = 0;
    for (class, n) in (1..).zip(&site.counters.answers) {
        let n = n.load(Ordering::Relaxed);
        n_all += n;
        text += &format!("comet_requests_total{{status=\"{class}xx\"}} {n}\n");
    }
    let seconds = Duration::from_micros(site.counters.micros.load(Ordering::Relaxed)).as_secs_f64();
    text += &format!(
        "# TYPE comet_request_seconds summary\n# UNIT comet_request_seconds seconds\n\
         comet_request_seconds_count {n_all}\ncomet_request_seconds_sum {seconds}\n"
    );
    let n_alerts = site.alerts().iter().filter(|alert| alert.mark.is_none()).count();
    for (name, help, n) in [
        ("comet_runs", "Published runs.", n_runs),
        ("comet_machines", "Machines with published runs.", machines.len().to_string()),
        ("comet_alerts", "Changes that no mark explains.", n_alerts.to_string()),
    ] {
        text += &format!("# TYPE {name} gauge\n# HELP {name} {help}\n{name} {n}\n");
    }
    Ok(answer(OPEN_METRICS, text + "# EOF\n"))
}
