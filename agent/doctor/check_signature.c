/* SPDX-License-Identifier: MIT */
/* Check of a token's signature by the keys that its issuer publishes, as a cloud verifies it. */
#include "agent/doctor/doctor_private.h"

#include "agent/pki/issuer_keys.h"
#include "pki/jwks.h"
#include "wire/url.h"

#include <stdio.h>
#include <stdlib.h>

#define LIMIT_MS  5000
#define SHOWN_MAX 100

/* Reads the keys of ISSUER, once for all credentials that follow with the same issuer. */
static void read_keys(struct cfr_doctor *d, struct cfr_view issuer)
{
    struct cfr_doctor_issuer *i = &d->issuer;
    int64_t left_ms = cfr_doctor_left_ms(d);
    struct cfr_issuer_keys_request request = {.timeout_ms = left_ms < LIMIT_MS ? left_ms : LIMIT_MS};

    if (i->url != NULL && cfr_view_is(issuer, i->url))
        return;
    cfr_doctor_forget_issuer(d);
    i->url = cfr_str_dup(issuer);
    cfr_secret_init(&i->keys, CFR_JWKS_MAX);
    request.issuer = i->url;
    if (i->url != NULL)
        i->rc = cfr_issuer_keys_read(&request, &i->keys, &i->err);
    else
        i->rc = cfr_err_nomem(&i->err);
}

void cfr_doctor_forget_issuer(struct cfr_doctor *d)
{
    free(d->issuer.url);
    cfr_secret_free(&d->issuer.keys);
    d->issuer = (struct cfr_doctor_issuer){.url = NULL};
}

/* A cloud to which the keys were uploaded does not read these; so an unknown key is only a warning. */
static void report_failure(struct cfr_doctor *d, const struct cfr_err *err)
{
    enum cfr_finding_level level = err->code == CFR_E_REJECTED ? CFR_FINDING_WRONG : CFR_FINDING_WARNING;

    cfr_doctor_report(d, level, "token.signature", cfr_jwks_remedy(err->code),
                      "clouds that read the issuer's keys refuse the token: %s", err->text);
}

void cfr_doctor_signature(struct cfr_doctor *d, struct cfr_doctor_case *c)
{
    const struct cfr_jwks_token token = {cfr_secret_view(&c->token_text), c->claims.alg, c->claims.kid};
    char shown[SHOWN_MAX];
    struct cfr_err err = {0};
    size_t count;

    /* Another issuer is a finding already; plain http is read only where a command line names it. */
    if (!c->has_claims || !cfr_view_starts(c->claims.iss, "https://") || !cfr_view_printable(c->claims.iss) ||
        c->claims.iss.n >= CFR_URL_MAX || cfr_doctor_left_ms(d) == 0)
        return;
    cfr_doctor_at(d, c->name, c->token != NULL ? c->token->node.line : c->line);
    read_keys(d, c->claims.iss);
    if (d->issuer.rc != 0)
        cfr_doctor_report(d, CFR_FINDING_NOTE, "token.signature", NULL,
                          "the signature was not verified, because the issuer's keys cannot be read from here: %s",
                          d->issuer.err.text);
    else if (cfr_jwks_verify(cfr_secret_view(&d->issuer.keys), &token, &count, &err) != 0)
        report_failure(d, &err);
    else
        cfr_doctor_report(d, CFR_FINDING_OK, "token.signature", NULL,
                          "the signature matches the key kid=%s, which the issuer publishes",
                          cfr_view_show(c->claims.kid, shown, sizeof shown));
}
