/* SPDX-License-Identifier: MIT */
/* Sessions of assumed roles: sealed tokens and derived secrets. */
#include "session.h"

#include "crypto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void derive(const unsigned char key[32], const char *purpose, const char *text,
                   unsigned char out[LC_SHA256_BYTES])
{
    unsigned char step[LC_SHA256_BYTES];

    lc_hmac256(key, 32, purpose, strlen(purpose), step);
    lc_hmac256(step, sizeof step, text, strlen(text), out);
}

static void derive_secret(const unsigned char key[32], const char *access_key_id, char out[LC_SECRET_BYTES])
{
    unsigned char digest[LC_SHA256_BYTES];
    struct lc_buf text = {0};

    derive(key, "secret access key", access_key_id, digest);
    lc_base64(&text, digest, 30, false);
    (void)snprintf(out, LC_SECRET_BYTES, "%s", text.at == NULL ? "" : text.at);
    lc_buf_free(&text);
}

int lc_session_issue(const unsigned char key[32], struct lc_session *session)
{
    unsigned char seal_key[LC_SHA256_BYTES];
    struct lc_buf sealed = {0};
    struct lc_buf token = {0};
    json_t *document = NULL;
    char *text = NULL;

    memcpy(session->access_key_id, "ASIA", 4);
    if (!lc_random_text(session->access_key_id + 4, 16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")) {
        return -1;
    }
    derive_secret(key, session->access_key_id, session->secret);
    derive(key, "session token", "", seal_key);
    document = json_pack("{s:s,s:s,s:s,s:s,s:s*,s:O*,s:I}", "key", session->access_key_id, "role", session->role_arn,
                         "id", session->role_id, "name", session->name, "source", session->source_identity,
                         "transitive", session->transitive, "expires", (json_int_t)session->expires_at_s);
    text = document == NULL ? NULL : json_dumps(document, JSON_COMPACT);
    if (text != NULL && lc_seal(seal_key, text, strlen(text), &sealed)) {
        lc_base64(&token, sealed.at, sealed.len, false);
    }
    json_decref(document);
    free(text);
    lc_buf_free(&sealed);
    session->token = token.at;
    return session->token == NULL || token.broken ? -1 : 0;
}

static bool take(json_t *document, const char *access_key_id, struct lc_session *out)
{
    const char *key = "";
    const char *role = "";
    const char *id = "";
    const char *name = "";
    const char *source = NULL;
    json_int_t expires = 0;

    if (json_unpack(document, "{s:s,s:s,s:s,s:s,s?s,s:I}", "key", &key, "role", &role, "id", &id, "name", &name,
                    "source", &source, "expires", &expires) != 0 ||
        strcmp(key, access_key_id) != 0) {
        return false;
    }
    (void)snprintf(out->access_key_id, sizeof out->access_key_id, "%s", key);
    (void)snprintf(out->role_id, sizeof out->role_id, "%s", id);
    out->role_arn = strdup(role);
    out->name = strdup(name);
    out->source_identity = source == NULL ? NULL : strdup(source);
    out->transitive = json_incref(json_object_get(document, "transitive"));
    out->expires_at_s = expires;
    return out->role_arn != NULL && out->name != NULL;
}

bool lc_session_open(const unsigned char key[32], const char *access_key_id, const char *token, struct lc_session *out)
{
    unsigned char seal_key[LC_SHA256_BYTES];
    struct lc_buf sealed = {0};
    struct lc_buf text = {0};
    json_t *document = NULL;
    bool good = false;

    *out = (struct lc_session){0};
    derive(key, "session token", "", seal_key);
    if (lc_unbase64(&sealed, token, strlen(token), false) && lc_unseal(seal_key, sealed.at, sealed.len, &text)) {
        document = json_loadb(text.at, text.len, 0, NULL);
        good = document != NULL && take(document, access_key_id, out);
    }
    json_decref(document);
    lc_buf_free(&sealed);
    lc_buf_free(&text);
    if (!good) {
        lc_session_free(out);
        return false;
    }
    derive_secret(key, access_key_id, out->secret);
    return true;
}

void lc_session_free(struct lc_session *session)
{
    free(session->token);
    free(session->role_arn);
    free(session->name);
    free(session->source_identity);
    json_decref(session->transitive);
    *session = (struct lc_session){0};
}
