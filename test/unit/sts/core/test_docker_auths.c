/* SPDX-License-Identifier: MIT */
/* Registry credentials: the field's contents, and valid registry hosts. */
#include "unit.h"

#include "sts/core/docker_auths.h"

static void adds(struct cfr_grant *g, const char *host, const char *user, const char *password)
{
    struct cfr_err err = {0};

    if (cfr_docker_auths_add(g, host, cfr_view_of(user), cfr_view_of(password), &err) != 0)
        fail_msg("%s: %s", host, err.text);
}

static void refuses(struct cfr_grant *g, const char *host, const char *user, const char *password, int code,
                    const char *why)
{
    struct cfr_err err = {0};

    assert_int_equal(cfr_docker_auths_add(g, host, cfr_view_of(user), cfr_view_of(password), &err), code);
    assert_contains(err.text, why);
}

static void logins(void **state)
{
    struct cfr_grant g = {0};

    (void)state;
    adds(&g, "123456789012.dkr.ecr.eu-west-1.amazonaws.com", "AWS", "doc-only-password");
    assert_view(cfr_grant_get(&g, CFR_FIELD_REGISTRY_AUTHS),
                "\"123456789012.dkr.ecr.eu-west-1.amazonaws.com\":{\"username\":\"AWS\",\"password\":"
                "\"doc-only-password\",\"auth\":\"QVdTOmRvYy1vbmx5LXBhc3N3b3Jk\"}");
    adds(&g, "[::1]:5000", "a\"b", "c:\"localhost:1\":{\\");
    adds(&g, "localhost:1", "u", "p");
    assert_view(cfr_grant_get(&g, CFR_FIELD_REGISTRY_AUTHS),
                "\"123456789012.dkr.ecr.eu-west-1.amazonaws.com\":{\"username\":\"AWS\",\"password\":"
                "\"doc-only-password\",\"auth\":\"QVdTOmRvYy1vbmx5LXBhc3N3b3Jk\"},"
                "\"[::1]:5000\":{\"username\":\"a\\\"b\",\"password\":\"c:\\\"localhost:1\\\":{\\\\\",\"auth\":"
                "\"YSJiOmM6ImxvY2FsaG9zdDoxIjp7XA==\"},"
                "\"localhost:1\":{\"username\":\"u\",\"password\":\"p\",\"auth\":\"dTpw\"}");
    refuses(&g, "localhost:1", "u", "p", CFR_E_CONFIG, "localhost:1 occurs twice");
    refuses(&g, "https://x.example", "u", "p", CFR_E_CONFIG, "is not a registry's host");
    refuses(&g, "x.example", "u:v", "p", CFR_E_ANSWER, "user name");
    refuses(&g, "x.example", "", "p", CFR_E_ANSWER, "user name");
    refuses(&g, "x.example", "u", "", CFR_E_ANSWER, "password is empty");
    assert_int_equal(g.field_count, 1);
    cfr_grant_free(&g);
}

static void too_much(void **state)
{
    struct cfr_grant g = {0};
    char *password = malloc(CFR_GRANT_VALUE_MAX);

    (void)state;
    adds(&g, "a.example", "u", "p");
    memset(password, 'p', CFR_GRANT_VALUE_MAX);
    assert_int_equal(cfr_docker_auths_add(&g, "b.example", cfr_view_of("u"),
                                          (struct cfr_view){password, CFR_GRANT_VALUE_MAX / 2}, NULL),
                     CFR_E_LIMIT);
    assert_view(cfr_grant_get(&g, CFR_FIELD_REGISTRY_AUTHS),
                "\"a.example\":{\"username\":\"u\",\"password\":\"p\",\"auth\":\"dTpw\"}");
    free(password);
    cfr_grant_free(&g);
}

static void hosts(void **state)
{
    static const char *const good[] = {
        "a.b",         "localhost",      "localhost:65535", "registry:5000",         "10.0.0.1", "[::1]",
        "[fd00::1]:1", "public.ecr.aws", "a-b.c--d.e1:443", "europe-docker.pkg.dev", "A.example"};
    static const char *const bad[] = {
        "",     "registry",   "a.b/",     "a.b:",  "a.b:0", "a.b:65536", "a.b:01", "a.b:+1",    "a.b:123456", "-a.b",
        "a-.b", "a..b",       ".a.b",     "a.b.",  "a_b.c", "a.b:1:2",   "[::1",   "[::1]x",    "[]",         "[::g]",
        "::1",  "http://a.b", "user@a.b", "a.b c", "[a.b]", "[1.2.3.4]", "a.b\n",  "a.b\":{\"x"};
    char longest[300];

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        if (!cfr_docker_auths_host_ok(cfr_view_of(good[i])))
            fail_msg("%s", good[i]);
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        if (cfr_docker_auths_host_ok(cfr_view_of(bad[i])))
            fail_msg("\"%s\"", bad[i]);
    }
    assert_false(cfr_docker_auths_host_ok((struct cfr_view){NULL, 0}));
    assert_false(cfr_docker_auths_host_ok(LITERAL("a.b\0c")));
    memset(longest, 'a', sizeof longest);
    longest[1] = '.';
    assert_true(cfr_docker_auths_host_ok((struct cfr_view){longest, 255}));
    assert_false(cfr_docker_auths_host_ok((struct cfr_view){longest, 256}));
}

static void hosts_of_domains(void **state)
{
    static const char *const domains[] = {".io.example", "gcr.example", NULL};
    static const char *const in[] = {"r.io.example", "R.IO.Example", "a.b.io.example:444", "gcr.example",
                                     "GCR.example:1"};
    static const char *const out[] = {"",
                                      "io.example",
                                      ".io.example",
                                      "xio.example",
                                      "r.io.example.evil",
                                      "evil:io.example",
                                      "x.gcr.example",
                                      "xgcr.example",
                                      "[::1]:5000",
                                      "r.io.example/x",
                                      "a@r.io.example"};

    (void)state;
    for (size_t i = 0; i < COUNT(in); i++) {
        if (!cfr_docker_auths_host_in(cfr_view_of(in[i]), domains))
            fail_msg("%s", in[i]);
    }
    for (size_t i = 0; i < COUNT(out); i++) {
        if (cfr_docker_auths_host_in(cfr_view_of(out[i]), domains))
            fail_msg("\"%s\"", out[i]);
    }
}

static void the_secrets_of_logins(void **state)
{
    static const char *const want[] = {"p\\\"w\\\\", "dTpwIndc", "second", "YXV0aDpzZWNvbmQ="};
    struct cfr_grant g = {0};
    struct cfr_view auths;
    struct cfr_view secret;

    (void)state;
    assert_int_equal(cfr_docker_auths_add(&g, "password.example", cfr_view_of("u"), cfr_view_of("p\"w\\"), NULL), 0);
    assert_int_equal(cfr_docker_auths_add(&g, "b.example:5000", cfr_view_of("auth"), cfr_view_of("second"), NULL), 0);
    auths = cfr_grant_get(&g, CFR_FIELD_REGISTRY_AUTHS);
    for (size_t i = 0; i < COUNT(want); i++) {
        assert_true(cfr_docker_auths_next_secret(&auths, &secret));
        if (!cfr_view_is(secret, want[i]))
            fail_msg("%zu: %.*s", i, (int)secret.n, secret.p);
    }
    assert_false(cfr_docker_auths_next_secret(&auths, &secret));
    assert_false(cfr_docker_auths_next_secret(&auths, &secret));
    cfr_grant_free(&g);
    auths = (struct cfr_view){NULL, 0};
    assert_false(cfr_docker_auths_next_secret(&auths, &secret));
    auths = cfr_view_of("\"h.example\":{\"password\":\"cut\\");
    assert_false(cfr_docker_auths_next_secret(&auths, &secret));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logins), cmocka_unit_test(too_much),         cmocka_unit_test(the_secrets_of_logins),
        cmocka_unit_test(hosts),  cmocka_unit_test(hosts_of_domains),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
