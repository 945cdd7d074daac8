/* SPDX-License-Identifier: MIT */
/* IBM Cloud's IAM: the service, its settings and refusals. */
#include "ibm.h"

#include "minted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN "/ibm/identity/token"
#define KEYS  "/ibm/v1/apikeys"

enum { LIFE_S = 3600, MOST_KEYS = 20, PAGE = 100 };

/* The token endpoint words its refusals in another way than the rest. */
static void refuse(struct lc_visit *visit, const struct lc_refusal *refusal)
{
    char status[16];

    if (strcmp(visit->request->path, TOKEN) == 0) {
        lc_visit_json(visit, refusal->status,
                      json_pack("{s:{s:s,s:s},s:s,s:s}", "context", "requestId", visit->id, "requestType",
                                "incoming.Identity_Token", "errorCode", refusal->code, "errorMessage",
                                refusal->message));
        return;
    }
    (void)snprintf(status, sizeof status, "%u", refusal->status);
    lc_visit_json(visit, refusal->status,
                  json_pack("{s:s,s:[{s:s,s:s,s:s}],s:s}", "status_code", status, "errors", "code", refusal->code,
                            "message_code", refusal->code, "message", refusal->message, "trace", visit->id));
}

/* Which identity it is about: for a token the API key's or the profile; in the query of a list, in the body of a new
 * key, else the identity that has the key. */
static void note(struct lc_visit *visit)
{
    const char *id = strstr(visit->request->path, KEYS "/");
    struct lc_params query = {0};
    json_t *body = NULL;
    json_t *identity = NULL;
    json_t *settings = NULL;
    const char *found = NULL;
    size_t index = 0;
    struct lc_held *held = lc_service_hold(visit->cloud, &lc_ibm_service, &settings);

    if (id != NULL) {
        char *copy = strdup(id + strlen(KEYS "/"));
        if (copy != NULL) {
            copy[strcspn(copy, "/")] = '\0';
        }
        json_array_foreach(json_object_get(settings, "identities"), index, identity)
        {
            const char *owner = json_string_value(json_object_get(identity, "iam_id"));
            found = copy != NULL && lc_minted_knows(visit->cloud->minted, owner, copy) ? owner : found;
        }
        free(copy);
    } else if (strcmp(visit->request->method, "GET") == 0) {
        found = lc_params_read(visit->request->query, strlen(visit->request->query), &query)
                    ? lc_params_get(&query, "iam_id")
                    : NULL;
    } else if (strcmp(visit->request->path, KEYS) == 0) {
        body = lc_json_parse(visit->request->body, visit->request->body_len, NULL);
        found = json_string_value(json_object_get(body, "iam_id"));
    } else if (lc_visit_param(visit, "apikey") != NULL) {
        found = lc_ibm_owner(visit->cloud, settings, lc_visit_param(visit, "apikey"));
    } else {
        found = lc_visit_param(visit, "profile_id");
    }
    (void)snprintf(visit->record.role, sizeof visit->record.role, "%s", found == NULL ? "" : found);
    lc_params_free(&query);
    json_decref(body);
    lc_service_release(held);
}

/* ---- settings ---- */

json_t *lc_ibm_identity(json_t *settings, const char *iam_id)
{
    json_t *identity = NULL;
    size_t index = 0;

    json_array_foreach(json_object_get(settings, "identities"), index, identity)
    {
        if (iam_id != NULL && strcmp(json_string_value(json_object_get(identity, "iam_id")), iam_id) == 0) {
            return identity;
        }
    }
    return NULL;
}

struct lc_minted_lag lc_ibm_lag(json_t *identity)
{
    return (struct lc_minted_lag){json_number_value(json_object_get(identity, "key_delay_s")),
                                  json_number_value(json_object_get(identity, "list_delay_s"))};
}

static int check_identity(json_t *item, struct lc_fail *fail)
{
    static const char *const known[] = {"iam_id", "admins", "key_limit", "key_delay_s", "list_delay_s", NULL};
    const char *iam_id = "";
    json_t *admins = NULL;
    int64_t limit = MOST_KEYS;
    double delay_s = 0;

    if (lc_json_keys(item, "identities", known, fail) != 0 ||
        lc_json_text(item, "identities", "iam_id", &iam_id, fail) != 0 ||
        lc_json_array(item, "identities", "admins", &admins, fail) != 0 ||
        lc_json_integer(item, "identities", "key_limit", 0, 10000, &limit, fail) != 0 ||
        lc_json_number(item, "identities", "key_delay_s", 0, 3600, &delay_s, fail) != 0 ||
        lc_json_number(item, "identities", "list_delay_s", 0, 3600, &delay_s, fail) != 0) {
        return -1;
    }
    (void)json_object_set_new(item, "key_limit", json_integer(limit));
    return *iam_id == '\0' ? lc_fail_set(fail, "identities: \"iam_id\" is missing") : 0;
}

static int check_profile(struct lc_cloud *cloud, json_t *item, struct lc_fail *fail)
{
    static const char *const known[] = {"id", "issuer", "subject", "audience", NULL};
    const char *id = "";
    const char *subject = "";
    const char *issuer = lc_issuer_url(cloud->issuer);
    json_t *audience = NULL;

    if (lc_json_keys(item, "profiles", known, fail) != 0 || lc_json_text(item, "profiles", "id", &id, fail) != 0 ||
        lc_json_text(item, "profiles", "issuer", &issuer, fail) != 0 ||
        lc_json_text(item, "profiles", "subject", &subject, fail) != 0 ||
        lc_json_array(item, "profiles", "audience", &audience, fail) != 0) {
        return -1;
    }
    (void)json_object_set_new(item, "issuer", json_string(issuer));
    return *id == '\0' || *subject == '\0' || json_array_size(audience) == 0
               ? lc_fail_set(fail, "profiles: \"id\", \"subject\" and \"audience\" must be given")
               : 0;
}

json_t *lc_ibm_check(struct lc_cloud *cloud, json_t *settings, struct lc_fail *fail)
{
    static const char *const known[] = {"account_id", "identities", "profiles", "lifetime_s", "page_limit", NULL};
    json_t *copy = json_deep_copy(settings);
    json_t *item = NULL;
    const char *account = "";
    int64_t life_s = LIFE_S;
    int64_t page = PAGE;
    size_t index = 0;
    bool good = lc_json_keys(copy, "ibm", known, fail) == 0 &&
                lc_json_text(copy, "ibm", "account_id", &account, fail) == 0 &&
                lc_json_integer(copy, "ibm", "lifetime_s", 60, 86400, &life_s, fail) == 0 &&
                lc_json_integer(copy, "ibm", "page_limit", 1, PAGE, &page, fail) == 0 &&
                (*account != '\0' || lc_fail_set(fail, "ibm: \"account_id\" is missing") == 0);

    json_array_foreach(json_object_get(copy, "identities"), index, item)
    {
        good = good && check_identity(item, fail) == 0;
    }
    json_array_foreach(json_object_get(copy, "profiles"), index, item)
    {
        good = good && check_profile(cloud, item, fail) == 0;
    }
    if (!good) {
        json_decref(copy);
        return NULL;
    }
    (void)json_object_set_new(copy, "lifetime_s", json_integer(life_s));
    (void)json_object_set_new(copy, "page_limit", json_integer(page));
    return copy;
}

static const struct lc_action actions[] = {
    {"ibm.token", "POST", TOKEN, lc_ibm_token, NULL, false},
    {"ibm.key.disable", "POST", KEYS "/*/disable", lc_ibm_key_disable, NULL, false},
    {"ibm.key.enable", "POST", KEYS "/*/enable", lc_ibm_key_enable, NULL, false},
    {"ibm.key.create", "POST", KEYS, lc_ibm_key_create, NULL, false},
    {"ibm.key.list", "GET", KEYS, lc_ibm_key_list, NULL, false},
    {"ibm.key.delete", "DELETE", KEYS "/*", lc_ibm_key_delete, NULL, false},
};

const struct lc_service lc_ibm_service = {
    .name = "ibm",
    .prefix = "/ibm/",
    .actions = actions,
    .action_count = sizeof actions / sizeof actions[0],
    .note = note,
    .refuse = refuse,
    .demo = "{\"account_id\":\"0123456789abcdef0123456789abcdef\",\"identities\":[{\"iam_id\":\"iam-ServiceId-demo\","
            "\"admins\":[\"iam-Profile-demo\"]}],\"profiles\":[{\"id\":\"Profile-demo\",\"subject\":"
            "\"system:serviceaccount:default:demo\",\"audience\":[\"iam\"]}]}",
    .check = lc_ibm_check,
};
