/* SPDX-License-Identifier: MIT */
/* Inputs of an exchange, read at one moment: the subject token, the files that the provider's configuration names, or a
 * mounted Secret with what follows from it.
 * Reading blocks on disk. The caller frees inputs in every case; their provider's configuration is borrowed from the
 * credential's, or is their own where a mounted Secret decides. No callbacks. Errors say which file or setting, what is
 * wrong, and what to do. */
#ifndef CFR_AGENT_SOURCE_INPUTS_H
#define CFR_AGENT_SOURCE_INPUTS_H

#include "agent/config/config.h"
#include "agent/loop/file_watcher.h"
#include "files/volume.h"
#include "files/watch.h"
#include "sts/mounted/mounted.h"

struct cfr_source_ops;
struct cfr_source_token_file;

/* Zero-initialised is empty; freed by cfr_source_inputs_free. */
struct cfr_source_inputs {
    const struct cfr_source_ops *source; /* NULL only if made by hand */
    struct cfr_secret token;             /* trimmed; empty if it is still to be requested, or not needed */
    char *subject;                       /* heap; its `sub`, unverified; NULL without a token */
    int64_t issued_s;                    /* of the token; 0 = unknown */
    int64_t expires_s;                   /* of the token; 0 = none, or never */
    uint64_t mark; /* fingerprint of the inputs: FNV-1a of the token and of the identities of the other files; 0 while
                      everything is still to be requested */
    uint64_t
        token_mark;   /* while a request takes the place of a file that is overdue: the mark with that file; else 0 */
    bool requested;   /* the token is still to be requested from the API server */
    char *token_path; /* heap; the file the token is in, or NULL */
    char *fallback_reason;     /* heap; why the request takes the place of the file, or NULL */
    struct cfr_volume *volume; /* heap; the mounted Secret, or NULL */
    struct cfr_mounted mounted;
    struct cfr_secret files[CFR_STS_CONTENTS_MAX];
    struct cfr_sts_content contents[CFR_STS_CONTENTS_MAX];
    size_t content_count;
    const struct cfr_sts_provider *provider; /* NULL: nothing is exchanged */
    const void *config;                      /* the provider's */
};

/* cfr_source_read (agent/source/source.h) outside a running agent. */
int cfr_source_inputs_read(const struct cfr_config_credential *c, int64_t now_ms, bool trust,
                           struct cfr_source_inputs *out, int64_t *wait_ms, struct cfr_err *err);
/* As cfr_source_inputs_read for a C with an exchange and without a mounted Secret, with TOKEN (moved out of) in place
 * of C's own, which is not read. */
int cfr_source_inputs_with_token(const struct cfr_config_credential *c, struct cfr_source_token_file *token,
                                 struct cfr_source_inputs *out, struct cfr_err *err);
void cfr_source_inputs_free(struct cfr_source_inputs *m);
/* Moves FROM into the empty TO. */
void cfr_source_inputs_move(struct cfr_source_inputs *to, struct cfr_source_inputs *from);
/* cfr_source_grant outside a running agent. */
int cfr_source_inputs_grant(const struct cfr_source_inputs *m, struct cfr_grant *out, struct cfr_err *err);
/* True if M itself is what is published: nothing is exchanged and nothing requested. */
bool cfr_source_inputs_is_final(const struct cfr_source_inputs *m);
/* Watches for WATCHER every file that C, and the Secret as it was read in M (may be NULL), names. The first error is
 * returned, and the others are tried nevertheless. */
int cfr_source_inputs_watch(const struct cfr_config_credential *c, const struct cfr_source_inputs *m,
                            struct cfr_watch *watch, struct cfr_watcher *watcher, struct cfr_err *err);

#endif
