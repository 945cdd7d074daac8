/* SPDX-License-Identifier: MIT */
/* The error object. */
#include "unit.h"

#include "base/err.h"

#include <errno.h>

static void codes_are_negative_named_and_classed(void **state)
{
    (void)state;
    assert_string_equal(cfr_err_name(0), "ok");
    assert_int_equal(cfr_err_class(0), CFR_CLASS_NONE);
    for (int i = 1; i < CFR_EI_COUNT; i++) {
        assert_true(strlen(cfr_err_name(-i)) > 1);
        assert_int_not_equal(cfr_err_class(-i), CFR_CLASS_NONE);
        for (int j = 1; j < i; j++)
            assert_string_not_equal(cfr_err_name(-i), cfr_err_name(-j));
    }
    assert_int_equal(CFR_E_CONFIG, -1);
    assert_string_equal(cfr_err_name(CFR_E_DENIED), "denied");
    assert_int_equal(cfr_err_class(CFR_E_DENIED), CFR_CLASS_STOP);
    assert_int_equal(cfr_err_class(CFR_E_THROTTLED), CFR_CLASS_RETRY);
    assert_int_equal(cfr_err_class(CFR_E_NOSPACE), CFR_CLASS_LOCAL);
}

static void what_is_no_code_is_unknown(void **state)
{
    (void)state;
    assert_string_equal(cfr_err_name(1), "unknown");
    assert_string_equal(cfr_err_name(-(int)CFR_EI_COUNT), "unknown");
    assert_string_equal(cfr_err_name(INT32_MIN), "unknown");
    assert_int_equal(cfr_err_class(7), CFR_CLASS_LOCAL);
    assert_string_equal(cfr_err_class_name(CFR_CLASS_RETRY), "retry");
    assert_string_equal(cfr_err_class_name(CFR_CLASS_COUNT), "unknown");
}

static void set_returns_the_code_and_cuts(void **state)
{
    struct cfr_err err = {0};
    char longer[CFR_ERR_TEXT_MAX + 100];

    (void)state;
    assert_int_equal(cfr_err_set(&err, CFR_E_PATH, "%s is %d", "x", 7), CFR_E_PATH);
    assert_int_equal(err.code, CFR_E_PATH);
    assert_string_equal(err.text, "x is 7");
    assert_int_equal(cfr_err_set(NULL, CFR_E_PATH, "x"), CFR_E_PATH);
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    (void)cfr_err_set(&err, CFR_E_IO, "%s", longer);
    assert_int_equal(strlen(err.text), CFR_ERR_TEXT_MAX - 1);
    /* At the limit, what would follow is cut as well. */
    assert_int_equal(cfr_err_sys(&err, ENOENT, "%s", longer), CFR_E_MISSING);
    assert_int_equal(strlen(err.text), CFR_ERR_TEXT_MAX - 1);
    assert_int_equal(cfr_err_prefix(&err, "%s", longer), CFR_E_MISSING);
    assert_int_equal(strlen(err.text), CFR_ERR_TEXT_MAX - 1);
}

static void sys_derives_the_code(void **state)
{
    static const struct {
        int errnum;
        int code;
    } cases[] = {
        {ENOSPC, CFR_E_NOSPACE}, {EDQUOT, CFR_E_NOSPACE}, {EACCES, CFR_E_PERM},  {EPERM, CFR_E_PERM},
        {EROFS, CFR_E_PERM},     {ENOENT, CFR_E_MISSING}, {ENOMEM, CFR_E_NOMEM}, {ELOOP, CFR_E_PATH},
        {EXDEV, CFR_E_PATH},     {ENOTDIR, CFR_E_PATH},   {EISDIR, CFR_E_PATH},  {ENAMETOOLONG, CFR_E_PATH},
        {EMFILE, CFR_E_LIMIT},   {ENFILE, CFR_E_LIMIT},   {EFBIG, CFR_E_LIMIT},  {EIO, CFR_E_IO},
        {EAGAIN, CFR_E_IO},
    };
    struct cfr_err err = {0};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(cfr_err_sys(&err, cases[i].errnum, "opening %s", "f"), cases[i].code);
        assert_int_equal(err.code, cases[i].code);
    }
    (void)cfr_err_sys(&err, EACCES, "opening %s", "f");
    assert_string_equal(err.text, "opening f: Permission denied");
    assert_int_equal(cfr_err_sys(NULL, EACCES, "x"), CFR_E_PERM);
}

static void prefix_keeps_code_and_text(void **state)
{
    struct cfr_err err = {0};

    (void)state;
    (void)cfr_err_set(&err, CFR_E_TLS, "no trust");
    assert_int_equal(cfr_err_prefix(&err, "host %s", "h"), CFR_E_TLS);
    assert_string_equal(err.text, "host h: no trust");
    assert_int_equal(err.code, CFR_E_TLS);
    assert_int_equal(cfr_err_prefix(NULL, "x"), CFR_E_INTERNAL);
}

static void every_text_can_be_shown(void **state)
{
    struct cfr_err err = {0};

    (void)state;
    (void)cfr_err_set(&err, CFR_E_ANSWER, "it says %s", "a\x1b[2J\n\x9b\xc2\x9b\xc3\xa9");
    assert_string_equal(err.text, "it says a?[2J????\xc3\xa9");
    (void)cfr_err_prefix(&err, "%s", "b\nc\x80");
    assert_string_equal(err.text, "b?c?: it says a?[2J????\xc3\xa9");
    (void)cfr_err_sys(&err, ENOENT, "%s", "\x07");
    assert_string_equal(err.text, "?: No such file or directory");
    assert_int_equal(cfr_err_nomem(&err), CFR_E_NOMEM);
    assert_string_equal(err.text, "out of memory");
    assert_int_equal(cfr_err_nomem(NULL), CFR_E_NOMEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_are_negative_named_and_classed), cmocka_unit_test(what_is_no_code_is_unknown),
        cmocka_unit_test(set_returns_the_code_and_cuts),        cmocka_unit_test(sys_derives_the_code),
        cmocka_unit_test(prefix_keeps_code_and_text),           cmocka_unit_test(every_text_can_be_shown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
