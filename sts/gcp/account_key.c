/* SPDX-License-Identifier: MIT */
/* Assertions and self-signed tokens. */
#include "sts/gcp/account_key_private.h"

#include "base/writer.h"
#include "wire/jwt.h"

#define CLAIMS_MAX 8192

static void write_scopes(struct cfr_writer *w, const struct cfr_strings *scopes, bool all_apis)
{
    struct cfr_secret joined;
    struct cfr_writer j = {.secret = &joined, .err = w->err};

    if (all_apis || scopes->count == 0) {
        cfr_writer_string(w, "scope", cfr_view_of(CFR_GCP_SCOPE));
        return;
    }
    cfr_secret_init(&joined, CLAIMS_MAX);
    for (size_t i = 0; i < scopes->count; i++) {
        cfr_writer_text(&j, i == 0 ? "" : " ");
        cfr_writer_text(&j, scopes->items[i]);
    }
    if (w->rc == 0)
        w->rc = j.rc;
    cfr_writer_string(w, "scope", cfr_secret_view(&joined));
    cfr_secret_free(&joined);
}

static void write_times(struct cfr_writer *w, int64_t issued_s)
{
    cfr_writer_number(w, "iat", issued_s);
    cfr_writer_number(w, "exp", issued_s + CFR_GCP_KEY_LIFE_S);
}

/* Closes the CLAIMS, signs and frees them. */
static int sign(struct cfr_writer *claims, const struct cfr_gcp_file *key, struct cfr_secret *out, struct cfr_err *err)
{
    struct cfr_secret text;
    struct cfr_writer header = {.secret = &text, .err = err, .rc = claims->rc};

    cfr_secret_init(&text, CLAIMS_MAX);
    cfr_writer_close(claims);
    cfr_writer_object(&header, NULL);
    cfr_writer_string(&header, "alg", cfr_view_of("RS256"));
    cfr_writer_string(&header, "typ", cfr_view_of("JWT"));
    cfr_writer_optional(&header, "kid", key->private_key_id);
    cfr_writer_close(&header);
    if (header.rc == 0)
        header.rc = claims->rc;
    if (header.rc == 0)
        header.rc = cfr_jwt_sign(CFR_JWT_RS256, cfr_secret_view(&text), cfr_secret_view(claims->secret),
                                 key->private_key, out, err);
    cfr_secret_free(&text);
    cfr_secret_free(claims->secret);
    return header.rc == CFR_E_CONFIG && err != NULL ? cfr_err_prefix(err, "the private_key of credentials_file")
                                                    : header.rc;
}

int cfr_gcp_key_assertion(const struct cfr_gcp_plan *p, enum cfr_gcp_step step, int64_t now_s, struct cfr_secret *out,
                          struct cfr_err *err)
{
    struct cfr_secret claims;
    struct cfr_writer w = {.secret = &claims, .err = err};

    cfr_secret_init(&claims, CLAIMS_MAX);
    cfr_writer_object(&w, NULL);
    cfr_writer_optional(&w, "iss", p->file.client_email);
    if (step == CFR_GCP_STEP_KEY_ID)
        cfr_writer_optional(&w, "target_audience", cfr_view_of(p->config->id_token_audience));
    else
        write_scopes(&w, &p->config->scopes, p->impersonates);
    cfr_writer_optional(&w, "sub", cfr_view_of(p->config->subject));
    cfr_writer_optional(&w, "aud", p->file.token_uri);
    write_times(&w, now_s - CFR_GCP_KEY_SLACK_S);
    return sign(&w, &p->file, out, err);
}

int cfr_gcp_key_token(const struct cfr_gcp_plan *p, bool all_apis, int64_t now_s, struct cfr_secret *out,
                      int64_t *expires_s, struct cfr_err *err)
{
    struct cfr_secret claims;
    struct cfr_writer w = {.secret = &claims, .err = err};

    cfr_secret_init(&claims, CLAIMS_MAX);
    cfr_writer_object(&w, NULL);
    cfr_writer_optional(&w, "iss", p->file.client_email);
    cfr_writer_optional(&w, "sub", p->file.client_email);
    write_scopes(&w, &p->config->scopes, all_apis);
    write_times(&w, now_s - CFR_GCP_KEY_SLACK_S);
    *expires_s = now_s - CFR_GCP_KEY_SLACK_S + CFR_GCP_KEY_LIFE_S;
    return sign(&w, &p->file, out, err);
}
