/* SPDX-License-Identifier: MIT */
/* What Google's IAM answers. */
#include "base/base64.h"
#include "rotation/gcp_private.h"
#include "rotation/rest_private.h"
#include "rotation/provider_private.h"

#include <stdio.h>
#include <string.h>

#define KEY_JSON_MAX 65536

#define LATER        "Google is unavailable; this is usually temporary"
#define BUSY         "Google limits the rate of calls (or the project's quota is used up); this is usually temporary"

static const struct cfr_error_table_row rows[] = {
    {"RESOURCE_EXHAUSTED", "maximum number of keys", 0, CFR_E_LIMIT,
     "{who} has as many keys as Google allows; remove one that is not in use"},
    {"RESOURCE_EXHAUSTED", NULL, 0, CFR_E_THROTTLED, BUSY},
    {"PERMISSION_DENIED", "has not been used", 0, CFR_E_DENIED,
     "enable iam.googleapis.com in the project that the message names; that takes minutes"},
    {"PERMISSION_DENIED", "it is disabled", 0, CFR_E_DENIED,
     "enable iam.googleapis.com in the project that the message names; that takes minutes"},
    {"PERMISSION_DENIED", "insufficient authentication scopes", 0, CFR_E_DENIED,
     "the token of `with` needs the scope https://www.googleapis.com/auth/cloud-platform; add it to its "
     "`scopes`"},
    {"PERMISSION_DENIED", NULL, 0, CFR_E_DENIED,
     "grant `with` roles/iam.serviceAccountKeyAdmin on {who}, or check its name and project; a new binding "
     "takes minutes"},
    {"UNAUTHENTICATED", NULL, 0, CFR_E_TOKEN_EXPIRED,
     "Google does not accept the token of `with`; is it still refreshed?"},
    {"NOT_FOUND", NULL, 0, CFR_E_REJECTED,
     "there is no such service account in the project; check `service_account` and `project`"},
    {"ABORTED", NULL, 0, CFR_E_UNAVAILABLE, "another client is changing the account at the same time"},
    {"CANCELLED DEADLINE_EXCEEDED INTERNAL UNAVAILABLE UNKNOWN", NULL, 0, CFR_E_UNAVAILABLE, LATER},
    {"INVALID_ARGUMENT", NULL, 0, CFR_E_REJECTED,
     "IAM does not understand the request; check `service_account` and `endpoint`"},
    {"UNIMPLEMENTED", NULL, 0, CFR_E_REJECTED, "there is no IAM at this endpoint; check `endpoint`"},
    {NULL, NULL, 404, CFR_E_REJECTED, "there is no IAM at this endpoint; check `endpoint`"},
    {0},
};

/* Before the others. The first is the one message for the eleventh key and for much else. */
static const struct cfr_error_table_row create_rows[] = {
    {"FAILED_PRECONDITION", "Precondition check failed", 0, CFR_E_LIMIT,
     "{who} has as many keys as Google allows (ten), or is disabled; remove a key that is not in use"},
    {"FAILED_PRECONDITION", NULL, 0, CFR_E_DENIED,
     "a policy of the organization forbids keys for {who} (iam.managed.disableServiceAccountKeyCreation or its like)"},
    {0},
};

/* The key's part of projects/P/serviceAccounts/SA/keys/ID. */
static bool read_id(const struct cfr_json *key, struct cfr_rotation_key *out)
{
    struct cfr_view name = cfr_json_text(key, "name");
    ptrdiff_t at = cfr_view_find(name, "/keys/");
    struct cfr_view id;

    if (at < 0)
        return false;
    id.p = name.p + at + strlen("/keys/");
    id.n = name.n - (size_t)at - strlen("/keys/");
    return cfr_view_find(id, "/") < 0 && cfr_view_find(id, " ") < 0 &&
           cfr_rotation_rest_copy(out->id, sizeof out->id, id);
}

static bool read_key(const struct cfr_json *key, struct cfr_rotation_key *out)
{
    bool disabled = false;

    (void)cfr_json_bool(cfr_json_get(key, "disabled"), &disabled);
    /* The private half of an uploaded key is elsewhere. */
    *out = (struct cfr_rotation_key){.created_s = cfr_rotation_rest_time(key, "validAfterTime"),
                                     .active = !disabled,
                                     .foreign = cfr_view_is(cfr_json_text(key, "keyOrigin"), "USER_PROVIDED")};
    (void)cfr_rotation_rest_copy(out->maker, sizeof out->maker, cfr_json_text(key, "creator"));
    return read_id(key, out);
}

/* Google leaves keys of its own, which cannot be removed, out of this list; it did not always. */
static int read_list(const struct cfr_json *doc, int64_t now_s, struct cfr_rotation_answer *out, struct cfr_err *err)
{
    const struct cfr_json *keys = cfr_json_get(doc, "keys");
    int rc = 0;

    if (keys != NULL && !cfr_json_is_array(keys))
        return cfr_err_set(err, CFR_E_ANSWER, "`keys` in the answer is not a list");
    for (const struct cfr_json *key = cfr_json_first(keys); rc == 0 && key != NULL; key = cfr_json_next(key)) {
        struct cfr_rotation_key one;

        if (cfr_view_is(cfr_json_text(key, "keyType"), "SYSTEM_MANAGED"))
            continue;
        if (!read_key(key, &one))
            return cfr_err_set(err, CFR_E_ANSWER, "the list has a key without a proper name");
        cfr_rotation_rest_set_end(&one, cfr_rotation_rest_time(key, "validBeforeTime"), now_s);
        rc = cfr_rotation_rest_keep(&out->keys, &one, NULL, err);
    }
    return rc;
}

/* ---- a new key ---- */

/* FILE is the whole file that SDKs read. */
static int check_file(const struct cfr_rotation_gcp *c, const char *id, struct cfr_view file, struct cfr_err *err)
{
    struct cfr_json *doc = NULL;
    int rc = cfr_json_parse(file, &doc, err);

    if (rc == CFR_E_NOMEM)
        return rc;
    if (rc != 0 || !cfr_view_is(cfr_json_text(doc, "type"), "service_account") ||
        cfr_view_find(cfr_json_text(doc, "private_key"), "PRIVATE KEY-----") < 0)
        rc = cfr_err_set(err, CFR_E_ANSWER, "privateKeyData in the answer is not the file of a service account's key");
    else if (!cfr_view_is(cfr_json_text(doc, "client_email"), c->service_account))
        rc = cfr_err_set(err, CFR_E_ANSWER, "the answer is about another account than %s", c->service_account);
    else if (!cfr_view_is(cfr_json_text(doc, "private_key_id"), id))
        rc = cfr_err_set(err, CFR_E_ANSWER, "the key in the answer is not the one that its name says");
    cfr_json_free(doc);
    return rc;
}

static int fill(const struct cfr_rotation_gcp *c, const char *id, struct cfr_view file, struct cfr_grant *g,
                struct cfr_err *err)
{
    char identity[CFR_ROTATION_ID_MAX + 300];
    int rc = cfr_grant_set(g, CFR_FIELD_GCP_SERVICE_ACCOUNT, cfr_view_of(c->service_account), err);

    (void)snprintf(identity, sizeof identity, "%s of %s", id, c->service_account);
    if (rc == 0)
        rc = cfr_grant_set(g, CFR_FIELD_GCP_SERVICE_ACCOUNT_KEY, file, err);
    return rc == 0 ? cfr_grant_set_identity(g, cfr_view_of(identity), err) : rc;
}

static int read_made(const struct cfr_rotation_gcp *c, const struct cfr_json *doc, struct cfr_rotation_answer *out,
                     struct cfr_err *err)
{
    struct cfr_secret file;
    int rc;

    if (!read_key(doc, &out->made))
        return cfr_err_set(err, CFR_E_ANSWER, "the answer has no proper name of the key");
    cfr_secret_init(&file, KEY_JSON_MAX);
    rc = cfr_base64_decode(cfr_json_text(doc, "privateKeyData"), &file, err);
    if (rc == 0)
        rc = check_file(c, out->made.id, cfr_secret_view(&file), err);
    else if (rc != CFR_E_NOMEM)
        rc = cfr_err_set(err, CFR_E_ANSWER, "privateKeyData in the answer is not base64");
    if (rc == 0)
        rc = fill(c, out->made.id, cfr_secret_view(&file), &out->grant, err);
    cfr_secret_free(&file);
    out->grant.issued_s = out->made.created_s;
    out->grant.expires_s = cfr_rotation_rest_time(doc, "validBeforeTime");
    return rc;
}

int cfr_rotation_gcp_recognize(const void *config, const struct cfr_rotation_ask *ask, const struct cfr_grant *fields,
                               struct cfr_rotation_answer *out, struct cfr_err *err)
{
    const struct cfr_rotation_gcp *c = config;
    struct cfr_view file = cfr_grant_get(fields, CFR_FIELD_GCP_SERVICE_ACCOUNT_KEY);
    struct cfr_view email = {NULL, 0};
    struct cfr_json *doc = NULL;
    bool whole;
    int rc;

    (void)ask;
    if (file.n == 0)
        return cfr_err_set(err, CFR_E_MISSING, "there is no key of a service account");
    rc = cfr_json_parse(file, &doc, err);
    if (rc != 0)
        return rc;
    whole = cfr_rotation_rest_copy(out->made.id, sizeof out->made.id, cfr_json_text(doc, "private_key_id")) &&
            cfr_view_is(cfr_json_text(doc, "type"), "service_account") &&
            cfr_view_find(cfr_json_text(doc, "private_key"), "PRIVATE KEY-----") >= 0 &&
            strpbrk(out->made.id, " /") == NULL;
    email = cfr_json_text(doc, "client_email");
    if (!whole)
        rc = cfr_err_set(err, CFR_E_ANSWER, "it is not the whole file of a service account's key");
    else if (!cfr_view_is(email, c->service_account))
        rc = cfr_err_set(err, CFR_E_CONFLICT, "the key is one of the service account %.*s, and not of %s",
                         (int)(email.n < 200 ? email.n : 200), email.n != 0 ? email.p : "", c->service_account);
    cfr_json_free(doc);
    return rc == 0 ? fill(c, out->made.id, file, &out->grant, err) : rc;
}

/* ---- judging ---- */

static int refuse(const struct cfr_rotation_gcp *c, const struct cfr_rotation_ask *ask,
                  const struct cfr_wire_reply *reply, const struct cfr_json *error, struct cfr_err *err)
{
    const struct cfr_view token = cfr_rotation_admin_field(ask->admin, CFR_FIELD_GCP_ACCESS_TOKEN);
    struct cfr_error_table r = {
        .rows = rows,
        .status = reply->status,
        .code = cfr_json_text(error, "status"),
        .message = cfr_json_text(error, "message"),
        .request_id = reply->request_id,
        .who = cfr_view_of(c->service_account),
        .who_is = "service account",
        .secrets = &token,
        .secret_count = 1,
    };

    if (ask->op == CFR_ROTATION_CREATE && cfr_error_table_find(create_rows, r.status, r.code, r.message) != NULL)
        r.rows = create_rows;
    return cfr_error_table_set(&r, err);
}

static int check_answer(const void *config, const struct cfr_rotation_ask *ask, const struct cfr_wire_reply *reply,
                        const struct cfr_json *doc, struct cfr_rotation_answer *out, struct cfr_err *err)
{
    const struct cfr_rotation_gcp *c = config;
    const struct cfr_json *error = cfr_json_get(doc, "error");
    bool removes = ask->op == CFR_ROTATION_DELETE || ask->op == CFR_ROTATION_DEACTIVATE;

    /* The account may be gone, too: then so are its keys. */
    if (removes && reply->status == 404 && cfr_view_is(cfr_json_text(error, "status"), "NOT_FOUND"))
        return 0;
    if (reply->status != 200 || error != NULL)
        return refuse(c, ask, reply, error, err);
    if (!cfr_json_is_object(doc))
        return cfr_err_set(err, CFR_E_ANSWER,
                           "the answer is no JSON object; check `endpoint`, and that no proxy answers instead");
    if (ask->op == CFR_ROTATION_LIST)
        return read_list(doc, ask->now_s, out, err);
    if (ask->op == CFR_ROTATION_RIGHTS)
        return cfr_rotation_gcp_read_rights(doc, out, err);
    return ask->op == CFR_ROTATION_CREATE ? read_made(c, doc, out, err) : 0;
}

int cfr_rotation_gcp_parse(const void *config, const struct cfr_rotation_ask *ask, const struct cfr_wire_reply *reply,
                           struct cfr_rotation_answer *out, struct cfr_err *err)
{
    static const char *const operations[] = {[CFR_ROTATION_LIST] = "keys.list",
                                             [CFR_ROTATION_CREATE] = "keys.create",
                                             [CFR_ROTATION_VERIFY] = "",
                                             [CFR_ROTATION_DEACTIVATE] = "keys.disable",
                                             [CFR_ROTATION_LAST_USED] = "",
                                             [CFR_ROTATION_DELETE] = "keys.delete",
                                             [CFR_ROTATION_RIGHTS] = "testIamPermissions"};

    return cfr_rotation_rest_parse(config, ask, reply, check_answer, operations, out, err);
}
