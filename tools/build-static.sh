#!/bin/sh
# The static program, stripped, with its symbols, SBOM and checksums next to it: see docs/static.md. For Debian 12 and 13, as
# root the first time, to install packages. Two minutes then; sources and rebuilt libraries are kept in $CFR_CACHE/static (default
# /var/cache/credfresh).
#   sh tools/build-static.sh [--openssl=debian|trimmed] [--arch=arm64]
# Ends with 3 where the sources cannot be had.
set -eu
cd "$(dirname "$0")/.."
# Paths that ccache makes relative would be in the debug information, and differ from a build without it.
export CCACHE_BASEDIR=

die() {
    echo "static: $*" >&2
    exit 1
}

# What takes a while, and how long on two cores.
say() {
    echo "static: $*" >&2
}

native=$(dpkg --print-architecture) || die "this needs Debian"
arch=$native
openssl=debian
for option in "$@"; do
    case $option in
    --openssl=debian | --openssl=trimmed) openssl=${option#*=} ;;
    --arch=*) arch=${option#*=} ;;
    *) die "usage: build-static.sh [--openssl=debian|trimmed] [--arch=ARCHITECTURE]" ;;
    esac
done
sh tools/setup.sh build static
[ "$arch" = "$native" ] || sh tools/setup.sh "static-$arch"
release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
cache=${CFR_CACHE:-/var/cache/credfresh}/static
mkdir -p "$cache/sources"
cache=$(cd "$cache" && pwd)
jobs=$(nproc)
multiarch=$(dpkg-architecture -a"$arch" -qDEB_HOST_MULTIARCH 2>/dev/null)
triplet=$(dpkg-architecture -a"$arch" -qDEB_HOST_GNU_TYPE 2>/dev/null)
cc=$triplet-gcc
out=build/static
[ $openssl = debian ] || out=$out-$openssl
[ "$arch" = "$native" ] || out=$out-$arch
mkdir -p $out
log=$PWD/$out/libraries.log
: >$out/outdated # NAME VERSION of what lacks later fixes

# logged LOG COMMAND...: not in a condition, where "set -e" would be without effect.
logged() {
    to=$1
    shift
    set +e
    (set -e; "$@") >"$to" 2>&1 </dev/null
    status=$?
    set -e
    [ $status = 0 ] || { tail -n 15 "$to" >&2; die "failed: $*; the log is $to"; }
}

. tools/static/sources.sh
. tools/static/sysroot.sh
. tools/static/recipes.sh

work=$(mktemp -d "$cache/work.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

# keep NAME: $work/NAME moves to $cache/NAME-KEY at once, so that it is either complete or not there; another run may have
# been first.
keep() {
    mv -T "$work/$1" "$2" 2>/dev/null || [ -d "$2" ]
}

digest() {
    sha256sum | cut -c 1-16
}

# Debian 13's OpenSSL is linked with these.
ssl_brings=$(sed -n 's/^Libs.private: *//p' "/usr/lib/$(dpkg-architecture -qDEB_BUILD_MULTIARCH)/pkgconfig/libcrypto.pc" |
    tr ' ' '\n' | sed -n 's/^-lz$/zlib1g-dev/p; s/^-lzstd$/libzstd-dev/p')

# What Debian has as an archive comes from the machine or, for another architecture, from the sysroot.
sysroot=
foreign=
if [ "$arch" != "$native" ]; then
    sysroot=$cache/sysroot-$arch-$({ sysroot_versions; cat tools/static/sysroot.sh; } | digest)
    if [ ! -d "$sysroot" ]; then
        say "unpacking Debian's packages for $arch, about a minute; the log is $log"
        logged "$log" make_sysroot
        keep sysroot "$sysroot"
    fi
    sed "s/^/static: WARNING: upgrade this machine, for which $arch has a newer version only: /" "$sysroot/newer" >&2
    # The cross compiler's own C library is a copy that gets no security updates: look into the sysroot first.
    lib=$sysroot/usr/lib/$multiarch
    foreign="--sysroot=$sysroot -B$lib -L$lib -isystem $sysroot/usr/include/$multiarch -isystem $sysroot/usr/include"
    foreign="$foreign -ffile-prefix-map=$sysroot="
fi

rebuilt='curl cjson libmicrohttpd'
[ $openssl = debian ] || rebuilt="openssl $rebuilt" # first: curl is built with it
echo "static: $(date -u): sources" >"$log"
pins=$(for name in $rebuilt; do choose "$name"; done)
if [ "$(echo "$pins" | wc -l)" != "$(echo "$rebuilt" | wc -w)" ]; then
    echo "static: not every source can be had for Debian $release; the log is $log" >&2
    exit 3
fi

# Everything that the rebuilt libraries depend on names their folder, so that a change of any of it rebuilds them.
prefix=$cache/$multiarch-$({
    echo "$pins"
    cat tools/static/recipes.sh
    $cc --version
    dpkg-query -W libc6-dev libssl-dev
} | digest)
if [ ! -d "$prefix" ]; then
    say "rebuilding $rebuilt from Debian's sources, one to two minutes; the log is $log"
    logged "$log" make_libraries
    keep stage "$prefix"
fi

# What is in it: NAME VERSION archive|rebuilt, where VERSION is that of Debian's source package.
libraries() {
    gcc=libgcc-$($cc -dumpversion | cut -d . -f 1)-dev
    [ "$arch" = "$native" ] || gcc=$gcc-$arch-cross
    ssl=
    [ $openssl != debian ] || ssl="libssl-dev $ssl_brings"
    for package in libc6-dev libyaml-dev libexpat1-dev $gcc $ssl; do
        if [ -n "$sysroot" ] && grep -q "^$package " "$sysroot/packages"; then
            sed -n "s/^$package \([^ ]* [^ ]*\) .*/\1 archive/p" "$sysroot/packages"
        else
            # shellcheck disable=SC2016
            dpkg-query -W -f '${source:Package} ${source:Version} archive\n' "$package"
        fi
    done
    echo "$pins" | while read -r name version sum; do
        echo "$name $version rebuilt"
    done
}

say "building $out/credfresh, about a minute; the log is $out/build.log"
echo "$sysroot" >$out/sysroot
libraries | LC_ALL=C sort >"$work/libraries"
cmp -s "$work/libraries" $out/libraries || cp "$work/libraries" $out/libraries
PKG_CONFIG_LIBDIR=$(pkg_config_path "$prefix")
export PKG_CONFIG_LIBDIR
# Where the libraries and the sysroot are is not to be seen in the symbols.
flags="$foreign -ffile-prefix-map=$prefix=libraries"
# Fresh, because CMake's cache would keep what was found under another prefix.
cmake --preset static --fresh -B "$out" -DCMAKE_C_COMPILER="$cc" -DCMAKE_SYSTEM_NAME=Linux \
    -DCMAKE_SYSTEM_PROCESSOR="${triplet%%-*}" -DCMAKE_C_FLAGS="$flags" -DCFR_LIBRARIES="$PWD/$out/libraries" >$out/build.log
logged $out/build.log cmake --build "$out" --target credfresh -j "$jobs"
program=$out/agent/credfresh
"$triplet-objcopy" --only-keep-debug $program $out/credfresh.debug
"$triplet-strip" -o $out/credfresh $program
"$triplet-objcopy" --add-gnu-debuglink=$out/credfresh.debug $out/credfresh

# readelf's lines are read from a file: a pipe would hide that readelf failed.
readelf -hldW $out/credfresh >"$work/readelf"
if grep -Eq 'INTERP|NEEDED' "$work/readelf"; then
    die "$out/credfresh is not static: it names an interpreter or shared libraries"
fi
grep -q 'Type: *DYN' "$work/readelf" || die "$out/credfresh is not position independent"
grep -q GNU_RELRO "$work/readelf" || die "$out/credfresh has no RELRO"
"$triplet-nm" -A $out/base/libcfr_base.a $out/agent/*/libcfr_agent_*.a "$prefix"/usr/lib/lib[cm]*.a >"$work/symbols"
if grep -v libcrypto.a "$work/symbols" | grep -E ' U (pthread_exit|pthread_cancel)$'; then
    die "$program would unwind the stack, see cmake/static.ld"
fi
[ -n "${SOURCE_DATE_EPOCH:-}" ] || SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null) || SOURCE_DATE_EPOCH=0
export SOURCE_DATE_EPOCH
version=$(sed -n 's/^project(credfresh VERSION \([^ ]*\).*/\1/p' CMakeLists.txt)
/usr/bin/python3 tools/static/sbom.py --program $out/credfresh --version "$version" \
    --map $out/agent/credfresh.map --libraries $out/libraries --prefix "$prefix" --sysroot "$sysroot" \
    --sources "$cache/sources" --arch "$arch" >$out/credfresh.spdx.json || die "$out/credfresh.spdx.json could not be written, see above"
echo "static: $out/credfresh is $(stat -c %s $out/credfresh) bytes"
