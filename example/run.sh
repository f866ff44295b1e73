#!/bin/sh
# Installs what is missing, builds the examples and runs one.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/test/setup.sh"

known=$(sed -nE 's/^(timewheel_example|add_executable)\(([a-z0-9_]+).*/\2/p' "$root/example/CMakeLists.txt" |
    tr '\n' ' ')
known=${known% }

usage() {
    cat <<END
usage: sh example/run.sh [EXAMPLE] [ARGUMENT]...

Installs the packages that are missing, builds the example and runs it with the arguments, such as
--help. The default is idle_server. The examples: $known

  sh example/run.sh --connections 2000
  sh example/run.sh wheel_service --port 8082
END
}

name=idle_server
case ${1:-} in
-h | --help)
    usage
    exit
    ;;
-* | '') ;;
*)
    name=$1
    shift
    ;;
esac
case " $known " in
*" $name "*) ;;
*) fail "unknown example '$name', known are: $known" ;;
esac

install_packages g++ cmake ninja-build libboost1.81-dev libboost-program-options1.81-dev

(
    # --fresh forgets whatever another compiler or generator left there.
    configure() {
        cmake --fresh --preset release -B "$root/build/example" \
            -DTIMEWHEEL_BUILD_TESTS=OFF -DTIMEWHEEL_WERROR=OFF
    }
    cd "$root"
    say "configuring in build/example"
    if ! configure; then
        say "trying again in an empty build/example"
        rm -rf build/example
        configure
    fi
    say "building (a minute or so the first time)"
    cmake --build build/example --parallel "$(nproc)" --target "$name"
) >&2

say "running $name $*"
exec "$root/build/example/example/$name" "$@"
