//! Which environment variables are recorded: those that tune communication, and no others.

use std::collections::BTreeMap;

/// Starts of the names that are recorded.
const PREFIXES: &[&str] = &[
    "COMET_",
    "OMPI_",
    "OPAL_",
    "PMIX_",
    "PRTE_",
    "MPICH_",
    "MPIR_CVAR_",
    "MPIEXEC_",
    "HYDRA_",
    "I_MPI_",
    "MV2_",
    "FI_",
    "UCX_",
    "PSM2_",
    "NCCL_",
    "SLURM_",
    "PBS_",
    "LSB_",
    "OMP_",
    "GOMP_",
    "KMP_",
    "MALLOC_",
];

/// Whole names that are recorded.
const NAMES: &[&str] = &["LD_PRELOAD", "LD_LIBRARY_PATH"];

/// Parts of names that may hold a secret; these are never recorded.
const SECRETS: &[&str] = &["KEY", "TOKEN", "SECRET", "PASS"];

/// Those of `variables` that may be recorded.
pub(super) fn allowed(
    variables: impl IntoIterator<Item = (String, String)>,
) -> BTreeMap<String, String> {
    variables.into_iter().filter(|(name, _)| is_allowed(name)).collect()
}

fn is_allowed(name: &str) -> bool {
    let is_listed = NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    let upper = name.to_uppercase();
    is_listed && !SECRETS.iter().any(|secret| upper.contains(secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_names_without_secrets_are_kept() {
        for (name, expected) in [
            ("OMPI_MCA_btl", true),
            ("LD_PRELOAD", true),
            ("HOME", false),
            ("SECRET_TOKEN", false),
            ("SLURM_JWT_TOKEN", false),
            ("UCX_api_key", false),
            ("MY_OMP_THREADS", false),
        ] {
            assert_eq!(is_allowed(name), expected, "{name}");
        }
    }
}
