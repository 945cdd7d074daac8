/* SPDX-License-Identifier: MIT */
/* Hooks notify a credential's consumers of a new generation: signals, commands, HTTP requests,
 * restarts of workloads.
 *
 * Nothing blocks but cfr_hook_inspect. A struct cfr_hooks owns all hooks of one credential and what runs; its
 * configuration is borrowed. One hook runs at a time, in the order of the configuration, for the newest generation, and
 * is repeated after pauses of 0.5 s to 5 min until it succeeds or a newer generation replaces it. cfr_hook_fn is called
 * from cfr_loop_run and cfr_http_step, and may call cfr_hook_request, not cfr_hook_close. A hook's error is an event,
 * never the caller's; only cfr_hook_open fails (CFR_E_NOMEM). At most CFR_CONFIG_HOOKS_MAX hooks; an HTTP answer has at
 * most 64 KiB. */
#ifndef CFR_AGENT_HOOK_HOOK_H
#define CFR_AGENT_HOOK_HOOK_H

#include "agent/loop/clock.h"
#include "agent/config/config.h"
#include "agent/http/client.h"
#include "base/finding.h"
#include "serve/api/status.h"

struct cfr_kube;  /* agent/kube/client.h */
struct cfr_hooks; /* all hooks of one credential */

/* A hook that was run for GENERATION has ended: ERROR is NULL after a success; NEWS is false when it failed with the
 * same error as before. */
typedef void cfr_hook_fn(void *ctx, const char *name, uint64_t generation, const char *error, bool news);

/* Makes the kinds of hooks known to the parser of the configuration; call it before one is loaded. */
void cfr_hook_register(void);

/* MAX_ATTEMPTS: gives a hook up for a generation after so many (0 = never). C is borrowed. */
int cfr_hook_open(const struct cfr_config_credential *c, struct cfr_http *http, struct cfr_kube *kube,
                  unsigned max_attempts, cfr_hook_fn *ended, void *ctx, struct cfr_hooks **out, struct cfr_err *err);
/* Ends what runs (its process group is killed) and frees. */
void cfr_hook_close(struct cfr_hooks *h);
/* The configuration was replaced by an equal one. */
void cfr_hook_rebind(struct cfr_hooks *h, const struct cfr_config_credential *c);

/* When the lifetime of what is published began, by the wall clock: with the generation it names one publish, also where
 * generations are counted from 1 again because the record was lost. NUMBER: takes the generation's place where other
 * agents publish the same; 0 = none do. Before cfr_hook_request and cfr_hook_restore. */
void cfr_hook_set_issued(struct cfr_hooks *h, uint64_t number, int64_t issued_ms);
/* A new generation is published. FIRST: nothing was published before it, so hooks with `on_first: skip` are not run. */
void cfr_hook_request(struct cfr_hooks *h, uint64_t generation, bool first, struct cfr_now now);
/* After a restart: hook INDEX last succeeded for DONE; what is behind GENERATION is pending. */
void cfr_hook_restore(struct cfr_hooks *h, size_t index, uint64_t done, uint64_t generation, struct cfr_now now);
/* Before cfr_hook_restore: hook INDEX was last answered SAID. */
void cfr_hook_restore_said(struct cfr_hooks *h, size_t index, uint64_t said);
/* True while a command or a request of a hook is in progress, or starts in the next turn of the loop. */
bool cfr_hook_running(const struct cfr_hooks *h);
/* True while a hook is running or waits for its turn or retry. */
bool cfr_hook_pending(const struct cfr_hooks *h);
/* True if a hook was given up for the newest generation. */
bool cfr_hook_failed(const struct cfr_hooks *h);
size_t cfr_hook_count(const struct cfr_hooks *h);
uint64_t cfr_hook_done(const struct cfr_hooks *h, size_t index);
/* What hook INDEX does, for people; never NULL. */
const char *cfr_hook_name(const struct cfr_hooks *h, size_t index);
/* True if hook INDEX has an acknowledge_header: it has only succeeded when its answer names the generation it was run
 * for. */
bool cfr_hook_acknowledges(const struct cfr_hooks *h, size_t index);
/* The generation that the answer to hook INDEX last named; 0 = none yet. */
uint64_t cfr_hook_said(const struct cfr_hooks *h, size_t index);
/* Fills the status view of all hooks; the array lives until the next call or a change.
 * NULL without hooks, or memory. */
const struct cfr_api_status_hook *cfr_hook_status(struct cfr_hooks *h);

/* Hooks that wait after a failure wait no longer: of the cluster (rollout), else those of HTTP servers. */
void cfr_hook_resume(struct cfr_hooks *h, bool cluster, struct cfr_now now);

/* Adds to LIST (agent/loop/launcher.h) what C's hooks start. CFR_E_LIMIT, CFR_E_NOMEM. */
int cfr_hook_list(const struct cfr_config_credential *c, struct cfr_secret *list, struct cfr_err *err);

struct cfr_hook_inspection {
    const struct cfr_finding_sink *sink;
    int64_t timeout_ms; /* for a look at the network; 0 = none */
};
/* Reports to the sink whether the hook could run now, without running it. Blocks for at most TIMEOUT_MS. */
void cfr_hook_inspect(const struct cfr_config_hook *c, const struct cfr_hook_inspection *inspection);

#endif
