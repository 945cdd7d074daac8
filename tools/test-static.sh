#!/bin/sh
# test-static.sh BUILD_DIR: builds the static program, twice, and runs test/real/test_static.py and all integration tests
# against it. Also builds the Debian packages twice, where there are the programs for that.
# BUILD_DIR has the local cloud and the witness.
set -eu
cd "$(dirname "$0")/.."
build=$(cd "$1" && pwd)
code=0
sh tools/build-static.sh || code=$?
if [ $code = 3 ]; then
    echo "static: SKIPPED: there are no sources to build it from, see above"
    exit "${CFR_REQUIRE_REAL:-0}"
fi
[ $code = 0 ] || exit $code
sh tools/reproduce.sh static
if command -v dpkg-shlibdeps >/dev/null && command -v file >/dev/null; then
    sh tools/reproduce.sh package
else
    echo "static: SKIPPED reproducible packages: dpkg-dev and file are not installed"
fi
export CFR_STATIC="$PWD/build/static" CFR_CREDFRESH="$PWD/build/static/credfresh" \
    CFR_LOCALCLOUD="$build/test/localcloud/credfresh-localcloud" CFR_WITNESS="$build/test/witness/credfresh-witness" \
    CFR_WORKERS="$build/test/consumer/workers" CFR_AWS_CLIENT="$build/test/consumer/aws_client"
logs=$CFR_STATIC/tests
rm -rf "$logs"
mkdir -p "$logs"
export logs
status=0
ls test/integ/test_*.py test/real/test_static.py | xargs -P "$((6 * $(nproc)))" -I FILE sh -c '
    log=$logs/$(basename FILE .py).log
    if sh tools/pytest.sh FILE >"$log" 2>&1; then
        echo "static: FILE: $(tail -n 1 "$log")"
        grep "^SKIPPED" "$log" || true
        ! grep -q "^pytest: " "$log" || cat "$log"
    else
        cat "$log"
        echo "static: FAILED FILE"
        exit 1
    fi' || status=1
exit $status
