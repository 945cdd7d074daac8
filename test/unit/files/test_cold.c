/* SPDX-License-Identifier: MIT */
/* What of a disk is not in memory is not read before another process has read it. */
#include "files_scratch.h"

#include "files/file.h"

#include <fcntl.h>
#include <sys/stat.h>

static struct cfr_err err;
static unsigned asked;
static bool answers;

static bool ask(int dir_fd, const char *name)
{
    asked++;
    if (answers)
        cfr_file_warm(dir_fd, name);
    return answers;
}

static int read_quickly(const char *path, char text[16])
{
    struct cfr_secret out;
    int rc;

    cfr_secret_init(&out, 15);
    rc = cfr_file_read_reach(path, CFR_FILE_ANSWERING, &out, NULL, &err);
    (void)snprintf(text, 16, "%.*s", (int)out.len, out.len != 0 ? out.p : "");
    cfr_secret_free(&out);
    return rc;
}

static void what_is_in_memory_is_read_at_once(void **state)
{
    char text[16];

    (void)state;
    put(in("creds"), "known");
    asked = 0;
    answers = false;
    cfr_file_never_wait(ask);
    assert_int_equal(read_quickly(in("creds"), text), 0);
    assert_string_equal(text, "known");
    cfr_file_never_wait(NULL);
    assert_int_equal(asked, 0);
}

static void what_left_memory_is_asked_for(void **state)
{
    char text[16];
    int fd;

    (void)state;
    put(in("creds"), "known");
    fd = open(in("creds"), O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fsync(fd), 0);
    assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    (void)close(fd);
    asked = 0;
    answers = false;
    cfr_file_never_wait(ask);
    if (read_quickly(in("creds"), text) == 0) {
        /* A file system in memory has nowhere else to keep it. */
        assert_int_equal(asked, 0);
    } else {
        assert_int_equal(asked, 1);
        assert_string_equal(text, "");
        answers = true;
        assert_int_equal(read_quickly(in("creds"), text), 0);
    }
    assert_string_equal(text, "known");
    cfr_file_never_wait(NULL);
}

/* It may answer the next time, so that the path is not to blame. */
static void a_disk_that_does_not_answer_is_tried_later(void **state)
{
    struct cfr_file_origin origin;
    struct cfr_secret out;
    int in_memory = CFR_E_MISSING;

    (void)state;
    cfr_secret_init(&out, 15);
    put(in("creds"), "known");
    asked = 0;
    answers = false;
    cfr_file_never_wait(ask);
    /* No name that was not looked up is in memory, where the disk is not memory itself. */
    (void)cfr_file_read_foreign(in("unknown"), &out, &origin, NULL);
    if (asked != 0)
        in_memory = CFR_E_TIMEOUT;
    assert_int_equal(cfr_file_read_foreign(in("unknown"), &out, &origin, &err), in_memory);
    assert_int_equal(cfr_file_read_linked(in("unknown"), &out, &err), in_memory);
    assert_int_equal(cfr_file_read_linked(in("unknown/file"), &out, &err), in_memory);
    assert_int_equal(cfr_file_read_foreign(in("unknown/file"), &out, &origin, &err), in_memory);
    assert_true(asked == 0 || strstr(err.text, "/unknown/file: its disk has not answered") != NULL);
    cfr_file_never_wait(NULL);
    cfr_secret_free(&out);
}

static void what_memory_lacks_is_not_asked_for(void **state)
{
    char text[16];

    (void)state;
    asked = 0;
    cfr_file_never_wait(ask);
    assert_int_equal(read_quickly("/dev/shm/credfresh-is-not-there", text), CFR_E_MISSING);
    cfr_file_never_wait(NULL);
    assert_int_equal(asked, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_in_memory_is_read_at_once, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(what_left_memory_is_asked_for, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(a_disk_that_does_not_answer_is_tried_later, scratch_make, scratch_remove),
        cmocka_unit_test(what_memory_lacks_is_not_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
