/* SPDX-License-Identifier: MIT */
/* Kinds of sources and targets whose rows are in later rooms: what the configuration has to know of them. Nothing
 * blocks, nothing is owned; what describe returns is borrowed from the target's configuration. */
#ifndef CFR_AGENT_CONFIG_KINDS_H
#define CFR_AGENT_CONFIG_KINDS_H

#include "agent/config/config.h"

/* ---- sources ---- */

struct cfr_config_source_kind {
    struct cfr_variant variant; /* its `row` is left out */
    const char *origin;         /* in messages: what the credential comes from, "the service CA" */
    bool needs_service_ca;      /* of the whole configuration */
    /* The key by which CONFIG begins a credential, for messages; NULL if it does not. */
    const char *(*key)(const void *config);
    /* Whether what it grants has FIELD, which no other source grants; CONFIG NULL: in any configuration of it. */
    bool (*grants)(const void *config, const char *field);
};

/* Registers the kinds before a configuration is loaded: AT returns the INDEX-th, NULL after the last. */
void cfr_config_register_sources(const struct cfr_config_source_kind *(*at)(size_t index));
/* The registered kind that C begins with, and its configuration; NULL if it begins with another. */
const struct cfr_config_source_kind *cfr_config_source_kind(const struct cfr_config_credential *c,
                                                            const void **kind_config);

/* ---- targets ---- */

/* What of a target concerns the rest of the configuration. */
struct cfr_config_target_use {
    const char *key;     /* of PATH, for messages: "publish.profile.path" */
    const char *path;    /* that is written on this machine; NULL = none */
    const char *section; /* the only part of PATH that is written, so that others may have another; NULL = all of it */
    int format;          /* index into cfr_formats; -1 = none */
    int line;
};

struct cfr_config_target_kind {
    struct cfr_variant variant; /* its `row` is left out */
    void (*describe)(const void *config, struct cfr_config_target_use *out);
};

/* Registers the kinds before a configuration is loaded: AT returns the INDEX-th, NULL after the last. */
void cfr_config_register_targets(const struct cfr_config_target_kind *(*at)(size_t index));
/* The registered kind of T, and its configuration; NULL if T is of another kind. */
const struct cfr_config_target_kind *cfr_config_target_kind(const struct cfr_config_publish *t,
                                                            const void **kind_config);
/* Rules across the keys of FILE, which become a section of a file that other programs write, too: `profile` is its
 * name. The error begins with the key that it is about. */
int cfr_config_check_profile(const struct cfr_config_file *file, struct cfr_err *err);

/* What the reference says of keys that all such files have. */
#define CFR_CONFIG_DOC_ROLE_ARN                                                                                        \
    "With format aws-config: the role that the SDK itself assumes with the token at `token_path`."
#define CFR_CONFIG_DOC_SESSION_NAME "With format aws-config: the session name that the SDK uses for `role_arn`."
#define CFR_CONFIG_DOC_REGION                                                                                          \
    "With formats aws-config, env, clouds-yaml and clouds-conf: the region that it names. Default: the region of "     \
    "the exchange."
#define CFR_CONFIG_DOC_STS_ENDPOINTS                                                                                   \
    "With format aws-config: what it says of the same name, for SDKs that would otherwise ask the global STS "         \
    "endpoint. Default: it says nothing."
#define CFR_CONFIG_DOC_COMMAND                                                                                         \
    "With format aws-config: the command for `credential_process`, with absolute paths and without shell "             \
    "syntax."

#endif
