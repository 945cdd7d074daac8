/* SPDX-License-Identifier: MIT */
/* Sources: what a credential begins with. Each kind is a file with a row (struct cfr_source_ops), and a line in
 * sources.c; everything else works through the row, which also brings its key of the configuration.
 * Reading and granting block on disk. Inputs and grants belong to the caller. No callbacks. Errors say which file or
 * setting, what is wrong, and what to do. */
#ifndef CFR_AGENT_SOURCE_SOURCE_H
#define CFR_AGENT_SOURCE_SOURCE_H

#include "agent/config/kinds.h"
#include "agent/kube/module.h"
#include "agent/loop/clock.h"
#include "agent/source/inputs.h"
#include "agent/source/producer.h"

/* What sources need besides the configuration. */
struct cfr_source_env {
    struct cfr_now now;
    int64_t server_ms; /* the wall clock of the server that exchanges the token; 0 = not known */
    bool trust;    /* a request for a token was refused: the token in an overdue file is used as long as it is good */
    bool in_agent; /* a running agent reads, not a check */
    void *module;  /* state of the source's module; NULL = none */
};

/* Paths that are being watched; the first error is kept. */
struct cfr_source_watching {
    struct cfr_watch *watch;
    struct cfr_watcher *watcher;
    struct cfr_err *err;
    int rc;
};

struct cfr_source_ops {
    /* First. Its key of a credential, with its table and rules; without a key MATCHES tells of it. */
    struct cfr_config_source_kind kind;
    const struct cfr_module *module;            /* that it is granted by; NULL = none */
    const struct cfr_source_producer *producer; /* makes what is granted; NULL: that is read, or exchanged */
    const char *name;    /* shown by `credfresh status` as the provider, where there is no other */
    bool ages;           /* its grant has a lifetime that its inputs do not state, and is renewed by age */
    bool names_provider; /* its content decides on the provider, and on further files to watch */
    bool lasting;        /* what it grants is long-lived: only files hold it, and all targets or none */
    bool replaces;       /* what it grants replaces what is published, however long that lives */
    /* True if C begins with this source; the first row that says so is C's. NULL for a row that brings its key. */
    bool (*matches)(const struct cfr_config_credential *c);
    /* The kind in words, as `credfresh status` shows it. */
    const char *(*describe)(const struct cfr_config_credential *c);
    /* True if a try may send requests, and has to wait for a turn. */
    bool (*may_send)(const struct cfr_config_credential *c);
    /* Why asking C for a rotation changes nothing, in words that follow its name; NULL: it does. No function: always.
     * FINAL: what was last read is published as it is. */
    const char *(*fixed)(const struct cfr_config_credential *c, bool final);
    /* See cfr_source_read. OUT is empty but for its source, *WAIT_MS is -1. */
    int (*read)(const struct cfr_source_env *env, const struct cfr_config_credential *c, struct cfr_source_inputs *out,
                int64_t *wait_ms, struct cfr_err *err);
    /* Watches by cfr_source_watch_path every file that C and M (may be NULL) name. NULL: there is none. */
    void (*watch)(const struct cfr_config_credential *c, const struct cfr_source_inputs *m,
                  struct cfr_source_watching *w);
    /* See cfr_source_grant. C may be NULL where ENV has nothing. */
    int (*grant)(const struct cfr_source_env *env, const struct cfr_config_credential *c,
                 const struct cfr_source_inputs *m, struct cfr_grant *out, struct cfr_err *err);
};

/* Makes the sources that bring their key known to the parser of the configuration; call it before one is loaded. */
void cfr_source_register(void);
/* Adds ROW of a later room, which comes before all others; call it before a configuration is loaded. */
void cfr_source_add(const struct cfr_source_ops *row);
/* C's source. */
const struct cfr_source_ops *cfr_source_of(const struct cfr_config_credential *c);
/* Reads what C begins with. *WAIT_MS is how long until what was refused may become usable by itself, or -1. The times
 * of a token that is refused stay in OUT. The caller frees OUT in every case. */
int cfr_source_read(const struct cfr_source_env *env, const struct cfr_config_credential *c,
                    struct cfr_source_inputs *out, int64_t *wait_ms, struct cfr_err *err);
/* What is published where nothing is exchanged: M, which is final. CFR_SOURCE_LATER in an agent, while a child makes
 * what it takes: ask again after the next SIGCHLD. */
#define CFR_SOURCE_LATER 1
int cfr_source_grant(const struct cfr_source_env *env, const struct cfr_config_credential *c,
                     const struct cfr_source_inputs *m, struct cfr_grant *out, struct cfr_err *err);

#endif
