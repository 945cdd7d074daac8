/* SPDX-License-Identifier: MIT */
/* Error codes and texts. */
#include "error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define QUOTE(x)   #x
#define VERSION(x) QUOTE(x)

const char *credfresh_version(void)
{
    return VERSION(CREDFRESH_VERSION_MAJOR) "." VERSION(CREDFRESH_VERSION_MINOR) "." VERSION(CREDFRESH_VERSION_PATCH);
}

const char *credfresh_strerror(int code)
{
    switch (code) {
    case CREDFRESH_E_INVALID:
        return "an argument is wrong";
    case CREDFRESH_E_NOMEM:
        return "out of memory";
    case CREDFRESH_E_MISSING:
        return "the directory or a file in it is missing";
    case CREDFRESH_E_PERM:
        return "permission denied";
    case CREDFRESH_E_LIMIT:
        return "a limit is reached";
    case CREDFRESH_E_UNSTABLE:
        return "it changes while it is being read";
    case CREDFRESH_E_IO:
        return "a system call failed";
    case CREDFRESH_E_BUSY:
        return "the watcher is in use";
    case CREDFRESH_E_HELD:
        return "too many older snapshots are held";
    case CREDFRESH_E_NO_EXPIRY:
        return "it has no expiry";
    default:
        return code >= 0 ? "no error" : "unknown error";
    }
}

static int code_of(int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
        return CREDFRESH_E_MISSING;
    case EACCES:
    case EPERM:
    case EROFS:
        return CREDFRESH_E_PERM;
    case ENOMEM:
        return CREDFRESH_E_NOMEM;
    case EMFILE:
    case ENFILE:
    case ENOSPC:
        return CREDFRESH_E_LIMIT;
    case ENAMETOOLONG:
        return CREDFRESH_E_INVALID;
    default:
        return CREDFRESH_E_IO;
    }
}

/* strerror_r is one of two functions, depending on the libc. */
static inline const char *gnu_text(const char *result, const char *buffer)
{
    (void)buffer;
    return result;
}

static inline const char *posix_text(int result, const char *buffer)
{
    return result == 0 ? buffer : "unknown error";
}

int cfl_fail(struct cfl_error *e, int code, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    (void)vsnprintf(e->text, sizeof e->text, format, list);
    va_end(list);
    e->code = code;
    return code;
}

int cfl_fail_errno(struct cfl_error *e, int error, const char *format, ...)
{
    char buffer[128] = "";
    va_list list;
    size_t n;

    va_start(list, format);
    (void)vsnprintf(e->text, sizeof e->text, format, list);
    va_end(list);
    n = strlen(e->text);
    (void)snprintf(e->text + n, sizeof e->text - n, ": %s",
                   _Generic(strerror_r(error, buffer, sizeof buffer), char *
                            : gnu_text, int
                            : posix_text)(strerror_r(error, buffer, sizeof buffer), buffer));
    e->code = code_of(error);
    return e->code;
}

int cfl_report(const struct cfl_error *e, char *text, size_t text_size)
{
    if (text != NULL && text_size != 0)
        (void)snprintf(text, text_size, "%s", e->text);
    return e->code;
}
