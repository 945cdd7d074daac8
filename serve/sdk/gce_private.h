/* SPDX-License-Identifier: MIT */
/* What the files of the GCE metadata shape share: the directory tree, made for each request from the
 * configuration, and the answers at its leaves. */
#ifndef CFR_SERVE_SDK_GCE_PRIVATE_H
#define CFR_SERVE_SDK_GCE_PRIVATE_H

#include "serve/sdk/shape_private.h"

#define CFR_SDK_GCE_PATH      "/computeMetadata"
#define CFR_SDK_GCE_TEXT_TYPE "application/text"
#define CFR_SDK_GCE_JSON_TYPE "application/json"
#define CFR_SDK_GCE_HTML_TYPE "text/html" /* errors with a fixed text, and identity tokens, as the original has it */
#define CFR_SDK_GCE_MESSAGE_TYPE                                                                                       \
    "text/plain; charset=utf-8" /* errors whose text is made of names: never read as HTML */

#define CFR_SDK_GCE_NO_NODE ((size_t)-1)

enum cfr_sdk_gce_kind {
    CFR_SDK_GCE_DIRECTORY,
    CFR_SDK_GCE_TEXT,
    CFR_SDK_GCE_NUMBER, /* text that is a number in JSON */
    CFR_SDK_GCE_LINES,
    CFR_SDK_GCE_TOKEN,
    CFR_SDK_GCE_IDENTITY
};

/* Nodes are in preorder: the children of a directory follow it with a depth of one more. */
struct cfr_sdk_gce_node {
    enum cfr_sdk_gce_kind kind;
    unsigned depth;
    bool hidden;   /* found by its path, not shown in listings */
    bool verbatim; /* its name is data (an email, an attribute): not changed in JSON */
    struct cfr_view name;
    struct cfr_view value;        /* TEXT, NUMBER */
    const struct cfr_view *lines; /* LINES */
    size_t line_count;
    size_t account; /* below an account: index of its first entry in the configuration */
};

/* One entry of `accounts`, and to which account it belongs. */
struct cfr_sdk_gce_member {
    struct cfr_view email;
    size_t first; /* index of the first entry with this email */
    bool waits;   /* its email is the identity of a grant that there is not at the moment */
};

/* Borrows from the configuration and from the grants that are offered. */
struct cfr_sdk_gce_tree {
    struct cfr_sdk_gce_node *nodes; /* the first one is computeMetadata */
    size_t count;
    struct cfr_sdk_gce_member *members; /* as many as accounts */
    struct cfr_view *lines;             /* of all nodes */
    size_t line_count;
    char zone[256];
    char hostname[512];
    char instance_id[24];
};

struct cfr_sdk_gce_ask {
    const struct cfr_sdk_gce_metadata *config;
    const struct cfr_sdk_endpoint_request *request;
    const struct cfr_sdk_endpoint_world *world;
    struct cfr_sdk_gce_tree tree;
    struct cfr_sdk_endpoint_answer *out;
    uint64_t etag; /* of an answer whose own bytes must not be hashed; 0 = hash the body */
};

/* gce_metadata.c: the shape's answer. */
bool cfr_sdk_gce_answer(const void *config, const struct cfr_sdk_endpoint_request *r,
                        const struct cfr_sdk_endpoint_world *w, struct cfr_sdk_endpoint_answer *out);

/* gce_tree.c. False when memory is short; to be freed in any case. */
bool cfr_sdk_gce_tree_make(struct cfr_sdk_gce_tree *t, const struct cfr_sdk_gce_metadata *c,
                           const struct cfr_sdk_endpoint_world *w);
void cfr_sdk_gce_tree_free(struct cfr_sdk_gce_tree *t);
/* The node at PATH ("/computeMetadata/v1/...", percent-encoded), or CFR_SDK_GCE_NO_NODE. *SLASH: PATH ends with one. */
size_t cfr_sdk_gce_tree_find(const struct cfr_sdk_gce_tree *t, struct cfr_view path, bool *slash);

/* HASH (base/hash.h) with TEXT mixed in, which may be NULL. */
uint64_t cfr_sdk_gce_hash_text(uint64_t hash, const char *text);

/* gce_list.c: adds to the body. Names of one directory, one a line, directories with a slash. */
void cfr_sdk_gce_list_names(const struct cfr_sdk_gce_tree *t, size_t node, struct cfr_sdk_endpoint_answer *out);
/* Everything below NODE but tokens: as one JSON object, or as lines "path/to/leaf value". */
void cfr_sdk_gce_list_json(const struct cfr_sdk_gce_tree *t, size_t node, struct cfr_sdk_endpoint_answer *out);
void cfr_sdk_gce_list_text(const struct cfr_sdk_gce_tree *t, size_t node, struct cfr_sdk_endpoint_answer *out);
/* The value of one leaf that is no token. */
void cfr_sdk_gce_list_leaf(const struct cfr_sdk_gce_node *n, bool json, struct cfr_sdk_endpoint_answer *out);

/* gce_token.c: the whole answer for one account. */
void cfr_sdk_gce_token_access(struct cfr_sdk_gce_ask *a, size_t account);
void cfr_sdk_gce_token_identity(struct cfr_sdk_gce_ask *a, size_t account);
/* If an email that is asked for may become known with a grant, answers 503 and returns true. */
bool cfr_sdk_gce_token_email_waits(struct cfr_sdk_gce_ask *a);

#endif
