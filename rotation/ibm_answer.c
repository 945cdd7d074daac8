/* SPDX-License-Identifier: MIT */
/* What IBM Cloud's IAM answers about API keys. */
#include "base/time.h"
#include "rotation/found.h"
#include "rotation/ibm_private.h"
#include "rotation/provider_private.h"
#include "rotation/rest_private.h"

#include <stdio.h>
#include <string.h>

#define SECRET_MAX 1024
#define TIME_MAX   40

static const struct cfr_error_table_row rows[] = {
    {"BXNIM0415E", NULL, 0, CFR_E_DENIED, "IBM Cloud does not know the API key, or it is disabled"},
    {NULL, NULL, 429, CFR_E_THROTTLED, "IBM Cloud limits the rate of calls; this is usually temporary"},
    {NULL, NULL, 401, CFR_E_TOKEN_EXPIRED, "IBM Cloud does not accept the token of `with`; is it still refreshed?"},
    {NULL, NULL, 403, CFR_E_DENIED,
     "allow `with` to manage the API keys of {who}, by an access policy of the IAM Identity Service; a user's keys "
     "need that user's own token"},
    {NULL, NULL, 404, CFR_E_REJECTED,
     "there is no such identity in the account, or no IAM at this endpoint; check `iam_id`, `account_id` and "
     "`endpoint`"},
    {NULL, NULL, 409, CFR_E_UNAVAILABLE, "another client is changing the API key at the same time, or it is locked"},
    {NULL, NULL, 400, CFR_E_REJECTED,
     "IAM does not understand the request; check `iam_id`, `account_id` and `endpoint`"},
    {0},
};

/* Before the others, for a new key. */
static const struct cfr_error_table_row create_rows[] = {
    {NULL, "maximum number", 0, CFR_E_LIMIT,
     "{who} has as many API keys as IBM Cloud allows; remove one that is not in use"},
    {NULL, "limit", 400, CFR_E_LIMIT, "{who} has as many API keys as IBM Cloud allows; remove one that is not in use"},
    {NULL, "limit", 403, CFR_E_LIMIT, "{who} has as many API keys as IBM Cloud allows; remove one that is not in use"},
    {NULL, "limit", 409, CFR_E_LIMIT, "{who} has as many API keys as IBM Cloud allows; remove one that is not in use"},
    {0},
};

/* An instant such as 2020-09-28T17:49+0000, without seconds and with an offset that has no colon, or one of RFC
 * 3339. */
static int64_t read_time(const struct cfr_json *one, const char *key)
{
    const size_t minutes = strlen("2020-09-28T17:49");
    const size_t offset = strlen("+0000");
    struct cfr_view text = cfr_json_text(one, key);
    struct cfr_view rest;
    struct cfr_view tail = {NULL, 0};
    char whole[TIME_MAX + 8];
    int64_t when_s = 0;

    if (text.n <= minutes || text.n > TIME_MAX)
        return 0;
    rest = (struct cfr_view){text.p + minutes, text.n - minutes};
    if (rest.n >= offset && strchr("+-", rest.p[rest.n - offset]) != NULL) {
        tail = (struct cfr_view){rest.p + rest.n - 2, 2};
        rest.n -= 2;
    }
    (void)snprintf(whole, sizeof whole, "%.*s%s%.*s%s%.*s", (int)minutes, text.p, rest.p[0] == ':' ? "" : ":00",
                   (int)rest.n, rest.p, tail.n != 0 ? ":" : "", (int)tail.n, tail.n != 0 ? tail.p : "");
    return cfr_time_parse(cfr_view_of(whole), &when_s) ? when_s : 0;
}

static bool read_key(const struct cfr_json *one, int64_t now_s, struct cfr_rotation_key *out)
{
    bool disabled = false;

    (void)cfr_json_bool(cfr_json_get(one, "disabled"), &disabled);
    *out = (struct cfr_rotation_key){.created_s = read_time(one, "created_at"), .active = !disabled};
    cfr_rotation_rest_set_end(out, read_time(one, "expires_at"), now_s);
    (void)cfr_rotation_rest_copy(out->name, sizeof out->name, cfr_json_text(one, "name"));
    (void)cfr_rotation_rest_copy(out->maker, sizeof out->maker, cfr_json_text(one, "created_by"));
    return cfr_rotation_rest_copy(out->id, sizeof out->id, cfr_json_text(one, "id")) &&
           strpbrk(out->id, " /?#%") == NULL;
}

/* The link to the next page is not followed, because it would take the token wherever it points: only its page token is
 * used, as it is encoded there. */
static int read_next(const struct cfr_json *doc, struct cfr_rotation_answer *out, struct cfr_err *err)
{
    static const char name[] = "pagetoken=";
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~%+=";
    struct cfr_view link = cfr_json_text(doc, "next");
    ptrdiff_t at = cfr_view_find(link, name);
    struct cfr_view token = link;

    if (link.n == 0)
        return 0;
    if (at >= 0)
        token = (struct cfr_view){link.p + at + strlen(name), link.n - (size_t)at - strlen(name)};
    if (at >= 0 && token.n != 0 && memchr(token.p, '&', token.n) != NULL)
        token.n = (size_t)((const char *)memchr(token.p, '&', token.n) - token.p);
    if (!cfr_rotation_rest_copy(out->next, sizeof out->next, token) || out->next[strspn(out->next, plain)] != '\0') {
        out->next[0] = '\0';
        return cfr_err_set(err, CFR_E_ANSWER, "`next` in the list is not a link to another page");
    }
    return 0;
}

/* Keys of other identities are not touched, also if the server does not filter them. */
static int read_list(const struct cfr_rotation_ibm *c, const struct cfr_json *doc, const struct cfr_rotation_ask *ask,
                     struct cfr_rotation_answer *out, struct cfr_err *err)
{
    const struct cfr_json *keys = cfr_json_get(doc, "apikeys");
    int rc = 0;

    if (!cfr_json_is_array(keys))
        return cfr_err_set(err, CFR_E_ANSWER, "the answer has no list `apikeys`");
    for (const struct cfr_json *one = cfr_json_first(keys); rc == 0 && one != NULL; one = cfr_json_next(one)) {
        struct cfr_rotation_key key;

        if (!cfr_view_is(cfr_json_text(one, "iam_id"), c->iam_id))
            continue;
        if (!read_key(one, ask->now_s, &key))
            return cfr_err_set(err, CFR_E_ANSWER, "the list has an API key without a proper id");
        rc = cfr_rotation_rest_keep(&out->keys, &key, ask, err);
    }
    return rc == 0 ? read_next(doc, out, err) : rc;
}

/* ---- a new key ---- */

static bool is_secret(struct cfr_view text)
{
    return text.n != 0 && text.n <= SECRET_MAX && cfr_view_printable(text) && cfr_view_find(text, " ") < 0;
}

static int fill(const struct cfr_rotation_ibm *c, struct cfr_view secret, struct cfr_rotation_answer *out,
                struct cfr_err *err)
{
    struct cfr_grant *g = &out->grant;
    char identity[CFR_ROTATION_ID_MAX + CFR_ROTATION_NAME_MAX + 160];
    bool named = out->made.name[0] != '\0';
    int rc = cfr_grant_set(g, CFR_FIELD_IBM_API_KEY, secret, err);

    (void)snprintf(identity, sizeof identity, "%s%s%s%s of %s", out->made.name, named ? " (" : "", out->made.id,
                   named ? ")" : "", c->iam_id);
    if (rc == 0)
        rc = cfr_grant_set(g, CFR_FIELD_IBM_API_KEY_ID, cfr_view_of(out->made.id), err);
    if (rc == 0)
        rc = cfr_grant_set(g, CFR_FIELD_IBM_IAM_ID, cfr_view_of(c->iam_id), err);
    if (rc == 0)
        rc = cfr_grant_set(g, CFR_FIELD_IBM_ACCOUNT_ID, cfr_view_of(c->account_id), err);
    return rc == 0 ? cfr_grant_set_identity(g, cfr_view_of(identity), err) : rc;
}

static int read_made(const struct cfr_rotation_ibm *c, const struct cfr_rotation_ask *ask, const struct cfr_json *doc,
                     struct cfr_rotation_answer *out, struct cfr_err *err)
{
    struct cfr_view secret = cfr_json_text(doc, "apikey");
    int rc;

    if (!read_key(doc, ask->now_s, &out->made))
        return cfr_err_set(err, CFR_E_ANSWER, "the answer has no proper id of the API key");
    if (!cfr_view_is(cfr_json_text(doc, "iam_id"), c->iam_id) ||
        !cfr_view_is(cfr_json_text(doc, "account_id"), c->account_id))
        return cfr_err_set(err, CFR_E_ANSWER, "the answer is about another identity or account than %s", c->iam_id);
    if (!is_secret(secret))
        return cfr_err_set(err, CFR_E_ANSWER, "the answer has no proper `apikey`");
    rc = fill(c, secret, out, err);
    out->grant.issued_s = out->made.created_s;
    out->grant.expires_s = out->made.ends_s;
    return rc;
}

int cfr_rotation_ibm_recognize(const void *config, const struct cfr_rotation_ask *ask, const struct cfr_grant *fields,
                               struct cfr_rotation_answer *out, struct cfr_err *err)
{
    const struct cfr_rotation_ibm *c = config;
    struct cfr_view secret = cfr_grant_get(fields, CFR_FIELD_IBM_API_KEY);
    struct cfr_view owner = cfr_grant_get(fields, CFR_FIELD_IBM_IAM_ID);
    struct cfr_view id = cfr_grant_get(fields, CFR_FIELD_IBM_API_KEY_ID);

    (void)ask;
    if (secret.n == 0)
        return cfr_err_set(err, CFR_E_MISSING, "there is no API key of IBM Cloud");
    if (owner.n != 0 && !cfr_view_is(owner, c->iam_id))
        return cfr_err_set(err, CFR_E_CONFLICT, "the API key is one of another identity than %s", c->iam_id);
    if (!is_secret(secret))
        return cfr_err_set(err, CFR_E_ANSWER, "ibm_api_key is no API key");
    if (id.n == 0)
        id = cfr_grant_get(fields, CFR_ROTATION_FOUND_ID);
    if (!cfr_rotation_rest_copy(out->made.id, sizeof out->made.id, id) || strpbrk(out->made.id, " /?#%") != NULL)
        return cfr_err_set(err, CFR_E_ANSWER,
                           "an API key of IBM Cloud does not say its id: put it (ApiKey-...) next to the key as "
                           "ibm_api_key_id");
    return fill(c, secret, out, err);
}

/* ---- judging ---- */

static int refuse(const struct cfr_rotation_ibm *c, const struct cfr_rotation_ask *ask,
                  const struct cfr_wire_reply *reply, const struct cfr_json *doc, struct cfr_err *err)
{
    const struct cfr_json *error = cfr_json_first(cfr_json_get(doc, "errors"));
    bool login = ask->op == CFR_ROTATION_VERIFY;
    const struct cfr_view secret = login ? cfr_grant_get(ask->fresh, CFR_FIELD_IBM_API_KEY)
                                         : cfr_rotation_admin_field(ask->admin, CFR_FIELD_OAUTH_ACCESS_TOKEN);
    struct cfr_error_table r = {
        .rows = rows,
        .status = reply->status,
        .code = login ? cfr_json_text(doc, "errorCode") : cfr_json_text(error, "code"),
        .message = login ? cfr_json_text(doc, "errorMessage") : cfr_json_text(error, "message"),
        .request_id = reply->request_id.n != 0 ? reply->request_id : cfr_json_text(doc, "trace"),
        .who = cfr_view_of(c->iam_id),
        .who_is = "identity",
        .secrets = &secret,
        .secret_count = 1,
    };

    if (ask->op == CFR_ROTATION_CREATE && cfr_error_table_find(create_rows, r.status, r.code, r.message) != NULL)
        r.rows = create_rows;
    return cfr_error_table_set(&r, err);
}

static bool is_good(enum cfr_rotation_op op, long status)
{
    bool quiet = op == CFR_ROTATION_DELETE || op == CFR_ROTATION_DEACTIVATE;

    return status == (quiet ? 204 : op == CFR_ROTATION_CREATE ? 201 : 200);
}

static int check_answer(const void *config, const struct cfr_rotation_ask *ask, const struct cfr_wire_reply *reply,
                        const struct cfr_json *doc, struct cfr_rotation_answer *out, struct cfr_err *err)
{
    const struct cfr_rotation_ibm *c = config;
    bool removes = ask->op == CFR_ROTATION_DELETE || ask->op == CFR_ROTATION_DEACTIVATE;

    /* A 404 of IAM itself: a proxy's has no list of errors. */
    if (removes && reply->status == 404 && cfr_json_first(cfr_json_get(doc, "errors")) != NULL)
        return 0;
    if (!is_good(ask->op, reply->status))
        return refuse(c, ask, reply, doc, err);
    if (removes)
        return 0;
    if (!cfr_json_is_object(doc))
        return cfr_err_set(err, CFR_E_ANSWER,
                           "the answer is no JSON object; check `endpoint`, and that no proxy answers instead");
    if (ask->op == CFR_ROTATION_VERIFY)
        return cfr_json_text(doc, "access_token").n != 0
                   ? 0
                   : cfr_err_set(err, CFR_E_ANSWER, "the answer to the new API key has no access_token");
    return ask->op == CFR_ROTATION_LIST ? read_list(c, doc, ask, out, err) : read_made(c, ask, doc, out, err);
}

int cfr_rotation_ibm_parse(const void *config, const struct cfr_rotation_ask *ask, const struct cfr_wire_reply *reply,
                           struct cfr_rotation_answer *out, struct cfr_err *err)
{
    static const char *const operations[] = {
        [CFR_ROTATION_LIST] = "listing API keys",
        [CFR_ROTATION_CREATE] = "creating an API key",
        [CFR_ROTATION_VERIFY] = "using the API key",
        [CFR_ROTATION_DEACTIVATE] = "disabling the API key",
        [CFR_ROTATION_LAST_USED] = "",
        [CFR_ROTATION_DELETE] = "deleting the API key",
    };

    return cfr_rotation_rest_parse(config, ask, reply, check_answer, operations, out, err);
}
