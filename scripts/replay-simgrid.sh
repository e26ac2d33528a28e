#!/usr/bin/env bash
# Replays a platform that `comet-run calibrate --simgrid` wrote in SimGrid's SMPI: the one-way times
# of a C ping-pong there beside those of a result file.
# Usage: scripts/replay-simgrid.sh PLATFORM.xml [RESULTS.jsonl]
#   RESULTS  what was measured, or what comet-sim says of the same machine, as in
#            comet-run echo -t sim --machine host.toml -n 2 --hops 1 --out sim.jsonl
#            (default: the file that calibrate wrote beside the platform)
# Needs cargo and smpicc (Debian: apt-get install libsimgrid-dev).
set -euo pipefail

usage() {
    sed -n '4,7s/^# //p' "${BASH_SOURCE[0]}" >&2
    exit 2
}

die() {
    echo "error: $*" >&2
    exit 1
}

[[ $# -eq 1 || $# -eq 2 ]] || usage
platform=$(realpath "$1")
results=$(realpath "${2:-${1%.xml}.jsonl}")
[[ -f $platform ]] || die "there is no platform $platform"
[[ -f $results ]] || die "there are no results $results (name the file as the second argument)"
command -v smpicc >/dev/null || die "there is no smpicc (install it: apt-get install libsimgrid-dev)"
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Lines "LENGTH NS": of each length the median over the launches of the echo over one hop.
echo_times() {
    cargo run --release --locked --quiet --package comet-run -- show "$results" --format csv |
        awk -F , '
            NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
            $column["suite"] "/" $column["kernel"] == "comet/echo" && $column["hops"] == 1 &&
                $column["t_median_ns"] != "" { print $column["length_bytes"], $column["t_median_ns"] }' |
        sort -g -k 1,1 -k 2,2 | awk '
            function flush() { if (n) print length_bytes, (ns[int((n + 1) / 2)] + ns[int(n / 2) + 1]) / 2 }
            BEGIN { length_bytes = -1 }
            $1 != length_bytes { flush(); length_bytes = $1; n = 0 }
            { ns[++n] = $2 }
            END { flush() }'
}

# Lines "LENGTH NS" of the lengths that are given. The platform brings the law; without the start of
# real work, time passes in messages alone.
smpi_times() {
    smpicc -O2 -std=c11 -Wall -Wextra -o "$scratch/pingpong" scripts/simgrid-pingpong.c
    printf 'rank-0\nrank-1\n' >"$scratch/hosts"
    smpirun -np 2 -platform "$platform" -hostfile "$scratch/hosts" -no-privatize \
        --log=root.thresh:critical "$scratch/pingpong" "$@"
}

compare() {
    awk '
        NR == FNR { expected[$1] = $2; next }
        { error = 100 * ($2 / expected[$1] - 1)
          printf "%10d %14.4f %14.4f %+8.1f %%\n", $1, $2 / 1e3, expected[$1] / 1e3, error
          if (error < 0) error = -error
          sum += error; n++
          if (error > largest) { largest = error; at = $1 } }
        END {
            if (!n) { print "error: SMPI printed no times" >"/dev/stderr"; exit 1 }
            printf "\n%d lengths: mean error %.1f %%, largest %.1f %% at %d B\n", n, sum / n, largest, at }
    ' "$1" "$2"
}

echo_times >"$scratch/expected"
[[ -s $scratch/expected ]] || die "$results holds no echo over one hop"
mapfile -t lengths < <(cut -d ' ' -f 1 "$scratch/expected")
smpi_times "${lengths[@]}" >"$scratch/smpi"
printf '%10s %14s %14s %10s\n' bytes smpi_us "$(basename "$results" .jsonl)_us" error
compare "$scratch/expected" "$scratch/smpi"
