/* SPDX-License-Identifier: MIT */
/* Words of the command line that a shell can complete. */
#include "tools/gen/completion_private.h"

#include "oidc/oidc.h"

#include <stdio.h>
#include <string.h>

static struct cfr_gen_completion_word any_command(void)
{
    struct cfr_gen_completion_word w = {.again = false};
    size_t n = 0;

    for (const struct cfr_cli_command *c = cfr_cli_program->commands; c->name != NULL && n < sizeof w.text; c++)
        n += (size_t)snprintf(w.text + n, sizeof w.text - n, "%s%s", n != 0 ? "|" : "", c->name);
    return w;
}

/* What completes VALUES, which are called NAME in a usage. */
static struct cfr_gen_completion_word word_of(enum cfr_cli_values values, const char *name)
{
    struct cfr_gen_completion_word w = {.again = false};

    if (values == CFR_CLI_SUBCOMMAND)
        return any_command();
    (void)snprintf(w.text, sizeof w.text, "%s", name != NULL ? name : "");
    return w;
}

size_t cfr_gen_completion_arguments(const struct cfr_cli_command *c,
                                    struct cfr_gen_completion_word out[CFR_GEN_COMPLETION_ARGUMENTS_MAX])
{
    bool program = false;
    size_t n = 0;

    for (const struct cfr_cli_part *p = c->parts; p->option != 0 || p->word != NULL; p++) {
        if (p->option != 0 || n == CFR_GEN_COMPLETION_ARGUMENTS_MAX)
            continue;
        if (program) { /* the program's own argument comes again */
            out[n - 1].again = true;
            break;
        }
        program = p->values == CFR_CLI_PROGRAM;
        out[n] = word_of(p->values, p->word);
        out[n++].again = (p->flags & CFR_CLI_REPEATED) != 0;
    }
    return n;
}

struct cfr_gen_completion_word cfr_gen_completion_value(const struct cfr_cli_command *c, const struct cfr_cli_option *o)
{
    const struct cfr_cli_part *p = cfr_cli_part_of(c, o);

    return p != NULL && p->word != NULL ? word_of(p->values, p->word) : word_of(o->values, o->value);
}

bool cfr_gen_completion_is_choice(const struct cfr_gen_completion_word *w)
{
    return strchr(w->text, '|') != NULL;
}

void cfr_gen_completion_quote(struct cfr_str *out, const char *text, const char *quote)
{
    cfr_str_addz(out, "'");
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            cfr_str_addz(out, quote);
        else
            cfr_str_add(out, (struct cfr_view){text, 1});
    }
    cfr_str_addz(out, "'");
}

void cfr_gen_completion_write(struct cfr_str *out, bool oidc, void (*script)(struct cfr_str *out))
{
    static const char id[] = "@ID@";
    static const char name[] = "@NAME@";
    struct cfr_str text = {.limit = out->limit};
    struct cfr_view rest;

    cfr_cli_program = oidc ? &cfr_oidc_program : &cfr_cli_credfresh;
    script(&text);
    out->failed = out->failed || text.failed;
    for (rest = cfr_str_view(&text); rest.n != 0;) {
        bool is_id = cfr_view_starts(rest, id);
        size_t n = is_id ? sizeof id - 1 : cfr_view_starts(rest, name) ? sizeof name - 1 : 1;

        if (n == 1)
            cfr_str_add(out, (struct cfr_view){rest.p, 1});
        for (const char *c = cfr_cli_program->name; n != 1 && *c != '\0'; c++)
            cfr_str_addf(out, "%c", is_id && *c == '-' ? '_' : *c);
        rest.p += n;
        rest.n -= n;
    }
    cfr_str_free(&text);
}
