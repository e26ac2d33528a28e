#!/usr/bin/env bash
# Holds the statistics, fits, clocks, refinement and the measuring engine against simulated truths, with many
# seeds: what the tests do with few.
# Usage: scripts/truth.sh [SEEDS]
# SEEDS is 1000 by default, which takes two minutes after the build; the random schedules of the engine are ten times as many.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seeds=${1:-1000}
if ! [[ $seeds =~ ^[1-9][0-9]*$ ]]; then
    printf 'error: SEEDS is a number above zero, got "%s" (write scripts/truth.sh 1000)\n' "$seeds" >&2
    exit 2
fi

announce() {
    printf '\n== %s\n' "$1"
}

export COMET_TRUTH_SEEDS=$seeds
announce "statistics of slices, fits, refinement"
cargo test --locked -p comet-stats --lib -- truth
announce "clocks and common starts"
cargo test --locked -p comet-sim --test sim
announce "the engine"
COMET_TRUTH_SEEDS=$((10 * seeds)) cargo test --locked -p comet-suites --test truth -- engine::
announce "all truths hold for $seeds seeds"
