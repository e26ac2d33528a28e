//! `run`: plans, starts the ranks, and says how it ended.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::time::SystemTime;

use anyhow::Context as _;
use comet_core::driver::Settings;
use comet_report::abandoned::{Death, close_abandoned};
use comet_report::environment::Environment;
use comet_report::record::{Suite, Transport};
use comet_report::recorder::{RunDescription, new_run_id};
use serde_json::{Value, json};

use super::Prepared;
use crate::backend::{self, Backend, Ended, Launch};
use crate::cli::{ProgressArg, RunArgs};
use crate::exit;
use crate::results::{ResultFile, Results};
use crate::session::Session;
use crate::signals::Signals;
use crate::terminal;

/// Measures what is selected; returns the exit code.
///
/// # Errors
/// If the command line contradicts itself, or if the ranks or the result file cannot be made.
pub(super) fn run(args: &RunArgs) -> anyhow::Result<u8> {
    let backend = backend::find(&args.world.transport)?;
    let prepared = super::prepare(&args.select, &args.world, &args.cases, backend)?;
    let mut settings = super::settings(&args.cases, &args.effort);
    settings.corrupt = super::corrupt(args.inject.as_deref())?;
    let signals = Signals::catch().context("cannot catch signals")?;
    let started_at = SystemTime::now();
    let run_id = new_run_id(started_at);
    let file = ResultFile::create(&args.output, &run_id, started_at)?;
    let first_id = Cell::new(Some(run_id));
    let common =
        Common { args, backend, settings: &settings, file: &file, signals: &signals, first_id };
    let code = super::for_each(prepared, |prepared| common.run(prepared));
    file.tidy();
    let code = code?;
    if let Some(path) = file.kept().filter(|_| !args.output.quiet || code != exit::OK) {
        terminal::note(&format!("results: {}", path.display()));
    }
    Ok(code)
}

/// What runs with different numbers of ranks have in common.
struct Common<'a> {
    args: &'a RunArgs,
    backend: &'a dyn Backend,
    settings: &'a Settings,
    file: &'a ResultFile,
    signals: &'a Signals,
    /// Id of the first run, which names the file too; taken by that run.
    first_id: Cell<Option<String>>,
}

impl Common<'_> {
    /// Measures with one number of ranks.
    fn run(&self, prepared: Prepared) -> anyhow::Result<u8> {
        let Prepared { world, topology, plan, notes } = prepared;
        let launch = super::launch(&world, topology, self.settings);
        let output = &self.args.output;
        if !output.quiet {
            notes.iter().for_each(|note| terminal::note(note));
        }
        let results = Results {
            description: self.describe(&launch),
            path: self.file.path().map(Path::to_owned),
            format: output.format.clone(),
            progress: if output.quiet { ProgressArg::None } else { output.progress },
            signals: self.signals.clone(),
        };
        let (cases, settings) = (plan.cases(), self.settings.clone());
        let cap_bytes = self.args.cases.mem;
        let session = Session { cases, settings, cap_bytes, audience: &results };
        // What is still in a buffer would be written once more by each rank.
        std::io::stdout().flush().context("cannot write to standard output")?;
        conclude(&self.backend.launch(&launch, &session)?, self.file)
    }

    /// What the record says about the run.
    fn describe(&self, launch: &Launch) -> RunDescription {
        let Self { args, backend, settings, .. } = *self;
        let started_at = SystemTime::now();
        let details = backend.describe(launch).into_iter();
        // A backend states numbers as texts too; the record has numbers.
        let value = |text: String| serde_json::from_str(&text).unwrap_or(Value::String(text));
        let details = details.map(|(name, text)| (name.to_owned(), value(text))).collect();
        RunDescription {
            run_id: self.first_id.take().unwrap_or_else(|| new_run_id(started_at)),
            started_at,
            suite: Suite::of_this_build(),
            argv: std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect(),
            config: config(args, backend, launch, settings),
            seed: None,
            labels: args.output.label.iter().cloned().collect(),
            transport: Transport::new(backend.name(), details),
            placements: Vec::new(),
            topology: launch.topology.clone(),
            environment: Environment::capture(Path::new("/"), variables()),
        }
    }
}

/// Says how the job ended, and puts an end under the file of one that died.
fn conclude(ended: &Ended, file: &ResultFile) -> anyhow::Result<u8> {
    Ok(match ended {
        Ended::Finished(exit::INTERNAL) => {
            // Rank 0 has said why; whatever was kept before is worth an end.
            close(
                file,
                "output_failed",
                "the results could not be kept or printed",
                None,
                "error",
            )?;
            exit::INTERNAL
        }
        Ended::Finished(code) => *code,
        Ended::Failed { rank, code, message } => {
            close(file, code, message, *rank, "error")?;
            terminal::note(&format!("error: {message}"));
            exit::INTERNAL
        }
        Ended::Interrupted(signal) => {
            let message = format!("the ranks were ended by a second {signal}");
            close(file, "interrupted", &message, None, signal)?;
            terminal::note(&format!("error: {message}"));
            exit::code_of_signal(signal)
        }
    })
}

fn close(
    file: &ResultFile,
    code: &str,
    message: &str,
    rank: Option<usize>,
    reason: &str,
) -> anyhow::Result<()> {
    let Some(path) = file.kept().filter(|path| path.is_file()) else { return Ok(()) };
    let death = Death {
        code: code.into(),
        message: message.into(),
        rank,
        reason: reason.into(),
        noticed_at: SystemTime::now(),
    };
    Ok(close_abandoned(path, &death)?)
}

/// The environment, without names or values that are no text.
fn variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// Every setting in effect, whether given or by default.
fn config(
    args: &RunArgs,
    backend: &dyn Backend,
    launch: &Launch,
    settings: &Settings,
) -> BTreeMap<String, Value> {
    let n_ranks = launch.topology.n_ranks();
    let n_cpus = launch.bind.n_cpus(backend.usable_cpus());
    let entries = [
        ("select", json!(args.select)),
        ("ranks", json!(n_ranks)),
        ("usable_cpus", json!(n_cpus)),
        ("oversubscribed", json!(n_ranks > n_cpus)),
        ("transport", json!(backend.name())),
        ("mesh", json!(args.world.mesh.map(|shape| shape.to_string()))),
        ("topology", json!(args.world.topology)),
        ("bind", json!(launch.bind.to_string())),
        ("watchdog_s", json!(launch.watchdog.map(|time| time.as_secs_f64()))),
        ("profile", json!(args.cases.profile.name())),
        ("sizes", json!(args.cases.sizes)),
        ("vector_lengths", json!(args.cases.vector_lengths)),
        ("local_n", json!(args.cases.local_n)),
        ("hops", json!(args.cases.hops)),
        ("mem_bytes", json!(args.cases.mem)),
        ("case_budget_ns", json!(settings.case_budget_ns)),
        ("run_budget_ns", json!(settings.run_budget_ns)),
        ("repetitions", json!(settings.repetitions)),
        ("samples", json!(settings.samples)),
        ("max_samples", json!(settings.max_samples)),
        ("corrupt", json!(settings.corrupt)),
    ];
    entries.map(|(name, value)| (name.to_owned(), value)).into()
}
