/* SPDX-License-Identifier: MIT */
/* Form bodies: what is escaped, what is left out, and the limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "wire/form.h"

#include <stdio.h>

static void pairs(void **state)
{
    struct cfr_secret body;

    (void)state;
    cfr_secret_init(&body, 1000);
    assert_int_equal(cfr_form_add(&body, "nothing", (struct cfr_view){NULL, 0}, NULL), 0);
    assert_int_equal(body.len, 0);
    assert_int_equal(cfr_form_add(&body, "grant_type", cfr_view_of("client_credentials"), NULL), 0);
    assert_int_equal(cfr_form_add(&body, "empty", cfr_view_of(""), NULL), 0);
    assert_int_equal(cfr_form_add(&body, "client_secret", cfr_view_of("a+b&c=d e~f/%?\"\xc3\xa9"), NULL), 0);
    assert_int_equal(cfr_form_add(&body, "odd key&", cfr_view_of("-._~"), NULL), 0);
    assert_string_equal(body.p, "grant_type=client_credentials"
                                "&client_secret=a%2Bb%26c%3Dd%20e~f%2F%25%3F%22%C3%A9"
                                "&odd%20key%26=-._~");
    cfr_secret_free(&body);
}

static void every_byte(void **state)
{
    struct cfr_secret body;
    char value = '\0';

    (void)state;
    for (int c = 0; c < 256; c++) {
        char want[8];

        value = (char)c;
        cfr_secret_init(&body, 100);
        assert_int_equal(cfr_form_add(&body, "k", (struct cfr_view){&value, 1}, NULL), 0);
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
            c == '_' || c == '~')
            (void)snprintf(want, sizeof want, "k=%c", c);
        else
            (void)snprintf(want, sizeof want, "k=%%%02X", (unsigned)c);
        assert_string_equal(body.p, want);
        cfr_secret_free(&body);
    }
}

static void joined(void **state)
{
    char *scopes[] = {(char[]){"openid"}, (char[]){""}, (char[]){"https://a.example/b c"}};
    struct cfr_secret body;

    (void)state;
    cfr_secret_init(&body, 1000);
    assert_int_equal(cfr_form_add_joined(&body, "scope", scopes, 0, NULL), 0);
    assert_int_equal(cfr_form_add_joined(&body, "scope", scopes + 1, 1, NULL), 0);
    assert_int_equal(body.len, 0);
    assert_int_equal(cfr_form_add_joined(&body, "scope", scopes, 3, NULL), 0);
    assert_int_equal(cfr_form_add_joined(&body, "audience", scopes + 1, 2, NULL), 0);
    assert_string_equal(body.p, "scope=openid%20https%3A%2F%2Fa.example%2Fb%20c"
                                "&audience=https%3A%2F%2Fa.example%2Fb%20c");
    cfr_secret_free(&body);
}

static void limits(void **state)
{
    char *items[] = {(char[]){"aaaa"}, (char[]){"bbbb"}};
    struct cfr_secret body;
    struct cfr_err err = {0};

    (void)state;
    for (size_t limit = 0; limit < 16; limit++) {
        cfr_secret_init(&body, limit);
        assert_int_equal(cfr_form_add_joined(&body, "kk", items, 2, &err), limit < 14 ? CFR_E_LIMIT : 0);
        cfr_secret_free(&body);
        cfr_secret_init(&body, limit);
        assert_int_equal(cfr_form_add_joined(&body, "kk", items, 2, NULL), limit < 14 ? CFR_E_LIMIT : 0);
        cfr_secret_free(&body);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs),
        cmocka_unit_test(every_byte),
        cmocka_unit_test(joined),
        cmocka_unit_test(limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
