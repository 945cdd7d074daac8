/* SPDX-License-Identifier: MIT */
/* Access keys of IAM users. */
#include "iam.h"

#include "crypto.h"
#include "sts.h"
#include "sts_call.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KEYS = 1024, MOST_OF_USER = 2, PAGE = 1 };

struct key {
    char id[LC_IAM_KEY_ID_BYTES];
    char user[132];
    struct lc_iam_copy copy;
    double made;
    double gone; /* 0: it is there */
    double used; /* 0: never */
    bool active;
};

struct lc_iam {
    pthread_mutex_t lock;
    struct key keys[MOST_KEYS];
    size_t count;
    json_t *settings;
};

/* ---- keys; the lock is held ---- */

static struct key *find(struct lc_iam *iam, const char *id)
{
    for (size_t i = 0; i < iam->count; i++) {
        if (iam->keys[i].gone == 0 && strcmp(iam->keys[i].id, id) == 0) {
            return &iam->keys[i];
        }
    }
    return NULL;
}

static size_t count_of(const struct lc_iam *iam, const char *user)
{
    size_t n = 0;

    for (size_t i = 0; i < iam->count; i++) {
        n += iam->keys[i].gone == 0 && strcmp(iam->keys[i].user, user) == 0 ? 1 : 0;
    }
    return n;
}

static double setting(const struct lc_iam *iam, const char *name)
{
    return json_number_value(json_object_get(iam->settings, name));
}

/* Seconds until a region has heard of what is new. */
static double region_lag(const struct lc_iam *iam, const char *region)
{
    json_t *lags = json_object_get(iam->settings, "new_key_s");
    json_t *lag = json_object_get(lags, region);

    return json_number_value(lag != NULL ? lag : json_object_get(lags, "*"));
}

static const char *account_of(const struct lc_iam *iam)
{
    const char *account = json_string_value(json_object_get(iam->settings, "account"));

    return account == NULL ? "123456789012" : account;
}

static struct key *add(struct lc_iam *iam, const char *user, const char *id)
{
    static const char upper[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    static const char any[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    struct key *key = NULL;
    char tail[17] = "";

    for (size_t i = 0; key == NULL && i < iam->count; i++) {
        /* Lists that lag still know it for a while. */
        key = iam->keys[i].gone != 0 && iam->keys[i].gone + 60 < lc_time_now() ? &iam->keys[i] : NULL;
    }
    if (key == NULL && iam->count == MOST_KEYS) {
        return NULL;
    }
    key = key == NULL ? &iam->keys[iam->count++] : key;
    *key = (struct key){.made = lc_time_now() - setting(iam, "made_before_s"), .active = true};
    (void)lc_random_text(tail, 16, upper);
    (void)snprintf(key->id, sizeof key->id, "%s%s", id == NULL ? "AKIA" : id, id == NULL ? tail : "");
    (void)snprintf(key->user, sizeof key->user, "%s", user);
    (void)lc_random_text(key->copy.secret, 40, any);
    (void)snprintf(key->copy.account, sizeof key->copy.account, "%s", account_of(iam));
    (void)snprintf(key->copy.arn, sizeof key->copy.arn, "arn:aws:iam::%s:user/%s", key->copy.account, user);
    (void)snprintf(key->copy.user_id, sizeof key->copy.user_id, "AIDALOCALCLOUD0000000");
    return key;
}

static bool has_user(const struct lc_iam *iam, const char *name)
{
    return lc_json_holds(json_object_get(iam->settings, "users"), name);
}

/* ---- for those who check signatures ---- */

bool lc_iam_find(struct lc_cloud *cloud, const char *access_key_id, const char *region, struct lc_iam_copy *out)
{
    struct key *key = NULL;

    (void)pthread_mutex_lock(&cloud->iam->lock);
    key = find(cloud->iam, access_key_id);
    if (key != NULL && (!key->active || lc_time_now() < key->made + region_lag(cloud->iam, region))) {
        key = NULL;
    }
    if (key != NULL) {
        *out = key->copy;
    }
    (void)pthread_mutex_unlock(&cloud->iam->lock);
    return key != NULL;
}

void lc_iam_used(struct lc_cloud *cloud, const char *access_key_id)
{
    struct key *key = NULL;

    (void)pthread_mutex_lock(&cloud->iam->lock);
    key = find(cloud->iam, access_key_id);
    if (key != NULL) {
        key->used = lc_time_now();
    }
    (void)pthread_mutex_unlock(&cloud->iam->lock);
}

/* ---- actions: 0 with the body written, or -1 with the refusal set; the lock is held ---- */

static int no_key(struct lc_call *call, const char *id)
{
    return lc_refuse(&call->refusal, 404, "NoSuchEntity", "The Access Key with id %.140s cannot be found.", id);
}

/* The key that the call is about, if it is the user's. */
static struct key *own_key(struct lc_call *call)
{
    const char *id = lc_params_get(&call->params, "AccessKeyId");
    const char *user = lc_params_get(&call->params, "UserName");
    struct key *key = id == NULL ? NULL : find(call->cloud->iam, id);

    if (id == NULL) {
        (void)lc_refuse(&call->refusal, 400, "ValidationError",
                        "1 validation error detected: Value null at 'accessKeyId' failed to satisfy "
                        "constraint: Member must not "
                        "be null");
    } else if (key == NULL || strcmp(key->user, user) != 0) {
        (void)no_key(call, id);
        key = NULL;
    }
    return key;
}

static void start(struct lc_call *call, struct lc_answer *answer, const char *action)
{
    char name[96];

    (void)snprintf(name, sizeof name, "%sResponse", action);
    lc_answer_start(answer, &call->reply->body, false, name, "https://iam.amazonaws.com/doc/2010-05-08/");
    (void)snprintf(name, sizeof name, "%sResult", action);
    lc_answer_open(answer, name);
}

static void write_key(struct lc_answer *answer, const struct key *key, bool with_secret)
{
    lc_answer_text(answer, "UserName", key->user);
    lc_answer_text(answer, "AccessKeyId", key->id);
    lc_answer_text(answer, "Status", key->active ? "Active" : "Inactive");
    if (with_secret) {
        lc_answer_text(answer, "SecretAccessKey", key->copy.secret);
    }
    lc_answer_time(answer, "CreateDate", (int64_t)key->made);
}

static int create(struct lc_call *call)
{
    const char *user = lc_params_get(&call->params, "UserName");
    struct lc_answer answer;
    struct key *key = NULL;

    if (count_of(call->cloud->iam, user) >= MOST_OF_USER) {
        return lc_refuse(&call->refusal, 409, "LimitExceeded", "Cannot exceed quota for AccessKeysPerUser: %d",
                         MOST_OF_USER);
    }
    key = add(call->cloud->iam, user, NULL);
    if (key == NULL) {
        return lc_refuse(&call->refusal, 500, "ServiceFailure", "out of room");
    }
    start(call, &answer, "CreateAccessKey");
    lc_answer_open(&answer, "AccessKey");
    write_key(&answer, key, true);
    lc_answer_close(&answer, "AccessKey");
    lc_call_write_end(call, &answer, "CreateAccessKey");
    return 0;
}

/* As a list that lags sees it. */
static bool is_listed(const struct lc_iam *iam, const struct key *key)
{
    double then = lc_time_now() - setting(iam, "list_lag_s");

    return key->made <= then && (key->gone == 0 || key->gone > then);
}

/* Pages of one, so that everybody has to follow them. */
static int list(struct lc_call *call)
{
    const char *user = lc_params_get(&call->params, "UserName");
    const char *marker = lc_params_get(&call->params, "Marker");
    int64_t skip = 0;
    size_t seen = 0;
    struct lc_iam *iam = call->cloud->iam;
    struct lc_answer answer;
    char next[24] = "";

    if (marker != NULL && !lc_text_integer(marker, 1, MOST_KEYS, &skip)) {
        return lc_refuse(&call->refusal, 400, "InvalidInput", "Invalid Marker.");
    }
    start(call, &answer, "ListAccessKeys");
    lc_answer_open(&answer, "AccessKeyMetadata");
    for (size_t i = 0; i < iam->count; i++) {
        const struct key *key = &iam->keys[i];

        if (strcmp(key->user, user) != 0 || !is_listed(iam, key) || (int64_t)seen++ < skip) {
            continue;
        }
        if ((int64_t)seen > skip + PAGE) {
            (void)snprintf(next, sizeof next, "%lld", (long long)skip + PAGE);
            break;
        }
        lc_answer_open(&answer, "member");
        write_key(&answer, key, false);
        lc_answer_close(&answer, "member");
    }
    lc_answer_close(&answer, "AccessKeyMetadata");
    lc_answer_text(&answer, "IsTruncated", next[0] != '\0' ? "true" : "false");
    if (next[0] != '\0') {
        lc_answer_text(&answer, "Marker", next);
    }
    lc_call_write_end(call, &answer, "ListAccessKeys");
    return 0;
}

static void write_nothing(struct lc_call *call, const char *action)
{
    struct lc_answer answer;
    char name[96];

    (void)snprintf(name, sizeof name, "%sResponse", action);
    lc_answer_start(&answer, &call->reply->body, false, name, "https://iam.amazonaws.com/doc/2010-05-08/");
    lc_answer_open(&answer, "ResponseMetadata");
    lc_answer_text(&answer, "RequestId", call->request_id);
    lc_answer_close(&answer, "ResponseMetadata");
    lc_answer_end(&answer, name);
}

static int update(struct lc_call *call)
{
    const char *status = lc_params_get(&call->params, "Status");
    struct key *key = own_key(call);

    if (key == NULL) {
        return -1;
    }
    if (status == NULL || (strcmp(status, "Active") != 0 && strcmp(status, "Inactive") != 0)) {
        return lc_refuse(&call->refusal, 400, "ValidationError",
                         "1 validation error detected: Value at 'status' failed to satisfy constraint: "
                         "Member must satisfy enum "
                         "value set: [Active, Inactive]");
    }
    key->active = strcmp(status, "Active") == 0;
    write_nothing(call, "UpdateAccessKey");
    return 0;
}

static int delete (struct lc_call *call)
{
    struct key *key = own_key(call);

    if (key == NULL) {
        return -1;
    }
    key->gone = lc_time_now();
    write_nothing(call, "DeleteAccessKey");
    return 0;
}

static int last_used(struct lc_call *call)
{
    const char *id = lc_params_get(&call->params, "AccessKeyId");
    struct key *key = id == NULL ? NULL : find(call->cloud->iam, id);
    struct lc_answer answer;

    if (key == NULL) {
        return no_key(call, id == NULL ? "" : id);
    }
    start(call, &answer, "GetAccessKeyLastUsed");
    lc_answer_text(&answer, "UserName", key->user);
    lc_answer_open(&answer, "AccessKeyLastUsed");
    if (key->used != 0) {
        lc_answer_time(&answer, "LastUsedDate", (int64_t)key->used);
    }
    lc_answer_text(&answer, "ServiceName", key->used != 0 ? "sts" : "N/A");
    lc_answer_text(&answer, "Region", key->used != 0 ? "us-east-1" : "N/A");
    lc_answer_close(&answer, "AccessKeyLastUsed");
    lc_call_write_end(call, &answer, "GetAccessKeyLastUsed");
    return 0;
}

/* ---- the policy simulator ---- */

static int check_simulation(struct lc_call *call, unsigned actions, unsigned resources)
{
    static const struct lc_rule source = {"PolicySourceArn", "policySourceArn", 20, 2048, NULL, NULL, true, false};
    static const struct lc_rule action = {"member", "actionNames", 3, 128, NULL, NULL, true, false};
    static const struct lc_rule resource = {"member", "resourceArns", 1, 2048, NULL, NULL, true, false};
    struct lc_checks checks = {0};
    int64_t items = 0;
    const char *most = lc_params_get(&call->params, "MaxItems");

    lc_checks_value(&checks, &source, lc_params_get(&call->params, "PolicySourceArn"));
    if (actions == 0) {
        lc_checks_add(&checks, "actionNames", NULL, "Member must not be null");
    }
    for (unsigned n = 1; n <= actions; n++) {
        lc_checks_value(&checks, &action, lc_params_member(&call->params, "ActionNames", n, ""));
    }
    for (unsigned n = 1; n <= resources; n++) {
        lc_checks_value(&checks, &resource, lc_params_member(&call->params, "ResourceArns", n, ""));
    }
    if (most != NULL && !lc_text_integer(most, 1, 1000, &items)) {
        lc_checks_add(&checks, "maxItems", most, "Member must have value between 1 and 1000");
    }
    return lc_call_checked(call, &checks);
}

static bool has_principal(struct lc_call *call, const char *arn)
{
    char account[LC_ACCOUNT_BYTES] = "";
    const char *name = NULL;

    if (lc_trust_split_arn(arn, "role", account, &name)) {
        return lc_trust_role(call->cloud->trust, arn) != NULL;
    }
    /* Users need no entry of their own: a key's user is one. */
    return lc_trust_split_arn(arn, "user", account, &name);
}

/* Policies here are for users, never for all resources. */
static const char *decide(struct lc_iam *iam, const char *principal, const char *action, const char *resource)
{
    json_t *one = NULL;
    size_t index = 0;
    bool admin = false;

    json_array_foreach(json_object_get(iam->settings, "admins"), index, one)
    {
        admin = admin || lc_text_like(json_string_value(one), principal);
    }
    if (lc_json_holds(json_object_get(iam->settings, "deny"), action + strlen("iam:"))) {
        return "explicitDeny";
    }
    return admin && resource != NULL && strstr(resource, ":user/") != NULL ? "allowed" : "implicitDeny";
}

static void write_decision(struct lc_call *call, struct lc_answer *answer, const char *action)
{
    const char *resource = lc_params_member(&call->params, "ResourceArns", 1, "");

    lc_answer_open(answer, "member");
    lc_answer_text(answer, "EvalActionName", action);
    lc_answer_text(answer, "EvalResourceName", resource == NULL ? "*" : resource);
    lc_answer_text(answer, "EvalDecision",
                   decide(call->cloud->iam, lc_params_get(&call->params, "PolicySourceArn"), action, resource));
    lc_answer_close(answer, "member");
}

/* Pages of two. */
static int simulate(struct lc_call *call)
{
    unsigned actions = lc_params_members(&call->params, "ActionNames", "");
    unsigned resources = lc_params_members(&call->params, "ResourceArns", "");
    const char *source = lc_params_get(&call->params, "PolicySourceArn");
    const char *marker = lc_params_get(&call->params, "Marker");
    int64_t skip = 0;
    struct lc_answer answer;
    char next[24] = "";

    if (check_simulation(call, actions, resources) != 0) {
        return -1;
    }
    if (marker != NULL && !lc_text_integer(marker, 1, actions, &skip)) {
        return lc_refuse(&call->refusal, 400, "InvalidInput", "Invalid Marker.");
    }
    if (strstr(source, ":role/") == NULL && strstr(source, ":user/") == NULL) {
        return lc_refuse(&call->refusal, 400, "InvalidInput",
                         "Invalid Entity Arn: %.300s does not clearly define "
                         "entity type and name.",
                         source);
    }
    if (!has_principal(call, source)) {
        return lc_refuse(&call->refusal, 404, "NoSuchEntity", "Entity %.300s cannot be found.", source);
    }
    for (unsigned n = 1; n <= actions; n++) {
        if (!lc_text_starts(lc_params_member(&call->params, "ActionNames", n, ""), "iam:")) {
            return lc_refuse(&call->refusal, 400, "InvalidInput", "only actions of iam are simulated here");
        }
    }
    start(call, &answer, "SimulatePrincipalPolicy");
    lc_answer_open(&answer, "EvaluationResults");
    for (int64_t n = skip + 1; n <= (int64_t)actions && n <= skip + 2; n++) {
        write_decision(call, &answer, lc_params_member(&call->params, "ActionNames", (unsigned)n, ""));
    }
    lc_answer_close(&answer, "EvaluationResults");
    if (skip + 2 < (int64_t)actions) {
        (void)snprintf(next, sizeof next, "%lld", (long long)skip + 2);
    }
    lc_answer_text(&answer, "IsTruncated", next[0] != '\0' ? "true" : "false");
    if (next[0] != '\0') {
        lc_answer_text(&answer, "Marker", next);
    }
    lc_call_write_end(call, &answer, "SimulatePrincipalPolicy");
    return 0;
}

/* ---- who may ---- */

static bool is_admin(struct lc_iam *iam, const struct lc_caller *caller)
{
    json_t *admins = json_object_get(iam->settings, "admins");
    json_t *one = NULL;
    size_t index = 0;

    json_array_foreach(admins, index, one)
    {
        if (lc_text_like(json_string_value(one), caller->principal)) {
            return true;
        }
    }
    return false;
}

static int judge(struct lc_call *call, const struct lc_caller *caller, const char *action)
{
    const char *user = lc_params_get(&call->params, "UserName");
    struct lc_iam *iam = call->cloud->iam;
    bool needs_user = strcmp(action, "GetAccessKeyLastUsed") != 0 && strcmp(action, "SimulatePrincipalPolicy") != 0;

    /* What GetSessionToken gives cannot call IAM. */
    if (!is_admin(iam, caller) || (caller->session && !caller->temporary) ||
        lc_json_holds(json_object_get(iam->settings, "deny"), action)) {
        return lc_refuse(&call->refusal, 403, "AccessDenied",
                         "User: %.200s is not authorized to perform: iam:%s on resource: user %.140s because "
                         "no identity-based "
                         "policy allows the iam:%s action",
                         caller->arn, action, user == NULL ? "" : user, action);
    }
    if (needs_user && user == NULL) {
        return lc_refuse(&call->refusal, 400, "ValidationError",
                         "Must specify userName when calling with non-User credentials");
    }
    if (needs_user && !has_user(iam, user)) {
        return lc_refuse(&call->refusal, 404, "NoSuchEntity", "The user with name %.140s cannot be found.", user);
    }
    return 0;
}

static int run(struct lc_call *call, int (*action)(struct lc_call *call), const char *name)
{
    struct lc_caller caller = {0};
    int result = lc_auth_caller_for(call->cloud, call->request, "iam", "us-east-1", &caller, &call->refusal);

    if (result != 0) {
        return result;
    }
    (void)pthread_mutex_lock(&call->cloud->iam->lock);
    result = judge(call, &caller, name);
    if (result == 0) {
        result = action(call);
    }
    (void)pthread_mutex_unlock(&call->cloud->iam->lock);
    lc_auth_free(&caller);
    return result;
}

static int run_create(struct lc_call *call)
{
    return run(call, create, "CreateAccessKey");
}

static int run_list(struct lc_call *call)
{
    return run(call, list, "ListAccessKeys");
}

static int run_update(struct lc_call *call)
{
    return run(call, update, "UpdateAccessKey");
}

static int run_delete(struct lc_call *call)
{
    return run(call, delete, "DeleteAccessKey");
}

static int run_last_used(struct lc_call *call)
{
    return run(call, last_used, "GetAccessKeyLastUsed");
}

static int run_simulate(struct lc_call *call)
{
    return run(call, simulate, "SimulatePrincipalPolicy");
}

static void handle(struct lc_cloud *cloud, const struct lc_request *request, struct lc_reply *reply)
{
    static const struct lc_query_action actions[] = {
        {"CreateAccessKey", run_create, false},         {"ListAccessKeys", run_list, false},
        {"UpdateAccessKey", run_update, false},         {"DeleteAccessKey", run_delete, false},
        {"GetAccessKeyLastUsed", run_last_used, false}, {"SimulatePrincipalPolicy", run_simulate, false},
    };
    static const struct lc_query api = {"iam", "2010-05-08", actions, sizeof actions / sizeof actions[0]};

    lc_query_handle(&api, cloud, request, reply);
}

/* ---- settings ---- */

static json_t *check(struct lc_cloud *cloud, json_t *settings, struct lc_fail *fail)
{
    static const char *const known[] = {"account",    "admins",        "users", "new_key_s",
                                        "list_lag_s", "made_before_s", "deny",  NULL};
    json_t *list_of = NULL;
    json_t *lags = NULL;
    double lag = 0;
    const char *account = NULL;

    if (lc_json_keys(settings, "iam", known, fail) != 0 ||
        lc_json_array(settings, "iam", "admins", &list_of, fail) != 0 ||
        lc_json_array(settings, "iam", "users", &list_of, fail) != 0 ||
        lc_json_array(settings, "iam", "deny", &list_of, fail) != 0 ||
        lc_json_object(settings, "iam", "new_key_s", &lags, fail) != 0 ||
        lc_json_number(settings, "iam", "list_lag_s", 0, 3600, &lag, fail) != 0 ||
        lc_json_number(settings, "iam", "made_before_s", 0, 1e9, &lag, fail) != 0 ||
        lc_json_text(settings, "iam", "account", &account, fail) != 0) {
        return NULL;
    }
    if (cloud->iam == NULL) {
        cloud->iam = calloc(1, sizeof *cloud->iam);
        if (cloud->iam == NULL) {
            (void)lc_fail_set(fail, "out of memory");
            return NULL;
        }
        (void)pthread_mutex_init(&cloud->iam->lock, NULL);
    }
    (void)pthread_mutex_lock(&cloud->iam->lock);
    json_decref(cloud->iam->settings);
    cloud->iam->settings = json_deep_copy(settings);
    (void)pthread_mutex_unlock(&cloud->iam->lock);
    return json_incref(settings);
}

void lc_iam_free(struct lc_cloud *cloud)
{
    if (cloud->iam != NULL) {
        json_decref(cloud->iam->settings);
        (void)pthread_mutex_destroy(&cloud->iam->lock);
        free(cloud->iam);
        cloud->iam = NULL;
    }
}

json_t *lc_iam_report(struct lc_cloud *cloud)
{
    json_t *keys = json_array();

    (void)pthread_mutex_lock(&cloud->iam->lock);
    for (size_t i = 0; i < cloud->iam->count; i++) {
        const struct key *key = &cloud->iam->keys[i];

        if (key->gone == 0) {
            (void)json_array_append_new(keys,
                                        json_pack("{s:s,s:s,s:b,s:f,s:f}", "access_key_id", key->id, "user", key->user,
                                                  "active", key->active, "made", key->made, "used", key->used));
        }
    }
    (void)pthread_mutex_unlock(&cloud->iam->lock);
    return json_pack("{s:o}", "keys", keys);
}

int lc_iam_change(struct lc_cloud *cloud, json_t *body, struct lc_fail *fail)
{
    static const char *const known[] = {"user", "access_key_id", "delete", NULL};
    const char *user = NULL;
    const char *id = NULL;
    bool gone = false;
    struct key *key = NULL;

    if (lc_json_keys(body, "iam", known, fail) != 0 || lc_json_text(body, "iam", "user", &user, fail) != 0 ||
        lc_json_text(body, "iam", "access_key_id", &id, fail) != 0 ||
        lc_json_bool(body, "iam", "delete", &gone, fail) != 0) {
        return -1;
    }
    if (id == NULL || strlen(id) < 16 || strlen(id) > 128 || (!gone && user == NULL)) {
        return lc_fail_set(fail, "iam: \"access_key_id\" has 16 to 128 characters, and \"user\" is whose it is");
    }
    (void)pthread_mutex_lock(&cloud->iam->lock);
    key = find(cloud->iam, id);
    if (gone && key != NULL) {
        key->gone = lc_time_now();
    } else if (!gone && key == NULL) {
        key = add(cloud->iam, user, id);
    }
    (void)pthread_mutex_unlock(&cloud->iam->lock);
    return key != NULL ? 0 : lc_fail_set(fail, "iam: there is no such key, or no room");
}

const struct lc_service lc_iam_service = {
    .name = "iam",
    .prefix = "/iam/",
    .handle = handle,
    .demo = "{\"admins\":[\"arn:aws:iam::*:user/admin\",\"arn:aws:iam::*:role/admin\"],\"users\":[\"robot\"]}",
    .check = check,
};
