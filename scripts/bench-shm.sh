#!/usr/bin/env bash
# How fast comet-shm is beside each MPI of this machine, and beside what the machine can do at all.
# Usage: scripts/bench-shm.sh [--rounds N] [--seconds N] [--line NS] [--keep FILE] [GROUP]...
#   --rounds N   launches of each program with two ranks (default: 5); crowds have a third of them
#   --seconds N  the most that one launch may take (default: 20)
#   --line NS    what a cache line usually takes from core to core (default: it is measured)
#   --keep FILE  where to leave all values
#   GROUP        small large collective: on two ranks; crowd: on 4 to 64; over: CoMet over each MPI;
#                limits: the bare machine (default: all of them)
# MPIs are found as mpicc.openmpi, mpicc.mpich or mpicc on PATH, and in the folders of COMET_MPIS, as in
# COMET_MPIS=/opt/openmpi:/opt/mpich, each with bin/mpicc and bin/mpiexec.
# Needs cargo, a C compiler, python3 and two cores with nothing else to do: look at the load.
# It is a benchmark and no test: it fails only if something could not be built. A launch that fails is
# told and left out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

SMALL=(latency:{0,8,48,64,1024,4096} stream:8)
LARGE=(latency:{16384,65536,262144,1048576,4194304} latency_in_place:{16384,65536,1048576,4194304})
PRIVATE=({latency,latency_in_place}:{16384,65536,1048576,4194304})
LONG_COLLECTIVE=({sum,broadcast,broadcast_and_barrier}:1048576)
COLLECTIVE=(barrier:0 {sum,broadcast,broadcast_and_barrier}:8 "${LONG_COLLECTIVE[@]}")
CROWD=(latency:8 barrier:0 {sum,broadcast,broadcast_and_barrier}:8)
OVER=(latency:{0,8,64,1024,65536,1048576} barrier:0 {sum,broadcast_and_barrier}:8)
CROWDS=(4 8 16 64)
# Two ranks do the same number of operations whatever they take. More do as many as fill a window of
# several turns of the scheduler.
CASE_MS=40
CROWD_WINDOW_US=4000
CROWD_CASE_MS=160
# One round of so many has crowds, and CoMet over MPI.
CROWD_EVERY=3
OVER_EVERY=2
# Documented by Open MPI for containers, where everything runs as root.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

usage() {
    sed -n '3,9s/^# //p' "${BASH_SOURCE[0]}" >&2
    exit 2
}

# ---- what there is, and building it ----

# Compiles the C loops with each mpicc, and names the MPI by what its library calls itself.
find_mpis() {
    local mpicc prefixes=()
    for mpicc in mpicc.openmpi mpicc.mpich; do
        ! command -v "$mpicc" >/dev/null || add_mpi "$mpicc" "${mpicc/cc/exec}"
    done
    [[ ${#mpis[@]} -gt 0 ]] || ! command -v mpicc >/dev/null || add_mpi mpicc mpiexec
    IFS=: read -r -a prefixes <<<"${COMET_MPIS:-}"
    for mpicc in "${prefixes[@]/%//bin/mpicc}"; do
        add_mpi "$mpicc" "${mpicc/%cc/exec}"
    done
}

# Wheels need a run path; Intel's compiler also needs to be told where it lies.
add_mpi() { # MPICC MPIEXEC
    local name root=''
    [[ $1 != */* ]] || root=${1%/bin/*}
    I_MPI_ROOT=$root "$1" -O3 -std=c11 -Wall -Wextra ${root:+-Wl,-rpath,"$root/lib"} \
        -o "$scratch/loops" scripts/bench-shm/loops.c
    name=$(name_of "$("$scratch/loops")")
    mv "$scratch/loops" "$scratch/loops-$name"
    mpis+=("$name")
    mpicc_of[$name]=$1 mpiexec_of[$name]=$2 root_of[$name]=$root
}

# openmpi4 of "Open MPI v4.1.4, ...", mpich5 of "MPICH Version: 5.0.2", intel2021 of Intel's.
name_of() { # VERSION
    sed -nE -e 's/^Open MPI v([0-9]+).*/openmpi\1/p' -e 's/^MPICH Version:\s*([0-9]+).*/mpich\1/p' \
        -e 's/^Intel\(R\) MPI Library ([0-9]+).*/intel\1/p' <<<"$1" | grep . || echo mpi
}

build() {
    local name root
    cc -O3 -std=c11 -Wall -Wextra -o "$scratch/limits" scripts/bench-shm/limits.c
    cargo build --release --locked --package comet-shm --example windows
    find_mpis
    [[ -n ${wanted[over]:-} ]] || return 0
    # Cargo does not rebuild for another mpicc, so each MPI has a target folder of its own.
    for name in "${mpis[@]}"; do
        root=${root_of[$name]}
        I_MPI_ROOT=$root MPICC=${mpicc_of[$name]} RUSTFLAGS=${root:+-Clink-arg=-Wl,-rpath,$root/lib} \
            cargo build --release --locked --package comet-mpi --features link --example windows \
            --target-dir "$target/$name"
    done
}

# ---- launches ----

# Runs the program of a side and keeps what it measured; a launch that fails is told and left out.
measure() { # SIDE RANKS CASE...
    local side=$1 ranks=$2 pace=("$scratch/line" "$line_ns" 0 "$CASE_MS")
    shift 2
    [[ $ranks -eq 2 ]] || pace=(- 0 "$CROWD_WINDOW_US" "$CROWD_CASE_MS")
    rm -f "$scratch/line"
    truncate --size 4096 "$scratch/line"
    progress "round $round of $rounds: $side, $ranks ranks"
    launch "$side" "$ranks" "${pace[@]}" "$@" >"$scratch/output" 2>"$scratch/errors" </dev/null ||
        tell_failure "$side" "$ranks" >&2
    sed -n "s|^[a-z_]* [0-9]* |$side $ranks $round &|p" "$scratch/output" >>"$scratch/results"
}

tell_failure() { # SIDE RANKS
    printf '%s, %s ranks, round %s: failed, or took more than %s s\n' "$1" "$2" "$round" "$seconds"
    tail -n 3 "$scratch/errors"
}

launch() { # SIDE RANKS ARGUMENT...
    local side=$1 ranks=$2
    local name=${side%/*}
    shift 2
    case $side in
        comet) in_time "$comet" "$ranks" "$@" ;;
        private) in_time "$comet" "$ranks" "${@:1:4}" private "${@:5}" ;;
        over-*) launch_mpi "${side#over-}" "$ranks" "$target/${side#over-}/release/examples/windows" "$@" ;;
        *) launch_mpi "$side" "$ranks" "$scratch/loops-$name" "$@" ;;
    esac
}

launch_mpi() { # MPI[/SETTING] RANKS COMMAND...
    local name=${1%/*} options=()
    mapfile -t options < <(options_of "$1")
    I_MPI_ROOT=${root_of[$name]} in_time "${mpiexec_of[$name]}" -n "$2" "${options[@]}" "${@:3}"
}

in_time() {
    timeout --kill-after 5 "$seconds" "$@"
}

# How an MPI is told to bind each rank to a core, or to live with more ranks than cores.
options_of() { # MPI[/SETTING]
    local options=(--bind-to core)
    case $1 in
        openmpi4/free) options=(--oversubscribe --bind-to none) ;;
        openmpi4/bound) options=(--oversubscribe --map-by core --bind-to core:overload-allowed) ;;
        openmpi*/free) options=(--map-by :oversubscribe --bind-to none) ;;
        openmpi*/bound) options=(--map-by core:oversubscribe --bind-to core:overload-allowed) ;;
        # Its wait mode is as fast or slower, up to 64 ranks on two cores.
        intel*/yield) options=(-genv I_MPI_THREAD_YIELD 2) ;;
        # It binds by itself.
        intel*) return ;;
    esac
    [[ $1 != openmpi*/* ]] || options+=(--mca mpi_yield_when_idle 1)
    printf '%s\n' "${options[@]}"
}

# The sides of so many ranks: comet-shm and each MPI, or with more ranks than cores the settings of those that can
# live with that. MPICH cannot: it never gives up its core, and a barrier takes milliseconds.
crowd_of() { # RANKS
    local name
    echo comet
    for name in "${mpis[@]}"; do
        case $(($1 > $(nproc)))$name in
            0*) echo "$name" ;;
            1openmpi*) printf '%s\n' "$name"/{free,bound} ;;
            1intel*) echo "$name/yield" ;;
        esac
    done
}

# ---- rounds ----

# All sides in turn, beginning with another one in each round.
in_turn() { # COMMAND SIDE...
    local command=$1 i
    shift
    for ((i = 0; i < $#; i++)); do
        "$command" "${@:$(((i + round) % $# + 1)):1}"
    done
}

on_two() { # SIDE
    case $1 in
        private) [[ -z ${wanted[large]:-} ]] || measure private 2 "${PRIVATE[@]}" ;;
        over-*) [[ $(((round - 1) % OVER_EVERY)) -ne 0 ]] || measure "$1" 2 "${OVER[@]}" ;;
        limits) "$scratch/limits" | sed 's/^/limits /' >>"$scratch/results" ;;
        *) measure "$1" 2 "${pair_cases[@]}" ;;
    esac
}

on_many() { # SIDE
    local cases=("${CROWD[@]}")
    [[ $ranks -ne 4 ]] || cases+=("${LONG_COLLECTIVE[@]}")
    measure "$1" "$ranks" "${cases[@]}"
}

crowds() {
    local ranks sides
    for ranks in "${CROWDS[@]}"; do
        mapfile -t sides < <(crowd_of "$ranks")
        in_turn on_many "${sides[@]}"
    done
}

all_rounds() {
    local sides=()
    [[ -z ${wanted[limits]:-} ]] || sides+=(limits)
    [[ ${#pair_cases[@]} -eq 0 ]] || sides+=(comet private "${mpis[@]}")
    [[ -z ${wanted[over]:-} ]] || sides+=("${mpis[@]/#/over-}")
    for ((round = 1; round <= rounds; round++)); do
        in_turn on_two "${sides[@]}"
        [[ -z ${wanted[crowd]:-} || $(((round - 1) % CROWD_EVERY)) -ne 0 ]] || crowds
    done
}

# What the cache line takes most of the time: a guest's processors are not always the same.
usual_line_ns() {
    local i
    for i in 1 2 3 4 5 6 7; do
        progress "line $i"
        "$scratch/limits" line
    done | cut -d ' ' -f 2 | sort -g | sed -n 4p
}

# ---- what is printed ----

progress() {
    [[ ! -t 2 ]] || printf '\r%-60s\r' "$*" >&2
}

head_of_report() {
    printf 'machine   %s, %s CPUs, Linux %s\n' \
        "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$(uname -r)"
    printf 'load      %s (1, 5, 15 min) before the start\n' "$load"
    local name
    for name in "${mpis[@]}"; do
        printf '%-9s %s\n' "$name" "$("$scratch/loops-$name" | cut -d , -f 1)"
    done
    printf 'rounds    %s, one of %s with crowds; medians of the lower quartiles of windows\n' \
        "$rounds" "$CROWD_EVERY"
    printf 'line      usually %s ns from core to core\n' "$line_ns"
}

rounds=5 seconds=20 line_ns='' keep=
declare -A wanted=() mpicc_of=() mpiexec_of=() root_of=()
mpis=()
while [[ $# -gt 0 ]]; do
    case $1 in
        --rounds | --seconds)
            [[ $# -ge 2 && $2 =~ ^[1-9][0-9]*$ ]] || usage
            declare "${1#--}=$2"
            shift
            ;;
        --line)
            [[ $# -ge 2 && $2 =~ ^[1-9][0-9.]*$ ]] || usage
            line_ns=$2
            shift
            ;;
        --keep)
            [[ $# -ge 2 ]] || usage
            keep=$2
            shift
            ;;
        small | large | collective | crowd | over | limits) wanted[$1]=1 ;;
        *) usage ;;
    esac
    shift
done
[[ ${#wanted[@]} -gt 0 ]] ||
    wanted=([small]=1 [large]=1 [collective]=1 [crowd]=1 [over]=1 [limits]=1)
pair_cases=(${wanted[small]:+"${SMALL[@]}"} ${wanted[large]:+"${LARGE[@]}"}
    ${wanted[collective]:+"${COLLECTIVE[@]}"})

target=${CARGO_TARGET_DIR:-target}
comet=$target/release/examples/windows
load=$(cut -d ' ' -f 1-3 /proc/loadavg)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

build
line_ns=${line_ns:-$(usual_line_ns)}
if [[ -z $line_ns ]]; then
    printf 'error: a benchmark of messages needs two processors, got %s\n' "$(nproc)" >&2
    exit 1
fi
head_of_report
all_rounds
[[ -z $keep ]] || cp "$scratch/results" "$keep"
python3 scripts/bench-shm/table.py "$line_ns" "$scratch/results"
