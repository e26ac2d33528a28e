# shellcheck shell=bash
# Functions of the tests of the result database; comet_run names the program.

# Processes to be ended with the test.
servers=()

fail() {
    printf 'error: %s\n' "$1" >&2
    exit 1
}

announce() {
    printf '\n== %s\n' "$1"
}

same() { # WHAT FILE FILE
    cmp -s "$2" "$3" || fail "$1: $(diff "$2" "$3" | head -n 5)"
}

eventually() { # COMMAND...
    for _ in {1..100}; do
        ! "$@" || return 0
        sleep 0.1
    done
    fail "not in ten seconds: $*"
}

# shellcheck disable=SC2154 # comet_run is that of the script.
runs() { # FOLDER
    "$comet_run" db list "$1" --json --limit 100000
}

# Serves a folder at the address in NAME.address.
serve() { # FOLDER NAME
    "$comet_run" serve "$1" --listen 127.0.0.1:0 >"$2.address" &
    servers+=($!)
    eventually grep -q ^serving "$2.address"
}

url() { # NAME
    sed -n 's/^serving \(.*\)\/$/\1/p' "$1.address"
}

end() { # SERVER
    kill -TERM "$1"
    wait "$1" || fail "a server does not stop in order"
}

stop_servers() {
    local server
    for server in "${servers[@]}"; do
        kill "$server" 2>/dev/null || true
    done
}
