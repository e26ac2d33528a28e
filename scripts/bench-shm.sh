#!/usr/bin/env bash
# comet-run over shared memory beside plain C over each MPI of this machine, and the bare machine.
# Usage: scripts/bench-shm.sh [--pairs N] [GROUP]...
#   --pairs N  pairs of launches, even and at least 10 (default: 10)
#   GROUP      limits: the bare machine; pair: all kernels on two ranks; crowd: short collectives on
#              4, 8, 16 and 64 ranks, over Open MPI (default: all of them)
# MPIs are found as mpicc.openmpi, mpicc.mpich or mpicc. The verdict `under` means that comet-run is faster.
# Needs cargo, a C compiler, python3 and two cores with nothing else to do: look at the load.
# It is a benchmark and no test: it fails only if something could not run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

CROWDS=(4 8 16 64)

usage() {
    sed -n '3,8s/^# //p' "${BASH_SOURCE[0]}" >&2
    exit 2
}

limits() {
    local scratch
    scratch=$(mktemp -d)
    cc -O3 -std=c11 -Wall -Wextra -o "$scratch/limits" scripts/limits.c
    "$scratch/limits"
    rm -r "$scratch"
}

beside_c() { # MPI RANKS
    printf '\n== %s ranks: comet-run over shared memory beside C over %s\n' "$2" "$1"
    scripts/bench-mpi-fidelity.sh "$1" --transport shm --ranks "$2" --pairs "$pairs"
}

pairs=10 groups=()
while [[ $# -gt 0 ]]; do
    case $1 in
        --pairs)
            [[ $# -ge 2 ]] || usage
            pairs=$2
            shift
            ;;
        limits | pair | crowd) groups+=("$1") ;;
        *) usage ;;
    esac
    shift
done
[[ ${#groups[@]} -gt 0 ]] || groups=(limits pair crowd)

mpis=()
for mpi in openmpi mpich; do
    ! command -v "mpicc.$mpi" >/dev/null || mpis+=("$mpi")
done
[[ ${#mpis[@]} -gt 0 ]] || mpis=(mpicc)

for group in "${groups[@]}"; do
    case $group in
        limits) limits ;;
        pair) for mpi in "${mpis[@]}"; do beside_c "$mpi" 2; done ;;
        crowd)
            if [[ ${mpis[0]} = mpich ]]; then
                printf 'no crowds: ranks that outnumber the CPUs need Open MPI\n'
                continue
            fi
            for ranks in "${CROWDS[@]}"; do beside_c "${mpis[0]}" "$ranks"; done
            ;;
    esac
done
