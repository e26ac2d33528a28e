//! Every kernel of every suite, in reading order: one line per suite.

use comet_core::kernel::{Kernel, KernelInfo};
use comet_core::local::Local;
use comet_core::transport::Transport;

/// Suites that `all` stands for, and in which a bare kernel name is looked up first.
pub(crate) const DEFAULT_SUITES: &[&str] = &["comet", "matrix"];

/// The kernels over transport `T`; the same list, in the same order, on every transport.
pub(crate) fn kernels<T: Transport>() -> Vec<&'static dyn Kernel<T>> {
    [
        comet_kernels::comet(),     // The message kernels of 1993.
        comet_matrix::matrix(),     // The matrix kernels of 1993.
        comet_kernels::naive(),     // Collectives over point-to-point messages, for comparison.
        comet_kernels::parkbench(), // The low-level communication kernels of PARKBENCH.
        comet_kernels::model(),     // What models of the machine follow from.
        comet_kernels::health(),    // What tells ranks and links that stand out.
        comet_kernels::osu(),       // What OSU measures beyond these.
    ]
    .concat()
}

/// Descriptions of all kernels; needs no running transport.
pub(crate) fn infos() -> Vec<&'static KernelInfo> {
    kernels::<Local>().into_iter().map(Kernel::info).collect()
}

/// Names of all suites, in reading order.
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
        assert_eq!(suites, ["comet", "matrix", "naive", "parkbench", "model", "health", "osu"]);
    }

    #[test]
    fn all_is_the_twelve_kernels_of_1993() {
        let infos = infos();
        let n_default = infos.iter().filter(|info| DEFAULT_SUITES.contains(&info.suite)).count();
        assert_eq!(n_default, 12);
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
