/* SPDX-License-Identifier: MIT */
/* The end of pauses: a server that accepts requests again, and another identity there. */
#include "kube_fixture.h"

#include <unistd.h>

#define TOKEN_IN(name) "    tokenFile: " name "\n"

/* How often pauses were ended, and where. */
struct resumed {
    int count;
    char where[512];
};

static void on_resume(void *ctx, const struct cfr_kube_where *where)
{
    struct resumed *r = ctx;
    size_t used = strlen(r->where);

    r->count++;
    (void)snprintf(r->where + used, sizeof r->where - used, "%s ", strrchr(where->kubeconfig, '/') + 1);
}

static struct setup open_resumed(struct resumed *r)
{
    struct setup s = open_kube();

    *r = (struct resumed){0};
    cfr_kube_on_resume(s.kube, on_resume, r);
    put("known", "Bearer SESAME-1\n");
    return s;
}

static void test_an_answer_ends_all_pauses_at_its_server(void **state)
{
    struct resumed resumed;
    struct setup s = open_resumed(&resumed);
    struct reply r;

    (void)state;
    put("token-a", "SESAME-1");
    put_config("a", srv.good, "", TOKEN_IN("token-a"));
    put_config("b", srv.good, "", TOKEN_IN("token-a"));
    r = ask(&s, in_dir("a"), "/api/v1/x");
    assert_int_equal(r.status, 200);
    r = ask(&s, in_dir("b"), "/api/v1/x");
    assert_int_equal(r.status, 200);
    assert_int_equal(resumed.count, 0);
    put("known", "\n");
    r = ask(&s, in_dir("a"), "/api/v1/x");
    assert_int_equal(r.status, 401);
    put("known", "Bearer SESAME-1\n");
    r = ask(&s, in_dir("a"), "/api/v1/x");
    assert_int_equal(r.status, 200);
    assert_int_equal(resumed.count, 2);
    assert_non_null(strstr(resumed.where, "a "));
    assert_non_null(strstr(resumed.where, "b "));
    /* One that answers only some requests does not end pauses all the time. */
    put("known", "\n");
    (void)ask(&s, in_dir("a"), "/api/v1/x");
    put("known", "Bearer SESAME-1\n");
    r = ask(&s, in_dir("a"), "/api/v1/x");
    assert_int_equal(r.status, 200);
    assert_int_equal(resumed.count, 2);
    close_kube(&s);
}

static void test_a_new_token_ends_them_without_a_request(void **state)
{
    struct resumed resumed;
    struct setup s = open_resumed(&resumed);
    struct reply r;

    (void)state;
    put("token-c", "SESAME-OLD");
    put_config("c", srv.good, "", TOKEN_IN("token-c"));
    r = ask(&s, in_dir("c"), "/api/v1/x");
    assert_int_equal(r.status, 401);
    put("token-c", "SESAME-1");
    wait_for(&s, &resumed.count, 1);
    assert_string_equal(resumed.where, "c ");
    close_kube(&s);
}

static void test_a_ca_file_that_appears_ends_them(void **state)
{
    struct resumed resumed;
    struct setup s = open_resumed(&resumed);
    struct cfr_err err;
    char text[1024];

    (void)state;
    put("token-d", "SESAME-1");
    (void)unlink(in_dir("late-ca.pem"));
    (void)snprintf(
        text, sizeof text,
        "current-context: c\ncontexts:\n- {name: c, context: {cluster: k, user: u}}\n"
        "clusters:\n- name: k\n  cluster: {server: 'https://127.0.0.1:%d', certificate-authority: late-ca.pem}\n"
        "users:\n- name: u\n  user: {tokenFile: token-d}\n",
        srv.good);
    put("d", text);
    err = refused(&s, in_dir("d"));
    assert_non_null(strstr(err.text, "late-ca.pem"));
    assert_int_equal(link(in_dir("ca.pem"), in_dir("late-ca.pem")), 0);
    wait_for(&s, &resumed.count, 1);
    close_kube(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_answer_ends_all_pauses_at_its_server),
        cmocka_unit_test(test_a_new_token_ends_them_without_a_request),
        cmocka_unit_test(test_a_ca_file_that_appears_ends_them),
    };

    return cmocka_run_group_tests(tests, start_server, stop_server);
}
