//! Detection of the program outside that started this process as one of several (mpirun, srun),
//! from the environment, before anything is joined.
//!
//! It decides which process prints and which backend fits; the ranks and their number are those that the
//! backend finds when it joins them.

use comet_core::words::count;

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

/// Slurm's own launcher.
const SRUN: &str = "Slurm's srun";

/// Name of each launcher, and its environment variables: that with the rank, that with the number of
/// processes, and one that must be there too. The first match counts.
///
/// Launchers nest: Open MPI's mpirun and Hydra have Slurm start a daemon on each node, whose
/// variables their processes inherit, so theirs come before those of batch systems. The variable
/// beside `PMI_RANK` distinguishes the launchers that set it.
const LAUNCHERS: &[[&str; 4]] = &[
    ["Open MPI's mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", ""],
    ["Hydra's mpiexec", "PMI_RANK", "PMI_SIZE", "HYDI_CONTROL_FD"],
    ["HPE PALS", "PMI_RANK", "PMI_SIZE", "PALS_RANKID"],
    ["Flux", "PMI_RANK", "PMI_SIZE", "FLUX_TASK_RANK"],
    [SRUN, "PMI_RANK", "PMI_SIZE", "SLURM_STEP_ID"],
    ["Hydra's mpiexec", "PMI_RANK", "PMI_SIZE", ""],
    ["MVAPICH's mpirun_rsh", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", ""],
    ["HPE PALS", "PALS_RANKID", "", ""],
    ["Flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", ""],
    ["jsrun", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", ""],
    // The script of a batch job has a SLURM_PROCID too, but is no step.
    [SRUN, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_ID"],
    ["a PMIx launcher", "PMIX_RANK", "", ""],
];

impl Launcher {
    /// The launcher of this process, if one started it.
    pub(crate) fn of_this_process() -> Option<Self> {
        Self::find(&|name| std::env::var(name).ok())
    }

    /// The launcher of a process whose environment variables `lookup` knows.
    fn find(lookup: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        let found = LAUNCHERS.iter().find_map(|traces| Self::read(traces, lookup));
        // A shell of one's own in a job (srun --pty bash) is a step of one task, and no launch.
        found.filter(|launcher| launcher.name != SRUN || launcher.may_have_started_several())
    }

    /// True unless the launcher reports that it started this process alone.
    pub(crate) fn may_have_started_several(&self) -> bool {
        self.size != Some(1)
    }

    /// Noun for the started processes: `4 processes`, or `processes` if their number is unknown.
    pub(crate) fn processes(&self) -> String {
        self.size.map_or_else(|| "processes".into(), |size| count(size, "process"))
    }

    fn read(
        [name, rank, size, beside]: &[&'static str; 4],
        lookup: &dyn Fn(&str) -> Option<String>,
    ) -> Option<Self> {
        if !beside.is_empty() && lookup(beside).is_none() {
            return None;
        }
        let rank = lookup(rank)?.parse().ok()?;
        let size: Option<usize> = match lookup(size) {
            Some(text) => Some(text.parse().ok()?),
            None => None,
        };
        // A part of a larger job counts itself, but numbers its processes within the whole.
        let size = size.filter(|size| rank < *size);
        Some(Self { name, rank, size })
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

    #[test]
    fn launchers_are_known_by_what_they_leave_in_the_environment() {
        let srun = "SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2";
        for (environment, name, rank, size) in [
            ("OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4", "Open MPI's mpirun", 1, Some(4)),
            ("PMI_RANK=3 PMI_SIZE=8 HYDI_CONTROL_FD=7", "Hydra's mpiexec", 3, Some(8)),
            ("PMI_RANK=3 PMI_SIZE=8", "Hydra's mpiexec", 3, Some(8)),
            ("MV2_COMM_WORLD_RANK=1 MV2_COMM_WORLD_SIZE=2", "MVAPICH's mpirun_rsh", 1, Some(2)),
            ("PALS_RANKID=2", "HPE PALS", 2, None),
            ("PMI_RANK=1 PMI_SIZE=2 PALS_RANKID=1", "HPE PALS", 1, Some(2)),
            ("FLUX_TASK_RANK=0 FLUX_JOB_SIZE=2", "Flux", 0, Some(2)),
            ("PMI_RANK=1 PMI_SIZE=2 FLUX_TASK_RANK=1 FLUX_JOB_SIZE=2", "Flux", 1, Some(2)),
            ("JSM_NAMESPACE_RANK=5 JSM_NAMESPACE_SIZE=6", "jsrun", 5, Some(6)),
            ("PMIX_RANK=1 PMIX_NAMESPACE=x", "a PMIx launcher", 1, None),
            (srun, SRUN, 1, Some(2)),
            (&format!("{srun} PMI_RANK=1 PMI_SIZE=2"), SRUN, 1, Some(2)),
            // The innermost launcher counts.
            (
                &format!("{srun} PMI_RANK=5 PMI_SIZE=8 HYDI_CONTROL_FD=7"),
                "Hydra's mpiexec",
                5,
                Some(8),
            ),
            (
                &format!("{srun} OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 PMIX_RANK=3"),
                "Open MPI's mpirun",
                3,
                Some(4),
            ),
            // A size that does not hold the rank is that of a part.
            ("SLURM_STEP_ID=0 SLURM_PROCID=6 SLURM_STEP_NUM_TASKS=4", SRUN, 6, None),
            ("OMPI_COMM_WORLD_RANK=0", "Open MPI's mpirun", 0, None),
        ] {
            assert_eq!(find(environment), Some(Launcher { name, rank, size }), "{environment}");
        }
    }

    #[test]
    fn shells_batch_scripts_and_values_that_are_no_numbers_have_no_launcher() {
        for environment in [
            "",
            "SLURM_JOB_ID=7 SLURM_PROCID=0 SLURM_NTASKS=8",
            "SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 SLURM_NTASKS=8",
            "SLURM_STEP_ID=0 SLURM_PROCID=0 PMI_RANK=0 PMI_SIZE=1",
            "OMPI_COMM_WORLD_SIZE=4",
            "OMPI_MCA_btl=self PMIX_VERSION=4.2.2",
            "OMPI_COMM_WORLD_RANK=first OMPI_COMM_WORLD_SIZE=4",
            "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=many",
            "PMI_RANK=-1 PMI_SIZE=2",
            "PMIX_RANK=",
        ] {
            assert_eq!(find(environment), None, "{environment}");
        }
    }

    #[test]
    fn only_a_launcher_that_says_so_started_one_process() {
        let several = |environment| find(environment).is_some_and(|l| l.may_have_started_several());
        assert!(!several("PMI_RANK=0 PMI_SIZE=1"));
        assert!(several("PMI_RANK=0 PMI_SIZE=2") && several("PMIX_RANK=0"));
    }
}
