#!/bin/sh
# check-format.sh [--write]: every C file is laid out as .clang-format says. With --write the files are changed.
set -eu
cd "$(dirname "$0")/.."
list=$(mktemp)
trap 'rm -f "$list"' EXIT
find base wire token kube files serve sts rotation pki agent oidc tools/gen libcredfresh bench test -name '*.[ch]' -print >"$list"
if [ "${1:-}" = --write ]; then
    xargs clang-format -i <"$list"
    exit 0
fi
xargs clang-format --dry-run -Werror <"$list" || {
    echo "check-format: not laid out as .clang-format says: sh tools/check-format.sh --write"
    exit 1
}
echo "check-format: $(wc -l <"$list") files are laid out as .clang-format says"
