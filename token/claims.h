/* SPDX-License-Identifier: MIT */
/* Decodes the claims of a JSON Web Token (RFC 7519) without verifying it: for scheduling and for display, never for
 * authorisation. Pure.
 * Memory: owns two documents; views point into them until cfr_claims_free. Errors: CFR_E_TOKEN, CFR_E_NOMEM. Limits:
 * CFR_TOKEN_MAX. */
#ifndef CFR_TOKEN_CLAIMS_H
#define CFR_TOKEN_CLAIMS_H

#include "base/err.h"
#include "base/json.h"

#define CFR_TOKEN_MAX 65536 /* longest token file that is read; an STS takes less */

/* Views point into the two documents. Times are Unix seconds, 0 when the claim is absent; a fraction (which
 * RFC 7519 allows and AWS refuses) is dropped. */
struct cfr_claims {
    struct cfr_json *header;
    struct cfr_json *payload;
    struct cfr_view alg, kid;
    struct cfr_view iss, sub, jti;
    struct cfr_view namespace_name, service_account, pod, node; /* kubernetes.io, also the legacy flat form */
    int64_t iat, nbf, exp, warnafter;
};

/* Decodes TOKEN (already trimmed). CFR_E_TOKEN says what is wrong with it: no JWT, a part that is not
 * base64url or not JSON, `alg` none or missing, a claim of the wrong type, no exp, exp not after iat. On
 * success the caller frees with cfr_claims_free; on error nothing is owned. */
int cfr_claims_decode(struct cfr_view token, struct cfr_claims *out, struct cfr_err *err);
/* As cfr_claims_decode, without the two rules on exp: for showing a token that is of no use. */
int cfr_claims_read(struct cfr_view token, struct cfr_claims *out, struct cfr_err *err);
/* Checks the last of a token's three parts, as cfr_claims_decode does: not empty, one part, base64url. CFR_E_TOKEN. */
int cfr_claims_check_signature(struct cfr_view signature, struct cfr_err *err);
void cfr_claims_free(struct cfr_claims *c);
size_t cfr_claims_audience_count(const struct cfr_claims *c);
/* `aud` may be a string or an array (RFC 7519, 4.1.3). */
struct cfr_view cfr_claims_audience(const struct cfr_claims *c, size_t index);
bool cfr_claims_has_audience(const struct cfr_claims *c, const char *audience);
/* True if the Kubernetes API server that issued the token takes it as a login, as far as the token shows it: it has no
 * audience, or one of the API server's usual ones: its issuer (the default of --api-audiences), or the name of the
 * service `kubernetes`. */
bool cfr_claims_is_for_api_server(const struct cfr_claims *c);
/* The moment from which the token is of no use: the earlier of exp and warnafter (a token whose life the API
 * server extended carries the latter). */
int64_t cfr_claims_expires(const struct cfr_claims *c);

#endif
