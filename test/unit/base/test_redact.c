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
          "a b c \xc3\xa9 d");
    gives("cab abc", "cab abc");
}

/* Letters of any script are shown; what is no letter there becomes a blank, as in ASCII. */
static void other_scripts(void **state)
{
    char text[400] = "";
    char out[CFR_REDACT_MAX];

    (void)state;
    gives("subject CN=Z\xc3\xbcrich \xc3\x9cnit, O=\xc3\x86ther",
          "subject CN=Z\xc3\xbcrich \xc3\x9cnit, O=\xc3\x86ther");
    gives("half \xc3 bad\xff\xe2\x80\xaetext \xc2\x85 end", "half bad text end");
    gives("Z\xc3\xbcrich:" SECRET, "[removed]");
    gives("\xe2\x80\x9epass/w0rd\xe2\x80\x9c", "[removed]");
    gives("\xc3\xbc"
          "eyJhbGciOi.eyJ.sig",
          "[removed]");
    gives("\xc3\xbc"
          "0123456789012345678901234567890123456789012345678901234567890123456789",
          "[removed]");
    for (size_t i = 0; i < 120; i++)
        (void)strcat(text, "\xe2\x82\xac");
    gives("\xe2\x82\xac", "\xe2\x82\xac");
    /* Cut at a character. */
    assert_string_equal(cfr_redact(cfr_view_of(text), NULL, 0, out) + 66 * 3, "...");
    assert_true(cfr_view_is_text(cfr_view_of(out)));
}

/* A secret may have letters of any script. */
static void a_secret_in_another_script(void **state)
{
    const struct cfr_view secret[] = {{"\xc3\x9c\xc3\xbc\xc3\xb6\xc3\xa4", 8}, {"gr\xc3\xbcn-licht", 11}};
    char out[CFR_REDACT_MAX];

    (void)state;
    assert_string_equal(
        cfr_redact(cfr_view_of("is \xc3\x9c\xc3\xbc\xc3\xb6\xc3\xa4, \xc3\xbc gr\xc3\xbcn-licht gr\xc3\xbcn"), secret,
                   2, out),
        "is [removed] \xc3\xbc [removed] gr\xc3\xbcn");
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
        cmocka_unit_test(other_scripts), cmocka_unit_test(a_secret_in_another_script),
        cmocka_unit_test(plain),         cmocka_unit_test(secrets),
        cmocka_unit_test(tokens),        cmocka_unit_test(long_words),
        cmocka_unit_test(cut),           cmocka_unit_test(our_own_words),
        cmocka_unit_test(a_long_text),   cmocka_unit_test(a_text_that_ends_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
