/* SPDX-License-Identifier: MIT */
/* Watching files by their directory (inotify), in the way that survives the kubelet's swap. Never blocks. */
#ifndef CFR_FILES_WATCH_H
#define CFR_FILES_WATCH_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct cfr_watch; /* all watches of one agent: one inotify descriptor */

/* Called for each watched file whose directory saw something: the file may or may not have changed. It may
 * add and remove watches. */
typedef void cfr_watch_fn(void *ctx, void *owner);

/* CFR_E_LIMIT (instances used up: the agent then polls), CFR_E_NOMEM. */
int cfr_watch_open(struct cfr_watch **out, struct cfr_err *err);
/* NULL is allowed. */
void cfr_watch_close(struct cfr_watch *w);
/* To be polled for reading. */
int cfr_watch_fd(const struct cfr_watch *w);
/* Watches PATH (absolute) for OWNER through its directory, for ..data (kubelet volumes), for a rename onto
 * the name, for writing in place and for touching. A directory that does not exist yet is watched for through its
 * nearest existing parent. A path that ends with ..data stands for its whole directory, in which anything may change
 * where it is no kubelet's. Several owners may watch one path, and one owner several. CFR_E_LIMIT when the user's
 * watches are used up, and the error says what to raise, or another error if the directory cannot be watched:
 * the file is then only seen by cfr_watch_rescan. Nothing was added only after CFR_E_NOMEM and CFR_E_PATH
 * (PATH is not absolute or too long). */
int cfr_watch_add(struct cfr_watch *w, const char *path, void *owner, struct cfr_err *err);
/* Ends all of OWNER's watches. */
void cfr_watch_remove(struct cfr_watch *w, void *owner);
/* Reads what is pending and calls FN for each owner concerned, once each. After an overflow that is
 * everybody; after a directory was removed, moved or unmounted, those who watched through it, whose watches
 * are added again. *OVERFLOWED (may be NULL) tells that the queue overflowed. */
int cfr_watch_dispatch(struct cfr_watch *w, cfr_watch_fn *fn, void *ctx, bool *overflowed, struct cfr_err *err);
/* Re-adds watches that are missing or lead to another directory by now; calls FN for every owner whose file's
 * identity (device, inode, size, change time, and the target of ..data) differs from when it was last looked
 * at: by cfr_watch_add, by this function, or before a call of FN. To be called about once a minute. */
void cfr_watch_rescan(struct cfr_watch *w, cfr_watch_fn *fn, void *ctx);

#endif
