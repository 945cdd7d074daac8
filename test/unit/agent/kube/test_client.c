/* SPDX-License-Identifier: MIT */
/* The Kubernetes client: the pod's API server and those of kubeconfigs, with changing credentials. */
#include "kube_fixture.h"

static void in_pod(void)
{
    char port[16];

    (void)snprintf(port, sizeof port, "%d", srv.good);
    assert_int_equal(setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1", 1), 0);
    assert_int_equal(setenv("KUBERNETES_SERVICE_PORT", port, 1), 0);
    put("token", "pod-token-1\n");
    put("namespace", "team-p\n");
    if (access(in_dir("ca.crt"), F_OK) != 0)
        assert_int_equal(symlink("ca.pem", in_dir("ca.crt")), 0);
    put("known", "Bearer pod-token-1\n");
}

static void out_of_pod(void)
{
    assert_int_equal(unsetenv("KUBERNETES_SERVICE_HOST"), 0);
    assert_int_equal(unsetenv("KUBERNETES_SERVICE_PORT"), 0);
}

static void test_pod(void **state)
{
    struct setup s = open_kube();
    struct cfr_kube_where pod = {NULL, NULL};
    struct reply r;

    (void)state;
    in_pod();
    r = ask(&s, NULL, "/api/v1/x?watch=0");
    assert_int_equal(r.error, 0);
    assert_int_equal(r.status, 200);
    assert_has(r.body, "\"target\": \"/api/v1/x?watch=0\"");
    assert_has(r.body, "\"User-Agent: credfresh/" CFR_VERSION "\"");
    assert_has(r.body, "\"Accept: application/json\"");
    assert_int_equal(r.secret_count, 1);
    assert_string_equal(r.secrets[0], "pod-token-1");
    assert_string_equal(cfr_kube_namespace(s.kube, &pod, NULL), "team-p");
    out_of_pod();
    close_kube(&s);
}

static void test_pod_with_a_body(void **state)
{
    struct setup s = open_kube();
    struct cfr_kube_where pod = {NULL, NULL};
    struct cfr_secret body = secret_of("{\"spec\":{}}");
    struct cfr_kube_request request = {
        .method = "POST", .path = "/api/v1/token", .content_type = "application/json", .body = &body};
    struct cfr_kube_call *c;
    struct reply r = {0};

    (void)state;
    in_pod();
    assert_int_equal(cfr_kube_start(s.kube, &pod, &request, on_reply, &r, &c, NULL), 0);
    wait_for(&s, &r.calls, 1);
    assert_has(r.body, "\"method\": \"POST\"");
    assert_has(r.body, "\"Content-Type: application/json\"");
    assert_has(r.body, "{\\\"spec\\\":{}}");
    cfr_secret_free(&body);
    out_of_pod();
    close_kube(&s);
}

static void test_pod_that_is_none(void **state)
{
    struct setup s = open_kube();
    struct cfr_err err = refused(&s, NULL);

    (void)state;
    assert_int_equal(err.code, CFR_E_CONFIG);
    assert_has(err.text, "name a kubeconfig");
    in_pod();
    assert_int_equal(unlink(in_dir("token")), 0);
    err = refused(&s, NULL);
    assert_int_equal(err.code, CFR_E_MISSING);
    assert_has(err.text, "automountServiceAccountToken");
    assert_has(err.text, "/token");
    put("token", " \n");
    assert_int_equal(refused(&s, NULL).code, CFR_E_MISSING);
    put("token", "two words");
    err = refused(&s, NULL);
    assert_int_equal(err.code, CFR_E_TOKEN);
    assert_has(err.text, "/token holds no bearer token");
    assert_int_equal(setenv("KUBERNETES_SERVICE_PORT", "x", 1), 0);
    assert_int_equal(refused(&s, NULL).code, CFR_E_CONFIG);
    out_of_pod();
    close_kube(&s);
}

static void test_pod_with_an_ipv6_address(void **state)
{
    struct cfr_kube_context p = {.pod_directory = srv.dir, .plugin = {.out_fd = -1}};

    (void)state;
    in_pod();
    assert_int_equal(setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1), 0);
    assert_int_equal(setenv("KUBERNETES_SERVICE_PORT", "443", 1), 0);
    assert_int_equal(cfr_kube_context_refresh(&p, false, cfr_clock_now(), NULL), 0);
    assert_string_equal(p.config.server, "https://[fd00::1]:443");
    assert_int_equal(setenv("KUBERNETES_SERVICE_HOST", "a/b", 1), 0);
    assert_int_equal(cfr_kube_context_refresh(&p, false, cfr_clock_now(), NULL), CFR_E_CONFIG);
    cfr_kube_context_free(&p);
    out_of_pod();
}

static void test_token_is_read_again_when_it_changes(void **state)
{
    struct setup s = open_kube();

    (void)state;
    in_pod();
    assert_string_equal(ask(&s, NULL, "/api").secrets[0], "pod-token-1");
    put("token", "pod-token-2");
    put("known", "Bearer pod-token-2\n");
    assert_string_equal(ask(&s, NULL, "/api").secrets[0], "pod-token-2");
    /* Gone: the last one is as good as any. */
    assert_int_equal(unlink(in_dir("token")), 0);
    assert_string_equal(ask(&s, NULL, "/api").secrets[0], "pod-token-2");
    put("token", "");
    assert_string_equal(ask(&s, NULL, "/api").secrets[0], "pod-token-2");
    put("token", "pod-token-2");
    out_of_pod();
    close_kube(&s);
}

/* A file that was written in place within the clock's grain looks the same to stat. */
static void rewrite_in_disguise(const char *name, const char *text)
{
    struct stat st;
    struct timespec times[2];
    FILE *f;

    assert_int_equal(stat(in_dir(name), &st), 0);
    f = fopen(in_dir(name), "r+");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    times[0] = st.st_atim;
    times[1] = st.st_mtim;
    assert_int_equal(utimensat(AT_FDCWD, in_dir(name), times, 0), 0);
}

static void test_token_is_read_again_after_a_401(void **state)
{
    struct setup s = open_kube();
    struct reply r;

    (void)state;
    in_pod();
    assert_int_equal(ask(&s, NULL, "/api").status, 200);
    rewrite_in_disguise("token", "pod-token-3\n");
    assert_string_equal(ask(&s, NULL, "/api").secrets[0], "pod-token-1");
    put("known", "Bearer pod-token-3\n");
    r = ask(&s, NULL, "/api");
    assert_int_equal(r.status, 200);
    assert_string_equal(r.secrets[0], "pod-token-3");
    /* Once, and no more. */
    put("known", "\n");
    r = ask(&s, NULL, "/api");
    assert_int_equal(r.error, 0);
    assert_int_equal(r.status, 401);
    assert_string_equal(r.audit, "audit-401");
    assert_has(r.body, "\"kind\":\"Status\"");
    out_of_pod();
    close_kube(&s);
}

static void test_token_is_read_again_every_minute(void **state)
{
    struct cfr_kube_cached_file f = {.path = NULL};
    struct cfr_now now = cfr_clock_now();

    (void)state;
    put("token", "first");
    assert_int_equal(cfr_kube_cached_file_refresh(&f, in_dir("token"), 100, false, now, NULL), 0);
    rewrite_in_disguise("token", "other");
    now.boot_ms += 59999;
    assert_int_equal(cfr_kube_cached_file_refresh(&f, in_dir("token"), 100, false, now, NULL), 0);
    assert_view(cfr_secret_view(&f.content), "first");
    assert_int_equal(f.version, 1);
    now.boot_ms += 1;
    assert_int_equal(cfr_kube_cached_file_refresh(&f, in_dir("token"), 100, false, now, NULL), 0);
    assert_view(cfr_secret_view(&f.content), "other");
    assert_int_equal(f.version, 2);
    /* Another path is another file. */
    assert_int_equal(cfr_kube_cached_file_refresh(&f, in_dir("nothing"), 100, false, now, NULL), CFR_E_MISSING);
    assert_int_equal(f.content.len, 0);
    put("token", "much too long");
    assert_int_equal(cfr_kube_cached_file_refresh(&f, in_dir("token"), 5, false, now, NULL), CFR_E_LIMIT);
    assert_int_equal(cfr_kube_cached_file_refresh(&f, srv.dir, 5, false, now, NULL) < 0, 1);
    cfr_kube_cached_file_free(&f);
}

static void test_ca_is_read_again(void **state)
{
    struct setup s = open_kube();

    (void)state;
    in_pod();
    assert_int_equal(ask(&s, NULL, "/api").error, 0);
    assert_int_equal(unlink(in_dir("ca.crt")), 0);
    assert_int_equal(symlink("other.pem", in_dir("ca.crt")), 0);
    assert_int_equal(ask(&s, NULL, "/api").error, CFR_E_TLS);
    assert_int_equal(unlink(in_dir("ca.crt")), 0);
    assert_int_equal(ask(&s, NULL, "/api").error, CFR_E_TLS);
    assert_int_equal(symlink("ca.pem", in_dir("ca.crt")), 0);
    assert_int_equal(ask(&s, NULL, "/api").error, 0);
    out_of_pod();
    close_kube(&s);
}

static void test_kubeconfig(void **state)
{
    struct setup s = open_kube();
    char path[160];
    struct cfr_kube_where where = {path, "c"};
    struct reply r;

    (void)state;
    (void)snprintf(path, sizeof path, "%s", in_dir("config"));
    put("known", "Bearer SESAME-1\nBearer SESAME-2\nBearer SESAME-3\n");
    put_config("config", srv.good, "", "    token: SESAME-1\n    as: bob\n    as-groups: [x, y]\n");
    r = ask(&s, path, "/api");
    assert_int_equal(r.status, 200);
    assert_has(r.body, "Authorization: Bearer SESAME-1");
    assert_has(r.body, "Impersonate-User: bob");
    assert_has(r.body, "\"Impersonate-Group: x\", \"Impersonate-Group: y\"");
    assert_string_equal(cfr_kube_namespace(s.kube, &where, NULL), "team-a");
    assert_int_equal(cfr_kube_check(&where, NULL), 0);
    /* It changes, and then for the worse. */
    put_config("config", srv.good, "", "    token: SESAME-2\n");
    assert_string_equal(ask(&s, path, "/api").secrets[0], "SESAME-2");
    put("config", "nonsense");
    assert_string_equal(ask(&s, path, "/api").secrets[0], "SESAME-2");
    assert_int_equal(unlink(path), 0);
    assert_string_equal(ask(&s, path, "/api").secrets[0], "SESAME-2");
    put_config("config", srv.good, "", "    tokenFile: my-token\n    token: not-this\n");
    put("my-token", "SESAME-3\n");
    assert_string_equal(ask(&s, path, "/api").secrets[0], "SESAME-3");
    close_kube(&s);
}

static void test_kubeconfigs_that_cannot_be_used(void **state)
{
    struct setup s = open_kube();
    char path[160];
    struct cfr_kube_where where = {path, "other"};
    const char *name;
    struct cfr_err err;

    (void)state;
    (void)snprintf(path, sizeof path, "%s", in_dir("bad"));
    err = refused(&s, path);
    assert_int_equal(err.code, CFR_E_MISSING);
    assert_has(err.text, path);
    put_config("bad", srv.good, "    insecure-skip-tls-verify: true\n", "    token: SESAME-1\n");
    err = refused(&s, path);
    assert_int_equal(err.code, CFR_E_CONFIG);
    assert_has(err.text, path);
    assert_has(err.text, "context \"c\", cluster \"k\": insecure-skip-tls-verify");
    put_config("bad", srv.good, "", "    tokenFile: nothing\n");
    err = refused(&s, path);
    assert_int_equal(err.code, CFR_E_MISSING);
    assert_has(err.text, "tokenFile: cannot open");
    assert_has(err.text, in_dir("nothing"));
    err = (struct cfr_err){0};
    assert_int_equal(cfr_kube_check(&where, &err), CFR_E_CONFIG);
    assert_has(err.text, "none has the name \"other\"; there are: c");
    assert_null(cfr_kube_namespace(s.kube, &where, &err));
    assert_int_equal(err.code, CFR_E_CONFIG);
    /* Not "write `namespace`", which is not what is wrong. */
    assert_int_equal(cfr_kube_find_namespace(s.kube, &where, "mint.state", &name, &err), CFR_E_CONFIG);
    assert_has(err.text, "the namespace is unknown: ");
    assert_has(err.text, "none has the name \"other\"; there are: c");
    put("none",
        "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\nclusters: [{name: k, cluster: "
        "{server: \"https://127.0.0.1:1\"}}]\nusers: [{name: u, user: {token: t}}]\n");
    (void)snprintf(path, sizeof path, "%s", in_dir("none"));
    where.context = NULL;
    assert_int_equal(cfr_kube_find_namespace(s.kube, &where, "mint.state", &name, &err), CFR_E_CONFIG);
    assert_has(err.text, "the namespace is unknown: ");
    assert_has(err.text, "/none has none; write `namespace` in `mint.state`");
    (void)snprintf(path, sizeof path, "%s", in_dir("bad"));
    put_config("bad", srv.good, "    proxy-url: socks5://127.0.0.1:1\n", "    token: SESAME-1\n");
    assert_has(refused(&s, path).text, "proxy-url");
    put_config("bad", srv.good, "    tls-server-name: a/b\n", "    token: SESAME-1\n");
    assert_has(refused(&s, path).text, "not the name of a host");
    close_kube(&s);
}

static void test_client_certificate(void **state)
{
    struct setup s = open_kube();
    struct reply r;

    (void)state;
    put("known", "client-a\nclient-b\n");
    put_config("config", srv.mutual, "", "    client-certificate: client-a.pem\n    client-key: client-a.key\n");
    r = ask(&s, in_dir("config"), "/api");
    assert_int_equal(r.status, 200);
    assert_has(r.body, "\"peer\": \"client-a\"");
    assert_int_equal(r.secret_count, 0);
    put_config("config", srv.mutual, "", "    client-certificate: client-b.pem\n    client-key: client-b.key\n");
    assert_has(ask(&s, in_dir("config"), "/api").body, "\"peer\": \"client-b\"");
    close_kube(&s);
    /* A kept connection has proven the certificate, and would not look at another key. */
    s = open_kube();
    put_config("config", srv.mutual, "", "    client-certificate: client-b.pem\n    client-key: client-a.key\n");
    r = ask(&s, in_dir("config"), "/api");
    assert_int_equal(r.error, CFR_E_TLS);
    assert_has(r.err, "cannot be used");
    close_kube(&s);
}

static void test_password(void **state)
{
    struct setup s = open_kube();
    struct reply r;

    (void)state;
    put("known", "Basic dXNlcjpTRVNBTUU=\n");
    put_config("config", srv.good, "", "    username: user\n    password: SESAME\n");
    r = ask(&s, in_dir("config"), "/api");
    assert_int_equal(r.status, 200);
    assert_int_equal(r.secret_count, 2);
    assert_string_equal(r.secrets[0], "SESAME");
    assert_string_equal(r.secrets[1], "dXNlcjpTRVNBTUU=");
    close_kube(&s);
}

static void replace_in(const char *name, const char *from, const char *to)
{
    struct cfr_secret text = read_made(name);
    char *at = strstr(text.p, from);
    char fresh[8192];

    assert_non_null(at);
    (void)snprintf(fresh, sizeof fresh, "%.*s%s%s", (int)(at - text.p), text.p, to, at + strlen(from));
    put(name, fresh);
    cfr_secret_free(&text);
}

static void test_other_name_and_proxy(void **state)
{
    struct setup s = open_kube();
    char cluster[256];
    struct reply r;

    (void)state;
    put("known", "Bearer SESAME-1\n");
    put_config("config", srv.elsewhere, "    tls-server-name: elsewhere.example\n", "    token: SESAME-1\n");
    r = ask(&s, in_dir("config"), "/api");
    assert_int_equal(r.status, 200);
    assert_has(r.body, "\"sni\": \"elsewhere.example\"");
    /* The environment's proxy would refuse; the kubeconfig's does not. */
    (void)snprintf(cluster, sizeof cluster, "http://127.0.0.1:%d", srv.plain);
    close_kube(&s);
    assert_int_equal(setenv("https_proxy", cluster, 1), 0);
    s = open_kube(); /* where the environment is looked at */
    assert_int_equal(ask(&s, in_dir("config"), "/api").status, 200);
    (void)snprintf(cluster, sizeof cluster,
                   "    tls-server-name: elsewhere.example\n    proxy-url: http://user:SESAME@127.0.0.1:%d\n",
                   srv.proxy);
    put_config("config", srv.elsewhere, cluster, "    token: SESAME-1\n");
    r = ask(&s, in_dir("config"), "/api");
    assert_int_equal(r.status, 200);
    assert_has(r.body, "\"sni\": \"elsewhere.example\"");
    (void)snprintf(cluster, sizeof cluster, "    proxy-url: http://user:SESAME@127.0.0.1:%d\n", srv.plain);
    put_config("config", srv.good, cluster, "    token: SESAME-1\n");
    r = ask(&s, in_dir("config"), "/api");
    assert_int_equal(r.error, CFR_E_NET);
    assert_lacks(r.err, "SESAME");
    /* This address is loopback, too, but not known as such; the certificate is not for it. */
    close_kube(&s);
    s = open_kube();
    put_config("config", srv.good, "", "    token: SESAME-1\n");
    replace_in("config", "127.0.0.1", "0.0.0.0");
    assert_int_equal(ask(&s, in_dir("config"), "/api").error, CFR_E_TLS);
    assert_int_equal(unsetenv("https_proxy"), 0);
    close_kube(&s);
}

static void test_cancel(void **state)
{
    struct setup s = open_kube();
    struct reply r = {0};
    struct reply other;
    struct cfr_kube_call *c;

    (void)state;
    put("known", "Bearer SESAME-1\n");
    put_config("config", srv.good, "", "    token: SESAME-1\n");
    c = start_call(&s, in_dir("config"), "/slow", &r);
    turn(&s, 50);
    cfr_kube_cancel(c);
    cfr_kube_cancel(NULL);
    c = start_call(&s, in_dir("config"), "/slow", &r);
    cfr_kube_cancel(c);
    other = ask(&s, in_dir("config"), "/api");
    assert_int_equal(other.status, 200);
    /* What is under way ends with everything else. */
    (void)start_call(&s, in_dir("config"), "/slow", &r);
    turn(&s, 10);
    close_kube(&s);
    assert_int_equal(r.calls, 0);
}

static void test_requests_that_are_none(void **state)
{
    static const char *const paths[] = {"", "api", "/a b", "/a#b", "/a\r\nX: y"};
    struct setup s = open_kube();
    char path[160];
    struct cfr_kube_where where = {path, NULL};

    (void)state;
    (void)snprintf(path, sizeof path, "%s", in_dir("config"));
    for (size_t i = 0; i < COUNT(paths); i++) {
        struct cfr_kube_request request = {.method = "GET", .path = paths[i]};

        assert_int_equal(cfr_kube_start(s.kube, &where, &request, on_reply, NULL, NULL, NULL), CFR_E_INTERNAL);
    }
    close_kube(&s);
}

static void test_long_unused_places_are_forgotten(void **state)
{
    struct setup s = open_kube();
    struct cfr_now now = cfr_clock_now();
    struct cfr_kube_context *p;

    (void)state;
    p = cfr_kube_context_of(s.kube, &(struct cfr_kube_where){"/a", NULL}, now, NULL);
    assert_ptr_equal(cfr_kube_context_of(s.kube, &(struct cfr_kube_where){"/a", NULL}, now, NULL), p);
    assert_ptr_not_equal(cfr_kube_context_of(s.kube, &(struct cfr_kube_where){"/a", "x"}, now, NULL), p);
    p->calls = 1;
    now.boot_ms += INT64_C(48) * 3600 * 1000;
    (void)cfr_kube_context_of(s.kube, &(struct cfr_kube_where){"/b", NULL}, now, NULL);
    assert_ptr_equal(s.kube->contexts->next, p);
    assert_null(p->next);
    p->calls = 0;
    (void)cfr_kube_context_of(s.kube, &(struct cfr_kube_where){"/c", NULL}, now, NULL);
    assert_string_equal(s.kube->contexts->next->kubeconfig, "/b");
    assert_null(s.kube->contexts->next->next);
    close_kube(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pod),
        cmocka_unit_test(test_pod_with_a_body),
        cmocka_unit_test(test_pod_that_is_none),
        cmocka_unit_test(test_pod_with_an_ipv6_address),
        cmocka_unit_test(test_token_is_read_again_when_it_changes),
        cmocka_unit_test(test_token_is_read_again_after_a_401),
        cmocka_unit_test(test_token_is_read_again_every_minute),
        cmocka_unit_test(test_ca_is_read_again),
        cmocka_unit_test(test_kubeconfig),
        cmocka_unit_test(test_kubeconfigs_that_cannot_be_used),
        cmocka_unit_test(test_client_certificate),
        cmocka_unit_test(test_password),
        cmocka_unit_test(test_other_name_and_proxy),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_requests_that_are_none),
        cmocka_unit_test(test_long_unused_places_are_forgotten),
    };

    return cmocka_run_group_tests(tests, start_server, stop_server);
}
