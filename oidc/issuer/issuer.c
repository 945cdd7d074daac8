/* SPDX-License-Identifier: MIT */
/* The OIDC issuer: the steps of a rotation of its key. */
#include "oidc/issuer/issuer.h"

#include "base/time.h"
#include "pki/key.h"
#include "oidc/issuer/issuer_private.h"

#include <stdlib.h>
#include <string.h>

#define HTTPS "https://"

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

int cfr_oidc_issuer_check_path(const char *path, struct cfr_err *err)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    size_t n = strlen(path);
    bool good = n != 0 && n <= CFR_OIDC_ISSUER_PATH_MAX && strcmp(path, CFR_JWKS_DISCOVERY) != 0;

    for (const char *at = path; good && *at != '\0';) {
        size_t part = strspn(at, plain);

        good = part != 0 && strspn(at, ".") < part && (at[part] == '\0' || (at[part] == '/' && at[part + 1] != '\0'));
        at += part + (at[part] == '/');
    }
    return good ? 0
                : cfr_err_set(err, CFR_E_CONFIG,
                              "\"%.80s\" is not a path of a key set: write a relative path of letters, digits, dots "
                              "and dashes, such as keys.json",
                              path);
}

const char *cfr_oidc_issuer_jwks_path(const struct cfr_oidc_issuer *issuer)
{
    return issuer->jwks_path != NULL ? issuer->jwks_path : CFR_OIDC_ISSUER_JWKS_PATH;
}

/* ---- keys ---- */

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
    free(issuer->jwks_path);
    free(issuer->store);
    free(issuer->uploaded);
    cfr_oidc_issuer_key_free(&issuer->signing);
    cfr_oidc_issuer_key_free(&issuer->other);
    *issuer = (struct cfr_oidc_issuer){.url = NULL};
}

/* ---- steps ---- */

int cfr_oidc_issuer_begin(struct cfr_oidc_issuer *issuer, int64_t now_s, struct cfr_err *err)
{
    issuer->phase = CFR_OIDC_ISSUER_BEGINNING;
    return cfr_oidc_issuer_key_make(issuer, now_s, &issuer->signing, err);
}

int cfr_oidc_issuer_begin_with(struct cfr_oidc_issuer *issuer, struct cfr_view pem, int64_t now_s, struct cfr_err *err)
{
    issuer->phase = CFR_OIDC_ISSUER_BEGINNING;
    return cfr_oidc_issuer_key_import(issuer, pem, now_s, &issuer->signing, err);
}

int cfr_oidc_issuer_next_with(struct cfr_oidc_issuer *issuer, struct cfr_view pem, struct cfr_err *err)
{
    int rc = 0;

    if (issuer->phase != CFR_OIDC_ISSUER_STEADY)
        return cfr_err_set(err, CFR_E_CONFLICT, "a rotation is in progress (%s): the next key is for the one after it",
                           cfr_oidc_issuer_phase_name(issuer->phase));
    rc = cfr_oidc_issuer_key_import(issuer, pem, 0, &issuer->other, err);
    if (rc == 0 && strcmp(issuer->other.kid, issuer->signing.kid) == 0) {
        cfr_oidc_issuer_key_free(&issuer->other);
        return cfr_err_set(err, CFR_E_CONFLICT, "it is the key %s, which signs already", issuer->signing.kid);
    }
    if (rc == 0)
        issuer->phase = CFR_OIDC_ISSUER_PUBLISHING;
    return rc;
}

int cfr_oidc_issuer_check_next(struct cfr_oidc_issuer *issuer, struct cfr_view pem, struct cfr_err *err)
{
    char kid[CFR_KEY_KID_MAX];
    int rc = cfr_key_kid(pem, kid, err);

    if (rc != 0 || strcmp(kid, issuer->other.kid) == 0)
        return rc;
    return cfr_err_set(err, CFR_E_CONFLICT,
                       "the key %s is for the next rotation: an interrupted step is now complete, and the rotation to "
                       "the key %s is in progress",
                       kid, issuer->other.kid);
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

static int64_t compute_settled_s(const struct cfr_oidc_issuer *issuer)
{
    int64_t since_s = issuer->since_s;

    if (!cfr_oidc_issuer_is_uploaded(issuer))
        return -1;
    if (issuer->store != NULL && issuer->uploaded_s > since_s)
        since_s = issuer->uploaded_s;
    return since_s + issuer->settle_s;
}

int64_t cfr_oidc_issuer_ready_s(const struct cfr_oidc_issuer *issuer)
{
    if (issuer->phase == CFR_OIDC_ISSUER_PUBLISHED)
        return compute_settled_s(issuer);
    if (issuer->phase == CFR_OIDC_ISSUER_SWITCHED)
        return compute_retire_s(issuer);
    return issuer->phase == CFR_OIDC_ISSUER_STEADY ? -1 : 0;
}

static int report_too_early(const struct cfr_oidc_issuer *issuer, int64_t ready_s, struct cfr_err *err)
{
    char when[CFR_TIME_RFC3339_MAX];

    if (ready_s < 0 && issuer->phase == CFR_OIDC_ISSUER_PUBLISHED)
        return cfr_err_set(
            err, CFR_E_CONFLICT,
            "the new key is not in %.200s yet: run `credfresh-oidc publish`; the time until the switch is "
            "counted from then on",
            issuer->store);
    if (ready_s < 0)
        return cfr_err_set(err, CFR_E_CONFLICT,
                           "not every signer is known to use the new key: when they all do, run `credfresh-oidc rotate "
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
        if (issuer->cluster_key)
            return cfr_err_set(err, CFR_E_CONFLICT,
                               "the cluster keeps the private keys: give its next public key with --public-key");
        rc = cfr_oidc_issuer_key_make(issuer, now_s, &issuer->other, err);
        if (rc == 0)
            issuer->phase = CFR_OIDC_ISSUER_PUBLISHING;
        return rc;
    case CFR_OIDC_ISSUER_PUBLISHED:
        if (ready_s < 0 || now_s < ready_s)
            return report_too_early(issuer, ready_s, err);
        if (issuer->cluster_key)
            return cfr_err_set(
                err, CFR_E_CONFLICT,
                "the cluster keeps the private keys: make it sign with the new one, and when all its API "
                "servers do, run `credfresh-oidc rotate --confirm`");
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
        cfr_oidc_issuer_key_free(&issuer->other);
        issuer->rotations++;
        break;
    default:
        return;
    }
    issuer->since_s = now_s > issuer->since_s ? now_s : issuer->since_s;
}

void cfr_oidc_issuer_set_lost(struct cfr_oidc_issuer *issuer)
{
    if (issuer->phase == CFR_OIDC_ISSUER_PUBLISHED)
        issuer->phase = CFR_OIDC_ISSUER_PUBLISHING;
}

int cfr_oidc_issuer_confirm(struct cfr_oidc_issuer *issuer, int64_t now_s, struct cfr_err *err)
{
    if (issuer->phase == CFR_OIDC_ISSUER_PUBLISHED && issuer->cluster_key) {
        swap_keys(issuer);
        issuer->phase = CFR_OIDC_ISSUER_SWITCHED;
        issuer->since_s = now_s > issuer->since_s ? now_s : issuer->since_s;
        issuer->confirmed_s = 0;
    }
    if (issuer->phase != CFR_OIDC_ISSUER_SWITCHED)
        return cfr_err_set(err, CFR_E_CONFLICT,
                           "there is nothing to confirm: the signer was not switched, its phase is %s",
                           cfr_oidc_issuer_phase_name(issuer->phase));
    if (issuer->confirmed_s == 0)
        issuer->confirmed_s = now_s > issuer->since_s ? now_s : issuer->since_s;
    return 0;
}

/* ---- the clock ---- */

int cfr_oidc_issuer_check_clock(const struct cfr_oidc_issuer *issuer, int64_t now_s, struct cfr_err *err)
{
    char now[CFR_TIME_RFC3339_MAX];
    char then[CFR_TIME_RFC3339_MAX];
    int64_t newest_s = issuer->since_s > issuer->confirmed_s ? issuer->since_s : issuer->confirmed_s;

    newest_s = newest_s > issuer->uploaded_s ? newest_s : issuer->uploaded_s;
    if (newest_s <= now_s + CFR_OIDC_ISSUER_LEEWAY_S)
        return 0;
    return cfr_err_set(
        err, CFR_E_CONFLICT,
        "this machine's clock says %s, but the journal's last step was at %s: set the clock right. If it "
        "is right, and was ahead at that step, run `credfresh-oidc rotate --recount`, which begins the "
        "step's waiting time again",
        cfr_time_format(now_s, now), cfr_time_format(newest_s, then));
}

bool cfr_oidc_issuer_recount(struct cfr_oidc_issuer *issuer, int64_t now_s)
{
    int64_t *const times[] = {&issuer->since_s, &issuer->confirmed_s, &issuer->uploaded_s};
    bool changed = false;

    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        if (*times[i] > now_s) {
            *times[i] = now_s;
            changed = true;
        }
    }
    return changed;
}
