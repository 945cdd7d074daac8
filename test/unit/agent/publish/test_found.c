/* SPDX-License-Identifier: MIT */
/* What a credential's targets, a mounted Secret or a Secret of the cluster hold, for a key that is adopted. */
#include "files_scratch.h"
#include "unit.h"

#include "agent/publish/found.h"

#include <sys/time.h>
#include <unistd.h>

#define WHEN_S 1767326645

static struct cfr_config_mint mint;
static struct cfr_config_publish targets[4];
static struct cfr_config_credential credential;
static struct cfr_config_file files[] = {{.name = (char[]){"access_key_id"}}, {.name = (char[]){"secret_access_key"}}};
static struct cfr_rotation_found found;
static char paths[4][PATH_MAX];

/* The API server: what it was asked, and what it answers. */
static struct {
    char path[512];
    cfr_kube_fn *done;
    void *ctx;
    int starts;
    int cancelled;
    int rc;
} server;

/* What DONE was called with. */
static struct {
    int calls;
    int rc;
    char value[64];
    char text[CFR_ERR_TEXT_MAX];
} result;

int __wrap_cfr_kube_start(struct cfr_kube *kube, const struct cfr_kube_where *where,
                          const struct cfr_kube_request *request, cfr_kube_fn *done, void *ctx,
                          struct cfr_kube_call **out, struct cfr_err *err);
void __wrap_cfr_kube_cancel(struct cfr_kube_call *call);

int __wrap_cfr_kube_start(struct cfr_kube *kube, const struct cfr_kube_where *where,
                          const struct cfr_kube_request *request, cfr_kube_fn *done, void *ctx,
                          struct cfr_kube_call **out, struct cfr_err *err)
{
    (void)kube;
    (void)where;
    assert_string_equal(request->method, "GET");
    (void)snprintf(server.path, sizeof server.path, "%s", request->path);
    server.done = done;
    server.ctx = ctx;
    server.starts++;
    *out = (struct cfr_kube_call *)(void *)&server;
    return server.rc == 0 ? 0 : cfr_err_set(err, server.rc, "no connection");
}

void __wrap_cfr_kube_cancel(struct cfr_kube_call *call)
{
    assert_ptr_equal(call, &server);
    server.cancelled++;
}

static int begin(void **state)
{
    memset(&server, 0, sizeof server);
    memset(&result, 0, sizeof result);
    memset(targets, 0, sizeof targets);
    memset(&found, 0, sizeof found);
    mint = (struct cfr_config_mint){.adopt = (char *)(uintptr_t)CFR_ADOPT_TARGET};
    credential = (struct cfr_config_credential){.name = paths[3], .mint = &mint, .publish = {targets, 0}};
    return scratch_make_fast(state);
}

static int end(void **state)
{
    cfr_grant_free(&found.values);
    return scratch_remove(state);
}

/* NAME in the scratch directory, which lives until the next test; INDEX is its place. */
static char *path_at(size_t index, const char *name)
{
    (void)snprintf(paths[index], sizeof paths[index], "%s", in(name));
    return paths[index];
}

static void on_found(void *ctx, int rc, struct cfr_rotation_found *what, struct cfr_err *err)
{
    struct cfr_view value = cfr_grant_get(&what->values, "access_key_id");

    (void)ctx;
    result.calls++;
    result.rc = rc;
    found.since_s = what->since_s;
    (void)snprintf(result.value, sizeof result.value, "%.*s", (int)value.n, value.n != 0 ? value.p : "");
    (void)snprintf(result.text, sizeof result.text, "%s", rc != 0 ? err->text : "");
}

static int find(struct cfr_publish_search **search, struct cfr_err *err)
{
    *err = (struct cfr_err){.code = 0};
    return cfr_publish_find(&credential, NULL, on_found, NULL, search, &found, err);
}

static void finds_nothing(const char *why)
{
    struct cfr_publish_search *search;
    struct cfr_err err;

    assert_int_equal(find(&search, &err), CFR_E_MISSING);
    assert_null(search);
    assert_contains(err.text, why);
}

static void set_time(const char *path)
{
    const struct timeval times[] = {{WHEN_S, 0}, {WHEN_S, 0}};

    assert_int_equal(utimes(path, times), 0);
}

static void test_nothing(void **state)
{
    (void)state;
    targets[0] = (struct cfr_config_publish){.directory = path_at(0, "set"), .files = {files, 2}};
    credential.publish.count = 1;
    finds_nothing("the targets hold nothing");
    assert_int_equal(found.values.field_count, 0);
}

/* Files that another program has put there. */
static void test_a_directory(void **state)
{
    struct cfr_publish_search *search;
    struct cfr_err err;

    (void)state;
    targets[0] = (struct cfr_config_publish){.directory = path_at(0, "none"), .files = {files, 2}};
    targets[1] = (struct cfr_config_publish){.directory = path_at(1, "set"), .files = {files, 2}};
    credential.publish.count = 2;
    assert_int_equal(mkdir(in("set"), 0700), 0);
    put(in("set/access_key_id"), "AKIA1");
    put(in("set/secret_access_key"), "secret");
    put(in("set/unrelated"), "not read");
    set_time(in("set/secret_access_key"));
    assert_int_equal(find(&search, &err), 0);
    assert_null(search);
    assert_int_equal(found.values.field_count, 2);
    assert_view(cfr_grant_get(&found.values, "access_key_id"), "AKIA1");
    assert_view(cfr_grant_get(&found.values, "secret_access_key"), "secret");
    assert_int_equal(found.since_s, WHEN_S);
    assert_int_equal(server.starts, 0);
}

/* Without one of the files the other is still found. */
static void test_half_of_a_directory(void **state)
{
    struct cfr_publish_search *search;
    struct cfr_err err;

    (void)state;
    targets[0] = (struct cfr_config_publish){.directory = path_at(0, "set"), .files = {files, 2}};
    credential.publish.count = 1;
    assert_int_equal(mkdir(in("set"), 0700), 0);
    put(in("set/access_key_id"), "AKIA1");
    assert_int_equal(find(&search, &err), 0);
    assert_int_equal(found.values.field_count, 1);
}

/* ---- a path ---- */

static void test_a_file(void **state)
{
    struct cfr_publish_search *search;
    struct cfr_err err;

    (void)state;
    mint.adopt = path_at(0, "key.ini");
    put(in("key.ini"), "access_key_id = AKIA2\n");
    set_time(in("key.ini"));
    assert_int_equal(find(&search, &err), 0);
    assert_view(cfr_grant_get(&found.values, "key.ini"), "access_key_id = AKIA2\n");
    assert_int_equal(found.since_s, WHEN_S);
}

static void test_a_mounted_secret(void **state)
{
    struct cfr_publish_search *search;
    struct cfr_err err;

    (void)state;
    mint.adopt = path_at(0, "mounted");
    assert_int_equal(mkdir(in("mounted"), 0700), 0);
    put(in("mounted/access_key_id"), "AKIA3");
    put(in("mounted/secret_access_key"), "secret");
    assert_int_equal(find(&search, &err), 0);
    assert_view(cfr_grant_get(&found.values, "access_key_id"), "AKIA3");
    assert_view(cfr_grant_get(&found.values, "secret_access_key"), "secret");
}

static void test_a_path_that_is_missing(void **state)
{
    struct cfr_publish_search *search;
    struct cfr_err err;

    (void)state;
    mint.adopt = path_at(0, "none");
    assert_int_equal(find(&search, &err), CFR_E_MISSING);
    assert_contains(err.text, in("none"));
}

/* ---- a Secret of the cluster ---- */

static struct cfr_config_secret secret = {.name = (char[]){"robot"}, .namespace_name = (char[]){"prod"}};

static struct cfr_publish_search *search_cluster(void)
{
    struct cfr_publish_search *search;
    struct cfr_err err;

    targets[0] = (struct cfr_config_publish){.secret = &secret};
    targets[1] = (struct cfr_config_publish){.directory = path_at(0, "set"), .files = {files, 2}};
    credential.publish.count = 2;
    assert_int_equal(find(&search, &err), 1);
    assert_non_null(search);
    assert_string_equal(server.path, "/api/v1/namespaces/prod/secrets/robot");
    assert_int_equal(result.calls, 0);
    return search;
}

static void answer(long status, const char *body)
{
    const struct cfr_kube_answer a = {.status = status, .body = cfr_view_of(body)};

    server.done(server.ctx, &a);
}

static void test_a_secret(void **state)
{
    struct cfr_publish_search *search = search_cluster();

    (void)state;
    answer(200, "{\"metadata\":{\"creationTimestamp\":\"2026-01-02T04:04:05Z\"},"
                "\"data\":{\"access_key_id\":\"QUtJQTQ=\",\"n\":3}}");
    assert_int_equal(result.calls, 1);
    assert_int_equal(result.rc, 0);
    assert_string_equal(result.value, "AKIA4");
    assert_int_equal(found.since_s, WHEN_S);
    cfr_publish_search_end(search);
    assert_int_equal(server.cancelled, 0);
}

/* The next target is read where the Secret is missing or empty. */
static void test_a_secret_without_values(void **state)
{
    static const struct {
        long status;
        const char *body;
    } cases[] = {{404, "{}"}, {200, "{\"data\":{}}"}, {200, "{}"}};

    (void)state;
    assert_int_equal(mkdir(in("set"), 0700), 0);
    put(in("set/access_key_id"), "AKIA5");
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cfr_publish_search *search = search_cluster();

        answer(cases[i].status, cases[i].body);
        assert_int_equal(result.calls, 1);
        assert_int_equal(result.rc, 0);
        assert_string_equal(result.value, "AKIA5");
        cfr_publish_search_end(search);
        memset(&result, 0, sizeof result);
    }
}

static void test_a_secret_that_cannot_be_read(void **state)
{
    static const struct {
        long status;
        const char *body;
        int rc;
        const char *why;
    } cases[] = {
        {403, "{}", CFR_E_DENIED, "cannot read the Secret robot: the API server answered 403; allow `get` on it"},
        {500, "{}", CFR_E_UNAVAILABLE, "cannot read the Secret robot: the API server answered 500"},
        {200, "not JSON", CFR_E_ANSWER, ""},
        {200, "{\"data\":{\"access_key_id\":\"%\"}}", CFR_E_ANSWER, ""}};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cfr_publish_search *search = search_cluster();

        answer(cases[i].status, cases[i].body);
        assert_int_equal(result.calls, 1);
        assert_int_equal(result.rc, cases[i].rc);
        assert_contains(result.text, cases[i].why);
        cfr_publish_search_end(search);
        memset(&result, 0, sizeof result);
    }
}

static void test_the_search_is_ended(void **state)
{
    struct cfr_publish_search *search = search_cluster();

    (void)state;
    cfr_publish_search_end(search);
    assert_int_equal(server.cancelled, 1);
    assert_int_equal(result.calls, 0);
    cfr_publish_search_end(NULL);
}

static void test_no_connection(void **state)
{
    struct cfr_publish_search *search;
    struct cfr_err err;

    (void)state;
    server.rc = CFR_E_NET;
    targets[0] = (struct cfr_config_publish){.secret = &secret};
    credential.publish.count = 1;
    assert_int_equal(find(&search, &err), CFR_E_NET);
    assert_null(search);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_nothing),
        TEST(test_a_directory),
        TEST(test_half_of_a_directory),
        TEST(test_a_file),
        TEST(test_a_mounted_secret),
        TEST(test_a_path_that_is_missing),
        TEST(test_a_secret),
        TEST(test_a_secret_without_values),
        TEST(test_a_secret_that_cannot_be_read),
        TEST(test_the_search_is_ended),
        TEST(test_no_connection),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
