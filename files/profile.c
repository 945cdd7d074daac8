/* SPDX-License-Identifier: MIT */
/* Merging one profile into an AWS credentials or config file. */
#include "files/file_private.h"
#include "files/profile_private.h"

#include "base/hash.h"
#include "files/mount_private.h"
#include "files/path_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SECTION_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/%@:+"
#define LOCK_WAIT_MS  2000
#define LOCK_STEP_MS  20
#define CHANGED_TRIES 3

enum kind { BLANK, COMMENT, HEADER, SETTING };

struct section_range {
    bool found;
    size_t header_end; /* offset behind the header's line feed */
    size_t from;       /* of the first key */
    size_t to;         /* behind the last one; [from, to) is replaced */
};

/* A comment that is indented belongs to the value above it for some SDKs, so it counts as a setting. */
static enum kind classify_line(struct cfr_view line)
{
    struct cfr_view text = cfr_view_trim(line);

    if (text.n == 0)
        return BLANK;
    if (text.p[0] == '[')
        return HEADER;
    return line.p[0] == '#' || line.p[0] == ';' ? COMMENT : SETTING;
}

/* NAME as the most lenient SDK reads it: outer blanks and quotes gone, inner blanks single, `profile default`
 * the same as `default`. */
static void normalise_name(struct cfr_view name, char *out, size_t size)
{
    static const char alias[] = "profile default";
    size_t n = 0;

    name = cfr_view_trim(name);
    for (size_t i = 0; i < name.n && n < size - 1; i++) {
        char c = name.p[i] == '\t' || name.p[i] == '\r' ? ' ' : name.p[i];

        if (c == '"' || c == '\'' || (c == ' ' && n != 0 && out[n - 1] == ' '))
            continue;
        out[n++] = c;
    }
    out[n] = '\0';
    if (strcmp(out, alias) == 0)
        memmove(out, "default", sizeof "default");
}

/* Sets *OURS; CFR_E_CONFLICT if the SDKs read the header in different ways. */
static int read_header(struct cfr_view line, const char *section, size_t number, bool *ours, struct cfr_err *err)
{
    struct cfr_view text = cfr_view_trim(line);
    ptrdiff_t end = cfr_view_find(text, "]");
    struct cfr_view name = {text.p + 1, (end < 0 ? text.n : (size_t)end) - 1};
    struct cfr_view rest = {text.p + name.n + 1, text.n - name.n - 1};
    char loose[256];

    rest = end < 0 ? rest : (struct cfr_view){rest.p + 1, rest.n - 1};
    *ours = line.p[0] == '[' && end > 0 && cfr_view_is(name, section) && cfr_view_find(rest, "]") < 0;
    normalise_name(name, loose, sizeof loose);
    if (*ours || strcmp(loose, section) != 0)
        return 0;
    return cfr_err_set(err, CFR_E_CONFLICT,
                       "line %zu: this heading is [%s] for some SDKs and something else for others: write only [%s] at "
                       "the beginning of the line, or remove it",
                       number, section, section);
}

static int check_text(struct cfr_view old, struct cfr_err *err)
{
    size_t number = 1;

    if (cfr_view_starts(old, "\xef\xbb\xbf"))
        return cfr_err_set(err, CFR_E_CONFLICT,
                           "line 1: the file begins with a byte order mark, for which some SDKs "
                           "refuse it: remove it");
    for (size_t i = 0; i < old.n; i++) {
        if (old.p[i] == '\n')
            number++;
        if (old.p[i] == '\0')
            return cfr_err_set(err, CFR_E_CONFLICT, "line %zu: a NUL byte; the file is not text", number);
        if (old.p[i] == '\r' && (i + 1 == old.n || old.p[i + 1] != '\n'))
            return cfr_err_set(
                err, CFR_E_CONFLICT,
                "line %zu: a carriage return that is not before a line feed ends the line for some SDKs: "
                "remove it",
                number);
    }
    return 0;
}

/* Finds the section and the keys in it, which are to be replaced. */
static int find_section(struct cfr_view old, const char *section, struct section_range *at, struct cfr_err *err)
{
    struct cfr_view rest = old;
    struct cfr_view line;
    bool inside = false;
    int rc = check_text(old, err);

    *at = (struct section_range){0};
    for (size_t number = 1; rc == 0 && cfr_view_line(&rest, &line); number++) {
        enum kind kind = classify_line(line);
        bool was_inside = inside;

        if (kind == HEADER) {
            rc = read_header(line, section, number, &inside, err);
            if (rc == 0 && inside && at->found)
                rc = cfr_err_set(err, CFR_E_CONFLICT,
                                 "line %zu: the section [%s] occurs a second time, for which "
                                 "some SDKs refuse the whole file: remove one",
                                 number, section);
            if (rc == 0 && was_inside && line.p[0] != '[')
                rc = cfr_err_set(err, CFR_E_CONFLICT,
                                 "line %zu: this indented heading belongs to the value before it "
                                 "for some SDKs: move it to the beginning of the line",
                                 number);
            if (rc == 0 && inside) {
                at->found = true;
                at->header_end = at->from = at->to = old.n - rest.n;
            }
        } else if (inside && kind == SETTING) {
            if (at->to == at->header_end)
                at->from = (size_t)(line.p - old.p);
            at->to = old.n - rest.n;
        }
    }
    return rc;
}

static int check_section(const char *section, struct cfr_err *err)
{
    static const char profile[] = "profile ";
    const char *name = strncmp(section, profile, sizeof profile - 1) == 0 ? section + sizeof profile - 1 : section;

    if (name[0] == '\0' || strlen(name) > 64 || name[strspn(name, SECTION_CHARS)] != '\0' ||
        strcmp(name, "DEFAULT") == 0 || strcmp(section, "profile default") == 0)
        return cfr_err_set(err, CFR_E_CONFIG,
                           "\"%.80s\" cannot be a section of a profile: use letters, digits and `_.-/%%@:+`, and in a "
                           "config file `profile NAME` or `default`",
                           section);
    return 0;
}

static int check_body(struct cfr_view body, struct cfr_err *err)
{
    struct cfr_view rest = body;
    struct cfr_view line;

    if (body.n != 0 && body.p[body.n - 1] != '\n')
        return cfr_err_set(err, CFR_E_INTERNAL, "the profile's last line does not end");
    while (cfr_view_line(&rest, &line)) {
        if (!cfr_view_printable(line) || line.n == 0 || strchr(" [#;", line.p[0]) != NULL ||
            cfr_view_find(line, " = ") <= 0)
            return cfr_err_set(err, CFR_E_INTERNAL, "a line of the profile is not `key = value`");
    }
    return 0;
}

static int append_parts(struct cfr_secret *out, const struct cfr_view *parts, size_t count, struct cfr_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = cfr_secret_append(out, parts[i], err);
    return rc;
}

static bool ends_line(struct cfr_view text)
{
    return text.n == 0 || text.p[text.n - 1] == '\n';
}

int cfr_profile_merge(struct cfr_view old, const char *section, struct cfr_view body, struct cfr_secret *out,
                      struct cfr_err *err)
{
    bool crlf = cfr_view_find(old, "\r\n") >= 0;
    struct section_range at;
    int rc = check_section(section, err);

    rc = rc != 0 ? rc : check_body(body, err);
    rc = rc != 0 ? rc : find_section(old, section, &at, err);
    if (rc != 0)
        return rc;
    cfr_secret_clear(out);
    if (at.found) {
        struct cfr_view before = {old.p, at.from};
        struct cfr_view parts[] = {
            before, cfr_view_of(ends_line(before) ? "" : "\n"), body, {old.p + at.to, old.n - at.to}};

        return append_parts(out, parts, sizeof parts / sizeof parts[0], err);
    }
    struct cfr_view parts[] = {old,
                               cfr_view_of(ends_line(old) ? ""
                                           : crlf         ? "\r\n"
                                                          : "\n"),
                               cfr_view_of(old.n == 0 ? ""
                                           : crlf     ? "\r\n"
                                                      : "\n"),
                               cfr_view_of("["),
                               cfr_view_of(section),
                               cfr_view_of("]\n"),
                               body};

    return append_parts(out, parts, sizeof parts / sizeof parts[0], err);
}

static int64_t now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Opens and locks NAME.lock. Closing the descriptor unlocks. */
static int acquire_lock(int dir_fd, const char *name, bool wait, struct cfr_err *err)
{
    const struct timespec step = {0, LOCK_STEP_MS * 1000000L};
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int64_t until_ms = now_ms() + (wait ? LOCK_WAIT_MS : 0);
    char lock_name[CFR_PATH_NAME_MAX + 8];
    int rc = 0;
    int fd;

    (void)snprintf(lock_name, sizeof lock_name, "%s" CFR_MOUNT_LOCK, name);
    fd = cfr_path_openat(dir_fd, lock_name, O_RDWR | O_CREAT | O_NONBLOCK | O_NOCTTY, 0600, err);
    if (fd < 0)
        return fd;
    while (fcntl(fd, F_OFD_SETLK, &whole) != 0) {
        if (errno != EAGAIN && errno != EACCES)
            rc = cfr_err_sys(err, errno, "cannot lock %s", lock_name);
        else if (now_ms() >= until_ms)
            rc = cfr_err_set(err, CFR_E_TIMEOUT, "another program has held the lock %s for %d s", lock_name,
                             LOCK_WAIT_MS / 1000);
        if (rc != 0) {
            (void)close(fd);
            return rc;
        }
        (void)nanosleep(&step, NULL);
    }
    return fd;
}

struct merge {
    const char *name;
    const char *section;
    const struct cfr_file *file;
    mode_t *was; /* NULL: no secret */
    struct cfr_secret old;
    struct cfr_secret new;
};

/* True if other users may do with the file of status ST what they may not with a new one. The mode of that inode stays:
 * in a directory that others write to, it may be a file of ours that they have linked there. */
static bool is_too_open(const struct merge *m, const struct stat *st)
{
    return m->was != NULL && st->st_nlink != 0 && (st->st_mode & S_IRWXO & ~m->file->mode) != 0;
}

/* One attempt; *RACED if the file changed under us. */
static int merge_once(int dir_fd, struct merge *m, bool *changed, bool *raced, struct cfr_err *err)
{
    struct cfr_file file = *m->file;
    struct stat st;
    bool same;
    int rc = cfr_file_read_before(dir_fd, m->name, &m->old, &st, err);

    rc = rc != 0 ? rc : cfr_profile_merge(cfr_secret_view(&m->old), m->section, m->file->content, &m->new, err);
    *raced = false;
    if (rc != 0)
        return rc;
    same = st.st_nlink != 0 && cfr_view_eq(cfr_secret_view(&m->old), cfr_secret_view(&m->new));
    if (same && !is_too_open(m, &st)) {
        /* It may come from a run that was killed after the rename. */
        (void)cfr_path_sync(dir_fd, "the directory", NULL);
        return 0;
    }
    if (st.st_nlink == 0)
        cfr_path_sync_above(dir_fd);
    /* Not every program takes the lock, so the time between reading and renaming is kept short. */
    *raced = !cfr_file_is_as_before(dir_fd, m->name, &st);
    if (*raced)
        return 0;
    file.name = m->name;
    file.content = cfr_secret_view(&m->new);
    if (st.st_nlink != 0) {
        file.mode = st.st_mode & (is_too_open(m, &st) ? m->file->mode : 0777);
        file.uid = st.st_uid;
        file.gid = st.st_gid;
    }
    rc = cfr_file_replace(dir_fd, &file, err);
    *changed = rc == 0 && !same;
    if (rc == 0 && is_too_open(m, &st))
        *m->was = st.st_mode & 07777;
    return rc;
}

static int merge_locked(int dir_fd, struct merge *m, bool wait, bool *changed, struct cfr_err *err)
{
    int lock_fd = acquire_lock(dir_fd, m->name, wait, err);
    bool raced = true;
    int rc = 0;

    if (lock_fd < 0)
        return lock_fd;
    for (int i = 0; rc == 0 && raced && i < CHANGED_TRIES; i++)
        rc = merge_once(dir_fd, m, changed, &raced, err);
    if (rc == 0 && raced)
        rc = cfr_err_set(err, CFR_E_CONFLICT, "another program keeps changing it without taking %s.lock", m->name);
    (void)close(lock_fd);
    return rc;
}

int cfr_profile_publish(const char *path, const char *section, const struct cfr_file *file, bool wait, mode_t *was,
                        bool *changed, struct cfr_err *err)
{
    struct merge m = {.section = section, .file = file, .was = was};
    int dir_fd = cfr_path_open_parent(path, true, &m.name, err);
    int rc;

    *changed = false;
    if (was != NULL)
        *was = 0;
    if (dir_fd < 0)
        return dir_fd;
    cfr_secret_init(&m.old, CFR_PROFILE_FILE_MAX);
    cfr_secret_init(&m.new, CFR_PROFILE_FILE_MAX);
    rc = merge_locked(dir_fd, &m, wait, changed, err);
    if (rc != 0)
        (void)cfr_err_prefix(err, "%s", path);
    cfr_secret_free(&m.old);
    cfr_secret_free(&m.new);
    (void)close(dir_fd);
    return rc;
}

int cfr_profile_recover(const char *path, struct cfr_err *err)
{
    struct cfr_err local = {0};
    const char *name;
    int dir_fd = cfr_path_open_parent(path, false, &name, &local);
    int lock_fd;
    int rc;

    if (dir_fd < 0)
        return dir_fd == CFR_E_MISSING ? 0 : cfr_err_set(err, dir_fd, "%s", local.text);
    lock_fd = acquire_lock(dir_fd, name, false, err);
    rc = lock_fd >= 0 ? cfr_file_remove_temps(dir_fd, name, err) : lock_fd == CFR_E_TIMEOUT ? 0 : lock_fd;
    if (lock_fd >= 0)
        (void)close(lock_fd);
    (void)close(dir_fd);
    return rc != 0 ? cfr_err_prefix(err, "%s", path) : 0;
}

int cfr_profile_verify(const char *path, const char *section, struct cfr_file_fingerprint *mark, struct cfr_err *err)
{
    struct cfr_secret content;
    const char *name;
    struct section_range at = {0};
    int dir_fd = cfr_path_open_parent(path, false, &name, err);
    int rc;

    if (dir_fd < 0)
        return dir_fd;
    cfr_secret_init(&content, CFR_PROFILE_FILE_MAX);
    rc = cfr_file_read_at(dir_fd, name, &content, err);
    rc = rc != 0 ? rc : find_section(cfr_secret_view(&content), section, &at, err);
    if (rc == 0 && (!at.found || at.from == at.to))
        rc = cfr_err_set(err, CFR_E_MISSING, "it has no section [%s] with a key", section);
    if (rc == 0 && mark != NULL)
        *mark = (struct cfr_file_fingerprint){
            .size = at.to - at.from,
            .mtime_ns = (int64_t)cfr_hash_add(CFR_HASH_START, cfr_secret_view(&content).p + at.from, at.to - at.from)};
    if (rc != 0)
        (void)cfr_err_prefix(err, "%s", path);
    cfr_secret_free(&content);
    (void)close(dir_fd);
    return rc;
}
