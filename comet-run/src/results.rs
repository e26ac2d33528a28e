//! Outputs of a run: standard output, progress, and the result file.

use std::error::Error;

use comet_core::event::{Event, Listener};
use comet_report::environment::warnings;
use comet_report::format::{self, Table};
use comet_report::placement::RankPlacement;
use comet_report::recorder::{Recorder, RunDescription};
use comet_report::sink::RecordSink;

use crate::cli::ProgressArg;
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
