#!/usr/bin/env bash
# Everything that a change must pass, in the order that fails fastest.
# Usage: scripts/check.sh
# Needs cargo with rustfmt and clippy; runs shellcheck and cargo-deny where they are installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

announce() {
    printf '\n== %s\n' "$1"
}

has() {
    command -v "$1" >/dev/null 2>&1
}

if [[ $# -gt 0 ]]; then
    printf 'usage: scripts/check.sh\n' >&2
    exit 2
fi

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
fi

announce "lints"
cargo clippy --workspace --all-targets --locked -- -D warnings

announce "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

announce "the whole benchmark once over, and its record"
cargo build --release --locked
comet_run="${CARGO_TARGET_DIR:-target}/release/comet-run"
"$comet_run" all -n 4 --profile quick --out "$scratch/all.jsonl"
"$comet_run" validate "$scratch/all.jsonl"

announce "tests"
cargo test --locked

announce "all checks passed"
