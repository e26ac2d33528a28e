//! Outputs of a run: standard output, progress, and the result file, which is opened once, before the
//! ranks are started, and visible with its first record.

use std::error::Error;
use std::fs::{File, FileType};
use std::io::{self, Write};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use comet_core::event::{Event, Listener, RunEnd, Stop};
use comet_core::job::JobFailure;
use comet_report::abandoned::{CloseError, Death, close_abandoned};
use comet_report::environment::warnings;
use comet_report::format::{self, JSONL};
use comet_report::launches::{self, Concluded};
use comet_report::read;
use comet_report::record::{RankEntry, Record};
use comet_report::recorder::{Recorder, RunDescription};
use comet_report::sink::RecordSink;
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag};
use nix::unistd::linkat;

use crate::backend::{Ended, code_of};
use crate::cli::ProgressArg;
use crate::exit;
use crate::launches::Part;
use crate::progress::Progress;
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
    /// About the time of the run, where it can be planned.
    pub(crate) planned: Option<Duration>,
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
    /// The outputs of ranks that run at `placements`, in one launch or in this `part` of several.
    pub(crate) fn observer(
        &self,
        placements: Vec<RankEntry>,
        part: Option<&Part<'_>>,
    ) -> anyhow::Result<Box<dyn Observer>> {
        let launch = part.map(|part| part.launch);
        let description = RunDescription { placements, launch, ..self.description.clone() };
        let terminal = Spool::new(vec![Box::new(terminal::stdout()), Box::new(terminal::Stderr)])?;
        let stderr = terminal.outlet(1);
        if !self.is_quiet && launch.is_none_or(|launch| launch.number == 1) {
            stderr.offer(notes(&description, self.notes_sharing).as_bytes());
        }
        let file = self.file.map(|file| Spool::new(vec![Box::new(file.writer()?)])).transpose()?;
        // What cannot be printed has been kept before.
        let kept = file.iter().map(|file| JSONL.writer(Box::new(file.outlet(0))));
        // A text for people waits for all launches.
        let text = (part.is_none() || self.format == JSONL.name())
            .then(|| text(&self.format, Box::new(terminal.outlet(0))))
            .flatten();
        let sinks: Vec<_> = kept.chain(text).collect();
        let recorder = match part {
            Some(part) => {
                let carry = launches::carry(Box::new(part.carry()?), needs_samples(&self.format));
                Some(Recorder::new(description, sinks).carrying(carry))
            }
            None => (!sinks.is_empty()).then(|| Recorder::new(description, sinks)),
        };
        let progress = Progress::new(self.progress, part, self.planned);
        let outputs = Outputs { progress, stderr, recorder, file, terminal };
        if self.gathers {
            outputs.spools().for_each(|spool| spool.gather(VIRTUAL_PAUSE));
        }
        Ok(Box::new(outputs))
    }
}

/// True if the format `name` has the samples of points.
pub(crate) fn needs_samples(name: &str) -> bool {
    format::find(name).is_some_and(|format| format.needs_samples())
}

/// Writer of the format `name` on standard output.
fn text(name: &str, out: Box<dyn Write>) -> Option<Box<dyn RecordSink>> {
    match name {
        "table" => Some(format::table_for_terminal(out, true, terminal::look())),
        name => Some(format::find(name)?.writer(out)),
    }
}

/// Writes what all launches of a run make together into its `file`, which that of one that died has
/// already, and to standard output.
pub(crate) fn merge(
    file: Option<&ResultFile>,
    format: &str,
    concluded: &Concluded,
    has_died: bool,
) -> anyhow::Result<()> {
    let write = |mut sink: Box<dyn RecordSink>, head: &[Record], tail: &[Record]| {
        head.iter().chain(tail).try_for_each(|record| sink.record(record))?;
        sink.finish()
    };
    let Concluded { head, tail, .. } = concluded;
    let is_of_run = |record: &&Record| !has_died || matches!(record, Record::Point(_));
    let tail: Vec<Record> = tail.iter().filter(is_of_run).cloned().collect();
    if let Some(file) = file.filter(|_| !has_died) {
        write(JSONL.writer(Box::new(file.writer()?)), &[], &tail)?;
    }
    let told = if format == JSONL.name() { &[] } else { &head[..] };
    if let Some(text) = text(format, Box::new(terminal::stdout())).filter(|_| !head.is_empty()) {
        let end = file.filter(|_| has_died).and_then(ResultFile::end);
        write(text, told, &[tail, end.into_iter().collect()].concat())?;
    }
    Ok(())
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
pub(crate) fn death(ended: &Ended) -> Option<Death> {
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

/// Folder of result files that the user does not name.
const FOLDER: &str = "comet-results";

/// The file that a run writes.
///
/// One that has no name yet (`O_TMPFILE`) is linked into its folder behind the `run` record, so that
/// a launcher that is killed before leaves nothing. A file system without such files has the file
/// under its name from the start.
#[derive(Debug)]
pub(crate) struct ResultFile {
    path: PathBuf,
    file: File,
}

impl ResultFile {
    /// Opens the file that the user asks for with `out`, unless that is `none`, for the run `run_id`
    /// that starts at `started_at`. A FIFO is waited for until another process reads it.
    pub(crate) fn create(
        out: Option<&Path>,
        run_id: &str,
        started_at: SystemTime,
    ) -> anyhow::Result<Option<Self>> {
        match out {
            Some(path) if path == Path::new("none") => Ok(None),
            Some(path) => Self::at(path.into()).map(Some),
            None => Self::at(default_path(run_id, started_at)).map(Some),
        }
    }

    /// Opens the file `path`.
    pub(crate) fn at(path: PathBuf) -> anyhow::Result<Self> {
        let file = open(&path, nameless)?;
        Ok(Self { path, file })
    }

    /// Opens the file `path`, which may be there already, and makes it and the folders above it if not.
    pub(crate) fn kept_at(path: PathBuf) -> anyhow::Result<Self> {
        let cannot = || cannot_make(&path);
        let folder = make_folder(&path).with_context(cannot)?;
        let file = File::options().read(true).append(true).create(true).open(&path);
        let file = file.with_context(cannot)?;
        // Or a power cut would take the name.
        File::open(folder).and_then(|folder| folder.sync_all()).with_context(cannot)?;
        Ok(Self { path, file })
    }

    /// Opens the file `path` once more, if another process has made it and it holds a record.
    #[cfg(feature = "mpi")]
    pub(crate) fn of_rank(path: &Path) -> Option<Self> {
        let file = path.is_file().then(|| File::options().read(true).append(true).open(path));
        Some(Self { path: path.into(), file: file?.ok()? })
    }

    /// The same file, also for writing.
    pub(crate) fn once_more(&self) -> anyhow::Result<Self> {
        Ok(Self { path: self.path.clone(), file: self.file.try_clone()? })
    }

    /// The open file.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Writes `records` behind all others.
    pub(crate) fn append(&self, records: &[Record]) -> anyhow::Result<()> {
        let mut text = Vec::new();
        JSONL.write(records, &mut text)?;
        let mut writer = self.writer()?;
        writer.write_all(&text)?;
        Ok(writer.flush()?)
    }

    /// The path that the file gets with its first record.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writer into the file, which gets its name with the first flush.
    pub(crate) fn writer(&self) -> io::Result<impl Write + Send + use<>> {
        let (file, path) = (self.file.try_clone()?, self.path.clone());
        Ok(Visible { file, path, is_new: true })
    }

    /// Ends the records of a run that died.
    pub(crate) fn close(&self, death: &Death) -> Result<(), CloseError> {
        if self.is_regular() { close_abandoned(&self.file, &self.path, death) } else { Ok(()) }
    }

    /// The last record, if it is an end.
    fn end(&self) -> Option<Record> {
        let is_end = |record: &Record| matches!(record, Record::End(_));
        let records = self.is_regular().then(|| read::read_records(&self.path).ok()).flatten();
        records?.records.pop().filter(is_end)
    }

    /// The path under which the user finds the file after the run. One without a record is removed.
    pub(crate) fn kept(&self) -> Option<&Path> {
        let is_empty = self.file.metadata().is_ok_and(|data| data.is_file() && data.len() == 0);
        if is_empty {
            // A file or folder that stays behind does no harm; a folder that holds another stays.
            if !is_nameless(&self.file) {
                drop(std::fs::remove_file(&self.path));
            }
            let folder = self.path.parent().filter(|folder| *folder == Path::new(FOLDER));
            drop(folder.map(std::fs::remove_dir));
        }
        Some(&*self.path).filter(|_| !is_empty)
    }

    /// True for a file on a disk, and false for a device or a FIFO.
    pub(crate) fn is_regular(&self) -> bool {
        self.file.metadata().is_ok_and(|data| data.is_file())
    }
}

/// Makes the new file `path` and the folders above it. A device or a FIFO may be there already.
pub(crate) fn create_new(path: &Path) -> anyhow::Result<File> {
    open(path, |_| Err(io::ErrorKind::Unsupported.into()))
}

/// Opens `path`, a new file that `make` makes in its folder or else one under its name.
fn open(path: &Path, make: impl Fn(&Path) -> io::Result<File>) -> anyhow::Result<File> {
    let name = path.display();
    let cannot = || cannot_make(path);
    let is_special = |kind: FileType| kind.is_fifo() || kind.is_char_device();
    if path.metadata().is_ok_and(|data| is_special(data.file_type())) {
        return File::options().append(true).open(path).with_context(cannot);
    }
    if path.symlink_metadata().is_ok() {
        return Err(exit::usage(format!(
            "{name} is there already, and nothing is added to it (name another file with --out)"
        )));
    }
    let folder = make_folder(path).with_context(cannot)?;
    let named = |_| File::options().read(true).append(true).create_new(true).open(path);
    make(folder).or_else(named).with_context(cannot)
}

fn cannot_make(path: &Path) -> String {
    format!("cannot make the result file {} (name another with --out)", path.display())
}

/// Makes the folder of the file `path`, and those above it.
fn make_folder(path: &Path) -> io::Result<&Path> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    Ok(folder)
}

/// A new file in `folder` that has no name.
fn nameless(folder: &Path) -> io::Result<File> {
    let flags = OFlag::O_TMPFILE.bits();
    File::options().read(true).append(true).custom_flags(flags).open(folder)
}

fn is_nameless(file: &File) -> bool {
    file.metadata().is_ok_and(|data| data.is_file() && data.nlink() == 0)
}

/// Writer into a file that gets its name with the first flush.
struct Visible {
    file: File,
    path: PathBuf,
    is_new: bool,
}

impl Visible {
    /// Gives the file its name.
    fn appear(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.is_new) && is_nameless(&self.file) {
            let own = format!("/proc/self/fd/{}", self.file.as_raw_fd());
            let follow = AtFlags::AT_SYMLINK_FOLLOW;
            linkat(AT_FDCWD, &*own, AT_FDCWD, &self.path, follow).map_err(Errno::into)
        } else {
            Ok(())
        }
    }

    fn explain(&self, source: io::Error) -> io::Error {
        io::Error::new(source.kind(), RecordError { path: self.path.clone(), source })
    }
}

impl Write for Visible {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).map_err(|error| self.explain(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.appear().map_err(|error| self.explain(error))
    }
}

/// A result file that could not be written.
#[derive(Debug)]
struct RecordError {
    path: PathBuf,
    source: io::Error,
}

impl std::fmt::Display for RecordError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = self.path.display();
        write!(f, "cannot write {path} (is there space left, and may you write there?)")
    }
}

impl std::error::Error for RecordError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// `comet-results/HOST-TIME-ID.jsonl`.
pub(crate) fn default_path(run_id: &str, started_at: SystemTime) -> PathBuf {
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
