#!/bin/sh
# check-reference.sh CREDFRESH_GEN CREDFRESH CREDFRESH_OIDC [--write]: compares the checked-in files that CREDFRESH_GEN makes
# from the programs' tables with its output, and checks that CREDFRESH prints its files and that the manual pages name every
# command and long option of both programs. With --write the files are written first; CREDFRESH then has to be built again.
set -eu
cd "$(dirname "$0")/.."
bad=0
generate=$1
credfresh=$2
oidc=$3
write=${4:-}

# made FILE PAGE: FILE is the output of CREDFRESH_GEN PAGE.
made() {
    [ -z "$write" ] || "$generate" "$2" >"$1"
    "$generate" "$2" | diff -u "$1" - || {
        echo "check-reference: $1 is out of date: sh tools/check-reference.sh $generate $credfresh $oidc --write"
        bad=1
    }
}
# printed FILES ARGUMENT...: CREDFRESH ARGUMENT... prints FILES, one after the other.
printed() {
    files=$1
    shift
    # shellcheck disable=SC2086 # several files
    [ -n "$write" ] || { cat $files >"$text" && "$credfresh" "$@" | cmp "$text" -; } || {
        echo "check-reference: credfresh $* does not print $files: build it again"
        bad=1
    }
}
text=$(mktemp)
trap 'rm -f "$text"' EXIT
pages=
for page in $("$generate" pages); do
    file=docs/configuration/$page.md
    [ "$page" != configuration ] || file=docs/$page.md
    made "$file" "$page"
    pages="$pages $file"
done
for file in docs/configuration/*.md; do
    case " $pages " in
    *" $file "*) ;;
    *)
        echo "check-reference: $file is not made any more: remove it"
        bad=1
        ;;
    esac
done
made docs/man/credfresh.yaml.5 man
made tools/completions/credfresh.bash bash
made tools/completions/_credfresh zsh
made tools/completions/credfresh.fish fish
made tools/completions/credfresh-oidc.bash oidc-bash
made tools/completions/_credfresh-oidc oidc-zsh
made tools/completions/credfresh-oidc.fish oidc-fish
printed "$pages" reference
printed docs/man/credfresh.yaml.5 reference --format man
printed tools/completions/credfresh.bash completion bash
printed tools/completions/_credfresh completion zsh
printed tools/completions/credfresh.fish completion fish

# documented PROGRAM PAGE: PAGE names every command and long option of PROGRAM.
documented() {
    commands=$("$1" help | sed -n 's/^  \([a-z][a-z-]*\)\( .*\)\{0,1\}$/\1/p')
    [ -n "$commands" ] || { echo "check-reference: $1 has no command"; exit 1; }
    for command in $commands; do
        options=$("$1" help "$command" | sed -n 's/^  .*[ ,] --\([a-z][a-z-]*\).*/\1/p')
        for line in "Cm.$command\$" $(echo "$options" | sed 's/.*/.*Fl.-&\\>/'); do
            grep -q -- "^\.It.$line" "$2" || {
                echo "check-reference: $2 has no line .It.$line, for $command"
                bad=1
            }
        done
    done
}
documented "$credfresh" docs/man/credfresh.1
documented "$oidc" docs/man/credfresh-oidc.1
exit $bad
