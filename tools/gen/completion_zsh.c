/* SPDX-License-Identifier: MIT */
/* Completion script of zsh. */
#include "tools/gen/completion_private.h"

#include <string.h>

#define QUOTE "'\\''"

static const char names[] =
    "_@NAME@_names() {\n"
    "    local -a where names\n"
    "    integer i\n"
    "\n"
    "    for (( i = 2; i < CURRENT; i++ )); do\n"
    "        case $words[i] in\n"
    "        (-c|--config|-s|--socket) where+=(\"$words[i]\" \"${(Q)${words[i+1]/#\\~/$HOME}}\") ;;\n"
    "        (--config=*|--socket=*) where+=(\"${(Q)words[i]}\") ;;\n"
    "        esac\n"
    "    done\n"
    "    names=(${(f)\"$(command credfresh completion names $where 2>/dev/null </dev/null)\"})\n"
    "    compadd \"$@\" -a names\n"
    "}\n"
    "\n";

/* Appends ":message:action" of _arguments for the word W. */
static void add_action(struct cfr_str *out, const struct cfr_gen_completion_word *w)
{
    if (strcmp(w->text, "NAME") == 0) {
        cfr_str_addz(out, ":name:_@NAME@_names");
    } else if (strcmp(w->text, "FILE") == 0 || strcmp(w->text, "SOCKET") == 0) {
        cfr_str_addz(out, ":file:_files");
    } else if (strcmp(w->text, "DIR") == 0) {
        cfr_str_addz(out, ":directory:_files -/");
    } else if (cfr_gen_completion_is_choice(w)) {
        cfr_str_addz(out, ":choice:(");
        for (const char *p = w->text; *p != '\0'; p++)
            cfr_str_addf(out, "%c", *p == '|' ? ' ' : *p);
        cfr_str_addz(out, ")");
    } else {
        cfr_str_addf(out, ":%s: ", w->text);
    }
}

static void add_spec(struct cfr_str *out, const struct cfr_cli_command *c, const struct cfr_cli_option *o, bool brief)
{
    struct cfr_str spec = {.limit = 8192};
    bool again = o->type == CFR_CLI_STRINGS;

    if (again)
        cfr_str_addz(&spec, "*");
    else if (o->brief)
        cfr_str_addf(&spec, "(-%c --%s)", o->letter, o->name);
    if (brief)
        cfr_str_addf(&spec, "-%c%s", o->letter, o->value != NULL ? "+" : "");
    else
        cfr_str_addf(&spec, "--%s%s", o->name, o->value != NULL ? "=" : "");
    cfr_str_addf(&spec, "[%s]", cfr_cli_summary_of(c, o));
    if (o->value != NULL) {
        struct cfr_gen_completion_word value = cfr_gen_completion_value(c, o);

        add_action(&spec, &value);
    }
    cfr_str_addz(out, " \\\n            ");
    cfr_gen_completion_quote(out, spec.p != NULL ? spec.p : "", QUOTE);
    out->failed = out->failed || spec.failed;
    cfr_str_free(&spec);
}

static void add_arguments(struct cfr_str *out, const struct cfr_cli_command *c)
{
    struct cfr_gen_completion_word arguments[CFR_GEN_COMPLETION_ARGUMENTS_MAX];
    size_t count = cfr_gen_completion_arguments(c, arguments);

    for (size_t i = 0; i < count; i++) {
        cfr_str_addz(out, " \\\n            ");
        if (strcmp(arguments[i].text, "COMMAND") == 0) {
            cfr_str_addz(out, "'(-)1:command:_command_names -e' '*::argument:_normal'");
            continue;
        }
        if (arguments[i].again)
            cfr_str_addz(out, "'*");
        else
            cfr_str_addf(out, "'%zu", i + 1);
        add_action(out, &arguments[i]);
        cfr_str_addz(out, "'");
    }
}

static void add_command(struct cfr_str *out, const struct cfr_cli_command *c)
{
    cfr_str_addf(out, "    (%s)\n        _arguments -s -S%s", c->name, cfr_cli_runs_program(c) ? " -A '-*'" : "");
    for (const struct cfr_cli_option *o = cfr_cli_program->options; o->name != NULL; o++) {
        if (!cfr_cli_takes(c, o))
            continue;
        if (o->brief)
            add_spec(out, c, o, true);
        add_spec(out, c, o, false);
    }
    add_arguments(out, c);
    cfr_str_addz(out, "\n        ;;\n");
}

void cfr_gen_completion_zsh(struct cfr_str *out)
{
    cfr_str_addz(out, "#compdef @NAME@\n"
                      "# SPDX-License-Identifier: MIT\n"
                      "# zsh completion of @NAME@: made by credfresh-gen from the grammar of the command line.\n\n");
    cfr_str_addz(out, names);
    cfr_str_addz(out, "_@NAME@() {\n"
                      "    local curcontext=\"$curcontext\" state line\n"
                      "    local -a commands\n"
                      "    typeset -A opt_args\n"
                      "\n"
                      "    commands=(\n");
    for (const struct cfr_cli_command *c = cfr_cli_program->commands; c->name != NULL; c++) {
        cfr_str_addf(out, "        %s:", c->name);
        cfr_gen_completion_quote(out, c->summary, QUOTE);
        cfr_str_addz(out, "\n");
    }
    cfr_str_addz(out,
                 "    )\n"
                 "    _arguments -C '(- *)'{-h,--help}'[list the commands]' '(- *)--version[print the version]' \\\n"
                 "        '1:command:->command' '*::argument:->argument'\n"
                 "    if [[ $state == command ]]; then\n"
                 "        _describe -t commands command commands\n"
                 "        return\n"
                 "    fi\n"
                 "    [[ $state == argument ]] || return\n"
                 "    curcontext=\"${curcontext%:*:*}:@NAME@-$words[1]:\"\n"
                 "    case $words[1] in\n");
    for (const struct cfr_cli_command *c = cfr_cli_program->commands; c->name != NULL; c++)
        add_command(out, c);
    cfr_str_addz(out, "    esac\n"
                      "}\n\n"
                      "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n"
                      "    _@NAME@ \"$@\"\n"
                      "else\n"
                      "    compdef _@NAME@ @NAME@\n"
                      "fi\n");
}
