#!/bin/sh
# test-static.sh build: builds the static program, twice, and the Debian packages, where there are the programs for that. Ends
# with 3 where there are no sources.
# test-static.sh run BUILD_DIR: runs test/real/test_static.py and all integration tests against that program. BUILD_DIR has the
# local cloud and the witness.
set -eu
cd "$(dirname "$0")/.."
if [ "$1" = build ]; then
    sh tools/reproduce.sh static
    if command -v dpkg-shlibdeps >/dev/null && command -v file >/dev/null; then
        sh tools/reproduce.sh package
    else
        echo "static: SKIPPED reproducible packages: dpkg-dev and file are not installed"
    fi
    exit
fi
build=$(cd "$2" && pwd)
export CFR_STATIC="$PWD/build/static" CFR_CREDFRESH="$PWD/build/static/credfresh" \
    CFR_OIDC="$build/oidc/credfresh-oidc" CFR_LOCALCLOUD="$build/test/localcloud/credfresh-localcloud" CFR_WITNESS="$build/test/witness/credfresh-witness" \
    CFR_WORKERS="$build/test/consumer/workers" CFR_AWS_CLIENT="$build/test/consumer/aws_client"
logs=$CFR_STATIC/tests
rm -rf "$logs"
mkdir -p "$logs"
export logs
status=0
# Those that took longest in the stage dev begin first: 1,000 s for what is not known, test_static.py among it.
names=$(ctest --test-dir "$build" -N -R '^integ_' | sed -n 's/^ *Test *#[0-9]*: //p')
[ -n "$names" ] || { echo "static: there are no tests in $build" >&2; exit 1; }
printf '%s\n' static $names |
    awk -v costs="$build/Testing/Temporary/CTestCostData.txt" '
        BEGIN { while ((getline line < costs) > 0) { split(line, word, " "); cost[word[1]] = word[3] } }
        { print $1 in cost ? cost[$1] : 1000, $1 }' | sort -rn | cut -d ' ' -f 2 |
    xargs -P "$((12 * $(nproc)))" -I TEST sh -c '
    # integ_NAME, and integ_NAME.KofN for the Kth of N parts of a file.
    name=$(echo TEST | sed "s/^integ_//; s/[.].*//")
    part=$(echo TEST | sed -n "s/.*[.]//p")
    file=test/integ/test_$name.py
    [ TEST != static ] || file=test/real/test_static.py
    log=$logs/TEST.log
    if CFR_PART=${part:-1of1} sh tools/pytest.sh "$file" >"$log" 2>&1; then
        echo "static: TEST: $(tail -n 1 "$log")"
        grep "^SKIPPED" "$log" || true
        ! grep -q "^pytest: " "$log" || cat "$log"
    else
        cat "$log"
        echo "static: FAILED TEST"
        exit 1
    fi' || status=1
exit $status
