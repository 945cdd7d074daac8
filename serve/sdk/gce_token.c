/* SPDX-License-Identifier: MIT */
/* Access tokens and identity tokens of the GCE metadata shape: which credential answers, and with how much life. */
#include "serve/sdk/gce_private.h"

#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SCOPES_MAX     4096
#define AUDIENCE_MAX   1024
#define NAMED_MAX      32        /* audiences that an error names */
#define LIFE_MAX_S     INT32_MAX /* clients read it into 32 bits */
#define LIFE_ENDLESS_S 3600      /* what is said of a token without an end: ask again within the hour */

static const char cloud_platform[] = "https://www.googleapis.com/auth/cloud-platform";

static const struct cfr_sdk_gce_account *entry_at(const struct cfr_sdk_gce_ask *a, size_t i)
{
    return (const struct cfr_sdk_gce_account *)a->config->accounts.items + i;
}

/* A credential that the configuration names but that is not there is one without a grant. */
static struct cfr_offer offer_of(const struct cfr_sdk_gce_ask *a, const char *credential)
{
    struct cfr_offer offer = {0};

    if (!a->world->offer(a->world->ctx, credential, &offer))
        offer = (struct cfr_offer){.why = "there is no such credential"};
    offer.credential = credential;
    return offer;
}

static void unavailable(struct cfr_sdk_gce_ask *a, const struct cfr_offer *offer)
{
    char text[CFR_SDK_ENDPOINT_WHY_MAX];

    cfr_sdk_endpoint_start(a->out, 503, CFR_SDK_GCE_MESSAGE_TYPE);
    cfr_sdk_endpoint_retry_after(a->out, offer);
    cfr_sdk_endpoint_text(a->out, cfr_sdk_endpoint_why(offer, text));
    cfr_sdk_endpoint_text(a->out, "\n");
}

bool cfr_sdk_gce_token_email_waits(struct cfr_sdk_gce_ask *a)
{
    struct cfr_offer offer;

    for (size_t i = 0; i < a->config->accounts.count; i++) {
        if (!a->tree.members[i].waits)
            continue;
        offer = offer_of(a, entry_at(a, i)->credential);
        unavailable(a, &offer);
        return true;
    }
    return false;
}

/* The field FIELD of what is offered; else the answer is made and p is NULL. */
static struct cfr_view token_in(struct cfr_sdk_gce_ask *a, const struct cfr_offer *offer, const char *field)
{
    struct cfr_view token;

    if (!cfr_sdk_endpoint_offer_lasts(offer, a->world->now_s)) {
        unavailable(a, offer);
        return (struct cfr_view){NULL, 0};
    }
    token = cfr_grant_get(offer->grant, field);
    if (token.n != 0)
        return token;
    cfr_sdk_endpoint_start(a->out, 404, CFR_SDK_GCE_MESSAGE_TYPE);
    a->out->refused = "a credential of gce_metadata has no Google token of the kind that is asked for";
    cfr_sdk_endpoint_text(a->out, "the credential \"");
    cfr_sdk_endpoint_text(a->out, offer->credential);
    cfr_sdk_endpoint_text(a->out, "\" has no ");
    cfr_sdk_endpoint_text(a->out, field);
    cfr_sdk_endpoint_text(a->out, "\n");
    return (struct cfr_view){NULL, 0};
}

/* Distinguishes one token from the next without revealing it. */
static uint64_t etag_of(const struct cfr_offer *offer, const char *audience)
{
    char life[64];
    uint64_t hash = cfr_sdk_gce_hash_text(CFR_HASH_START, offer->credential);

    (void)snprintf(life, sizeof life, " %" PRId64 " %" PRId64 " ", offer->issued_s, offer->expires_s);
    hash = cfr_sdk_gce_hash_text(hash, life);
    return cfr_sdk_gce_hash_text(hash, audience);
}

/* ---- access tokens ---- */

/* Cuts the next scope off a comma-separated list. False at its end. */
static bool next_scope(struct cfr_view *rest, struct cfr_view *scope)
{
    while (rest->n != 0) {
        const char *comma = memchr(rest->p, ',', rest->n);
        size_t n = comma != NULL ? (size_t)(comma - rest->p) : rest->n;
        size_t gone = n + (comma != NULL ? 1 : 0);

        *scope = cfr_view_trim((struct cfr_view){rest->p, n});
        *rest = (struct cfr_view){rest->p + gone, rest->n - gone};
        if (scope->n != 0)
            return true;
    }
    return false;
}

static bool has_scope(const struct cfr_sdk_gce_account *entry, struct cfr_view scope)
{
    for (size_t i = 0; i < entry->scopes.count; i++) {
        if (cfr_view_is(scope, entry->scopes.items[i]))
            return true;
    }
    return entry->scopes.count == 0 && cfr_view_is(scope, cloud_platform);
}

/* 2 if ENTRY has every one of SCOPES by name, 1 if it has cloud-platform, which includes all, else 0. */
static int covers(const struct cfr_sdk_gce_account *entry, struct cfr_view scopes)
{
    struct cfr_view scope;

    while (next_scope(&scopes, &scope)) {
        if (!has_scope(entry, scope))
            return has_scope(entry, cfr_view_of(cloud_platform)) ? 1 : 0;
    }
    return 2;
}

/* The account's entry for SCOPES: of those that cover them one with a token first, then the narrowest; where none
 * covers them, or none are asked for, the first entry, as on a machine with fixed scopes. NULL if none gives access
 * tokens. */
static const struct cfr_sdk_gce_account *pick(const struct cfr_sdk_gce_ask *a, size_t account, struct cfr_view scopes)
{
    const struct cfr_sdk_gce_account *best = NULL;
    struct cfr_view rest = scopes;
    struct cfr_view scope;
    bool any = next_scope(&rest, &scope);
    int best_score = 0;

    for (size_t i = account; i < a->config->accounts.count; i++) {
        const struct cfr_sdk_gce_account *entry = entry_at(a, i);
        struct cfr_offer offer;
        int score = 0;

        if (a->tree.members[i].first != account || entry->credential == NULL)
            continue;
        if (any)
            score = covers(entry, scopes);
        if (score != 0) {
            offer = offer_of(a, entry->credential);
            score += cfr_sdk_endpoint_offer_lasts(&offer, a->world->now_s) ? 2 : 0;
        }
        if (best == NULL || score > best_score) {
            best = entry;
            best_score = score;
        }
    }
    return best;
}

static void bad_request(struct cfr_sdk_gce_ask *a, const char *text)
{
    cfr_sdk_endpoint_start(a->out, 400, CFR_SDK_GCE_HTML_TYPE);
    cfr_sdk_endpoint_text(a->out, text);
}

void cfr_sdk_gce_token_access(struct cfr_sdk_gce_ask *a, size_t account)
{
    const struct cfr_sdk_gce_account *entry;
    struct cfr_offer offer;
    struct cfr_view token;
    char scopes[SCOPES_MAX];
    struct cfr_writer w;
    int64_t life_s;

    if (cfr_sdk_endpoint_parameter(a->request->query, "scopes", scopes, sizeof scopes) < 0) {
        bad_request(a, "the parameter \"scopes\" occurs twice, is malformed, or is too long");
        return;
    }
    entry = pick(a, account, cfr_view_of(scopes));
    if (entry == NULL) {
        cfr_sdk_endpoint_start(a->out, 404, CFR_SDK_GCE_HTML_TYPE);
        a->out->refused = "an access token is asked for, and no `credential` of this account in gce_metadata gives one";
        cfr_sdk_endpoint_text(a->out, "this service account has identity tokens only");
        return;
    }
    offer = offer_of(a, entry->credential);
    token = token_in(a, &offer, CFR_FIELD_GCP_ACCESS_TOKEN);
    if (token.p == NULL)
        return;
    life_s = offer.expires_s == 0 ? LIFE_ENDLESS_S : cfr_sdk_endpoint_offer_left_s(&offer, a->world->now_s);
    w = cfr_sdk_endpoint_json(a->out, 200, CFR_SDK_GCE_JSON_TYPE);
    cfr_writer_object(&w, NULL);
    cfr_writer_string(&w, "access_token", token);
    cfr_writer_number(&w, "expires_in", life_s < LIFE_MAX_S ? life_s : LIFE_MAX_S);
    cfr_writer_string(&w, "token_type", cfr_view_of("Bearer"));
    cfr_writer_close(&w);
    cfr_sdk_endpoint_end(a->out, &w);
    a->etag = etag_of(&offer, "");
}

/* ---- identity tokens ---- */

/* Calls for each identity of the account: *AT counts through all of them. NULL after the last. */
static const struct cfr_sdk_gce_identity *next_identity(const struct cfr_sdk_gce_ask *a, size_t account, size_t *entry,
                                                        size_t *at)
{
    for (; *entry < a->config->accounts.count; (*entry)++, *at = 0) {
        const struct cfr_sdk_gce_account *e = entry_at(a, *entry);

        if (a->tree.members[*entry].first == account && *at < e->identities.count)
            return (const struct cfr_sdk_gce_identity *)e->identities.items + (*at)++;
    }
    return NULL;
}

static void no_such_audience(struct cfr_sdk_gce_ask *a, size_t account)
{
    const struct cfr_sdk_gce_identity *id;
    size_t entry = account;
    size_t at = 0;
    size_t n = 0;

    cfr_sdk_endpoint_start(a->out, 404, CFR_SDK_GCE_MESSAGE_TYPE);
    a->out->refused = "an identity token is asked for an audience that gce_metadata has none for";
    while ((id = next_identity(a, account, &entry, &at)) != NULL && n < NAMED_MAX) {
        cfr_sdk_endpoint_text(a->out,
                              n++ == 0 ? "there is no identity token for this audience; there are for: " : ", ");
        cfr_sdk_endpoint_text(a->out, id->audience);
    }
    if (n == 0)
        cfr_sdk_endpoint_text(a->out, "this service account has no identity tokens");
    else if (id != NULL)
        cfr_sdk_endpoint_text(a->out, ", and others");
    cfr_sdk_endpoint_text(a->out, "\nAdd the audience to `identities` of the account in credfresh's configuration.\n");
}

void cfr_sdk_gce_token_identity(struct cfr_sdk_gce_ask *a, size_t account)
{
    const struct cfr_sdk_gce_identity *id;
    struct cfr_offer offer;
    struct cfr_view token;
    char audience[AUDIENCE_MAX];
    size_t entry = account;
    size_t at = 0;
    int found = cfr_sdk_endpoint_parameter(a->request->query, "audience", audience, sizeof audience);

    if (found < 0) {
        bad_request(a, "the parameter \"audience\" occurs twice, is malformed, or is too long");
        return;
    }
    if (found == 0 || audience[0] == '\0') {
        bad_request(a, "non-empty audience parameter required");
        return;
    }
    do {
        id = next_identity(a, account, &entry, &at);
    } while (id != NULL && strcmp(id->audience, audience) != 0);
    if (id == NULL) {
        no_such_audience(a, account);
        return;
    }
    offer = offer_of(a, id->credential);
    token = token_in(a, &offer, CFR_FIELD_GCP_ID_TOKEN);
    if (token.p == NULL)
        return;
    cfr_sdk_endpoint_start(a->out, 200, CFR_SDK_GCE_HTML_TYPE);
    cfr_sdk_endpoint_add(a->out, token);
    a->etag = etag_of(&offer, audience);
}
