//! The units of a suite in turn: what is left of them is measured, whatever becomes of single ones.

use std::sync::PoisonError;
use std::time::SystemTime;

use comet_report::journal::Journal as Past;
use comet_report::recorder::new_run_id;

use crate::cli::SuiteRunArgs;
use crate::command::run::{self, Planned, Task, Turns};
use crate::execute::{agree_on, on_first};
use crate::exit;
use crate::launcher::Launcher;
use crate::suite::Suite;
use crate::suite::journal::{self, Journal, Outcome};
use crate::terminal;
use crate::world::ranks;

/// Reason of a unit that the time limit of the suite has cut short.
const TIME: &str = "the time of the suite is over";

/// Measures the units of `suite` that are left; returns the exit code.
pub(super) fn measure(
    suite: &Suite,
    args: &SuiteRunArgs,
    launcher: Option<&Launcher>,
) -> anyhow::Result<u8> {
    let n = suite.entries.len();
    let tasks: Vec<Task<'_>> = (suite.entries.iter().enumerate())
        .map(|(index, entry)| {
            let varied = entry.varied.iter().map(|axis| format!(", varied: {axis}"));
            let varied: String = varied.collect();
            let name = format!("entry {} ({} of {n}{varied})", entry.id, index + 1);
            Task { args: &entry.args, entry: Some((entry, name)) }
        })
        .collect();
    // The options of the command line hold for all entries.
    let out = suite.entries[0].args.output.out.as_deref();
    let open =
        |run_id: &str, started_at| journal::open(out, args.journal.again, run_id, started_at);
    let in_turn = |turns: &mut Turns<'_, '_>, planned: Vec<Planned>, past: Past| {
        let units = units(suite, planned);
        let names = units.iter().map(|unit| unit.name.clone()).collect();
        let journal = on_first(turns.bench.job, || {
            let bench = &*turns.bench;
            let describe = |index: usize| {
                let of = &units[index].planned.prepared[0];
                bench.describe(&bench.ranks(of.topology.clone(), of.bind.clone()), true)
            };
            let kept = (bench.file.as_ref(), &past);
            let args = &args.journal;
            Journal::new(suite, names, kept, args.attempts, args.allow_env_diff, describe).map(Some)
        })?;
        in_turn(suite, &tasks, &units, journal, turns)
    };
    run::measure_each(&tasks, launcher, open, in_turn, |_, _, code| Ok(code))
}

/// One unit: an entry on one number of ranks.
struct Unit {
    name: String,
    /// Place of the task that it is of.
    task: usize,
    planned: Planned,
}

/// The units of `suite`, of whose entries all runs are `planned`.
fn units(suite: &Suite, planned: Vec<Planned>) -> Vec<Unit> {
    let tasks = planned.into_iter().enumerate();
    let units = tasks.flat_map(|(task, Planned { prepared, settings })| {
        let name = suite.entries[task].name();
        prepared.into_iter().map(move |prepared| Unit {
            name: format!("{name}, {}", ranks(prepared.topology.n_ranks())),
            task,
            planned: Planned { prepared: vec![prepared], settings: settings.clone() },
        })
    });
    units.collect()
}

/// Measures `units` of `tasks`, as the `journal` of the first process says; returns the exit code.
fn in_turn(
    suite: &Suite,
    tasks: &[Task<'_>],
    units: &[Unit],
    mut journal: Option<Journal<'_>>,
    turns: &mut Turns<'_, '_>,
) -> anyhow::Result<u8> {
    let start = SystemTime::now();
    let job = turns.bench.job;
    let is_quiet = tasks[0].args.output.quiet;
    let told = journal.as_ref().filter(|_| !is_quiet).map(Journal::n_left);
    if let Some((left, all)) = told.filter(|(left, all)| left < all) {
        let done = all - left;
        terminal::note(&format!(
            "note: {done} of {all} units are over already (all anew: --again)"
        ));
    }
    let mut code = exit::NOTHING;
    loop {
        let next = on_first(job, || journal.as_mut().map_or(Ok(None), Journal::next))?;
        let Some(index) = agree_on(job, next) else { break };
        let unit = &units[index];
        let task = &tasks[unit.task];
        let mut planned = unit.planned.clone();
        let left =
            suite.limit.map(|limit| limit.saturating_sub(start.elapsed().unwrap_or_default()));
        let mut is_limited = false;
        if let Some(left) = left {
            // All processes end together.
            if job.agree(u8::from(left.is_zero())) != 0 {
                terminal::note(&format!("note: {}not begun: {TIME}", task.of()));
                code = exit::worse(code, exit::PARTIAL);
                break;
            }
            let left_ns = u64::try_from(left.as_nanos()).unwrap_or(u64::MAX);
            let budget_ns = &mut planned.settings.run_budget_ns;
            is_limited = budget_ns.is_none_or(|budget_ns| left_ns < budget_ns);
            *budget_ns = Some(budget_ns.unwrap_or(left_ns).min(left_ns));
        }
        let run_id = new_run_id(SystemTime::now());
        let begun = on_first(job, || {
            journal.as_mut().map(|journal| journal.begin(index, &run_id)).transpose()
        })?;
        if !is_quiet {
            let (_, name) = task.entry.as_ref().expect("every task is of an entry");
            let attempt = journal.as_ref().map_or(1, |journal| journal.attempt(index));
            let again = if attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
            terminal::note(&format!("{name}{again}"));
        }
        turns.run_id.set(Some(run_id));
        let own = turns.measure(unit.task, planned, begun)?;
        let failure = turns.bench.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        let has_failed = failure.is_some();
        let is_cut = is_limited && own == exit::PARTIAL && is_over(suite, start);
        let outcome = outcome(own, failure, is_cut);
        let goes_on = match outcome {
            Outcome::Done(_) => true,
            Outcome::Stopped(_) => false,
            // Ranks that were joined end with their job, and results that are lost help nobody.
            Outcome::Failed(_) => has_failed && job.n_ranks().is_none(),
        };
        on_first(job, || journal.as_mut().map_or(Ok(()), |journal| journal.end(index, outcome)))?;
        // Each process has a clock of its own.
        if job.agree(u8::from(goes_on)) == 0 {
            code = exit::worse(code, own);
            break;
        }
    }
    let of_units = journal.as_ref().map_or(exit::NOTHING, Journal::code);
    // The processes of a job end with one code.
    Ok(job.agree(exit::worse(code, of_units)))
}

/// The outcome of an attempt with the exit code `own`, and with the `failure` of its ranks; `is_cut` if the
/// time of the suite has ended it.
fn outcome(own: u8, failure: Option<String>, is_cut: bool) -> Outcome {
    match exit::signal_of(own) {
        Some(signal) => Outcome::Stopped(signal.into()),
        None if is_cut => Outcome::Stopped(TIME.into()),
        None if exit::gives_up(own) => {
            Outcome::Failed(failure.unwrap_or_else(|| "its results were lost".into()))
        }
        None => Outcome::Done(own),
    }
}

/// True if the time of `suite`, which began at `start`, is over.
fn is_over(suite: &Suite, start: SystemTime) -> bool {
    suite.limit.is_some_and(|limit| start.elapsed().unwrap_or_default() >= limit)
}
