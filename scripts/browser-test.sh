#!/usr/bin/env bash
# Opens pages of `comet-run report` in a browser and uses them as a reader would.
# Usage: scripts/browser-test.sh [install]     install: only installs what is missing
# Needs chromium, its driver and selenium for Python; as root on Debian it installs what is missing.
# COMET_RUN names a program to use instead of one built here; screenshots go to COMET_SCREENSHOTS.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
    printf 'error: %s\n' "$1" >&2
    exit 1
}

# The packages of Debian bring their own Python.
python=/usr/bin/python3
packages=(chromium chromium-driver python3-selenium)

is_ready() {
    command -v chromium >/dev/null && command -v chromedriver >/dev/null \
        && "$python" -c 'import selenium' 2>/dev/null
}

install_browser() {
    is_ready && return
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        fail "a browser is missing (install ${packages[*]}, or run this as root on Debian)"
    fi
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
    is_ready || fail "${packages[*]} are installed, but cannot be used"
}

install_browser
case "$*" in
"") ;;
install) exit ;;
*) fail "usage: scripts/browser-test.sh [install]" ;;
esac
if [ -z "${COMET_RUN:-}" ]; then
    cargo build --locked -p comet-run
    COMET_RUN="${CARGO_TARGET_DIR:-target}/debug/comet-run"
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# A simulated run on several numbers of ranks, with a label that tries to be a script, and a real one.
label='note=<script>alert(1)</script><img src=x onerror=alert(1)>'
"$COMET_RUN" all -t sim -n 2..8*2 --profile quick --label "$label" \
    --out "$scratch/simulated.jsonl" --format none --quiet
"$COMET_RUN" echo exchange barrier -n 2 --profile quick \
    --out "$scratch/measured.jsonl" --format none --quiet

"$COMET_RUN" report "$scratch/simulated.jsonl" -o "$scratch/simulated.html"
"$COMET_RUN" report "$scratch/measured.jsonl" -o "$scratch/measured.html"
"$COMET_RUN" report "$scratch/simulated.jsonl" "$scratch/measured.jsonl" -o "$scratch/both.html"

timeout 110 "$python" scripts/browser_test.py "$scratch"
