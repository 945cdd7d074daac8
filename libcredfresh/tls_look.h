/* SPDX-License-Identifier: MIT */
/* One followed directory: takes its newest snapshot, judges it, and keeps the last good part of the set. */
#ifndef CREDFRESH_TLS_LOOK_H
#define CREDFRESH_TLS_LOOK_H

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
    struct cfl_tls_verdict set_said;   /* on the newest snapshot of it */
    bool fresh;                        /* there is a snapshot that was not judged yet */
    int64_t again_s;                   /* when the newest snapshot is to be judged once more: 0 never */
};

/* What a look brought. */
enum cfl_tls_event { CFL_TLS_NOTHING, CFL_TLS_TAKEN, CFL_TLS_REFUSED };

/* Dispatches the watcher, and judges what is new or due at NOW_S. */
enum cfl_tls_event cfl_tls_look(struct cfl_tls_source *source, SSL_CTX *trial, unsigned int flags, int64_t now_s);
/* The verdict that counts: on the directory before the one on the set. */
const struct cfl_tls_verdict *cfl_tls_look_verdict(const struct cfl_tls_source *source);

#endif
