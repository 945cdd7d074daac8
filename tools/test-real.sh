#!/bin/sh
# test-real.sh BUILD_DIR: what needs real components. They are kept in $CFR_CACHE (default /var/cache/credfresh).
# Without them it says so and passes; CFR_REAL=1 builds them first; CFR_REQUIRE_REAL=1 makes a skip a failure.
set -eu
cd "$(dirname "$0")/.."
build=$(cd "$1" && pwd)
cache=${CFR_CACHE:-/var/cache/credfresh}
kube=$cache/kube

skip() {
    echo "real: SKIPPED the Kubernetes API server: $1"
    if [ "${CFR_REQUIRE_REAL:-0}" = 1 ]; then
        echo "real: CFR_REQUIRE_REAL=1, so this is a failure"
        exit 1
    fi
    exit 0
}

if [ ! -x "$kube/bin/kube-apiserver" ]; then
    [ "${CFR_REAL:-0}" = 1 ] || [ "${CFR_REQUIRE_REAL:-0}" = 1 ] ||
        skip "there is none in $kube; CFR_REAL=1 builds one from Debian's sources in about ten minutes"
    [ "$(id -u)" = 0 ] || skip "building one takes root"
    mkdir -p "$cache"
    echo "real: building a Kubernetes API server in $kube, about ten minutes; the log is $cache/kube-build.log"
    bash test/real/kube-build.sh "$kube" >"$cache/kube-build.log" 2>&1 || {
        tail -n 5 "$cache/kube-build.log"
        skip "it could not be built, see above"
    }
fi
sh tools/setup.sh real
CFR_KUBE="$kube/bin" CFR_CREDFRESH="$build/agent/credfresh" \
    CFR_LOCALCLOUD="$build/test/localcloud/credfresh-localcloud" CFR_WITNESS="$build/test/witness/credfresh-witness" \
    PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -m pytest -q -p no:cacheprovider test/real
