/* SPDX-License-Identifier: MIT */
/* Requests for the secrets of an application, and how a new one is tried. */
#include "rotation/azure_private.h"

#include "base/time.h"
#include "rotation/rest_private.h"

#include <stdio.h>
#include <string.h>

#define GUID_LENGTH 36
#define TENANT_MAX  253
#define HOUR_MS     3600000
#define YEARS_MS    315360000000 /* ten */

static const char *const cloud_names[] = {"public", "usgov", "china", "usgov-dod", "sov-de", "sov-fr", "sov-sg", NULL};
static const struct {
    const char *graph;     /* also the resource that tokens for it name; NULL: not known, so `endpoint` says it */
    const char *authority; /* the cloud of an exchange that has the same */
} clouds[] = {
    {"https://graph.microsoft.com", "public"},
    {"https://graph.microsoft.us", "usgov"},
    {"https://microsoftgraph.chinacloudapi.cn", "china"},
    {"https://dod-graph.microsoft.us", "usgov"},
    {NULL, "sov-de"},
    {NULL, "sov-fr"},
    {NULL, "sov-sg"},
};

#define FIELD(member, kind)                                                                                            \
    .key = #member, .type = CFR_FIELD_##kind, .offset = offsetof(struct cfr_rotation_azure, member)
static const struct cfr_field fields[] = {
    {FIELD(client_id, STRING), .flags = CFR_FIELD_REQUIRED, .min = GUID_LENGTH, .max = GUID_LENGTH,
     .doc = CFR_DOC("Application (client) ID of the app registration with the client secrets, a GUID.")},
    {FIELD(tenant_id, STRING), .min = 4, .max = TENANT_MAX,
     .doc = CFR_DOC("The application's tenant: its ID (a GUID) or one of its domains. Default: that of `with`.")},
    {.key = "lifetime",
     .type = CFR_FIELD_DURATION,
     .offset = offsetof(struct cfr_rotation_azure, lifetime_ms),
     .flags = CFR_FIELD_UNSET,
     .min = HOUR_MS,
     .max = YEARS_MS,
     .doc = CFR_DOC("Lifetime of a secret, longer than two rotations. A policy of the tenant may limit "
                    "it. Default: Entra ID's own, two years.")},
    {FIELD(cloud, ENUM), .fallback = "public", .choices = cloud_names,
     .doc = CFR_DOC("The cloud that the tenant is in; `usgov-dod` is that of the US Department of "
                    "Defense, which has another Microsoft Graph than `usgov`.")},
    {FIELD(endpoint, STRING), .min = 8, .max = CFR_ROTATION_URL_MAX,
     .doc = CFR_DOC("URL of Microsoft Graph; a token of `with` may also be for it. Default: that of "
                    "`cloud`, such as https://graph.microsoft.com; required with `sov-de`, `sov-fr` and "
                    "`sov-sg`.")},
    {FIELD(authority_host, STRING), .min = 8, .max = CFR_ROTATION_URL_MAX,
     .doc = CFR_DOC("URL of the authority that verifies new secrets. Default: that of `cloud`.")},
    {FIELD(ca_file, STRING), .flags = CFR_FIELD_PATH | CFR_FIELD_CA_FILE,
     .doc = CFR_DOC("Certificates (PEM) to trust instead of the system's.")},
    {.key = NULL},
};

/* ---- rules ---- */

static bool is_guid(const char *text)
{
    for (size_t i = 0; i < GUID_LENGTH; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;

        if (dash ? text[i] != '-' : text[i] == '\0' || strchr("0123456789abcdefABCDEF", text[i]) == NULL)
            return false;
    }
    return text[GUID_LENGTH] == '\0';
}

static int check(const void *node, struct cfr_err *err)
{
    const struct cfr_rotation_azure *c = node;
    int rc;

    if (c->client_id != NULL && !is_guid(c->client_id))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "client_id: must be a GUID, such as 00000000-0000-0000-0000-000000000000");
    if (c->tenant_id != NULL &&
        strspn(c->tenant_id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-") !=
            strlen(c->tenant_id))
        return cfr_err_set(err, CFR_E_CONFIG, "tenant_id: must be a GUID or a domain");
    if (clouds[c->cloud].graph == NULL && c->endpoint == NULL)
        return cfr_err_set(err, CFR_E_CONFIG, "endpoint: is missing; write the URL of Microsoft Graph in %s",
                           cloud_names[c->cloud]);
    rc = cfr_rotation_rest_check_url("endpoint", c->endpoint, err);
    return rc == 0 ? cfr_rotation_rest_check_url("authority_host", c->authority_host, err) : rc;
}

const struct cfr_table cfr_rotation_azure_table = {
    .name = "Azure client secrets",
    .size = sizeof(struct cfr_rotation_azure),
    .fields = fields,
    .check = check,
    .doc = CFR_DOC("Client secrets of an application in Microsoft Entra ID. `with` needs a token for Microsoft Graph "
                   "(https://graph.microsoft.com/.default among its `scopes`) and the permission "
                   "Application.ReadWrite.OwnedBy as an owner of the "
                   "application."),
};

/* ---- requests ---- */

/* SCOPE is RESOURCE/.default, or RESOURCE//.default. */
static bool is_for(struct cfr_view scope, struct cfr_view resource)
{
    while (resource.n != 0 && resource.p[resource.n - 1] == '/')
        resource.n--;
    return resource.n != 0 && scope.n >= resource.n && memcmp(scope.p, resource.p, resource.n) == 0 &&
           (scope.n == resource.n || scope.p[resource.n] == '/');
}

/* An endpoint may be Graph itself, under a name that the table does not have, or a way to it. */
static bool is_for_graph(const struct cfr_rotation_azure *c, struct cfr_view scope)
{
    return is_for(scope, cfr_view_of(clouds[c->cloud].graph)) || is_for(scope, cfr_view_of(c->endpoint));
}

struct cfr_view cfr_rotation_azure_token(const struct cfr_rotation_azure *c, const struct cfr_grant *admin)
{
    static const char prefix[] = CFR_FIELD_AZURE_ACCESS_TOKEN ":";

    if (is_for_graph(c, cfr_grant_get(admin, CFR_FIELD_AZURE_SCOPE)))
        return cfr_grant_get(admin, CFR_FIELD_AZURE_ACCESS_TOKEN);
    for (size_t i = 0; i < admin->field_count; i++) {
        const struct cfr_grant_field *f = &admin->fields[i];

        if (strncmp(f->name, prefix, sizeof prefix - 1) == 0 &&
            is_for_graph(c, cfr_view_of(f->name + sizeof prefix - 1)))
            return cfr_secret_view(&f->value);
    }
    return (struct cfr_view){NULL, 0};
}

static const char *graph_of(const struct cfr_rotation_azure *c)
{
    return clouds[c->cloud].graph != NULL ? clouds[c->cloud].graph : c->endpoint;
}

static void put_url(const struct cfr_rotation_azure *c, const struct cfr_rotation_ask *ask, struct cfr_str *url)
{
    cfr_rotation_rest_base(url, c->endpoint != NULL ? c->endpoint : graph_of(c));
    cfr_str_addf(url, "/v1.0/applications(appId='%s')%s", ask->owner != NULL ? ask->owner : c->client_id,
                 ask->op == CFR_ROTATION_LIST     ? "?$select=appId,passwordCredentials"
                 : ask->op == CFR_ROTATION_CREATE ? "/addPassword"
                                                  : "/removePassword");
}

static int put_body(const struct cfr_rotation_azure *c, const struct cfr_rotation_ask *ask,
                    struct cfr_wire_request *out, struct cfr_err *err)
{
    struct cfr_writer w = cfr_rotation_rest_body(out, err);
    char when[CFR_TIME_RFC3339_MAX];

    cfr_writer_object(&w, NULL);
    if (ask->op == CFR_ROTATION_CREATE) {
        cfr_writer_object(&w, "passwordCredential");
        cfr_writer_string(&w, "displayName", cfr_view_of(ask->name));
        if (c->lifetime_ms > 0)
            cfr_writer_string(&w, "endDateTime",
                              cfr_view_of(cfr_time_format(ask->now_s + c->lifetime_ms / 1000, when)));
        cfr_writer_close(&w);
    } else {
        cfr_writer_string(&w, "keyId", cfr_view_of(ask->id));
    }
    cfr_writer_close(&w);
    return w.rc;
}

static int build(const void *config, const struct cfr_rotation_ask *ask, const char *page, struct cfr_wire_request *out,
                 struct cfr_err *err)
{
    const struct cfr_rotation_azure *c = config;
    struct cfr_str url = {.limit = CFR_ROTATION_URL_MAX + 256};
    char missing[512];
    int rc;

    (void)page;
    if (ask->op != CFR_ROTATION_LIST && ask->op != CFR_ROTATION_CREATE && ask->op != CFR_ROTATION_DELETE)
        return cfr_err_set(err, CFR_E_INTERNAL, "client secrets have no such operation");
    (void)snprintf(missing, sizeof missing,
                   "`with` has no token for Microsoft Graph: it must be an exchange with `azure` that has "
                   "%.256s/.default among its `scopes`",
                   graph_of(c));
    put_url(c, ask, &url);
    out->ca_file = c->ca_file;
    out->method = ask->op == CFR_ROTATION_LIST ? "GET" : "POST";
    rc = cfr_wire_request_url(out, &url, err);
    if (rc == 0)
        rc = cfr_rotation_rest_token(out, "Authorization", "Bearer ", cfr_rotation_azure_token(c, ask->admin), missing,
                                     err);
    return rc != 0 || ask->op == CFR_ROTATION_LIST ? rc : put_body(c, ask, out, err);
}

/* The token that is asked for is the one of the cloud's Resource Manager, which every application gets. */
static int trial(const void *config, const struct cfr_rotation_ask *ask, struct cfr_rotation_trial *out,
                 struct cfr_err *err)
{
    const struct cfr_rotation_azure *c = config;
    struct cfr_view tenant = cfr_grant_get(ask->fresh, CFR_FIELD_AZURE_TENANT_ID);
    struct cfr_view secret = cfr_grant_get(ask->fresh, CFR_FIELD_AZURE_CLIENT_SECRET);
    bool own = c->authority_host != NULL;

    if (tenant.n == 0 || secret.n == 0)
        return cfr_err_set(err, CFR_E_INTERNAL, "there is no client secret to try");
    out->provider = "azure";
    out->settings[out->setting_count++] = (struct cfr_rotation_trial_value){"client_id", cfr_view_of(c->client_id)};
    out->settings[out->setting_count++] = (struct cfr_rotation_trial_value){"tenant_id", tenant};
    out->settings[out->setting_count++] = (struct cfr_rotation_trial_value){
        own ? "authority_host" : "cloud", cfr_view_of(own ? c->authority_host : clouds[c->cloud].authority)};
    if (c->ca_file != NULL)
        out->settings[out->setting_count++] = (struct cfr_rotation_trial_value){"ca_file", cfr_view_of(c->ca_file)};
    out->contents[out->content_count++] = (struct cfr_rotation_trial_value){"client_secret_file", secret};
    return 0;
}

static const char *subject(const void *config)
{
    return ((const struct cfr_rotation_azure *)config)->client_id;
}

static const char *const grants[] = {CFR_FIELD_AZURE_CLIENT_ID, CFR_FIELD_AZURE_TENANT_ID,
                                     CFR_FIELD_AZURE_CLIENT_SECRET, CFR_FIELD_AZURE_AUTHORITY_HOST, NULL};

const struct cfr_rotation_provider cfr_rotation_azure_provider = {
    .grants = grants,
    .admin_has = "an access token",
    .name = "azure",
    .table = &cfr_rotation_azure_table,
    .doc = CFR_DOC("Client secrets of an application in Microsoft Entra ID."),
    .names = true,
    .verify_count = 3,
    .verify_wait_s = 30,
    .asks_owner = true,
    .subject = subject,
    .build = build,
    .parse = cfr_rotation_azure_parse,
    .recognize = cfr_rotation_azure_recognize,
    .trial = trial,
};
