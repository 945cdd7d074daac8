/* SPDX-License-Identifier: MIT */
/* The IAM Identity Services API of IBM Cloud for API keys: created, listed by pages, disabled, enabled, deleted. */
#include "ibm.h"

#include "minted.h"
#include "token_key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS "/ibm/v1/apikeys"

enum { KEY_CHARS = 44, PAGE_DEFAULT = 20, PAGE_MOST = 100 };

/* A request that was understood. */
struct call {
    json_t *claims;   /* of the caller's token */
    json_t *identity; /* borrowed from the settings */
    const char *iam_id;
    char *id; /* of the key */
};

static int unauthorized(struct lc_visit *visit, const char *text)
{
    return lc_visit_refuse(visit, 401, "BXNIM0407E", "%s", text);
}

static int check_token(struct lc_visit *visit, struct call *call)
{
    const char *token = lc_visit_bearer(visit);
    const char *issuer = "";
    json_int_t expires = 0;

    if (token == NULL) {
        return unauthorized(visit, "No authorization header found");
    }
    call->claims = lc_token_key_open(visit->cloud->token_key, token);
    if (json_unpack(call->claims, "{s:s,s:I}", "iss", &issuer, "exp", &expires) != 0 ||
        !lc_text_like("http*/ibm/identity", issuer)) {
        return unauthorized(visit, "Provided token is not valid");
    }
    return expires > (json_int_t)lc_time_now() ? 0 : unauthorized(visit, "Provided token is expired");
}

/* The caller is the identity itself, or one that may manage its keys. */
static int check_rights(struct lc_visit *visit, struct call *call, const char *iam_id)
{
    const char *caller = json_string_value(json_object_get(call->claims, "iam_id"));

    call->identity = lc_ibm_identity(visit->settings, iam_id);
    call->iam_id = json_string_value(json_object_get(call->identity, "iam_id"));
    if (call->identity == NULL) {
        return lc_visit_refuse(visit, 404, "BXNIM0102E", "Unable to find Object. UUID: %.100s",
                               iam_id == NULL ? "" : iam_id);
    }
    return caller != NULL && (strcmp(caller, call->iam_id) == 0 ||
                              lc_json_holds(json_object_get(call->identity, "admins"), caller))
               ? 0
               : lc_visit_refuse(visit, 403, "BXNIM0513E", "You are not authorized to use this API");
}

static int check_account(struct lc_visit *visit, const char *account)
{
    const char *own = json_string_value(json_object_get(visit->settings, "account_id"));

    return account != NULL && strcmp(account, own) == 0
               ? 0
               : lc_visit_refuse(visit, 400, "BXNIM0109E", "Property missing or wrong: account_id");
}

static void end(struct call *call)
{
    json_decref(call->claims);
    free(call->id);
}

/* ---- answers ---- */

/* As the API writes instants: without seconds. */
static json_t *when(json_t *key, const char *name)
{
    char text[LC_TIME_BYTES];

    lc_time_iso((int64_t)json_number_value(json_object_get(key, name)), text);
    text[strlen("2020-09-28T17:49")] = '\0';
    return json_sprintf("%s+0000", text);
}

static json_t *shown(struct lc_visit *visit, const struct call *call, json_t *key, bool value)
{
    const char *account = json_string_value(json_object_get(visit->settings, "account_id"));
    const char *id = json_string_value(json_object_get(key, "id"));

    return json_pack("{s:s,s:s,s:o,s:b,s:b,s:o,s:O,s:O,s:s,s:s,s:s}", "id", id, "entity_tag", "1-0", "crn",
                     json_sprintf("crn:v1:bluemix:public:iam-identity::a/%s::apikey:%s", account, id), "locked", 0,
                     "disabled", json_is_true(json_object_get(key, "disabled")), "created_at", when(key, "made_at"),
                     "created_by", json_object_get(key, "maker"), "name", json_object_get(key, "name"), "iam_id",
                     call->iam_id, "account_id", account, "apikey",
                     value ? json_string_value(json_object_get(key, "value")) : "");
}

/* ---- a new key ---- */

static int read_wish(struct lc_visit *visit, struct call *call, json_t *body, const char **name)
{
    const char *iam_id = NULL;
    const char *account = NULL;
    const char *description = NULL;
    int stored = 0;

    if (body == NULL ||
        json_unpack_ex(body, NULL, JSON_STRICT, "{s:s,s:s,s:s,s?s,s?b}", "name", name, "iam_id", &iam_id, "account_id",
                       &account, "description", &description, "store_value", &stored) != 0) {
        return lc_visit_refuse(visit, 400, "BXNIM0109E", "Property missing, empty or not known in the body");
    }
    return check_account(visit, account) != 0 ? -1 : check_rights(visit, call, iam_id);
}

static void make(struct lc_visit *visit, const struct call *call, const char *name)
{
    struct lc_minted_lag lag = lc_ibm_lag(call->identity);
    char uuid[LC_UUID_BYTES] = "";
    char value[KEY_CHARS + 1] = "";
    json_t *key = NULL;

    lc_uuid(uuid);
    if (lc_random_text(value, KEY_CHARS, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")) {
        key = json_pack("{s:o,s:s,s:s,s:O,s:I}", "id", json_sprintf("ApiKey-%s", uuid), "name", name, "value", value,
                        "maker", json_object_get(call->claims, "iam_id"), "made_at", (json_int_t)lc_time_now());
    }
    if (key == NULL) {
        (void)lc_visit_refuse(visit, 500, "BXNIM0500E", "out of memory");
    } else if (!lc_minted_add(visit->cloud->minted, call->iam_id, json_incref(key), &lag,
                              (size_t)json_integer_value(json_object_get(call->identity, "key_limit")))) {
        (void)lc_visit_refuse(visit, 400, "limit_exceeded", "The maximum number of API keys per identity was reached");
    } else {
        lc_visit_granted(visit, json_string_value(json_object_get(key, "id")));
        lc_visit_json(visit, 201, shown(visit, call, key, true));
    }
    json_decref(key);
}

void lc_ibm_key_create(struct lc_visit *visit)
{
    json_t *body = lc_json_parse(visit->request->body, visit->request->body_len, NULL);
    struct call call = {0};
    const char *name = NULL;

    if (check_token(visit, &call) == 0 && read_wish(visit, &call, body, &name) == 0) {
        make(visit, &call, name);
    }
    json_decref(body);
    end(&call);
}

/* ---- the list ---- */

static int read_number(struct lc_visit *visit, const struct lc_params *query, const char *name, int64_t most,
                       int64_t *out)
{
    const char *text = lc_params_get(query, name);

    return text == NULL || lc_text_integer(text, strcmp(name, "pagesize") == 0 ? 1 : 0, most, out)
               ? 0
               : lc_visit_refuse(visit, 400, "BXNIM0110E", "Property %s is not valid", name);
}

static json_t *page_of(struct lc_visit *visit, const struct call *call, int64_t from, int64_t size)
{
    json_t *keys = lc_minted_listed(visit->cloud->minted, call->iam_id);
    json_t *page = json_array();
    json_t *out = json_pack("{s:I,s:I,s:o}", "offset", (json_int_t)from, "limit", (json_int_t)size, "apikeys", page);
    json_t *key = NULL;
    size_t index = 0;

    json_array_foreach(keys, index, key)
    {
        if ((int64_t)index >= from && (int64_t)index < from + size) {
            (void)json_array_append_new(page, shown(visit, call, key, false));
        }
    }
    if ((int64_t)json_array_size(keys) > from + size) {
        (void)json_object_set_new(out, "next",
                                  json_sprintf("https://%s%s?iam_id=%s&pagetoken=%lld&pagesize=%lld",
                                               lc_visit_host(visit), KEYS, call->iam_id, (long long)(from + size),
                                               (long long)size));
    }
    json_decref(keys);
    return out;
}

void lc_ibm_key_list(struct lc_visit *visit)
{
    int64_t most = json_integer_value(json_object_get(visit->settings, "page_limit"));
    struct lc_params query = {0};
    struct call call = {0};
    int64_t size = PAGE_DEFAULT;
    int64_t from = 0;

    if (!lc_params_read(visit->request->query, strlen(visit->request->query), &query)) {
        (void)lc_visit_refuse(visit, 400, "BXNIM0110E", "The query is not valid");
    } else if (check_token(visit, &call) == 0 && check_account(visit, lc_params_get(&query, "account_id")) == 0 &&
               check_rights(visit, &call, lc_params_get(&query, "iam_id")) == 0 &&
               read_number(visit, &query, "pagesize", PAGE_MOST, &size) == 0 &&
               read_number(visit, &query, "pagetoken", 1000000, &from) == 0) {
        lc_visit_json(visit, 200, page_of(visit, &call, from, size < most ? size : most));
    }
    lc_params_free(&query);
    end(&call);
}

/* ---- one key ---- */

static void change(struct lc_visit *visit, enum lc_minted_do what)
{
    struct call call = {.id = strdup(visit->request->path + strlen(KEYS "/"))};
    struct lc_minted_lag lag = {0};

    if (call.id != NULL) {
        call.id[strcspn(call.id, "/")] = '\0';
    }
    if (call.id != NULL && check_token(visit, &call) == 0) {
        if (*visit->record.role == '\0') {
            (void)lc_visit_refuse(visit, 404, "BXNIM0102E", "Unable to find Object. UUID: %.100s", call.id);
        } else if (check_rights(visit, &call, visit->record.role) == 0) {
            lag = lc_ibm_lag(call.identity);
            if (lc_minted_do(visit->cloud->minted, call.iam_id, call.id, what, &lag)) {
                visit->reply->status = 204;
            } else {
                (void)lc_visit_refuse(visit, 404, "BXNIM0102E", "Unable to find Object. UUID: %.100s", call.id);
            }
        }
    }
    end(&call);
}

void lc_ibm_key_disable(struct lc_visit *visit)
{
    change(visit, LC_MINTED_DISABLE);
}

void lc_ibm_key_enable(struct lc_visit *visit)
{
    change(visit, LC_MINTED_ENABLE);
}

void lc_ibm_key_delete(struct lc_visit *visit)
{
    change(visit, LC_MINTED_REMOVE);
}
