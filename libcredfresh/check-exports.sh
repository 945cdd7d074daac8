#!/bin/sh
# check-exports.sh LIBRARY.so HEADER: what the library exports is what the header declares, no more and no less.
set -eu
exported=$(nm -D --defined-only "$1" | awk '$2 ~ /^[TDBRVW]$/ {sub(/@.*/, "", $3); print $3}' |
    grep -vE '^(__asan|__ubsan|__tsan|__odr_asan|__sancov)' | sort -u)
declared=$(tr '\n' ' ' <"$2" | tr ';' '\n' | sed -n 's/.*CREDFRESH[A-Z_]*_API[^(]*[ *]\(credfresh_[a-z0-9_]*\)(.*/\1/p' | sort -u)
[ -n "$declared" ] || { echo "check-exports: found nothing in $2"; exit 1; }
[ "$exported" = "$declared" ] || {
    echo "check-exports: $1 exports:" $exported
    echo "check-exports: $2 declares:" $declared
    exit 1
}
