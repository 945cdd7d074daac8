#!/bin/sh
# test-fresh.sh [STAGE...]: runs tools/test.sh with these stages (default: all) in a fresh minimal Debian, where a test fails that
# needs a package which tools/packages.txt does not have. As root. debootstrap makes the Debian below $CFR_FRESH (default
# /var/tmp) from this machine's mirrors, and the end removes it: 5 GB, and four minutes more than the stages take here.
# The release is this machine's; CFR_FRESH_RELEASE=trixie takes another one.
# Exits with 3 if the Debian cannot be made, with 1 if a stage fails.
set -eu
cd "$(dirname "$0")/.."

cannot() {
    echo "test-fresh: cannot make a fresh Debian: $*" >&2
    exit 3
}

[ "$(id -u)" = 0 ] || cannot "run as root"
sh tools/setup.sh fresh || cannot "tools/setup.sh fresh failed"
unshare --mount --pid --fork true || cannot "unshare failed; in a container, start it with --privileged"
here=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
release=${CFR_FRESH_RELEASE:-$here}
debian() {
    apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' |
        sed "s/ $here/ $release/" | sort -u
}
[ -n "$(debian)" ] || apt-get update -q || true # only the indexes name the origin
sources=$(debian)
mirror=$(echo "$sources" | sed -n "s/^deb \([^ ]*\) $release main$/\1/p")
[ -n "$mirror" ] || cannot "apt has no mirror of Debian $here main"

# Compiled files are the only thing that is shared with this machine: what ccache has is keyed by compiler and source, so it hides
# no missing package, and the other stages of the same run need the same objects. Hits need the same path of the sources.
include=
ccache=
if command -v ccache >/dev/null; then
    include=--include=ccache
    ccache=$(ccache --get-config cache_dir)
    mkdir -p "$ccache"
fi

dir=$(mktemp -d "${CFR_FRESH:-/var/tmp}/credfresh-fresh.XXXXXX")
# Nothing is mounted here: the mounts are in a namespace that ends with its processes.
running=
stop() {
    [ -z "$running" ] || kill -KILL "$running" 2>/dev/null || true
    rm -rf --one-file-system "$dir"
}
trap stop EXIT
trap 'exit 1' INT TERM HUP
tree=$dir/tree
started=$(date +%s)
echo "=== fresh Debian $release in $tree"
unshare --mount debootstrap --variant=minbase $include "$release" "$tree" "$mirror" >"$dir/log" 2>&1 </dev/null ||
    { tail -n 20 "$dir/log" >&2; cannot "debootstrap failed, see above"; }
echo "$sources" >"$tree/etc/apt/sources.list"
cp /etc/resolv.conf /etc/hosts "$tree/etc/"
# What this machine trusts, for registries behind a proxy that has its own CA.
[ ! -f /etc/ssl/certs/ca-certificates.crt ] ||
    install -D -m 644 /etc/ssl/certs/ca-certificates.crt "$tree/usr/local/share/ca-certificates/machine.crt"
mkdir -p "$tree$PWD"
tar -c --exclude=./build . | tar -x --no-same-owner -C "$tree$PWD"
echo "=== fresh Debian $release: made in $(($(date +%s) - started)) s"

# The tree has to be a mount point for namespaces below it. Process 1 of the new namespace takes all others with it. In a session of
# their own the tests have a process group that they can see. If this script is killed, all of it ends.
export tree ccache
setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child setsid --wait sh -eu -c '
    mount --bind "$tree" "$tree"
    mount -t proc proc "$tree/proc"
    mount --rbind /sys "$tree/sys"
    mount --rbind /dev "$tree/dev"
    mount -t tmpfs -o mode=755 tmpfs "$tree/run"
    if [ -n "$ccache" ]; then
        mkdir -p "$tree$ccache"
        mount --bind "$ccache" "$tree$ccache"
        export CCACHE_DIR="$ccache"
    fi
    # Not with exec: process 1 has to reap the orphans of the tests.
    env -u TMPDIR -u tree -u ccache HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        chroot "$tree" sh -c '\''cd "$0" && exec sh tools/test.sh "$@"'\'' "$PWD" "$@" || exit 1
    exit 0' test-fresh "$@" </dev/null &
running=$!
wait $running || exit 1
