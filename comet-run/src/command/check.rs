//! `check`: tests of the transport on this machine, and of every kernel.

use std::error::Error;
use std::io::{self, Write as _};

use anyhow::Context as _;
use comet_core::driver::Settings;
use comet_core::event::{CaseFailure, Event, Failure, Listener};
use comet_core::kernel::{KernelInfo, Profile};

use crate::backend::{self, Ended, Job};
use crate::cli::values::RankCounts;
use crate::cli::{CheckArgs, StorageArgs, WorldArgs};
use crate::execute::{self, Bench, Joined};
use crate::exit;
use crate::launcher::Launcher;
use crate::prepare::{self, Prepared};
use crate::session::{Observe, Observer, Silent};
use crate::signals::Signals;
use crate::spool::{Outlet, Spool};
use crate::terminal;
use crate::world::{self, Origin};

/// The fewest ranks by default: contention needs four.
const MIN_RANKS: usize = 4;

/// Tests the transport, then the kernels; returns the exit code.
pub(crate) fn check(args: &CheckArgs, launcher: Option<&Launcher>) -> anyhow::Result<u8> {
    let (world, backend) = (&args.world, backend::find(&args.world, launcher)?);
    let mut settings = Settings::of(Profile::Quick);
    (settings.repetitions, settings.samples) = (Some(1), Some(1));
    settings.fault = prepare::fault(args.inject.as_ref())?;
    settings.files = args.storage.folder();
    let Joined { job, prepared, .. } = execute::join(backend, world, launcher, |origin| {
        let world = &with_enough_ranks(world, origin);
        prepare::plan_each(&args.select, world, &[], Profile::Quick, origin)
    })?;
    let temporary = || job.is_on_one_host().then(StorageArgs::temporary).flatten();
    let test_folder = settings.files.clone().or_else(temporary);
    args.storage.note(backend.name()).iter().for_each(|note| terminal::note(note));
    let signals = Signals::catch_before_ranks().context("cannot catch signals")?;
    let bench = Bench::new(world, launcher, backend, &*job, settings, signals);
    let bench = Bench { tests_transport: true, test_folder, ..bench };
    let code = execute::for_each(prepared, |prepared| check_all(&bench, &prepared))?;
    job.end_with(code);
    Ok(code)
}

/// The ranks that `world` asks for, or by default as many as all kernels need, even if they share
/// cores: nothing is timed.
fn with_enough_ranks(world: &WorldArgs, origin: &Origin) -> WorldArgs {
    let mut world = world.clone();
    let is_told = world.ranks.is_some() || world.mesh.is_some() || world.topology.is_some();
    if let (Origin::Here { n_cores, .. }, false) = (origin, is_told) {
        world.ranks = Some(RankCounts(vec![*n_cores.max(&MIN_RANKS)]));
    }
    world
}

/// Checks one number of ranks: the job, and its variants.
fn check_all(bench: &Bench<'_>, prepared: &Prepared) -> anyhow::Result<u8> {
    prepared.notes.iter().for_each(|note| terminal::note(note));
    let mut code = check_on(bench, bench.job, prepared, "")?;
    for (clause, job) in bench.job.variants() {
        if bench.signals.arrived().is_some() {
            break;
        }
        code = exit::worse(code, check_on(bench, &*job, prepared, &format!(", {clause}"))?);
    }
    if code == exit::INTERNAL
        && bench.signals.arrived().is_none()
        && let Some(verdict) = verdict(bench, prepared)
    {
        terminal::note(&format!("verdict: {verdict}"));
    }
    Ok(code)
}

fn check_on(
    bench: &Bench<'_>,
    job: &dyn Job,
    prepared: &Prepared,
    clause: &str,
) -> anyhow::Result<u8> {
    let (n_ranks, name) = (prepared.topology.n_ranks(), bench.backend.name());
    let head = format!("{} over {name}{clause}\n", world::ranks(n_ranks));
    execute::on_first(bench.job, || Ok(terminal::print(&head)?))?;
    launch(bench, job, prepared, &|_| Ok(Box::new(Lines::new()?)), &execute::say_how_it_ended)
}

/// The condition under which the checks complete.
fn verdict(bench: &Bench<'_>, prepared: &Prepared) -> Option<String> {
    bench.job.verdict(&mut |job| {
        let code = launch(bench, job, prepared, &|_| Ok(Box::new(Silent)), &backend::code_of);
        code.is_ok_and(|code| code != exit::INTERNAL)
    })
}

fn launch(
    bench: &Bench<'_>,
    job: &dyn Job,
    prepared: &Prepared,
    observe: &Observe<'_>,
    conclude: &(dyn Fn(&Ended) -> u8 + Sync),
) -> anyhow::Result<u8> {
    let ranks = bench.ranks(prepared.topology.clone(), prepared.bind.clone());
    bench.launch(job, &ranks, (prepared.cases(), &bench.settings), observe, conclude)
}

/// Observer that prints a line for each check of the transport, for each kernel, and for each case
/// that fails. A writer thread prints them, so that a slow reader stops no rank.
struct Lines {
    spool: Spool,
    out: Outlet,
    kernel: Option<&'static KernelInfo>,
    tally: Tally,
}

/// Outcomes of the cases of one kernel.
#[derive(Debug, Default)]
struct Tally {
    n_ok: usize,
    n_failed: usize,
    /// Reasons of skipped cases.
    skipped: Vec<String>,
}

impl Observer for Lines {
    fn checked(&mut self, name: &str, outcome: &Result<(), String>) {
        let name = name.replace('_', " ");
        // The exit code is the same, should nobody be able to read this.
        drop(match outcome {
            Ok(()) => self.print(&format!("ok       transport: {name}\n")),
            Err(problem) => self.print(&format!("FAILED   transport: {name}: {problem}\n")),
        });
    }
}

impl Listener for Lines {
    fn event(&mut self, event: &Event<'_>) -> Result<(), Box<dyn Error + Send + Sync>> {
        match event {
            Event::RunStarted(_) | Event::PassStarted(_) => (),
            Event::WindowGivenUp(_) | Event::CoresMoved(_) => (),
            Event::CaseStarted(case) => self.turn_to(Some(case.info))?,
            Event::CaseFinished(_) => self.tally.n_ok += 1,
            Event::CaseFailed(failure) => self.failed(failure)?,
            Event::RunFinished(_) => {
                self.turn_to(None)?;
                self.spool.drain()?;
            }
        }
        Ok(())
    }

    fn is_behind(&mut self, max_bytes: usize) -> bool {
        self.spool.is_behind(max_bytes)
    }
}

impl Lines {
    fn new() -> io::Result<Self> {
        let spool = Spool::new(vec![Box::new(terminal::stdout())])?;
        let out = spool.outlet(0);
        Ok(Self { spool, out, kernel: None, tally: Tally::default() })
    }

    fn print(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(terminal::printable(text).as_bytes())?;
        self.out.flush()
    }

    /// Prints the line of the last kernel when another one is next.
    fn turn_to(&mut self, next: Option<&'static KernelInfo>) -> io::Result<()> {
        let id = |info: Option<&KernelInfo>| info.map(KernelInfo::id);
        if id(self.kernel) == id(next) {
            return Ok(());
        }
        let tally = std::mem::take(&mut self.tally);
        match std::mem::replace(&mut self.kernel, next) {
            Some(info) => self.print(&tally.line(&info.id())),
            None => Ok(()),
        }
    }

    fn failed(&mut self, failure: &CaseFailure) -> io::Result<()> {
        if failure.failure == Failure::Skipped {
            self.tally.skipped.push(failure.message.clone());
            return Ok(());
        }
        self.tally.n_failed += 1;
        let rank = failure.rank.map_or(String::new(), |rank| format!("rank {rank}: "));
        let label = failure.case.label();
        self.print(&format!("FAILED   case {label}: {rank}{}\n", failure.message))
    }
}

impl Tally {
    fn line(&self, id: &str) -> String {
        let Self { n_ok, n_failed, skipped } = self;
        match (n_ok, n_failed, skipped.first()) {
            (0, 0, reason) => {
                let reason = reason.map_or("", String::as_str);
                format!("skipped  kernel {id}: {reason}\n")
            }
            (_, 0, _) => format!("ok       kernel {id}: {n_ok} case(s)\n"),
            _ => format!("FAILED   kernel {id}: {n_failed} of {} case(s)\n", n_ok + n_failed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_ok_only_if_a_case_was_and_none_failed() {
        let check = |n_ok, n_failed, n_skipped, line: &str| {
            let skipped = vec!["needs 4 ranks".to_owned(); n_skipped];
            assert_eq!(Tally { n_ok, n_failed, skipped }.line("comet/echo"), line);
        };
        check(3, 0, 1, "ok       kernel comet/echo: 3 case(s)\n");
        check(3, 1, 0, "FAILED   kernel comet/echo: 1 of 4 case(s)\n");
        check(0, 0, 2, "skipped  kernel comet/echo: needs 4 ranks\n");
    }
}
