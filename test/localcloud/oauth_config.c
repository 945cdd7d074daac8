/* SPDX-License-Identifier: MIT */
/* The settings of the authorization server. */
#include "oauth.h"

#include "token_proof.h"

#include <string.h>

enum { LIFE_S = 3600 };

/* Whose tokens are taken, as a subject or, in a client, as its authentication. */
static int check_subject(struct lc_cloud *cloud, json_t *item, const char *where, bool list, struct lc_fail *fail)
{
    static const char *const known[] = {"issuer", "subject", "audience", NULL};
    const char *issuer = lc_issuer_url(cloud->issuer);
    const char *subject = "";
    const char *audience = NULL;
    json_t *audiences = NULL;

    if (lc_json_keys(item, where, known, fail) != 0 || lc_json_text(item, where, "issuer", &issuer, fail) != 0 ||
        lc_json_text(item, where, "subject", &subject, fail) != 0 ||
        (list ? lc_json_array(item, where, "audience", &audiences, fail)
              : lc_json_text(item, where, "audience", &audience, fail)) != 0) {
        return -1;
    }
    if (*subject == '\0' || (list ? json_array_size(audiences) == 0 : audience == NULL)) {
        return lc_fail_set(fail, "%s: \"subject\" and \"audience\" are missing", where);
    }
    (void)json_object_set_new(item, "issuer", json_string(issuer));
    return 0;
}

static int check_keys(json_t *keys, struct lc_fail *fail)
{
    static const char *const known[] = {"id", "public_key_pem", NULL};
    json_t *item = NULL;
    size_t index = 0;

    if (keys != NULL && !json_is_array(keys)) {
        return lc_fail_set(fail, "clients: \"keys\" must be an array");
    }
    json_array_foreach(keys, index, item)
    {
        const char *id = "";
        const char *pem = "";
        if (lc_json_keys(item, "keys", known, fail) != 0 || lc_json_text(item, "keys", "id", &id, fail) != 0 ||
            lc_json_text(item, "keys", "public_key_pem", &pem, fail) != 0) {
            return -1;
        }
        if (!lc_token_proof_key(pem)) {
            return lc_fail_set(fail, "keys: \"public_key_pem\" must be an RSA (2048 bits or more) or P-256 public key");
        }
    }
    return 0;
}

static int check_client(struct lc_cloud *cloud, json_t *client, struct lc_fail *fail)
{
    static const char *const known[] = {"id", "secrets", "keys", "federated", NULL};
    const char *id = "";
    json_t *secrets = NULL;
    json_t *federated = json_object_get(client, "federated");
    json_t *item = NULL;
    size_t index = 0;

    if (lc_json_keys(client, "clients", known, fail) != 0 || lc_json_text(client, "clients", "id", &id, fail) != 0 ||
        lc_json_array(client, "clients", "secrets", &secrets, fail) != 0 ||
        check_keys(json_object_get(client, "keys"), fail) != 0) {
        return -1;
    }
    if (*id == '\0' || (federated != NULL && !json_is_array(federated))) {
        return lc_fail_set(fail, "clients: \"id\" must not be empty, \"federated\" must be an array");
    }
    json_array_foreach(federated, index, item)
    {
        if (check_subject(cloud, item, "federated", false, fail) != 0) {
            return -1;
        }
    }
    return 0;
}

static int check_lists(struct lc_cloud *cloud, json_t *settings, struct lc_fail *fail)
{
    json_t *clients = json_object_get(settings, "clients");
    json_t *subjects = json_object_get(settings, "subjects");
    json_t *item = NULL;
    size_t index = 0;

    if ((clients != NULL && !json_is_array(clients)) || (subjects != NULL && !json_is_array(subjects))) {
        return lc_fail_set(fail, "\"clients\" and \"subjects\" must be arrays");
    }
    json_array_foreach(clients, index, item)
    {
        if (check_client(cloud, item, fail) != 0) {
            return -1;
        }
    }
    json_array_foreach(subjects, index, item)
    {
        if (check_subject(cloud, item, "subjects", true, fail) != 0) {
            return -1;
        }
    }
    return 0;
}

json_t *lc_oauth_check(struct lc_cloud *cloud, json_t *settings, struct lc_fail *fail)
{
    static const char *const known[] = {"clients",         "subjects",   "audiences", "scopes",
                                        "client_required", "lifetime_s", NULL};
    json_t *copy = json_deep_copy(settings);
    json_t *list = NULL;
    bool required = false;
    int64_t life_s = LIFE_S;

    if (lc_json_keys(copy, "oauth", known, fail) != 0 || lc_json_array(copy, "oauth", "audiences", &list, fail) != 0 ||
        lc_json_array(copy, "oauth", "scopes", &list, fail) != 0 ||
        lc_json_bool(copy, "oauth", "client_required", &required, fail) != 0 ||
        lc_json_integer(copy, "oauth", "lifetime_s", 60, 86400, &life_s, fail) != 0 ||
        check_lists(cloud, copy, fail) != 0) {
        json_decref(copy);
        return NULL;
    }
    (void)json_object_set_new(copy, "lifetime_s", json_integer(life_s));
    return copy;
}
