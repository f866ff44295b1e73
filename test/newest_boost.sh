#!/bin/sh
# Fetches the headers of another Boost than the installed one, and installs nothing: what apt knows
# about other releases of Debian stays in a folder of its own below build/.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/test/setup.sh"

usage() {
    cat <<END
usage: sh test/newest_boost.sh [VERSION]

Puts the headers of Boost VERSION, as 1.88 (default: newest, the newest in Debian's archive), into
build/boost-VERSION, unless they are there, and prints the folder to include from.
END
}

case ${1:-newest} in
-h | --help)
    usage
    exit
    ;;
newest | 1.[0-9]*) version=${1:-newest} ;;
*) fail "'$1' is neither a version such as 1.88 nor 'newest' (see --help)" ;;
esac
[ $# -le 1 ] || fail "unexpected argument '$2' (see --help)"

target=$root/build/boost-$version
if [ -e "$target/usr/include/boost/version.hpp" ]; then
    echo "$target/usr/include"
    exit
fi
for command in apt-get apt-cache dpkg-deb; do
    command -v "$command" >/dev/null || fail "no $command on this system: only for Debian"
done

# The machine's own mirror, from either format of its sources.
codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
archive=$(apt-get indextargets --format "\$(RELEASE) \$(COMPONENT) \$(REPO_URI)" \
    "Created-By: Packages" | sed -n "s/^$codename main //p" | head -n 1)
[ -n "$archive" ] || fail "apt knows no archive of Debian $codename"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -e "$keyring" ] || keyring=

work=$root/build/boost-apt
private_apt() {
    command=$1
    shift
    "$command" -q \
        -o Dir::State="$work/state" -o Dir::State::status="$work/status" -o Dir::Cache="$work/cache" \
        -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=/dev/null \
        -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
        -o APT::Sandbox::User="$(id -un)" -o Acquire::Languages=none -o Acquire::PDiffs=false "$@"
}

# newest_package SUITE: empty if the suite can't be had.
newest_package() {
    rm -rf "$work"
    mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial" "$work/download"
    : >"$work/status"
    echo "deb ${keyring:+[signed-by=$keyring]} $archive $1 main" >"$work/sources.list"
    say "looking for Boost $version in $1"
    private_apt apt-get update -o APT::Update::Error-Mode=any >&2 || return 0
    pattern=$version
    [ "$version" != newest ] || pattern='1.[0-9]*'
    private_apt apt-cache pkgnames libboost1. |
        sed -n "s/^libboost\\($pattern\\)-dev\$/\\1/p" | sort -V | tail -n 1
}

for suite in sid trixie; do
    found=$(newest_package "$suite")
    [ -z "$found" ] || break
done
[ -n "$found" ] || fail "no Boost $version in Debian's archive"

say "fetching Boost $found"
(cd "$work/download" && private_apt apt-get download "libboost$found-dev") >&2 ||
    fail "could not fetch libboost$found-dev"
rm -rf "$work/tree"
dpkg-deb -x "$work"/download/*.deb "$work/tree"
# In one step, so that what is interrupted is not taken for complete.
rm -rf "$target"
mv "$work/tree" "$target"
rm -rf "$work"
echo "$target/usr/include"
