#!/bin/sh
# deb-src.sh DIR: lets apt find Debian's source packages without a change of the machine's own apt. Writes DIR/apt.conf for the
# environment variable APT_CONFIG, with this machine's mirrors and keys and with state in DIR, and updates the indexes. Takes no root.
set -eu
mkdir -p "$1/lists/partial" "$1/archives/partial"
dir=$(cd "$1" && pwd)
rm -rf "$dir/from"
mkdir "$dir/from"
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
    case $file in
    *.sources) command='s/^Types:.*/Types: deb-src/' ;;
    *) command='/^deb /!d; s/^deb/deb-src/' ;;
    esac
    [ ! -f "$file" ] || sed "$command" "$file" >"$dir/from/$(basename "$file" .list | sed 's/[.]sources$//').${file##*.}"
done
cat >"$dir/apt.conf" <<END
Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "$dir/from";
Dir::State::Lists "$dir/lists";
Dir::Cache "$dir";
APT::Sandbox::User "root";
END
APT_CONFIG=$dir/apt.conf apt-get update -q
