#!/usr/bin/env bash
# How far comet-sim goes, how fast it is beside SimGrid's SMPI, and whether both agree.
# Usage: scripts/bench-sim.sh [--runs N] [--quick] [--million]
#   --runs N   runs of each simulator and number of ranks, of which the median counts (default: 5)
#   --quick    256 and 512 ranks beside SMPI, and up to 16,384 alone
#   --million  1,048,576 ranks too, for which it needs 8 GB of memory
# Needs cargo; SMPI where there is its smpicc (Debian: apt-get install libsimgrid-dev).
# It is a benchmark: it fails if something could not run, or if the virtual times differ.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The machine: one way takes o_send + latency + (bytes + envelope) / rate + o_recv.
LATENCY_NS=1000
OVERHEAD_NS=300
RATE_GB_PER_S=10
# SMPI sends 16 bytes with each message (src/smpi/mpi/smpi_request.cpp).
ENVELOPE_BYTES=16
# Circuits only; SMPI has none.
HOP_NS=100
ECHO_BYTES=(0 8 1024 65536 1000000)
# Lengths at which no two messages of a rank are under way at once: on one link SMPI shares the rate
# between them, and comet-sim sends one after the other.
COLLECTIVES=('allreduce=ring 1024 65536 1048576' 'allreduce=recursive_doubling 1024 65536'
    'alltoall=pairwise 1024 65536' 'bcast=binomial 8 1024 2048' 'bcast=scatter_ring 1024 4096')
COLLECTIVE_RANKS=(4 16 64)
WANTED_ALLTOALL_S=5
# For both simulators, since both are bound by memory; other C libraries ignore it.
export GLIBC_TUNABLES=glibc.malloc.hugetlb=1
WANTED_RATIO=20
WANTED_DIFFERENCE_PERCENT=0.01

usage() {
    sed -n '3,6s/^# //p' "${BASH_SOURCE[0]}" >&2
    exit 2
}

# ---- the machine, for both ----

# A machine file with the topology $1, and what follows it.
machine_file() {
    printf '%s\n' 'format = 1' "name = \"bench-$1\"" "envelope = \"$ENVELOPE_BYTES B\"" \
        '[topology]' "kind = \"$1\"" "${@:2}" \
        '[[protocol]]' 'kind = "eager"' "t0 = \"$((LATENCY_NS + 2 * OVERHEAD_NS)) ns\"" \
        "per_byte = \"$((1000 / RATE_GB_PER_S)) ps/B\"" "hop = \"$HOP_NS ns\"" \
        "split = { o_send = \"$OVERHEAD_NS ns\", o_recv = \"$OVERHEAD_NS ns\" }" >"$scratch/$1.toml"
}

# A crossbar of exactly $1 hosts; each message takes two of its links.
platform_file() {
    cat >"$scratch/$1.xml" <<EOF
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="flat" prefix="rank-" suffix="" radical="0-$(($1 - 1))" speed="1Gf"
           bw="${RATE_GB_PER_S}GBps" lat="$((LATENCY_NS / 2))ns" sharing_policy="SPLITDUPLEX"/>
</platform>
EOF
    seq -f 'rank-%g' 0 $(($1 - 1)) >"$scratch/$1.hosts"
}

# ---- the two simulators ----

# Runs the program on $1 ranks. What makes SMPI's law ours: factors of 1, no TCP, every message sent
# at once. What makes it fast: no copies of variables, small stacks without guards, no clocks read.
smpi() {
    local ranks=$1 never=1000000000 overhead=0:${OVERHEAD_NS}e-9:0
    shift
    [[ -e $scratch/$ranks.xml ]] || platform_file "$ranks"
    smpirun -np "$ranks" -platform "$scratch/$ranks.xml" -hostfile "$scratch/$ranks.hosts" \
        -no-privatize --log=root.thresh:critical \
        --cfg=contexts/stack-size:64 --cfg=contexts/guard-size:0 \
        --cfg=smpi/simulate-computation:no --cfg=smpi/wtime:0 \
        --cfg=smpi/os:"$overhead" --cfg=smpi/ois:"$overhead" --cfg=smpi/or:"$overhead" \
        --cfg=smpi/bw-factor:0:1 --cfg=smpi/lat-factor:0:1 \
        --cfg=network/TCP-gamma:0 --cfg=network/weight-S:0 --cfg=network/crosstraffic:0 \
        --cfg=smpi/async-small-thresh:"$never" --cfg=smpi/send-is-detached-thresh:"$never" \
        "$scratch/smpi-scale" "$@"
}

comet() {
    "$target/release/examples/scale" "$@"
}

comet_flat() {
    local ranks=$1
    comet "$scratch/flat.toml" "$ranks" "${@:2}"
}

build() {
    cargo build --release --locked --package comet-sim --example scale
    [[ -z $smpi_version ]] ||
        smpicc -O3 -std=c11 -Wall -Wextra -DSMPI_NO_OVERRIDE_MALLOC \
            -o "$scratch/smpi-scale" scripts/smpi-scale.c
}

# ---- what is printed ----

progress() {
    [[ ! -t 2 ]] || printf '\r%-40s\r' "$*" >&2
}

head_of_report() {
    printf 'machine   %s, %s CPUs, Linux %s\n' \
        "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$(uname -r)"
    printf 'load      %s (1, 5, 15 min) before the start\n' "$load"
    printf 'SMPI      %s\n' "${smpi_version:-not found, so comet-sim runs alone (apt-get install libsimgrid-dev)}"
    printf 'program   barrier (dissemination) and global sum (recursive doubling) of 1 KiB messages\n'
    printf 'wall      of the simulation with the set-up of the ranks, without the reading of the machine\n'
    printf 'memory    huge pages for both (GLIBC_TUNABLES=%s)\n' "$GLIBC_TUNABLES"
    printf 'runs      %s, alternating; medians\n' "$runs"
}

law_ns() {
    awk -v n="$1" -v e="$ENVELOPE_BYTES" -v r="$RATE_GB_PER_S" -v l="$LATENCY_NS" -v o="$OVERHEAD_NS" \
        'BEGIN { printf "%.1f", l + 2 * o + (n + e) / r }'
}

echo_table() {
    local bytes
    printf '\none way of an echo, virtual ns\n%10s %14s %14s %14s\n' bytes law comet-sim SMPI
    for bytes in "${ECHO_BYTES[@]}"; do
        printf '%10s %14s %14s %14s\n' "$bytes" "$(law_ns "$bytes")" \
            "$(comet_flat 2 echo "$bytes" | cut -d ' ' -f 1)" "$(smpi 2 echo "$bytes" | cut -d ' ' -f 1)"
    done
}

# The collectives of both, message by message the same; fails if their virtual times differ.
collectives_table() {
    local words what ranks bytes
    printf '\ncollectives, virtual ns\n%-29s %6s %9s %14s %14s %13s\n' \
        algorithm ranks bytes comet-sim SMPI 'difference %'
    for words in "${COLLECTIVES[@]}"; do
        read -r what words <<<"$words"
        for ranks in "${COLLECTIVE_RANKS[@]}"; do
            for bytes in $words; do
                printf '%s %s %s %s %s\n' "$what" "$ranks" "$bytes" \
                    "$(comet_flat "$ranks" "$what" "$bytes" | cut -d ' ' -f 1,2)" \
                    "$(smpi "$ranks" "$what" "$bytes" | cut -d ' ' -f 1,2)"
            done
        done
    done | awk -v wanted="$WANTED_DIFFERENCE_PERCENT" '
        {
            percent = 100 * ($4 - $6) / $6
            printf "%-29s %6d %9d %14.1f %14.1f %13.4f\n", $1, $2, $3, $4, $6, percent
            fflush()
            if (percent < 0) percent = -percent
            if (percent > most) most = percent
            if ($5 != $7) n_others++
        }
        END {
            print ""
            printf "%-8s collectives equal within %s %%, with the same number of messages\n",
                (holds = most <= wanted && !n_others) ? "holds" : "FAILS", wanted
            exit !holds
        }'
}

# An alltoall of 1 KiB on 1,024 ranks: a million messages. The CPU time counts, so that other
# programs do not.
alltoall_time() {
    local seconds
    seconds=$({ TIMEFORMAT='%U %S' && time comet_flat 1024 alltoall=pairwise 1024 >/dev/null; } 2>&1 |
        awk '{ print $1 + $2 }')
    awk -v s="$seconds" -v wanted="$WANTED_ALLTOALL_S" 'BEGIN {
        printf "\n%-8s alltoall of 1 KiB on 1,024 ranks in %.1f s of CPU time, at most %d s wanted\n",
            s <= wanted ? "holds" : "FAILS", s, wanted }'
}

# The line with the median of the wall times.
median() {
    sort -g -k 3,3 | awk '{ line[NR] = $0 } END { print line[int((NR + 1) / 2)] }'
}

# Runs both on $1 ranks, in turn; prints the median of each.
run_both() {
    local i
    for ((i = 1; i <= runs; i++)); do
        progress "$1 ranks, run $i of $runs"
        comet_flat "$1" >>"$scratch/$1.comet"
        smpi "$1" >>"$scratch/$1.smpi"
    done
    printf '%s %s %s\n' "$1" "$(median <"$scratch/$1.comet")" "$(median <"$scratch/$1.smpi")"
}

side_by_side() {
    local ranks
    printf '\n%7s %9s %13s %12s %12s %12s %9s %7s\n' \
        ranks messages 'comet-sim ns' 'SMPI ns' 'difference %' 'comet-sim s' 'SMPI s' ratio
    for ranks in "$@"; do
        run_both "$ranks"
    done | awk -v wanted_ratio="$WANTED_RATIO" -v wanted_percent="$WANTED_DIFFERENCE_PERCENT" '
        function verdict(what, holds) {
            printf "%-8s %s\n", holds ? "holds" : "FAILS", what
        }
        {
            ours_ns = $2; theirs_ns = $6; ratio = $8 / $4
            percent = 100 * (ours_ns - theirs_ns) / theirs_ns
            printf "%7d %9d %13.1f %12.1f %12.4f %12.4f %9.3f %7.1f\n",
                $1, $3, ours_ns, theirs_ns, percent, $4, $8, ratio
            fflush()
            if (NR == 1 || ratio < least_ratio) least_ratio = ratio
            if (percent < 0) percent = -percent
            if (percent > most_percent) most_percent = percent
        }
        END {
            print ""
            verdict("virtual times equal within " wanted_percent " %", most_percent <= wanted_percent)
            verdict("comet-sim at least " wanted_ratio " times as fast", least_ratio >= wanted_ratio)
            exit most_percent > wanted_percent
        }'
}

# A line of the table for the machine $1 and $2 ranks; above 65,536 ranks one run is enough.
alone() {
    local i
    for ((i = 1; i <= ($2 <= 65536 ? runs : 1); i++)); do
        progress "$1, $2 ranks, run $i"
        comet "$scratch/$1.toml" "$2"
    done | median | awk -v machine="$1" -v ranks="$2" '
        { printf "%-10s %9d %10d %13.1f %9.3f %15.1f %12.2f\n",
            machine, ranks, $2, $1, $3, 1e9 * $3 / $2, $4 / 1024 }'
}

scale_table() {
    local ranks
    printf '\n%-10s %9s %10s %13s %9s %15s %12s\n' \
        machine ranks messages 'virtual ns' 'wall s' 'ns per message' 'KiB per rank'
    for ranks in "$@"; do
        alone flat "$ranks"
    done
    alone hypercube "$(((65536 < ranks) ? 65536 : ranks))"
    printf 'KiB per rank: peak memory beyond that of the process at the start and 2 KiB of messages\n'
}

runs=5 both=(256 512 1024 2048 4096) single=(1024 4096 16384 65536 262144)
while [[ $# -gt 0 ]]; do
    case $1 in
        --runs)
            [[ $# -ge 2 && $2 =~ ^[1-9][0-9]*$ ]] || usage
            runs=$2
            shift
            ;;
        --quick) both=(256 512) single=(1024 4096 16384) ;;
        --million) single+=(1048576) ;;
        *) usage ;;
    esac
    shift
done

target=${CARGO_TARGET_DIR:-target}
smpi_version=$(smpirun --version 2>/dev/null | head -n 1 || true)
load=$(cut -d ' ' -f 1-3 /proc/loadavg)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

build
machine_file flat
machine_file hypercube 'switching = "circuit"' "link = \"$RATE_GB_PER_S GB/s\""
head_of_report
scale_table "${single[@]}"
alltoall_time
[[ -n $smpi_version ]] || exit 0
echo_table
collectives_table
side_by_side "${both[@]}"
