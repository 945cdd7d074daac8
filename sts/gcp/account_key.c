/* SPDX-License-Identifier: MIT */
/* Assertions and self-signed tokens. */
#include "sts/gcp/account_key_private.h"

#include "wire/jwt.h"

#include <inttypes.h>
#include <stdio.h>

#define CLAIMS_MAX 8192

/* A JSON object being put together: the first error stays, and what follows it does nothing. */
struct claims {
    struct cfr_secret text;
    struct cfr_err *err;
    int rc;
};

static void put(struct claims *c, const char *text)
{
    if (c->rc == 0)
        c->rc = cfr_secret_append_str(&c->text, text, c->err);
}

static void put_json(struct claims *c, struct cfr_view text)
{
    if (c->rc == 0)
        c->rc = cfr_secret_append_json(&c->text, text, c->err);
}

static void put_claim(struct claims *c, const char *name, struct cfr_view value)
{
    if (value.n == 0)
        return;
    put(c, c->text.len == 1 ? "\"" : ",\"");
    put(c, name);
    put(c, "\":");
    put_json(c, value);
}

static void put_scopes(struct claims *c, const struct cfr_strings *scopes, bool all_apis)
{
    struct cfr_secret joined;

    if (all_apis || scopes->count == 0) {
        put_claim(c, "scope", cfr_view_of(CFR_GCP_SCOPE));
        return;
    }
    cfr_secret_init(&joined, CLAIMS_MAX);
    for (size_t i = 0; c->rc == 0 && i < scopes->count; i++) {
        c->rc = cfr_secret_append_str(&joined, i == 0 ? "" : " ", c->err);
        if (c->rc == 0)
            c->rc = cfr_secret_append_str(&joined, scopes->items[i], c->err);
    }
    put_claim(c, "scope", cfr_secret_view(&joined));
    cfr_secret_free(&joined);
}

static void put_times(struct claims *c, int64_t issued_s)
{
    char text[80];

    (void)snprintf(text, sizeof text, ",\"iat\":%" PRId64 ",\"exp\":%" PRId64 "}", issued_s,
                   issued_s + CFR_GCP_KEY_LIFE_S);
    put(c, text);
}

static void begin(struct claims *c, struct cfr_err *err)
{
    *c = (struct claims){.err = err};
    cfr_secret_init(&c->text, CLAIMS_MAX);
    put(c, "{");
}

/* Signs what C holds, and frees it. */
static int sign(struct claims *c, const struct cfr_gcp_file *key, struct cfr_secret *out, struct cfr_err *err)
{
    struct claims header;
    int rc = c->rc;

    begin(&header, err);
    put_claim(&header, "alg", cfr_view_of("RS256"));
    put_claim(&header, "typ", cfr_view_of("JWT"));
    put_claim(&header, "kid", key->private_key_id);
    put(&header, "}");
    if (rc == 0)
        rc = header.rc;
    if (rc == 0)
        rc = cfr_jwt_sign(CFR_JWT_RS256, cfr_secret_view(&header.text), cfr_secret_view(&c->text), key->private_key,
                          out, err);
    cfr_secret_free(&header.text);
    cfr_secret_free(&c->text);
    return rc == CFR_E_CONFIG && err != NULL ? cfr_err_prefix(err, "the private_key of credentials_file") : rc;
}

int cfr_gcp_key_assertion(const struct cfr_gcp_plan *p, enum cfr_gcp_step step, int64_t now_s, struct cfr_secret *out,
                          struct cfr_err *err)
{
    struct claims c;

    begin(&c, err);
    put_claim(&c, "iss", p->file.client_email);
    if (step == CFR_GCP_STEP_KEY_ID)
        put_claim(&c, "target_audience", cfr_view_of(p->config->id_token_audience));
    else
        put_scopes(&c, &p->config->scopes, p->impersonates);
    put_claim(&c, "sub", cfr_view_of(p->config->subject));
    put_claim(&c, "aud", p->file.token_uri);
    put_times(&c, now_s - CFR_GCP_KEY_SLACK_S);
    return sign(&c, &p->file, out, err);
}

int cfr_gcp_key_token(const struct cfr_gcp_plan *p, bool all_apis, int64_t now_s, struct cfr_secret *out,
                      int64_t *expires_s, struct cfr_err *err)
{
    struct claims c;

    begin(&c, err);
    put_claim(&c, "iss", p->file.client_email);
    put_claim(&c, "sub", p->file.client_email);
    put_scopes(&c, &p->config->scopes, all_apis);
    put_times(&c, now_s - CFR_GCP_KEY_SLACK_S);
    *expires_s = now_s - CFR_GCP_KEY_SLACK_S + CFR_GCP_KEY_LIFE_S;
    return sign(&c, &p->file, out, err);
}
