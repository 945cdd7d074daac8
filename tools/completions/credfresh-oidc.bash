# SPDX-License-Identifier: MIT
# bash completion of credfresh-oidc: made by credfresh-gen from the grammar of the command line.

_credfresh_oidc_commands='init rotate publish manifests status verify version help'

# _credfresh_oidc_command COMMAND: its options, and what its arguments are.
_credfresh_oidc_command()
{
    case $1 in
    init)
        options='--directory --issuer --key --token-life --settle --signer-lag --web-root --signing-key --public-key --jwks-path --claims-supported --certificates --replace --help'
        arguments=''
        ;;
    rotate)
        options='--directory --public-key --confirm --continue --recount --replace --help'
        arguments=''
        ;;
    publish)
        options='--directory --to --name --config --ca-file --replace --timeout --help'
        arguments=''
        ;;
    manifests)
        options='--directory --ca-file --output --service-account --audience --offline --help'
        arguments=''
        ;;
    status)
        options='--directory --json --help'
        arguments=''
        ;;
    verify)
        options='--issuer --ca-file --timeout --jwks --at --audience --help'
        arguments='FILE'
        ;;
    version)
        options='--help'
        arguments=''
        ;;
    help)
        options='--help'
        arguments='init|rotate|publish|manifests|status|verify|version|help'
        ;;
    *) return 1 ;;
    esac
}

# _credfresh_oidc_value 'COMMAND OPTION': what the option's value is; nothing if it takes none.
_credfresh_oidc_value()
{
    case $1 in
    *' -d' | *' --directory') value=DIR ;;
    *' --issuer') value=URL ;;
    *' --key') value=KIND ;;
    *' --token-life') value=DURATION ;;
    *' --settle') value=DURATION ;;
    *' --signer-lag') value=DURATION ;;
    *' --web-root') value=DIR ;;
    *' --signing-key') value=FILE ;;
    *' --public-key') value=FILE ;;
    *' --jwks-path') value=PATH ;;
    *' --to') value=URL ;;
    *' --name') value=NAME ;;
    *' -c' | *' --config') value=FILE ;;
    *' --ca-file') value=FILE ;;
    *' --timeout') value=DURATION ;;
    *' --jwks') value=FILE ;;
    *' --at') value=TIME ;;
    *' -o' | *' --output') value=DIR ;;
    *' --service-account') value=NAMESPACE/NAME ;;
    *' --audience') value=TEXT ;;
    *) value='' ;;
    esac
}

# _credfresh_oidc_complete WORD: fills COMPREPLY for WORD of the tables above.
_credfresh_oidc_complete()
{
    local name

    case $1 in
    NAME)
        while read -r name; do
            [[ $name == "$current"* ]] && COMPREPLY+=("$name")
        done < <("${program%-oidc}" completion names "${where[@]}" 2>/dev/null </dev/null)
        ;;
    FILE | SOCKET)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        ;;
    DIR)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -d -- "$current")
        ;;
    COMMAND)
        mapfile -t COMPREPLY < <(compgen -c -- "$current")
        ;;
    *'|'*)
        mapfile -t COMPREPLY < <(compgen -W "${1//|/ }" -- "$current")
        ;;
    esac
}

# Takes COMP_WORDS apart: `--option=value` is one word, or three.
_credfresh_oidc_words()
{
    local i word

    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $word == --*=* ]]; then
            words+=("${word%%=*}" "${word#*=}")
            ((i == COMP_CWORD)) && prefix=${word%%=*}=
        elif [[ $word == = && ${words[-1]} == --* ]]; then
            ((i == COMP_CWORD)) && words+=('')
        else
            words+=("$word")
        fi
    done
}

_credfresh_oidc()
{
    local IFS=$' \t\n' program=$1 words=() prefix='' where=() current command options arguments value i last
    local seen=0 ended=0

    COMPREPLY=()
    _credfresh_oidc_words
    last=$((${#words[@]} - 1))
    current=${words[last]}
    if ((last < 2)); then
        mapfile -t COMPREPLY < <(compgen -W "$_credfresh_oidc_commands --help --version" -- "$current")
        return
    fi
    command=${words[1]}
    _credfresh_oidc_command "$command" || return
    for ((i = 2; i < last; i++)); do
        if ((ended)) || [[ ${words[i]} != -?* ]]; then
            seen=$((seen + 1))
            [[ $arguments == COMMAND* ]] && ended=1
        elif [[ ${words[i]} == -- ]]; then
            ended=1
        else
            _credfresh_oidc_value "$command ${words[i]}"
            [[ -n $value ]] || continue
            if ((i + 1 == last)); then
                _credfresh_oidc_complete "$value"
                COMPREPLY=("${COMPREPLY[@]/#/$prefix}")
                return
            fi
            case ${words[i]} in
            -c | --config | -s | --socket) where+=("${words[i]}" "${words[i + 1]/#\~/$HOME}") ;;
            esac
            i=$((i + 1))
        fi
    done
    if [[ $current == -* ]] && ! ((ended)); then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
        return
    fi
    if [[ $arguments == COMMAND* ]] && ((seen)); then
        _credfresh_oidc_complete FILE
        return
    fi
    for value in $arguments; do
        if ((seen == 0)) || [[ $value == *... ]]; then
            _credfresh_oidc_complete "${value%...}"
            return
        fi
        seen=$((seen - 1))
    done
}

complete -F _credfresh_oidc credfresh-oidc
