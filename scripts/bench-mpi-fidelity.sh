#!/usr/bin/env bash
# The time that CoMet adds to MPI: the kernels of comet-run beside plain C over the same library,
# and beside the programs of IMB and OSU where COMET_PEERS names a folder with them.
# Usage: scripts/bench-mpi-fidelity.sh [openmpi|mpich|...] [--transport mpi|shm] [--ranks N]
#                                      [--pairs N] [--control]
#   openmpi ...  the MPI, by the ending of mpicc.openmpi and mpiexec.openmpi (default: openmpi);
#                where there are no such commands, mpicc and mpiexec are taken
#   --transport  what comet-run sends over (default: mpi); shm is for scripts/bench-shm.sh, and C
#                stays over MPI
#   --ranks N    ranks of a launch (default: 2); of more than 2, collectives of 8 bytes are compared
#   --pairs N    pairs of launches, even and at least 10 (default: 20)
#   --control    hold the C program, and each of the others, against itself: the noise of the machine
# COMET_PEERS=DIR: IMB-MPI1, osu_latency and osu_barrier of this MPI, anywhere below DIR
# Needs a C compiler, python3 and two cores with nothing else to do: look at the load in the head.
# It is a benchmark and no test: it fails only if something could not run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# A guest gets its processors where they stay only some tenths of a second after it is busy. So a
# broadcast comes first (in comet-run of another suite, for it takes no kernel twice), and what is
# measured a second time counts then.
WARM_UP=broadcast
KERNELS=(broadcast reduction barrier exchange echo)
SIZES=(0 8 64 1024 4096 65536 1048576)
VECTOR_LENGTHS=(1 8 128 512 8192 131072)
# Benchmarks and lengths for the programs of COMET_PEERS.
IMB=(PingPong Barrier -msglog 3:20)
OSU_LENGTHS=8:1048576
PEERS=()
SAMPLES=100
REPETITIONS=20
# Documented by Open MPI for containers, where everything runs as root.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

usage() {
    sed -n '4,13s/^# //p' "${BASH_SOURCE[0]}" >&2
    exit 2
}

# The command $1 of the MPI at hand.
tool() {
    command -v "$1.$mpi" || command -v "$1" || {
        printf 'found neither %s.%s nor %s (install them: scripts/setup-mpi.sh)\n' "$1" "$mpi" "$1" >&2
        return 1
    }
}

build() {
    "$mpicc" -O3 -std=c11 -Wall -Wextra -o "$scratch/mpi-fidelity" scripts/mpi-fidelity.c
    case $control$transport in
        mpi) MPICC=$mpicc cargo build --release --locked -p comet-run --features mpi --target-dir "$target" ;;
        shm) cargo build --release --locked -p comet-run --target-dir "$target" ;;
    esac
}

# The cases in the order in which comet-run takes them.
cases() {
    local kernel
    for kernel in "$WARM_UP" "${KERNELS[@]}"; do
        case $kernel in
            barrier) printf '%s:0\n' "$kernel" ;;
            reduction) printf "$kernel:%s\n" "${VECTOR_LENGTHS[@]}" ;;
            *) printf "$kernel:%s\n" "${SIZES[@]}" ;;
        esac
    done
}

# Runs a program over MPI, each rank on a core of its own where there is one.
launch() {
    timeout 300 "$mpiexec" -n "$ranks" "${options[@]}" "$@" </dev/null
}

launch_options() {
    if [[ $ranks -le $(nproc) ]]; then
        echo '--bind-to core'
    elif "$mpiexec" --version 2>/dev/null | grep -qi 'open'; then
        echo '--oversubscribe --bind-to none --mca mpi_yield_when_idle 1'
    else
        printf '%s ranks are more than %s CPUs, and only Open MPI gives them up (use openmpi)\n' \
            "$ranks" "$(nproc)" >&2
        return 1
    fi
}

launch_c() {
    launch "$scratch/mpi-fidelity" "$SAMPLES" "$REPETITIONS" "${CASES[@]}"
}

launch_comet() {
    local IFS=, record=$scratch/record.jsonl
    local command=("$target/release/comet-run" "naive/$WARM_UP" "${KERNELS[@]}" --transport "$transport"
        --sizes "${SIZES[*]}" --vector-lengths "${VECTOR_LENGTHS[*]}" --samples "$SAMPLES"
        --repetitions "$REPETITIONS" --quiet --format none --out "$record")
    [[ $ranks -gt 2 ]] || command+=(--hops 1)
    rm -f "$record"
    case $transport in
        mpi) launch "${command[@]}" ;;
        shm) timeout 300 "${command[@]}" --ranks "$ranks" ;;
    esac
    "$target/release/comet-run" show "$record" --format csv
}

# Prints what each program of COMET_PEERS prints, below a line with its name.
launch_peers() {
    launch_each peer_of
}

# The same from comet-run under their names.
launch_namesakes() {
    launch_each namesake_of
}

# COMMAND_OF prints the words of a command, one a line.
launch_each() { # COMMAND_OF
    local name command
    for name in "${PEERS[@]}"; do
        printf '#program %s\n' "$name"
        mapfile -t command < <("$1" "$name")
        case $name in
            IMB-MPI1) launch "${command[@]}" "${IMB[@]}" ;;
            osu_barrier) launch "${command[@]}" ;;
            *) launch "${command[@]}" -m "$OSU_LENGTHS" ;;
        esac
    done
}

peer_of() { # PROGRAM
    find -L "${COMET_PEERS:-/nonexistent}" -name "$1" -type f -perm -u+x 2>/dev/null | head -n 1
}

namesake_of() { # PROGRAM
    printf '%s\n' "$target/release/comet-run" "$1" --transport=mpi --quiet --out=none
}

find_peers() {
    local name
    for name in IMB-MPI1 osu_latency osu_barrier; do
        [[ -z $(peer_of "$name") ]] || PEERS+=("$name")
    done
    [[ -z ${COMET_PEERS:-} || ${#PEERS[@]} -gt 0 ]] || {
        printf 'found no IMB-MPI1, osu_latency or osu_barrier below %s (build them there)\n' "$COMET_PEERS" >&2
        return 1
    }
}

# Launches A B B A again and again, so that no drift of the machine favours a side.
launch_all() { # A B ENDING
    local n=100 side
    while [[ $n -lt $((100 + 2 * pairs)) ]]; do
        for side in "$1" "$2" "$2" "$1"; do
            progress $((n - 99))
            [[ -z $control ]] || side=$1
            "launch_$side" >"$scratch/$n-$side.$3"
            n=$((n + 1))
        done
    done
}

progress() {
    [[ ! -t 2 ]] || printf '\r%3d of %d launches ' "$1" $((2 * pairs)) >&2
}

head_of_report() {
    printf 'machine   %s, %s CPUs, Linux %s\n' \
        "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$(uname -r)"
    printf 'load      %s (1, 5, 15 min) before the start\n' "$load"
    printf 'MPI       %s\n' "$(launch "$scratch/mpi-fidelity" 1 1 barrier:0 | sed -n 's/^# //p')"
    printf 'launcher  %s -n %s %s\n' "$mpiexec" "$ranks" "${options[*]}"
    printf 'comet     over %s\n' "$transport"
    printf 'effort    %s pairs of launches, %s samples of %s operations\n' "$pairs" "$SAMPLES" "$REPETITIONS"
}

mpi=openmpi pairs=20 control='' transport=mpi ranks=2
while [[ $# -gt 0 ]]; do
    case $1 in
        --pairs | --ranks | --transport)
            [[ $# -ge 2 ]] || usage
            declare "${1#--}=$2"
            shift
            ;;
        --control) control=c ;;
        -*) usage ;;
        *) mpi=$1 ;;
    esac
    shift
done
[[ $pairs =~ ^[1-9][0-9]+$ && $((pairs % 2)) -eq 0 ]] || usage
[[ $ranks =~ ^([2-9]|[1-9][0-9]+)$ && $transport =~ ^(mpi|shm)$ ]] || usage
if [[ $ranks -gt 2 ]]; then
    KERNELS=(broadcast reduction barrier) SIZES=(8) VECTOR_LENGTHS=(1)
fi

mpicc=$(tool mpicc)
mpiexec=$(tool mpiexec)
target=target/$mpi
[[ $transport = mpi ]] || target=${CARGO_TARGET_DIR:-target}
how=$(launch_options)
read -r -a options <<<"$how"
load=$(cut -d ' ' -f 1-3 /proc/loadavg)
mapfile -t CASES < <(cases)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

[[ $ranks$transport != 2mpi ]] || find_peers
build
head_of_report
launch_all c comet csv
python3 scripts/mpi_fidelity.py "$scratch"/*.csv
[[ ${#PEERS[@]} -eq 0 ]] || {
    launch_all peers namesakes txt
    python3 scripts/mpi_fidelity.py "$scratch"/*.txt
}
