/* SPDX-License-Identifier: MIT */
/* The OIDC issuer: its documents, and the steps of a rotation of its key. */
#include "pki/oidc_issuer.h"

#include "base/time.h"
#include "pki/jwks_private.h"
#include "pki/key_private.h"

#include <stdlib.h>
#include <string.h>

#define HTTPS     "https://"
#define JWKS_PATH "/openid/v1/jwks"

static const char *const phase_names[] = {
#define X(name, text) text,
    CFR_OIDC_ISSUER_PHASE_LIST(X)
#undef X
};

const char *cfr_oidc_issuer_phase_name(enum cfr_oidc_issuer_phase phase)
{
    return (unsigned)phase < CFR_OIDC_ISSUER_PHASE_COUNT ? phase_names[phase] : "unknown";
}

int cfr_oidc_issuer_check_url(const char *url, struct cfr_err *err)
{
    size_t n = strlen(url);
    bool good = strncmp(url, HTTPS, sizeof HTTPS - 1) == 0 && n > sizeof HTTPS - 1 && n < 1024 &&
                cfr_view_printable(cfr_view_of(url)) && strpbrk(url, "?#@ \"\\<>") == NULL && url[n - 1] != '/' &&
                url[sizeof HTTPS - 1] != '/';

    return good
               ? 0
               : cfr_err_set(
                     err, CFR_E_CONFIG,
                     "an issuer is a URL with https, without a query, a fragment or a user, and without a slash at its "
                     "end, such as https://oidc.example.net/cluster");
}

/* ---- keys ---- */

static void free_key(struct cfr_oidc_issuer_key *k)
{
    free(k->public_pem);
    cfr_secret_free(&k->private_pem);
    *k = (struct cfr_oidc_issuer_key){.public_pem = NULL};
}

static int make_key(enum cfr_key_kind kind, struct cfr_oidc_issuer_key *out, struct cfr_err *err)
{
    struct cfr_str public_pem = {.limit = CFR_KEY_PEM_MAX};
    int rc;

    *out = (struct cfr_oidc_issuer_key){.public_pem = NULL};
    cfr_secret_init(&out->private_pem, CFR_KEY_PEM_MAX);
    rc = cfr_key_make(kind, &out->private_pem, err);
    if (rc == 0)
        rc = cfr_key_public(cfr_secret_view(&out->private_pem), &public_pem, err);
    if (rc == 0)
        rc = cfr_key_kid(cfr_secret_view(&out->private_pem), out->kid, err);
    out->public_pem = public_pem.p;
    if (rc != 0)
        free_key(out);
    return rc;
}

static void swap_keys(struct cfr_oidc_issuer *issuer)
{
    struct cfr_oidc_issuer_key before = issuer->signing;

    issuer->signing = issuer->other;
    issuer->other = before;
}

void cfr_oidc_issuer_free(struct cfr_oidc_issuer *issuer)
{
    free(issuer->url);
    free(issuer->web_root);
    free_key(&issuer->signing);
    free_key(&issuer->other);
    *issuer = (struct cfr_oidc_issuer){.url = NULL};
}

/* ---- steps ---- */

int cfr_oidc_issuer_begin(struct cfr_oidc_issuer *issuer, struct cfr_err *err)
{
    issuer->phase = CFR_OIDC_ISSUER_BEGINNING;
    return make_key(issuer->key, &issuer->signing, err);
}

bool cfr_oidc_issuer_is_intent(const struct cfr_oidc_issuer *issuer)
{
    return issuer->phase == CFR_OIDC_ISSUER_BEGINNING || issuer->phase == CFR_OIDC_ISSUER_PUBLISHING ||
           issuer->phase == CFR_OIDC_ISSUER_SWITCHING || issuer->phase == CFR_OIDC_ISSUER_RETIRING;
}

static int64_t compute_retire_s(const struct cfr_oidc_issuer *issuer)
{
    int64_t last_s = issuer->confirmed_s;

    if (last_s == 0 && issuer->lag_s >= 0)
        last_s = issuer->since_s + issuer->lag_s;
    return last_s == 0 ? -1 : last_s + issuer->token_life_s + CFR_OIDC_ISSUER_LEEWAY_S;
}

int64_t cfr_oidc_issuer_ready_s(const struct cfr_oidc_issuer *issuer)
{
    if (issuer->phase == CFR_OIDC_ISSUER_PUBLISHED)
        return issuer->since_s + issuer->settle_s;
    if (issuer->phase == CFR_OIDC_ISSUER_SWITCHED)
        return compute_retire_s(issuer);
    return issuer->phase == CFR_OIDC_ISSUER_STEADY ? -1 : 0;
}

static int report_too_early(const struct cfr_oidc_issuer *issuer, int64_t ready_s, struct cfr_err *err)
{
    char when[CFR_TIME_RFC3339_MAX];

    if (ready_s < 0)
        return cfr_err_set(err, CFR_E_CONFLICT,
                           "not every signer is known to use the new key: when they all do, run `credfresh oidc rotate "
                           "--confirm`; tokens of the old key are counted from then on");
    if (issuer->phase == CFR_OIDC_ISSUER_PUBLISHED)
        return cfr_err_set(
            err, CFR_E_CONFLICT,
            "the new key was published too recently: verifiers of tokens may not have read it yet; not before %s",
            cfr_time_format(ready_s, when));
    return cfr_err_set(err, CFR_E_CONFLICT,
                       "tokens that the old key signed may be in use until %s, and would be refused",
                       cfr_time_format(ready_s, when));
}

int cfr_oidc_issuer_next(struct cfr_oidc_issuer *issuer, int64_t now_s, struct cfr_err *err)
{
    int64_t ready_s = cfr_oidc_issuer_ready_s(issuer);
    int rc;

    switch (issuer->phase) {
    case CFR_OIDC_ISSUER_STEADY:
        rc = make_key(issuer->key, &issuer->other, err);
        if (rc == 0)
            issuer->phase = CFR_OIDC_ISSUER_PUBLISHING;
        return rc;
    case CFR_OIDC_ISSUER_PUBLISHED:
        if (now_s < ready_s)
            return report_too_early(issuer, ready_s, err);
        swap_keys(issuer);
        issuer->phase = CFR_OIDC_ISSUER_SWITCHING;
        return 0;
    case CFR_OIDC_ISSUER_SWITCHED:
        if (ready_s < 0 || now_s < ready_s)
            return report_too_early(issuer, ready_s, err);
        issuer->phase = CFR_OIDC_ISSUER_RETIRING;
        return 0;
    default:
        return cfr_err_set(err, CFR_E_INTERNAL, "the step before is not done");
    }
}

void cfr_oidc_issuer_done(struct cfr_oidc_issuer *issuer, int64_t now_s)
{
    switch (issuer->phase) {
    case CFR_OIDC_ISSUER_BEGINNING:
        issuer->phase = CFR_OIDC_ISSUER_STEADY;
        break;
    case CFR_OIDC_ISSUER_PUBLISHING:
        issuer->phase = CFR_OIDC_ISSUER_PUBLISHED;
        break;
    case CFR_OIDC_ISSUER_SWITCHING:
        issuer->phase = CFR_OIDC_ISSUER_SWITCHED;
        issuer->confirmed_s = 0;
        /* The old key signs no more. */
        cfr_secret_free(&issuer->other.private_pem);
        break;
    case CFR_OIDC_ISSUER_RETIRING:
        issuer->phase = CFR_OIDC_ISSUER_STEADY;
        free_key(&issuer->other);
        issuer->rotations++;
        break;
    default:
        return;
    }
    issuer->since_s = now_s;
}

int cfr_oidc_issuer_confirm(struct cfr_oidc_issuer *issuer, int64_t now_s, struct cfr_err *err)
{
    if (issuer->phase != CFR_OIDC_ISSUER_SWITCHED)
        return cfr_err_set(err, CFR_E_CONFLICT,
                           "there is nothing to confirm: the signer was not switched, its phase is %s",
                           cfr_oidc_issuer_phase_name(issuer->phase));
    if (issuer->confirmed_s == 0)
        issuer->confirmed_s = now_s > issuer->since_s ? now_s : issuer->since_s;
    return 0;
}

/* ---- documents ---- */

/* The public keys of this phase by kid, so that a switch changes nothing in them. */
static size_t list_public_keys(const struct cfr_oidc_issuer *issuer, const struct cfr_oidc_issuer_key *out[2])
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
    size_t count = list_public_keys(issuer, keys);
    int rc = 0;

    cfr_str_addz(out, "{\"keys\":[");
    for (size_t i = 0; rc == 0 && i < count; i++) {
        cfr_str_addz(out, i != 0 ? "," : "");
        rc = cfr_jwks_key(cfr_view_of(keys[i]->public_pem), out, err);
    }
    cfr_str_addz(out, "]}\n");
    return rc != 0 ? rc : check_text(out, err);
}

int cfr_oidc_issuer_discovery(const struct cfr_oidc_issuer *issuer, struct cfr_str *out, struct cfr_err *err)
{
    const struct cfr_oidc_issuer_key *keys[2];
    const char *algorithms[2] = {NULL, NULL};
    size_t count = list_public_keys(issuer, keys);
    int rc = 0;
    bool two;

    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = cfr_jwks_algorithm(cfr_view_of(keys[i]->public_pem), &algorithms[i], err);
    if (rc != 0)
        return rc;
    two = algorithms[1] != NULL && strcmp(algorithms[0], algorithms[1]) != 0;
    cfr_str_addf(out,
                 "{\"issuer\":\"%s\",\"jwks_uri\":\"%s" JWKS_PATH "\",\"response_types_supported\":[\"id_token\"],"
                 "\"subject_types_supported\":[\"public\"],\"id_token_signing_alg_values_supported\":[\"%s\"%s%s%s]}\n",
                 issuer->url, issuer->url, algorithms[0], two ? ",\"" : "", two ? algorithms[1] : "", two ? "\"" : "");
    return check_text(out, err);
}

int cfr_oidc_issuer_public_keys(const struct cfr_oidc_issuer *issuer, struct cfr_str *out, struct cfr_err *err)
{
    const struct cfr_oidc_issuer_key *keys[2];
    size_t count = list_public_keys(issuer, keys);

    for (size_t i = 0; i < count; i++)
        cfr_str_addz(out, keys[i]->public_pem);
    return check_text(out, err);
}
