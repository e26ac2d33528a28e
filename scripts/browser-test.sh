#!/usr/bin/env bash
# Opens pages of `comet-run report` and of the result database in a browser and uses them as a reader would.
# Usage: scripts/browser-test.sh [install]     install: only installs what is missing
# Needs chromium, its driver and selenium for Python; as root on Debian it installs what is missing.
# Needs axe-core, too, by npm from its registry, or as the file axe.min.js that COMET_AXE names.
# COMET_RUN names a program with the feature db to use instead of one built here, COMET_DEMO a demo that it has made;
# screenshots go to COMET_SCREENSHOTS.
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
    cargo build --locked -p comet-run --features db
    COMET_RUN="${CARGO_TARGET_DIR:-target}/debug/comet-run"
fi

scratch=$(mktemp -d)
trap 'jobs -p | xargs -r kill; rm -rf "$scratch"' EXIT

if [ -z "${COMET_AXE:-}" ]; then
    command -v npm >/dev/null || fail "npm is missing (install it, or name axe.min.js in COMET_AXE)"
    (cd "$scratch" && npm pack --silent axe-core@4.14.1 >/dev/null && tar -xzf axe-core-*.tgz)
    COMET_AXE="$scratch/package/axe.min.js"
fi
export COMET_AXE

# A simulated run on several numbers of ranks, with a label that tries to be a script, and a real one.
check_pages() { # PAGE...
    timeout 240 "$python" scripts/browser_test.py "$scratch" "$@"
}

if [[ -d ${COMET_DEMO-} ]]; then
    cp -r "$COMET_DEMO" "$scratch/demo" &
else
    "$COMET_RUN" db demo "$scratch/demo" >/dev/null 2>&1 &
fi
demo=$!

label='note=<script>alert(1)</script><img src=x onerror=alert(1)>'
"$COMET_RUN" all -t sim -n 2..8*2 --profile quick --label "$label" \
    --out "$scratch/simulated.jsonl" --format none --quiet
"$COMET_RUN" echo exchange barrier -n 2 --profile quick \
    --out "$scratch/measured.jsonl" --format none --quiet
# As many cases as a run of all has without options, on a machine that varies.
"$COMET_RUN" report "$scratch/simulated.jsonl" -o "$scratch/simulated.html"
"$COMET_RUN" report "$scratch/measured.jsonl" -o "$scratch/measured.html"
"$COMET_RUN" report "$scratch/simulated.jsonl" "$scratch/measured.jsonl" -o "$scratch/both.html"

# Half a minute on one core, while browsers look at the other pages.
"$COMET_RUN" all -t sim --machine dahu-opa --unsteady 5 -n 4 \
    --out "$scratch/standard.jsonl" --format none --quiet &
standard=$!
check_pages simulated measured both
wait $standard
"$COMET_RUN" report "$scratch/standard.jsonl" -o "$scratch/standard.html"
sed 's/"run_id":"0/"run_id":"1/' "$scratch/standard.jsonl" >"$scratch/again.jsonl"
"$COMET_RUN" report "$scratch/standard.jsonl" "$scratch/again.jsonl" -o "$scratch/two.html"
check_pages standard two

wait $demo
"$COMET_RUN" serve "$scratch/demo" --listen 127.0.0.1:0 >"$scratch/address" &
for _ in {1..100}; do
    [[ -s $scratch/address ]] && break
    sleep 0.1
done
url=$(sed -n 's/^serving \(.*\)\/$/\1/p' "$scratch/address")
[[ -n $url ]] || fail "the server does not start"
"$COMET_RUN" db publish "$scratch/demo" "$scratch/site" >/dev/null
timeout 500 "$python" scripts/database_browser.py "$url" "$scratch/site"
