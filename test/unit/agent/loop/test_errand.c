/* SPDX-License-Identifier: MIT */
/* What a child has of its parent: rights, descriptors, life. And what stays of its result. */
#include "unit.h"

#include "agent/loop/errand_private.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define OTHER    43210 /* in no file of users */
#define GROUP    43211
#define MORE     43212
#define FDS_MAX  64
#define LIMIT_MS 20000
#define SECRET   "a secret that is shared with the child"

struct view {
    uid_t uid;
    int groups;
    gid_t group; /* the first one */
    int no_new_privs;
    int dumpable;
    bool blocked; /* a signal that ends it */
    int death_signal;
    int descriptors; /* above those of stdio */
    char text[64];
};

static int setgroups_error;
static char unmapped[64]; /* what was at the text of the result then */
static const void *watched;

int __real_setgroups(size_t n, const gid_t *groups);
int __wrap_setgroups(size_t n, const gid_t *groups);
int __real_setresuid(uid_t real, uid_t effective, uid_t saved);
int __wrap_setresuid(uid_t real, uid_t effective, uid_t saved);
int __real_munmap(void *at, size_t n);
int __wrap_munmap(void *at, size_t n);

int __wrap_setgroups(size_t n, const gid_t *groups)
{
    errno = setgroups_error;
    return setgroups_error != 0 ? -1 : __real_setgroups(n, groups);
}

static bool is_blocked(int signal)
{
    sigset_t now;

    return sigprocmask(SIG_SETMASK, NULL, &now) == 0 && sigismember(&now, signal) == 1;
}

/* As the kernel does it where fs.suid_dumpable is not 0; of the user's signals none may come before that is undone. */
int __wrap_setresuid(uid_t real, uid_t effective, uid_t saved)
{
    int rc = __real_setresuid(real, effective, saved);

    if (!is_blocked(SIGQUIT))
        _exit(1);
    return rc == 0 ? prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) : rc;
}

int __wrap_munmap(void *at, size_t n)
{
    if (watched != NULL && (const char *)watched >= (char *)at && (const char *)watched < (char *)at + n)
        memcpy(unmapped, watched, sizeof unmapped);
    return __real_munmap(at, n);
}

static void look(void *ctx, void *result)
{
    struct view *v = result;
    gid_t groups[16];

    (void)ctx;
    v->uid = geteuid();
    v->groups = getgroups(16, groups);
    v->group = v->groups > 0 ? groups[0] : 0;
    v->no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
    v->dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
    v->blocked = is_blocked(SIGQUIT);
    (void)prctl(PR_GET_PDEATHSIG, &v->death_signal);
    for (int fd = STDERR_FILENO + 1; fd < FDS_MAX; fd++)
        v->descriptors += fcntl(fd, F_GETFD) >= 0;
    memcpy(v->text, SECRET, sizeof SECRET);
}

static void a_child_holds_nothing_of_its_parents(void **state)
{
    struct cfr_errand *e = NULL;
    struct cfr_err err = {0};
    struct view v;
    int fd = open("/dev/null", O_RDONLY); // NOLINT(android-cloexec-open): as a library may do

    (void)state;
    assert_true(fd > STDERR_FILENO);
    assert_int_equal(cfr_errand_start(look, NULL, sizeof v, &e, &err), 0);
    assert_int_equal(cfr_errand_wait(e, LIMIT_MS), CFR_ERRAND_DONE);
    v = *(const struct view *)cfr_errand_result(e);
    assert_int_equal(v.descriptors, 0);
    assert_int_equal(v.death_signal, SIGKILL);
    assert_string_equal(v.text, SECRET);
    memset(unmapped, 'x', sizeof unmapped);
    watched = ((const struct view *)cfr_errand_result(e))->text;
    cfr_errand_close(e);
    watched = NULL;
    for (size_t i = 0; i < sizeof unmapped; i++)
        assert_int_equal(unmapped[i], 0);
    (void)close(fd);
}

/* What a child with the rights of OTHER sees; the result of cfr_errand_as. */
static int look_as_other(struct view *out, struct cfr_err *err)
{
    const struct cfr_errand_gids more = {.gids = {MORE}, .count = 1};
    struct view *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int rc;

    assert_true(shared != MAP_FAILED);
    rc = cfr_errand_as(OTHER, &more, look, NULL, shared, err);
    *out = *shared;
    assert_int_equal(munmap(shared, sizeof *shared), 0);
    return rc;
}

static void a_users_rights_are_all_that_it_has(void **state)
{
    const gid_t ours = GROUP;
    struct cfr_err err = {0};
    struct view v;
    int fd;

    (void)state;
    if (geteuid() != 0) {
        print_message("needs root, to take another user's rights\n");
        skip();
    }
    assert_int_equal(setgroups(1, &ours), 0);
    fd = open("/dev/null", O_RDONLY); // NOLINT(android-cloexec-open): as a library may do
    assert_true(fd > STDERR_FILENO);
    assert_int_equal(look_as_other(&v, &err), 0);
    assert_int_equal(v.uid, OTHER);
    assert_int_equal(v.groups, 1);
    assert_int_equal(v.group, MORE);
    assert_int_equal(v.no_new_privs, 1);
    assert_int_equal(v.dumpable, 0);
    assert_false(v.blocked);
    assert_int_equal(v.death_signal, SIGKILL);
    assert_int_equal(v.descriptors, 0);
    (void)close(fd);
}

static void root_without_the_right_to_them_does_nothing(void **state)
{
    struct cfr_err err = {0};
    struct view v;

    (void)state;
    if (geteuid() != 0) {
        print_message("needs root\n");
        skip();
    }
    setgroups_error = EPERM;
    assert_int_equal(look_as_other(&v, &err), CFR_E_PERM);
    setgroups_error = EIO;
    assert_string_equal(v.text, "");
    assert_non_null(strstr(err.text, "CAP_SETUID and CAP_SETGID"));
    assert_int_equal(look_as_other(&v, &err), CFR_E_INTERNAL);
    assert_string_equal(v.text, "");
    setgroups_error = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_holds_nothing_of_its_parents),
        cmocka_unit_test(a_users_rights_are_all_that_it_has),
        cmocka_unit_test(root_without_the_right_to_them_does_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
