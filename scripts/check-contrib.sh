#!/usr/bin/env bash
# Holds what CoMet writes for other programs, and the files in scripts/contrib, against these programs.
# Usage: scripts/check-contrib.sh
# Needs python3 3.11 or newer with venv, and pip with a package registry. Takes a minute or two.
# COMET_RUN names the program to check; else it is built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# No compiled Python is left beside the files that are checked.
export PYTHONDONTWRITEBYTECODE=1

contrib=$PWD/scripts/contrib
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0
failed=0

announce() {
    printf '\n== %s\n' "$1"
}

# Runs a command; says in a line whether it went well, and after a failure what it printed.
check() { # NAME COMMAND...
    local name=$1
    shift
    if "$@" >"$scratch/log" 2>&1; then
        printf 'ok      %s\n' "$name"
        passed=$((passed + 1))
    else
        printf 'FAILED  %s\n' "$name"
        tail -n 20 "$scratch/log"
        failed=$((failed + 1))
    fi
}

# Checks a file by its name in scripts/check_contrib.py.
hold() { # NAME FILE...
    check "$1 of ${2##*/}" timeout 90 "$python" scripts/check_contrib.py "$@"
}

install() {
    if ! python3 -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))'; then
        printf 'error: this needs python3 3.11 or newer with venv (apt-get install python3-venv)\n' >&2
        exit 1
    fi
    python3 -m venv "$scratch/venv"
    local pip=("$python" -m pip install --quiet --disable-pip-version-check)
    "${pip[@]}" check-jsonschema==0.39.0 ipykernel==7.4.0 junitparser==5.0.3 marshmallow==3.26.2 \
        matplotlib==3.11.2 nbclient==0.11.0 nbformat==5.11.1 numpy==1.26.4 pandas==3.0.6 \
        prometheus-client==0.26.0 pycubexr==2.1.1 reframe-hpc==4.10.4 scikit-learn==1.9.1 tqdm==4.70.1
    # Extra-P asks for the libraries of its window too, which nothing here opens.
    "${pip[@]}" --no-deps extrap==4.2.5
}

# One run in virtual time on several numbers of ranks, with fits, and what is made of it.
measure() {
    "$comet_run" echo barrier contention imb/allreduce model/bisection --machine ipsc860 -n 4 \
        --profile quick --format fom \
        --out "$scratch/one.jsonl" >"$scratch/one.fom"
    "$comet_run" echo barrier imb/allreduce model/bisection --machine ipsc860 -n 2..32*2 \
        --profile quick --format none --out "$scratch/growing.jsonl"
    local format
    for format in bmf openmetrics junit extrap; do
        "$comet_run" export "$format" "$scratch/growing.jsonl" --out "$scratch/growing.$format"
    done
}

run_reframe() {
    # Away from the settings and results of whoever calls.
    timeout 90 env HOME="$scratch" RFM_CONFIG_FILES= "$scratch/venv/bin/reframe" --prefix "$scratch/reframe" \
        --report-file "$scratch/reframe.json" -c "$contrib/reframe/comet_check.py" -n CometShm -r \
        -S executable="$comet_run" -S options=--profile,quick
}

run_notebook() (
    local script=$PWD/scripts/check_contrib.py
    mkdir -p "$scratch/notebook/comet-results" &&
        cp "$scratch/one.jsonl" "$scratch/notebook/comet-results/" &&
        cd "$scratch/notebook" &&
        timeout 90 "$python" "$script" notebook "$contrib/notebook/comet.ipynb"
)

python=$scratch/venv/bin/python
comet_run=${COMET_RUN:-}
if [[ -z $comet_run ]]; then
    announce "build"
    cargo build --locked -p comet-run
    comet_run=${CARGO_TARGET_DIR:-$PWD/target}/debug/comet-run
fi
comet_run=$(realpath "$comet_run")

announce "install the programs that read what CoMet writes"
install

announce "measure"
measure

announce "exports"
hold fom "$scratch/one.fom"
for format in bmf openmetrics junit extrap; do
    hold "$format" "$scratch/growing.$format"
done

announce "files in scripts/contrib"
check "run of reframe/comet_check.py" run_reframe
hold reframe "$scratch/reframe.json"
check "run of notebook/comet.ipynb" run_notebook
hold ramble "$contrib/ramble/comet/application.py" "$scratch/one.fom"
hold spack "$contrib/spack/comet_bench/package.py"
schema=(timeout 90 "$scratch/venv/bin/check-jsonschema" --builtin-schema)
check "schema of github/comet.yml" "${schema[@]}" vendor.github-workflows "$contrib/github/comet.yml"
check "schema of gitlab/comet.gitlab-ci.yml" \
    "${schema[@]}" vendor.gitlab-ci "$contrib/gitlab/comet.gitlab-ci.yml"

announce "not checked"
printf '%s\n' \
    "CometMpi of reframe/comet_check.py: needs a build with the feature mpi, and a launcher" \
    "Ramble and Spack: pip does not install them, so only what their files declare was checked" \
    "the jobs for GitHub and GitLab: need their machines, so only the schemas were checked"
printf '\n%d passed, %d failed\n' "$passed" "$failed"
[[ $failed -eq 0 ]]
