/* SPDX-License-Identifier: MIT */
/* The environment variables that point an SDK at one credential, and the settings that take precedence over them.
 * Pure but for the callbacks of a place, which run during the call. Sources: the configuration chapters of the AWS,
 * Google Cloud, Azure and OpenStack SDKs. */
#ifndef CFR_SERVE_SDK_ENV_H
#define CFR_SERVE_SDK_ENV_H

#include "base/err.h"
#include "base/str.h"

#define CFR_SDK_ENV_VARIABLES_MAX 48
#define CFR_SDK_ENV_NOTES_MAX     16

/* Which SDKs a variable is for, and by which way they then come; within each cloud the recommended one is first. */
enum cfr_sdk_env_way {
    CFR_SDK_ENV_AWS_CONTAINER,
    CFR_SDK_ENV_AWS_IMDS,
    CFR_SDK_ENV_AWS_FILE,
    CFR_SDK_ENV_GCP_METADATA,
    CFR_SDK_ENV_GCP_FILE,
    CFR_SDK_ENV_AZURE_APP_SERVICE,
    CFR_SDK_ENV_AZURE_IMDS,
    CFR_SDK_ENV_AZURE_FILE,
    CFR_SDK_ENV_OPENSTACK_FILE,
    CFR_SDK_ENV_DOCKER_FILE,
    CFR_SDK_ENV_OTHER_FILE,
    CFR_SDK_ENV_WAYS
};

struct cfr_sdk_env_variable {
    const char *name; /* literal */
    char *value;      /* heap; never a secret */
    bool from_file;   /* the variable is to hold the content (trimmed) of the file that `value` names: a secret that the
                       * SDK wants to find in its environment. Read it as late as can be */
    enum cfr_sdk_env_way way;
};

/* Zero-initialised is empty; freed by cfr_sdk_env_free. No name is in it twice. */
struct cfr_sdk_env {
    struct cfr_sdk_env_variable items[CFR_SDK_ENV_VARIABLES_MAX];
    size_t count;
    char *notes[CFR_SDK_ENV_NOTES_MAX]; /* heap: what could not be said by variables, a sentence each */
    size_t note_count;
};

/* Adds a variable with a copy of VALUE. If NAME is there already with another value the first one stays and a note says
 * so. CFR_E_NOMEM, CFR_E_LIMIT. */
int cfr_sdk_env_set(struct cfr_sdk_env *e, enum cfr_sdk_env_way way, const char *name, const char *value,
                    struct cfr_err *err);
/* Adds a sentence once; more than CFR_SDK_ENV_NOTES_MAX are dropped. */
int cfr_sdk_env_note(struct cfr_sdk_env *e, struct cfr_err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Puts the variables into the order of their ways, which within each cloud is that of recommendation. */
void cfr_sdk_env_sort(struct cfr_sdk_env *e);
const struct cfr_sdk_env_variable *cfr_sdk_env_find(const struct cfr_sdk_env *e, const char *name);
bool cfr_sdk_env_has_way(const struct cfr_sdk_env *e, enum cfr_sdk_env_way way);
void cfr_sdk_env_free(struct cfr_sdk_env *e);

/* Where a program with E's variables will run, as far as it can be seen from here. */
struct cfr_sdk_env_place {
    const char *(*env)(const char *); /* its environment before E */
    bool (*exists)(const char *path); /* whether there is such a file; NULL = not looked */
};

/* Appends to OUT, a line each, what takes precedence over E's variables there: a variable that is set, a file that SDKs
 * read first, a proxy. REMEDY ends the lines of variables, after a semicolon; NULL = they are not listed. Names and
 * paths only, never the value of a variable. */
void cfr_sdk_env_warn(const struct cfr_sdk_env *e, const struct cfr_sdk_env_place *place, const char *remedy,
                      struct cfr_str *out);
/* Appends to OUT the name of each variable that is set there and takes precedence over E's, a line each. */
void cfr_sdk_env_overriding(const struct cfr_sdk_env *e, const struct cfr_sdk_env_place *place, struct cfr_str *out);
/* Appends to OUT, a line each, for which SDKs E's variables are the recommended way, then for which they do not work,
 * and what to take instead, then what single SDKs do differently. */
void cfr_sdk_env_hint(const struct cfr_sdk_env *e, struct cfr_str *out);
/* Why the variable NAME with VALUE takes precedence over E's, or NULL if it does not. */
const char *cfr_sdk_env_overrides(const struct cfr_sdk_env *e, const char *name, const char *value);

#endif
