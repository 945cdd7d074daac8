/* SPDX-License-Identifier: MIT */
/* TokenRequest: the request for a service-account token and its answer. Pure.
 * Source: authentication.k8s.io/v1, serviceaccounts/token. */
#ifndef CFR_KUBE_TOKEN_REQUEST_H
#define CFR_KUBE_TOKEN_REQUEST_H

#include "base/secret.h"

#define CFR_K8S_TOKEN_REQUEST_MIN_S     600 /* the API server's minimum */
#define CFR_K8S_TOKEN_REQUEST_MAX_S     INT64_C(4294967296)
#define CFR_K8S_TOKEN_REQUEST_BODY_MAX  65536
#define CFR_K8S_TOKEN_REQUEST_PATH_MAX  640
#define CFR_K8S_TOKEN_REQUEST_TOKEN_MAX 65536 /* of an answer; as long as a token file may be */

struct cfr_k8s_token_request {
    const char *namespace_name;
    const char *service_account;
    char *const *audiences; /* at least one: without any the token would be one for the API server itself */
    size_t audience_count;
    int64_t expiration_s;   /* from CFR_K8S_TOKEN_REQUEST_MIN_S to _MAX_S */
    const char *bound_kind; /* "Pod", "Secret", "Node" or NULL */
    const char *bound_name;
    const char *bound_uid; /* or NULL */
};

/* The server's answer. The token's own claims are not read: its `exp` may be later, and the caller, which
 * decodes it anyway, uses the earlier end. */
struct cfr_k8s_token_grant {
    struct cfr_secret token;
    int64_t expires_s; /* status.expirationTimestamp */
    int64_t granted_s; /* spec.expirationSeconds: the granted lifetime, often shorter than requested; 0 = unknown */
};

/* The path of the request. False for a name that is not valid in Kubernetes (RFC 1123). */
bool cfr_k8s_token_request_path(const struct cfr_k8s_token_request *r, char out[CFR_K8S_TOKEN_REQUEST_PATH_MAX]);
/* Appends the JSON body. CFR_E_CONFIG if R cannot be requested; the error says why. */
int cfr_k8s_token_request_body(const struct cfr_k8s_token_request *r, struct cfr_secret *out, struct cfr_err *err);
/* Reads the body of a 201 answer to R. CFR_E_ANSWER: no TokenRequest, no token, a token for other audiences
 * than requested, no expiry. The caller frees OUT in every case. */
int cfr_k8s_token_request_answer(const struct cfr_k8s_token_request *r, struct cfr_view body,
                                 struct cfr_k8s_token_grant *out, struct cfr_err *err);
void cfr_k8s_token_grant_free(struct cfr_k8s_token_grant *g);

#endif
