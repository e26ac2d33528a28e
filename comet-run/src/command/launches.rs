//! `launches`: one command several times, as the launches of one run.
//!
//! ```text
//!   command, 1st   NAME.launches/1.jsonl ┐
//!   command, 2nd   NAME.launches/2.jsonl ├─► NAME.jsonl: its launches at once, points at the end
//!   …                                    ┘
//! ```
//!
//! Within a job of a launcher ranks can be started only once; this starts the whole job anew.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context as _;
use comet_report::abandoned::Death;
use comet_report::format::JSONL;
use comet_report::launches::{Concluded, carry, seed};
use comet_report::outside::Outside;
use comet_report::record::{Point, Record};
use comet_report::recorder::{Launch, argv, new_run_id};
use serde_json::{Value, json};

use super::job::{self, Ended};
use super::run::refuse_document;
use crate::cli::LaunchesArgs;
use crate::exit;
use crate::launcher::Launcher;
use crate::launches::Launches;
use crate::results::{self, ResultFile, default_path};
use crate::signals::Signals;
use crate::terminal;

/// Launches the command several times; returns the exit code.
pub(crate) fn launches(args: &LaunchesArgs, launcher: Option<&Launcher>) -> anyhow::Result<u8> {
    Ok(take(args, launcher, "launches")?.0)
}

/// The same for the command `name`; returns the result file too, if one is kept.
pub(super) fn take(
    args: &LaunchesArgs,
    launcher: Option<&Launcher>,
    name: &str,
) -> anyhow::Result<(u8, Option<PathBuf>)> {
    job::refuse_launcher(launcher, name)?;
    refuse_document(&args.format)?;
    let started_at = SystemTime::now();
    let id = new_run_id(started_at);
    let file = ResultFile::create(args.out.as_deref(), &id, started_at)?;
    let kept = file.as_ref().filter(|file| file.is_regular());
    let beside = kept.map_or_else(|| default_path(&id, started_at), |file| file.path().into());
    let signals = Signals::catch().context("cannot catch signals")?;
    let plan = Launches::of_jobs(args.launches, args.over, args.target);
    let config: BTreeMap<String, Value> = [
        ("launches".into(), json!(plan.n)),
        ("over_s".into(), json!(plan.over.as_secs_f64())),
        ("target".into(), json!(plan.target)),
    ]
    .into();
    let mut series = Series {
        args,
        plan: &plan,
        file: file.as_ref(),
        folder: make_folder(&beside)?,
        signals: &signals,
        outside: Outside::new(argv(), config),
        carried: Vec::new(),
        number: 0,
        code: exit::NOTHING,
        interrupted: None,
    };
    let taken = plan.take(&signals, |launch| series.launch(launch));
    let concluded = match taken {
        Ok(signal) => series.conclude(signal),
        Err(error) => Err(series.fail(&error)?),
    };
    if concluded.is_ok() {
        let cannot = || format!("cannot remove the folder {}", series.folder.display());
        std::fs::remove_dir_all(&series.folder).with_context(cannot)?;
        if kept.is_none() {
            // The folder of results stays if it holds others.
            drop(series.folder.parent().map(std::fs::remove_dir));
        }
    }
    let path = kept.and_then(ResultFile::kept);
    if let Some(path) = path {
        terminal::note(&format!("results: {}", path.display()));
    }
    Ok((concluded?, path.map(Path::to_owned)))
}

/// Makes the folder for the files of the launches, `NAME.launches` for `NAME.jsonl`.
fn make_folder(beside: &Path) -> anyhow::Result<PathBuf> {
    let name = beside.file_name().unwrap_or_default().to_string_lossy();
    let name = format!("{}.launches", name.strip_suffix(".jsonl").unwrap_or(&name));
    let path = beside.with_file_name(name);
    if path.exists() {
        return Err(exit::usage(format!(
            "{} is there already, and its launches may be wanted (name another file with --out)",
            path.display()
        )));
    }
    let cannot = || format!("cannot make the folder {} (name a file with --out)", path.display());
    std::fs::create_dir_all(&path).with_context(cannot)?;
    // Commands may change their folder.
    std::path::absolute(&path).with_context(cannot)
}

/// Launches of one command, and the outputs of all.
struct Series<'a> {
    args: &'a LaunchesArgs,
    plan: &'a Launches,
    file: Option<&'a ResultFile>,
    /// Folder for a file and a log of each launch.
    folder: PathBuf,
    signals: &'a Signals,
    outside: Outside,
    /// The records so far, without their samples.
    carried: Vec<u8>,
    /// The last launch that was started.
    number: u32,
    /// Worst exit code of the launches.
    code: u8,
    /// The signal that arrived within a launch.
    interrupted: Option<&'static str>,
}

impl Series<'_> {
    /// Launches the command once; returns true if another launch may follow.
    fn launch(&mut self, launch: Launch) -> anyhow::Result<bool> {
        let number = launch.number;
        self.number = number;
        terminal::note(&format!("launch {number} of {}", self.plan.n.max(number)));
        let file = |ending: &str| self.folder.join(format!("{number}.{ending}"));
        let (out, log) = (file("jsonl"), file("log"));
        let job = job::Launch {
            words: &self.args.command,
            out: &out,
            log: &log,
            seed: seed(self.args.seed, number),
            timeout: self.args.timeout,
            signals: self.signals,
        };
        match job.run()? {
            Ended::Alone(status) => {
                let records = self.outside.records(job.read()?, launch).map_err(exit::bad_input)?;
                self.keep(&records)?;
                let code = status.code().and_then(|code| u8::try_from(code).ok());
                self.code = exit::worse(self.code, code.unwrap_or(exit::INTERNAL));
                self.goes_on()
            }
            Ended::Signal(name) => {
                self.interrupted = Some(name);
                // A job that could still end in order has left what it measured.
                let left = job.read().ok().and_then(|runs| self.outside.records(runs, launch).ok());
                if left.is_none() && self.carried.is_empty() {
                    let code = exit::code_of_signal(name);
                    return Err(exit::refuse(code, format!("ended by {name}, with no results")));
                }
                self.keep(&left.unwrap_or_default())?;
                Ok(false)
            }
        }
    }

    /// Writes the records of a launch into the file of all.
    fn keep(&mut self, records: &[Record]) -> anyhow::Result<()> {
        let of_file = match records {
            [all @ .., Record::End(_)] => all,
            all => all,
        };
        let mut text = Vec::new();
        JSONL.write(of_file, &mut text)?;
        if let Some(file) = self.file {
            let mut file = file.writer()?;
            file.write_all(&text)?;
            file.flush()?;
        }
        if self.args.format == JSONL.name() {
            terminal::print_bytes(&text)?;
        }
        let mut carry =
            carry(Box::new(&mut self.carried), results::needs_samples(&self.args.format));
        Ok(records.iter().try_for_each(|record| carry.record(record))?)
    }

    /// True if fewer launches than planned are over, or a point needs more.
    fn goes_on(&self) -> anyhow::Result<bool> {
        if self.number < self.plan.n {
            return Ok(true);
        }
        let concluded = Concluded::so_far(&self.carried, self.plan.target)?;
        let is_open = |point: &Point| {
            point.measured().is_some() && self.plan.is_open(&concluded, point, self.number)
        };
        Ok(concluded.points().any(is_open))
    }

    fn concluded(&self, reason: Option<&str>) -> anyhow::Result<Concluded> {
        Ok(Concluded::of(&self.carried, self.plan.target, reason)?)
    }

    /// Writes what the launches make together, and prints it; returns the exit code. A `signal` may
    /// have arrived between two of them.
    fn conclude(&self, signal: Option<&'static str>) -> anyhow::Result<u8> {
        let signal = signal.or(self.interrupted);
        results::merge(self.file, &self.args.format, &self.concluded(signal)?, false)?;
        let Some(name) = signal else { return Ok(self.code) };
        // There may have been no launch yet that ended in order.
        self.close("interrupted", format!("ended by {name} in launch {}", self.number), name)?;
        Ok(exit::code_of_signal(name))
    }

    /// Ends the file of launches of which one ended by `error`, and prints those before; returns the
    /// error for the user.
    fn fail(&self, error: &anyhow::Error) -> anyhow::Result<anyhow::Error> {
        let message = format!("launch {}: {error:#}", self.number);
        self.close("launch_failed", message.clone(), "error")?;
        results::merge(self.file, &self.args.format, &self.concluded(None)?, true)?;
        let folder = self.folder.display();
        let message = format!("{message}; the files of the launches are in {folder}");
        Ok(exit::refuse(exit::code_of(error), message))
    }

    /// Ends a file that has no end yet.
    fn close(&self, code: &str, message: String, reason: &str) -> anyhow::Result<()> {
        let (code, reason) = (code.into(), reason.into());
        let death = Death { code, message, rank: None, reason, noticed_at: SystemTime::now() };
        Ok(self.file.map_or(Ok(()), |file| file.close(&death))?)
    }
}
