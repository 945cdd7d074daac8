/* SPDX-License-Identifier: MIT */
/* Error object and the names of its codes. */
#include "base/err.h"

#include "base/view.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const names[CFR_EI_COUNT] = {"ok",
#define X(name, class, text) text,
                                                CFR_ERR_LIST(X)
#undef X
};

static const enum cfr_err_class classes[CFR_EI_COUNT] = {CFR_CLASS_NONE,
#define X(name, class, text) CFR_CLASS_##class,
                                                         CFR_ERR_LIST(X)
#undef X
};

static const char *const class_names[CFR_CLASS_COUNT] = {"none", "retry", "stop", "local"};

/* What a text repeats may come from anywhere. */
static void show(struct cfr_err *err)
{
    (void)cfr_view_show(cfr_view_of(err->text), err->text, sizeof err->text);
}

int cfr_err_set(struct cfr_err *err, int code, const char *fmt, ...)
{
    va_list ap;

    if (err == NULL)
        return code;
    err->code = code;
    va_start(ap, fmt);
    (void)vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    show(err);
    return code;
}

int cfr_err_nomem(struct cfr_err *err)
{
    return cfr_err_set(err, CFR_E_NOMEM, "out of memory");
}

static int code_of_errno(int errnum)
{
    switch (errnum) {
    case ENOSPC:
    case EDQUOT:
        return CFR_E_NOSPACE;
    case EACCES:
    case EPERM:
    case EROFS:
        return CFR_E_PERM;
    case ENOENT:
        return CFR_E_MISSING;
    case ENOMEM:
        return CFR_E_NOMEM;
    case ELOOP:
    case EXDEV:
    case ENOTDIR:
    case EISDIR:
    case ENAMETOOLONG:
        return CFR_E_PATH;
    case EMFILE:
    case ENFILE:
    case EFBIG:
        return CFR_E_LIMIT;
    default:
        return CFR_E_IO;
    }
}

int cfr_err_sys(struct cfr_err *err, int errnum, const char *fmt, ...)
{
    int code = code_of_errno(errnum);
    size_t n;
    va_list ap;

    if (err == NULL)
        return code;
    err->code = code;
    va_start(ap, fmt);
    (void)vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    n = strlen(err->text);
    (void)snprintf(err->text + n, sizeof err->text - n, ": %s", strerror(errnum));
    show(err);
    return code;
}

int cfr_err_prefix(struct cfr_err *err, const char *fmt, ...)
{
    char old[CFR_ERR_TEXT_MAX];
    size_t n;
    va_list ap;

    if (err == NULL)
        return CFR_E_INTERNAL;
    memcpy(old, err->text, sizeof old);
    va_start(ap, fmt);
    (void)vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    n = strlen(err->text);
    (void)snprintf(err->text + n, sizeof err->text - n, ": %s", old);
    show(err);
    return err->code;
}

static int index_of(int code)
{
    return code <= 0 && code > -(int)CFR_EI_COUNT ? -code : -1;
}

const char *cfr_err_name(int code)
{
    int i = index_of(code);

    return i < 0 ? "unknown" : names[i];
}

enum cfr_err_class cfr_err_class(int code)
{
    int i = index_of(code);

    return i < 0 ? CFR_CLASS_LOCAL : classes[i];
}

const char *cfr_err_class_name(enum cfr_err_class class)
{
    return (unsigned)class < CFR_CLASS_COUNT ? class_names[class] : "unknown";
}
