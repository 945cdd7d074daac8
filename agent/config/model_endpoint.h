/* SPDX-License-Identifier: MIT */
/* The part of the configuration that is about local endpoints. */
#ifndef CFR_AGENT_CONFIG_MODEL_ENDPOINT_H
#define CFR_AGENT_CONFIG_MODEL_ENDPOINT_H

#include "serve/sdk/endpoint.h"

#define CFR_CONFIG_ENDPOINTS_MAX  16
#define CFR_CONFIG_CONTAINERS_MAX 256 /* of an endpoint */
#define CFR_CONFIG_ACCOUNTS_MAX   64  /* of an endpoint */
#define CFR_CONFIG_ALLOWED_MAX    64  /* users or groups of a credential */

/* A file that holds what a client must show. */
struct cfr_config_proof {
    struct cfr_node node;
    char *file;
    int64_t mode; /* -1: not given; the agent's default is 0600 */
    char *owner;  /* name or number, NULL = leave */
    char *group;
    bool existing; /* somebody else makes it: it is only read */
};

struct cfr_config_aws_container {
    struct cfr_sdk_aws_container serve; /* authorization_file is authorization->file, borrowed */
    struct cfr_config_proof *authorization;
};

struct cfr_config_app_service {
    struct cfr_sdk_azure serve; /* header_file is header->file, borrowed */
    struct cfr_config_proof *header;
};

/* One address, and the shapes that are spoken there. */
struct cfr_config_endpoint {
    struct cfr_node node;
    char *listen;                  /* ADDRESS:PORT as the user wrote it, a loopback or link-local literal */
    struct cfr_list aws_container; /* of struct cfr_config_aws_container */
    struct cfr_sdk_ec2_imds *ec2_imds;
    struct cfr_sdk_gce_metadata *gce_metadata;
    struct cfr_sdk_azure *azure_imds;
    struct cfr_config_app_service *azure_app_service;
};

/* Who may have a credential from the token socket, beside root and the agent's own user. */
struct cfr_config_allow {
    struct cfr_node node;
    struct cfr_strings users; /* names or numbers */
    struct cfr_strings groups;
};

struct cfr_config;

struct cfr_config_endpoint *cfr_config_endpoint_at(const struct cfr_config *config, size_t index);

/* A place in an endpoint's configuration that names a credential. */
struct cfr_config_use {
    const struct cfr_config_endpoint *endpoint;
    const char *credential; /* NULL where one is missing */
    const char *key;        /* where that stands: "aws_container.credential" */
    int line;
    const char *field;    /* of the grant, that the shape lives on */
    const char *audience; /* of the identity token it is to be; NULL = none */
};

/* Calls EACH for every such place. */
void cfr_config_each_use(const struct cfr_config *config, void (*each)(void *ctx, const struct cfr_config_use *use),
                         void *ctx);
/* Calls EACH for every file that holds what clients must show. */
void cfr_config_each_proof(const struct cfr_config *config,
                           void (*each)(void *ctx, const struct cfr_config_endpoint *endpoint,
                                        const struct cfr_config_proof *proof),
                           void *ctx);

#endif
