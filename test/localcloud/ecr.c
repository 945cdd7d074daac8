/* SPDX-License-Identifier: MIT */
/* Amazon ECR and ECR Public: GetAuthorizationToken in the AWS JSON protocol, and a registry's door. */
#include "ecr.h"

#include "auth.h"
#include "token_seal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LIFE_S = 43200, MOST_IDS = 10 };

static void service_refuse(struct lc_visit *visit, const struct lc_refusal *refusal)
{
    lc_reply_header(visit->reply, "Content-Type", "application/x-amz-json-1.1");
    lc_reply_header(visit->reply, "x-amzn-RequestId", visit->id);
    lc_visit_json(visit, refusal->status, json_pack("{s:s,s:s}", "__type", refusal->code, "message", refusal->message));
}

/* The front end is that of STS, but the JSON protocol has other names and always 400. */
static void refuse_caller(struct lc_visit *visit, const struct lc_refusal *refusal)
{
    static const char *const codes[][2] = {
        {"InvalidClientTokenId", "UnrecognizedClientException"},
        {"SignatureDoesNotMatch", "InvalidSignatureException"},
        {"ExpiredToken", "ExpiredTokenException"},
        {"MissingAuthenticationToken", "MissingAuthenticationTokenException"},
        {"IncompleteSignature", "IncompleteSignatureException"},
    };
    const char *code = refusal->code;

    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        code = strcmp(codes[i][0], refusal->code) == 0 ? codes[i][1] : code;
    }
    (void)lc_visit_refuse(visit, refusal->status < 500 ? 400 : refusal->status, code, "%s", refusal->message);
}

static bool is_registry(json_t *id)
{
    const char *text = json_string_value(id);

    return text != NULL && strlen(text) == 12 && strspn(text, "0123456789") == 12;
}

/* {"registryIds"} may name registries; a new reference to the list (empty: the caller's own one), or NULL
 * with the answer written. */
static json_t *read_ids(struct lc_visit *visit)
{
    json_t *body = lc_json_parse(visit->request->body, visit->request->body_len, NULL);
    json_t *ids = json_object_get(body, "registryIds");
    json_t *id = NULL;
    json_t *out = NULL;
    size_t index = 0;
    bool good = ids == NULL || json_is_null(ids) ||
                (json_is_array(ids) && json_array_size(ids) >= 1 && json_array_size(ids) <= MOST_IDS);

    if (body == NULL) {
        (void)lc_visit_refuse(visit, 400, "SerializationException", "The body is not a JSON object.");
        return NULL;
    }
    json_array_foreach(ids, index, id)
    {
        good = good && is_registry(id);
    }
    if (good) {
        out = json_is_array(ids) ? json_incref(ids) : json_array();
    } else {
        (void)lc_visit_refuse(visit, 400, "InvalidParameterException",
                              "Invalid parameter at 'registryIds' failed to satisfy constraint: 'Member must have "
                              "length between 1 and 10, each of 12 digits'");
    }
    json_decref(body);
    return out;
}

/* Base64 of "AWS:" and a password that only this program can open. */
static char *make_token(struct lc_visit *visit, const struct lc_caller *caller, bool open, int64_t expires_s)
{
    json_t *content = json_pack("{s:s,s:s,s:b,s:I}", "arn", caller->arn, "region", caller->region, "public",
                                open ? 1 : 0, "expires", (json_int_t)expires_s);
    char *password = lc_token_seal(visit->cloud, "ecr", "", content);
    struct lc_buf login = {0};
    struct lc_buf token = {0};

    json_decref(content);
    if (password != NULL) {
        lc_buf_format(&login, "AWS:%s", password);
        lc_base64(&token, login.at, login.len, false);
        lc_visit_granted(visit, password);
    }
    free(password);
    lc_buf_free(&login);
    return token.at;
}

/* The number as AWS prints it, 1.767366245E9; a fault of the kind expiration puts something else. */
static void put_expiry(const struct lc_visit *visit, struct lc_buf *out, int64_t expires_s)
{
    bool bent = strcmp(lc_fault_kind(visit->fault), "expiration") == 0;
    const char *value = bent ? json_string_value(json_object_get(visit->fault, "value")) : NULL;
    char digits[24] = "";
    size_t len = 0;

    if (value != NULL && strcmp(value, "omit") == 0) {
        return;
    }
    if (value != NULL && strcmp(value, "past") != 0) {
        json_t *text = json_string(value);
        char *encoded = json_dumps(text, JSON_ENCODE_ANY);
        lc_buf_format(out, ",\"expiresAt\":%s", encoded == NULL ? "null" : encoded);
        free(encoded);
        json_decref(text);
        return;
    }
    (void)snprintf(digits, sizeof digits, "%lld",
                   (long long)(value == NULL ? expires_s : (int64_t)lc_time_now() - 3600));
    len = strlen(digits);
    lc_buf_format(out, ",\"expiresAt\":%c.%sE%zu", digits[0], digits + 1, len - 1);
}

static void put_entry(const struct lc_visit *visit, struct lc_buf *out, const char *token, int64_t expires_s)
{
    lc_buf_format(out, "{\"authorizationToken\":\"%s\"", token);
    put_expiry(visit, out, expires_s);
}

static void write_private(struct lc_visit *visit, const struct lc_caller *caller, json_t *ids, const char *token,
                          int64_t expires_s)
{
    struct lc_buf *out = &visit->reply->body;
    const char *suffix = lc_text_starts(caller->arn, "arn:aws-cn:") ? ".cn" : "";
    size_t count = json_array_size(ids) == 0 ? 1 : json_array_size(ids);

    lc_buf_text(out, "{\"authorizationData\":[");
    for (size_t i = 0; i < count; i++) {
        const char *id = json_string_value(json_array_get(ids, i));
        lc_buf_text(out, i == 0 ? "" : ",");
        put_entry(visit, out, token, expires_s);
        lc_buf_format(out, ",\"proxyEndpoint\":\"https://%s.dkr.ecr.%s.amazonaws.com%s\"}",
                      id == NULL ? caller->account : id, caller->region, suffix);
    }
    lc_buf_text(out, "]}");
}

static void give(struct lc_visit *visit, const struct lc_caller *caller, json_t *ids, bool open)
{
    int64_t expires_s = (int64_t)lc_time_now() + lc_visit_life_s(visit, LIFE_S);
    char *token = make_token(visit, caller, open, expires_s);

    if (token == NULL) {
        (void)lc_visit_refuse(visit, 500, "ServerException", "out of memory");
        return;
    }
    visit->reply->status = 200;
    lc_reply_header(visit->reply, "Content-Type", "application/x-amz-json-1.1");
    lc_reply_header(visit->reply, "x-amzn-RequestId", visit->id);
    if (open) {
        lc_buf_text(&visit->reply->body, "{\"authorizationData\":");
        put_entry(visit, &visit->reply->body, token, expires_s);
        lc_buf_text(&visit->reply->body, "}}");
    } else {
        write_private(visit, caller, ids, token, expires_s);
    }
    free(token);
}

static bool is_amz_json(const struct lc_request *request)
{
    const char *type = lc_request_header(request, "content-type");

    return type != NULL && strncasecmp(type, "application/x-amz-json-1.1", 26) == 0;
}

static void authorize(struct lc_visit *visit, bool open)
{
    struct lc_caller caller = {0};
    struct lc_refusal refusal = {0};
    json_t *ids = NULL;
    int result = 0;

    if (!is_amz_json(visit->request)) {
        (void)lc_visit_refuse(visit, 400, "UnknownOperationException",
                              "The Content-Type must be application/x-amz-json-1.1.");
        return;
    }
    lc_trust_lock(visit->cloud->trust);
    result = lc_auth_caller_for(visit->cloud, visit->request, open ? "ecr-public" : "ecr",
                                open ? "us-east-1" : visit->cloud->region, &caller, &refusal);
    lc_trust_unlock(visit->cloud->trust);
    if (result != 0) {
        refuse_caller(visit, &refusal);
    } else if ((ids = read_ids(visit)) != NULL) {
        (void)snprintf(visit->record.role, sizeof visit->record.role, "%s", caller.arn);
        give(visit, &caller, ids, open);
    }
    json_decref(ids);
    lc_auth_free(&caller);
}

static void authorize_private(struct lc_visit *visit)
{
    authorize(visit, false);
}

static void authorize_public(struct lc_visit *visit)
{
    authorize(visit, true);
}

static void unknown(struct lc_visit *visit)
{
    (void)lc_visit_refuse(visit, 400, "UnknownOperationException", "X-Amz-Target names no operation of ECR.");
}

/* The registry's own door: 200 when the login is good now. */
static void registry(struct lc_visit *visit)
{
    struct lc_reply *reply = visit->reply;
    char *user = NULL;
    char *password = NULL;
    bool basic = lc_visit_basic(visit, false, &user, &password);
    json_t *content =
        basic && user != NULL && strcmp(user, "AWS") == 0 ? lc_token_open(visit->cloud, "ecr", "", password) : NULL;

    lc_reply_header(reply, "Docker-Distribution-Api-Version", "registry/2.0");
    lc_reply_header(reply, "Content-Type", "application/json; charset=utf-8");
    if (content == NULL) {
        reply->status = 401;
        lc_reply_header(reply, "Content-Type", "text/plain; charset=utf-8");
        lc_reply_header(reply, "WWW-Authenticate", "Basic realm=\"https://localhost/\",service=\"ecr.amazonaws.com\"");
        lc_buf_text(&reply->body, "Not Authorized\n");
        (void)snprintf(visit->record.code, sizeof visit->record.code, "Unauthorized");
    } else if (json_integer_value(json_object_get(content, "expires")) <= (json_int_t)lc_time_now()) {
        reply->status = 403;
        lc_buf_text(&reply->body,
                    "{\"errors\":[{\"code\":\"DENIED\",\"message\":\"Your authorization token has expired. "
                    "Reauthenticate and try again.\"}]}\n");
        (void)snprintf(visit->record.code, sizeof visit->record.code, "Expired");
    } else {
        reply->status = 200;
        lc_buf_text(&reply->body, "{}\n");
    }
    json_decref(content);
    free(user);
    free(password);
}

static const struct lc_action *find(const struct lc_request *request, unsigned *status)
{
    static const struct lc_action private_token = {"ecr.GetAuthorizationToken", "POST", "/ecr/",
                                                   authorize_private,           NULL,   false};
    static const struct lc_action public_token = {
        "ecr-public.GetAuthorizationToken", "POST", "/ecr/", authorize_public, NULL, false};
    static const struct lc_action other = {"ecr.other", "POST", "/ecr/", unknown, NULL, false};
    static const struct lc_action door = {"ecr.v2", "GET", "/ecr/v2/", registry, NULL, true};
    const char *target = lc_request_header(request, "x-amz-target");
    bool root = strcmp(request->path, "/ecr") == 0 || strcmp(request->path, "/ecr/") == 0;

    *status = 404;
    if (root && strcmp(request->method, "POST") == 0) {
        if (target != NULL && strcmp(target, "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken") == 0) {
            return &private_token;
        }
        return target != NULL && strcmp(target, "SpencerFrontendService.GetAuthorizationToken") == 0 ? &public_token
                                                                                                     : &other;
    }
    if (strcmp(request->path, "/ecr/v2/") == 0 || strcmp(request->path, "/ecr/v2") == 0) {
        *status = 405;
        return strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0 ? &door : NULL;
    }
    *status = root ? 405 : 404;
    return NULL;
}

const struct lc_service lc_ecr_service = {
    .name = "ecr", .prefix = "/ecr/", .find = find, .refuse = service_refuse, .url = "/ecr"};
