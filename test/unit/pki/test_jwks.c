/* SPDX-License-Identifier: MIT */
/* Verification of tokens by a key set: golden tokens that another library signed (test/data/jwks), and key sets that
 * are none. */
#include "pki/jwks.h"

#include "base/json.h"
#include "data_file.h"
#include "base/base64.h"

#include "unit.h"

/* Of the token's header, read by hand: some of these tokens are none to others. */
static struct cfr_jwks_token token_of(struct cfr_view text, struct cfr_json **header)
{
    static char json[4096];
    struct cfr_secret bytes;
    ptrdiff_t dot = cfr_view_find(text, ".");

    assert_true(dot > 0);
    cfr_secret_init(&bytes, sizeof json);
    assert_int_equal(cfr_base64url_decode((struct cfr_view){text.p, (size_t)dot}, &bytes, NULL), 0);
    assert_int_equal(cfr_json_parse(cfr_secret_view(&bytes), header, NULL), 0);
    cfr_secret_free(&bytes);
    return (struct cfr_jwks_token){text, cfr_json_text(*header, "alg"), cfr_json_text(*header, "kid")};
}

static void check_cases(const char *set, const char *cases, size_t count)
{
    struct cfr_view jwks = data_file_read(set);
    struct cfr_view file = data_file_read(cases);
    struct cfr_view rest = file;
    struct cfr_view columns[3];
    size_t rows = 0;

    for (; data_file_row(&rest, columns, 3); rows++) {
        struct cfr_json *header = NULL;
        struct cfr_jwks_token token = token_of(columns[2], &header);
        struct cfr_err err = {.text = ""};
        size_t keys = 0;
        int rc = cfr_jwks_verify(jwks, &token, &keys, &err);
        char part[256];

        (void)snprintf(part, sizeof part, "%.*s", (int)columns[1].n, columns[1].p);
        if (!cfr_view_is(columns[0], rc == 0 ? "ok" : cfr_err_name(rc)))
            fail_msg("%.*s, not %s: %s", (int)columns[0].n, columns[0].p, cfr_err_name(rc), err.text);
        assert_contains(err.text, part);
        assert_int_equal(keys, count);
        cfr_json_free(header);
    }
    assert_true(rows > 2);
    data_file_free(file);
    data_file_free(jwks);
}

static void golden_tokens(void **state)
{
    (void)state;
    check_cases("jwks/set.json", "jwks/cases.txt", 17);
    check_cases("jwks/one.json", "jwks/cases-one.txt", 1);
}

static void what_is_no_key_set(void **state)
{
    static const char *const sets[][2] = {
        {"", "the key set is "},
        {"<html>", "the key set is "},
        {"[]", "no array `keys`"},
        {"{\"keys\":{}}", "no array `keys`"},
        {"{\"issuer\":\"x\"}", "no array `keys`"},
    };
    const struct cfr_jwks_token token = {LITERAL("a.b.c"), LITERAL("RS256"), LITERAL("k")};
    struct cfr_err err = {.text = ""};
    char *large = malloc(CFR_JWKS_MAX + 2);
    size_t keys;

    (void)state;
    for (size_t i = 0; i < COUNT(sets); i++) {
        assert_int_equal(cfr_jwks_verify(cfr_view_of(sets[i][0]), &token, &keys, &err), CFR_E_ANSWER);
        assert_contains(err.text, sets[i][1]);
    }
    assert_non_null(large);
    memset(large, ' ', CFR_JWKS_MAX + 1);
    assert_int_equal(cfr_jwks_verify((struct cfr_view){large, CFR_JWKS_MAX + 1}, &token, &keys, &err), CFR_E_ANSWER);
    assert_contains(err.text, "larger than");
    free(large);
    assert_int_equal(cfr_jwks_verify(LITERAL("{\"keys\":[]}"), &token, &keys, &err), CFR_E_MISSING);
    assert_string_equal(err.text, "no key with kid k is among the 0 keys");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_tokens),
        cmocka_unit_test(what_is_no_key_set),
    };

    cfr_json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
