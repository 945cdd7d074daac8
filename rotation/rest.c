/* SPDX-License-Identifier: MIT */
/* URLs, headers, bodies and lists of clouds that speak JSON. */
#include "rotation/rest_private.h"

#include "base/time.h"
#include "wire/url.h"

#include <stdlib.h>
#include <string.h>

#define TOKEN_MAX 65536
#define NEVER_S   253370764800 /* 9999-01-01 */

/* ---- URLs ---- */

int cfr_rotation_rest_check_url(const char *key, const char *url, struct cfr_err *err)
{
    struct cfr_url parts;
    int rc;

    if (url == NULL)
        return 0;
    rc = cfr_url_parse(url, &parts, err);
    if (rc != 0)
        (void)cfr_err_prefix(err, "%s", key);
    else if (strpbrk(url, "?%") != NULL)
        rc =
            cfr_err_set(err, CFR_E_CONFIG, "%s: must be a host, perhaps with a port and a path, and nothing else", key);
    return rc;
}

void cfr_rotation_rest_base(struct cfr_str *url, const char *base)
{
    size_t n = strlen(base);

    cfr_str_add(url, (struct cfr_view){base, n != 0 && base[n - 1] == '/' ? n - 1 : n});
}

void cfr_rotation_rest_part(struct cfr_str *url, const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        bool plain = cfr_view_is_alnum(*text) || strchr("-._~", c) != NULL;

        cfr_str_addf(url, plain ? "%c" : "%%%02X", c);
    }
}

/* ---- what is sent ---- */

static bool is_token(struct cfr_view token)
{
    return token.n != 0 && token.n < TOKEN_MAX && cfr_view_printable(token) && memchr(token.p, ' ', token.n) == NULL;
}

int cfr_rotation_rest_token(struct cfr_wire_request *out, const char *name, const char *prefix, struct cfr_view token,
                            const char *missing, struct cfr_err *err)
{
    struct cfr_secret value;
    int rc;

    if (!is_token(token))
        return cfr_err_set(err, CFR_E_CONFIG, "%s", missing);
    cfr_secret_init(&value, TOKEN_MAX + 16);
    rc = cfr_secret_append_str(&value, prefix, err);
    if (rc == 0)
        rc = cfr_secret_append(&value, token, err);
    if (rc == 0)
        rc = cfr_wire_request_header(out, name, cfr_secret_view(&value), err);
    cfr_secret_free(&value);
    return rc;
}

struct cfr_writer cfr_rotation_rest_body(struct cfr_wire_request *out, struct cfr_err *err)
{
    cfr_secret_init(&out->body, CFR_ROTATION_BODY_MAX);
    return (struct cfr_writer){
        .secret = &out->body,
        .err = err,
        .rc = cfr_wire_request_header(out, "Content-Type", cfr_view_of("application/json"), err),
    };
}

/* ---- what is answered ---- */

int64_t cfr_rotation_rest_time(const struct cfr_json *object, const char *key)
{
    int64_t when_s = 0;

    return cfr_time_parse(cfr_json_text(object, key), &when_s) && when_s < NEVER_S ? when_s : 0;
}

void cfr_rotation_rest_set_end(struct cfr_rotation_key *key, int64_t ends_s, int64_t now_s)
{
    key->ends_s = ends_s;
    key->expired = ends_s != 0 && ends_s <= now_s;
    key->active = key->active && !key->expired;
}

bool cfr_rotation_rest_copy(char *to, size_t size, struct cfr_view text)
{
    bool fits = text.n != 0 && text.n < size && cfr_view_printable(text);

    if (fits)
        memcpy(to, text.p, text.n);
    to[fits ? text.n : 0] = '\0';
    return fits;
}

static bool must_stay(const struct cfr_rotation_key *key, const struct cfr_rotation_ask *ask)
{
    bool stays = strncmp(key->name, CFR_ROTATION_NAME_OURS, sizeof CFR_ROTATION_NAME_OURS - 1) == 0;

    for (size_t i = 0; i < CFR_ROTATION_KEEP_MAX; i++)
        stays = stays || (ask->keep[i] != NULL && strcmp(key->id, ask->keep[i]) == 0);
    return stays;
}

static bool make_room(struct cfr_rotation_keys *keys, const struct cfr_rotation_ask *ask)
{
    for (size_t i = 0; i < keys->count; i++) {
        if (!must_stay(&keys->key[i], ask)) {
            keys->key[i] = keys->key[--keys->count];
            return true;
        }
    }
    return false;
}

int cfr_rotation_rest_keep(struct cfr_rotation_keys *keys, const struct cfr_rotation_key *key,
                           const struct cfr_rotation_ask *ask, struct cfr_err *err)
{
    bool full = keys->count == CFR_ROTATION_KEYS_MAX;

    if (full && ask != NULL && !must_stay(key, ask))
        return 0;
    if (full && !(ask != NULL && make_room(keys, ask)))
        return cfr_err_set(err, CFR_E_ANSWER, "the list has more than %d keys; remove those that are not in use",
                           CFR_ROTATION_KEYS_MAX);
    keys->key[keys->count++] = *key;
    return 0;
}

int cfr_rotation_rest_parse(const void *config, const struct cfr_rotation_ask *ask, const struct cfr_wire_reply *reply,
                            cfr_rotation_rest_read_fn *read, const char *const *doing, struct cfr_rotation_answer *out,
                            struct cfr_err *err)
{
    struct cfr_json *doc = NULL;
    int rc = cfr_json_parse(reply->body, &doc, err);

    out->next[0] = '\0';
    if (rc != CFR_E_NOMEM)
        rc = read(config, ask, reply, doc, out, err);
    cfr_json_free(doc);
    return rc != 0 && rc != CFR_E_NOMEM ? cfr_err_prefix(err, "%s", doing[ask->op]) : rc;
}
