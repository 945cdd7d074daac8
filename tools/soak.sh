#!/bin/sh
# soak.sh [MINUTES]: a day in fast time (8 minutes) or as long as MINUTES, with random faults of every kind and a hostile
# consumer, judged by the witness, by programs that use the credentials, and by the local cloud's books. CFR_SOAK_SEED runs
# the faults of an earlier soak again. The files stay where something was wrong.
set -eu
cd "$(dirname "$0")/.."
sh tools/setup.sh build test
build=${CFR_BUILD:-build/dev}
[ -f "$build/build.ninja" ] || cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo >/dev/null
cmake --build "$build" --target credfresh credfresh-localcloud credfresh-witness | tail -n 1
CFR_CREDFRESH=$PWD/$build/agent/credfresh
CFR_LOCALCLOUD=$PWD/$build/test/localcloud/credfresh-localcloud
CFR_WITNESS=$PWD/$build/test/witness/credfresh-witness
export CFR_CREDFRESH CFR_LOCALCLOUD CFR_WITNESS
exec /usr/bin/python3 test/fault/soak.py --minutes "${1:-8}" ${CFR_SOAK_SEED:+--seed "$CFR_SOAK_SEED"}
