/* SPDX-License-Identifier: MIT */
/* STS GetSessionToken: a session of the user whose long-lived key signs. */
#include "sts_call.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_S = 900, MOST_S = 129600, DEFAULT_S = 43200 };

static int read_duration(struct lc_call *call, struct lc_checks *checks, int64_t *duration_s)
{
    const char *text = lc_params_get(&call->params, "DurationSeconds");

    *duration_s = DEFAULT_S;
    if (text == NULL) {
        return 0;
    }
    if (!lc_text_integer(text, INT32_MIN, INT32_MAX, duration_s)) {
        (void)lc_refuse(&call->refusal, 400, "MalformedInput", "%s", "");
        call->refusal.no_message = true;
        return -1;
    }
    if (*duration_s < LEAST_S) {
        lc_checks_add(checks, "durationSeconds", text, "Member must have value greater than or equal to 900");
    } else if (*duration_s > MOST_S) {
        lc_checks_add(checks, "durationSeconds", text, "Member must have value less than or equal to 129600");
    }
    return 0;
}

static int check(struct lc_call *call, int64_t *duration_s)
{
    struct lc_checks checks = {0};

    if (read_duration(call, &checks, duration_s) != 0) {
        lc_checks_free(&checks);
        return -1;
    }
    return lc_call_checked(call, &checks);
}

/* The name of the session is the key that asked for it, so that it ends with the key. */
static int issue(struct lc_call *call, const struct lc_caller *caller, int64_t duration_s, struct lc_session *session)
{
    double life_s = (double)duration_s / call->cloud->speed;

    if (strcmp(lc_fault_kind(call->fault), "short_life") == 0) {
        life_s = json_number_value(json_object_get(call->fault, "s"));
    }
    session->role_arn = strdup(caller->principal);
    session->name = strdup(caller->access_key_id);
    (void)snprintf(session->role_id, sizeof session->role_id, "%s", caller->user_id);
    session->expires_at_s = (int64_t)ceil(lc_time_now() + life_s);
    if (session->role_arn == NULL || session->name == NULL ||
        lc_session_issue(call->cloud->session_key, session) != 0) {
        return lc_refuse(&call->refusal, 500, "InternalFailure", "out of memory");
    }
    (void)snprintf(call->record.access_key_id, sizeof call->record.access_key_id, "%s", session->access_key_id);
    call->record.exchange = true;
    return 0;
}

int lc_sts_session_token(struct lc_call *call)
{
    struct lc_caller caller = {0};
    struct lc_session session = {0};
    struct lc_answer answer;
    int64_t duration_s = 0;
    int result = lc_auth_caller(call->cloud, call->request, &caller, &call->refusal);

    if (result == 0 && caller.session) {
        result = lc_refuse(&call->refusal, 403, "AccessDenied", "Cannot call GetSessionToken with session credentials");
    }
    if (result == 0) {
        result = check(call, &duration_s);
    }
    if (result == 0) {
        result = issue(call, &caller, duration_s, &session);
    }
    if (result == 0) {
        lc_answer_start(&answer, &call->reply->body, call->json, "GetSessionTokenResponse", NULL);
        lc_answer_open(&answer, "GetSessionTokenResult");
        lc_call_write_credentials(call, &answer, &session);
        lc_call_write_end(call, &answer, "GetSessionToken");
    }
    lc_session_free(&session);
    lc_auth_free(&caller);
    return result;
}
