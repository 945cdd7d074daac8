/* SPDX-License-Identifier: MIT */
/* Files of file systems that may not answer, read by a child. sysfs is one for us, and answers. */
#include "unit.h"

#include "agent/loop/slow_file.h"
#include "files/file.h"

#include <unistd.h>

#define SYSFS "/sys/kernel/mm/transparent_hugepage/enabled"

static struct cfr_err err;

static void tells_which_files_they_are(void **state)
{
    (void)state;
    assert_false(cfr_slow_file_is(SYSFS));
    cfr_slow_file_guard();
    assert_true(cfr_slow_file_is("/sys/kernel/none"));
    assert_false(cfr_slow_file_is("/proc/self/status"));
    assert_false(cfr_slow_file_is("/dev/null"));
    assert_false(cfr_slow_file_is("/dev/shm/none"));
    assert_false(cfr_slow_file_is("/none"));
}

/* The child of a slow machine has not answered at the first look. */
static int read_slowly(const char *path, struct cfr_secret *out, struct stat *status)
{
    int rc;

    do {
        rc = cfr_slow_file_read(path, out, status, &err);
    } while (rc == CFR_E_TIMEOUT);
    return rc;
}

static void reads_as_we_would(void **state)
{
    struct stat status;
    struct stat here;
    struct cfr_secret ours;
    struct cfr_secret out;

    (void)state;
    if (access(SYSFS, R_OK) != 0)
        skip();
    cfr_secret_init(&ours, 100000);
    cfr_secret_init(&out, 100000);
    assert_int_equal(cfr_file_read(SYSFS, &ours, &err), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(read_slowly(SYSFS, &out, &status), 0);
        assert_true(out.len != 0 && cfr_secret_equal(cfr_secret_view(&ours), cfr_secret_view(&out)));
    }
    assert_int_equal(stat(SYSFS, &here), 0);
    assert_int_equal(here.st_ino, status.st_ino);
    assert_int_equal(read_slowly("/sys/kernel/none", &out, NULL), CFR_E_MISSING);
    assert_non_null(strstr(err.text, "/sys/kernel/none"));
    assert_int_equal(out.len, 0);
    assert_int_equal(read_slowly("/sys/kernel", &out, NULL), CFR_E_PATH);
    cfr_secret_free(&out);
    cfr_secret_init(&out, 4);
    assert_int_equal(read_slowly(SYSFS, &out, NULL), CFR_E_LIMIT);
    cfr_secret_free(&out);
    cfr_secret_free(&ours);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_which_files_they_are),
        cmocka_unit_test(reads_as_we_would),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
