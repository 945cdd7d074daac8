/* SPDX-License-Identifier: MIT */
/* Object stores: their buckets, who may write, and what a cache in front of them still shows. */
#include "objects.h"

#include "auth.h"
#include "azure.h"
#include "gcp.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OBJECTS = 64, MOST_NAME = 512, MOST_BYTES = 1048576 };

#define STORAGE      "https://storage.azure.com"
#define OLDEST_API   "2017-11-09" /* that takes tokens */
#define GCS_WRITES_1 "devstorage.read_write"
#define GCS_WRITES_2 "devstorage.full_control"
#define GCS_WRITES_3 "cloud-platform"

/* An object, or a cache's copy of one. */
struct object {
    char name[MOST_NAME]; /* STORE/BUCKET/KEY */
    char type[128];
    char cache[128];
    char *bytes;
    size_t len;
    unsigned long generation;
    double until; /* a copy is shown until then */
};

struct lc_objects {
    pthread_mutex_t lock;
    unsigned long writes;
    struct object objects[MOST_OBJECTS];
    struct object copies[MOST_OBJECTS];
};

/* One request, taken apart. */
struct call {
    struct lc_visit *visit;
    const char *store; /* "s3", "blob", "gcs" */
    char name[MOST_NAME];
    json_t *bucket; /* borrowed from the settings */
};

static const char *text_of(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text == NULL ? "" : text;
}

/* ---- refusals: all three write the same XML ---- */

static void service_refuse(struct lc_visit *visit, const struct lc_refusal *refusal)
{
    struct lc_buf *out = &visit->reply->body;

    visit->reply->status = refusal->status;
    lc_reply_header(visit->reply, "Content-Type", "application/xml");
    lc_reply_header(visit->reply, strstr(visit->action->name, "blob") != NULL ? "x-ms-request-id" : "x-amz-request-id",
                    visit->id);
    lc_buf_text(out, "<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>");
    lc_buf_text(out, refusal->code);
    lc_buf_text(out, "</Code><Message>");
    for (const char *c = refusal->message; *c != '\0'; c++) {
        lc_buf_text(out, *c == '<' ? "&lt;" : *c == '&' ? "&amp;" : "");
        lc_buf_add(out, c, *c == '<' || *c == '&' ? 0 : 1);
    }
    lc_buf_format(out, "</Message><RequestId>%s</RequestId></Error>", visit->id);
}

/* STS's front end has other names for what S3 says. */
static void refuse_caller(struct lc_visit *visit, const struct lc_refusal *refusal)
{
    static const struct {
        const char *from;
        const char *part; /* of the message */
        unsigned status;
        const char *to;
    } rows[] = {
        {"SignatureDoesNotMatch", "valid region", 400, "AuthorizationHeaderMalformed"},
        {"SignatureDoesNotMatch", "correct service", 400, "AuthorizationHeaderMalformed"},
        {"SignatureDoesNotMatch", "Signature expired", 403, "RequestTimeTooSkewed"},
        {"SignatureDoesNotMatch", "not yet current", 403, "RequestTimeTooSkewed"},
        {"InvalidClientTokenId", "", 403, "InvalidAccessKeyId"},
        {"ExpiredToken", "", 400, "ExpiredToken"},
        {"MissingAuthenticationToken", "", 403, "AccessDenied"},
        {"IncompleteSignature", "", 400, "AuthorizationHeaderMalformed"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].from, refusal->code) == 0 && strstr(refusal->message, rows[i].part) != NULL) {
            (void)lc_visit_refuse(visit, rows[i].status, rows[i].to, "%s", refusal->message);
            return;
        }
    }
    (void)lc_visit_refuse(visit, refusal->status, refusal->code, "%s", refusal->message);
}

/* ---- who calls ---- */

static bool writes(const struct call *call, const char *who)
{
    json_t *item = NULL;
    size_t index = 0;

    json_array_foreach(json_object_get(call->bucket, "writers"), index, item)
    {
        if (lc_text_like(json_string_value(item), who)) {
            (void)snprintf(call->visit->record.role, sizeof call->visit->record.role, "%s", who);
            return true;
        }
    }
    return false;
}

static int check_s3(struct call *call)
{
    struct lc_visit *visit = call->visit;
    const char *region = json_string_value(json_object_get(call->bucket, "region"));
    struct lc_caller caller = {0};
    struct lc_refusal refusal = {0};
    int result = 0;

    if (lc_request_header(visit->request, "x-amz-content-sha256") == NULL) {
        return lc_visit_refuse(visit, 400, "InvalidRequest",
                               "Missing required header for this request: x-amz-content-sha256");
    }
    lc_trust_lock(visit->cloud->trust);
    result = lc_auth_caller_for(visit->cloud, visit->request, "s3", region != NULL ? region : visit->cloud->region,
                                &caller, &refusal);
    lc_trust_unlock(visit->cloud->trust);
    if (result != 0) {
        refuse_caller(visit, &refusal);
    } else if (call->bucket != NULL && !writes(call, caller.principal)) {
        result = lc_visit_refuse(visit, 403, "AccessDenied", "Access Denied");
    }
    lc_auth_free(&caller);
    return result;
}

static int check_blob(struct call *call)
{
    struct lc_visit *visit = call->visit;
    const char *version = lc_request_header(visit->request, "x-ms-version");
    const char *token = lc_visit_bearer(visit);
    struct lc_azure_access access = {0};
    int result = 0;

    if (version == NULL || strcmp(version, OLDEST_API) < 0) {
        return lc_visit_refuse(visit, 403, "AuthenticationFailed",
                               "Server failed to authenticate the request. Tokens need x-ms-version " OLDEST_API
                               " or later.");
    }
    if (lc_request_header(visit->request, "x-ms-date") == NULL && lc_request_header(visit->request, "date") == NULL) {
        return lc_visit_refuse(visit, 400, "MissingRequiredHeader",
                               "An HTTP header that's mandatory for this request is not specified.");
    }
    if (token == NULL) {
        return lc_visit_refuse(visit, 401, "NoAuthenticationInformation", "Server failed to authenticate the request.");
    }
    lc_azure_open(visit->cloud, token, &access);
    if (access.claims == NULL || access.expired) {
        result = lc_visit_refuse(visit, 401, "InvalidAuthenticationInfo",
                                 "Server failed to authenticate the request. Please refer to the information in the "
                                 "www-authenticate header.");
    } else if (!lc_azure_same_resource(access.audience, STORAGE)) {
        result = lc_visit_refuse(visit, 403, "AuthenticationFailed", "Audience validation failed.");
    } else if (call->bucket != NULL && !writes(call, access.client_id)) {
        result = lc_visit_refuse(visit, 403, "AuthorizationPermissionMismatch",
                                 "This request is not authorized to perform this operation using this permission.");
    }
    json_decref(access.claims);
    return result;
}

static int check_gcs(struct call *call)
{
    struct lc_visit *visit = call->visit;
    json_t *own = visit->settings;
    struct lc_held *held = lc_service_hold(visit->cloud, &lc_gcp_service, &visit->settings);
    struct lc_gcp_caller caller = {0};
    int result = 0;

    if (lc_visit_bearer(visit) == NULL) {
        result = lc_visit_refuse(visit, 401, "AuthenticationRequired", "Authentication required.");
    } else if (lc_gcp_caller(visit, &caller) != 0) {
        /* In the words of the JSON interface; this is the XML one. */
        visit->reply->body.len = 0;
        result = lc_visit_refuse(visit, 401, "AuthenticationRequired", "The provided token is invalid or has expired.");
    } else if (!lc_gcp_scoped(caller.scopes, GCS_WRITES_1) && !lc_gcp_scoped(caller.scopes, GCS_WRITES_2) &&
               !lc_gcp_scoped(caller.scopes, GCS_WRITES_3)) {
        result = lc_visit_refuse(visit, 403, "AccessDenied", "Provided scope(s) are not authorized");
    } else if (call->bucket != NULL && !writes(call, caller.identity)) {
        result = lc_visit_refuse(visit, 403, "AccessDenied",
                                 "%s does not have storage.objects.create access to the object.", caller.identity);
    }
    json_decref(caller.content);
    visit->settings = own;
    lc_service_release(held);
    return result;
}

static int check_caller(struct call *call)
{
    return strcmp(call->store, "s3") == 0     ? check_s3(call)
           : strcmp(call->store, "blob") == 0 ? check_blob(call)
                                              : check_gcs(call);
}

/* ---- objects ---- */

static struct object *find(struct object *list, const char *name)
{
    for (size_t i = 0; i < MOST_OBJECTS; i++) {
        if (list[i].bytes != NULL && strcmp(list[i].name, name) == 0) {
            return &list[i];
        }
    }
    return NULL;
}

static bool put(struct object *list, const struct object *content, const char *bytes)
{
    struct object *at = find(list, content->name);
    char *copy = malloc(content->len + 1);

    for (size_t i = 0; at == NULL && i < MOST_OBJECTS; i++) {
        at = list[i].bytes == NULL ? &list[i] : NULL;
    }
    if (at == NULL || copy == NULL) {
        free(copy);
        return false;
    }
    memcpy(copy, bytes, content->len);
    free(at->bytes);
    *at = *content;
    at->bytes = copy;
    return true;
}

static void write_version(const struct object *object, bool quoted, char text[32])
{
    (void)snprintf(text, 32, quoted ? "\"%lx\"" : "%lu", object->generation);
}

/* The conditions of a write; the lock is held. NULL: it may be; else the code of the refusal. */
static const char *check_condition(const struct call *call, const struct object *found)
{
    const struct lc_request *request = call->visit->request;
    const char *match = lc_request_header(request, "if-match");
    const char *none = lc_request_header(request, "if-none-match");
    const char *generation = lc_request_header(request, "x-goog-if-generation-match");
    bool blob = strcmp(call->store, "blob") == 0;
    char text[32] = "0";

    if (strcmp(call->store, "gcs") == 0) {
        if (found != NULL) {
            write_version(found, false, text);
        }
        return generation != NULL && strcmp(generation, text) != 0 ? "PreconditionFailed" : NULL;
    }
    if (found != NULL) {
        write_version(found, true, text);
    }
    if (none != NULL && strcmp(none, "*") == 0 && found != NULL) {
        return blob ? "BlobAlreadyExists" : "PreconditionFailed";
    }
    if (match != NULL && strcmp(match, text) != 0) {
        return blob ? "ConditionNotMet" : "PreconditionFailed";
    }
    return NULL;
}

static void show(struct lc_visit *visit, const struct object *object)
{
    char text[32];

    visit->reply->status = 200;
    lc_reply_header(visit->reply, "Content-Type", object->type);
    write_version(object, true, text);
    lc_reply_header(visit->reply, "ETag", text);
    write_version(object, false, text);
    lc_reply_header(visit->reply, "x-goog-generation", text);
    if (object->cache[0] != '\0') {
        lc_reply_header(visit->reply, "Cache-Control", object->cache);
    }
    lc_buf_add(&visit->reply->body, object->bytes, object->len);
}

/* The path is PREFIX STORE/BUCKET/KEY. */
static int open_call(struct lc_visit *visit, const char *prefix, struct call *call)
{
    static const char *const stores[] = {"s3", "blob", "gcs"};
    const char *path = visit->request->path + strlen(prefix);
    size_t store = strcspn(path, "/");
    const char *bucket = path + store + (path[store] == '/');
    size_t len = strcspn(bucket, "/");
    json_t *item = NULL;
    size_t index = 0;

    *call = (struct call){.visit = visit};
    for (size_t i = 0; i < sizeof stores / sizeof stores[0]; i++) {
        if (strlen(stores[i]) == store && strncmp(path, stores[i], store) == 0) {
            call->store = stores[i];
        }
    }
    if (call->store == NULL || len == 0 || bucket[len] != '/' || bucket[len + 1] == '\0' ||
        strlen(path) >= sizeof call->name || !lc_text_only(path, "-._~/") || visit->request->query[0] != '\0') {
        return lc_visit_refuse(visit, 400, "InvalidURI", "Couldn't parse the specified URI.");
    }
    (void)snprintf(call->name, sizeof call->name, "%s", path);
    json_array_foreach(json_object_get(visit->settings, "buckets"), index, item)
    {
        const char *name = text_of(item, "name");
        if (strcmp(text_of(item, "store"), call->store) == 0 && strlen(name) == len &&
            strncmp(name, bucket, len) == 0) {
            call->bucket = item;
        }
    }
    return 0;
}

static int refuse_missing(const struct call *call, bool bucket)
{
    if (strcmp(call->store, "blob") == 0) {
        return lc_visit_refuse(call->visit, 404, bucket ? "ContainerNotFound" : "BlobNotFound",
                               bucket ? "The specified container does not exist."
                                      : "The specified blob does not exist.");
    }
    return lc_visit_refuse(call->visit, 404, bucket ? "NoSuchBucket" : "NoSuchKey",
                           bucket ? "The specified bucket does not exist" : "The specified key does not exist.");
}

static bool is_anonymous(const struct lc_visit *visit)
{
    return lc_request_header(visit->request, "authorization") == NULL;
}

static void get_object(struct lc_visit *visit)
{
    struct lc_objects *all = visit->cloud->objects;
    struct call call = {0};
    struct object *found = NULL;

    if (open_call(visit, "/objects/", &call) != 0) {
        return;
    }
    if (is_anonymous(visit) && !json_is_true(json_object_get(call.bucket, "public"))) {
        (void)lc_visit_refuse(visit, strcmp(call.store, "blob") == 0 ? 404 : 403,
                              strcmp(call.store, "blob") == 0 ? "ResourceNotFound" : "AccessDenied", "Access Denied");
        return;
    }
    if (!is_anonymous(visit) && check_caller(&call) != 0) {
        return;
    }
    if (call.bucket == NULL) {
        (void)refuse_missing(&call, true);
        return;
    }
    (void)pthread_mutex_lock(&all->lock);
    found = find(all->objects, call.name);
    if (found != NULL) {
        show(visit, found);
    } else if (is_anonymous(visit) && strcmp(call.store, "blob") != 0) {
        (void)lc_visit_refuse(visit, 403, "AccessDenied", "Access Denied"); /* it may not list */
    } else {
        (void)refuse_missing(&call, false);
    }
    (void)pthread_mutex_unlock(&all->lock);
}

static bool read_headers(struct call *call, struct object *out)
{
    const struct lc_request *request = call->visit->request;
    bool blob = strcmp(call->store, "blob") == 0;
    const char *type = blob ? lc_request_header(request, "x-ms-blob-content-type") : NULL;
    const char *cache = lc_request_header(request, blob ? "x-ms-blob-cache-control" : "cache-control");
    const char *kind = lc_request_header(request, "x-ms-blob-type");

    type = type == NULL ? lc_request_header(request, "content-type") : type;
    if (blob && (kind == NULL || strcmp(kind, "BlockBlob") != 0)) {
        (void)lc_visit_refuse(call->visit, 400, "MissingRequiredHeader",
                              "An HTTP header that's mandatory for this request is not specified: x-ms-blob-type");
        return false;
    }
    (void)snprintf(out->name, sizeof out->name, "%s", call->name);
    (void)snprintf(out->type, sizeof out->type, "%s", type != NULL ? type : "application/octet-stream");
    (void)snprintf(out->cache, sizeof out->cache, "%s", cache != NULL ? cache : "");
    return true;
}

static void put_object(struct lc_visit *visit)
{
    struct lc_objects *all = visit->cloud->objects;
    struct object content = {.name = ""};
    struct call call = {0};
    const char *refused = NULL;
    bool stored = false;

    if (open_call(visit, "/objects/", &call) != 0 || check_caller(&call) != 0) {
        return;
    }
    if (call.bucket == NULL) {
        (void)refuse_missing(&call, true);
        return;
    }
    if (!read_headers(&call, &content)) {
        return;
    }
    content.len = visit->request->body_len;
    if (content.len > MOST_BYTES) {
        (void)lc_visit_refuse(visit, 400, "EntityTooLarge", "Your proposed upload exceeds the maximum allowed size");
        return;
    }
    (void)pthread_mutex_lock(&all->lock);
    refused = check_condition(&call, find(all->objects, content.name));
    content.generation = ++all->writes;
    stored = refused == NULL && put(all->objects, &content, visit->request->body);
    (void)pthread_mutex_unlock(&all->lock);
    if (refused != NULL) {
        (void)lc_visit_refuse(visit, strcmp(refused, "BlobAlreadyExists") == 0 ? 409 : 412, refused,
                              "At least one of the pre-conditions you specified did not hold");
        return;
    }
    if (!stored) {
        (void)lc_visit_refuse(visit, 503, "SlowDown", "Please reduce your request rate.");
        return;
    }
    visit->reply->status = strcmp(call.store, "blob") == 0 ? 201 : 200;
}

/* How long a copy is shown: by the setting, else by the object's max-age, in the cloud's time. */
static double copy_life(const struct lc_visit *visit, const struct object *object)
{
    json_t *fixed = json_object_get(visit->settings, "cdn_s");
    const char *age = strstr(object->cache, "max-age=");
    double life = age == NULL ? 0 : strtod(age + strlen("max-age="), NULL) / visit->cloud->speed;

    return json_is_number(fixed) ? json_number_value(fixed) : life;
}

/* A copy as old as it may be; it reads private buckets, too, as a cache with an identity of its own does. */
static void get_copy(struct lc_visit *visit)
{
    struct lc_objects *all = visit->cloud->objects;
    struct object *copy = NULL;
    struct object *found = NULL;
    struct call call = {0};

    if (open_call(visit, "/objects/cdn/", &call) != 0) {
        return;
    }
    (void)pthread_mutex_lock(&all->lock);
    copy = find(all->copies, call.name);
    found = find(all->objects, call.name);
    if (copy == NULL || copy->until <= lc_time_now()) {
        if (found != NULL && put(all->copies, found, found->bytes)) {
            copy = find(all->copies, call.name);
            copy->until = lc_time_now() + copy_life(visit, found);
        } else {
            copy = NULL;
        }
    }
    if (copy != NULL) {
        show(visit, copy);
    } else {
        (void)lc_visit_refuse(visit, 404, "NoSuchKey", "The specified key does not exist.");
    }
    (void)pthread_mutex_unlock(&all->lock);
}

/* ---- settings ---- */

static int check_bucket(json_t *bucket, struct lc_fail *fail)
{
    static const char *const known[] = {"store", "name", "region", "public", "writers", NULL};
    const char *store = NULL;
    const char *name = NULL;
    const char *region = NULL;
    json_t *writers = NULL;
    bool open = false;

    if (lc_json_keys(bucket, "buckets", known, fail) != 0 ||
        lc_json_text(bucket, "buckets", "store", &store, fail) != 0 ||
        lc_json_text(bucket, "buckets", "name", &name, fail) != 0 ||
        lc_json_text(bucket, "buckets", "region", &region, fail) != 0 ||
        lc_json_bool(bucket, "buckets", "public", &open, fail) != 0 ||
        lc_json_array(bucket, "buckets", "writers", &writers, fail) != 0) {
        return -1;
    }
    if (store == NULL || name == NULL ||
        (strcmp(store, "s3") != 0 && strcmp(store, "blob") != 0 && strcmp(store, "gcs") != 0)) {
        return lc_fail_set(fail, "buckets: \"store\" (s3, blob or gcs) and \"name\" are required");
    }
    return 0;
}

static json_t *check(struct lc_cloud *cloud, json_t *settings, struct lc_fail *fail)
{
    static const char *const known[] = {"buckets", "cdn_s", NULL};
    json_t *buckets = NULL;
    json_t *bucket = NULL;
    double cdn_s = 0;
    size_t index = 0;

    if (lc_json_keys(settings, "objects", known, fail) != 0 ||
        lc_json_number(settings, "objects", "cdn_s", 0, 86400, &cdn_s, fail) != 0) {
        return NULL;
    }
    buckets = json_object_get(settings, "buckets");
    if (buckets != NULL && !json_is_array(buckets)) {
        (void)lc_fail_set(fail, "objects: \"buckets\" must be an array");
        return NULL;
    }
    json_array_foreach(buckets, index, bucket)
    {
        if (check_bucket(bucket, fail) != 0) {
            return NULL;
        }
    }
    if (cloud->objects == NULL) {
        cloud->objects = calloc(1, sizeof *cloud->objects);
        if (cloud->objects == NULL) {
            (void)lc_fail_set(fail, "out of memory");
            return NULL;
        }
        (void)pthread_mutex_init(&cloud->objects->lock, NULL);
    }
    return json_incref(settings);
}

void lc_objects_free(struct lc_cloud *cloud)
{
    if (cloud->objects == NULL) {
        return;
    }
    for (size_t i = 0; i < MOST_OBJECTS; i++) {
        free(cloud->objects->objects[i].bytes);
        free(cloud->objects->copies[i].bytes);
    }
    (void)pthread_mutex_destroy(&cloud->objects->lock);
    free(cloud->objects);
    cloud->objects = NULL;
}

json_t *lc_objects_report(struct lc_cloud *cloud)
{
    struct lc_objects *all = cloud->objects;
    json_t *out = json_object();

    (void)pthread_mutex_lock(&all->lock);
    for (size_t i = 0; i < MOST_OBJECTS; i++) {
        if (all->objects[i].bytes != NULL) {
            (void)json_object_set_new(out, all->objects[i].name,
                                      json_stringn(all->objects[i].bytes, all->objects[i].len));
        }
    }
    (void)pthread_mutex_unlock(&all->lock);
    return out;
}

int lc_objects_change(struct lc_cloud *cloud, json_t *body, struct lc_fail *fail)
{
    static const char *const known[] = {"name", "text", NULL};
    struct object content = {.type = "application/json"};
    const char *name = NULL;
    const char *text = NULL;
    bool stored = false;

    if (lc_json_keys(body, "object", known, fail) != 0 || lc_json_text(body, "object", "name", &name, fail) != 0 ||
        lc_json_text(body, "object", "text", &text, fail) != 0) {
        return -1;
    }
    if (name == NULL || text == NULL || strlen(name) >= sizeof content.name) {
        return lc_fail_set(fail, "object: \"name\" and \"text\" are required");
    }
    (void)snprintf(content.name, sizeof content.name, "%s", name);
    content.len = strlen(text);
    (void)pthread_mutex_lock(&cloud->objects->lock);
    content.generation = ++cloud->objects->writes;
    stored = put(cloud->objects->objects, &content, text);
    (void)pthread_mutex_unlock(&cloud->objects->lock);
    return stored ? 0 : lc_fail_set(fail, "object: there is no room for more");
}

static const struct lc_action actions[] = {
    {"objects.cdn.get", "GET", "/objects/cdn/*", get_copy, NULL, true},
    {"objects.s3.put", "PUT", "/objects/s3/*", put_object, NULL, false},
    {"objects.s3.get", "GET", "/objects/s3/*", get_object, NULL, false},
    {"objects.blob.put", "PUT", "/objects/blob/*", put_object, NULL, false},
    {"objects.blob.get", "GET", "/objects/blob/*", get_object, NULL, false},
    {"objects.gcs.put", "PUT", "/objects/gcs/*", put_object, NULL, false},
    {"objects.gcs.get", "GET", "/objects/gcs/*", get_object, NULL, false},
};

#define DEMO_S3   "\"writers\":[\"arn:aws:iam::123456789012:role/demo\"]"
#define DEMO_BLOB "\"writers\":[\"66666666-7777-8888-9999-aaaaaaaaaaaa\"]"
#define DEMO_GCS  "\"writers\":[\"demo@demo-project.iam.gserviceaccount.com\"]"

const struct lc_service lc_objects_service = {
    .name = "objects",
    .prefix = "/objects/",
    .actions = actions,
    .action_count = sizeof actions / sizeof actions[0],
    .refuse = service_refuse,
    .demo = "{\"buckets\":[{\"store\":\"s3\",\"name\":\"demo\",\"public\":true," DEMO_S3 "},"
            "{\"store\":\"s3\",\"name\":\"closed\"," DEMO_S3 "},"
            "{\"store\":\"blob\",\"name\":\"demo\",\"public\":true," DEMO_BLOB "},"
            "{\"store\":\"blob\",\"name\":\"closed\"," DEMO_BLOB "},"
            "{\"store\":\"gcs\",\"name\":\"demo\",\"public\":true," DEMO_GCS "},"
            "{\"store\":\"gcs\",\"name\":\"closed\"," DEMO_GCS "}]}",
    .check = check,
};
