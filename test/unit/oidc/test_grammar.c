/* SPDX-License-Identifier: MIT */
/* The command line of credfresh-oidc: its tables fit together, and options are stored where its commands read them. */
#include "oidc/oidc.h"
#include "oidc/oidc_private.h"

#include "unit.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 12

static bool parse(const char *line, struct cfr_oidc_options *o)
{
    static char copy[256];
    char *argv[WORDS_MAX + 1] = {NULL};
    int argc = 0;

    (void)snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok(copy, " "); word != NULL && argc < WORDS_MAX; word = strtok(NULL, " "))
        argv[argc++] = word;
    optind = 0;
    *o = (struct cfr_oidc_options){.directory = NULL};
    return cfr_cli_parse(cfr_cli_find(argv[0]), argc, argv, &o->cli);
}

static void lines_that_are_parsed(void **state)
{
    struct cfr_oidc_options o;

    (void)state;
    assert_true(parse("rotate -d /d --continue", &o));
    assert_string_equal(o.directory, "/d");
    assert_true(o.only_continue && !o.confirm);
    assert_true(parse("manifests -d /d -o /o --service-account a/b --service-account c/d --offline", &o));
    assert_string_equal(o.cli.output, "/o");
    assert_int_equal(o.cli.service_accounts.count, 2);
    assert_true(o.cli.offline);
    assert_false(parse("status -d /d --confirm", &o));
    assert_false(parse("rotate -d /d more", &o));
}

static void every_option_has_its_own_letter_and_a_command(void **state)
{
    char seen[64] = "";

    (void)state;
    for (const struct cfr_cli_option *o = cfr_cli_program->options; o->name != NULL; o++) {
        bool used = o->letter == 'h';

        assert_null(strchr(seen, o->letter));
        (void)snprintf(seen + strlen(seen), sizeof seen - strlen(seen), "%c", o->letter);
        for (const struct cfr_cli_command *c = cfr_cli_program->commands; c->name != NULL; c++)
            used = used || cfr_cli_takes(c, o);
        assert_true(used);
    }
    for (const struct cfr_cli_command *c = cfr_cli_program->commands; c->name != NULL; c++) {
        for (const struct cfr_cli_part *p = c->parts; p->option != 0 || p->word != NULL; p++)
            assert_true(p->option == 0 || strchr(seen, p->option) != NULL);
    }
}

static int use_program(void **state)
{
    (void)state;
    cfr_cli_program = &cfr_oidc_program;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_that_are_parsed),
        cmocka_unit_test(every_option_has_its_own_letter_and_a_command),
    };

    return cmocka_run_group_tests(tests, use_program, NULL);
}
