/* SPDX-License-Identifier: MIT */
/* The local endpoints in the shapes that the clouds' SDKs speak, as functions: request in, answer out. Pure. Each shape
 * is one file with one function; what they share is in endpoint.c. They answer from what is in memory and never wait.
 */
#ifndef CFR_SERVE_SDK_ENDPOINT_H
#define CFR_SERVE_SDK_ENDPOINT_H

#include "base/field.h"
#include "base/grant.h"

#define CFR_SDK_ENDPOINT_HEADERS_MAX 8
#define CFR_SDK_ENDPOINT_ANSWER_MAX  262144

struct cfr_ec2_signer;

/* What one credential has to offer now. */
struct cfr_offer {
    const char *credential;        /* its name in the configuration */
    const struct cfr_grant *grant; /* borrowed until the answer is made; NULL = there is none that is still good */
    int64_t issued_s;              /* by this machine's wall clock, as all times here */
    int64_t expires_s;             /* 0 = never */
    const char *why;       /* without a grant: why there is none, in words fit for a client (no secret); or NULL */
    int64_t retry_after_s; /* without a grant: when the next try is due, at least 1 */
};

struct cfr_sdk_endpoint_request {
    struct cfr_view method;
    struct cfr_view path;  /* without query, still percent-encoded */
    struct cfr_view query; /* after '?', may be empty */
    struct cfr_view body;
    /* The value of a header, names compared without case; p == NULL when it is not there. A header that came twice
     * counts as one with an empty value. */
    struct cfr_view (*header)(void *ctx, const char *name);
    void *header_ctx;
    const char *peer; /* who asks, in words: "127.0.0.1" or "uid 1000" */
};

/* What a shape may look at beside the request. */
struct cfr_sdk_endpoint_world {
    int64_t now_s;
    /* False if there is no such credential (which the configuration's check excludes). */
    bool (*offer)(void *ctx, const char *credential, struct cfr_offer *out);
    /* Content of a file that holds what a client must show (trimmed); p == NULL if it cannot be read now. */
    struct cfr_view (*secret_file)(void *ctx, const char *path);
    void *ctx;
    struct cfr_ec2_signer *signer; /* of this run's session tokens (serve/sdk/ec2_token.h); NULL: none are given */
};

struct cfr_sdk_endpoint_header {
    const char *name; /* literal */
    char value[256];
};

/* Zero-initialised is empty; freed by cfr_sdk_endpoint_answer_free. */
struct cfr_sdk_endpoint_answer {
    int status;
    const char *content_type; /* literal; always set */
    struct cfr_sdk_endpoint_header headers[CFR_SDK_ENDPOINT_HEADERS_MAX];
    size_t header_count;
    struct cfr_secret body;
    const char
        *refused; /* for the log, once per kind: why a request was turned away (literal, no client text); or NULL */
};

/* ---- configuration, one struct for each shape; filled by the agent's tables. Strings are heap, NULL = not given ----
 */

/* AWS container credentials: AWS_CONTAINER_CREDENTIALS_FULL_URI. */
struct cfr_sdk_aws_container {
    struct cfr_node node;
    char *credential;
    char *path;               /* default "/aws/NAME" is filled in by the agent */
    char *authorization_file; /* the Authorization header must equal its content; NULL only where the agent allows it */
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

/* Both contracts of Azure: IMDS (/metadata/identity/oauth2/token) and App Service (header_file set; /msi/token). */
struct cfr_sdk_azure {
    struct cfr_node node;
    struct cfr_list
        identities;    /* of struct cfr_sdk_azure_identity, at least one; the first answers where none is selected */
    char *header_file; /* App Service: X-IDENTITY-HEADER must equal its content */
};

/* ---- the shapes. True if PATH is this shape's (then OUT is the answer, whatever it is); false if it is not ---- */

/* 200 with the keys; 401 or 403 without the right Authorization; 503 with Retry-After while there are none. */
bool cfr_sdk_aws_container(const struct cfr_sdk_aws_container *c, const struct cfr_sdk_endpoint_request *r,
                           const struct cfr_sdk_endpoint_world *w, struct cfr_sdk_endpoint_answer *out);
/* Takes all below /latest. A session token is had by PUT, and is good for this credential until its time is over or
 * this run of the agent ends; without one everything is a 401. */
bool cfr_sdk_ec2_imds(const struct cfr_sdk_ec2_imds *c, const struct cfr_sdk_endpoint_request *r,
                      const struct cfr_sdk_endpoint_world *w, struct cfr_sdk_endpoint_answer *out);
/* Takes "/" too, which its clients probe. */
bool cfr_sdk_gce_metadata(const struct cfr_sdk_gce_metadata *c, const struct cfr_sdk_endpoint_request *r,
                          const struct cfr_sdk_endpoint_world *w, struct cfr_sdk_endpoint_answer *out);
bool cfr_sdk_azure_imds(const struct cfr_sdk_azure *c, const struct cfr_sdk_endpoint_request *r,
                        const struct cfr_sdk_endpoint_world *w, struct cfr_sdk_endpoint_answer *out);
bool cfr_sdk_azure_app_service(const struct cfr_sdk_azure *c, const struct cfr_sdk_endpoint_request *r,
                               const struct cfr_sdk_endpoint_world *w, struct cfr_sdk_endpoint_answer *out);
/* GET /v1/token/NAME: {"credential","kind","expires":"RFC 3339"|null,"fields":{...}}, with Accept: text/plain the one
 * token alone. NAME is allowed or not by whoever calls. */
bool cfr_sdk_token(const struct cfr_sdk_endpoint_request *r, const struct cfr_sdk_endpoint_world *w,
                   struct cfr_sdk_endpoint_answer *out);

/* ---- shared by the shapes (endpoint.c) ---- */

/* Begins OUT anew with STATUS, TYPE (literal) and Cache-Control: no-store, body empty. An answer that outgrows
 * CFR_SDK_ENDPOINT_ANSWER_MAX or memory, or a header that does not fit or is not printable, becomes a 500 without a
 * body, and stays that whatever is added: nobody has to check. HEAD is answered as GET; the server leaves out the body.
 */
void cfr_sdk_endpoint_start(struct cfr_sdk_endpoint_answer *out, int status, const char *type);
void cfr_sdk_endpoint_header(struct cfr_sdk_endpoint_answer *out, const char *name, struct cfr_view value);
void cfr_sdk_endpoint_text(struct cfr_sdk_endpoint_answer *out, const char *text);
void cfr_sdk_endpoint_add(struct cfr_sdk_endpoint_answer *out, struct cfr_view bytes);
/* A JSON string with its quotes; U+FFFD for bytes that are no UTF-8. */
void cfr_sdk_endpoint_add_json(struct cfr_sdk_endpoint_answer *out, struct cfr_view text);
/* The value of a header of the request; p == NULL when it is not there. */
struct cfr_view cfr_sdk_endpoint_asked(const struct cfr_sdk_endpoint_request *r, const char *name);
/* True if a proxy passed the request on: X-Forwarded-For or Forwarded (RFC 7239) is there, whatever it says. */
bool cfr_sdk_endpoint_proxied(const struct cfr_sdk_endpoint_request *r);
/* True if the offer has a grant whose life has not ended at NOW_S. */
bool cfr_sdk_endpoint_offer_lives(const struct cfr_offer *o, int64_t now_s);
/* Adds Retry-After, at least one second. */
void cfr_sdk_endpoint_retry_after(struct cfr_sdk_endpoint_answer *out, const struct cfr_offer *o);
/* The value of a query parameter, decoded into TO (size N, always terminated): 1 found, 0 absent, -1 given twice,
 * malformed or longer than N - 1. Unescaped ":" and "/" are taken as they are, "+" as a space; a control character is
 * malformed. */
int cfr_sdk_endpoint_parameter(struct cfr_view query, const char *name, char *to, size_t n);
/* A segment of a path, percent-decoded into TO (size N, always terminated). False, and TO empty, if it is malformed,
 * longer than N - 1, no UTF-8, or holds a control character. */
bool cfr_sdk_endpoint_decode(struct cfr_view segment, char *to, size_t n);
/* True if A and B are the same; takes the same time wherever they differ. Two empty ones are not. */
bool cfr_sdk_endpoint_same_secret(struct cfr_view a, struct cfr_view b);
/* True if the request's Host is HOST or HOST:PORT as configured ("127.0.0.1:9911"): the address itself, "localhost"
 * where it is loopback, each with or without the port. IPv6 in brackets. Against DNS rebinding. LISTEN is where the
 * agent really listens. */
bool cfr_sdk_endpoint_host_is(struct cfr_view host, const char *listen);
void cfr_sdk_endpoint_answer_free(struct cfr_sdk_endpoint_answer *a);

#endif
