/* SPDX-License-Identifier: MIT */
/* The shapes of AWS while memory is short, and what they leave behind in it. */
#include "serve/sdk/ec2_token_private.h"
#include "serve/sdk/shape_private.h"

#include "endpoint_fixture.h"
#include "heap_watch.h"

#include <openssl/crypto.h>

static char registry[] = "registry";
static char path[] = "/aws/registry";
static char file[] = "/run/auth";

typedef bool ask_fn(const struct fixture *f, char *session, struct cfr_sdk_endpoint_answer *a);

static bool ask_container(const struct fixture *f, char *session, struct cfr_sdk_endpoint_answer *a)
{
    const struct cfr_sdk_aws_container c = {
        .credential = registry, .path = path, .authorization = &(struct cfr_sdk_client_secret){.file = file}};
    struct fixture look = *f;
    struct cfr_sdk_endpoint_world w = fixture_world(&look);
    char headers[] = "Authorization: the password\n";
    struct cfr_sdk_endpoint_request r = fixture_request("GET", path, headers);

    (void)session;
    return cfr_sdk_aws_container_shape.answer(&c, &r, &w, a);
}

static bool ask_imds(const struct fixture *f, char *session, struct cfr_sdk_endpoint_answer *a)
{
    const struct cfr_sdk_ec2_imds c = {.credential = registry};
    struct fixture look = *f;
    struct cfr_sdk_endpoint_world w = fixture_world(&look);
    struct cfr_sdk_endpoint_request r =
        fixture_request("GET", "/latest/meta-data/iam/security-credentials/reporting", session);

    return cfr_sdk_ec2_imds_shape.answer(&c, &r, &w, a);
}

static bool ask_session(const struct fixture *f, char *session, struct cfr_sdk_endpoint_answer *a)
{
    const struct cfr_sdk_ec2_imds c = {.credential = registry};
    struct fixture look = *f;
    struct cfr_sdk_endpoint_world w = fixture_world(&look);
    char headers[] = "X-aws-ec2-metadata-token-ttl-seconds: 60\n";
    struct cfr_sdk_endpoint_request r = fixture_request("PUT", "/latest/api/token", headers);

    (void)session;
    return cfr_sdk_ec2_imds_shape.answer(&c, &r, &w, a);
}

/* Whole, or an error; never cut, and never a success with less. */
static void check(ask_fn *ask, const struct fixture *f, char *session)
{
    struct cfr_sdk_endpoint_answer whole = {0};
    struct cfr_sdk_endpoint_answer a = {0};
    size_t fails = 0;

    assert_true(ask(f, session, &whole));
    assert_int_equal(whole.status, 200);
    for (bool done = false; !done; fails++) {
        heap_fail_at = fails + 1;
        assert_true(ask(f, session, &a));
        done = heap_fail_at != 0;
        heap_fail_at = 0;
        if (a.status == 200)
            assert_true(cfr_view_eq(cfr_secret_view(&a.body), cfr_secret_view(&whole.body)));
        else
            assert_true(a.status == 500 || a.status == 401);
        fixture_check_no_secret(&a);
        assert_true(fails < 1000);
        cfr_sdk_endpoint_answer_free(&a);
    }
    assert_true(fails > 1);
    cfr_sdk_endpoint_answer_free(&whole);
}

static void begin(char session[256], struct fixture *f)
{
    struct cfr_secret made = {.limit = CFR_SDK_EC2_TOKEN_LENGTH};

    f->secret = "the password";
    fixture_fill(f, OFFER_SESSION);
    assert_int_equal(cfr_sdk_ec2_token_make(fixture_signer, registry, FIXTURE_NOW_S + 60, &made), 0);
    (void)snprintf(session, 256, "X-aws-ec2-metadata-token: %s\n", made.p);
    cfr_secret_free(&made);
}

static void test_short_memory(void **state)
{
    struct fixture f = {0};
    char session[256];

    (void)state;
    begin(session, &f);
    check(ask_container, &f, session);
    check(ask_imds, &f, session);
    check(ask_session, &f, session);
    cfr_grant_free(&f.grant);
}

static void test_nothing_left(void **state)
{
    static ask_fn *const all[] = {ask_container, ask_imds, ask_session};
    struct fixture f = {0};
    char session[256];
    char proof[65];

    (void)state;
    begin(session, &f);
    (void)snprintf(proof, sizeof proof, "%.64s", strchr(session, ':') + 2 + 16);
    for (size_t i = 0; i < COUNT(all); i++) {
        struct cfr_sdk_endpoint_answer a = {0};

        heap_watch(i == 2 ? proof : "wJalr/secret");
        assert_true(all[i](&f, session, &a));
        assert_int_equal(a.status, 200);
        if (i != 2)
            assert_contains(ask_body(&a), "wJalr/secret");
        else
            assert_contains(ask_body(&a), proof);
        cfr_sdk_endpoint_answer_free(&a);
        assert_true(heap_frees > 0);
        assert_int_equal(heap_leaks, 0);
        heap_watch(NULL);
    }
    cfr_grant_free(&f.grant);
}

/* The library's memory, through the same watch and the same limit as ours. */
static void *crypto_malloc(size_t n, const char *from, int line)
{
    (void)from;
    (void)line;
    return __wrap_malloc(n);
}

static void *crypto_realloc(void *p, size_t n, const char *from, int line)
{
    (void)from;
    (void)line;
    return realloc(p, n);
}

static void crypto_free(void *p, const char *from, int line)
{
    (void)from;
    (void)line;
    __wrap_free(p);
}

/* Whole, or none and an error that says so. */
static void test_signer_short_memory(void **state)
{
    size_t fails = 0;

    (void)state;
    for (bool done = false; !done; fails++) {
        struct cfr_ec2_signer *s = fixture_signer;
        struct cfr_err err = {0};
        int rc;

        heap_fail_at = fails + 1;
        rc = cfr_sdk_ec2_signer_open(LITERAL(FIXTURE_KEY), &s, &err);
        done = heap_fail_at != 0;
        heap_fail_at = 0;
        assert_int_equal(s != NULL, rc == 0);
        if (rc != 0) {
            assert_true(rc == CFR_E_NOMEM || rc == CFR_E_INTERNAL);
            assert_contains(err.text, "out of memory");
        }
        assert_true(fails < 1000);
        cfr_sdk_ec2_signer_close(s);
    }
    assert_true(fails > 4);
}

static void test_signer_leaves_nothing(void **state)
{
    struct cfr_ec2_signer *s = NULL;

    (void)state;
    heap_watch(FIXTURE_KEY);
    assert_int_equal(cfr_sdk_ec2_signer_open(LITERAL(FIXTURE_KEY), &s, NULL), 0);
    cfr_sdk_ec2_signer_close(s);
    assert_true(heap_frees > 3);
    assert_int_equal(heap_leaks, 0);
    heap_watch(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_short_memory), cmocka_unit_test(test_nothing_left),
                                       cmocka_unit_test(test_signer_short_memory),
                                       cmocka_unit_test(test_signer_leaves_nothing)};

    if (CRYPTO_set_mem_functions(crypto_malloc, crypto_realloc, crypto_free) != 1)
        return 1;
    return cmocka_run_group_tests(tests, fixture_open_signer, fixture_close_signer);
}
