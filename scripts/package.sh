#!/usr/bin/env bash
# Makes the packages of a release, without MPI, in FOLDER (target/package):
#   comet-run-VERSION-ARCH-linux.tar.gz   program, man page, completions and licences, below a prefix
#   comet-run_VERSION-1_ARCH.deb          the same for Debian and Ubuntu, below /usr
#   comet-VERSION.tar.gz                  the sources of the last commit
#   spack/comet_bench/package.py          the Spack recipe for these sources
#   sha256sums                            for `sha256sum -c`
# Usage: scripts/package.sh [--debug] [--url URL] [--out FOLDER]
# --debug makes the program from the dependencies of debug builds and compiles comet-run itself without
# optimisation, which takes seconds where the others are built already; --url is the address at which the
# sources will lie, for the recipe.
#
# The program is linked statically, so that it runs on any Linux of its architecture, in a container
# without files, and on nodes whose C library is older. It contains glibc and not musl: ranks copy
# messages by memcpy, and that of musl takes twice as long for 64 KiB and for 1 MiB (2.4 us and 40 us
# instead of 1.2 us and 22 us on a Xeon). A packaged program measures what one built on the machine does.
# A static glibc loads libraries to look up hosts and users, which comet-run does not.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
    printf 'error: %s\n' "$1" >&2
    exit 1
}

usage() {
    printf 'usage: scripts/package.sh [--debug] [--url URL] [--out FOLDER]\n' >&2
    exit 2
}

profile=release
url=
out=
while [[ $# -gt 0 ]]; do
    case $1 in
    --debug) profile=dev ;;
    --url | --out)
        [[ $# -ge 2 ]] || usage
        if [[ $1 == --url ]]; then url=$2; else out=$2; fi
        shift
        ;;
    *) usage ;;
    esac
    shift
done

target=${CARGO_TARGET_DIR:-$PWD/target}
out=${out:-$target/package}
mkdir -p "$out"
out=$(realpath "$out")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml)
architecture=$(uname -m)
# Archives of one commit are the same wherever and whenever they are made.
export SOURCE_DATE_EPOCH
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)

pack() { # FILE FOLDER ROOT, which are all files of FOLDER, named from ROOT on
    tar --create --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
        --directory "$2" "$3" | gzip --no-name -9 >"$1"
}

# Links the program; its dependencies are those of any build of the profile.
build() {
    cargo rustc --quiet --locked --profile "$profile" --config profile.dev.package.comet-run.opt-level=0 \
        -p comet-run --bin comet-run -- -C target-feature=+crt-static
    local folder=$profile
    [[ $profile != dev ]] || folder=debug
    program=$scratch/comet-run
    # The next build of the profile makes its own again.
    cp "$target/$folder/comet-run" "$program"
    # ldd fails for a program that needs no library.
    if ldd "$program" 2>/dev/null | grep '=>'; then
        fail "$program needs the libraries above (the static libraries of the C library are missing: apt-get install libc6-dev)"
    fi
}

# Puts the program and what belongs to it below the folder PREFIX.
install_below() { # PREFIX
    local share=$1/share doc=$1/share/doc/comet-run
    install -D "$program" "$1/bin/comet-run"
    strip "$1/bin/comet-run"
    mkdir -p "$share/man/man1" "$doc" "$share/bash-completion/completions" \
        "$share/zsh/site-functions" "$share/fish/vendor_completions.d"
    "$program" man | gzip --no-name -9 >"$share/man/man1/comet-run.1.gz"
    "$program" completions bash >"$share/bash-completion/completions/comet-run"
    "$program" completions zsh >"$share/zsh/site-functions/_comet-run"
    "$program" completions fish >"$share/fish/vendor_completions.d/comet-run.fish"
    gzip --no-name -9 <CHANGELOG.md >"$doc/changelog.gz"
    install -m 644 README.md METHODOLOGY.md "$doc"
}

make_archive() {
    local name=comet-run-$version-$architecture-linux
    install_below "$scratch/$name"
    install -m 644 LICENSE-MIT LICENSE-APACHE "$scratch/$name/share/doc/comet-run"
    pack "$out/$name.tar.gz" "$scratch" "$name"
    made+=("$name.tar.gz")
}

make_debian_package() {
    local root=$scratch/debian debian_version=$version-1 kind
    local doc=$root/usr/share/doc/comet-run
    kind=$(dpkg --print-architecture)
    install_below "$root/usr"
    {
        printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n'
        printf 'Upstream-Name: CoMet\n\nFiles: *\n'
        sed -n 's/^Copyright (c) /Copyright: /p' LICENSE-MIT
        printf 'License: Apache-2.0 or Expat\n\nLicense: Apache-2.0\n'
        printf ' The text is in /usr/share/common-licenses/Apache-2.0.\n\nLicense: Expat\n'
        sed -n '/^Permission/,$p' LICENSE-MIT | sed 's/^$/./; s/^/ /'
    } >"$doc/copyright"
    {
        printf 'comet-run (%s) unstable; urgency=medium\n\n  * Release %s.\n\n' "$debian_version" "$version"
        printf ' -- CoMet <comet@example.org>  %s\n' "$(date --utc -R --date "@$SOURCE_DATE_EPOCH")"
    } | gzip --no-name -9 >"$doc/changelog.Debian.gz"
    mkdir "$root/DEBIAN"
    {
        printf 'Package: comet-run\nVersion: %s\nArchitecture: %s\n' "$debian_version" "$kind"
        printf 'Maintainer: CoMet <comet@example.org>\nSection: science\nPriority: optional\n'
        printf 'Installed-Size: %s\n' "$(du --summarize --apparent-size -k "$root/usr" | cut -f 1)"
        printf 'Description: communication benchmark over shared memory and simulated machines\n'
        printf ' CoMet measures what messages, collectives and operations on distributed\n'
        printf ' matrices cost, and verifies what it measures. This program is built without MPI.\n'
    } >"$root/DEBIAN/control"
    chmod -R u+rwX,go+rX,go-w "$root"
    local name=comet-run_${debian_version}_$kind.deb
    dpkg-deb --root-owner-group -Zxz --build "$root" "$out/$name" >/dev/null
    made+=("$name")
}

# Sources and recipe. The recipe is beside the archive, whose hash it holds.
make_source() {
    local name=comet-$version hash
    git archive --format=tar --prefix="$name/" HEAD | gzip --no-name -9 >"$out/$name.tar.gz"
    made+=("$name.tar.gz")
    hash=$(sha256sum "$out/$name.tar.gz" | cut -d ' ' -f 1)
    mkdir -p "$out/spack/comet_bench"
    sed "/^    version(\"main\"/a\\    version(\"$version\", sha256=\"$hash\", url=\"${url:-file://$out/$name.tar.gz}\")" \
        scripts/contrib/spack/comet_bench/package.py >"$out/spack/comet_bench/package.py"
    made+=(spack/comet_bench/package.py)
}

made=()
build
make_archive
if command -v dpkg-deb >/dev/null; then
    make_debian_package
else
    printf 'note: no Debian package is made without dpkg-deb (apt-get install dpkg)\n'
fi
make_source
cd "$out"
sha256sum "${made[@]}" | tee sha256sums
