/* SPDX-License-Identifier: MIT */
/* Interface of a hook kind: signal, exec, http, rollout. A new kind is a file with a struct cfr_hook_ops, which also
 * brings its key of the configuration, and its row in kinds.c.
 *
 * hook.c decides when a hook runs and repeats it; a kind knows how. Nothing here blocks but INSPECT, which people ask
 * for. A struct cfr_hook_run belongs to hook.c; a kind keeps its state in the members meant for that, and holds nothing
 * once it has called ENDED, or CANCEL has returned. */
#ifndef CFR_AGENT_HOOK_HOOK_PRIVATE_H
#define CFR_AGENT_HOOK_HOOK_PRIVATE_H

#include "agent/hook/ack.h"
#include "agent/hook/hook.h"

#include <sys/types.h>

#define CFR_HOOK_NAME_MAX 512
#define CFR_HOOK_STARTED  1

/* The head of a row of a kind's table; AT(member) is the member's offset. */
#define FIELD(member, type_) .key = #member, .type = CFR_FIELD_##type_, .offset = AT(member)

/* One run of one hook. */
struct cfr_hook_run {
    const struct cfr_config_credential *credential;
    const void *config; /* of the kind's table */
    int64_t timeout_ms;
    struct cfr_http *http;
    struct cfr_kube *kube;
    const char *acknowledge_header; /* outlives CONFIG; NULL = none */
    uint64_t generation;            /* that consumers are notified of */
    uint64_t number;                /* by which other agents name the same; 0 = they do not */
    int64_t issued_ms;              /* when its lifetime began */
    /* To be called once, from the loop, when a run that START has started ends by itself. ACKNOWLEDGED: the value of
     * acknowledge_header. Another run may begin before it returns. */
    void (*ended)(void *ctx, int rc, const struct cfr_err *err, struct cfr_view acknowledged);
    void *ctx;
    /* Set by the kind: when it wants to be called. */
    pid_t pid;           /* its process has ended: ON_CHILD; 0 = none */
    int64_t deadline_ms; /* boot time: ON_DEADLINE; INT64_MAX = none */
    /* Set by the kind: its own state. */
    void *request;
    bool terminated;
};

struct cfr_hook_ops {
    struct cfr_config_hook_kind kind; /* first: its key, its table with its rules, and what the configuration asks */
    /* Writes what it does, for people: status, logs, metrics. */
    void (*describe)(const void *config, char text[CFR_HOOK_NAME_MAX]);
    /* Begins. CFR_HOOK_STARTED: ENDED is called later. 0: done at once. An error: it failed; ENDED is not called. */
    int (*start)(struct cfr_hook_run *run, struct cfr_now now, struct cfr_err *err);
    /* Each NULL for a kind that sets no PID, sets no DEADLINE_MS, or always ends in START. */
    void (*on_child)(struct cfr_hook_run *run, struct cfr_now now);
    void (*on_deadline)(struct cfr_hook_run *run, struct cfr_now now);
    void (*cancel)(struct cfr_hook_run *run); /* ends it without calling ENDED */
    /* Adds to LIST the program that START starts for C's hook; NULL for a kind that starts none. */
    int (*list)(const struct cfr_config_credential *c, const void *config, struct cfr_secret *list,
                struct cfr_err *err);
    /* As cfr_hook_inspect. */
    void (*inspect)(const void *config, const struct cfr_hook_inspection *inspection);
};

extern const struct cfr_hook_ops cfr_hook_signal;
extern const struct cfr_hook_ops cfr_hook_exec;
extern const struct cfr_hook_ops cfr_hook_http;
extern const struct cfr_hook_ops cfr_hook_rollout;

/* The kinds, NULL-terminated: agent/hook/kinds.c. */
extern const struct cfr_hook_ops *const cfr_hook_kinds[];

/* The signals that can be sent, NULL-terminated, and their numbers; 0 for an index that is none. */
extern const char *const cfr_hook_signal_names[];
int cfr_hook_signal_number(int index);

/* ---- generation numbers as consumers write them: in a file, or in the header of an answer. Pure ---- */

/* The number that TEXT is, with blanks around it; false for anything else, and for 0. */
bool cfr_hook_ack_number(struct cfr_view text, uint64_t *out);

#endif
