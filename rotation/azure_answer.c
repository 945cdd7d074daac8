/* SPDX-License-Identifier: MIT */
/* What Microsoft Graph answers about an application's secrets. */
#include "rotation/azure_private.h"
#include "rotation/found.h"
#include "rotation/rest_private.h"
#include "rotation/provider_private.h"

#include <stdio.h>
#include <string.h>

#define HINT_CHARS 3 /* of a secret, in the list */
#define SECRET_MAX 1024

#define STALE      "Graph does not accept the token of `with`; is it still refreshed?"
#define ALLOW                                                                                                          \
    "grant `with` the permission Application.ReadWrite.OwnedBy (with consent) and make it an owner of "                \
    "{who}; that takes minutes"
#define FULL  "{who} has as many client secrets as Entra ID allows; remove one that is not in use"
#define BUSY  "Graph limits the rate of calls; this is usually temporary"
#define LATER "Graph is unavailable; this is usually temporary"

static const struct cfr_error_table_row rows[] = {
    {"TooManyAppPasswords Directory_ResourceSizeExceeded", NULL, 0, CFR_E_LIMIT, FULL},
    {"Directory_QuotaExceeded", NULL, 0, CFR_E_LIMIT,
     "the tenant's quota of directory objects is used up; remove something"},
    {"CredentialInvalidLifetimeAsPerAppPolicy", NULL, 0, CFR_E_REJECTED,
     "a policy of the tenant limits how long secrets live: write a shorter `lifetime`"},
    {"CredentialTypeNotAllowedAsPerAppPolicy", NULL, 0, CFR_E_DENIED,
     "a policy of the tenant forbids client secrets; use federated credentials, or have {who} exempted"},
    {"InvalidAuthenticationToken", "audience", 0, CFR_E_REJECTED,
     "the token of `with` is for another cloud's Graph; check its `scopes`, and `cloud` and `endpoint`"},
    {"InvalidAuthenticationToken Authentication_ExpiredToken", NULL, 0, CFR_E_TOKEN_EXPIRED, STALE},
    {"Authentication_MissingOrMalformed", NULL, 0, CFR_E_REJECTED,
     "the token did not reach Graph; check that no proxy removes it"},
    {"Authorization_IdentityNotFound", NULL, 0, CFR_E_DENIED,
     "`with` has no service principal in the tenant; make one there (az ad sp create)"},
    {"Authorization_RequestDenied", NULL, 0, CFR_E_DENIED, ALLOW},
    {"Request_ResourceNotFound", NULL, 0, CFR_E_REJECTED,
     "there is no such application in the tenant of `with`; check `client_id` (not the object ID); a new one "
     "takes minutes"},
    {"Directory_ConcurrencyViolation", NULL, 0, CFR_E_UNAVAILABLE,
     "another client is changing the application at the same time"},
    {"Directory_ExpiredPageToken Directory_BindingRedirection Directory_ReplicaUnavailable Service_InternalServerError "
     "ServiceUnavailable",
     NULL, 0, CFR_E_UNAVAILABLE, LATER},
    {"TooManyRequests Request_ThrottledTemporarily", NULL, 0, CFR_E_THROTTLED, BUSY},
    {"BadRequest", NULL, 0, CFR_E_REJECTED, "Graph does not understand the request; check `endpoint`"},
    {NULL, NULL, 404, CFR_E_REJECTED, "there is no Graph at this endpoint; check `endpoint`"},
    {NULL, NULL, 401, CFR_E_TOKEN_EXPIRED, STALE},
    {NULL, NULL, 403, CFR_E_DENIED, ALLOW},
    {NULL, NULL, 409, CFR_E_UNAVAILABLE, "another client is changing the application at the same time"},
    {0},
};

static bool read_key(const struct cfr_json *one, struct cfr_rotation_key *out)
{
    *out = (struct cfr_rotation_key){.created_s = cfr_rotation_rest_time(one, "startDateTime"), .active = true};
    (void)cfr_rotation_rest_copy(out->name, sizeof out->name, cfr_json_text(one, "displayName"));
    return cfr_rotation_rest_copy(out->id, sizeof out->id, cfr_json_text(one, "keyId")) &&
           strpbrk(out->id, " /'\"") == NULL;
}

static int read_list(const struct cfr_rotation_azure *c, const struct cfr_json *doc, const struct cfr_rotation_ask *ask,
                     struct cfr_rotation_answer *out, struct cfr_err *err)
{
    const struct cfr_json *list = cfr_json_get(doc, "passwordCredentials");
    struct cfr_view application = cfr_json_text(doc, "appId");
    int rc = 0;

    if (!cfr_json_is_array(list))
        return cfr_err_set(err, CFR_E_ANSWER, "the answer has no list passwordCredentials");
    if (!cfr_view_is_nocase(application, c->client_id))
        return cfr_err_set(err, CFR_E_ANSWER, "the answer is about another application than %s", c->client_id);
    for (const struct cfr_json *one = cfr_json_first(list); rc == 0 && one != NULL; one = cfr_json_next(one)) {
        struct cfr_rotation_key key;

        if (!read_key(one, &key))
            return cfr_err_set(err, CFR_E_ANSWER, "the list has a secret without a proper keyId");
        cfr_rotation_rest_set_end(&key, cfr_rotation_rest_time(one, "endDateTime"), ask->now_s);
        (void)cfr_rotation_rest_copy(key.hint, sizeof key.hint, cfr_json_text(one, "hint"));
        rc = cfr_rotation_rest_keep(&out->keys, &key, ask, err);
    }
    return rc;
}

/* ---- a new secret ---- */

static int set_authority(const struct cfr_rotation_azure *c, struct cfr_grant *g, struct cfr_err *err)
{
    struct cfr_str url = {.limit = CFR_ROTATION_URL_MAX + 8};
    int rc;

    if (c->authority_host == NULL)
        return 0;
    cfr_rotation_rest_base(&url, c->authority_host);
    cfr_str_addz(&url, "/");
    rc = url.failed ? cfr_err_nomem(err) : cfr_grant_set(g, CFR_FIELD_AZURE_AUTHORITY_HOST, cfr_str_view(&url), err);
    cfr_str_free(&url);
    return rc;
}

static int fill(const struct cfr_rotation_azure *c, struct cfr_view tenant, struct cfr_view secret,
                struct cfr_rotation_answer *out, struct cfr_err *err)
{
    struct cfr_grant *g = &out->grant;
    char identity[CFR_ROTATION_ID_MAX + CFR_ROTATION_NAME_MAX + 64];
    int rc = cfr_grant_set(g, CFR_FIELD_AZURE_CLIENT_ID, cfr_view_of(c->client_id), err);

    (void)snprintf(identity, sizeof identity, "%s (%s) of %s", out->made.name, out->made.id, c->client_id);
    if (rc == 0)
        rc = cfr_grant_set(g, CFR_FIELD_AZURE_TENANT_ID, tenant, err);
    if (rc == 0)
        rc = cfr_grant_set(g, CFR_FIELD_AZURE_CLIENT_SECRET, secret, err);
    if (rc == 0)
        rc = set_authority(c, g, err);
    return rc == 0 ? cfr_grant_set_identity(g, cfr_view_of(identity), err) : rc;
}

static int read_made(const struct cfr_rotation_azure *c, const struct cfr_rotation_ask *ask, const struct cfr_json *doc,
                     struct cfr_rotation_answer *out, struct cfr_err *err)
{
    struct cfr_view secret = cfr_json_text(doc, "secretText");
    struct cfr_view tenant = c->tenant_id != NULL ? cfr_view_of(c->tenant_id)
                                                  : cfr_rotation_admin_field(ask->admin, CFR_FIELD_AZURE_TENANT_ID);

    if (!read_key(doc, &out->made))
        return cfr_err_set(err, CFR_E_ANSWER, "the answer has no proper keyId");
    if (strcmp(out->made.name, ask->name) != 0)
        return cfr_err_set(err, CFR_E_ANSWER, "the answer is about another secret than %s", ask->name);
    if (secret.n == 0 || secret.n > SECRET_MAX || !cfr_view_printable(secret) || cfr_view_find(secret, " ") >= 0)
        return cfr_err_set(err, CFR_E_ANSWER, "the answer has no proper secretText");
    out->grant.issued_s = out->made.created_s;
    out->grant.expires_s = cfr_rotation_rest_time(doc, "endDateTime");
    return fill(c, tenant, secret, out, err);
}

int cfr_rotation_azure_recognize(const void *config, const struct cfr_rotation_ask *ask, const struct cfr_grant *fields,
                                 struct cfr_rotation_answer *out, struct cfr_err *err)
{
    const struct cfr_rotation_azure *c = config;
    struct cfr_view client = cfr_grant_get(fields, CFR_FIELD_AZURE_CLIENT_ID);
    struct cfr_view secret = cfr_grant_get(fields, CFR_FIELD_AZURE_CLIENT_SECRET);
    struct cfr_view tenant = c->tenant_id != NULL ? cfr_view_of(c->tenant_id)
                                                  : cfr_rotation_admin_field(ask->admin, CFR_FIELD_AZURE_TENANT_ID);

    if (secret.n == 0)
        return cfr_err_set(err, CFR_E_MISSING, "there is no client secret of Azure");
    if (client.n != 0 && !cfr_view_is_nocase(client, c->client_id))
        return cfr_err_set(err, CFR_E_CONFLICT, "the client secret is one of another application than %s",
                           c->client_id);
    if (secret.n > SECRET_MAX || !cfr_view_printable(secret) || cfr_view_find(secret, " ") >= 0)
        return cfr_err_set(err, CFR_E_ANSWER, "azure_client_secret is not a client secret");
    /* The secret does not say its keyId. */
    (void)cfr_rotation_rest_copy(out->made.id, sizeof out->made.id, cfr_grant_get(fields, CFR_ROTATION_FOUND_ID));
    (void)snprintf(out->made.hint, sizeof out->made.hint, "%.*s", HINT_CHARS, secret.p);
    return fill(c, tenant, secret, out, err);
}

/* ---- judging ---- */

static int refuse(const struct cfr_rotation_azure *c, const struct cfr_rotation_ask *ask,
                  const struct cfr_wire_reply *reply, const struct cfr_json *error, struct cfr_err *err)
{
    const struct cfr_view token = cfr_rotation_azure_token(c, ask->admin);
    const struct cfr_error_table r = {
        .rows = rows,
        .status = reply->status,
        .code = cfr_json_text(error, "code"),
        .message = cfr_json_text(error, "message"),
        .request_id = reply->request_id.n != 0 ? reply->request_id
                                               : cfr_json_text(cfr_json_get(error, "innerError"), "request-id"),
        .who = cfr_view_of(c->client_id),
        .who_is = "application",
        .secrets = &token,
        .secret_count = 1,
    };

    return cfr_error_table_set(&r, err);
}

/* The secret, or the whole application, is not there any more. */
static bool is_gone(const struct cfr_wire_reply *reply, const struct cfr_json *error)
{
    return (reply->status == 400 &&
            cfr_view_find(cfr_json_text(error, "message"), "No password credential found") >= 0) ||
           (reply->status == 404 && cfr_view_is(cfr_json_text(error, "code"), "Request_ResourceNotFound"));
}

static int check_answer(const void *config, const struct cfr_rotation_ask *ask, const struct cfr_wire_reply *reply,
                        const struct cfr_json *doc, struct cfr_rotation_answer *out, struct cfr_err *err)
{
    const struct cfr_rotation_azure *c = config;
    const struct cfr_json *error = cfr_json_get(doc, "error");
    bool good = ask->op == CFR_ROTATION_DELETE ? reply->status == 204 : reply->status == 200;

    if (ask->op == CFR_ROTATION_DELETE && is_gone(reply, error))
        return 0;
    if (!good || error != NULL)
        return refuse(c, ask, reply, error, err);
    if (ask->op == CFR_ROTATION_LIST)
        return read_list(c, doc, ask, out, err);
    return ask->op == CFR_ROTATION_CREATE ? read_made(c, ask, doc, out, err) : 0;
}

int cfr_rotation_azure_parse(const void *config, const struct cfr_rotation_ask *ask, const struct cfr_wire_reply *reply,
                             struct cfr_rotation_answer *out, struct cfr_err *err)
{
    static const char *const operations[] = {[CFR_ROTATION_LIST] = "listing client secrets",
                                             [CFR_ROTATION_CREATE] = "addPassword",
                                             [CFR_ROTATION_VERIFY] = "",
                                             [CFR_ROTATION_DEACTIVATE] = "",
                                             [CFR_ROTATION_LAST_USED] = "",
                                             [CFR_ROTATION_DELETE] = "removePassword"};

    return cfr_rotation_rest_parse(config, ask, reply, check_answer, operations, out, err);
}
