/* SPDX-License-Identifier: MIT */
/* Reads AWS credentials files, env files and tokens as strictly as a consumer has to. */
#include "formats.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct span {
    const char *at;
    size_t length;
};

static struct span trim(struct span s)
{
    while (s.length > 0 && isspace((unsigned char)s.at[0])) {
        s.at++;
        s.length--;
    }
    while (s.length > 0 && isspace((unsigned char)s.at[s.length - 1]))
        s.length--;
    return s;
}

/* Cuts the next line off the rest. */
static bool next_line(struct span *rest, struct span *line)
{
    if (rest->length == 0)
        return false;
    const char *end = memchr(rest->at, '\n', rest->length);
    line->at = rest->at;
    line->length = end ? (size_t)(end - rest->at) : rest->length;
    size_t used = line->length + (end ? 1 : 0);
    rest->at += used;
    rest->length -= used;
    return true;
}

static bool split(struct span line, struct span *key, struct span *value)
{
    const char *equals = memchr(line.at, '=', line.length);
    if (!equals)
        return false;
    *key = trim((struct span){line.at, (size_t)(equals - line.at)});
    *value = trim((struct span){equals + 1, line.length - (size_t)(equals - line.at) - 1});
    return key->length > 0;
}

static bool is(struct span s, const char *word)
{
    return s.length == strlen(word) && strncasecmp(s.at, word, s.length) == 0;
}

/* Takes the value if the name is one of the three; an empty value counts as lacking. */
static void take_part(struct cfw_identity *id, struct span key, struct span value)
{
    if (value.length == 0)
        return;
    if (is(key, "aws_access_key_id"))
        cfw_formats_key(id, value.at, value.length);
    else if (is(key, "aws_secret_access_key"))
        id->secret = cfw_content_digest(value.at, value.length);
    else if (is(key, "aws_session_token"))
        id->token = cfw_content_digest(value.at, value.length);
}

void cfw_formats_key(struct cfw_identity *id, const char *text, size_t length)
{
    id->key = cfw_content_digest(text, length);
    /* Short ones would be shown whole, and a test's own ids are often short: then show nothing. */
    memset(id->key_end, 0, sizeof id->key_end);
    if (length >= 12)
        for (size_t i = 0; i < 4; i++)
            id->key_end[i] = (char)(isalnum((unsigned char)text[length - 4 + i]) ? text[length - 4 + i] : '?');
}

const char *cfw_formats_lacks(const struct cfw_identity *id)
{
    if (!id->key)
        return "an access key id is missing";
    if (!id->secret)
        return "a secret access key is missing";
    return NULL;
}

/* Closes a profile: one that has any of the three must have what its kind of key needs. */
static void end_profile(struct cfw_content *out, const struct cfw_identity *id, bool long_lived)
{
    if (!id->key && !id->secret && !id->token)
        return;
    const char *lacks = cfw_formats_lacks(id);
    if (!lacks && !id->token && !long_lived)
        lacks = "a session token is missing";
    if (lacks)
        out->torn = lacks;
    else if (out->n_ids < CFW_IDS_MAX)
        out->ids[out->n_ids++] = *id;
}

static bool is_long_lived(struct span key, struct span value)
{
    return is(key, "aws_access_key_id") && value.length >= 4 && memcmp(value.at, "AKIA", 4) == 0;
}

void cfw_formats_aws(const char *data, size_t length, struct cfw_content *out)
{
    struct span rest = {data, length};
    struct span line = {NULL, 0};
    struct cfw_identity id = {0};
    bool long_lived = false;
    while (next_line(&rest, &line)) {
        struct span key = {NULL, 0};
        struct span value = {NULL, 0};
        struct span text = trim(line);
        if (text.length == 0 || text.at[0] == '#' || text.at[0] == ';')
            continue;
        if (text.at[0] == '[') {
            if (text.at[text.length - 1] != ']')
                out->torn = "a profile's heading is cut";
            end_profile(out, &id, long_lived);
            id = (struct cfw_identity){0};
            long_lived = false;
        } else if (split(text, &key, &value)) {
            take_part(&id, key, value);
            long_lived = long_lived || is_long_lived(key, value);
        } else {
            out->torn = "a line is neither a heading nor a setting";
        }
    }
    end_profile(out, &id, long_lived);
    if (!out->torn && out->n_ids == 0)
        out->torn = "no profile has a key";
    if (!out->torn && data[length - 1] != '\n')
        out->torn = "it does not end with a newline";
}

static bool is_variable(struct span key)
{
    for (size_t i = 0; i < key.length; i++)
        if (!isalnum((unsigned char)key.at[i]) && key.at[i] != '_')
            return false;
    return key.length > 0 && !isdigit((unsigned char)key.at[0]);
}

void cfw_formats_env(const char *data, size_t length, struct cfw_content *out)
{
    struct span rest = {data, length};
    struct span line = {NULL, 0};
    struct cfw_identity id = {0};
    while (next_line(&rest, &line)) {
        struct span key = {NULL, 0};
        struct span value = {NULL, 0};
        struct span text = trim(line);
        if (text.length == 0 || text.at[0] == '#')
            continue;
        if (!split(text, &key, &value) || !is_variable(key)) {
            out->torn = "a line is not KEY=value";
            continue;
        }
        if (value.length >= 2 && value.at[0] == value.at[value.length - 1] && strchr("'\"", value.at[0]))
            value = (struct span){value.at + 1, value.length - 2};
        take_part(&id, key, value);
        if (is(key, "AWS_CREDENTIAL_EXPIRATION")) {
            out->expires_s = cfw_formats_time(value.at, value.length);
            if (out->expires_s == CFW_NO_TIME)
                out->torn = "its expiry is not a time";
        }
    }
    if (id.key || id.secret || id.token) {
        const char *lacks = cfw_formats_lacks(&id);
        out->torn = lacks ? lacks : out->torn;
        out->ids[out->n_ids++] = id;
    }
    if (!out->torn && data[length - 1] != '\n')
        out->torn = "it does not end with a newline";
}

bool cfw_formats_is_token(const char *data, size_t length)
{
    size_t dots = 0;
    size_t part = 0; /* length of the current part */
    if (length > 0 && data[length - 1] == '\n')
        length--;
    for (size_t i = 0; i < length; i++) {
        if (data[i] == '.') {
            if (part == 0)
                return false;
            dots++;
            part = 0;
        } else if (isalnum((unsigned char)data[i]) || data[i] == '-' || data[i] == '_') {
            part++;
        } else {
            return false;
        }
    }
    return dots == 2 && part > 0;
}

void cfw_formats_token(const char *data, size_t length, struct cfw_content *out)
{
    struct span token = trim((struct span){data, length});
    out->bearer = cfw_content_digest(token.at, token.length);
    if (!cfw_formats_is_token(data, length))
        out->torn = "it is not three base64url parts";
}

int64_t cfw_formats_time(const char *text, size_t length)
{
    char copy[64];
    struct tm tm = {0};
    int64_t offset_s = 0;
    if (length >= sizeof copy)
        return CFW_NO_TIME;
    memcpy(copy, text, length);
    copy[length] = '\0';
    const char *rest = strptime(copy, "%Y-%m-%dT%H:%M:%S", &tm);
    if (!rest)
        return CFW_NO_TIME;
    if (*rest == '.')
        rest += 1 + strspn(rest + 1, "0123456789");
    if (*rest == '+' || *rest == '-') {
        struct tm zone = {0};
        const char *end = strptime(rest + 1, "%H:%M", &zone);
        if (!end || *end != '\0')
            return CFW_NO_TIME;
        offset_s = (zone.tm_hour * 60 + zone.tm_min) * 60L * (*rest == '-' ? -1 : 1);
    } else if (strcmp(rest, "Z") != 0) {
        return CFW_NO_TIME;
    }
    return (int64_t)timegm(&tm) - offset_s;
}
