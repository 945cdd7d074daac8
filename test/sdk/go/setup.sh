#!/bin/sh
# setup.sh [CACHE_DIR]: builds the consumers in Go as CACHE_DIR/run, once per state of the sources. Exits with 77, and says
# on standard output what is missing, if there is no toolchain or no module proxy.
set -eu
cd "$(dirname "$0")"
dir=${1:-/var/cache/credfresh/sdk/go}

missing() {
    echo "$*"
    exit 77
}

command -v go >/dev/null || missing "there is no Go toolchain (go 1.26)"
stamp=$( (go version && cat ./*.go go.mod go.sum setup.sh) | sha256sum)
[ ! -x "$dir/run" ] || [ "$(cat "$dir/built-for" 2>/dev/null)" != "$stamp" ] || exit 0
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

# 1. The modules that the build needs, and no others. Nothing is written outside CACHE_DIR.
export GOTOOLCHAIN=local GOFLAGS=-modcacherw GOMODCACHE="$dir/mod" GOCACHE="$dir/build"
go list -mod=readonly -deps . 2>"$dir/log" >/dev/null || missing "Go's modules cannot be fetched: $(tail -n 1 "$dir/log")"

# 2. The program. It fails on an error in the sources only.
GOPROXY=off CGO_ENABLED=0 nice go build -mod=readonly -trimpath -ldflags='-s -w' -o "$dir/run.new" . >"$dir/log" 2>&1 || {
    cat "$dir/log" >&2
    exit 1
}
mv "$dir/run.new" "$dir/run"
echo "$stamp" >"$dir/built-for"
