//! The ranks that a command line asks for: how many, on what mesh, how far apart.

use comet_core::topology::{Mesh, Topology};

use crate::cli::WorldArgs;
use crate::exit;
use crate::values::RankCounts;

/// The fewest ranks by default: contention needs four.
const MIN_DEFAULT_RANKS: usize = 4;

/// `world` with each of its numbers of ranks alone.
pub(crate) fn each(world: &WorldArgs) -> Vec<WorldArgs> {
    let Some(RankCounts(counts)) = &world.ranks else { return vec![world.clone()] };
    let alone = |n| WorldArgs { ranks: Some(RankCounts(vec![n])), ..world.clone() };
    counts.iter().copied().map(alone).collect()
}

/// The mesh and the distances for `world`, which names one number of ranks at most, on a machine
/// with `n_cpus` usable CPUs.
///
/// # Errors
/// One sentence with a remedy, if the number of ranks and the mesh contradict each other, or if
/// the topology file cannot be understood.
pub(crate) fn topology(world: &WorldArgs, n_cpus: usize) -> anyhow::Result<Topology> {
    if let Some(path) = &world.topology {
        let topology = comet_report::topology_file::read_topology(path)
            .map_err(|error| exit::usage(format!("{:#}", anyhow::Error::new(error))))?;
        require_ranks(world, topology.n_ranks(), &format!("the mesh in {}", path.display()))?;
        return Ok(topology);
    }
    if let Some(shape) = world.mesh {
        require_ranks(world, shape.rows * shape.cols, &format!("a mesh of {shape}"))?;
        let mesh = Mesh::gray_with(shape.rows, shape.cols);
        return Topology::new(mesh, None).map_err(exit::usage);
    }
    Ok(Topology::hypercube(n_ranks(world).unwrap_or(n_cpus.max(MIN_DEFAULT_RANKS))))
}

/// One sentence if ranks have to share CPUs.
pub(crate) fn oversubscription(n_ranks: usize, n_cpus: usize) -> Option<String> {
    (n_ranks > n_cpus).then(|| {
        let cpus = if n_cpus == 1 { "CPU" } else { "CPUs" };
        format!("note: {n_ranks} ranks share {n_cpus} usable {cpus}: times include scheduling")
    })
}

fn n_ranks(world: &WorldArgs) -> Option<usize> {
    world.ranks.as_ref().and_then(|RankCounts(counts)| counts.first().copied())
}

fn require_ranks(world: &WorldArgs, n_mesh: usize, mesh: &str) -> anyhow::Result<()> {
    match n_ranks(world) {
        Some(n_ranks) if n_ranks != n_mesh => Err(exit::usage(format!(
            "{mesh} holds {n_mesh} ranks, -n asks for {n_ranks} (write -n {n_mesh}, or leave it out)"
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser as _;

    fn topology_of(options: &str) -> anyhow::Result<Topology> {
        let line = format!("comet-run run echo {options}");
        let cli = Cli::try_parse_from(line.split_whitespace()).expect("a valid command line");
        let Some(Command::Run(args)) = cli.command else { panic!("not a run: {line}") };
        topology(&args.world, 2)
    }

    #[test]
    fn the_mesh_decides_the_number_of_ranks() {
        let check = |options, n_ranks, rows| {
            let topology = topology_of(options).unwrap();
            assert_eq!((topology.n_ranks(), topology.mesh().rows()), (n_ranks, rows), "{options}");
        };
        check("", 4, 2);
        check("-n 8", 8, 2);
        check("-n 1", 1, 1);
        check("--mesh 3x2", 6, 3);
        check("-n 6 --mesh 6x1", 6, 6);
    }

    #[test]
    fn several_numbers_of_ranks_are_taken_one_by_one() {
        let cli = Cli::try_parse_from(["comet-run", "echo", "-n", "2..8*2"]).unwrap();
        let n_ranks: Vec<_> = each(&cli.run.world).iter().map(n_ranks).collect();
        assert_eq!(n_ranks, [Some(2), Some(4), Some(8)]);
        let cli = Cli::try_parse_from(["comet-run", "echo"]).unwrap();
        assert_eq!(each(&cli.run.world).iter().map(super::n_ranks).collect::<Vec<_>>(), [None]);
    }

    #[test]
    fn a_mesh_of_another_number_of_ranks_is_refused() {
        assert_eq!(
            topology_of("-n 4 --mesh 2x3").unwrap_err().to_string(),
            "a mesh of 2x3 holds 6 ranks, -n asks for 4 (write -n 6, or leave it out)"
        );
    }

    #[test]
    fn sharing_cpus_is_announced() {
        assert_eq!(oversubscription(2, 2), None);
        assert_eq!(
            oversubscription(4, 1).unwrap(),
            "note: 4 ranks share 1 usable CPU: times include scheduling"
        );
    }
}
