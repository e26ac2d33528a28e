#!/usr/bin/env bash
# The result database on PostgreSQL: a server of its own on a socket, the tests of the database with their
# indexes there, and several servers of CoMet beside each other, killed and cut off from the index.
# Usage: scripts/postgres-test.sh [install]     install: only installs what is missing
# Needs the programs of PostgreSQL; as root on Debian it installs them. COMET_RUN names a program that was built with the
# feature db-postgres; otherwise it is built and the tests of the database run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

source scripts/database-common.sh

find_programs() {
    local folder
    for folder in "$(dirname "$(command -v initdb || true)")" /usr/pgsql-*/bin /usr/lib/postgresql/*/bin; do
        [[ ! -x $folder/initdb || ! -x $folder/psql ]] || bin=$folder
    done
    [[ -n $bin ]]
}

bin=
if ! find_programs; then
    if ((EUID != 0)) || ! command -v apt-get >/dev/null; then
        fail "there are no initdb and psql (install postgresql, or run this as root on Debian)"
    fi
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql >/dev/null
    find_programs || fail "postgresql is installed, but has no initdb and psql"
fi
case "$*" in
"") ;;
install) exit ;;
*) fail "usage: scripts/postgres-test.sh [install]" ;;
esac

# PostgreSQL refuses to be run by root.
as_user=()
user=$(id --user --name)
if ((EUID == 0)); then
    user=postgres
    id "$user" >/dev/null 2>&1 || user=nobody
    as_user=(setpriv "--reuid=$user" "--regid=$(id --group "$user")" --clear-groups)
fi

scratch=$(mktemp -d)
data=$scratch/postgres
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
postgres() { # ACTION...
    (cd "$data" && "${as_user[@]}" "$bin/pg_ctl" --pgdata="$data/data" --log="$data/log" --wait --silent \
        --options="-k $data -h localhost -p $port -c fsync=off -c ssl=on -c ssl_cert_file=$data/server.pem -c ssl_key_file=$data/key.pem" "$@")
}
stop() {
    stop_servers
    postgres stop --mode=immediate >/dev/null 2>&1 || true
    rm -rf "$scratch"
}
trap stop EXIT
chmod 711 "$scratch"
mkdir -m 700 "$data"
((EUID != 0)) || chown "$user" "$data"

announce "a server of PostgreSQL whose own order of letters is not that of their bytes"
initialise() { # OPTION...
    (cd "$data" && "${as_user[@]}" "$bin/initdb" --pgdata="$data/data" --username=comet --auth=trust --encoding=UTF8 "$@" \
        >"$data/words" 2>&1)
}
initialise --locale=C.UTF-8 --locale-provider=icu --icu-locale=en-US || initialise --locale=C.UTF-8 ||
    fail "initdb: $(cat "$data/words")"
certificate() { # NAME
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost -addext basicConstraints=critical,CA:FALSE -keyout "$scratch/key.pem" \
        -out "$scratch/$1.pem" 2>/dev/null
}
certificate other
certificate server
cp "$scratch/key.pem" "$scratch/server.pem" "$data"
chmod 600 "$data/key.pem"
# By TCP with TLS alone.
printf '%s\n' 'local all all trust' 'hostssl all all all trust' >"$data/data/pg_hba.conf"
((EUID != 0)) || chown "$user" "$data"/*.pem "$data/data/pg_hba.conf"
postgres start
address="host=$data port=$port user=comet dbname=postgres"
sql() {
    "$bin/psql" --no-psqlrc --quiet --tuples-only --no-align "$address" --command "$1"
}
sql "SELECT version()"

if [[ -z ${COMET_RUN-} ]]; then
    COMET_TEST_POSTGRES=$address cargo test --locked -p comet-db --features postgres,png --lib
    cargo build --locked -p comet-run --features db-postgres,png
    COMET_RUN=${CARGO_TARGET_DIR:-target}/debug/comet-run
fi
comet_run=$(realpath "$COMET_RUN")
cd "$scratch"
export XDG_CONFIG_HOME=$scratch/config

announce "a database of simulated runs moves to the server, with equal answers"
if [[ -d ${COMET_DEMO-} ]]; then cp -r "$COMET_DEMO" sqlite; else "$comet_run" db demo sqlite >/dev/null 2>&1; fi
"$comet_run" db token add sqlite boss --scope submit,publish >boss.token 2>/dev/null
"$comet_run" db mark add sqlite t3e 2025-03-31 firmware >/dev/null
cp -r sqlite shared
printf '%s\n' "$address" | "$comet_run" db init shared --index -
[[ ! -e shared/index.sqlite && $(stat --format=%a shared/index.postgres) == 600 ]] || fail "the folder names its engine"
[[ $(sql "SELECT count(*) FROM point") -gt 0 ]] || fail "the server has points"
for folder in sqlite shared; do
    runs "$folder" >"$folder.runs"
    "$comet_run" db log "$folder" >"$folder.log"
    "$comet_run" db token list "$folder" >"$folder.tokens"
    "$comet_run" db mark list "$folder" >"$folder.marks"
    serve "$folder" "$folder"
done
for kind in runs log tokens marks; do
    same "$kind differ between engines" "sqlite.$kind" "shared.$kind"
done
python3 - "$(url sqlite)" "$(url shared)" <<'PY'
import json, sys, time, urllib.error, urllib.request
servers = sys.argv[1:]
def get(server, path):
    try:
        with urllib.request.urlopen(server + path, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
def api(path):
    return json.loads(get(servers[0], path)[1])
runs = api("/api/v1/runs?limit=500")["runs"]
assert len(runs) == 84, len(runs)
# Alerts are looked for beside the answers.
end = time.monotonic() + 120
while not all(json.loads(get(server, "/api/v1/alerts")[1])["alerts"] for server in servers):
    assert time.monotonic() < end, "no alert"
    time.sleep(0.2)
paths = ["/", "/?title=PING&since=2025-02-01", "/?label=x", "/?machine=%00", "/?title=%00x", "/?mpi=%25&network=_", "/machines", "/compare",
         "/trends", "/trends?machine=t3e", "/api/v1/runs", "/api/v1/machines", "/api/v1/alerts", "/runs/0000000000000001"]
page = api("/api/v1/runs?limit=7")
while page["next"]:
    paths.append("/api/v1/runs?limit=7&after=" + page["next"])
    page = api(paths[-1])
one_of_each = list({run["title"]: run for run in runs}.values())
for run in one_of_each:
    path = "/runs/" + run["id"]
    paths += [path, path + "/report", "/api/v1" + path, "/api/v1" + path + "/points"]
    paths += [f"/files/{run['file']}.jsonl.gz", f"/compare?run={run['id']}", f"/trends?machine={run['machine']}&mpi=sim"]
    for curve in api("/api/v1" + path)["series"][:3]:
        series = curve["id"]
        paths += [f"/compare?run={run['id']}&series={series}", f"/compare.json?run={run['id']}&series={series}"]
        paths += [f"/trends?machine={run['machine']}&series={series}", f"/api/v1{path}/points?series={series}"]
for path in paths:
    found, other = (get(server, path) for server in servers)
    assert found == other, (path, found[0], other[0], found[1][:2000], other[1][:2000])
    assert found[0] < 500, (path, found)
print(len(paths), "answers are equal")
PY
"$comet_run" db reindex shared
runs shared >after
same "reindex gives other answers" shared.runs after
if "$comet_run" db init other --index "$address" 2>words; then fail "two databases share an index"; fi
grep -q 'give each database an index of its own' words || fail "the refusal: $(cat words)"

announce "two servers beside each other, and files that are added meanwhile"
serve shared second
"$comet_run" echo broadcast --machine t3e -n 4 --profile quick --format none --label night=1 --out 1.jsonl 2>/dev/null
mkdir files
for ((n = 1; n <= 20; n++)); do
    sed "s/\"night\":\"1\"/\"night\":\"added $n\"/" 1.jsonl >"files/$n.jsonl"
done
cat >submit.py <<'PY'
import json, sys, urllib.error, urllib.request
text, token = open("1.jsonl").read(), open("boss.token").read().strip()
def submit(server, name):
    body = text.replace('"night":"1"', f'"night":"{name}"').encode()
    request = urllib.request.Request(server + "/api/v1/runs", body, {"authorization": "Bearer " + token})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.status, json.load(answer)
def status(url):
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
PY
"$comet_run" db add shared files/*.jsonl >added &
adding=$!
python3 - "$(url shared)" "$(url second)" <<'PY'
import sys
from submit import status, submit
servers = sys.argv[1:]
for n in range(40):
    here, there = servers[n % 2], servers[1 - n % 2]
    code, answer = submit(here, f"sent {n}")
    assert code == 201, (code, answer)
    for run in answer["runs"]:
        assert status(f"{there}/api/v1/runs/{run['id']}") == 200, "the other server does not see it"
    assert submit(there, f"sent {n}")[0] == 200, "a file is known to both"
PY
wait "$adding" || fail "files are not added: $(cat added)"
[[ $(grep -c ^added added) == 20 ]] || fail "20 files are added beside the servers: $(cat added)"
[[ $(runs shared | wc -l) == $((84 + 20 + 40)) ]] || fail "all runs are there"

announce "kill -9 of one of two servers amid submissions"
: >answered
kept() {
    local lost
    sort -u answered >promised
    python3 -c 'import json, sys; [print(json.loads(line)["file"]) for line in sys.stdin]' < <(runs shared) | sort -u >found
    lost=$(comm -23 promised found | wc -l)
    [[ $lost == 0 ]] || fail "$lost answered files are lost"
    printf '%s files answered, none lost\n' "$(wc -l <promised)"
}
sends() { # SERVER COUNT WORD
    python3 - "$(url "$1")" "$2" "$3" <<'PY' >>answered
import sys
from submit import submit
server, count, word = sys.argv[1], int(sys.argv[2]), sys.argv[3]
for n in range(count):
    try:
        print(submit(server, f"{word} {n}")[1]["file"], flush=True)
    except OSError:
        sys.exit(0 if word == "killed" else f"{server} refuses")
sys.exit("the server was not killed in time" if word == "killed" else 0)
PY
}
sends second 1000 killed &
killed=$!
sends shared 40 alive &
alive=$!
until [[ $(wc -l <answered) -ge 20 ]]; do sleep 0.02; done
kill -KILL "${servers[2]}"
{ wait "${servers[2]}" || true; } 2>/dev/null
wait "$killed" || fail "the killed server"
wait "$alive" || fail "the other server goes on"
kept

announce "PostgreSQL breaks off amid submissions, and starts again"
# The other token has sent as much as a minute admits.
"$comet_run" db token add shared again --scope submit,publish >boss.token 2>/dev/null
python3 - "$(url shared)" <<'PY' >>answered &
import sys, time, urllib.error
from submit import submit
server, failures = sys.argv[1], 0
for n in range(60):
    end = time.monotonic() + 60
    while True:
        try:
            print(submit(server, f"broken off {n}")[1]["file"], flush=True)
            break
        except urllib.error.HTTPError as error:
            assert error.code == 500 and time.monotonic() < end, (n, error)
            failures += 1
            time.sleep(0.1)
print(f"{failures} of 60 submissions were sent again", file=sys.stderr)
PY
sending=$!
n_before=$(wc -l <answered)
until [[ $(wc -l <answered) -ge $((n_before + 20)) ]]; do sleep 0.02; done
postgres restart --mode=immediate
wait "$sending" || fail "the server does not find its index again"
kept
runs shared >before

announce "a connection with TLS"
remote="host=localhost port=$port user=comet dbname=postgres"
refused() { # WORDS OPTION...
    local words=$1
    shift
    if "$comet_run" db init shared --index "$remote" "$@" 2>words; then fail "an index $*"; fi
    grep -q "$words" words || fail "a refusal with $words: $(cat words)"
}
refused 'no encryption'
refused 'certificate' --ca other.pem
"$comet_run" db init shared --index "$remote" --ca server.pem
runs shared >after
same "an encrypted index gives other answers" before after

announce "a backup without PostgreSQL"
"$comet_run" db backup shared copy
"$comet_run" db backup shared copy | grep -q '(0 new files)' || fail "a second backup copies nothing"
postgres stop --mode=fast
runs copy >after
same "a backup gives other answers" before after
code=0
"$comet_run" db list shared 2>words || code=$?
if [[ $code != 1 ]] || ! grep -q 'cannot connect to PostgreSQL at ' words; then
    fail "without a server, code $code: $(cat words)"
fi
python3 - "$(url shared)" <<'PY'
import sys
from submit import status
assert status(sys.argv[1] + "/") == 500 and status(sys.argv[1] + "/style.css") == 200
PY
for server in "${servers[0]}" "${servers[1]}"; do
    end "$server"
done

printf '\n== passed: the database on PostgreSQL\n'
