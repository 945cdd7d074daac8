/* SPDX-License-Identifier: MIT */
/* The settings of Google Cloud: pools' providers and service accounts. */
#include "gcp.h"

#include "crypto.h"
#include "token_proof.h"

#include <stdlib.h>
#include <string.h>

#define HOST "//iam.googleapis.com/"

enum { MOST_KEYS = 10, SYSTEM_KEYS = 2, MOST_DELAY_S = 3600 };

/* One part of a resource name: [a-z0-9-], 4 to 32 of them. */
static bool is_id(const char *at, size_t len)
{
    return len >= 4 && len <= 32 && strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789-") >= len;
}

/* Length of the part at `at` when the text goes on with prefix, a part, and then '/' or the end. */
static bool take(const char **at, const char *prefix, const char **part, size_t *len)
{
    if (!lc_text_starts(*at, prefix)) {
        return false;
    }
    *part = *at + strlen(prefix);
    *len = strcspn(*part, "/");
    *at = *part + *len;
    return *len > 0;
}

bool lc_gcp_place(const char *audience, struct lc_gcp_place *out)
{
    const char *at = audience + (lc_text_starts(audience, HOST) ? strlen(HOST) - 1 : 0);
    const char *start = at + 1;
    const char *part = NULL;
    size_t len = 0;

    if (at == audience) {
        return false;
    }
    *out = (struct lc_gcp_place){.pool = start};
    if (take(&at, "/projects/", &part, &len)) {
        if (strspn(part, "0123456789") != len || !take(&at, "/locations/", &part, &len) ||
            strncmp(part, "global", len) != 0 || len != 6 || !take(&at, "/workloadIdentityPools/", &part, &len)) {
            return false;
        }
    } else {
        out->workforce = true;
        if (!take(&at, "/locations/", &part, &len) || !take(&at, "/workforcePools/", &part, &len)) {
            return false;
        }
    }
    out->pool_len = (size_t)(at - start);
    return is_id(part, len) && take(&at, "/providers/", &part, &len) && is_id(part, len) && *at == '\0';
}

static int check_clients(json_t *list, struct lc_fail *fail)
{
    static const char *const known[] = {"id", "secret", NULL};
    json_t *item = NULL;
    size_t index = 0;

    if (list != NULL && !json_is_array(list)) {
        return lc_fail_set(fail, "providers: \"clients\" must be an array");
    }
    json_array_foreach(list, index, item)
    {
        const char *id = "";
        const char *secret = "";
        if (lc_json_keys(item, "clients", known, fail) != 0 || lc_json_text(item, "clients", "id", &id, fail) != 0 ||
            lc_json_text(item, "clients", "secret", &secret, fail) != 0) {
            return -1;
        }
        if (*id == '\0' || *secret == '\0') {
            return lc_fail_set(fail, "clients: \"id\" and \"secret\" must not be empty");
        }
    }
    return 0;
}

static int check_provider(struct lc_cloud *cloud, json_t *provider, struct lc_fail *fail)
{
    static const char *const known[] = {"audience",     "allowed_audiences", "subject",
                                        "issuer",       "clients",           "attribute_condition",
                                        "user_project", "disabled",          NULL};
    const char *audience = "";
    const char *mapping = "assertion.sub";
    const char *issuer = lc_issuer_url(cloud->issuer);
    const char *text = NULL;
    json_t *allowed = NULL;
    struct lc_gcp_place place;
    bool disabled = false;

    if (lc_json_keys(provider, "providers", known, fail) != 0 ||
        lc_json_text(provider, "providers", "audience", &audience, fail) != 0 ||
        lc_json_text(provider, "providers", "subject", &mapping, fail) != 0 ||
        lc_json_text(provider, "providers", "issuer", &issuer, fail) != 0 ||
        lc_json_text(provider, "providers", "attribute_condition", &text, fail) != 0 ||
        lc_json_text(provider, "providers", "user_project", &text, fail) != 0 ||
        lc_json_array(provider, "providers", "allowed_audiences", &allowed, fail) != 0 ||
        lc_json_bool(provider, "providers", "disabled", &disabled, fail) != 0 ||
        check_clients(json_object_get(provider, "clients"), fail) != 0) {
        return -1;
    }
    if (!lc_gcp_place(audience, &place)) {
        return lc_fail_set(fail,
                           "providers: \"audience\" must be the full resource name: %sprojects/NUMBER/locations/global/"
                           "workloadIdentityPools/POOL/providers/PROVIDER or %slocations/global/workforcePools/POOL/"
                           "providers/PROVIDER",
                           HOST, HOST);
    }
    if (!lc_text_starts(mapping, "assertion.") || !lc_text_only(mapping + 10, "_-") || mapping[10] == '\0') {
        return lc_fail_set(fail, "providers: \"subject\" maps google.subject: assertion.CLAIM");
    }
    if (!place.workforce && json_object_get(provider, "user_project") != NULL) {
        return lc_fail_set(fail, "providers: \"user_project\" is for workforce pools only");
    }
    if (json_array_size(allowed) == 0) {
        char *https = lc_text_format("https:%s", audience);
        (void)json_object_set_new(provider, "allowed_audiences", json_pack("[s,s]", audience, https));
        free(https);
    }
    (void)json_object_set_new(provider, "subject", json_string(mapping));
    (void)json_object_set_new(provider, "issuer", json_string(issuer));
    return 0;
}

/* 21 digits, always the same for the same account. */
static void add_unique_id(struct lc_cloud *cloud, json_t *account, const char *email)
{
    unsigned char digest[LC_SHA256_BYTES];
    char id[22] = "1";

    lc_hmac256(cloud->session_key, sizeof cloud->session_key, email, strlen(email), digest);
    for (size_t i = 1; i < 21; i++) {
        id[i] = (char)('0' + digest[i] % 10);
    }
    (void)json_object_set_new(account, "unique_id", json_string(id));
}

static int check_keys(json_t *keys, struct lc_fail *fail)
{
    static const char *const known[] = {"id", "public_key_pem", NULL};
    json_t *key = NULL;
    size_t index = 0;

    if (keys != NULL && !json_is_array(keys)) {
        return lc_fail_set(fail, "service_accounts: \"keys\" must be an array");
    }
    json_array_foreach(keys, index, key)
    {
        const char *id = "";
        const char *pem = "";
        if (lc_json_keys(key, "keys", known, fail) != 0 || lc_json_text(key, "keys", "id", &id, fail) != 0 ||
            lc_json_text(key, "keys", "public_key_pem", &pem, fail) != 0) {
            return -1;
        }
        if (*id == '\0' || !lc_token_proof_key(pem)) {
            return lc_fail_set(fail, "keys: \"id\" is the private_key_id of the key file, \"public_key_pem\" an RSA "
                                     "public key or certificate of at least 2048 bits");
        }
    }
    return 0;
}

static int check_account(struct lc_cloud *cloud, json_t *account, struct lc_fail *fail)
{
    static const char *const known[] = {"email",       "unique_id",  "members",     "keys",         "max_lifetime_s",
                                        "key_admins",  "key_denied", "key_delay_s", "list_delay_s", "key_limit",
                                        "system_keys", "key_pair",   NULL};
    const char *pair = NULL;
    const char *email = "";
    const char *id = NULL;
    json_t *members = NULL;
    int64_t longest = LC_GCP_LIFE_S;
    int64_t limit = MOST_KEYS;
    int64_t system = SYSTEM_KEYS;
    double delay_s = 0;

    if (lc_json_keys(account, "service_accounts", known, fail) != 0 ||
        lc_json_text(account, "service_accounts", "email", &email, fail) != 0 ||
        lc_json_text(account, "service_accounts", "unique_id", &id, fail) != 0 ||
        lc_json_text(account, "service_accounts", "key_pair", &pair, fail) != 0 ||
        lc_json_array(account, "service_accounts", "members", &members, fail) != 0 ||
        lc_json_integer(account, "service_accounts", "max_lifetime_s", LC_GCP_LIFE_S, 43200, &longest, fail) != 0 ||
        lc_json_array(account, "service_accounts", "key_admins", &members, fail) != 0 ||
        lc_json_array(account, "service_accounts", "key_denied", &members, fail) != 0 ||
        lc_json_number(account, "service_accounts", "key_delay_s", 0, MOST_DELAY_S, &delay_s, fail) != 0 ||
        lc_json_number(account, "service_accounts", "list_delay_s", 0, MOST_DELAY_S, &delay_s, fail) != 0 ||
        lc_json_integer(account, "service_accounts", "key_limit", 0, MOST_KEYS, &limit, fail) != 0 ||
        lc_json_integer(account, "service_accounts", "system_keys", 0, MOST_KEYS, &system, fail) != 0 ||
        check_keys(json_object_get(account, "keys"), fail) != 0) {
        return -1;
    }
    if (!lc_text_like("?*@?*.gserviceaccount.com", email) || strpbrk(email, "/:% ") != NULL) {
        return lc_fail_set(fail, "service_accounts: \"email\" must look like NAME@PROJECT.iam.gserviceaccount.com");
    }
    if (id == NULL) {
        add_unique_id(cloud, account, email);
    }
    (void)json_object_set_new(account, "max_lifetime_s", json_integer(longest));
    (void)json_object_set_new(account, "key_limit", json_integer(limit));
    (void)json_object_set_new(account, "system_keys", json_integer(system));
    return 0;
}

static int check_list(struct lc_cloud *cloud, json_t *settings, const char *name, const char *key,
                      int (*check)(struct lc_cloud *cloud, json_t *item, struct lc_fail *fail), struct lc_fail *fail)
{
    json_t *list = json_object_get(settings, name);
    json_t *seen = json_object();
    json_t *item = NULL;
    size_t index = 0;
    int result = list != NULL && !json_is_array(list) ? lc_fail_set(fail, "\"%s\" must be an array", name) : 0;

    json_array_foreach(list, index, item)
    {
        const char *id = NULL;
        result = result != 0 ? result : check(cloud, item, fail);
        id = json_string_value(json_object_get(item, key));
        if (result == 0 && id != NULL && json_object_get(seen, id) != NULL) {
            result = lc_fail_set(fail, "%s: %.200s occurs twice", name, id);
        }
        if (id != NULL) {
            (void)json_object_set_new(seen, id, json_true());
        }
    }
    json_decref(seen);
    return result;
}

json_t *lc_gcp_check(struct lc_cloud *cloud, json_t *settings, struct lc_fail *fail)
{
    static const char *const known[] = {"providers", "service_accounts", NULL};
    json_t *copy = json_deep_copy(settings);

    if (copy == NULL || lc_json_keys(copy, "gcp", known, fail) != 0 ||
        check_list(cloud, copy, "providers", "audience", check_provider, fail) != 0 ||
        check_list(cloud, copy, "service_accounts", "email", check_account, fail) != 0) {
        json_decref(copy);
        return NULL;
    }
    return copy;
}
