/* SPDX-License-Identifier: MIT */
/* What every provider is: a table of configuration keys and two pure functions around each HTTP request. */
#ifndef CFR_STS_CORE_PROVIDER_H
#define CFR_STS_CORE_PROVIDER_H

#include "base/field.h"
#include "base/grant.h"
#include "base/token_rules.h"
#include "sts/core/origin.h"
#include "sts/core/trust.h"
#include "wire/request.h"

#define CFR_STS_CONTENTS_MAX 12
#define CFR_STS_NONCE_BYTES  16
#define CFR_STS_BODY_MAX     131072 /* of a request */
#define CFR_STS_ANSWER_MAX   262144 /* of an answer: larger ones are refused while they arrive */

/* What a file of the configuration (CFR_FIELD_CONTENT) holds: a client secret, a private key, a password. */
struct cfr_sts_content {
    const char *key;       /* as in the provider's table, such as "client_secret_file" */
    struct cfr_view bytes; /* as read, without the white space around it */
};

/* What the agent knows and the provider may use; all borrowed for the duration of one call. */
struct cfr_sts_input {
    const char *credential;  /* its name in the configuration */
    struct cfr_view token;   /* the subject token, trimmed; empty for what begins without one */
    struct cfr_view subject; /* its `sub` claim, decoded and unverified; may be empty */
    const struct cfr_sts_content *contents;
    size_t content_count;
    int64_t now_s;              /* wall clock; for parse that of the server, where ours is known to be wrong, so that
                                 * now_s + expires_in is a time by the grantor's clock */
    const unsigned char *nonce; /* CFR_STS_NONCE_BYTES random bytes, others for each request */
    const char *(*env)(const char *); /* looks up an environment variable; NULL when unset */
};

/* The content of the file at KEY, or an empty view. */
struct cfr_view cfr_sts_input_content(const struct cfr_sts_input *in, const char *key);

/* One exchange in progress, owned by the agent. Zero it, set config and provider, then build/send/parse until DONE. */
struct cfr_sts_exchange {
    const struct cfr_sts_provider *provider;
    const void *config;     /* the provider's own struct, as its table describes it */
    unsigned step;          /* 0 for the first request; parse advances it */
    struct cfr_grant grant; /* the latest answer; intermediate between steps, final after DONE */
    int64_t wait_s;         /* after an error: the least pause where the answer has no Retry-After; 0 = none is known */
};

enum cfr_sts_outcome { CFR_STS_DONE = 0, CFR_STS_MORE = 1 };

struct cfr_sts_provider {
    const char *name;              /* the key under `exchange:` */
    const char *family;            /* what its grant's fields begin with, before a `_`; NULL = the name */
    const struct cfr_table *table; /* its configuration */
    const char *doc;               /* of the key, for the reference page */
    const char *const *fields; /* grant fields that its later requests are made with, NULL-terminated; NULL = none */
    const char *const *hosts;  /* ends of its servers' names, whose certificates are of public CAs; NULL = none */
    const char *ca_variable;   /* the environment variable that may name a CA file for its requests; NULL = none */
    const struct cfr_token_rules *token_rules; /* NULL = none but those of all */
    int64_t consumer_window_ms; /* consumers refresh by themselves when less life is left: stay ahead of it */
    bool lives_vary;            /* each grant lives as long as the server draws: that spreads a fleet by itself */
    /* Rules that need the environment (a region that may come from there, say). CFR_E_CONFIG. */
    int (*check)(const void *config, const char *(*env)(const char *), struct cfr_err *err);
    /* Whether this configuration begins with a subject token; NULL = always. */
    bool (*needs_token)(const void *config);
    /* What is granted without any request (a token that a configured key signs by itself); NULL = nothing is. Called
     * once, before the first build. CFR_STS_DONE: x->grant is final. CFR_STS_MORE: requests are needed, from x->step 0
     * on. Else an error code. */
    int (*local)(struct cfr_sts_exchange *x, const struct cfr_sts_input *in, struct cfr_err *err);
    /* Builds the request of x->step into the zeroed OUT. The caller frees OUT also after an error. */
    int (*build)(const struct cfr_sts_exchange *x, const struct cfr_sts_input *in, struct cfr_wire_request *out,
                 struct cfr_err *err);
    /* Reads the answer of x->step. CFR_STS_DONE: x->grant is final. CFR_STS_MORE: x->step has advanced. Else an
     * error code: x->grant is then unspecified but valid. */
    int (*parse)(struct cfr_sts_exchange *x, const struct cfr_sts_input *in, const struct cfr_wire_reply *reply,
                 struct cfr_err *err);
    /* Where the value of KEY, which CONFIG does not have, comes from instead: an element of another file. NULL: it is
     * not set. No function: always. */
    cfr_sts_origin_fn *origin;
    /* Says what must be configured at the cloud for the token of T to be exchanged: CFR_STS_TRUST_NEEDED. NULL:
     * nothing.
     */
    void (*trust_needed)(const void *config, const struct cfr_sts_trust *t);
    /* Compares what a refusal names, TEXT being the error's text, with the token: CFR_STS_TRUST_REFUSED. NULL: the
     * cloud names nothing. */
    void (*trust_refused)(const char *text, const struct cfr_sts_trust *t);
    /* Makes CONFIG (on the heap, as the table says) log in to the registry HOST if it names no registry itself; an
     * empty HOST is one that is not known yet, and any good one will do for a look at the rest. NULL: this provider
     * knows no registries. CFR_E_CONFIG: HOST cannot be one of its; CFR_E_NOMEM. */
    int (*add_registry)(void *config, struct cfr_view host, struct cfr_err *err);
    /* With add_registry: the key of TABLE that names the registries to log in to, a MAP or STRINGS. */
    const char *registries;
};

/* Whether an exchange with CONFIG begins with a subject token. */
bool cfr_sts_needs_token(const struct cfr_sts_provider *provider, const void *config);

void cfr_sts_exchange_free(struct cfr_sts_exchange *x);

#endif
