/* SPDX-License-Identifier: MIT */
/* The front end of AWS STS: dispatch, faults, outage, statistics. */
#include "sts.h"

#include "crypto.h"
#include "service.h"
#include "sts_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct lc_query_action *find_action(const struct lc_query *api, const char *name)
{
    for (size_t i = 0; i < api->count; i++) {
        if (strcmp(api->actions[i].name, name) == 0) {
            return &api->actions[i];
        }
    }
    return NULL;
}

static void set_code(struct lc_call *call, const char *code)
{
    (void)snprintf(call->record.code, sizeof call->record.code, "%s", code);
}

static void write_refusal(struct lc_call *call)
{
    lc_buf_free(&call->reply->body);
    call->reply->status = call->refusal.status;
    lc_answer_refusal(&call->refusal, call->json, call->request_id, &call->reply->body);
    set_code(call, call->refusal.code);
    call->record.exchange = false;
    call->record.access_key_id[0] = '\0';
}

/* What the real front end does with whatever is not a query-protocol request. */
static void send_away(struct lc_call *call)
{
    call->reply->status = 302;
    lc_reply_header(call->reply, "Content-Type", NULL);
    lc_reply_header(call->reply, "Location", "https://aws.amazon.com/iam");
    set_code(call, "Redirect");
}

static bool is_form(const struct lc_request *request)
{
    static const char form[] = "application/x-www-form-urlencoded";
    const char *type = lc_request_header(request, "content-type");
    size_t len = sizeof form - 1;

    return type != NULL && strncasecmp(type, form, len) == 0 &&
           (type[len] == '\0' || type[len] == ';' || type[len] == ' ');
}

/* Reads the parameters of the query and, of a POST, of the form after it. A POST without a body needs no content type:
 * SDKs put everything into its query. True when the request has an Action; otherwise the reply is made. */
static bool read_params(struct lc_call *call)
{
    const struct lc_request *request = call->request;
    bool post = strcmp(request->method, "POST") == 0;
    bool decoded = false;

    if (request->too_big) {
        call->reply->status = 413;
        lc_reply_header(call->reply, "Content-Type", NULL);
        set_code(call, "TooBig");
        return false;
    }
    if ((!post && strcmp(request->method, "GET") != 0) || (post && request->body_len > 0 && !is_form(request))) {
        send_away(call);
        return false;
    }
    decoded = lc_params_add(request->query, strlen(request->query), &call->params) &&
              (!post || lc_params_add(request->body, request->body_len, &call->params));
    if (!decoded) {
        (void)lc_refuse(&call->refusal, 400, "MalformedInput", "The input cannot be decoded.");
        write_refusal(call);
        return false;
    }
    if (lc_params_get(&call->params, "Action") == NULL) {
        send_away(call);
        return false;
    }
    return true;
}

static void note(char *out, size_t room, const char *text)
{
    (void)snprintf(out, room, "%s", text == NULL ? "" : text);
}

static void run_action(struct lc_call *call, const struct lc_query_action *action, const char *name)
{
    const char *version = lc_params_get(&call->params, "Version");
    int result = 0;

    if (action == NULL || version == NULL || strcmp(version, call->api->version) != 0) {
        (void)lc_refuse(&call->refusal, 400, "InvalidAction", "Could not find operation %.200s for version %.100s",
                        name, version == NULL ? "NO_VERSION_SPECIFIED" : version);
        call->refusal.front_end = true;
        write_refusal(call);
        return;
    }
    lc_trust_lock(call->cloud->trust);
    result = action->run(call);
    lc_trust_unlock(call->cloud->trust);
    if (result != 0) {
        write_refusal(call);
        return;
    }
    call->reply->status = 200;
    set_code(call, "OK");
}

static void answer_outage(struct lc_call *call)
{
    lc_visit_outage(call->reply);
    set_code(call, "Outage");
}

static void fault_refuse(void *with, const struct lc_refusal *refusal, struct lc_reply *reply)
{
    const struct lc_call *call = with;

    reply->status = refusal->status;
    lc_answer_refusal(refusal, call->json, call->request_id, &reply->body);
    lc_reply_header(reply, "Content-Type", call->json ? "application/json" : "text/xml");
}

static void answer(struct lc_call *call)
{
    const struct lc_fault_words words = {call, fault_refuse, "https://aws.amazon.com/iam",
                                         call->json ? "{\"AssumeRoleWithWebIdentityResponse\":{"
                                                    : "<AssumeRoleWithWebIdentityResponse><Credentials></Result>",
                                         call->json ? "application/json" : "text/xml"};
    const struct lc_query_action *action = NULL;
    const char *name = NULL;
    const char *role = NULL;
    bool use = false;

    if (!read_params(call)) {
        return;
    }
    name = lc_params_get(&call->params, "Action");
    action = find_action(call->api, name);
    use = action != NULL && action->use;
    note(call->record.action, sizeof call->record.action, action == NULL ? "(unknown)" : name);
    role = lc_params_get(&call->params, "RoleArn");
    note(call->record.role, sizeof call->record.role, role != NULL ? role : lc_params_get(&call->params, "UserName"));
    note(call->record.session_name, sizeof call->record.session_name, lc_params_get(&call->params, "RoleSessionName"));
    if (!use && lc_service_is_out(call->cloud, call->api->service)) {
        answer_outage(call);
        return;
    }
    call->fault = lc_faults_take(call->cloud->faults, name, call->record.role, use);
    note(call->record.fault, sizeof call->record.fault, lc_fault_kind(call->fault));
    if (call->fault != NULL &&
        lc_fault_instead(call->fault, &words, call->reply, call->record.code, sizeof call->record.code)) {
        return;
    }
    run_action(call, action, name);
    if (call->fault != NULL) {
        lc_fault_spoil(call->fault, call->reply);
    }
}

void lc_query_handle(const struct lc_query *api, struct lc_cloud *cloud, const struct lc_request *request,
                     struct lc_reply *reply)
{
    struct lc_call call = {.api = api, .cloud = cloud, .request = request, .reply = reply};
    const char *accept = lc_request_header(request, "accept");
    char uuid[LC_UUID_BYTES];

    lc_uuid(uuid);
    (void)snprintf(call.request_id, sizeof call.request_id, "%s", uuid);
    call.json = accept != NULL && strstr(accept, "application/json") != NULL;
    call.record.t = lc_time_now();
    call.record.connection = request->connection;
    note(call.record.action, sizeof call.record.action, "(none)");
    lc_reply_header(reply, "Content-Type", call.json ? "application/json" : "text/xml");
    lc_reply_header(reply, "x-amzn-RequestId", call.request_id);
    lc_reply_header(reply, "x-amz-sts-extended-request-id", call.request_id);
    answer(&call);
    call.record.status = reply->status;
    lc_visit_record(cloud, &call.record);
    json_decref(call.fault);
    lc_params_free(&call.params);
}

void lc_sts_handle(struct lc_cloud *cloud, const struct lc_request *request, struct lc_reply *reply)
{
    static const struct lc_query_action actions[] = {
        {"AssumeRoleWithWebIdentity", lc_sts_web_identity, false},
        {"AssumeRole", lc_sts_assume_role, false},
        {"GetCallerIdentity", lc_sts_caller_identity, true},
        {"GetSessionToken", lc_sts_session_token, false},
    };
    static const struct lc_query api = {"sts", "2011-06-15", actions, sizeof actions / sizeof actions[0]};

    lc_query_handle(&api, cloud, request, reply);
}
