/* SPDX-License-Identifier: MIT */
/* One followed directory: verifies its newest snapshot and keeps the last good part of the set. */
#ifndef CREDFRESH_TLS_SOURCE_H
#define CREDFRESH_TLS_SOURCE_H

#include "tls_set.h"

/* Why the newest state of a directory is not in use; code 0: it is. */
struct cfl_tls_verdict {
    int code;
    char text[sizeof((struct credfresh_tls_status *)0)->text];
};

/* A directory. Names that are not followed in it are NULL. */
struct cfl_tls_source {
    struct credfresh *watch;
    char *cert_name;
    char *key_name;
    char *ca_name;
    struct cfl_tls_set *good;          /* the newest that passed, or NULL */
    uint64_t generation;               /* of GOOD */
    struct cfl_tls_verdict watch_said; /* on reading the directory */
    struct cfl_tls_verdict set_said;   /* on its newest snapshot */
    bool fresh;                        /* there is a snapshot that was not verified yet */
    int64_t again_s;                   /* when the newest snapshot is to be verified again: 0 never */
    int64_t verified_s;                /* when it was verified last */
};

/* Result of a refresh. */
enum cfl_tls_event { CFL_TLS_NOTHING, CFL_TLS_TAKEN, CFL_TLS_REFUSED };

/* Dispatches the watcher, and verifies the snapshot if it is new or due at NOW_S, or if it had expired and the clock
 * has been set back since. A verdict that is confirmed is CFL_TLS_NOTHING. */
enum cfl_tls_event cfl_tls_source_refresh(struct cfl_tls_source *source, SSL_CTX *trial, unsigned int flags,
                                          int64_t now_s);
/* The verdict on the directory if it is an error, else the one on the set. */
const struct cfl_tls_verdict *cfl_tls_source_verdict(const struct cfl_tls_source *source);

#endif
