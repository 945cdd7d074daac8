#!/bin/sh
# podman-setup.sh DIR: makes DIR/images.tar, the images that test_podman.py uses: credfresh, credfresh-setup and
# credfresh-demo, built by podman from container/, and the Debian that they begin with, made by debootstrap instead of
# fetched from a registry. As root. Five minutes the first time, one when the sources have changed, else nothing; DIR keeps
# what it takes for that, 2 GB. Status 3 where podman cannot run a container, with the reason.
set -eu
cd "$(dirname "$0")/../.."
mkdir -p "$1"
dir=$(cd "$1" && pwd)
base=docker.io/library/debian:bookworm-slim
exec 9>"$dir/lock"
flock 9

# Built is a copy, in which nothing changes meanwhile.
rm -rf "$dir/context"
mkdir "$dir/context"
tar -c --exclude=./.git --exclude=./build . | tar -x -C "$dir/context"
cp test/real/containers.conf "$dir/containers.conf"
cd "$dir/context"
# Of the tests only what the demonstration runs is in an image.
key=$(find . \( -path ./docs -o -path ./container/kubernetes -o -path ./container/helm \) -prune -o \
    -path './test/[!clw]*' -prune -o -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum)
[ ! -f "$dir/images.tar" ] || [ "$key" != "$(cat "$dir/kept-for" 2>/dev/null)" ] || exit 0

# The machine's own mirror of Debian, so that what works for it works in the container.
debian() {
    apt-get indextargets --format "$1" 'Created-By: Packages' 'Origin: Debian' | sort -u
}

make_base() {
    codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
    mirror=$(debian '$(RELEASE) $(COMPONENT) $(REPO_URI)' | sed -n "s/^$codename main //p")
    [ -n "$mirror" ] || { echo "apt knows no mirror of Debian" >&2; return 1; }
    work=$(mktemp -d "$dir/base.XXXXXX")
    debootstrap --variant=minbase bookworm "$work" "$mirror"
    debian 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' | sed -n "s/ $codename/ bookworm/p" >"$work/etc/apt/sources.list"
    rm -rf "$work"/var/cache/apt/archives/*.deb
    tar -C "$work" -c . >"$dir/base.tar.new"
    mv "$dir/base.tar.new" "$dir/base.tar"
    rm -rf "$work"
}

export CONTAINERS_CONF="$dir/containers.conf"
mkdir -p "$dir/libraries"
podman="podman --root $dir/storage --runroot $dir/run"
# A build that is cut short leaves its layers mounted.
unmount() {
    grep -o " $dir/storage/[^ ]*" /proc/mounts | sort -r | xargs -r umount
    rm -rf "${work:-}"
}
trap unmount EXIT
trap 'exit 1' INT TERM
[ -f "$dir/base.tar" ] || make_base
cannot() {
    echo "podman cannot run a container here: $(echo "$1" | tail -n 1)" >&2
    exit 3
}
$podman image exists $base ||
    why=$($podman import --quiet --change 'ENV PATH=/usr/sbin:/usr/bin:/sbin:/bin' - $base <"$dir/base.tar" 2>&1) ||
    cannot "$why"
why=$($podman run --rm --network host --pull never $base true 2>&1) || cannot "$why"
build() {
    $podman build --pull=never --network host --layers --force-rm -v "$dir/libraries:/var/cache/credfresh" \
        "$@" .
}
build -f container/Containerfile --target build -t localhost/credfresh-build:test
build -f container/Containerfile --target setup -t localhost/credfresh-setup:test
build -f container/Containerfile -t localhost/credfresh:test
build -f container/Containerfile.demo --target build -t localhost/credfresh-demo-build:test
build -f container/Containerfile.demo -t localhost/credfresh-demo:test
rm -f "$dir/images.tar"
$podman save --quiet --multi-image-archive -o "$dir/images.tar" localhost/credfresh:test localhost/credfresh-setup:test \
    localhost/credfresh-demo:test $base
# What the next build can begin with has a name.
$podman image prune --force >/dev/null
echo "$key" >"$dir/kept-for"
