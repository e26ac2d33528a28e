//! The suites, with their contents in a phrase, and the descriptions of all kernels.

use std::collections::BTreeMap;

use comet_core::kernel::{Axis, DATATYPE, GROUPS, KernelInfo, PROCS};
pub(crate) use comet_suites::infos;

/// Suites that `all` stands for, and in which a bare kernel name is looked up first.
pub(crate) const DEFAULT_SUITES: &[&str] = &["comet", "matrix"];

/// Suites in reading order, and their contents.
const SUITES: [(&str, &str); 17] = [
    ("comet", "low-level kernels of the CoMet thesis (1993)"),
    ("matrix", "operations of the CoMet thesis on a matrix in blocks on a mesh of ranks"),
    ("naive", "collectives over point-to-point messages, a baseline for those of a transport"),
    ("parkbench", "low-level communication kernels of PARKBENCH"),
    ("model", "patterns whose times give the parameters of LogGP and max-rate models"),
    ("health", "slow ranks, hosts and links"),
    ("imb", "Intel MPI Benchmarks without an equivalent above"),
    ("imb-nbc", "IMB-NBC: collectives in flight, alone and beside work"),
    ("imb-mpi4", "IMB-MPI4: prepared collectives, alone and beside work"),
    ("imb-ext", "IMB-EXT: windows whose epochs are fences"),
    ("imb-rma", "IMB-RMA: windows whose epochs are locks"),
    ("imb-io", "IMB-IO: files of each rank and of all, alone and together"),
    ("imb-p2p", "IMB-P2P: messages between all ranks, also by lot and on stencils"),
    ("imb-mt", "IMB-MT: messages and collectives of several threads of each rank"),
    ("osu", "OSU micro-benchmarks without an equivalent above"),
    (
        "skampi",
        "patterns of SKaMPI: modes of sends, ways to receive, master and workers, collectives by hand",
    ),
    (
        "patterns",
        "communication patterns of scientific computing, which the CoMet thesis wishes for",
    ),
];

/// Contents of the suite `name`, in one phrase.
pub(crate) fn about(name: &str) -> &'static str {
    SUITES.iter().find(|(suite, _)| *suite == name).map_or("", |(_, about)| about)
}

/// The axes of all kernels by their names, with those that every kernel has and none declares: the ranks.
pub(crate) fn axes() -> BTreeMap<&'static str, &'static Axis> {
    let declared = infos().into_iter().flat_map(|info| info.axes).map(|used| used.axis);
    declared.chain([&PROCS, &GROUPS, &DATATYPE]).map(|axis| (axis.name, axis)).collect()
}

/// Names of all suites with a kernel, in reading order.
pub(crate) fn suites(infos: &[&'static KernelInfo]) -> Vec<&'static str> {
    let mut suites: Vec<&str> = infos.iter().map(|info| info.suite).collect();
    suites.dedup();
    suites
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ids_are_unique_and_suites_are_not_interleaved() {
        let infos = infos();
        let ids: HashSet<String> = infos.iter().map(|info| info.id()).collect();
        assert_eq!(ids.len(), infos.len());
        let suites = suites(&infos);
        assert_eq!(suites.iter().collect::<HashSet<_>>().len(), suites.len(), "{suites:?}");
        let described: Vec<&str> = SUITES.iter().map(|(suite, _)| *suite).collect();
        let described: Vec<&str> =
            described.into_iter().filter(|suite| suites.contains(suite)).collect();
        assert_eq!(described, suites);
    }

    #[test]
    fn required_kernels_exist() {
        let infos = infos();
        for info in &infos {
            for required in info.requires {
                assert!(infos.iter().any(|other| other.id() == *required), "{required}");
            }
        }
    }
}
