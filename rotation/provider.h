/* SPDX-License-Identifier: MIT */
/* What a cloud's keys need for being minted and removed: a table of configuration keys and two pure functions around
 * each HTTP request. A *key* is the cloud's long-lived credential: an IAM access key, a service-account key, an
 * application credential, an application's secret. */
#ifndef CFR_ROTATION_PROVIDER_H
#define CFR_ROTATION_PROVIDER_H

#include "base/field.h"
#include "base/grant.h"
#include "wire/request.h"

#define CFR_ROTATION_ID_MAX     132          /* with its NUL; of what the cloud calls a key */
#define CFR_ROTATION_NAME_MAX   96           /* of what we call it, where the cloud takes names */
#define CFR_ROTATION_NAME_OURS  "credfresh-" /* how the names of our keys begin */
#define CFR_ROTATION_MAKER_MAX  320          /* the creator, as the cloud names it */
#define CFR_ROTATION_RIGHTS_MAX 4
#define CFR_ROTATION_KEYS_MAX   64     /* that a list may hold; clouds allow 2 to 20 */
#define CFR_ROTATION_NEXT_MAX   1024   /* of what names the next page of a list */
#define CFR_ROTATION_DENIED_MAX 512    /* of the names of rights */
#define CFR_ROTATION_BODY_MAX   65536  /* of a request */
#define CFR_ROTATION_ANSWER_MAX 262144 /* of an answer: larger ones are refused while they arrive */

enum cfr_rotation_op {
    CFR_ROTATION_LIST,       /* every key that may be in the way, also those made by others */
    CFR_ROTATION_CREATE,     /* not idempotent anywhere: an answer that is lost leaves a key whose secret is unknown */
    CFR_ROTATION_VERIFY,     /* real use of the new key, in one place */
    CFR_ROTATION_DEACTIVATE, /* the key is refused from then on and can be brought back */
    CFR_ROTATION_LAST_USED,
    CFR_ROTATION_DELETE, /* that it is gone already is success */
    CFR_ROTATION_RIGHTS, /* which rights a rotation needs, and the caller has not; changes nothing */
};

struct cfr_rotation_key {
    char id[CFR_ROTATION_ID_MAX];
    char name[CFR_ROTATION_NAME_MAX];   /* "" where the cloud's keys have none */
    char maker[CFR_ROTATION_MAKER_MAX]; /* who made it, in the cloud's words; "" = it does not say */
    int64_t created_s;                  /* by the cloud's clock; 0 = it does not say */
    int64_t ends_s;                     /* when it expires; 0 = it does not */
    bool active;
    bool expired; /* so it is not active either */
    bool foreign; /* made in a way that is not ours */
    char hint[8]; /* how its secret begins, where the cloud's list says so; "" = it does not */
};

struct cfr_rotation_keys {
    struct cfr_rotation_key key[CFR_ROTATION_KEYS_MAX];
    size_t count;
};

#define CFR_ROTATION_KEEP_MAX 3

/* What is asked for; borrowed for one call. */
struct cfr_rotation_ask {
    enum cfr_rotation_op op;
    const char *id; /* for DEACTIVATE, LAST_USED and DELETE; for RIGHTS: the caller, in the cloud's words, "" = ask */
    const char *owner; /* for DEACTIVATE and DELETE: whose key it is; NULL = the configured subject's */
    const char *name;  /* for CREATE: what the new key is to be called */
    /* for LIST: ids that a list which is too long has all the same, whatever their names; NULL and "" = none */
    const char *keep[CFR_ROTATION_KEEP_MAX];
    int64_t now_s;
    const struct cfr_grant
        *admin; /* what the credential named `with` was granted, which authorises this; not for VERIFY */
    const struct cfr_grant *fresh;    /* for VERIFY: what CREATE gave, or recognize */
    size_t place;                     /* for VERIFY: which of the provider's places, from 0 */
    const char *(*env)(const char *); /* looks up an environment variable; NULL = there is none */
};

/* What an answer says; which members are set depends on the operation. Zero-initialised is empty; freed by
 * cfr_rotation_answer_free. */
struct cfr_rotation_answer {
    struct cfr_rotation_keys keys;    /* LIST; adds to what is there, for lists of several pages */
    char next[CFR_ROTATION_NEXT_MAX]; /* LIST: where the next page begins; "" = it was the last */
    struct cfr_rotation_key made;     /* CREATE */
    struct cfr_grant grant;           /* CREATE: what consumers need, as fields, and its identity */
    int64_t used_s;                   /* LAST_USED: 0 = never, or not known */
    /* RIGHTS */
    char caller[CFR_ROTATION_MAKER_MAX];  /* who asks; to be the ask's id from then on, and nothing else was asked */
    char denied[CFR_ROTATION_DENIED_MAX]; /* what the caller may not do, with ", " in between; adds to what is there */
    size_t judged;                        /* how many rights were looked at; adds */
    bool may_not;                         /* after CFR_E_DENIED: `admin` is known to the cloud, and lacks the right */
};

/* How a new key is tried where that takes more than one request: an exchange with the provider of sts that is named.
 * Texts are borrowed from the configuration and from the fresh grant. */
#define CFR_ROTATION_TRIAL_MAX 4
struct cfr_rotation_trial_value {
    const char *key; /* literal, of that provider's table */
    struct cfr_view value;
};

struct cfr_rotation_trial {
    const char *provider;                                             /* literal: the key under `exchange:` */
    struct cfr_rotation_trial_value settings[CFR_ROTATION_TRIAL_MAX]; /* what is not among them has its default */
    size_t setting_count;
    /* What the files of the configuration hold; each key has to have some text in the configuration, too. */
    struct cfr_rotation_trial_value contents[CFR_ROTATION_TRIAL_MAX];
    size_t content_count;
};

struct cfr_rotation_provider {
    const char *name;              /* the key under `mint:` */
    const struct cfr_table *table; /* its configuration */
    const char *doc;               /* of the key, for the reference page */
    const char *const *grants;     /* the fields of a key that was made, NULL-terminated */
    bool names;                    /* keys carry a name of ours, by which a lost one is found again */
    bool sole;                     /* the configuration demands that the subject has no keys of others */
    bool deactivates;              /* knows DEACTIVATE */
    bool asks_owner;               /* the ask's `owner` is looked at */
    bool tells_use;                /* knows LAST_USED */
    bool tells_rights;             /* knows RIGHTS */
    const char *rights_unseen;     /* what may allow all the same what RIGHTS finds denied; NULL = nothing */
    /* Operations whose rights are tried before a key is created, by asking for ABSENT, a key that there is not, so that
     * nothing changes: that it is gone is success. LAST_USED is asked of a listed key. */
    enum cfr_rotation_op rights[CFR_ROTATION_RIGHTS_MAX];
    size_t right_count;
    const char *absent;
    unsigned most;         /* keys that may exist at once; 0 = no limit is known */
    unsigned verify_count; /* successes in a row, in each place, before a new key is published */
    int64_t verify_wait_s; /* default of how long to wait after them */
    /* Whose keys these are, in the cloud's words: a user's name, an account's email; NULL = they are
     * those of the caller itself. Not secret. */
    const char *(*subject)(const void *config);
    /* What the subject leaves open of whose keys the ask's `admin` makes, in the cloud's words: an account, a user;
     * empty: `admin` does not tell. NULL: the subject says it all. Not secret. */
    struct cfr_view (*account)(const void *config, const struct cfr_rotation_ask *ask);
    /* In how many places a new key is tried; NULL = one. */
    size_t (*places)(const void *config);
    /* Builds the request into the zeroed OUT; PAGE is the former answer's `next`, or "". The caller frees OUT also
     * after an error. CFR_E_CONFIG if the ask's `admin` holds nothing that fits this cloud. */
    int (*build)(const void *config, const struct cfr_rotation_ask *ask, const char *page, struct cfr_wire_request *out,
                 struct cfr_err *err);
    /* Reads the answer. CFR_E_LIMIT: no more keys can be made until one is removed. Whether an error to CREATE says
     * that nothing was made follows from the status alone; see cfr_rotation_is_certain. */
    int (*parse)(const void *config, const struct cfr_rotation_ask *ask, const struct cfr_wire_reply *reply,
                 struct cfr_rotation_answer *out, struct cfr_err *err);
    /* Fills OUT's `made` and `grant`, as CREATE does, from what was found of a key that another program created; FIELDS
     * are those of rotation/found.h. The id is "" where only the list tells: then the hint is set. CFR_E_MISSING:
     * FIELDS have no key of this cloud; CFR_E_CONFLICT: it is another subject's. */
    int (*recognize)(const void *config, const struct cfr_rotation_ask *ask, const struct cfr_grant *fields,
                     struct cfr_rotation_answer *out, struct cfr_err *err);
    /* Fills the empty OUT with the ask's `admin` as what CREATE gives: the fields of `grants`. CFR_E_CONFIG if `admin`
     * has other ones. NULL: an `admin` of this cloud has other fields than a key (an access token, say), in words
     * ADMIN_HAS. */
    int (*pass_on)(const void *config, const struct cfr_rotation_ask *ask, struct cfr_grant *out, struct cfr_err *err);
    const char *admin_has;
    /* Says how the key that is the ask's `fresh` is tried, in the zeroed OUT; NULL: by VERIFY. That it is not accepted
     * yet and that it never will be look the same: an error of any kind but LOCAL is a failed try. */
    int (*trial)(const void *config, const struct cfr_rotation_ask *ask, struct cfr_rotation_trial *out,
                 struct cfr_err *err);
};

/* True if a CREATE that was answered with STATUS (0 = no answer came) made nothing for certain: the server refused it
 * (4xx but 408, 425, 429 and 499). */
bool cfr_rotation_is_certain(long status);
/* Redacts the COUNT SECRETS in all of *A that may be shown, and in ERR, which RC says is set. Returns RC, or
 * CFR_E_ANSWER if the id of a key in A repeats one. */
int cfr_rotation_hide(struct cfr_rotation_answer *a, const struct cfr_view *secrets, size_t count, int rc,
                      struct cfr_err *err);
void cfr_rotation_answer_free(struct cfr_rotation_answer *a);

#endif
