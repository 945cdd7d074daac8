/* SPDX-License-Identifier: MIT */
/* Reading a configuration while the n-th allocation fails, for every n: it is told, and nothing is lost. This
 * program has a malloc of its own, which shared libraries use, too. */
#include "agent/config/config_private.h"

#include "config_text.h"
#include "heap_own.h"

#if OWN_HEAP

static const char good[] =
    "version: 1\nlisten: \":9464\"\nlog: {level: debug}\n"
    "defaults: {mint: {grace: 1h}, reload: [{exec: [/z]}, {signal: {pid_file: /s}}]}\ncredentials:\n"
    "  - name: a\n    token: {file: /t/token, audience: x}\n"
    "    exchange:\n      aws:\n        role_arn: arn:aws:iam::123456789012:role/r\n        region: "
    "us-east-1\n"
    "        policy_arns: [\"arn:aws:iam::aws:policy/ReadOnlyAccess\"]\n"
    "        then_assume: [{role_arn: \"arn:aws:iam::123456789012:role/s\", tags: {a: b, c: d}}]\n"
    "    publish:\n"
    "      - {directory: /d, files: [{name: t, format: token}, {name: c, format: aws-credentials}]}\n"
    "      - file: {path: /e, format: env, owner: root}\n"
    "      - profile: {path: /p, name: q}\n"
    "    reload: [{signal: {pid_file: /r}}, {exec: [/x, y]}, {http: {url: \"https://h/\"}}]\n"
    "  - {name: b, token: {file: /t/token}, publish: {file: {path: /f, format: json}}}\n"
    "image_credentials:\n"
    "  - name: a\n    match: [\"*.dkr.ecr.*.amazonaws.com\", public.ecr.aws]\n    audience: x\n    cache: 1h\n"
    "    token: {file: /t/token}\n    annotations: {role_arn: a/role, region: region}\n"
    "    exchange: {aws: {role_arn: \"arn:aws:iam::123456789012:role/r\", region: us-east-1}}\n"
    "  - {name: b, match: [x.azurecr.io], exchange: {azure: {tenant_id: 11111111-2222-3333-4444-555555555555, "
    "client_id: 11111111-2222-3333-4444-555555555555}}}\n";

static const char bad[] =
    "version: 1\nlistne: x\ndefaults: {mint: {grace: 1h}, reload: [{exec: [/z]}]}\ncredentials:\n"
    "  - {name: m, mint: {aws: {user_name: u, regions: [r]}, with: a, expire_after: 1h}, publish: {directory: /m}}\n"
    "  - {name: n, token: {file: /t/token}, publish: {directory: /n}, acknowledge: {hooks: true}}\n"
    "  - name: a\n    token: {file: t}\n    publish: {file: {path: /e, format: tokn}}\n"
    "    reload: [{exec: [/x, ~]}, {http: {url: x}}]\n"
    "    exchange: {aws: {then_assume: [{tags: {a: b, a: c}}]}}\n"
    "  - {name: a, token: {file: /t/token}, publish: {directory: /t}}\n"
    "  - {name: a, token: {file: /t/token}, publish: {directory: /t}}\n"
    "image_credentials:\n"
    "  - {name: a, match: [x/y, x/y], exchange: {aws: {region: x}}, annotations: {role_arn: ' '}}\n"
    "  - {name: a, match: [x], exchange: {oauth: {token_url: x}}}\n";

static const char broken[] = "version: 1\ncredentials:\n  - {name: [a\n";
static const char aliased[] = "version: 1\ncredentials:\n  - {name: &a b, token: {file: *a}}\n";

/* Fails each allocation in turn. WITHOUT is the code when none fails. */
static void fail_each(const char *text, int without)
{
    long n = 0;
    int rc;

    do {
        struct cfr_config *config = NULL;
        struct cfr_str all = {.limit = 65536};
        struct cfr_err err = {0};
        long before = live;

        failed = false;
        fail_in = ++n;
        rc = cfr_config_parse("f", cfr_view_of(text), no_env, &config, &all, &err);
        fail_in = 0;
        cfr_config_free(config);
        cfr_str_free(&all);
        if (live != before)
            fail_msg("allocation %ld: %ld blocks are lost", n, live - before);
        /* Some do not matter: without a scratch copy qsort sorts in place, and a message can lose its
         * decoration. */
        if (rc != CFR_E_NOMEM && rc != without)
            fail_msg("allocation %ld: %d", n, rc);
        if (rc == CFR_E_NOMEM)
            assert_string_equal(err.text, "out of memory");
        assert_int_equal(err.code, rc);
    } while (failed);
    print_message("%ld allocations\n", n - 1);
    assert_true(n > 20);
    assert_int_equal(rc, without);
}

static void a_good_one(void **state)
{
    (void)state;
    fail_each(good, 0);
}

static void a_bad_one(void **state)
{
    (void)state;
    fail_each(bad, CFR_E_CONFIG);
}

static void broken_ones(void **state)
{
    (void)state;
    fail_each(broken, CFR_E_CONFIG);
    fail_each(aliased, CFR_E_CONFIG);
}

static void the_heap_is_really_ours(void **state)
{
    struct cfr_config *config = NULL;

    (void)state;
    failed = false;
    /* The parser's own buffers and tokens; ours are four. */
    fail_in = 15;
    assert_int_equal(cfr_config_parse("f", cfr_view_of(broken), no_env, &config, NULL, NULL), CFR_E_NOMEM);
    assert_true(failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_heap_is_really_ours),
        cmocka_unit_test(a_good_one),
        cmocka_unit_test(a_bad_one),
        cmocka_unit_test(broken_ones),
    };

    cfr_hook_register();
    cfr_publish_register();
    cfr_source_register();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    (void)puts("skipped: the sanitizer has a heap of its own");
    return 0;
}

#endif
