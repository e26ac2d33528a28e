//! Transports: one line per backend, and the contract that each keeps.
//!
//! A backend either starts its ranks itself, or joins those that a launcher outside (mpirun, srun)
//! has started, of which this process is one. The command line is the same for both:
//!
//! ```text
//!   find ──► admit ──► (plan) ──► Backend::join ──► Job::launch ──► session, on every rank
//!   by name,  not under            now the ranks        starts them, or
//!   or auto   the wrong launcher   are numbered         goes ahead on this one
//! ```

#[cfg(test)]
pub(crate) mod fake;
#[cfg(feature = "mpi")]
mod mpi;
mod shm;
mod sim;
mod sweep;

use std::time::Duration;

use comet_core::job::JobFailure;
use comet_core::topology::Topology;
use comet_core::transport::Rank;

use crate::cli::values::Binding;
use crate::cli::{OPTIONAL, WorldArgs};
use crate::exit;
use crate::launcher::Launcher;
use crate::session::Session;
use crate::terminal;
use crate::world::{self, Origin};

/// Every backend of this build; `auto` takes the first that fits.
pub(crate) const BACKENDS: &[&dyn Backend] = &[
    &shm::SharedMemory,
    &sim::Simulation,
    #[cfg(feature = "mpi")]
    &mpi::Mpi,
];

/// A way to get ranks that can talk to each other.
pub(crate) trait Backend: Sync {
    /// Name on the command line and in the record.
    fn name(&self) -> &'static str;

    /// One line of description.
    fn summary(&self) -> &'static str;

    /// True if its ranks are processes that a launcher outside starts.
    fn is_launched(&self) -> bool {
        false
    }

    /// Source of its ranks, for `world` and under `launcher`; by default the launcher.
    fn origin(&self, _: &WorldArgs, launcher: Option<&Launcher>) -> anyhow::Result<Origin> {
        Ok(Origin::outside(launcher))
    }

    /// Becomes part of a job of ranks from `origin`, as `world` asks for it and as `launcher`
    /// started it, once per process; waits for the other processes, if there are any.
    fn join(
        &self,
        world: &WorldArgs,
        origin: &Origin,
        launcher: Option<&Launcher>,
    ) -> anyhow::Result<Box<dyn Job>>;
}

/// The part of this process in a job. Dropped, it leaves the job. The defaults are those of a job
/// whose ranks this program starts, in any number.
pub(crate) trait Job {
    /// Number of this process among those that joined.
    fn rank(&self) -> Rank {
        0
    }

    /// Name and version of the library that joined the ranks (`Open MPI v4.1.4`).
    fn library(&self) -> String {
        String::new()
    }

    /// Number of ranks, if they were joined.
    fn n_ranks(&self) -> Option<usize> {
        None
    }

    /// True if all ranks see the same folder for temporary files.
    fn is_on_one_host(&self) -> bool {
        true
    }

    /// Most ranks that take turns on a CPU of this host, of `n_ranks` that are bound by `bind`.
    fn n_ranks_on_cpu(&self, n_ranks: usize, bind: &Binding) -> usize {
        let _ = (n_ranks, bind);
        1
    }

    /// The `code` of the first process, on every process that joined.
    fn agree(&self, code: u8) -> u8 {
        code
    }

    /// The job of the launch with this `number`, from 2, if it is not this one once more.
    fn again(&self, number: u32) -> Option<Box<dyn Job>> {
        let _ = number;
        None
    }

    /// Notes that this process has done its work, and ends with `code`, should it be kept from
    /// leaving the job.
    fn end_with(&self, code: u8) {
        let _ = code;
    }

    /// Description of the transport for the record, units in the names.
    fn describe(&self, launch: &Launch) -> Vec<(&'static str, String)>;

    /// Jobs on which the same has to work, each with a clause that says what is different there.
    fn variants(&self) -> Vec<(&'static str, Box<dyn Job>)> {
        Vec::new()
    }

    /// The condition under which `completes` holds, if it does not hold on all variants.
    fn verdict(&self, completes: &mut dyn FnMut(&dyn Job) -> bool) -> Option<String> {
        let _ = completes;
        None
    }

    /// Has each rank take part in `session`, and returns the exit code: what `conclude` makes of
    /// the end of the job, which is told on every process that joined, and should the job fail, on
    /// whichever thread notices.
    fn launch(
        &self,
        launch: &Launch,
        session: &Session<'_>,
        conclude: &(dyn Fn(&Ended) -> u8 + Sync),
    ) -> anyhow::Result<u8>;
}

/// The ranks of one job.
#[derive(Debug)]
pub(crate) struct Launch {
    /// Number of ranks and their connections.
    pub(crate) topology: Topology,
    /// CPUs of the ranks.
    pub(crate) bind: Binding,
    /// Time without progress after which the job is ended; `None` for never.
    pub(crate) watchdog: Option<Duration>,
}

/// End of a job: the exit code that all ranks returned, or what ended them.
pub(crate) type Ended = Result<u8, JobFailure>;

/// The exit code of a job that `ended` so.
pub(crate) fn code_of(ended: &Ended) -> u8 {
    let code_of =
        |failure: &JobFailure| failure.signal.map_or(exit::INTERNAL, exit::code_of_signal);
    ended.as_ref().map_or_else(code_of, |code| *code)
}

/// The backend that `world` names. For `auto` it is that for simulations if there is a machine, and
/// else the first that starts its ranks itself, or under a `launcher` the first that joins those
/// that are there, if this build has one.
pub(crate) fn find(
    world: &WorldArgs,
    launcher: Option<&Launcher>,
) -> anyhow::Result<&'static dyn Backend> {
    let simulation = sim::Simulation.name();
    let machine = world.machine.as_ref().map(|name| format!("--machine {name}"));
    let simulated = machine.or(world.unsteady.map(|percent| format!("--unsteady {percent}")));
    let found = match (&*world.transport, simulated) {
        ("auto", Some(option)) if world.machine.is_none() => Err(exit::usage(format!(
            "{option} is for simulated ranks (add -t sim or --machine NAME, or leave it out)"
        ))),
        ("auto", Some(_)) => find_in(BACKENDS, simulation, launcher),
        (name, Some(option)) if name != simulation => Err(exit::usage(format!(
            "{option} is for simulated ranks, not for -t {name} (leave one of them out)"
        ))),
        (name, _) => find_in(BACKENDS, name, launcher),
    }?;
    require_threads(found, world.thread_level.as_deref())?;
    Ok(found)
}

/// Refuses a thread level where no library would take notice of it.
fn require_threads(backend: &dyn Backend, level: Option<&str>) -> anyhow::Result<()> {
    let Some(level) = level.filter(|_| backend.name() != OPTIONAL) else { return Ok(()) };
    Err(exit::usage(format!(
        "--thread-level {level} is for -t {}, not for -t {} (leave it out)",
        OPTIONAL,
        backend.name()
    )))
}

fn find_in(
    backends: &[&'static dyn Backend],
    name: &str,
    launcher: Option<&Launcher>,
) -> anyhow::Result<&'static dyn Backend> {
    let named = |name: &str| backends.iter().copied().find(|backend| backend.name() == name);
    let found = match name {
        "auto" => launcher.and(joining(backends)).or(backends.first().copied()),
        name => named(name),
    };
    found.ok_or_else(|| {
        exit::refuse(
            exit::TRANSPORT,
            format!("this comet-run was built without {name} (build it with: {})", build(name)),
        )
    })
}

/// Refuses a backend that starts its ranks itself, if a launcher started this program several
/// times: each would measure on its own, on the same CPUs, and all would print.
pub(crate) fn admit(
    backends: &[&'static dyn Backend],
    backend: &dyn Backend,
    launcher: Option<&Launcher>,
) -> anyhow::Result<()> {
    let Some(launcher) = launcher.filter(|launcher| launcher.may_have_started_several()) else {
        return Ok(());
    };
    if backend.is_launched() {
        return Ok(());
    }
    let (processes, launcher) = (launcher.processes(), launcher.name);
    let sentence = match joining(backends) {
        Some(other) => format!(
            "each would start ranks of its own over {} (write -t {}; or start it without {launcher})",
            backend.name(),
            other.name()
        ),
        None => format!(
            "this comet-run was built without MPI, so each would measure alone \
             (build it with: {}; or start it without {launcher})",
            build(OPTIONAL)
        ),
    };
    let message = format!("{processes} were started by {launcher}, but {sentence}");
    Err(exit::refuse(exit::TRANSPORT, message))
}

/// The first backend whose ranks a launcher starts.
fn joining(backends: &[&'static dyn Backend]) -> Option<&'static dyn Backend> {
    backends.iter().copied().find(|backend| backend.is_launched())
}

/// Command that builds this program with the backend `name`.
fn build(name: &str) -> String {
    format!("cargo build --release --features {name}")
}

/// Refuses fewer ranks than `launcher` started: under the launcher of another library, each process
/// sees a job of its own.
pub(crate) fn require_all(
    n_ranks: usize,
    launcher: &Launcher,
    library: &str,
) -> anyhow::Result<()> {
    // A launcher that does not tell how many it started has started this one and those before it.
    if launcher.size.unwrap_or(launcher.rank + 1) <= n_ranks {
        return Ok(());
    }
    if launcher.size.is_none() {
        // The first process cannot know, so the second says it.
        terminal::set_output_rank(launcher.rank == 1);
    }
    let (processes, name) = (launcher.processes(), launcher.name);
    let ranks = world::ranks(n_ranks);
    Err(exit::refuse(
        exit::TRANSPORT,
        format!(
            "{processes} were started by {name}, but the MPI of this comet-run, {library}, found \
             {ranks} (start it with the launcher of that library, or build it with the one whose \
             launcher this is: MPICC=... cargo build --release --features mpi)"
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::fake::OneOfThree;
    use super::*;
    use crate::cli::Cli;
    use clap::Parser as _;

    const FAKE: OneOfThree = OneOfThree { rank: 0, first_code: exit::OK };
    const WITHOUT: &[&dyn Backend] = &[&shm::SharedMemory];
    const WITH: &[&dyn Backend] = &[&shm::SharedMemory, &FAKE];

    fn launcher(size: Option<usize>) -> Launcher {
        Launcher { name: "mpirun", rank: 0, size }
    }

    #[test]
    fn a_backend_is_found_by_its_name_or_by_the_launcher() {
        for (backends, name, launcher, expected) in [
            (WITHOUT, "auto", None, "shm"),
            (WITHOUT, "auto", Some(launcher(Some(1))), "shm"),
            (WITHOUT, "auto", Some(launcher(Some(4))), "shm"),
            (WITH, "auto", None, "shm"),
            (WITH, "auto", Some(launcher(Some(1))), "mpi"),
            (WITH, "auto", Some(launcher(Some(4))), "mpi"),
            (WITH, "auto", Some(launcher(None)), "mpi"),
            (WITH, "mpi", None, "mpi"),
            (WITH, "shm", Some(launcher(Some(4))), "shm"),
        ] {
            let found = find_in(backends, name, launcher.as_ref()).unwrap();
            assert_eq!(found.name(), expected, "{name} {launcher:?}");
        }
    }

    #[test]
    fn noise_alone_simulates_nothing() {
        let world = |line: &str| Cli::try_parse_from(line.split(' ')).unwrap().run.plan.world;
        let error = find(&world("comet-run echo --unsteady 10"), None).err().unwrap().to_string();
        let sentence = "--unsteady 10 is for simulated ranks (add -t sim or --machine NAME, or \
                        leave it out)";
        assert_eq!(error, sentence);
        for line in ["--unsteady 10 -t sim", "--unsteady 10 --machine t3e"] {
            let found = find(&world(&format!("comet-run echo {line}")), None).unwrap();
            assert_eq!(found.name(), "sim", "{line}");
        }
    }

    #[test]
    fn every_backend_is_a_word_of_the_command_line() {
        for backend in BACKENDS {
            let line = ["comet-run", "echo", "-t", backend.name()];
            assert!(Cli::try_parse_from(line).is_ok(), "{}", backend.name());
        }
    }

    #[test]
    fn backends_are_refused_with_a_remedy() {
        let shm: &dyn Backend = &shm::SharedMemory;
        let admit = |backends, size| admit(backends, shm, Some(&launcher(size))).unwrap_err();
        for (error, sentence, code) in [
            (
                require_threads(shm, Some("multiple")).unwrap_err(),
                "--thread-level multiple is for -t mpi, not for -t shm (leave it out)",
                exit::USAGE,
            ),
            (
                find_in(WITHOUT, "mpi", None).err().unwrap(),
                "this comet-run was built without mpi (build it with: cargo build --release \
                 --features mpi)",
                exit::TRANSPORT,
            ),
            (
                admit(WITHOUT, Some(4)),
                "4 processes were started by mpirun, but this comet-run was built without MPI, so \
                 each would measure alone (build it with: cargo build --release --features mpi; or \
                 start it without mpirun)",
                exit::TRANSPORT,
            ),
            (
                admit(WITH, None),
                "processes were started by mpirun, but each would start ranks of its own over shm \
                 (write -t mpi; or start it without mpirun)",
                exit::TRANSPORT,
            ),
            (
                require_all(1, &launcher(Some(4)), "Open MPI v4.1.4").unwrap_err(),
                "4 processes were started by mpirun, but the MPI of this comet-run, Open MPI \
                 v4.1.4, found 1 rank (start it with the launcher of that library, or build it \
                 with the one whose launcher this is: MPICC=... cargo build --release --features \
                 mpi)",
                exit::TRANSPORT,
            ),
        ] {
            assert_eq!((error.to_string().as_str(), exit::code_of(&error)), (sentence, code));
        }
    }

    #[test]
    fn what_fits_is_admitted() {
        for (backend, launcher) in [
            (&shm::SharedMemory as &dyn Backend, None),
            (&shm::SharedMemory, Some(launcher(Some(1)))),
            (&FAKE, None),
            (&FAKE, Some(launcher(Some(4)))),
        ] {
            admit(WITH, backend, launcher.as_ref()).unwrap();
        }
        require_threads(&shm::SharedMemory, None).unwrap();
        require_threads(&FAKE, Some("multiple")).unwrap();
        for (n_ranks, size) in [(4, Some(4)), (8, Some(4)), (8, None), (1, None)] {
            require_all(n_ranks, &launcher(size), "mpi").unwrap();
        }
        let second = Launcher { rank: 1, ..launcher(None) };
        assert!(require_all(1, &second, "MPI").is_err(), "there is a second process, but no rank");
        terminal::set_output_rank(true);
    }
}
