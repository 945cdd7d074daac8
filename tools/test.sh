#!/bin/sh
# Every test. Sets itself up on a fresh Debian 12 or 13. Stages: dev, fault, asan, lint, valgrind, static, bench, real, sdk.
#   sh tools/test.sh            all stages
#   sh tools/test.sh dev lint   these only
#   sh tools/test.sh fuzz       each fuzz target for CFR_FUZZ_SECONDS (60): about 40 minutes, and so no part of all stages
# dev is what a change is tried with, in less than four minutes; fault is the rest of that build's tests: the models' whole state spaces, a
# kill at each step, soaks, lost power.
# CFR_REAL=1 lets the real stage build what it lacks (an API server, ten minutes); CFR_REQUIRE_REAL=1 makes a skip fail.
# lint, valgrind and the static builds only compute and the tests mostly wait, so these run next to the other stages; their output
# is printed when those are done.
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- dev fault asan lint valgrind static bench real sdk
for stage in "$@"; do
    case $stage in
    dev | fault | asan | lint | valgrind | static | bench | real | sdk | fuzz) ;;
    *) echo "test.sh: unknown stage \"$stage\": use dev, fault, asan, lint, valgrind, static, bench, real, sdk or fuzz" >&2; exit 2 ;;
    esac
done
sh tools/setup.sh build test
jobs=$(nproc)
started=$(date +%s)
! command -v ccache >/dev/null || export CMAKE_C_COMPILER_LAUNCHER=ccache

begin() {
    echo "=== $1 (after $(($(date +%s) - started)) s)"
}

wanted() {
    stage_wanted=$1
    shift
    for stage in "$@"; do
        [ "$stage" != "$stage_wanted" ] || return 0
    done
    return 1
}

build() {
    cmake --preset "$1" >/dev/null
    cmake --build --preset "$1" -j "$jobs" | tail -n 1
}

# run_tests PRESET EACH OPTION...: EACH tests at once for each processor: most tests wait for something most of the time. What
# failed is run once more by itself and is named: beside others a small machine may be slow for a moment, and a defect is there
# again.
run_tests() {
    preset=$1
    each=$2
    shift 2
    ctest --preset "$preset" -j "$((each * jobs))" --timeout 400 "$@" && return
    # By name: the numbers that --rerun-failed goes by are those of the tests that were chosen.
    failed=$(sed 's/^[0-9]*://' "build/$preset/Testing/Temporary/LastTestsFailed.log" | paste -s -d '|')
    begin "$preset: what failed, once more by itself: $failed"
    ctest --preset "$preset" --stop-on-failure --timeout 400 --tests-regex "^($failed)\$"
}

# The build in the background is not to install anything beside the tests.
! wanted static "$@" || sh tools/setup.sh static
fault='^(fault|model)_'
logs=$(mktemp -d)
computing=
stop() {
    [ -z "$computing" ] || kill "$computing" 2>/dev/null || true
    rm -rf "$logs"
}
trap stop EXIT

# 1. What the stages share is built first: valgrind and static use the programs of dev, lint those of asan.
if wanted dev "$@" || wanted fault "$@" || wanted valgrind "$@" || wanted static "$@" || wanted bench "$@" || wanted real "$@" || wanted sdk "$@"; then
    begin "build dev"
    build dev
fi
if wanted asan "$@" || wanted lint "$@"; then
    begin "build asan (clang, every warning an error)"
    build asan
fi

# 2. What computes goes on in the background.
if wanted lint "$@" || wanted valgrind "$@" || wanted static "$@"; then
    (
        status=0
        if wanted static "$@"; then
            begin "build static, twice"
            code=0
            sh tools/test-static.sh build || code=$?
            echo $code >"$logs/static.new"
            mv "$logs/static.new" "$logs/static"
            [ $code = 0 ] || [ $code = 3 ] || status=1
        fi
        if wanted lint "$@"; then
            begin lint
            nice sh tools/lint.sh build/asan || status=1
        fi
        if wanted valgrind "$@"; then
            begin valgrind
            sh tools/valgrind.sh build/dev || status=1
        fi
        exit $status
    ) >"$logs/computing" 2>&1 &
    computing=$!
fi

# 3. What waits runs in the foreground, one stage after another.
if wanted dev "$@"; then
    begin dev
    run_tests dev 12 --exclude-regex "$fault"
fi
if wanted fault "$@"; then
    begin fault
    run_tests dev 6 --tests-regex "$fault"
fi
if wanted asan "$@"; then
    begin asan
    run_tests asan 12
fi
if wanted static "$@"; then
    begin static
    while [ ! -f "$logs/static" ]; do
        sleep 1
    done
    case $(cat "$logs/static") in
    0) sh tools/test-static.sh run build/dev ;;
    3)
        echo "static: SKIPPED: there are no sources to build it from"
        [ "${CFR_REQUIRE_REAL:-0}" = 0 ] || exit 1
        ;;
    *) echo "static: the build failed, see below" ;;
    esac
fi
if wanted bench "$@"; then
    begin bench
    PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 bench/counts.py build/dev
fi
if [ -n "$computing" ]; then
    status=0
    wait "$computing" || status=$?
    computing=
    cat "$logs/computing"
    [ $status = 0 ] || { echo "test.sh: lint, valgrind or the static build failed, see above" >&2; exit 1; }
fi
if wanted real "$@"; then
    begin real
    sh tools/test-real.sh build/dev
fi
if wanted sdk "$@"; then
    begin sdk
    CFR_CREDFRESH=$PWD/build/dev/agent/credfresh sh tools/pytest.sh test/sdk/test_go.py
    # CFR_SDK_SHORT=1 takes four minutes in place of ten, with shorter lifetimes.
    PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 test/sdk/matrix.py ${CFR_SDK_SHORT:+--short} build/dev
fi
if wanted fuzz "$@"; then
    begin fuzz
    sh tools/fuzz.sh
fi
echo "=== all stages passed in $(($(date +%s) - started)) s: $*"
