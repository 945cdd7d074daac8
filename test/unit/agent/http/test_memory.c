/* SPDX-License-Identifier: MIT */
/* The HTTP client engine and memory: no secret in freed memory, and any allocation may fail. */
#include "http_fixture.h"

#include <malloc.h>

/* The linker sends every allocation of our code, and so of libcurl, through these. */
void *__real_malloc(size_t n);
void *__real_calloc(size_t count, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t count, size_t size);
void __wrap_free(void *p);

static long fail_in; /* the allocation that fails, counted down; 0 = none */
static bool failed;
static const char *hunted; /* bytes that must not be in freed memory */
static int found;
static int frees;

static bool fails(void)
{
    if (fail_in == 0 || --fail_in != 0)
        return false;
    failed = true;
    return true;
}

void *__wrap_malloc(size_t n)
{
    return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void __wrap_free(void *p)
{
    frees++;
    if (p != NULL && hunted != NULL && memmem(p, malloc_usable_size(p), hunted, strlen(hunted)) != NULL)
        found++;
    __real_free(p);
}

static void test_secrets_are_wiped(void **state)
{
    struct cfr_http *h = engine();
    struct cfr_secret header = secret_of("Authorization: Bearer SESAME-HEAD-SESAME-HEAD-SESAME-HEAD");
    struct cfr_secret body = secret_of("token=SESAME-BODY-SESAME-BODY-SESAME-BODY");
    char url[256];
    struct cfr_http_request r = get(url_of(url, "https", srv.good, "/secret"));
    struct got g;

    (void)state;
    hunted = "SESAME-";
    found = 0;
    frees = 0;
    r.method = "POST";
    r.headers = &header;
    r.header_count = 1;
    r.body = &body;
    g = fetch(h, &r);
    assert_int_equal(g.error, 0);
    assert_has(g.body, "SESAME-OPEN");
    cfr_secret_free(&header);
    cfr_secret_free(&body);
    cfr_http_close(h);
    assert_int_equal(found, 0);
    /* So many come from OpenSSL's TLS only, which must go this way, too. */
    assert_true(frees > 2000);
    /* The hunter itself must be able to find. */
    {
        char *p = strdup("SESAME-SEED");

        assert_non_null(p);
        free(p);
        assert_int_equal(found, 1);
    }
    hunted = NULL;
}

static void test_keys_and_kept_headers_are_wiped(void **state)
{
    struct cfr_http *h = engine();
    struct cfr_secret cert = read_made("client-a.pem");
    struct cfr_secret key = read_made("client-a.key");
    char part[33] = "";
    char url[256];
    struct cfr_http_request r = get(url_of(url, "https", srv.mutual, "/keep"));
    struct got g;

    (void)state;
    /* Out of its first line of base64. */
    (void)snprintf(part, sizeof part, "%s", strchr(key.p, '\n') + 1);
    r.client_cert = cfr_secret_view(&cert);
    r.client_key = cfr_secret_view(&key);
    r.keep_header = "X-Subject-Token";
    for (int i = 0; i < 2; i++) {
        hunted = i == 0 ? part : "SESAME-KEPT";
        found = 0;
        g = fetch(h, &r);
        assert_int_equal(g.error, 0);
        assert_has(g.header, "SESAME-KEPT");
        cfr_http_close(h);
        assert_int_equal(found, 0);
        h = engine();
    }
    hunted = NULL;
    cfr_secret_free(&cert);
    cfr_secret_free(&key);
    cfr_http_close(h);
}

/* Whichever allocation fails, a request ends with an error or well, and nothing leaks or crashes. */
static void test_every_allocation_may_fail(void **state)
{
    char url[256];
    struct cfr_secret header = secret_of("X-One: 1");
    struct cfr_http_request r = get(url_of(url, "http", srv.plain, "/echo"));
    long n = 0;

    (void)state;
    r.headers = &header;
    r.header_count = 1;
    r.timeout_ms = 3000;
    r.server_name = "127.0.0.1";
    r.ca_pem = cfr_view_of("x");
    r.client_cert = cfr_view_of("x");
    r.client_key = cfr_view_of("x");
    r.keep_header = "X";
    do {
        struct cfr_http *h = NULL;
        struct got g = {0};
        int64_t end = now_ms() + LIMIT_S * 1000;
        int rc;

        failed = false;
        fail_in = ++n;
        rc = cfr_http_open(&h, NULL);
        if (rc == 0)
            rc = cfr_http_start(h, &r, on_done, &g, NULL, NULL);
        while (rc == 0 && g.calls == 0 && now_ms() < end)
            (void)cfr_http_step(h, NULL, 0, 100, NULL);
        fail_in = 0;
        if (rc == 0)
            assert_int_equal(g.calls, 1);
        if (rc == 0 && g.error == 0)
            assert_int_equal(g.status, 200);
        cfr_http_close(h);
    } while (failed && n < 5000);
    assert_true(n > 50 && n < 5000);
    cfr_secret_free(&header);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_secrets_are_wiped),
        cmocka_unit_test(test_keys_and_kept_headers_are_wiped),
        cmocka_unit_test(test_every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, start_server, stop_server);
}
