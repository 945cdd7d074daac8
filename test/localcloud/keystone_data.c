/* SPDX-License-Identifier: MIT */
/* Keystone's data: lookup and changes. */
#include "keystone_data.h"

#include "crypto.h"
#include "keystone_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MANY_REVOKED = 10000 };

struct lc_keystone *lc_keystone_new(struct lc_cloud *cloud, struct lc_fail *fail)
{
    struct lc_keystone *keystone = calloc(1, sizeof *keystone);
    const char *issuer = lc_issuer_url(cloud->issuer);

    if (keystone == NULL) {
        (void)lc_fail_set(fail, "out of memory");
        return NULL;
    }
    (void)pthread_rwlock_init(&keystone->lock, NULL);
    keystone->cloud = cloud;
    keystone->expiration_s = 3600;
    keystone->user_limit = -1;
    /* The issuer is next to it: https://127.0.0.1:PORT/issuer. */
    keystone->base_url = lc_text_format("%.*s/identity", (int)(strlen(issuer) - strlen("/issuer")), issuer);
    keystone->users = json_object();
    keystone->credentials = json_object();
    keystone->providers = json_object();
    keystone->revoked = json_object();
    if (keystone->base_url == NULL || keystone->users == NULL || keystone->credentials == NULL ||
        keystone->providers == NULL || keystone->revoked == NULL) {
        (void)lc_fail_set(fail, "out of memory");
        lc_keystone_free(keystone);
        return NULL;
    }
    return keystone;
}

void lc_keystone_free(struct lc_keystone *keystone)
{
    if (keystone == NULL) {
        return;
    }
    json_decref(keystone->settings);
    json_decref(keystone->users);
    json_decref(keystone->credentials);
    json_decref(keystone->providers);
    json_decref(keystone->revoked);
    free(keystone->base_url);
    (void)pthread_rwlock_destroy(&keystone->lock);
    free(keystone);
}

const char *lc_keystone_text(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text == NULL ? "" : text;
}

json_t *lc_keystone_pick(json_t *array, const char *key, const char *text)
{
    json_t *item = NULL;
    size_t index = 0;

    json_array_foreach(array, index, item)
    {
        if (strcmp(lc_keystone_text(item, key), text) == 0) {
            return item;
        }
    }
    return NULL;
}

bool lc_keystone_is_domain(json_t *asked, json_t *domain)
{
    json_t *id = json_object_get(asked, "id");

    return id != NULL ? json_equal(id, json_object_get(domain, "id")) == 1
                      : json_equal(json_object_get(asked, "name"), json_object_get(domain, "name")) == 1;
}

static json_t *get(struct lc_keystone *keystone, json_t *const *list, const char *id)
{
    json_t *found = NULL;

    (void)pthread_rwlock_rdlock(&keystone->lock);
    found = json_incref(json_object_get(*list, id));
    (void)pthread_rwlock_unlock(&keystone->lock);
    return found;
}

json_t *lc_keystone_get_user(struct lc_keystone *keystone, const char *id)
{
    return get(keystone, &keystone->users, id);
}

json_t *lc_keystone_get_credential(struct lc_keystone *keystone, const char *id)
{
    return get(keystone, &keystone->credentials, id);
}

json_t *lc_keystone_get_provider(struct lc_keystone *keystone, const char *id)
{
    return get(keystone, &keystone->providers, id);
}

json_t *lc_keystone_named_user(struct lc_keystone *keystone, const char *name, json_t *domain)
{
    const char *id = NULL;
    json_t *user = NULL;
    json_t *found = NULL;

    (void)pthread_rwlock_rdlock(&keystone->lock);
    json_object_foreach(keystone->users, id, user)
    {
        if (strcmp(lc_keystone_text(user, "name"), name) == 0 &&
            lc_keystone_is_domain(domain, json_object_get(user, "domain"))) {
            found = json_incref(user);
            break;
        }
    }
    (void)pthread_rwlock_unlock(&keystone->lock);
    return found;
}

/* Borrowed; the lock is held. *count is how many the user has. */
static json_t *find_credential(struct lc_keystone *keystone, const char *user, const char *name, int64_t *count)
{
    const char *id = NULL;
    json_t *credential = NULL;
    json_t *found = NULL;

    json_object_foreach(keystone->credentials, id, credential)
    {
        if (strcmp(lc_keystone_text(credential, "user"), user) == 0) {
            *count += 1;
            found = strcmp(lc_keystone_text(credential, "name"), name) == 0 ? credential : found;
        }
    }
    return found;
}

json_t *lc_keystone_named_credential(struct lc_keystone *keystone, const char *user, const char *name)
{
    json_t *found = NULL;
    int64_t count = 0;

    (void)pthread_rwlock_rdlock(&keystone->lock);
    found = json_incref(find_credential(keystone, user, name, &count));
    (void)pthread_rwlock_unlock(&keystone->lock);
    return found;
}

enum lc_keystone_put lc_keystone_put_locked(struct lc_keystone *keystone, json_t *credential)
{
    enum lc_keystone_put result = LC_KEYSTONE_PUT;
    int64_t count = 0;

    if (find_credential(keystone, lc_keystone_text(credential, "user"), lc_keystone_text(credential, "name"), &count) !=
            NULL ||
        json_object_get(keystone->credentials, lc_keystone_text(credential, "id")) != NULL) {
        result = LC_KEYSTONE_TAKEN;
    } else if (keystone->user_limit >= 0 && count >= keystone->user_limit) {
        result = LC_KEYSTONE_FULL;
    } else {
        (void)json_object_set(keystone->credentials, lc_keystone_text(credential, "id"), credential);
    }
    json_decref(credential);
    return result;
}

enum lc_keystone_put lc_keystone_put_credential(struct lc_keystone *keystone, json_t *credential)
{
    enum lc_keystone_put result = LC_KEYSTONE_PUT;

    (void)pthread_rwlock_wrlock(&keystone->lock);
    result = lc_keystone_put_locked(keystone, credential);
    (void)pthread_rwlock_unlock(&keystone->lock);
    return result;
}

bool lc_keystone_drop_credential(struct lc_keystone *keystone, const char *id)
{
    int result = 0;

    (void)pthread_rwlock_wrlock(&keystone->lock);
    result = json_object_del(keystone->credentials, id);
    (void)pthread_rwlock_unlock(&keystone->lock);
    return result == 0;
}

void lc_keystone_revoke(struct lc_keystone *keystone, const char *audit_id, int64_t until_s)
{
    const char *id = NULL;
    json_t *until = NULL;
    void *next = NULL;

    (void)pthread_rwlock_wrlock(&keystone->lock);
    if (json_object_size(keystone->revoked) >= MANY_REVOKED) {
        json_object_foreach_safe(keystone->revoked, next, id, until)
        {
            if (json_integer_value(until) < (json_int_t)lc_time_now()) {
                (void)json_object_del(keystone->revoked, id);
            }
        }
    }
    (void)json_object_set_new(keystone->revoked, audit_id, json_integer(until_s));
    (void)pthread_rwlock_unlock(&keystone->lock);
}

bool lc_keystone_revoked(struct lc_keystone *keystone, const char *audit_id)
{
    bool revoked = false;

    (void)pthread_rwlock_rdlock(&keystone->lock);
    revoked = json_object_get(keystone->revoked, audit_id) != NULL;
    (void)pthread_rwlock_unlock(&keystone->lock);
    return revoked;
}

void lc_keystone_id(const char *kind, const char *name, char out[33])
{
    char hex[LC_SHA256_HEX_BYTES] = "";
    char *text = lc_text_format("keystone %s %s", kind, name);

    lc_sha256_hex(text == NULL ? "" : text, text == NULL ? 0 : strlen(text), hex);
    free(text);
    memcpy(out, hex, 32);
    out[32] = '\0';
}

json_t *lc_keystone_new_id(void)
{
    char id[33] = "";

    return lc_random_text(id, 32, "0123456789abcdef") ? json_string(id) : NULL;
}

bool lc_keystone_parse_time(const char *text, int64_t *when_us)
{
    struct tm parts = {0};
    char again[32] = "";
    const char *end = strlen(text) < 19 ? NULL : strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);
    int64_t fraction = 0;
    time_t when = 0;

    if (end != text + 19) {
        return false;
    }
    if (*end == '.') {
        size_t digits = strspn(++end, "0123456789");
        if (digits == 0) {
            return false;
        }
        for (size_t i = 0; i < 6; i++) {
            fraction = fraction * 10 + (i < digits ? end[i] - '0' : 0);
        }
        end += digits;
    }
    if (*end != '\0' && strcmp(end, "Z") != 0) {
        return false;
    }
    when = timegm(&parts);
    *when_us = (int64_t)when * 1000000 + fraction;
    (void)gmtime_r(&when, &parts); /* refuses 30 February, which timegm moves to March */
    (void)strftime(again, sizeof again, "%Y-%m-%dT%H:%M:%S", &parts);
    return strncmp(again, text, 19) == 0;
}

json_t *lc_keystone_time(int64_t when_us, enum lc_keystone_spelling spelling)
{
    time_t when = (time_t)(when_us / 1000000);
    int micros = (int)(when_us % 1000000);
    struct tm parts = {0};
    char text[48] = "";
    size_t len = 0;

    (void)gmtime_r(&when, &parts);
    len = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    if (spelling != LC_KEYSTONE_ISOFORMAT || micros != 0) {
        (void)snprintf(text + len, sizeof text - len, ".%06d%s", micros, spelling == LC_KEYSTONE_Z ? "Z" : "");
    }
    return json_string(text);
}
