/* SPDX-License-Identifier: MIT */
/* Answers of token endpoints. */
#include "sts/core/oauth_answer.h"

#include "base/base64.h"
#include "base/grant.h"
#include "base/json.h"

#include <stdio.h>
#include <string.h>

#define SHOWN_TYPE 40

/* One of these takes each member that is known; what is not known is passed over. */
enum kind { KIND_TEXT, KIND_ERROR, KIND_EXPIRES_IN, KIND_REFRESH_IN, KIND_CODES };

struct member {
    const char *key;
    enum kind kind;
    enum cfr_oauth_answer_field field;
};

static const struct member members[] = {
    {"access_token", KIND_TEXT, CFR_OAUTH_ACCESS_TOKEN},
    {"id_token", KIND_TEXT, CFR_OAUTH_ID_TOKEN},
    {"refresh_token", KIND_TEXT, CFR_OAUTH_REFRESH_TOKEN},
    {"token_type", KIND_TEXT, CFR_OAUTH_TOKEN_TYPE},
    {"issued_token_type", KIND_TEXT, CFR_OAUTH_ISSUED_TYPE},
    {"scope", KIND_TEXT, CFR_OAUTH_SCOPE},
    {"error", KIND_ERROR, CFR_OAUTH_ERROR},
    {"error_description", KIND_TEXT, CFR_OAUTH_DESCRIPTION},
    {"suberror", KIND_TEXT, CFR_OAUTH_SUBERROR},
    {"trace_id", KIND_TEXT, CFR_OAUTH_TRACE_ID},
    {"correlation_id", KIND_TEXT, CFR_OAUTH_CORRELATION_ID},
    {"expires_in", KIND_EXPIRES_IN, CFR_OAUTH_FIELDS},
    {"refresh_in", KIND_REFRESH_IN, CFR_OAUTH_FIELDS},
    {"error_codes", KIND_CODES, CFR_OAUTH_FIELDS},
};
#define MEMBERS (sizeof members / sizeof members[0])

static const size_t field_limits[CFR_OAUTH_FIELDS] = {
    [CFR_OAUTH_ACCESS_TOKEN] = CFR_GRANT_VALUE_MAX,
    [CFR_OAUTH_ID_TOKEN] = CFR_GRANT_VALUE_MAX,
    [CFR_OAUTH_REFRESH_TOKEN] = CFR_GRANT_VALUE_MAX,
    [CFR_OAUTH_TOKEN_TYPE] = 128,
    [CFR_OAUTH_ISSUED_TYPE] = 256,
    [CFR_OAUTH_SCOPE] = 16384,
    [CFR_OAUTH_ERROR] = 256,
    [CFR_OAUTH_DESCRIPTION] = 8192,
    [CFR_OAUTH_SUBERROR] = 256,
    [CFR_OAUTH_TRACE_ID] = 128,
    [CFR_OAUTH_CORRELATION_ID] = 128,
};

static int wrong_type(const char *key, const char *wanted, struct cfr_err *err)
{
    return cfr_err_set(err, CFR_E_ANSWER, "the answer's %s is not %s", key, wanted);
}

static int store(struct cfr_oauth_answer *a, const char *key, enum cfr_oauth_answer_field field, struct cfr_view text,
                 struct cfr_err *err)
{
    struct cfr_secret *s = &a->fields[field];

    /* A description is only shown, so a long one is cut. */
    if (field == CFR_OAUTH_DESCRIPTION && text.n > s->limit)
        text.n = s->limit;
    if (text.n > s->limit)
        return cfr_err_set(err, CFR_E_ANSWER, "the answer's %s has %zu bytes, more than %zu", key, text.n, s->limit);
    if (s->len != 0)
        return cfr_err_set(err, CFR_E_ANSWER, "the answer has two values for %s", key);
    return cfr_secret_append(s, text, err);
}

static int store_text(struct cfr_oauth_answer *a, const char *key, enum cfr_oauth_answer_field field,
                      const struct cfr_json *value, struct cfr_err *err)
{
    struct cfr_view text;

    return cfr_json_string(value, &text) ? store(a, key, field, text, err) : wrong_type(key, "text", err);
}

/* A life that is named but is not positive stays visible as 0. */
static int store_seconds(const char *key, const struct cfr_json *value, int64_t *out, struct cfr_err *err)
{
    struct cfr_view text;
    int64_t n;

    if (cfr_json_string(value, &text)) {
        if (!cfr_view_int(cfr_view_trim(text), &n))
            return 0;
    } else if (!cfr_json_integer(value, &n)) {
        double d;

        if (!cfr_json_number(value, &d))
            return wrong_type(key, "a number", err);
        if (!(d > -1e15 && d < 1e15))
            return 0;
        n = (int64_t)d;
    }
    /* More than a thousand years: no life, and sums with it would overflow. */
    if (n <= INT64_C(31536000000))
        *out = n > 0 ? n : 0;
    return 0;
}

static int store_codes(struct cfr_oauth_answer *a, const struct cfr_json *value, struct cfr_err *err)
{
    if (!cfr_json_is_array(value))
        return wrong_type("error_codes", "a list", err);
    for (const struct cfr_json *v = cfr_json_first(value); v != NULL; v = cfr_json_next(v)) {
        int64_t code;

        if (!cfr_json_integer(v, &code))
            return wrong_type("error_codes", "a list of whole numbers", err);
        if (a->code_count < CFR_OAUTH_CODES_MAX)
            a->codes[a->code_count++] = code;
    }
    return 0;
}

/* The reason of the first detail that has one (google.rpc.ErrorInfo) is finer than the status. */
static int store_reason(struct cfr_oauth_answer *a, const struct cfr_json *details, struct cfr_err *err)
{
    for (const struct cfr_json *d = cfr_json_first(details); d != NULL; d = cfr_json_next(d)) {
        struct cfr_view reason;

        if (cfr_json_string(cfr_json_get(d, "reason"), &reason) && reason.n != 0 &&
            reason.n <= field_limits[CFR_OAUTH_SUBERROR])
            return store(a, "error.details.reason", CFR_OAUTH_SUBERROR, reason, err);
    }
    return 0;
}

/* The error of google.rpc: an object with `code`, `message`, `status` and `details`. */
static int store_rpc(struct cfr_oauth_answer *a, const struct cfr_json *error, struct cfr_err *err)
{
    const struct cfr_json *status = cfr_json_get(error, "status");
    const struct cfr_json *message = cfr_json_get(error, "message");
    const struct cfr_json *code = cfr_json_get(error, "code");
    int rc = 0;

    if (cfr_json_integer(code, &a->codes[0]))
        a->code_count = 1;
    if (status != NULL)
        rc = store_text(a, "error.status", CFR_OAUTH_ERROR, status, err);
    if (rc == 0 && message != NULL)
        rc = store_text(a, "error.message", CFR_OAUTH_DESCRIPTION, message, err);
    return rc != 0 ? rc : store_reason(a, cfr_json_get(error, "details"), err);
}

static int read_member(struct cfr_oauth_answer *a, const struct member *m, const struct cfr_json *value,
                       struct cfr_err *err)
{
    /* null is as good as absent: some servers write out every member. */
    if (cfr_json_is_null(value))
        return 0;
    switch (m->kind) {
    case KIND_ERROR:
        return cfr_json_is_object(value) ? store_rpc(a, value, err) : store_text(a, m->key, m->field, value, err);
    case KIND_EXPIRES_IN:
        return store_seconds(m->key, value, &a->expires_in_s, err);
    case KIND_REFRESH_IN:
        return store_seconds(m->key, value, &a->refresh_in_s, err);
    case KIND_CODES:
        return store_codes(a, value, err);
    case KIND_TEXT:
        break;
    }
    return store_text(a, m->key, m->field, value, err);
}

/* Goes on after an error, so that a refusal with one odd member is still reported by its code. */
static int read_members(const struct cfr_json *doc, struct cfr_oauth_answer *out, struct cfr_err *err)
{
    bool seen[MEMBERS] = {false};
    int rc = 0;

    for (const struct cfr_json *v = cfr_json_first(doc); v != NULL; v = cfr_json_next(v)) {
        size_t i = 0;
        int one;

        while (i < MEMBERS && !cfr_view_is(cfr_json_key(v), members[i].key))
            i++;
        if (i == MEMBERS)
            continue;
        one = seen[i] ? cfr_err_set(rc == 0 ? err : NULL, CFR_E_ANSWER, "the answer has %s twice", members[i].key)
                      : read_member(out, &members[i], v, rc == 0 ? err : NULL);
        seen[i] = true;
        if (rc == 0)
            rc = one;
    }
    return rc;
}

static int not_understood(struct cfr_view type, struct cfr_view body, struct cfr_err *err)
{
    char shown[SHOWN_TYPE + 1] = "";

    if (body.n == 0)
        return cfr_err_set(err, CFR_E_ANSWER, "the answer is empty");
    if (type.n != 0 && cfr_view_printable(type))
        (void)snprintf(shown, sizeof shown, "%.*s", (int)(type.n < SHOWN_TYPE ? type.n : SHOWN_TYPE), type.p);
    return cfr_err_set(err, CFR_E_ANSWER,
                       "the answer is not a JSON object (its type is %s); check the URL, and that no proxy or login "
                       "page answers instead",
                       shown[0] != '\0' ? shown : "not given");
}

int cfr_oauth_answer_read(struct cfr_view content_type, struct cfr_view body, struct cfr_oauth_answer *out,
                          struct cfr_err *err)
{
    struct cfr_json *doc;
    int rc;

    *out = (struct cfr_oauth_answer){.expires_in_s = -1, .refresh_in_s = -1};
    for (size_t i = 0; i < CFR_OAUTH_FIELDS; i++)
        cfr_secret_init(&out->fields[i], field_limits[i]);
    if (cfr_view_starts(body, "\xef\xbb\xbf"))
        body = (struct cfr_view){body.p + 3, body.n - 3};
    body = cfr_view_trim(body);
    if (body.n == 0 || body.p[0] != '{')
        return not_understood(content_type, body, err);
    rc = cfr_json_parse(body, &doc, err);
    if (rc != 0)
        return err != NULL ? cfr_err_prefix(err, "the answer") : rc;
    rc = read_members(doc, out, err);
    cfr_json_free(doc);
    return rc;
}

void cfr_oauth_answer_free(struct cfr_oauth_answer *a)
{
    for (size_t i = 0; i < CFR_OAUTH_FIELDS; i++)
        cfr_secret_free(&a->fields[i]);
    *a = (struct cfr_oauth_answer){.expires_in_s = -1, .refresh_in_s = -1};
}

struct cfr_view cfr_oauth_answer_get(const struct cfr_oauth_answer *a, enum cfr_oauth_answer_field field)
{
    return cfr_secret_view(&a->fields[field]);
}

int cfr_oauth_answer_bearer(const struct cfr_oauth_answer *a, struct cfr_view *token, struct cfr_err *err)
{
    struct cfr_view t = cfr_oauth_answer_get(a, CFR_OAUTH_ACCESS_TOKEN);
    struct cfr_view type = cfr_oauth_answer_get(a, CFR_OAUTH_TOKEN_TYPE);

    if (t.n == 0)
        return cfr_err_set(err, CFR_E_ANSWER, "the answer has no access_token");
    for (size_t i = 0; i < t.n; i++) {
        if (t.p[i] <= 0x20 || t.p[i] > 0x7e)
            return cfr_err_set(err, CFR_E_ANSWER,
                               "the answer's access_token holds a space or a character that is not printable");
    }
    if (type.n != 0 && !cfr_view_is_nocase(type, "Bearer"))
        return cfr_err_set(err, CFR_E_ANSWER, "the answer's token_type is not Bearer");
    if (a->expires_in_s == 0)
        return cfr_err_set(err, CFR_E_ANSWER, "the answer's token has expired already: its expires_in is not positive");
    *token = t;
    return 0;
}

bool cfr_oauth_answer_jwt_expiry(struct cfr_view token, int64_t *expires_s)
{
    const char *first = token.n != 0 ? memchr(token.p, '.', token.n) : NULL;
    const char *second = first != NULL ? memchr(first + 1, '.', token.n - (size_t)(first + 1 - token.p)) : NULL;
    struct cfr_json *doc = NULL;
    struct cfr_secret claims;
    bool good = false;

    cfr_secret_init(&claims, CFR_GRANT_VALUE_MAX);
    if (second != NULL && second + 1 < token.p + token.n &&
        cfr_base64url_decode((struct cfr_view){first + 1, (size_t)(second - first - 1)}, &claims, NULL) == 0 &&
        cfr_json_parse(cfr_secret_view(&claims), &doc, NULL) == 0)
        good = cfr_json_integer(cfr_json_get(doc, "exp"), expires_s);
    cfr_json_free(doc);
    cfr_secret_free(&claims);
    return good;
}
