#!/bin/sh
# check-symbols.sh BUILD_DIR: what the compiled modules export and ask for. Every external symbol has our tag; the pure
# modules call nothing that does I/O, reads a clock or the environment, or ends the process.
set -eu
build=$1
bad=0
for module in base token sts kube ca mint files serve agent; do
    lib=$build/$module/libcfr_$module.a
    [ -f "$lib" ] || { echo "check-symbols: $lib is missing"; exit 1; }
    strangers=$(nm -g --defined-only "$lib" | awk 'NF == 3 && $3 !~ /^(cfr_|__asan|__ubsan|__odr_asan|_Z|asan\.)/ {print $3}' | sort -u)
    [ -z "$strangers" ] || { echo "check-symbols: $module/ exports:" $strangers; bad=1; }
done
io='open|openat|creat|fopen|freopen|read|write|pread|pwrite|socket|connect|send|sendto|recv|stat|fstat|unlink|rename|mkdir'
io="$io|clock_gettime|gettimeofday|time|getenv|secure_getenv|printf|puts|fprintf|perror|syslog|exit|_exit|abort|system|fork|cfr_log"
for module in token sts kube ca mint serve; do
    hits=$(nm -u "$build/$module/libcfr_$module.a" | awk '$1 == "U" {print $2}' | sort -u | grep -xE "$io" || true)
    [ -z "$hits" ] || { echo "check-symbols: $module/ is pure, but calls:" $hits; bad=1; }
done
exit $bad
