/* SPDX-License-Identifier: MIT */
/* Usages, read for what may stand where. */
#include "gen/completion.h"

#include <stdio.h>
#include <string.h>

/* The next word of *USAGE; empty at its end. */
static struct cfr_view next_word(const char **usage)
{
    struct cfr_view word;

    *usage += strspn(*usage, " ");
    word = (struct cfr_view){*usage, strcspn(*usage, " ")};
    *usage += word.n;
    return word;
}

static struct cfr_gen_completion_word word_of(struct cfr_view text)
{
    struct cfr_gen_completion_word w = {.again = false};

    (void)snprintf(w.text, sizeof w.text, "%.*s", (int)text.n, text.p);
    return w;
}

static struct cfr_gen_completion_word any_command(void)
{
    struct cfr_gen_completion_word w = {.again = false};
    size_t n = 0;

    for (const struct cfr_cli_command *c = cfr_cli_commands; c->name != NULL && n < sizeof w.text; c++)
        n += (size_t)snprintf(w.text + n, sizeof w.text - n, "%s%s", n != 0 ? "|" : "", c->name);
    return w;
}

/* WORD is as in a usage: NAME, [NAME...], NAME...|--all, a|b|c. */
static struct cfr_gen_completion_word argument(const struct cfr_cli_command *c, struct cfr_view word)
{
    struct cfr_view core = {word.p + (word.p[0] == '['), 0};

    core.n = strcspn(core.p, "]. ");
    if (cfr_view_is(core, "COMMAND") && c->options[0] != '+')
        return any_command();
    return word_of(cfr_view_is(core, "TOKENFILE") ? cfr_view_of("FILE") : core);
}

/* OPTION is as in a usage; *REST becomes what comes after it and its value: [-c FILE], [-s SOCKET | -c FILE],
 * -d DIR. */
static void pass_option(struct cfr_view option, const char **rest)
{
    if (option.p[0] == '[') {
        while (option.n != 0 && memchr(option.p, ']', option.n) == NULL)
            option = next_word(rest);
    } else if (**rest == ' ' && (*rest)[1] >= 'A' && (*rest)[1] <= 'Z') {
        (void)next_word(rest);
    }
}

size_t cfr_gen_completion_arguments(const struct cfr_cli_command *c,
                                    struct cfr_gen_completion_word out[CFR_GEN_COMPLETION_ARGUMENTS_MAX])
{
    const char *rest = c->usage;
    size_t n = 0;

    for (struct cfr_view w = next_word(&rest); w.n != 0 && n < CFR_GEN_COMPLETION_ARGUMENTS_MAX; w = next_word(&rest)) {
        if (w.p[w.p[0] == '['] == '-') {
            pass_option(w, &rest);
            continue;
        }
        out[n] = argument(c, w);
        out[n++].again = c->max_args < 0;
        if (c->max_args < 0)
            break;
    }
    return n;
}

struct cfr_gen_completion_word cfr_gen_completion_value(const struct cfr_cli_command *c, const struct cfr_cli_option *o)
{
    char name[64];
    const char *at;
    struct cfr_gen_completion_word word;

    if (o->value == NULL)
        return word_of((struct cfr_view){"", 0});
    (void)snprintf(name, sizeof name, "--%.40s ", o->name);
    at = strstr(c->usage, name);
    at = at != NULL ? at + strlen(name) : "";
    word = word_of((struct cfr_view){at, strcspn(at, " ]")});
    return cfr_gen_completion_is_choice(&word) ? word : word_of(cfr_view_of(o->value));
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
