/* SPDX-License-Identifier: MIT */
/* A credential's targets: directories, files, profiles, and Secrets of the cluster.
 *
 * Blocks on disk, never on the network: what goes to the cluster is handed to agent/publish/secret_target.h. All
 * arguments are borrowed for the call. No callbacks. Errors are those of files/ and of the formats, with the path; the
 * last good content stays at every target that failed. At most CFR_CONFIG_TARGETS_MAX targets of CFR_CONFIG_FILES_MAX
 * files. */
#ifndef CFR_AGENT_PUBLISH_TARGETS_H
#define CFR_AGENT_PUBLISH_TARGETS_H

#include "agent/config/config.h"
#include "agent/loop/clock.h"
#include "agent/publish/record.h"
#include "agent/publish/render.h"
#include "files/watch.h"

struct cfr_delivery;   /* agent/publish/secret_target.h */
struct cfr_kube_where; /* agent/kube/client.h */

/* One publish. */
struct cfr_publish_job {
    struct cfr_publish_render render;
    struct cfr_now now;
    int64_t expires_ms;            /* of the grant, by the wall clock; INT64_MAX = never */
    struct cfr_delivery *delivery; /* NULL: Secrets of the cluster are not published */
};

/* What the doctor looks at, called by a target for what it has. Paths are those of the configuration. */
struct cfr_publish_inspection {
    void *ctx;
    void (*owner)(void *ctx, const char *owner, const char *group); /* of what is written; each may be NULL */
    void (*directory)(void *ctx, const char *path);                 /* which has generations, or will have */
    void (*file)(void *ctx, const char *path, bool in_place);
    void (*parent)(void *ctx, const char *path); /* the directory of PATH is written in */
    void (*cluster)(void *ctx, const struct cfr_kube_where *where);
};

/* Makes the kinds of targets known to the parser of the configuration; call it before one is loaded. */
void cfr_publish_register(void);
/* Calls I for what target INDEX of C needs. Blocks as I does. */
void cfr_publish_inspect(const struct cfr_config_credential *c, size_t index, const struct cfr_publish_inspection *i);
/* Renders every file of every target first, so that a grant that does not fit one of them changes nothing; then
 * publishes target by target. *CHANGED says whether anything was written, or handed to the delivery. The marks in
 * RECORD are brought up to date. On error targets before the failing one may have been published; each by itself is
 * complete. */
int cfr_publish(const struct cfr_config_credential *c, const struct cfr_publish_job *job,
                struct cfr_publish_record *record, bool *changed, struct cfr_err *err);
/* As cfr_publish without writing: 0 if the grant can be rendered for all targets. */
int cfr_publish_rehearse(const struct cfr_config_credential *c, const struct cfr_publish_render *render,
                         struct cfr_err *err);
/* Removes what a crash has left at the targets. */
int cfr_publish_recover(const struct cfr_config_credential *c, struct cfr_err *err);
/* 0 if all targets on this machine are as RECORD remembers them; else why not. */
int cfr_publish_verify(const struct cfr_config_credential *c, const struct cfr_publish_record *record,
                       struct cfr_err *err);
/* What is at the targets is what RECORD is of, though an earlier run did not write that down. */
void cfr_publish_found(const struct cfr_config_credential *c, struct cfr_publish_record *record);
/* True if every target holds the long-lived key ID. Only directories know. */
bool cfr_publish_holds_key(const struct cfr_config_credential *c, const char *id);
/* The highest generation found in any target directory; 0 if there is none. */
uint64_t cfr_publish_newest(const struct cfr_config_credential *c);
/* Where T is on this machine; NULL for a Secret of the cluster. */
const char *cfr_publish_path(const struct cfr_config_publish *t);
/* When the newest of the targets on this machine was published, in nanoseconds by the clock of its file system; 0 if
 * there is none. */
int64_t cfr_publish_time_ns(const struct cfr_config_credential *c);
/* Watches the directories, in which a removal is noticed at once, for WATCHER. Never blocks. The error of the first
 * that cannot be watched, see cfr_watch_add. */
int cfr_publish_watch(const struct cfr_config_credential *c, struct cfr_watch *watch, void *watcher,
                      struct cfr_err *err);
/* Wipes previous generations. */
int cfr_publish_retire(const struct cfr_config_credential *c, struct cfr_err *err);

#endif
