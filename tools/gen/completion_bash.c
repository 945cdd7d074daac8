/* SPDX-License-Identifier: MIT */
/* Completion script of bash. */
#include "tools/gen/completion_private.h"

/* How the words of the tables are completed. bash hands over `--format=sh` as three words, unless `=` was
 * taken out of COMP_WORDBREAKS: then it is one. */
static const char complete_word[] =
    "# _@ID@_complete WORD: fills COMPREPLY for WORD of the tables above.\n"
    "_@ID@_complete()\n"
    "{\n"
    "    local name\n"
    "\n"
    "    case $1 in\n"
    "    NAME)\n"
    "        while read -r name; do\n"
    "            [[ $name == \"$current\"* ]] && COMPREPLY+=(\"$name\")\n"
    "        done < <(\"${program%-oidc}\" completion names \"${where[@]}\" 2>/dev/null </dev/null)\n"
    "        ;;\n"
    "    FILE | SOCKET)\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
    "        ;;\n"
    "    DIR)\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        mapfile -t COMPREPLY < <(compgen -d -- \"$current\")\n"
    "        ;;\n"
    "    COMMAND)\n"
    "        mapfile -t COMPREPLY < <(compgen -c -- \"$current\")\n"
    "        ;;\n"
    "    *'|'*)\n"
    "        mapfile -t COMPREPLY < <(compgen -W \"${1//|/ }\" -- \"$current\")\n"
    "        ;;\n"
    "    esac\n"
    "}\n"
    "\n";

static const char complete_words[] = "# Takes COMP_WORDS apart: `--option=value` is one word, or three.\n"
                                     "_@ID@_words()\n"
                                     "{\n"
                                     "    local i word\n"
                                     "\n"
                                     "    for ((i = 0; i <= COMP_CWORD; i++)); do\n"
                                     "        word=${COMP_WORDS[i]}\n"
                                     "        if [[ $word == --*=* ]]; then\n"
                                     "            words+=(\"${word%%=*}\" \"${word#*=}\")\n"
                                     "            ((i == COMP_CWORD)) && prefix=${word%%=*}=\n"
                                     "        elif [[ $word == = && ${words[-1]} == --* ]]; then\n"
                                     "            ((i == COMP_CWORD)) && words+=('')\n"
                                     "        else\n"
                                     "            words+=(\"$word\")\n"
                                     "        fi\n"
                                     "    done\n"
                                     "}\n"
                                     "\n";

static const char complete_line[] =
    "_@ID@()\n"
    "{\n"
    "    local IFS=$' \\t\\n' program=$1 words=() prefix='' where=() current command options arguments value "
    "i last\n"
    "    local seen=0 ended=0\n"
    "\n"
    "    COMPREPLY=()\n"
    "    _@ID@_words\n"
    "    last=$((${#words[@]} - 1))\n"
    "    current=${words[last]}\n"
    "    if ((last < 2)); then\n"
    "        mapfile -t COMPREPLY < <(compgen -W \"$_@ID@_commands --help --version\" -- \"$current\")\n"
    "        return\n"
    "    fi\n"
    "    command=${words[1]}\n"
    "    _@ID@_command \"$command\" || return\n"
    "    for ((i = 2; i < last; i++)); do\n"
    "        if ((ended)) || [[ ${words[i]} != -?* ]]; then\n"
    "            seen=$((seen + 1))\n"
    "            [[ $arguments == COMMAND* ]] && ended=1\n"
    "        elif [[ ${words[i]} == -- ]]; then\n"
    "            ended=1\n"
    "        else\n"
    "            _@ID@_value \"$command ${words[i]}\"\n"
    "            [[ -n $value ]] || continue\n"
    "            if ((i + 1 == last)); then\n"
    "                _@ID@_complete \"$value\"\n"
    "                COMPREPLY=(\"${COMPREPLY[@]/#/$prefix}\")\n"
    "                return\n"
    "            fi\n"
    "            case ${words[i]} in\n"
    "            -c | --config | -s | --socket) where+=(\"${words[i]}\" \"${words[i + 1]/#\\~/$HOME}\") ;;\n"
    "            esac\n"
    "            i=$((i + 1))\n"
    "        fi\n"
    "    done\n"
    "    if [[ $current == -* ]] && ! ((ended)); then\n"
    "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")\n"
    "        return\n"
    "    fi\n";

static const char complete_argument[] = "    if [[ $arguments == COMMAND* ]] && ((seen)); then\n"
                                        "        _@ID@_complete FILE\n"
                                        "        return\n"
                                        "    fi\n"
                                        "    for value in $arguments; do\n"
                                        "        if ((seen == 0)) || [[ $value == *... ]]; then\n"
                                        "            _@ID@_complete \"${value%...}\"\n"
                                        "            return\n"
                                        "        fi\n"
                                        "        seen=$((seen - 1))\n"
                                        "    done\n"
                                        "}\n"
                                        "\n"
                                        "complete -F _@ID@ @NAME@\n";

static void add_commands(struct cfr_str *out)
{
    cfr_str_addz(out, "# _@ID@_command COMMAND: its options, and what its arguments are.\n"
                      "_@ID@_command()\n{\n    case $1 in\n");
    for (const struct cfr_cli_command *c = cfr_cli_program->commands; c->name != NULL; c++) {
        struct cfr_gen_completion_word arguments[CFR_GEN_COMPLETION_ARGUMENTS_MAX];
        size_t count = cfr_gen_completion_arguments(c, arguments);
        const char *space = "";

        cfr_str_addf(out, "    %s)\n        options='", c->name);
        for (const struct cfr_cli_option *o = cfr_cli_program->options; o->name != NULL; o++) {
            if (!cfr_cli_takes(c, o))
                continue;
            cfr_str_addf(out, "%s--%s", space, o->name);
            space = " ";
        }
        cfr_str_addz(out, "'\n        arguments='");
        for (size_t i = 0; i < count; i++)
            cfr_str_addf(out, "%s%s%s", i != 0 ? " " : "", arguments[i].text, arguments[i].again ? "..." : "");
        cfr_str_addz(out, "'\n        ;;\n");
    }
    cfr_str_addz(out, "    *) return 1 ;;\n    esac\n}\n\n");
}

/* The values that differ from command to command. */
static void add_own_values(const struct cfr_cli_command *c, struct cfr_str *out)
{
    for (const struct cfr_cli_option *o = cfr_cli_program->options; o->name != NULL; o++) {
        const struct cfr_cli_part *p = cfr_cli_part_of(c, o);

        if (p == NULL || p->word == NULL)
            continue;
        cfr_str_addf(out, "    '%s --%s'", c->name, o->name);
        if (o->brief)
            cfr_str_addf(out, " | '%s -%c'", c->name, o->letter);
        cfr_str_addf(out, ") value='%s' ;;\n", cfr_gen_completion_value(c, o).text);
    }
}

static void add_values(struct cfr_str *out)
{
    cfr_str_addz(out, "# _@ID@_value 'COMMAND OPTION': what the option's value is; nothing if it takes none.\n"
                      "_@ID@_value()\n{\n    case $1 in\n");
    for (const struct cfr_cli_command *c = cfr_cli_program->commands; c->name != NULL; c++)
        add_own_values(c, out);
    for (const struct cfr_cli_option *o = cfr_cli_program->options; o->name != NULL; o++) {
        if (o->value == NULL)
            continue;
        cfr_str_addz(out, "    ");
        if (o->brief)
            cfr_str_addf(out, "*' -%c' | ", o->letter);
        cfr_str_addf(out, "*' --%s') value=%s ;;\n", o->name, o->value);
    }
    cfr_str_addz(out, "    *) value='' ;;\n    esac\n}\n\n");
}

void cfr_gen_completion_bash(struct cfr_str *out)
{
    cfr_str_addz(out, "# SPDX-License-Identifier: MIT\n"
                      "# bash completion of @NAME@: made by credfresh-gen from the grammar of the command line.\n\n"
                      "_@ID@_commands='");
    for (const struct cfr_cli_command *c = cfr_cli_program->commands; c->name != NULL; c++)
        cfr_str_addf(out, "%s%s", c == cfr_cli_program->commands ? "" : " ", c->name);
    cfr_str_addz(out, "'\n\n");
    add_commands(out);
    add_values(out);
    cfr_str_addz(out, complete_word);
    cfr_str_addz(out, complete_words);
    cfr_str_addz(out, complete_line);
    cfr_str_addz(out, complete_argument);
}
