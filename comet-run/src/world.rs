//! The ranks that a command line asks for: how many, on what mesh, how far apart, on which CPUs.

use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use comet_core::topology::{Mesh, Topology};
use comet_sim::machine::MachineFile;
use comet_sim::route::Routes;

use crate::cli::WorldArgs;
use crate::cli::values::{Binding, RankCounts};
use crate::exit;
#[cfg(any(feature = "mpi", test))]
use crate::launcher::Launcher;
use crate::paths;

/// The fewest ranks by default: contention needs four.
const MIN_DEFAULT_RANKS: usize = 4;

/// Default time limit of a blocked call, beyond the time of a case.
const PATIENCE: Duration = Duration::from_secs(10);
/// Additional time for each rank: many ranks are slow, on few CPUs above all.
const PATIENCE_PER_RANK: Duration = Duration::from_millis(50);

/// Default number of ranks of a simulated machine whose file gives none.
const DEFAULT_SIMULATED_RANKS: usize = 16;

/// Source of the ranks, which decides their number and their placement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Origin {
    /// This program starts them, on a machine with so many usable CPUs.
    Here {
        /// The CPUs.
        n_cpus: usize,
    },
    /// They are simulated on this machine, in as many as are asked for.
    Simulated(Rc<MachineFile>),
    /// They are there before this program runs.
    Outside {
        /// Name of the launcher that started them; `None` for a process that is alone.
        launcher: Option<&'static str>,
        /// Their number, if known before they are joined.
        n_ranks: Option<usize>,
    },
}

impl Origin {
    /// Ranks that `launcher` has started; a process without one is alone.
    #[cfg(any(feature = "mpi", test))]
    pub(crate) fn outside(launcher: Option<&Launcher>) -> Self {
        match launcher {
            None => Self::Outside { launcher: None, n_ranks: Some(1) },
            Some(launcher) => {
                Self::Outside { launcher: Some(launcher.name), n_ranks: launcher.size }
            }
        }
    }

    /// The same with the number of ranks that were found: `n_ranks`, if they came from outside.
    pub(crate) fn joined(&self, found: Option<usize>) -> Self {
        match self {
            Self::Outside { launcher, n_ranks } => {
                Self::Outside { launcher: *launcher, n_ranks: found.or(*n_ranks) }
            }
            Self::Here { .. } | Self::Simulated(_) => self.clone(),
        }
    }

    /// Number of CPUs of ranks bound by `bind`, if known.
    pub(crate) fn n_cpus(&self, bind: &Binding) -> Option<usize> {
        match self {
            Self::Here { n_cpus } => Some(bind.n_cpus(*n_cpus)),
            Self::Simulated(_) | Self::Outside { .. } => None,
        }
    }

    /// The machine, if the ranks are simulated.
    pub(crate) fn machine(&self) -> Option<&MachineFile> {
        match self {
            Self::Simulated(file) => Some(file),
            Self::Here { .. } | Self::Outside { .. } => None,
        }
    }

    /// The binding that is in effect if `asked` is asked for.
    ///
    /// # Errors
    /// If this program has no say in it.
    pub(crate) fn binding(&self, asked: Option<&Binding>) -> anyhow::Result<Binding> {
        match (self, asked) {
            (Self::Here { .. }, asked) => Ok(asked.cloned().unwrap_or(Binding::Core)),
            (Self::Simulated(_), None | Some(Binding::None)) => Ok(Binding::None),
            (Self::Simulated(_), Some(_)) => Err(exit::usage(
                "--bind is for ranks that run on CPUs, these are simulated (leave it out)",
            )),
            (Self::Outside { .. }, None) => Ok(Binding::Launcher),
            (Self::Outside { launcher, .. }, Some(_)) => Err(exit::usage(format!(
                "--bind is for ranks that comet-run starts (leave it out, and bind with the \
                 options of {})",
                launcher.unwrap_or("a launcher")
            ))),
        }
    }

    /// Number of ranks that exist already, if known, with a clause for a sentence.
    fn given(&self) -> Option<(usize, String)> {
        let Self::Outside { launcher, n_ranks } = self else { return None };
        let n_ranks = (*n_ranks)?;
        let clause = match launcher {
            Some(name) => format!("{name} started {n_ranks}"),
            None => format!("without a launcher there is {n_ranks}"),
        };
        Some((n_ranks, clause))
    }

    /// Default number of ranks.
    fn n_default(&self) -> usize {
        match self {
            Self::Here { n_cpus } => *n_cpus.max(&MIN_DEFAULT_RANKS),
            Self::Simulated(file) => file.ranks.unwrap_or(DEFAULT_SIMULATED_RANKS),
            // Only for a first look at the command line, before they are joined.
            Self::Outside { .. } => MIN_DEFAULT_RANKS,
        }
    }
}

/// The machine called `name`, or in the file of that path.
///
/// # Errors
/// One sentence, if there is none or if its file cannot be understood.
pub(crate) fn machine(name: &str) -> anyhow::Result<MachineFile> {
    paths::refuse_device(Path::new(name))?;
    comet_sim::machine::find(name).map_err(exit::bad_input)
}

/// The numbers of ranks that `world` asks for, a run each; `None` where it leaves that open.
///
/// # Errors
/// One sentence with a remedy, if the ranks are there already and are not as many.
pub(crate) fn rank_counts(
    world: &WorldArgs,
    origin: &Origin,
) -> anyhow::Result<Vec<Option<usize>>> {
    let asked = world.ranks.as_ref().map(|RankCounts(counts)| &counts[..]);
    match (asked, origin.given()) {
        (None, given) => Ok(vec![given.map(|(n_ranks, _)| n_ranks)]),
        (Some(asked), Some((n_ranks, clause))) if asked != [n_ranks] => {
            let asked: Vec<String> = asked.iter().map(usize::to_string).collect();
            Err(exit::usage(format!(
                "-n asks for {} ranks, {clause} (leave -n out: mpirun or srun decides)",
                asked.join(",")
            )))
        }
        (Some(asked), _) => Ok(asked.iter().copied().map(Some).collect()),
    }
}

/// Longest wait of one of `n_ranks` ranks where a case takes as long as `case`; `None` for any time.
pub(crate) fn watchdog(world: &WorldArgs, n_ranks: usize, case: Duration) -> Option<Duration> {
    let ranks = PATIENCE_PER_RANK * u32::try_from(n_ranks).unwrap_or(u32::MAX);
    // Ranks without a part in a case wait until the others have measured it.
    let by_default = || PATIENCE.saturating_add(case).saturating_add(ranks);
    Some(world.watchdog.unwrap_or_else(by_default)).filter(|time| !time.is_zero())
}

/// The mesh and the distances that `world` describes, for `n_ranks` ranks from `origin`, or as many
/// as there are by default.
///
/// # Errors
/// One sentence with a remedy, if the number of ranks and the mesh contradict each other, or if
/// the topology file cannot be understood.
pub(crate) fn topology(
    world: &WorldArgs,
    n_ranks: Option<usize>,
    origin: &Origin,
) -> anyhow::Result<Topology> {
    let require = |n_mesh, mesh: &str| match n_ranks {
        Some(n_ranks) if n_ranks != n_mesh => Err(contradiction(n_mesh, mesh, n_ranks, origin)),
        _ => Ok(()),
    };
    if let Some(path) = &world.topology {
        paths::refuse_device(path)?;
        let topology = comet_report::topology_file::read_topology(path).map_err(exit::bad_input)?;
        require(topology.n_ranks(), &format!("the mesh in {}", path.display()))?;
        return connected(topology.mesh().clone(), topology, origin);
    }
    if let Some(shape) = world.mesh {
        require(shape.rows * shape.cols, &format!("a mesh of {shape}"))?;
        let mesh = Mesh::gray_with(shape.rows, shape.cols);
        let topology = Topology::new(mesh.clone(), None).map_err(exit::usage)?;
        return connected(mesh, topology, origin);
    }
    let topology = Topology::hypercube(n_ranks.unwrap_or(origin.n_default()));
    connected(topology.mesh().clone(), topology, origin)
}

/// `topology`, or `mesh` with the distances of the machine if the ranks are simulated.
fn connected(mesh: Mesh, topology: Topology, origin: &Origin) -> anyhow::Result<Topology> {
    let Some(file) = origin.machine() else { return Ok(topology) };
    if topology.metric() == "table" {
        return Err(exit::usage(format!(
            "a topology file gives distances, but those of {} are in its machine file (leave \
             \"hops\" out of the topology file)",
            file.name
        )));
    }
    let n_ranks = topology.n_ranks();
    if let Some(rank) = file.machine.faults.beyond(n_ranks) {
        return Err(exit::usage(format!(
            "{} has a fault of rank {rank}, but ranks are 0 to {} (take more ranks)",
            file.name,
            n_ranks - 1
        )));
    }
    let routes = Routes::new(&file.machine.network.shape, n_ranks).map_err(exit::usage)?;
    Topology::with_metric(mesh, routes.metric().clone()).map_err(exit::usage)
}

/// One sentence if a simulated machine never had so many ranks.
pub(crate) fn enlargement(n_ranks: usize, origin: &Origin) -> Option<String> {
    let file = origin.machine()?;
    let max_ranks = file.max_ranks.filter(|max_ranks| n_ranks > *max_ranks)?;
    Some(format!("note: {} had {max_ranks} ranks at most, {n_ranks} are simulated", file.name))
}

/// One sentence if ranks have to share CPUs, as far as that is known.
pub(crate) fn oversubscription(n_ranks: usize, n_cpus: Option<usize>) -> Option<String> {
    let n_cpus = n_cpus.filter(|n_cpus| n_ranks > *n_cpus)?;
    let cpus = if n_cpus == 1 { "CPU" } else { "CPUs" };
    Some(format!("note: {n_ranks} ranks share {n_cpus} usable {cpus}: times include scheduling"))
}

/// The error for `mesh`, which holds `n_mesh` ranks where there are `n_ranks`.
fn contradiction(n_mesh: usize, mesh: &str, n_ranks: usize, origin: &Origin) -> anyhow::Error {
    let holds = format!("{mesh} holds {n_mesh} ranks");
    exit::usage(match origin.given() {
        Some((_, clause)) => format!("{holds}, {clause} (start {n_mesh} with mpirun or srun)"),
        None => format!("{holds}, -n asks for {n_ranks} (write -n {n_mesh}, or leave it out)"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser as _;

    /// A machine on which this program starts the ranks.
    const HERE: Origin = Origin::Here { n_cpus: 2 };

    /// Ranks that mpirun started, and tells how many.
    fn outside(n_ranks: usize) -> Origin {
        Origin::Outside { launcher: Some("mpirun"), n_ranks: Some(n_ranks) }
    }

    /// Ranks of a launcher that does not tell how many there are.
    const UNTOLD: Origin = Origin::Outside { launcher: Some("srun"), n_ranks: None };
    /// A process of MPI that nobody started.
    const ALONE: Origin = Origin::Outside { launcher: None, n_ranks: Some(1) };

    /// Ranks on a machine that comes with the program.
    fn simulated(name: &str) -> Origin {
        Origin::Simulated(Rc::new(comet_sim::machine::find(name).expect("a known machine")))
    }

    fn world_of(options: &str) -> WorldArgs {
        let line = format!("comet-run run echo {options}");
        let cli = Cli::try_parse_from(line.split_whitespace()).expect("a valid command line");
        let Some(Command::Run(args)) = cli.command else { panic!("not a run: {line}") };
        args.world
    }

    /// The topologies that `options` ask for, one for each number of ranks.
    fn topologies(options: &str, origin: &Origin) -> anyhow::Result<Vec<Topology>> {
        let world = world_of(options);
        let counts = rank_counts(&world, origin)?;
        counts.into_iter().map(|n_ranks| topology(&world, n_ranks, origin)).collect()
    }

    fn check(options: &str, origin: Origin, expected: &[(usize, usize)]) {
        let shape = |topology: &Topology| (topology.n_ranks(), topology.mesh().rows());
        let found: Vec<_> = topologies(options, &origin).unwrap().iter().map(shape).collect();
        assert_eq!(found, expected, "{options} {origin:?}");
    }

    fn check_refused(options: &str, origin: Origin, sentence: &str) {
        let error = topologies(options, &origin).unwrap_err();
        assert_eq!((error.to_string().as_str(), exit::code_of(&error)), (sentence, exit::USAGE));
    }

    #[test]
    fn the_mesh_decides_the_number_of_ranks() {
        check("", HERE, &[(4, 2)]);
        check("-n 8", HERE, &[(8, 2)]);
        check("-n 1", HERE, &[(1, 1)]);
        check("--mesh 3x2", HERE, &[(6, 3)]);
        check("-n 6 --mesh 6x1", HERE, &[(6, 6)]);
    }

    #[test]
    fn several_numbers_of_ranks_are_taken_one_by_one() {
        check("-n 2..8*2", HERE, &[(2, 1), (4, 2), (8, 2)]);
    }

    #[test]
    fn a_launcher_decides_the_number_of_ranks() {
        check("", outside(8), &[(8, 2)]);
        check("-n 8", outside(8), &[(8, 2)]);
        check("--mesh 8x1", outside(8), &[(8, 8)]);
        check("", ALONE, &[(1, 1)]);
        check_refused(
            "-n 4",
            outside(8),
            "-n asks for 4 ranks, mpirun started 8 (leave -n out: mpirun or srun decides)",
        );
        check_refused(
            "-n 2..8*2",
            outside(8),
            "-n asks for 2,4,8 ranks, mpirun started 8 (leave -n out: mpirun or srun decides)",
        );
        check_refused(
            "-n 4",
            ALONE,
            "-n asks for 4 ranks, without a launcher there is 1 (leave -n out: mpirun or srun \
             decides)",
        );
    }

    #[test]
    fn what_a_launcher_does_not_tell_is_known_once_the_ranks_are_joined() {
        check("-n 8", UNTOLD, &[(8, 2)]);
        check("--mesh 3x2", UNTOLD, &[(6, 3)]);
        check("", UNTOLD.joined(Some(3)), &[(3, 1)]);
        check_refused(
            "-n 8",
            UNTOLD.joined(Some(3)),
            "-n asks for 8 ranks, srun started 3 (leave -n out: mpirun or srun decides)",
        );
        assert_eq!(HERE.joined(None), HERE);
        assert_eq!(outside(4).joined(Some(8)), outside(8));
    }

    #[test]
    fn a_simulated_machine_says_how_many_ranks_it_has_and_how_far_apart_they_are() {
        check("", simulated("ipsc860"), &[(16, 4)]);
        check("-n 300", simulated("ipsc860"), &[(300, 15)]);
        check("--mesh 2x32", simulated("ipsc860"), &[(64, 2)]);
        let hops = |name| topologies("-n 27", &simulated(name)).unwrap()[0].max_hops(0);
        assert_eq!([hops("ipsc860"), hops("t3e"), hops("dahu-opa")], [4, 3, 1]);
        let note = enlargement(300, &simulated("ipsc860")).unwrap();
        assert_eq!(note, "note: ipsc860-fit had 128 ranks at most, 300 are simulated");
        assert_eq!(enlargement(128, &simulated("ipsc860")), None);
    }

    #[test]
    fn a_mesh_of_another_number_of_ranks_is_refused() {
        check_refused(
            "-n 4 --mesh 2x3",
            HERE,
            "a mesh of 2x3 holds 6 ranks, -n asks for 4 (write -n 6, or leave it out)",
        );
        check_refused(
            "--mesh 2x3",
            outside(4),
            "a mesh of 2x3 holds 6 ranks, mpirun started 4 (start 6 with mpirun or srun)",
        );
        check_refused(
            "--mesh 2x3",
            ALONE,
            "a mesh of 2x3 holds 6 ranks, without a launcher there is 1 (start 6 with mpirun or \
             srun)",
        );
    }

    #[test]
    fn only_ranks_that_this_program_starts_are_bound_by_it() {
        let check = |options, origin: Origin, expected: Option<Binding>| {
            let world = world_of(options);
            assert_eq!(origin.binding(world.bind.as_ref()).ok(), expected, "{options} {origin:?}");
        };
        check("", HERE, Some(Binding::Core));
        check("--bind none", HERE, Some(Binding::None));
        check("", outside(4), Some(Binding::Launcher));
        check("--bind core", outside(4), None);
        check("--bind none", ALONE, None);
        check("", simulated("t3e"), Some(Binding::None));
        check("--bind core", simulated("t3e"), None);
    }

    #[test]
    fn sharing_cpus_is_announced_where_the_cpus_are_known() {
        assert_eq!(HERE.n_cpus(&Binding::List(vec![0, 0])), Some(1));
        assert_eq!(outside(4).n_cpus(&Binding::Launcher), None);
        assert_eq!(oversubscription(4, None), None);
        assert_eq!(oversubscription(2, Some(2)), None);
        assert_eq!(
            oversubscription(4, Some(1)).unwrap(),
            "note: 4 ranks share 1 usable CPU: times include scheduling"
        );
    }
}
