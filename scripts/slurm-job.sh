#!/usr/bin/env bash
# A batch job for Slurm, to copy and change: CoMet with one rank on each of two nodes, so that all
# its messages cross the network.
# Usage: sbatch scripts/slurm-job.sh [kernels and options of comet-run]
#SBATCH --job-name=comet
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
# To fill the nodes, ask for as many tasks as a node has cores. More kernels have work then, and
# most messages stay on their node.
#SBATCH --exclusive
#SBATCH --time=00:30:00
#SBATCH --output=comet-%j.log
# A minute before its time is over the run ends in order, with what it has measured.
#SBATCH --signal=INT@60
set -euo pipefail

# Load the modules that comet-run was built with, if your cluster has modules:
# module load openmpi

# The program, relative to the folder in which sbatch was called.
comet_run="${COMET_RUN:-target/openmpi/release/comet-run}"

# How ranks find each other; srun --mpi=list prints what there is. Open MPI wants pmix; MPICH and
# Intel MPI want pmi2; Cray MPICH wants cray_shasta.
mpi="${COMET_SRUN_MPI:-pmix}"

fail() {
    printf 'error: %s\n' "$1" >&2
    exit 1
}

command -v srun >/dev/null ||
    fail "there is no srun here (on a cluster with Slurm: sbatch $0; elsewhere: mpirun -n 4 $comet_run all)"
[[ -n "${SLURM_JOB_ID:-}" ]] || fail "this is no Slurm job (try: sbatch $0)"
[[ -x "$comet_run" ]] || fail "there is no program $comet_run (build it, or set COMET_RUN to its path)"

mkdir -p comet-results
result="comet-results/slurm-$SLURM_JOB_ID.jsonl"
[[ $# -gt 0 ]] || set -- all

# One rank to a core, and no rank waits for one that was lost.
srun --mpi="$mpi" --cpu-bind=cores --kill-on-bad-exit=1 \
    "$comet_run" "$@" --out "$result" --label "job=$SLURM_JOB_ID"
printf 'the results are in %s\n' "$result"
