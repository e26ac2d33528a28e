//! Outputs of a run: standard output, progress, and the result file.

use std::error::Error;
use std::io::Write as _;
use std::time::{Duration, SystemTime};

use comet_core::event::{Event, Listener, RunEnd, Stop};
use comet_core::job::JobFailure;
use comet_report::abandoned::Death;
use comet_report::environment::warnings;
use comet_report::format::{self, JSONL};
use comet_report::record::RankEntry;
use comet_report::recorder::{Recorder, RunDescription};
use comet_report::sink::RecordSink;

use crate::backend::{Ended, code_of};
use crate::cli::ProgressArg;
use crate::exit;
use crate::progress::Progress;
use crate::result_file::ResultFile;
use crate::session::Observer;
use crate::spool::{Outlet, Spool};
use crate::terminal;

/// Outputs that `--out`, `--format` and `--progress` ask for.
pub(crate) struct Results<'a> {
    /// Description of the run for the record; ranks add their placement.
    pub(crate) description: RunDescription,
    /// The result file, if one is written.
    pub(crate) file: Option<&'a ResultFile>,
    /// Name of the format on standard output, or `none`.
    pub(crate) format: String,
    /// Form of progress reports.
    pub(crate) progress: ProgressArg,
    /// True if a note reports ranks that share CPUs, unknown before the ranks reported their
    /// placement.
    pub(crate) notes_sharing: bool,
    /// True if no note about the machine is printed.
    pub(crate) is_quiet: bool,
    /// True if rows gather for a moment before they are written: in virtual time, where no rank is
    /// lost, so that rank 0 always returns and takes what is left along.
    pub(crate) gathers: bool,
}

impl Results<'_> {
    /// The outputs of ranks that run at `placements`.
    pub(crate) fn observer(&self, placements: Vec<RankEntry>) -> anyhow::Result<Box<dyn Observer>> {
        let description = RunDescription { placements, ..self.description.clone() };
        let terminal = Spool::new(vec![Box::new(terminal::stdout()), Box::new(terminal::Stderr)])?;
        let stderr = terminal.outlet(1);
        if !self.is_quiet {
            stderr.offer(notes(&description, self.notes_sharing).as_bytes());
        }
        let file = self.file.map(|file| Spool::new(vec![Box::new(file.writer()?)])).transpose()?;
        // What cannot be printed has been kept before.
        let kept = file.iter().map(|file| JSONL.writer(Box::new(file.outlet(0))));
        let sinks: Vec<_> = kept.chain(self.text(terminal.outlet(0))).collect();
        let recorder = (!sinks.is_empty()).then(|| Recorder::new(description, sinks));
        let progress = Progress::new(self.progress);
        let outputs = Outputs { progress, stderr, recorder, file, terminal };
        if self.gathers {
            outputs.spools().for_each(|spool| spool.gather(VIRTUAL_PAUSE));
        }
        Ok(Box::new(outputs))
    }

    /// Writer of the format on standard output.
    fn text(&self, out: Outlet) -> Option<Box<dyn RecordSink>> {
        match &*self.format {
            "table" => Some(format::live_table(Box::new(out))),
            name => Some(format::find(name)?.writer(Box::new(out))),
        }
    }
}

/// Puts an end under the file of a job that died, and prints how that happened; returns the exit
/// code.
pub(crate) fn conclude(ended: &Ended, file: Option<&ResultFile>) -> u8 {
    let Some(death) = death(ended) else { return code_of(ended) };
    let closed = file.map_or(Ok(()), |file| file.close(&death));
    // Rank 0 has printed what could not be kept.
    if ended.is_err() {
        terminal::note(&format!("error: {}", death.message));
    }
    if let Err(error) = closed {
        terminal::note(&format!("error: {:#}", anyhow::Error::new(error)));
        return exit::INTERNAL;
    }
    code_of(ended)
}

/// The `end` record of a job that did not end in order.
fn death(ended: &Ended) -> Option<Death> {
    let (code, message, rank, reason) = match ended {
        Ok(exit::INTERNAL) => {
            ("output_failed", "the results could not be kept or printed", None, "error")
        }
        Ok(_) => return None,
        Err(JobFailure { rank, code, signal, message }) => {
            (*code, &**message, *rank, signal.unwrap_or("error"))
        }
    };
    let (code, message, reason) = (code.into(), message.into(), reason.into());
    Some(Death { code, message, rank, reason, noticed_at: SystemTime::now() })
}

/// Time for which the rows of a run in virtual time gather.
const VIRTUAL_PAUSE: Duration = Duration::from_millis(20);

/// Listener for all outputs. Progress comes first, because it makes way for the row that follows.
struct Outputs {
    progress: Option<Progress>,
    stderr: Outlet,
    recorder: Option<Recorder>,
    file: Option<Spool>,
    terminal: Spool,
}

impl Outputs {
    fn spools(&self) -> impl Iterator<Item = &Spool> {
        self.file.iter().chain([&self.terminal])
    }
}

impl Listener for Outputs {
    fn event(&mut self, event: &Event<'_>) -> Result<(), Box<dyn Error + Send + Sync>> {
        if let Some(progress) = &mut self.progress {
            self.stderr.offer(progress.text(event).as_bytes());
        }
        self.recorder.as_mut().map_or(Ok(()), |recorder| recorder.event(event))?;
        if let Event::RunFinished(end) = event {
            if let Some(error) = shortfall(end) {
                writeln!(self.stderr, "error: {error}")?;
                self.stderr.flush()?;
            }
            self.spools().try_for_each(Spool::drain)?;
        }
        Ok(())
    }

    fn is_behind(&mut self, max_bytes: usize) -> bool {
        self.spools().any(|spool| spool.is_behind(max_bytes))
    }
}

impl Observer for Outputs {}

/// A sentence for a run that ended by itself with less than was asked for.
fn shortfall(end: &RunEnd) -> Option<String> {
    let cases = |n: usize| if n == 1 { "1 case".into() } else { format!("{n} cases") };
    match (&end.stop, end.n_check_failed, end.n_failed) {
        (Some(Stop::Interrupted(_)), ..) | (None, 0, 0) => None,
        (_, n @ 1.., _) => Some(format!("data arrived wrong in {}", cases(n))),
        (None, _, n) => Some(format!("{} could not be run", cases(n))),
        (Some(Stop::BudgetSpent), ..) => {
            Some("the budget was spent before the last case (give more with --budget)".into())
        }
    }
}

/// A line if the machine is busy, and one if ranks share CPUs where they run.
fn notes(description: &RunDescription, with_sharing: bool) -> String {
    // A simulated machine does not care.
    if description.placements.is_empty() {
        return String::new();
    }
    let is_said = |code| code == "load" || with_sharing && code == "oversubscribed";
    let warnings = warnings(&description.environment, &description.placements).into_iter();
    let said = warnings.filter(|warning| is_said(warning.code));
    said.map(|warning| format!("note: {} ({})\n", warning.message, warning.hint)).collect()
}
