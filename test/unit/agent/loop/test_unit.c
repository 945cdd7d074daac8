/* SPDX-License-Identifier: MIT */
/* The systemd unit and the drop-ins that its errors name. */
#include "unit.h"

#include "agent/loop/unit.h"

#include <errno.h>
#include <stdlib.h>

static void set_unit(const char *name)
{
    assert_int_equal(name != NULL ? setenv("CREDFRESH_UNIT", name, 1) : unsetenv("CREDFRESH_UNIT"), 0);
}

static void a_unit_is_named_by_the_environment(void **state)
{
    static const char *const bad[] = {"", "a b.service", "../x", "x\n"};
    char out[CFR_UNIT_ADVICE_MAX];

    (void)state;
    set_unit("credfresh@x.service");
    assert_string_equal(cfr_unit_name(), "credfresh@x.service");
    assert_string_equal(cfr_unit_drop_in(out, "groups.conf", "SupplementaryGroups=%s", "db"),
                        "; write SupplementaryGroups=db below [Service] in "
                        "/etc/systemd/system/credfresh@x.service.d/groups.conf");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        set_unit(bad[i]);
        assert_null(cfr_unit_name());
        assert_string_equal(cfr_unit_drop_in(out, "groups.conf", "x"), "");
    }
}

static const char *advised(int errnum)
{
    static struct cfr_err err;

    (void)cfr_err_sys(&err, errnum, "cannot write");
    cfr_unit_advise(&err);
    return err.text;
}

static void errors_about_rights_name_a_drop_in(void **state)
{
    (void)state;
    set_unit("credfresh.service");
    assert_non_null(strstr(advised(EROFS), "Read-only file system; write ReadWritePaths="));
    assert_non_null(strstr(advised(EROFS), "/etc/systemd/system/credfresh.service.d/directories.conf"));
    assert_non_null(strstr(advised(EPERM), "credfresh.service.d/groups.conf"));
    assert_non_null(strstr(advised(EACCES), "credfresh.service.d/secrets.conf"));
    assert_string_equal(advised(ENOENT), "cannot write: No such file or directory");
    set_unit(NULL);
    assert_string_equal(advised(EROFS), "cannot write: Read-only file system");
}

/* Only the end of a text is errno's. */
static void other_errors_about_rights_stay(void **state)
{
    struct cfr_err err = {0};

    (void)state;
    set_unit("credfresh.service");
    (void)cfr_err_set(&err, CFR_E_PERM, "Permission denied by another");
    cfr_unit_advise(&err);
    assert_string_equal(err.text, "Permission denied by another");
    (void)cfr_err_set(&err, CFR_E_IO, "Permission denied");
    cfr_unit_advise(&err);
    assert_string_equal(err.text, "Permission denied");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_unit_is_named_by_the_environment),
        cmocka_unit_test(errors_about_rights_name_a_drop_in),
        cmocka_unit_test(other_errors_about_rights_stay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
