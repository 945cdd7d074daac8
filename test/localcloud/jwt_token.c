/* SPDX-License-Identifier: MIT */
/* JSON Web Tokens (RFC 7519): made and verified with libjwt, their claims read strictly here. */
#include "jwt_token.h"

#include "crypto.h"

#include <jwt.h>
#include <stdlib.h>
#include <string.h>

static int set_key(jwt_t *jwt, const struct lc_key *key, enum lc_jwt_sign how)
{
    static const jwt_alg_t algs[] = {
        [LC_JWT_RS256] = JWT_ALG_RS256, [LC_JWT_RS384] = JWT_ALG_RS384, [LC_JWT_RS512] = JWT_ALG_RS512,
        [LC_JWT_HS256] = JWT_ALG_HS256, [LC_JWT_NONE] = JWT_ALG_NONE,
    };
    const char *pem = how == LC_JWT_HS256 ? key->public_pem : key->private_pem;

    if (how == LC_JWT_NONE) {
        return jwt_set_alg(jwt, JWT_ALG_NONE, NULL, 0);
    }
    return pem == NULL ? -1 : jwt_set_alg(jwt, algs[how], (const unsigned char *)pem, (int)strlen(pem));
}

/* One part of a token: the document as base64url. */
static void put_part(struct lc_buf *out, json_t *document)
{
    char *text = document == NULL ? NULL : json_dumps(document, JSON_COMPACT | JSON_SORT_KEYS);

    if (text == NULL) {
        out->broken = true;
    } else {
        lc_base64(out, text, strlen(text), true);
    }
    free(text);
}

/* RS256 with the key that is kept ready; the other ways are libjwt's. */
static char *make_rs256(json_t *claims, const char *kid, void *signer)
{
    json_t *header = json_pack("{s:s,s:s*,s:s}", "alg", "RS256", "kid", kid, "typ", "JWT");
    struct lc_buf token = {0};
    struct lc_buf signature = {0};

    put_part(&token, header);
    lc_buf_text(&token, ".");
    put_part(&token, claims);
    if (!token.broken && lc_key_sign(signer, token.at, token.len, &signature)) {
        lc_buf_text(&token, ".");
        lc_base64(&token, signature.at, signature.len, true);
    } else {
        token.broken = true;
    }
    if (token.broken) {
        lc_buf_free(&token);
    }
    json_decref(header);
    lc_buf_free(&signature);
    return token.at;
}

char *lc_jwt_make(json_t *claims, const char *kid, const struct lc_key *key, enum lc_jwt_sign how)
{
    jwt_t *jwt = NULL;
    char *grants = NULL;
    char *token = NULL;

    if (how == LC_JWT_RS256 && key->signer != NULL) {
        return make_rs256(claims, kid, key->signer);
    }
    grants = json_dumps(claims, JSON_COMPACT);
    if (grants != NULL && jwt_new(&jwt) == 0 && jwt_add_grants_json(jwt, grants) == 0 &&
        (kid == NULL || jwt_add_header(jwt, "kid", kid) == 0) && set_key(jwt, key, how) == 0) {
        token = jwt_encode_str(jwt);
    }
    jwt_free(jwt);
    free(grants);
    return token;
}

static json_t *read_part(const char *part, size_t len)
{
    struct lc_buf bytes = {0};
    json_t *object = NULL;

    if (len > 0 && lc_unbase64(&bytes, part, len, true)) {
        object = json_loadb(bytes.at, bytes.len, JSON_REJECT_DUPLICATES, NULL);
    }
    lc_buf_free(&bytes);
    if (object != NULL && !json_is_object(object)) {
        json_decref(object);
        object = NULL;
    }
    return object;
}

int lc_jwt_read(const char *token, struct lc_jwt *out, struct lc_fail *fail)
{
    const char *first = strchr(token, '.');
    const char *second = first == NULL ? NULL : strchr(first + 1, '.');
    struct lc_buf signature = {0};
    bool signed_well = false;

    *out = (struct lc_jwt){0};
    if (first == NULL || second == NULL || strchr(second + 1, '.') != NULL) {
        return lc_fail_set(fail, "not three parts separated by dots");
    }
    signed_well = lc_unbase64(&signature, second + 1, strlen(second + 1), true);
    lc_buf_free(&signature);
    out->header = read_part(token, (size_t)(first - token));
    out->claims = read_part(first + 1, (size_t)(second - first - 1));
    out->alg = json_string_value(json_object_get(out->header, "alg"));
    out->kid = json_string_value(json_object_get(out->header, "kid"));
    if (!signed_well || out->header == NULL || out->claims == NULL || out->alg == NULL ||
        json_object_get(out->header, "crit") != NULL) {
        lc_jwt_free(out);
        return lc_fail_set(fail, "not base64url of a JSON header with \"alg\" and JSON claims");
    }
    return 0;
}

void lc_jwt_free(struct lc_jwt *jwt)
{
    json_decref(jwt->header);
    json_decref(jwt->claims);
    *jwt = (struct lc_jwt){0};
}

bool lc_jwt_alg_allowed(const char *alg)
{
    static const char *const allowed[] = {"RS256", "RS384", "RS512", "ES256", "ES384", "ES512"};

    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++) {
        if (strcmp(alg, allowed[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool alg_fits(jwt_alg_t alg, enum lc_key_kind kind)
{
    switch (kind) {
    case LC_KEY_RSA:
        return alg == JWT_ALG_RS256 || alg == JWT_ALG_RS384 || alg == JWT_ALG_RS512;
    case LC_KEY_P256:
        return alg == JWT_ALG_ES256;
    case LC_KEY_P384:
        return alg == JWT_ALG_ES384;
    case LC_KEY_P521:
        return alg == JWT_ALG_ES512;
    }
    return false;
}

bool lc_jwt_verify(const char *token, const struct lc_jwt *jwt, enum lc_key_kind kind, const char *public_pem)
{
    jwt_t *verified = NULL;
    bool good = false;

    /* libjwt takes the algorithm from the token and would use the PEM text as an HMAC secret: pin it before.
     */
    if (!lc_jwt_alg_allowed(jwt->alg) || !alg_fits(jwt_str_alg(jwt->alg), kind)) {
        return false;
    }
    if (jwt_decode(&verified, token, (const unsigned char *)public_pem, (int)strlen(public_pem)) == 0) {
        good = alg_fits(jwt_get_alg(verified), kind);
        jwt_free(verified);
    }
    return good;
}
