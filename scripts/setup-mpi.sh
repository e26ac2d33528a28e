#!/usr/bin/env bash
# Installs what CoMet's MPI backend is built and tested with: Open MPI, MPICH, libclang, a C compiler
# and pgrep.
# Usage: scripts/setup-mpi.sh [slurm]     with Slurm and network tools, for scripts/cluster.sh, too
# For Debian and Ubuntu; packages that are there already are left as they are.
set -euo pipefail

# libc6-dev is only recommended by gcc, and both the compiler and libclang need its headers.
packages=(openmpi-bin libopenmpi-dev mpich libmpich-dev libclang-dev gcc libc6-dev procps)

fail() {
    printf 'error: %s\n' "$1" >&2
    exit 1
}

is_installed() {
    [[ "$(dpkg-query --show --showformat '${db:Status-Status}' "$1" 2>/dev/null)" == installed ]]
}

as_root() {
    if [[ $EUID -eq 0 ]]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        fail "installing ${missing[*]} needs root or sudo; ask for these packages, or use the MPI of your cluster"
    fi
}

apt() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get --quiet --option DPkg::Lock::Timeout=300 "$@"
}

case "$*" in
"") ;;
slurm) packages+=(slurmctld slurmd slurm-client munge iproute2 util-linux) ;;
*)
    printf 'usage: scripts/setup-mpi.sh [slurm]\n' >&2
    exit 2
    ;;
esac

command -v apt-get >/dev/null ||
    fail "this script needs apt-get; install an MPI with its C compiler wrapper (mpicc) and launcher (mpirun), libclang and a C compiler by other means"

missing=()
for package in "${packages[@]}"; do
    is_installed "$package" || missing+=("$package")
done

if [[ ${#missing[@]} -eq 0 ]]; then
    printf 'all packages are installed: %s\n' "${packages[*]}"
else
    printf 'installing %s\n' "${missing[*]}"
    apt update || fail "apt-get update failed, so ${missing[*]} cannot be installed (is there a network?)"
    apt install --yes --no-install-recommends "${missing[@]}" ||
        fail "apt-get could not install ${missing[*]} (see above)"
fi

for tool in {mpicc,mpirun}.{openmpi,mpich}; do
    command -v "$tool" >/dev/null || fail "$tool is not there although its package is installed"
done
mpirun.openmpi --version | sed -n 1p
mpirun.mpich --version | sed -n 's/ *Version: */MPICH /p'
