#!/bin/sh
# systemd-setup.sh DIR PACKAGES: makes DIR/tree, a Debian like this one with systemd and all that the packages in the folder
# PACKAGES depend on, but not themselves. As root. A minute the first time, then nothing until these dependencies change.
set -eu
mkdir -p "$1"
dir=$(cd "$1" && pwd)
packages=$(cd "$2" && pwd)

codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
needed=
for package in "$packages"/*.deb; do
    needed="$needed$(dpkg-deb -f "$package" Depends | sed 's/, */\n/g' | grep -v '^\(lib\)\?credfresh\|^libssl-dev' |
        sed 's/$/, /' | tr -d '\n')"
done
[ "$codename $needed" != "$(cat "$dir/kept-for" 2>/dev/null)" ] || exit 0

# The machine's own mirror of Debian.
debian() {
    apt-get indextargets --format "$1" 'Created-By: Packages' 'Origin: Debian' | sort -u
}
mirror=$(debian '$(RELEASE) $(COMPONENT) $(REPO_URI)' | sed -n "s/^$codename main //p")
[ -n "$mirror" ] || { echo "apt knows no mirror of Debian" >&2; exit 1; }
new=$dir/tree.new
rm -rf --one-file-system "$new" "$dir/tree"
rm -f "$dir/kept-for"
debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus "$codename" "$new" "$mirror"
debian 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' >"$new/etc/apt/sources.list"
# --register=no --keep-unit: there may be no systemd here that could be told of it.
systemd-nspawn -q -D "$new" --register=no --keep-unit --pipe --setenv=DEBIAN_FRONTEND=noninteractive sh -c \
    'apt-get update && apt-get satisfy -y --no-install-recommends "$0" && apt-get clean' "${needed%, }" </dev/null
mv "$new" "$dir/tree"
echo "$codename $needed" >"$dir/kept-for"
