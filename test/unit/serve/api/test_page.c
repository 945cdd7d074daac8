/* SPDX-License-Identifier: MIT */
/* The status page with hostile texts and with too many credentials; test_golden.c compares whole pages. */
#include "serve/api/page_private.h"
#include "serve/api/status_private.h"

#include "serve_sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>

static struct cfr_str out;

static int begin(void **state)
{
    (void)state;
    out = (struct cfr_str){.limit = CFR_API_STATUS_PAGE_MAX};
    return 0;
}

static int end(void **state)
{
    (void)state;
    cfr_str_free(&out);
    return 0;
}

static void has(const char *part)
{
    if (strstr(out.p, part) == NULL)
        fail_msg("\"%s\" is not in: %s", part, out.p);
}

static size_t count_of(const char *part)
{
    size_t n = 0;

    for (const char *at = strstr(out.p, part); at != NULL; at = strstr(at + 1, part))
        n++;
    return n;
}

static void test_the_policy_allows_the_style(void **state)
{
    struct cfr_api_status s = sample_status(0);
    unsigned char hash[SHA256_DIGEST_LENGTH];
    struct cfr_str want = {.limit = 200};
    char base64[64];
    const char *style;
    size_t n;

    (void)state;
    cfr_api_status_page(&s, &out);
    style = strstr(out.p, "<style>") + strlen("<style>");
    n = (size_t)(strstr(style, "</style>") - style);
    (void)SHA256((const unsigned char *)style, n, hash);
    (void)EVP_EncodeBlock((unsigned char *)base64, hash, sizeof hash);
    cfr_str_addf(&want, "style-src 'sha256-%s';", base64);
    if (strstr(cfr_api_status_page_policy, want.p) == NULL)
        fail_msg("the policy needs %s", want.p);
    assert_null(strstr(cfr_api_status_page_policy, "unsafe"));
    cfr_str_free(&want);
}

static void test_texts_are_escaped(void **state)
{
    static const struct {
        const char *text;
        const char *want;
    } rows[] = {
        {"plain", "plain"},
        {"<script>alert('x')</script>", "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;"},
        {"\" onload=\"x", "&quot; onload=&quot;x"},
        {"&lt;", "&amp;lt;"},
        {"t\xc3\xb6ken", "t\xc3\xb6ken"},
        {"a\nb\tc\x1b[31m", "a?b?c?[31m"},
        {"\xff\xc3", "??"},
        {"\xc0\xbcscript", "??script"}, /* `<` in more bytes than it needs */
        {"\xe2\x80\xa8"
         "evil",
         "?evil"}, /* line separator */
        {"\xc2\x9b"
         "1m",
         "?1m"}, /* C1 */
        {"\xf0\x9f\x94\x91", "\xf0\x9f\x94\x91"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cfr_str_free(&out);
        out = (struct cfr_str){.limit = 1000};
        cfr_api_page_text(&out, rows[i].text);
        assert_string_equal(out.p, rows[i].want);
    }
    cfr_str_free(&out);
    cfr_api_page_text(&out, NULL);
    assert_null(out.p);
}

/* Every text of a status that others may choose. */
static void test_no_text_is_markup(void **state)
{
    static const char evil[] = "<img src=x onerror=alert(1)>\"'&";
    const struct cfr_api_status_hook hook = {.name = evil, .result = "failed", .error = evil, .generation = 1};
    const struct cfr_api_status_consumer consumer = {.name = evil};
    struct cfr_api_status s = sample_status(1);
    struct cfr_api_status_credential *c = s.ctx;

    (void)state;
    s.version = evil;
    c->name = c->identity = c->error = c->token_note = c->provider = evil;
    c->error_code = CFR_E_DENIED;
    c->hooks = c->deliveries = &hook;
    c->hook_count = c->delivery_count = 1;
    c->consumers = &consumer;
    c->consumer_count = 1;
    c->mint = (struct cfr_api_status_mint){.state = "UPDATE_FAILED", .subject = evil, .error = evil};
    cfr_api_status_page(&s, &out);
    assert_false(out.failed);
    assert_null(strstr(out.p, "<img"));
    assert_null(strstr(out.p, "\"'&"));
    assert_int_equal(count_of("&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;"), 13);
}

static void get_many(void *ctx, size_t index, struct cfr_api_status_credential *c)
{
    (void)ctx;
    *c = sample_credentials[index == 9000 ? 2 : index == 9500 ? 1 : 3];
}

static void test_too_many(void **state)
{
    struct cfr_api_status s = sample_status(0);

    (void)state;
    s.get = get_many;
    s.count = 10000;
    cfr_api_status_page(&s, &out);
    assert_false(out.failed);
    assert_int_equal(count_of("<section"), CFR_API_STATUS_PAGE_CREDENTIALS);
    has("<h1>9998 of 10000 credentials ready</h1>");
    has("9800 more are not shown");
    assert_true(strstr(out.p, "<h2>cache</h2>") < strstr(out.p, "<h2>t\xc3\xb6ken</h2>"));
    assert_true(strstr(out.p, "<h2>t\xc3\xb6ken</h2>") < strstr(out.p, "<h2>static</h2>"));
    assert_true(out.len < 400000);
}

static void test_lives(void **state)
{
    struct cfr_api_status_credential c = {.published = true, .issued_s = 1000, .expires_s = 2000, .refresh_s = 1750};

    (void)state;
    cfr_api_page_life(&out, &c, 1500);
    has("aria-label=\"50 % of the lifetime is left\"");
    has("<rect class=\"left\" width=\"500\" height=\"12\"/>");
    has("<rect class=\"due\" x=\"250\"");
    cfr_str_free(&out);
    cfr_api_page_life(&out, &c, 999);
    has("class=\"left\" width=\"1000\"");
    cfr_str_free(&out);
    c.refresh_s = 2100; /* a retry after the end */
    cfr_api_page_life(&out, &c, INT64_MAX);
    has("class=\"left\" width=\"0\"");
    assert_null(strstr(out.p, "due"));
    cfr_str_free(&out);
    c.expires_s = 0; /* never */
    cfr_api_page_life(&out, &c, 1500);
    assert_null(out.p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_policy_allows_the_style, begin, end),
        cmocka_unit_test_setup_teardown(test_texts_are_escaped, begin, end),
        cmocka_unit_test_setup_teardown(test_no_text_is_markup, begin, end),
        cmocka_unit_test_setup_teardown(test_too_many, begin, end),
        cmocka_unit_test_setup_teardown(test_lives, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
