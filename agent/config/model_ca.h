/* SPDX-License-Identifier: MIT */
/* The part of the configuration that is about the service CA. */
#ifndef CFR_AGENT_CONFIG_MODEL_CA_H
#define CFR_AGENT_CONFIG_MODEL_CA_H

#include "base/field.h"

/* A rotation that somebody wants now. */
struct cfr_config_force {
    struct cfr_node node;
    char *reason;
    int64_t validity_ms; /* 0 = as that of the others */
};

struct cfr_config_service_ca {
    struct cfr_node node;
    char *store;
    char *subject;
    int key; /* enum cfr_key_kind */
    int64_t validity_ms;
    int64_t rotate_below_ms;
    int64_t generations;
    struct cfr_config_force *force; /* NULL = none */
};

/* What a credential is issued. */
struct cfr_config_certificate {
    struct cfr_node node;
    struct cfr_strings dns_names;
    struct cfr_strings ip_addresses;
    int key; /* enum cfr_key_kind */
    int64_t validity_ms;
};

#endif
