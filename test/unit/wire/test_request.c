/* SPDX-License-Identifier: MIT */
/* HTTP requests: their headers, and their end. */
#include "unit.h"

#include "heap_watch.h"
#include "wire/request.h"

#include <stdlib.h>

static void headers(void **state)
{
    struct cfr_wire_request r = {.method = "GET"};

    (void)state;
    assert_int_equal(cfr_wire_request_header(&r, "X-One", cfr_view_of("a: b"), NULL), 0);
    assert_int_equal(cfr_wire_request_header(&r, "X-Two", cfr_view_of(""), NULL), 0);
    assert_int_equal(r.header_count, 2);
    assert_view(cfr_secret_view(&r.headers[0]), "X-One: a: b");
    assert_view(cfr_secret_view(&r.headers[1]), "X-Two: ");
    cfr_wire_request_free(&r);
    assert_int_equal(r.header_count, 0);
    assert_null(r.method);
    cfr_wire_request_free(&r);
}

/* A value must never become a second header. */
static void line_breaks(void **state)
{
    static const struct cfr_view values[] = {{"a\r", 2}, {"\nb: c", 5}, {"a\0b", 3}};
    struct cfr_wire_request r = {.method = "GET"};

    (void)state;
    for (size_t i = 0; i < COUNT(values); i++) {
        struct cfr_err err = {0};

        assert_int_equal(cfr_wire_request_header(&r, "X", values[i], &err), CFR_E_INTERNAL);
        assert_non_null(strstr(err.text, "header X"));
        assert_int_equal(r.header_count, 0);
    }
}

static void limits(void **state)
{
    struct cfr_wire_request r = {.method = "GET"};
    char *longest = malloc(CFR_WIRE_HEADER_MAX);

    (void)state;
    assert_non_null(longest);
    memset(longest, 'a', CFR_WIRE_HEADER_MAX);
    assert_int_equal(cfr_wire_request_header(&r, "X", (struct cfr_view){longest, CFR_WIRE_HEADER_MAX}, NULL),
                     CFR_E_LIMIT);
    assert_int_equal(r.header_count, 0);
    while (r.header_count < CFR_WIRE_HEADERS_MAX)
        assert_int_equal(cfr_wire_request_header(&r, "X", cfr_view_of("a"), NULL), 0);
    assert_int_equal(cfr_wire_request_header(&r, "X", cfr_view_of("a"), NULL), CFR_E_INTERNAL);
    cfr_wire_request_free(&r);
    free(longest);
}

static void store(struct cfr_secret *to, const char *secret)
{
    cfr_secret_init(to, 100);
    assert_int_equal(cfr_secret_append_str(to, secret, NULL), 0);
}

/* Neither the end of a request nor a header that does not fit leaves a secret in freed memory. */
static void the_end_wipes_every_secret(void **state)
{
    static const char secret[] = "Bearer SESAME-0123456789";
    struct cfr_wire_request r = {.method = "GET"};
    char *large = calloc(1, CFR_WIRE_HEADER_MAX + 1);

    (void)state;
    assert_non_null(large);
    assert_int_equal(cfr_wire_request_header(&r, "Authorization", cfr_view_of(secret), NULL), 0);
    assert_int_equal(cfr_wire_request_header(&r, "X-Auth-Token", cfr_view_of(secret), NULL), 0);
    store(&r.body, secret);
    store(&r.client_cert, secret);
    store(&r.client_key, secret);
    heap_watch(secret);
    /* What came before the value is a secret if the name is one. */
    memset(large, 'a', CFR_WIRE_HEADER_MAX);
    assert_int_equal(cfr_wire_request_header(&r, secret, cfr_view_of(large), NULL), CFR_E_LIMIT);
    assert_int_equal(heap_frees, 1);
    cfr_wire_request_free(&r);
    assert_int_equal(heap_frees, 6);
    assert_int_equal(heap_leaks, 0);
    heap_watch(NULL);
    free(large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers),
        cmocka_unit_test(line_breaks),
        cmocka_unit_test(limits),
        cmocka_unit_test(the_end_wipes_every_secret),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
