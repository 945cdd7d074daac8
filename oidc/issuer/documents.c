/* SPDX-License-Identifier: MIT */
/* The OIDC issuer's documents: key set, discovery, public keys for API servers. */
#include "oidc/issuer/issuer_private.h"

#include <string.h>

/* `sub` is there twice in what ccoctl writes, too. */
#define CLAIMS ",\"claims_supported\":[\"aud\",\"exp\",\"sub\",\"iat\",\"iss\",\"sub\"]"

size_t cfr_oidc_issuer_public_list(const struct cfr_oidc_issuer *issuer, const struct cfr_oidc_issuer_key *out[2])
{
    bool both = issuer->other.kid[0] != '\0' && issuer->phase != CFR_OIDC_ISSUER_RETIRING;
    bool swapped = both && strcmp(issuer->other.kid, issuer->signing.kid) < 0;

    out[0] = swapped ? &issuer->other : &issuer->signing;
    out[1] = swapped ? &issuer->signing : &issuer->other;
    return both ? 2 : 1;
}

static int check_text(const struct cfr_str *out, struct cfr_err *err)
{
    return out->failed ? cfr_err_nomem(err) : 0;
}

int cfr_oidc_issuer_jwks(const struct cfr_oidc_issuer *issuer, struct cfr_str *out, struct cfr_err *err)
{
    const struct cfr_oidc_issuer_key *keys[2];
    size_t count = cfr_oidc_issuer_public_list(issuer, keys);
    int rc = 0;

    cfr_str_addz(out, "{\"keys\":[");
    for (size_t i = 0; rc == 0 && i < count; i++) {
        cfr_str_addz(out, i != 0 ? "," : "");
        rc = cfr_jwks_key(cfr_view_of(keys[i]->public_pem), cfr_view_of(keys[i]->certificate), out, err);
    }
    cfr_str_addz(out, "]}\n");
    return rc != 0 ? rc : check_text(out, err);
}

int cfr_oidc_issuer_discovery(const struct cfr_oidc_issuer *issuer, struct cfr_str *out, struct cfr_err *err)
{
    const struct cfr_oidc_issuer_key *keys[2];
    const char *algorithms[2] = {NULL, NULL};
    size_t count = cfr_oidc_issuer_public_list(issuer, keys);
    int rc = 0;
    bool two;

    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = cfr_jwks_algorithm(cfr_view_of(keys[i]->public_pem), &algorithms[i], err);
    if (rc != 0)
        return rc;
    two = algorithms[1] != NULL && strcmp(algorithms[0], algorithms[1]) != 0;
    cfr_str_addf(
        out,
        "{\"issuer\":\"%s\",\"jwks_uri\":\"%s/%s\",\"response_types_supported\":[\"id_token\"],"
        "\"subject_types_supported\":[\"public\"],\"id_token_signing_alg_values_supported\":[\"%s\"%s%s%s]%s}\n",
        issuer->url, issuer->url, cfr_oidc_issuer_jwks_path(issuer), algorithms[0], two ? ",\"" : "",
        two ? algorithms[1] : "", two ? "\"" : "", issuer->claims ? CLAIMS : "");
    return check_text(out, err);
}

int cfr_oidc_issuer_public_keys(const struct cfr_oidc_issuer *issuer, struct cfr_str *out, struct cfr_err *err)
{
    const struct cfr_oidc_issuer_key *keys[2];
    size_t count = cfr_oidc_issuer_public_list(issuer, keys);

    for (size_t i = 0; i < count; i++)
        cfr_str_addz(out, keys[i]->public_pem);
    return check_text(out, err);
}
