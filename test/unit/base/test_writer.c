/* SPDX-License-Identifier: MIT */
/* Writer of JSON documents. */
#include "unit.h"

#include "base/json.h"
#include "base/writer.h"

#define EVERYTHING                                                                                                     \
    "{\"name\":\"a\\\"b\",\"none\":null,\"empty\":\"\",\"there\":\"x\",\"list\":[\"1\",2,{},[],{\"a\":true},false],"   \
    "\"deep\":{\"n\":-9223372036854775808,\"c\":18446744073709551615},\"raw\":[1 ],\"key\":{},\"last\":0}\n"

static void write_everything(struct cfr_writer *w)
{
    cfr_writer_object(w, NULL);
    cfr_writer_string(w, "name", cfr_view_of("a\"b"));
    cfr_writer_string(w, "none", (struct cfr_view){NULL, 0});
    cfr_writer_string(w, "empty", cfr_view_of(""));
    cfr_writer_optional(w, "absent", cfr_view_of(""));
    cfr_writer_optional(w, "there", cfr_view_of("x"));
    cfr_writer_array(w, "list");
    cfr_writer_string(w, NULL, cfr_view_of("1"));
    cfr_writer_number(w, NULL, 2);
    cfr_writer_object(w, NULL);
    cfr_writer_close(w);
    cfr_writer_array(w, NULL);
    cfr_writer_close(w);
    cfr_writer_object(w, NULL);
    cfr_writer_bool(w, "a", true);
    cfr_writer_close(w);
    cfr_writer_bool(w, NULL, false);
    cfr_writer_close(w);
    cfr_writer_object(w, "deep");
    cfr_writer_number(w, "n", INT64_MIN);
    cfr_writer_count(w, "c", UINT64_MAX);
    cfr_writer_close(w);
    cfr_writer_raw(w, "raw", cfr_view_of("[1 ]"));
    cfr_writer_key(w, (struct cfr_view){"key2", 3});
    cfr_writer_object(w, NULL);
    cfr_writer_close(w);
    cfr_writer_number(w, "last", 0);
    cfr_writer_close(w);
    cfr_writer_text(w, "\n");
}

static void the_same_into_a_text_and_a_secret(void **state)
{
    struct cfr_str text = {.limit = 1000};
    struct cfr_secret secret;
    struct cfr_err err = {0};
    struct cfr_writer to_text = {.str = &text};
    struct cfr_writer to_secret = {.secret = &secret, .err = &err};
    struct cfr_json *doc;

    (void)state;
    cfr_secret_init(&secret, 1000);
    write_everything(&to_text);
    write_everything(&to_secret);
    assert_int_equal(to_text.rc, 0);
    assert_int_equal(to_secret.rc, 0);
    assert_string_equal(text.p, EVERYTHING);
    assert_string_equal(secret.p, EVERYTHING);
    assert_int_equal(cfr_json_parse(cfr_str_view(&text), &doc, &err), 0);
    cfr_json_free(doc);
    cfr_str_free(&text);
    cfr_secret_free(&secret);
}

static void bytes_that_are_no_text(void **state)
{
    struct cfr_str text = {.limit = 100};
    struct cfr_secret secret;
    struct cfr_writer to_text = {.str = &text};
    struct cfr_writer to_secret = {.secret = &secret};

    (void)state;
    cfr_secret_init(&secret, 100);
    cfr_writer_string(&to_text, NULL, cfr_view_of("\xff\xc2\x9b\n"));
    cfr_writer_string(&to_secret, NULL, cfr_view_of("\xff\n\xc3\xa9\xe2"));
    assert_string_equal(text.p, "\"\\ufffd\\u009b\\u000a\"");
    assert_string_equal(secret.p, "\"\xef\xbf\xbd\\u000a\xc3\xa9\xef\xbf\xbd\"");
    cfr_secret_clear(&secret);
    to_secret = (struct cfr_writer){.secret = &secret, .exact = true};
    cfr_writer_string(&to_secret, NULL, cfr_view_of("\xff\n"));
    assert_string_equal(secret.p, "\"\xff\\u000a\"");
    cfr_str_free(&text);
    cfr_secret_free(&secret);
}

static void the_first_error_stays(void **state)
{
    struct cfr_secret secret;
    struct cfr_err err = {0};
    struct cfr_writer w = {.secret = &secret, .err = &err};
    struct cfr_str small = {.limit = 10};
    struct cfr_writer to_text = {.str = &small};

    (void)state;
    cfr_secret_init(&secret, 20);
    write_everything(&w);
    assert_int_equal(w.rc, CFR_E_LIMIT);
    assert_int_equal(err.code, CFR_E_LIMIT);
    assert_true(secret.len <= 20);
    w.rc = 0;
    cfr_secret_clear(&secret);
    w.rc = cfr_err_set(&err, CFR_E_MISSING, "before");
    cfr_writer_string(&w, NULL, cfr_view_of("x"));
    assert_int_equal(w.rc, CFR_E_MISSING);
    assert_int_equal(secret.len, 0);
    write_everything(&to_text);
    assert_true(small.failed);
    cfr_str_free(&small);
    cfr_secret_free(&secret);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_into_a_text_and_a_secret),
        cmocka_unit_test(bytes_that_are_no_text),
        cmocka_unit_test(the_first_error_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
