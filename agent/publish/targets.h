/* SPDX-License-Identifier: MIT */
/* A credential's targets: directories, files, profiles, and Secrets of the cluster. The work at them is that of
 * agent/publish/publisher.h.
 *
 * All arguments are borrowed for the call. No callbacks. Errors are those of the formats, with the path. At most
 * CFR_CONFIG_TARGETS_MAX targets of CFR_CONFIG_FILES_MAX files. */
#ifndef CFR_AGENT_PUBLISH_TARGETS_H
#define CFR_AGENT_PUBLISH_TARGETS_H

#include "agent/config/config.h"
#include "agent/loop/clock.h"
#include "agent/publish/record.h"
#include "agent/publish/render.h"
#include "files/watch.h"

struct cfr_delivery;   /* agent/publish/secret_target.h */
struct cfr_kube_where; /* agent/kube/client.h */

#define CFR_PUBLISH_KEY_MAX 132 /* with its NUL; of the name that a cloud gives a long-lived key */

/* One publish. */
struct cfr_publish_job {
    struct cfr_publish_render render;
    struct cfr_now now;
    int64_t expires_ms;            /* of the grant, by the wall clock; INT64_MAX = never */
    struct cfr_delivery *delivery; /* NULL: Secrets of the cluster are not published */
    bool again;                    /* it was published before, and is on record, but not at every target */
    bool may_wait;                 /* for locks of other programs; it is nobody's loop that waits */
};

/* What the doctor looks at, called by a target for what it has. Paths are those of the configuration. */
struct cfr_publish_inspection {
    void *ctx;
    void (*owner)(void *ctx, const char *owner, const char *group); /* of what is written; each may be NULL */
    void (*directory)(void *ctx, const char *path);                 /* which has generations, or will have */
    void (*file)(void *ctx, const char *path, bool in_place);
    void (*parent)(void *ctx, const char *path); /* the directory of PATH is written in */
    void (*cluster)(void *ctx, const struct cfr_kube_where *where);
    void (*secret_file)(void *ctx, const char *path,
                        mode_t mode); /* other programs write it, too; MODE is what it may have */
    void (*loss)(void *ctx,
                 const char *text); /* what a publish would destroy, or clients would not read; may be NULL */
};

/* Makes the kinds of targets known to the parser of the configuration; call it before one is loaded. */
void cfr_publish_register(void);
/* Calls I for what target INDEX of C needs. Blocks as I does. */
void cfr_publish_inspect(const struct cfr_config_credential *c, size_t index, const struct cfr_publish_inspection *i);
/* 0 if the grant can be rendered for all targets. Blocks on disk where a key's previous value is read. */
int cfr_publish_rehearse(const struct cfr_config_credential *c, const struct cfr_publish_render *render,
                         struct cfr_err *err);
/* Where T is on this machine; NULL for a Secret of the cluster. */
const char *cfr_publish_path(const struct cfr_config_publish *t);
/* Watches the directories, in which a removal is noticed at once, for WATCHER; none on a file system that may not
 * answer. Never blocks. The error of the first that cannot be watched, see cfr_watch_add. */
int cfr_publish_watch(const struct cfr_config_credential *c, struct cfr_watch *watch, void *watcher,
                      struct cfr_err *err);

#endif
