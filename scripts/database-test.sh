#!/usr/bin/env bash
# The result database from end to end: files go in, are found, survive reindex, backup under load and kill -9,
# arrive from a submitter over loopback, and put no markup into a page.
# Usage: scripts/database-test.sh [KILLS [REQUESTS]]
# Without arguments it kills 25 times, and sends 2000 random requests and a tenth as many mutated files.
# COMET_RUN names a program that was built with the feature db; otherwise it is built. COMET_DEMO names a new folder
# for a demo that other tests use.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/database-common.sh

kills=${1-25}
requests=${2-2000}
if [[ ! $kills =~ ^[0-9]{1,6}$ || ! $requests =~ ^[0-9]{1,6}$ ]] || (($# > 2)); then
    printf 'error: KILLS and REQUESTS are whole numbers\nusage: %s [KILLS [REQUESTS]]\n' "$0" >&2
    exit 2
fi
if [[ -z ${COMET_RUN-} ]]; then
    # With the features of scripts/postgres-test.sh, which compiles nothing again.
    cargo test --locked -p comet-db --features postgres,png --lib
    cargo build --locked -p comet-run --features db-postgres,png
    COMET_RUN=${CARGO_TARGET_DIR:-target}/debug/comet-run
fi
comet_run=$(realpath "$COMET_RUN")
machines=$PWD/comet-sim/machines
scripts=$PWD/scripts
scratch=$(mktemp -d)
trap 'stop_servers; rm -rf "$scratch"' EXIT
cd "$scratch"
export XDG_CONFIG_HOME=$scratch/config

announce "files on a simulated machine"
for n in 1 2 3 4 5 6; do
    "$comet_run" echo broadcast --machine t3e -n 4 --profile quick --format none --seed "$n" \
        --label "night=$n" --out "$n.jsonl" 2>/dev/null
done

announce "add, list, reindex, backup"
"$comet_run" db add d ./*.jsonl >added
"$comet_run" db add d ./*.jsonl >known
[[ $(grep -c ^added added) == 6 && $(grep -c ^known known) == 6 ]] || fail "each file is added once"
runs d >before
[[ $(wc -l <before) == 6 ]] || fail "six runs are listed"
[[ $("$comet_run" db list d --json --label night=3 | wc -l) == 1 ]] || fail "a label finds its run"
"$comet_run" db reindex d
runs d >after
same "reindex gives other answers" before after
rm d/index.sqlite*
runs d >after
same "an index from nothing gives other answers" before after
"$comet_run" db backup d copy
runs copy >after
same "a backup gives other answers" before after

announce "a demo, twice the same"
"$comet_run" db demo demo >made 2>/dev/null &
demo=$!
"$comet_run" db demo again >/dev/null 2>&1
wait "$demo"
(cd demo/data && ls ./*/*.gz) >before
(cd again/data && ls ./*/*.gz) >after
same "two demos differ" before after
[[ -z ${COMET_DEMO-} ]] || cp -r demo "$COMET_DEMO"
grep -q '68 files with 84 simulated runs' made || fail "the demo has its runs: $(cat made)"
if "$comet_run" db demo demo 2>/dev/null; then fail "a demo is made over a database"; fi
if "$comet_run" db mark add demo nowhere 2025-03-31 x 2>/dev/null; then fail "a mark is of no machine"; fi

announce "a site, twice the same, with published runs alone"
"$comet_run" db publish demo site >written
"$comet_run" db publish demo again-site >/dev/null
diff -r site again-site || fail "two sites of one database differ"
grep -q 'site: 84 runs, ' written || fail "the site has the runs: $(cat written)"
n_bytes=$(du -sb site | cut -f1)
((n_bytes < 20000000)) || fail "the site has $n_bytes bytes"
python3 - site <<'PY'
import os, re, sys
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        path = os.path.join(folder, name)
        if not name.endswith(".html") or "/reports/" in path:
            continue
        page = open(path).read()
        assert "Content-Security-Policy" in page and "unsafe" not in page and "<script>" not in page, path
        for target in re.findall(r' (?:href|src)="([^"#]+)', page):
            assert os.path.exists(os.path.join(folder, target)), (path, target)
PY
mkdir other
touch other/file
if "$comet_run" db publish demo other 2>words; then fail "a site is written over something else"; fi
grep -q 'other is no published site' words || fail "a refusal names the folder: $(cat words)"
for n in {1..10}; do
    # A killed publish leaves the old site whole, and the next one what it left.
    "$comet_run" db publish demo site >/dev/null 2>&1 &
    sleep "0.$(printf '%03d' $((RANDOM % 400 + 5)))"
    kill -KILL $! 2>/dev/null || true
    wait $! 2>/dev/null || true
    diff -r site again-site >/dev/null || fail "a kill leaves half a site"
done
"$comet_run" db publish demo site >/dev/null
[[ -z $(find . -maxdepth 1 -name '.site.*.part') ]] || fail "parts of sites are left"

announce "refusals"
printf '{"type":"end"}\n' >wrong.jsonl
if "$comet_run" db add d wrong.jsonl 2>words; then fail "a wrong file is added"; fi
grep -q 'line 1: ' words || fail "a refusal names the line: $(cat words)"
head -c -30 1.jsonl >cut.jsonl
"$comet_run" db add cut cut.jsonl 2>words >/dev/null
grep -q ' of cut.jsonl is incomplete and left out' words || fail "a file that was cut is told: $(cat words)"

announce "kill -9 while files are added, $kills times"
lost=0
: >answered
hits=0
for ((n = 1; n <= kills; n++)); do
    # Files that no round before has added: each of them is written, and not only known.
    for ((m = 1; m <= 20; m++)); do
        sed "s/\"night\":\"1\"/\"night\":\"killed $n $m\"/" 1.jsonl >"k$m.jsonl"
    done
    "$comet_run" db add d k*.jsonl >round 2>/dev/null &
    sleep "0.$(printf '%03d' $((RANDOM % 300 + 5)))"
    kill -KILL $! 2>/dev/null || true
    wait $! 2>/dev/null || true
    cat round >>answered
    # A kill amid the files: some have been answered, and others have not.
    n_added=$(grep -c '^added ' round || true)
    if ((n_added > 0 && n_added < 20)); then hits=$((hits + 1)); fi
done
((hits * 5 >= kills)) || fail "$hits of $kills kills hit files being added, expected a fifth or more"
# A line that a killed process left in part was no answer.
grep -E '^(added|known) [0-9a-f]{64} ' answered | cut -d' ' -f2 | sort -u >promised || true
runs d >listed
python3 - listed <<'PY' | sort -u >found
import json, sys
for line in open(sys.argv[1]):
    print(json.loads(line)["file"])
PY
lost=$(comm -23 promised found | wc -l)
[[ $lost == 0 ]] || fail "$lost answered files are lost"
cp listed before
"$comet_run" db reindex d
runs d >after
same "kills left something half there" before after
printf '%s files answered, none lost; %s of %s kills hit files being added\n' "$(wc -l <promised)" "$hits" "$kills"

announce "submission over loopback"
"$comet_run" db token add d lab --machine '*' >lab.token 2>/dev/null
"$comet_run" db token add d boss --scope submit,publish >boss.token 2>/dev/null
serve d d
url=$(url d)
"$comet_run" echo -n 2 --profile quick --format none --label machine=cluster --label user=alice --out s.jsonl 2>/dev/null
COMET_TOKEN=$(cat lab.token) "$comet_run" submit s.jsonl --to "$url" --yes >submitted
grep -q '^pending ' submitted || fail "a submission is pending: $(cat submitted)"
COMET_TOKEN=$(cat lab.token) "$comet_run" submit s.jsonl --to "$url" --yes | grep -q '^known ' || fail "a file arrives once"
page=$(sed -n 's/^pending //p' submitted)
python3 - "$url" "$page" "$(cat lab.token)" "$(sed -n 's/^submitted //p' submitted)" <<'PY'
import gzip, json, sys, urllib.request, urllib.error
url, page, token, blob = sys.argv[1:]
def get(path, data=None, headers={}):
    try:
        with urllib.request.urlopen(urllib.request.Request(url + path, data, headers), timeout=30) as answer:
            return answer.status, answer.read(), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read(), error.headers
def check(path, status, *parts, **more):
    found, body, headers = get(path, **more)
    assert found == status, (path, found, body[:300])
    assert "default-src 'none'" in headers["content-security-policy"], path
    for part in parts:
        assert part.encode() in body, (path, part, body[:2000])
    return body
pending = page[len(url):]
check("/", 200, "t3e"); check("/?machine=t3e&mpi=sim&since=2020-01-01&label=night", 200)
check("/?since=x", 400, "expected a day"); check("/machines", 200, "t3e"); check("/healthz", 200, "ok")
assert b"cluster" not in check("/", 200) + check("/machines", 200) + check("/api/v1/runs", 200)
for path in [pending, pending + "/report", "/api/v1" + pending, "/api/v1" + pending + "/points", "/files/" + blob,
             "/files/" + blob + ".jsonl.gz", "/nothing", "/runs/x", "/files/" + "0" * 64]:
    check(path, 404)
runs = []
path = "/api/v1/runs?limit=2"
while path:
    answer = json.loads(check(path, 200))
    runs += answer["runs"]
    path = answer["next"] and "/api/v1/runs?limit=2&after=" + answer["next"]
assert len({run["id"] for run in runs}) == len(runs) >= 6
run = runs[0]
check("/runs/" + run["id"], 200, "comet/echo"); check("/runs/" + run["id"] + "/report", 200, "<svg")
check("/api/v1/runs/" + run["id"] + "/points?series=x", 400, "expected ids of curves")
points = json.loads(check("/api/v1/runs/" + run["id"] + "/points", 200))["points"]
assert len(points) == sum(run["points"].values()), (len(points), run["points"])
raw = gzip.decompress(check("/files/" + run["file"] + ".jsonl.gz", 200))
assert raw.startswith(b'{"type":"run"')
def submit(body, status, *parts, token=token):
    headers = {"authorization": "Bearer " + token, "content-type": "application/gzip"}
    return check("/api/v1/runs", status, *parts, data=body, headers=headers)
submit(raw, 200); submit(raw, 401, token="x"); submit(b"x\n", 422, '"line":1')
submit(raw + b"{}\n", 422, '"line":'); submit(gzip.compress(b"\n" * (80 << 20)), 413)
try:
    submit(b"\n" * (65 << 20), 413)
except (ConnectionError, urllib.error.URLError):
    pass  # The server may close before all of it has arrived.
PY
blob=$(sed -n 's/^submitted //p' submitted)
"$comet_run" db publish d pending-site --size 1Gi >/dev/null
if grep -rqF -e cluster -e "$blob" pending-site/*.html pending-site/{data,runs,machines,files}; then fail "a site has a pending run"; fi
[[ ! -e pending-site/files/$blob.jsonl.gz ]] || fail "a site has a pending file"
COMET_TOKEN=$(cat boss.token) "$comet_run" submit s.jsonl --redact none --to "$url" --yes | grep -q '^published ' || fail "a trusted token publishes"
"$comet_run" db accept d "$blob" >/dev/null
"$comet_run" db list d --json --machine cluster --state published | wc -l | grep -qx 2 || fail "an accepted run is published"
"$comet_run" db list d --json --machine cluster --latest | wc -l | grep -qx 1 || fail "a run in two files counts once"
gzip -dc "d/data/${blob:0:2}/$blob.jsonl.gz" >sent.jsonl
grep -qF "\"$(hostname)" s.jsonl || fail "the file that is submitted does not name its host"
if grep -qiwF -e alice -e "$(hostname)" -e "$(hostname -s)" sent.jsonl || grep -qF "$scratch" sent.jsonl; then
    fail "names leave the machine"
fi
grep -q '"user":"user-' sent.jsonl || fail "names have pseudonyms"

announce "markup in every text of a file"
for n in {1..6}; do
    "$comet_run" db token add hostile "t$n" --scope submit,publish 2>/dev/null
done >tokens
serve hostile hostile
python3 "$scripts/database_hostile.py" "$(url hostile)" 1.jsonl s.jsonl <tokens
end "${servers[-1]}"
"$comet_run" db publish hostile hostile-site --size 1Gi >/dev/null
if grep -rlF '<hostile' --include='*.html' hostile-site; then fail "a site has markup of a file"; fi

announce "a backup while readers and a writer are at work, and a server of what is restored"
for n in {1..40}; do
    sed "s/\"night\":\"1\"/\"machine\":\"first-$n\",\"night\":\"1\"/" 1.jsonl >"b$n.jsonl"
done
"$comet_run" db add busy b*.jsonl >/dev/null
COMET_TOKEN=$("$comet_run" db token add busy boss --scope submit,publish 2>/dev/null)
export COMET_TOKEN
serve busy busy
: >busy.answered
python3 "$scripts/database_load.py" work "$(url busy)" 1.jsonl >busy.answered &
load=$!
has_answered() { # COUNT
    [[ $(wc -l <busy.answered) -ge $1 ]]
}
eventually has_answered 5
cp busy.answered busy.promised
"$comet_run" db backup busy busy-copy >/dev/null
eventually has_answered $(($(wc -l <busy.promised) + 1))
touch stop
wait "$load" || fail "readers or the writer fail beside a backup"
cp -r busy-copy restored
runs restored >before
"$comet_run" db reindex restored
runs restored >after
same "an index of what is restored gives other answers" before after
serve restored restored
python3 "$scripts/database_load.py" equal "$(url busy)" "$(url restored)" 1.jsonl busy.promised
for server in "${servers[@]: -2}"; do
    end "$server"
done
unset COMET_TOKEN

announce "random requests and mutated files"
# A database and a server of its own, whose memory is told by the requests alone.
"$comet_run" db add wild 1.jsonl >/dev/null
for ((n = 0; n <= requests / 900; n++)); do
    "$comet_run" db token add wild "t$n" --scope submit,publish 2>/dev/null
done >tokens
serve wild wild
python3 "$scripts/database_fuzz.py" "$(url wild)" "${servers[-1]}" 1.jsonl "$requests" $((requests / 10)) "$RANDOM" <tokens
end "${servers[-1]}"
runs wild >before
"$comet_run" db reindex wild
runs wild >after
same "reindex after mutated files gives other answers" before after

announce "a slow-down of a fifth raises an alert, and a mark explains it"
sed 's/value = "5 us"/value = "6 us"/' "$machines/t3e.toml" >slow.toml
for n in {1..17}; do
    machine=t3e
    ((n <= 12)) || machine=slow.toml
    "$comet_run" echo --machine "$machine" --sizes 8 --hops 1 -n 4 --profile quick --unsteady 2 --seed "$n" \
        --label machine=watched --format none --quiet --out "w$n.jsonl"
    COMET_TOKEN=$(cat boss.token) "$comet_run" submit "w$n.jsonl" --redact none --to "$url" --yes >/dev/null 2>&1
done
python3 - "$url" "$comet_run" <<'PY'
import json, subprocess, sys, time, urllib.request
url, comet_run = sys.argv[1:]
def get(path):
    return urllib.request.urlopen(url + path, timeout=30).read().decode()
def wait(condition, words):
    end = time.monotonic() + 240
    while not (found := condition()):
        assert time.monotonic() < end, words
        time.sleep(0.5)
    return found
def of_watched():
    return [alert for alert in json.loads(get("/api/v1/alerts"))["alerts"] if alert["machine"] == "watched"]
[alert] = wait(of_watched, "no alert is raised")
assert 1.15 < alert["ratio"] < 1.25 and alert["mark"] is None, alert
assert "on watched since" in get("/")
mark = ["db", "mark", "add", "d", "watched", alert["started_at"], "a slower startup"]
subprocess.run([comet_run, *mark], check=True, stdout=subprocess.DEVNULL)
wait(lambda: of_watched()[0]["mark"], "the mark explains nothing")
assert "on watched since" not in get("/")
PY
"$comet_run" db mark list d | grep -q 'operator  a slower startup' || fail "the mark is listed"
"$comet_run" db token revoke d lab >/dev/null
if COMET_TOKEN=$(cat lab.token) "$comet_run" submit s.jsonl --to "$url" --yes 2>/dev/null >/dev/null; then fail "a revoked token is taken"; fi

announce "a site with certificates of its own"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost -addext basicConstraints=critical,CA:FALSE -keyout key.pem -out ca.pem 2>/dev/null
python3 - "$url" >tls <<'PY' &
import http.client, http.server, ssl, sys
class Proxy(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        to = http.client.HTTPConnection(sys.argv[1].removeprefix("http://"))
        to.request("POST", self.path, self.rfile.read(int(self.headers["content-length"])), dict(self.headers))
        answer = to.getresponse()
        body = answer.read()
        self.send_response(answer.status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *words):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Proxy)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("ca.pem", "key.pem")
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
PY
servers+=($!)
eventually test -s tls
COMET_TOKEN=$(cat boss.token) "$comet_run" submit s.jsonl --to "https://localhost:$(cat tls)" --ca ca.pem --yes >encrypted
grep -q '^known ' encrypted || fail "the site is reached by its certificate: $(cat encrypted)"
end "${servers[0]}"
runs d >before
"$comet_run" db reindex d
runs d >after
same "reindex after submissions gives other answers" before after

printf '\n== passed: the database\n'
