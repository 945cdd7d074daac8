/* SPDX-License-Identifier: MIT */
/* Error tables: which row matches, and what the error text contains and omits. */
#include "unit.h"

#include "base/err.h"
#include "base/error_table.h"

#define LONG_HINT                                                                                                      \
    "ten words of advice, ten words of advice, ten words of advice, ten words of advice, ten words of "                \
    "advice, ten words "                                                                                               \
    "of advice, ten words of advice, ten words of advice, ten words of advice, ten words of advice, ten "              \
    "words of advice, "                                                                                                \
    "ten words of advice, the last"

static const struct cfr_error_table_row rows[] = {
    {"denied", "audience", 0, CFR_E_TOKEN, "correct the audience"},
    {"denied", NULL, 403, CFR_E_DENIED, "let {who} in"},
    {"denied", NULL, 0, CFR_E_REJECTED, "whatever"},
    {NULL, "no such pool", 0, CFR_E_REJECTED, "make the pool"},
    {"long", NULL, 0, CFR_E_DENIED, LONG_HINT},
    {"one another third", NULL, 0, CFR_E_IDP, "as for the others"},
    {NULL, NULL, 418, CFR_E_THROTTLED, "wait for the tea"},
    {0},
};

static void says(struct cfr_error_table r, int code, const char *text)
{
    struct cfr_err err = {0};

    r.rows = rows;
    assert_int_equal(cfr_error_table_set(&r, &err), code);
    assert_int_equal(err.code, code);
    assert_string_equal(err.text, text);
    assert_int_equal(cfr_error_table_set(&r, NULL), code);
}

static void the_first_row_that_fits(void **state)
{
    struct cfr_error_table r = {.status = 403, .code = cfr_view_of("denied"), .message = cfr_view_of("Bad Audience!")};

    (void)state;
    says(r, CFR_E_TOKEN, "denied: Bad Audience! (HTTP 403): correct the audience");
    r.message = cfr_view_of("no");
    r.request_id = cfr_view_of("77");
    says(r, CFR_E_DENIED, "denied: no (HTTP 403, request 77): let the caller in");
    r.status = 400;
    says(r, CFR_E_REJECTED, "denied: no (HTTP 400, request 77): whatever");
    r.code = cfr_view_of("other");
    r.message = cfr_view_of("there is NO SUCH POOL here");
    says(r, CFR_E_REJECTED, "other: there is NO SUCH POOL here (HTTP 400, request 77): make the pool");
    r = (struct cfr_error_table){.status = 418};
    says(r, CFR_E_THROTTLED, "HTTP 418 without an error code: wait for the tea");
    r.message = cfr_view_of("plain text");
    says(r, CFR_E_THROTTLED, "plain text (HTTP 418): wait for the tea");
    r.code = cfr_view_of("deniedx");
    says(r, CFR_E_THROTTLED, "deniedx: plain text (HTTP 418): wait for the tea");
    assert_ptr_equal(cfr_error_table_find(rows, 400, cfr_view_of("denied"), cfr_view_of("")), &rows[2]);
    assert_null(cfr_error_table_find(rows, 400, cfr_view_of("x"), cfr_view_of("such pool")));
    assert_ptr_equal(cfr_error_table_find(rows, 400, cfr_view_of("another"), cfr_view_of("")), &rows[5]);
    assert_ptr_equal(cfr_error_table_find(rows, 400, cfr_view_of("third"), cfr_view_of("")), &rows[5]);
    assert_null(cfr_error_table_find(rows, 400, cfr_view_of("another third"), cfr_view_of("")));
    assert_null(cfr_error_table_find(rows, 400, cfr_view_of("thir"), cfr_view_of("")));
    assert_null(cfr_error_table_find(rows, 400, cfr_view_of(""), cfr_view_of("")));
}

static void the_caller(void **state)
{
    struct cfr_error_table r = {.status = 403, .code = cfr_view_of("denied"), .who = cfr_view_of("me\n\x01you")};
    char longest[300];

    (void)state;
    says(r, CFR_E_DENIED, "denied (HTTP 403): let \"me you\" in");
    r.who_is = "subject";
    says(r, CFR_E_DENIED, "denied (HTTP 403): let subject \"me you\" in");
    r.who = (struct cfr_view){NULL, 0};
    says(r, CFR_E_DENIED, "denied (HTTP 403): let the subject in");
    memset(longest, 'a', sizeof longest);
    for (size_t i = 10; i < sizeof longest; i += 11)
        longest[i] = ' ';
    r.who = (struct cfr_view){longest, sizeof longest};
    {
        struct cfr_err err = {0};

        r.rows = rows;
        assert_int_equal(cfr_error_table_set(&r, &err), CFR_E_DENIED);
        assert_contains(err.text, "aaa...\" in");
    }
}

static void no_secret_and_all_of_the_advice(void **state)
{
    char message[4096];
    struct cfr_view secrets[] = {cfr_view_of("hunter2-hunter2-hunter2"), {NULL, 0}};
    struct cfr_error_table r = {.rows = rows,
                                .status = 403,
                                .code = cfr_view_of("long"),
                                .message = {message, sizeof message},
                                .request_id = cfr_view_of("hunter2-hunter2-hunter2"),
                                .who = cfr_view_of("hunter2-hunter2-hunter2"),
                                .secrets = secrets,
                                .secret_count = 2};
    struct cfr_err err = {0};

    (void)state;
    for (size_t i = 0; i < sizeof message; i++)
        message[i] = (char)(i % 8 == 7 ? ' ' : 'm');
    assert_int_equal(cfr_error_table_set(&r, &err), CFR_E_DENIED);
    assert_contains(err.text, "advice, the last");
    assert_contains(err.text, "... (HTTP 403, request [removed])");
    assert_null(strstr(err.text, "hunter2"));
    r.code = cfr_view_of("denied");
    r.message = cfr_view_of("it was hunter2-hunter2-hunter2");
    says(r, CFR_E_DENIED, "denied: it was [removed] (HTTP 403, request [removed]): let \"[removed]\" in");
}

/* Of an answer that fits no row the status decides. */
static void every_status(void **state)
{
    (void)state;
    for (long status = 0; status < 700; status++) {
        struct cfr_error_table r = {.status = status};
        struct cfr_err err = {0};
        int want = status < 300                                      ? CFR_E_ANSWER
                   : status < 400                                    ? CFR_E_REDIRECT
                   : status == 401 || status == 403 || status == 407 ? CFR_E_DENIED
                   : status == 429                                   ? CFR_E_THROTTLED
                   : status >= 500 || status == 408                  ? CFR_E_UNAVAILABLE
                                                                     : CFR_E_REJECTED;

        assert_int_equal(cfr_error_table_set(&r, &err), want);
        assert_true(strlen(err.text) > 30);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_row_that_fits),
        cmocka_unit_test(the_caller),
        cmocka_unit_test(no_secret_and_all_of_the_advice),
        cmocka_unit_test(every_status),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
