/* SPDX-License-Identifier: MIT */
/* The part of the configuration that is about local endpoints. */
#ifndef CFR_AGENT_CONFIG_MODEL_ENDPOINT_H
#define CFR_AGENT_CONFIG_MODEL_ENDPOINT_H

#include "serve/sdk/shape.h"

#define CFR_CONFIG_ENDPOINTS_MAX 16
#define CFR_CONFIG_ALLOWED_MAX   64 /* users or groups of a credential */

/* One address, and the shapes that are spoken there. */
struct cfr_config_endpoint {
    struct cfr_node node;
    char *listen;           /* ADDRESS:PORT as the user wrote it, a loopback or link-local literal */
    struct cfr_list shapes; /* of struct cfr_one_of, whose rows are struct cfr_sdk_shape */
};

/* Who may have a credential from the token socket, besides root and the agent's own user. */
struct cfr_config_allow {
    struct cfr_node node;
    struct cfr_strings users; /* names or numbers */
    struct cfr_strings groups;
};

struct cfr_config;

struct cfr_config_endpoint *cfr_config_endpoint_at(const struct cfr_config *config, size_t index);

/* The INDEX-th shape of E, with its configuration; NULL after the last. */
const struct cfr_sdk_shape *cfr_config_shape_at(const struct cfr_config_endpoint *e, size_t index, void **shape_config);

/* Calls EACH for every file that holds what clients must show. */
void cfr_config_each_client_secret(const struct cfr_config *config,
                                   void (*each)(void *ctx, const struct cfr_config_endpoint *endpoint,
                                                const struct cfr_sdk_client_secret *secret),
                                   void *ctx);

#endif
