//! `calibrate`: measures this machine, writes its machine file, and prints the errors of its
//! predictions.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use comet_core::driver::Settings;
use comet_core::kernel::{Case, Profile};
use comet_core::topology::Topology;
use comet_report::recorder::RunDescription;
use comet_stats::refine::Rule;
use comet_studies::calibration::{self, Calibrated};
use serde_json::json;

use crate::backend::{self, Launch};
use crate::cli::{CalibrateArgs, ProgressArg};
use crate::command::files;
use crate::execute::{self, Bench, Joined};
use crate::exit;
use crate::launcher::Launcher;
use crate::prepare::{self, Prepared, simulated};
use crate::results::Results;
use crate::results::{ResultFile, create_new};
use crate::signals::Signals;
use crate::terminal;
use crate::world::{self, Origin};

/// Launches, each of which measures all cases: what disturbs a machine comes and goes, and ranks
/// that are started anew differ more than the samples of one launch.
const N_LAUNCHES: usize = 3;

/// Measures, fits, writes and predicts; returns the exit code.
pub(crate) fn calibrate(args: &CalibrateArgs, launcher: Option<&Launcher>) -> anyhow::Result<u8> {
    let backend = backend::find(&args.world, launcher)?;
    let profile = args.profile;
    let Joined { job, origin, prepared } =
        execute::join(backend, &args.world, launcher, |origin| {
            prepare::plan_each(&["comet/echo".into()], &args.world, &[], profile, origin)
        })?;
    let [prepared] = <[Prepared; 1]>::try_from(prepared).map_err(|prepared| {
        let n_runs = prepared.len();
        exit::usage(format!("a machine has one number of ranks, -n names {n_runs} (write -n 2)"))
    })?;
    let search = calibration::search_cases(&prepared.topology)?;
    let signals = Signals::catch_before_ranks().context("cannot catch signals")?;
    let outputs = execute::on_first(&*job, || Files::create(args).map(Some))?;
    let settings = settings(profile, &origin);
    let file = outputs.as_ref().map(|files| ResultFile::at(files.record.clone())).transpose()?;
    let bench = Bench::new(&args.world, launcher, backend, &*job, settings, signals);
    let mut bench = Bench { file, ..bench };
    let record = outputs.as_ref().map(|files| files.record.as_path());
    let Measured { code, topology, cases } = measure(&mut bench, prepared, search, record)?;
    let code = match outputs {
        Some(files) if code == exit::OK => conclude(&files, topology, &cases)?,
        _ => code,
    };
    job.end_with(code);
    Ok(code)
}

/// Settings of one launch: the time of a case is shared by all launches.
fn settings(profile: Profile, origin: &Origin) -> Settings {
    let mut settings = Settings::of(profile);
    settings.case_budget_ns /= N_LAUNCHES as u64;
    simulated::sample_exactly(&mut settings, origin, 0);
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

/// Outcome of all launches.
struct Measured {
    code: u8,
    topology: Topology,
    cases: Vec<Case>,
}

/// Searches for switch points in a launch of its own, and measures all cases in each of the others;
/// the first process has their `record`.
fn measure(
    bench: &mut Bench<'_>,
    prepared: Prepared,
    search: Vec<Case>,
    record: Option<&Path>,
) -> anyhow::Result<Measured> {
    let Prepared { topology, bind, n_cpus, .. } = prepared;
    let sharing = world::oversubscription(topology.n_ranks(), n_cpus);
    sharing.iter().for_each(|note| terminal::note(note));
    let ranks = bench.ranks(topology, bind);
    bench.settings.refine = Some(Rule::Verified);
    let mut code = launch(bench, &ranks, &search)?;
    bench.settings.refine = None;
    if code != exit::OK {
        return Ok(Measured { code, topology: ranks.topology, cases: search });
    }
    // Only the cases of the first process count.
    let found = record.map(calibration::echo_bytes);
    let cases = calibration::cases(&ranks.topology, &found.transpose()?.unwrap_or_default())?;
    // On a machine without noise, one shows all.
    let n_launches = if bench.settings.samples.is_some() { 1 } else { N_LAUNCHES };
    for _ in 0..n_launches {
        if code == exit::OK {
            code = launch(bench, &ranks, &cases)?;
        }
    }
    Ok(Measured { code, topology: ranks.topology, cases })
}

/// One launch, a run of its own in the record.
fn launch(bench: &Bench<'_>, ranks: &Launch, cases: &[Case]) -> anyhow::Result<u8> {
    let config = [("ranks", json!(ranks.topology.n_ranks())), ("launches", json!(N_LAUNCHES))];
    let config = config.map(|(name, value)| (name.to_owned(), value)).into();
    let results = Results {
        description: RunDescription { config, ..bench.describe(ranks, true) },
        file: bench.file.as_ref(),
        format: "none".into(),
        progress: bench.progress(ProgressArg::Auto),
        planned: None,
        notes_sharing: false,
        is_quiet: true,
        gathers: false,
    };
    let observe = |placements| results.observer(placements, None);
    let work = (cases.to_vec(), &bench.settings);
    bench.launch(bench.job, ranks, work, &observe, &execute::say_how_it_ended)
}

/// Writes the machine that the record gives, and prints its predictions.
fn conclude(outputs: &Files, topology: Topology, cases: &[Case]) -> anyhow::Result<u8> {
    let n_ranks = topology.n_ranks();
    let name = outputs.machine.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let calibrated = Calibrated::of(&outputs.record, &name, topology, cases)?;
    files::write(&outputs.machine, calibrated.machine_file().as_bytes())?;
    if let Some(path) = &outputs.platform {
        files::write(path, calibrated.platform()?.as_bytes())?;
    }
    terminal::print(&calibrated.predictions())?;
    let written: Vec<String> = outputs.all().map(|path| path.display().to_string()).collect();
    terminal::note(&format!("written: {}", written.join(", ")));
    terminal::note(&format!(
        "try: comet-run all -t sim --machine {} -n {n_ranks}",
        outputs.machine.display()
    ));
    Ok(exit::OK)
}
