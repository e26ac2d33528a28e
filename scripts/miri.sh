#!/usr/bin/env bash
# Runs those tests of comet-shm under Miri that need no shared mapping and no process: the rings, the
# rendezvous, the heap and its free list, on memory of the test. Says so where there is no Miri.
# Usage: scripts/miri.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

for toolchain in "" +nightly; do
    # shellcheck disable=SC2086 # no toolchain is no argument
    if cargo $toolchain miri --version >/dev/null 2>&1; then
        # The property tests read a clock and a folder, and each case takes long.
        export MIRIFLAGS="${MIRIFLAGS-} -Zmiri-disable-isolation" PROPTEST_CASES=8
        # shellcheck disable=SC2086
        exec cargo $toolchain miri test --locked -p comet-shm --lib --target-dir "${CARGO_TARGET_DIR:-target}/miri" -- \
            ring:: rendezvous:: heap:: slab:: layout::
    fi
done
printf 'Miri was not run: this toolchain has none (rustup +nightly component add miri)\n'
