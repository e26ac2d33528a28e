#!/usr/bin/env bash
# Explores the protocols of comet-shm as models, under every order in which two ranks may meet: see
# comet-shm/src/models. Takes a minute after the build.
# Usage: scripts/loom.sh [TEST]
# LOOM_MAX_PREEMPTIONS says how often a rank may be interrupted at the worst moment, 2 by default.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if (($# > 1)); then
    printf 'usage: scripts/loom.sh [TEST]\n' >&2
    exit 2
fi

export RUSTFLAGS="${RUSTFLAGS-} --cfg loom"
export LOOM_MAX_PREEMPTIONS=${LOOM_MAX_PREEMPTIONS:-2}
# Built once and run for a minute, so half as long to build is worth more than the last optimisation.
export CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
# A folder of its own, or every build would start anew after it.
cargo test --release --locked -p comet-shm --lib --target-dir "${CARGO_TARGET_DIR:-target}/loom" -- "models::${1-}"
