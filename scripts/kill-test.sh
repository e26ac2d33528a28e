#!/usr/bin/env bash
# Suites over shared memory whose ranks, launcher and supervisor are killed at random moments: what the
# tests do 20 times. Each suite has to end with every unit measured once, and no line lost.
# Usage: scripts/kill-test.sh [KILLS [SEED]]
# Without arguments it kills 1000 times with seed 1. A failure says its seed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

for number in "$@"; do
    if [[ ! $number =~ ^[0-9]{1,9}$ ]] || (($# > 2)); then
        printf 'error: KILLS and SEED are whole numbers\nusage: %s [KILLS [SEED]]\n' "$0" >&2
        exit 2
    fi
done
COMET_KILLS=${1-1000} COMET_SEED_OF_KILLS=${2-1} \
    cargo test --locked -p comet-run --test it -- --nocapture kills::
