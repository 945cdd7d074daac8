/* SPDX-License-Identifier: MIT */
/* What the files of a delivery share: secret_target.c (rendering and queueing), secret_apply.c (requests and watches),
 * secret_content.c (previous values, merging), secret_run.c (this run), secret_event.c (Events). Private to them. */
#ifndef CFR_AGENT_PUBLISH_DELIVERY_PRIVATE_H
#define CFR_AGENT_PUBLISH_DELIVERY_PRIVATE_H

#include "agent/kube/watch.h"
#include "agent/loop/backoff.h"
#include "agent/loop/log_once.h"
#include "agent/publish/keys_private.h"
#include "agent/publish/secret_target.h"
#include "kube/secret_apply.h"

#define CFR_DELIVERY_NAME_MAX    360
#define CFR_DELIVERY_CA_KEYS_MAX 288
#define CFR_DELIVERY_RESUME_MS   1000 /* in which all begin that waited for one server */

enum cfr_delivery_purpose {
    CFR_DELIVERY_LOOK,   /* does it still hold what was applied? */
    CFR_DELIVERY_BEFORE, /* may it be written? */
    CFR_DELIVERY_APPLY,
    CFR_DELIVERY_FORGET /* an apply without KEY.old of what it holds */
};

/* One Secret or ConfigMap. */
struct cfr_delivery_object {
    struct cfr_delivery *all;
    const struct cfr_config_secret *config;
    const struct cfr_k8s_kind *kind;
    char name[CFR_DELIVERY_NAME_MAX]; /* "Secret NAMESPACE/NAME", for people */
    char namespace_name[254];         /* empty until it is known */
    uint64_t wanted;
    uint64_t done;   /* as it was applied, or last seen */
    uint64_t number; /* of a shared rotation: that of the key that is wanted; 0 = it is none */
    int64_t wanted_expires_ms;
    int64_t done_expires_ms;
    struct cfr_publish_keys keys; /* of what is wanted; none: not known since the start */
    size_t own_count; /* of these, those that are rendered; the others are what the Secret held before, KEY.old */
    bool minted;      /* it is a rotated key in a Secret, the last of those rendered being when that was minted */
    bool forgets;     /* KEY.old is to be removed */
    bool loaded;      /* the values are there, to be applied */
    bool newer;       /* than what the call applies: they came since, perhaps under the same generation */
    struct cfr_kube_call *call;
    struct cfr_secret body; /* of the call */
    uint64_t sending;       /* the generation that the call is for */
    int64_t sending_expires_ms;
    enum cfr_delivery_purpose purpose; /* of the call */
    bool absent;                       /* the look before found nothing: the apply has to create */
    bool seen;                         /* in this run it was applied, or found as it was */
    struct cfr_kube_watch *watch;
    struct cfr_kube_watch *space_watch;       /* of a namespace that does not exist; else NULL */
    char version[CFR_K8S_SECRET_VERSION_MAX]; /* as it was applied or last read; empty: there was none */
    char news[CFR_K8S_SECRET_VERSION_MAX];    /* what the watch last reported */
    char uid[CFR_K8S_SECRET_VERSION_MAX];     /* for Events; empty: not known */
    bool told_expired;
    char ca_keys[CFR_DELIVERY_CA_KEYS_MAX]; /* of the CA that issued what is wanted; empty: none did */
    bool ca_rotated;                        /* an earlier CA of these issued the current content */
    uint64_t key;                           /* hash of the id of the long-lived key that is wanted; 0: it is none */
    uint64_t done_key;                      /* and of the one that was applied last */
    bool adopted;                           /* another program made that key */
    bool repairs;                           /* what was applied is lost */
    bool unchanged;                         /* what was applied is what was there */
    unsigned collisions;                    /* with other agents that write it at the same time; in a row */
    int64_t newer_boot_ms;                  /* since when another agent's is newer; 0 = it is not */
    bool stirred;                           /* it reported during a request */
    int64_t look_boot_ms;
    int64_t read_boot_ms; /* when the last look began; 0 = none did */
    struct cfr_backoff backoff;
    struct cfr_log_once logged;
    uint64_t warned; /* hash of the API server's last warning */
    int64_t next_boot_ms;
    char *error;
    int error_code;
    int64_t last_run_s;
    uint64_t runs_ok;
    uint64_t runs_failed;
};

struct cfr_delivery {
    const struct cfr_config_credential *config;
    struct cfr_kube *kube;
    cfr_publish_secret_fn *ended;
    void *ctx;
    struct cfr_delivery_object *targets;
    struct cfr_api_status_hook *status;
    uint64_t run; /* of this agent that wrote one last; 0 = not known */
    size_t count;
};

/* A look is nothing to wait for, and neither is an apply after which it holds what it held. */
static inline bool cfr_publish_delivery_is_writing(const struct cfr_delivery_object *t)
{
    return t->call != NULL && t->purpose != CFR_DELIVERY_LOOK && t->purpose != CFR_DELIVERY_FORGET;
}

static inline bool cfr_publish_delivery_is_lost(const struct cfr_delivery_object *t)
{
    return t->done != t->wanted && !t->loaded;
}

/* A generation that reached only some targets is not recorded, and its number is used again with other content. */
static inline bool cfr_publish_delivery_is_applied(const struct cfr_delivery_object *t)
{
    return t->done == t->wanted && !t->loaded;
}

/* Of a rotation whose agents all write it; else NULL. */
static inline const struct cfr_config_mint_state *cfr_publish_delivery_state(const struct cfr_delivery_object *t)
{
    return t->all->config->mint != NULL ? t->all->config->mint->state : NULL;
}

/* Wipes what was to be applied, but for its keys. */
static inline void cfr_publish_delivery_wipe(struct cfr_delivery_object *t)
{
    cfr_publish_keys_wipe(&t->keys);
    t->loaded = false;
}

static inline int64_t cfr_publish_delivery_due_at(const struct cfr_delivery_object *t)
{
    return t->loaded ? t->next_boot_ms : t->look_boot_ms;
}

/* ---- secret_target.c ---- */

void cfr_publish_delivery_clear_error(struct cfr_delivery_object *t);
/* Fills NAME: "Secret NAMESPACE/NAME". */
void cfr_publish_delivery_name(const struct cfr_config_secret *c, const char *namespace_name,
                               char name[CFR_DELIVERY_NAME_MAX]);
/* What is wanted, which it borrows; KEYS is filled. */
struct cfr_k8s_secret_object cfr_publish_delivery_content(const struct cfr_delivery_object *t,
                                                          struct cfr_k8s_secret_key keys[CFR_CONFIG_FILES_MAX]);

/* ---- secret_content.c: BODY is the answer (200) to a GET of T ---- */

/* What the Secret of BODY holds of the key before this one becomes KEY.old, so that one apply writes both. What holds
 * this key already keeps its KEY.old; what holds no rotated key has none. */
int cfr_publish_delivery_add_previous(struct cfr_delivery_object *t, struct cfr_view body, struct cfr_err *err);
/* Puts what other programs have in the Secret of BODY, if there is one, into the keys whose format they write, too. */
int cfr_publish_delivery_merge(struct cfr_delivery_object *t, struct cfr_view body, struct cfr_err *err);
/* Reads back the values of the Secret of BODY, which it is applied with again, without KEY.old. *NONE: it has no
 * KEY.old, and nothing was read. */
int cfr_publish_delivery_read_back(struct cfr_delivery_object *t, struct cfr_view body, bool *none,
                                   struct cfr_err *err);

/* ---- secret_run.c ---- */

/* The number of this run, not 0: random, but greater than that of a run that began earlier in the same second. */
uint64_t cfr_publish_delivery_run(void);
/* When this run first came to publish, by the wall clock. */
int64_t cfr_publish_delivery_start_s(void);

/* ---- secret_event.c ---- */

void cfr_publish_delivery_report_published(const struct cfr_delivery_object *t);
/* Without the server's words: more users may read Events than Secrets. */
void cfr_publish_delivery_report_failed(const struct cfr_delivery_object *t);
/* Reports that what is there has expired, once. */
void cfr_publish_delivery_check_expired(struct cfr_delivery_object *t, struct cfr_now now);

#endif
