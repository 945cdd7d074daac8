/* SPDX-License-Identifier: MIT */
/* Check of the inputs of an exchange: the token's file or request, a mounted Secret, further files; and the claims. */
#include "agent/doctor/doctor_private.h"

#include "agent/kube/client.h"
#include "agent/source/exchange.h"
#include "agent/source/exchange_sync.h"
#include "base/time.h"
#include "files/file.h"
#include "sts/aws/aws.h"
#include "token/inspect.h"

#include <string.h>

#define ASK_MAX_MS 10000

/* ---- the token's bytes ---- */

/* The file as it is, fit for use or not. */
static void read_file(struct cfr_doctor_case *c)
{
    struct cfr_secret raw;
    struct cfr_json *doc = NULL;
    struct cfr_view text = {NULL, 0};

    cfr_secret_init(&raw, CFR_TOKEN_MAX);
    if (cfr_file_read(c->token->file, &raw, NULL) == 0)
        text = cfr_view_trim(cfr_secret_view(&raw));
    if (text.n != 0 && c->token->json_field != NULL) {
        bool good =
            cfr_json_parse(text, &doc, NULL) == 0 && cfr_json_string(cfr_json_get(doc, c->token->json_field), &text);

        text = good ? cfr_view_trim(text) : (struct cfr_view){NULL, 0};
    }
    (void)cfr_secret_append(&c->token_text, text, NULL);
    cfr_json_free(doc);
    cfr_secret_free(&raw);
}

struct asking {
    struct cfr_doctor *d;
    struct cfr_doctor_case *c;
};

static void on_asked(void *ctx, struct cfr_source_exchange_result *result)
{
    struct asking *a = ctx;

    if (result->server_date_s != 0) {
        a->c->server_date_s = result->server_date_s;
        a->c->seen_boot_ms = cfr_clock_now().boot_ms;
    }
    if (result->rc != 0) {
        cfr_doctor_report(a->d, CFR_FINDING_WRONG, "token.request", NULL, "%s", result->err.text);
        return;
    }
    cfr_doctor_report(a->d, CFR_FINDING_OK, "token.request", NULL, "the API server gives a token (%.0f ms)",
                      result->duration_s * 1000);
    if (result->warning != NULL && result->warning[0] != '\0')
        cfr_doctor_report(a->d, CFR_FINDING_WARNING, "token.request",
                          "ask for what the API server allows; the credential is refreshed by the life that it gives",
                          "the API server warns: %s", result->warning);
    (void)cfr_secret_append(&a->c->token_text, cfr_grant_get(result->grant, CFR_FIELD_TOKEN), NULL);
}

/* The token alone, so that it can be looked at even where the cloud refuses it. */
static void request_token(struct cfr_doctor *d, struct cfr_doctor_case *c)
{
    struct asking a = {d, c};
    struct cfr_config_credential alone = {.name = c->credential->name, .token = c->credential->token};
    struct cfr_source_inputs m;
    struct cfr_err err = {0};
    int64_t wait_ms;
    int64_t left_ms = cfr_doctor_left_ms(d);
    int64_t end_ms = cfr_clock_now().boot_ms + (left_ms < ASK_MAX_MS ? left_ms : ASK_MAX_MS);
    int rc;

    if (d->options->offline && !d->selection)
        cfr_doctor_report(d, CFR_FINDING_NOTE, "token.request", NULL, "no token was asked for: --offline");
    if (d->options->offline || left_ms == 0)
        return;
    rc = cfr_source_inputs_read(&alone, cfr_clock_now().wall_ms, false, &m, &wait_ms, &err);
    if (rc == 0 && m.requested)
        rc = cfr_source_sync_exchange(&alone, &m, end_ms, on_asked, &a, &err);
    if (rc != 0)
        cfr_doctor_report(d, CFR_FINDING_WRONG, "token.request", NULL, "%s", err.text);
    cfr_source_inputs_free(&m);
}

bool cfr_doctor_read_claims(struct cfr_doctor_case *c, struct cfr_err *err)
{
    if (c->token_text.len == 0 || cfr_claims_read(cfr_secret_view(&c->token_text), &c->claims, err) != 0)
        return false;
    c->has_claims = true;
    c->trusted = (struct cfr_policy_token){.iss = c->claims.iss, .sub = c->claims.sub};
    while (c->trusted.aud_count < CFR_DOCTOR_AUDIENCES_MAX &&
           c->trusted.aud_count < cfr_claims_audience_count(&c->claims)) {
        c->audiences[c->trusted.aud_count] = cfr_claims_audience(&c->claims, c->trusted.aud_count);
        c->trusted.aud_count++;
    }
    c->trusted.aud = c->audiences;
    return true;
}

/* ---- the claims ---- */

static void report_claims(struct cfr_doctor *d, const struct cfr_doctor_case *c)
{
    const struct cfr_claims *t = &c->claims;
    int64_t now_ms = cfr_clock_now().wall_ms;
    char iss[CFR_POLICY_SHOWN_MAX];
    char sub[CFR_POLICY_SHOWN_MAX];
    char aud[CFR_POLICY_SHOWN_MAX];
    char pod[CFR_POLICY_SHOWN_MAX];
    char node[CFR_POLICY_SHOWN_MAX];
    char life[CFR_TIME_WORDS_MAX];
    char when[CFR_TIME_RFC3339_MAX];

    if (d->selection) {
        if ((t->exp != 0 && cfr_claims_expires(t) * 1000 <= now_ms) || t->nbf * 1000 > now_ms || t->iat * 1000 > now_ms)
            return; /* that is a finding of its own */
        cfr_doctor_report(d, CFR_FINDING_OK, "token.claims", NULL, "token of %s, valid for %s",
                          cfr_policy_show(t->sub, sub),
                          t->exp != 0 ? cfr_time_words(cfr_claims_expires(t) * 1000 - now_ms, life) : "ever");
        return;
    }
    cfr_doctor_report(
        d, CFR_FINDING_OK, "token.claims", NULL,
        "subject \"%s\", issuer \"%s\", audience %s, life %s, until %s%s%s%s%s", cfr_policy_show(t->sub, sub),
        cfr_policy_show(t->iss, iss), cfr_policy_audiences(&c->trusted, aud),
        t->exp > t->iat && t->iat != 0 ? cfr_time_words((cfr_claims_expires(t) - t->iat) * 1000, life) : "unknown",
        t->exp != 0 ? cfr_time_format(cfr_claims_expires(t), when) : "never", t->pod.n != 0 ? ", of the pod " : "",
        cfr_policy_show(t->pod, pod), t->node.n != 0 ? " on " : "", cfr_policy_show(t->node, node));
}

static const char *remedy_of(const char *check)
{
    static const char *const remedies[][2] = {
        {"token.expired",
         "look at the kubelet of this node (its journal, its way to the API server), or at what else writes "
         "the token's file; see the check clock, too"},
        {"token.not-yet-valid", "see the check clock: it says which clock is wrong"},
        {"token.kind", "project a serviceAccountToken volume with an audience and an expirationSeconds"},
        {"token.algorithm", "the issuer's signing key decides: the API server's --service-account-signing-key-file"},
        {"token.issuer", "set --service-account-issuer of the API server to the https URL under which its "
                         "documents are public"},
        {"token.claims", "this is not a service account's token: check which program writes the file"},
    };

    for (size_t i = 0; i < sizeof remedies / sizeof remedies[0]; i++) {
        if (strcmp(remedies[i][0], check) == 0)
            return remedies[i][1];
    }
    return NULL;
}

struct claim_check {
    struct cfr_doctor *d;
    struct cfr_doctor_case *c;
};

/* The claims are reported already: only problems follow. */
static void add_claim_finding(void *ctx, const struct cfr_finding *f)
{
    struct claim_check *j = ctx;
    char aud[CFR_POLICY_SHOWN_MAX];

    if (f->level == CFR_FINDING_OK)
        return;
    if (f->level == CFR_FINDING_WRONG && strcmp(f->check, "token.audience") == 0 && j->c->token != NULL &&
        j->c->token->audience != NULL)
        cfr_doctor_report(j->d, f->level, f->check,
                          "set this audience in the projected volume (or in `token.request`), or change "
                          "`token.audience` and what "
                          "the cloud trusts",
                          "the configuration expects the audience \"%.300s\", your token says %s",
                          j->c->token->audience, cfr_policy_audiences(&j->c->trusted, aud));
    else
        cfr_doctor_report(j->d, f->level, f->check, remedy_of(f->check), "the token: %s", f->text);
}

static void check_claims(struct cfr_doctor *d, struct cfr_doctor_case *c)
{
    struct claim_check j = {d, c};
    bool aws = c->provider != NULL && strcmp(c->provider->name, "aws") == 0;
    struct cfr_inspect_subject subject = {
        .file = cfr_secret_view(&c->token_text),
        .claims = &c->claims,
        .now_s = cfr_clock_now().wall_ms / 1000,
        .audience = c->token != NULL ? c->token->audience : NULL,
        .region = aws && c->config != NULL ? ((const struct cfr_aws *)c->config)->region : NULL,
        .rules = c->provider != NULL ? c->provider->token_rules : NULL,
    };

    report_claims(d, c);
    cfr_inspect_check(&subject, &(struct cfr_finding_sink){add_claim_finding, &j});
}

/* ---- all of it ---- */

static void report_secret(struct cfr_doctor *d, const struct cfr_doctor_case *c)
{
    const struct cfr_mounted *m = &c->material.mounted;

    if (m->provider == NULL)
        cfr_doctor_report(d, CFR_FINDING_OK, "source.secret", NULL, "a mounted Secret of kind %s, to be passed on",
                          cfr_mounted_kinds[m->kind]);
    else
        cfr_doctor_report(
            d, CFR_FINDING_OK, "source.secret", NULL,
            "a mounted Secret of kind %s, to be exchanged; used: %s; ignored: other hosts, paths and CA files",
            cfr_mounted_kinds[m->kind], m->taken[0] != '\0' ? m->taken : "nothing");
    if (m->limit != NULL)
        cfr_doctor_report(d, CFR_FINDING_NOTE, "source.secret", "write `pass_on: true` for a consumer that needs more",
                          "%s; write `pass_on: true` for a consumer that needs more", m->limit);
}

static void report_material(struct cfr_doctor *d, struct cfr_doctor_case *c)
{
    struct cfr_err err = {0};

    if (!c->ready) {
        /* The findings about the token say it in more words. */
        if (d->tally[CFR_FINDING_WRONG] + (d->selection ? d->tally[CFR_FINDING_WARNING] : 0) == c->problems)
            cfr_doctor_report(d, c->unready.code == CFR_E_MISSING ? cfr_doctor_later(d) : CFR_FINDING_WRONG, "source",
                              NULL, "%s", c->unready.text);
        return;
    }
    /* With a server, the exchange itself shows it. */
    if (d->options->offline && c->credential != NULL && c->material.provider != NULL &&
        cfr_source_exchange_rehearse(c->credential, &c->material, &err) == CFR_E_CONFIG)
        cfr_doctor_report(d, CFR_FINDING_WRONG, "source", NULL, "%s", err.text);
    if (c->material.mounted.note[0] != '\0')
        cfr_doctor_report(d, CFR_FINDING_WARNING, "source.secret", NULL, "%s", c->material.mounted.note);
    if (c->credential != NULL && c->credential->secret != NULL)
        report_secret(d, c);
    if (c->material.fallback_reason != NULL)
        cfr_doctor_report(d, CFR_FINDING_WARNING, "source", NULL, "%s", c->material.fallback_reason);
}

static void read_material(struct cfr_doctor_case *c)
{
    int64_t wait_ms;

    if (c->credential == NULL)
        return;
    c->ready =
        cfr_source_inputs_read(c->credential, cfr_clock_now().wall_ms, false, &c->material, &wait_ms, &c->unready) == 0;
    if (c->ready && c->material.provider != NULL) {
        c->provider = c->material.provider;
        c->config = c->material.config;
    }
    if (c->ready)
        (void)cfr_secret_append(&c->token_text, cfr_secret_view(&c->material.token), NULL);
}

const char *cfr_doctor_token_path(const struct cfr_doctor_case *c)
{
    if (c->material.token_path != NULL)
        return c->material.token_path;
    return c->token != NULL ? c->token->file : NULL;
}

/* A token request has no file to look at: its kubeconfig must be usable. */
static void check_request(struct cfr_doctor *d, const struct cfr_doctor_case *c)
{
    struct cfr_kube_where where = {c->token->request->kubeconfig, c->token->request->context};
    struct cfr_err err = {0};

    if (cfr_kube_check(&where, &err) != 0)
        cfr_doctor_report(d, CFR_FINDING_WRONG, "token.request", NULL, "%s", err.text);
}

void cfr_doctor_source(struct cfr_doctor *d, struct cfr_doctor_case *c)
{
    cfr_doctor_at(d, c->name, c->token != NULL ? c->token->node.line : c->line);
    c->problems = d->tally[CFR_FINDING_WRONG] + (d->selection ? d->tally[CFR_FINDING_WARNING] : 0);
    read_material(c);
    if (d->selection && c->token != NULL && c->token->request != NULL)
        check_request(d, c);
    if (c->token_text.len == 0 && c->token != NULL && c->token->file != NULL)
        read_file(c);
    if (c->token_text.len == 0 && c->ready && c->material.requested)
        request_token(d, c);
    (void)cfr_doctor_read_claims(c, &c->malformed);
}

void cfr_doctor_token(struct cfr_doctor *d, struct cfr_doctor_case *c)
{
    const char *path = cfr_doctor_token_path(c);

    cfr_doctor_at(d, c->name, c->token != NULL ? c->token->node.line : c->line);
    if (c->has_claims)
        check_claims(d, c);
    else if (c->token_text.len != 0)
        cfr_doctor_report(d, CFR_FINDING_WRONG, "token.malformed",
                          "look at what writes the file: it must hold one JSON Web Token and nothing else",
                          "the token%s%s: %s", path != NULL ? " in " : "", path != NULL ? path : "", c->malformed.text);
    if (c->credential != NULL)
        report_material(d, c);
}
