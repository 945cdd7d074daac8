#!/bin/sh
# The main job against the local cloud: tokens become credentials of four clouds that stay fresh under consumers that never
# notice, through outages, a kill -9 and a forced rotation. Sets itself up; about a minute once it is built.
# With --stay, the cloud, the agent and the consumers go on until Ctrl-C, so that commands can be tried on them.
set -eu
case "$*" in '' | --stay) ;; *) echo "demo: unknown argument \"$*\": the only one is --stay" >&2; exit 2 ;; esac
cd "$(dirname "$0")/.."
sh tools/setup.sh build demo
build=${CFR_BUILD:-build/dev}
[ -f "$build/build.ninja" ] || cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo >/dev/null
echo "demo: building in $build, one to two minutes the first time" >&2
cmake --build "$build" --target credfresh credfresh-localcloud credfresh-witness | tail -n 1
exec /usr/bin/python3 tools/demo.py "$build" "$@"
