/* SPDX-License-Identifier: MIT */
/* Error codes, their classes, and the error object that the caller owns and every fallible function fills.
 * A function returns 0 or a code; its last parameter is the object, which may be NULL. The object holds no heap memory
 * and never a secret, and its text fits on a terminal: one line, at most 511 bytes, without control characters,
 * whatever was formatted into it. Nothing here blocks or allocates. */
#ifndef CFR_BASE_ERR_H
#define CFR_BASE_ERR_H

#include <stdarg.h>

/*
 * One list defines the codes, their names and their classes.
 *   RETRY  goes away by itself: full-jitter backoff, 1 s to 5 min
 *   STOP   only an operator (or the cloud's administrator) can correct it: slow retry
 *   LOCAL  this machine: its configuration, disk, memory or permissions: backoff, reported as local
 */
#define CFR_ERR_LIST(X)                                                                                                \
    X(CONFIG, LOCAL, "configuration")                                                                                  \
    X(USAGE, LOCAL, "usage")                                                                                           \
    X(NOMEM, LOCAL, "out-of-memory")                                                                                   \
    X(IO, LOCAL, "input-output")                                                                                       \
    X(NOSPACE, LOCAL, "no-space")                                                                                      \
    X(PERM, LOCAL, "permission")                                                                                       \
    X(PATH, LOCAL, "path")                                                                                             \
    X(MISSING, LOCAL, "missing")                                                                                       \
    X(LIMIT, LOCAL, "limit")                                                                                           \
    X(TOKEN, STOP, "token")                                                                                            \
    X(TOKEN_EXPIRED, RETRY, "token-expired")                                                                           \
    X(NET, RETRY, "network")                                                                                           \
    X(TIMEOUT, RETRY, "timeout")                                                                                       \
    X(TLS, STOP, "tls")                                                                                                \
    X(THROTTLED, RETRY, "throttled")                                                                                   \
    X(UNAVAILABLE, RETRY, "unavailable")                                                                               \
    X(IDP, RETRY, "identity-provider")                                                                                 \
    X(ANSWER, RETRY, "bad-answer")                                                                                     \
    X(WORSE, RETRY, "worse-credential")                                                                                \
    X(DENIED, STOP, "denied")                                                                                          \
    X(REJECTED, STOP, "rejected")                                                                                      \
    X(REDIRECT, STOP, "redirect")                                                                                      \
    X(CONFLICT, LOCAL, "conflict")                                                                                     \
    X(INTERNAL, LOCAL, "internal")

enum cfr_err_class { CFR_CLASS_NONE, CFR_CLASS_RETRY, CFR_CLASS_STOP, CFR_CLASS_LOCAL, CFR_CLASS_COUNT };

enum cfr_err_index {
    CFR_EI_OK,
#define X(name, class, text) CFR_EI_##name,
    CFR_ERR_LIST(X)
#undef X
        CFR_EI_COUNT
};

/* The codes proper: negative, never 0. */
enum cfr_err_code {
    CFR_OK = 0,
#define X(name, class, text) CFR_E_##name = -(int)CFR_EI_##name,
    CFR_ERR_LIST(X)
#undef X
};

#define CFR_ERR_TEXT_MAX 512

/* Zero it with `struct cfr_err err = {0};`. Holds no heap memory and never a secret. */
struct cfr_err {
    int code; /* 0 or CFR_E_... */
    char text[CFR_ERR_TEXT_MAX];
};

/* Sets code and text (cut if too long, at a UTF-8 boundary is not promised). ERR may be NULL. Returns CODE. */
int cfr_err_set(struct cfr_err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* CFR_E_NOMEM, "out of memory". */
int cfr_err_nomem(struct cfr_err *err);

/* As cfr_err_set, and appends ": " and the text of the errno value ERRNUM. The code is derived from ERRNUM
 * (ENOSPC, EACCES, ENOENT, ENOMEM, ELOOP ...), CFR_E_IO where nothing fits better. Returns that code. */
int cfr_err_sys(struct cfr_err *err, int errnum, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Puts "CONTEXT: " before the text already in ERR. Returns err->code. */
int cfr_err_prefix(struct cfr_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Name of a code ("denied"), for logs and metrics. "ok" for 0, "unknown" for what is no code. */
const char *cfr_err_name(int code);
enum cfr_err_class cfr_err_class(int code);
/* "none", "retry", "stop", "local". */
const char *cfr_err_class_name(enum cfr_err_class class);

#endif
