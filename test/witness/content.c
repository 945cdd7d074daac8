/* SPDX-License-Identifier: MIT */
/* Detects the kind of a credential file, and reads the kinds that are JSON. */
#include "content.h"

#include <stdbool.h>
#include <string.h>

#include "formats.h"
#include "json.h"

static const struct {
    const char *name;
    enum cfw_kind kind;
} cfw_kinds[] = {
    {"aws-credentials", CFW_AWS}, {"json", CFW_JSON}, {"token", CFW_TOKEN}, {"env", CFW_ENV}, {"any", CFW_ANY},
};

int cfw_content_kind(const char *name)
{
    for (size_t i = 0; i < sizeof cfw_kinds / sizeof cfw_kinds[0]; i++)
        if (strcmp(cfw_kinds[i].name, name) == 0)
            return (int)cfw_kinds[i].kind;
    return -1;
}

const char *cfw_content_kind_name(enum cfw_kind kind)
{
    for (size_t i = 0; i < sizeof cfw_kinds / sizeof cfw_kinds[0]; i++)
        if (cfw_kinds[i].kind == kind)
            return cfw_kinds[i].name;
    return "unknown";
}

uint64_t cfw_content_digest(const void *data, size_t length)
{
    const unsigned char *bytes = data;
    uint64_t h = 14695981039346656037ULL; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        h = (h ^ bytes[i]) * 1099511628211ULL;
    return h ? h : 1;
}

/* The digest of a member that is a string, 0 if there is none; an empty string is as good as none. */
static uint64_t member_digest(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_string_length(value) > 0 ? cfw_content_digest(json_string_value(value), json_string_length(value)) : 0;
}

static void take_json_identity(const json_t *object, const char *key, const char *secret, const char *token,
                               struct cfw_content *out)
{
    const json_t *id_text = json_object_get(object, key);
    if (!id_text)
        return;
    struct cfw_identity id = {0};
    if (json_string_length(id_text) > 0)
        cfw_formats_key(&id, json_string_value(id_text), json_string_length(id_text));
    id.secret = member_digest(object, secret);
    id.token = member_digest(object, token);
    const char *lacks = cfw_formats_lacks(&id);
    if (lacks)
        out->torn = lacks;
    else
        out->ids[out->n_ids++] = id;
}

static void take_json_expiry(const json_t *root, struct cfw_content *out)
{
    const json_t *when = json_object_get(root, "expires");
    if (!when)
        when = json_object_get(root, "Expiration");
    if (!when || json_is_null(when))
        return;
    double seconds = json_number_value(when);
    if (json_is_string(when))
        out->expires_s = cfw_formats_time(json_string_value(when), json_string_length(when));
    else if (json_is_number(when) && seconds > -1e15 && seconds < 1e15)
        out->expires_s = (int64_t)seconds;
    if (out->expires_s == CFW_NO_TIME)
        out->torn = "its expiry is not a time";
}

static void judge_json(const char *data, size_t length, struct cfw_content *out)
{
    json_t *root = json_loadb(data, length, JSON_REJECT_DUPLICATES, NULL);
    if (!root) {
        out->torn = "it is not whole JSON";
        return;
    }
    const json_t *fields = json_object_get(root, "fields");
    take_json_identity(root, "AccessKeyId", "SecretAccessKey", "SessionToken", out);
    take_json_identity(fields, "aws_access_key_id", "aws_secret_access_key", "aws_session_token", out);
    take_json_expiry(root, out);
    out->bearer = member_digest(fields, "token");
    const json_t *generation = json_object_get(root, "generation");
    if (json_is_integer(generation))
        out->generation = json_integer_value(generation);
    json_decref(root);
}

/* A name in capitals and an equals sign: the first line of an env file. */
static bool looks_like_env(const char *data, size_t length)
{
    size_t i = 0;
    while (i < length && ((data[i] >= 'A' && data[i] <= 'Z') || data[i] == '_' || (data[i] >= '0' && data[i] <= '9')))
        i++;
    return i > 0 && i < length && data[i] == '=';
}

static enum cfw_kind recognise(const char *data, size_t length)
{
    if (data[0] == '{')
        return CFW_JSON;
    if (data[0] == '[')
        return CFW_AWS;
    if (cfw_formats_is_token(data, length))
        return CFW_TOKEN;
    /* Every JWT begins with an encoded "{" and a quote; so does the stump of one. */
    if (length >= 3 && memcmp(data, "eyJ", 3) == 0)
        return CFW_TOKEN;
    return looks_like_env(data, length) ? CFW_ENV : CFW_ANY;
}

void cfw_content_judge(const char *data, size_t length, enum cfw_kind kind, struct cfw_content *out)
{
    *out = (struct cfw_content){.kind = kind, .expires_s = CFW_NO_TIME, .generation = -1};
    if (length == 0)
        return;
    if (kind == CFW_UNKNOWN)
        out->kind = recognise(data, length);
    switch (out->kind) {
    case CFW_AWS:
        cfw_formats_aws(data, length, out);
        break;
    case CFW_JSON:
        judge_json(data, length, out);
        break;
    case CFW_TOKEN:
        cfw_formats_token(data, length, out);
        break;
    case CFW_ENV:
        cfw_formats_env(data, length, out);
        break;
    case CFW_ANY:
    case CFW_UNKNOWN:
        break;
    }
}
