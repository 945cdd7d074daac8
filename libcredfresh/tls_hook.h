/* SPDX-License-Identifier: MIT */
/* The set in use, shared with contexts and connections, and the callbacks that put it into each handshake. */
#ifndef CREDFRESH_TLS_HOOK_H
#define CREDFRESH_TLS_HOOK_H

#include "tls_set.h"

/* The set in use, shared by the follower and by every context that follows; the last of them frees it. */
struct cfl_tls_live;

/* NULL when there is no memory. */
struct cfl_tls_live *cfl_tls_live_new(void);
struct cfl_tls_live *cfl_tls_live_ref(struct cfl_tls_live *live);
/* LIVE may be NULL. */
void cfl_tls_live_unref(struct cfl_tls_live *live);
/* Puts SET (whose reference it takes) into use. */
void cfl_tls_live_swap(struct cfl_tls_live *live, struct cfl_tls_set *set);
/* A reference to the set in use, or NULL. */
struct cfl_tls_set *cfl_tls_live_get(struct cfl_tls_live *live);

/* For the only thread of a child after fork(): another thread of the parent may have held the lock. */
void cfl_tls_live_after_fork(struct cfl_tls_live *live);

/* Which hooks a context gets. */
enum { CFL_TLS_HOOK_PAIR = 1, CFL_TLS_HOOK_TRUST = 2 };

/* Makes CTX follow LIVE. 0, CREDFRESH_E_INVALID if it follows one already, or CREDFRESH_E_NOMEM. */
int cfl_tls_hook_attach(SSL_CTX *ctx, struct cfl_tls_live *live, unsigned int hooks);

#endif
