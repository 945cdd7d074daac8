/* SPDX-License-Identifier: MIT */
/* Azure's two local endpoints: the instance metadata service's /metadata/identity/oauth2/token and App Service's
 * /msi/token. Source: the pages on managed identities (virtual machines, App Service), and what the SDKs send and read.
 */
#include "serve/sdk/azure_resource_private.h"
#include "serve/sdk/shape_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define JSON_TYPE      "application/json; charset=utf-8"
#define RESOURCE_MAX   1024
#define SELECTOR_MAX   512
#define LEGACY_VERSION "2017-09-01"
/* The lifetime that is reported for a token without an end, so that clients ask again some day. */
#define ENDLESS_S 86400

enum selector { BY_CLIENT, BY_OBJECT, BY_RESOURCE_ID, SELECTORS };

/* The spellings of each selector, over the versions of both contracts. */
static const char *const spellings[SELECTORS][3] = {
    [BY_CLIENT] = {"client_id", "clientid", NULL},
    [BY_OBJECT] = {"object_id", "principal_id", NULL},
    [BY_RESOURCE_ID] = {"msi_res_id", "mi_res_id", NULL},
};

/* A request that is being answered. */
struct ask {
    const struct cfr_sdk_azure *config;
    const struct cfr_sdk_endpoint_request *request;
    const struct cfr_sdk_endpoint_world *world;
    struct cfr_sdk_endpoint_answer *out;
    bool app_service;
    bool legacy; /* App Service of 2017: the time of expiry as a date */
    char resource[RESOURCE_MAX];
    char selected[SELECTORS][SELECTOR_MAX]; /* empty = not given */
    const struct cfr_sdk_azure_identity *identity;
    struct cfr_offer offer;
};

/* ---- answers ---- */

/* Neither contract names the other's members, so that one body can hold both. */
static void refuse(struct ask *a, int status, const char *error, const char *text)
{
    struct cfr_writer w = cfr_sdk_endpoint_json(a->out, status, JSON_TYPE);

    cfr_writer_object(&w, NULL);
    if (a->app_service) {
        cfr_writer_number(&w, "statusCode", status);
        cfr_writer_string(&w, "message", cfr_view_of(text));
    }
    cfr_writer_string(&w, "error", cfr_view_of(error));
    cfr_writer_string(&w, "error_description", cfr_view_of(text));
    cfr_writer_close(&w);
    cfr_sdk_endpoint_end(a->out, &w);
}

/* WHY is a literal, for the client and the log alike. */
static void turn_away(struct ask *a, int status, const char *error, const char *why)
{
    refuse(a, status, error, why);
    a->out->refused = why;
}

/* Never 400: clients take that for the end. */
static void not_now(struct ask *a, const struct cfr_offer *offer)
{
    char text[CFR_SDK_ENDPOINT_WHY_MAX];

    refuse(a, 503, "temporarily_unavailable", cfr_sdk_endpoint_why(offer, text));
    cfr_sdk_endpoint_retry_after(a->out, offer);
}

/* ---- the request ---- */

static bool is_path(struct cfr_view path, const char *wanted)
{
    /* Some SDKs put a slash after it. */
    if (path.n == strlen(wanted) + 1 && path.p[path.n - 1] == '/')
        path.n--;
    return cfr_view_is_nocase(path, wanted);
}

static bool is_below(struct cfr_view path, const char *directory)
{
    size_t n = strlen(directory);

    return path.n >= n && cfr_view_is_nocase((struct cfr_view){path.p, n}, directory) &&
           (path.n == n || path.p[n] == '/');
}

/* What both contracts refuse before anything else. */
static bool welcome(struct ask *a)
{
    struct cfr_view method = a->request->method;

    if (cfr_sdk_endpoint_proxied(a->request)) {
        turn_away(a, 403, "forbidden", "requests through a proxy are refused");
        return false;
    }
    if (!cfr_view_is(method, "GET") && !cfr_view_is(method, "HEAD")) {
        turn_away(a, 405, "method_not_allowed", "only GET is answered here");
        cfr_sdk_endpoint_header(a->out, "Allow", cfr_view_of("GET, HEAD"));
        return false;
    }
    return true;
}

static bool bad_parameter(struct ask *a, const char *name)
{
    char text[160];

    (void)snprintf(text, sizeof text, "the parameter %s is given twice, too long, or not well encoded", name);
    refuse(a, 400, "invalid_request", text);
    a->out->refused = "a parameter is given twice, too long, or not well encoded";
    return false;
}

/* Two spellings of one selector are no contradiction while they say the same. */
static bool read_selector(struct ask *a, enum selector kind)
{
    for (size_t i = 0; spellings[kind][i] != NULL; i++) {
        char value[SELECTOR_MAX];

        if (cfr_sdk_endpoint_parameter(a->request->query, spellings[kind][i], value, sizeof value) < 0)
            return bad_parameter(a, spellings[kind][i]);
        if (value[0] == '\0')
            continue;
        if (a->selected[kind][0] != '\0' && !cfr_view_is_nocase(cfr_view_of(value), a->selected[kind])) {
            turn_away(a, 400, "invalid_request", "two parameters name different identities");
            return false;
        }
        memcpy(a->selected[kind], value, sizeof value);
    }
    return true;
}

static bool read_query(struct ask *a)
{
    char version[64];

    if (cfr_sdk_endpoint_parameter(a->request->query, "api-version", version, sizeof version) < 0)
        return bad_parameter(a, "api-version");
    a->legacy = a->legacy || (a->app_service && strcmp(version, LEGACY_VERSION) == 0);
    if (cfr_sdk_endpoint_parameter(a->request->query, "resource", a->resource, sizeof a->resource) < 0)
        return bad_parameter(a, "resource");
    if (a->resource[0] == '\0') {
        turn_away(a, 400, "invalid_request", "the parameter resource is missing");
        return false;
    }
    for (enum selector kind = 0; kind < SELECTORS; kind++) {
        if (!read_selector(a, kind))
            return false;
    }
    return true;
}

/* ---- whose token ---- */

static const struct cfr_sdk_azure_identity *identity_at(const struct cfr_sdk_azure *c, size_t i)
{
    return (const struct cfr_sdk_azure_identity *)c->identities.items + i;
}

static struct cfr_view client_of(const struct cfr_sdk_azure_identity *id, const struct cfr_offer *offer)
{
    if (id->client_id != NULL)
        return cfr_view_of(id->client_id);
    return offer->grant != NULL ? cfr_grant_get(offer->grant, CFR_FIELD_AZURE_CLIENT_ID) : (struct cfr_view){NULL, 0};
}

enum match { NO, UNKNOWN, YES };

/* UNKNOWN while the client ID is to come with a grant that is not there. */
static enum match match(const struct ask *a, const struct cfr_sdk_azure_identity *id, const struct cfr_offer *offer)
{
    struct cfr_view client = client_of(id, offer);
    const char *wanted = a->selected[BY_CLIENT];

    if (a->selected[BY_OBJECT][0] != '\0' && !cfr_view_is_nocase(cfr_view_of(id->object_id), a->selected[BY_OBJECT]))
        return NO;
    if (a->selected[BY_RESOURCE_ID][0] != '\0' &&
        !cfr_view_is_nocase(cfr_view_of(id->resource_id), a->selected[BY_RESOURCE_ID]))
        return NO;
    if (wanted[0] == '\0' || cfr_view_is_nocase(client, wanted))
        return YES;
    return client.n == 0 && offer->grant == NULL ? UNKNOWN : NO;
}

/* Sets the identity and its offer; else the answer is made. */
static bool choose(struct ask *a)
{
    struct cfr_offer missing = {0};
    bool unknown = false;

    for (size_t i = 0; i < a->config->identities.count; i++) {
        const struct cfr_sdk_azure_identity *id = identity_at(a->config, i);
        struct cfr_offer offer = {0};
        enum match m;

        (void)a->world->offer(a->world->ctx, id->credential, &offer);
        m = match(a, id, &offer);
        if (m == YES) {
            a->identity = id;
            a->offer = offer;
            return true;
        }
        if (m == UNKNOWN && !unknown) {
            missing = offer;
            unknown = true;
        }
    }
    if (unknown)
        not_now(a, &missing);
    else
        turn_away(a, 400, "invalid_request", "Identity not found");
    return false;
}

/* ---- the token ---- */

/* There is none and, as things are configured, never will be. */
static void no_token(struct ask *a)
{
    struct cfr_str text = {.limit = 16384};

    cfr_str_addf(&text, "credential %s has no token for the resource \"%s\"", a->identity->credential, a->resource);
    cfr_sdk_azure_resource_list(a->offer.grant, "; it has tokens for ", &text);
    cfr_str_addz(&text, ": add it to the scopes of the credential's exchange");
    refuse(a, 400, "invalid_resource", text.failed ? "the credential has no token for this resource" : text.p);
    a->out->refused = "the resource is none of those that the credential has a token for";
    cfr_str_free(&text);
}

/* Numbers are texts in these contracts. */
static void write_number(struct cfr_writer *w, const char *key, int64_t number)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRId64, number);
    cfr_writer_string(w, key, cfr_view_of(text));
}

/* `1/2/2026 3:04:05 PM +00:00` */
static void write_date(struct cfr_writer *w, const char *key, int64_t unix_s)
{
    time_t at = (time_t)unix_s;
    struct tm tm = {0};
    char text[96];

    (void)gmtime_r(&at, &tm);
    (void)snprintf(text, sizeof text, "%d/%d/%d %d:%02d:%02d %s +00:00", tm.tm_mon + 1, tm.tm_mday, tm.tm_year + 1900,
                   tm.tm_hour % 12 != 0 ? tm.tm_hour % 12 : 12, tm.tm_min, tm.tm_sec, tm.tm_hour < 12 ? "AM" : "PM");
    cfr_writer_string(w, key, cfr_view_of(text));
}

/* Clients check that the answer names the identity that they requested. */
static void write_identity(const struct ask *a, struct cfr_writer *w)
{
    cfr_writer_optional(w, "client_id", client_of(a->identity, &a->offer));
    if (a->identity->object_id != NULL)
        cfr_writer_string(w, "object_id", cfr_view_of(a->identity->object_id));
    if (a->identity->resource_id != NULL)
        cfr_writer_string(w, "msi_res_id", cfr_view_of(a->identity->resource_id));
}

/* All values are texts; the resource is the client's own spelling. */
static void write_token(struct ask *a, struct cfr_view token)
{
    int64_t now_s = a->world->now_s;
    bool ends = a->offer.expires_s != 0;
    int64_t expires_s = ends ? a->offer.expires_s : now_s + ENDLESS_S;
    int64_t left_s = ends ? cfr_sdk_endpoint_offer_left_s(&a->offer, now_s) : ENDLESS_S;
    struct cfr_writer w = cfr_sdk_endpoint_json(a->out, 200, JSON_TYPE);

    cfr_writer_object(&w, NULL);
    cfr_writer_string(&w, "access_token", token);
    write_identity(a, &w);
    if (!a->app_service)
        write_number(&w, "expires_in", left_s);
    if (a->legacy)
        write_date(&w, "expires_on", expires_s);
    else
        write_number(&w, "expires_on", expires_s);
    if (!a->app_service) {
        write_number(&w, "ext_expires_in", left_s);
        write_number(&w, "not_before", a->offer.issued_s != 0 ? a->offer.issued_s : now_s);
        cfr_writer_string(&w, "refresh_token", cfr_view_of(""));
    }
    cfr_writer_string(&w, "resource", cfr_view_of(a->resource));
    cfr_writer_string(&w, "token_type", cfr_view_of("Bearer"));
    cfr_writer_close(&w);
    cfr_sdk_endpoint_end(a->out, &w);
}

static void answer(struct ask *a)
{
    struct cfr_view token;

    if (!read_query(a) || !choose(a))
        return;
    if (!cfr_sdk_endpoint_offer_lasts(&a->offer, a->world->now_s))
        not_now(a, &a->offer);
    else if (cfr_sdk_azure_resource_token(a->offer.grant, cfr_view_of(a->resource), &token))
        write_token(a, token);
    else
        no_token(a);
}

static bool answer_imds(const void *config, const struct cfr_sdk_endpoint_request *r,
                        const struct cfr_sdk_endpoint_world *w, struct cfr_sdk_endpoint_answer *out)
{
    struct ask a = {.config = config, .request = r, .world = w, .out = out};

    if (!is_below(r->path, "/metadata"))
        return false;
    if (!welcome(&a))
        return true;
    /* SDKs leave the header out to see whether an endpoint is there: the refusal is what they look for. */
    if (!cfr_view_is_nocase(cfr_view_trim(cfr_sdk_endpoint_asked(r, "Metadata")), "true"))
        refuse(&a, 400, "bad_request_102", "Required metadata header not specified");
    else if (!is_path(r->path, "/metadata/identity/oauth2/token"))
        refuse(&a, 404, "not_found", "only /metadata/identity/oauth2/token is served here");
    else
        answer(&a);
    return true;
}

static bool answer_app_service(const void *config, const struct cfr_sdk_endpoint_request *r,
                               const struct cfr_sdk_endpoint_world *w, struct cfr_sdk_endpoint_answer *out)
{
    struct ask a = {.config = config, .request = r, .world = w, .out = out, .app_service = true};
    struct cfr_view shown = cfr_sdk_endpoint_asked(r, "X-IDENTITY-HEADER");
    struct cfr_view wanted;

    if (!is_path(r->path, "/msi/token"))
        return false;
    if (!welcome(&a))
        return true;
    if (shown.p == NULL) {
        shown = cfr_sdk_endpoint_asked(r, "Secret");
        a.legacy = shown.p != NULL;
    }
    wanted = w->secret_file(w->ctx, a.config->header != NULL ? a.config->header->file : NULL);
    if (wanted.p == NULL) {
        not_now(&a, &(struct cfr_offer){.why = "what clients have to show cannot be read at this moment",
                                        .retry_after_s = 1});
        out->refused = "the header_file cannot be read";
    } else if (!cfr_sdk_endpoint_same_secret(shown, wanted)) {
        turn_away(&a, 401, "unauthorized", "the header X-IDENTITY-HEADER is missing or not the one that is expected");
    } else {
        answer(&a);
    }
    return true;
}

/* ---- its configuration ---- */

#define AT(member) offsetof(struct cfr_sdk_azure_identity, member)
static const struct cfr_field identity_fields[] = {
    {FIELD(credential, STRING), .flags = CFR_FIELD_REQUIRED, .min = 1, .max = 63,
     .doc = CFR_DOC(CFR_SDK_SHAPE_DOC_CREDENTIAL)},
    {FIELD(client_id, STRING), .min = 1, .max = 64,
     .doc = CFR_DOC("The client id by which a client selects it. Default: that of the exchange.")},
    {FIELD(object_id, STRING), .min = 1, .max = 64,
     .doc = CFR_DOC("The object id by which a client selects it. Default: none.")},
    {FIELD(resource_id, STRING), .min = 1, .max = 1024,
     .doc = CFR_DOC("The resource id by which a client selects it: `/subscriptions/...`. Default: none.")},
    {.key = NULL},
};
#undef AT

static const struct cfr_table identity_table = {
    .name = "identity",
    .size = sizeof(struct cfr_sdk_azure_identity),
    .fields = identity_fields,
    .doc = CFR_DOC("A managed identity."),
};

#define AT(member) offsetof(struct cfr_sdk_azure, member)
static const struct cfr_field imds_fields[] = {
    {FIELD(identities, LIST), .flags = CFR_FIELD_REQUIRED, .table = &identity_table, .min = 1,
     .max = CFR_SDK_SHAPE_LIST_MAX, .doc = CFR_DOC("The identities. The first one answers clients that select none.")},
    {.key = NULL},
};
#undef AT

static const struct cfr_table imds_table = {
    .name = "Azure metadata endpoint",
    .size = sizeof(struct cfr_sdk_azure),
    .fields = imds_fields,
    .doc = CFR_DOC("Azure's instance metadata service for managed identities (`AZURE_POD_IDENTITY_AUTHORITY_HOST`). "
                   "Clients send no secret: every process that can connect gets the credentials."),
};

#define AT(member) offsetof(struct cfr_sdk_azure, member)
static const struct cfr_field app_service_fields[] = {
    {FIELD(identities, LIST), .flags = CFR_FIELD_REQUIRED, .table = &identity_table, .min = 1,
     .max = CFR_SDK_SHAPE_LIST_MAX, .doc = CFR_DOC("The identities. The first one answers clients that select none.")},
    {FIELD(header, MAP), .flags = CFR_FIELD_REQUIRED, .table = &cfr_sdk_client_secret_table,
     .doc = CFR_DOC("What the client's X-IDENTITY-HEADER must contain: the SDK's `IDENTITY_HEADER`.")},
    {.key = NULL},
};
#undef AT

static const struct cfr_table app_service_table = {
    .name = "Azure App Service endpoint",
    .size = sizeof(struct cfr_sdk_azure),
    .fields = app_service_fields,
    .doc = CFR_DOC("Managed identities as Azure App Service has them (`IDENTITY_ENDPOINT` with the path /msi/token)."),
};

static void each_identity(const struct cfr_sdk_azure *c, const char *key, cfr_sdk_use_fn *each, void *ctx)
{
    for (size_t i = 0; i < c->identities.count; i++)
        each(ctx, &(struct cfr_sdk_use){.credential = identity_at(c, i)->credential,
                                        .key = key,
                                        .line = identity_at(c, i)->node.line,
                                        .field = CFR_FIELD_AZURE_ACCESS_TOKEN});
}

static void each_imds_use(const void *config, cfr_sdk_use_fn *each, void *ctx)
{
    each_identity(config, "azure_imds.identities.credential", each, ctx);
}

static void each_app_service_use(const void *config, cfr_sdk_use_fn *each, void *ctx)
{
    each_identity(config, "azure_app_service.identities.credential", each, ctx);
}

static const struct cfr_sdk_client_secret *client_secret(const void *config)
{
    return ((const struct cfr_sdk_azure *)config)->header;
}

static int set_azure(struct cfr_sdk_env *e, const struct cfr_sdk_azure *c, const char *listen, struct cfr_err *err)
{
    int rc;

    if (c->header == NULL)
        return cfr_sdk_shape_set_url(e, CFR_SDK_ENV_AZURE_IMDS, "AZURE_POD_IDENTITY_AUTHORITY_HOST", listen, "", err);
    rc = cfr_sdk_shape_set_url(e, CFR_SDK_ENV_AZURE_APP_SERVICE, "IDENTITY_ENDPOINT", listen, "/msi/token", err);
    return rc != 0 ? rc
                   : cfr_sdk_env_set_file(e, CFR_SDK_ENV_AZURE_APP_SERVICE, "IDENTITY_HEADER", c->header->file, err);
}

static int add_env(struct cfr_sdk_env *e, const void *config, const char *listen, const char *credential,
                   const char *client_id, struct cfr_err *err)
{
    const struct cfr_sdk_azure *c = config;
    enum cfr_sdk_env_way way = c->header != NULL ? CFR_SDK_ENV_AZURE_APP_SERVICE : CFR_SDK_ENV_AZURE_IMDS;
    const struct cfr_sdk_azure_identity *id;
    size_t i = 0;
    int rc;

    while (i < c->identities.count && !cfr_sdk_shape_names(identity_at(c, i)->credential, credential))
        i++;
    if (i == c->identities.count)
        return 0;
    if (cfr_sdk_env_has_way(e, way))
        return cfr_sdk_shape_note_second(e, listen, "", err);
    id = identity_at(c, i);
    client_id = cfr_sdk_shape_given(id->client_id) ? id->client_id : client_id;
    if (i != 0 && !cfr_sdk_shape_given(client_id))
        return cfr_sdk_env_note(
            e, err,
            "http://%s serves it to those who select it by its object or resource ID, which no variable can "
            "say: write its client_id there",
            listen);
    rc = set_azure(e, c, listen, err);
    if (rc == 0 && cfr_sdk_shape_given(client_id))
        rc = cfr_sdk_env_set(e, way, "AZURE_CLIENT_ID", client_id, err);
    return rc;
}

const struct cfr_sdk_shape cfr_sdk_azure_imds_shape = {
    .name = "azure_imds",
    .doc = CFR_DOC("Azure's instance metadata."),
    .table = &imds_table,
    .prefix = "/metadata",
    .each_use = each_imds_use,
    .answer = answer_imds,
    .env = add_env,
};

const struct cfr_sdk_shape cfr_sdk_azure_app_service_shape = {
    .name = "azure_app_service",
    .doc = CFR_DOC("Azure App Service's managed identities."),
    .table = &app_service_table,
    .prefix = "/msi",
    .each_use = each_app_service_use,
    .client_secret = client_secret,
    .answer = answer_app_service,
    .env = add_env,
};
