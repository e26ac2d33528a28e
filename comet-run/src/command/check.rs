//! `check`: does message passing work on this machine, and does every kernel prove it?

use std::error::Error;
use std::io::Write as _;

use anyhow::Context as _;
use comet_core::driver::Settings;
use comet_core::event::{CaseFailure, Event, Failure, Listener};
use comet_core::kernel::{KernelInfo, Profile};
use comet_report::record::RankEntry;

use crate::backend::{self, Backend, Ended, Job};
use crate::cli::{CheckArgs, WorldArgs};
use crate::execute::{self, Joined};
use crate::exit;
use crate::gate::Gate;
use crate::launcher::Launcher;
use crate::prepare::{self, Prepared};
use crate::session::{Audience, Session};
use crate::signals::Signals;
use crate::terminal;

/// Tests the transport, then the kernels; returns the exit code.
///
/// # Errors
/// If the command line contradicts itself, or if the ranks cannot be started.
pub(super) fn check(args: &CheckArgs, launcher: Option<&Launcher>) -> anyhow::Result<u8> {
    let backend = backend::find(&args.world, launcher)?;
    let mut settings = Settings::of(Profile::Quick);
    (settings.repetitions, settings.samples) = (Some(1), Some(1));
    settings.corrupt = prepare::corrupt(args.inject.as_deref())?;
    let Joined { job, prepared, .. } = execute::join(backend, &args.world, launcher, |origin| {
        prepare::plan_each(&args.select, &args.world, &[], Profile::Quick, origin)
    })?;
    let signals = Signals::catch().context("cannot catch signals")?;
    let common = Common { world: &args.world, backend, job: &*job, settings, signals };
    execute::for_each(prepared, |prepared| common.check(&prepared))
}

/// Parts that checks with different numbers of ranks share.
struct Common<'a> {
    world: &'a WorldArgs,
    backend: &'a dyn Backend,
    job: &'a dyn Job,
    settings: Settings,
    signals: Signals,
}

impl Common<'_> {
    /// Checks with one number of ranks: the job, and its variants.
    fn check(&self, prepared: &Prepared) -> anyhow::Result<u8> {
        prepared.notes.iter().for_each(|note| terminal::note(note));
        let mut code = self.check_on(self.job, prepared, "")?;
        for (clause, job) in self.job.variants() {
            if self.signals.arrived().is_some() {
                break;
            }
            code = exit::worse(code, self.check_on(&*job, prepared, &format!(", {clause}"))?);
        }
        if code == exit::INTERNAL
            && self.signals.arrived().is_none()
            && let Some(verdict) = self.verdict(prepared)
        {
            terminal::note(&format!("verdict: {verdict}"));
        }
        Ok(code)
    }

    fn check_on(&self, job: &dyn Job, prepared: &Prepared, clause: &str) -> anyhow::Result<u8> {
        let (n_ranks, name) = (prepared.topology.n_ranks(), self.backend.name());
        let head = format!("{n_ranks} ranks over {name}{clause}\n");
        execute::on_first(self.job, || Ok(terminal::print(&head)?))?;
        std::io::stdout().flush().context("cannot write to standard output")?;
        self.launch(job, prepared, &CheckAudience, &execute::say_how_it_ended)
    }

    /// The condition under which the checks complete.
    fn verdict(&self, prepared: &Prepared) -> Option<String> {
        self.job.verdict(&mut |job| {
            let code = self.launch(job, prepared, &Silent, &Ended::code);
            code.is_ok_and(|code| code != exit::INTERNAL)
        })
    }

    fn launch(
        &self,
        job: &dyn Job,
        prepared: &Prepared,
        audience: &dyn Audience,
        conclude: &(dyn Fn(&Ended) -> u8 + Sync),
    ) -> anyhow::Result<u8> {
        let (topology, bind) = (prepared.topology.clone(), prepared.bind.clone());
        let launch = execute::launch(self.world, topology, bind, &self.settings);
        let session = Session {
            cases: prepared.plan.cases(),
            settings: self.settings.clone(),
            cap_bytes: u64::MAX,
            audience,
            signals: &self.signals,
            gate: &Gate::default(),
        };
        job.launch(&launch, &session, conclude)
    }
}

/// Prints one line per check.
struct CheckAudience;

impl Audience for CheckAudience {
    fn wants_conformance(&self) -> bool {
        true
    }

    fn checked(&self, name: &str, outcome: &Result<(), String>) {
        let line = match outcome {
            Ok(()) => format!("ok       transport: {}\n", name.replace('_', " ")),
            Err(problem) => format!("FAILED   transport: {}: {problem}\n", name.replace('_', " ")),
        };
        // The exit code tells the same, should nobody be able to read this.
        drop(terminal::print(&line));
    }

    fn listener(&self, _placements: Vec<RankEntry>) -> anyhow::Result<Box<dyn Listener>> {
        Ok(Box::new(KernelChecks { kernel: None, tally: Tally::default() }))
    }
}

/// Prints nothing.
struct Silent;

impl Audience for Silent {
    fn wants_conformance(&self) -> bool {
        true
    }

    fn listener(&self, _placements: Vec<RankEntry>) -> anyhow::Result<Box<dyn Listener>> {
        Ok(Box::new(Self))
    }
}

impl Listener for Silent {
    fn event(&mut self, _event: &Event<'_>) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(())
    }
}

/// Prints one line per kernel, and one for each case that fails.
struct KernelChecks {
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

impl Listener for KernelChecks {
    fn event(&mut self, event: &Event<'_>) -> Result<(), Box<dyn Error + Send + Sync>> {
        match event {
            Event::RunStarted(_) | Event::PassStarted(_) | Event::CoresMoved(_) => (),
            Event::CaseStarted(case) => self.turn_to(Some(case.info))?,
            Event::CaseFinished(_) => self.tally.n_ok += 1,
            Event::CaseFailed(failure) => self.failed(failure)?,
            Event::RunFinished(_) => self.turn_to(None)?,
        }
        Ok(())
    }
}

impl KernelChecks {
    /// Prints the line of the last kernel when another one is next.
    fn turn_to(&mut self, next: Option<&'static KernelInfo>) -> std::io::Result<()> {
        let id = |info: Option<&KernelInfo>| info.map(KernelInfo::id);
        if id(self.kernel) == id(next) {
            return Ok(());
        }
        let tally = std::mem::take(&mut self.tally);
        match std::mem::replace(&mut self.kernel, next) {
            Some(info) => terminal::print(&tally.line(&info.id())),
            None => Ok(()),
        }
    }

    fn failed(&mut self, failure: &CaseFailure) -> std::io::Result<()> {
        if failure.failure == Failure::Skipped {
            self.tally.skipped.push(failure.message.clone());
            return Ok(());
        }
        self.tally.n_failed += 1;
        let rank = failure.rank.map_or(String::new(), |rank| format!("rank {rank}: "));
        let label = failure.case.label();
        terminal::print(&format!("FAILED   case {label}: {rank}{}\n", failure.message))
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
