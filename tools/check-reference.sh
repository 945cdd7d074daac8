#!/bin/sh
# check-reference.sh CREDFRESH [--write]: the files that the program makes of its own tables are what it makes of them, and
# the manual page names every subcommand and long option. With --write the files are made anew.
set -eu
cd "$(dirname "$0")/.."
bad=0

# same FILE ARGUMENT...: FILE is what the program prints when it is run with these.
credfresh=$1
write=${2:-}
same() {
    file=$1
    shift
    [ -z "$write" ] || "$credfresh" "$@" >"$file"
    "$credfresh" "$@" | diff -u "$file" - || {
        echo "check-reference: $file is made by the program: sh tools/check-reference.sh $credfresh --write"
        bad=1
    }
}
same docs/configuration.md reference
same docs/man/credfresh.yaml.5 reference --format man
same completions/credfresh.bash completion bash
same completions/_credfresh completion zsh
same completions/credfresh.fish completion fish

commands=$("$1" help | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p')
[ -n "$commands" ] || { echo "check-reference: found no subcommand"; exit 1; }
for command in $commands; do
    options=$("$1" help "$command" | sed -n 's/^  .*[ ,] --\([a-z-]*\).*/\1/p')
    for line in "Cm.$command\$" $(echo "$options" | sed 's/.*/.*Fl.-&\\>/'); do
        grep -q -- "^\.It.$line" docs/man/credfresh.1 || {
            echo "check-reference: docs/man/credfresh.1 has no line .It.$line, for $command"
            bad=1
        }
    done
done
exit $bad
