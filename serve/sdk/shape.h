/* SPDX-License-Identifier: MIT */
/* Shapes of the local endpoints: for each way in which an SDK asks for credentials, a row with its configuration, its
 * answer and the variables that lead to it. Pure: nothing blocks. Rows are constant and live as long as the process;
 * a configuration is owned by the program that bound it with the row's table. Functions of a row call back before they
 * return and never later. */
#ifndef CFR_SERVE_SDK_SHAPE_H
#define CFR_SERVE_SDK_SHAPE_H

#include "serve/sdk/endpoint.h"
#include "serve/sdk/env.h"

/* A file with what a client must show. */
struct cfr_sdk_client_secret {
    struct cfr_node node;
    char *file;
    int64_t mode; /* -1: not given; the agent's default is 0600 */
    char *owner;  /* name or number, NULL = leave */
    char *group;
    bool existing; /* another program makes it: it is only read */
};

/* A key of a shape's configuration that names a credential. */
struct cfr_sdk_use {
    const char *credential; /* NULL where one is missing */
    const char *key;        /* literal: "aws_container.credential" */
    int line;
    const char *field;    /* of the grant, which the shape needs */
    const char *audience; /* of the identity token that it is to be; NULL = none */
};

typedef void cfr_sdk_use_fn(void *ctx, const struct cfr_sdk_use *use);

struct cfr_sdk_shape {
    const char *name;              /* the key of an endpoint, and the label of its requests */
    const char *doc;               /* of the key, for the reference page */
    const struct cfr_table *table; /* of CONFIG in the functions below */
    int64_t most;                  /* above 1: an endpoint may have so many of it */
    int64_t session_least_ms;      /* SDKs use shorter-lived sessions past their end; 0 = they do not */
    bool signs;                    /* its answers need the world's signer */
    const char *prefix;            /* all paths below it are the shape's, in any case; NULL = those that PATH gives */
    /* The one path that is this configuration's; NULL = the shape has a prefix. */
    const char *(*path)(const void *config);
    /* True for a Host header that names no address but is meant for this shape; NULL = there is none. */
    bool (*is_host)(struct cfr_view host);
    /* Fills in defaults that depend on other keys; NULL = there are none. CFR_E_NOMEM. */
    int (*complete)(void *config, struct cfr_err *err);
    void (*each_use)(const void *config, cfr_sdk_use_fn *each, void *ctx);
    /* What clients must show; NULL, or a function that returns NULL, = nothing. */
    const struct cfr_sdk_client_secret *(*client_secret)(const void *config);
    /* True if the request's path is this shape's: then OUT is the answer, whatever it is. */
    bool (*answer)(const void *config, const struct cfr_sdk_endpoint_request *r, const struct cfr_sdk_endpoint_world *w,
                   struct cfr_sdk_endpoint_answer *out);
    /* Adds the variables that point SDKs at LISTEN (ADDRESS:PORT as configured) for CREDENTIAL; nothing if the shape
     * does not serve it. CLIENT_ID: of the credential's exchange, or NULL. CFR_E_NOMEM, CFR_E_LIMIT. */
    int (*env)(struct cfr_sdk_env *e, const void *config, const char *listen, const char *credential,
               const char *client_id, struct cfr_err *err);
};

/* The INDEX-th shape as a key of an endpoint: the registry of an ANY_OF field. */
struct cfr_variant cfr_sdk_shape_variant(size_t index);

/* ---- configuration, a struct for each shape. Strings are heap, NULL = not given ---- */

/* AWS container credentials: AWS_CONTAINER_CREDENTIALS_FULL_URI. */
struct cfr_sdk_aws_container {
    struct cfr_node node;
    char *credential;
    char *path;                                  /* default "/aws/NAME" */
    struct cfr_sdk_client_secret *authorization; /* what the Authorization header must hold; NULL = anything */
};

/* EC2's instance metadata, version 2 (session tokens are demanded). */
struct cfr_sdk_ec2_imds {
    struct cfr_node node;
    char *credential;
    char *role;   /* name shown in the listing; default: last part of the identity's role, or the credential's name */
    char *region; /* for /latest/meta-data/placement/region and dynamic/instance-identity; NULL = 404 */
};

struct cfr_sdk_gce_identity {
    struct cfr_node node;
    char *audience;
    char *credential; /* with an identity token for that audience; it may be the account's own */
};

/* Several entries with one email are one account with several sets of scopes: for each request the entry that has them.
 */
struct cfr_sdk_gce_account {
    struct cfr_node node;
    char *credential; /* with an access token; NULL if it serves identity tokens only */
    char *email; /* default: the credential's identity if it is an email, or the first alias, or the first account's */
    struct cfr_strings aliases; /* "default" is implied for the first account */
    struct cfr_strings scopes;  /* what the access token is good for; default cloud-platform */
    struct cfr_list identities; /* of struct cfr_sdk_gce_identity */
};

/* What is NULL is not there for clients (404), unless a default is named. */
struct cfr_sdk_gce_metadata {
    struct cfr_node node;
    char *project_id;
    char *numeric_project_id; /* digits */
    char *zone;               /* "europe-west1-b"; shown as projects/NUMERIC_PROJECT_ID/zones/ZONE */
    char *universe_domain;
    char *instance_name;
    char *instance_id;        /* digits; default: made from the project, the zone and the instance's name */
    char *cluster_name;       /* instance/attributes/cluster-name */
    char *cluster_location;   /* instance/attributes/cluster-location; default with a cluster's name: the zone */
    struct cfr_list accounts; /* of struct cfr_sdk_gce_account, at least one */
};

struct cfr_sdk_azure_identity {
    struct cfr_node node;
    char *credential;
    char *client_id; /* selectors; default client_id: the grant's */
    char *object_id;
    char *resource_id; /* /subscriptions/... */
};

/* Both contracts of Azure: IMDS (/metadata/identity/oauth2/token) and App Service (header set; /msi/token). */
struct cfr_sdk_azure {
    struct cfr_node node;
    struct cfr_list
        identities; /* of struct cfr_sdk_azure_identity, at least one; the first answers where none is selected */
    struct cfr_sdk_client_secret *header; /* App Service: what X-IDENTITY-HEADER must hold */
};

#endif
