#!/bin/sh
# test-real.sh BUILD_DIR: what needs real components: a Kubernetes API server with kubectl and a kubelet, kept in $CFR_CACHE
# (default /var/cache/credfresh), the clouds' SDKs, from npm and Debian 13 as far as Debian 12 has none, kept there too, a
# Keystone with an Apache in front of it, a Prometheus, a browser, podman with the images of container/, containerd for the kubelet,
# the servers of docs/recipes.md, and a
# machine that systemd has booted with our Debian packages, from Debian's packages. A part whose component is missing says so
# and is skipped; CFR_REAL=1 builds and installs them first; CFR_REQUIRE_REAL=1 makes a skip a failure.
set -eu
cd "$(dirname "$0")/.."
build=$(cd "$1" && pwd)
cache=${CFR_CACHE:-/var/cache/credfresh}
kube=$cache/kube
consumers=$cache/consumers
containers=$cache/containers
systemd=$cache/systemd
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
    [ ! -x build/static/credfresh ] || export CFR_STATIC="$PWD/build/static/credfresh"
    CFR_KUBE="$kube/bin" CFR_CONSUMERS="$consumers" CFR_CONTAINERS="$containers" CFR_CREDFRESH="$build/agent/credfresh" CFR_OIDC="$build/oidc/credfresh-oidc" \
        CFR_TREE="$systemd/tree" CFR_PACKAGES="$systemd/packages" \
        CFR_LOCALCLOUD="$build/test/localcloud/credfresh-localcloud" \
        CFR_WITNESS="$build/test/witness/credfresh-witness" \
        sh tools/pytest.sh "$@" || status=1
}

# have_kube PART COMMAND...: has the COMMANDs of Kubernetes.
have_kube() {
    part=$1
    shift
    for command in "$@"; do
        [ ! -x "$kube/bin/$command" ] || continue
        if ! wanted; then
            skip "$part" "there is no $command in $kube; CFR_REAL=1 builds it from Debian's sources in ten minutes"
            return 1
        fi
        [ "$(id -u)" = 0 ] || { skip "$part" "building it takes root"; return 1; }
        mkdir -p "$cache"
        echo "real: building what is missing of Kubernetes in $kube, up to twenty minutes; the log is $cache/kube-build.log"
        bash test/real/kube-build.sh "$kube" >"$cache/kube-build.log" 2>&1 || {
            tail -n 5 "$cache/kube-build.log"
            skip "$part" "it could not be built, see above"
            return 1
        }
    done
    installed "$part" etcd openssl import:jwt
}

# Without it the tests of the chart are skipped.
get_helm() {
    [ ! -x "$kube/bin/helm" ] && ! command -v helm >/dev/null && wanted && command -v go >/dev/null || return 0
    echo "real: building helm; the log is $cache/helm-build.log"
    GOFLAGS=-mod=mod GOBIN="$kube/bin" go install helm.sh/helm/v3/cmd/helm@v3.19.5 >"$cache/helm-build.log" 2>&1 ||
        tail -n 5 "$cache/helm-build.log"
}

have_kubelet() {
    have_kube "a kubelet" kube-apiserver kubectl kubelet || return 1
    for command in containerd runc; do
        command -v "$command" >/dev/null || ! wanted || sh tools/setup.sh kubelet || true
        command -v "$command" >/dev/null || { skip "a kubelet" "there is no $command; CFR_REAL=1 installs it"; return 1; }
    done
    node='mount -t tmpfs none /mnt && ip link add node0 type veth peer name node1'
    why=$(unshare --net --mount --pid --fork sh -c "$node" 2>&1) ||
        { skip "a kubelet" "the namespaces of a node are refused here: $why"; return 1; }
    # The static program is what the image has. Where it cannot be built the pod gets the other one, with its libraries.
    ! wanted || sh tools/build-static.sh || echo "real: there is no static program for the kubelet's pod, see above"
}

# The others are run without those that are missing; the tests name them, too.
have_recipes() {
    for command in psql mariadbd redis-server nginx haproxy; do
        command -v "$command" >/dev/null || ! wanted || sh tools/setup.sh recipes || true
        command -v "$command" >/dev/null || skip "a recipe" "there is no $command; CFR_REAL=1 installs it"
    done
}

# As for the recipes.
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

have_podman() {
    for command in podman runc debootstrap; do
        command -v "$command" >/dev/null || ! wanted || sh tools/setup.sh containers || true
        command -v "$command" >/dev/null || { skip podman "there is no $command; CFR_REAL=1 installs it"; return 1; }
    done
    [ "$(id -u)" = 0 ] || { skip podman "the test takes root"; return 1; }
    if [ ! -f "$containers/base.tar" ] && ! wanted; then
        skip podman "there is no base image in $containers; CFR_REAL=1 makes it and builds the images in three minutes"
        return 1
    fi
    mkdir -p "$containers"
    echo "real: building the images where the sources have changed; the log is $containers/build.log"
    code=0
    sh test/real/podman-setup.sh "$containers" >"$containers/build.log" 2>&1 || code=$?
    [ $code = 0 ] || tail -n 5 "$containers/build.log"
    case $code in
    0) ;;
    3) skip podman "it cannot run here, see above" ;;
    *) echo "real: FAILED: the images of container/ could not be built, see above"; status=1 ;;
    esac
    return $code
}

# After podman: it takes that one's Debian.
have_release() {
    for command in podman dpkg-shlibdeps file aarch64-linux-gnu-gcc qemu-aarch64-static; do
        command -v "$command" >/dev/null || wanted ||
            { skip "a release" "there is no $command; CFR_REAL=1 installs it"; return 1; }
    done
    [ "$(id -u)" = 0 ] || { skip "a release" "the test takes root"; return 1; }
    [ -f "$containers/base.tar" ] || { skip "a release" "there is no base image in $containers, see podman above"; return 1; }
    git rev-parse HEAD >/dev/null 2>&1 || { skip "a release" "this is no git repository"; return 1; }
}

have_systemd() {
    for command in systemd-nspawn debootstrap lintian dpkg-shlibdeps file; do
        command -v "$command" >/dev/null || ! wanted || sh tools/setup.sh systemd package || true
        command -v "$command" >/dev/null || { skip systemd "there is no $command; CFR_REAL=1 installs it"; return 1; }
    done
    [ "$(id -u)" = 0 ] || { skip systemd "the test takes root"; return 1; }
    if [ ! -d "$systemd/tree" ] && ! wanted; then
        skip systemd "there is no tree in $systemd; CFR_REAL=1 makes it in a minute"
        return 1
    fi
    mkdir -p "$systemd"
    echo "real: building the Debian packages, and what they are installed in; the logs are in $systemd"
    rm -rf "$systemd/packages"
    for release in 1 2; do # the second is what is upgraded to
        sh tools/package.sh $release "$systemd/packages" >"$systemd/package.log" 2>&1 || {
            tail -n 5 "$systemd/package.log"
            echo "real: FAILED: the Debian packages could not be built, see above"
            status=1
            return 1
        }
    done
    sh test/real/systemd-setup.sh "$systemd" "$systemd/packages" >"$systemd/setup.log" 2>&1 || {
        tail -n 5 "$systemd/setup.log"
        skip systemd "the tree could not be made, see above"
        return 1
    }
}

# The web server's programs may not be in the path of a plain user.
PATH=$PATH:/usr/sbin:/sbin

# 1. What the parts need is installed and built, one after another.
parts=
! have_kubelet || parts="$parts kubelet"
! have_kube "the Kubernetes API server" kube-apiserver kubectl || { get_helm; parts="$parts api"; }
! have_consumers || parts="$parts consumers"
! installed "Keystone" keystone-manage gunicorn openstack apache2 || parts="$parts keystone"
! have_podman || parts="$parts podman"
! have_release || parts="$parts release"
have_recipes
parts="$parts recipes"
! installed "Prometheus" prometheus promtool || parts="$parts prometheus"
! installed "a browser" chromium || parts="$parts browser"
! have_systemd || parts="$parts systemd"

# lane PART...: runs those that can be run, one after another.
lane() (
    status=0
    for part in "$@"; do
        case " $parts " in *" $part "*) ;; *) continue ;; esac
        case $part in
        api) run "the Kubernetes API server" test/real/test_kube_*.py ;;
        browser) run "a browser" test/real/test_status_page.py ;;
        consumers) run "consumers" test/real/test_consumers.py ;;
        keystone) run "Keystone" test/real/test_keystone.py ;;
        kubelet) run "a kubelet" test/real/test_kubelet.py ;;
        podman) run "podman" test/real/test_podman.py ;;
        prometheus) run "Prometheus" test/real/test_prometheus.py ;;
        recipes) run "recipes" test/real/test_recipes.py ;;
        release) run "a release" test/real/test_rehearsal.py ;;
        systemd) run "systemd" test/real/test_systemd.py ;;
        esac
    done
    exit $status
)

# 2. They mostly wait, so they run next to one another in three lanes of up to ten minutes.
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
lane kubelet >"$logs/1" 2>&1 &
first=$!
lane podman release systemd consumers prometheus browser >"$logs/2" 2>&1 &
second=$!
echo "real: a kubelet, podman, a release, systemd, consumers, Prometheus and a browser are next to these; their output is below"
lane api keystone recipes || status=1
wait $second || status=1
cat "$logs/2"
wait $first || status=1
cat "$logs/1"
exit $status
