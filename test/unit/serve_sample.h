/* SPDX-License-Identifier: MIT */
/* Three credentials in different states, for the tests of serve/. */
#ifndef TEST_SERVE_SAMPLE_H
#define TEST_SERVE_SAMPLE_H

#include "serve/api/status.h"

#define SAMPLE_NOW_S INT64_C(1767326645) /* 2026-01-02T04:04:05Z */

static const struct cfr_status_hook sample_hooks[] = {
    {.name = "signal HUP to /run/app.pid",
     .result = "ok",
     .last_run_s = SAMPLE_NOW_S - 60,
     .generation = 7,
     .runs_ok = 7},
    {.name = "exec \"a\\b\"\nc",
     .result = "failed",
     .error = "exit status 3",
     .last_run_s = SAMPLE_NOW_S - 60,
     .generation = 6,
     .runs_ok = 6,
     .runs_failed = 1},
    {.name = "signal HUP to /run/app.pid", .result = "none"},
};

static const struct cfr_status_consumer sample_consumers[] = {
    {.name = "file /run/app/in-use", .generation = 7, .said_s = SAMPLE_NOW_S - 50, .current = true},
    {.name = "http POST http://127.0.0.1:1/", .generation = 6, .behind = true},
    {.name = "http POST http://127.0.0.1:1/"},
};

static const struct cfr_status_credential sample_credentials[] = {
    {.name = "registry",
     .state = "fresh",
     .provider = "aws",
     .source = "file or request",
     .identity = "arn:aws:sts::123456789012:assumed-role/r/s",
     .required = true,
     .published = true,
     .generation = 7,
     .issued_s = SAMPLE_NOW_S - 780,
     .expires_s = SAMPLE_NOW_S + 2820,
     .refresh_s = SAMPLE_NOW_S + 1500,
     .last_success_s = SAMPLE_NOW_S - 780,
     .token_issued_s = SAMPLE_NOW_S - 1000,
     .token_expires_s = SAMPLE_NOW_S + 2600,
     .tries_left = 21,
     .skew_known = true,
     .skew_s = -3,
     .reason = "ticket 12",
     .exchanges_ok = 7,
     .exchanges_failed = {0, 3, 2, 1},
     .duration = {.buckets = {0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 1}, .sum_s = 12.25, .count = 4},
     .hooks = sample_hooks,
     .hook_count = 3,
     .consumers = sample_consumers,
     .consumer_count = 3,
     .previous_held = true},
    {.name = "t\xc3\xb6ken",
     .state = "waiting",
     .provider = "token",
     .required = true,
     .error_code = CFR_E_MISSING,
     .error = "waiting for the token file /var/run/token",
     .error_s = SAMPLE_NOW_S - 5,
     .failures = 4,
     .token_overdue = true,
     .token_note = "a subPath mount: it never changes"},
    {.name = "cache",
     .state = "backoff",
     .provider = "aws",
     .published = true,
     .generation = 2,
     .issued_s = SAMPLE_NOW_S - 4000,
     .expires_s = SAMPLE_NOW_S - 400,
     .last_success_s = SAMPLE_NOW_S - 4000},
    {.name = "static",
     .state = "fresh",
     .provider = "token",
     .required = true,
     .published = true,
     .generation = 1},
};

static size_t sample_gets;

static void sample_get(void *ctx, size_t index, struct cfr_status_credential *out)
{
    const struct cfr_status_credential *from = ctx;

    sample_gets++;
    *out = from[index];
}

/* A service CA, for those tests that set it. */
static inline bool sample_authority(void *ctx, struct cfr_status_authority *out)
{
    (void)ctx;
    *out = (struct cfr_status_authority){
        .number = 3,
        .subject = "test \"CA\"",
        .key_id = "0a1b",
        .issued_s = SAMPLE_NOW_S - 86400,
        .expires_s = SAMPLE_NOW_S + 86400,
        .rotates_s = SAMPLE_NOW_S + 3600,
        .generations = 2,
        .reason = "ticket 12",
        .error = "the disk is full",
        .error_code = CFR_E_NOSPACE,
        .failures = 7,
    };
    return true;
}

static struct cfr_status sample_status(size_t count)
{
    static struct cfr_status_credential copy[sizeof sample_credentials / sizeof sample_credentials[0]];

    for (size_t i = 0; i < sizeof copy / sizeof copy[0]; i++)
        copy[i] = sample_credentials[i];
    sample_gets = 0;
    return (struct cfr_status){.version = "1.2.3",
                               .now_s = SAMPLE_NOW_S,
                               .started_s = SAMPLE_NOW_S - 86400,
                               .config_loaded_s = SAMPLE_NOW_S - 3600,
                               .config_ok = true,
                               .count = count,
                               .get = sample_get,
                               .ctx = copy};
}

#endif
