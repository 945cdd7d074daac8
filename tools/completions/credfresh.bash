# SPDX-License-Identifier: MIT
# bash completion of credfresh: made by credfresh-gen from the grammar of the command line.

_credfresh_commands='init run once status rotate forget wait reload quit check doctor inspect exec env get image-credential-provider reference completion version help'

# _credfresh_command COMMAND: its options, and what its arguments are.
_credfresh_command()
{
    case $1 in
    init)
        options='--audience --name --output --sidecar --node --secret --role-arn --region --tenant-id --client-id --scope --auth-url --application-credential-id --registry --token-url --image --service-account --help'
        arguments='aws|gcp|azure|openstack|registry|oauth'
        ;;
    run)
        options='--config --log-level --log-format --help'
        arguments=''
        ;;
    once)
        options='--config --timeout --log-level --log-format --help'
        arguments=''
        ;;
    status)
        options='--config --socket --json --watch --failed --exit-code --help'
        arguments='NAME...'
        ;;
    rotate)
        options='--config --socket --all --reason --help'
        arguments='NAME...'
        ;;
    forget)
        options='--config --help'
        arguments='NAME...'
        ;;
    wait)
        options='--config --socket --timeout --help'
        arguments='NAME...'
        ;;
    reload)
        options='--config --socket --help'
        arguments=''
        ;;
    quit)
        options='--config --socket --help'
        arguments=''
        ;;
    check)
        options='--config --online --json --strict --help'
        arguments='FILE'
        ;;
    doctor)
        options='--config --socket --json --timeout --verbose --offline --trust-policy --federated-credential --pool-provider --help'
        arguments='NAME...'
        ;;
    inspect)
        options='--audience --help'
        arguments='FILE'
        ;;
    exec)
        options='--config --timeout --name --log-level --log-format --quiet --help'
        arguments='COMMAND...'
        ;;
    env)
        options='--config --format --help'
        arguments='NAME'
        ;;
    get)
        options='--config --socket --timeout --field --help'
        arguments='aws|gcp|kube|token NAME'
        ;;
    image-credential-provider)
        options='--config --help'
        arguments=''
        ;;
    reference)
        options='--format --help'
        arguments='KEY'
        ;;
    completion)
        options='--config --socket --help'
        arguments='bash|zsh|fish|names'
        ;;
    version)
        options='--verbose --help'
        arguments=''
        ;;
    help)
        options='--help'
        arguments='init|run|once|status|rotate|forget|wait|reload|quit|check|doctor|inspect|exec|env|get|image-credential-provider|reference|completion|version|help VERB'
        ;;
    *) return 1 ;;
    esac
}

# _credfresh_value 'COMMAND OPTION': what the option's value is; nothing if it takes none.
_credfresh_value()
{
    case $1 in
    'init --output' | 'init -o') value='FILE' ;;
    'run --log-level') value='error|warn|info|debug' ;;
    'run --log-format') value='text|json' ;;
    'once --log-level') value='error|warn|info|debug' ;;
    'once --log-format') value='text|json' ;;
    'exec --log-level') value='error|warn|info|debug' ;;
    'exec --log-format') value='text|json' ;;
    'env --format') value='sh|env|json' ;;
    'reference --format') value='markdown|man' ;;
    *' -c' | *' --config') value=FILE ;;
    *' -s' | *' --socket') value=SOCKET ;;
    *' --reason') value=TEXT ;;
    *' --timeout') value=DURATION ;;
    *' --audience') value=TEXT ;;
    *' --field') value=FIELD ;;
    *' --format') value=FORMAT ;;
    *' --name') value=NAME ;;
    *' --trust-policy') value=FILE ;;
    *' --federated-credential') value=FILE ;;
    *' --pool-provider') value=FILE ;;
    *' -o' | *' --output') value=FILE ;;
    *' --role-arn') value=ARN ;;
    *' --region') value=REGION ;;
    *' --tenant-id') value=UUID ;;
    *' --client-id') value=UUID ;;
    *' --scope') value=SCOPE ;;
    *' --auth-url') value=URL ;;
    *' --application-credential-id') value=ID ;;
    *' --registry') value=HOST ;;
    *' --token-url') value=URL ;;
    *' --image') value=IMAGE ;;
    *' --service-account') value=EMAIL ;;
    *' --log-level') value=LEVEL ;;
    *' --log-format') value=FORMAT ;;
    *) value='' ;;
    esac
}

# _credfresh_complete WORD: fills COMPREPLY for WORD of the tables above.
_credfresh_complete()
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
_credfresh_words()
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

_credfresh()
{
    local IFS=$' \t\n' program=$1 words=() prefix='' where=() current command options arguments value i last
    local seen=0 ended=0

    COMPREPLY=()
    _credfresh_words
    last=$((${#words[@]} - 1))
    current=${words[last]}
    if ((last < 2)); then
        mapfile -t COMPREPLY < <(compgen -W "$_credfresh_commands --help --version" -- "$current")
        return
    fi
    command=${words[1]}
    _credfresh_command "$command" || return
    for ((i = 2; i < last; i++)); do
        if ((ended)) || [[ ${words[i]} != -?* ]]; then
            seen=$((seen + 1))
            [[ $arguments == COMMAND* ]] && ended=1
        elif [[ ${words[i]} == -- ]]; then
            ended=1
        else
            _credfresh_value "$command ${words[i]}"
            [[ -n $value ]] || continue
            if ((i + 1 == last)); then
                _credfresh_complete "$value"
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
        _credfresh_complete FILE
        return
    fi
    for value in $arguments; do
        if ((seen == 0)) || [[ $value == *... ]]; then
            _credfresh_complete "${value%...}"
            return
        fi
        seen=$((seen - 1))
    done
}

complete -F _credfresh credfresh
