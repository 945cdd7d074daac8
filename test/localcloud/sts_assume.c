/* SPDX-License-Identifier: MIT */
/* STS AssumeRole (signed; with role credentials it is chaining) and GetCallerIdentity. */
#include "sts_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_TAGS = 50 };

static void check_tags(struct lc_call *call, struct lc_checks *checks)
{
    static const struct lc_rule key = {"Key", "tags.key", 1, 128, NULL, NULL, true, false};
    static const struct lc_rule value = {"Value", "tags.value", 0, 256, NULL, NULL, true, false};
    unsigned tags = lc_params_members(&call->params, "Tags", ".Key");
    unsigned keys = lc_params_members(&call->params, "TransitiveTagKeys", "");

    if (tags > MOST_TAGS) {
        lc_checks_add(checks, "tags", "[...]", "Member must have length less than or equal to 50");
    }
    if (keys > MOST_TAGS) {
        lc_checks_add(checks, "transitiveTagKeys", "[...]", "Member must have length less than or equal to 50");
    }
    for (unsigned n = 1; n <= tags; n++) {
        const char *name = lc_params_member(&call->params, "Tags", n, ".Key");
        const char *text = lc_params_member(&call->params, "Tags", n, ".Value");
        lc_checks_value(checks, &key, name);
        lc_checks_value(checks, &value, text);
        for (const char *c = name; *c != '\0'; c++) {
            if ((unsigned char)*c < 0x80 && !(*c == ' ' || lc_text_only((char[]){*c, '\0'}, "_.:/=+-@"))) {
                lc_checks_add(checks, "tags.key", name,
                              "Member must satisfy regular expression pattern: [\\p{L}\\p{Z}\\p{N}_.:/=+\\-@]+");
                break;
            }
        }
    }
}

static int check(struct lc_call *call, struct lc_ask *ask)
{
    static const struct lc_rule rules[] = {
        {"RoleArn", "roleArn", 20, 2048, NULL, NULL, true, false},
        {"RoleSessionName", "roleSessionName", 2, 64, "_+=,.@-", "[\\w+=,.@-]*", true, false},
        {"ExternalId", "externalId", 2, 1224, "_+=,.@:/-", "[\\w+=,.@:\\/-]*", false, false},
        {"SourceIdentity", "sourceIdentity", 2, 256, "_+=,.@-", "[\\w+=,.@-]*", false, false},
    };
    struct lc_checks checks = {0};

    lc_checks_params(&checks, &call->params, rules, sizeof rules / sizeof rules[0]);
    check_tags(call, &checks);
    if (lc_call_ask(call, &checks, 0, ask) != 0) {
        lc_checks_free(&checks);
        return -1;
    }
    return lc_call_checked(call, &checks);
}

static int denied(struct lc_call *call, const struct lc_caller *caller, const char *action)
{
    return lc_refuse(&call->refusal, 403, "AccessDenied",
                     "User: %.500s is not authorized to perform: sts:%s on resource: %.500s", caller->arn, action,
                     lc_params_get(&call->params, "RoleArn"));
}

/* Does a trust policy's principal mean this caller? */
static bool is_principal(const char *principal, const struct lc_caller *caller)
{
    char *root = lc_text_format("arn:*:iam::%s:root", caller->account);
    bool good = lc_text_like(principal, caller->principal) || lc_text_like(principal, caller->arn) ||
                strcmp(principal, caller->account) == 0 || (root != NULL && lc_text_like(root, principal));

    free(root);
    return good;
}

static const struct lc_statement *find_statement(struct lc_call *call, const struct lc_role *role,
                                                 const struct lc_caller *caller)
{
    const char *external_id = lc_params_get(&call->params, "ExternalId");

    for (size_t i = 0; role != NULL && i < role->count; i++) {
        const struct lc_statement *statement = &role->statements[i];
        if (statement->principal != NULL && is_principal(statement->principal, caller) &&
            (statement->external_id == NULL ||
             (external_id != NULL && strcmp(external_id, statement->external_id) == 0))) {
            return statement;
        }
    }
    return NULL;
}

static bool holds_key(json_t *keys, const char *key)
{
    json_t *item = NULL;
    size_t index = 0;

    json_array_foreach(keys, index, item)
    {
        if (json_is_string(item) && strcasecmp(json_string_value(item), key) == 0) {
            return true;
        }
    }
    return false;
}

/* Tags must be new keys; the transitive ones go on with the session. *transitive is the caller's new
 * reference. */
static int merge_tags(struct lc_call *call, const struct lc_caller *caller, json_t **transitive, size_t *bytes)
{
    json_t *seen = json_array();
    unsigned tags = lc_params_members(&call->params, "Tags", ".Key");
    unsigned keys = lc_params_members(&call->params, "TransitiveTagKeys", "");
    int result = 0;

    *transitive = caller->transitive == NULL ? json_array() : json_deep_copy(caller->transitive);
    for (unsigned n = 1; n <= tags && result == 0; n++) {
        const char *key = lc_params_member(&call->params, "Tags", n, ".Key");
        if (holds_key(seen, key)) {
            result = lc_refuse(&call->refusal, 400, "InvalidParameterValue",
                               "Duplicate tag keys found. Please note that Tag keys are case insensitive.");
        } else if (holds_key(caller->transitive, key)) {
            result = lc_refuse(&call->refusal, 400, "InvalidParameterValue",
                               "One of the specified transitive tag keys can't be set because it conflicts with a "
                               "transitive tag key from the calling session.");
        }
        *bytes += strlen(key) + strlen(lc_params_member(&call->params, "Tags", n, ".Value"));
        (void)json_array_append_new(seen, json_string(key));
    }
    for (unsigned n = 1; n <= keys && result == 0; n++) {
        const char *key = lc_params_member(&call->params, "TransitiveTagKeys", n, "");
        if (!holds_key(seen, key)) {
            result = lc_refuse(&call->refusal, 400, "InvalidParameterValue",
                               "The specified transitive tag key must be included in the requested tags.");
        } else {
            (void)json_array_append_new(*transitive, json_string(key));
        }
    }
    json_decref(seen);
    if (result != 0) {
        json_decref(*transitive);
        *transitive = NULL;
    }
    return result;
}

/* The source identity of the new session in *source. */
static int decide_source(struct lc_call *call, const struct lc_caller *caller, const struct lc_statement *statement,
                         const char **source)
{
    const char *asked = lc_params_get(&call->params, "SourceIdentity");

    *source = caller->source_identity != NULL ? caller->source_identity : asked;
    if (asked != NULL && caller->source_identity != NULL && strcmp(asked, caller->source_identity) != 0) {
        return lc_refuse(&call->refusal, 400, "ValidationError",
                         "The source identity is already set for this assume role session");
    }
    return statement->require_source_identity && *source == NULL ? denied(call, caller, "AssumeRole") : 0;
}

static void write_answer(struct lc_call *call, const struct lc_role *role, const char *source, const struct lc_ask *ask,
                         const struct lc_session *session)
{
    struct lc_answer answer;

    lc_answer_start(&answer, &call->reply->body, call->json, "AssumeRoleResponse", NULL);
    lc_answer_open(&answer, "AssumeRoleResult");
    lc_answer_maybe(&answer, "SourceIdentity", source);
    lc_call_write_user(&answer, role, session->name);
    lc_call_write_credentials(call, &answer, session);
    if (ask->packed_size > 0) {
        lc_answer_integer(&answer, "PackedPolicySize", ask->packed_size);
    } else {
        lc_answer_maybe(&answer, "PackedPolicySize", NULL);
    }
    lc_call_write_end(call, &answer, "AssumeRole");
}

static int grant(struct lc_call *call, const struct lc_caller *caller, struct lc_ask *ask)
{
    const struct lc_role *role = lc_trust_role(call->cloud->trust, lc_params_get(&call->params, "RoleArn"));
    const struct lc_statement *statement = find_statement(call, role, caller);
    struct lc_session session = {0};
    json_t *transitive = NULL;
    const char *source = NULL;
    size_t tag_bytes = 0;
    int result = 0;

    if (role == NULL || statement == NULL) {
        return denied(call, caller, "AssumeRole");
    }
    if (lc_params_members(&call->params, "Tags", ".Key") > 0 && !statement->allow_tags) {
        return denied(call, caller, "TagSession");
    }
    if (decide_source(call, caller, statement, &source) != 0 ||
        merge_tags(call, caller, &transitive, &tag_bytes) != 0) {
        return -1;
    }
    result = lc_call_policy(call, tag_bytes, ask);
    if (result == 0) {
        result = lc_call_duration(call, role, caller->temporary, ask);
    }
    if (result == 0) {
        result = lc_call_issue(call, role, source, transitive, ask, &session);
    }
    if (result == 0) {
        write_answer(call, role, source, ask, &session);
    }
    json_decref(transitive);
    lc_session_free(&session);
    return result;
}

int lc_sts_assume_role(struct lc_call *call)
{
    struct lc_caller caller = {0};
    struct lc_ask ask = {0};
    char account[LC_ACCOUNT_BYTES] = "";
    const char *name = NULL;
    int result = lc_auth_caller(call->cloud, call->request, &caller, &call->refusal);

    if (result == 0) {
        result = check(call, &ask);
    }
    if (result == 0 && !lc_trust_split_arn(lc_params_get(&call->params, "RoleArn"), "role", account, &name)) {
        result = lc_refuse(&call->refusal, 400, "ValidationError", "%.300s is invalid",
                           lc_params_get(&call->params, "RoleArn"));
    }
    if (result == 0) {
        result = grant(call, &caller, &ask);
    }
    lc_auth_free(&caller);
    return result;
}

int lc_sts_caller_identity(struct lc_call *call)
{
    struct lc_caller caller = {0};
    struct lc_answer answer;

    if (lc_auth_caller(call->cloud, call->request, &caller, &call->refusal) != 0) {
        return -1;
    }
    lc_answer_start(&answer, &call->reply->body, call->json, "GetCallerIdentityResponse", NULL);
    lc_answer_open(&answer, "GetCallerIdentityResult");
    lc_answer_text(&answer, "Arn", caller.arn);
    lc_answer_text(&answer, "UserId", caller.user_id);
    lc_answer_text(&answer, "Account", caller.account);
    lc_call_write_end(call, &answer, "GetCallerIdentity");
    lc_auth_free(&caller);
    return 0;
}
