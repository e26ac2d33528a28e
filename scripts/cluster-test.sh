#!/usr/bin/env bash
# Tests comet-run on a cluster of three hosts on this machine (scripts/cluster.sh), with clocks that
# are 1000 s apart and links of known rates: conformance, the whole benchmark, clocks, placement,
# rates, a slow link, a frozen host, a lost host, files. One line for each step with its seconds, and
# the log of a step that failed.
# Usage: scripts/cluster-test.sh [openmpi|mpich|pmix|pmi2]... [--only WORDS]
#   openmpi  Open MPI under its mpirun         pmix  Open MPI under Slurm's srun
#   mpich    MPICH under its mpiexec           pmi2  MPICH under Slurm's srun
# All by default; --only takes the steps whose names contain WORDS. Needs what scripts/mpi-test.sh
# build has built (COMET_BUILD=release for other builds), and root. Where the machine allows no
# namespaces it says so and ends with 0; where there is no Slurm, its part is left out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=${COMET_BUILD:-debug}
cluster=scripts/cluster.sh
# Longest time of a step in seconds; a busy machine is slow.
patience=${COMET_PATIENCE:-300}
slow_host=host3
only=
failed=0 passed=0

# Open MPI refuses root unless it is told otherwise. Ranks share the few cores of this machine.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_btl=tcp,self,vader OMPI_MCA_btl_tcp_if_include=eth0 OMPI_MCA_oob_tcp_if_include=eth0
export OMPI_MCA_hwloc_base_binding_policy=none

main() {
    local ways=() why
    while [[ $# -gt 0 ]]; do
        case $1 in
        openmpi | mpich | pmix | pmi2) ways+=("$1") ;;
        --only) only=${2:?--only needs words} && shift ;;
        *) sed -n '/^# Usage/,/^# All/p' "$0" >&2 && exit 2 ;;
        esac
        shift
    done
    [[ ${#ways[@]} -gt 0 ]] || ways=(openmpi mpich pmix pmi2)
    if ! why=$($cluster possible 2>&1); then
        printf 'not tested on several hosts: %s\n' "${why#error: }"
        return
    fi
    scratch=$(mktemp -d)
    export COMET_CLUSTER="$scratch/cluster"
    trap clean_up EXIT
    rsh="$COMET_CLUSTER/rsh"
    $cluster --keep "$scratch" up 3
    for way in "${ways[@]}"; do
        test_way
    done
    printf '%d passed, %d failed\n' "$passed" "$failed"
    [[ $failed -eq 0 ]]
}

test_way() {
    case $way in
    openmpi | pmix) comet_run="$PWD/target/openmpi/$build/comet-run" ;;
    mpich | pmi2) comet_run="$PWD/target/mpich/$build/comet-run" ;;
    esac
    if [[ ! -x $comet_run ]]; then
        printf 'FAILED  %s: there is no %s (scripts/mpi-test.sh build)\n' "$way" "$comet_run"
        failed=$((failed + 1))
        return
    fi
    if [[ $way == pm* && ! -e $COMET_CLUSTER/slurm.conf ]] && ! why=$($cluster slurm 2>&1); then
        printf 'left out %s: %s\n' "$way" "${why#error: }"
        return
    fi
    step 'transport and kernels are right' checks
    step 'the whole benchmark is verified' measures
    step 'ranks, hosts and machines are known' knows_hosts
    step 'offsets of three clocks are known to their bounds' knows_clocks
    step 'a clock that drifts is known to drift' knows_drift
    step 'rates are those of links, one of which is ten times slower' knows_rates
    step 'the host behind that link is to blame' blames_host
    step 'a frozen host ends the job' loses_host STOP
    step 'a lost host ends the job' loses_host KILL
    step 'results stay on the host of rank 0' keeps_results_on_first
}

# Each step is a job of its own, so that the first failing command ends it.
step() { # NAME COMMAND...
    local name=$1 start=$SECONDS
    shift
    [[ $name == *"$only"* ]] || return 0
    "$@" >"$scratch/log" 2>&1 &
    if wait $!; then
        printf 'ok      %s: %s (%d s)\n' "$way" "$name" $((SECONDS - start))
        passed=$((passed + 1))
    else
        printf 'FAILED  %s: %s (%d s)\n' "$way" "$name" $((SECONDS - start))
        tail -n 60 "$scratch/log" | sed 's/^/    /'
        printf "    repeat: COMET_BUILD=%s scripts/cluster-test.sh %s --only '%s'\n" "$build" "$way" "$name"
        failed=$((failed + 1))
        end_ranks
    fi
}

# Starts comet-run with as many ranks on each host, as a user on host1 does.
launch() { # RANKS_PER_HOST ARGUMENT...
    local per_host=$1 command hosts=host1,host2,host3
    case $way in
    openmpi) command=(mpirun.openmpi --mca plm_rsh_agent "$rsh" --host "host1:$1,host2:$1,host3:$1"
        -n $((3 * per_host))) ;;
    mpich) command=(mpiexec.mpich -launcher ssh -launcher-exec "$rsh" -hosts "$hosts" -ppn "$1"
        -n $((3 * per_host))) ;;
    pmix | pmi2) command=(srun "--mpi=$way" --overcommit -w "$hosts" -N 3 "--ntasks-per-node=$1"
        -n $((3 * per_host))) ;;
    esac
    timeout -k 10 "$patience" $cluster run host1 -- "${command[@]}" "$comet_run" "${@:2}"
}

# The code of a launcher whose ranks ended without MPI_Finalize, where that does not return, is its
# own; a sentence of each rank says so.
launch_on() { # RANKS_PER_HOST ARGUMENT...
    local code=0
    launch "$@" >"$scratch/output" 2>&1 || code=$?
    cat "$scratch/output"
    printf 'exit code %d\n' "$code"
    [[ $code -eq 0 ]] || grep -q 'in MPI_Finalize, .* it ends with code 0' "$scratch/output"
}

checks() {
    launch_on 2 check
    no grep '^FAILED' "$scratch/output"
    grep -q '^ok  *transport:' "$scratch/output"
    grep -q '^ok  *kernel ' "$scratch/output"
}

# Few samples: what is tested is that data arrives and is written down.
measures() {
    local file="$scratch/$way.jsonl"
    rm -f "$file"
    launch_on 2 all --profile quick --samples 3 --repetitions 1 --out "$file"
    "$comet_run" validate "$file"
    "$comet_run" show "$file" >"$scratch/table"
    grep 'nodes: 3' "$scratch/table"
    grep -q '^# 6 ranks' "$scratch/table"
    "$comet_run" report "$file" --out "$scratch/$way.html"
    grep -q 'host3' "$scratch/$way.html"
}

knows_hosts() {
    has_record
    scripts/cluster_test.py hosts "$scratch/$way.jsonl" 2
}

# A short run where the benchmark was left out.
has_record() {
    [[ -s $scratch/$way.jsonl ]] ||
        launch_on 2 barrier --profile quick --samples 3 --format none --out "$scratch/$way.jsonl"
}

knows_clocks() {
    local host offsets=()
    has_record
    for host in host1 host2 host3; do offsets+=("$($cluster offset "$host")"); done
    scripts/cluster_test.py clocks "$scratch/$way.jsonl" "${offsets[@]}"
}

# The clock of host2 runs fast by 100 millionths, from now on.
knows_drift() {
    local file="$scratch/$way-drift.jsonl" comet_run_before=$comet_run from
    rm -f "$file"
    cc -O1 -shared -fPIC -o "$scratch/drifting-clock.so" scripts/drifting-clock.c
    from=$(($(cut -d. -f1 /proc/uptime) + $($cluster offset host2)))
    cat >"$scratch/on-drifting-clocks" <<END
#!/usr/bin/env bash
if [[ \$(hostname) == host2 ]]; then
    export COMET_DRIFT_PPM=100 COMET_DRIFT_FROM=$from
    export LD_PRELOAD=$scratch/drifting-clock.so
fi
exec $comet_run "\$@"
END
    chmod +x "$scratch/on-drifting-clocks"
    comet_run="$scratch/on-drifting-clocks"
    launch_on 2 barrier reduction --profile quick --samples 3 --format none --out "$file"
    comet_run=$comet_run_before
    "$comet_run" validate "$file"
    scripts/cluster_test.py drift "$file" host2 100
}

# Measures all pairs while the link of one host is ten times slower.
look_at_slow_link() { # FILE RANKS_PER_HOST SIZE
    local code=0
    rm -f "$1"
    $cluster rate "$slow_host" 100mbit
    launch "$2" health --profile quick --sizes "$3" --out "$1" >"$scratch/output" 2>&1 || code=$?
    $cluster rate "$slow_host" 1gbit
    cat "$scratch/output"
    printf 'exit code %d\n' "$code"
}

# One rank on each host, so that links are all that is measured.
knows_rates() {
    local file="$scratch/$way-health.jsonl"
    look_at_slow_link "$file" 1 1MiB
    "$comet_run" validate "$file"
    scripts/cluster_test.py rates "$file" "$slow_host" 100 1000
}

# Two of three kinds of pairs are slow, and only one host is to blame. The messages take several times
# as long as ranks wait here for a core that others spin on.
blames_host() {
    look_at_slow_link "$scratch/$way-blame.jsonl" 2 1MiB
    grep "^suspicious: host $slow_host" "$scratch/output"
    # Six ranks on few cores are noisy, which is no matter of links.
    no grep -E '^suspicious: .*host[12].*: 1 MiB:' "$scratch/output"
    no grep -E '^suspicious: host host[12]' "$scratch/output"
}

# Stops the ranks of host2 in the middle of a run that would take minutes, or kills all of the job
# there: ranks, guards, and most of what started them.
loses_host() { # SIGNAL
    local file="$scratch/$way-$1.jsonl" code=0 start=$SECONDS job victims
    rm -f "$file"
    launch 2 all --profile full --format none --watchdog 10s --out "$file" >"$scratch/output" 2>&1 &
    job=$!
    # Points are written kernel by kernel, which takes long here.
    eventually has_begun "$file" "$job"
    sleep 3
    mapfile -t victims < <(victims_of "$1")
    [[ ${#victims[@]} -gt 0 ]]
    kill "-$1" "${victims[@]}"
    # With PMI2 srun waits for the step daemon of that host, which is gone, for more than 5 minutes
    # after all ranks have ended, as its administrator has to end it then.
    if [[ $way == pmi2 && $1 == KILL ]]; then
        eventually has_no_ranks
        $cluster run host1 -- scancel --user root
    fi
    wait $job || code=$?
    cat "$scratch/output"
    printf 'exit code %d\n' "$code"
    # Not by timeout, whose codes are those of launchers too.
    [[ $code -ne 0 && $((SECONDS - start)) -lt $patience ]]
    # Ranks 2 and 3 are on that host.
    grep -E '(rank|peer)s? [23]|host2|10\.77\.0\.2' "$scratch/output"
    eventually has_no_ranks
    # Every line can be read, and the run did not end by itself.
    code=0
    "$comet_run" validate "$file" || code=$?
    [[ $code -eq 4 ]]
}

victims_of() { # SIGNAL
    local pid
    if [[ $1 == STOP ]]; then
        $cluster pids host2 comet-run
        return
    fi
    # The daemon of Slurm is a part of the host. Without its proxy mpiexec fails an assertion, and
    # kills all ranks before any of them can say what it waits for.
    for pid in $($cluster pids host2); do
        case $(cat "/proc/$pid/comm" 2>/dev/null) in
        slurmd | hydra_pmi_proxy) ;;
        *) printf '%s\n' "$pid" ;;
        esac
    done
}

# The folder is on one host that is not the first; only the first needs one.
keeps_results_on_first() {
    local file=/tmp/comet-only-here/$way.jsonl
    $cluster run host2 -- mkdir -p /tmp/comet-only-here
    launch_on 1 barrier --profile quick --samples 3 --format none --out "$file"
    $cluster run host1 -- "$comet_run" validate "$file"
    no $cluster run host2 -- test -e "$file"
    no $cluster run host3 -- test -e /tmp/comet-only-here
}

# Fails where a command succeeds, which `!` does not under errexit.
no() { # COMMAND...
    if "$@"; then
        printf 'unexpected: %s\n' "$*"
        return 1
    fi
}

eventually() { # COMMAND...
    local tries
    for ((tries = 0; tries < 10 * patience; tries++)); do
        if "$@"; then
            return
        fi
        sleep 0.1
    done
    printf 'not in %d s: %s\n' "$patience" "$*"
    return 1
}

# True if a job has written its first record, or is over.
has_begun() { # FILE JOB
    [[ -f $1 ]] && grep -q '"type":"run"' "$1" || ! kill -0 "$2" 2>/dev/null
}

ranks() {
    local host
    for host in host1 host2 host3; do $cluster pids "$host" comet-run; done
}

has_no_ranks() {
    [[ -z $(ranks) ]]
}

end_ranks() {
    ranks | xargs -r kill -KILL 2>/dev/null || true
}

clean_up() {
    $cluster down
    rm -rf "$scratch"
}

main "$@"
