#!/bin/sh
# tls_install.sh BUILD_DIR_OF_RELOAD CC FLAG: installs both libraries, and builds and starts tls_server against what was
# installed: with pkg-config, with CMake's find_package, and against the archive.
set -eu
examples=$(cd "$(dirname "$0")/../../libcredfresh/examples" && pwd)
build=$1 cc=$2 flag=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >/dev/null
PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name credfresh-tls.pc)")
export PKG_CONFIG_PATH

# starts PROGRAM: it must say that there is nothing in the directory.
starts() {
    mkdir -p "$work/empty"
    rc=0
    said=$("$1" "$work/empty" 2>&1 >/dev/null) || rc=$?
    case "$rc $said" in
    "1 tls_server: "*) ;;
    *) echo "tls_install: $1 ended with $rc and said: $said"; exit 1 ;;
    esac
}
lib=$(dirname "$(find "$work/prefix" -name libcredfresh-tls.so)")

# shellcheck disable=SC2046
"$cc" -std=c11 -D_GNU_SOURCE "$flag" "$examples/tls_server.c" -o "$work/by-pkg-config" $(pkg-config --cflags --libs credfresh-tls) -pthread
LD_LIBRARY_PATH="$lib" starts "$work/by-pkg-config"

# shellcheck disable=SC2046
"$cc" -std=c11 -D_GNU_SOURCE "$flag" $(pkg-config --cflags credfresh-tls) "$examples/tls_server.c" -o "$work/by-archive" \
    "$lib/libcredfresh-tls.a" "$lib/libcredfresh.a" -lssl -lcrypto -pthread
starts "$work/by-archive"

mkdir "$work/project"
cat >"$work/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(consumer C)
find_package(credfresh-tls 0.1 REQUIRED)
add_executable(by-cmake $examples/tls_server.c)
target_compile_definitions(by-cmake PRIVATE _GNU_SOURCE)
target_link_libraries(by-cmake PRIVATE credfresh::credfresh-tls)
END
cmake -G Ninja -S "$work/project" -B "$work/project/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_C_FLAGS="$flag" >"$work/log" 2>&1 && cmake --build "$work/project/build" >>"$work/log" 2>&1 || {
    cat "$work/log"
    exit 1
}
LD_LIBRARY_PATH="$lib" starts "$work/project/build/by-cmake"
echo "tls_install: pkg-config, archive and find_package"
