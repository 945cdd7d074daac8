#!/bin/sh
# setup.sh [CACHE_DIR]: fetches the modules of the consumers in JavaScript, with CACHE_DIR/run to start them, once per state of
# the sources. Exits with 77, and says on standard output what is missing, if there is no Node or no registry.
set -eu
cd "$(dirname "$0")"
dir=${1:-/var/cache/credfresh/sdk/javascript}

missing() {
    echo "$*"
    exit 77
}

command -v node >/dev/null && command -v npm >/dev/null || missing "there is no Node with npm (20)"
stamp=$( (node --version && cat run.js package.json package-lock.json setup.sh) | sha256sum)
[ ! -x "$dir/run" ] || [ "$(cat "$dir/built-for" 2>/dev/null)" != "$stamp" ] || exit 0
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
cp run.js package.json package-lock.json "$dir"
if ! cmp -s package-lock.json "$dir/modules-for"; then
    (cd "$dir" && npm ci --ignore-scripts --no-audit --no-fund --cache "$dir/npm") >"$dir/log" 2>&1 ||
        missing "JavaScript's modules cannot be fetched: $(grep -m 1 'npm error' "$dir/log" | cut -c 1-200)"
    cp package-lock.json "$dir/modules-for"
fi
printf '#!/bin/sh\nexec node "%s/run.js" "$@"\n' "$dir" >"$dir/run.new"
chmod +x "$dir/run.new"
mv "$dir/run.new" "$dir/run"
echo "$stamp" >"$dir/built-for"
