#!/bin/sh
# consumers-setup.sh DIR: the SDKs that test_consumers.py uses, as far as Debian 12 has none: in DIR/js the modules of
# js/package-lock.json, in DIR/debian13 Debian 13's Python with google-auth and botocore, unpacked and run from there. Each
# takes half a minute and is kept. Says of each part what hinders it, and ends with 1 then.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
dir=$(cd "$1" && pwd)
status=0

say() {
    echo "consumers: $*" >&2
    status=1
}

javascript() {
    lock=$here/js/package-lock.json
    cmp -s "$lock" "$dir/js/kept-for" && return
    command -v npm >/dev/null || { say "JavaScript: there is no npm"; return; }
    rm -rf "$dir/js"
    mkdir "$dir/js"
    cp "$here/js/package.json" "$lock" "$dir/js"
    (cd "$dir/js" && npm ci --ignore-scripts --no-audit --no-fund) >"$dir/js.log" 2>&1 || {
        tail -n 5 "$dir/js.log" >&2
        say "JavaScript: npm could not fetch the modules, see above"
        return
    }
    cp "$lock" "$dir/js/kept-for"
}

# The packages are not installed, only unpacked: this takes no root, and nothing of theirs is run but Python.
unpack() {
    new=$dir/debian13.new
    key=/usr/share/keyrings/debian-archive-keyring.gpg
    rm -rf "$new"
    mkdir -p "$new/lists/partial" "$new/cache/archives/partial" "$new/root"
    : >"$new/status"
    mirror=$(apt-get indextargets --format '$(ORIGIN) $(COMPONENT) $(CODENAME) $(REPO_URI)' 'Created-By: Packages' |
        awk '$1 == "Debian" && $2 == "main" && $3 !~ /-/ { print $4; exit }')
    [ -n "$mirror" ] || { echo "apt knows no mirror of Debian"; return 1; }
    echo "deb [signed-by=$key] $mirror trixie main" >"$new/sources.list"
    apt="apt-get -o Dir::Etc::sourcelist=$new/sources.list -o Dir::Etc::sourceparts=/dev/null -o Dir::State::status=$new/status
        -o Dir::State::lists=$new/lists -o Dir::Cache=$new/cache -o APT::Install-Recommends=false -o Acquire::Languages=none
        -o Debug::NoLocking=1 -o APT::Sandbox::User="
    $apt update &&
        $apt install -y --download-only python3-google-auth python3-requests python3-botocore || return 1
    for package in "$new"/cache/archives/*.deb; do
        dpkg-deb -x "$package" "$new/root" || return 1
    done
    rm -rf "$new/cache" "$new/lists" "$dir/debian13"
    mv "$new" "$dir/debian13"
}

debian13() {
    [ -d "$dir/debian13/root" ] && return
    command -v apt-get >/dev/null || { say "Debian 13: there is no apt-get"; return; }
    unpack >"$dir/debian13.log" 2>&1 || {
        tail -n 5 "$dir/debian13.log" >&2
        say "Debian 13: its packages could not be fetched, see above"
    }
}

javascript
debian13
exit $status
