/* SPDX-License-Identifier: MIT */
/* Views of borrowed bytes. */
#include "unit.h"

#include "base/view_private.h"

static const struct cfr_view none = {NULL, 0};

static void comparing(void **state)
{
    (void)state;
    assert_view(cfr_view_of(NULL), "");
    assert_view(cfr_view_of("ab"), "ab");
    assert_true(cfr_view_eq(none, LITERAL("")));
    assert_true(cfr_view_is(LITERAL("ab"), "ab"));
    assert_false(cfr_view_is(LITERAL("ab\0"), "ab"));
    assert_false(cfr_view_is(LITERAL("ab"), "abc"));
    assert_true(cfr_view_is(none, ""));
    assert_true(cfr_view_is_nocase(LITERAL("HTTP"), "http"));
    assert_true(cfr_view_is_nocase(none, ""));
    assert_false(cfr_view_is_nocase(LITERAL("HTTPS"), "http"));
    assert_false(cfr_view_is_nocase(LITERAL("a\0c"), "abc"));
    assert_true(cfr_view_starts(LITERAL("abc"), "ab"));
    assert_true(cfr_view_starts(none, ""));
    assert_false(cfr_view_starts(none, "a"));
    assert_false(cfr_view_starts(LITERAL("ab"), "abc"));
}

static void finding_and_trimming(void **state)
{
    (void)state;
    assert_int_equal(cfr_view_find(LITERAL("a\0bc"), "bc"), 2);
    assert_int_equal(cfr_view_find(LITERAL("abc"), "d"), -1);
    assert_int_equal(cfr_view_find(none, "d"), -1);
    assert_view(cfr_view_trim(LITERAL(" \t\r\n a b \n")), "a b");
    assert_view(cfr_view_trim(LITERAL(" \n ")), "");
    assert_view(cfr_view_trim(none), "");
}

static void integers(void **state)
{
    static const struct {
        const char *text;
        bool ok;
        int64_t value;
    } cases[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"+7", true, 7},
        {"007", true, 7},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0},
        {"99999999999999999999999", false, 0},
        {"", false, 0},
        {"-", false, 0},
        {"+", false, 0},
        {"--1", false, 0},
        {" 1", false, 0},
        {"1 ", false, 0},
        {"0x1", false, 0},
        {"1.0", false, 0},
        {"1e3", false, 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t value = 0;

        if (cfr_view_int(cfr_view_of(cases[i].text), &value) != cases[i].ok || value != cases[i].value)
            fail_msg("%s", cases[i].text);
    }
}

static void printable(void **state)
{
    (void)state;
    assert_true(cfr_view_printable(LITERAL(" az~")));
    assert_true(cfr_view_printable(none));
    assert_false(cfr_view_printable(LITERAL("\x1f")));
    assert_false(cfr_view_printable(LITERAL("\x7f")));
    assert_false(cfr_view_printable(LITERAL("\xc3\xa9")));
    assert_false(cfr_view_printable(LITERAL("a\0")));
}

static void utf8(void **state)
{
    static const struct {
        struct cfr_view in;
        size_t n;
    } cases[] = {
        {{"", 0}, 0},
        {{"a", 1}, 1},
        {{"\0", 1}, 1},
        {{"\x7f", 1}, 1},
        {{"\x80", 1}, 0},
        {{"\xc1\xbf", 2}, 0},
        {{"\xc2\x80", 2}, 2},
        {{"\xdf\xbfx", 3}, 2},
        {{"\xdf", 1}, 0},
        {{"\xe0\x9f\xbf", 3}, 0},
        {{"\xe0\xa0\x80", 3}, 3},
        {{"\xed\x9f\xbf", 3}, 3},
        {{"\xed\xa0\x80", 3}, 0},
        {{"\xef\xbf\xbf", 3}, 3},
        {{"\xe2\x28\xa1", 3}, 0},
        {{"\xf0\x8f\xbf\xbf", 4}, 0},
        {{"\xf0\x90\x80\x80", 4}, 4},
        {{"\xf4\x8f\xbf\xbf", 4}, 4},
        {{"\xf4\x90\x80\x80", 4}, 0},
        {{"\xf5\x80\x80\x80", 4}, 0},
        {{"\xff", 1}, 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (cfr_view_utf8_len(cases[i].in) != cases[i].n)
            fail_msg("case %zu", i);
    }
}

/* Eight bytes are looked at together: a byte that is no UTF-8, and one that begins a sequence, at each place. */
static void utf8_prefixes(void **state)
{
    char text[21];

    (void)state;
    for (size_t at = 0; at < sizeof text; at++) {
        memset(text, 'x', sizeof text);
        text[at] = '\xff';
        assert_int_equal(cfr_view_utf8_prefix((struct cfr_view){text, sizeof text}), at);
        assert_false(cfr_view_is_utf8((struct cfr_view){text, sizeof text}));
        assert_true(cfr_view_is_utf8((struct cfr_view){text, at}));
        if (at + 1 == sizeof text)
            continue;
        text[at] = '\xc3';
        assert_int_equal(cfr_view_utf8_prefix((struct cfr_view){text, sizeof text}), at);
        text[at + 1] = '\xa9';
        assert_int_equal(cfr_view_utf8_prefix((struct cfr_view){text, sizeof text}), sizeof text);
        assert_int_equal(cfr_view_utf8_prefix((struct cfr_view){text, at + 1}), at);
    }
    assert_int_equal(cfr_view_utf8_prefix((struct cfr_view){NULL, 0}), 0);
}

static void lines(void **state)
{
    struct cfr_view rest = LITERAL("one\r\n\nthree");
    struct cfr_view line;

    (void)state;
    assert_true(cfr_view_line(&rest, &line));
    assert_view(line, "one\r");
    assert_true(cfr_view_line(&rest, &line));
    assert_view(line, "");
    assert_true(cfr_view_line(&rest, &line));
    assert_view(line, "three");
    assert_false(cfr_view_line(&rest, &line));
    rest = LITERAL("x\n");
    assert_true(cfr_view_line(&rest, &line));
    assert_view(line, "x");
    assert_false(cfr_view_line(&rest, &line));
}

static void shown(void **state)
{
    static const struct {
        struct cfr_view in;
        size_t size;
        const char *out;
    } cases[] = {
        {{"", 0}, 4, ""},
        {{NULL, 0}, 4, ""},
        {{"abc", 3}, 4, "abc"},
        {{"abcd", 4}, 4, "..."},
        {{"abcdefgh", 8}, 8, "abcd..."},
        {{"a\x1b[2J\r\n\t\x7f", 9}, 20, "a?[2J????"},
        {{"a\0b", 3}, 20, "a?b"},
        {{"\x80\x9b\x9f\xa0\xff", 5}, 20, "?????"},      /* bare bytes, which Latin-1 terminals obey */
        {{"\xc2\x80\xc2\x9b\xc2\x9f", 6}, 20, "??????"}, /* C1 */
        {{"\xc2\xa0\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x91", 11}, 20, "\xc2\xa0\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x91"},
        {{"\xc0\x9b\xed\xa0\x80", 5}, 20, "?????"},      /* overlong, a surrogate */
        {{"a\xe2\x82", 3}, 20, "a??"},                   /* cut */
        {{"12\xe2\x82\xac\xe2\x82\xac", 8}, 8, "12..."}, /* cut at a character */
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char out[24];

        memset(out, 'x', sizeof out);
        assert_string_equal(cfr_view_show(cases[i].in, out, cases[i].size), cases[i].out);
        assert_true(cases[i].size == sizeof out || out[cases[i].size] == 'x');
        assert_int_equal(cfr_view_is_text(cases[i].in), strchr(cases[i].out, '?') == NULL);
        /* In place, too. */
        if (cases[i].in.n < cases[i].size) {
            if (cases[i].in.n != 0)
                memcpy(out, cases[i].in.p, cases[i].in.n);
            assert_string_equal(cfr_view_show((struct cfr_view){out, cases[i].in.n}, out, cases[i].size), cases[i].out);
        }
    }
}

static size_t encode(uint32_t c, char out[5])
{
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

    for (size_t i = n; i-- > 1; c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(n == 1 ? c : (0xf00U >> n & 0xff) | c);
    out[n] = '\0';
    return n;
}

static void invisible_characters_are_not_shown(void **state)
{
    static const uint32_t no[] = {0x1b,    0x7f,     0x85,     0x9b,    0xad,    0x600,   0x605,   0x61c,   0x6dd,
                                  0x70f,   0x890,    0x8e2,    0x180e,  0x200b,  0x200f,  0x2028,  0x2029,  0x202e,
                                  0x2060,  0x2066,   0x206f,   0xe000,  0xf8ff,  0xfdd0,  0xfdef,  0xfeff,  0xfff9,
                                  0xfffb,  0xfffe,   0xffff,   0x110bd, 0x110cd, 0x13430, 0x1343f, 0x1bca0, 0x1d173,
                                  0x1d17a, 0x1fffe,  0x2ffff,  0xe0000, 0xe0001, 0xe0041, 0xe007f, 0xe0100, 0xf0000,
                                  0xffffd, 0x100000, 0x10fffd, 0x10ffff};
    static const uint32_t yes[] = {0x20,    0x7e,    0xa0,    0xac,    0xae,    0x5ff,   0x606,  0x61b,  0x61d,
                                   0x700,   0x180d,  0x180f,  0x200a,  0x2010,  0x2027,  0x202f, 0x205f, 0x2070,
                                   0xd7ff,  0xf900,  0xfdcf,  0xfdf0,  0xfefe,  0xff01,  0xfff8, 0xfffc, 0xfffd,
                                   0x10000, 0x1d172, 0x1d17b, 0x1f511, 0x1fffd, 0xdfffd, 0xe1000};
    char in[5];
    char out[8];

    (void)state;
    for (size_t i = 0; i < COUNT(no); i++) {
        size_t n = encode(no[i], in);

        if (strncmp(cfr_view_show(cfr_view_of(in), out, sizeof out), "????", n) != 0 || out[n] != '\0' ||
            cfr_view_is_text(cfr_view_of(in)))
            fail_msg("U+%04X is shown", (unsigned)no[i]);
    }
    for (size_t i = 0; i < COUNT(yes); i++) {
        (void)encode(yes[i], in);
        if (strcmp(cfr_view_show(cfr_view_of(in), out, sizeof out), in) != 0 || !cfr_view_is_text(cfr_view_of(in)))
            fail_msg("U+%04X is not shown", (unsigned)yes[i]);
    }
}

static void what_bytes_look_like(void **state)
{
    static const struct {
        const char *text;
        size_t n; /* 0 = strlen */
        enum cfr_view_form form;
    } cases[] = {
        {"", 0, CFR_FORM_EMPTY},
        {" \n", 0, CFR_FORM_EMPTY},
        {"\xff\xfe{\0", 4, CFR_FORM_UTF16},
        {"\xfe\xff\0{", 4, CFR_FORM_UTF16},
        {"e\0y\0J\0", 6, CFR_FORM_UTF16},
        {"\0e\0y\0J", 6, CFR_FORM_UTF16},
        {"\xef\xbb\xbfsecret", 0, CFR_FORM_MARKED},
        {"\x1f\x8b\x08", 3, CFR_FORM_ARCHIVE},
        {"\x30\x82\x01\x02", 4, CFR_FORM_DER},
        {"caf\xe9", 0, CFR_FORM_BINARY},
        {"a\0bcd", 5, CFR_FORM_BINARY},
        {"\"eyJ.a.b\"\n", 0, CFR_FORM_QUOTED},
        {"'x'", 0, CFR_FORM_QUOTED},
        {"Bearer eyJ.a.b", 0, CFR_FORM_HEADER},
        {"authorization: Basic x", 0, CFR_FORM_HEADER},
        {"{\"token\": \"x\"}", 0, CFR_FORM_JSON},
        {"[{}]", 0, CFR_FORM_JSON},
        {"[default]\na = b\n", 0, CFR_FORM_INI},
        {"-----BEGIN CERTIFICATE-----\n", 0, CFR_FORM_CERTIFICATE},
        {"-----BEGIN CERTIFICATE REQUEST-----\n", 0, CFR_FORM_REQUEST},
        {"-----BEGIN EC PRIVATE KEY-----\n", 0, CFR_FORM_KEY},
        {"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n", 0, CFR_FORM_ENCRYPTED_KEY},
        {"-----BEGIN ENCRYPTED PRIVATE KEY-----\n", 0, CFR_FORM_ENCRYPTED_KEY},
        {"-----BEGIN OPENSSH PRIVATE KEY-----\n", 0, CFR_FORM_OPENSSH_KEY},
        {"-----BEGIN PUBLIC KEY-----\n", 0, CFR_FORM_PUBLIC_KEY},
        {"-----BEGIN PGP MESSAGE-----\n", 0, CFR_FORM_PEM},
        {"eyJhbGciOiJSUzI1NiJ9.e30.x", 0, CFR_FORM_JWT},
        {"eyJhbGciOiJSUzI1NiJ9", 0, CFR_FORM_BASE64_JSON},
        {"ZXlKaGJHY2lPaUo", 0, CFR_FORM_BASE64_JWT},
        {"LS0tLS1CRUdJTiBDRVJU", 0, CFR_FORM_BASE64_PEM},
        {"<!DOCTYPE html>", 0, CFR_FORM_MARKUP},
        {"apiVersion: v1\nkind: Secret\n", 0, CFR_FORM_MANIFEST},
        {"wJalrXUtnFEMI/K7MDENG", 0, CFR_FORM_TEXT},
        {"version: 1\n", 0, CFR_FORM_TEXT},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cfr_view text = {cases[i].text, cases[i].n != 0 ? cases[i].n : strlen(cases[i].text)};

        assert_int_equal(cfr_view_form(text), cases[i].form);
        assert_null(cfr_view_mistake(text, cases[i].form));
    }
    assert_string_equal(cfr_view_mistake(cfr_view_of("{}"), CFR_FORM_JWT), "JSON");
    assert_null(cfr_view_mistake(cfr_view_of("opaque"), CFR_FORM_JWT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_bytes_look_like),
        cmocka_unit_test(comparing),
        cmocka_unit_test(finding_and_trimming),
        cmocka_unit_test(integers),
        cmocka_unit_test(printable),
        cmocka_unit_test(utf8),
        cmocka_unit_test(utf8_prefixes),
        cmocka_unit_test(lines),
        cmocka_unit_test(shown),
        cmocka_unit_test(invisible_characters_are_not_shown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
