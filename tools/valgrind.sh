#!/bin/sh
# valgrind.sh BUILD_DIR: the unit tests, and one whole run of the agent, under valgrind. The unit tests only compute, and let others
# go first.
set -eu
cd "$(dirname "$0")/.."
build=$1
logs=$(mktemp -d)
# A tenth of the runs with random faults; the stage dev does all of them.
export logs CFR_RUNS=40
trap 'rm -rf "$logs"' EXIT
for test in "$build"/test/unit/test_*; do
    case $test in
    # They look at memory after it was freed, let allocations fail, trace a child, start one (this valgrind knows no
    # pidfd_open), make RSA keys for minutes, or have threads that never wait, of which valgrind runs one at a time.
    *_memory | *test_base_secret | *test_base_wipealloc | *test_base_grant | *test_base_json | *test_files_kill | *test_files_watch | *test_agent_kube_exec_plugin | *test_agent_loop_process | *test_agent_loop_program | *test_wire_jwt | *test_pki_csr | *test_pki_life | *test_libcredfresh_threads | *test_libcredfresh_readers) continue ;;
    esac
    [ ! -x "$test" ] || [ ! -f "$test" ] || basename "$test"
done >"$logs/list"
# shellcheck disable=SC2016 # the inner shell expands it
(cd "$build/test/unit" && xargs -P "$(nproc)" -I TEST sh -c '
    nice valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite --trace-children=no \
        ./TEST >"$logs/TEST" 2>&1 || { cat "$logs/TEST"; echo "valgrind: TEST failed"; exit 1; }') <"$logs/list"
CFR_CREDFRESH="$(pwd)/tools/valgrind-credfresh" CFR_VALGRIND_TARGET="$(pwd)/$build/agent/credfresh" \
    CFR_LOCALCLOUD="$(pwd)/$build/test/localcloud/credfresh-localcloud" CFR_WITNESS="$(pwd)/$build/test/witness/credfresh-witness" \
    sh tools/pytest.sh test/integ/test_main_job.py
echo "valgrind: $(wc -l <"$logs/list") unit tests and the main job, nothing found"
