/* SPDX-License-Identifier: MIT */
/* The Kubernetes client and memory: no secret in freed memory, not even in that of the YAML library, and any
 * allocation may fail. This program has a malloc of its own, which shared libraries use, too. */
#include "kube_fixture.h"

#include "base/json.h"
#include "heap_own.h"

#if OWN_HEAP

/* The same server without TLS, whose allocations are not what is tested. */
static void put_plain_config(const char *user)
{
    char text[4096];

    (void)snprintf(text, sizeof text,
                   "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u, namespace: n}}]\n"
                   "clusters: [{name: k, cluster: {server: 'http://127.0.0.1:%d', certificate-authority: ca.pem}}]\n"
                   "users:\n- name: u\n  user:\n%s",
                   srv.plain, user);
    put("config", text);
}

static const char token_user[] = "    tokenFile: my-token\n    as: somebody-somebody\n    as-groups: [a, b]\n";
static const char plugin_user[] = "    exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin, args: "
                                  "[a-long-argument-here],\n"
                                  "      env: [{name: A, value: SESAME-ENV-SESAME-ENV}], provideClusterInfo: true}\n";
static const char print_token[] =
    "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\","
    "\"status\":{\"token\":\"SESAME-PLUGIN-SESAME-PLUGIN\"}}'";

static void test_secrets_are_wiped(void **state)
{
    static const char *const users[] = {"    token: SESAME-TOKEN-SESAME-TOKEN-SESAME-TOKEN\n",
                                        "    token: 'SESAME-TOKEN-SESAME-TOKEN-SESAME-TOKEN'\n",
                                        "    token: >-\n      SESAME-TOKEN-SESAME-TOKEN-SESAME-TOKEN\n",
                                        "    {\"token\": \"SESAME-TOKEN-SESAME-TOKEN-SESAME-TOKEN\"}\n",
                                        "    username: u\n    password: SESAME-PW\n",
                                        token_user,
                                        plugin_user};

    (void)state;
    put("known", "Bearer SESAME-TOKEN-SESAME-TOKEN-SESAME-TOKEN\nBearer SESAME-PLUGIN-SESAME-PLUGIN\n"
                 "Basic dTpTRVNBTUUtUFc=\n");
    put("my-token", "SESAME-TOKEN-SESAME-TOKEN-SESAME-TOKEN");
    put_plugin("plugin", print_token);
    for (size_t i = 0; i < COUNT(users); i++) {
        struct setup s;
        struct reply r;

        put_plain_config(users[i]);
        hunted = "SESAME-";
        found = 0;
        s = open_kube();
        r = ask(&s, in_dir("config"), "/api");
        close_kube(&s);
        hunted = NULL;
        assert_int_equal(r.error, 0);
        assert_int_equal(r.status, 200);
        if (found != 0)
            fail_msg("%d blocks held a secret of:\n%s", found, users[i]);
    }
    /* The hunter itself must be able to find. */
    hunted = "SESAME-";
    free(strdup("SESAME-SEED"));
    hunted = NULL;
    assert_int_equal(found, 1);
}

/* One request from opening to closing. False if no allocation failed. */
static bool cycle(long n)
{
    struct cfr_kube_where where = {in_dir("config"), NULL};
    struct cfr_kube_request request = {.method = "GET", .path = "/api"};
    struct cfr_kube_call *c = NULL;
    struct setup s = {NULL, NULL};
    struct reply r = {0};
    int64_t end = now_ms() + LIMIT_S * 1000;
    int rc;

    failed = false;
    fail_in = n;
    rc = cfr_http_open(&s.http, NULL);
    if (rc == 0)
        rc = cfr_kube_open(s.http, &s.kube, NULL);
    if (rc == 0)
        rc = cfr_kube_start(s.kube, &where, &request, on_reply, &r, &c, NULL);
    while (rc == 0 && r.calls == 0 && now_ms() < end) {
        (void)cfr_http_step(s.http, NULL, 0, 5, NULL);
        cfr_loop_children();
        cfr_loop_run(cfr_clock_now().boot_ms);
    }
    if (rc == 0 && s.kube != NULL)
        (void)cfr_kube_namespace(s.kube, &where, NULL);
    if (rc == 0 && r.error == 0 && r.status != 200)
        rc = 1;
    fail_in = 0;
    cfr_kube_close(s.kube);
    cfr_http_close(s.http);
    assert_true(rc <= 0);
    assert_int_equal(r.calls, rc == 0 ? 1 : 0);
    return failed;
}

/* Whichever allocation fails, a request ends with an error or well, and nothing is lost beyond MAY_LOSE
 * blocks. */
static void check_failures(const char *user, long may_lose)
{
    long n = 0;
    long before;

    put_plain_config(user);
    assert_false(cycle(0));
    before = live;
    while (cycle(++n)) {
        if (live - before > may_lose)
            fail_msg("allocation %ld: %ld blocks are lost", n, live - before);
        before = live;
        assert_true(n < 5000);
    }
    assert_true(n > 100);
}

static void test_every_allocation_of_a_parse_may_fail(void **state)
{
    const char *const texts[] = {token_user, plugin_user, "    username: u\n    password: p\n", "    exec: 1\n"};

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct cfr_secret text;
        long before;

        put_plain_config(texts[i]);
        text = read_made("config");
        before = live;
        failed = true;
        for (long n = 1; failed; n++) {
            struct cfr_kube_config c;
            struct cfr_err err = {0};
            int rc;

            failed = false;
            fail_in = n;
            rc = cfr_kube_config_parse(cfr_secret_view(&text), "/d/f", NULL, &c, &err);
            fail_in = 0;
            assert_int_equal(rc, err.code);
            if (failed && rc != CFR_E_NOMEM)
                fail_msg("allocation %ld: %s", n, err.text);
            cfr_kube_config_free(&c);
            assert_int_equal(live, before);
        }
        cfr_secret_free(&text);
    }
}

/* When a name's resolution does not start, libcurl itself loses a block. */
static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    check_failures(token_user, 1);
    put_plugin("plugin", print_token);
    check_failures(plugin_user, 1);
}

static void test_every_allocation_around_a_plugin_may_fail(void **state)
{
    (void)state;
    put_plugin("plugin", "exit 1");
    check_failures(plugin_user, 0);
}

static int begin(void **state)
{
    cfr_json_setup();
    return start_server(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_secrets_are_wiped),
        cmocka_unit_test(test_every_allocation_of_a_parse_may_fail),
        cmocka_unit_test(test_every_allocation_may_fail),
        cmocka_unit_test(test_every_allocation_around_a_plugin_may_fail),
    };

    return cmocka_run_group_tests(tests, begin, stop_server);
}

#else

int main(void)
{
    (void)puts("skipped: the sanitizer has the heap");
    return 0;
}

#endif
