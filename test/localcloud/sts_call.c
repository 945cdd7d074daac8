/* SPDX-License-Identifier: MIT */
/* Helpers of the STS actions: duration, session policies, making and recording credentials. */
#include "sts_call.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_POLICY_ARNS = 10, MOST_PLAIN_BYTES = 2048, DEFAULT_S = 3600, CHAINED_S = 3600 };

int lc_call_checked(struct lc_call *call, struct lc_checks *checks)
{
    int result = 0;

    if (checks->count > 0) {
        char *message = lc_checks_message(checks);
        result = lc_refuse(&call->refusal, 400, "ValidationError", "%s", message == NULL ? "" : message);
        free(message);
    }
    lc_checks_free(checks);
    return result;
}

static int read_duration(struct lc_call *call, struct lc_checks *checks, struct lc_ask *ask)
{
    const char *text = lc_params_get(&call->params, "DurationSeconds");

    ask->duration_s = DEFAULT_S;
    if (text == NULL) {
        return 0;
    }
    if (!lc_text_integer(text, INT32_MIN, INT32_MAX, &ask->duration_s)) {
        (void)lc_refuse(&call->refusal, 400, "MalformedInput", "%s", "");
        call->refusal.no_message = true;
        return -1;
    }
    if (ask->duration_s < 900) {
        lc_checks_add(checks, "durationSeconds", text, "Member must have value greater than or equal to 900");
    } else if (ask->duration_s > 43200) {
        lc_checks_add(checks, "durationSeconds", text, "Member must have value less than or equal to 43200");
    }
    return 0;
}

/* TAB, LF, CR and U+0020 to U+00FF. */
static bool is_policy_text(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;

    for (; *s != '\0'; s++) {
        bool plain = *s == '\t' || *s == '\n' || *s == '\r' || (*s >= 0x20 && *s < 0x80);
        if (!plain && !(*s == 0xC2 || *s == 0xC3) && !((*s & 0xC0) == 0x80)) {
            return false;
        }
    }
    return true;
}

int lc_call_ask(struct lc_call *call, struct lc_checks *checks, long policy_limit, struct lc_ask *ask)
{
    const struct lc_rule policy = {"Policy", "policy", 1, policy_limit, NULL, NULL, false, false};
    const struct lc_rule arn = {"arn", "policyArns", 20, 2048, NULL, NULL, false, false};
    const char *text = lc_params_get(&call->params, "Policy");
    unsigned arns = lc_params_members(&call->params, "PolicyArns", ".arn");

    *ask = (struct lc_ask){0};
    lc_checks_value(checks, &policy, text);
    if (text != NULL && !is_policy_text(text)) {
        lc_checks_add(checks, "policy", text,
                      "Member must satisfy regular expression pattern: [\\u0009\\u000A\\u000D\\u0020-\\u00FF]+");
    }
    if (arns > MOST_POLICY_ARNS) {
        lc_checks_add(checks, "policyArns", "[...]", "Member must have length less than or equal to 10");
    }
    for (unsigned n = 1; n <= arns; n++) {
        lc_checks_value(checks, &arn, lc_params_member(&call->params, "PolicyArns", n, ".arn"));
    }
    return read_duration(call, checks, ask);
}

int lc_call_duration(struct lc_call *call, const struct lc_role *role, bool chained, const struct lc_ask *ask)
{
    if (ask->duration_s > role->max_session_s) {
        return lc_refuse(&call->refusal, 400, "ValidationError",
                         "The requested DurationSeconds exceeds the MaxSessionDuration set for this role.");
    }
    if (chained && ask->duration_s > CHAINED_S) {
        return lc_refuse(&call->refusal, 400, "ValidationError",
                         "The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role "
                         "chaining.");
    }
    return 0;
}

static bool is_policy_arn(const char *arn, const char *account)
{
    char aws_managed[] = ":iam::aws:policy/";
    char *own = lc_text_format(":iam::%s:policy/", account);
    bool good = lc_text_starts(arn, "arn:aws") &&
                (strstr(arn, aws_managed) != NULL || (own != NULL && strstr(arn, own) != NULL));

    free(own);
    return good;
}

int lc_call_policy(struct lc_call *call, size_t extra_bytes, struct lc_ask *ask)
{
    const char *text = lc_params_get(&call->params, "Policy");
    unsigned arns = lc_params_members(&call->params, "PolicyArns", ".arn");
    char account[LC_ACCOUNT_BYTES] = "";
    const char *name = NULL;
    size_t plain = text == NULL ? 0 : strlen(text);
    json_t *document = text == NULL ? NULL : json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    bool good = text == NULL || (json_is_object(document) && json_object_get(document, "Statement") != NULL);

    json_decref(document);
    if (!good) {
        return lc_refuse(&call->refusal, 400, "MalformedPolicyDocument", "Syntax errors in policy.");
    }
    (void)lc_trust_split_arn(lc_params_get(&call->params, "RoleArn"), "role", account, &name);
    for (unsigned n = 1; n <= arns; n++) {
        const char *arn = lc_params_member(&call->params, "PolicyArns", n, ".arn");
        if (!is_policy_arn(arn, account)) {
            return lc_refuse(&call->refusal, 400, "ValidationError", "ARN %.200s is not valid.", arn);
        }
        plain += strlen(arn);
    }
    if (plain + extra_bytes > MOST_PLAIN_BYTES) {
        return lc_refuse(&call->refusal, 400, "PackedPolicyTooLarge",
                         "Packed size of session policy and tags consumes %zu%% of allotted space.",
                         (plain + extra_bytes) * 100 / MOST_PLAIN_BYTES);
    }
    ask->packed_size = (long)((plain + extra_bytes) * 100 + MOST_PLAIN_BYTES - 1) / MOST_PLAIN_BYTES;
    return 0;
}

int lc_call_issue(struct lc_call *call, const struct lc_role *role, const char *source_identity, json_t *transitive,
                  const struct lc_ask *ask, struct lc_session *session)
{
    double life_s = (double)ask->duration_s / call->cloud->speed;
    const char *name = lc_params_get(&call->params, "RoleSessionName");

    if (strcmp(lc_fault_kind(call->fault), "short_life") == 0) {
        life_s = json_number_value(json_object_get(call->fault, "s"));
    }
    session->role_arn = strdup(role->arn);
    memcpy(session->role_id, role->id, sizeof session->role_id);
    session->name = strdup(name == NULL ? "" : name);
    session->source_identity = source_identity == NULL ? NULL : strdup(source_identity);
    session->transitive = json_incref(transitive);
    session->expires_at_s = (int64_t)ceil(lc_time_now() + life_s);
    if (session->role_arn == NULL || session->name == NULL ||
        lc_session_issue(call->cloud->session_key, session) != 0) {
        lc_session_free(session);
        return lc_refuse(&call->refusal, 500, "InternalFailure", "out of memory");
    }
    (void)snprintf(call->record.access_key_id, sizeof call->record.access_key_id, "%s", session->access_key_id);
    call->record.exchange = true;
    return 0;
}

void lc_call_write_user(struct lc_answer *answer, const struct lc_role *role, const char *session_name)
{
    char *arn =
        lc_text_format("arn:%s:sts::%s:assumed-role/%s/%s", role->partition, role->account, role->name, session_name);
    char *id = lc_text_format("%s:%s", role->id, session_name);

    lc_answer_open(answer, "AssumedRoleUser");
    lc_answer_text(answer, "AssumedRoleId", id == NULL ? "" : id);
    lc_answer_text(answer, "Arn", arn == NULL ? "" : arn);
    lc_answer_close(answer, "AssumedRoleUser");
    free(arn);
    free(id);
}

void lc_call_write_credentials(struct lc_call *call, struct lc_answer *answer, const struct lc_session *session)
{
    bool bent = strcmp(lc_fault_kind(call->fault), "expiration") == 0;
    const char *value = bent ? json_string_value(json_object_get(call->fault, "value")) : NULL;

    lc_answer_open(answer, "Credentials");
    lc_answer_text(answer, "AccessKeyId", session->access_key_id);
    lc_answer_text(answer, "SecretAccessKey", session->secret);
    lc_answer_text(answer, "SessionToken", session->token);
    if (value == NULL) {
        lc_answer_time(answer, "Expiration", session->expires_at_s);
    } else if (strcmp(value, "past") == 0) {
        lc_answer_time(answer, "Expiration", (int64_t)lc_time_now() - 3600);
    } else if (strcmp(value, "omit") != 0) {
        lc_answer_text(answer, "Expiration", value);
    }
    lc_answer_close(answer, "Credentials");
}

void lc_call_write_end(struct lc_call *call, struct lc_answer *answer, const char *action)
{
    char name[96] = "";

    (void)snprintf(name, sizeof name, "%sResult", action);
    lc_answer_close(answer, name);
    lc_answer_open(answer, "ResponseMetadata");
    lc_answer_text(answer, "RequestId", call->request_id);
    lc_answer_close(answer, "ResponseMetadata");
    (void)snprintf(name, sizeof name, "%sResponse", action);
    lc_answer_end(answer, name);
}
