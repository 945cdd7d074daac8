/* SPDX-License-Identifier: MIT */
/* What an OIDC issuer knows of its documents where they are published. */
#include "base/json.h"
#include "pki/key.h"
#include "oidc/issuer/issuer_private.h"

#include <stdlib.h>
#include <string.h>

#define KIDS_MAX  (2 * CFR_KEY_KID_MAX)
#define SHOWN_MAX 100

/* The keys of this phase: "KID" or "KID KID". */
static void list_kids(const struct cfr_oidc_issuer *issuer, char out[KIDS_MAX])
{
    const struct cfr_oidc_issuer_key *keys[2];
    size_t count = cfr_oidc_issuer_public_list(issuer, keys);
    size_t n = strlen(keys[0]->kid);

    memcpy(out, keys[0]->kid, n + 1);
    if (count == 2) {
        out[n++] = ' ';
        memcpy(out + n, keys[1]->kid, strlen(keys[1]->kid) + 1);
    }
}

static int replace_text(char **at, const char *text, struct cfr_err *err)
{
    char *copy = strdup(text);

    if (copy == NULL)
        return cfr_err_nomem(err);
    free(*at);
    *at = copy;
    return 0;
}

int cfr_oidc_issuer_set_store(struct cfr_oidc_issuer *issuer, const char *store, struct cfr_err *err)
{
    int rc;

    if (issuer->store != NULL && strcmp(issuer->store, store) == 0)
        return 0;
    rc = replace_text(&issuer->store, store, err);
    if (rc == 0) {
        /* What another store holds says nothing about this one. */
        free(issuer->uploaded);
        issuer->uploaded = NULL;
        issuer->uploaded_s = 0;
    }
    return rc;
}

int cfr_oidc_issuer_set_uploaded(struct cfr_oidc_issuer *issuer, bool changed, int64_t now_s, struct cfr_err *err)
{
    char kids[KIDS_MAX];
    int rc;

    list_kids(issuer, kids);
    if (!changed && issuer->uploaded != NULL && strcmp(issuer->uploaded, kids) == 0)
        return 0;
    rc = replace_text(&issuer->uploaded, kids, err);
    if (rc == 0)
        issuer->uploaded_s = now_s;
    return rc;
}

bool cfr_oidc_issuer_is_uploaded(const struct cfr_oidc_issuer *issuer)
{
    char kids[KIDS_MAX];

    list_kids(issuer, kids);
    return issuer->store == NULL || (issuer->uploaded != NULL && strcmp(issuer->uploaded, kids) == 0);
}

bool cfr_oidc_issuer_set_not_uploaded(struct cfr_oidc_issuer *issuer)
{
    /* A record of an earlier phase stays: cfr_oidc_issuer_knows needs its keys. */
    if (issuer->phase != CFR_OIDC_ISSUER_PUBLISHED || issuer->store == NULL || !cfr_oidc_issuer_is_uploaded(issuer))
        return false;
    free(issuer->uploaded);
    issuer->uploaded = NULL;
    issuer->uploaded_s = 0;
    return true;
}

/* True if KID is a word of LIST. */
static bool holds(const char *list, struct cfr_view kid)
{
    while (*list != '\0') {
        size_t n = strcspn(list, " ");

        if (cfr_view_eq((struct cfr_view){list, n}, kid))
            return true;
        list += n + (list[n] == ' ');
    }
    return false;
}

bool cfr_oidc_issuer_knows(const struct cfr_oidc_issuer *issuer, struct cfr_view kid)
{
    char kids[KIDS_MAX];

    list_kids(issuer, kids);
    return holds(kids, kid) || (kid.n != 0 && cfr_view_is(kid, issuer->other.kid)) ||
           (issuer->uploaded != NULL && holds(issuer->uploaded, kid));
}

static bool is_unknown(const struct cfr_oidc_issuer *issuer, const struct cfr_oidc_issuer *before, struct cfr_view kid,
                       struct cfr_str *shown)
{
    if (cfr_oidc_issuer_knows(issuer, kid) || (before != NULL && cfr_oidc_issuer_knows(before, kid)))
        return false;
    cfr_str_add_shown(shown, kid, SHOWN_MAX);
    return true;
}

/* KEY is one of a set. A kid is optional there (RFC 7517, 4.5), but each key of an issuer has one. */
static bool is_unknown_jwk(const struct cfr_oidc_issuer *issuer, const struct cfr_oidc_issuer *before,
                           const struct cfr_json *key, struct cfr_str *shown)
{
    struct cfr_view kid;

    if (cfr_json_string(cfr_json_get(key, "kid"), &kid))
        return is_unknown(issuer, before, kid, shown);
    if (cfr_json_get(key, "kty") == NULL)
        return false;
    cfr_str_add(shown, cfr_view_of("without a kid"));
    return true;
}

bool cfr_oidc_issuer_finds_unknown(const struct cfr_oidc_issuer *issuer, const struct cfr_oidc_issuer *before,
                                   struct cfr_view found, struct cfr_str *kid)
{
    char own[CFR_KEY_KID_MAX];
    struct cfr_json *doc = NULL;
    bool unknown = false;

    if (cfr_json_parse(found, &doc, NULL) != 0)
        return cfr_key_kid(found, own, NULL) == 0 && is_unknown(issuer, before, cfr_view_of(own), kid);
    for (const struct cfr_json *key = cfr_json_first(cfr_json_get(doc, "keys")); !unknown && key != NULL;
         key = cfr_json_next(key))
        unknown = is_unknown_jwk(issuer, before, key, kid);
    cfr_json_free(doc);
    return unknown;
}
