#!/bin/sh
# lint.sh BUILD_DIR: the order of the rooms, the layout of the sources, clang-tidy and cppcheck over what is shipped.
# BUILD_DIR was built by clang with every warning an error (preset asan).
set -eu
cd "$(dirname "$0")/.."
build=$1
/usr/bin/python3 tools/check-rooms "$build"
sh tools/check-format.sh
/usr/bin/python3 tools/tidy "$build"
mkdir -p build/cppcheck
# What it finds across files does not change its exit status.
cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 -j "$(nproc)" \
    --cppcheck-build-dir=build/cppcheck --suppressions-list=tools/cppcheck.txt -I. -Ilibcredfresh/include \
    base wire token kube files serve sts rotation pki agent oidc tools/gen libcredfresh \
    2>build/cppcheck/found || { cat build/cppcheck/found; exit 1; }
[ ! -s build/cppcheck/found ] || { cat build/cppcheck/found; exit 1; }
echo "lint: cppcheck found nothing"
