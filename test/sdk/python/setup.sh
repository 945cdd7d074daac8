#!/bin/sh
# setup.sh [CACHE_DIR]: makes the environments of the consumers in Python, with CACHE_DIR/run to start them, once per state of
# the sources. Exits with 77, and says on standard output what is missing, if there is no venv, no pip or no index.
set -eu
cd "$(dirname "$0")"
dir=${1:-/var/cache/credfresh/sdk/python}

missing() {
    echo "$*"
    exit 77
}

/usr/bin/python3 -c 'import ensurepip, venv' 2>/dev/null || missing "there is no Python with venv (3.11)"
stamp=$( (/usr/bin/python3 --version && cat run.py ./*.txt setup.sh) | sha256sum)
[ ! -x "$dir/run" ] || [ "$(cat "$dir/built-for" 2>/dev/null)" != "$stamp" ] || exit 0
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
for name in venv aiobotocore; do # aiobotocore wants a botocore of its own
    ! cmp -s "$name.txt" "$dir/$name-for" || continue
    rm -rf "${dir:?}/$name"
    { /usr/bin/python3 -m venv "$dir/$name" &&
        "$dir/$name/bin/pip" install -q --disable-pip-version-check --no-deps --only-binary :all: --cache-dir "$dir/pip" \
            -r "$name.txt"; } >"$dir/log" 2>&1 || missing "Python's packages cannot be fetched: $(tail -n 1 "$dir/log" | cut -c 1-200)"
    cp "$name.txt" "$dir/$name-for"
done
cp run.py "$dir/run.py"
printf '#!/bin/sh\nexec /usr/bin/python3 "%s/run.py" "$@"\n' "$dir" >"$dir/run.new"
chmod +x "$dir/run.new"
mv "$dir/run.new" "$dir/run"
echo "$stamp" >"$dir/built-for"
