/* SPDX-License-Identifier: MIT */
/* File watches through the files' directories (inotify), which survive the kubelet's swap. Never blocks. */
#ifndef CFR_FILES_WATCH_H
#define CFR_FILES_WATCH_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct cfr_watch; /* all watches of one agent: one inotify descriptor */

/* Called from cfr_watch_dispatch and cfr_watch_rescan, once for each owner of a watched file whose directory had an
 * event: the file may or may not have changed. It may add and remove watches. Returns false if it did nothing and the
 * next call of one of the two is to call it again. */
typedef bool cfr_watch_fn(void *ctx, void *owner);

/* CFR_E_LIMIT (no inotify instance is left: the agent then polls), CFR_E_NOMEM. */
int cfr_watch_open(struct cfr_watch **out, struct cfr_err *err);
/* NULL is allowed. */
void cfr_watch_close(struct cfr_watch *w);
/* The descriptor to poll for reading. */
int cfr_watch_fd(const struct cfr_watch *w);
/* Watches PATH (absolute, copied) for OWNER through its directory, for ..data (kubelet volumes), for a rename onto
 * the name, for writing in place and for a changed timestamp. A directory that does not exist yet is watched for
 * through its nearest existing parent. A path that ends with ..data means its whole directory, in which, outside
 * of the kubelet's volumes, any entry may change or be removed. Several owners may watch one path, and one owner
 * several; a path that another owner added within the last second is not followed again. CFR_E_LIMIT when no inotify
 * watch is left for the user (the error says what to raise), or another error if the directory cannot be watched: the
 * file's changes are then only found by cfr_watch_rescan. Only after CFR_E_NOMEM and CFR_E_PATH (PATH is not absolute
 * or too long) nothing was added. */
int cfr_watch_add(struct cfr_watch *w, const char *path, void *owner, struct cfr_err *err);
/* As cfr_watch_add, and OWNER is called, too, when a directory above the one that PATH is in is removed or renamed: no
 * event in PATH's own directory reports that. */
int cfr_watch_add_with_parents(struct cfr_watch *w, const char *path, void *owner, struct cfr_err *err);
/* Ends all of OWNER's watches. */
void cfr_watch_remove(struct cfr_watch *w, void *owner);
/* This process has just renamed PATH, which ends with ..data and OWNER watches: one such rename among the events that
 * are pending is not reported to OWNER. */
void cfr_watch_expect(struct cfr_watch *w, const char *path, const void *owner);
/* Reads pending events and calls FN for each owner concerned: after an overflow all owners; after a directory was
 * removed, moved or unmounted the owners of its watches, which are added again. *OVERFLOWED (may be NULL) is true after
 * an overflow of the queue. */
int cfr_watch_dispatch(struct cfr_watch *w, cfr_watch_fn *fn, void *ctx, bool *overflowed, struct cfr_err *err);
/* Adds watches again that are missing or lead to another directory by now; calls FN for every owner whose file's
 * identity (device, inode, size, change time, and the target of ..data) differs from the last one read, by
 * cfr_watch_add or by this function, and once more for every owner that cfr_watch_dispatch has called FN for since. To
 * be called about once a minute. */
void cfr_watch_rescan(struct cfr_watch *w, cfr_watch_fn *fn, void *ctx);

#endif
