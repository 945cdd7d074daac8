/* SPDX-License-Identifier: MIT */
/* Repeats one hot path, for counts.py, which counts its instructions.
 * usage: counts NAME TIMES DIRECTORY; DIRECTORY is empty, and written to by "publish" and "acquire". Exits 2 if
 * something is wrong. */
#include "files/generation.h"
#include "serve/sdk/shape_private.h"
#include "token/claims.h"

#include <credfresh.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOW_S    INT64_C(1767326645)
#define PASSWORD "Bearer 0123456789abcdef0123456789abcdef"
#define SESSION  "IQoJb3JpZ2luX2VjEXAMPLE0123456789abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* A service account's token with the claims that Kubernetes gives it. */
static const char token[] = "eyJhbGciOiJSUzI1NiIsImtpZCI6InRlc3QifQ."
                            "eyJhdWQiOlsic3RzLmFtYXpvbmF3cy5jb20iXSwiZXhwIjoxNzY3MzI2NjQ1LCJpYXQiOjE3NjczMjMwNDUsImlzcy"
                            "I6Imh0dHBzOi8vaXNzdWVyLmV4YW1w"
                            "bGUiLCJrdWJlcm5ldGVzLmlvIjp7Im5hbWVzcGFjZSI6ImRlZmF1bHQiLCJwb2QiOnsibmFtZSI6ImFwcC0wIiwidW"
                            "lkIjoiMSJ9LCJzZXJ2aWNlYWNjb3Vu"
                            "dCI6eyJuYW1lIjoiZGVtbyIsInVpZCI6IjIifX0sIm5iZiI6MTc2NzMyMzA0NSwic3ViIjoic3lzdGVtOnNlcnZpY2"
                            "VhY2NvdW50OmRlZmF1bHQ6ZGVtbyJ9."
                            "c2lnbmF0dXJl";

static void fail(const char *what)
{
    (void)fprintf(stderr, "counts: %s\n", what);
    exit(2);
}

static struct cfr_view header_of(void *ctx, const char *name)
{
    (void)ctx;
    return strcmp(name, "Authorization") == 0 ? cfr_view_of(PASSWORD) : (struct cfr_view){NULL, 0};
}

static bool offer_grant(void *ctx, const char *credential, struct cfr_offer *out)
{
    *out =
        (struct cfr_offer){.credential = credential, .grant = ctx, .issued_s = NOW_S - 60, .expires_s = NOW_S + 3600};
    return true;
}

static struct cfr_view secret_file(void *ctx, const char *path)
{
    (void)ctx;
    (void)path;
    return cfr_view_of(PASSWORD);
}

static void answer(long times)
{
    static char credential[] = "demo";
    static char path[] = "/aws/demo";
    static char file[] = "authorization";
    struct cfr_sdk_client_secret authorization = {.file = file};
    const struct cfr_sdk_aws_container config = {
        .credential = credential, .path = path, .authorization = &authorization};
    struct cfr_grant grant = {0};
    const struct cfr_sdk_endpoint_world world = {
        .now_s = NOW_S, .offer = offer_grant, .secret_file = secret_file, .ctx = &grant};
    const struct cfr_sdk_endpoint_request request = {
        .method = cfr_view_of("GET"), .path = cfr_view_of(path), .query = cfr_view_of(""), .header = header_of};

    if (cfr_grant_set(&grant, CFR_FIELD_AWS_ACCESS_KEY_ID, cfr_view_of("ASIAEXAMPLE"), NULL) != 0 ||
        cfr_grant_set(&grant, CFR_FIELD_AWS_SECRET_ACCESS_KEY, cfr_view_of("wJalr/secret+example"), NULL) != 0 ||
        cfr_grant_set(&grant, CFR_FIELD_AWS_SESSION_TOKEN, cfr_view_of(SESSION), NULL) != 0)
        fail("no grant");
    for (long i = 0; i < times; i++) {
        struct cfr_sdk_endpoint_answer a = {0};

        if (!cfr_sdk_aws_container_shape.answer(&config, &request, &world, &a) || a.status != 200)
            fail("the endpoint does not answer 200");
        cfr_sdk_endpoint_answer_free(&a);
    }
    cfr_grant_free(&grant);
}

static void read_claims(long times)
{
    for (long i = 0; i < times; i++) {
        struct cfr_claims claims;
        struct cfr_err err;

        if (cfr_claims_decode(cfr_view_of(token), &claims, &err) != 0)
            fail(err.text);
        cfr_claims_free(&claims);
    }
}

static void publish(const char *directory, uint64_t number)
{
    const struct cfr_file files[] = {
        {"credentials", cfr_view_of(SESSION), 0640, CFR_FILE_KEEP_ID, (gid_t)-1},
        {"token", cfr_view_of(token), 0640, CFR_FILE_KEEP_ID, (gid_t)-1},
        {"creds.json", cfr_view_of(SESSION), 0640, CFR_FILE_KEEP_ID, (gid_t)-1},
    };
    const struct cfr_generation generation = {.directory = directory,
                                              .directory_mode = 0755,
                                              .uid = CFR_FILE_KEEP_ID,
                                              .gid = (gid_t)-1,
                                              .files = files,
                                              .file_count = 3,
                                              .number = number,
                                              .now_s = NOW_S,
                                              .differs = true};
    struct cfr_err err;
    bool changed;

    if (cfr_generation_publish(&generation, &changed, NULL, &err) != 0 || !changed)
        fail(err.text);
}

static void acquire(const char *directory, long times)
{
    struct credfresh *w;

    publish(directory, 1);
    if (credfresh_open(&w, directory, NULL, NULL, 0) != 0 || credfresh_sequence(w) != 1)
        fail("libcredfresh reads nothing");
    for (long i = 0; i < times; i++)
        credfresh_release(credfresh_acquire(w));
    credfresh_close(w);
}

int main(int argc, char **argv)
{
    long times = argc == 4 ? strtol(argv[2], NULL, 10) : 0;

    if (times <= 0)
        fail("usage: counts NAME TIMES DIRECTORY");
    if (strcmp(argv[1], "answer") == 0)
        answer(times);
    else if (strcmp(argv[1], "claims") == 0)
        read_claims(times);
    else if (strcmp(argv[1], "publish") == 0)
        for (long i = 0; i < times; i++)
            publish(argv[3], (uint64_t)i + 1);
    else if (strcmp(argv[1], "acquire") == 0)
        acquire(argv[3], times);
    else
        fail("unknown name: use answer, claims, publish or acquire");
    return 0;
}
