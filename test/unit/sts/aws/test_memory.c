/* SPDX-License-Identifier: MIT */
/* Fails the n-th allocation, for every n, through claims, requests, answers and errors: each failure is an
 * error that says so, and nothing leaks (the sanitizers watch) or is left half done. Linked with --wrap for
 * the allocators. */
#include "unit.h"

#include "base/json.h"
#include "data_file.h"
#include "heap_fuse.h"
#include "sts/aws/aws.h"
#include "token/claims.h"
#include "token/inspect.h"
#include "token_text.h"

static const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

static struct cfr_view token;
static struct cfr_view answers[2];
static struct cfr_view refusal;

static int decode(struct cfr_err *err)
{
    struct cfr_claims c;
    struct cfr_str out = {.limit = 65536};
    struct cfr_inspect_subject s = {.file = token, .claims = &c, .now_s = 1767323045};
    int rc = cfr_claims_decode(token, &c, err);

    if (rc != 0)
        return rc;
    (void)cfr_inspect_write(&s, &out);
    if (out.failed)
        rc = cfr_err_set(err, CFR_E_NOMEM, "no report");
    cfr_str_free(&out);
    cfr_claims_free(&c);
    return rc;
}

/* Two steps to the end, then an answer that refuses. */
static int exchange(struct cfr_err *err)
{
    struct cfr_aws_step step = {
        .role_arn = (char[]){"arn:aws:iam::210987654321:role/second"}, .policy = (char[]){"{}"}, .duration_ms = 900000};
    struct cfr_aws c = {.role_arn = (char[]){"arn:aws:iam::123456789012:role/first"},
                        .region = (char[]){"eu-west-1"},
                        .policy = (char[]){"{}"},
                        .duration_ms = 3600000,
                        .then_assume = {&step, 1}};
    struct cfr_sts_exchange x = {.provider = &cfr_aws_provider, .config = &c};
    struct cfr_sts_input in = {.credential = "c", .token = token, .now_s = 1767323045, .env = no_env};
    int rc = x.provider->table->check(&c, err);

    if (rc == 0)
        rc = x.provider->check(&c, no_env, err);
    for (unsigned i = 0; rc == 0 && i < 2; i++) {
        struct cfr_wire_reply reply = {.status = 200, .body = answers[i]};
        struct cfr_wire_request r = {0};

        rc = x.provider->build(&x, &in, &r, err);
        cfr_wire_request_free(&r);
        if (rc == 0)
            rc = x.provider->parse(&x, &in, &reply, err);
        if (rc == CFR_STS_MORE)
            rc = 0;
    }
    if (rc == 0) {
        struct cfr_wire_reply reply = {.status = 403, .body = refusal};
        int refused = x.provider->parse(&x, &in, &reply, err);

        rc = refused == CFR_E_DENIED ? 0 : refused;
    }
    cfr_sts_exchange_free(&x);
    return rc;
}

static void burn(int (*work)(struct cfr_err *))
{
    struct cfr_err err = {0};
    long n = 0;
    int rc;

    do {
        err = (struct cfr_err){0};
        fuse = n++;
        rc = work(&err);
        if (fuse >= 0 && rc != 0)
            fail_msg("failed without a failing allocation: %s", err.text);
        if (fuse < 0) {
            /* The JSON parser cannot tell a lack of memory from bad text. */
            assert_true(rc == CFR_E_NOMEM || rc == CFR_E_ANSWER || rc == CFR_E_TOKEN || rc == CFR_E_CONFIG);
            assert_true(err.code == rc && err.text[0] != '\0');
        }
        assert_true(n < 10000);
    } while (fuse < 0);
    fuse = -1;
    assert_true(n > 10);
}

static void every_allocation_of_claims(void **state)
{
    (void)state;
    burn(decode);
}

static void every_allocation_of_an_exchange(void **state)
{
    (void)state;
    answers[0] = data_file_read("aws/grants/web-identity.xml");
    answers[1] = data_file_read("aws/grants/role-path.xml");
    refusal = data_file_read("aws/errors/access-denied-chained.xml");
    burn(exchange);
    data_file_free(answers[0]);
    data_file_free(answers[1]);
    data_file_free(refusal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_of_claims),
        cmocka_unit_test(every_allocation_of_an_exchange),
    };
    char *text = token_text("{\"alg\":\"RS256\"}", "{\"exp\":1767326645,\"iat\":1767323045,\"aud\":[\"a\",\"b\"]}");
    int failed;

    token = cfr_view_of(text);
    cfr_json_setup();
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(text);
    return failed;
}
