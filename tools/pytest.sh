#!/bin/sh
# pytest.sh ARGUMENT...: pytest with these arguments, without bytecode and cache in the tree. What failed is run once more by
# itself and is named: beside other tests a small machine may be slow for a moment, and a defect is there again. A test that
# needs those before it in its file fails again.
set -eu
export PYTHONDONTWRITEBYTECODE=1
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
/usr/bin/python3 -m pytest -q -rs -o cache_dir="$cache" "$@" && exit 0
code=$?
# 1: tests failed; anything else is no matter of time.
[ $code = 1 ] || exit $code
echo "pytest: what failed, once more by itself"
/usr/bin/python3 -m pytest -v -rs -o cache_dir="$cache" --last-failed --exitfirst "$@"
