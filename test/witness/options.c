/* SPDX-License-Identifier: MIT */
/* Reads the witness's command line. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPT_UNTIL_SIGNAL = 256,
    OPT_FOR,
    OPT_STATES,
    OPT_FILE,
    OPT_KIND,
    OPT_MODE,
    OPT_EXPECT,
    OPT_GRACE,
    OPT_REPORT,
    OPT_JSON,
    OPT_TIGHT,
    OPT_START_OK,
    OPT_START_BAD,
    OPT_HELP,
    OPT_VERSION
};

static const struct option cfw_long_options[] = {
    {"until-signal", no_argument, NULL, OPT_UNTIL_SIGNAL},
    {"for", required_argument, NULL, OPT_FOR},
    {"states", required_argument, NULL, OPT_STATES},
    {"file", required_argument, NULL, OPT_FILE},
    {"kind", required_argument, NULL, OPT_KIND},
    {"mode", required_argument, NULL, OPT_MODE},
    {"expect", required_argument, NULL, OPT_EXPECT},
    {"grace-expired", required_argument, NULL, OPT_GRACE},
    {"report", required_argument, NULL, OPT_REPORT},
    {"json", no_argument, NULL, OPT_JSON},
    {"tight", no_argument, NULL, OPT_TIGHT},
    {"allow-missing-at-start", no_argument, NULL, OPT_START_OK},
    {"no-allow-missing-at-start", no_argument, NULL, OPT_START_BAD},
    {"help", no_argument, NULL, OPT_HELP},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

static const char cfw_usage[] =
    "usage: credfresh-witness [options] [DIR]\n"
    "Continuously reads the credentials published in DIR, as a consumer would, and reports each state it saw.\n"
    "Exits non-zero if a guarantee is violated.\n"
    "\n"
    "  --file PATH             also (or only) watch a single file that is replaced by rename; repeatable\n"
    "  --expect NAME           this name belongs to a complete set; repeatable\n"
    "  --kind NAME=KIND        aws-credentials, json, token, env or any, instead of detecting it; "
    "repeatable\n"
    "  --mode NAME=OCTAL       the mode this file must have, for example token=0640; repeatable\n"
    "  --grace-expired SECONDS an expiry counts as passed only this much later (default 0)\n"
    "  --no-allow-missing-at-start\n"
    "                          absence is an error even before the first complete state\n"
    "  --allow-missing-at-start\n"
    "                          it is not (default)\n"
    "  --until-signal          run until SIGTERM or SIGINT (default)\n"
    "  --for SECONDS           stop after this time; fractions allowed\n"
    "  --states N              stop after N distinct states\n"
    "  --tight                 never pause between two reads (uses a whole core)\n"
    "  --json                  one JSON object per line on stdout\n"
    "  --report FILE           also write the summary, as JSON, to FILE\n"
    "  --help, --version\n"
    "\n"
    "exit status: 0 no guarantee violated, 1 a guarantee violated, 2 wrong arguments, 3 could not watch\n";

static int refuse(const char *option, const char *value, const char *want)
{
    (void)fprintf(stderr, "credfresh-witness: %s %s: write %s\n", option, value, want);
    return -1;
}

static int take_seconds(const char *option, const char *text, double *seconds)
{
    char *end = NULL;
    errno = 0;
    *seconds = strtod(text, &end);
    if (errno != 0 || end == text || *end != '\0' || !isfinite(*seconds) || *seconds < 0 || *seconds > 1e9)
        return refuse(option, text, "a number of seconds between 0 and 1000000000");
    return 0;
}

static int take_count(const char *option, const char *text, uint64_t *count)
{
    char *end = NULL;
    errno = 0;
    unsigned long n = strtoul(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || text[0] < '0' || text[0] > '9' || n == 0)
        return refuse(option, text, "a whole number of at least 1");
    *count = n;
    return 0;
}

/* The next free rule with the name set from the first `length` bytes of text, or NULL after an error line. */
static struct cfw_rule *add_rule(struct cfw_rules *rules, const char *option, const char *text, size_t length)
{
    if (length == 0 || length >= sizeof rules->rule[0].name || memchr(text, '/', length)) {
        (void)refuse(option, text, "a file's name without a folder");
        return NULL;
    }
    if (rules->n == CFW_RULES_MAX) {
        (void)refuse(option, text, "it at most 64 times");
        return NULL;
    }
    struct cfw_rule *rule = &rules->rule[rules->n];
    memcpy(rule->name, text, length);
    rule->name[length] = '\0';
    if (cfw_options_rule(rules, rule->name)) {
        (void)refuse(option, text, "each name once");
        return NULL;
    }
    rules->n++;
    return rule;
}

static int take_kind(struct cfw_rules *rules, const char *text)
{
    const char *equals = strrchr(text, '=');
    int kind = equals ? cfw_content_kind(equals + 1) : -1;
    if (!equals || kind < 0)
        return refuse("--kind", text, "NAME=aws-credentials, NAME=json, NAME=token, NAME=env or NAME=any");
    struct cfw_rule *rule = add_rule(rules, "--kind", text, (size_t)(equals - text));
    if (!rule)
        return -1;
    rule->value = (unsigned)kind;
    return 0;
}

static int take_mode(struct cfw_rules *rules, const char *text)
{
    const char *equals = strrchr(text, '=');
    const char *digits = equals ? equals + 1 : "";
    if (*digits == '\0' || strlen(digits) > 5 || strspn(digits, "01234567") != strlen(digits) ||
        strtoul(digits, NULL, 8) > 07777)
        return refuse("--mode", text, "NAME=OCTAL, for example token=0640");
    struct cfw_rule *rule = add_rule(rules, "--mode", text, (size_t)(equals - text));
    if (!rule)
        return -1;
    rule->value = (unsigned)strtoul(digits, NULL, 8);
    return 0;
}

static int take_file(struct cfw_options *o, const char *path)
{
    if (*path == '\0' || path[strlen(path) - 1] == '/')
        return refuse("--file", path, "the path of a file");
    if (o->n_files == CFW_PATHS_MAX)
        return refuse("--file", path, "it at most 16 times");
    o->files[o->n_files++] = path;
    return 0;
}

static int take_for(struct cfw_options *o, const char *text)
{
    double seconds = 0;
    if (take_seconds("--for", text, &seconds))
        return -1;
    if (seconds < 0.001)
        return refuse("--for", text, "at least 0.001 seconds");
    o->for_ms = (int64_t)(seconds * 1000);
    return 0;
}

static int take_flag(struct cfw_options *o, int option)
{
    switch (option) {
    case OPT_UNTIL_SIGNAL:
        o->for_ms = 0;
        return 0;
    case OPT_JSON:
        o->json = true;
        return 0;
    case OPT_TIGHT:
        o->tight = true;
        return 0;
    case OPT_START_OK:
    case OPT_START_BAD:
        o->missing_at_start_ok = option == OPT_START_OK;
        return 0;
    case OPT_HELP:
        (void)fputs(cfw_usage, stdout);
        return 1;
    case OPT_VERSION:
        (void)puts("credfresh-witness " CFR_VERSION);
        return 1;
    default: /* getopt has said what is wrong */
        (void)fputs("credfresh-witness: see credfresh-witness --help\n", stderr);
        return -1;
    }
}

static int take(struct cfw_options *o, int option, const char *value)
{
    double seconds = 0;
    switch (option) {
    case OPT_FOR:
        return take_for(o, value);
    case OPT_STATES:
        return take_count("--states", value, &o->states);
    case OPT_FILE:
        return take_file(o, value);
    case OPT_KIND:
        return take_kind(&o->kinds, value);
    case OPT_MODE:
        return take_mode(&o->modes, value);
    case OPT_EXPECT:
        return add_rule(&o->expect, "--expect", value, strlen(value)) ? 0 : -1;
    case OPT_REPORT:
        o->report = value;
        return 0;
    case OPT_GRACE:
        if (take_seconds("--grace-expired", value, &seconds))
            return -1;
        o->grace_s = (int64_t)seconds;
        return 0;
    default:
        return take_flag(o, option);
    }
}

int cfw_options_parse(int argc, char **argv, struct cfw_options *o)
{
    *o = (struct cfw_options){.missing_at_start_ok = true};
    for (;;) {
        int option = getopt_long(argc, argv, "", cfw_long_options, NULL);
        if (option < 0)
            break;
        int r = take(o, option, optarg);
        if (r != 0)
            return r;
    }
    if (argc - optind > 1)
        return refuse("DIR", argv[optind + 1], "one directory only");
    if (optind < argc)
        o->dir = argv[optind];
    if (o->dir && *o->dir == '\0')
        return refuse("DIR", "''", "the path of a directory");
    if (!o->dir && o->n_files == 0) {
        (void)fputs("credfresh-witness: nothing to watch: give a directory, or --file PATH\n", stderr);
        return -1;
    }
    return 0;
}

const struct cfw_rule *cfw_options_rule(const struct cfw_rules *rules, const char *name)
{
    for (size_t i = 0; i < rules->n; i++)
        if (strcmp(rules->rule[i].name, name) == 0)
            return &rules->rule[i];
    return NULL;
}
