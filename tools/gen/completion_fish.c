/* SPDX-License-Identifier: MIT */
/* Completion script of fish. */
#include "tools/gen/completion_private.h"

#include <string.h>

#define QUOTE "\\'"

static const char functions[] =
    "# Whether the line's command is one of those given.\n"
    "function __@ID@_is\n"
    "    set -l words (commandline -opc)\n"
    "    test (count $words) -ge 2; and contains -- $words[2] $argv\n"
    "end\n"
    "\n"
    "# Whether the cursor is at argument N of the command, options left out; 0 is the command itself.\n"
    "function __@ID@_at -a n\n"
    "    set -l words (commandline -opc)\n"
    "    set -l seen 0\n"
    "    set -l value no\n"
    "    set -e words[1]\n"
    "    for word in $words\n"
    "        if test $value = yes\n"
    "            set value no\n"
    "        else if contains -- $word $__@ID@_with_value\n"
    "            set value yes\n"
    "        else if not string match -q -- '-*' $word\n"
    "            set seen (math $seen + 1)\n"
    "        end\n"
    "    end\n"
    "    test $value = no; and test $seen -eq $n\n"
    "end\n"
    "\n"
    "function __@ID@_names\n"
    "    set -l words (commandline -opc)\n"
    "    set -l where\n"
    "    for i in (seq 2 (count $words))\n"
    "        switch $words[$i]\n"
    "            case -c --config -s --socket\n"
    "                test $i -lt (count $words); and set -a where $words[$i] $words[(math $i + 1)]\n"
    "            case '--config=*' '--socket=*'\n"
    "                set -a where $words[$i]\n"
    "        end\n"
    "    end\n"
    "    command credfresh completion names $where 2>/dev/null </dev/null\n"
    "end\n"
    "\n";

/* Appends the options of `complete` for the word W. */
static void add_action(struct cfr_str *out, const struct cfr_gen_completion_word *w)
{
    if (strcmp(w->text, "NAME") == 0) {
        cfr_str_addz(out, " -x -a '(__@ID@_names)'");
    } else if (strcmp(w->text, "FILE") == 0 || strcmp(w->text, "SOCKET") == 0) {
        cfr_str_addz(out, " -r -F");
    } else if (strcmp(w->text, "DIR") == 0) {
        cfr_str_addz(out, " -x -a '(__fish_complete_directories)'");
    } else if (cfr_gen_completion_is_choice(w)) {
        cfr_str_addz(out, " -x -a '");
        for (const char *p = w->text; *p != '\0'; p++)
            cfr_str_addf(out, "%c", *p == '|' ? ' ' : *p);
        cfr_str_addz(out, "'");
    } else {
        cfr_str_addz(out, " -x");
    }
}

static void add_option(struct cfr_str *out, const struct cfr_cli_command *c, const struct cfr_cli_option *o)
{
    cfr_str_addf(out, "complete -c @NAME@ -n '__@ID@_is %s'", c->name);
    if (o->brief)
        cfr_str_addf(out, " -s %c", o->letter);
    cfr_str_addf(out, " -l %s", o->name);
    if (o->value != NULL) {
        struct cfr_gen_completion_word value = cfr_gen_completion_value(c, o);

        add_action(out, &value);
    }
    cfr_str_addz(out, " -d ");
    cfr_gen_completion_quote(out, cfr_cli_summary_of(c, o), QUOTE);
    cfr_str_addz(out, "\n");
}

static void add_arguments(struct cfr_str *out, const struct cfr_cli_command *c)
{
    struct cfr_gen_completion_word arguments[CFR_GEN_COMPLETION_ARGUMENTS_MAX];
    size_t count = cfr_gen_completion_arguments(c, arguments);

    for (size_t i = 0; i < count; i++) {
        bool command = strcmp(arguments[i].text, "COMMAND") == 0;

        cfr_str_addf(out, "complete -c @NAME@ -n '__@ID@_is %s", c->name);
        if (command || !arguments[i].again)
            cfr_str_addf(out, "; and __@ID@_at %zu", i + 1);
        cfr_str_addz(out, "'");
        if (command)
            cfr_str_addf(out,
                         " -x -a '(__fish_complete_command)'\n"
                         "complete -c @NAME@ -n '__@ID@_is %s; and not __@ID@_at 1' -F",
                         c->name);
        else
            add_action(out, &arguments[i]);
        cfr_str_addz(out, "\n");
    }
}

void cfr_gen_completion_fish(struct cfr_str *out)
{
    cfr_str_addz(out, "# SPDX-License-Identifier: MIT\n"
                      "# fish completion of @NAME@: made by credfresh-gen from the grammar of the command line.\n\n"
                      "set -g __@ID@_with_value");
    for (const struct cfr_cli_option *o = cfr_cli_program->options; o->name != NULL; o++) {
        if (o->value != NULL && o->brief)
            cfr_str_addf(out, " -%c", o->letter);
        if (o->value != NULL)
            cfr_str_addf(out, " --%s", o->name);
    }
    cfr_str_addz(out, "\n\n");
    cfr_str_addz(out, functions);
    cfr_str_addz(out, "complete -c @NAME@ -f\n"
                      "complete -c @NAME@ -n '__@ID@_at 0' -s h -l help -d 'list the commands'\n"
                      "complete -c @NAME@ -n '__@ID@_at 0' -l version -d 'print the version'\n");
    for (const struct cfr_cli_command *c = cfr_cli_program->commands; c->name != NULL; c++) {
        cfr_str_addf(out, "\ncomplete -c @NAME@ -n '__@ID@_at 0' -a %s -d ", c->name);
        cfr_gen_completion_quote(out, c->summary, QUOTE);
        cfr_str_addz(out, "\n");
        for (const struct cfr_cli_option *o = cfr_cli_program->options; o->name != NULL; o++) {
            if (cfr_cli_takes(c, o))
                add_option(out, c, o);
        }
        add_arguments(out, c);
    }
}
