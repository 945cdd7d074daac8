#!/bin/sh
# check-reference.sh CREDFRESH: docs/configuration.md is what the program prints of its own tables, and the manual page
# names every subcommand and long option.
set -eu
cd "$(dirname "$0")/.."
"$1" reference | diff -u docs/configuration.md - || {
    echo "check-reference: run: $1 reference >docs/configuration.md"
    exit 1
}
for word in $("$1" help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p') $("$1" help | grep -o -- '--[a-z]*' | tr -d - | sort -u); do
    grep -qw -- "$word" docs/man/credfresh.1 || {
        echo "check-reference: docs/man/credfresh.1 does not mention $word"
        exit 1
    }
done
