#!/usr/bin/env bash
# Makes docs/picture.png, which README.md shows: the end of a run in a terminal, and the top of its page.
# The run is simulated, so that the picture has the same numbers on any computer.
# Usage: scripts/picture.sh
# Needs chromium; COMET_RUN names another program.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

comet_run="${COMET_RUN:-target/release/comet-run}"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

command=(all --machine hbv2-hdr -n 8 --unsteady 2)
"$comet_run" "${command[@]}" --out "$scratch/run.jsonl" --quiet >"$scratch/run.txt"
"$comet_run" report "$scratch/run.jsonl" -o "$scratch/page.html"

# The command and the last lines of its output.
terminal() {
    printf '$ comet-run %s\n...\n' "${command[*]}"
    sed -n '/^# at a glance/,$p' "$scratch/run.txt" | sed 's/&/\&amp;/g; s/</\&lt;/g'
}

cat >"$scratch/picture.html" <<END
<!doctype html>
<meta charset="utf-8">
<style>
body { margin: 0; display: flex; height: 450px; background: #d8dce2; }
pre { white-space: pre-wrap; margin: 12px; padding: 12px; width: 510px; overflow: hidden; border-radius: 6px;
      background: #16191d; color: #d8dce2; font: 12px/1.5 "DejaVu Sans Mono", monospace; }
div { margin: 12px 12px 12px 0; flex: 1; overflow: hidden; border-radius: 6px; background: white; }
iframe { width: 1000px; height: 700px; border: 0; transform: scale(0.63); transform-origin: 0 0; }
</style>
<pre>$(terminal)</pre><div><iframe src="page.html"></iframe></div>
END
chromium --headless=new --no-sandbox --disable-dev-shm-usage --hide-scrollbars --window-size=1200,450 \
    --screenshot=docs/picture.png "file://$scratch/picture.html" 2>/dev/null
printf 'docs/picture.png: %s bytes\n' "$(stat -c %s docs/picture.png)"
