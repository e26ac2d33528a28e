#!/usr/bin/env bash
# A cluster on one machine: hosts in Linux namespaces, each with a host name, a network interface, a
# loopback, a monotonic clock, /dev/shm and /tmp of its own, behind one switch.
# Usage: scripts/cluster.sh [--state FOLDER] [--keep FOLDER]... up N    N hosts, host1 to hostN
#        scripts/cluster.sh run HOST -- COMMAND...     COMMAND on HOST, in this folder if HOST has it
#        scripts/cluster.sh rate HOST RATE|none        limit of the link of HOST (100mbit), both ways
#        scripts/cluster.sh slurm                      starts Slurm on the hosts that are up
#        scripts/cluster.sh pids HOST [NAME]           processes on HOST, or those called NAME
#        scripts/cluster.sh offset HOST                seconds by which its monotonic clock is ahead
#        scripts/cluster.sh possible                   exit code 0, or a sentence why not
#        scripts/cluster.sh down                       ends all processes on the hosts
# The state is one folder: --state, or COMET_CLUSTER, or comet-cluster in the folder for temporary
# files. FOLDER/rsh is a remote shell for launchers, host0 the name of the switch.
# Folders below /tmp are hidden by the /tmp of a host, but for the state, this repository and --keep.
# Needs root, iproute2 and util-linux; `slurm` needs slurmctld, slurmd and munge.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
script="$here/$(basename "${BASH_SOURCE[0]}")"
state=${COMET_CLUSTER:-${TMPDIR:-/tmp}/comet-cluster}
kept=("$(dirname "$here")")
# Addresses exist inside the namespaces only.
network=10.77.0
switch_address=$network.254
# Difference of the monotonic clocks of neighbours, in seconds.
clock_step=1000
link_rate=1gbit
# All namespaces of a host but that of process numbers: launchers and guards see one numbering.
namespaces=(--net --uts --mount --ipc --time)

main() {
    while [[ ${1-} == --* ]]; do
        case $1 in
        --state) state=${2:?--state needs a folder} ;;
        --keep) kept+=("$(realpath "${2:?--keep needs a folder}")") ;;
        *) usage ;;
        esac
        shift 2
    done
    local action=${1-}
    [[ $# -eq 0 ]] || shift
    case $action:$# in
    up:1 | rate:2 | offset:1 | slurm:0 | possible:0 | down:0 | pids:[12]) "$action" "$@" ;;
    run:*)
        [[ $# -ge 3 && $2 == -- ]] || usage
        run "$1" "${@:3}"
        ;;
    # Started by `up` in the namespaces of a host.
    be:[12]) be "$@" ;;
    *) usage ;;
    esac
}

usage() {
    sed -n '/^# Usage/,/down  /s/^# //p' "$script" >&2
    exit 2
}

fail() {
    printf 'error: %s\n' "$1" >&2
    exit 1
}

possible() {
    local tool
    [[ $EUID -eq 0 ]] || fail "a cluster of namespaces needs root (sudo scripts/cluster.sh ...)"
    for tool in ip tc unshare nsenter setsid; do
        command -v "$tool" >/dev/null || fail "there is no $tool (apt install iproute2 util-linux)"
    done
    unshare "${namespaces[@]}" --monotonic 1 --fork true 2>/dev/null ||
        fail "this machine allows no namespaces (net, uts, mount, ipc, time)"
    unshare --net bash -c 'ip link add end0 type veth peer name end1 && ip link add switch type bridge &&
        tc qdisc add dev end0 root tbf rate 1gbit burst 32k latency 20ms' 2>/dev/null ||
        fail "this kernel has no veth pairs, bridges or token buckets (modules veth, bridge, sch_tbf)"
}

up() { # N
    [[ $1 =~ ^[1-9][0-9]?$ ]] || fail "up needs a number of hosts from 1 to 99, got $1"
    local n=$1 k
    possible
    [[ ! -e $state ]] || fail "$state is there already (scripts/cluster.sh --state $state down)"
    mkdir -p "$state"
    state=$(realpath "$state")
    trap down EXIT
    {
        printf '127.0.0.1 localhost\n%s host0\n' "$switch_address"
        for ((k = 1; k <= n; k++)); do printf '%s.%d host%d\n' "$network" "$k" "$k"; done
    } >"$state/hosts"
    write_remote_shell
    start_host host0 0
    run host0 bash -c "ip link add switch type bridge && ip link set switch up &&
        ip addr add $switch_address/24 dev switch"
    for ((k = 1; k <= n; k++)); do
        start_host "host$k" $((k * clock_step))
        run host0 bash -c "ip link add port$k type veth peer name eth0 netns $(pid_of "host$k") &&
            ip link set port$k master switch up"
        run "host$k" bash -c "ip addr add $network.$k/24 dev eth0 && ip link set eth0 up"
        rate "host$k" "$link_rate"
    done
    trap - EXIT
    printf '%d hosts are up: scripts/cluster.sh --state %s run host1 -- COMMAND\n' "$n" "$state"
}

# Starts the process that holds the namespaces of a host, and waits until it has made it ready.
start_host() { # HOST OFFSET
    local log="$state/$1.log" keeps=() path k
    for path in "${kept[@]}"; do keeps+=(--keep "$path"); done
    setsid unshare "${namespaces[@]}" --monotonic "$2" --fork \
        "$script" --state "$state" "${keeps[@]}" be "$1" </dev/null >"$log" 2>&1 &
    for ((k = 0; k < 200; k++)); do
        # It is written before the process is the one that holds them.
        [[ ! -s $state/$1.ready ]] || ! (pid_of "$1") >/dev/null 2>&1 || return 0
        kill -0 $! 2>/dev/null || break
        sleep 0.05
    done
    fail "$1 did not start: $(cat "$log")"
}

# Makes the namespaces of this process a host, and holds them until `down`.
be() { # HOST
    local folder="$state/$1.tmp" path
    hostname "$1"
    mount --make-rprivate /
    mount -t tmpfs -o mode=1777 tmpfs /dev/shm
    mkdir -p "$folder"
    mount -t tmpfs -o mode=1777 tmpfs "$folder"
    for path in "$state" "${kept[@]}"; do
        [[ $path == /tmp/* ]] || continue
        mkdir -p "$folder/${path#/tmp/}"
        mount --bind "$path" "$folder/${path#/tmp/}"
    done
    mount --move "$folder" /tmp
    mount --bind "$state/hosts" /etc/hosts
    ip link set lo up
    printf '%d\n' $$ >"$state/$1.ready"
    exec sleep infinity
}

# A remote shell as launchers want one: options, a host, a command. A command starts as over a
# network: without the variables of its launcher.
write_remote_shell() {
    cat >"$state/rsh" <<END
#!/usr/bin/env bash
while [[ \${1-} == -* ]]; do
    case \$1 in -l | -p | -o | -i | -F) shift 2 ;; *) shift ;; esac
done
host=\$1
shift
cd / && exec env -i PATH="\$PATH" HOME="\$HOME" $script --state $state run "\$host" -- bash -c "\$*"
END
    chmod +x "$state/rsh"
}

run() { # HOST COMMAND...
    local pid
    pid=$(pid_of "$1")
    # shellcheck disable=SC2016 # the shell on the host expands them
    local there='cd "$1" 2>/dev/null || cd /; shift; exec "$@"'
    [[ ! -e $state/slurm.conf ]] || export SLURM_CONF="$state/slurm.conf"
    nsenter --target "$pid" "${namespaces[@]}" -- bash -c "$there" - "$PWD" "${@:2}"
}

# The process that holds the namespaces of a host.
pid_of() { # HOST
    local pid
    pid=$(cat "$state/$1.ready" 2>/dev/null) || fail "there is no host $1 in $state"
    [[ $(readlink "/proc/$pid/ns/uts") != $(readlink /proc/1/ns/uts) &&
        $(tr '\0' ' ' <"/proc/$pid/cmdline") == 'sleep infinity ' ]] 2>/dev/null ||
        fail "the process $pid of $1 is gone (scripts/cluster.sh --state $state down)"
    printf '%d\n' "$pid"
}

rate() { # HOST RATE|none
    local change="replace" limit=(tbf rate "$2" burst 64k latency 20ms)
    [[ $2 != none ]] || change=del limit=()
    # A token bucket limits what leaves an interface, so that a link has one at each end.
    run "$1" tc qdisc "$change" dev eth0 root "${limit[@]}"
    run host0 tc qdisc "$change" dev "port${1#host}" root "${limit[@]}"
}

offset() { # HOST
    awk '$1 == "monotonic" { print $2 }' "/proc/$(pid_of "$1")/timens_offsets"
}

# Processes whose network is that of the host: a number of a namespace is not used again as long as
# the process that holds it is there.
pids() { # HOST [NAME]
    local holder network_of_host process
    holder=$(pid_of "$1")
    network_of_host=$(readlink "/proc/$holder/ns/net")
    for process in /proc/[0-9]*; do
        [[ $(readlink "$process/ns/net" 2>/dev/null) == "$network_of_host" ]] || continue
        [[ ${process#/proc/} != "$holder" ]] || continue
        [[ $# -lt 2 || $(cat "$process/comm" 2>/dev/null) == "$2" ]] || continue
        printf '%s\n' "${process#/proc/}"
    done
}

# One daemon of Munge for all hosts, the controller on host0, a daemon on each other host. Their
# processes belong to the hosts, and end with them.
slurm() {
    local tool host k
    for tool in munged slurmctld slurmd sinfo; do
        command -v "$tool" >/dev/null ||
            fail "there is no $tool (scripts/setup-mpi.sh slurm, or apt install slurmctld slurmd slurm-client munge)"
    done
    write_slurm_conf
    (umask 077 && head -c 1024 /dev/urandom >"$state/munge.key")
    # The folder of the state may be writable for all, as /tmp is; this key opens nothing else.
    run host0 munged --force --key-file="$state/munge.key" --socket="$state/munge.socket" \
        --pid-file="$state/munge.pid" --log-file="$state/munge.log" --seed-file="$state/munge.seed"
    mkdir -p "$state/slurmctld"
    run host0 slurmctld -D >"$state/slurmctld.log" 2>&1 </dev/null &
    for host in $(hosts); do
        run "$host" slurmd -D -N "$host" >"$state/$host.slurmd.log" 2>&1 </dev/null &
    done
    for ((k = 0; k < 300; k++)); do
        [[ $(run host0 sinfo -h -N -t idle -o %N 2>/dev/null | sort -u) != "$(hosts)" ]] || return 0
        sleep 0.2
    done
    fail "Slurm has no idle nodes after a minute: $(tail -n 3 "$state"/slurmctld.log "$state"/*.slurmd.log)"
}

# The hosts but the switch, in the order of their names.
hosts() {
    local file
    for file in "$state"/host*.ready; do basename "$file" .ready; done | grep -vx host0 | sort
}

write_slurm_conf() {
    local host
    cat >"$state/slurm.conf" <<END
ClusterName=comet
SlurmctldHost=host0($switch_address)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$state/munge.socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
StateSaveLocation=$state/slurmctld
SlurmctldPidFile=$state/slurmctld.pid
SlurmdPidFile=$state/%n.slurmd.pid
SlurmdSpoolDir=/tmp/slurmd
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
    for host in $(hosts); do
        printf 'NodeName=%s NodeAddr=%s.%s CPUs=4 State=UNKNOWN\n' "$host" "$network" "${host#host}"
    done >>"$state/slurm.conf"
}

# Ends what runs on the hosts, then the hosts; links end with their namespaces.
down() {
    local ready host pids signal
    [[ -d $state ]] || return 0
    [[ -e $state/hosts && -e $state/rsh ]] || fail "$state is no state of a cluster (name another with --state)"
    for signal in TERM KILL; do
        for ready in "$state"/host*.ready; do
            host=$(basename "$ready" .ready)
            mapfile -t pids < <(pids "$host" 2>/dev/null)
            [[ ${#pids[@]} -eq 0 ]] || kill "-$signal" "${pids[@]}" 2>/dev/null || true
            [[ ${#pids[@]} -eq 0 || $signal == TERM ]] || kill -CONT "${pids[@]}" 2>/dev/null || true
        done
        [[ $signal == KILL ]] || sleep 0.5
    done
    for ready in "$state"/host*.ready; do
        [[ ! -s $ready ]] || kill -KILL "$(pid_of "$(basename "$ready" .ready)")" 2>/dev/null || true
    done
    rm -rf "$state"
}

main "$@"
