#!/bin/sh
# release.sh [--rehearse] [DIR]: builds all that a release publishes into DIR (build/release by default), which it empties
# first: programs for amd64 and arm64 with their SBOMs, Debian packages, images, chart, wheel, source, notes, checksums. See
# docs/releasing.md. As root, on Debian 12 or 13. With --rehearse also where something forbids publishing, which it lists.
set -eu
cd "$(dirname "$0")/.."

die() {
    echo "release: $*" >&2
    exit 1
}

usage="usage: release.sh [--rehearse] [DIR]"
rehearse=
[ "${1:-}" != --rehearse ] || { rehearse=1; shift; }
case ${1:-} in -*) echo "$usage" >&2; exit 2 ;; esac
[ $# -le 1 ] || { echo "$usage" >&2; exit 2; }
to=${1:-build/release}
version=$(sed -n 's/^project(credfresh VERSION \([^ ]*\).*/\1/p' CMakeLists.txt)
native=$(dpkg --print-architecture) || die "this needs Debian"
foreign=arm64
[ "$native" != arm64 ] || foreign=amd64

# ---- What forbids publishing ----

objections=0
object() {
    objections=$((objections + 1))
    echo "release: not to be published: $*" >&2
    [ -n "$rehearse" ] || die "nothing was built; --rehearse builds all the same"
}

# The section of the changelog, without its heading.
notes() {
    sed -n "/^## \[$version\]/,/^## \[/p" CHANGELOG.md | sed '/^## \[/d; 1{/^$/d}'
}

[ "$(id -u)" = 0 ] || die "run it as root: it installs packages, and sets owners in images"
[ -z "$(git status --porcelain)" ] || object "the tree has changes that are not committed"
git tag --points-at HEAD | grep -qx "v$version" || object "HEAD has no tag v$version"
[ -n "$(notes)" ] || die "CHANGELOG.md has no section [$version]"
grep -Eq "^## \[$version\] - [0-9]{4}-[0-9]{2}-[0-9]{2}$" CHANGELOG.md || object "the changelog gives no date for $version"

# ---- Programs and packages ----

# What takes a while, and how long on two cores.
say() {
    echo "release: $*" >&2
}

say "programs for amd64 and arm64, then packages: about ten minutes the first time, three later"

sh tools/setup.sh build static "static-$foreign" package release
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
umask 022
rm -rf "$to"
mkdir -p "$to"
to=$(cd "$to" && pwd)
work=$(mktemp -d)
finish() {
    grep -o " $work/[^ ]*" /proc/mounts | sort -r | xargs -r umount
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM

# folder ARCH: where build-static.sh puts its result.
folder() {
    [ "$1" = "$native" ] && echo build/static-trimmed || echo "build/static-trimmed-$1"
}

for arch in amd64 arm64; do
    sh tools/build-static.sh --openssl=trimmed "--arch=$arch"
    [ ! -s "$(folder $arch)/outdated" ] ||
        object "the program for $arch has sources without Debian's latest fixes, which apt cannot get: $(tr '\n' ' ' <"$(folder $arch)/outdated")"
    for suffix in "" .debug .spdx.json; do
        cp "$(folder $arch)/credfresh$suffix" "$to/credfresh-$version-linux-$arch$suffix"
    done
    # What the compiler brings has another name in a cross compiler.
    grep -v '^gcc' "$(folder $arch)/libraries" >"$work/libraries-$arch"
done
differ=$(LC_ALL=C sort "$work"/libraries-* | uniq -u | cut -d ' ' -f 1 | uniq | tr '\n' ' ')
[ -z "$differ" ] || object "the programs have different versions of these libraries, because this machine lacks updates: $differ"
qemu=$(case $foreign in arm64) echo aarch64 ;; *) echo x86_64 ;; esac)
[ "$("qemu-$qemu-static" "$to/credfresh-$version-linux-$foreign" version)" = "$("$to/credfresh-$version-linux-$native" version)" ] ||
    die "the program for $foreign does not run"
sh tools/package.sh 1 "$to" >/dev/null

# ---- Images ----

# Deterministic archives: sorted, and of one time and owner.
pack() {
    tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner "$@"
}

podman="podman --root $work/storage --runroot $work/run"

# image NAME TARGET: one archive in OCI's layout with an image for each architecture. The stage "build" of the Containerfile
# is replaced by a directory with what was built above.
image() {
    for arch in amd64 arm64; do
        $podman build --quiet --no-cache --timestamp "$SOURCE_DATE_EPOCH" --platform "linux/$arch" \
            --build-context "build=$work/$arch" -f container/Containerfile ${2:+--target "$2"} --manifest "localhost/$1:$version" . >/dev/null
    done
    $podman manifest push --quiet --all "localhost/$1:$version" "oci:$work/oci-$1:$version" >/dev/null
    pack -C "$work/oci-$1" -cf "$to/$1-$version-image.tar" .
}

for arch in amd64 arm64; do
    busybox=/bin/busybox
    [ "$arch" = "$native" ] || busybox=$(cat "$(folder $arch)/sysroot")/bin/busybox
    mkdir -p "$work/$arch/bin"
    cp "$busybox" "$work/$arch/bin/busybox"
    sh container/layout.sh "$to/credfresh-$version-linux-$arch" "$work/$arch/image"
done
say "images of credfresh and credfresh-setup: about a minute"
image credfresh ""
image credfresh-setup setup
# The Debian that the demonstration begins with comes from its registry, unless the tests have made one.
say "the image of the demonstration: about three minutes"
base=${CFR_CACHE:-/var/cache/credfresh}/containers/base.tar
[ ! -f "$base" ] ||
    $podman import --quiet --change 'ENV PATH=/usr/sbin:/usr/bin:/sbin:/bin' "$base" docker.io/library/debian:bookworm-slim >/dev/null
$podman build --network host -f container/Containerfile.demo -t "localhost/credfresh-demo:$version" . >"$work/demo.log" 2>&1 ||
    { tail -n 15 "$work/demo.log" >&2; die "the image of the demonstration could not be built"; }
$podman save --quiet --format oci-archive -o "$to/credfresh-demo-$version-image.tar" "localhost/credfresh-demo:$version"

# ---- The rest ----

git archive --format=tar --prefix="credfresh-$version/" HEAD | gzip -n9 >"$to/credfresh-$version.tar.gz"
cp -r libcredfresh/python "$work/python" # pip builds in the folder of the sources
/usr/bin/python3 -m pip wheel --quiet --no-deps --no-build-isolation --no-index --wheel-dir "$to" "$work/python"
pack -C container/helm -cf - credfresh | gzip -n9 >"$to/credfresh-chart-$version.tgz"
notes >"$to/NOTES.md"
(cd "$to" && sha256sum -- * >"$work/sums" && mv "$work/sums" SHA256SUMS)
ls "$to"
if [ $objections = 0 ]; then
    echo "release: $version is in $to; publish it as docs/releasing.md describes"
else
    echo "release: rehearsed in $to; the reasons not to publish it are above"
fi
