//! Outputs of a run: standard output, progress, and the result file.

use std::error::Error;
#[cfg(feature = "mpi")]
use std::path::Path;
use std::time::SystemTime;

use comet_core::event::{Event, Listener};
use comet_report::abandoned::Death;
use comet_report::environment::warnings;
use comet_report::format::{self, Table};
use comet_report::placement::RankPlacement;
use comet_report::recorder::{Recorder, RunDescription};
use comet_report::sink::RecordSink;

use crate::backend::Ended;
use crate::cli::ProgressArg;
use crate::exit;
use crate::progress::Progress;
use crate::result_file::ResultFile;
use crate::session::Audience;
use crate::terminal;

/// Outputs that `--out`, `--format` and `--progress` ask for.
pub(crate) struct Results<'a> {
    /// What the record says about the run; ranks add where they run.
    pub(crate) description: RunDescription,
    /// The result file, if one is written.
    pub(crate) file: Option<&'a ResultFile>,
    /// Name of the format on standard output, or `none`.
    pub(crate) format: String,
    /// How progress is shown.
    pub(crate) progress: ProgressArg,
    /// Whether to say that ranks share CPUs, which nobody knew before they told where they run.
    pub(crate) notes_sharing: bool,
    /// Whether to say nothing about the machine.
    pub(crate) is_quiet: bool,
}

impl Audience for Results<'_> {
    #[cfg(feature = "mpi")]
    fn results(&self) -> Option<&Path> {
        self.file.map(ResultFile::path)
    }

    fn listener(&self, placements: Vec<RankPlacement>) -> anyhow::Result<Box<dyn Listener>> {
        let description = RunDescription { placements, ..self.description.clone() };
        if !self.is_quiet {
            notes(&description, self.notes_sharing).iter().for_each(|note| terminal::note(note));
        }
        // What cannot be printed has been kept before.
        let mut sinks: Vec<Box<dyn RecordSink>> = Vec::new();
        if let Some(file) = self.file {
            sinks.push(file.sink()?);
        }
        sinks.extend(self.text());
        let recorder = (!sinks.is_empty()).then(|| Recorder::new(description, sinks));
        Ok(Box::new(Outputs { progress: Progress::new(self.progress), recorder }))
    }
}

impl Results<'_> {
    /// Writer of the format on standard output.
    fn text(&self) -> Option<Box<dyn RecordSink>> {
        let out = Box::new(terminal::stdout());
        match &*self.format {
            "table" => Some(Table::live(out)),
            name => Some(format::find(name)?.writer(out)),
        }
    }
}

/// Puts an end under the file of a job that died, and prints how that happened; returns the exit
/// code.
pub(crate) fn conclude(ended: &Ended, file: Option<&ResultFile>) -> u8 {
    let Some(death) = death(ended) else { return ended.code() };
    let closed = file.map_or(Ok(()), |file| file.close(&death));
    // Rank 0 has printed what could not be kept.
    if !matches!(ended, Ended::Finished(_)) {
        terminal::note(&format!("error: {}", death.message));
    }
    if let Err(error) = closed {
        terminal::note(&format!("error: {:#}", anyhow::Error::new(error)));
        return exit::INTERNAL;
    }
    ended.code()
}

/// The end of the file of a job that did not end in order.
fn death(ended: &Ended) -> Option<Death> {
    let (code, message, rank, reason) = match ended {
        Ended::Finished(exit::INTERNAL) => {
            let message = "the results could not be kept or printed";
            ("output_failed", message.to_owned(), None, "error")
        }
        Ended::Finished(_) => return None,
        Ended::Failed { rank, code, message } => (*code, message.clone(), *rank, "error"),
        Ended::Interrupted { signal, message } => ("interrupted", message.clone(), None, *signal),
    };
    let (code, reason) = (code.into(), reason.into());
    Some(Death { code, message, rank, reason, noticed_at: SystemTime::now() })
}

/// Listener for all outputs. Progress comes first, because it makes way for the row that follows.
struct Outputs {
    progress: Option<Progress>,
    recorder: Option<Recorder>,
}

impl Listener for Outputs {
    fn event(&mut self, event: &Event<'_>) -> Result<(), Box<dyn Error + Send + Sync>> {
        if let Some(progress) = &mut self.progress {
            progress.event(event);
        }
        self.recorder.as_mut().map_or(Ok(()), |recorder| recorder.event(event))
    }
}

/// One sentence if ranks share CPUs where they run.
fn notes(description: &RunDescription, with_sharing: bool) -> Vec<String> {
    // A simulated machine does not care.
    if description.placements.is_empty() {
        return Vec::new();
    }
    let is_said = |code| code == "load" || with_sharing && code == "oversubscribed";
    let warnings = warnings(&description.environment, &description.placements).into_iter();
    let said = warnings.filter(|warning| is_said(warning.code));
    said.map(|warning| format!("note: {} ({})", warning.message, warning.hint)).collect()
}
