//! `calibrate`: measures this machine, writes its machine file, and prints the errors of its
//! predictions.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context as _;
use comet_core::driver::Settings;
use comet_core::kernel::{Case, Profile};
use comet_core::topology::Topology;
use comet_report::environment::{Environment, noise};
use comet_report::record::Transport;
use comet_report::recorder::{RunDescription, new_run_id};
use comet_studies::calibration::{self, Calibrated};
use serde_json::json;

use crate::backend::{self, Backend, Job, Launch};
use crate::cli::values::RankCounts;
use crate::cli::{CalibrateArgs, ProgressArg, WorldArgs};
use crate::execute::{self, Joined};
use crate::exit;
use crate::gate::Gate;
use crate::launcher::Launcher;
use crate::prepare::{self, Prepared};
use crate::result_file::{ResultFile, create_new};
use crate::results::Results;
use crate::session::Session;
use crate::signals::Signals;
use crate::terminal;
use crate::this_build;
use crate::world::Origin;

/// Launches, each of which measures all cases: what disturbs a machine comes and goes, and ranks
/// that are started anew differ more than the samples of one launch.
const N_LAUNCHES: usize = 3;

/// Measures, fits, writes and predicts; returns the exit code.
///
/// # Errors
/// If the command line contradicts itself, if the ranks cannot be started, if what they measured
/// makes no machine, or if a file cannot be written.
pub(super) fn calibrate(args: &CalibrateArgs, launcher: Option<&Launcher>) -> anyhow::Result<u8> {
    let backend = backend::find(&args.world, launcher)?;
    let profile = args.profile.profile();
    let Joined { job, origin, prepared } =
        execute::join(backend, &args.world, launcher, |origin| {
            prepare::plan_each(
                &["comet/echo".into()],
                &world(&args.world, origin),
                &[],
                profile,
                origin,
            )
        })?;
    let [prepared] = <[Prepared; 1]>::try_from(prepared).map_err(|prepared| {
        let n_runs = prepared.len();
        exit::usage(format!("a machine has one number of ranks, -n names {n_runs} (write -n 2)"))
    })?;
    let cases = calibration::cases(&prepared.topology)?;
    let signals = Signals::catch().context("cannot catch signals")?;
    let files = execute::on_first(&*job, || Files::create(args).map(Some))?;
    let settings = settings(profile, &origin);
    let record = files.as_ref().map(|files| ResultFile::at(files.record.clone())).transpose()?;
    let (backend, job, signals) = (backend, &*job, &signals);
    let measuring = Measuring { args, backend, job, signals, settings, cases: &cases, record };
    let (code, topology) = measuring.measure(prepared)?;
    match files {
        Some(files) if code == exit::OK => conclude(&files, topology, &cases),
        _ => Ok(code),
    }
}

/// The ranks of the calibration: by default one for each CPU, because ranks that share one measure
/// the scheduler.
fn world(asked: &WorldArgs, origin: &Origin) -> WorldArgs {
    let mut world = asked.clone();
    let is_open = world.ranks.is_none() && world.mesh.is_none() && world.topology.is_none();
    if let Origin::Here { n_cpus } = origin
        && is_open
    {
        world.ranks = Some(RankCounts(vec![(*n_cpus).max(2)]));
    }
    world
}

/// Settings of one launch: the time of a case is shared by all launches.
fn settings(profile: Profile, origin: &Origin) -> Settings {
    let mut settings = Settings::of(profile);
    settings.case_budget_ns /= N_LAUNCHES as u64;
    prepare::sample_exactly(&mut settings, origin);
    settings
}

/// Output files. Dropped, it removes those that are still empty.
#[derive(Debug)]
struct Files {
    machine: PathBuf,
    record: PathBuf,
    platform: Option<PathBuf>,
}

impl Files {
    /// Makes them, so that a name that cannot be used is refused before anything is measured.
    ///
    /// # Errors
    /// If one is there already, or cannot be made.
    fn create(args: &CalibrateArgs) -> anyhow::Result<Self> {
        let mut files = Self { machine: PathBuf::new(), record: PathBuf::new(), platform: None };
        create_new(&args.out)?;
        files.machine = args.out.clone();
        let record = args.out.with_extension("jsonl");
        files.record = record;
        if let Some(platform) = &args.simgrid {
            create_new(platform)?;
            files.platform = Some(platform.clone());
        }
        Ok(files)
    }

    fn all(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.machine, &self.record].into_iter().chain(&self.platform)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let is_empty = |path: &&PathBuf| path.metadata().is_ok_and(|d| d.is_file() && d.len() == 0);
        // What stays behind does no harm.
        self.all().filter(is_empty).for_each(|path| drop(std::fs::remove_file(path)));
    }
}

/// State of the measurement.
struct Measuring<'a> {
    args: &'a CalibrateArgs,
    backend: &'a dyn Backend,
    job: &'a dyn Job,
    signals: &'a Signals,
    settings: Settings,
    cases: &'a [Case],
    /// The file for what is measured, on the process that writes it.
    record: Option<ResultFile>,
}

impl Measuring<'_> {
    /// Measures all cases in each launch; returns the exit code and the ranks.
    fn measure(&self, prepared: Prepared) -> anyhow::Result<(u8, Topology)> {
        let Prepared { topology, bind, n_cpus, .. } = prepared;
        let sharing = crate::world::oversubscription(topology.n_ranks(), n_cpus);
        sharing.iter().for_each(|note| terminal::note(note));
        let launch = execute::launch(&self.args.world, topology, bind, &self.settings);
        // On a machine without noise, one tells all.
        let n_launches = if self.settings.samples.is_some() { 1 } else { N_LAUNCHES };
        for _ in 0..n_launches {
            let code = self.launch(&launch)?;
            if code != exit::OK {
                return Ok((code, launch.topology));
            }
        }
        Ok((exit::OK, launch.topology))
    }

    /// One launch, a run of its own in the record.
    fn launch(&self, launch: &Launch) -> anyhow::Result<u8> {
        let is_joined = self.job.n_ranks().is_some();
        let results = Results {
            description: self.describe(launch),
            file: self.record.as_ref(),
            format: "none".into(),
            progress: if is_joined { ProgressArg::None } else { ProgressArg::Auto },
            notes_sharing: false,
            is_quiet: true,
        };
        let session = Session {
            cases: self.cases.to_vec(),
            settings: self.settings.clone(),
            cap_bytes: u64::MAX,
            audience: &results,
            signals: self.signals,
            gate: &Gate::default(),
        };
        // What is still in a buffer would be written once more by each rank.
        std::io::stdout().flush().context("cannot write to standard output")?;
        self.job.launch(launch, &session, &execute::say_how_it_ended)
    }

    fn describe(&self, launch: &Launch) -> RunDescription {
        let started_at = SystemTime::now();
        let details = self.job.describe(launch).into_iter();
        let details = details.map(|(name, text)| (name.to_owned(), json!(text))).collect();
        let config = [("ranks", json!(launch.topology.n_ranks())), ("launches", json!(N_LAUNCHES))];
        RunDescription {
            run_id: new_run_id(started_at),
            started_at,
            date: SystemTime::now,
            noise: || noise(Path::new("/")),
            suite: this_build::suite(),
            argv: std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect(),
            config: config.map(|(name, value)| (name.to_owned(), value)).into(),
            seed: None,
            labels: BTreeMap::new(),
            transport: Transport::new(self.backend.name(), details),
            launcher: None,
            placements: Vec::new(),
            topology: launch.topology.clone(),
            environment: Environment::capture(Path::new("/"), std::iter::empty()),
        }
    }
}

/// Writes the machine that the record gives, and prints its predictions.
fn conclude(files: &Files, topology: Topology, cases: &[Case]) -> anyhow::Result<u8> {
    let n_ranks = topology.n_ranks();
    let name = files.machine.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let calibrated = Calibrated::of(&files.record, &name, topology)?;
    write(&files.machine, calibrated.machine_file())?;
    if let Some(path) = &files.platform {
        write(path, &calibrated.platform()?)?;
    }
    terminal::print(&calibrated.predictions(cases)?)?;
    let written: Vec<String> = files.all().map(|path| path.display().to_string()).collect();
    terminal::note(&format!("written: {}", written.join(", ")));
    terminal::note(&format!(
        "try: comet-run all -t sim --machine {} -n {n_ranks}",
        files.machine.display()
    ));
    Ok(exit::OK)
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
