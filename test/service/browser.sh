#!/bin/sh
# Looks at the live page of the wheel service in a headless Chromium. The screenshots are in
# build/dev/screenshots afterwards.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/test/setup.sh"

case ${1:-} in
-h | --help)
    cat <<END
usage: sh test/service/browser.sh [UNITTEST ARGUMENT]...

Installs the packages that are missing, builds the service, and runs the browser tests.

  sh test/service/browser.sh Tasks.test_cancel
END
    exit
    ;;
esac

install_packages g++ cmake ninja-build pkgconf libboost1.81-dev libboost-program-options1.81-dev \
    chromium fonts-dejavu-core python3
cd "$root"
cmake --preset dev >&2
cmake --build build/dev --target wheel_service >&2
PYTHONDONTWRITEBYTECODE=1 exec python3 test/service/browser/test_page.py \
    build/dev/example/wheel_service build/dev/screenshots "$@"
