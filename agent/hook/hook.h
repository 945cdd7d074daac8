/* SPDX-License-Identifier: MIT */
/* Telling a credential's consumers that a new generation stands: signals, commands, HTTP requests. Serial per
 * credential, coalesced to the newest generation, retried until it succeeds or a newer one replaces it. */
#ifndef CFR_AGENT_HOOK_HOOK_H
#define CFR_AGENT_HOOK_HOOK_H

#include "agent/loop/clock.h"
#include "agent/config/config.h"
#include "agent/http/client.h"
#include "serve/api/status.h"

struct cfr_hooks; /* all hooks of one credential */

/* Called whenever a hook has ended that was run for GENERATION: ERROR is NULL when it went well; NEWS is false when it
 * failed as it did before. */
typedef void cfr_hook_fn(void *ctx, const char *name, uint64_t generation, const char *error, bool news);

/* MAX_ATTEMPTS: give a hook up for this generation after so many (0 = never). C is borrowed. CFR_E_NOMEM. */
int cfr_hook_open(const struct cfr_config_credential *c, struct cfr_http *http, unsigned max_attempts,
                  cfr_hook_fn *ended, void *ctx, struct cfr_hooks **out, struct cfr_err *err);
/* Ends what runs (its process group is killed) and frees. */
void cfr_hook_close(struct cfr_hooks *h);
/* The configuration was replaced by an equal one. */
void cfr_hook_rebind(struct cfr_hooks *h, const struct cfr_config_credential *c);

/* A new generation stands. FIRST: nothing was published before it, so hooks with `on_first: skip` are not run. */
void cfr_hook_request(struct cfr_hooks *h, uint64_t generation, bool first, struct cfr_now now);
/* After a restart: hook INDEX last succeeded for DONE; what is behind GENERATION is pending. */
void cfr_hook_restore(struct cfr_hooks *h, size_t index, uint64_t done, uint64_t generation, struct cfr_now now);
/* Before cfr_hook_restore: hook INDEX was last answered SAID. */
void cfr_hook_restore_said(struct cfr_hooks *h, size_t index, uint64_t said);
/* Starts what is due, ends what has taken too long. */
void cfr_hook_step(struct cfr_hooks *h, struct cfr_now now);
/* Boot time of the next thing to do, INT64_MAX if none. */
int64_t cfr_hook_deadline(const struct cfr_hooks *h);
/* A descriptor that is readable when the running command has ended, -1 if none runs; then call cfr_hook_child. */
int cfr_hook_pidfd(const struct cfr_hooks *h);
void cfr_hook_child(struct cfr_hooks *h, struct cfr_now now);
/* True while a command or a request of a hook is under way. */
bool cfr_hook_running(const struct cfr_hooks *h);
/* True while a hook is running or waits for its turn or retry. */
bool cfr_hook_pending(const struct cfr_hooks *h);
/* True if a hook was given up for the newest generation. */
bool cfr_hook_failed(const struct cfr_hooks *h);
size_t cfr_hook_count(const struct cfr_hooks *h);
uint64_t cfr_hook_done(const struct cfr_hooks *h, size_t index);
/* What hook INDEX does, in words. */
const char *cfr_hook_name(const struct cfr_hooks *h, size_t index);
/* True if hook INDEX has an acknowledge_header: it has only succeeded when its answer names the generation it was run
 * for. */
bool cfr_hook_acknowledges(const struct cfr_hooks *h, size_t index);
/* The generation that the answer to hook INDEX last named; 0 = none yet. */
uint64_t cfr_hook_said(const struct cfr_hooks *h, size_t index);
/* Fills the pages' view of all hooks; the array lives until the next call or a change. */
const struct cfr_api_status_hook *cfr_hook_status(struct cfr_hooks *h);

#endif
