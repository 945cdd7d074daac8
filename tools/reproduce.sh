#!/bin/sh
# reproduce.sh [--full] static [OPTION of build-static.sh...]: builds the static program here and in a copy of this tree, and
# fails if they differ. With --full the copy also rebuilds the libraries, in a cache of its own.
# reproduce.sh package: the same with the Debian packages.
set -eu
cd "$(dirname "$0")/.."
full=
[ "${1:-}" != --full ] || { full=1; shift; }
what=${1:-}
case $what in static | package) shift ;; *) echo "usage: reproduce.sh [--full] static|package" >&2; exit 2 ;; esac
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH
# Always the same folder, for the sake of ccache.
copy=$PWD/build/reproduce
rm -rf "$copy"
mkdir -p "$copy"
trap 'rm -rf "$copy"' EXIT
trap 'exit 1' INT TERM
mkdir "$copy/tree"
tar -cf - --exclude=./build . | tar -xf - -C "$copy/tree"

# same HERE THERE FILE...
same() {
    here=$1
    there=$2
    shift 2
    for file in "$@"; do
        cmp "$here/$file" "$there/$file" || { echo "reproduce: $file differs"; exit 1; }
    done
    echo "reproduce: both builds are the same: $*"
}

if [ "$what" = package ]; then
    sh tools/package.sh 1 "$copy/here"
    sh "$copy/tree/tools/package.sh" 1 "$copy/there" >/dev/null
    same "$copy/here" "$copy/there" $(cd "$copy/here" && ls)
    exit
fi
sh tools/build-static.sh "$@"
if [ -n "$full" ]; then
    mkdir -p "$copy/cache/static"
    cp -r "${CFR_CACHE:-/var/cache/credfresh}/static/sources" "$copy/cache/static/"
    export CFR_CACHE="$copy/cache"
fi
sh "$copy/tree/tools/build-static.sh" "$@"
there=$(echo "$copy/tree/build/static"*)
same "build/${there##*/}" "$there" credfresh credfresh.debug credfresh.spdx.json
