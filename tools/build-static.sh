#!/bin/sh
# The static binary: build/static/agent/credfresh, and build/static/credfresh without its symbols. For Debian 12, as
# root, which is needed to install and to teach apt where Debian's sources are. Two minutes the first time; sources
# and rebuilt libraries are kept in $CFR_CACHE/static (default /var/cache/credfresh).
set -eu
cd "$(dirname "$0")/.."
sh tools/setup.sh build static
cache=${CFR_CACHE:-/var/cache/credfresh}/static
mkdir -p "$cache/sources"
cache=$(cd "$cache" && pwd)
jobs=$(nproc)
arch=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
log=$cache/build.log

die() {
    echo "static: $*" >&2
    exit 1
}

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

# Source packages, pinned: name, Debian's version, SHA-256 of its .dsc (which holds the SHA-256 of every other file).
pins='
curl 7.88.1-10+deb12u15 2744f12e3aef161c0361743fa1b318296b122e566e47f381e4a63320fbcc23f4
cjson 1.7.15-1+deb12u4 764c2de141d680f4fb4cada30c526dacaa30ead061b9b9c34f2b81e2df0f8439
libmicrohttpd 0.9.75-6 c0f8a9cd77c41285d2d48fc68bbee2e460a55042fcd5d3f6b9946c017d4b6846
'

is_offered() {
    apt-cache showsrc --only-source "$1" 2>/dev/null | grep -qxF "Version: $2"
}

# Source entries that mirror the machine's own binary entries, so that the same mirror and the same keys are used.
add_sources() {
    from=/etc/apt/sources.list.d/debian.sources
    to=/etc/apt/sources.list.d/credfresh-src
    [ "$(id -u)" = 0 ] || die "run as root once: apt has to learn where Debian's sources are"
    if [ -f $from ]; then
        sed 's/^Types:.*/Types: deb-src/' $from >$to.sources
    else
        sed -n 's/^deb /deb-src /p' /etc/apt/sources.list >$to.list
    fi
}

# apt checks the signature of the index that vouches for what it downloads; the pin vouches for what the cache holds.
fetch() {
    dsc=$cache/sources/$1_$2.dsc
    if [ ! -f "$dsc" ]; then
        is_offered "$1" "$2" || { [ "$(id -u)" != 0 ] || apt-get update -q; }
        is_offered "$1" "$2" || { add_sources && apt-get update -q; }
        is_offered "$1" "$2" || die "apt does not offer the source $1 $2; if Debian has replaced it, renew its pin"
        mkdir "$work/download"
        (cd "$work/download" && apt-get source -q --download-only -o APT::Get::AllowUnauthenticated=false "$1=$2")
        mv "$work/download/$1_"*.tar.* "$cache/sources/"
        mv "$work/download/$1_$2.dsc" "$dsc" # last, because it says that the others are there
        rm -r "$work/download"
    fi
    echo "$3  $dsc" | sha256sum --quiet -c - || die "$dsc is not what was pinned; remove it"
    dpkg-source --no-copy -x "$dsc" "$work/$1"
}

cflags='-Os -fPIE -ffunction-sections -fdata-sections -fstack-protector-strong -D_FORTIFY_SOURCE=2'

make_curl() {
    ./configure --prefix="$prefix" --libdir="$prefix/lib" CFLAGS="$cflags" --disable-shared --enable-static \
        --with-openssl --with-nghttp2 --enable-threaded-resolver --without-zlib --without-brotli --without-zstd \
        --without-libpsl --without-libidn2 --without-librtmp --without-libssh2 --without-gssapi --without-ca-bundle \
        --without-ca-path --disable-ldap --disable-ldaps --disable-ftp --disable-file --disable-rtsp --disable-dict \
        --disable-telnet --disable-tftp --disable-pop3 --disable-imap --disable-smb --disable-smtp --disable-gopher \
        --disable-mqtt --disable-manual --disable-libcurl-option --disable-ntlm --disable-ntlm-wb --disable-tls-srp \
        --disable-netrc --disable-progress-meter --disable-alt-svc --disable-hsts --disable-doh --disable-dnsshuffle \
        --disable-get-easy-options --disable-mime --disable-dependency-tracking
    make -C lib -j "$jobs" install DESTDIR="$work/stage"
    make -C include install DESTDIR="$work/stage"
    make install-pkgconfigDATA DESTDIR="$work/stage"
}

make_cjson() {
    cmake -S . -B build -G Ninja -DCMAKE_C_FLAGS="$cflags" -DCMAKE_INSTALL_PREFIX="$prefix" \
        -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_SHARED_LIBS=OFF -DENABLE_CJSON_TEST=OFF
    cmake --build build -j "$jobs"
    DESTDIR=$work/stage cmake --install build
}

make_libmicrohttpd() {
    ./configure --prefix="$prefix" --libdir="$prefix/lib" CFLAGS="$cflags" --disable-https --disable-shared \
        --disable-doc --disable-examples --disable-curl --disable-dependency-tracking
    make -C src/microhttpd -j "$jobs" install DESTDIR="$work/stage"
    make -C src/include install DESTDIR="$work/stage"
    make install-pkgconfigDATA DESTDIR="$work/stage"
}

# Everything that the rebuilt libraries depend on names their folder, so that a change of any of it rebuilds them.
key=$({
    echo "$pins"
    sed -n '/^cflags=/,/^key=/p' tools/build-static.sh
    dpkg-query -W gcc gcc-12 libc6-dev libssl-dev libnghttp2-dev
} | sha256sum | cut -c 1-16)
prefix=$cache/$arch-$key
export PKG_CONFIG_LIBDIR="$prefix/lib/pkgconfig:/usr/lib/$arch/pkgconfig:/usr/share/pkgconfig"

make_libraries() {
    echo "$pins" | while read -r name version sum; do
        [ -n "$name" ] || continue
        fetch "$name" "$version" "$sum"
        cd "$work/$name"
        "make_$name"
    done
}

if [ ! -d "$prefix" ]; then
    echo "static: rebuilding libcurl, cJSON and libmicrohttpd from Debian's sources, about a minute; the log is $log"
    work=$(mktemp -d "$cache/work.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    trap 'exit 1' INT TERM
    logged "$log" make_libraries
    # At once, so that it is either complete or not there; another run may have been first.
    mv -T "$work/stage$prefix" "$prefix" || [ -d "$prefix" ]
fi

cmake --preset static --fresh >/dev/null # CMake's cache would keep what was found under another prefix
logged build/static/build.log cmake --build --preset static --target credfresh -j "$jobs"
program=build/static/agent/credfresh
strip -o build/static/credfresh $program
if readelf -lW $program | grep -q INTERP || readelf -dW $program | grep -q NEEDED; then
    die "$program is not static: it names an interpreter or shared libraries"
fi
readelf -hW $program | grep -q 'Type: *DYN' || die "$program is not position independent"
readelf -lW $program | grep -q GNU_RELRO || die "$program has no RELRO"
echo "static: build/static/credfresh is $(stat -c %s build/static/credfresh) bytes"
