#!/usr/bin/env bash
# The benchmarks of another suite beside their namesakes in comet-run, over the same MPI or beside it:
# launches of both in turn, the ratio of each figure with its interval, and the peer against itself.
# Usage: scripts/bench-suites.sh SUITE FAMILY PEERS [--transport T] [--ranks N] [--pairs N] [--sizes LIST]
#                                [NAME...]
#   SUITE          imb, imb-nbc, imb-mpi4, imb-ext, imb-rma, imb-io, imb-p2p, imb-halo, imb-mt, osu or skampi
#   FAMILY         the MPI, by the ending of mpicc.openmpi and mpiexec.openmpi
#   PEERS          a folder with the programs of the suite, which you have built with the mpicc of the family
#   --transport T  transport of the namesakes: mpi, over the same MPI, or shm (default: mpi)
#   --ranks N      ranks of a launch (default: 2)
#   --pairs N      pairs of launches, even and at least 10 (default: 10)
#   --sizes L      lengths in bytes (default: 0,8,1024,65536,1048576; OSU takes the least and the greatest,
#                  imb-halo, imb-mt and skampi all but 0)
#   --tables       no times, but the difference between what the programs and their namesakes print, figures
#                  and notes aside: it fails if there is any
#   NAME           benchmarks (default: all that both have)
# Ranks of imb-mt have two threads each. skampi runs the stock scripts of SKaMPI 5 between ranks and of
# collectives (PEERS/ski) on both sides, which comet-run imports; it has no --tables.
# Needs a C compiler, python3 and cores with nothing else to do.
# Nothing of the suite is built here; IMB-HALO and IMB-MT need -fopenmp.
# It is a benchmark and no test: it fails only if something could not run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Documented by Open MPI for containers, where everything runs as root.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

usage() {
    sed -n '4,20s/^# //p' "${BASH_SOURCE[0]}" >&2
    exit 2
}

# The command $1 of the MPI at hand.
tool() {
    command -v "$1.$family" || {
        printf 'found no %s.%s (install it: scripts/setup-mpi.sh)\n' "$1" "$family" >&2
        return 1
    }
}

program_of() { # NAME FOLDER
    find -L "$2" -name "$1" -type f -perm -u+x 2>/dev/null | head -n 1
}

# The folder with the programs of the suite, and with the scripts of SKaMPI.
find_programs() {
    local any=${program:-osu_latency} script=ski/skampi_coll.ski
    if [[ -z $(program_of "$any" "$peers") ]] || [[ $suite = skampi && ! -e $peers/$script ]]; then
        [[ $suite != skampi ]] || any+=" beside $script"
        printf 'found no %s in %s (build it there with mpicc.%s)\n' "$any" "$peers" "$family" >&2
        return 1
    fi
    realpath "$peers"
}

# The stock scripts in $1 in one, at the lengths and on the ranks that are compared. The peer prints ns, as a
# tenth of a microsecond is much of a short message. Both sides go through 32 MiB, which hold two sets of the
# longest messages. Two of its measurements have no kernel: its alltoalls by hand send from and receive into
# places that overlap.
write_scripts() { # FOLDER
    local counts line
    counts=$(tr , '\n' <<<"$sizes" | awk '$1 > 0 { print $1 / 4 }' | paste -sd ,)
    while IFS= read -r line; do
        [[ $line =~ ^@include\ \"(.*)\" ]] && cat "$1/ski/${BASH_REMATCH[1]}" || printf '%s\n' "$line"
    done < <(echo 'set_unit(1000000000.0)' && cat "$1"/ski/skampi_{pt2pt,coll}.ski) |
        sed -E -e "s/for count = 1 to \.\.\. step .* do/for count in [$counts] do/" \
            -e "s/for procs = 2 to/for procs = $ranks to/" -e 's/^(set_skampi_buffer).*/\1(32MB)/' |
        awk -v names=" ${names[*]} " '
            /^begin measurement/ { split($0, part, "\""); is_left_out = names != "  " && !index(names, " " part[2] " ") }
            part[2] ~ /^Alltoallv?_using/ { is_left_out = 1 }
            !is_left_out { print }
            /^end measurement/ { is_left_out = 0; part[2] = "" }' >"$scratch/stock.ski"
    "$comet" suite import "$scratch/stock.ski" -o "$scratch/stock.toml"
}

launch_skampi() { # [NAMESAKE]
    if [[ $# -eq 0 ]]; then
        launch "$(program_of skampi "$folder")" -i "$scratch/stock.ski"
        return
    fi
    rm -f "$scratch/record.jsonl"
    launch "$comet" suite run "$scratch/stock.toml" "${own_options[@]}" >/dev/null
    cat "$scratch/record.jsonl"
}

launch_options() {
    if [[ $ranks -le $(nproc) ]]; then
        echo '--bind-to core'
    elif [[ $family = openmpi ]]; then
        echo '--oversubscribe --bind-to none --mca mpi_yield_when_idle 1'
    fi
}

# Ends the processes below $1.
end_below() { # PID
    local child
    for child in $(pgrep -P "$1"); do
        end_below "$child"
        kill "$child" 2>/dev/null || true
    done
}

# Ranks that go on would make files in the folder while it is removed.
clean_up() {
    local n
    end_below $$
    for n in {1..50}; do
        ! rm -rf "$scratch" 2>/dev/null || break
        sleep 0.1
    done
}

launch() {
    local launcher=("$mpiexec" -n "$ranks" "${options[@]}")
    if [[ $1 = "$comet" ]]; then
        [[ $transport = mpi ]] || launcher=()
    elif [[ " $* " =~ ' -multi '[01] ]]; then
        # Windows of several groups meet in one file of Open MPI 4.1, unless messages carry them out.
        launcher=(env OMPI_MCA_osc=pt2pt "${launcher[@]}")
    fi
    # The peer writes its files where it runs. Signals to this script reach the launcher too.
    (cd "$scratch" && timeout --foreground 600 "${launcher[@]}" "$@" </dev/null)
}

# Runs the benchmarks: NAMESAKE is empty for the peer, or the words of comet-run before the name.
launch_all_of() { # [NAMESAKE...]
    local name extra=()
    [[ $# -eq 0 ]] || extra=("${own_options[@]}")
    if [[ $suite = skampi ]]; then
        launch_skampi "$@"
        return
    fi
    if [[ -n $program ]]; then
        local command=("$@" "$program")
        [[ $# -gt 0 ]] || command=("$(program_of "$program" "$folder")")
        local rules=(-npmin "$ranks" -iter_policy "${policy:-dynamic}" -msglen "$scratch/lengths")
        [[ $suite != imb-p2p ]] || rules=(-pause 1000 -msglen "$scratch/lengths")
        [[ -z $counted ]] || rules=("${counted_options[@]}")
        launch "${command[@]}" "${names[@]}" "${rules[@]}" "${extra[@]}"
        return
    fi
    for name in "${names[@]}"; do
        local command=("$@" "$name")
        [[ $# -gt 0 ]] || command=("$(program_of "$name" "$folder")")
        printf '#program %s\n' "$name"
        case $name in
            osu_barrier | osu_ibarrier | osu_barrier_persistent) launch "${command[@]}" "${extra[@]}" ;;
            # Beside memory of the library the peer ends by a segmentation fault.
            osu_fop_latency | osu_cas_latency) launch "${command[@]}" -w create "${extra[@]}" ;;
            *) launch "${command[@]}" -m "$shortest:$longest" "${extra[@]}" ;;
        esac
    done
}

# Every line of IMB that a reader of the tables goes by: blocks, titles, lengths and repetitions. IMB-IO
# prints no end of line behind its title.
tables_of_imb() { # COMMAND...
    local counts=(-msglen "$scratch/lengths" -iter 10) lines='Benchmarking|#processes|\( |Group|   MODE'
    # IMB-HALO has no title.
    local title=p
    [[ $suite != imb-halo ]] || title=d
    [[ $suite != imb-p2p ]] || counts=() lines+='|!!|Minimum|Maximum|[A-Z][A-Za-z0-9_]+$'
    [[ -z $counted ]] || counts=() lines+='|window_size'
    launch "$@" "${names[@]}" "${counts[@]}" | sed -E -n \
        -e 's/^# .* MPI-IO partn#/#/' -e '/^# note/d' -e "/^#-/$title" -e "/^# ($lines)/p" \
        -e '/^ +(#|Group)/p' -e 's/^(( +[0-9]+){2,3}) .*/\1/p' -e 's/^([0-9]+\(x[0-9]+\)\(bytes\)) .*/\1/p'
}

# Options with which the tables of IMB-P2P are compared, a line each.
variants_of_p2p() {
    printf '%s\n' "-msglen $scratch/lengths -iter 10 -pause 0" '-msglog 3 -iter 20 -pause 10 -msgrd no' \
        '-msglog 2:4 -iter 7,1 -msgwr OFF' '-msgsz 1m -iter 100,8 -msgwr 0 -msgrd false' \
        '-msgsz 4097 -msgsz 5k -msgsz 3000000 -iter 100,8 -msgwr true -msgrd 1'
}

# Options with which the tables of IMB-HALO and IMB-MT are compared, a line each.
variants_of_counted() {
    local quick='-repeat 10 -warmup 2'
    printf '%s\n' "$quick" "${counted_options[*]} $quick"
    case $suite in
        imb-halo) printf '%s\n' "-topo 1.1 $quick" "-topo $ranks.1 -count 3,1 -datatype char $quick" ;;
        *) printf '%s\n' "-stride 1 -window_size 5 $quick" "-barrier off -thread_level multiple $quick" ;;
    esac
}

# Every line of OSU, with the width of each figure in its place, but for what one-sided programs print about
# their memory, and about their checks behind their tables, and what mpiexec prints when one has died.
tables_of_osu() { # COMMAND...
    launch "$@" | awk '/^# (note|HOST)/ || /^-+$/ || /^(Atomic Data|PASSED|FAILED|SKIPPED|\t)/ { next }
        /^=+$/ { is_over = 1 }
        is_over { next }
        /^$/ { n_empty++; next }
        { for (; n_empty > 0; n_empty--) print "" }
        /^Time took/ { sub(/[0-9]+[.][0-9][0-9]/, "<time>") }
        /^[ 0-9]/ {
            line = match($0, /^[0-9]+/) ? substr($0, 1, RLENGTH) : ""
            rest = substr($0, length(line) + 1)
            while (match(rest, / +[0-9]+[.][0-9][0-9]/)) {
                line = line substr(rest, 1, RSTART - 1) "<" RLENGTH ">"
                rest = substr(rest, RSTART + RLENGTH)
            }
            $0 = line rest
        }
        { print }'
}

# Compares the tables of both sides of a command line, of which PEER and the name are the programs.
compare_tables() { # NAME PEER OPTIONS...
    local name=$1 peer=$2
    "tables_of_${suite%-*}" "$peer" "${@:3}" >"$scratch/peer"
    "tables_of_${suite%-*}" "$comet" "$name" "${@:3}" "${own_options[@]}" >"$scratch/namesake"
    if [[ ! -s $scratch/peer ]] || ! diff "$scratch/peer" "$scratch/namesake"; then
        printf 'other tables: %s %s\n' "$name" "${*:3}" >&2
        return 1
    fi
    printf 'the same tables: %s %s: %d lines\n' "$name" "${*:3}" "$(wc -l <"$scratch/peer")"
}

# The same of a one-sided program: every memory with every synchronisation that it has.
variants_of_remote() { # NAME QUICK COUNTS
    local memory sync syncs='lock flush flush_local lock_all pscw fence'
    [[ $1 != osu_put_bibw ]] || syncs='pscw fence'
    for memory in create allocate dynamic; do
        for sync in $syncs; do
            printf '%s\n' "$2 -w $memory -s $sync"
        done
    done
    printf '%s\n' "-m 4096:16384$3" "$2 -z"
    # Those of one element end by a segmentation fault behind their first table of memory of the library.
    case $1 in
        *bw) printf '%s\n' "$2 -W 16" ;;
        osu_cas_latency) printf '%s\n' "$2 -c -T mpi_int" "$2 -w create -T mpi_char -T mpi_int" ;;
        osu_acc_latency | osu_fop_latency) printf '%s\n' "$2 -c -z50" "$2 -w create -T all" ;;
    esac
}

# Options with which the tables of a program of OSU are compared, a line each: the default counts, and
# all columns and tables that it can print.
variants_of() { # NAME
    local quick='-m 4:16 -i 20 -x 2' check=-c few=''
    # Where ranks share CPUs the default counts take long.
    [[ $ranks -le $(nproc) ]] || few=' -i 20 -x 2'
    # Sums of OSU 7.4 do not pass its own check, unblocked ones in parts neither; rows of several pairs
    # lack percentiles. MPICH 4.0 ends a prepared gather or scatter before its data has moved.
    [[ ! $1 =~ ^osu_(i?(all)?reduce|ireduce_scatter(_block)?|((all)?reduce|gather|scatter)_persistent)$ ]] || check=
    if [[ $1 =~ ^osu_(put|get_bw|get_latency|get_acc|acc|fop|cas) ]]; then
        variants_of_remote "$1" "$quick" "$few"
        return
    fi
    [[ $1 = osu_multi_lat ]] || printf '%s\n' "$quick -z"
    case $1 in
        osu_barrier | osu_barrier_persistent) printf '%s\n' "-f$few" '-i 20 -x 2 -f -z' && return ;;
        osu_ibarrier) printf '%s\n' "-f$few" '-i 20 -x 2 -t 5 -z' && return ;;
        osu_latency | osu_latency_persistent | osu_multi_lat) printf '%s\n' "$quick -b multiple" ;;
        osu_bw | osu_bibw | osu_bw_persistent | osu_bibw_persistent) printf '%s\n' "$quick -W 16" "$quick -b multiple" ;;
        osu_mbw_mr) printf '%s\n' "$quick -R 0 -b multiple" "-m 4096:16384 -i 20 -V" "$quick -V -R 0" ;;
        *) printf '%s\n' "-m 4096:16384 -f$few" "$quick $check -f -z" ;;
    esac
    [[ ! $1 =~ ^osu_i ]] || printf '%s\n' "$quick -t 5 -f"
    case $1 in
        *_persistent) ;;
        osu_gather* | osu_scatter* | osu_reduce | osu_igather* | osu_iscatter* | osu_ireduce)
            printf '%s\n' "$quick -k rotate" "$quick -k fixed:1"
            ;;
    esac
    case $1 in
        osu_bcast_persistent | osu_latency_persistent | osu_*bw_persistent) ;;
        osu_bcast | osu_latency | osu_multi_lat | osu_bw | osu_bibw | osu_mbw_mr | osu_ibcast | osu_neighbor_* | osu_ineighbor_*) ;;
        *) printf '%s\n' "$quick -l" ;;
    esac
    printf '%s\n' "-m 2:16 -i 20 -x 2 -T all $check" "-m 2:16 -T mpi_int$few"
    [[ ! $1 =~ neighbor ]] || printf '%s\n' "$quick -N cart:1:1" "-m 4:16 -i 20 -N graph:$scratch/graph -f"
    printf '%s\n' "$quick $check"
}

# The benchmarks that both have and that run on so many ranks.
common_names() {
    local own
    if [[ -n $program ]]; then
        "$comet" "$program" -list | sed -n -e 's/^    \([^ ][^ ]*\).*/\1/p' -e 's/^# \([^ ]*\)$/\1/p'
        return
    fi
    for own in osu_latency osu_multi_lat osu_bw osu_bibw osu_mbw_mr osu_bcast osu_barrier \
        osu_allgather osu_allgatherv osu_allreduce osu_alltoall osu_alltoallv osu_alltoallw \
        osu_gather osu_gatherv osu_reduce osu_reduce_scatter osu_reduce_scatter_block osu_scatter \
        osu_scatterv osu_neighbor_allgather osu_neighbor_allgatherv osu_neighbor_alltoall \
        osu_neighbor_alltoallv osu_neighbor_alltoallw osu_put_latency osu_get_latency \
        osu_acc_latency osu_get_acc_latency osu_fop_latency osu_cas_latency osu_put_bw osu_get_bw \
        osu_put_bibw osu_iallgather osu_iallgatherv osu_iallreduce osu_ialltoall osu_ialltoallv \
        osu_ialltoallw osu_ibarrier osu_ibcast osu_igather osu_igatherv osu_ireduce \
        osu_ireduce_scatter osu_ireduce_scatter_block osu_iscatter osu_iscatterv \
        osu_ineighbor_allgather osu_ineighbor_allgatherv osu_ineighbor_alltoall \
        osu_ineighbor_alltoallv osu_ineighbor_alltoallw osu_{latency,bw,bibw}_persistent \
        osu_{allgather{,v},allreduce,alltoall{,v,w},barrier,bcast}_persistent \
        osu_{gather{,v},reduce{,_scatter},scatter{,v}}_persistent; do
        [[ ! $own =~ neighbor || $ranks -ge 3 ]] || continue
        [[ ! $own =~ ^osu_(latency|bw|bibw|put|get_[bl]|get_acc|acc|fop|cas) || $ranks -eq 2 ]] || continue
        [[ -z $(program_of "$own" "$folder") ]] || echo "$own"
    done
}

suite=${1-} family=${2-} peers=${3-}
[[ $suite =~ ^(imb|imb-nbc|imb-mpi4|imb-ext|imb-rma|imb-io|imb-p2p|imb-halo|imb-mt|osu|skampi)$ && -n $family && -d $peers ]] || usage
shift 3
# The program with all benchmarks of the suite, if it has one.
case $suite in
    imb) program=IMB-MPI1 ;;
    osu) program='' ;;
    skampi) program=skampi ;;
    *) program=${suite^^} ;;
esac
tables='' transport=mpi ranks=2 pairs=10 sizes=0,8,1024,65536,1048576 names=()
while [[ $# -gt 0 ]]; do
    case $1 in
        --transport | --ranks | --pairs | --sizes)
            [[ $# -ge 2 ]] || usage
            declare "${1#--}=$2"
            shift
            ;;
        --tables) tables=1 ;;
        -*) usage ;;
        *) names+=("$1") ;;
    esac
    shift
done
[[ $suite != skampi || -z $tables ]] || usage
[[ $transport =~ ^(mpi|shm)$ && $pairs =~ ^[1-9][0-9]+$ && $((pairs % 2)) -eq 0 && $ranks =~ ^[1-9][0-9]*$ ]] || usage

mpiexec=$(tool mpiexec)
comet=$PWD/target/$family/release/comet-run
read -r -a options <<<"$(launch_options)"
own_options=("--transport=$transport" --quiet --out=none) memory=${TMPDIR:-/tmp}
[[ $transport = mpi ]] || own_options+=("--ranks=$ranks")
# Files in memory, so that no disk is compared.
[[ ! -w /dev/shm ]] || memory=/dev/shm
scratch=$(mktemp -d -p "$memory")
[[ $suite != imb-io ]] || own_options+=(--io-dir="$scratch")
[[ $suite != skampi ]] || own_options=("${own_options[@]/--out=none/--out=$scratch/record.jsonl}")
trap clean_up EXIT
# Both sides alike; Open MPI has an option for it.
if [[ $family = mpich && $transport = mpi && $ranks -gt $(nproc) ]]; then
    gcc -shared -fPIC -o "$scratch/yield.so" scripts/mpi-yield.c
    export LD_PRELOAD=$scratch/yield.so
fi
tr , '\n' <<<"$sizes" >"$scratch/lengths"
printf '%s\n' '# Source, Destination' '0, 1' '1, 2' '2, 0' '2, 1' >"$scratch/graph"
# Lengths are counts of bytes, and none is 0.
counted='' counted_options=(-datatype char -count "$(grep -vx 0 "$scratch/lengths" | paste -sd ,)")
[[ ! $suite =~ ^imb-(halo|mt)$ ]] || counted=1
if [[ $suite = imb-mt ]]; then
    export OMP_NUM_THREADS=2
    counted_options+=(-thread_level multiple)
fi
shortest=$(head -n 1 "$scratch/lengths") longest=$(tail -n 1 "$scratch/lengths")

load=$(cut -d ' ' -f 1-3 /proc/loadavg)
folder=$(find_programs)
MPICC=$(tool mpicc) cargo build --release --locked -p comet-run --features mpi --target-dir "target/$family"
[[ $suite != skampi ]] || write_scripts "$folder"
# What has no kernel is not measured by either side.
[[ $suite = skampi || $suite = imb && -n $tables || ${#names[@]} -gt 0 ]] || mapfile -t names < <(common_names)
if [[ -n $tables && ($suite = imb-p2p || -n $counted) ]]; then
    variants=variants_of_p2p
    [[ -z $counted ]] || variants=variants_of_counted
    while read -r -a line; do
        compare_tables "$program" "$(program_of "$program" "$folder")" "${line[@]}"
    done < <("$variants")
    exit
fi
if [[ -n $tables && -n $program ]]; then
    for mode in -1 0 1; do
        compare_tables "$program" "$(program_of "$program" "$folder")" -multi $mode
    done
    exit
fi
if [[ -n $tables ]]; then
    n_other=0
    for name in "${names[@]}"; do
        while read -r -a line; do
            compare_tables "$name" "$(program_of "$name" "$folder")" "${line[@]}" || n_other=1
        done < <(variants_of "$name")
    done
    exit "$n_other"
fi
printf 'machine   %s, %s CPUs, Linux %s, load %s before the build\n' \
    "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$(uname -r)" "$load"
printf 'launcher  %s -n %s %s\n' "$mpiexec" "$ranks" "${options[*]}"
printf 'effort    %s pairs of launches\n' "$pairs"

# A B B A again and again, so that no drift of the machine favours a side.
n=100
while [[ $n -lt $((100 + 2 * pairs)) ]]; do
    for side in peer namesake namesake peer; do
        [[ ! -t 2 ]] || printf '\r%3d of %d launches ' $((n - 99)) $((2 * pairs)) >&2
        words=()
        [[ $side = peer ]] || words=("$comet")
        launch_all_of "${words[@]}" >"$scratch/$n-$side.txt"
        n=$((n + 1))
    done
done
python3 scripts/mpi_fidelity.py "$scratch"/*.txt
