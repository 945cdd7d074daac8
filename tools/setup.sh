#!/bin/sh
# setup.sh GROUP...: installs what is missing from tools/packages.txt (groups: see there).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- build
wanted=
for group in "$@"; do
    wanted="$wanted $(sed -n "s/^$group //p" "$here/packages.txt")"
done
if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "setup: this is no Debian; install the counterparts of these packages:" $wanted
    exit 0
fi
missing=
for package in $wanted; do
    dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
sudo=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "setup: run as root or install sudo; missing:$missing" >&2; exit 1; }
    sudo=sudo
fi
echo "setup: installing packages, usually one to three minutes:$missing" >&2
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
if ! { $sudo apt-get update && $sudo apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    exit 1
fi
rm -f "$log"
