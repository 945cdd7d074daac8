/* SPDX-License-Identifier: MIT */
/* Redaction of server messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/redact.h"

#include <stdlib.h>
#include <string.h>

#define SECRET "c2VjcmV0LWtleS1mb3ItZG9jLW9ubHktMDAwMDAw"

static void gives(const char *text, const char *expected)
{
    const struct cfr_view secrets[] = {
        {NULL, 0}, {SECRET, sizeof SECRET - 1}, {"pass/w0rd", 9}, {"ab", 2}, {"correct horse \"battery\"", 23}};
    char out[CFR_REDACT_MAX];

    assert_string_equal(cfr_redact(cfr_view_of(text), secrets, 5, out), expected);
}

static void plain(void **state)
{
    (void)state;
    gives("", "");
    gives("Rate exceeded", "Rate exceeded");
    gives("  a \n\t b\x01"
          "c \xc3\xa9 d  ",
          "a b c d");
    gives("cab abc", "cab abc");
}

static void secrets(void **state)
{
    (void)state;
    gives("key " SECRET " is bad", "key [removed] is bad");
    gives("part \"ZG9jLW9ubHkt\" of it", "part [removed] of it");
    gives("part ZG9jLW9ubHk of it", "part ZG9jLW9ubHk of it");
    gives("x=pass/w0rd;", "[removed]");
    gives("is correct horse \"battery\" right", "is [removed] [removed] [removed] right");
    gives("arn:aws:iam::1:role/" SECRET, "[removed]");
    gives("(correct horse", "[removed] [removed]");
    gives("incorrect hors", "[removed] [removed]");
    gives("orrect\thorse", "orrect [removed]");
}

static void tokens(void **state)
{
    (void)state;
    gives("token eyJhbGciOi.eyJ.sig no", "token [removed] no");
    gives("header=eyJhbGciOi", "[removed]");
    gives("eyJ", "eyJ");
}

static void long_words(void **state)
{
    char word[80];
    char arn[140] = "arn:aws:iam::123456789012:role/";

    (void)state;
    memset(word, 'w', 64);
    word[64] = '\0';
    gives(word, word);
    memset(word, 'w', 65);
    word[65] = '\0';
    gives(word, "[removed]");
    memset(arn + strlen(arn), 'r', 64);
    gives(arn, arn);
    gives("https://oidc.eks.eu-west-1.example.com/id/0123456789ABCDEF0123456789ABCDEF",
          "https://oidc.eks.eu-west-1.example.com/id/0123456789ABCDEF0123456789ABCDEF");
    gives("//iam.googleapis.com/projects/123456789/locations/global/workloadIdentityPools/demo/providers/demo.",
          "//iam.googleapis.com/projects/123456789/locations/global/workloadIdentityPools/demo/providers/demo.");
    gives("https://x.example/?token=012345678901234567890123456789012345678901234567890123456789", "[removed]");
}

static void cut(void **state)
{
    char text[3000];
    char out[CFR_REDACT_MAX];

    (void)state;
    for (size_t n = 150; n < sizeof text; n += n < 260 ? 1 : 100) {
        for (size_t i = 0; i < n; i++)
            text[i] = i % 7 == 6 ? ' ' : 'a';
        (void)cfr_redact((struct cfr_view){text, n}, NULL, 0, out);
        assert_true(strlen(out) <= 203);
        if (n > 200 && text[n - 1] != ' ')
            assert_string_equal(out + strlen(out) - 3, "...");
        if (n <= 200)
            assert_null(strstr(out, "..."));
    }
}

static void our_own_words(void **state)
{
    static const struct cfr_view secrets[] = {
        {SECRET, sizeof SECRET - 1}, {"token", 5}, {"\x01pass/w0rd", 10}, {"not the secret", 14}};
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"", ""},
        {"its secret is wrong", "its secret is wrong"},
        {"arn:aws:sts::1:assumed-role/r/" SECRET, "[removed]"},
        {"a  token of\n'ZG9jLW9ubHkt', caf\xc3\xa9", "a  *** of\n[removed] caf\xc3\xa9"},
        {"tokens, mytoken, token@Default, (token), token", "tokens, mytoken, [removed] *** ***"},
        {"it is not the  secret", "it is not the  secret"},
        {"it is <not the secret> here", "it is *** *** *** here"},
        {"the secret lies", "the secret lies"},
        {"t the secret", "* *** ***"},
        {"pass/w0rd twice pass/w0rd", "[removed] twice [removed]"},
        {"eyJhbGciOiJub25lIn0", "eyJhbGciOiJub25lIn0"},
    };
    char text[200];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)strcpy(text, cases[i].in);
        assert_string_equal(cfr_redact_secrets(text, secrets, 4), cases[i].out);
    }
}

/* A text is looked at in pieces. */
static void a_long_text(void **state)
{
    const struct cfr_view secret = {SECRET, sizeof SECRET - 1};
    char text[6000];

    (void)state;
    for (size_t at = 2000; at < 2100; at++) {
        memset(text, 'a', sizeof text - 1);
        text[sizeof text - 1] = '\0';
        for (size_t i = 9; i < sizeof text - 1; i += 10)
            text[i] = ' ';
        memcpy(text + at, SECRET, sizeof SECRET - 1);
        memcpy(text + 5900, SECRET, sizeof SECRET - 1);
        (void)cfr_redact_secrets(text, &secret, 1);
        assert_null(strstr(text, "c2VjcmV0LWtl"));
        assert_null(strstr(text, "bHktMDAwMDAw"));
        assert_non_null(strstr(text, "[removed]"));
    }
}

/* Nothing behind it is read. */
static void a_text_that_ends_anywhere(void **state)
{
    const struct cfr_view secret = {SECRET, sizeof SECRET - 1};
    char out[CFR_REDACT_MAX];

    (void)state;
    for (size_t n = 0; n < sizeof SECRET; n++) {
        char *text = malloc(n + 1);

        assert_non_null(text);
        memcpy(text, SECRET, n);
        text[n] = '\0';
        (void)cfr_redact_secrets(text, &secret, 1);
        memcpy(text, SECRET, n);
        text = realloc(text, n != 0 ? n : 1);
        assert_non_null(text);
        assert_int_equal(strcmp(cfr_redact((struct cfr_view){text, n}, &secret, 1, out), "[removed]") == 0, n >= 12);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain),       cmocka_unit_test(secrets),
        cmocka_unit_test(tokens),      cmocka_unit_test(long_words),
        cmocka_unit_test(cut),         cmocka_unit_test(our_own_words),
        cmocka_unit_test(a_long_text), cmocka_unit_test(a_text_that_ends_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
