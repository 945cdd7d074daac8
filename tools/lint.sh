#!/bin/sh
# clang's warnings over everything and clang-tidy over what is shipped (preset tidy), then cppcheck.
set -eu
cd "$(dirname "$0")/.."
cmake --preset tidy >/dev/null
cmake --build --preset tidy -j "$(nproc)" -- -k 0 >build/tidy/lint.log 2>&1 || { grep -E 'error|warning' build/tidy/lint.log | head -n 40; exit 1; }
echo "lint: clang and clang-tidy found nothing"
cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 -j "$(nproc)" \
    --suppressions-list=tools/cppcheck.txt -I. -Ilibcredfresh/include base wire token kube files serve sts rotation pki agent gen libcredfresh
echo "lint: cppcheck found nothing"
