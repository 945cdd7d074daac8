#!/bin/sh
# test-real.sh BUILD_DIR: what needs real components: a Kubernetes API server and kubectl, kept in $CFR_CACHE (default
# /var/cache/credfresh), the clouds' SDKs, from npm and Debian 13 as far as Debian 12 has none, kept there too, and a Keystone
# with an Apache in front of it, from Debian's packages. A part whose component is missing says so and is skipped; CFR_REAL=1
# builds and installs them first; CFR_REQUIRE_REAL=1 makes a skip a failure.
set -eu
cd "$(dirname "$0")/.."
build=$(cd "$1" && pwd)
cache=${CFR_CACHE:-/var/cache/credfresh}
kube=$cache/kube
consumers=$cache/consumers
status=0

# wanted: whether what is missing may be fetched.
wanted() {
    [ "${CFR_REAL:-0}" = 1 ] || [ "${CFR_REQUIRE_REAL:-0}" = 1 ]
}

# skip PART WHY
skip() {
    echo "real: SKIPPED $1: $2"
    if [ "${CFR_REQUIRE_REAL:-0}" = 1 ]; then
        echo "real: CFR_REQUIRE_REAL=1, so this is a failure"
        status=1
    fi
}

# Says what of Debian's packages for PART is missing, if they may not or cannot be installed. Given are commands that
# belong to it; import:NAME is a module of Python's.
installed() {
    part=$1
    shift
    for command in "$@"; do
        case $command in
        import:*) /usr/bin/python3 -c "import ${command#import:}" 2>/dev/null && continue ;;
        *) command -v "$command" >/dev/null && continue ;;
        esac
        if ! wanted; then
            skip "$part" "there is no ${command#import:}; CFR_REAL=1 installs it"
            return 1
        fi
        sh tools/setup.sh real || { skip "$part" "its packages could not be installed, see above"; return 1; }
    done
}

# run PART FILE...
run() {
    part=$1
    shift
    echo "real: $part"
    CFR_KUBE="$kube/bin" CFR_CONSUMERS="$consumers" CFR_CREDFRESH="$build/agent/credfresh" \
        CFR_LOCALCLOUD="$build/test/localcloud/credfresh-localcloud" \
        CFR_WITNESS="$build/test/witness/credfresh-witness" PYTHONDONTWRITEBYTECODE=1 \
        /usr/bin/python3 -m pytest -q -rs -p no:cacheprovider "$@" || status=1
}

have_kubernetes() {
    if [ ! -x "$kube/bin/kube-apiserver" ] || [ ! -x "$kube/bin/kubectl" ]; then
        if ! wanted; then
            skip "the Kubernetes API server" \
                "there is none with its kubectl in $kube; CFR_REAL=1 builds them from Debian's sources in ten minutes"
            return 1
        fi
        [ "$(id -u)" = 0 ] || { skip "the Kubernetes API server" "building one takes root"; return 1; }
        mkdir -p "$cache"
        echo "real: building what is missing of a Kubernetes API server and kubectl in $kube, up to ten minutes;" \
            "the log is $cache/kube-build.log"
        bash test/real/kube-build.sh "$kube" >"$cache/kube-build.log" 2>&1 || {
            tail -n 5 "$cache/kube-build.log"
            skip "the Kubernetes API server" "it could not be built, see above"
            return 1
        }
    fi
    installed "the Kubernetes API server" etcd openssl import:jwt
}

# The others are run without those that are missing; the tests name them, too.
have_consumers() {
    for command in node npm; do
        command -v "$command" >/dev/null || ! wanted || sh tools/setup.sh consumers ||
            skip "consumers in JavaScript" "nodejs and npm could not be installed, see above"
    done
    if wanted; then
        sh test/real/consumers-setup.sh "$consumers" || skip "some consumers" "they could not be fetched, see above"
    elif [ ! -d "$consumers/js" ] || [ ! -d "$consumers/debian13" ]; then
        skip "consumers in JavaScript or of Debian 13" "they are not all in $consumers; CFR_REAL=1 fetches them in a minute"
    fi
    installed "consumers" aws import:botocore
}

# The web server's programs may not be in the path of a plain user.
PATH=$PATH:/usr/sbin:/sbin
if have_kubernetes; then
    run "the Kubernetes API server" test/real/test_kube_*.py
fi
if have_consumers; then
    run "consumers" test/real/test_consumers.py
fi
if installed "Keystone" keystone-manage gunicorn openstack apache2; then
    run "Keystone" test/real/test_keystone.py
fi
exit $status
