#!/bin/sh
# reproduce.sh [--full] [OPTION of build-static.sh...]: builds the static program here and in a copy of this tree, and
# compares what comes out. With --full the copy also rebuilds the libraries, in a cache of its own.
set -eu
cd "$(dirname "$0")/../.."
full=
[ "${1:-}" != --full ] || { full=1; shift; }
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
trap 'exit 1' INT TERM
mkdir "$copy/tree"
tar -cf - --exclude=./build --exclude=./.git . | tar -xf - -C "$copy/tree"
sh tools/build-static.sh "$@"
if [ -n "$full" ]; then
    mkdir -p "$copy/cache/static"
    cp -r "${CFR_CACHE:-/var/cache/credfresh}/static/sources" "$copy/cache/static/"
    export CFR_CACHE="$copy/cache"
fi
sh "$copy/tree/tools/build-static.sh" "$@"
there=$(echo "$copy/tree/build/static"*)
for file in credfresh credfresh.debug credfresh.spdx.json; do
    cmp "build/${there##*/}/$file" "$there/$file" || { echo "reproduce: $file differs"; exit 1; }
done
echo "reproduce: both builds are the same, $(sha256sum <"$there/credfresh" | cut -c 1-16)..."
