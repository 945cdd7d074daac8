#!/bin/sh
# check-reference.sh CREDFRESH_GEN CREDFRESH [--write]: compares the checked-in files that CREDFRESH_GEN makes from the
# program's tables with its output, and checks that CREDFRESH prints these files and that the manual page names every
# subcommand and long option. With --write the files are written first; CREDFRESH then has to be built again.
set -eu
cd "$(dirname "$0")/.."
bad=0
generate=$1
credfresh=$2
write=${3:-}

# same FILE PAGE ARGUMENT...: FILE is the output of CREDFRESH_GEN PAGE, and of CREDFRESH ARGUMENT...
same() {
    file=$1
    page=$2
    shift 2
    [ -z "$write" ] || "$generate" "$page" >"$file"
    "$generate" "$page" | diff -u "$file" - || {
        echo "check-reference: $file is out of date: sh tools/check-reference.sh $generate $credfresh --write"
        bad=1
    }
    [ -n "$write" ] || "$credfresh" "$@" | cmp "$file" - || {
        echo "check-reference: credfresh $* does not print $file: build it again"
        bad=1
    }
}
same docs/configuration.md markdown reference
same docs/man/credfresh.yaml.5 man reference --format man
same completions/credfresh.bash bash completion bash
same completions/_credfresh zsh completion zsh
same completions/credfresh.fish fish completion fish

commands=$("$credfresh" help | sed -n 's/^  \([a-z][a-z-]*\)\( .*\)\{0,1\}$/\1/p')
[ -n "$commands" ] || { echo "check-reference: found no subcommand"; exit 1; }
for command in $commands; do
    options=$("$credfresh" help "$command" | sed -n 's/^  .*[ ,] --\([a-z][a-z-]*\).*/\1/p')
    for line in "Cm.$command\$" $(echo "$options" | sed 's/.*/.*Fl.-&\\>/'); do
        grep -q -- "^\.It.$line" docs/man/credfresh.1 || {
            echo "check-reference: docs/man/credfresh.1 has no line .It.$line, for $command"
            bad=1
        }
    done
done
exit $bad
