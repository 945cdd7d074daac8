/* SPDX-License-Identifier: MIT */
/* Landlock: the directories that the process keeps. */
#include "agent/loop/sandbox.h"

#include "agent/loop/sandbox_private.h"
#include "files/file.h"
#include "files/path.h"
#include "files/route.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHANGES                                                                                                        \
    (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |                  \
     LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |                        \
     LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |                     \
     LANDLOCK_ACCESS_FS_MAKE_SYM)
/* Those of later versions, which older headers do not have. */
#define ACCESS_REFER          (UINT64_C(1) << 13)
#define ACCESS_TRUNCATE       (UINT64_C(1) << 14)

#define SCOPES_SINCE          6
#define SCOPE_ABSTRACT_SOCKET (UINT64_C(1) << 0)
#define SCOPE_SIGNAL          (UINT64_C(1) << 1)

/* As struct landlock_ruleset_attr of the version that has scopes. */
struct scopes {
    uint64_t handled_access_fs;
    uint64_t handled_access_net;
    uint64_t scoped;
};

/* A directory that was kept when Landlock came into force, and which one it was. Numbers of removed ones are
 * given out again, so the time of its birth counts, too, where the file system has one. */
struct granted {
    char *path;
    struct statx identity;
};

struct grants {
    struct granted *items;
    size_t count;
};

static struct grants grants[2]; /* by enum cfr_sandbox_access */

static bool read_identity(int fd, struct statx *out)
{
    *out = (struct statx){.stx_mask = 0};
    return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO | STATX_BTIME, out) == 0;
}

static bool is_same_directory(const struct statx *a, const struct statx *b)
{
    return a->stx_dev_major == b->stx_dev_major && a->stx_dev_minor == b->stx_dev_minor && a->stx_ino == b->stx_ino &&
           a->stx_btime.tv_sec == b->stx_btime.tv_sec && a->stx_btime.tv_nsec == b->stx_btime.tv_nsec;
}

static void remember(struct grants *all, const char *directory, int fd)
{
    struct granted *more = realloc(all->items, (all->count + 1) * sizeof *more);
    struct granted one = {.path = more != NULL ? strdup(directory) : NULL};

    if (more != NULL)
        all->items = more;
    if (one.path != NULL && read_identity(fd, &one.identity))
        all->items[all->count++] = one;
    else
        free(one.path);
}

/* Follows no link of another user. */
static int open_directory(const char *path, struct cfr_err *err)
{
    char inside[PATH_MAX + 2];
    const char *name;

    (void)snprintf(inside, sizeof inside, "%s/x", path[1] != '\0' ? path : "");
    return cfr_path_open_parent(inside, false, &name, err);
}

/* The same where no file system has to be asked that may not answer; else CFR_E_PATH. */
static int open_answering(const char *path)
{
    struct cfr_route route;

    cfr_route_find(path, true, false, &route);
    return route.storage != CFR_ROUTE_REMOTE ? open_directory(path, NULL) : CFR_E_PATH;
}

static int add_directory(int ruleset, const char *directory, uint64_t allowed, struct grants *all, struct cfr_err *err)
{
    struct landlock_path_beneath_attr rule = {.allowed_access = allowed};
    int rc = 0;

    rule.parent_fd = open_directory(directory, err);
    if (rule.parent_fd < 0)
        return rule.parent_fd;
    if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
        rc = cfr_err_sys(err, errno, "cannot keep %s", directory);
    else if (all != NULL)
        remember(all, directory, rule.parent_fd);
    (void)close(rule.parent_fd);
    return rc;
}

/* What is allowed below the directories. */
static uint64_t rights_of(enum cfr_sandbox_access access, long version)
{
    uint64_t rights = CHANGES;

    if (access == CFR_SANDBOX_READ)
        return LANDLOCK_ACCESS_FS_READ_FILE;
    if (version >= 2)
        rights |= ACCESS_REFER;
    if (version >= 3)
        rights |= ACCESS_TRUNCATE;
    return rights;
}

int cfr_sandbox_landlock(enum cfr_sandbox_access access, const char *const *directories, size_t count,
                         struct cfr_err *err)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    uint64_t allowed = rights_of(access, version);
    struct landlock_ruleset_attr attr = {.handled_access_fs = allowed};
    bool moves = access == CFR_SANDBOX_READ && version >= 2;
    int ruleset;
    int rc = 0;

    if (version < 1)
        return cfr_err_set(err, CFR_E_MISSING, "the kernel has no Landlock");
    if (access == CFR_SANDBOX_WRITE)
        attr.handled_access_fs |= LANDLOCK_ACCESS_FS_EXECUTE;
    /* Moving a file to another directory is refused by every ruleset that says nothing of it. */
    if (moves)
        attr.handled_access_fs |= ACCESS_REFER;
    ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
    if (ruleset < 0)
        return cfr_err_sys(err, errno, "the kernel refuses it");
    if (moves)
        rc = add_directory(ruleset, "/", ACCESS_REFER, NULL, err);
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = add_directory(ruleset, directories[i], allowed, &grants[access], err);
    if (rc == 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
        rc = cfr_err_sys(err, errno, "the kernel refuses it");
    (void)close(ruleset);
    return rc;
}

int cfr_sandbox_scope(bool abstract_sockets, bool signals, struct cfr_err *err)
{
    const struct scopes attr = {.scoped =
                                    (abstract_sockets ? SCOPE_ABSTRACT_SOCKET : 0) | (signals ? SCOPE_SIGNAL : 0)};
    int ruleset;
    int rc = 0;

    if (attr.scoped == 0 ||
        syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) < SCOPES_SINCE)
        return 0;
    ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
    if (ruleset < 0)
        return cfr_err_sys(err, errno, "the kernel refuses it");
    if (syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
        rc = cfr_err_sys(err, errno, "the kernel refuses it");
    (void)close(ruleset);
    return rc;
}

const char *cfr_sandbox_landlock_key(enum cfr_sandbox_access access)
{
    return access == CFR_SANDBOX_READ ? "landlock_read" : "landlock";
}

/* By their texts. */
static bool is_beneath(const char *directory, const char *path)
{
    size_t n = strlen(directory);

    return strncmp(directory, path, n) == 0 && (n == 1 || path[n] == '\0' || path[n] == '/');
}

/* False also where this is not known. */
static bool is_lost(const struct granted *g)
{
    struct statx now;
    int fd = open_answering(g->path);
    bool lost;

    if (fd < 0)
        return fd == CFR_E_MISSING;
    lost = read_identity(fd, &now) && !is_same_directory(&now, &g->identity);
    (void)close(fd);
    return lost;
}

bool cfr_sandbox_has_lost(enum cfr_sandbox_access access, const char *path)
{
    const struct grants *all = &grants[access];
    bool lost = false;

    for (size_t i = 0; i < all->count; i++) {
        if (!is_beneath(all->items[i].path, path))
            continue;
        if (!is_lost(&all->items[i]))
            return false;
        lost = true;
    }
    return lost;
}

void cfr_sandbox_nearest(char *path)
{
    int fd = open_answering(path);

    while (fd < 0 && path[1] != '\0') {
        char *slash = strrchr(path, '/');

        slash[slash == path ? 1 : 0] = '\0';
        fd = open_answering(path);
    }
    if (fd >= 0)
        (void)close(fd);
}

static bool is_granted(const struct grants *all, const struct statx *directory)
{
    for (size_t i = 0; i < all->count; i++) {
        if (is_same_directory(&all->items[i].identity, directory))
            return true;
    }
    return false;
}

bool cfr_sandbox_allows(enum cfr_sandbox_access access, const char *path)
{
    struct statx before = {.stx_mask = 0};
    struct statx now;
    char nearest[PATH_MAX];
    bool found = false;
    int fd;

    /* What is written replaces a link. */
    if (access != CFR_SANDBOX_READ || !cfr_file_leads_to(path, CFR_FILE_ANSWERING, nearest))
        (void)snprintf(nearest, sizeof nearest, "%s", path);
    cfr_sandbox_nearest(nearest);
    fd = open_answering(nearest);
    /* The root is above itself. */
    while (!found && fd >= 0 && read_identity(fd, &now) &&
           (before.stx_mask == 0 || !is_same_directory(&before, &now))) {
        int above = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

        (void)close(fd);
        fd = above;
        before = now;
        found = is_granted(&grants[access], &now);
    }
    if (fd < 0)
        return true;
    (void)close(fd);
    return found;
}

void cfr_sandbox_explain(enum cfr_sandbox_access access, const char *path, struct cfr_err *err)
{
    const char *verb = access == CFR_SANDBOX_READ ? "read" : "write to";
    const struct cfr_err why = *err;

    if (why.code != CFR_E_PERM)
        return;
    if (cfr_sandbox_has_lost(access, path))
        (void)cfr_err_set(err, why.code,
                          "%s; a directory above was removed or made again since the agent started, and its sandbox "
                          "(%s) lets it %s the old one only: restart it",
                          why.text, cfr_sandbox_landlock_key(access), verb);
    else if (grants[access].count != 0 && !cfr_sandbox_allows(access, path))
        (void)cfr_err_set(err, why.code,
                          "%s; %s leads outside of the directories that the agent may %s since its start (%s): restart "
                          "it",
                          why.text, access == CFR_SANDBOX_READ ? "it is or" : "a link", verb,
                          cfr_sandbox_landlock_key(access));
}

void cfr_sandbox_explain_links(struct cfr_err *err)
{
    const struct cfr_err why = *err;

    if (why.code == CFR_E_PERM && grants[CFR_SANDBOX_READ].count != 0)
        (void)cfr_err_set(err, why.code,
                          "%s; links of other users are followed only below the directories that the agent may read "
                          "since its start (landlock_read): if one leads elsewhere, name the real path",
                          why.text);
}
