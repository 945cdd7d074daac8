/* SPDX-License-Identifier: MIT */
/* Delivery of a credential to Kubernetes Secrets and ConfigMaps, here both called Secrets: queued by cfr_publish,
 * applied by server-side apply, and retried until each Secret holds the newest generation.
 *
 * A rotated key is applied with what the Secret held before, as KEY.old, and the time of its minting.
 *
 * The content of a Secret is checked at the start, when its watch reports a change, and while that does not work
 * once a minute: one that was deleted, or that another client has written to, is lost until the next cfr_publish. One
 * whose namespace does not exist is applied when that appears.
 *
 * Nothing blocks. A struct cfr_delivery owns the requests under way and what is to be applied, which it wipes once it
 * is applied or outdated; its configuration is borrowed. The callback is called from cfr_publish_secret_step and
 * cfr_http_step, and must not close the delivery. A failed attempt is reported by the callback and repeated after
 * agent/loop/backoff.h, after 30 s at most, because pods wait for it. All functions but cfr_publish_secret_open take
 * NULL for a credential without such targets. */
#ifndef CFR_AGENT_PUBLISH_SECRET_TARGET_H
#define CFR_AGENT_PUBLISH_SECRET_TARGET_H

#include "agent/loop/clock.h"
#include "agent/kube/client.h"
#include "agent/publish/record.h"
#include "serve/api/status.h"

struct cfr_delivery; /* all Secrets of one credential */

/* An attempt or a look has ended: ERR is NULL when NAME holds GENERATION now; NEWS is false when it failed with the
 * same error as before, and when a look found it as it was. */
typedef void cfr_publish_secret_fn(void *ctx, const char *name, uint64_t generation, const struct cfr_err *err,
                                   bool news);

/* *OUT is NULL if C has no such target. C is borrowed. CFR_E_NOMEM. */
int cfr_publish_secret_open(const struct cfr_config_credential *c, struct cfr_kube *kube, cfr_publish_secret_fn *ended,
                            void *ctx, struct cfr_delivery **out, struct cfr_err *err);
void cfr_publish_secret_close(struct cfr_delivery *d);
/* The configuration was replaced by an equal one. */
void cfr_publish_secret_rebind(struct cfr_delivery *d, const struct cfr_config_credential *c);
/* After a restart: what each Secret was last seen to hold, and should hold, by RECORD; the next step looks whether it
 * does. What it should hold is not kept: one that is behind waits for the next cfr_publish. MINTED: it also has the
 * time that a long-lived key was made. */
void cfr_publish_secret_restore(struct cfr_delivery *d, const struct cfr_publish_record *record, bool minted);
/* True if a Secret is behind, and what it should hold is not known any more: it has to be published again. */
bool cfr_publish_secret_lost(const struct cfr_delivery *d);
/* Starts what is due. */
void cfr_publish_secret_step(struct cfr_delivery *d, struct cfr_now now);
/* The key before a rotated key is deleted: the next look removes KEY.old from each Secret. */
void cfr_publish_secret_forget_old(struct cfr_delivery *d, int64_t now_boot_ms);
/* What waits after a failure of a request to WHERE, waits no longer. True if anything did. */
bool cfr_publish_secret_resume(struct cfr_delivery *d, const struct cfr_kube_where *where, struct cfr_now now);
/* Boot time of the next thing to do, INT64_MAX if none. */
int64_t cfr_publish_secret_deadline(const struct cfr_delivery *d);
/* True while a Secret is being written. */
bool cfr_publish_secret_running(const struct cfr_delivery *d);
/* True while a Secret is not what it should be. */
bool cfr_publish_secret_pending(const struct cfr_delivery *d);
/* True if a Secret that an earlier run published has not been looked at yet. */
bool cfr_publish_secret_unseen(const struct cfr_delivery *d);
/* The error that only an operator can fix, of a Secret that is not what it should be, or cannot be looked at; or 0. */
int cfr_publish_secret_stuck(const struct cfr_delivery *d);
/* Why a Secret is not what it should be, or NULL. */
const char *cfr_publish_secret_error(const struct cfr_delivery *d);
/* When the first of what the Secrets hold ends, by the wall clock; INT64_MAX for never (and without Secrets), 0 if one
 * of them is not known to hold anything. */
int64_t cfr_publish_secret_expires_ms(const struct cfr_delivery *d);
/* True if every Secret holds something that has not expired. */
bool cfr_publish_secret_valid(const struct cfr_delivery *d, struct cfr_now now);
/* The number of the agent's run that wrote a Secret last; 0 = not known. */
uint64_t cfr_publish_secret_run(const struct cfr_delivery *d);
size_t cfr_publish_secret_count(const struct cfr_delivery *d);
/* The generation that it holds; 0 while other content of the same number waits to be applied. */
uint64_t cfr_publish_secret_done(const struct cfr_delivery *d, size_t index);
/* Fills the status view of all Secrets; the array lives until the next call or a change. */
const struct cfr_api_status_hook *cfr_publish_secret_status(struct cfr_delivery *d);

#endif
