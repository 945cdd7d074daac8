/* SPDX-License-Identifier: MIT */
/* Checking and copying the options of a watcher. */
#include "options.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK_MS      60000
#define CHECK_MS_MIN  100
#define POLL_MS       5000
#define POLL_MS_MIN   10
#define BYTES         ((size_t)4 << 20)
#define BYTES_MAX     ((size_t)256 << 20)
#define FILES         256
#define MEMBER_END(m) (offsetof(struct credfresh_options, m) + sizeof(((struct credfresh_options *)0)->m))

/* A program that was built with an older header gives fewer members, one with a newer header more, which have to be
 * zero. */
static int read_struct(const struct credfresh_options *given, struct credfresh_options *o, struct cfl_error *e)
{
    *o = (struct credfresh_options)CREDFRESH_OPTIONS_INIT;
    if (given == NULL)
        return 0;
    if (given->struct_size < MEMBER_END(context))
        return cfl_fail(e, CREDFRESH_E_INVALID,
                        "options.struct_size is %zu: set it to sizeof(struct credfresh_options)", given->struct_size);
    for (size_t i = sizeof *o; i < given->struct_size; i++)
        if (((const unsigned char *)given)[i] != 0)
            return cfl_fail(e, CREDFRESH_E_INVALID,
                            "the options ask for what libcredfresh %s does not know: use a newer one",
                            credfresh_version());
    memcpy(o, given, sizeof *o);
    return 0;
}

static int check_limits(const struct credfresh_options *o, struct cfl_error *e)
{
    if ((o->flags & ~CREDFRESH_POLL_ONLY) != 0)
        return cfl_fail(e, CREDFRESH_E_INVALID, "options.flags has unknown bits: 0x%x", o->flags);
    if (o->check_ms != 0 && o->check_ms < CHECK_MS_MIN)
        return cfl_fail(e, CREDFRESH_E_INVALID, "options.check_ms is %u: it has to be at least %d", o->check_ms,
                        CHECK_MS_MIN);
    if (o->poll_ms != 0 && o->poll_ms < POLL_MS_MIN)
        return cfl_fail(e, CREDFRESH_E_INVALID, "options.poll_ms is %u: it has to be at least %d", o->poll_ms,
                        POLL_MS_MIN);
    if (o->bytes_max > BYTES_MAX)
        return cfl_fail(e, CREDFRESH_E_INVALID, "options.bytes_max is %zu: it may be at most %zu", o->bytes_max,
                        BYTES_MAX);
    if (o->files_max > CREDFRESH_FILES_MAX || o->name_count > CREDFRESH_FILES_MAX)
        return cfl_fail(e, CREDFRESH_E_INVALID, "options.files_max or name_count is more than %d", CREDFRESH_FILES_MAX);
    if (o->name_count != 0 && o->names == NULL)
        return cfl_fail(e, CREDFRESH_E_INVALID, "options.names is NULL, but name_count is not 0");
    return 0;
}

/* A path that stays below the directory. */
static bool is_inside(const char *name)
{
    if (name == NULL || name[0] == '\0' || strlen(name) > CFL_NAME_MAX)
        return false;
    for (const char *p = name;; p++) {
        size_t n = strcspn(p, "/");

        if (n == 0 || (n == 1 && p[0] == '.') || (n >= 2 && p[0] == '.' && p[1] == '.'))
            return false;
        p += n;
        if (*p == '\0')
            return true;
    }
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int read_names(const struct credfresh_options *o, struct cfl_options *out, struct cfl_error *e)
{
    if (o->name_count == 0)
        return 0;
    out->names = calloc(o->name_count, sizeof *out->names);
    if (out->names == NULL)
        return cfl_fail(e, CREDFRESH_E_NOMEM, "out of memory");
    for (size_t i = 0; i < o->name_count; i++) {
        if (!is_inside(o->names[i]))
            return cfl_fail(
                e, CREDFRESH_E_INVALID,
                "options.names[%zu] has to be a path below the directory, without any part that begins with ..", i);
        out->names[i] = strdup(o->names[i]);
        if (out->names[i] == NULL)
            return cfl_fail(e, CREDFRESH_E_NOMEM, "out of memory");
        out->wanted.name_count++;
    }
    qsort(out->names, o->name_count, sizeof *out->names, compare);
    for (size_t i = 1; i < o->name_count; i++)
        if (strcmp(out->names[i - 1], out->names[i]) == 0)
            return cfl_fail(e, CREDFRESH_E_INVALID, "options.names holds %s twice", out->names[i]);
    return 0;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

static int read_directory(const char *directory, struct cfl_options *out, struct cfl_error *e)
{
    char current[PATH_MAX] = "";
    char *end;
    size_t n;

    if (directory == NULL || directory[0] == '\0')
        return cfl_fail(e, CREDFRESH_E_INVALID, "the directory is %s", directory == NULL ? "NULL" : "empty");
    if (strcmp(last_part(directory), "..data") == 0)
        return cfl_fail(e, CREDFRESH_E_INVALID, "%s: name the directory that holds ..data, not the link", directory);
    if (directory[0] != '/' && getcwd(current, sizeof current) == NULL)
        return cfl_fail_errno(e, errno, "the current directory, where %s begins", directory);
    n = strlen(current) + 1 + strlen(directory) + 1;
    if (n > PATH_MAX)
        return cfl_fail(e, CREDFRESH_E_INVALID, "the directory's path is longer than %d bytes", PATH_MAX - 1);
    out->directory = calloc(1, n);
    if (out->directory == NULL)
        return cfl_fail(e, CREDFRESH_E_NOMEM, "out of memory");
    end = stpcpy(out->directory, current);
    if (directory[0] != '/')
        *end++ = '/';
    (void)stpcpy(end, directory);
    return 0;
}

int cfl_options_copy(const char *directory, const struct credfresh_options *given, struct cfl_options *out,
                     struct cfl_error *e)
{
    struct credfresh_options o;
    int rc;

    *out = (struct cfl_options){.flags = 0};
    rc = read_struct(given, &o, e);
    if (rc == 0)
        rc = check_limits(&o, e);
    if (rc == 0)
        rc = read_directory(directory, out, e);
    if (rc == 0)
        rc = read_names(&o, out, e);
    if (rc != 0)
        return rc;
    out->flags = o.flags;
    out->check_ms = o.check_ms != 0 ? o.check_ms : CHECK_MS;
    out->poll_ms = o.poll_ms != 0 ? o.poll_ms : POLL_MS;
    out->on_change = o.on_change;
    out->context = o.context;
    out->wanted.directory = out->directory;
    out->wanted.names = out->names;
    out->wanted.files_max = o.name_count != 0 ? o.name_count : o.files_max != 0 ? o.files_max : FILES;
    out->wanted.bytes_max = o.bytes_max != 0 ? o.bytes_max : BYTES;
    return 0;
}

void cfl_options_free(struct cfl_options *o)
{
    for (size_t i = 0; i < o->wanted.name_count; i++)
        free(o->names[i]);
    free(o->names);
    free(o->directory);
    *o = (struct cfl_options){.flags = 0};
}
