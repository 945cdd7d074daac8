#!/bin/sh
# fuzz.sh [TARGET...]: runs each fuzz target of test/fuzz (or those named, such as `url`) for CFR_FUZZ_SECONDS (60), one
# after the other, with ASan and UBSan. What it learns stays in build/fuzz/learned for the next run; an input that breaks
# something is left in build/fuzz/findings, and build/fuzz/test/fuzz/fuzz_TARGET FILE runs it again. Exits non-zero then.
set -eu
cd "$(dirname "$0")/.."
seconds=${CFR_FUZZ_SECONDS:-60}
build=build/fuzz
case $seconds in
'' | *[!0-9]* | 0) echo "fuzz.sh: CFR_FUZZ_SECONDS must be a number of seconds, got \"$seconds\"" >&2; exit 2 ;;
esac
cmake --preset fuzz >/dev/null
[ $# -gt 0 ] || set -- $(ls test/fuzz/fuzz_*.c | sed 's,.*/fuzz_\(.*\)\.c,\1,')
for target in "$@"; do
    [ -f "test/fuzz/fuzz_$target.c" ] || { echo "fuzz.sh: unknown target \"$target\": see test/fuzz" >&2; exit 2; }
done
cmake --build --preset fuzz --target $(printf 'fuzz_%s ' "$@") | tail -n 1
mkdir -p "$build/findings"
failed=
for target in "$@"; do
    mkdir -p "$build/learned/$target"
    log=$build/findings/$target.log
    # What takes 10 s or 1 GiB is a finding, too.
    if "$build/test/fuzz/fuzz_$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 \
        -artifact_prefix="$build/findings/$target-" "$build/learned/$target" "test/fuzz/corpus/$target" >"$log" 2>&1; then
        sed -n 's/^stat::number_of_executed_units: *//p' "$log" | sed "s/^/fuzz $target: ok, inputs: /"
    else
        failed="$failed $target"
        tail -n 40 "$log"
        echo "fuzz $target: FAILED, see $log"
    fi
done
[ -z "$failed" ] || { echo "fuzz.sh: failed:$failed" >&2; exit 1; }
