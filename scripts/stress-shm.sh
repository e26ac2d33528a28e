#!/usr/bin/env bash
# Random traffic over comet-shm, of which every byte is checked: what the tests do for seconds.
# Usage: scripts/stress-shm.sh [--minutes N] [--seed S]
# Without arguments it runs one seed after the other for 5 minutes; --seed says which one is first, or,
# without --minutes, which one to repeat 20 times. The first failure ends it and says its seed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
    printf 'error: %s\nusage: scripts/stress-shm.sh [--minutes N] [--seed S]\n' "$1" >&2
    exit 2
}

minutes=
seed=
while (($#)); do
    case "$1" in
    --minutes | --seed)
        [[ ${2-} =~ ^[0-9]{1,9}$ ]] || usage "$1 takes a whole number, got \"${2-}\""
        declare "${1#--}=$2"
        shift 2
        ;;
    *) usage "there is no option \"$1\"" ;;
    esac
done
[[ -n $minutes$seed ]] || minutes=5

unset COMET_STRESS_MINUTES COMET_STRESS_SEED
[[ -z $minutes ]] || export COMET_STRESS_MINUTES=$minutes
[[ -z $seed ]] || export COMET_STRESS_SEED=$seed
cargo test --release --locked -p comet-shm --test stress
