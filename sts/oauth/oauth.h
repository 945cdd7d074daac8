/* SPDX-License-Identifier: MIT */
/* Any OAuth 2 server, by configuration only: token exchange (RFC 8693), the JWT bearer grant (RFC 7523, 2.1)
 * and client credentials (RFC 6749, 4.4), with each way for a client to prove itself (RFC 6749, 2.3; RFC
 * 7523, 2.2). */
#ifndef CFR_STS_OAUTH_OAUTH_H
#define CFR_STS_OAUTH_OAUTH_H

#include "sts/core/provider.h"

enum cfr_oauth_grant {
    CFR_OAUTH_TOKEN_EXCHANGE,
    CFR_OAUTH_JWT_BEARER,
    CFR_OAUTH_CLIENT_CREDENTIALS,
    CFR_OAUTH_CUSTOM /* the server's own: grant_type, and token_parameter or secret_parameter with what it takes */
};
enum cfr_oauth_client {
    CFR_OAUTH_NONE,            /* at most client_id */
    CFR_OAUTH_BASIC,           /* client_secret_basic */
    CFR_OAUTH_POST,            /* client_secret_post */
    CFR_OAUTH_PRIVATE_KEY_JWT, /* an assertion signed with client_key_file */
    CFR_OAUTH_TOKEN_ASSERTION, /* the subject token is the assertion */
    CFR_OAUTH_BASIC_PLAIN      /* client_secret_basic of servers that do not decode its halves */
};

/* `exchange: oauth:` */
struct cfr_oauth {
    struct cfr_node node;
    char *token_url;
    int grant;              /* enum cfr_oauth_grant */
    char *grant_type;       /* with `custom`; so are the next two */
    char *token_parameter;  /* NULL = the token is not sent */
    char *secret_parameter; /* of what client_secret_file holds; NULL = that is for client_authentication */
    struct cfr_strings audience;
    struct cfr_strings resource;
    struct cfr_strings scopes;
    char *subject_token_type; /* as in the configuration; cfr_oauth_token_type gives the URN */
    char *requested_token_type;
    char *actor_token_file;
    char *actor_token_type;
    int client_authentication; /* enum cfr_oauth_client */
    char *client_id;
    char *client_secret_file;
    char *client_key_file;
    char *client_key_id;
    char *assertion_audience; /* NULL = token_url */
    struct cfr_pairs parameters;
    int64_t default_lifetime_ms; /* -1 = the server must say */
    char *ca_file;
    bool plain_http; /* token_url may be one of plain http */
};

extern const struct cfr_sts_provider cfr_oauth_provider;

#endif
