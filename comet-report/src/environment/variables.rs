//! The environment variables that are recorded: those that tune communication or describe the size
//! and placement of the job, and no others.
//!
//! A prefix stands for a family that only tunes. A batch system also leaves names, folders and
//! tokens, so of its variables only listed ones are recorded.

use std::collections::BTreeMap;

/// Starts of the names that are recorded, with blanks between them.
const PREFIXES: &str = "\
    COMET_ OMPI_MCA_ OPAL_ PMIX_MCA_ PRTE_MCA_ MPICH_ MPIR_CVAR_ MPIEXEC_ HYDRA_ I_MPI_ MV2_ FI_ \
    UCX_ PSM2_ NCCL_ OMP_ GOMP_ KMP_ MALLOC_";

/// Whole names that are recorded, with blanks between them.
const NAMES: &str = "\
    LD_PRELOAD LD_LIBRARY_PATH SLURM_CLUSTER_NAME SLURM_CPU_BIND SLURM_CPU_BIND_TYPE \
    SLURM_CPU_FREQ_REQ SLURM_CPUS_ON_NODE SLURM_CPUS_PER_TASK SLURM_DISTRIBUTION SLURM_HINT \
    SLURM_JOB_CPUS_PER_NODE SLURM_JOB_ID SLURM_JOB_NODELIST SLURM_JOB_NUM_NODES \
    SLURM_JOB_PARTITION SLURM_MEM_BIND SLURM_MEM_PER_CPU SLURM_MEM_PER_NODE SLURM_MPI_TYPE \
    SLURM_NNODES SLURM_NODELIST SLURM_NPROCS SLURM_NTASKS SLURM_NTASKS_PER_CORE \
    SLURM_NTASKS_PER_NODE SLURM_NTASKS_PER_SOCKET SLURM_STEP_ID SLURM_STEP_NODELIST \
    SLURM_STEP_NUM_NODES SLURM_STEP_NUM_TASKS SLURM_STEP_TASKS_PER_NODE SLURM_TASKS_PER_NODE \
    SLURM_THREADS_PER_CORE SLURM_TOPOLOGY_ADDR PBS_JOBID PBS_NCPUS PBS_NODENUM PBS_NP \
    PBS_NUM_NODES PBS_NUM_PPN PBS_QUEUE LSB_AFFINITY_HOSTFILE LSB_BIND_CPU_LIST LSB_DJOB_NUMPROC \
    LSB_HOSTS LSB_JOBID LSB_MAX_NUM_PROCESSORS LSB_MCPU_HOSTS LSB_QUEUE";

/// Starts of names that launchers set anew for each job, and that tune nothing.
const OF_ONE_JOB: &[&str] = &["OMPI_MCA_ess", "OMPI_MCA_initial_wdir", "OMPI_MCA_orte_"];

/// Parts of names whose values are command lines or other variables, in which anything may stand.
const OPEN: &[&str] = &["AGENT", "ARGS", "ENV", "_EXEC", "RSH"];

/// Parts of names that may hold a secret; these are never recorded.
const SECRETS: &[&str] =
    &["AUTH", "CERT", "COOKIE", "CRED", "JWT", "KEY", "PASS", "SECRET", "TICKET", "TOKEN"];

/// Parts of names whose values tell who the user is.
const PERSONS: &[&str] = &["USER", "LOGNAME", "HOME", "MAIL", "ACCOUNT", "UID", "GID"];

/// Variables that may be recorded, with `~` for the user's folder, whose name it holds.
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
    NAMES.split(' ').any(|listed| listed == name) || is_tuning(name)
}

/// True for a name of a family that tunes, and nothing else.
fn is_tuning(name: &str) -> bool {
    let upper = name.to_uppercase();
    let is_private =
        [SECRETS, PERSONS, OPEN].iter().any(|parts| parts.iter().any(|part| upper.contains(part)));
    let is_of_family = PREFIXES.split(' ').any(|start| name.starts_with(start));
    is_of_family && !OF_ONE_JOB.iter().any(|start| name.starts_with(start)) && !is_private
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_names_without_secrets_are_kept() {
        let kept = "\
            OMPI_MCA_btl LD_PRELOAD SLURM_NTASKS SLURM_CPUS_PER_TASK PBS_NP LSB_MCPU_HOSTS \
            OMPI_MCA_btl_tcp_if_include OMPI_MCA_coll_tuned_use_dynamic_rules I_MPI_PIN_DOMAIN \
            UCX_TLS MPIEXEC_TIMEOUT";
        let dropped = "\
            OMPI_MCA_orte_hnp_uri PMIX_SERVER_URI2 HOME SECRET_TOKEN SLURM_JWT SLURM_JOB_NAME \
            SLURM_SUBMIT_DIR SLURM_WORKING_CLUSTER PBS_JOBCOOKIE LSB_JOBNAME \
            OMPI_MCA_plm_rsh_args OMPI_MCA_plm_rsh_agent OMPI_MCA_mca_base_env_list \
            I_MPI_HYDRA_ENV FI_OPX_UUID NCCL_AUTH COMET_JWT KMP_CREDENTIALS UCX_api_key \
            SLURM_JOB_USER PBS_O_LOGNAME MY_OMP_THREADS";
        for (names, expected) in [(kept, true), (dropped, false)] {
            names.split(' ').for_each(|name| assert_eq!(is_allowed(name), expected, "{name}"));
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
