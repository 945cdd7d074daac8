# How the libraries of the static program are rebuilt; sourced by tools/build-static.sh. Each recipe runs in its source
# folder and installs below $work/stage. Whatever is changed here changes the name of the folder that keeps the results.

cflags='-Os -g -fPIE -ffunction-sections -fdata-sections -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2'
cflags="$cflags -fno-asynchronous-unwind-tables -fno-unwind-tables"

# The compiler that leaves the folder it works in out of what it writes. A flag would itself be written by OpenSSL. What it
# says of its assembler keeps OpenSSL's code for AVX-512 away: 0.8 MB in version 3.5, for a handshake now and then. The
# sysroot comes last: curl names the headers of the rebuilt OpenSSL with -isystem, too, and the first directory counts.
make_compiler() {
    mkdir "$work/bin"
    cat >"$work/bin/$cc-anywhere" <<EOF
#!/bin/sh
case " \$* " in
*' -Wa,-v '*) echo 'GNU assembler version 2.24' && exit ;;
esac
exec $cc -ffile-prefix-map=$work/= "\$@" $foreign
EOF
    chmod +x "$work/bin/$cc-anywhere"
    PATH=$work/bin:$PATH
}

configure() {
    ./configure --host="$triplet" --prefix=/usr --libdir=/usr/lib CC="$cc-anywhere" CFLAGS="$cflags" --disable-shared \
        --enable-static --disable-dependency-tracking "$@"
}

# HTTP and HTTPS alone: HTTP/1.1 is all that agent/http/options.c asks for. Names that a version does not know are ignored.
make_curl() {
    configure --with-openssl --enable-threaded-resolver --without-nghttp2 --without-nghttp3 --without-ngtcp2 \
        --without-zlib --without-brotli --without-zstd --without-libpsl --without-libidn2 --without-librtmp \
        --without-libssh2 --without-gssapi --without-libgsasl --without-ca-bundle --without-ca-path --disable-ldap \
        --disable-ldaps --disable-ftp --disable-file --disable-rtsp --disable-dict --disable-telnet --disable-tftp \
        --disable-pop3 --disable-imap --disable-smb --disable-smtp --disable-gopher --disable-mqtt --disable-ipfs \
        --disable-websockets --disable-manual --disable-docs --disable-libcurl-option --disable-ntlm --disable-ntlm-wb \
        --disable-tls-srp --disable-netrc --disable-progress-meter --disable-alt-svc --disable-hsts --disable-doh \
        --disable-dnsshuffle --disable-get-easy-options --disable-mime --disable-form-api --disable-cookies \
        --disable-crypto-auth --disable-digest-auth --disable-negotiate-auth --disable-kerberos-auth --disable-aws \
        --disable-headers-api --disable-sha512-256
    make -C lib -j "$jobs" install DESTDIR="$work/stage"
    make -C include install DESTDIR="$work/stage"
    make install-pkgconfigDATA DESTDIR="$work/stage"
}

make_cjson() {
    cmake -S . -B build -G Ninja -DCMAKE_C_COMPILER="$cc-anywhere" -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_C_FLAGS="$cflags" \
        -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_SHARED_LIBS=OFF -DENABLE_CJSON_TEST=OFF \
        -DCMAKE_POLICY_VERSION_MINIMUM=3.5
    cmake --build build -j "$jobs"
    DESTDIR=$work/stage cmake --install build
}

# For speed, which its every function is part of for a client of an endpoint.
make_libmicrohttpd() {
    cflags=$(echo "$cflags" | sed 's/-Os/-O2/') configure --disable-https --disable-messages --disable-doc --disable-examples --disable-tools --disable-curl --disable-bauth \
        --disable-dauth --disable-postprocessor --disable-httpupgrade --disable-cookie
    make -C src/microhttpd -j "$jobs" install DESTDIR="$work/stage"
    make -C src/include install DESTDIR="$work/stage"
    make install-pkgconfigDATA DESTDIR="$work/stage"
}

# TLS 1.2 and 1.3 with what servers on the Internet negotiate, and the keys and signatures of certificates and
# assertions. Never no-asm (slow, and not in constant time), no-err (errors without words) or no-bulk.
make_openssl() {
    case $arch in
    amd64) target=linux-x86_64 ;;
    arm64) target=linux-aarch64 ;;
    *) die "what does OpenSSL call $arch? Tell tools/static/recipes.sh" ;;
    esac
    newer=
    case $version in
    3.0.*) ;;
    *)
        newer='no-quic no-ml-dsa no-slh-dsa no-thread-pool no-default-thread-pool no-http no-integrity-only-ciphers
            no-tls-deprecated-ec'
        ;;
    esac
    # shellcheck disable=SC2086
    CC="$cc-anywhere" AR="$triplet-ar" RANLIB="$triplet-ranlib" perl ./Configure $target --prefix=/usr --libdir=lib \
        --openssldir=/usr/lib/ssl no-shared no-tests no-dso no-module no-legacy no-engine no-ui-console no-cms no-cmp \
        no-ts no-ct no-comp no-dtls no-dgram no-srtp no-psk no-srp no-ssl3 no-tls1 no-tls1_1 no-nextprotoneg no-ocsp \
        no-rfc3779 no-async no-multiblock no-filenames no-aria no-bf no-blake2 no-camellia no-cast no-cmac no-des no-dsa \
        no-ec2m no-gost no-idea no-md4 no-mdc2 no-ocb no-rc2 no-rc4 no-rmd160 no-scrypt no-seed no-siphash no-siv no-sm2 \
        no-sm3 no-sm4 no-whirlpool $newer -DOPENSSL_TLS_SECURITY_LEVEL=2 $cflags
    make -j "$jobs" build_libs
    make install_dev DESTDIR="$work/stage"
}

# movable FILE...: pkg-config's files below usr/lib/pkgconfig find what they speak of wherever the tree is.
movable() {
    for file in "$@"; do
        up=$(dirname "$file" | sed 's|.*/usr/||; s|[^/][^/]*|..|g')
        sed -i "1i prefix=\${pcfiledir}/$up
            /^prefix=/d
            s|=/usr\$|=\${prefix}|
            s|=/usr/|=\${prefix}/|" "$file"
    done
}

# pkg_config_path TREE: the rebuilt libraries first.
pkg_config_path() {
    echo "$1/usr/lib/pkgconfig:$sysroot/usr/lib/$multiarch/pkgconfig:$sysroot/usr/share/pkgconfig"
}

make_libraries() {
    make_compiler
    echo "$pins" | while read -r name version sum; do
        unpack "$name" "$version"
        cd "$work/$name"
        SOURCE_DATE_EPOCH=$(dpkg-parsechangelog -S Timestamp)
        PKG_CONFIG_LIBDIR=$(pkg_config_path "$work/stage")
        export SOURCE_DATE_EPOCH PKG_CONFIG_LIBDIR
        "make_$name"
        movable "$work/stage/usr/lib/pkgconfig/"*.pc
    done
}
