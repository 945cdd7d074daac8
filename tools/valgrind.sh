#!/bin/sh
# valgrind.sh BUILD_DIR: the unit tests, and one whole run of the agent, under valgrind.
set -eu
cd "$(dirname "$0")/.."
build=$1
run() {
    valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite --trace-children=no "$@"
}
count=0
for test in "$build"/test/unit/test_*; do
    case $test in
    # They look at memory after it was freed, let allocations fail, trace a child, start one (this valgrind knows no
    # pidfd_open), make RSA keys for minutes, or have threads that never wait, of which valgrind runs one at a time.
    *_memory | *test_base_secret | *test_base_wipealloc | *test_base_grant | *test_base_json | *test_files_kill | *test_files_watch | *test_agent_kube_plugin | *test_sts_jwt | *test_ca_life | *test_reload_threads) continue ;;
    esac
    [ -x "$test" ] && [ -f "$test" ] || continue
    (cd "$build/test/unit" && run "./$(basename "$test")" >"/tmp/valgrind.$$" 2>&1) || {
        cat "/tmp/valgrind.$$"
        rm -f "/tmp/valgrind.$$"
        echo "valgrind: $test failed"
        exit 1
    }
    count=$((count + 1))
done
rm -f "/tmp/valgrind.$$"
CFR_CREDFRESH="$(pwd)/tools/valgrind-credfresh" CFR_VALGRIND_TARGET="$(pwd)/$build/agent/credfresh" \
    CFR_LOCALCLOUD="$(pwd)/$build/test/localcloud/credfresh-localcloud" CFR_WITNESS="$(pwd)/$build/test/witness/credfresh-witness" \
    /usr/bin/python3 -m pytest -q -p no:cacheprovider test/integ/test_main_job.py
echo "valgrind: $count unit tests and the main job, nothing found"
