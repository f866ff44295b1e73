#!/bin/sh
# Installs what is missing, builds everything and runs the tests.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/test/setup.sh"

known=$(sed -n '/"workflowPresets"/,$s/^ *"name": "\([^"]*\)",$/\1/p' "$root/CMakePresets.json" |
    tr '\n' ' ')
known=${known% }

usage() {
    cat <<END
usage: sh test/run.sh [--preset NAME]... [CTEST OPTION]...

Installs the packages that are missing, configures, builds, and runs the tests.

  --preset NAME  may be repeated; one of: $known
                 (default: dev)
  --target NAME  build only this target of the build, such as thread_safety; choose its tests by -L
  -h, --help     this text

Options of ctest that are passed on:
  -R, -E, -L, -LE PATTERN (which tests), -I RANGE, -j NUMBER, --repeat MODE:NUMBER,
  --timeout SECONDS, -N, -V, -VV, --output-on-failure, --stop-on-failure, --rerun-failed,
  --schedule-random

  sh test/run.sh -R unit.error
  sh test/run.sh --preset asan --preset tsan -L unit
  sh test/run.sh --preset dev-boost-newest      fetches the newest Boost first
END
}

presets=
target=
left=$#
while [ "$left" -gt 0 ]; do
    option=$1
    shift
    left=$((left - 1))
    case $option in
    -h | --help)
        usage
        exit
        ;;
    --preset | --target | -R | -E | -L | -LE | -I | -j | --repeat | --timeout)
        [ "$left" -gt 0 ] || fail "$option needs a value (see --help)"
        value=$1
        shift
        left=$((left - 1))
        case $option in
        --preset) ;;
        --target)
            target=$value
            continue
            ;;
        *)
            set -- "$@" "$option" "$value"
            continue
            ;;
        esac
        ;;
    --preset=*) value=${option#--preset=} ;;
    -j[0-9]* | -N | -V | -VV | --output-on-failure | --stop-on-failure | --rerun-failed | \
        --schedule-random)
        set -- "$@" "$option"
        continue
        ;;
    -*) fail "unknown option '$option' (see --help)" ;;
    *) fail "unexpected argument '$option'; to choose tests by name: -R '$option'" ;;
    esac
    case " $known " in
    *" $value "*) presets="$presets $value" ;;
    *) fail "unknown preset '$value', known are: $known" ;;
    esac
done
presets=${presets:- dev}

packages="g++ cmake ninja-build ccache pkgconf python3
    libboost1.81-dev libboost-context1.81-dev libboost-program-options1.81-dev libboost-test1.81-dev"
case $presets in
*clang* | *asan* | *tsan*) packages="$packages clang-14 libclang-rt-14-dev" ;;
esac
case $presets in
*docs*) packages="$packages doxygen asciidoctor ruby-rouge" ;;
esac
# shellcheck disable=SC2086 # a list of words
install_packages $packages

# The thread sanitizer of clang 14 can't run where addresses are spread wider than this.
spread=$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 0)
jobs=$(nproc)
failed=
trap 'exit 130' INT
cd "$root"
for preset in $presets; do
    case $preset in
    *-boost-*)
        sh "$root/test/newest_boost.sh" "${preset##*-boost-}" >/dev/null || {
            failed="$failed $preset"
            continue
        }
        ;;
    esac
    say "preset $preset: configuring in build/$preset"
    run=
    if [ "$preset" = tsan ] && [ "$spread" -gt 28 ]; then
        run="setarch $(uname -m) --addr-no-randomize"
    fi
    # --fresh forgets whatever another compiler or generator left there.
    if ! cmake --fresh --preset "$preset"; then
        say "preset $preset: trying again in an empty build/$preset"
        rm -rf "build/$preset"
        cmake --preset "$preset" || {
            failed="$failed $preset"
            continue
        }
    fi
    say "preset $preset: building with $jobs jobs"
    if ! cmake --build --preset "$preset" --parallel "$jobs" ${target:+--target "$target"}; then
        failed="$failed $preset"
        continue
    fi
    say "preset $preset: running the tests"
    $run ctest --preset "$preset" -j "$jobs" "$@" || failed="$failed $preset"
done
if [ -n "$failed" ]; then
    say "failed:$failed"
    exit 1
fi
say "passed:$presets"
