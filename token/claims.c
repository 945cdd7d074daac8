/* SPDX-License-Identifier: MIT */
/* Decoder of the claims of a JSON Web Token. */
#include "token/claims_private.h"

#include "base/base64.h"

#include <string.h>

#define LEGACY_ISSUER "kubernetes/serviceaccount"
/* The last second of the year 9999, which is as far as time as text goes. */
#define TIME_MAX_S 253402300799.0

static int parse_part(struct cfr_view part, const char *what, struct cfr_json **out, struct cfr_err *err)
{
    struct cfr_secret bytes;
    struct cfr_err why = {0};
    int rc;

    *out = NULL;
    cfr_secret_init(&bytes, CFR_TOKEN_MAX);
    rc = cfr_base64url_decode(part, &bytes, &why);
    if (rc == 0)
        rc = cfr_json_parse(cfr_secret_view(&bytes), out, &why);
    cfr_secret_free(&bytes);
    if (rc == CFR_E_NOMEM)
        return cfr_err_set(err, rc, "%s", why.text);
    if (rc != 0)
        return cfr_err_set(err, CFR_E_TOKEN, "not a JSON Web Token: its %s is %s", what, why.text);
    if (cfr_json_is_object(*out))
        return 0;
    cfr_json_free(*out);
    *out = NULL;
    return cfr_err_set(err, CFR_E_TOKEN, "not a JSON Web Token: its %s is not a JSON object", what);
}

int cfr_claims_check_signature(struct cfr_view signature, struct cfr_err *err)
{
    /* A token without one is as good as `alg` none. */
    if (signature.n == 0)
        return cfr_err_set(err, CFR_E_TOKEN, "the token has no signature (is the file only half written?)");
    for (size_t i = 0; i < signature.n; i++) {
        char c = signature.p[i];

        if (c == '.')
            return cfr_err_set(err, CFR_E_TOKEN, "not a signed JSON Web Token: it has more than three parts");
        if (!(cfr_view_is_alnum(c) || c == '-' || c == '_'))
            return cfr_err_set(err, CFR_E_TOKEN, "not a JSON Web Token: its signature is not base64url");
    }
    return 0;
}

/* Splits at the first two dots. */
static int split(struct cfr_view token, struct cfr_view *header, struct cfr_view *payload, struct cfr_err *err)
{
    const char *first = token.n != 0 ? memchr(token.p, '.', token.n) : NULL;
    const char *second = first != NULL ? memchr(first + 1, '.', token.n - (size_t)(first + 1 - token.p)) : NULL;

    if (token.n == 0)
        return cfr_err_set(err, CFR_E_TOKEN, "the token is empty");
    if (token.n > CFR_TOKEN_MAX)
        return cfr_err_set(err, CFR_E_TOKEN, "the token has %zu bytes; more than %d are not read", token.n,
                           CFR_TOKEN_MAX);
    if (second == NULL)
        return cfr_err_set(err, CFR_E_TOKEN, "not a JSON Web Token: it has no three parts separated by dots");
    *header = (struct cfr_view){token.p, (size_t)(first - token.p)};
    *payload = (struct cfr_view){first + 1, (size_t)(second - first - 1)};
    return cfr_claims_check_signature((struct cfr_view){second + 1, token.n - (size_t)(second + 1 - token.p)}, err);
}

static int read_text(const struct cfr_json *object, const char *key, const char *label, struct cfr_view *out,
                     struct cfr_err *err)
{
    const struct cfr_json *value = cfr_json_get(object, key);

    if (value == NULL || cfr_json_string(value, out))
        return 0;
    return cfr_err_set(err, CFR_E_TOKEN, "the token's `%s` is not a string", label);
}

static int read_time(const struct cfr_json *object, const char *key, int64_t *out, struct cfr_err *err)
{
    const struct cfr_json *value = cfr_json_get(object, key);
    double d;

    if (value == NULL)
        return 0;
    if (!cfr_json_number(value, &d))
        return cfr_err_set(err, CFR_E_TOKEN, "the token's `%s` is not a number", key);
    if (!(d >= 0 && d <= TIME_MAX_S))
        return cfr_err_set(err, CFR_E_TOKEN, "the token's `%s` is not a time in seconds since 1970", key);
    *out = (int64_t)d;
    return 0;
}

static int check_audience(const struct cfr_json *payload, struct cfr_err *err)
{
    const struct cfr_json *aud = cfr_json_get(payload, "aud");
    struct cfr_view text;

    if (aud == NULL || cfr_json_string(aud, &text))
        return 0;
    if (!cfr_json_is_array(aud))
        return cfr_err_set(err, CFR_E_TOKEN, "the token's `aud` is neither a string nor an array");
    for (size_t i = 0; i < cfr_json_count(aud); i++) {
        /* Every element costs a walk through the list, so a hostile one is not walked to its end. */
        if (i == 64)
            return cfr_err_set(err, CFR_E_TOKEN, "the token has more than 64 audiences");
        if (!cfr_json_string(cfr_json_at(aud, i), &text))
            return cfr_err_set(err, CFR_E_TOKEN, "the token's `aud` holds something that is not a string");
    }
    return 0;
}

static int read_name_of(const struct cfr_json *kubernetes, const char *key, struct cfr_view *out, struct cfr_err *err)
{
    const struct cfr_json *object = cfr_json_get(kubernetes, key);

    if (object != NULL && !cfr_json_is_object(object))
        return cfr_err_set(err, CFR_E_TOKEN, "the token's `kubernetes.io` `%s` is not an object", key);
    return read_text(object, "name", key, out, err);
}

static int read_kubernetes(struct cfr_claims *c, struct cfr_err *err)
{
    const struct cfr_json *k = cfr_json_get(c->payload, "kubernetes.io");
    int rc;

    if (k == NULL) {
        rc = read_text(c->payload, "kubernetes.io/serviceaccount/namespace", "kubernetes.io/serviceaccount/namespace",
                       &c->namespace_name, err);
        return rc != 0 ? rc
                       : read_text(c->payload, "kubernetes.io/serviceaccount/service-account.name",
                                   "kubernetes.io/serviceaccount/service-account.name", &c->service_account, err);
    }
    if (!cfr_json_is_object(k))
        return cfr_err_set(err, CFR_E_TOKEN, "the token's `kubernetes.io` is not an object");
    rc = read_text(k, "namespace", "namespace", &c->namespace_name, err);
    if (rc == 0)
        rc = read_name_of(k, "serviceaccount", &c->service_account, err);
    if (rc == 0)
        rc = read_name_of(k, "pod", &c->pod, err);
    if (rc == 0)
        rc = read_name_of(k, "node", &c->node, err);
    if (rc == 0)
        rc = read_time(k, "warnafter", &c->warnafter, err);
    return rc;
}

static int read_header(struct cfr_claims *c, struct cfr_err *err)
{
    int rc = read_text(c->header, "alg", "alg", &c->alg, err);

    if (rc == 0)
        rc = read_text(c->header, "kid", "kid", &c->kid, err);
    if (rc != 0)
        return rc;
    if (c->alg.n == 0)
        return cfr_err_set(err, CFR_E_TOKEN, "the token's header has no `alg`");
    if (cfr_view_is_nocase(c->alg, "none"))
        return cfr_err_set(err, CFR_E_TOKEN, "the token is not signed (`alg` is none)");
    return 0;
}

static int read_payload(struct cfr_claims *c, struct cfr_err *err)
{
    int rc = read_text(c->payload, "iss", "iss", &c->iss, err);

    if (rc == 0)
        rc = read_text(c->payload, "sub", "sub", &c->sub, err);
    if (rc == 0)
        rc = read_text(c->payload, "jti", "jti", &c->jti, err);
    if (rc == 0)
        rc = read_time(c->payload, "iat", &c->iat, err);
    if (rc == 0)
        rc = read_time(c->payload, "nbf", &c->nbf, err);
    if (rc == 0)
        rc = read_time(c->payload, "exp", &c->exp, err);
    if (rc == 0)
        rc = check_audience(c->payload, err);
    return rc != 0 ? rc : read_kubernetes(c, err);
}

int cfr_claims_read(struct cfr_view token, struct cfr_claims *out, struct cfr_err *err)
{
    struct cfr_view header = {NULL, 0};
    struct cfr_view payload = {NULL, 0};
    int rc = split(token, &header, &payload, err);

    const char *mistake;

    *out = (struct cfr_claims){0};
    if (rc == 0)
        rc = parse_part(header, "header", &out->header, err);
    if (rc == 0)
        rc = parse_part(payload, "payload", &out->payload, err);
    mistake = rc == CFR_E_TOKEN && token.n != 0 ? cfr_view_mistake(token, CFR_FORM_JWT) : NULL;
    if (mistake != NULL)
        rc = cfr_err_set(err, CFR_E_TOKEN, "not a JSON Web Token, but %s%s", mistake,
                         cfr_view_form(token) == CFR_FORM_JSON
                             ? "; `json_field` names the member of a token file that has the token"
                             : "");
    if (rc == 0)
        rc = read_header(out, err);
    if (rc == 0)
        rc = read_payload(out, err);
    if (rc != 0)
        cfr_claims_free(out);
    return rc;
}

static int check_life(const struct cfr_claims *c, struct cfr_err *err)
{
    if (cfr_claims_is_legacy(c))
        return cfr_err_set(err, CFR_E_TOKEN,
                           "the token is of the old kind that a Secret holds: it never expires and has no audience, so "
                           "every cloud refuses it; mount a projected serviceAccountToken volume instead");
    if (c->exp == 0)
        return cfr_err_set(err, CFR_E_TOKEN, "the token has no `exp`: it never expires, and every cloud refuses it");
    if (c->exp <= c->iat)
        return cfr_err_set(err, CFR_E_TOKEN, "the token's `exp` is not after its `iat`");
    return 0;
}

int cfr_claims_decode(struct cfr_view token, struct cfr_claims *out, struct cfr_err *err)
{
    int rc = cfr_claims_read(token, out, err);

    if (rc == 0)
        rc = check_life(out, err);
    if (rc != 0)
        cfr_claims_free(out);
    return rc;
}

void cfr_claims_free(struct cfr_claims *c)
{
    cfr_json_free(c->header);
    cfr_json_free(c->payload);
    *c = (struct cfr_claims){0};
}

size_t cfr_claims_audience_count(const struct cfr_claims *c)
{
    const struct cfr_json *aud = cfr_json_get(c->payload, "aud");

    return aud == NULL ? 0 : cfr_json_is_array(aud) ? cfr_json_count(aud) : 1;
}

struct cfr_view cfr_claims_audience(const struct cfr_claims *c, size_t index)
{
    const struct cfr_json *aud = cfr_json_get(c->payload, "aud");
    struct cfr_view text = {NULL, 0};

    if (cfr_json_is_array(aud))
        (void)cfr_json_string(cfr_json_at(aud, index), &text);
    else if (index == 0)
        (void)cfr_json_string(aud, &text);
    return text;
}

bool cfr_claims_has_audience(const struct cfr_claims *c, const char *audience)
{
    size_t n = cfr_claims_audience_count(c);

    for (size_t i = 0; i < n; i++) {
        if (cfr_view_is(cfr_claims_audience(c, i), audience))
            return true;
    }
    return false;
}

/* `kubernetes.default.svc` and the like, with or without a scheme, a port and a path. */
static bool is_kubernetes_service(struct cfr_view audience)
{
    static const char name[] = "kubernetes.default";
    static const char *const schemes[] = {"https://", "http://"};

    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        size_t n = strlen(schemes[i]);

        if (cfr_view_starts(audience, schemes[i]))
            audience = (struct cfr_view){audience.p + n, audience.n - n};
    }
    if (!cfr_view_starts(audience, name) || audience.n == sizeof name - 1)
        return cfr_view_is(audience, name);
    audience.p += sizeof name - 1;
    return audience.p[0] == '.' || audience.p[0] == ':' || audience.p[0] == '/';
}

bool cfr_claims_is_for_api_server(const struct cfr_claims *c)
{
    size_t n = cfr_claims_audience_count(c);

    for (size_t i = 0; i < n; i++) {
        struct cfr_view audience = cfr_claims_audience(c, i);

        if (audience.n == 0 || cfr_view_eq(audience, c->iss) || is_kubernetes_service(audience))
            return true;
    }
    return n == 0;
}

int64_t cfr_claims_expires(const struct cfr_claims *c)
{
    return c->warnafter != 0 && c->warnafter < c->exp ? c->warnafter : c->exp;
}

bool cfr_claims_is_legacy(const struct cfr_claims *c)
{
    return c->exp == 0 && cfr_view_is(c->iss, LEGACY_ISSUER);
}
