/* SPDX-License-Identifier: MIT */
/* Lists and watches of the simulated cluster. */
#ifndef LC_KUBE_WATCH_H
#define LC_KUBE_WATCH_H

#include "kube_call.h"

/* Notes for watches that an object was made (BEFORE NULL), changed or deleted (AFTER NULL), as it is shown, at the
 * cluster's version. The lock is held; the references are not taken. SPACE is empty for objects of the cluster. */
void lc_kube_happened(struct lc_kube *kube, const char *resource, const char *space, json_t *before, json_t *after);

#endif
