#!/usr/bin/env bash
# Tests comet-run under the launchers of Open MPI and MPICH: conformance, the whole benchmark,
# refusals, lost ranks. One line for each step, and the log of a step that failed.
# Usage: scripts/mpi-test.sh [build] [openmpi|mpich]...
# Needs what scripts/setup-mpi.sh installs. Without a family both are tested; `build` only builds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Open MPI refuses root, and more ranks than CPUs, unless it is told otherwise.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1                      # Open MPI 4
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe     # Open MPI 5

with_mpi=(--locked -p comet-mpi -p comet-run -p comet-measure --features "comet-run/mpi comet-measure/mpi")
without_mpi="${CARGO_TARGET_DIR:-target}/debug"
failed=0
declare -A jobs begun

main() {
    local action=test_family
    if [[ ${1-} == build ]]; then
        action=build
        shift
    fi
    local families=("$@")
    if [[ $# -eq 0 ]]; then
        families=(openmpi mpich)
    fi
    for family in "${families[@]}"; do
        other_of "$family" >/dev/null
    done
    scratch=$(mktemp -d)
    trap clean_up EXIT
    for family in "${families[@]}"; do
        "$action" "$family"
    done
    if [[ $failed -gt 0 ]]; then
        printf '%d steps failed\n' "$failed"
        exit 1
    fi
    printf 'all steps passed: %s\n' "${families[*]}"
}

other_of() { # FAMILY
    case $1 in
    openmpi) echo mpich ;;
    mpich) echo openmpi ;;
    *) printf 'usage: scripts/mpi-test.sh [openmpi|mpich]...\n' >&2 && return 2 ;;
    esac
}

test_family() { # FAMILY
    comet_run="target/$1/debug/comet-run"
    mpirun="mpirun.$1"
    build "$1"
    # Ranks of MPICH that share a CPU would spin.
    local -x LD_PRELOAD=''
    if [[ $1 == mpich ]]; then
        gcc -shared -fPIC -o "$scratch/yield.so" scripts/mpi-yield.c
        LD_PRELOAD=$scratch/yield.so
    fi
    # Half a minute in which nothing computes.
    begin init misses_rank_in_init
    for n in 1 2 3 4 7; do
        step "$1 -n $n: transport and kernels are right" launch "$n" check
        step "$1 -n $n: the whole benchmark runs" measure "$n"
    done
    step "$1 -n 3: the kernels of imb, imb-nbc, imb-mpi4 and osu are right" launch 3 check imb imb-nbc imb-mpi4 osu
    step "$1 -n 4: collectives and transfers of long counts are right, or refused; so are those of integers" has_long_counts "$1"
    step "$1 -n 3: the graph of neighbours has a time, and each datatype a table" has_graph
    step "$1 -n 3: messages have the datatype of their table" has_types "$1"
    step "$1 -n 2 and 3: messages have the layout of -D, and nothing is written between its blocks" has_layouts "$1"
    step "$1 -n 2: kernels of files are right, and leave none" has_files
    step "$1: help, list and usage errors are printed once" prints_once
    step "$1: the launcher of another MPI is refused" refuses_launcher "mpirun.$(other_of "$1")" 'Hydra.*Open MPI|Open MPI.*MPICH'
    step "$1: a program without MPI is refused" refuses_plain
    step "$1: a killed rank ends the job" loses_rank KILL --watchdog 0
    step "$1: a stopped rank is missed, and named" misses_rank
    finish init "$1: a rank that stops before it joins is missed"
    step "$1: ranks end although MPI_Finalize does not return" ends_without_finalize
    step "$1: a whole job is launched three times, as one run" launches
    step "$1: thread levels are recorded, and one for other transports is refused" has_levels
    step "$1 -n 2: threads of a rank have lanes of their own at MPI_THREAD_MULTIPLE, and are refused below" has_threads
    step "$1: ranks 0 and 1 time the cache line that they share, if each has a core" times_line
    step "$1: the file of algorithms is obeyed, length by length" obeys_selection "$1"
    step "$1: a program measures over a communicator of its own" measures_inside "target/$1/debug/examples/inside_mpi"
}

step() { # NAME COMMAND...
    begin step "${@:2}"
    finish step "$1"
}

# Starts a step: a job and a folder of its own, so that the first failing command ends it and others
# can run beside it.
begin() { # FOLDER COMMAND...
    local scratch="$scratch/$1"
    mkdir -p "$scratch"
    "${@:2}" >"$scratch/log" 2>&1 &
    jobs[$1]=$! begun[$1]=$SECONDS
}

finish() { # FOLDER NAME
    if wait "${jobs[$1]}"; then
        printf 'ok      %s (%d s)\n' "$2" $((SECONDS - begun[$1]))
    else
        printf 'FAILED  %s\n' "$2"
        sed 's/^/    /' "$scratch/$1/log"
        failed=$((failed + 1))
    fi
}

# Cargo does not rebuild for another mpicc, so each MPI has a target folder of its own. It begins as
# a copy of the one without MPI, so that only what the feature changes is compiled.
build() { # FAMILY
    printf 'building for %s\n' "$1"
    if [[ ! -d target/$1/debug && -d $without_mpi ]]; then
        mkdir -p "target/$1"
        cp -a --reflink=auto "$without_mpi" "target/$1/debug"
    fi
    MPICC="mpicc.$1" cargo build "${with_mpi[@]}" --lib --bins --example inside_mpi --target-dir "target/$1"
}

# As if an `int` held no more than a few elements, which needs no memory.
has_long_counts() { # FAMILY
    local runner="target.'cfg(all())'.runner=['timeout', '-k', '10', '300', 'mpirun.$1', '-n', '4']"
    MPICC="mpicc.$1" cargo --config "$runner" test "${with_mpi[@]}" --test conformance --target-dir "target/$1" -- long_counts
}

has_files() {
    # The folder of a step is there for both libraries.
    local folder
    folder=$(mktemp -d -p "$scratch")
    mkdir "$folder/io"
    launch 2 imb-io -s 17 --axis work_us=20 --samples 3 -q --io-dir "$folder/io" --io-cache drop \
        --io-hint cb_nodes=1 --out "$folder/io.jsonl"
    # One, 9 reads, 9 writes in two modes, and 18 beside work, of three series each.
    [[ $(grep -c '"status":"ok"' "$folder/io.jsonl") -eq $((1 + 9 + 2 * 9 + 3 * 18)) ]]
    [[ -z $(ls -A "$folder/io") ]]
    # A file system that refuses fails the case, and the run goes on.
    ends_with 4 launch 2 imb-io/p_write_expl barrier -s 0 --samples 3 --io-dir /proc --out "$folder/none.jsonl"
    grep -q 'cannot open /proc/comet-io-' "$folder/none.jsonl"
    grep -q '"status":"ok"' "$folder/none.jsonl"
    # A job that is killed as a whole leaves none either.
    local job file="$folder/killed.jsonl"
    launch 2 imb-io/p_write_expl -s 4Ki --samples 1000000 --watchdog 0 -q --io-dir "$folder/io" --out "$file" &
    job=$!
    eventually has_any "$folder/io"
    ranks_of "$file" | without_guards | xargs kill -KILL
    if wait "$job"; then return 1; fi
    eventually has_none "$folder/io"
}

has_any() { # FOLDER
    [[ -n $(ls -A "$1") ]]
}

has_none() { # FOLDER
    ! has_any "$1"
}

has_graph() {
    launch 3 osu_neighbor_alltoallw -m 4:8 -i 5 -T all -c >"$scratch/osu"
    grep -E '^Time took to create topology graph:[0-9]+[.][0-9]{2} us[.]$' "$scratch/osu"
    [[ $(grep -c '^[48] .*Pass$' "$scratch/osu") -eq 6 ]]
}

# 8 bytes are two integers: in messages, in parts with lengths, in parts with types, and in whatever moves
# data in IMB-MPI1, whose reductions have another type in the same run.
has_types() { # FAMILY
    local of call
    local calls=(Send Recv Isend Irecv Sendrecv Bcast Gather Gatherv Scatter Scatterv Allgather Allgatherv Alltoall Alltoallv)
    "mpicc.$1" -shared -fPIC -o "$scratch/types.so" scripts/mpi-types.c
    for of in latency:Send gatherv:Gatherv neighbor_alltoallw:Neighbor_alltoallw; do
        call=${of#*:}
        with_types "$([[ $call = Send ]] && echo 2 || echo 3)" "osu_${of%:*}" -m 8:8 -i 2 -x 1 -T mpi_int
        grep -q "^MPI_$call 2 MPI_INT32_T" "$scratch/types"
    done
    with_types 2 IMB-MPI1 PingPong Sendrecv Exchange Uniband Reduce Bcast {Gather,Scatter,Allgather,Alltoall}{,v} -msgsize 8 -iter 2 -data_type int -red_data_type float
    for call in "${calls[@]}"; do
        grep -q "^MPI_$call 2 MPI_INT32_T" "$scratch/types" || { echo "MPI_$call has no integers" && return 1; }
    done
    grep -q '^MPI_Reduce 2 MPI_FLOAT' "$scratch/types"
}

# 64 bytes are 16 integers, whose vector has two blocks of 4, one every 8. Each program prints Pass where the
# blocks have arrived and the gaps are as they were.
has_layouts() { # FAMILY
    local program of
    "mpicc.$1" -shared -fPIC -o "$scratch/types.so" scripts/mpi-types.c
    printf '# start, length\n2,3\n8,2\n' >"$scratch/blocks"
    for program in latency bw bibw {latency,bw,bibw}_persistent mbw_mr multi_lat bcast {gather,scatter,allgather,alltoall}{,v} alltoallw; do
        passes 2 "$program" vect:8:4
    done
    for of in cont "indx:$scratch/blocks"; do
        passes 2 bw "$of"
        passes 2 alltoallv "$of"
    done
    passes 3 neighbor_alltoallw vect:8:4
    with_types 2 osu_latency -m 64:64 -i 2 -x 1 -T mpi_int -D vect:8:4
    grep -q '^MPI_Send 1 vector 2 4 8$' "$scratch/types"
    with_types 2 osu_gatherv -m 64:64 -i 2 -x 1 -T mpi_int -D cont
    grep -q '^MPI_Gatherv 1 contiguous 16$' "$scratch/types"
    with_types 2 osu_alltoallv -m 64:64 -i 2 -x 1 -D "indx:$scratch/blocks"
    grep -q '^MPI_Alltoallv 1 other' "$scratch/types"
    # Any two layouts, in each kernel that has some; others are refused.
    local suites=(comet naive parkbench model health imb imb-nbc imb-mpi4 imb-p2p osu skampi)
    for of in 2 3; do
        launch "$of" "${suites[@]}" --layout vector:2:4,indexed,struct:to:vector:1:3,mpi_packed:mixed --sizes 96 \
            --samples 2 --repetitions 2 --launches 1 --mem 64Mi --quiet --format none --out "$scratch/laid-$1-$of.jsonl"
        "$comet_run" show "$scratch/laid-$1-$of.jsonl" --format csv >"$scratch/laid.csv"
        ! grep -E ',(check_failed|failed),' "$scratch/laid.csv" || return 1
        [[ $(grep -c ',ok,' "$scratch/laid.csv") -gt 300 ]] || { echo 'few kernels have layouts' && return 1; }
    done
    # A timed construction is one call of the constructor that its name says.
    for of in contiguous vector indexed struct; do
        with_types 1 skampi/commit --axis "constructor=$of" --sizes 768 --samples 2 --repetitions 50 --launches 1 \
            --quiet --out none --format none
        awk -v of="$of" '{ n[$1]++; n_all += /Type_(contiguous|vector|indexed|create|get)/ }
            END { own = n["MPI_Type_" of] + n["MPI_Type_create_" of]
                if (own < 100 || n_all > own + 20) { print of ": " own " of " n_all " calls"; exit 1 } }' "$scratch/types"
    done
    # The transport of ranks that share memory has no such types.
    ends_with 2 "$comet_run" osu/bw_persistent -t shm --layout vect:8:4
    prints 1 'needs derived datatypes'
}

passes() { # RANKS PROGRAM LAYOUT
    launch "$1" "osu_$2" -m 4:64 -i 5 -c -D "$3" -T mpi_char,mpi_int >"$scratch/osu"
    [[ $(grep -c '^[0-9].*Pass' "$scratch/osu") -eq 10 ]] || { cat "$scratch/osu" && return 1; }
}

with_types() { # RANKS ARGUMENT...
    timeout -k 10 300 "$mpirun" -n "$1" env "LD_PRELOAD=$scratch/types.so" "$comet_run" "${@:2}" 2>"$scratch/types"
}

launch() { # RANKS ARGUMENT...
    timeout -k 10 300 "$mpirun" -n "$1" "$comet_run" "${@:2}"
}

measures_inside() { # PROGRAM
    timeout -k 10 60 "$mpirun" -n 2 "$1" | grep -E '^[0-9]+ ns \(95 % interval .* samples\)$'
}

measure() { # RANKS
    local file="$scratch/$mpirun-$1.jsonl"
    launch "$1" all imb --profile quick --out "$file"
    "$comet_run" validate "$file"
}

prints_once() {
    ends_with 0 launch 4 --help
    prints 1 '^Usage:'
    ends_with 0 launch 4 list
    prints 1 '^all = '
    ends_with 2 launch 4 nonsense
    prints 1 '^error:'
}

refuses_launcher() { # LAUNCHER PATTERN
    mpirun=$1
    ends_with 5 launch 2 all --profile quick --out none
    prints 1 "$2"
}

refuses_plain() {
    comet_run=$without_mpi/comet-run
    [[ -x $comet_run ]] || cargo build --locked
    ends_with 5 launch 4 all --profile quick --out none
    prints 1 'built without MPI'
}

times_line() {
    local file="$scratch/$mpirun-line" n
    for n in 2 $(($(nproc) + 1)); do
        launch "$n" echo -s 8 --hops 1 --profile quick --format none --out "$file-$n.jsonl"
    done
    if [[ $(nproc) -ge 2 ]]; then
        grep -q '"line_ns":[0-9]' "$file-2.jsonl"
    fi
    # Neither a time where ranks share cores, nor a name that stays.
    if grep '"line_ns":[0-9]' "$file-$(($(nproc) + 1)).jsonl" || ls /dev/shm/comet-line-*; then
        return 1
    fi
}

# Every line can be read, and the run did not end by itself.
ended_early() { # FILE
    local code=0
    "$comet_run" validate "$1" || code=$?
    [[ $code -eq 4 ]]
}

# Sends a signal to the last rank of a run that would take minutes.
loses_rank() { # SIGNAL ARGUMENT...
    local file="$scratch/$mpirun-$1.jsonl" code=0 job pids
    launch 4 all --profile full --format none --out "$file" "${@:2}" >"$scratch/output" 2>&1 &
    job=$!
    # Points are written kernel by kernel, which takes more than a minute here.
    eventually has_begun "$file"
    sleep 2
    mapfile -t pids < <(ranks_of "$file" | without_guards)
    kill "-$1" "${pids[-1]}"
    wait $job || code=$?
    cat "$scratch/output"
    printf 'exit code %d\n' "$code"
    # The code 124 is that of timeout: the job went on.
    [[ $code -ne 0 && $code -ne 124 ]]
    eventually has_no_ranks "$file"
    ended_early "$file"
}

misses_rank() {
    loses_rank STOP --watchdog 2s
    # Each rank that waits may be reported.
    grep -qE 'rank [0-9]+ of 4 .*(comet|matrix)/' "$scratch/output"
    grep -qE 'rank [0-9]+ of 4 is stopped by a signal' "$scratch/output"
}

# The second of two processes stops before it becomes comet-run.
misses_rank_in_init() {
    local file="$scratch/$mpirun-init.jsonl" code=0
    # shellcheck disable=SC2016 # the shell of each rank expands them
    local stop='[[ ${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-}} = 0 ]] || kill -STOP $$; exec "$@"'
    timeout -k 10 300 "$mpirun" -n 2 bash -c "$stop" - "$comet_run" all --watchdog 2s \
        --out "$file" >"$scratch/output" 2>&1 || code=$?
    cat "$scratch/output"
    printf 'exit code %d\n' "$code"
    [[ $code -ne 0 && $code -ne 124 ]]
    grep -q 'rank 0 of 2 waits for the other ranks in MPI_Init' "$scratch/output"
    eventually is_gone "$file"
}

# Everything is measured and written, so that each rank ends with its own code and one sentence.
# Launchers may complain about processes that end without MPI_Finalize, and their codes differ.
ends_without_finalize() {
    local file="$scratch/$mpirun-finalize.jsonl" code=0
    printf '#include <unistd.h>\nint MPI_Finalize(void) { for (;;) pause(); }\n' >"$scratch/stuck.c"
    gcc -shared -fPIC -o "$scratch/stuck.so" "$scratch/stuck.c"
    timeout -k 10 300 "$mpirun" -n 2 env LD_PRELOAD="$scratch/stuck.so" "$comet_run" echo \
        --profile quick --watchdog 2s --out "$file" >"$scratch/output" 2>&1 || code=$?
    [[ $code -ne 124 ]]
    prints 2 '^note: rank [01] of 2 waits .* in MPI_Finalize, .* it ends with code 0\)$'
    "$comet_run" validate "$file"
    eventually has_no_ranks "$file"
}

launches() {
    local file="$scratch/$mpirun-launches.jsonl"
    ends_with 0 timeout -k 10 300 "$comet_run" launches -n 3 --out "$file" -- \
        "$mpirun" -n 2 "$comet_run" echo --profile quick -s 8 --hops 1
    prints 1 'median_us    \+-%'
    grep '"type":"point"' "$file" | grep -qE '"launches":\{"quoted_ns":\[[^],]+,[^],]+,[^],]+\]'
    "$comet_run" validate "$file"
    # One job is one launch.
    ends_with 0 launch 2 echo --profile quick -s 8 --hops 1 --out none
    prints 1 'median_us this launch'
}

has_levels() {
    local file="$scratch/$mpirun-level"
    launch 2 barrier --profile quick --format none --out "$file-1.jsonl"
    launch 2 barrier --profile quick --format none --out "$file-2.jsonl" --thread-level funneled
    grep -q '"thread_level":"single"' "$file-1.jsonl"
    grep -q '"thread_level":"funneled"' "$file-2.jsonl"
    ends_with 2 "$comet_run" barrier -t shm --thread-level single
    prints 1 'is for -t mpi'
}

has_threads() {
    local file="$scratch/$mpirun-threads.jsonl"
    launch 2 check imb-mt --thread-level multiple
    ends_with 0 launch 2 patterns/interrupt_receive patterns/active_message -s 8,4Ki --threads 1,2 \
        --thread-level multiple --samples 3 --quiet --out "$scratch/$mpirun-handlers.jsonl"
    ends_with 0 launch 2 IMB-MT -thread_level multiple -count 1,2048 -repeat 10 -warmup 2 --threads=2 --out "$file"
    prints 10 '^# #processes = 2 \(threads: 2\)$'
    "$comet_run" validate "$file"
    grep -q '"ranks":\[0,0,1,1\]' "$file"
    ends_with 6 launch 2 imb-mt/pingpong -s 8 --threads 2 --out none
    prints 1 'threads need MPI_THREAD_MULTIPLE'
}

# The library runs with the file that algorithms makes for it, and an impossible choice in that file
# ends the job at the length that it is for, and at no other.
obeys_selection() { # FAMILY
    local file="$scratch/selection-$1"
    "$comet_run" algorithms allgather --machine dahu-opa -n 4 --algorithm ring,recursive_doubling,bruck \
        --profile quick --quiet --out "$file.jsonl" >/dev/null
    "$comet_run" algorithms --from "$file.jsonl" --format "$1" >"$file.good"
    if [[ $1 == openmpi ]]; then
        # No algorithm has this number.
        sed -E '$s/^([0-9]+) [0-9]+/\1 99/' "$file.good" >"$file.bad"
    else
        # Recursive doubling stops on 3 ranks. The longest lengths of other numbers than powers of two.
        sed '/"collective=allgather"/,/"comm_type=inter"/ { /"comm_size=any"/,$ { /"total_msg_size=any"/,+1 {
            s/Allgather_intra_[a-z_]*/Allgather_intra_recursive_doubling/ } } }' "$file.good" >"$file.bad"
    fi
    gathers "$file.good" 8,8Ki,64Ki
    gathers "$file.bad" 8Ki
    # In a condition a failure would end nothing.
    local code=0
    (gathers "$file.bad" 64Ki) || code=$?
    [[ $code -ne 0 && $code -ne 124 ]]
}

gathers() { # FILE LENGTHS
    export OMPI_MCA_coll_tuned_use_dynamic_rules=1 OMPI_MCA_coll_tuned_dynamic_rules_filename=$1
    export MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE=$1
    launch 3 imb/allgather --sizes "$2" --profile quick --out none
}

# Keeps what a command prints in a file.
ends_with() { # CODE COMMAND...
    local code=0
    "${@:2}" >"$scratch/output" 2>&1 || code=$?
    if [[ $code -ne $1 ]]; then
        cat "$scratch/output"
        printf 'exit code %d instead of %d: %s\n' "$code" "$1" "${*:2}"
        return 1
    fi
}

# Counts lines of that file.
prints() { # TIMES PATTERN
    local times
    times=$(grep -cE "$2" "$scratch/output" || true)
    if [[ $times -ne $1 ]]; then
        cat "$scratch/output"
        printf '%d lines instead of %d match: %s\n' "$times" "$1" "$2"
        return 1
    fi
}

eventually() { # COMMAND...
    local tries
    for ((tries = 0; tries < 600; tries++)); do
        if "$@"; then
            return
        fi
        sleep 0.1
    done
    printf 'not in a minute: %s\n' "$*"
    return 1
}

has_begun() { # FILE
    [[ -f $1 ]] && grep -q '"type":"run"' "$1"
}

is_gone() { # FILE
    ! pgrep -f "$1"
}

has_no_ranks() { # FILE
    [[ -z $(ranks_of "$1") ]]
}

# The file is named by this script alone; the launcher names it too, but not first. The guards of
# ranks have the same words.
ranks_of() { # FILE
    pgrep -f "^target/.*/comet-run .*$1" || true
}

# Those of the processes on standard input that are ranks.
without_guards() {
    local pid
    while read -r pid; do
        [[ $(cat "/proc/$pid/comm" 2>/dev/null) =~ ^comet-(guard|keeper)$ ]] || printf '%s\n' "$pid"
    done
}

clean_up() {
    ranks_of "$scratch" | xargs -r kill -KILL
    rm -rf "$scratch"
}

main "$@"
