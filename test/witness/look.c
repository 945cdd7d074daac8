/* SPDX-License-Identifier: MIT */
/* Opens and reads credentials, name by name or as one set. */
#include "look.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CFW_FILE_MAX ((size_t)1048576) /* bytes; a whole Kubernetes Secret is not larger */

const struct cfw_known *cfw_look_known(const struct cfw_memory *memory, const char *name)
{
    for (size_t i = 0; i < memory->n; i++)
        if (strcmp(memory->known[i].name, name) == 0)
            return &memory->known[i];
    return NULL;
}

const struct cfw_fact *cfw_look_fact(const struct cfw_view *view, const char *name)
{
    for (size_t i = 0; i < view->n; i++)
        if (strcmp(view->facts[i].name, name) == 0)
            return &view->facts[i];
    return NULL;
}

/* A kind given on the command line comes first; then what the name was before, so that the stump of a file is
 * still judged as what it should be. */
static enum cfw_kind expected_kind(const struct cfw_options *o, const struct cfw_memory *memory, const char *name)
{
    const struct cfw_rule *rule = cfw_options_rule(&o->kinds, name);
    if (rule)
        return (enum cfw_kind)rule->value;
    const struct cfw_known *known = cfw_look_known(memory, name);
    return known && known->kind != CFW_ANY ? known->kind : CFW_UNKNOWN;
}

/* Reads the descriptor to its end and judges the bytes. Sets fact->err on failure. */
static void read_whole(int fd, enum cfw_kind kind, struct cfw_fact *fact)
{
    static char buffer[CFW_FILE_MAX + 1];
    size_t n = 0;
    while (n < sizeof buffer) {
        ssize_t got = read(fd, buffer + n, sizeof buffer - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            fact->err = errno;
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    fact->size = n;
    fact->digest = cfw_content_digest(buffer, n);
    cfw_content_judge(buffer, n, kind, &fact->content);
    if (n > CFW_FILE_MAX)
        fact->content.torn = "it is larger than 1 MiB";
    explicit_bzero(buffer, n);
}

/* Fills a fact from an open descriptor and closes it. Returns false if it is not a regular file. */
static bool examine(int fd, enum cfw_kind kind, struct cfw_fact *fact)
{
    struct stat st;
    bool regular = true;
    if (fstat(fd, &st) != 0) {
        fact->err = errno;
    } else if (!S_ISREG(st.st_mode)) {
        regular = false;
    } else {
        fact->inode = st.st_ino;
        fact->mode = st.st_mode & 07777U;
        read_whole(fd, kind, fact);
    }
    (void)close(fd);
    return regular;
}

static int open_file(int dir, const char *name)
{
    return openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

/* The target of `..data` in an open directory; empty if there is none. */
static void read_link(int dir, char *target, size_t size)
{
    ssize_t n = readlinkat(dir, "..data", target, size - 1);
    target[n > 0 ? n : 0] = '\0';
}

/* Opens a visible name. If it went missing while `..data` moved on, the walk went through the generation that
 * was just removed: bad luck that the next try does not have. Every other absence is real. */
static int open_name(int dir, const char *name, struct cfw_luck *luck)
{
    char before[256];
    char after[256];
    for (int tries = 0;; tries++) {
        read_link(dir, before, sizeof before);
        int fd = open_file(dir, name);
        if (fd >= 0 || errno != ENOENT || tries == 8)
            return fd;
        read_link(dir, after, sizeof after);
        if (strcmp(before, after) == 0 || after[0] == '\0') {
            errno = ENOENT;
            return -1;
        }
        luck->stumbles++;
    }
}

/* Adds a fact for a name, unless there is one or there is no room; returns it or NULL. */
static struct cfw_fact *add_fact(struct cfw_view *view, const char *name, struct cfw_luck *luck)
{
    if (cfw_look_fact(view, name))
        return NULL;
    if (view->n == CFW_NAMES_MAX || strlen(name) >= sizeof view->facts[0].name) {
        luck->unread++;
        return NULL;
    }
    struct cfw_fact *fact = &view->facts[view->n++];
    *fact = (struct cfw_fact){.content = {.expires_s = CFW_NO_TIME, .generation = -1}};
    memcpy(fact->name, name, strlen(name));
    return fact;
}

/* Reads one name of an open directory into the view. */
static void look_at(int dir, const char *name, const struct cfw_options *o, const struct cfw_memory *memory,
                    struct cfw_view *view, struct cfw_luck *luck)
{
    struct cfw_fact *fact = add_fact(view, name, luck);
    if (!fact)
        return;
    int fd = view->reader == CFW_NAMES ? open_name(dir, name, luck) : open_file(dir, name);
    if (fd < 0)
        fact->err = errno;
    else if (!examine(fd, expected_kind(o, memory, name), fact))
        view->n--;
}

static int compare_facts(const void *a, const void *b)
{
    const struct cfw_fact *left = a;
    const struct cfw_fact *right = b;
    return strcmp(left->name, right->name);
}

/* Reads every file of a directory. Names that begin with two dots belong to the layout; without that layout,
 * names with one dot are a writer's own until it renames them. */
static void look_below(int dir, bool plain, const struct cfw_options *o, const struct cfw_memory *memory,
                       struct cfw_view *view, struct cfw_luck *luck)
{
    int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = copy >= 0 ? fdopendir(copy) : NULL;
    if (!list) {
        view->err = errno;
        if (copy >= 0)
            (void)close(copy);
        return;
    }
    for (const struct dirent *entry = readdir(list); entry; entry = readdir(list)) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strncmp(name, "..", 2) == 0)
            continue;
        if (plain && name[0] == '.' && !cfw_options_rule(&o->expect, name))
            continue;
        look_at(dir, name, o, memory, view, luck);
    }
    (void)closedir(list);
}

static void start(struct cfw_view *view, enum cfw_reader reader)
{
    view->reader = reader;
    view->err = 0;
    view->generation[0] = '\0';
    view->n = 0;
}

bool cfw_look_names(const char *dir, const struct cfw_options *o, const struct cfw_memory *memory,
                    struct cfw_view *view, struct cfw_luck *luck)
{
    start(view, CFW_NAMES);
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        view->err = errno;
        return true;
    }
    char target[256];
    read_link(fd, target, sizeof target);
    look_below(fd, target[0] == '\0' && !memory->layered, o, memory, view, luck);
    /* A consumer has its file names from its configuration and does not list the directory first. */
    for (size_t i = 0; i < memory->n; i++)
        look_at(fd, memory->known[i].name, o, memory, view, luck);
    for (size_t i = 0; i < o->expect.n; i++)
        look_at(fd, o->expect.rule[i].name, o, memory, view, luck);
    qsort(view->facts, view->n, sizeof view->facts[0], compare_facts);
    (void)close(fd);
    return true;
}

/* Whether a set that was read while its generation was replaced has lost files to the clean-up. */
static bool lost_some(const struct cfw_memory *memory, const struct cfw_options *o, const struct cfw_view *view)
{
    if (view->n == 0 || view->err)
        return true;
    for (size_t i = 0; i < view->n; i++)
        if (view->facts[i].err)
            return true;
    for (size_t i = 0; i < memory->n; i++)
        if (!cfw_look_fact(view, memory->known[i].name))
            return true;
    for (size_t i = 0; i < o->expect.n; i++)
        if (!cfw_look_fact(view, o->expect.rule[i].name))
            return true;
    return false;
}

static bool same_directory(int fd, int dir, const char *name)
{
    struct stat opened;
    struct stat now;
    return fstat(fd, &opened) == 0 && fstatat(dir, name, &now, 0) == 0 && opened.st_ino == now.st_ino &&
           opened.st_dev == now.st_dev;
}

/* Reads the set behind `..data`. */
static bool look_layered(int dir, const struct cfw_options *o, const struct cfw_memory *memory, struct cfw_view *view,
                         struct cfw_luck *luck)
{
    char after[256];
    int set = openat(dir, "..data", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int err = set < 0 ? errno : 0;
    if (set < 0) {
        read_link(dir, after, sizeof after);
        view->err = err;
        if (strcmp(after, view->generation) == 0)
            return true;
        luck->discarded++;
        return false;
    }
    look_below(set, false, o, memory, view, luck);
    bool moved = !same_directory(set, dir, "..data");
    read_link(dir, after, sizeof after);
    (void)close(set);
    /* What could be read must be whole even then; only absence is excused, and a name that may be another
     * set's. */
    if (moved ? lost_some(memory, o, view) : strcmp(after, view->generation) != 0) {
        luck->discarded++;
        return false;
    }
    return true;
}

bool cfw_look_snapshot(const char *dir, const struct cfw_options *o, struct cfw_memory *memory, struct cfw_view *view,
                       struct cfw_luck *luck)
{
    start(view, CFW_SNAPSHOT);
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        view->err = errno;
        return true;
    }
    bool keep = true;
    read_link(fd, view->generation, sizeof view->generation);
    memory->layered = memory->layered || view->generation[0] != '\0';
    if (memory->layered) {
        keep = look_layered(fd, o, memory, view, luck);
    } else {
        char after[256];
        look_below(fd, true, o, memory, view, luck);
        read_link(fd, after, sizeof after);
        keep = after[0] == '\0';
    }
    qsort(view->facts, view->n, sizeof view->facts[0], compare_facts);
    (void)close(fd);
    return keep;
}

bool cfw_look_file(const char *path, const struct cfw_options *o, const struct cfw_memory *memory,
                   struct cfw_view *view)
{
    struct cfw_luck none = {0};
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    start(view, CFW_SINGLE);
    struct cfw_fact *fact = add_fact(view, name, &none);
    if (!fact) {
        view->err = ENAMETOOLONG;
        return true;
    }
    int fd = open_file(AT_FDCWD, path);
    if (fd < 0)
        fact->err = errno;
    else if (!examine(fd, expected_kind(o, memory, name), fact))
        fact->err = EISDIR;
    return true;
}
