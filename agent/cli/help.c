/* SPDX-License-Identifier: MIT */
/* Help texts, made of the grammar of the command line. */
#include "agent/cli/command_private.h"

#include <string.h>

#define COLUMNS    80
#define INDENT_MAX 28 /* of the lines of a usage, below its first option */
#define WORD_MAX_  256

/* Appends TEXT to WORD. */
static void add(char word[WORD_MAX_], const char *text)
{
    size_t n = strlen(word);

    (void)snprintf(word + n, WORD_MAX_ - n, "%s", text);
}

/* Writes P and the parts that may be given instead of it, as in "[-s SOCKET | -c FILE]"; returns the last of them. */
static const struct cfr_cli_part *write_part(const struct cfr_cli_part *p, const struct cfr_cli_verb *v,
                                             char word[WORD_MAX_])
{
    bool optional =
        v != NULL && p->option != 0 ? strchr(v->required, p->option) == NULL : (p->flags & CFR_CLI_REQUIRED) == 0;

    word[0] = '\0';
    add(word, optional ? "[" : "");
    for (;; p++) {
        const struct cfr_cli_option *o = cfr_cli_option_of(p->option);
        char name[2] = {p->option, '\0'};

        if (p->option != 0) {
            add(word, o->brief ? "-" : "--");
            add(word, o->brief ? name : o->name);
            add(word, o->value != NULL ? " " : "");
            add(word, p->word != NULL ? p->word : o->value != NULL ? o->value : "");
        } else {
            add(word, v != NULL && p->values == CFR_CLI_CHOICE ? v->name : p->word);
        }
        if ((p->flags & CFR_CLI_OR) == 0)
            break;
        add(word, (p->flags & CFR_CLI_REPEATED) != 0 ? "... | " : " | ");
    }
    add(word, optional ? "]" : "");
    add(word, (p->flags & CFR_CLI_REPEATED) != 0 ? "..." : "");
    return p;
}

/* Prints WORD, on a new line with INDENT blanks if it does not fit into this one, of which *COLUMN is used. */
static void print_word(const char *word, int indent, int *column, FILE *to)
{
    int n = (int)strlen(word);

    if (*column > indent && *column + 1 + n > COLUMNS) {
        (void)fprintf(to, "\n%*s", indent, "");
        *column = indent;
    } else if (*column > indent) {
        (void)fputc(' ', to);
        (*column)++;
    }
    (void)fputs(word, to);
    *column += n;
}

/* Prints TEXT in lines, each further one with INDENT blanks; the first one has begun, up to INDENT. */
static void print_text(const char *text, int indent, FILE *to)
{
    int column = indent;

    while (*(text += strspn(text, " ")) != '\0') {
        char word[WORD_MAX_];
        size_t n = strcspn(text, " ");

        (void)snprintf(word, sizeof word, "%.*s", (int)n, text);
        print_word(word, indent, &column, to);
        text += n;
    }
    (void)fputc('\n', to);
}

/* Whether the page of C, or of its verb V, shows O. */
static bool is_shown(const struct cfr_cli_command *c, const struct cfr_cli_verb *v, const struct cfr_cli_option *o)
{
    return cfr_cli_takes(c, o) && (v == NULL || o->letter == 'h' || strchr(v->options, o->letter) != NULL);
}

static void print_option(const struct cfr_cli_command *c, const struct cfr_cli_option *o, FILE *to)
{
    const struct cfr_cli_part *p = cfr_cli_part_of(c, o);
    const char *value = o->value == NULL ? "" : p != NULL && p->word != NULL ? p->word : o->value;
    int column = fprintf(to, "  %c%c%c --%s%s%s", o->brief ? '-' : ' ', o->brief ? o->letter : ' ',
                         o->brief ? ',' : ' ', o->name, value[0] != '\0' ? " " : "", value);

    (void)fprintf(to, "%s%*s", column >= 28 ? "\n" : "", column >= 28 ? 28 : 28 - column, "");
    print_text(cfr_cli_summary_of(c, o), 28, to);
}

/* The pages of the words that the first argument of C can be. */
static void print_verbs(const struct cfr_cli_command *c, FILE *to)
{
    bool any = false;

    for (const struct cfr_cli_verb *v = cfr_cli_program->verbs; v->name != NULL; v++) {
        if (strcmp(v->command, c->name) != 0)
            continue;
        (void)fprintf(to, "%s  %-10s", any ? "" : "\n", v->name);
        print_text(v->summary, 12, to);
        any = true;
    }
    if (any)
        (void)fprintf(to, "\n`%s help %s VERB` explains one of them.\n", cfr_cli_program->name, c->name);
}

void cfr_cli_print_usage(const struct cfr_cli_command *c, const struct cfr_cli_verb *v, bool long_help, FILE *to)
{
    int column = fprintf(to, "usage: %s %s", cfr_cli_program->name, c->name);
    int indent = column < INDENT_MAX ? column + 1 : 7;

    if (column < indent)
        column += fprintf(to, " ");
    for (const struct cfr_cli_part *p = c->parts; !cfr_cli_is_end(p); p++) {
        char word[WORD_MAX_];

        if (v != NULL && p->option != 0 && strchr(v->options, p->option) == NULL)
            continue;
        if (p->values == CFR_CLI_PROGRAM)
            print_word("[--]", indent, &column, to);
        p = write_part(p, v, word);
        print_word(word, indent, &column, to);
    }
    (void)fputs("\n  ", to);
    print_text(v != NULL ? v->summary : c->summary, 2, to);
    if (!long_help)
        return;
    if (v == NULL)
        print_verbs(c, to);
    (void)fputc('\n', to);
    for (const struct cfr_cli_option *o = cfr_cli_program->options; o->name != NULL; o++) {
        if (is_shown(c, v, o))
            print_option(c, o, to);
    }
    (void)fputs("\nExample:\n  ", to);
    print_text(v != NULL ? v->example : c->example, 6, to);
}

void cfr_cli_print_commands(FILE *to)
{
    const struct cfr_cli_program *program = cfr_cli_program;

    (void)fprintf(to, "%s\n\nusage: %s COMMAND [OPTION]... [ARGUMENT]...\n", program->purpose, program->name);
    for (int group = 0; group < CFR_CLI_GROUPS; group++) {
        if (program->titles[group] == NULL)
            continue;
        (void)fprintf(to, "\n%s:\n", program->titles[group]);
        for (const struct cfr_cli_command *c = program->commands; c->name != NULL; c++) {
            int column;

            if ((int)c->group != group)
                continue;
            column = fprintf(to, "  %-11s", c->name);
            if (column > 13)
                (void)fprintf(to, "\n%13s", "");
            print_text(c->summary, 13, to);
        }
    }
    (void)fputs(program->footer, to);
}

void cfr_cli_unknown_command(const char *name)
{
    struct cfr_cli_nearest nearest = {.word = name};

    for (const struct cfr_cli_command *c = cfr_cli_program->commands; c->name != NULL; c++)
        cfr_cli_consider(&nearest, c->name);
    if (name[0] == '-')
        cfr_cli_complain("\"%s\": options come after the command, as in `%s %s -h`", name, cfr_cli_program->name,
                         cfr_cli_program->commands->name);
    else if (nearest.name != NULL)
        cfr_cli_complain("unknown command \"%s\": did you mean \"%s\"? `%s help` lists the commands", name,
                         nearest.name, cfr_cli_program->name);
    else
        cfr_cli_complain("unknown command \"%s\": `%s help` lists the commands", name, cfr_cli_program->name);
}
