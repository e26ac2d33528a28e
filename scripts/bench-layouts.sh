#!/usr/bin/env bash
# Messages with layouts: comet-run beside plain C that sends the same derived types over the same MPI, and the
# loops of CoMet that pack beside a memcpy of each block.
# Usage: scripts/bench-layouts.sh FAMILY [--pairs N] [--control] [LAYOUT...]
#   FAMILY     the MPI, by the ending of mpicc.openmpi and mpiexec.openmpi
#   --pairs N  pairs of launches of each layout, even and at least 10 (default: 10)
#   --control  hold the C program against itself: the noise of the machine
#   LAYOUT     contiguous, vector:BLOCK:STRIDE, indexed or struct (default: five of them), or copy
# Rows `pingpong_send_recv` are messages over MPI; rows `pack` are copies into and out of the memory that ranks
# over shared memory share, on one rank. `copy` holds the loops that pack blocks of 64 bytes, one every 128,
# against plain copies of as many bytes, both by comet-run: strided blocks bring twice the memory into caches.
# Needs cargo, a C compiler, python3 and two cores with nothing else to do: look at the load.
# It is a benchmark and no test: it fails only if something could not run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

LAYOUTS=(contiguous vector:64:128 vector:8:16 indexed struct copy)
# Whole blocks of all of them.
SIZES=(192 1536 49152 786432 3145728)
COPY_SIZES=(4096 16384 65536 262144 1048576 4194304)
SAMPLES=100
REPETITIONS=20
OPTIONS=(--samples "$SAMPLES" --repetitions "$REPETITIONS" --launches 1 --quiet --format none)
# Documented by Open MPI for containers, where everything runs as root.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

usage() {
    sed -n '4,11s/^# //p' "${BASH_SOURCE[0]}" >&2
    exit 2
}

# The command $1 of the MPI at hand.
tool() {
    command -v "$1.$family" || {
        printf 'found no %s.%s (install it: scripts/setup-mpi.sh)\n' "$1" "$family" >&2
        return 1
    }
}

launch() {
    timeout 300 "$mpiexec" -n 2 --bind-to core "$@" </dev/null
}

# Packing and unpacking of one layout, on one rank.
pack() { # LAYOUT SIZE...
    local layout=$1 record=$scratch/record.jsonl IFS=,
    shift
    rm -f "$record"
    timeout 300 "$comet" skampi/pack --transport shm --ranks 1 --layout "$layout" --sizes "$*" "${OPTIONS[@]}" \
        --out "$record"
    "$comet" show "$record" --format csv
    rm -f "$record"
}

launch_c() { # LAYOUT
    if [[ $1 = copy ]]; then
        pack contiguous "${COPY_SIZES[@]}"
    else
        launch "$scratch/mpi-layouts" "$SAMPLES" "$REPETITIONS" "$1" "${SIZES[@]}"
    fi
}

launch_comet() { # LAYOUT
    if [[ $1 = copy ]]; then
        pack packed:vector:64:128 "${COPY_SIZES[@]}"
        return
    fi
    local IFS=, record=$scratch/record.jsonl
    rm -f "$record"
    launch "$comet" skampi/pingpong_send_recv --transport mpi --layout "$1" --sizes "${SIZES[*]}" "${OPTIONS[@]}" \
        --out "$record"
    "$comet" show "$record" --format csv
    # Without the second head.
    pack "packed:$1" "${SIZES[@]}" | sed 1d
}

# Launches A B B A again and again, so that no drift of the machine favours a side.
launch_all() { # LAYOUT
    local n=100 side
    rm -f "$scratch"/*.csv
    while [[ $n -lt $((100 + 2 * pairs)) ]]; do
        for side in c comet comet c; do
            [[ -z $control ]] || side=c
            "launch_$side" "$1" >"$scratch/$n-$side.csv"
            n=$((n + 1))
        done
    done
}

[[ $# -ge 1 ]] || usage
family=$1
shift
pairs=10 control='' layouts=()
while [[ $# -gt 0 ]]; do
    case $1 in
        --pairs)
            [[ $# -ge 2 ]] || usage
            pairs=$2
            shift
            ;;
        --control) control=c ;;
        -*) usage ;;
        *) layouts+=("$1") ;;
    esac
    shift
done
[[ $pairs =~ ^[1-9][0-9]+$ && $((pairs % 2)) -eq 0 ]] || usage
[[ ${#layouts[@]} -gt 0 ]] || layouts=("${LAYOUTS[@]}")

mpicc=$(tool mpicc)
mpiexec=$(tool mpiexec)
target=target/$family
comet=$target/release/comet-run
load=$(cut -d ' ' -f 1-3 /proc/loadavg)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$mpicc" -O3 -std=c11 -Wall -Wextra -o "$scratch/mpi-layouts" scripts/mpi-layouts.c
[[ -n $control ]] || MPICC=$mpicc cargo build --release --locked -p comet-run --features mpi --target-dir "$target"
printf 'machine   %s, %s CPUs, Linux %s\n' \
    "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$(uname -r)"
printf 'load      %s (1, 5, 15 min) before the start\n' "$load"
printf 'effort    %s pairs of launches, %s samples of %s operations\n' "$pairs" "$SAMPLES" "$REPETITIONS"
for layout in "${layouts[@]}"; do
    if [[ $layout = copy ]]; then
        printf '\n== packed:vector:64:128 beside contiguous, both by comet-run\n'
    else
        printf '\n== %s over %s\n' "$layout" "$family"
    fi
    launch_all "$layout"
    python3 scripts/mpi_fidelity.py "$scratch"/*.csv
done
