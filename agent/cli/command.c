/* SPDX-License-Identifier: MIT */
/* Command line parser. */
#include "agent/cli/command_private.h"

#include "base/str.h"
#include "base/time.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define COMPLAINT_MAX    4096
#define COLUMNS_DEFAULT  80
#define PREFIX_MAX       32
#define LONG_OPTIONS_MAX 64

const struct cfr_cli_program *cfr_cli_program = &cfr_cli_credfresh;

const struct cfr_cli_command *cfr_cli_find(const char *name)
{
    for (const struct cfr_cli_command *c = cfr_cli_program->commands; c->name != NULL; c++) {
        if (strcmp(c->name, name) == 0)
            return c;
    }
    return NULL;
}

bool cfr_cli_is_end(const struct cfr_cli_part *p)
{
    return p->option == 0 && p->word == NULL;
}

const struct cfr_cli_part *cfr_cli_part_of(const struct cfr_cli_command *c, const struct cfr_cli_option *o)
{
    for (const struct cfr_cli_part *p = c->parts; !cfr_cli_is_end(p); p++) {
        if (p->option == o->letter)
            return p;
    }
    return NULL;
}

bool cfr_cli_takes(const struct cfr_cli_command *c, const struct cfr_cli_option *o)
{
    return o->letter == 'h' || cfr_cli_part_of(c, o) != NULL;
}

const char *cfr_cli_summary_of(const struct cfr_cli_command *c, const struct cfr_cli_option *o)
{
    const struct cfr_cli_part *p = cfr_cli_part_of(c, o);

    return p != NULL && p->summary != NULL ? p->summary : o->summary;
}

bool cfr_cli_runs_program(const struct cfr_cli_command *c)
{
    const struct cfr_cli_part *p = c->parts;

    while (!cfr_cli_is_end(p) && p->values != CFR_CLI_PROGRAM)
        p++;
    return !cfr_cli_is_end(p);
}

const struct cfr_cli_verb *cfr_cli_find_verb(const struct cfr_cli_command *c, const char *name)
{
    for (const struct cfr_cli_verb *v = cfr_cli_program->verbs; v->name != NULL; v++) {
        if (strcmp(v->command, c->name) == 0 && strcmp(v->name, name) == 0)
            return v;
    }
    return NULL;
}

const struct cfr_cli_option *cfr_cli_option_of(int letter)
{
    const struct cfr_cli_option *o = cfr_cli_program->options;

    while (o->name != NULL && o->letter != letter)
        o++;
    return o;
}

/* ---- what was given ---- */

static bool store_value(struct cfr_cli_options *options, const struct cfr_cli_option *o, char *value)
{
    void *at = (char *)options + o->offset;

    switch (o->type) {
    case CFR_CLI_SET:
        *(bool *)at = true;
        break;
    case CFR_CLI_STRING:
        *(const char **)at = value;
        break;
    case CFR_CLI_DURATION:
        if (!cfr_time_parse_duration(cfr_view_of(value), at)) {
            cfr_cli_complain("--%s: invalid duration \"%s\": use 30s, 2m or 500ms", o->name, value);
            return false;
        }
        break;
    case CFR_CLI_STRINGS: {
        struct cfr_cli_names *names = at;

        if (names->count == CFR_CLI_OPTION_NAMES_MAX) {
            cfr_cli_complain("--%s can be given %d times at most", o->name, CFR_CLI_OPTION_NAMES_MAX);
            return false;
        }
        names->items[names->count++] = value;
        break;
    }
    }
    return true;
}

static void refuse_option(const struct cfr_cli_command *c, const char *given)
{
    struct cfr_cli_nearest nearest = {.word = given + strspn(given, "-")};

    for (const struct cfr_cli_option *o = cfr_cli_program->options; o->name != NULL; o++) {
        if (cfr_cli_takes(c, o))
            cfr_cli_consider(&nearest, o->name);
    }
    if (nearest.name != NULL)
        cfr_cli_complain("unknown option \"%s\" of %s: did you mean --%s?", given, c->name, nearest.name);
    else
        cfr_cli_complain("unknown option \"%s\" of %s: `%s help %s` lists its options", given, c->name,
                         cfr_cli_program->name, c->name);
}

/* Whether getopt_long's LETTER was one, and not a long option; of several letters, WORD is the argument before them. */
static bool is_brief(int letter, int index, const char *word)
{
    if (letter != '?')
        return index < 0;
    /* `--json=value` of an option without a value has its letter in optopt, too. */
    return optopt != 0 &&
           (cfr_cli_option_of(optopt)->name == NULL || strncmp(word, "--", 2) != 0 || strchr(word, '=') == NULL);
}

/* LETTER of getopt_long is no option of C. INDEX and WORD as above; OPTION is what it is of another command. */
static void refuse_letter(const struct cfr_cli_command *c, int letter, int index, const char *word,
                          const struct cfr_cli_option *option)
{
    char name[64];

    if (letter == ':' ? strncmp(word, "--", 2) != 0 : is_brief(letter, index, word)) {
        refuse_option(c, (char[]){'-', (char)(letter == '?' || letter == ':' ? optopt : letter), '\0'});
    } else if (option->name != NULL && letter != ':') {
        /* WORD may be its value. */
        (void)snprintf(name, sizeof name, "--%s", option->name);
        refuse_option(c, name);
    } else {
        refuse_option(c, word);
    }
}

static bool parse_options(const struct cfr_cli_command *c, int argc, char **argv, struct cfr_cli_options *options)
{
    struct option long_options[LONG_OPTIONS_MAX] = {{0}};
    char brief[2 * LONG_OPTIONS_MAX + 3];
    size_t n = 0;
    int letter;
    int index = -1;

    /* `+`: options end at the first argument; `:`: a missing value is reported as such. */
    (void)snprintf(brief, sizeof brief, cfr_cli_runs_program(c) ? "+:" : ":");
    for (const struct cfr_cli_option *o = cfr_cli_program->options; o->name != NULL && n < LONG_OPTIONS_MAX - 1; o++) {
        long_options[n++] =
            (struct option){o->name, o->value != NULL ? required_argument : no_argument, NULL, o->letter};
        if (o->brief)
            (void)snprintf(brief + strlen(brief), sizeof brief - strlen(brief), "%c%s", o->letter,
                           o->value != NULL ? ":" : "");
    }
    opterr = 0;
    while ((letter = getopt_long(argc, argv, brief, long_options, &index)) != -1) {
        const struct cfr_cli_option *o = cfr_cli_option_of(letter == ':' ? optopt : letter);

        if (o->name == NULL || !cfr_cli_takes(c, o)) {
            refuse_letter(c, letter, index, argv[optind - 1], o);
            return false;
        }
        if (letter == ':') {
            cfr_cli_complain("option \"%s\" needs a value", argv[optind - 1]);
            return false;
        }
        if (!store_value(options, o, optarg))
            return false;
        index = -1;
    }
    return true;
}

static bool check_arguments(const struct cfr_cli_command *c, const struct cfr_cli_options *o)
{
    int given = 0;

    for (const struct cfr_cli_part *p = c->parts; !cfr_cli_is_end(p); p++) {
        if (p->option != 0)
            continue;
        if (given == o->arg_count && (p->flags & CFR_CLI_REQUIRED) != 0 && (p->flags & CFR_CLI_OR) == 0) {
            cfr_cli_complain("%s: missing argument %s", c->name, p->word);
            return false;
        }
        given += given < o->arg_count ? 1 : 0;
        if ((p->flags & CFR_CLI_REPEATED) != 0)
            given = o->arg_count;
    }
    if (given < o->arg_count)
        cfr_cli_complain("%s: unexpected argument \"%s\"", c->name, o->args[given]);
    return given == o->arg_count;
}

/* An empty variable counts as unset: a pod cannot leave out a variable of its template. */
static const char *variable(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && value[0] != '\0' ? value : NULL;
}

bool cfr_cli_parse(const struct cfr_cli_command *c, int argc, char **argv, struct cfr_cli_options *o)
{
    const char *config = variable("CREDFRESH_CONFIG");
    const char *socket = variable("CREDFRESH_SOCKET");

    *o = (struct cfr_cli_options){.socket = socket,
                                  .log_level = variable("CREDFRESH_LOG_LEVEL"),
                                  .log_format = variable("CREDFRESH_LOG_FORMAT"),
                                  .timeout_ms = -1};
    if (!parse_options(c, argc, argv, o))
        return false;
    if (o->socket == socket) /* no -s */
        o->token_socket = variable("CREDFRESH_TOKEN_SOCKET");
    if (o->config_option != NULL)
        config = o->config_option;
    o->config = config != NULL ? config : CFR_DEFAULT_CONFIG;
    o->config_given = config != NULL;
    /* Without any configuration file the environment may say enough. */
    if (!o->config_given && access(o->config, F_OK) != 0 && errno == ENOENT)
        o->config = NULL;
    o->argv = argv;
    o->args = argv + optind;
    o->arg_count = argc - optind;
    return o->help || check_arguments(c, o);
}

bool cfr_cli_is_plain_name(const char *name)
{
    return name[0] != '\0' && strlen(name) < 64 &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == strlen(name);
}

size_t cfr_cli_columns(int fd)
{
    struct winsize size = {0};

    if (isatty(fd) != 1)
        return 0;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col != 0 ? size.ws_col : COLUMNS_DEFAULT;
}

/* Prints PREFIX and TEXT, with INDENT before each continuation line. */
static void print_wrapped(const char *prefix, const char *text, size_t indent)
{
    struct cfr_str out = {.limit = (size_t)4 * COMPLAINT_MAX};

    cfr_str_addz(&out, prefix);
    cfr_str_add_wrapped(&out, text, cfr_cli_columns(STDERR_FILENO), out.len, indent);
    (void)fprintf(stderr, "%s\n", out.failed ? text : out.p);
    cfr_str_free(&out);
}

void cfr_cli_complain(const char *fmt, ...)
{
    char prefix[PREFIX_MAX];
    char text[COMPLAINT_MAX];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    (void)snprintf(prefix, sizeof prefix, "%s: ", cfr_cli_program->name);
    print_wrapped(prefix, cfr_view_show(cfr_view_of(text), text, sizeof text), strlen(prefix));
}

void cfr_cli_print_mistakes(struct cfr_view lines)
{
    struct cfr_view line;

    while (cfr_view_line(&lines, &line)) {
        char text[COMPLAINT_MAX];

        print_wrapped("", cfr_view_show(line, text, sizeof text), 4);
    }
}
