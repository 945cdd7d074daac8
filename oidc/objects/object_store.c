/* SPDX-License-Identifier: MIT */
/* Object stores: which one a URL names, and requests to it. */
#include "oidc/objects/object_store.h"

#include "base/str.h"
#include "base/time.h"
#include "wire/url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOB_VERSION "2021-12-02" /* of the API; tokens are taken since 2017-11-09 */
#define TOKEN_MAX    65536

static const struct kind {
    const char *word;
    const char *name;
    const char *host; /* what the names of its hosts end with; NULL: see is_s3 */
} kinds[] = {
    [CFR_OBJECTS_S3] = {"s3", "Amazon S3", NULL},
    [CFR_OBJECTS_BLOB] = {"blob", "Azure Blob Storage", ".blob.core."},
    [CFR_OBJECTS_GCS] = {"gcs", "Google Cloud Storage", "storage."},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

const char *cfr_objects_name(enum cfr_objects_kind kind)
{
    return kinds[kind].name;
}

const char *cfr_objects_version_header(enum cfr_objects_kind kind)
{
    return kind == CFR_OBJECTS_GCS ? "x-goog-generation" : "ETag";
}

/* ---- which store ---- */

/* Fills REGION from `s3.REGION.` or `s3.dualstack.REGION.` in HOST, whose first labels may be a bucket's name. */
static bool is_s3(const char *host, char region[CFR_AWS_REGION_MAX])
{
    const char *at = strncmp(host, "s3.", 3) == 0 ? host + 3 : strstr(host, ".s3.");
    size_t n;

    if (at == NULL || strstr(host, ".amazonaws.") == NULL)
        return false;
    if (at != host + 3)
        at += 4;
    if (strncmp(at, "dualstack.", 10) == 0)
        at += 10;
    n = strcspn(at, ".");
    if (n < CFR_AWS_REGION_MAX && strncmp(at, "amazonaws.", 10) != 0) {
        memcpy(region, at, n);
        region[n] = '\0';
    }
    return true;
}

static bool guess_kind(const char *url, struct cfr_objects_store *out)
{
    struct cfr_url parts;
    char host[CFR_AWS_ENDPOINT_MAX];

    if (cfr_url_parse(url, &parts, NULL) != 0 || parts.host.n >= sizeof host)
        return false;
    memcpy(host, parts.host.p, parts.host.n);
    host[parts.host.n] = '\0';
    if (is_s3(host, out->region))
        out->kind = CFR_OBJECTS_S3;
    else if (strstr(host, kinds[CFR_OBJECTS_BLOB].host) != NULL)
        out->kind = CFR_OBJECTS_BLOB;
    else if (strncmp(host, kinds[CFR_OBJECTS_GCS].host, strlen(kinds[CFR_OBJECTS_GCS].host)) == 0)
        out->kind = CFR_OBJECTS_GCS;
    else
        return false;
    return true;
}

/* Takes `WORD:` or `s3@REGION:` from the begin of *TEXT. False if there is none. */
static bool read_word(const char **text, struct cfr_objects_store *out)
{
    const char *at = *text;

    for (size_t i = 0; i < KINDS; i++) {
        size_t n = strlen(kinds[i].word);
        size_t region = 0;

        if (strncmp(at, kinds[i].word, n) != 0)
            continue;
        if (i == CFR_OBJECTS_S3 && at[n] == '@')
            region = strcspn(at + n, ":");
        if (at[n + region] != ':' || region > sizeof out->region)
            continue;
        out->kind = (enum cfr_objects_kind)i;
        if (region != 0)
            (void)snprintf(out->region, sizeof out->region, "%.*s", (int)region - 1, at + n + 1);
        *text = at + n + region + 1;
        return true;
    }
    return false;
}

/* The container of a static website is $web: the only one whose name is not plain. */
static int check_url(const char *text, bool blob, struct cfr_err *err)
{
    static const char *const spellings[] = {"/$web", "/%24web"};
    struct cfr_wire_aws_endpoint e;
    char plain[CFR_AWS_ENDPOINT_MAX];
    size_t n = strlen(text);

    while (n != 0 && text[n - 1] == '/')
        n--;
    for (size_t i = 0; blob && n < sizeof plain && i < sizeof spellings / sizeof spellings[0]; i++) {
        size_t end = strlen(spellings[i]);

        if (n > end && strncmp(text + n - end, spellings[i], end) == 0) {
            (void)snprintf(plain, sizeof plain, "%.*s", (int)(n - end), text);
            return cfr_wire_aws_endpoint_parse(plain, &e, err);
        }
    }
    return cfr_wire_aws_endpoint_parse(text, &e, err);
}

int cfr_objects_parse(const char *text, struct cfr_objects_store *out, struct cfr_err *err)
{
    struct cfr_objects_store guess = {.base = ""};
    bool known;
    bool said;
    size_t n;
    int rc;

    *out = (struct cfr_objects_store){.base = ""};
    said = read_word(&text, out);
    known = guess_kind(text, &guess);
    rc = check_url(text, said ? out->kind == CFR_OBJECTS_BLOB : known && guess.kind == CFR_OBJECTS_BLOB, err);
    if (rc != 0)
        return rc;
    if (!said && !known)
        return cfr_err_set(
            err, CFR_E_CONFIG,
            "the host is not one of AWS, Azure or Google: write s3@REGION:, blob: or gcs: before the URL");
    if (!said)
        out->kind = guess.kind;
    if (out->region[0] == '\0')
        memcpy(out->region, guess.region, sizeof out->region);
    n = strlen(text);
    while (n != 0 && text[n - 1] == '/')
        n--;
    (void)snprintf(out->base, sizeof out->base, "%.*s", (int)n, text);
    if (out->kind == CFR_OBJECTS_S3 && !cfr_wire_aws_region_ok(cfr_view_of(out->region)))
        return cfr_err_set(err, CFR_E_CONFIG,
                           "the host does not name the region of S3: write it before the URL, such as s3@us-east-1:");
    return 0;
}

/* ---- requests ---- */

static int set_url(const struct cfr_objects_store *store, const char *name, struct cfr_wire_request *out,
                   struct cfr_err *err)
{
    struct cfr_str url = {.limit = (size_t)2 * CFR_AWS_ENDPOINT_MAX};

    cfr_str_addf(&url, "%s/%s", store->base, name);
    return cfr_wire_request_url(out, &url, err);
}

static int add_bearer(const struct cfr_objects_store *store, const struct cfr_grant *g, struct cfr_wire_request *out,
                      struct cfr_err *err)
{
    bool azure = store->kind == CFR_OBJECTS_BLOB;
    struct cfr_view token = cfr_grant_get(g, azure ? CFR_FIELD_AZURE_ACCESS_TOKEN : CFR_FIELD_GCP_ACCESS_TOKEN);
    struct cfr_secret value;
    int rc;

    if (token.n == 0 || !cfr_view_printable(token))
        return cfr_err_set(err, CFR_E_CONFIG, "the credential has no access token for %s: %s", kinds[store->kind].name,
                           azure ? "its exchange is azure, with the scope https://storage.azure.com/.default"
                                 : "its exchange is gcp");
    cfr_secret_init(&value, TOKEN_MAX + 16);
    rc = cfr_secret_append_str(&value, "Bearer ", err);
    if (rc == 0)
        rc = cfr_secret_append(&value, token, err);
    if (rc == 0)
        rc = cfr_wire_request_header(out, "Authorization", cfr_secret_view(&value), err);
    cfr_secret_free(&value);
    return rc;
}

/* Another program may have written the object since it was read. S3 does not require the header to be signed. */
static int add_condition(const struct cfr_objects_store *store, const char *version, struct cfr_wire_request *out,
                         struct cfr_err *err)
{
    bool exists = version != NULL && version[0] != '\0';

    if (version == NULL)
        return 0;
    if (store->kind == CFR_OBJECTS_GCS)
        return cfr_wire_request_header(out, "x-goog-if-generation-match", cfr_view_of(exists ? version : "0"), err);
    return cfr_wire_request_header(out, exists ? "If-Match" : "If-None-Match", cfr_view_of(exists ? version : "*"),
                                   err);
}

static int build_s3(const struct cfr_objects_store *store, const struct cfr_grant *g, const char *name,
                    const char *content_type, int64_t now_s, struct cfr_wire_request *out, struct cfr_err *err)
{
    const struct cfr_wire_aws_keys keys = {
        .id = cfr_grant_get(g, CFR_FIELD_AWS_ACCESS_KEY_ID),
        .secret = cfr_grant_get(g, CFR_FIELD_AWS_SECRET_ACCESS_KEY),
        .session_token = cfr_grant_get(g, CFR_FIELD_AWS_SESSION_TOKEN),
    };
    struct cfr_wire_aws_endpoint e;
    const struct cfr_wire_aws_call call = {
        .endpoint = &e,
        .service = "s3",
        .method = out->method,
        .hashed = true,
        .content_type = content_type,
        .keys = &keys,
        .now_s = now_s,
    };
    size_t n;
    int rc = cfr_wire_aws_endpoint_parse(store->base, &e, err);

    if (rc != 0)
        return rc;
    if (keys.id.n == 0 || keys.secret.n == 0)
        return cfr_err_set(err, CFR_E_CONFIG, "the credential has no keys for Amazon S3: its exchange is aws");
    n = strcmp(e.path, "/") == 0 ? 0 : strlen(e.path);
    if (snprintf(e.path + n, sizeof e.path - n, "/%s", name) >= (int)(sizeof e.path - n))
        return cfr_err_set(err, CFR_E_CONFIG, "the path of %.80s is too long", name);
    (void)snprintf(e.region, sizeof e.region, "%s", store->region);
    return cfr_wire_aws_request(&call, out, err);
}

static int build_blob(const struct cfr_objects_store *store, const struct cfr_grant *g,
                      const struct cfr_objects_content *object, const char *name, int64_t now_s,
                      struct cfr_wire_request *out, struct cfr_err *err)
{
    char date[CFR_TIME_HTTP_MAX];
    int rc = set_url(store, name, out, err);

    if (rc == 0)
        rc = add_bearer(store, g, out, err);
    if (rc == 0)
        rc = cfr_wire_request_header(out, "x-ms-version", cfr_view_of(BLOB_VERSION), err);
    if (rc == 0)
        rc = cfr_wire_request_header(out, "x-ms-date", cfr_view_of(cfr_time_format_http(now_s, date)), err);
    if (rc == 0 && object != NULL)
        rc = cfr_wire_request_header(out, "x-ms-blob-type", cfr_view_of("BlockBlob"), err);
    if (rc == 0 && object != NULL)
        rc = cfr_wire_request_header(out, "Content-Type", cfr_view_of(object->content_type), err);
    /* Cache-Control of the request would be its own. */
    if (rc == 0 && object != NULL)
        rc = cfr_wire_request_header(out, "x-ms-blob-cache-control", cfr_view_of(object->cache_control), err);
    return rc;
}

static int build_gcs(const struct cfr_objects_store *store, const struct cfr_grant *g,
                     const struct cfr_objects_content *object, const char *name, struct cfr_wire_request *out,
                     struct cfr_err *err)
{
    int rc = set_url(store, name, out, err);

    if (rc == 0)
        rc = add_bearer(store, g, out, err);
    if (rc == 0 && object != NULL)
        rc = cfr_wire_request_header(out, "Content-Type", cfr_view_of(object->content_type), err);
    if (rc == 0 && object != NULL)
        rc = cfr_wire_request_header(out, "Cache-Control", cfr_view_of(object->cache_control), err);
    return rc;
}

static int build(const struct cfr_objects_store *store, const struct cfr_grant *g,
                 const struct cfr_objects_content *object, const char *name, int64_t now_s,
                 struct cfr_wire_request *out, struct cfr_err *err)
{
    int rc;

    switch (store->kind) {
    case CFR_OBJECTS_S3:
        rc = build_s3(store, g, name, object != NULL ? object->content_type : NULL, now_s, out, err);
        /* Not signed, which S3 does not ask for. */
        if (rc == 0 && object != NULL)
            rc = cfr_wire_request_header(out, "Cache-Control", cfr_view_of(object->cache_control), err);
        return rc;
    case CFR_OBJECTS_BLOB:
        return build_blob(store, g, object, name, now_s, out, err);
    case CFR_OBJECTS_GCS:
        return build_gcs(store, g, object, name, out, err);
    }
    return cfr_err_set(err, CFR_E_INTERNAL, "unknown kind of object store");
}

int cfr_objects_put(const struct cfr_objects_store *store, const struct cfr_grant *g,
                    const struct cfr_objects_content *object, int64_t now_s, struct cfr_wire_request *out,
                    struct cfr_err *err)
{
    int rc;

    out->method = "PUT";
    cfr_secret_init(&out->body, CFR_OBJECTS_OBJECT_MAX);
    rc = cfr_secret_append(&out->body, object->bytes, err);
    if (rc == 0)
        rc = build(store, g, object, object->name, now_s, out, err);
    return rc != 0 ? rc : add_condition(store, object->version, out, err);
}

int cfr_objects_get(const struct cfr_objects_store *store, const struct cfr_grant *g, const char *name, int64_t now_s,
                    struct cfr_wire_request *out, struct cfr_err *err)
{
    out->method = "GET";
    return build(store, g, NULL, name, now_s, out, err);
}
