//! Where results go: the name of the result file, and the listeners that `--out`, `--format` and
//! `--progress` ask for.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context as _;
use comet_core::event::Listener;
use comet_report::environment::warnings;
use comet_report::format;
use comet_report::live::LiveTable;
use comet_report::placement::RankPlacement;
use comet_report::recorder::{Recorder, RunDescription};

use crate::cli::{OutputArgs, ProgressArg};
use crate::exit;
use crate::progress::Progress;
use crate::session::Audience;
use crate::sinks::{FanOut, Follower};
use crate::terminal;

/// Folder of result files that the user does not name.
const FOLDER: &str = "comet-results";

/// Who listens to a run, and what they keep.
pub(crate) struct Results {
    /// What the record says about the run; ranks add where they run.
    pub(crate) description: RunDescription,
    /// The result file, if one is written.
    pub(crate) path: Option<PathBuf>,
    /// Name of the format on standard output, or `none`.
    pub(crate) format: String,
    /// How progress is shown.
    pub(crate) progress: ProgressArg,
    /// Whether to say that ranks share CPUs, which nobody knew before they told where they run.
    pub(crate) notes_sharing: bool,
    /// Whether to say nothing about the machine.
    pub(crate) is_quiet: bool,
}

impl Audience for Results {
    fn listener(&self, placements: Vec<RankPlacement>) -> anyhow::Result<Box<dyn Listener>> {
        let description = RunDescription { placements, ..self.description.clone() };
        if !self.is_quiet {
            notes(&description, self.notes_sharing).iter().for_each(|note| terminal::note(note));
        }
        let mut listeners: Vec<Box<dyn Listener>> = Vec::new();
        // Progress comes first, because it makes way for the row that follows.
        if let Some(progress) = Progress::new(self.progress) {
            listeners.push(Box::new(progress));
        }
        let table = LiveTable::new(terminal::stdout(), &description.topology);
        // What cannot be printed has been kept before.
        if let Some(path) = &self.path {
            listeners.push(Box::new(Recorder::append_to(path, description)?));
            listeners.extend(self.follower(path)?);
        }
        if self.format == "table" {
            listeners.push(Box::new(table));
        }
        Ok(Box::new(FanOut(listeners)))
    }
}

impl Results {
    fn follower(&self, path: &Path) -> anyhow::Result<Option<Box<dyn Listener>>> {
        let Some(format) = format::find(&self.format).filter(|format| format.name() != "table")
        else {
            return Ok(None);
        };
        let follower = Follower::new(format, path, terminal::stdout());
        Ok(Some(Box::new(follower.with_context(|| format!("cannot read {}", path.display()))?)))
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

/// The file that a run writes.
#[derive(Debug, Default)]
pub(crate) enum ResultFile {
    /// For the user to keep.
    Kept(PathBuf),
    /// Only for the format on standard output to follow; removed after the run.
    Scratch(PathBuf),
    /// None at all.
    #[default]
    None,
}

impl ResultFile {
    /// Makes the file that `output` asks for, for the run `run_id` that starts at `started_at`.
    ///
    /// # Errors
    /// If the file exists already, or cannot be made.
    pub(crate) fn create(
        output: &OutputArgs,
        run_id: &str,
        started_at: SystemTime,
    ) -> anyhow::Result<Self> {
        let wants_none = output.out.as_deref() == Some(Path::new("none"));
        let file = match &output.out {
            Some(_) if wants_none && matches!(&*output.format, "table" | "none") => Self::None,
            Some(_) if wants_none => {
                Self::Scratch(std::env::temp_dir().join(format!("comet-{run_id}.jsonl")))
            }
            Some(path) => Self::Kept(path.clone()),
            None => Self::Kept(default_path(run_id, started_at)),
        };
        file.path().map_or(Ok(()), create_new)?;
        Ok(file)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Kept(path) | Self::Scratch(path) => Some(path),
            Self::None => None,
        }
    }

    /// Where the user finds it after the run.
    pub(crate) fn kept(&self) -> Option<&Path> {
        match self {
            Self::Kept(path) => Some(path),
            Self::Scratch(_) | Self::None => None,
        }
    }

    /// Removes it if nobody has any use for it: a scratch file, or one without a line.
    pub(crate) fn tidy(&self) {
        let is_useless = |path: &&Path| {
            let is_empty = path.metadata().is_ok_and(|data| data.is_file() && data.len() == 0);
            is_empty || matches!(self, Self::Scratch(_))
        };
        if let Some(path) = self.path().filter(is_useless) {
            // What stays behind does no harm; a folder that holds anything does stay.
            drop(std::fs::remove_file(path));
            drop(path.parent().filter(|f| *f == Path::new(FOLDER)).map(std::fs::remove_dir));
        }
    }
}

/// `comet-results/HOST-TIME-ID.jsonl`.
fn default_path(run_id: &str, started_at: SystemTime) -> PathBuf {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host: String = host.trim().chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let host = if host.is_empty() { "host" } else { &host };
    let time = humantime::format_rfc3339_seconds(started_at).to_string().replace(['-', ':'], "");
    // The end of the id is random; its start is the time once more.
    let id = run_id.get(run_id.len().saturating_sub(8)..).unwrap_or(run_id);
    Path::new(FOLDER).join(format!("{host}-{time}-{id}.jsonl"))
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// Makes a new file and the folders above it. A device or a pipe may be there already.
///
/// # Errors
/// If the file exists already, or cannot be made.
pub(crate) fn create_new(path: &Path) -> anyhow::Result<()> {
    let cannot =
        || format!("cannot make the result file {} (name another with --out)", path.display());
    if path.metadata().is_ok_and(|data| !data.is_file() && !data.is_dir()) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(cannot)?;
    }
    match File::create_new(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(exit::usage(format!(
            "{} is there already, and results are not added to it (name another file with --out)",
            path.display()
        ))),
        Err(error) => Err(error).with_context(cannot),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn the_default_name_has_host_time_and_id() {
        let time = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let path = default_path("01932b1e-0000-7000-8000-0123456789ab", time);
        let name = path.to_string_lossy();
        assert!(name.starts_with("comet-results/"), "{name}");
        assert!(name.ends_with("-20010909T014640Z-456789ab.jsonl"), "{name}");
    }
}
