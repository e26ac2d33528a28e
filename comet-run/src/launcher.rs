//! Detection of the program outside that started this process as one of several (mpirun, srun),
//! from the environment, before anything is joined.
//!
//! It decides who speaks and which backend fits; the ranks and their number are those that the
//! backend finds when it joins them.

/// The launcher of this process, and which of its processes this one is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Launcher {
    /// Common name.
    pub(crate) name: &'static str,
    /// Number of this process among those that it started.
    pub(crate) rank: usize,
    /// Number of processes that it started, if it reports it.
    pub(crate) size: Option<usize>,
}

/// Variables that give a launcher away.
#[derive(Debug)]
struct Traces {
    name: &'static str,
    rank: &'static str,
    size: Option<&'static str>,
    /// A variable that must be there too.
    beside: Option<&'static str>,
}

/// Slurm's own launcher.
const SRUN: &str = "Slurm's srun";

/// Environment variables of each launcher; the first match counts.
///
/// Launchers nest: Open MPI's mpirun and Hydra have Slurm start a daemon on each node, whose
/// variables their processes inherit, so theirs come before those of batch systems. What stands
/// beside `PMI_RANK` tells which of those that speak it this is.
const LAUNCHERS: &[Traces] = &[
    traces("Open MPI's mpirun", "OMPI_COMM_WORLD_RANK", Some("OMPI_COMM_WORLD_SIZE"), None),
    traces("Hydra's mpiexec", "PMI_RANK", Some("PMI_SIZE"), Some("HYDI_CONTROL_FD")),
    traces("HPE PALS", "PMI_RANK", Some("PMI_SIZE"), Some("PALS_RANKID")),
    traces("Flux", "PMI_RANK", Some("PMI_SIZE"), Some("FLUX_TASK_RANK")),
    traces(SRUN, "PMI_RANK", Some("PMI_SIZE"), Some("SLURM_STEP_ID")),
    traces("Hydra's mpiexec", "PMI_RANK", Some("PMI_SIZE"), None),
    traces("MVAPICH's mpirun_rsh", "MV2_COMM_WORLD_RANK", Some("MV2_COMM_WORLD_SIZE"), None),
    traces("HPE PALS", "PALS_RANKID", None, None),
    traces("Flux", "FLUX_TASK_RANK", Some("FLUX_JOB_SIZE"), None),
    traces("jsrun", "JSM_NAMESPACE_RANK", Some("JSM_NAMESPACE_SIZE"), None),
    // The script of a batch job has a SLURM_PROCID too, but is no step.
    traces(SRUN, "SLURM_PROCID", Some("SLURM_STEP_NUM_TASKS"), Some("SLURM_STEP_ID")),
    traces("a PMIx launcher", "PMIX_RANK", None, None),
];

/// A line of [`LAUNCHERS`].
const fn traces(
    name: &'static str,
    rank: &'static str,
    size: Option<&'static str>,
    beside: Option<&'static str>,
) -> Traces {
    Traces { name, rank, size, beside }
}

impl Launcher {
    /// The launcher of this process, if one started it.
    pub(crate) fn of_this_process() -> Option<Self> {
        Self::find(&|name| std::env::var(name).ok())
    }

    /// The launcher of a process whose environment variables `lookup` knows.
    fn find(lookup: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        let found = LAUNCHERS.iter().find_map(|traces| traces.read(lookup));
        // A shell of one's own in a job (srun --pty bash) is a step of one task, and no launch.
        found.filter(|launcher| launcher.name != SRUN || launcher.may_have_started_several())
    }

    /// True unless the launcher reports that it started this process alone.
    pub(crate) fn may_have_started_several(&self) -> bool {
        self.size != Some(1)
    }

    /// Noun for the started processes: `4 processes`, or `processes` if their number is unknown.
    pub(crate) fn processes(&self) -> String {
        self.size.map_or_else(|| "processes".into(), |size| format!("{size} processes"))
    }
}

impl Traces {
    fn read(&self, lookup: &dyn Fn(&str) -> Option<String>) -> Option<Launcher> {
        if self.beside.is_some_and(|name| lookup(name).is_none()) {
            return None;
        }
        let rank = lookup(self.rank)?.parse().ok()?;
        let size = match self.size.and_then(lookup) {
            Some(text) => Some(text.parse().ok()?),
            None => None,
        };
        // A part of a larger job counts itself, but numbers its processes within the whole.
        let size = size.filter(|size| rank < *size);
        Some(Launcher { name: self.name, rank, size })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Launcher found in an environment of `NAME=VALUE` words.
    fn find(environment: &str) -> Option<Launcher> {
        let value = |name: &str| {
            let variables = environment.split_whitespace().filter_map(|word| word.split_once('='));
            let mut values = variables.filter(|(other, _)| *other == name);
            values.next().map(|(_, value)| value.to_owned())
        };
        Launcher::find(&value)
    }

    fn check(environment: &str, name: &'static str, rank: usize, size: Option<usize>) {
        assert_eq!(find(environment), Some(Launcher { name, rank, size }), "{environment}");
    }

    fn check_none(environment: &str) {
        assert_eq!(find(environment), None, "{environment}");
    }

    #[test]
    fn launchers_are_known_by_what_they_leave_in_the_environment() {
        let ompi = "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4";
        check(ompi, "Open MPI's mpirun", 1, Some(4));
        check("PMI_RANK=3 PMI_SIZE=8 HYDI_CONTROL_FD=7", "Hydra's mpiexec", 3, Some(8));
        check("PMI_RANK=3 PMI_SIZE=8", "Hydra's mpiexec", 3, Some(8));
        let mvapich = "MV2_COMM_WORLD_RANK=1 MV2_COMM_WORLD_SIZE=2";
        check(mvapich, "MVAPICH's mpirun_rsh", 1, Some(2));
        check("PALS_RANKID=2", "HPE PALS", 2, None);
        check("FLUX_TASK_RANK=0 FLUX_JOB_SIZE=2", "Flux", 0, Some(2));
        check("JSM_NAMESPACE_RANK=5 JSM_NAMESPACE_SIZE=6", "jsrun", 5, Some(6));
        let slurm = "SLURM_STEP_ID=0 SLURM_PROCID=2 SLURM_STEP_NUM_TASKS=4";
        check(slurm, "Slurm's srun", 2, Some(4));
        check("PMIX_RANK=1 PMIX_NAMESPACE=x", "a PMIx launcher", 1, None);
    }

    #[test]
    fn the_innermost_launcher_counts() {
        let batch = "SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2";
        let hydra = "PMI_RANK=5 PMI_SIZE=8 HYDI_CONTROL_FD=7";
        check(&format!("{batch} {hydra}"), "Hydra's mpiexec", 5, Some(8));
        let ompi = "OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 PMIX_RANK=3";
        check(&format!("{batch} {ompi}"), "Open MPI's mpirun", 3, Some(4));
    }

    #[test]
    fn srun_and_others_that_speak_pmi_are_told_apart() {
        let srun = "SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 PMI_RANK=1 PMI_SIZE=2";
        check(srun, "Slurm's srun", 1, Some(2));
        check("PMI_RANK=1 PMI_SIZE=2 FLUX_TASK_RANK=1 FLUX_JOB_SIZE=2", "Flux", 1, Some(2));
        check("PMI_RANK=1 PMI_SIZE=2 PALS_RANKID=1", "HPE PALS", 1, Some(2));
    }

    #[test]
    fn a_batch_script_and_a_login_shell_have_no_launcher() {
        check_none("");
        check_none("SLURM_JOB_ID=7 SLURM_PROCID=0 SLURM_NTASKS=8");
        check_none("SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 SLURM_NTASKS=8");
        check_none("SLURM_STEP_ID=0 SLURM_PROCID=0 PMI_RANK=0 PMI_SIZE=1");
        check_none("OMPI_COMM_WORLD_SIZE=4");
        check_none("OMPI_MCA_btl=self PMIX_VERSION=4.2.2");
    }

    #[test]
    fn values_that_are_no_numbers_are_no_launcher() {
        check_none("OMPI_COMM_WORLD_RANK=first OMPI_COMM_WORLD_SIZE=4");
        check_none("OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=many");
        check_none("PMI_RANK=-1 PMI_SIZE=2");
        check_none("PMIX_RANK=");
    }

    #[test]
    fn a_size_that_does_not_hold_the_rank_is_that_of_a_part() {
        let part = "SLURM_STEP_ID=0 SLURM_PROCID=6 SLURM_STEP_NUM_TASKS=4";
        check(part, "Slurm's srun", 6, None);
        check("OMPI_COMM_WORLD_RANK=0", "Open MPI's mpirun", 0, None);
    }

    #[test]
    fn only_a_launcher_that_says_so_started_one_process() {
        let several = |environment| find(environment).is_some_and(|l| l.may_have_started_several());
        assert!(!several("PMI_RANK=0 PMI_SIZE=1"));
        assert!(several("PMI_RANK=0 PMI_SIZE=2") && several("PMIX_RANK=0"));
    }
}
