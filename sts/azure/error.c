/* SPDX-License-Identifier: MIT */
/* Errors of Entra ID and of Azure's registries. */
#include "sts/azure/error_private.h"

#include "base/json.h"
#include "base/error_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CODE_TEXT_MAX 32
#define IDS_MAX       160
#define CODE_PREFIX   "AADSTS"

#define HINT_MATCH                                                                                                     \
    "no federated credential of the client fits: compare its issuer, subject and audience with the token's ({who}). "  \
    "A new one takes minutes to take effect"
#define HINT_LATER   "Entra ID is unavailable; this is usually temporary"
#define HINT_BUSY    "Entra ID limits the rate of calls; this is usually temporary"
#define HINT_INSPECT "Entra ID does not accept this token; check it with `credfresh inspect`"
#define HINT_SCOPE   "correct `scopes`: each element must be one resource with /.default after it"
#define HINT_RESOURCE                                                                                                  \
    "the resource of `scopes` does not exist in this tenant; correct it, or have an administrator add the "            \
    "resource's "                                                                                                      \
    "service principal"
#define HINT_CLIENT   "there is no such application in this tenant; check `client_id`, `tenant_id` and the cloud"
#define HINT_ENDPOINT "the request is not understood; check `authority_host`, and that no proxy changes it"
#define HINT_CERT                                                                                                      \
    "register the certificate of `certificate_file` for the application, and check that the private key "              \
    "belongs to it"
#define HINT_SECRET_EXPIRED "make a new client secret and write it to `client_secret_file`; it is used at once"

/* Only for assertions that are signed here; asked first. */
static const struct cfr_error_table_row certificate_rows[] = {
    {"AADSTS700024 AADSTS500133", NULL, 0, CFR_E_TOKEN_EXPIRED,
     "the assertion was signed for another time: check this machine's clock"},
    {"AADSTS700027", NULL, 0, CFR_E_IDP, HINT_CERT ". A new one takes minutes to take effect"},
    {"AADSTS50012 AADSTS50013 AADSTS50027 invalid_grant", NULL, 0, CFR_E_DENIED, HINT_CERT},
    {0},
};

/* Only for client secrets; asked first. */
static const struct cfr_error_table_row secret_rows[] = {
    {"AADSTS50012", NULL, 0, CFR_E_DENIED,
     "the client secret is wrong; write the right one to `client_secret_file`; it is used at once"},
    {"invalid_grant", NULL, 0, CFR_E_DENIED, "check `client_id`, `tenant_id` and the secret in `client_secret_file`"},
    {0},
};

static const struct cfr_error_table_row rows[] = {
    {"AADSTS700024", NULL, 0, CFR_E_TOKEN_EXPIRED,
     "the token has expired or is not valid yet. Is the token file still renewed, and is the clock right?"},
    {"AADSTS500133", NULL, 0, CFR_E_TOKEN_EXPIRED,
     "the token has expired or is not valid yet. Is the token file still renewed?"},
    {"AADSTS50012 AADSTS50013 AADSTS50027", NULL, 0, CFR_E_TOKEN, HINT_INSPECT},
    {"AADSTS70021", NULL, 0, CFR_E_IDP, HINT_MATCH},
    {"AADSTS700211", NULL, 0, CFR_E_IDP,
     "no federated credential of the client has the token's issuer: compare them character by character, including a "
     "slash at the end. A new one takes minutes to take effect"},
    {"AADSTS700212", NULL, 0, CFR_E_IDP,
     "no federated credential of the client has the token's audience: ask for a token with that audience (usually "
     "api://AzureADTokenExchange), or change it there. A new one takes minutes to take effect"},
    {"AADSTS700213", NULL, 0, CFR_E_IDP, HINT_MATCH},
    {"AADSTS7002131 AADSTS7002137", NULL, 0, CFR_E_DENIED,
     "correct the client's federated credential: compare its issuer, subject and audience with the token's "
     "({who})"},
    {"AADSTS7002138", NULL, 0, CFR_E_DENIED,
     "correct the client's federated credential: upper and lower case must be as in the token ({who})"},
    {"AADSTS7002381", NULL, 0, CFR_E_DENIED,
     "a policy of the tenant demands a claim that the token lacks; an administrator has to allow the token's "
     "issuer"},
    {"AADSTS700027", NULL, 0, CFR_E_IDP,
     "the token's signature was not accepted. Entra ID may not know a new key of the issuer yet; are the issuer's keys "
     "public and current?"},
    {"AADSTS700023", NULL, 0, CFR_E_REJECTED,
     "the assertion's audience is not this token endpoint; check `authority_host`, `cloud` and `tenant_id`"},
    {"AADSTS700016", NULL, 0, CFR_E_DENIED, HINT_CLIENT},
    {"AADSTS700229", NULL, 0, CFR_E_DENIED,
     "a federated credential accepts only tokens of applications, and this one was issued to a user"},
    {"AADSTS7000215", NULL, 0, CFR_E_DENIED,
     "the client secret is wrong (is it the secret's value, not its ID?); write the new secret to "
     "`client_secret_file`; it is used at once. Entra ID may need some time to know it"},
    {"AADSTS7000222", NULL, 0, CFR_E_DENIED, HINT_SECRET_EXPIRED},
    {"AADSTS7000218", NULL, 0, CFR_E_REJECTED, HINT_ENDPOINT},
    {"AADSTS7000112", NULL, 0, CFR_E_DENIED, "the application is disabled; an administrator has to enable it"},
    {"AADSTS70001 AADSTS700011", NULL, 0, CFR_E_DENIED, HINT_CLIENT},
    {"AADSTS70011 AADSTS700022", NULL, 0, CFR_E_REJECTED, HINT_SCOPE},
    {"AADSTS500011 AADSTS50001", NULL, 0, CFR_E_REJECTED, HINT_RESOURCE},
    {"AADSTS50034", NULL, 0, CFR_E_DENIED,
     "there is no such account in this tenant; check `client_id` and `tenant_id`"},
    {"AADSTS90002", NULL, 0, CFR_E_REJECTED,
     "there is no such tenant here; check `tenant_id`, and set `cloud` if it is in another cloud"},
    {"AADSTS90038", NULL, 0, CFR_E_REJECTED, "the tenant is in another cloud; set `cloud` to that one"},
    {"AADSTS90061", NULL, 0, CFR_E_IDP,
     "Entra ID could not reach the token issuer's discovery document or keys (is the issuer up and public?)"},
    {"AADSTS100007", NULL, 0, CFR_E_REJECTED,
     "a regional host is only for managed identities and certificate chains; leave the region out of "
     "`authority_host`"},
    {"AADSTS53003", NULL, 0, CFR_E_DENIED,
     "a Conditional Access policy refuses it; an administrator has to exempt the application or this machine's "
     "address"},
    {"AADSTS50196", NULL, 0, CFR_E_REJECTED,
     "the same request came too often, and Entra ID refuses it for some minutes. Does another program use the same "
     "client in a loop?"},
    {"AADSTS50033 AADSTS90006 AADSTS90012 AADSTS90024 AADSTS90033 AADSTS90090 AADSTS90091", NULL, 0, CFR_E_UNAVAILABLE,
     HINT_LATER},
    {"AADSTS90055", NULL, 0, CFR_E_THROTTLED, "Entra ID limits the tenant's rate of calls; this is usually temporary"},
    {"AADSTS900144", NULL, 0, CFR_E_REJECTED, HINT_ENDPOINT},
    {"AADSTS50005", NULL, 0, CFR_E_DENIED,
     "a policy of the tenant requires a managed device; an administrator has to exempt the application"},
    /* From here on by `error`; a server that is busy says so by its status, whatever the error. */
    {NULL, NULL, 429, CFR_E_THROTTLED, HINT_BUSY},
    {NULL, NULL, 503, CFR_E_UNAVAILABLE, HINT_LATER},
    {"invalid_request", NULL, 0, CFR_E_REJECTED, HINT_ENDPOINT},
    {"invalid_grant", NULL, 0, CFR_E_TOKEN, HINT_INSPECT},
    {"invalid_client", NULL, 0, CFR_E_DENIED,
     "the client is not accepted; check `client_id`, `tenant_id` and what it authenticates with ({who})"},
    {"unauthorized_client", NULL, 0, CFR_E_DENIED,
     "the application is not known here or may not do this; check `client_id`, `tenant_id` and the cloud"},
    {"access_denied", NULL, 0, CFR_E_DENIED, "the tenant refuses the application; ask an administrator"},
    {"invalid_scope", NULL, 0, CFR_E_REJECTED, HINT_SCOPE},
    {"invalid_resource", NULL, 0, CFR_E_REJECTED, HINT_RESOURCE},
    {"unsupported_grant_type", NULL, 0, CFR_E_REJECTED, HINT_ENDPOINT},
    {"interaction_required", NULL, 0, CFR_E_DENIED,
     "a policy of the tenant requires a user's action; an administrator has to exempt the application"},
    {"temporarily_unavailable server_error", NULL, 0, CFR_E_UNAVAILABLE, HINT_LATER},
    {0},
};

static const struct cfr_error_table_row registry_rows[] = {
    {"UNAUTHORIZED", "audience", 0, CFR_E_DENIED,
     "the registry accepts no tokens for the Resource Manager; add https://containerregistry.azure.net/.default to "
     "`scopes`"},
    {"UNAUTHORIZED", NULL, 0, CFR_E_DENIED,
     "the registry denies access to {who}: give it the role AcrPull there, and check the tenant. A new role takes "
     "minutes"},
    {"DENIED FORBIDDEN", NULL, 0, CFR_E_DENIED,
     "the registry denies access to {who}: give it the role AcrPull there, and check the registry's firewall"},
    {"TOOMANYREQUESTS", NULL, 0, CFR_E_THROTTLED, "the registry limits the rate of calls; this is usually temporary"},
    {"UNAVAILABLE", NULL, 0, CFR_E_UNAVAILABLE, "the registry is unavailable; this is usually temporary"},
    {"UNKNOWN", NULL, 500, CFR_E_UNAVAILABLE, "the registry is unavailable; this is usually temporary"},
    {"UNSUPPORTED", NULL, 0, CFR_E_REJECTED, "this is not an Azure container registry; check `acr`"},
    {NULL, NULL, 401, CFR_E_DENIED,
     "the registry denies access to {who}: give it the role AcrPull there, and check the tenant. A new role takes "
     "minutes"},
    {NULL, NULL, 403, CFR_E_DENIED,
     "the registry denies access to {who}: give it the role AcrPull there, and check the registry's firewall"},
    {NULL, NULL, 404, CFR_E_REJECTED, "there is no Azure container registry at this address; check `acr`"},
    {0},
};

/* "AADSTS" and the digits at the beginning of a description, for servers that leave error_codes out. */
static bool code_in(struct cfr_view description, int64_t *code)
{
    struct cfr_view digits = {NULL, 0};

    if (!cfr_view_starts(description, CODE_PREFIX))
        return false;
    digits.p = description.p + strlen(CODE_PREFIX);
    while (digits.n < 12 && digits.n < description.n - strlen(CODE_PREFIX) && digits.p[digits.n] >= '0' &&
           digits.p[digits.n] <= '9')
        digits.n++;
    return digits.n != 0 && cfr_view_int(digits, code);
}

static struct cfr_view write_code(const struct cfr_oauth_answer *answer, char out[CODE_TEXT_MAX])
{
    int64_t code = answer->code_count != 0 ? answer->codes[0] : 0;

    if (code <= 0 && !code_in(cfr_oauth_answer_get(answer, CFR_OAUTH_DESCRIPTION), &code))
        return (struct cfr_view){NULL, 0};
    (void)snprintf(out, CODE_TEXT_MAX, CODE_PREFIX "%" PRId64, code);
    return cfr_view_of(out);
}

/* The description without the ids and the time at its end, and without the code if that is SHOWN before it
 * anyway. */
static struct cfr_view message_of(const struct cfr_oauth_answer *answer, bool shown)
{
    static const char *const ends[] = {"\r", "\n", " Trace ID:", " Correlation ID:", " Timestamp:"};
    struct cfr_view text = cfr_oauth_answer_get(answer, CFR_OAUTH_DESCRIPTION);
    int64_t code;

    if (shown && code_in(text, &code)) {
        ptrdiff_t colon = cfr_view_find(text, ": ");

        if (colon >= 0)
            text = (struct cfr_view){text.p + colon + 2, text.n - (size_t)colon - 2};
    }
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        ptrdiff_t end = cfr_view_find(text, ends[i]);

        if (end >= 0)
            text.n = (size_t)end;
    }
    return text;
}

static struct cfr_view write_ids(const struct cfr_azure_refusal *r, const struct cfr_oauth_answer *answer,
                                 char out[IDS_MAX])
{
    struct cfr_view trace = cfr_oauth_answer_get(answer, CFR_OAUTH_TRACE_ID);
    struct cfr_view correlation = cfr_oauth_answer_get(answer, CFR_OAUTH_CORRELATION_ID);

    if (trace.n == 0)
        trace = r->reply->request_id;
    (void)snprintf(out, IDS_MAX, "%.*s%s%.*s", (int)(trace.n < 64 ? trace.n : 64), trace.n != 0 ? trace.p : "",
                   correlation.n == 0 ? ""
                   : trace.n == 0     ? "correlation "
                                      : ", correlation ",
                   (int)(correlation.n < 64 ? correlation.n : 64), correlation.n != 0 ? correlation.p : "");
    return cfr_view_of(out);
}

static bool knows(const struct cfr_error_table_row *table, const struct cfr_error_table *refusal)
{
    return cfr_error_table_find(table, refusal->status, refusal->code, refusal->message) != NULL;
}

/* The table of the proof decides before the common one, and a code before `error`. */
static void choose_row(enum cfr_azure_client_assertion proof, struct cfr_view error, struct cfr_error_table *refusal)
{
    static const struct cfr_error_table_row *const own[] = {
        [CFR_AZURE_FEDERATED] = NULL, [CFR_AZURE_SECRET] = secret_rows, [CFR_AZURE_CERTIFICATE] = certificate_rows};
    struct cfr_view code = refusal->code;

    for (int by_error = code.n == 0; by_error < 2; by_error++) {
        refusal->code = by_error ? error : code;
        refusal->rows = own[proof];
        if (refusal->rows != NULL && knows(refusal->rows, refusal))
            return;
        refusal->rows = rows;
        if (knows(rows, refusal))
            return;
    }
    if (code.n != 0)
        refusal->code = code;
}

static struct cfr_error_table begin(const struct cfr_azure_refusal *r)
{
    return (struct cfr_error_table){
        .status = r->reply->status,
        .who = r->who,
        .secrets = r->secrets,
        .secret_count = r->secret_count,
    };
}

int cfr_azure_error_set(const struct cfr_azure_refusal *r, const struct cfr_oauth_answer *answer, struct cfr_err *err)
{
    struct cfr_error_table refusal = begin(r);
    char code[CODE_TEXT_MAX];
    char ids[IDS_MAX];

    refusal.code = write_code(answer, code);
    refusal.request_id = write_ids(r, answer, ids);
    refusal.who_is = r->proof == CFR_AZURE_SECRET        ? "client secret"
                     : r->proof == CFR_AZURE_CERTIFICATE ? "certificate"
                                                         : "subject";
    choose_row(r->proof, cfr_oauth_answer_get(answer, CFR_OAUTH_ERROR), &refusal);
    refusal.message = message_of(answer, cfr_view_starts(refusal.code, CODE_PREFIX));
    return cfr_error_table_set(&refusal, err);
}

int cfr_azure_error_set_registry(const struct cfr_azure_refusal *r, struct cfr_err *err)
{
    struct cfr_error_table refusal = begin(r);
    struct cfr_json *doc = NULL;
    const struct cfr_json *first;
    int rc;

    /* An answer that cannot be read is classified by its status alone. */
    (void)cfr_json_parse(r->reply->body, &doc, NULL);
    first = cfr_json_first(cfr_json_get(doc, "errors"));
    (void)cfr_json_string(cfr_json_get(first, "code"), &refusal.code);
    (void)cfr_json_string(cfr_json_get(first, "message"), &refusal.message);
    refusal.request_id = r->reply->request_id;
    refusal.rows = registry_rows;
    refusal.who_is = "client";
    rc = cfr_error_table_set(&refusal, err);
    cfr_json_free(doc);
    return rc;
}
