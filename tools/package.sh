#!/bin/sh
# package.sh [RELEASE [DIR]]: builds the Debian packages VERSION-RELEASE (1 by default) for the Debian that it runs on, and
# puts them into DIR (build/package by default).
set -eu
cd "$(dirname "$0")/.."
# Paths that ccache makes relative would be in the debug information, and differ from a build without it.
export CCACHE_BASEDIR=
sh tools/setup.sh build package
build=build/package
to=${2:-$build}
mkdir -p "$build" "$to"
to=$(cd "$to" && pwd)
# The same source gives the same packages.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date -r CMakeLists.txt +%s)}
export SOURCE_DATE_EPOCH
umask 022
# Only what is packed is built, so the step of CMake that would build the tests too is left out. A path for libraries of the
# build would be in the build IDs.
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_INSTALL_PREFIX=/usr -DCFR_DEBIAN=ON \
    -DCMAKE_SKIP_RPATH=ON -DCFR_PACKAGE_RELEASE="${1:-1}" -DCMAKE_SKIP_INSTALL_ALL_DEPENDENCY=ON >"$build/configure.log"
echo "package: building, one to two minutes; then packing, half a minute" >&2
cmake --build "$build" -j "$(nproc)" --target credfresh credfresh-oidc libcredfresh libcredfresh_static libcredfresh_tls \
    libcredfresh_tls_static credfresh-localcloud credfresh-witness | tail -n 1
(cd "$build" && cpack -G DEB -B "$to" >"cpack.log" 2>&1) || { tail -n 20 "$build/cpack.log" >&2; exit 1; }
rm -rf "$to/_CPack_Packages"
ls "$to"/*_"$(sed -n 's/.*credfresh VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)-${1:-1}"_*.deb
