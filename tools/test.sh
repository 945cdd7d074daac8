#!/bin/sh
# Every test. Sets itself up on a fresh Debian 12 or 13. Stages: dev, asan, lint, valgrind, static, real.
#   sh tools/test.sh            all stages
#   sh tools/test.sh dev lint   these only
# CFR_REAL=1 lets the real stage build what it lacks (an API server, ten minutes); CFR_REQUIRE_REAL=1 makes a skip fail.
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- dev asan lint valgrind static real
sh tools/setup.sh build test
jobs=$(nproc)
started=$(date +%s)

build_and_test() {
    cmake --preset "$1" >/dev/null
    cmake --build --preset "$1" -j "$jobs" | tail -n 1
    # Most tests wait for something most of the time.
    ctest --preset "$1" -j "$((2 * jobs))" --timeout 400
}

for stage in "$@"; do
    echo "=== $stage (after $(($(date +%s) - started)) s)"
    case $stage in
    dev | asan) build_and_test "$stage" ;;
    lint) sh tools/lint.sh ;;
    valgrind) sh tools/valgrind.sh build/dev ;;
    static) sh tools/test-static.sh build/dev ;;
    real) sh tools/test-real.sh build/dev ;;
    *) echo "test.sh: no stage $stage" >&2; exit 2 ;;
    esac
done
echo "=== all stages passed in $(($(date +%s) - started)) s: $*"
