/* SPDX-License-Identifier: MIT */
/* Status of the agent as data, and the pages made from it: status JSON, status page, health, metrics. Nothing here
 * blocks. Callbacks run during the call that makes a page and must not re-enter it. All texts of a status are borrowed;
 * a page is appended to the caller's string, up to its limit. */
#ifndef CFR_SERVE_API_STATUS_H
#define CFR_SERVE_API_STATUS_H

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "serve/api/history.h"

/* A credential takes about 2.5 KiB of the metrics page. */
#define CFR_API_STATUS_PAGE_MAX 134217728
#define CFR_API_STATUS_BUCKETS  10

struct cfr_api_status_hook {
    const char *name;    /* what it does, in words: "signal HUP to /run/app.pid" */
    const char *result;  /* "none", "ok", "failed", "running", "pending" */
    const char *error;   /* last error text or NULL */
    int64_t last_run_s;  /* 0 = never */
    uint64_t generation; /* the last one it succeeded for */
    uint64_t runs_ok;
    uint64_t runs_failed;
};

/* A consumer that acknowledges generations. */
struct cfr_api_status_consumer {
    const char *name;    /* how it says so, in words: "file /run/app/in-use" */
    uint64_t generation; /* 0 = it has said nothing yet */
    int64_t said_s;      /* 0 = not known */
    bool current;        /* that is the newest one */
    bool behind;         /* it is not, and it has had its time */
};

/* Requests that a shape has answered with one status, or connections that were refused. */
struct cfr_api_status_endpoint {
    const char *endpoint; /* ADDRESS:PORT, or the token socket's path */
    const char *shape;    /* "aws_container"; "none" where no shape was asked; NULL: connections */
    int64_t status;
    uint64_t requests; /* or connections */
    bool connection;   /* follows from the shape; not set by get_endpoint */
};

struct cfr_api_status_histogram {
    uint64_t buckets[CFR_API_STATUS_BUCKETS + 1]; /* not cumulative; the last is +Inf */
    double sum_s;
    uint64_t count;
};
void cfr_api_status_observe(struct cfr_api_status_histogram *h, double seconds);

/* A long-lived key that is rotated. */
struct cfr_api_status_mint {
    const char
        *state; /* "UPDATE_IN_PROGRESS", "UPDATE_COMPLETE", "UPDATE_FAILED"; NULL: this credential is no such key */
    const char *step;             /* "rest", "published", ... */
    const char *waits_for;        /* in words, or NULL */
    const char *error;            /* of work other than publishing, or NULL */
    const char *subject;          /* whose keys these are: "aws/robot" */
    const char *key;              /* id of the published one; NULL = none yet */
    const char *old_key;          /* id of the previous key, which still works, or NULL */
    const char *const *put_aside; /* ids of keys that may be another user's and are deactivated, or left */
    size_t put_aside_count;
    const char *key_state;   /* of the published one in the cloud: "active", "deactivated", "expired", "deleted"; NULL =
                                not known */
    const char *key_refused; /* why consumers are refused with it, in words; NULL = nothing is known against it */
    const char *passed_on;   /* the credential whose own key is published while none may be made; NULL = none */
    const char *role;        /* "holder", "follower" of a rotation that several agents share; NULL: it is not shared */
    const char *holder;      /* who goes on with it, or did so last; NULL = nobody yet */
    int64_t minted_s;        /* 0 = none */
    int64_t old_key_until_s; /* end of the grace period of old_key; 0 = not in one */
    int64_t due_s;
    uint64_t rotation;  /* number of the present or last one */
    uint64_t completed; /* by this run */
    uint64_t undone;    /* keys that were removed because they never came to be published, by this run */
};

struct cfr_api_status_credential {
    const char *name;
    const char *state;    /* "waiting", "exchanging", ... */
    const char *provider; /* "aws", "token" */
    const char
        *source; /* what it begins with: "file", "request", "file or request", "secret", "provider", "service_ca" */
    const char *identity; /* ARN or NULL */
    bool required;
    bool published;         /* something is published */
    bool unserved;          /* an endpoint serves it, and there is nothing in memory that it could answer with */
    bool source_missing;    /* the Secret that is copied was removed: only the copy still exists */
    uint64_t generation;    /* 0 = none */
    int64_t issued_s;       /* local wall clock; 0 = unknown */
    int64_t expires_s;      /* 0 = never expires (when published) */
    int64_t refresh_s;      /* next refresh or retry, wall clock; 0 = none planned */
    int64_t last_success_s; /* 0 = never */
    int64_t token_issued_s; /* of the subject token last read; 0 = unknown */
    int64_t token_expires_s;
    bool token_overdue;     /* past 80 % of its lifetime and not replaced */
    bool token_requested;   /* requested from the API server, by itself or in place of a file */
    const char *token_note; /* e.g. that it is a subPath mount; or NULL */
    const char *error;      /* last error in words, NULL when the last attempt went well */
    int error_code;         /* CFR_E_... or 0 */
    int64_t error_s;
    uint64_t failures;   /* consecutive */
    uint64_t tries_left; /* before it expires, at the longest pauses; means nothing where nothing expires */
    bool skew_known;
    int64_t skew_s;     /* the server's clock less ours, at the last exchange */
    const char *reason; /* of the last forced rotation, or NULL */
    uint64_t exchanges_ok;
    uint64_t exchanges_failed[CFR_CLASS_COUNT]; /* by class */
    struct cfr_api_status_histogram duration;
    const struct cfr_api_status_hook *hooks;
    size_t hook_count;
    const struct cfr_api_status_hook *deliveries; /* to Secrets of the cluster */
    size_t delivery_count;
    const struct cfr_api_status_consumer *consumers;
    size_t consumer_count;
    struct cfr_api_status_mint mint;
    bool previous_held;                    /* the previous generation is kept longer, for a consumer */
    const struct cfr_api_history *history; /* of the last day, up to now; NULL = none is kept */
    /* What follows from these is not set by GET: */
    bool ready;   /* published, not expired, not refused by its cloud: what readiness is about */
    bool expires; /* it is published, and will expire or has */
    int64_t expires_in_s;
    const char *error_name;
    const char *error_class;
};

/* A signer of pod certificates. */
struct cfr_api_status_signer {
    const char *name;
    const char *result; /* ok, failed, pending */
    const char *error;  /* of the last look, or NULL */
    int64_t last_run_s; /* 0 = never */
    uint64_t issued;
    uint64_t denied;
};

/* The service CA: the newest of its CAs. */
struct cfr_api_status_authority {
    uint64_t number;     /* how many CAs there have been; 0 = none yet */
    const char *subject; /* NULL with none */
    const char *key_id;  /* its subject key identifier, hexadecimal */
    int64_t issued_s;    /* wall clock; 0 = there is none, as for the next two */
    int64_t expires_s;
    int64_t rotates_s;    /* when it is replaced for its age */
    uint64_t generations; /* how many CAs are trusted */
    const char *reason;   /* that it was made for; NULL: it was due, or the first */
    const char *error;    /* why the last look at it failed, or NULL */
    int error_code;
    uint64_t failures;                          /* consecutive */
    const struct cfr_api_status_hook *injected; /* objects of the cluster with the bundle */
    size_t injected_count;
    const struct cfr_api_status_signer *signers;
    size_t signer_count;
};

/* The pages pull one credential at a time, so that no copy of the whole exists. GET fills *OUT for INDEX; its
 * pointers are valid until the next call. */
/* A part of the agent's sandbox. */
struct cfr_api_status_sandbox {
    const char *part; /* NULL = there is no such part */
    bool on;
    const char *why; /* it is not in force; NULL if it is */
};

#define CFR_API_SANDBOX_PARTS 5

/* Long-lived keys of a credential that is not in the configuration any more. */
struct cfr_api_status_forgotten {
    char *name;     /* of the former credential */
    char *subject;  /* whose keys they are; NULL = not known */
    char *keys;     /* in words; NULL = not known */
    char *error;    /* why nothing is known, or NULL */
    uint64_t count; /* of keys, at least */
};

struct cfr_api_status {
    const char *version;
    int64_t now_s;
    int64_t started_s;
    const char *config_file; /* NULL: the environment */
    int64_t config_loaded_s;
    bool config_ok;           /* false after a refused reload */
    const char *config_error; /* why, or NULL */
    bool stopping;
    uint64_t log_dropped;                         /* log lines that nobody took in time */
    const struct cfr_api_status_sandbox *sandbox; /* of CFR_API_SANDBOX_PARTS; NULL = none */
    const struct cfr_api_status_forgotten *forgotten;
    size_t forgotten_count;
    size_t count;
    void (*get)(void *ctx, size_t index, struct cfr_api_status_credential *out);
    bool (*get_endpoint)(void *ctx, size_t index,
                         struct cfr_api_status_endpoint *out); /* false beyond the last; may be NULL */
    bool (*get_authority)(void *ctx,
                          struct cfr_api_status_authority *out); /* false without a service CA; may be NULL */
    void *ctx;
};

/* Calls LINE for each member of CREDENTIAL, of the status JSON, that is shown by itself: with its title and its value,
 * which is empty for a flag that is set. */
typedef void cfr_api_line_fn(void *ctx, const char *title, struct cfr_view value);
void cfr_api_status_each_line(const struct cfr_json *credential, cfr_api_line_fn *line, void *ctx);

#endif
