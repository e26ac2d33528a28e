#!/usr/bin/env bash
# The result database at a size: how long files of many points take to be added, pages to be answered, and
# how much memory both take.
# Usage: scripts/bench-database.sh [RUNS [SECONDS]]
#   RUNS      files of one run with 1,000 points each (default: 1000)
#   SECONDS   time for eight readers at once beside a writer (default: 120)
# Needs python3, 3 GB below TMPDIR for each 1,000 runs, and cores with nothing else to do. COMET_RUN names a program
# that was built with the feature db; otherwise it is built.
# It is a benchmark and no test: it fails only if something could not run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

runs=${1-1000}
seconds=${2-120}
if [[ ! $runs =~ ^[1-9][0-9]{0,5}$ || ! $seconds =~ ^[1-9][0-9]{0,3}$ ]] || (($# > 2)); then
    sed -n '4,9s/^# //p' "${BASH_SOURCE[0]}" >&2
    exit 2
fi
if [[ -z ${COMET_RUN-} ]]; then
    cargo build --locked --release -p comet-run --features db
    COMET_RUN=${CARGO_TARGET_DIR:-target}/release/comet-run
fi
comet_run=$(realpath "$COMET_RUN")
scratch=$(mktemp -d)
server=
trap '[[ -z $server ]] || kill "$server" 2>/dev/null || true; rm -rf "$scratch"' EXIT
cd "$scratch"

# Nights of four machines: each is one of ten measurements with a date of its own.
kernels=(comet/echo comet/exchange comet/broadcast comet/reduction imb/allreduce imb/bcast imb/gather
    imb/scatter imb/alltoall imb/allgather)
for n in {0..9}; do
    "$comet_run" "${kernels[@]}" --machine t3e -n 2 --hops 1 --sizes 8..888+8 --profile quick --launches 1 \
        --unsteady 2 --seed "$n" --label machine=MACHINE --label name=nightly --label night=NIGHT \
        --format none --quiet --out "$n.jsonl"
done
cat >make.py <<'PY'
import json, sys, uuid
from datetime import datetime, timedelta
first, end = map(int, sys.argv[1:])
for n in range(first, end):
    text = open(f"{n % 10}.jsonl").read()
    run = json.loads(text[: text.index("\n")])
    night = datetime(2025, 1, 1, 2) + timedelta(days=n // 4)
    for old, new in [
        (run["run_id"], str(uuid.UUID(int=(7 << 76) + (2 << 62) + n))),
        (run["started_at"], night.isoformat() + ".000Z"),
        ('"machine":"MACHINE"', f'"machine":"machine-{n % 4}"'),
        ('"night":"NIGHT"', f'"night":"{n}"'),
    ]:
        text = text.replace(old, new)
    open(f"run-{n}.jsonl", "w").write(text)
PY
printf 'one run: %s points, %s MB\n' "$(grep -c '"type":"point"' 0.jsonl)" \
    "$(stat -c %s 0.jsonl | awk '{printf "%.1f", $1 / 1e6}')"

added_s=0
for ((first = 0; first < runs; first += 100)); do
    end=$((first + 100 < runs ? first + 100 : runs))
    python3 make.py "$first" "$end"
    before=$EPOCHREALTIME
    "$comet_run" db add d run-*.jsonl >added
    added_s=$(awk "BEGIN {print $added_s + $EPOCHREALTIME - $before}")
    rm run-*.jsonl
done
before=$EPOCHREALTIME
"$comet_run" db publish d site >published
printf 'published in %.1f s: %s\n' "$(awk "BEGIN {print $EPOCHREALTIME - $before}")" "$(cat published)"
printf 'added: %s runs in %.1f s, index %s MB, files %s MB\n' "$runs" "$added_s" \
    "$(du -m d/index.sqlite | cut -f1)" "$(du -sm d/data | cut -f1)"

"$comet_run" serve d --listen 127.0.0.1:0 >address &
server=$!
for _ in {1..300}; do
    [[ -s address ]] && break
    sleep 0.1
done
python3 make.py "$runs" $((runs + 40))
python3 - "$(sed -n 's/^serving \(.*\)\/$/\1/p' address)" "$server" "$seconds" "$comet_run" <<'PY'
import glob, http.client, json, subprocess, sys, threading, time, urllib.request
url, server, seconds, comet_run = sys.argv[1:]
def get(path):
    before = time.perf_counter()
    with urllib.request.urlopen(url + path, timeout=60) as answer:
        body = answer.read()
    return body, time.perf_counter() - before
def memory():
    lines = dict(line.split(":", 1) for line in open(f"/proc/{server}/status") if ":" in line)
    return int(lines["VmHWM"].split()[0]) / 1024
def cpu_s():
    fields = open(f"/proc/{server}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100
# Until the server has looked at all numbers.
before, last = time.perf_counter(), -1
while cpu_s() != last:
    last = cpu_s()
    time.sleep(1.5)
print(f"alerts: all numbers looked at with {last:.1f} s of a core, memory {memory():.0f} MB at the most")
runs = json.loads(get("/api/v1/runs?machine=machine-1&limit=8")[0])["runs"]
ids = [run["id"] for run in runs]
series = [of["id"] for of in json.loads(get(f"/api/v1/runs/{ids[0]}")[0])["series"]]
chosen = "&".join(f"run={id}" for id in ids[:3]) + f"&series={series[0]}"
# Its report is not among those of the latest runs, which are made before somebody asks.
early = json.loads(get("/api/v1/runs?machine=machine-1&limit=500")[0])["runs"][-1]["id"]
trend = f"machine=machine-1&series={series[0]}&length=80"
pages = [
    "/", "/?superseded=hide", "/?machine=machine-2&label=name=nightly", "/?title=night&mpi=sim&until=2025-02-01", "/machines",
    f"/runs/{ids[0]}", "/compare", "/compare?" + "&".join(f"run={id}" for id in ids), f"/compare?{chosen}",
    f"/compare.svg?{chosen}", "/trends", "/trends?machine=machine-1", f"/trends?{trend}",
    f"/trends.svg?{trend}", "/api/v1/runs", f"/api/v1/runs/{ids[0]}", f"/api/v1/runs/{ids[0]}/points",
    "/api/v1/machines", "/api/v1/alerts", "/healthz", f"/runs/{early}/report",
]
print(f"{'median':>8} {'longest':>8}  page, ms in 11 requests (the first of them aside)")
for page in pages:
    first = get(page)[1]
    times = sorted(get(page)[1] for _ in range(10))
    print(f"{1e3 * times[5]:8.1f} {1e3 * times[-1]:8.1f}  {page[:60]} ({1e3 * first:.1f})")
print(f"memory of the server: {memory():.0f} MB at the most")
end, times, failures, added = time.monotonic() + int(seconds), [], [], []
def read(number):
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
    own = pages[:-1]
    while time.monotonic() < end:
        number += 1
        before = time.perf_counter()
        connection.request("GET", own[number % len(own)])
        answer = connection.getresponse()
        answer.read()
        times.append(time.perf_counter() - before)
        if answer.status != 200:
            failures.append(answer.status)
def write():
    for path in sorted(glob.glob("run-*.jsonl")):
        if time.monotonic() < end:
            before = time.perf_counter()
            subprocess.run([comet_run, "db", "add", "d", path], check=True, stdout=subprocess.DEVNULL)
            added.append(time.perf_counter() - before)
            time.sleep(1)
threads = [threading.Thread(target=read, args=(3 * number,)) for number in range(8)] + [threading.Thread(target=write)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
times.sort()
print(f"8 readers and a writer: {len(times)} requests in {seconds} s, {len(failures)} failures, "
      f"p50 {1e3 * times[len(times) // 2]:.0f} ms, p99 {1e3 * times[len(times) * 99 // 100]:.0f} ms, "
      f"longest {1e3 * times[-1]:.0f} ms; {len(added)} files added, longest {max(added):.1f} s; "
      f"memory {memory():.0f} MB at the most")
PY
