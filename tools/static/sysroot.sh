# Debian's packages of another architecture, unpacked in the cache: this machine keeps its own. Sourced by
# tools/build-static.sh.

# They have the versions that are installed here, so that every architecture is built from the same. Only of the kernel's
# headers and of busybox, neither of which gets into a program, there is what apt has.
sysroot_versions() {
    libssl=$(dpkg-query -W -f '${Depends}' libssl-dev | grep -o 'libssl3[a-z0-9]*')
    for package in libc6-dev libc6 libssl-dev "$libssl" $ssl_brings libyaml-dev libexpat1-dev; do
        # shellcheck disable=SC2016
        dpkg-query -W -f '${Package}:'"$arch"'=${Version}\n' "$package:$native"
    done
    echo "linux-libc-dev:$arch busybox-static:$arch"
}

# apt with an own state for the other architecture, and this machine's sources and keys.
foreign_apt() {
    apt-get -q -o APT::Architecture="$arch" -o APT::Architectures="$arch" -o Dir::State="$cache/apt-$arch" \
        -o Dir::State::status=/dev/null -o Dir::Cache="$cache/apt-$arch" -o APT::Sandbox::User=root \
        -o APT::Get::AllowUnauthenticated=false "$@"
}

# available PACKAGE:ARCH=VERSION...: prints each, without its version where the mirror has only a newer one, which
# $work/sysroot/newer lists: a mirror keeps no version that a security update has replaced.
available() {
    for package in "$@"; do
        case $package in
        *=*)
            if [ -z "$(foreign_apt download --print-uris "$package" 2>/dev/null)" ]; then
                echo "$package" >>"$work/sysroot/newer"
                package=${package%%=*}
            fi
            ;;
        esac
        echo "$package"
    done
}

# make_sysroot: fills $work/sysroot.
make_sysroot() {
    mkdir -p "$cache/apt-$arch/lists/partial" "$cache/apt-$arch/archives/partial" "$work/debs" "$work/sysroot"
    : >"$work/sysroot/newer"
    foreign_apt update
    # shellcheck disable=SC2046
    (cd "$work/debs" && foreign_apt download $(available $(sysroot_versions)))
    for deb in "$work/debs"/*.deb; do
        dpkg-deb -x "$deb" "$work/sysroot"
        # shellcheck disable=SC2016
        dpkg-deb -W --showformat '${Package} ${source:Package} ${source:Version} ' "$deb" >>"$work/sysroot/packages"
        dpkg-deb -c "$deb" | sed -n 's/.* \.\(\/.*\.[ao]\)$/\1/p' | tr '\n' ' ' >>"$work/sysroot/packages"
        echo >>"$work/sysroot/packages"
    done
    movable "$work/sysroot/usr/lib/$multiarch/pkgconfig/"*.pc
}
