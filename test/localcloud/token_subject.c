/* SPDX-License-Identifier: MIT */
/* Tokens of an issuer as client assertions. */
#include "token_subject.h"

#include "token_proof.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 20000, SKEW_S = 300 };

static int64_t time_of(json_t *claims, const char *name)
{
    json_t *value = json_object_get(claims, name);

    return json_is_integer(value) && json_integer_value(value) > 0 ? json_integer_value(value) : 0;
}

static const char *text_of(json_t *claims, const char *name)
{
    const char *text = json_string_value(json_object_get(claims, name));

    return text == NULL ? "" : text;
}

bool lc_subject_read(const char *token, struct lc_subject *out)
{
    size_t len = strlen(token);

    *out = (struct lc_subject){0};
    while (len > 0 && strchr(" \t\r\n", token[len - 1]) != NULL) {
        len--;
    }
    out->token = len > MOST_BYTES ? NULL : strndup(token, len);
    if (out->token == NULL || lc_jwt_read(out->token, &out->jwt, NULL) != 0) {
        free(out->token);
        *out = (struct lc_subject){0};
        return false;
    }
    out->issuer = text_of(out->jwt.claims, "iss");
    out->subject = text_of(out->jwt.claims, "sub");
    out->issued_at_s = time_of(out->jwt.claims, "iat");
    out->expires_at_s = time_of(out->jwt.claims, "exp");
    out->not_before_s = time_of(out->jwt.claims, "nbf");
    return true;
}

void lc_subject_free(struct lc_subject *subject)
{
    lc_jwt_free(&subject->jwt);
    free(subject->token);
    *subject = (struct lc_subject){0};
}

bool lc_subject_for(const struct lc_subject *subject, const char *audience)
{
    json_t *claim = json_object_get(subject->jwt.claims, "aud");

    return json_is_string(claim) ? strcmp(json_string_value(claim), audience) == 0 : lc_json_holds(claim, audience);
}

bool lc_subject_for_any(const struct lc_subject *subject, json_t *audiences)
{
    json_t *item = NULL;
    size_t index = 0;

    json_array_foreach(audiences, index, item)
    {
        if (lc_subject_for(subject, json_string_value(item))) {
            return true;
        }
    }
    return false;
}

char *lc_subject_audience(const struct lc_subject *subject)
{
    json_t *claim = json_object_get(subject->jwt.claims, "aud");
    json_t *item = NULL;
    size_t index = 0;
    struct lc_buf line = {0};

    lc_buf_text(&line, json_is_string(claim) ? json_string_value(claim) : "");
    json_array_foreach(claim, index, item)
    {
        lc_buf_format(&line, "%s%s", index == 0 ? "" : ", ", json_is_string(item) ? json_string_value(item) : "?");
    }
    return line.at;
}

enum lc_subject_signature lc_subject_signed(struct lc_cloud *cloud, const struct lc_subject *subject)
{
    enum lc_key_kind kind = LC_KEY_RSA;
    char *pem = NULL;
    bool found = false;
    bool good = false;

    if (subject->jwt.kid == NULL) {
        return LC_SIGNED_UNKNOWN;
    }
    /* Only the look-up is locked: any number of threads verify at once. */
    lc_trust_lock(cloud->trust);
    found = lc_trust_key(cloud->trust, subject->issuer, subject->jwt.kid, &kind, &pem);
    lc_trust_unlock(cloud->trust);
    good = found && lc_jwt_alg_allowed(subject->jwt.alg) && lc_token_proof(subject->token, subject->jwt.alg, pem);
    free(pem);
    return !found ? LC_SIGNED_UNKNOWN : good ? LC_SIGNED_WELL : LC_SIGNED_BADLY;
}

enum lc_subject_time lc_subject_times(const struct lc_subject *subject)
{
    int64_t now = (int64_t)lc_time_now();

    if (subject->expires_at_s == 0 || subject->issued_at_s == 0) {
        return LC_TIME_MISSING;
    }
    if (now >= subject->expires_at_s) {
        return LC_TIME_EXPIRED;
    }
    return subject->issued_at_s > now + SKEW_S || subject->not_before_s > now + SKEW_S ? LC_TIME_FUTURE : LC_TIME_GOOD;
}
