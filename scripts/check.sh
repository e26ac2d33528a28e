#!/usr/bin/env bash
# Everything that a change must pass, in the order that fails fastest.
# Usage: scripts/check.sh [mpi]
# Needs cargo with rustfmt and clippy; runs shellcheck and cargo-deny where they are installed.
# With mpi it checks what the feature `mpi` adds instead, and needs what scripts/setup-mpi.sh installs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

announce() {
    printf '\n== %s\n' "$1"
}

has() {
    command -v "$1" >/dev/null 2>&1
}

check() {
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT

    announce "format"
    cargo fmt --all --check

    if has shellcheck; then
        announce "scripts"
        shellcheck scripts/*.sh .ci/run
    fi

    if has cargo-deny; then
        announce "licences and sources of dependencies"
        cargo deny --offline check licenses bans sources
        announce "advisories"
        # Without a network the database of an earlier check serves.
        cargo deny check advisories || cargo deny --offline check advisories
    fi

    announce "packages for a registry"
    cargo package --workspace --no-verify --allow-dirty --offline --locked --quiet --target-dir "$scratch"

    announce "lints"
    cargo clippy --workspace --all-targets --features comet-run/db-postgres --locked -- -D warnings

    announce "documentation"
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

    announce "tests"
    # With PNG, which the stage of the database has, too; the stage with MPI tests the program without it.
    cargo test --locked --features comet-run/png

    announce "the whole benchmark once over, and its record"
    # With the program of the tests: another profile would compile everything once more.
    comet_run="${CARGO_TARGET_DIR:-target}/debug/comet-run"
    "$comet_run" all -n 4 --profile quick --out "$scratch/all.jsonl"
    "$comet_run" validate "$scratch/all.jsonl"

    announce "no MPI is linked"
    if ldd "$comet_run" | grep libmpi; then
        printf 'error: %s was built without the feature mpi, but needs the library above\n' "$comet_run" >&2
        exit 1
    fi

    announce "all checks passed"
}

# Only comet-mpi, comet-run and comet depend on the feature, so only what it changes is checked again.
check_mpi() {
    announce "builds for Open MPI and MPICH"
    scripts/mpi-test.sh build
    with_mpi=(-p comet-mpi -p comet-run -p comet-measure --features "comet-run/mpi comet-measure/mpi"
        --locked --target-dir target/openmpi)
    export MPICC=mpicc.openmpi

    announce "lints, with MPI"
    cargo clippy "${with_mpi[@]}" -p comet-suites --all-targets -- -D warnings

    announce "documentation, with MPI"
    RUSTDOCFLAGS="-D warnings" cargo doc "${with_mpi[@]}" -p comet-suites --no-deps

    announce "tests, with MPI but without its launcher"
    cargo test "${with_mpi[@]}" --lib --test conformance
    cargo test "${with_mpi[@]}" --bin comet-run --test it -- backend:: launchers:: cli:: commands::

    announce "tests under the launchers of Open MPI and MPICH"
    scripts/mpi-test.sh

    announce "all checks with MPI passed"
}

case "$*" in
"") check ;;
mpi) check_mpi ;;
*)
    printf 'usage: scripts/check.sh [mpi]\n' >&2
    exit 2
    ;;
esac
