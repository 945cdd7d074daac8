/* SPDX-License-Identifier: MIT */
/* Fails the n-th allocation, for every n, through whole exchanges of AWS from keys (with the check and
 * registries), of container credentials and of the generic OAuth provider, and through a refusal of each:
 * every failure is an error that says so, and nothing leaks. Linked with --wrap for the allocators. */
#include "sts_golden.h"

#include "heap_fuse.h"
#include "sts/aws/aws.h"
#include "sts/aws/container.h"
#include "sts/oauth/oauth.h"

/* An exchange and its answers, the last of which refuses. */
struct course {
    const struct cfr_sts_provider *provider;
    const void *config;
    const struct cfr_sts_content *contents;
    size_t content_count;
    const char *files[6];
    struct cfr_view answers[6];
    size_t count;
};

static int run(const struct course *c, struct cfr_err *err)
{
    struct cfr_sts_exchange x = {.provider = c->provider, .config = c->config};
    struct cfr_sts_input in = golden_input();
    int rc = c->provider->table->check(c->config, err);

    in.contents = c->contents;
    in.content_count = c->content_count;
    if (rc == 0 && c->provider->check != NULL)
        rc = c->provider->check(c->config, golden_no_env, err);
    for (size_t i = 0; rc == 0 && i + 1 < c->count; i++) {
        struct cfr_wire_reply reply = {.status = 200, .body = c->answers[i]};
        struct cfr_wire_request r = {0};

        rc = x.provider->build(&x, &in, &r, err);
        cfr_wire_request_free(&r);
        if (rc == 0)
            rc = x.provider->parse(&x, &in, &reply, err);
        rc = rc == CFR_STS_MORE ? 0 : rc;
    }
    if (rc == 0) {
        struct cfr_wire_reply reply = {.status = 403, .body = c->answers[c->count - 1]};
        int refused = x.provider->parse(&x, &in, &reply, err);

        rc = refused == CFR_E_DENIED || refused == CFR_E_UNAVAILABLE ? 0 : refused;
    }
    cfr_sts_exchange_free(&x);
    return rc;
}

static void burn(struct course *c)
{
    struct cfr_err err = {0};
    long n = 0;
    int rc;

    for (c->count = 0; c->files[c->count] != NULL; c->count++)
        c->answers[c->count] = data_file_read(c->files[c->count]);
    do {
        err = (struct cfr_err){0};
        fuse = n++;
        rc = run(c, &err);
        if (fuse >= 0 && rc != 0)
            fail_msg("failed without a failing allocation: %s", err.text);
        if (fuse < 0) {
            /* The JSON parser cannot always tell a lack of memory from bad text; a refusal needs none of it.
             */
            assert_true(rc == CFR_E_NOMEM || rc == CFR_E_ANSWER || rc == CFR_E_CONFIG || rc == CFR_E_INTERNAL ||
                        rc == 0);
            assert_true(err.code == rc || rc == 0);
            assert_true(err.text[0] != '\0');
        }
        assert_true(n < 10000);
    } while (fuse < 0);
    fuse = -1;
    assert_true(n > 10);
    for (size_t i = 0; i < c->count; i++)
        data_file_free(c->answers[i]);
}

static void aws_from_keys(void **state)
{
    const struct cfr_sts_content contents[] = {
        {"credentials_file",
         cfr_view_of("[default]\naws_access_key_id = " GOLDEN_KEY "\naws_secret_access_key = " GOLDEN_SECRET "\n")}};
    char *hosts[] = {(char[]){"123456789012.dkr.ecr.eu-west-1.amazonaws.com"}};
    struct cfr_aws_ecr ecr = {.registries = {hosts, 1}};
    struct cfr_aws config = {.credentials_file = (char[]){"/k"},
                             .region = (char[]){"eu-west-1"},
                             .duration_ms = 3600000,
                             .verify = true,
                             .ecr = &ecr};
    struct course c = {.provider = &cfr_aws_provider,
                       .config = &config,
                       .contents = contents,
                       .content_count = 1,
                       .files = {"aws/begun/session-token.xml", "aws/begun/identity-of-a-user.xml",
                                 "ecr/grants/array.json", "ecr/errors/denied.json"}};

    (void)state;
    burn(&c);
}

static void container(void **state)
{
    struct cfr_aws_container config = {.region = (char[]){"eu-west-1"}, .verify = true};
    struct course c = {
        .provider = &cfr_aws_container_provider,
        .config = &config,
        .files = {"aws_container/grants/eks.json", "aws/begun/identity.xml", "aws/begin/verify-fresh.xml"}};

    (void)state;
    burn(&c);
}

static void oauth(void **state)
{
    const struct cfr_sts_content contents[] = {{"client_secret_file", cfr_view_of("correct-horse-battery")}};
    struct cfr_oauth config = {.token_url = (char[]){"https://login.example/token"},
                               .client_authentication = CFR_OAUTH_BASIC,
                               .client_id = (char[]){"me"},
                               .client_secret_file = (char[]){"/s"},
                               .default_lifetime_ms = -1};
    struct course c = {.provider = &cfr_oauth_provider,
                       .config = &config,
                       .contents = contents,
                       .content_count = 1,
                       .files = {"oauth/grants/id-token.json", "oauth/errors/invalid-client.json"}};

    (void)state;
    burn(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aws_from_keys),
        cmocka_unit_test(container),
        cmocka_unit_test(oauth),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
