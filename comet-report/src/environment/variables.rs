//! Which environment variables are recorded: those that tune communication, and no others.

use std::collections::BTreeMap;

/// Starts of the names that are recorded.
const PREFIXES: &[&str] = &[
    "COMET_",
    "OMPI_MCA_",
    "OPAL_",
    "PMIX_MCA_",
    "PRTE_MCA_",
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

/// Starts of names that launchers set anew for each job, and that tune nothing.
const OF_ONE_JOB: &[&str] = &["OMPI_MCA_ess", "OMPI_MCA_initial_wdir", "OMPI_MCA_orte_"];

/// Parts of names that may hold a secret; these are never recorded.
const SECRETS: &[&str] = &["KEY", "TOKEN", "SECRET", "PASS"];

/// Parts of names whose values tell who the user is.
const PERSONS: &[&str] = &["USER", "LOGNAME", "HOME", "MAIL", "ACCOUNT", "UID", "GID"];

/// Those of `variables` that may be recorded, with `~` for the folder of the user, whose name it
/// holds.
pub(super) fn allowed(
    variables: impl IntoIterator<Item = (String, String)>,
) -> BTreeMap<String, String> {
    let variables: BTreeMap<String, String> = variables.into_iter().collect();
    let home = variables.get("HOME").filter(|home| home.len() > 1).cloned();
    let hide = |value: String| match &home {
        Some(home) => value.replace(home.as_str(), "~"),
        None => value,
    };
    let kept = variables.into_iter().filter(|(name, _)| is_allowed(name));
    kept.map(|(name, value)| (name, hide(value))).collect()
}

fn is_allowed(name: &str) -> bool {
    let is_listed = NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    let upper = name.to_uppercase();
    let is_of_one_job = OF_ONE_JOB.iter().any(|prefix| name.starts_with(prefix));
    let is_private = SECRETS.iter().chain(PERSONS).any(|part| upper.contains(part));
    is_listed && !is_of_one_job && !is_private
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_names_without_secrets_are_kept() {
        for (name, expected) in [
            ("OMPI_MCA_btl", true),
            ("OMPI_MCA_orte_hnp_uri", false),
            ("PMIX_SERVER_URI2", false),
            ("LD_PRELOAD", true),
            ("HOME", false),
            ("SECRET_TOKEN", false),
            ("SLURM_JWT_TOKEN", false),
            ("UCX_api_key", false),
            ("SLURM_JOB_USER", false),
            ("PBS_O_LOGNAME", false),
            ("MY_OMP_THREADS", false),
        ] {
            assert_eq!(is_allowed(name), expected, "{name}");
        }
    }

    #[test]
    fn the_folder_of_the_user_is_not_named() {
        let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let kept = allowed([
            variable("LD_LIBRARY_PATH", "/opt/lib:/users/ada/lib"),
            variable("HOME", "/users/ada"),
        ]);
        assert_eq!(kept, [variable("LD_LIBRARY_PATH", "/opt/lib:~/lib")].into());
    }
}
