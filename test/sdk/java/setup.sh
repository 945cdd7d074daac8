#!/bin/sh
# setup.sh [CACHE_DIR]: builds the consumers in Java, with CACHE_DIR/run to start them, once per state of the sources. Exits
# with 77, and says on standard output what is missing, if there is no JDK, no Maven or no repository.
set -eu
cd "$(dirname "$0")"
dir=${1:-/var/cache/credfresh/sdk/java}

missing() {
    echo "$*"
    exit 77
}

command -v javac >/dev/null || missing "there is no JDK (17)"
command -v mvn >/dev/null || missing "there is no Maven (3.8)"
libraries=$(sha256sum <pom.xml)
stamp=$( (javac -version && cat src/*.java pom.xml setup.sh) 2>&1 | sha256sum)
[ ! -x "$dir/run" ] || [ "$(cat "$dir/built-for" 2>/dev/null)" != "$stamp" ] || exit 0
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

# 1. The libraries. Nothing is written outside CACHE_DIR.
if [ "$(cat "$dir/libraries-for" 2>/dev/null)" != "$libraries" ]; then
    rm -rf "$dir/lib"
    mvn -B -q -Dmaven.repo.local="$dir/repository" dependency:copy-dependencies -DincludeScope=runtime \
        -DoutputDirectory="$dir/lib" >"$dir/log" 2>&1 ||
        missing "Java's libraries cannot be fetched: $(grep -o -m 1 'Could not .*' "$dir/log" | cut -c 1-200)"
    echo "$libraries" >"$dir/libraries-for"
fi

# 2. The program. It fails on an error in the sources only.
rm -rf "$dir/classes"
javac -Xlint:all,-path,-classfile,-processing -Werror -proc:none -cp "$dir/lib/*" -d "$dir/classes" src/*.java >"$dir/log" 2>&1 || {
    cat "$dir/log" >&2
    exit 1
}
cat >"$dir/run.new" <<EOF
#!/bin/sh
exec java -Xmx256m -Xss512k -XX:+UseSerialGC -XX:TieredStopAtLevel=1 --add-opens java.base/java.util=ALL-UNNAMED \\
    -cp "$dir/classes:$dir/lib/*" Run "\$@"
EOF
chmod +x "$dir/run.new"
mv "$dir/run.new" "$dir/run"
echo "$stamp" >"$dir/built-for"
