/* SPDX-License-Identifier: MIT */
/* The expiry of a credential, from the formats in which they are published. */
#include "error.h"

#include "timestamp.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DEPTH_MAX     64
#define JWT_BYTES_MAX 65536

struct text {
    const char *p;
    size_t n;
};

/* A position in a JSON document. Only what matters here is understood: where strings, objects and arrays begin and end.
 */
struct scan {
    const char *p;
    const char *end;
    int depth;
};

#define KEY_MAX 20

/* Names of members. Arrays and not pointers, so that they need no relocation. */
struct keys {
    size_t count;
    int depth_max; /* only members of objects at most so deep */
    char names[8][KEY_MAX];
};

static const struct keys json_keys = {8,
                                      DEPTH_MAX,
                                      {"Expiration", "expiration", "expirationTimestamp", "expiration_time", "expires",
                                       "expires_at", "expires_on", "expiry"}};
static const struct keys jwt_keys = {1, 1, {"exp"}};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static struct text trim(struct text t)
{
    while (t.n != 0 && is_space(*t.p)) {
        t.p++;
        t.n--;
    }
    while (t.n != 0 && is_space(t.p[t.n - 1]))
        t.n--;
    return t;
}

static void keep_earliest(int64_t at, int64_t *expires_s)
{
    if (*expires_s < 0 || at < *expires_s)
        *expires_s = at;
}

static void skip_space(struct scan *s)
{
    while (s->p < s->end && is_space(*s->p))
        s->p++;
}

/* The string at the position, without its quotes and with its escapes; false if it does not end. */
static bool read_string(struct scan *s, struct text *out)
{
    const char *begin = ++s->p;

    for (; s->p < s->end && *s->p != '"'; s->p++) {
        if (*s->p == '\\')
            s->p++;
        if (s->p == s->end)
            return false;
    }
    if (s->p == s->end)
        return false;
    *out = (struct text){begin, (size_t)(s->p - begin)};
    s->p++;
    return true;
}

static bool is_one_of(struct text key, const struct keys *keys)
{
    for (size_t i = 0; i < keys->count; i++)
        if (strlen(keys->names[i]) == key.n && memcmp(keys->names[i], key.p, key.n) == 0)
            return true;
    return false;
}

/* The value behind a key that matters; anything but a string or a number is left for the scan. */
static bool read_value(struct scan *s, int64_t *expires_s)
{
    struct text value = {NULL, 0};
    int64_t at;

    skip_space(s);
    if (s->p < s->end && *s->p == '"') {
        if (!read_string(s, &value))
            return false;
    } else {
        value.p = s->p;
        while (s->p < s->end && strchr("0123456789.+-eE", *s->p) != NULL && *s->p != '\0')
            s->p++;
        value.n = (size_t)(s->p - value.p);
    }
    if (cfl_timestamp_parse(value.p, value.n, &at))
        keep_earliest(at, expires_s);
    return true;
}

static bool read_member(struct scan *s, const struct keys *keys, int64_t *expires_s)
{
    struct text key = {NULL, 0};

    if (!read_string(s, &key))
        return false;
    skip_space(s);
    if (s->p == s->end || *s->p != ':')
        return true; /* no key, but a value */
    s->p++;
    return s->depth > keys->depth_max || !is_one_of(key, keys) || read_value(s, expires_s);
}

/* *EXPIRES_S is the earliest value of KEYS, or -1. False if it is not one whole object. */
static bool scan_json(struct text json, const struct keys *keys, int64_t *expires_s)
{
    struct scan s = {json.p, json.p + json.n, 0};

    *expires_s = -1;
    while (s.p < s.end) {
        if (*s.p == '"') {
            if (!read_member(&s, keys, expires_s))
                return false;
            continue;
        }
        if (*s.p == '{' || *s.p == '[')
            s.depth++;
        else if (*s.p == '}' || *s.p == ']')
            s.depth--;
        s.p++;
        if (s.depth > DEPTH_MAX || s.depth < 0 || (s.depth == 0 && s.p != s.end))
            return false;
    }
    return s.depth == 0;
}

static int value_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '-' ? 62 : c == '_' ? 63 : -1;
}

/* base64url without padding; false for any other sign. TO has room for 3/4 of N. */
static bool decode(struct text from, char *to, size_t *n)
{
    unsigned held = 0;
    unsigned bits = 0;

    *n = 0;
    for (size_t i = 0; i < from.n; i++) {
        int value = value_of(from.p[i]);

        if (value < 0)
            return false;
        held = (held << 6 | (unsigned)value) & 0xFFFFFF;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            to[(*n)++] = (char)(held >> bits & 0xFF);
        }
    }
    return true;
}

/* The second of three parts. */
static bool payload_of(struct text jwt, struct text *payload)
{
    const char *first = memchr(jwt.p, '.', jwt.n);
    const char *end = jwt.p + jwt.n;
    const char *second = first == NULL ? NULL : memchr(first + 1, '.', (size_t)(end - first - 1));

    if (second == NULL || memchr(second + 1, '.', (size_t)(end - second - 1)) != NULL)
        return false;
    *payload = (struct text){first + 1, (size_t)(second - first - 1)};
    return payload->n != 0;
}

static int64_t expiry_of_jwt(struct text jwt)
{
    struct text payload;
    struct text json = {NULL, 0};
    int64_t expires_s = -1;
    char *room;

    if (jwt.n > JWT_BYTES_MAX || !payload_of(jwt, &payload))
        return -1;
    room = calloc(1, payload.n);
    if (room == NULL)
        return -1;
    json.p = room;
    if (!decode(payload, room, &json.n) || trim(json).n == 0 || *trim(json).p != '{' ||
        !scan_json(trim(json), &jwt_keys, &expires_s))
        expires_s = -1;
    explicit_bzero(room, payload.n);
    free(room);
    return expires_s;
}

/* `[export ]KEY = "VALUE"` */
static void read_line(struct text line, int64_t *expires_s)
{
    static const char key[] = "aws_credential_expiration";
    const size_t n = sizeof key - 1;
    int64_t at;

    line = trim(line);
    if (line.n > 7 && memcmp(line.p, "export ", 7) == 0)
        line = trim((struct text){line.p + 7, line.n - 7});
    if (line.n <= n || strncasecmp(line.p, key, n) != 0)
        return;
    line = trim((struct text){line.p + n, line.n - n});
    if (line.n == 0 || *line.p != '=')
        return;
    line = trim((struct text){line.p + 1, line.n - 1});
    if (line.n >= 2 && (*line.p == '"' || *line.p == '\'') && line.p[line.n - 1] == *line.p)
        line = (struct text){line.p + 1, line.n - 2};
    if (cfl_timestamp_parse(line.p, line.n, &at))
        keep_earliest(at, expires_s);
}

static int64_t expiry_of_lines(struct text t)
{
    int64_t expires_s = -1;

    while (t.n != 0) {
        const char *end = memchr(t.p, '\n', t.n);
        size_t n = end == NULL ? t.n : (size_t)(end - t.p);

        read_line((struct text){t.p, n}, &expires_s);
        n += end != NULL;
        t = (struct text){t.p + n, t.n - n};
    }
    return expires_s;
}

int credfresh_expiry(const void *bytes, size_t size, int64_t *expires_s)
{
    struct text t = trim((struct text){bytes, bytes == NULL ? 0 : size});
    int64_t found = -1;

    if (t.n == 0)
        return CREDFRESH_E_NO_EXPIRY;
    if (*t.p == '{') {
        if (!scan_json(t, &json_keys, &found))
            found = -1;
    } else {
        found = expiry_of_jwt(t);
        if (found < 0)
            found = expiry_of_lines(t);
    }
    if (found < 0)
        return CREDFRESH_E_NO_EXPIRY;
    *expires_s = found;
    return 0;
}
