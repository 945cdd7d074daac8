/* SPDX-License-Identifier: MIT */
/* The command line: its grammar, valid and refused options, and the help texts. */
#include "agent/cli/command_private.h"

#include "unit.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 12

/* Parses LINE, of words between blanks; the words stay for the options. */
static bool parse(const char *line, struct cfr_cli_options *o)
{
    static char copy[256];
    char *argv[WORDS_MAX + 1] = {NULL};
    int argc = 0;

    (void)snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok(copy, " "); word != NULL && argc < WORDS_MAX; word = strtok(NULL, " "))
        argv[argc++] = word;
    optind = 0;
    return cfr_cli_parse(cfr_cli_find(argv[0]), argc, argv, o);
}

static void lines_that_are_parsed(void **state)
{
    struct cfr_cli_options o;

    (void)state;
    assert_true(parse("doctor -c /a/b one --json two --timeout=2m", &o));
    assert_string_equal(o.config, "/a/b");
    assert_true(o.config_given && o.json && !o.offline && o.config_option != NULL);
    assert_int_equal(o.arg_count, 2);
    assert_int_equal(o.timeout_ms, 120000);
    assert_true(parse("init aws --role-arn a --region b --node", &o));
    assert_string_equal(o.init.role_arn, "a");
    assert_string_equal(o.init.region, "b");
    assert_true(o.init.node && !o.init.secret);
    assert_true(parse("exec --name a --name b env --json", &o)); /* --json is env's own */
    assert_int_equal(o.names.count, 2);
    assert_string_equal(o.names.items[1], "b");
    assert_false(o.json);
    assert_int_equal(o.arg_count, 2);
    assert_true(parse("rotate --all", &o));
    assert_true(parse("rotate -c /hidden/from/the/usage a", &o));
    assert_true(parse("init --help", &o));
    assert_true(o.help);
}

static void lines_that_are_refused(void **state)
{
    static const char *const lines[] = {"check a b",      "get aws",           "exec",           "exec --name a",
                                        "wait --timeout", "wait --timeout 1y", "doctor --watch", "run --frob",
                                        "env a b",        "inspect",           "help get aws x", "quit -x"};
    struct cfr_cli_options o;

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (parse(lines[i], &o))
            fail_msg("%s", lines[i]);
    }
}

static const struct cfr_cli_option *option_of(char letter)
{
    const struct cfr_cli_option *o = cfr_cli_program->options;

    while (o->name != NULL && o->letter != letter)
        o++;
    return o;
}

static void every_option_of_the_grammar_has_its_own_letter(void **state)
{
    (void)state;
    for (const struct cfr_cli_option *o = cfr_cli_program->options; o->name != NULL; o++) {
        bool used = o->letter == 'h';

        assert_ptr_equal(option_of(o->letter), o);
        assert_true((o->value == NULL) == (o->type == CFR_CLI_SET));
        for (const struct cfr_cli_command *c = cfr_cli_program->commands; c->name != NULL; c++)
            used = used || cfr_cli_takes(c, o);
        assert_true(used);
    }
    for (const struct cfr_cli_command *c = cfr_cli_program->commands; c->name != NULL; c++) {
        for (const struct cfr_cli_part *p = c->parts; p->option != 0 || p->word != NULL; p++)
            assert_true(p->option == 0 || option_of(p->option)->name != NULL);
    }
}

/* Prints the help of C (NULL: of all) and checks that no line is too long or ends with a blank. */
static char *read_help(const struct cfr_cli_command *c, const struct cfr_cli_verb *v)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);

    assert_non_null(f);
    if (c != NULL)
        cfr_cli_print_usage(c, v, true, f);
    else
        cfr_cli_print_commands(f);
    assert_int_equal(fclose(f), 0);
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
        size_t length = strcspn(line, "\n");

        if (length > 80 || (length != 0 && line[length - 1] == ' '))
            fail_msg("%.*s", (int)length, line);
    }
    return text;
}

static void help_fits_into_80_columns(void **state)
{
    char *text = read_help(NULL, NULL);

    (void)state;
    for (const struct cfr_cli_command *c = cfr_cli_program->commands; c->name != NULL; c++) {
        assert_contains(text, c->name);
        free(read_help(c, NULL));
    }
    free(text);
    text = read_help(cfr_cli_find("rotate"), NULL);
    assert_contains(text, "usage: credfresh rotate NAME... | --all [--reason TEXT] [-s SOCKET | -c FILE]\n");
    free(text);
    text = read_help(cfr_cli_find("exec"), NULL);
    assert_contains(text, "usage: credfresh exec [-c FILE] [--name NAME]... [--timeout DURATION] [-q]\n"
                          "                      [--log-level error|warn|info|debug]\n"
                          "                      [--log-format text|json] [--] COMMAND [ARGUMENT]...\n");
    free(text);
}

static void a_verb_has_a_page_of_its_own(void **state)
{
    const struct cfr_cli_command *init = cfr_cli_find("init");
    char *text = read_help(init, cfr_cli_find_verb(init, "azure"));

    (void)state;
    assert_contains(text, "usage: credfresh init azure [--sidecar | --node | --secret]");
    assert_null(strstr(text, "--role-arn"));
    free(text);
    for (const struct cfr_cli_verb *v = cfr_cli_program->verbs; v->name != NULL; v++) {
        const struct cfr_cli_command *c = cfr_cli_find(v->command);

        assert_ptr_equal(cfr_cli_find_verb(c, v->name), v);
        for (const char *letter = v->options; *letter != '\0'; letter++)
            assert_true(cfr_cli_takes(c, option_of(*letter)));
        for (const char *letter = v->required; *letter != '\0'; letter++)
            assert_non_null(strchr(v->options, *letter));
        free(read_help(c, v));
    }
    assert_null(cfr_cli_find_verb(init, "aws2"));
}

static void a_typing_error_is_recognised(void **state)
{
    static const char *const words[][2] = {{"statu", "status"},  {"chekc", "check"}, {"rotat", "rotate"},
                                           {"docter", "doctor"}, {"runn", "run"},    {"frobnicate", NULL},
                                           {"x", NULL},          {"", NULL},         {"kill", NULL}};

    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        struct cfr_cli_nearest nearest = {.word = words[i][0]};

        for (const struct cfr_cli_command *c = cfr_cli_program->commands; c->name != NULL; c++)
            cfr_cli_consider(&nearest, c->name);
        if (words[i][1] == NULL)
            assert_null(nearest.name);
        else
            assert_string_equal(nearest.name, words[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_that_are_parsed),
        cmocka_unit_test(lines_that_are_refused),
        cmocka_unit_test(every_option_of_the_grammar_has_its_own_letter),
        cmocka_unit_test(help_fits_into_80_columns),
        cmocka_unit_test(a_verb_has_a_page_of_its_own),
        cmocka_unit_test(a_typing_error_is_recognised),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
