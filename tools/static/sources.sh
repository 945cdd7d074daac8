# Debian's source packages, pinned; sourced by tools/build-static.sh.

# Of several versions the first that apt can download is taken; if that is not the first, the build warns, and it is not
# released.
# RELEASE NAME VERSION SHA-256 of the .dsc, which holds the SHA-256 of every other file of the source package.
all_pins='
bookworm curl 7.88.1-10+deb12u15 2744f12e3aef161c0361743fa1b318296b122e566e47f381e4a63320fbcc23f4
bookworm cjson 1.7.15-1+deb12u4 764c2de141d680f4fb4cada30c526dacaa30ead061b9b9c34f2b81e2df0f8439
bookworm libmicrohttpd 0.9.75-6 c0f8a9cd77c41285d2d48fc68bbee2e460a55042fcd5d3f6b9946c017d4b6846
bookworm openssl 3.0.22-1~deb12u2 7c45299a4363febec120676393d4314841c7c50da244a6e6a256f072d632d337
bookworm openssl 3.0.20-1~deb12u2 a614474a2773c23b10c0d65f4eccbcf93fdac4749afb7c26d76e1b0340154d3d
trixie curl 8.14.1-2+deb13u7 a559b829ff852b2ee1ac0e448b5d9c18e0f94875bc820d037609d4d807ac6f57
trixie curl 8.14.1-2+deb13u5 9a9a2c95cdc8b5d76892c70858f25eaf2dc0b0a475a1e43e0b4ad428414752df
trixie cjson 1.7.18-3.1+deb13u1 57b560dc195f857987986588ba2eb05f5f30d409c8dc715decfb582d5e56ecbf
trixie libmicrohttpd 1.0.1-4 4c5ee2a49beb5b9b667fa6816acdc99f3fb0686b6abdfbe1303e304128cff055
trixie openssl 3.5.7-1~deb13u3 9cdb0d9daf0773ca5c0f3f5ea1fc59b1106a99e005a5c048948b826e8d3b47e1
trixie openssl 3.5.6-1~deb13u2 6a7f8fef28a5134eeb1a88435c35704f6200a268b913232eca09775651a19210
'

# source_apt TOOL ARGUMENT...: apt with the configuration that deb-src.sh writes.
source_apt() {
    APT_CONFIG=$cache/deb-src/apt.conf "$@"
}

is_offered() {
    source_apt apt-cache showsrc --only-source "$1" 2>/dev/null | grep -qxF "Version: $2"
}

# offer NAME VERSION: whether apt has it, in indexes that are updated once in a run if it has not.
offer() {
    [ -f "$cache/deb-src/apt.conf" ] && is_offered "$1" "$2" && return
    [ -f "$work/updated" ] || sh tools/static/deb-src.sh "$cache/deb-src" || return 1
    touch "$work/updated"
    is_offered "$1" "$2"
}

# download NAME VERSION SHA256: into the cache, if it is not there. apt checks the signature of the index that vouches
# for what it downloads; the pin vouches for what the cache holds.
download() {
    dsc=$cache/sources/$1_$2.dsc
    if [ ! -f "$dsc" ]; then
        offer "$1" "$2" || return 1
        rm -rf "$work/download" && mkdir "$work/download" || return 1
        (cd "$work/download" && source_apt apt-get source -q --download-only -o APT::Get::AllowUnauthenticated=false "$1=$2") || return 1
        # The .dsc last, because it says that the others are there.
        mv "$work/download/$1_"*.tar.* "$cache/sources/" && mv "$work/download/$1_$2.dsc" "$dsc" || return 1
    fi
    echo "$3  $dsc" | sha256sum --quiet -c - && return
    echo "static: $dsc is not what was pinned; remove it" >&2
    return 1
}

# choose NAME: prints the first of its pins that can be had.
choose() {
    echo "$all_pins" | sed -n "s/^$release \\($1 .*\\)/\\1/p" | while read -r name version sum; do
        [ -f "$cache/sources/${name}_$version.dsc" ] || say "downloading the source of $name, less than a minute"
        if download "$name" "$version" "$sum" >>"$log" 2>&1 </dev/null; then
            echo "$name $version $sum"
            [ -z "${missed:-}" ] || {
                echo "$name $version" >>"$out/outdated"
                echo "static: WARNING: taking $name $version, which lacks later security fixes" >&2
            }
            break
        fi
        missed=1
        echo "static: apt cannot get the source $name $version; if Debian has replaced it, renew its pin" >&2
    done
}

unpack() {
    dpkg-source --no-copy -x "$cache/sources/$1_$2.dsc" "$work/$1"
}
