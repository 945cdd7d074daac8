/* SPDX-License-Identifier: MIT */
/* The command line. */
#include "options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char lc_options_help[] =
    "Usage: credfresh-localcloud --state DIR [--config FILE.json] [--port N] [--speed N] [--log FILE|-]\n"
    "\n"
    "A local cloud on loopback for testing whatever consumes workload identity: an OpenID Connect issuer, "
    "projected\n"
    "service-account token volumes, and an AWS STS that checks as strictly as the real one and fails on "
    "request.\n"
    "\n"
    "  --state DIR    where everything is written (made with mode 0700); DIR/ready.json appears when it "
    "serves\n"
    "  --config FILE  roles, volumes and keys as JSON; without it: one role and one volume named demo\n"
    "  --port N       port of the TLS listener, 0 for any free one (default 0)\n"
    "  --speed N      lifetimes are divided by N, 0.001 to 1000000 (default 1)\n"
    "  --log FILE     one line per request to FILE, or to standard output when it is -\n"
    "  --help, --version\n"
    "\n"
    "It stays in the foreground and ends with status 0 on SIGTERM or SIGINT; 2 means wrong options or "
    "configuration.\n";

static int read_port(const char *text, unsigned short *port, struct lc_fail *fail)
{
    int64_t value = 0;

    if (!lc_text_integer(text, 0, 65535, &value)) {
        return lc_fail_set(fail, "--port must be a number from 0 to 65535, not \"%.40s\"", text);
    }
    *port = (unsigned short)value;
    return 0;
}

static int read_speed(const char *text, double *speed, struct lc_fail *fail)
{
    char *end = NULL;

    *speed = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(*speed) || *speed < 0.001 || *speed > 1e6) {
        return lc_fail_set(fail, "--speed must be a number from 0.001 to 1000000, not \"%.40s\"", text);
    }
    return 0;
}

/* The value of option name at argv[*at]: "--name value" or "--name=value"; NULL when it is another option. */
static const char *value_of(int argc, char *argv[], int *at, const char *name, bool *missing)
{
    size_t len = strlen(name);

    if (strncmp(argv[*at], name, len) != 0 || (argv[*at][len] != '\0' && argv[*at][len] != '=')) {
        return NULL;
    }
    if (argv[*at][len] == '=') {
        return argv[*at] + len + 1;
    }
    *missing = *at + 1 >= argc;
    return *missing ? "" : argv[++*at];
}

static int read_one(int argc, char *argv[], int *at, struct lc_options *out, struct lc_fail *fail)
{
    static const char *const names[] = {"--state", "--config", "--port", "--speed", "--log"};
    const char *option = argv[*at];

    if (strcmp(option, "--help") == 0 || strcmp(option, "--version") == 0) {
        *(option[2] == 'h' ? &out->help : &out->version) = true;
        return 0;
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        bool missing = false;
        const char *value = value_of(argc, argv, at, names[i], &missing);
        if (value == NULL) {
            continue;
        }
        if (missing || *value == '\0') {
            return lc_fail_set(fail, "%s needs a value", names[i]);
        }
        switch (i) {
        case 0:
            out->state = value;
            return 0;
        case 1:
            out->config = value;
            return 0;
        case 2:
            return read_port(value, &out->port, fail);
        case 3:
            return read_speed(value, &out->speed, fail);
        default:
            out->log = value;
            return 0;
        }
    }
    return lc_fail_set(fail, "unknown option \"%.60s\"; see --help", option);
}

int lc_options_read(int argc, char *argv[], struct lc_options *out, struct lc_fail *fail)
{
    *out = (struct lc_options){.speed = 1};
    for (int at = 1; at < argc; at++) {
        if (read_one(argc, argv, &at, out, fail) != 0) {
            return -1;
        }
    }
    if (!out->help && !out->version && out->state == NULL) {
        return lc_fail_set(fail, "--state DIR is missing; see --help");
    }
    return 0;
}
