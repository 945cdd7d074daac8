/* SPDX-License-Identifier: MIT */
/* What a loss of power cannot undo: nothing gets a name that readers open before it is on the disk, and at the end of a
 * publish the name is there, too. The calls come here in their order, and what is not synced yet is remembered. */
#include "files_scratch.h"

#include "files/file_private.h"
#include "files/generation.h"
#include "files/path_private.h"
#include "files/profile.h"
#include "files/single.h"
#include "files/state.h"

#include <linux/openat2.h>
#include <sys/syscall.h>

#define KEEP      CFR_FILE_KEEP_ID
#define NODES_MAX 64
#define BODY      "aws_access_key_id = NEW\n"

int __real_fchmod(int fd, mode_t mode);
int __real_fchown(int fd, uid_t uid, gid_t gid);
int __real_fsync(int fd);
int __real_ftruncate(int fd, off_t n);
int __real_mkdirat(int dir_fd, const char *name, mode_t mode);
int __real_openat(int dir_fd, const char *name, int flags, ...);
int __real_renameat(int from_fd, const char *from, int to_fd, const char *to);
int __real_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags);
int __real_symlinkat(const char *target, int dir_fd, const char *name);
long __real_syscall(long number, ...);
int __real_unlinkat(int dir_fd, const char *name, int flags);
ssize_t __real_write(int fd, const void *bytes, size_t n);

int __wrap_fchmod(int fd, mode_t mode);
int __wrap_fchown(int fd, uid_t uid, gid_t gid);
int __wrap_fsync(int fd);
int __wrap_ftruncate(int fd, off_t n);
int __wrap_mkdirat(int dir_fd, const char *name, mode_t mode);
int __wrap_openat(int dir_fd, const char *name, int flags, ...);
int __wrap_renameat(int from_fd, const char *from, int to_fd, const char *to);
int __wrap_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags);
int __wrap_symlinkat(const char *target, int dir_fd, const char *name);
long __wrap_syscall(long number, ...);
int __wrap_unlinkat(int dir_fd, const char *name, int flags);
ssize_t __wrap_write(int fd, const void *bytes, size_t n);

/* A file whose bytes or mode, or a directory whose names, are not on the disk yet. */
struct unsynced {
    dev_t dev;
    ino_t ino;
    char what[64];
};

static struct unsynced nodes[NODES_MAX];
static size_t node_count;
static bool recording;
static unsigned renames;
static unsigned syncs;
static unsigned interruptions; /* how many of the next syncs a signal interrupts */

static size_t find(const struct stat *st)
{
    size_t i = 0;

    while (i < node_count && (nodes[i].dev != st->st_dev || nodes[i].ino != st->st_ino))
        i++;
    return i;
}

static void forget(const struct stat *st)
{
    size_t i = find(st);

    if (i < node_count)
        nodes[i] = nodes[--node_count];
}

static void changed_node(const struct stat *st, const char *what)
{
    size_t i = find(st);

    if (!recording)
        return;
    assert_true(i < NODES_MAX);
    node_count = i < node_count ? node_count : i + 1;
    nodes[i] = (struct unsynced){.dev = st->st_dev, .ino = st->st_ino};
    (void)snprintf(nodes[i].what, sizeof nodes[i].what, "%.60s", what);
}

static void changed_fd(int fd, const char *what)
{
    struct stat st;

    assert_int_equal(fstat(fd, &st), 0);
    changed_node(&st, what);
}

static void changed_at(int dir_fd, const char *name, const char *what)
{
    struct stat st;

    assert_int_equal(fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
    changed_node(&st, what);
}

static void must_be_synced(const struct stat *st, const char *before)
{
    size_t i = find(st);

    if (i < node_count)
        fail_msg("before %s: %s is not synced", before, nodes[i].what);
}

static void all_must_be_synced(const char *before)
{
    if (node_count != 0)
        fail_msg("before %s: %s is not synced", before, nodes[0].what);
}

/* ---- the calls ---- */

ssize_t __wrap_write(int fd, const void *bytes, size_t n)
{
    changed_fd(fd, "what was written");
    return __real_write(fd, bytes, n);
}

int __wrap_ftruncate(int fd, off_t n)
{
    changed_fd(fd, "a file's new size");
    return __real_ftruncate(fd, n);
}

int __wrap_fchmod(int fd, mode_t mode)
{
    changed_fd(fd, "a mode");
    return __real_fchmod(fd, mode);
}

int __wrap_fchown(int fd, uid_t uid, gid_t gid)
{
    changed_fd(fd, "an owner");
    return __real_fchown(fd, uid, gid);
}

int __wrap_fsync(int fd)
{
    struct stat st;

    if (interruptions != 0) {
        interruptions--;
        errno = EINTR;
        return -1;
    }
    syncs++;
    assert_int_equal(fstat(fd, &st), 0);
    forget(&st);
    return __real_fsync(fd);
}

static bool is_new(int dir_fd, const char *name, int flags)
{
    struct stat st;

    return (flags & O_CREAT) != 0 && fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0;
}

long __wrap_syscall(long number, ...)
{
    struct open_how *how;
    const char *name;
    va_list args;
    int dir_fd;
    size_t n;
    bool new;
    long fd;

    assert_int_equal(number, SYS_openat2);
    va_start(args, number);
    dir_fd = va_arg(args, int);
    name = va_arg(args, const char *);
    how = va_arg(args, struct open_how *);
    n = va_arg(args, size_t);
    va_end(args);
    new = is_new(dir_fd, name, (int)how->flags);
    fd = __real_syscall(number, dir_fd, name, how, n);
    if (fd >= 0 && new)
        changed_fd(dir_fd, "the directory of a new file");
    return fd;
}

int __wrap_openat(int dir_fd, const char *name, int flags, ...)
{
    bool new = is_new(dir_fd, name, flags);
    va_list args;
    mode_t mode = 0;
    int fd;

    va_start(args, flags);
    if ((flags & O_CREAT) != 0)
        mode = va_arg(args, mode_t);
    va_end(args);
    fd = __real_openat(dir_fd, name, flags, mode);
    if (fd >= 0 && new)
        changed_fd(dir_fd, "the directory of a new file");
    return fd;
}

int __wrap_mkdirat(int dir_fd, const char *name, mode_t mode)
{
    int rc = __real_mkdirat(dir_fd, name, mode);

    if (rc == 0) {
        changed_fd(dir_fd, "the directory of a new directory");
        changed_at(dir_fd, name, "a new directory");
    }
    return rc;
}

int __wrap_symlinkat(const char *target, int dir_fd, const char *name)
{
    int rc = __real_symlinkat(target, dir_fd, name);

    if (rc == 0)
        changed_fd(dir_fd, "the directory of a new link");
    return rc;
}

/* Readers find what is renamed by its new name; behind a link is all that was written. */
static void check_rename(int from_fd, const char *from, const char *to)
{
    struct stat st;

    assert_int_equal(fstatat(from_fd, from, &st, AT_SYMLINK_NOFOLLOW), 0);
    if (S_ISLNK(st.st_mode))
        all_must_be_synced(to);
    else
        must_be_synced(&st, to);
}

static int renamed(int rc, int from_fd, int to_fd)
{
    if (rc != 0)
        return rc;
    renames++;
    changed_fd(from_fd, "the directory of an old name");
    changed_fd(to_fd, "the directory of a new name");
    return 0;
}

int __wrap_renameat(int from_fd, const char *from, int to_fd, const char *to)
{
    check_rename(from_fd, from, to);
    return renamed(__real_renameat(from_fd, from, to_fd, to), from_fd, to_fd);
}

int __wrap_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    check_rename(from_fd, from, to);
    return renamed(__real_renameat2(from_fd, from, to_fd, to, flags), from_fd, to_fd);
}

/* The name of a removed file may come back; zeros that were written over a secret must not have been too late. */
int __wrap_unlinkat(int dir_fd, const char *name, int flags)
{
    struct stat st;

    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        if (S_ISREG(st.st_mode))
            must_be_synced(&st, "its removal");
        forget(&st);
    }
    return __real_unlinkat(dir_fd, name, flags);
}

/* ---- what is published ---- */

static struct cfr_err err;
static bool changed;

static void begin(void)
{
    err = (struct cfr_err){0};
    node_count = 0;
    renames = 0;
    syncs = 0;
    recording = true;
}

/* RC is what the call returned, WANTED the number of names that it gave. */
static void end(int rc, unsigned wanted)
{
    recording = false;
    if (rc != 0)
        fail_msg("%s", err.text);
    assert_int_equal(renames, wanted);
    all_must_be_synced("the end");
}

static int publish_set(const char *letter, size_t count, uint64_t number)
{
    struct cfr_view content = cfr_view_of(letter);
    struct cfr_file files[] = {{"a", content, 0640, KEEP, KEEP}, {"b", content, 0600, KEEP, KEEP}};
    char directory[PATH_MAX];
    struct cfr_generation g = {directory, 0750, KEEP, KEEP, files, count, number, 0, false};

    (void)snprintf(directory, sizeof directory, "%s", in("deep/pub"));
    return cfr_generation_publish(&g, &changed, NULL, &err);
}

static void a_generation(void **state)
{
    (void)state;
    begin();
    end(publish_set("one", 1, 1), 3); /* two directories and the link */
    for (uint64_t number = 2; number < 5; number++) {
        begin();
        end(publish_set(number % 2 != 0 ? "odd" : "even", 2, number), 1);
        assert_true(changed);
    }
    begin();
    assert_int_equal(cfr_generation_retire(in("deep/pub"), &err), 0);
    recording = false;
    assert_int_equal(syncs, 2); /* the zeros over the two files of the previous one */
}

static int publish_single(const char *text)
{
    struct cfr_file file = {NULL, cfr_view_of(text), 0640, KEEP, KEEP};

    return cfr_single_publish(in("deep/single"), &file, false, NULL, &changed, &err);
}

static void a_single_file(void **state)
{
    (void)state;
    begin();
    end(publish_single("one"), 2);
    begin();
    end(publish_single("two"), 1);
    assert_string_equal(get(in("deep/single")), "two");
    /* What is there may come from a run that was killed: the file, in place, and its name. */
    begin();
    end(publish_single("two"), 0);
    assert_int_equal(syncs, 2);
}

static void a_file_in_place(void **state)
{
    struct cfr_file file = {"f", cfr_view_of("two"), 0640, KEEP, KEEP};
    int dir_fd = cfr_path_open_dir(scratch, false, 0, &err);

    (void)state;
    assert_true(dir_fd >= 0);
    put(in("f"), "one and more");
    begin();
    end(cfr_file_overwrite(dir_fd, &file, &err), 0);
    assert_string_equal(get(in("f")), "two");
    (void)close(dir_fd);
}

static void a_profile(void **state)
{
    struct cfr_file file = {NULL, cfr_view_of(BODY), 0640, KEEP, KEEP};

    (void)state;
    begin();
    end(cfr_profile_publish(in("aws/credentials"), "demo", &file, true, NULL, &changed, &err), 2);
    begin();
    end(cfr_profile_publish(in("aws/credentials"), "default", &file, true, NULL, &changed, &err), 1);
    /* What is there may come from a run that was killed. */
    begin();
    end(cfr_profile_publish(in("aws/credentials"), "default", &file, true, NULL, &changed, &err), 0);
    assert_int_equal(syncs, 1);
    assert_string_equal(get(in("aws/credentials")), "[demo]\n" BODY "\n[default]\n" BODY);
}

static void the_state(void **state)
{
    struct stat lock;
    int lock_fd;
    int dir_fd;

    (void)state;
    begin();
    dir_fd = cfr_state_open(in("deep/state"), &lock_fd, &err);
    assert_true(dir_fd >= 0);
    assert_int_equal(stat(in("deep/state/lock"), &lock), 0);
    forget(&lock); /* the process id in it is only for error texts */
    end(0, 2);
    for (int i = 0; i < 2; i++) {
        begin();
        end(cfr_state_save(dir_fd, "demo", cfr_view_of(i == 0 ? "{}" : "{\"a\":1}"), &err), 1);
    }
    (void)close(dir_fd);
    (void)close(lock_fd);
}

static void a_removed_secret(void **state)
{
    int dir_fd = cfr_path_open_dir(scratch, false, 0, &err);

    (void)state;
    assert_true(dir_fd >= 0);
    put(in("f"), "secret");
    begin();
    end(cfr_file_wipe(dir_fd, "f", &err), 0);
    assert_int_equal(syncs, 1);
    assert_false(exists(in("f")));
    (void)close(dir_fd);
}

/* As network file systems do. */
/* As of state_dir, before anything is in it. */
static void a_made_directory(void **state)
{
    int fd;

    (void)state;
    begin();
    fd = cfr_path_open_dir(in("made/deep/down"), true, 0700, &err);
    end(fd < 0 ? fd : 0, 3);
    (void)close(fd);
}

static void an_interrupted_sync_is_repeated(void **state)
{
    (void)state;
    assert_int_equal(publish_single("one"), 0);
    begin();
    interruptions = 2;
    end(publish_single("two"), 1);
    assert_int_equal(interruptions, 0);
}

#define SCRATCH_TEST(f) cmocka_unit_test_setup_teardown(f, scratch_make_fast, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(a_generation),     SCRATCH_TEST(a_single_file),
        SCRATCH_TEST(a_file_in_place),  SCRATCH_TEST(a_profile),
        SCRATCH_TEST(the_state),        SCRATCH_TEST(a_removed_secret),
        SCRATCH_TEST(a_made_directory), SCRATCH_TEST(an_interrupted_sync_is_repeated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
