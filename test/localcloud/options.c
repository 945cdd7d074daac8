/* SPDX-License-Identifier: MIT */
/* The command line of the local cloud. */
#include "options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char lc_options_help[] = "Usage: credfresh-localcloud --state DIR [--config FILE.json] [--port N]\n"
                               "                            [--speed N] [--log FILE|-]\n"
                               "\n"
                               "A local cloud on loopback for tests of programs that use workload identity: an\n"
                               "OpenID Connect issuer, projected service-account token volumes, and token\n"
                               "services of AWS, Google, Azure, OpenStack and OAuth that check as strictly as\n"
                               "the real ones and fail on request.\n"
                               "\n"
                               "  --state DIR    where everything is written (made with mode 0700);\n"
                               "                 DIR/ready.json appears when it serves; DIR/credfresh.yaml is\n"
                               "                 a configuration for credfresh\n"
                               "  --config FILE  roles, volumes and keys as JSON; without it: one role and one\n"
                               "                 volume named demo\n"
                               "  --port N       port of the TLS listener, 0 for any free one (default 0)\n"
                               "  --speed N      time runs N times faster for lifetimes, 0.001 to 1000000\n"
                               "                 (default 1)\n"
                               "  --log FILE     one line per request to FILE, or to standard output for -\n"
                               "  --help, --version\n"
                               "\n"
                               "It stays in the foreground and exits with status 0 on SIGTERM or SIGINT; 2 means\n"
                               "wrong options or configuration.\n";

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

enum option { STATE, CONFIG, PORT, SPEED, LOG, OPTIONS };

static int take_value(enum option option, const char *value, struct lc_options *out, struct lc_fail *fail)
{
    switch (option) {
    case STATE:
        out->state = value;
        return 0;
    case CONFIG:
        out->config = value;
        return 0;
    case PORT:
        return read_port(value, &out->port, fail);
    case SPEED:
        return read_speed(value, &out->speed, fail);
    case LOG:
        out->log = value;
        return 0;
    case OPTIONS:
        break;
    }
    return lc_fail_set(fail, "unknown option");
}

/* "--name value" or "--name=value". */
static int read_one(int argc, char *argv[], int *at, struct lc_options *out, struct lc_fail *fail)
{
    static const char *const names[OPTIONS] = {"--state", "--config", "--port", "--speed", "--log"};
    const char *text = argv[*at];
    size_t len = strcspn(text, "=");
    const char *value = text[len] == '=' ? text + len + 1 : NULL;

    if (strcmp(text, "--help") == 0 || strcmp(text, "--version") == 0) {
        *(text[2] == 'h' ? &out->help : &out->version) = true;
        return 0;
    }
    for (int i = 0; i < OPTIONS; i++) {
        if (strlen(names[i]) != len || strncmp(names[i], text, len) != 0) {
            continue;
        }
        if (value == NULL && *at + 1 < argc) {
            value = argv[++*at];
        }
        return value == NULL || *value == '\0' ? lc_fail_set(fail, "%s needs a value", names[i])
                                               : take_value((enum option)i, value, out, fail);
    }
    return lc_fail_set(fail, "unknown option \"%.60s\"; see --help", text);
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
