//! The ranks that a command line asks for: how many, on what mesh, how far apart, on which CPUs.

use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use comet_core::topology::{Mesh, Topology};
use comet_core::words::count;
use comet_sim::machine::MachineFile;

use crate::cli::WorldArgs;
use crate::cli::values::{Binding, RankCounts};
use crate::exit;
use crate::launcher::Launcher;
use crate::paths;

/// The fewest ranks by default: one has no other to talk to.
const MIN_DEFAULT_RANKS: usize = 2;

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
        /// Their physical cores.
        n_cores: usize,
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
        let Self::Here { n_cpus, .. } = self else { return None };
        Some(bind.n_cpus(*n_cpus))
    }

    /// The machine, if the ranks are simulated.
    pub(crate) fn machine(&self) -> Option<&MachineFile> {
        let Self::Simulated(file) = self else { return None };
        Some(file)
    }

    /// The binding that is in effect if `asked` is asked for.
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
            Self::Here { n_cores, .. } => *n_cores.max(&MIN_DEFAULT_RANKS),
            Self::Simulated(file) => file.ranks.unwrap_or(DEFAULT_SIMULATED_RANKS),
            // Only for a first look at the command line, before they are joined.
            Self::Outside { .. } => MIN_DEFAULT_RANKS,
        }
    }
}

/// The machine called `name`, or in the file of that path.
pub(crate) fn machine(name: &str) -> anyhow::Result<MachineFile> {
    paths::refuse_device(Path::new(name))?;
    comet_sim::machine::find(name).map_err(exit::bad_input)
}

/// The ranks that `world` asks for, from `origin`: one topology for each run.
pub(crate) fn topologies(world: &WorldArgs, origin: &Origin) -> anyhow::Result<Vec<Topology>> {
    let asked = world.ranks.as_ref().map(|RankCounts(counts)| &counts[..]);
    let counts = match (asked, origin.given()) {
        (None, given) => vec![given.map(|(n_ranks, _)| n_ranks)],
        (Some(asked), Some((n_ranks, clause))) if asked != [n_ranks] => {
            let asked: Vec<String> = asked.iter().map(usize::to_string).collect();
            return Err(exit::usage(format!(
                "-n asks for {}, {clause} (leave -n out: mpirun or srun decides)",
                ranks(asked.join(","))
            )));
        }
        (Some(asked), _) => asked.iter().copied().map(Some).collect(),
    };
    let topologies = counts.into_iter().map(|n_ranks| topology(world, n_ranks, origin));
    let topologies: Vec<Topology> = topologies.collect::<anyhow::Result<_>>()?;
    let is_here = matches!(origin, Origin::Here { .. });
    let mut numbers = topologies.iter().map(Topology::n_ranks);
    match numbers.find(|n_ranks| is_here && *n_ranks > comet_shm::MAX_RANKS) {
        Some(n_ranks) => Err(exit::bad_input(comet_shm::LaunchError::Ranks(n_ranks))),
        None => Ok(topologies),
    }
}

/// Longest wait of one of `n_ranks` ranks where a case takes as long as `case` and so many ranks take turns on a
/// CPU; `None` for any time.
///
/// `case` holds the pause before it.
pub(crate) fn watchdog(
    world: &WorldArgs,
    n_ranks: usize,
    case: Duration,
    n_on_cpu: usize,
) -> Option<Duration> {
    let [n_ranks, n_on_cpu] = [n_ranks, n_on_cpu].map(|n| u32::try_from(n).unwrap_or(u32::MAX));
    let ranks = PATIENCE_PER_RANK * n_ranks;
    // Ranks without a part in a case wait until the others have measured it.
    let on_own_cpu = || PATIENCE.saturating_add(case).saturating_add(ranks);
    let by_default = || on_own_cpu().saturating_mul(n_on_cpu);
    Some(world.watchdog.unwrap_or_else(by_default)).filter(|time| !time.is_zero())
}

/// The mesh and the distances that `world` describes, for `n_ranks` ranks from `origin`, or as many
/// as there are by default.
fn topology(
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
    file.machine.topology(mesh).map_err(exit::usage)
}

/// One sentence if a simulated machine never had so many ranks.
pub(crate) fn enlargement(n_ranks: usize, origin: &Origin) -> Option<String> {
    let file = origin.machine()?;
    let max_ranks = file.max_ranks.filter(|max_ranks| n_ranks > *max_ranks)?;
    Some(format!("note: {} had {max_ranks} ranks at most, {n_ranks} are simulated", file.name))
}

/// `1 rank`, `2 ranks`.
pub(crate) fn ranks(n_ranks: impl ToString) -> String {
    let n_ranks = n_ranks.to_string();
    if n_ranks == "1" { "1 rank".into() } else { format!("{n_ranks} ranks") }
}

/// Refuses a grid of other ranks than there are, and one where other numbers would make other
/// distances or other collectives.
pub(crate) fn admit_map(
    world: &WorldArgs,
    topology: &Topology,
    origin: &Origin,
) -> anyhow::Result<()> {
    let Some(map) = world.map.filter(|map| map.moves_ranks()) else { return Ok(()) };
    let n_ranks = topology.n_ranks();
    if map.n_ranks() != n_ranks {
        return Err(exit::usage(format!(
            "--map {map} has {}, which does not fit {} (name rows and columns whose product is the \
             number of ranks)",
            count(map.n_ranks(), "place"),
            ranks(n_ranks)
        )));
    }
    if matches!(origin, Origin::Here { .. }) {
        return Err(exit::usage(format!(
            "--map {map} is for ranks that a launcher has placed, and over shared memory comet-run \
             places them (use --bind CPU,CPU,...)"
        )));
    }
    let has_distances = matches!(origin, Origin::Simulated(_))
        && (0..n_ranks).any(|rank| topology.max_hops(rank) > 1);
    if has_distances || world.topology.is_some() || world.mesh.is_some() {
        return Err(exit::usage(format!(
            "--map {map} numbers the ranks anew, but distances and mesh are those of the old numbers \
             (leave out --map, --mesh and --topology, or simulate a machine that is flat)"
        )));
    }
    Ok(())
}

/// One sentence if ranks have to share CPUs, as far as that is known.
pub(crate) fn oversubscription(n_ranks: usize, n_cpus: Option<usize>) -> Option<String> {
    let n_cpus = n_cpus.filter(|n_cpus| n_ranks > *n_cpus)?;
    let cpus = if n_cpus == 1 { "CPU" } else { "CPUs" };
    Some(format!("note: {n_ranks} ranks share {n_cpus} usable {cpus}: times include scheduling"))
}

/// The error for `mesh`, which holds `n_mesh` ranks where there are `n_ranks`.
fn contradiction(n_mesh: usize, mesh: &str, n_ranks: usize, origin: &Origin) -> anyhow::Error {
    let holds = format!("{mesh} holds {}", ranks(n_mesh));
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
    const HERE: Origin = Origin::Here { n_cpus: 4, n_cores: 2 };

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
        args.plan.world
    }

    /// Number of ranks and of rows of the mesh of each run.
    fn shapes(options: &str, origin: &Origin) -> Result<Vec<(usize, usize)>, String> {
        let topologies = topologies(&world_of(options), origin);
        let shape = |topology: &Topology| (topology.n_ranks(), topology.mesh().rows());
        let shapes = topologies.map(|all| all.iter().map(shape).collect());
        shapes.map_err(|error: anyhow::Error| {
            assert_eq!(exit::code_of(&error), exit::USAGE);
            error.to_string()
        })
    }

    #[test]
    fn ranks_are_as_many_as_the_options_the_mesh_or_the_launcher_say() {
        let ipsc = &simulated("ipsc860");
        for (options, origin, expected) in [
            ("", &HERE, vec![(2, 1)]),
            ("", &Origin::Here { n_cpus: 2, n_cores: 1 }, vec![(2, 1)]),
            ("", &Origin::Here { n_cpus: 12, n_cores: 12 }, vec![(12, 3)]),
            ("-n 8", &HERE, vec![(8, 2)]),
            ("-n 1", &HERE, vec![(1, 1)]),
            ("--mesh 3x2", &HERE, vec![(6, 3)]),
            ("-n 6 --mesh 6x1", &HERE, vec![(6, 6)]),
            ("-n 2..8*2", &HERE, vec![(2, 1), (4, 2), (8, 2)]),
            ("", &outside(8), vec![(8, 2)]),
            ("-n 8", &outside(8), vec![(8, 2)]),
            ("--mesh 8x1", &outside(8), vec![(8, 8)]),
            ("", &ALONE, vec![(1, 1)]),
            // Its ranks are known once they are joined.
            ("-n 8", &UNTOLD, vec![(8, 2)]),
            ("--mesh 3x2", &UNTOLD, vec![(6, 3)]),
            ("", &UNTOLD.joined(Some(3)), vec![(3, 1)]),
            ("", ipsc, vec![(16, 4)]),
            ("-n 300", ipsc, vec![(300, 15)]),
            ("--mesh 2x32", ipsc, vec![(64, 2)]),
        ] {
            assert_eq!(shapes(options, origin), Ok(expected), "{options} {origin:?}");
        }
        assert_eq!(HERE.joined(None), HERE);
        assert_eq!(outside(4).joined(Some(8)), outside(8));
    }

    #[test]
    fn ranks_and_meshes_that_contradict_each_other_are_refused() {
        let leave = "(leave -n out: mpirun or srun decides)";
        let start = "(start 6 with mpirun or srun)";
        for (options, origin, sentence) in [
            ("-n 4", outside(8), format!("-n asks for 4 ranks, mpirun started 8 {leave}")),
            ("-n 2..8*2", outside(8), format!("-n asks for 2,4,8 ranks, mpirun started 8 {leave}")),
            ("-n 4", ALONE, format!("-n asks for 4 ranks, without a launcher there is 1 {leave}")),
            (
                "-n 8",
                UNTOLD.joined(Some(3)),
                format!("-n asks for 8 ranks, srun started 3 {leave}"),
            ),
            ("-n 1", outside(8), format!("-n asks for 1 rank, mpirun started 8 {leave}")),
            ("-n 2000", HERE, "cannot start 2000 ranks: expected 1 to 1024 (take fewer)".into()),
            (
                "-n 4 --mesh 2x3",
                HERE,
                "a mesh of 2x3 holds 6 ranks, -n asks for 4 (write -n 6, or leave it out)".into(),
            ),
            (
                "--mesh 2x3",
                outside(4),
                format!("a mesh of 2x3 holds 6 ranks, mpirun started 4 {start}"),
            ),
            (
                "--mesh 2x3",
                ALONE,
                format!("a mesh of 2x3 holds 6 ranks, without a launcher there is 1 {start}"),
            ),
        ] {
            assert_eq!(shapes(options, &origin), Err(sentence));
        }
    }

    #[test]
    fn a_simulated_machine_knows_its_distances_and_its_size() {
        let hops = ["ipsc860", "t3e", "dahu-opa"]
            .map(|name| topologies(&world_of("-n 27"), &simulated(name)).unwrap()[0].max_hops(0));
        assert_eq!(hops, [4, 3, 1]);
        let note = enlargement(300, &simulated("ipsc860")).unwrap();
        assert_eq!(note, "note: ipsc860-fit had 128 ranks at most, 300 are simulated");
        assert_eq!(enlargement(128, &simulated("ipsc860")), None);
    }

    #[test]
    fn ranks_that_take_turns_on_a_cpu_may_wait_longer_unless_the_user_says_how_long() {
        let limit = |options, n_on_cpu| {
            let case = Duration::from_secs(1);
            watchdog(&world_of(options), 4, case, n_on_cpu).map(|limit| limit.as_millis())
        };
        assert_eq!([1, 2].map(|n| limit("", n)), [Some(11_200), Some(22_400)]);
        assert_eq!(limit("--watchdog 3s", 2), Some(3000));
        assert_eq!(limit("--watchdog 0", 2), None);
    }

    #[test]
    fn only_ranks_that_this_program_starts_are_bound_by_it() {
        for (options, origin, expected) in [
            ("", HERE, Some(Binding::Core)),
            ("--bind none", HERE, Some(Binding::None)),
            ("", outside(4), Some(Binding::Launcher)),
            ("--bind core", outside(4), None),
            ("--bind none", ALONE, None),
            ("", simulated("t3e"), Some(Binding::None)),
            ("--bind core", simulated("t3e"), None),
        ] {
            let found = origin.binding(world_of(options).bind.as_ref()).ok();
            assert_eq!(found, expected, "{options} {origin:?}");
        }
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
