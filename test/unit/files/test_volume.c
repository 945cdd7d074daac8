/* SPDX-License-Identifier: MIT */
/* Reading a whole volume: the kubelet's layout and plain directories, swaps while it is read, limits, and
 * what is left out. Linked with --wrap=fdopendir and --wrap=closedir, so that something can happen before and
 * after the listing. */
#include "files_scratch.h"

#include "files/volume.h"

#include <pthread.h>
#include <stdatomic.h>

#define MANY 20

DIR *__real_fdopendir(int fd);
DIR *__wrap_fdopendir(int fd);
int __real_closedir(DIR *dir);
int __wrap_closedir(DIR *dir);

/* What happens under the reader's eyes, before or after it lists the files. */
static void (*before_list)(void);
static void (*after_list)(void);

static void happen(void (**what)(void))
{
    void (*f)(void) = *what;

    *what = NULL;
    if (f != NULL)
        f();
}

DIR *__wrap_fdopendir(int fd)
{
    happen(&before_list);
    return __real_fdopendir(fd);
}

int __wrap_closedir(DIR *dir)
{
    int rc = __real_closedir(dir);

    happen(&after_list);
    return rc;
}

static struct cfr_volume volume;
static struct cfr_err err;

static int read_it(const char *directory)
{
    cfr_volume_free(&volume);
    err = (struct cfr_err){0};
    return cfr_volume_read(directory, CFR_FILE_ANSWERING, &volume, &err);
}

static void must_read(const char *directory)
{
    if (read_it(directory) != 0)
        fail_msg("%s", err.text);
}

static void must_be(size_t i, const char *name, const char *value)
{
    assert_true(i < volume.count);
    assert_string_equal(volume.names[i], name);
    assert_int_equal(volume.values[i].len, strlen(value));
    if (value[0] != '\0')
        assert_memory_equal(volume.values[i].p, value, strlen(value));
}

/* A version of a volume, as the kubelet makes it, without what leads to it. */
static void make_version(const char *root, const char *version, const char *const *files)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof path, "%s/%s", root, version);
    assert_int_equal(mkdir(path, 0755), 0);
    for (; files[0] != NULL; files += 2) {
        (void)snprintf(path, sizeof path, "%s/%s/%s", root, version, files[0]);
        put(path, files[1]);
    }
}

static void point_at(const char *root, const char *version)
{
    char tmp[PATH_MAX];
    char data[PATH_MAX];

    (void)snprintf(tmp, sizeof tmp, "%s/..data_tmp", root);
    (void)snprintf(data, sizeof data, "%s/..data", root);
    assert_int_equal(symlink(version, tmp), 0);
    assert_int_equal(rename(tmp, data), 0);
}

static void the_kubelets_layout(void **state)
{
    const char *root = in("k");
    uint64_t first;

    (void)state;
    assert_int_equal(mkdir(root, 0755), 0);
    make_version(root, "..2026_01", (const char *[]){"b", "2", "a", "1", ".dockerconfigjson", "{}", "empty", "", NULL});
    point_at(root, "..2026_01");
    assert_int_equal(symlink("..data/a", in("k/a")), 0);
    put(in("k/stray"), "not of the volume");
    must_read(root);
    assert_int_equal(volume.count, 4);
    must_be(0, ".dockerconfigjson", "{}");
    must_be(1, "a", "1");
    must_be(2, "b", "2");
    must_be(3, "empty", "");
    first = volume.mark;
    must_read(root);
    assert_true(volume.mark == first);
    make_version(root, "..2026_02", (const char *[]){"b", "2", "a", "1", ".dockerconfigjson", "{}", "empty", "", NULL});
    point_at(root, "..2026_02");
    must_read(root);
    assert_true(volume.mark != first);
}

static void a_plain_directory(void **state)
{
    uint64_t first;

    (void)state;
    assert_int_equal(mkdir(in("p"), 0755), 0);
    assert_int_equal(mkdir(in("p/nested"), 0755), 0);
    assert_int_equal(mkfifo(in("p/fifo"), 0600), 0);
    put(in("p/nested/inner"), "x");
    put(in("p/key"), "value\n");
    put(in("p/..hidden"), "x");
    put(in("p/.visible"), "y");
    put(in("outside"), "secret of somebody else");
    assert_int_equal(symlink(in("outside"), in("p/link")), 0);
    assert_int_equal(symlink("key", in("p/inside")), 0);
    must_read(in("p"));
    assert_int_equal(volume.count, 2);
    must_be(0, ".visible", "y");
    must_be(1, "key", "value\n");
    first = volume.mark;
    put(in("p/new"), "z");
    must_read(in("p"));
    assert_true(volume.mark != first);
    assert_int_equal(volume.count, 3);
    /* Through a link to the directory itself it is the same. */
    assert_int_equal(symlink("p", in("way")), 0);
    first = volume.mark;
    must_read(in("way"));
    assert_true(volume.mark == first);
}

static void what_is_not_there(void **state)
{
    (void)state;
    assert_int_equal(read_it(in("none")), CFR_E_MISSING);
    assert_non_null(strstr(err.text, in("none")));
    assert_int_equal(volume.count, 0);
    assert_int_equal(mkdir(in("empty"), 0755), 0);
    assert_int_equal(read_it(in("empty")), CFR_E_MISSING);
    put(in("file"), "x");
    assert_true(read_it(in("file")) < 0);
    assert_int_equal(mkdir(in("broken"), 0755), 0);
    assert_int_equal(symlink("..gone", in("broken/..data")), 0);
    assert_int_equal(read_it(in("broken")), CFR_E_MISSING);
    assert_int_equal(mkdir(in("odd"), 0755), 0);
    put(in("odd/..data"), "not a directory");
    assert_true(read_it(in("odd")) < 0);
}

static void too_many_files(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in("m"), 0755), 0);
    for (int i = 0; i < CFR_VOLUME_FILES_MAX; i++) {
        char name[32];

        (void)snprintf(name, sizeof name, "m/key%03d", i);
        put(in(name), "v");
    }
    must_read(in("m"));
    assert_int_equal(volume.count, CFR_VOLUME_FILES_MAX);
    must_be(63, "key063", "v");
    put(in("m/one-more"), "v");
    assert_int_equal(read_it(in("m")), CFR_E_LIMIT);
    assert_non_null(strstr(err.text, "64 files"));
}

static void too_much(void **state)
{
    char *bytes = calloc(1, CFR_VOLUME_BYTES_MAX);

    (void)state;
    assert_int_equal(mkdir(in("l"), 0755), 0);
    put_bytes(in("l/a"), bytes, CFR_VOLUME_BYTES_MAX);
    must_read(in("l"));
    assert_int_equal(volume.values[0].len, CFR_VOLUME_BYTES_MAX);
    put(in("l/b"), "");
    must_read(in("l"));
    put(in("l/b"), "x");
    assert_int_equal(read_it(in("l")), CFR_E_LIMIT);
    assert_non_null(strstr(err.text, "b: "));
    free(bytes);
}

static void one_that_cannot_be_read(void)
{
    CHILD_CHECK(geteuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0));
    CHILD_CHECK(cfr_volume_read(in("u"), CFR_FILE_ANSWERING, &volume, &err) == CFR_E_PERM);
    CHILD_CHECK(strstr(err.text, "b") != NULL);
    cfr_volume_free(&volume);
    CHILD_CHECK(cfr_volume_read(in("closed"), CFR_FILE_ANSWERING, &volume, &err) == CFR_E_PERM);
    cfr_volume_free(&volume);
    _exit(0);
}

static void what_cannot_be_read(void **state)
{
    int status = 0;
    pid_t pid;

    (void)state;
    assert_int_equal(chmod(scratch, 0755), 0);
    assert_int_equal(mkdir(in("u"), 0755), 0);
    put(in("u/a"), "1");
    put(in("u/b"), "2");
    assert_int_equal(chmod(in("u/b"), 0), 0);
    assert_int_equal(mkdir(in("closed"), 0), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        one_that_cannot_be_read();
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* ---- swaps under the reader's eyes ---- */

/* The swap, and then the old version goes, of which one file is gone by now. */
static void swap_once(void)
{
    make_version(in("w"), "..new", (const char *[]){"a", "new", "b", "new", NULL});
    point_at(in("w"), "..new");
    assert_int_equal(unlink(in("w/..old/a")), 0);
}

static void make_old(void)
{
    assert_int_equal(mkdir(in("w"), 0755), 0);
    make_version(in("w"), "..old", (const char *[]){"a", "old", "b", "old", NULL});
    point_at(in("w"), "..old");
}

static void a_swap_before_the_listing(void **state)
{
    (void)state;
    make_old();
    before_list = swap_once;
    must_read(in("w"));
    assert_int_equal(volume.count, 2);
    must_be(0, "a", "new");
    must_be(1, "b", "new");
}

static void a_swap_after_the_listing(void **state)
{
    (void)state;
    make_old();
    after_list = swap_once;
    must_read(in("w"));
    assert_int_equal(volume.count, 2);
    must_be(0, "a", "new");
    must_be(1, "b", "new");
}

static void add_and_change(void)
{
    put(in("plain/a"), "new");
    put(in("plain/b"), "new");
}

static void a_plain_directory_that_changes(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in("plain"), 0755), 0);
    put(in("plain/a"), "old");
    before_list = add_and_change;
    must_read(in("plain"));
    assert_int_equal(volume.count, 2);
    must_be(0, "a", "new");
    assert_int_equal(unlink(in("plain/b")), 0);
    put(in("plain/a"), "old");
    after_list = add_and_change;
    must_read(in("plain"));
    assert_int_equal(volume.count, 2);
    must_be(0, "a", "new");
}

static void never_at_rest(void)
{
    static int n;
    char name[64];

    (void)snprintf(name, sizeof name, "plain/key%d", n++);
    put(in(name), "x");
    after_list = never_at_rest;
}

static void one_that_never_rests(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in("plain"), 0755), 0);
    put(in("plain/a"), "x");
    after_list = never_at_rest;
    assert_int_equal(read_it(in("plain")), CFR_E_UNAVAILABLE);
    assert_non_null(strstr(err.text, "changes while it is being read"));
    after_list = NULL;
    must_read(in("plain"));
}

static atomic_bool stop;
static atomic_uint swaps;

/* What the kubelet does, as fast as it goes: a new version, the swap, the old version away file by file. */
static void *swap_on(void *root)
{
    char before[64] = "..v0";

    for (unsigned n = 1; !atomic_load(&stop); n++) {
        char version[64];
        char path[PATH_MAX];

        (void)snprintf(version, sizeof version, "..v%u", n);
        (void)snprintf(path, sizeof path, "%s/%s", (const char *)root, version);
        if (mkdir(path, 0755) != 0)
            abort();
        for (int i = 0; i < MANY; i++) {
            char text[16];

            (void)snprintf(path, sizeof path, "%s/%s/key%02d", (const char *)root, version, i);
            (void)snprintf(text, sizeof text, "%08u", n);
            put(path, text);
        }
        point_at(root, version);
        for (int i = 0; i < MANY; i++) {
            (void)snprintf(path, sizeof path, "%s/%s/key%02d", (const char *)root, before, i);
            (void)unlink(path);
        }
        (void)snprintf(path, sizeof path, "%s/%s", (const char *)root, before);
        (void)rmdir(path);
        (void)snprintf(before, sizeof before, "%s", version);
        atomic_fetch_add(&swaps, 1);
    }
    return NULL;
}

static void swaps_mix_nothing(void **state)
{
    static char root[PATH_MAX];
    pthread_t kubelet;
    unsigned good = 0;

    (void)state;
    (void)snprintf(root, sizeof root, "%s", in("s"));
    assert_int_equal(mkdir(root, 0755), 0);
    make_version(root, "..v0", (const char *[]){"key00", "00000000", NULL});
    point_at(root, "..v0");
    assert_int_equal(pthread_create(&kubelet, NULL, swap_on, root), 0);
    while (atomic_load(&swaps) < 400) {
        int rc = read_it(root);

        if (rc != 0) {
            /* Never lucky in five tries is possible here, and no harm: it is read again. */
            assert_true(rc == CFR_E_UNAVAILABLE || rc == CFR_E_MISSING);
            continue;
        }
        if (volume.count == 1)
            continue; /* the first version */
        good++;
        assert_int_equal(volume.count, MANY);
        for (size_t i = 1; i < volume.count; i++)
            assert_memory_equal(volume.values[i].p, volume.values[0].p, 8);
    }
    atomic_store(&stop, true);
    assert_int_equal(pthread_join(kubelet, NULL), 0);
    assert_true(good > 10);
}

static int finish(void **state)
{
    cfr_volume_free(&volume);
    return scratch_remove(state);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_make_fast, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_kubelets_layout),
        TEST(a_plain_directory),
        TEST(what_is_not_there),
        TEST(too_many_files),
        TEST(too_much),
        TEST(what_cannot_be_read),
        TEST(swaps_mix_nothing),
        TEST(a_swap_before_the_listing),
        TEST(a_swap_after_the_listing),
        TEST(a_plain_directory_that_changes),
        TEST(one_that_never_rests),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
