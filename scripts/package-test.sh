#!/usr/bin/env bash
# Makes the packages of scripts/package.sh, and uses them as a user would: installs the Debian package
# into an empty root, where nothing but the package can be found, and measures there; renders the man
# page, loads completions, and looks at the sources without their repository.
# Usage: scripts/package-test.sh [build]
# With a debug build, which takes seconds where that is built already. `build` also builds the sources
# as the Spack recipe does, which takes minutes.
# Needs dpkg, groff, python3, and unshare with user namespaces or root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case "$*" in
"" | build) ;;
*)
    printf 'usage: scripts/package-test.sh [build]\n' >&2
    exit 2
    ;;
esac

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
root=$scratch/root
target=$(realpath "${CARGO_TARGET_DIR:-target}")
packages=$scratch/packages

# Each step is a job of its own, so that the first failing command ends it.
step() { # NAME COMMAND...
    local name=$1
    shift
    "$@" >"$scratch/log" 2>&1 &
    if wait $!; then
        printf 'ok      %s\n' "$name"
    else
        printf 'FAILED  %s\n' "$name"
        sed 's/^/    /' "$scratch/log"
        exit 1
    fi
}

make_packages() {
    scripts/package.sh --debug --out "$packages"
    cd "$packages"
    sha256sum --check sha256sums
}

# Debian's own program installs the package: it notes the files, and finds no dependency missing.
install_package() {
    mkdir -p "$root"/{proc,dev,tmp} "$root"/var/lib/dpkg/{info,updates}
    touch "$root"/var/lib/dpkg/{status,available}
    unshare --user --map-root-user dpkg --root="$root" --log=/dev/null --install "$packages"/*.deb
    dpkg --root="$root" --verify comet-run
    dpkg --root="$root" --status comet-run | grep '^Status: install ok installed$'
}

# Runs a program in the root, with the processes and devices of this machine.
inside() { # COMMAND...
    # shellcheck disable=SC2016  # the inner shell expands them
    unshare --user --map-root-user --mount bash -euc '
        root=$1
        shift
        mount --rbind /proc "$root/proc"
        mount --rbind /dev "$root/dev"
        exec chroot "$root" "$@"' bash "$root" "$@"
}

measures() {
    inside /usr/bin/comet-run echo -n 2 --profile quick --out /tmp/echo.jsonl
    inside /usr/bin/comet-run validate /tmp/echo.jsonl
}

runs_from_a_prefix() {
    mkdir "$scratch/prefix"
    tar --extract --directory "$scratch/prefix" --strip-components 1 --file "$packages"/comet-run-*.tar.gz
    "$scratch/prefix/bin/comet-run" --version
    cmp "$scratch/prefix/bin/comet-run" "$root/usr/bin/comet-run"
    [[ -s $scratch/prefix/share/doc/comet-run/LICENSE-MIT ]]
}

# Groff prints a line for each thing in the page that it does not understand; -P -cbou leaves plain text.
renders() {
    zcat "$root/usr/share/man/man1/comet-run.1.gz" >"$scratch/comet-run.1"
    groff -man -Tutf8 -P -cbou -ww "$scratch/comet-run.1" 2>"$scratch/warnings" >"$scratch/page"
    cat "$scratch/warnings"
    [[ ! -s $scratch/warnings ]]
    grep -q 'EXIT STATUS' "$scratch/page"
}

completes() {
    local share=$root/usr/share
    # shellcheck disable=SC2016  # the inner shell expands them
    bash -euc '
        source "$1"
        [[ $(complete -p comet-run) =~ -F\ ([^ ]+) ]]
        COMP_WORDS=(comet-run val)
        COMP_CWORD=1
        "${BASH_REMATCH[1]}" comet-run val comet-run
        [[ " ${COMPREPLY[*]} " == *" validate "* ]]' bash "$share/bash-completion/completions/comet-run"
    grep -q '^#compdef comet-run' "$share/zsh/site-functions/_comet-run"
    grep -q 'complete -c comet-run' "$share/fish/vendor_completions.d/comet-run.fish"
}

unpack() {
    mkdir "$scratch/source"
    tar --extract --directory "$scratch/source" --strip-components 1 --file "$packages"/comet-[0-9]*.tar.gz
    [[ ! -e $scratch/source/.git ]]
    # The crates of other platforms have never been downloaded.
    cargo metadata --locked --offline --format-version 1 --filter-platform "$(rustc -vV | sed -n 's/^host: //p')" \
        --manifest-path "$scratch/source/Cargo.toml" >/dev/null
}

# The arguments of the recipe, as scripts/check_contrib.py reads them.
builds() {
    local recipe=$packages/spack/comet_bench/package.py
    cd "$scratch/source"
    python3 scripts/check_contrib.py spack "$recipe" "$packages"/comet-[0-9]*.tar.gz
    if [[ $1 == build ]]; then
        CARGO_TARGET_DIR=$target cargo install --locked --root "$scratch/spack" --path comet-run
        "$scratch/spack/bin/comet-run" --version
    fi
}

step "packages are made, and their hashes hold" make_packages
step "the Debian package is installed into an empty root" install_package
step "the program needs nothing else there, and measures" measures
step "the archive holds the same program below a prefix" runs_from_a_prefix
step "the man page renders without a warning" renders
step "completions load" completes
step "the sources are complete without their repository" unpack
step "the Spack recipe names the archive of the sources${1:+, which builds by it}" builds "${1:-}"
